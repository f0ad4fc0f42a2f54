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

/// The native module.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("has_smt", sizewise::decide::HAS_SMT)?;
    module.add_class::<env::Env>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<report::Report>()
}
