//! Calls of one kernel from another, for operators that are defined as a composition of others.
use super::bind::bind;
use super::context::Cx;
use super::error::KernelError;
use super::registry::Registry;
use super::tensor::Tensor;
use super::value::{Value, Values};
use crate::args::arguments;
use sizewise_ir::schema::SchemaTable;
use std::sync::Arc;

impl From<&Tensor> for Value {
    fn from(tensor: &Tensor) -> Value {
        Value::Tensor(Arc::new(tensor.clone()))
    }
}

impl From<Option<&Tensor>> for Value {
    fn from(tensor: Option<&Tensor>) -> Value {
        tensor.map_or(Value::None, Value::from)
    }
}

impl Cx<'_> {
    /// What the operator `op`, named as in `aten.add.Tensor`, returns for positional arguments.
    ///
    /// # Errors
    /// Those of the operator; [`KernelError::Unsupported`] when it has no kernel.
    pub fn invoke(&mut self, op: &str, args: impl IntoIterator<Item = Value>) -> Result<Values, KernelError> {
        let found = Registry::builtin().resolve(op).zip(SchemaTable::global().get(op));
        let Some((kernel, schema)) = found else {
            return Err(KernelError::Unsupported(format!("there is no fake kernel for `{op}`")));
        };
        let mut bound = bind(self.pool(), schema, args, std::iter::empty::<(&str, Value)>())
            .map_err(|error| KernelError::invalid(arguments::C2, error.to_string()))?;
        // What is made of values within a kernel is not followed, so that nothing is known of where they lie.
        for value in bound.values_mut() {
            value.forget_span();
        }
        kernel.call(self, &bound)
    }

    /// As [`Cx::invoke`] for an operator that returns a tensor first.
    ///
    /// # Errors
    /// As [`Cx::invoke`].
    pub fn invoke_one(
        &mut self,
        op: &str,
        args: impl IntoIterator<Item = Value>,
    ) -> Result<Tensor, KernelError> {
        match self.invoke(op, args)?.into_iter().next() {
            Some(Value::Tensor(result)) => Ok(Arc::unwrap_or_clone(result)),
            _ => Err(KernelError::Unsupported(format!("`{op}` gives no tensor"))),
        }
    }
}
