//! The operators that can be called: those of the crate, and custom ones.
use super::args::Args;
use super::context::Cx;
use super::custom::find_shipped;
use super::error::KernelResult;
use super::policy::Backend;
use super::registry::Registry;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use sizewise_ir::schema::Schema;

/// Computes what an operator returns: the seam for custom operators.
///
/// A function of the right type is one. It sees its arguments as the schema has them, and says what it requires of
/// sizes through the context, so that it serves concrete and symbolic sizes alike:
///
/// ```
/// use sizewise_kernels::{Args, Cx, KernelError, KernelResult, Operators, Value};
/// use sizewise_ir::schema::Schema;
///
/// /// `my::pairs(Tensor x) -> Tensor`: `[n, …]` gives `[n//2, 2, …]`.
/// ///
/// /// (C1) `x` has a dimension. (C2) Its size is even.
/// fn pairs(cx: &mut Cx, args: &Args) -> KernelResult {
///     let x = args.tensor("x")?;
///     let Some((&count, rest)) = x.sizes.split_first() else {
///         return Err(KernelError::invalid("pairs.C1", "x has no dimension"));
///     };
///     let odd = cx.modulo(count, 2);
///     let even = cx.eq(odd, 0);
///     cx.require(even, "pairs.C2", |cx| format!("{} rows are no pairs", cx.show(count)))?;
///     let mut sizes = vec![cx.floor_div(count, 2), 2.into()];
///     sizes.extend_from_slice(rest);
///     Ok([Value::from(cx.contiguous(sizes, x.dtype, &x.device))].into_iter().collect())
/// }
///
/// let mut operators = Operators::new();
/// operators.add(Schema::parse_custom("my::pairs(Tensor x) -> Tensor").unwrap(), pairs);
/// assert!(operators.find("my.pairs.default").is_some());
/// ```
///
/// Operators can also be declared in a text file; see [`Operators::declare`].
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
