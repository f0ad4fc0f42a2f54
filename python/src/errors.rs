//! The exceptions of the package, which Python code defines (`sizewise/_errors.py`).
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyType};

/// Which exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A spec cannot be read or does not fit.
    Spec,
    /// A program cannot be read.
    Program,
    /// Something is not supported.
    Unsupported,
    /// A bug in the engine.
    Internal,
    /// An expression cannot be read.
    Expression,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Spec => "SpecError",
            Kind::Program => "ProgramError",
            Kind::Unsupported => "Unsupported",
            Kind::Internal => "InternalError",
            Kind::Expression => "ExpressionError",
        }
    }
}

/// An exception with its message.
pub fn raise(py: Python<'_>, kind: Kind, message: impl Into<String>) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || PyModule::import(py, "sizewise._errors").map(Bound::unbind));
    let class = module
        .and_then(|module| module.bind(py).getattr(kind.name()))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, message.into()),
        Err(error) => error,
    }
}
