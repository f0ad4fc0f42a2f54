//! What is recorded when a condition is not settled by the facts.
use super::clause::{Clauses, OpClause};
use sizewise_expr::Expr;
use std::fmt;

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

crate::clauses! { assert_scalar "_assert_scalar" {
    C1 "The asserted condition is true: one of `torch._check` in the code, or one that torch.export put into the graph because the trace \
        relies on it."
} }

crate::clauses! { sym_constrain_range {
    C1 "`min` is at most `max`."
    C2 "The number is from `min` to `max`."
} }

/// The conditions that a program states of numbers.
pub const STATED: Clauses = &[assert_scalar::ALL, sym_constrain_range::ALL];

/// What requires a condition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Clause {
    /// A condition of an operator's kernel: `mm.C2`.
    Operator(&'static OpClause),
    /// The program asserts it of numbers: `_assert_scalar`.
    ScalarAssertion,
    /// The program asserts it of a tensor: `_assert_tensor_metadata.C1`.
    TensorAssertion(&'static OpClause),
    /// A bound that the program puts on a number: `sym_constrain_range`.
    RangeConstraint,
    /// [`ShapeEnv::check`](crate::ShapeEnv::check).
    Check,
    /// [`ShapeEnv::evaluate`](crate::ShapeEnv::evaluate) and related methods.
    Evaluate,
    /// The program records the size so.
    RecordedSize,
    /// The number of elements of a tensor fits in 64 bits.
    ElementCount,
}

impl Clause {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Clause::Operator(clause) | Clause::TensorAssertion(clause) => clause.code,
            Clause::ScalarAssertion => assert_scalar::C1.code,
            Clause::RangeConstraint => sym_constrain_range::C2.code,
            Clause::Check => "torch._check",
            Clause::Evaluate => "evaluate",
            Clause::RecordedSize => "recorded size",
            Clause::ElementCount => "int64 element count",
        }
    }

    /// Whether an operator that does nothing but assert requires it.
    pub fn is_assertion(self) -> bool {
        matches!(self, Clause::ScalarAssertion | Clause::TensorAssertion(_))
    }

    /// Whether the program itself states it of a number; see [`ShapeEnv::stated`](crate::ShapeEnv::stated).
    pub fn is_stated(self) -> bool {
        matches!(self, Clause::ScalarAssertion | Clause::RangeConstraint)
    }
}

impl From<&'static OpClause> for Clause {
    fn from(clause: &'static OpClause) -> Clause {
        Clause::Operator(clause)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
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
    /// What requires it.
    pub clause: Clause,
}

/// A condition on unbacked symbols that only running the program can check.
#[derive(Clone, Debug)]
pub struct RuntimeAssert {
    /// The condition.
    pub condition: Expr,
    /// The step that needs it.
    pub origin: Origin,
    /// What requires it.
    pub clause: Clause,
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
