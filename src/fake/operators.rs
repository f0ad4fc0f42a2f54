//! The operators that can be called: those of the crate, and custom ones.
use super::args::Args;
use super::context::Cx;
use super::error::KernelResult;
use super::registry::Registry;
use crate::ir::schema::{Schema, SchemaTable};
use indexmap::IndexMap;

/// Computes what an operator returns: the seam for custom operators.
pub trait FakeKernel: Send + Sync {
    /// The results for given arguments.
    ///
    /// # Errors
    /// When the operator rejects the arguments, or the result cannot be told.
    fn call(&self, cx: &mut Cx, args: &Args) -> KernelResult;
}

impl<F: Fn(&mut Cx, &Args) -> KernelResult + Send + Sync> FakeKernel for F {
    fn call(&self, cx: &mut Cx, args: &Args) -> KernelResult {
        self(cx, args)
    }
}

/// The operators at hand.
#[derive(Default)]
pub struct Operators {
    custom: IndexMap<String, (Schema, Box<dyn FakeKernel>)>,
}

impl Operators {
    /// The operators that come with the crate.
    pub fn new() -> Operators {
        Operators::default()
    }

    /// Adds a custom operator; it goes before one of the crate with the same name.
    pub fn add(&mut self, schema: Schema, kernel: impl FakeKernel + 'static) {
        self.custom.insert(schema.qualified().to_string(), (schema, Box::new(kernel)));
    }

    /// The schema and kernel of an overload, named as in `aten.add.Tensor`.
    pub fn find(&self, op: &str) -> Option<(&Schema, &dyn FakeKernel)> {
        if let Some((schema, kernel)) = self.custom.get(op) {
            return Some((schema, kernel.as_ref()));
        }
        let kernel = Registry::builtin().resolve(op)?;
        Some((SchemaTable::global().get(op)?, kernel))
    }
}
