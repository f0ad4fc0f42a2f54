//! Z3 as the last resort: is a conjunction satisfiable?
//!
//! Only `unsat` proves anything. A model is a candidate that the exact evaluator has to replay. Z3 is bounded
//! by its resource counter alone, so that no answer depends on the machine: only procedures that count are
//! used, questions on which they would run on for long are not asked, and nonlinear ones get a share of the
//! limit. Z3 does not count what it does to a tableau, so large tableaus are among those that are not asked. Every check runs in a context of its own, so that an answer does not depend on earlier questions.
mod encode;
mod magnitude;
mod tableau;

use encode::Encoder;
use sizewise_expr::{CancelToken, Expr, Func, Int, Node, Pool, Symbol};
use std::sync::mpsc;
use std::time::Duration;
use z3::{Config, Params, SatResult, Solver, StatisticsValue, Tactic};

/// Queries with more nonlinear terms than this are not asked: Z3 may run long past its resource limit on them.
const MAX_NONLINEAR: u64 = 60;
/// The highest degree of a monomial that is asked.
const MAX_DEGREE: u32 = 4;
/// The most terms and operands in a query that is asked.
const MAX_TERMS: usize = 4_000;
/// The most bits of a number in a nonlinear query.
const MAX_NONLINEAR_BITS: u64 = 128;
/// The most bits that numbers may get in a nonlinear query.
const MAX_NONLINEAR_RESULT_BITS: u64 = 1024;
/// The most bits of a number at all.
const MAX_BITS: u64 = 4096;

/// The largest [tableau](tableau::size) that is asked.
const MAX_TABLEAU: u64 = 400_000;

/// Units of the resource limit that take about a microsecond, where no tableau is changed.
const UNITS_PER_MICROSECOND: u64 = 2;
/// At most so long takes a unit where a tableau is changed.
const MICROSECONDS_PER_PIVOT: u64 = 100;

/// A nonlinear question gets this share of the resource limit: a unit may take Z3 much longer there.
pub const NONLINEAR_SHARE: u32 = 16;

/// A conjunction to check.
pub struct Question<'a> {
    /// The symbols with inclusive bounds.
    pub ranges: &'a [(Symbol, Option<Int>, Option<Int>)],
    /// Conditions that are all to hold.
    pub conditions: &'a [Expr],
    /// Divisors that are not 0, in addition to those that occur in the conditions.
    pub nonzero: &'a [Expr],
    /// The resource limit.
    pub rlimit: u32,
}

/// The answer of Z3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Response {
    /// No assignment exists.
    Unsatisfiable,
    /// A candidate assignment of the symbols, not yet replayed.
    Candidate(Vec<(Symbol, Int)>),
    /// Neither, and why.
    Unknown(String),
}

/// How Z3 works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Procedure {
    /// By procedures that count their work; see [`solver`].
    Counted,
    /// Z3's own choice, as for direct callers of Z3.
    Default,
}

/// Asks Z3 once.
pub fn check(pool: &Pool, question: &Question) -> Response {
    check_by(Procedure::Counted, pool, question).0
}

/// As [`check`], by a procedure, with what it took: at most about so many microseconds, counted and not timed.
pub fn check_by(procedure: Procedure, pool: &Pool, question: &Question) -> (Response, u64) {
    if let Some(reason) = too_hard(pool, question) {
        return (Response::Unknown(reason), 0);
    }
    let (response, units) = z3::with_z3_config(&Config::new(), || ask(procedure, pool, question));
    let share = if is_nonlinear(pool, question.conditions) { NONLINEAR_SHARE } else { 1 };
    let entries = tableau::size(pool, question.conditions).min(units * MICROSECONDS_PER_PIVOT);
    (response, units * u64::from(share) / UNITS_PER_MICROSECOND + entries)
}

/// The answer, and the units of the resource limit that it took.
fn ask(procedure: Procedure, pool: &Pool, question: &Question) -> (Response, u64) {
    let solver = match procedure {
        Procedure::Counted => solver(question.rlimit, false),
        Procedure::Default => {
            let solver = Solver::new();
            let mut params = Params::new();
            params.set_u32("random_seed", 42);
            params.set_u32("rlimit", question.rlimit);
            solver.set_params(&params);
            solver
        }
    };
    let mut encoder = Encoder::new(pool);
    for (symbol, low, high) in question.ranges {
        encoder.declare(*symbol, low.as_ref(), high.as_ref());
    }
    for &condition in question.conditions {
        encoder.require(condition);
    }
    for &divisor in question.nonzero {
        encoder.require_nonzero(divisor);
    }
    for assertion in encoder.assertions() {
        solver.assert(assertion);
    }
    let result = interruptibly(|| solver.check());
    let units = match solver.get_statistics().value("rlimit count") {
        Some(StatisticsValue::UInt(units)) => u64::from(units),
        _ => u64::from(question.rlimit),
    };
    let response = match result {
        SatResult::Unsat => Response::Unsatisfiable,
        SatResult::Unknown => Response::Unknown(match solver.get_reason_unknown() {
            Some(reason) => format!("Z3 gave up, {reason} (budget: rlimit {})", question.rlimit),
            None => format!("Z3 gave up (budget: rlimit {})", question.rlimit),
        }),
        SatResult::Sat => match solver.get_model().and_then(|model| encoder.values(&model)) {
            Some(values) => Response::Candidate(values),
            None => Response::Unknown("Z3's model is no integer assignment".to_string()),
        },
    };
    (response, units)
}

/// How often cancelled work of Z3's is interrupted: an interrupt that comes before Z3 has begun is lost.
const INTERRUPTS: Duration = Duration::from_millis(5);

/// Has Z3, in the context of this thread, do some work that ends early when it is cancelled.
fn interruptibly<T>(work: impl FnOnce() -> T) -> T {
    let Some(token) = CancelToken::current() else { return work() };
    let context = z3::Context::thread_local();
    let handle = context.handle();
    let (done, waiting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // Where no thread can be had, the resource limit alone ends the work.
        let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
            while waiting.recv_timeout(INTERRUPTS) == Err(mpsc::RecvTimeoutError::Timeout) {
                if token.is_cancelled() {
                    handle.interrupt();
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// The positions of the `tracked` conditions in an unsat core, given all `others`. `None` if Z3 finds no
/// contradiction.
pub fn core(pool: &Pool, tracked: &[Expr], others: &[Expr], rlimit: u32) -> Option<Vec<usize>> {
    let question = Question { ranges: &[], conditions: &[tracked, others].concat(), nonzero: &[], rlimit };
    if too_hard(pool, &question).is_some() {
        return None;
    }
    let share = if is_nonlinear(pool, question.conditions) { NONLINEAR_SHARE } else { 1 };
    let core = z3::with_z3_config(&Config::new(), || {
        let solver = solver(rlimit / share, true);
        let mut encoder = Encoder::new(pool);
        others.iter().for_each(|&c| encoder.require(c));
        let mut labels = Vec::with_capacity(tracked.len());
        for (i, &c) in tracked.iter().enumerate() {
            let holds = encoder.condition(c);
            let label = z3::ast::Bool::new_const(format!("premise{i}"));
            solver.assert_and_track(&holds, &label);
            labels.push(label);
        }
        for assertion in encoder.assertions() {
            solver.assert(assertion);
        }
        if interruptibly(|| solver.check()) != SatResult::Unsat {
            return None;
        }
        let core = solver.get_unsat_core();
        Some((0..labels.len()).filter(|&i| core.contains(&labels[i])).collect::<Vec<usize>>())
    })?;
    // A core is used only if its conditions are contradictory by themselves.
    let conditions: Vec<Expr> = core.iter().map(|&i| tracked[i]).chain(others.iter().copied()).collect();
    let question = Question { ranges: &[], conditions: &conditions, nonzero: &[], rlimit };
    let suffices = core.len() == tracked.len() || matches!(check(pool, &question), Response::Unsatisfiable);
    Some(if suffices { core } else { (0..tracked.len()).collect() })
}

/// A solver that stops after so much work.
///
/// By default, Z3 runs several procedures for nonlinear integers one after the other for some seconds each,
/// so that its answer depends on the machine. The newer of its arithmetic solvers runs long past its resource
/// limit in nonlinear cells and large numbers. The SMT core with the older one counts nearly all its work. It
/// returns unsat cores only on request; otherwise its core looks like an empty one.
fn solver(rlimit: u32, cores: bool) -> Solver {
    let solver = Tactic::new("smt").solver();
    let mut params = Params::new();
    params.set_u32("random_seed", 42);
    params.set_u32("rlimit", rlimit);
    params.set_u32("arith.solver", 2);
    params.set_bool("unsat_core", cores);
    solver.set_params(&params);
    solver
}

/// Whether conditions multiply or divide by something that is not constant. If Z3 decides such a question, it
/// does so early.
pub fn is_nonlinear(pool: &Pool, conditions: &[Expr]) -> bool {
    pool.reachable(conditions).into_iter().any(|e| match pool.node(e) {
        Some(Node::Product(_)) => true,
        Some(Node::Call(Func::FloorDiv | Func::Mod, args)) => !pool.is_constant(args[1]),
        _ => false,
    })
}

/// Why a question is not put to Z3 at all.
fn too_hard(pool: &Pool, question: &Question) -> Option<String> {
    let (mut nonlinear, mut degree, mut bits) = (0, 0, 0);
    let mut roots = question.conditions.to_vec();
    roots.extend_from_slice(question.nonzero);
    let parts = pool.reachable(&roots);
    let terms: usize = parts.iter().map(|&e| pool.operands(e)).sum();
    if terms > MAX_TERMS {
        return Some(format!("{terms} terms are more than are put to Z3 ({MAX_TERMS})"));
    }
    for e in parts {
        match pool.node(e) {
            Some(Node::Int(v)) => bits = bits.max(v.bits()),
            Some(Node::Sum { constant, terms }) => {
                bits = terms.iter().fold(bits.max(constant.bits()), |b, (_, c)| b.max(c.bits()));
            }
            Some(Node::Product(factors)) => {
                nonlinear += 1;
                degree = degree.max(factors.iter().fold(0u32, |d, (_, p)| d.saturating_add(*p)));
            }
            Some(Node::Call(Func::FloorDiv | Func::Mod, args)) if !pool.is_constant(args[1]) => {
                nonlinear += 1
            }
            _ => {}
        }
    }
    let tableau = tableau::size(pool, &roots);
    if tableau > MAX_TABLEAU {
        return Some(format!("a tableau of size {tableau} is more than is put to Z3 ({MAX_TABLEAU})"));
    }
    if nonlinear > MAX_NONLINEAR {
        return Some(format!("{nonlinear} nonlinear terms are more than are put to Z3 ({MAX_NONLINEAR})"));
    }
    if degree > MAX_DEGREE {
        return Some(format!("degree {degree} is more than is put to Z3 ({MAX_DEGREE})"));
    }
    let limit = if nonlinear > 0 { MAX_NONLINEAR_BITS } else { MAX_BITS };
    if bits > limit {
        return Some(format!("numbers of {bits} bits are more than are put to Z3 ({limit})"));
    }
    let limit = if nonlinear > 0 { MAX_NONLINEAR_RESULT_BITS } else { 2 * MAX_BITS };
    let bits = magnitude::estimate(pool, question.ranges, &roots, limit);
    (bits >= limit).then(|| format!("numbers may get {limit} bits or more, which is not put to Z3"))
}
