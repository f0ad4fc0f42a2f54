//! Normalisation: what its operators demand of parameters, and the dtype they compute in.
use super::context::Cx;
use super::domain::{Accepted, Domain};
use super::error::KernelError;
use super::tensor::Tensor;
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

impl Cx<'_> {
    /// The dtype of statistics: that of the input, and `float32` where the input is in 16 bits and the parameters are
    /// `float32`.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the input's dtype is not accepted, or parameters are neither all of its dtype nor,
    /// for an input in 16 bits, all `float32`.
    pub fn statistics_dtype(
        &mut self,
        (x, accepted): (&Tensor, Accepted),
        parameters: &[Option<&Tensor>],
        clause: &'static OpClause,
    ) -> Result<Dtype, KernelError> {
        self.require_kind(x, accepted, clause)?;
        let mut given = parameters.iter().flatten().map(|p| p.dtype);
        if given.clone().all(|d| d == x.dtype) {
            return Ok(x.dtype);
        }
        let mixed = Domain::HALVES.contains(x.dtype) && given.all(|d| d == Dtype::Float32);
        self.check(mixed, clause, |_| {
            format!("the parameters' dtypes do not go with an input of {}", x.dtype)
        })?;
        Ok(Dtype::Float32)
    }

    /// Requires a parameter, where there is one, to be a vector with an element for each channel.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it is none.
    pub fn channel_vector(
        &mut self,
        parameter: Option<&Tensor>,
        channels: Expr,
        clause: &'static OpClause,
        what: &str,
    ) -> Result<(), KernelError> {
        let Some(parameter) = parameter else { return Ok(()) };
        self.rank(parameter, 1, clause, what)?;
        self.require_eq(parameter.size(0), channels, clause, &format!("{what} does not fit the channels"))
    }

    /// Requires two shapes to agree.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they do not.
    pub fn same_shape(
        &mut self,
        a: &[Expr],
        b: &[Expr],
        clause: &'static OpClause,
        what: &str,
    ) -> Result<(), KernelError> {
        self.check(a.len() == b.len(), clause, |cx| {
            format!("{what}: {} and {} differ in rank", cx.show_all(a), cx.show_all(b))
        })?;
        for (&x, &y) in a.iter().zip(b) {
            self.require_eq(x, y, clause, what)?;
        }
        Ok(())
    }
}
