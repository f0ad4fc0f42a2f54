//! Why a fake kernel gives no result.
use super::value::Values;
use sizewise_env::Clause;
use sizewise_expr::Expr;
use smallvec::smallvec;

/// What a kernel returns.
pub type KernelResult = Result<Values, KernelError>;

/// Why a kernel gives no result.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelError {
    /// The operator rejects its arguments.
    Invalid {
        /// The clause of the kernel's specification that is violated, such as `mm.C2`.
        clause: Clause,
        /// What is wrong, with the values at hand.
        message: String,
        /// The condition that does not hold, where it is one on sizes.
        condition: Option<Expr>,
    },
    /// There is no kernel, or none for this kind of argument.
    Unsupported(String),
    /// The result depends on a condition on unbacked symbols that is open.
    DataDependent {
        /// The condition.
        condition: Expr,
        /// What would be decided by it.
        message: String,
    },
}

impl KernelError {
    /// A violated clause that is no condition on sizes.
    pub fn invalid(clause: impl Into<Clause>, message: impl Into<String>) -> KernelError {
        KernelError::Invalid { clause: clause.into(), message: message.into(), condition: None }
    }
}

/// One tensor as a kernel's result.
pub(super) fn one(tensor: super::Tensor) -> KernelResult {
    Ok(smallvec![tensor.into()])
}
