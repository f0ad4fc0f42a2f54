//! The operators that a command knows: those of the crate, and those that files declare.
use super::args::{Kernels, OperatorFiles};
use super::failure::{Failure, Result};
use super::files;
use crate::kernels::Operators;

/// Reads the files given by `--ops`.
///
/// # Errors
/// A message that names the file and the place.
pub fn load(options: &OperatorFiles) -> Result<Operators> {
    let mut operators = Operators::new();
    for path in &options.ops {
        let name = files::shown(path);
        let text = String::from_utf8(files::read(path).map_err(Failure::usage)?).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|&b| b == b'\n').count();
            Failure::usage(format!("{name}:{line}: expected text in UTF-8"))
        })?;
        operators.declare(&name, &text).map_err(Failure::usage)?;
    }
    Ok(operators)
}

/// As [`load`], run by the backend that the options name.
///
/// # Errors
/// As for [`load`].
pub fn load_on(options: &Kernels) -> Result<Operators> {
    Ok(load(&options.files)?.on(options.backend))
}
