//! Why a pass fails.
use sizewise_verify::Violation;

/// Why a pass gives nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PassError {
    /// The pass cannot do its work.
    #[error("{pass}: {message}")]
    Failed {
        /// The pass.
        pass: &'static str,
        /// Why. No full stop at the end.
        message: String,
    },
    /// The program holds what the pass has no rule for.
    #[error("{pass}: left as they are: {}", operators.join(", "))]
    Left {
        /// The pass.
        pass: &'static str,
        /// The operators and values, each with why; not empty.
        operators: Vec<String>,
    },
    /// What came out breaks rules of its dialect that the program kept before.
    #[error("after {pass} the program breaks {} rules, first {}", violations.len(), violations[0])]
    Broken {
        /// The pass.
        pass: &'static str,
        /// What is wrong; not empty.
        violations: Vec<Violation>,
    },
}

impl PassError {
    /// The pass cannot do its work, for this reason.
    pub fn failed(pass: &'static str, message: impl Into<String>) -> PassError {
        PassError::Failed { pass, message: message.into() }
    }

    pub(super) fn left(pass: &'static str, operators: impl IntoIterator<Item = String>) -> PassError {
        PassError::Left { pass, operators: operators.into_iter().collect() }
    }
}
