//! Proofs to read: the steps by which premises exclude that a goal is false.
//!
//! A proof is found again from the premises that suffice, this time with a record of the steps. So the
//! recorded steps are the checked ones.
use super::bits;
use super::cases::{self, Allowance};
use super::exact_floats::{exact, has_floats};
use super::exhaust::{Exhausted, exhaust};
use super::facts::{Facts, symbolic_divisors};
use super::linear::{self, Effort, Relaxed};
use super::proof_log::{Log, ProofStep};
use super::reduce::Reduced;
use super::rewriting;
use super::verdict::{FactId, Premise};
use sizewise_expr::range::DomainTable;
use sizewise_expr::{Expr, Pool, is_cancelled, print};

/// Terms and operands that finding a proof again may write and visit.
const MAX_TERMS: u64 = 1_000_000;
/// Assignments that may be tried to find a proof again, in points of a [`super::Budget`].
const MAX_TRIED: u32 = 60_000;
/// Z3's resource limit where it is asked again.
#[cfg(feature = "smt")]
const Z3_RLIMIT: u32 = 400_000;
/// The most domains that are shown.
const MAX_DOMAINS: usize = 24;

/// The steps by which premises imply a goal, or contradict each other. The last resort are trying every assignment, and
/// Z3; where nothing finds the proof again from the premises alone, it says so.
pub fn proof(pool: &mut Pool, facts: &Facts, goal: Option<Expr>, premises: &[Premise]) -> Vec<ProofStep> {
    let goal = goal.map(|g| pool.truth(g));
    if goal.is_some_and(|goal| pool.as_bool(goal) == Some(true)) {
        let says = "both sides have the same normal form".to_string();
        return vec![ProofStep { rule: "normal-form".to_string(), says }];
    }
    let conditions = conditions(pool, facts, premises);
    let limit = pool.limit_work(MAX_TERMS);
    let mut log = Log::on();
    // The first that is found is the easiest to read.
    let found = closes(pool, conditions.clone(), goal, Method::Ranges, &mut log)
        || goal.is_some_and(|goal| rewriting::derivation(pool, &conditions, goal, &mut log))
        || closes(pool, conditions.clone(), goal, Method::Cases, &mut log)
        || rewriting::refutation(pool, &conditions, goal, &mut log);
    pool.restore_work(limit);
    if !found {
        without_steps(pool, facts, goal, premises, &mut log);
    }
    log.into_steps()
}

/// Records the premises, the negated goal, and what finds by itself that these never all hold.
fn without_steps(pool: &mut Pool, facts: &Facts, goal: Option<Expr>, premises: &[Premise], log: &mut Log) {
    let mut conditions = conditions(pool, facts, premises);
    for &condition in &conditions {
        log.note("premise", || print::expression(pool, condition));
    }
    if let Some(goal) = goal {
        let negation = pool.not(goal);
        log.note("negated-goal", || print::expression(pool, negation));
        conditions.push(negation);
    }
    let mut alone = facts.restricted_to(pool, premises);
    if let Exhausted::None(tried) = exhaust(pool, &mut alone, goal, MAX_TRIED) {
        log.note("search", || format!("each of the {tried} assignments was tried: these never all hold"));
        return;
    }
    match z3_refutes(pool, &conditions) {
        true => log.note("smt", || "Z3 finds that these cannot all hold".to_string()),
        false => log.note("open", || "these cannot all hold; no shorter proof was found again".to_string()),
    }
}

/// Whether Z3 finds that conditions contradict each other.
#[cfg(feature = "smt")]
fn z3_refutes(pool: &Pool, conditions: &[Expr]) -> bool {
    use super::smt::{NONLINEAR_SHARE, Question, Response, check, is_nonlinear};
    let share = if is_nonlinear(pool, conditions) { NONLINEAR_SHARE } else { 1 };
    let nonzero = symbolic_divisors(pool, conditions);
    let question = Question { ranges: &[], conditions, nonzero: &nonzero, rlimit: Z3_RLIMIT / share };
    check(pool, &question) == Response::Unsatisfiable
}

#[cfg(not(feature = "smt"))]
fn z3_refutes(_: &Pool, _: &[Expr]) -> bool {
    false
}

/// A method of finding a proof.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Method {
    /// Ranges and congruences.
    Ranges,
    /// Also a little linear reasoning.
    Linear,
    /// Also more linear reasoning, number theory and cases.
    Cases,
    /// Rewrite rules.
    Rules,
}

impl Method {
    /// All, cheapest first.
    pub const ALL: [Method; 4] = [Method::Ranges, Method::Linear, Method::Cases, Method::Rules];
}

/// The conditions that premises stand for.
pub(super) fn conditions(pool: &mut Pool, facts: &Facts, premises: &[Premise]) -> Vec<Expr> {
    let mut conditions: Vec<Expr> = Vec::with_capacity(premises.len() + 4);
    for premise in premises {
        let condition = match premise {
            Premise::Fact(FactId(i)) => facts.conditions().get(*i as usize).copied(),
            Premise::Lower(s) => facts.bound(pool, *s, false),
            Premise::Upper(s) => facts.bound(pool, *s, true),
            Premise::Nonzero(e) => Some(pool.ne(*e, Expr::ZERO)),
        };
        conditions.extend(condition);
    }
    conditions
}

/// Whether conditions imply a goal (or contradict each other), by this method and all cheaper ones, but by rules alone.
pub(super) fn closes(
    pool: &mut Pool,
    conditions: Vec<Expr>,
    goal: Option<Expr>,
    method: Method,
    log: &mut Log,
) -> bool {
    if method == Method::Rules {
        return rewriting::contradicts(pool, &conditions, goal);
    }
    let (begin, mut conditions) = (log.len(), conditions);
    // The divisors of the premises are not zero, nor are those of the goal.
    let mut roots = conditions.clone();
    roots.extend(goal);
    for d in symbolic_divisors(pool, &roots) {
        conditions.push(pool.ne(d, Expr::ZERO));
    }
    let mut table = DomainTable::new();
    let without_value = || "the premises leave some expression no value".to_string();
    if contradiction(pool, &mut table, &conditions) {
        log.note("range", without_value);
        return true;
    }
    let mut goal = goal;
    let as_integers = integers(pool, &mut table, &mut conditions, &mut goal, log);
    if as_integers && contradiction(pool, &mut table, &conditions) {
        log.note("range", without_value);
        return true;
    }
    let start = log.len();
    if let Some(goal) = goal {
        domains(pool, &mut table, goal, log);
        if table.decide(pool, goal) == Some(true) {
            log.note("range", || format!("so {}", print::expression(pool, goal)));
            return true;
        }
        conditions.push(pool.not(goal));
        if contradiction(pool, &mut table, &conditions) {
            log.note("range", || "with the goal false, some expression has no value".to_string());
            return true;
        }
    }
    log.truncate(start);
    if method == Method::Ranges {
        log.truncate(begin);
        return false;
    }
    let mut reduced = Reduced::new(pool, &conditions);
    for (rule, from, to) in &reduced.steps {
        log.note(rule, || format!("{} is {}", print::expression(pool, *from), print::expression(pool, *to)));
    }
    let (branches, work) = if method == Method::Linear { (20, 8_000) } else { (60, 60_000) };
    let mut effort = Effort { branches, work };
    let start = log.len();
    let closed = match linear::refute(pool, &mut reduced, &mut effort, log) {
        Relaxed::Closed => true,
        Relaxed::Candidate(_) => false,
        Relaxed::Open if method == Method::Linear => false,
        Relaxed::Open => {
            log.truncate(start);
            let mut left = Allowance::new(40, 60_000, 8_000);
            cases::refute(pool, &mut reduced, &mut left, log) == Relaxed::Closed
        }
    };
    if !closed {
        log.truncate(begin);
    }
    closed
}

/// Whether conditions contradict each other by their ranges and congruences, each being assumed as long as that tightens
/// something, but only a few times.
fn contradiction(pool: &Pool, table: &mut DomainTable, conditions: &[Expr]) -> bool {
    for _ in 0..3 {
        let mut changed = false;
        for &c in conditions {
            // Cancelled work finds nothing.
            if is_cancelled() {
                return false;
            }
            match table.assume(pool, c) {
                Ok(more) => changed |= more,
                Err(_) => return true,
            }
        }
        if !changed {
            return false;
        }
    }
    false
}

/// Replaces bitwise operations by arithmetic, and doubles by integers where the domains show that rounding changes
/// nothing. Whether anything was replaced.
fn integers(
    pool: &mut Pool,
    table: &mut DomainTable,
    conditions: &mut [Expr],
    goal: &mut Option<Expr>,
    log: &mut Log,
) -> bool {
    let mut replaced = false;
    let mut replace = |pool: &Pool, rule: &str, e: &mut Expr, simpler: Expr, why: &str| {
        if simpler != *e {
            log.note(rule, || {
                format!("{} is {}{why}", print::expression(pool, *e), print::expression(pool, simpler))
            });
            (*e, replaced) = (simpler, true);
        }
    };
    for e in conditions.iter_mut().chain(goal) {
        if pool.has_bits() {
            let simpler = bits::arithmetic(pool, *e);
            replace(pool, "bits", e, simpler, "");
        }
        if has_floats(pool, *e) {
            let simpler = exact(pool, table, *e);
            replace(pool, "doubles", e, simpler, ", as rounding changes nothing there");
        }
    }
    replaced
}

/// Notes the domains of what a goal is built of.
fn domains(pool: &Pool, table: &mut DomainTable, goal: Expr, log: &mut Log) {
    for e in pool.reachable(&[goal]).into_iter().take(MAX_DOMAINS) {
        if pool.sort(e) == sizewise_expr::Sort::Int && !pool.is_constant(e) {
            let domain = table.domain(pool, e);
            if !domain.is_all() {
                log.note("range", || format!("{} is in {domain:?}", print::expression(pool, e)));
            }
        }
    }
}
