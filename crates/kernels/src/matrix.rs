//! Batches of matrices: the last two dimensions are rows and columns, those before them count matrices. Linear
//! algebra lays its results out by columns.
use super::context::Cx;
use super::domain::{Accepted, Domain};
use super::error::KernelError;
use super::tensor::{Sizes, Tensor};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype};

/// The dimensions before the last `n`; none where there are no more.
pub fn batch(sizes: &[Expr], n: usize) -> &[Expr] {
    &sizes[..sizes.len().saturating_sub(n)]
}

/// Sizes followed by further ones.
pub fn with(batch: &[Expr], further: &[Expr]) -> Sizes {
    batch.iter().chain(further).copied().collect()
}

impl Cx<'_> {
    /// The rows and columns of matrices.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when there are fewer than 2 dimensions.
    pub fn matrix(&mut self, x: &Tensor, clause: &'static OpClause) -> Result<(Expr, Expr), KernelError> {
        self.check(x.rank() >= 2, clause, |cx| {
            format!("matrices have at least 2 dimensions, the shape is {}", cx.show_all(&x.sizes))
        })?;
        Ok((x.size(-2), x.size(-1)))
    }

    /// The rows of square matrices.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when there are fewer than 2 dimensions, or the last two differ.
    pub fn square(&mut self, x: &Tensor, clause: &'static OpClause) -> Result<Expr, KernelError> {
        let (rows, columns) = self.matrix(x, clause)?;
        self.require_eq(rows, columns, clause, "square matrices are expected, rows and columns differ")?;
        Ok(rows)
    }

    /// A fresh tensor of matrices that are laid out by columns one after the other.
    pub fn by_columns(&mut self, sizes: impl Into<Sizes>, dtype: Dtype, device: &Device) -> Tensor {
        let sizes = sizes.into();
        let mut strides = self.contiguous_strides(&sizes);
        if let [.., rows, _] = sizes[..] {
            let at = sizes.len() - 2;
            strides[at] = Expr::ONE;
            strides[at + 1] = self.at_least_one(rows);
        }
        self.strided(sizes, strides, dtype, device)
    }

    /// The lesser of two sizes, simplified by the facts.
    pub fn lesser(&mut self, a: Expr, b: Expr) -> Expr {
        let below = self.le(a, b);
        match self.known(below) {
            Some(true) => a,
            Some(false) => b,
            None => self.min(a, b),
        }
    }

    /// Whether a condition holds that is the exception, where the result is the same but less is required: by the
    /// facts; else a guard is recorded if it holds at the hints, and an open condition is taken to be false.
    pub fn exceptionally(&mut self, condition: Expr, clause: &'static OpClause) -> bool {
        let at_hints = self.env.hint(condition).is_some_and(|v| v.as_bool());
        if at_hints { self.branch_or(condition, false, clause) } else { self.surely(condition) }
    }

    /// Whether a tensor has no elements; see [`Cx::exceptionally`].
    pub fn is_empty(&mut self, x: &Tensor, clause: &'static OpClause) -> bool {
        let numel = self.numel(x);
        let empty = self.eq(numel, 0);
        self.exceptionally(empty, clause)
    }

    /// Requires numbers that LAPACK computes in; matrices without elements may be of 16-bit floats.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] for other dtypes.
    pub fn require_lapack_or_empty(
        &mut self,
        x: &Tensor,
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        if Domain::HALVES.contains(x.dtype) && self.is_empty(x, clause) {
            return Ok(());
        }
        self.require_kind(x, Accepted::LINALG, clause)
    }

    /// The shape of `X` in `AX = B`, or in `XA = B` if the unknown stands on the `left`-hand side there: that of `B`,
    /// batches broadcast.
    ///
    /// (1) `A` holds square matrices. (2) `B` has at least 2 dimensions. (3) Its rows (its columns, if not `left`)
    /// are as many as those of `A`. (4) The batches broadcast.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when one of these does not hold.
    pub fn solution_sizes(
        &mut self,
        a: &Tensor,
        b: &[Expr],
        left: bool,
        clause: &'static OpClause,
    ) -> Result<Sizes, KernelError> {
        let n = self.square(a, clause)?;
        self.check(b.len() >= 2, clause, |cx| {
            format!("the right-hand side needs at least 2 dimensions, its shape is {}", cx.show_all(b))
        })?;
        let (rows, columns) = (b[b.len() - 2], b[b.len() - 1]);
        let side = if left { rows } else { columns };
        self.require_eq(n, side, clause, "the matrices and the right-hand side do not fit")?;
        let sizes = self.broadcast([batch(b, 2), batch(&a.sizes, 2)], clause)?;
        Ok(with(&sizes, &[rows, columns]))
    }
}
