//! Where torch asked for conditions on sizes while it traced a program.

use crate::provenance::Provenance;
use std::sync::Arc;

/// A condition that torch recorded or asserted, with the line that asked for it. Archives have none; live programs and
/// traces do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The condition, a Python expression over `L['x'].size()[0]`.
    pub condition: Arc<str>,
    /// The line.
    pub provenance: Provenance,
    /// What asked there.
    pub by: AskedBy,
}

/// What a trace has of one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traced {
    /// The conditions on its inputs.
    pub asked: Vec<Asked>,
    /// The sizes of the example, by their sources: `L['x'].size()[0]`.
    pub sizes: Vec<(Arc<str>, i64)>,
}

/// What asks torch for the value of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// A branch of the module's code: `if`, `min`, `range`, `int`.
    Branch,
    /// An operator.
    Operator,
    /// torch's check of strides.
    Layout,
    /// An assertion of the module's code: `torch._check`.
    Assertion,
    /// The line is known, and not whether its code or an operator on it asked.
    Unknown,
}

impl AskedBy {
    /// Reads the name that documents have for it.
    pub fn from_name(name: &str) -> Option<AskedBy> {
        Some(match name {
            "branch" => AskedBy::Branch,
            "operator" => AskedBy::Operator,
            "layout" => AskedBy::Layout,
            "assertion" => AskedBy::Assertion,
            "unknown" => AskedBy::Unknown,
            _ => return None,
        })
    }
}
