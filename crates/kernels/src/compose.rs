//! Steps of kernels that compute their result through several element-wise operators.
use super::context::Cx;
use super::error::KernelError;
use super::promote::ResultType;
use super::tensor::Tensor;
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// Whether a result of dtype `from` may be written where `to` is: no category is lost.
pub fn can_cast(from: Dtype, to: Dtype) -> bool {
    let integral = !to.is_float() && !to.is_complex();
    let loses_parts = from.is_complex() && !to.is_complex();
    let loses_fraction = (from.is_float() || from.is_complex()) && integral;
    !loses_parts && !loses_fraction && (from.is_bool() || !to.is_bool())
}

impl Cx<'_> {
    /// The dtype in which operands meet.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they do not promote.
    pub fn common_dtype(
        &mut self,
        operands: &[&Tensor],
        clause: &'static OpClause,
    ) -> Result<Dtype, KernelError> {
        ResultType::of(operands.iter().copied())
            .dtype()
            .map_err(|(a, b)| KernelError::invalid(clause, format!("{a} and {b} do not promote")))
    }

    /// As [`Cx::elementwise`] in the common dtype.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the shapes do not broadcast or the dtypes do not promote.
    pub fn combined(
        &mut self,
        operands: &[&Tensor],
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        let dtype = self.common_dtype(operands, clause)?;
        self.elementwise(operands, dtype, clause)
    }

    /// The difference of two tensors, neither of which may be `bool`.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they do not subtract.
    pub fn difference(
        &mut self,
        a: &Tensor,
        b: &Tensor,
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        self.check(!a.dtype.is_bool() && !b.dtype.is_bool(), clause, |_| {
            format!("{} and {} do not subtract", a.dtype, b.dtype)
        })?;
        self.combined(&[a, b], clause)
    }

    /// Requires that an element-wise operator can write its result over `target`: the other operands broadcast to it,
    /// and the common dtype can be cast to its own.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it cannot.
    pub fn require_in_place(
        &mut self,
        target: &Tensor,
        others: &[&Tensor],
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        let mut result = ResultType::default().with(target);
        for other in others {
            self.require_expandable(&other.sizes, &target.sizes, clause)?;
            result = result.with(other);
        }
        let computed = result
            .dtype()
            .map_err(|(a, b)| KernelError::invalid(clause, format!("{a} and {b} do not promote")))?;
        self.check(can_cast(computed, target.dtype), clause, |_| {
            format!("a result of {computed} cannot be written over {}", target.dtype)
        })
    }

    /// The shape with dimensions of size 1 left out.
    ///
    /// # Errors
    /// [`KernelError::DataDependent`] when it is open whether an unbacked size is 1.
    pub fn squeezed(&mut self, sizes: &[Expr], clause: &'static OpClause) -> Result<Vec<Expr>, KernelError> {
        let mut left = Vec::with_capacity(sizes.len());
        for &size in sizes {
            let one = self.eq(size, 1);
            if !self.branch(one, clause)? {
                left.push(size);
            }
        }
        Ok(left)
    }
}
