//! What is to be proved of a program.
use crate::propagate::Run;
use crate::report::{Cause, ConditionKind};
use crate::spec::{Assumptions, DemandKind};
use sizewise_env::{Clause, GuardKind, Origin};
use sizewise_expr::{Expr, Func, Int, Pool};

/// What reports call a condition that only says that no data passes at some sizes.
pub(super) const NO_DATA_THERE: &str = "no data passes at these sizes";

/// What requires a condition to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The program demands it of its inputs.
    Demand(DemandKind),
    /// A guard of an operator.
    Guard(GuardKind, Clause),
    /// A size is what the program records.
    RecordedSize,
    /// A guard does not divide by zero.
    GuardDivisor,
    /// The number of elements of a result fits in 64 bits.
    ElementCount,
    /// Strides are as at the example.
    Strides,
    /// Some data passes the runtime assertions.
    SomeData,
    /// No data passes them at these sizes, and no condition was found that says at which others some does.
    NoDataThere,
}

/// A condition to be proved from the assumptions.
#[derive(Clone, Debug)]
pub(super) struct Obligation {
    /// The condition.
    pub condition: Expr,
    /// What requires it.
    pub source: Source,
    /// The step that requires it; none for what is demanded of the inputs.
    pub origin: Option<Origin>,
}

impl Obligation {
    /// What reports call the requirement.
    pub fn clause(&self) -> Option<String> {
        let name = match self.source {
            Source::Demand(_) => return None,
            Source::Guard(_, clause) => clause.name(),
            Source::RecordedSize => Clause::RecordedSize.name(),
            Source::ElementCount => Clause::ElementCount.name(),
            Source::GuardDivisor => "divisor in a guard",
            Source::Strides => "strides",
            Source::SomeData => "some data passes",
            Source::NoDataThere => NO_DATA_THERE,
        };
        Some(name.to_string())
    }

    /// Which kind of condition it is in reports.
    pub fn kind(&self) -> ConditionKind {
        match self.source {
            Source::Demand(DemandKind::Contract) | Source::RecordedSize | Source::GuardDivisor => {
                ConditionKind::Contract
            }
            Source::Demand(DemandKind::Guard) | Source::Guard(GuardKind::Branch, _) | Source::Strides => {
                ConditionKind::Guard
            }
            Source::Guard(GuardKind::Precondition, clause) if clause.is_assertion() => {
                ConditionKind::Assertion
            }
            Source::Guard(GuardKind::Precondition, _) => ConditionKind::Precondition,
            Source::ElementCount => ConditionKind::Overflow,
            Source::SomeData | Source::NoDataThere => ConditionKind::Runtime,
        }
    }

    /// Whether an operator branches on it: where it is false, the program may still run.
    pub fn is_branch(&self) -> bool {
        matches!(self.source, Source::Guard(GuardKind::Branch, _) | Source::Strides)
    }

    /// Its cause in reports.
    pub fn cause(&self, pool: &Pool) -> Cause {
        match (self.source, self.kind()) {
            (Source::GuardDivisor, _) => Cause::Divisor,
            (Source::Demand(DemandKind::Guard), _) if sets_apart_0_or_1(pool, self.condition) => {
                Cause::Specialisation
            }
            (Source::Demand(DemandKind::Contract), _) if holds_from_2_on(pool, self.condition) => {
                Cause::Specialisation
            }
            (_, ConditionKind::Guard) => Cause::Branch,
            (_, ConditionKind::Contract) => Cause::Record,
            (_, ConditionKind::Precondition) => Cause::Operator,
            (_, ConditionKind::Assertion) => Cause::Assertion,
            (_, ConditionKind::Overflow) => Cause::Overflow,
            (_, ConditionKind::Runtime) => Cause::Data,
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

/// Whether a condition is a least value of a sum that sizes of 2 or more always reach: torch records `a + b >= 4` for no
/// other reason than that it takes `a` and `b` to be so.
fn holds_from_2_on(pool: &Pool, condition: Expr) -> bool {
    let Some(&[p]) = pool.as_func(condition, Func::NotPositive) else { return false };
    let poly = pool.poly(p);
    let is_size = |(term, factor): &(Expr, Int)| pool.as_symbol(*term).is_some() && factor.is_negative();
    let least = poly.terms.iter().fold(Int::ZERO, |sum, (_, factor)| &sum - &(factor * &Int::from(2)));
    !poly.terms.is_empty() && poly.terms.iter().all(is_size) && poly.constant <= least
}

/// Everything to be proved, each condition once: the demands, then what the steps need in their order.
pub(super) fn obligations(assumptions: &Assumptions, run: &Run) -> Vec<Obligation> {
    let mut seen: rustc_hash::FxHashSet<Expr> = rustc_hash::FxHashSet::default();
    let mut list = Vec::new();
    for demand in &assumptions.demands {
        if seen.insert(demand.condition) {
            let (condition, source) = (demand.condition, Source::Demand(demand.kind));
            list.push(Obligation { condition, source, origin: None });
        }
    }
    list.extend(step_obligations(run).into_iter().filter(|o| seen.insert(o.condition)));
    list
}

/// What the steps need, in their order: conditions of operators, assertions, and that sizes are as recorded.
pub(super) fn step_obligations(run: &Run) -> Vec<Obligation> {
    let mut steps: Vec<Obligation> = Vec::new();
    for guard in &run.guards {
        let source = Source::Guard(guard.kind, guard.clause);
        steps.push(Obligation { condition: guard.condition, source, origin: Some(guard.origin) });
    }
    for comparison in &run.comparisons {
        let (condition, origin) = (comparison.condition, Some(comparison.origin));
        steps.push(Obligation { condition, source: Source::RecordedSize, origin });
    }
    steps.sort_by_key(|o| o.origin.map_or(0, |Origin(i)| i));
    steps
}
