//! `sizewise guards`: a program's guards as code.
use super::args::{GuardLanguage, GuardsOptions};
use super::{files, operators, programs};
use crate::report::guard_code::Language;
use std::process::ExitCode;

/// Runs the command.
pub fn run(options: &GuardsOptions) -> ExitCode {
    match guards(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            files::complain(&message);
            ExitCode::from(status)
        }
    }
}

fn guards(options: &GuardsOptions) -> Result<(), (u8, String)> {
    let name = files::shown(&options.program);
    let operators = operators::load_on(&options.operators).map_err(|message| (2, message))?;
    let unreadable = |error: crate::check::CheckError| (3, format!("{name}: {error}"));
    let checker = programs::checker(&options.program).map_err(|message| (3, message))?;
    let set = checker.session(&operators).and_then(|s| s.guard_set()).map_err(unreadable)?;
    let language = match options.emit {
        GuardLanguage::Python => Language::Python,
        GuardLanguage::Rust => Language::Rust,
        GuardLanguage::C => Language::C,
        GuardLanguage::Json => Language::Json,
    };
    let code = set.emit(language).map_err(|error| (3, format!("{name}: {error}")))?;
    files::write(options.output.as_deref(), &code).map_err(|message| (3, message))
}
