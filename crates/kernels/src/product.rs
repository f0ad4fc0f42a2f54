//! Products of matrices and vectors: the shapes and dtypes they need.
use super::context::Cx;
use super::domain::Domain;
use super::error::KernelError;
use super::tensor::{Sizes, Tensor};
use sizewise_env::{Clauses, clauses};

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[matmul::ALL];

/// The dtypes that CPU kernels of matrix products are compiled for.
pub const PRODUCTS: Domain = Domain::FLOAT_COMPLEX.with(Domain::INT);

clauses! { matmul {
    C1 "`self` and `other` have at least 1 dimension."
    C2 "The last size of `self` is the size of `other` at -2, or its only size."
    C3 "The batch dimensions of `self` and `other` are broadcastable."
    C4 "`self` and `other` have the same dtype. There is a CPU kernel for products in it."
} }

impl Cx<'_> {
    /// The shape of `torch.matmul`: `[.., n, k] × [.., k, p] → [.., n, p]`, leading dimensions broadcasting; an operand
    /// of 1 dimension is a row on the left and a column on the right, and leaves no dimension.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when a condition does not hold.
    pub fn matmul_sizes(&mut self, a: &Tensor, b: &Tensor) -> Result<Sizes, KernelError> {
        self.check(a.rank() > 0 && b.rank() > 0, matmul::C1, |_| {
            format!("both operands need dimensions, they have {} and {}", a.rank(), b.rank())
        })?;
        let contracted = if b.rank() == 1 { b.size(0) } else { b.size(-2) };
        self.require_eq(a.size(-1), contracted, matmul::C2, "the contracted sizes differ")?;
        let leading = |t: &Tensor| Sizes::from_slice(&t.sizes[..t.rank().saturating_sub(2)]);
        let (left, right) = (leading(a), leading(b));
        let mut sizes = self.broadcast([left.as_slice(), right.as_slice()], matmul::C3)?;
        if a.rank() > 1 {
            sizes.push(a.size(-2));
        }
        if b.rank() > 1 {
            sizes.push(b.size(-1));
        }
        Ok(sizes)
    }
}
