//! Satisfying assignments of the facts, kept so that a goal can be tried on them in a moment.
use super::program::{Checked, Mark, Program};
use super::search::{Constants, Found, Problem, Rng, conjuncts, machine_range};
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol};

/// The most assignments that are kept.
const MAX_MODELS: usize = 32;
/// Assignments tried to find more once there is one.
const VARIATIONS: usize = 300;
/// The most variations tried for one goal that the cached assignments satisfy. Later goals continue.
const VARIATIONS_PER_GOAL: usize = 64;
/// Variations tried before the goal is evaluated again.
const VARIATIONS_AT_ONCE: usize = 16;
/// Values of more symbols than this are looked up in a table.
const MAX_IN_LINE: usize = 16;
/// The most values of each symbol that they combine.
const MAX_VALUES: usize = 40;
/// The most values that all variations write, so that those of many symbols are fewer.
const MAX_WRITTEN: usize = 100_000;
/// The fewest variations of many symbols.
const MIN_VARIATIONS: usize = 16;

/// One satisfying assignment.
#[derive(Clone, Debug)]
struct Model {
    /// Values by slot.
    point: Vec<i128>,
    /// The registers after a run of the compiled facts.
    regs: Vec<i128>,
}

/// The facts as compiled code, with assignments that pass it.
#[derive(Clone, Debug, Default)]
pub(super) struct Models {
    program: Program,
    /// Conditions behind the checks of the program.
    conditions: Vec<Expr>,
    roots: Vec<Expr>,
    constants: Option<Constants>,
    ranges: Vec<(Option<i128>, Option<i128>)>,
    /// Whether no bound was too large for a machine integer.
    inexact: bool,
    models: Vec<Model>,
    hints: Vec<Option<i128>>,
    variation: Variation,
    /// Variations of cached assignments so far.
    variations: u64,
}

/// The state of the search for variations of the cached assignments.
#[derive(Clone, Debug, Default)]
struct Variation {
    /// Assignments that may still be tried.
    left: usize,
    rng: Rng,
    /// Values for each range of symbols; to be made anew after a change of the facts.
    values: Vec<Vec<i128>>,
    /// Which of them are those of each slot.
    of: Vec<usize>,
}

impl Variation {
    /// The values of a slot.
    fn values(&self, slot: usize) -> &[i128] {
        &self.values[self.of[slot]]
    }

    /// Makes the values for symbols of these ranges.
    fn fill(&mut self, constants: &Constants, ranges: &[(Option<i128>, Option<i128>)]) {
        let mut known: FxHashMap<(Option<i128>, Option<i128>), usize> = FxHashMap::default();
        self.values.clear();
        self.of.clear();
        for &(low, high) in ranges {
            let at = *known.entry((low, high)).or_insert_with(|| {
                self.values.push(constants.values_between(low, high, MAX_VALUES));
                self.values.len() - 1
            });
            self.of.push(at);
        }
    }
}

/// What a search came to.
pub(super) enum Search {
    /// An assignment to replay.
    Candidate(Vec<(Symbol, Int)>),
    /// There is none: all were tried.
    None,
    /// None was found.
    Open,
}

impl Models {
    /// Adds a symbol, or changes the range of one.
    pub fn declare(&mut self, symbol: Symbol, range: &ValueRange) {
        let slot = self.program.slot(symbol) as usize;
        self.variation.of.clear();
        let (range, exact) = machine_range(range.lo.finite(), range.hi.finite());
        self.inexact |= !exact;
        if slot == self.ranges.len() {
            self.ranges.push(range);
            self.hints.push(None);
            let value = range.0.or(range.1.filter(|h| *h < 0)).unwrap_or(0);
            self.models.iter_mut().for_each(|m| m.point.push(value));
        } else {
            self.ranges[slot] = range;
            self.models.retain(|m| within(range, m.point[slot]));
        }
    }

    /// A value of a symbol that is known to occur.
    pub fn hint(&mut self, symbol: Symbol, value: i128) {
        if let Some(slot) = self.program.known_slot(symbol) {
            self.hints[slot as usize] = Some(value);
        }
    }

    /// Adds a condition; assignments that fail it are dropped.
    pub fn require(&mut self, pool: &Pool, condition: Expr) {
        let from = self.program.mark();
        self.program.check(pool, condition);
        self.conditions.push(condition);
        self.roots.push(condition);
        self.rerun(from);
    }

    /// Adds a divisor; assignments at which it is zero are dropped.
    pub fn exclude_zero(&mut self, pool: &Pool, divisor: Expr) {
        let from = self.program.mark();
        self.program.exclude_zero(pool, divisor);
        self.roots.push(divisor);
        self.rerun(from);
    }

    fn rerun(&mut self, from: Mark) {
        self.constants = None;
        self.variation.of.clear();
        let program = &self.program;
        self.models.retain_mut(|m| program.run(from.code(), &m.point, &mut m.regs) == Checked::Passed);
    }

    /// Whether no assignment is known.
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// The first assignment.
    pub fn first(&self) -> Option<Vec<(Symbol, Int)>> {
        self.models.first().map(|m| self.assignment(&m.point))
    }

    /// All assignments, with the symbols in the order of their values.
    pub fn points(&self) -> (&[Symbol], Vec<Vec<i128>>) {
        (self.program.symbols(), self.models.iter().map(|m| m.point.clone()).collect())
    }

    /// How many variations of cached assignments were tried.
    pub fn variations(&self) -> u64 {
        self.variations
    }

    /// Forgets the assignments.
    pub fn clear(&mut self) {
        self.models.clear();
    }

    /// A cached assignment at which `goal` is false, if there is one. The goal is known to hold at the first
    /// `tried` of them.
    pub fn failing(&mut self, pool: &Pool, goal: Expr, tried: usize) -> Option<Vec<(Symbol, Int)>> {
        if tried >= self.models.len() {
            return None;
        }
        let from = self.program.mark();
        let goal = self.program.compile(pool, goal) as usize;
        let mut regs = Vec::new();
        let mut found = None;
        for model in &self.models[tried..] {
            regs.clone_from(&model.regs);
            pool.note_work(1);
            if self.program.run(from.code(), &model.point, &mut regs) == Checked::Passed && regs[goal] == 0 {
                found = Some(self.assignment(&model.point));
                break;
            }
        }
        self.program.reset(from);
        found
    }

    /// Keeps an assignment.
    pub fn remember(&mut self, assignment: &[(Symbol, Int)]) {
        // Few symbols are found sooner one after the other.
        let by_symbol: FxHashMap<Symbol, &Int> = match assignment.len() {
            0..=MAX_IN_LINE => FxHashMap::default(),
            _ => assignment.iter().rev().map(|(s, v)| (*s, v)).collect(),
        };
        let value = |s: &Symbol| {
            let found = || assignment.iter().find(|(t, _)| t == s).map(|(_, v)| v);
            let known = if by_symbol.is_empty() { found() } else { by_symbol.get(s).copied() };
            super::program::to_i128(known?)
        };
        let Some(point) = self.program.symbols().iter().map(value).collect::<Option<Vec<i128>>>() else {
            return;
        };
        if self.keep(&point, &mut Vec::new()) {
            let affordable = (MAX_WRITTEN / self.ranges.len().max(1)).max(MIN_VARIATIONS);
            self.variation = Variation { left: VARIATIONS.min(affordable), ..Variation::default() };
        }
    }

    /// Searches variations of the cached assignments, unless that has been done.
    pub fn vary(&mut self, pool: &Pool) {
        self.vary_some(pool, VARIATIONS);
    }

    /// Like [`Models::failing`], but searches some variations of the cached assignments, at which the goal
    /// holds.
    pub fn failing_variation(&mut self, pool: &Pool, goal: Expr) -> Option<Vec<(Symbol, Int)>> {
        for _ in 0..VARIATIONS_PER_GOAL / VARIATIONS_AT_ONCE {
            let tried = self.models.len();
            if self.variation.left == 0 || tried == 0 {
                return None;
            }
            self.vary_some(pool, VARIATIONS_AT_ONCE);
            if let Some(found) = self.failing(pool, goal, tried) {
                return Some(found);
            }
        }
        None
    }

    /// Searches this many variations of the cached assignments.
    fn vary_some(&mut self, pool: &Pool, most: usize) {
        if self.variation.left == 0 || self.models.is_empty() {
            return;
        }
        let mut variation = std::mem::take(&mut self.variation);
        if variation.of.len() != self.ranges.len() {
            self.constants(pool);
            if let Some(constants) = &self.constants {
                variation.fill(constants, &self.ranges);
            }
        }
        let slots = variation.of.len();
        let (mut next, mut regs) = (Vec::new(), Vec::new());
        for _ in 0..most {
            if variation.left == 0 || self.models.len() >= MAX_MODELS || slots == 0 {
                break;
            }
            next.clone_from(&self.models[variation.rng.below(self.models.len())].point);
            // One symbol, then two, then all.
            let changes = match (VARIATIONS - variation.left) % 4 {
                0 | 1 => 1,
                2 => 2,
                _ => slots,
            };
            variation.left -= 1;
            self.variations += 1;
            for change in 0..changes {
                let slot = if changes == slots { change } else { variation.rng.below(slots) };
                let count = variation.values(slot).len();
                if count > 0 {
                    let at = variation.rng.early(count);
                    next[slot] = variation.values(slot)[at];
                }
            }
            self.keep(&next, &mut regs);
        }
        self.variation = variation;
    }

    /// Keeps an assignment if it is new and passes.
    fn keep(&mut self, point: &[i128], regs: &mut Vec<i128>) -> bool {
        if self.models.iter().any(|m| m.point == point) || self.program.run(0, point, regs) != Checked::Passed
        {
            return false;
        }
        self.models.push(Model { point: point.to_vec(), regs: regs.clone() });
        true
    }

    fn constants(&mut self, pool: &Pool) -> &Constants {
        self.constants.get_or_insert_with(|| Constants::of(pool, &self.roots))
    }

    /// Searches for an assignment that satisfies the facts and `extra` with at most `points` evaluations.
    /// Also returns how many were left.
    pub fn search(&mut self, pool: &Pool, extra: &[Expr], points: u32) -> (Search, u32) {
        let mut constants = self.constants(pool).clone();
        constants.merge(Constants::of(pool, extra));
        let from = self.program.mark();
        let mut conditions = self.conditions.clone();
        let known = conditions.len();
        extra.iter().for_each(|&e| conjuncts(pool, e, &mut conditions));
        conditions[known..].iter().for_each(|&c| self.program.check(pool, c));
        let mut seeds: Vec<Vec<i128>> = Vec::new();
        if self.models.is_empty() && self.hints.iter().any(Option::is_some) {
            let low = |i: usize| self.ranges[i].0.unwrap_or_default();
            seeds.push(self.hints.iter().enumerate().map(|(i, h)| h.unwrap_or(low(i))).collect());
        }
        seeds.extend(self.models.iter().take(8).map(|m| m.point.clone()));
        let problem = Problem {
            pool,
            program: &self.program,
            conditions: &conditions,
            ranges: &self.ranges,
            exact: !self.inexact,
            seeds: &seeds,
            constants: &constants,
        };
        let (found, left) = problem.solve(points);
        let outcome = match found {
            Found::Point(point) => Search::Candidate(self.assignment(&point)),
            Found::Exhausted => Search::None,
            Found::Nothing => Search::Open,
        };
        self.program.reset(from);
        (outcome, left)
    }

    fn assignment(&self, point: &[i128]) -> Vec<(Symbol, Int)> {
        self.program.symbols().iter().zip(point).map(|(&s, &v)| (s, Int::from(v))).collect()
    }
}

fn within(range: (Option<i128>, Option<i128>), v: i128) -> bool {
    range.0.is_none_or(|l| v >= l) && range.1.is_none_or(|h| v <= h)
}
