//! The smallest expression that is equal under facts.
//!
//! There are two ways: equality saturation with extraction of the smallest form, and enumeration of small
//! expressions in order of size. Enumerated expressions are compared at the cached assignments first (a
//! different value rules one out), then by proof. If the whole cannot be replaced, its parts are simplified
//! by themselves.
use super::enumerate::{Points, Target, TermBank};
use super::exact_floats::{exact, has_floats};
use super::facts::{Consistency, Facts};
use super::ladder::{decide, prepare};
use super::verdict::{Budget, Rung, Trace, Verdict};
use super::work::{Allowance, Work};
use crate::egraph::{self, Reading, RuleSet};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Pool, Sort, is_cancelled, print};

/// Expressions of more operators than this are only put through the e-graph.
const MAX_OPERATORS: u32 = 120;
/// Parts of one expression that are looked at.
const MAX_PARTS: usize = 40;
/// Replacements within a whole that are put to proof.
const MAX_WITHIN: usize = 4;
/// The most questions that may stay open.
const MAX_OPEN: u32 = 30;
/// All questions together may take as much work as this many that use up their budget.
const QUESTIONS: u64 = 3;
/// The most rounds over all parts.
const MAX_ROUNDS: usize = 4;

/// An expression that is equal to `e` wherever the facts hold and no divisor is zero, with the fewest
/// operators that were found.
pub fn simplify(pool: &mut Pool, facts: &mut Facts, e: Expr, budget: &Budget) -> Expr {
    simplify_traced(pool, facts, e, budget, &mut Trace::off())
}

/// [`simplify`] with a record of the rules used and the replacements tried.
pub fn simplify_traced(
    pool: &mut Pool,
    facts: &mut Facts,
    e: Expr,
    budget: &Budget,
    trace: &mut Trace,
) -> Expr {
    simplify_within(
        pool,
        facts,
        e,
        &SimplifyLimits { budget, most: u64::from(budget.work) * QUESTIONS },
        trace,
    )
}

/// The limits of a simplification.
pub(super) struct SimplifyLimits<'b> {
    /// Of each question.
    pub budget: &'b Budget,
    /// Of all questions together, in units of [`Work::effort`].
    pub most: u64,
}

/// [`simplify_traced`] within limits.
pub(super) fn simplify_within(
    pool: &mut Pool,
    facts: &mut Facts,
    e: Expr,
    limits: &SimplifyLimits<'_>,
    trace: &mut Trace,
) -> Expr {
    let budget = limits.budget;
    facts.declare_free(pool, e);
    facts.divide_for(pool, e);
    if facts.is_divided() {
        prepare(pool, facts, budget);
        // A copy: that the divisors of `e` are not zero is no fact for later.
        let mut own = facts.with_subproblem(pool, e, |_, subproblem| subproblem.facts.clone());
        return with_copy(pool, (facts, &mut own), e, limits, trace);
    }
    if let Some(mut own) = facts.for_divisors_of(pool, e) {
        return with_copy(pool, (facts, &mut own), e, limits, trace);
    }
    let allowance = Allowance::new(pool, limits.most);
    let before = facts.work();
    prepare(pool, facts, budget);
    if !matches!(facts.consistency, Consistency::Consistent) || pool.sort(e) == Sort::Float {
        return e;
    }
    let mut simplifier = Simplifier {
        trace,
        reading: Reading::new(),
        budget: Budget {
            rlimit: 0,
            points: budget.points.min(4_000),
            branches: budget.branches.min(60),
            ..budget.clone()
        },
        open: 0,
        allowance,
        before,
        done: FxHashMap::default(),
    };
    let e = simplifier.in_integers(pool, facts, e);
    let mut best = simplifier.by_graph(pool, facts, e);
    for _ in 0..MAX_ROUNDS {
        let next = simplifier.improve(pool, facts, best);
        if next == best {
            break;
        }
        best = next;
    }
    best
}

/// Simplifies under a copy of facts, and counts the work as theirs.
fn with_copy(
    pool: &mut Pool,
    (facts, own): (&mut Facts, &mut Facts),
    e: Expr,
    limits: &SimplifyLimits<'_>,
    trace: &mut Trace,
) -> Expr {
    let before = own.work();
    let simple = simplify_within(pool, own, e, limits, trace);
    facts.add_work(own.work().since(before));
    simple
}

struct Simplifier<'a> {
    trace: &'a mut Trace,
    reading: Reading,
    budget: Budget,
    /// Questions that stayed open.
    open: u32,
    /// The work of all questions. Each has the budget of one.
    allowance: Allowance,
    /// The work of the facts before.
    before: Work,
    /// Parts that have been simplified as a whole, with their results.
    done: FxHashMap<Expr, Expr>,
}

impl Simplifier<'_> {
    /// Whether no more questions may be asked.
    fn is_done(&self, pool: &Pool, facts: &Facts) -> bool {
        is_cancelled()
            || self.open >= MAX_OPEN
            || self.allowance.left(pool, facts.work().since(self.before)) == 0
    }

    fn cost(&mut self, pool: &mut Pool, e: Expr) -> u32 {
        self.reading.operators(pool, e)
    }

    /// The smaller of two.
    fn smaller(&mut self, pool: &mut Pool, a: Expr, b: Expr) -> Expr {
        if self.cost(pool, b) < self.cost(pool, a) { b } else { a }
    }

    /// The same with arithmetic of doubles replaced by that of integers, as questions are put, where that is smaller.
    fn in_integers(&mut self, pool: &mut Pool, facts: &mut Facts, e: Expr) -> Expr {
        if !has_floats(pool, e) {
            return e;
        }
        let integers = exact(pool, facts.table(pool), e);
        self.smaller(pool, e, integers)
    }

    fn by_graph(&mut self, pool: &mut Pool, facts: &mut Facts, e: Expr) -> Expr {
        let mut graph = facts.store.branch(pool);
        graph.add(pool, e);
        let limits = egraph::Limits { nodes: 400, iterations: 5, matches: 300 };
        let outcome = graph.saturate(pool, RuleSet::simplifying(), &limits, None);
        self.trace.note(Rung::EGraph, || {
            let rules = graph.fired_rules(RuleSet::simplifying()).join(", ");
            let rules = if rules.is_empty() { "none".to_string() } else { rules };
            let (stop, rounds, nodes) = (outcome.stop, outcome.iterations, outcome.nodes);
            format!(
                "{stop} after {rounds} rounds with {nodes} expressions; rules that taught something: {rules}"
            )
        });
        if graph.contradiction().is_some() {
            return e;
        }
        let found = graph.extract(pool, e, &mut self.reading);
        self.trace.note(Rung::EGraph, || {
            format!("the smallest equal expression is {}", print::expression(pool, found))
        });
        self.smaller(pool, e, found)
    }

    /// Replaces the whole or, failing that, parts.
    fn improve(&mut self, pool: &mut Pool, facts: &mut Facts, e: Expr) -> Expr {
        if self.cost(pool, e) > MAX_OPERATORS {
            return e;
        }
        let whole = self.replace(pool, facts, e, e);
        if self.cost(pool, whole) < self.cost(pool, e) {
            return whole;
        }
        let mut best = e;
        let mut parts = pool.reachable(&[e]);
        parts.reverse();
        for part in parts.into_iter().take(MAX_PARTS) {
            if self.is_done(pool, facts) {
                break;
            }
            if part == e || !pool.reachable(&[best]).contains(&part) {
                continue;
            }
            let new = self.replace(pool, facts, part, e);
            if new != part {
                let changed = pool.substitute(best, |x| (x == part).then_some(new));
                best = self.smaller(pool, best, changed);
            }
        }
        if best == e { self.within(pool, facts, e) } else { best }
    }

    /// Replaces a part by one of its operands if the whole stays equal although the part does not.
    /// `max(0, max(0, a) - min(a, 2))` is `max(0, max(0, a) - 2)`, because `min(a, 2)` counts only if `a` is
    /// large.
    fn within(&mut self, pool: &mut Pool, facts: &mut Facts, e: Expr) -> Expr {
        let Some(points) = Points::new(pool, facts, e) else { return e };
        let limit = self.cost(pool, e);
        let mut tries = MAX_WITHIN;
        for part in pool.reachable(&[e]) {
            let Some((Func::Min | Func::Max | Func::Mod | Func::Ite, args)) = pool.as_call(part) else {
                continue;
            };
            let operands: Vec<Expr> =
                args.iter().copied().filter(|&a| part != e && pool.sort(a) == pool.sort(part)).collect();
            for operand in operands {
                let whole = pool.substitute(e, |x| (x == part).then_some(operand));
                if self.cost(pool, whole) >= limit
                    || !points.agree(pool, whole)
                    || !divides_safely(pool, facts, whole)
                {
                    continue;
                }
                if tries == 0 || self.is_done(pool, facts) {
                    return e;
                }
                tries -= 1;
                if self.are_equal(pool, facts, e, whole).is_implied() {
                    return whole;
                }
            }
        }
        e
    }

    /// Whether a candidate is equal to a part.
    fn are_equal(&mut self, pool: &mut Pool, facts: &mut Facts, part: Expr, candidate: Expr) -> Verdict {
        let equal = pool.eq(part, candidate);
        let answer = decide(pool, facts, equal, &self.budget);
        self.trace.answered(&answer, || {
            format!("{} is {}", print::expression(pool, part), print::expression(pool, candidate))
        });
        self.open += u32::from(matches!(answer.verdict, Verdict::Unknown { .. }));
        answer.verdict
    }

    /// A smaller expression equal to `part`, if one is found; built of symbols, constants and parts of `root`.
    fn replace(&mut self, pool: &mut Pool, facts: &mut Facts, part: Expr, root: Expr) -> Expr {
        if let Some(&known) = self.done.get(&part) {
            return known;
        }
        let new = self.search(pool, facts, part, root).unwrap_or(part);
        self.done.insert(part, new);
        new
    }

    fn search(&mut self, pool: &mut Pool, facts: &mut Facts, part: Expr, root: Expr) -> Option<Expr> {
        let limit = self.cost(pool, part);
        if limit == 0 {
            // A symbol may still be a constant, or equal to another one: nothing is gained by the latter.
            let value =
                facts.domain(pool, part).as_point().filter(|_| pool.sort(part) != Sort::Float).cloned()?;
            return Some(pool.int(value));
        }
        if pool.sort(part) == Sort::Bool
            && let Some(truth) = self.settled(pool, facts, part)
        {
            return Some(pool.bool(truth));
        }
        let target = Target::new(pool, facts, part, root)?;
        let mut bank = TermBank::new(pool, &mut self.reading, target, limit);
        let mut tries = 0;
        while let Some(candidate) = bank.next(pool) {
            tries += 1;
            if tries > 12 || self.is_done(pool, facts) {
                break;
            }
            if self.cost(pool, candidate) >= limit || !divides_safely(pool, facts, candidate) {
                continue;
            }
            match self.are_equal(pool, facts, part, candidate) {
                Verdict::Implied { .. } => return Some(candidate),
                Verdict::Refuted { witness } => bank.learn(pool, &witness),
                Verdict::Inconsistent { .. } => return None,
                Verdict::Unknown { .. } => {}
            }
        }
        None
    }

    fn settled(&mut self, pool: &mut Pool, facts: &mut Facts, condition: Expr) -> Option<bool> {
        let opposite = pool.not(condition);
        let answer = decide(pool, facts, condition, &self.budget);
        self.trace.answered(&answer, || print::expression(pool, condition));
        self.open += u32::from(matches!(answer.verdict, Verdict::Unknown { .. }));
        match answer.verdict {
            Verdict::Implied { .. } => Some(true),
            Verdict::Refuted { .. } => {
                decide(pool, facts, opposite, &self.budget).verdict.is_implied().then_some(false)
            }
            _ => None,
        }
    }
}

/// Whether no divisor of `e` can be zero under the facts, so that `e` is defined wherever they hold.
fn divides_safely(pool: &mut Pool, facts: &mut Facts, e: Expr) -> bool {
    pool.reachable(&[e]).into_iter().all(|part| match pool.as_call(part) {
        Some((Func::FloorDiv | Func::Mod, args)) => {
            let divisor = args[1];
            !facts.domain(pool, divisor).contains_zero()
        }
        _ => true,
    })
}
