//! What operators compute: twice the number of products that are summed.
//!
//! The count is that of `torch.utils.flop_counter`: products of matrices, convolutions and attention count, all else is
//! nothing. Operators that are made of others count what these do. Each formula stands beside the kernel, in a table
//! `FLOPS` of its family.
use super::args::Args;
use super::context::Cx;
use super::error::KernelError;
use super::value::Value;
use sizewise_expr::Expr;

/// What a call computes, by its arguments and results.
pub type Flops = fn(&mut Cx, &Args, &[Value]) -> Result<Expr, KernelError>;

/// A family's formulas: each is followed by the overloads that it is for.
macro_rules! formulas {
    ($($formula:expr => $($overload:literal),+;)*) => {
        &[$($(($overload, $formula)),+),*]
    };
}
pub(super) use formulas;

/// Twice a product of sizes.
pub(super) fn twice(cx: &mut Cx, sizes: impl IntoIterator<Item = Expr>) -> Expr {
    let product = cx.product(sizes);
    cx.mul(product, 2)
}

/// Of operators that are made of others, and how depends on more than shapes.
pub(super) fn not_modelled(_: &mut Cx, args: &Args, _: &[Value]) -> Result<Expr, KernelError> {
    Err(KernelError::Unsupported(format!("what `{}` computes is not modelled", args.schema.qualified())))
}
