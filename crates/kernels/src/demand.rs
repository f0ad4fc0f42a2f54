//! What many kernels demand of their arguments apart from sizes: dtypes, ranks, numbers.
use super::context::Cx;
use super::error::KernelError;
use super::tensor::Tensor;
use sizewise_env::OpClause;
use sizewise_expr::Expr;

impl Cx<'_> {
    /// Requires that tensors have one dtype.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] naming the first two dtypes that differ.
    pub fn same_dtype(&mut self, tensors: &[&Tensor], clause: &'static OpClause) -> Result<(), KernelError> {
        for pair in tensors.windows(2) {
            let (a, b) = (pair[0].dtype, pair[1].dtype);
            self.check(a == b, clause, |_| format!("the dtypes differ: {a} and {b}"))?;
        }
        Ok(())
    }

    /// Requires a rank; `what` names the tensor.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the tensor has another one.
    pub fn rank(
        &mut self,
        tensor: &Tensor,
        rank: usize,
        clause: &'static OpClause,
        what: &str,
    ) -> Result<(), KernelError> {
        self.check(tensor.rank() == rank, clause, |cx| {
            format!("{what} is to have {rank} dimensions, its shape is {}", cx.show_all(&tensor.sizes))
        })
    }

    /// A double that the operator needs as a number: a constant.
    ///
    /// # Errors
    /// [`KernelError::Unsupported`] when it is symbolic.
    pub fn literal_float(&mut self, e: Expr, clause: &'static OpClause) -> Result<f64, KernelError> {
        let pool = self.pool();
        let value = pool.as_float(e).or_else(|| pool.as_int(e).and_then(|v| v.to_i64()).map(|v| v as f64));
        value.ok_or_else(|| {
            KernelError::Unsupported(format!("{clause}: `{}` is to be a number", self.show(e)))
        })
    }
}
