//! What operators multiply: floating point operations, as `torch.utils.flop_counter` counts them. Each product that is
//! summed in a product of matrices, a convolution or attention is two operations; all else is none.
use super::call::{Attribute, Call};
use super::value::Tensor;
use sizewise_expr::Expr;
use sizewise_kernels::Cx;

/// The number of products that a call sums, given its results; `None` where that is not known.
pub type Products = fn(&mut Cx, &Call, &[Option<&Tensor>]) -> Option<Expr>;

/// What an operator multiplies.
#[derive(Clone, Copy)]
pub enum Work {
    /// It is not said.
    Open,
    /// It sums no products.
    Nothing,
    /// It sums these.
    Products(Products),
}

/// The product of sizes.
pub(super) fn times<'s>(cx: &mut Cx, sizes: impl IntoIterator<Item = &'s Expr>) -> Expr {
    sizes.into_iter().fold(Expr::ONE, |product, &size| cx.mul(product, size))
}

impl Call<'_> {
    /// The sizes of an input.
    pub(super) fn sizes(&self, at: usize) -> Option<&[Expr]> {
        self.tensor(at)?.shape.as_deref()
    }

    /// An attribute that is a number.
    pub(super) fn number(&self, name: &str) -> i64 {
        let found = self.attributes.iter().find(|(known, _)| *known == name);
        if let Some((_, Attribute::Int(number))) = found { *number } else { 0 }
    }

    /// An attribute that is a text.
    pub(super) fn text(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(known, _)| *known == name);
        if let Some((_, Attribute::Text(text))) = found { text } else { "" }
    }
}

/// The sizes of the first result.
pub(super) fn result<'v>(results: &[Option<&'v Tensor>]) -> Option<&'v [Expr]> {
    (*results.first()?)?.shape.as_deref()
}
