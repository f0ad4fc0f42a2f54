//! Equivalent sets of guards without redundant members.
use super::facts::{Consistency, Facts};
use super::judge::{Judge, Judgement, Required};
use super::ladder::{attested, decide, prepare};
use super::premises::narrow_one_of;
use super::simplify::{SimplifyLimits, simplify_within};
use super::verdict::{Budget, Premise, Trace, Verdict, Witness};
use super::work::{Allowance, Work};
use crate::egraph::Reading;
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Evaluator, Expr, Int, Pool, Sort, Symbol, Value, is_cancelled, print};

/// From larger sets, only guards that the ranges imply are left out.
const MAX_GUARDS: usize = 400;

/// For larger sets, the candidates are not compared in simplified form.
const MAX_COMPARED: usize = 6;

/// A minimized set of guards.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Minimized {
    /// The remaining guards, each simplified.
    pub kept: Vec<Expr>,
    /// Guards (by their position) that the kept guards and the ranges imply, with premises that suffice.
    /// [`Premise::Fact`] is a position in `said`.
    pub dropped: Vec<(usize, Vec<Premise>)>,
    /// The guards as premises: those that are kept in their simplest form, which may say more than the guard did, as it was
    /// simplified under others. Equations such as `Eq(s, 16)` follow, that the guards imply together and that may stand for
    /// several of them.
    pub said: Vec<Expr>,
}

/// Leaves out guards that follow from the ranges and the remaining guards, and simplifies the remaining ones.
/// If the guards specialize a symbol to a single value, the equation that says so may replace several of
/// them.
///
/// A guard also demands that it is defined. If a guard is redundant except that its divisors must not be
/// zero, it is left out only if the others exclude that. A divisor that construction has cancelled has to be
/// part of the guard (`And(Ne(d, 0), guard)`). Guards that contradict each other become the single guard
/// `False`.
pub fn minimize(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    budget: &Budget,
) -> Minimized {
    minimize_traced(pool, ranges, guards, budget, &mut Trace::off())
}

/// [`minimize`] with a record of the questions asked and the simplifications tried.
pub fn minimize_traced(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    budget: &Budget,
    trace: &mut Trace,
) -> Minimized {
    let given = guards.len();
    let mut guards: Vec<Expr> = guards.iter().map(|&g| pool.truth(g)).collect();
    let mut minimizer = Minimizer::new(pool, ranges, given, budget, trace);
    let equations = minimizer.equations(pool, &guards);
    guards.extend(&equations);
    let orders = if given <= GUARDS_PER_ALLOWANCE { ORDERS } else { 1 };
    let Some(Smallest { alive, simple }) = minimizer.smallest(pool, &guards, orders) else {
        return Minimized { kept: vec![pool.bool(false)], ..Minimized::default() };
    };
    let forms = guards.iter().zip(&simple).zip(&alive);
    let said: Vec<Expr> =
        forms.map(|((&guard, &simple), &alive)| if alive { simple } else { guard }).collect();
    let facts = facts_of(pool, ranges, &said, |_| true);
    let usable: Vec<Premise> = facts
        .all_premises(pool)
        .into_iter()
        .filter(|p| !matches!(p, Premise::Fact(f) if !alive[f.0 as usize]))
        .collect();
    let mut smaller = Minimized { said, ..Minimized::default() };
    let dropped = alive.iter().take(given).filter(|alive| !**alive).count();
    for i in 0..guards.len() {
        if !alive[i] && i >= given {
            continue;
        }
        if !alive[i] {
            let premises = narrow_one_of(pool, &facts, Some(guards[i]), &usable, dropped);
            smaller.dropped.push((i, premises));
        } else if pool.as_bool(simple[i]) != Some(true) && !smaller.kept.contains(&simple[i]) {
            smaller.kept.push(simple[i]);
        }
    }
    smaller
}

/// The guards that [`minimize`] keeps, for a tenth of the work. Nothing is said about the other guards, and
/// of many guards, only one order of elimination is tried.
pub fn without_redundant(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    budget: &Budget,
) -> Vec<Expr> {
    let guards: Vec<Expr> = guards.iter().map(|&g| pool.truth(g)).collect();
    let orders = if guards.len() <= FEW { ORDERS } else { 1 };
    let mut untraced = Trace::off();
    let mut minimizer = Minimizer::new(pool, ranges, guards.len(), budget, &mut untraced);
    let Some(Smallest { alive, simple }) = minimizer.smallest(pool, &guards, orders) else {
        return vec![pool.bool(false)];
    };
    let mut kept = Vec::new();
    for (guard, _) in simple.into_iter().zip(alive).filter(|(_, alive)| *alive) {
        if pool.as_bool(guard) != Some(true) && !kept.contains(&guard) {
            kept.push(guard);
        }
    }
    kept
}

/// In how many orders guards are left out, because the result depends on the order. Of many, one order has to do.
const ORDERS: usize = 3;

/// At most this many guards are few.
const FEW: usize = 16;

/// This many open questions have the whole budget.
const MAX_OPEN: u32 = 1;

/// The most open questions in all: the later ones have a share of the budget. After them, nothing more is asked.
const MAX_OPEN_IN_ALL: u32 = 20;

/// The share of the budget, in hundredths, after [`MAX_OPEN`] questions.
const SHARE: u32 = 5;

/// The guards that share one allowance of work; more guards have more.
const GUARDS_PER_ALLOWANCE: usize = 60;

/// The most assignments that are remembered.
const MAX_SEEN: usize = 512;

/// A set of guards with the redundant ones marked.
struct Smallest {
    /// Which guards stay.
    alive: Vec<bool>,
    /// The guards, those that stay in their simplest form.
    simple: Vec<Expr>,
}

/// The questions of a minimization, and their work.
struct Minimizer<'a, 't> {
    ranges: &'a [(Symbol, ValueRange)],
    budget: &'a Budget,
    trace: &'t mut Trace,
    /// The questions that stayed open, on each of which a whole budget was spent.
    open: u32,
    /// The work of all questions together: many easy ones take as long as a hard one.
    allowance: Allowance,
    /// The whole of it.
    most: u64,
    /// Assignments at which one guard was false and others held: they answer the same question of another order.
    seen: Vec<FxHashMap<Symbol, Int>>,
    /// An assignment that satisfies all guards, and so any of them, if one is known.
    model: Witness,
}

impl<'a, 't> Minimizer<'a, 't> {
    /// For this many guards. All questions about up to [`GUARDS_PER_ALLOWANCE`] guards share the work of three.
    fn new(
        pool: &Pool,
        ranges: &'a [(Symbol, ValueRange)],
        guards: usize,
        budget: &'a Budget,
        trace: &'t mut Trace,
    ) -> Minimizer<'a, 't> {
        // Small budgets make each question cheap, and leave room for many.
        let most = u64::from(budget.work.max(Budget::default().work))
            * 3
            * (guards / GUARDS_PER_ALLOWANCE).max(1) as u64;
        Minimizer {
            ranges,
            budget,
            trace,
            open: 0,
            allowance: Allowance::new(pool, most),
            most,
            seen: Vec::new(),
            model: Witness::new(),
        }
    }

    /// The budget of the next question. Hard sets of guards have many open questions, so these get less and
    /// less, as do all questions after three quarters of the allowance. `None` when the allowance is spent.
    fn budget(&self, pool: &Pool) -> Option<Budget> {
        let left = self.allowance.left(pool, Work::default());
        match self.open {
            _ if is_cancelled() || left == 0 => None,
            0..MAX_OPEN if left >= self.most / 4 => Some(self.budget.clone()),
            0..MAX_OPEN_IN_ALL => Some(self.budget.percent(SHARE)),
            _ => None,
        }
    }

    /// The facts of the guards that are wanted, prepared for questions.
    fn facts(
        &mut self,
        pool: &mut Pool,
        guards: &[Expr],
        budget: &Budget,
        wanted: impl Fn(usize) -> bool,
    ) -> Facts {
        let mut facts = facts_of(pool, self.ranges, guards, wanted);
        self.model.iter().for_each(|(symbol, value)| facts.hint(*symbol, value.clone()));
        prepare(pool, &mut facts, budget);
        self.open += u32::from(matches!(facts.consistency, Consistency::Unsettled));
        facts
    }

    /// The equations of symbols with numbers that follow from the guards and of which none is a guard.
    fn equations(&mut self, pool: &mut Pool, guards: &[Expr]) -> Vec<Expr> {
        let Some(budget) = self.budget(pool).filter(|_| guards.len() <= MAX_GUARDS) else {
            return Vec::new();
        };
        let mut facts = self.facts(pool, guards, &budget, |_| true);
        let known = facts.model().unwrap_or_default();
        self.model = attested(pool, &mut facts, None, known, &budget).unwrap_or_default();
        self.allowance.spend(facts.work());
        let mut found = Vec::new();
        for symbol in pool.free_symbols(guards) {
            let e = pool.symbol_expr(symbol);
            let within = self.ranges.iter().find(|(s, _)| *s == symbol).map(|(_, range)| range);
            if pool.sort(e) != Sort::Int || within.is_some_and(|range| range.as_point().is_some()) {
                continue;
            }
            if let Some(value) = facts.domain(pool, e).as_point().cloned() {
                let value = pool.int(value);
                let equation = pool.eq(e, value);
                if !guards.contains(&equation) {
                    found.push(equation);
                }
            }
        }
        found
    }

    /// The smallest set found by elimination in the first `orders` orders. `None` when the guards contradict
    /// each other.
    fn smallest(&mut self, pool: &mut Pool, guards: &[Expr], orders: usize) -> Option<Smallest> {
        let mut reading = Reading::new();
        let costs: Vec<u32> = guards.iter().map(|&g| reading.operators(pool, g)).collect();
        let mut ways: Vec<Vec<bool>> = Vec::new();
        for order in orders_of(&costs).into_iter().take(orders) {
            let mut alive = vec![true; guards.len()];
            for &i in order.iter().take(MAX_GUARDS) {
                alive[i] = !self.redundant(pool, guards, &alive, i)?;
            }
            let left = alive.iter().filter(|a| **a).count();
            if !ways.contains(&alive) {
                ways.push(alive);
            }
            if left <= 1 {
                break;
            }
        }
        // The fewest, then the simplest, are best. Small sets are compared as they are once they are simplified.
        let size = |costs: &[u32], alive: &[bool]| -> (usize, u32) {
            let left = costs.iter().zip(alive).filter(|(_, a)| **a);
            (left.clone().count(), left.map(|(c, _)| *c).sum())
        };
        if ways.iter().any(|alive| size(&costs, alive).0 > MAX_COMPARED) {
            ways.sort_by_key(|alive| size(&costs, alive));
            ways.truncate(1);
        }
        let simplified = ways.into_iter().map(|alive| {
            let smallest = self.simplified(pool, guards, alive);
            let costs: Vec<u32> = smallest.simple.iter().map(|&g| reading.operators(pool, g)).collect();
            (size(&costs, &smallest.alive), smallest)
        });
        let least = simplified.min_by_key(|(size, _)| *size);
        let smallest =
            least.map_or(Smallest { alive: Vec::new(), simple: Vec::new() }, |(_, smallest)| smallest);
        let never = |(&guard, &alive): (&Expr, &bool)| alive && pool.as_bool(guard) == Some(false);
        (!smallest.simple.iter().zip(&smallest.alive).any(never)).then_some(smallest)
    }

    /// The guards that are alive as simple as they get, without those that their simple forms show to be redundant.
    fn simplified(&mut self, pool: &mut Pool, guards: &[Expr], mut alive: Vec<bool>) -> Smallest {
        let mut simple = guards.to_vec();
        for i in 0..guards.len() {
            if alive[i] {
                simple[i] = self.simpler(pool, &simple, &alive, i);
            }
        }
        for i in (0..guards.len()).rev() {
            if alive[i] && self.redundant(pool, &simple, &alive, i) == Some(true) {
                alive[i] = false;
            }
        }
        Smallest { alive, simple }
    }

    /// Whether the other guards imply one, and that it is defined; `None` when they contradict each other.
    fn redundant(&mut self, pool: &mut Pool, guards: &[Expr], alive: &[bool], i: usize) -> Option<bool> {
        if self.is_seen_needed(pool, guards, alive, i) {
            return Some(false);
        }
        let Some(budget) = self.budget(pool) else { return Some(false) };
        let mut facts = self.facts(pool, guards, &budget, |j| j != i && alive[j]);
        let answer = defined(pool, &mut facts, guards[i], &budget)
            .then(|| decide(pool, &mut facts, guards[i], &budget));
        self.allowance.spend(facts.work());
        let Some(answer) = answer else { return Some(false) };
        self.trace.answered(&answer, || {
            let others = (0..guards.len()).filter(|&j| j != i && alive[j]).count();
            format!("{} from {others} other guards", print::expression(pool, guards[i]))
        });
        match answer.verdict {
            Verdict::Implied { .. } => {
                // What satisfies the others satisfies it, too.
                if self.model.is_empty() {
                    let known = facts.model().unwrap_or_default();
                    self.model = attested(pool, &mut facts, None, known, &budget).unwrap_or_default();
                }
                Some(true)
            }
            Verdict::Inconsistent { .. } => None,
            Verdict::Refuted { witness } => {
                self.remember(witness);
                Some(false)
            }
            Verdict::Unknown { .. } => {
                self.open += 1;
                Some(false)
            }
        }
    }

    fn remember(&mut self, witness: Witness) {
        if self.seen.len() < MAX_SEEN {
            self.seen.push(witness.into_iter().collect());
        }
    }

    /// Whether an assignment is remembered at which a guard is false and the others hold. It lies in the ranges, as the
    /// facts that it satisfied did.
    fn is_seen_needed(&self, pool: &Pool, guards: &[Expr], alive: &[bool], i: usize) -> bool {
        let falsifies = |seen: &&FxHashMap<Symbol, Int>| {
            let value = |s| seen.get(&s).cloned().map(Value::Int);
            Evaluator::new(pool, value).truth(guards[i]) == Ok(false)
        };
        let mut suitable = self.seen.iter().filter(falsifies).peekable();
        if suitable.peek().is_none() {
            return false;
        }
        let others: Vec<Expr> =
            (0..guards.len()).filter(|&j| j != i && alive[j]).map(|j| guards[j]).collect();
        let judge = Judge::new(pool, &others, &Required::default(), Some(guards[i]));
        suitable.any(|seen| judge.at(|s| seen.get(&s).cloned().map(Value::Int)) == Judgement::Holds)
    }

    /// A guard made simpler under the others.
    fn simpler(&mut self, pool: &mut Pool, guards: &[Expr], alive: &[bool], i: usize) -> Expr {
        let Some(budget) = self.budget(pool) else { return guards[i] };
        let mut facts = self.facts(pool, guards, &budget, |j| j != i && alive[j]);
        let simple = match defined(pool, &mut facts, guards[i], &budget) {
            true => {
                let limits =
                    SimplifyLimits { budget: &budget, most: self.allowance.left(pool, facts.work()) };
                simplify_within(pool, &mut facts, guards[i], &limits, self.trace)
            }
            false => guards[i],
        };
        self.allowance.spend(facts.work());
        simple
    }
}

/// The orders in which guards of these costs are left out: the costliest first, the latest, or the simplest.
fn orders_of(costs: &[u32]) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = vec![(0..costs.len()).collect(); ORDERS];
    orders[0].sort_by_key(|&i| std::cmp::Reverse((costs[i], i)));
    orders[1].reverse();
    orders[2].sort_by_key(|&i| (costs[i], i));
    orders
}

/// Whether the facts keep every divisor in `e` from being zero.
fn defined(pool: &mut Pool, facts: &mut Facts, e: Expr, budget: &Budget) -> bool {
    let known = facts.divisors(pool, None);
    // Inner divisors are older, so each is decided after those inside it.
    for d in facts.divisors(pool, Some(e)) {
        if !known.contains(&d) {
            let nonzero = pool.ne(d, Expr::ZERO);
            if !decide(pool, facts, nonzero, budget).verdict.is_implied() {
                return false;
            }
        }
    }
    true
}

fn facts_of(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    wanted: impl Fn(usize) -> bool,
) -> Facts {
    let mut facts = Facts::new();
    for (symbol, range) in ranges {
        facts.declare(pool, *symbol, range.clone());
    }
    let always = pool.bool(true);
    for (i, &guard) in guards.iter().enumerate() {
        // A place is kept for those left out, so that positions agree with the numbers of the facts.
        facts.assume(pool, if wanted(i) { guard } else { always });
    }
    facts
}
