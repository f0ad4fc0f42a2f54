//! Numbers between Python and the engine.
use num_bigint::BigInt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sizewise::expr::{Int, Pool, Value};
use sizewise::solve::Witness;

/// An integer of any size; `True` is 1.
pub fn to_int(value: &Bound<'_, PyAny>) -> PyResult<Int> {
    match value.extract::<i64>() {
        Ok(small) => Ok(Int::from(small)),
        Err(_) => Ok(Int::from_big(value.extract::<BigInt>()?)),
    }
}

/// An integer that may be missing.
pub fn to_bound(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Int>> {
    value.filter(|value| !value.is_none()).map(to_int).transpose()
}

/// An integer for Python.
pub fn from_int<'py>(py: Python<'py>, value: &Int) -> PyResult<Bound<'py, PyAny>> {
    match value.to_i64() {
        Some(small) => Ok(small.into_pyobject(py)?.into_any()),
        None => Ok(value.to_big().into_pyobject(py)?.into_any()),
    }
}

/// An integer that may be missing, for Python.
pub fn from_bound<'py>(py: Python<'py>, value: Option<&Int>) -> PyResult<Option<Bound<'py, PyAny>>> {
    value.map(|value| from_int(py, value)).transpose()
}

/// An assignment as a dict by symbol names.
pub fn from_witness<'py>(py: Python<'py>, pool: &Pool, witness: &Witness) -> PyResult<Bound<'py, PyDict>> {
    let assignment = PyDict::new(py);
    for (symbol, value) in witness {
        assignment.set_item(pool.symbol_name(*symbol), from_int(py, value)?)?;
    }
    Ok(assignment)
}

/// A value of an expression for Python.
pub fn from_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Int(value) => from_int(py, value)?,
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        other => other.as_f64().into_pyobject(py)?.into_any(),
    })
}
