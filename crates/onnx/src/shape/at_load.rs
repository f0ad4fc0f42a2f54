//! What a call may ask of the load of a model.
use super::call::{Checked, refused};
use super::value::Tensor;
use sizewise_expr::Expr;
use sizewise_kernels::KernelError;

impl Checked<'_, '_> {
    /// Whether the sizes of an input are not known when the model loads.
    pub fn is_open_at_load(&self, at: usize) -> bool {
        !self.call.is_static && self.tensor(at).is_some_and(|tensor| !tensor.constant)
    }

    /// Whether a size of an input is a number that is known when the model loads.
    pub fn is_number_at_load(&self, at: usize, size: Expr) -> bool {
        let constant = self.tensor(at).is_some_and(|tensor| tensor.constant);
        size.as_inline().is_some() && (constant || self.call.is_static && !self.call.is_run)
    }

    /// Whether the rank of an input is sure to be known when the model loads.
    pub fn is_ranked_at_load(&self, at: usize) -> bool {
        let is_known = |tensor: &Tensor| tensor.constant || tensor.is_ranked_at_load;
        !self.is_in_model() || self.tensor(at).is_some_and(is_known)
    }

    /// Whether the rank of an input is known when the model loads.
    ///
    /// # Errors
    /// Where that is not sure.
    pub fn infers_rank(&self, at: usize) -> Result<bool, KernelError> {
        let is_unknown = self.tensor(at).is_some_and(|tensor| tensor.is_unranked_at_load);
        if is_unknown || self.is_ranked_at_load(at) {
            return Ok(!is_unknown);
        }
        let message = format!("{}: whether the rank is known when the model loads is not known", self.op());
        Err(KernelError::Unsupported(message))
    }

    /// Whether the file has the elements of an input, so that the inference of shapes reads them.
    pub fn is_in_file(&self, at: usize) -> bool {
        let is_in_file = |tensor: &Tensor| tensor.is_in_file || tensor.constant && !self.is_in_model();
        self.tensor(at).is_some_and(is_in_file)
    }

    /// Refuses what the inference of shapes refuses where it knows a size of an input, which is a number.
    ///
    /// # Errors
    /// [`KernelError::Unsupported`] where it is not sure whether it knows the size.
    pub fn refused_where_known(
        &self,
        at: usize,
        dim: usize,
        clause: &'static str,
        message: impl FnOnce() -> String,
    ) -> Result<(), KernelError> {
        let is_number = self.shape(at)?.get(dim).is_some_and(|size| size.as_inline().is_some());
        match (self.call.sizes_at_load)(at, dim) {
            Some(false) => Ok(()),
            _ if !is_number => Ok(()),
            Some(true) => Err(refused(clause, format!("{}: {}", self.op(), message()))),
            None => Err(self.not_sure_at_load(message)),
        }
    }

    /// Refuses what the inference of shapes refuses where it reads the elements of an input.
    ///
    /// # Errors
    /// [`KernelError::Unsupported`] where it is not sure whether it reads them.
    pub fn refused_where_read(
        &self,
        at: usize,
        clause: &'static str,
        message: impl FnOnce() -> String,
    ) -> Result<(), KernelError> {
        match self.is_in_file(at) {
            true => Err(refused(clause, format!("{}: {}", self.op(), message()))),
            false if self.is_in_model() => Err(self.not_sure_at_load(message)),
            false => Ok(()),
        }
    }

    /// Refuses what the inference of shapes refuses where it knows the rank of an input.
    ///
    /// # Errors
    /// [`KernelError::Unsupported`] where it is not sure whether it knows the rank.
    pub fn refused_where_ranked(
        &self,
        at: usize,
        clause: &'static str,
        message: impl FnOnce() -> String,
    ) -> Result<(), KernelError> {
        let is_ranked = self.infers_rank(at)?;
        if is_ranked { Err(refused(clause, format!("{}: {}", self.op(), message()))) } else { Ok(()) }
    }

    fn not_sure_at_load(&self, message: impl FnOnce() -> String) -> KernelError {
        let (op, message) = (self.op(), message());
        KernelError::Unsupported(format!(
            "{op}: whether onnxruntime sees this when it loads the model is not known: {message}"
        ))
    }

    /// Whether the call is a node of a model, so that other nodes may use what it makes.
    pub fn is_in_model(&self) -> bool {
        self.call.is_static
    }
}
