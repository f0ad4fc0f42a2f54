//! Why a question about sizes has no answer.
use sizewise_check::check::CheckError;
use sizewise_check::spec::{ContractError, SpecError};

/// Why a question about sizes has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SizingError {
    /// The spec does not fit.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The program cannot be followed.
    #[error(transparent)]
    Program(#[from] CheckError),
    /// The question itself is wrong: a dimension that does not exist, a budget that is no number.
    #[error("{0}")]
    Question(String),
    /// No input is allowed.
    #[error("no input is allowed: nothing has a size")]
    Nothing,
    /// There is no answer, or none was found.
    #[error("{0}")]
    Unanswered(String),
}

impl SizingError {
    /// Whether the question or the spec has to change: a proof shows that there is no answer to it as it is.
    pub fn is_mistaken(&self) -> bool {
        matches!(self, SizingError::Spec(_) | SizingError::Question(_) | SizingError::Nothing)
    }
}

impl From<ContractError> for SizingError {
    fn from(error: ContractError) -> SizingError {
        SizingError::Program(error.into())
    }
}
