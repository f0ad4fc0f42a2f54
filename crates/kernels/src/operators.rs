//! The operators that can be called: those of the crate, and custom ones.
use super::backend::Backend;
use super::custom::find_shipped;
use super::kernel::FakeKernel;
use super::registry::Registry;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use sizewise_ir::schema::Schema;

/// The operators at hand: custom ones, and those that come with the crate.
#[derive(Default)]
pub struct Operators {
    custom: IndexMap<String, (Schema, Box<dyn FakeKernel>), FxBuildHasher>,
    backend: Backend,
}

impl Operators {
    /// The operators that come with the crate: those of PyTorch, and those of the well-known
    /// [`libraries`](super::libraries).
    pub fn new() -> Operators {
        Operators::default()
    }

    /// The same operators, run by the kernels of a backend; the default is the CPU.
    ///
    /// ```
    /// use sizewise_kernels::{Backend, Operators};
    ///
    /// assert_eq!(Operators::new().backend(), Backend::Cpu);
    /// assert_eq!(Operators::new().on(Backend::Any).backend(), Backend::Any);
    /// ```
    #[must_use]
    pub fn on(self, backend: Backend) -> Operators {
        Operators { backend, ..self }
    }

    /// The backend whose kernels run the operators.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Adds a custom operator; it goes before one that comes with the crate under the same name.
    pub fn add(&mut self, schema: Schema, kernel: impl FakeKernel + 'static) {
        self.custom.insert(schema.qualified().to_string(), (schema, Box::new(kernel)));
    }

    /// The names of the custom operators, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.custom.keys().map(String::as_str)
    }

    /// Whether a custom operator of this name has been added.
    pub fn is_custom(&self, op: &str) -> bool {
        self.custom.contains_key(op)
    }

    /// The schema and kernel of an overload, named as in `aten.add.Tensor`.
    pub fn find(&self, op: &str) -> Option<(&Schema, &dyn FakeKernel)> {
        match self.custom.get(op) {
            Some((schema, kernel)) => Some((schema, kernel.as_ref())),
            None => Registry::builtin().find(op).or_else(|| find_shipped(op)),
        }
    }
}
