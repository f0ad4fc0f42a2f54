//! What a run records.
use crate::expr::Expr;
use crate::fake::Value;
use crate::ir::ValueId;
use crate::shape_env::Origin;
use std::sync::Arc;

/// A step of the run: a node as it was reached.
#[derive(Clone, Debug)]
pub struct Step {
    /// The node's name, with the names of the graphs around it: `true_graph_0.add`.
    pub node: Arc<str>,
    /// The operator: `aten.add.Tensor`.
    pub op: Arc<str>,
    /// The line of the user's code, `model.py:8`, if recorded.
    pub location: Option<String>,
    /// That line's text, if recorded.
    pub code: Option<String>,
}

/// A size that is derived in one way and recorded in another; they are to be equal.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The step that makes the value.
    pub origin: Origin,
    /// The value's name.
    pub value: Arc<str>,
    /// The condition that both agree.
    pub condition: Expr,
    /// What is derived.
    pub derived: Expr,
    /// What is recorded.
    pub recorded: Expr,
}

/// What is derived of a value.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The graph, by the names of the graphs on the way: `true_graph_0.false_graph_0`; empty for the program's own.
    pub scope: String,
    /// The value.
    pub value: ValueId,
    /// What is derived, unbacked symbols being named as recorded.
    pub found: Value,
    /// What is recorded.
    pub recorded: Value,
}

/// A value whose recorded form is wrong wherever the program runs: another rank, dtype or size.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The step that makes the value.
    pub origin: Origin,
    /// The value's name.
    pub value: Arc<str>,
    /// The recorded form: `f32[s0, 3]`.
    pub recorded: String,
    /// The derived form.
    pub derived: String,
}

/// A step that gives no result.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The step.
    pub origin: Origin,
    /// Why.
    pub kind: FailureKind,
    /// What is wrong, with the values at hand.
    pub message: String,
    /// The clause of the operator that is violated, if any.
    pub clause: Option<&'static str>,
    /// The condition that does not hold, if it is one on sizes.
    pub condition: Option<Expr>,
}

/// Why a step gives no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// The operator rejects its operands.
    Invalid,
    /// A condition on unbacked symbols is open.
    DataDependent,
    /// The arguments do not fit the operator's schema.
    Malformed,
}
