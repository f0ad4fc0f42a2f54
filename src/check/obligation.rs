//! What is to be proved of a program.
use crate::expr::Expr;
use crate::report::ConditionKind;
use crate::shape_env::Origin;

/// A condition to be proved from the assumptions.
#[derive(Clone, Debug)]
pub(super) struct Obligation {
    /// The condition.
    pub condition: Expr,
    /// Where it comes from.
    pub kind: ConditionKind,
    /// The step that needs it; none for what is demanded of the inputs.
    pub origin: Option<Origin>,
    /// The clause of the operator.
    pub clause: Option<&'static str>,
    /// Whether it is a branch that an operator takes: where it is false another way is taken, which may be as good.
    pub branch: bool,
    /// Whether it is the agreement of a derived size with the recorded one.
    pub comparison: bool,
}
