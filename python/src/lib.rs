//! The native half of the Python package `sizewise`: it converts, and releases the GIL while the engine works.
//!
//! What touches torch, and everything that users see, is Python (`python/sizewise`).
mod convert;
mod door;
mod env;
mod errors;
mod facts;
mod program;
mod questions;
mod report;
mod term;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the `sizewise` program on arguments, the first of which is its name, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let status = py.detach(|| sizewise::cli::run_on(arguments));
    // An exit status can be compared, but not read.
    (0..=u8::MAX).find(|&code| status == ExitCode::from(code)).unwrap_or(u8::MAX)
}

/// Panics, to test what becomes of a panic.
#[pyfunction]
fn panics(py: Python<'_>) -> PyResult<()> {
    door::run(py, || panic!("asked for")).map_err(|stopped| stopped.into_error(py))
}

/// The native module.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("has_smt", sizewise::solve::HAS_SMT)?;
    module.add_class::<env::Env>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<report::Report>()?;
    module.add_function(wrap_pyfunction!(program::spec_code, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(panics, module)?)
}
