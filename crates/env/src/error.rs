//! What can go wrong when an environment is asked.
use sizewise_expr::range::ValueRange;
use std::fmt;

/// Why an environment cannot answer, or does not take what it is told.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EnvError {
    /// A value is outside the range that is declared for it.
    #[error("{what} is {value}, which is not in {range}")]
    OutOfRange {
        /// What has the value: a source or an expression.
        what: String,
        /// The value.
        value: String,
        /// The range.
        range: String,
    },
    /// The answer depends on values that only running the program tells.
    #[error("{0}")]
    DataDependent(DataDependent),
    /// A condition that is checked is false in the example.
    #[error("`{condition}` is checked and false in the example ({example})")]
    FalseInExample {
        /// The condition.
        condition: String,
        /// The values of its symbols in the example.
        example: String,
    },
    /// What is known and what is checked contradict each other.
    #[error("{0}")]
    Contradictory(UnsatCore),
    /// The environment is frozen.
    #[error("the environment is frozen: `{condition}` would be a new {kind}")]
    Frozen {
        /// The condition.
        condition: String,
        /// `guard` or `runtime assertion`.
        kind: &'static str,
    },
    /// Unbacked symbols that no result of the step that made them tells.
    #[error("no result of the step tells the value of {}", symbols.join(", "))]
    Unbound {
        /// Their names.
        symbols: Vec<String>,
    },
}

/// A question that only running the program answers, and what would settle it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataDependent {
    /// The expression.
    pub expression: String,
    /// The unbacked symbols in it.
    pub unbacked: Vec<String>,
    /// What settles it, each as a line of Python; for a condition, the line that makes it true and the one that makes
    /// it false.
    pub checks: Vec<String>,
}

impl fmt::Display for DataDependent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` depends on data ({})", self.expression, self.unbacked.join(", "))?;
        match self.checks.as_slice() {
            [] => Ok(()),
            [one] => write!(f, "; `{one}` before it settles it"),
            several => write!(f, "; `{}` before it settles it", several.join("` or `")),
        }
    }
}

/// A range as `2..64`, open ends as `…`.
pub(super) fn range_text(range: &ValueRange) -> String {
    let show = |end: Option<sizewise_expr::Int>| end.map_or("…".to_string(), |end| end.to_string());
    format!("{}..{}", show(range.lower()), show(range.upper()))
}

/// Conditions that no sizes satisfy together, and that some sizes do as soon as any one is left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsatCore {
    /// The condition that was to hold, if the others are what was known before it.
    pub condition: Option<String>,
    /// The other conditions, in the order in which they became known; bounds of declared ranges come last.
    pub facts: Vec<String>,
}

impl fmt::Display for UnsatCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.condition {
            Some(condition) if self.facts.is_empty() => write!(f, "`{condition}` is false"),
            Some(condition) => {
                write!(f, "`{condition}` contradicts what is known: {}", self.facts.join(", "))
            }
            None => write!(f, "no sizes satisfy all of {}", self.facts.join(", ")),
        }
    }
}
