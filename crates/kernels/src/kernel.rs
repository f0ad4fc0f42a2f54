//! What a fake kernel is.
use super::args::Args;
use super::context::Cx;
use super::error::KernelResult;
use sizewise_env::Clauses;

/// A fake kernel.
pub type Kernel = fn(&mut Cx, &Args) -> KernelResult;

/// A family's kernels: each function is followed by the overloads that it serves.
macro_rules! kernels {
    ($($kernel:expr => $($overload:literal),+;)*) => {
        &[$($(($overload, $kernel)),+),*]
    };
}
pub(super) use kernels;

/// Computes what an operator returns: the seam for custom operators.
///
/// A function of the right type is one. It sees its arguments as the schema has them, and says what it requires of
/// sizes through the context, so that it serves concrete and symbolic sizes alike:
///
/// ```
/// use sizewise_kernels::{Args, Cx, KernelError, KernelResult, Operators, Value};
/// use sizewise_ir::schema::Schema;
///
/// sizewise_env::clauses! { pairs {
///     C1 "`x` has a dimension."
///     C2 "The first size of `x` is even."
/// } }
///
/// /// `my::pairs(Tensor x) -> Tensor`: `[n, …]` gives `[n//2, 2, …]`.
/// fn pairs(cx: &mut Cx, args: &Args) -> KernelResult {
///     let x = args.tensor("x")?;
///     let Some((&count, rest)) = x.sizes.split_first() else {
///         return Err(KernelError::invalid(pairs::C1, "x has no dimension"));
///     };
///     let odd = cx.modulo(count, 2);
///     let even = cx.eq(odd, 0);
///     cx.require(even, pairs::C2, |cx| format!("{} rows are no pairs", cx.show(count)))?;
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
/// Operators can also be declared in a text file; see [`Operators::declare`](crate::Operators::declare).
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

/// Operators of one kind: the file that has them.
pub struct Family {
    /// The name of the file.
    pub name: &'static str,
    /// The overloads with their kernels.
    pub kernels: &'static [(&'static str, Kernel)],
    /// Their conditions.
    pub clauses: Clauses,
}
