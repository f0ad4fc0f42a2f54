//! Why a program cannot be checked.
use crate::propagate::Stop;
use crate::records::RecordedError;
use crate::spec::ContractError;
use sizewise_expr::is_cancelled;
use sizewise_ir::ReadError;

/// Why a program cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its inputs cannot be determined.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// Its records cannot be read.
    #[error("{0}")]
    Records(String),
    /// The sizes of the inputs do not determine a symbol.
    #[error("no size of the inputs determines the symbol `{0}`")]
    Undetermined(String),
    /// A guard or a range that the program enforces cannot be read, so that what it takes is not known.
    #[error("what the program takes is not known: {0}")]
    UnreadableContract(String),
    /// It refuses the very sizes that it was traced with: no guards say which inputs it takes.
    #[error("no sizes are known that the program accepts: {node}: {message}")]
    Refuses {
        /// The node.
        node: String,
        /// Why it refuses them.
        message: String,
    },
    /// The trace that is to name its lines is of another program; why it is.
    #[error("the trace is of another program, or of another example: {0}")]
    OtherTrace(String),
    /// It was cancelled by a [`CancelToken`](sizewise_expr::CancelToken).
    #[error("the check was cancelled")]
    Cancelled,
    /// The program's inputs do not have this dimension; the second text lists those that they have.
    #[error("no input has the dimension `{0}`; there are {1}")]
    NoDimension(String, String),
}

impl From<Stop> for CheckError {
    fn from(stop: Stop) -> CheckError {
        CheckError::Records(stop.to_string())
    }
}

impl From<RecordedError> for CheckError {
    fn from(error: RecordedError) -> CheckError {
        CheckError::Records(error.to_string())
    }
}

/// The result of a check, or an error if it was cancelled meanwhile.
pub(super) fn uncancelled<T>(check: impl FnOnce() -> Result<T, CheckError>) -> Result<T, CheckError> {
    let result = check();
    if is_cancelled() { Err(CheckError::Cancelled) } else { result }
}
