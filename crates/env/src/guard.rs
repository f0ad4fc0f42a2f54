//! What is recorded when a condition is not settled by the facts.
use sizewise_expr::Expr;

/// Which step of the traced program a record stems from: an index that the tracer gives meaning to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Origin(pub u32);

/// Why a guard was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GuardKind {
    /// The operator accepts its operands only under this condition.
    Precondition,
    /// The operator's result has the derived form only under this condition (a branch on sizes was taken).
    Branch,
}

/// A condition on backed symbols that holds at the hints and on which the trace depends.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The condition.
    pub condition: Expr,
    /// Why it is there.
    pub kind: GuardKind,
    /// The step that recorded it first.
    pub origin: Origin,
    /// Which clause of the operator it is.
    pub clause: &'static str,
}

/// A condition on unbacked symbols that only running the program can check.
#[derive(Clone, Debug)]
pub struct RuntimeAssert {
    /// The condition.
    pub condition: Expr,
    /// The step that needs it.
    pub origin: Origin,
    /// Which clause of the operator it is.
    pub clause: &'static str,
    /// Whether the program comes to it whatever the data is: not so inside a branch that data chooses.
    pub certain: bool,
}

/// What became of a required condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Required {
    /// It follows from the facts.
    Proved,
    /// It holds at the hints and is a guard now.
    Guarded,
    /// It is a runtime assertion now.
    Asserted,
    /// It is false: of constants, at the hints, or by the facts.
    Refuted,
}
