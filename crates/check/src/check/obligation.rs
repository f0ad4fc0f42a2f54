//! What is to be proved of a program.
use super::run::Run;
use crate::report::{Cause, ConditionKind};
use crate::spec::{Assumptions, DemandKind};
use sizewise_env::{GuardKind, Origin};
use sizewise_expr::{Expr, Func, Int, Pool};

/// The clause of conditions that a size is what the program records.
pub(super) const RECORDED_SIZE: &str = "recorded size";

/// The clause of conditions that a guard does not divide by zero.
pub(super) const GUARD_DIVISOR: &str = "divisor in a guard";

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
}

impl Obligation {
    /// What gives rise to it.
    pub fn cause(&self, pool: &Pool) -> Cause {
        match self.kind {
            ConditionKind::Overflow => Cause::Overflow,
            ConditionKind::Assertion => Cause::Assertion,
            ConditionKind::Runtime => Cause::Data,
            _ if self.clause == Some(RECORDED_SIZE) => Cause::Record,
            _ if self.clause == Some(GUARD_DIVISOR) => Cause::Divisor,
            ConditionKind::Precondition => Cause::Operator,
            ConditionKind::Contract => Cause::Record,
            ConditionKind::Guard if self.origin.is_none() && sets_apart_0_or_1(pool, self.condition) => {
                Cause::Specialisation
            }
            ConditionKind::Guard => Cause::Branch,
        }
    }
}

/// Whether a condition says of something positive that it is not 0 or not 1, or at least 1 or 2.
fn sets_apart_0_or_1(pool: &Pool, condition: Expr) -> bool {
    let (p, at_most) = match pool.as_call(condition) {
        Some((Func::Not, &[inner])) => match pool.as_func(inner, Func::IsZero) {
            Some(&[p]) => (p, 1),
            _ => return false,
        },
        // `2 - p <= 0` is `p >= 2`.
        Some((Func::NotPositive, &[p])) => (p, 2),
        _ => return false,
    };
    let poly = pool.poly(p);
    let constant = poly.constant.abs();
    let one_sided = poly.terms.iter().all(|(_, c)| c.is_positive() != poly.constant.is_positive());
    constant <= Int::from(at_most) && (one_sided || poly.constant.is_zero()) && poly.terms.len() == 1
}

/// Everything to be proved, each condition once: the demands, then what the steps need in their order.
pub(super) fn obligations(assumptions: &Assumptions, run: &Run) -> Vec<Obligation> {
    let mut seen: rustc_hash::FxHashSet<Expr> = rustc_hash::FxHashSet::default();
    let mut list = Vec::new();
    for demand in &assumptions.demands {
        let kind = match demand.kind {
            DemandKind::Contract => ConditionKind::Contract,
            DemandKind::Guard => ConditionKind::Guard,
        };
        if seen.insert(demand.condition) {
            let (condition, origin, clause) = (demand.condition, None, None);
            list.push(Obligation { condition, kind, origin, clause, branch: false });
        }
    }
    list.extend(step_obligations(run).into_iter().filter(|o| seen.insert(o.condition)));
    list
}

/// What the steps need, in their order: conditions of operators, assertions, and that sizes are as recorded.
pub(super) fn step_obligations(run: &Run) -> Vec<Obligation> {
    let mut steps: Vec<Obligation> = Vec::new();
    for guard in &run.guards {
        let branch = guard.kind == GuardKind::Branch;
        let assertion = guard.clause.starts_with("_assert");
        let kind = match (branch, assertion) {
            (true, _) => ConditionKind::Guard,
            (false, true) => ConditionKind::Assertion,
            (false, false) => ConditionKind::Precondition,
        };
        let (condition, origin, clause) = (guard.condition, Some(guard.origin), Some(guard.clause));
        steps.push(Obligation { condition, kind, origin, clause, branch });
    }
    for comparison in &run.comparisons {
        let (condition, origin) = (comparison.condition, Some(comparison.origin));
        let kind = ConditionKind::Contract;
        steps.push(Obligation { condition, kind, origin, clause: Some(RECORDED_SIZE), branch: false });
    }
    steps.sort_by_key(|o| o.origin.map_or(0, |Origin(i)| i));
    steps
}
