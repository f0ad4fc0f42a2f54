//! Assignments that the exact evaluator tries one by one, where compiled code cannot compute the conditions.
//!
//! Some symbols are drawn; equations such as `TruncToInt(0.5*ToFloat(h)) == oh` give the others. What does not hold is
//! repaired by changing a symbol that it depends on, as long as that leaves fewer things that do not hold.
use super::facts::Facts;
use super::judge::Judge;
use super::program::to_i128;
use super::search::{Constants, Rng, conjuncts};
use super::verdict::Witness;
use rustc_hash::FxHashMap;
use sizewise_expr::range::{Domain, ValueRange};
use sizewise_expr::{Evaluator, Expr, Func, Int, Node, Pool, Sort, Symbol, Value};

/// The most values of each symbol that are combined.
const MAX_VALUES: usize = 48;
/// Ranks at which all symbols are tried together.
const RANKS: usize = 24;
/// Assignments drawn at random before one is repaired.
const DRAWN: u32 = 24;
/// Symbols of which each is tried beside where doubles begin to round.
const MAX_BESIDE: usize = 8;
/// Repairs without any gain after which a new assignment is drawn.
const PATIENCE: u32 = 40;

/// A symbol that is drawn or given by an equation.
struct Slot {
    symbol: Symbol,
    sort: Sort,
    range: ValueRange,
    /// What the facts leave of it.
    domain: Domain,
    /// Values worth trying, if it is drawn.
    values: Vec<Int>,
    /// Its value by that of others, if an equation gives it.
    given: Option<Expr>,
}

/// Tries assignments.
pub(super) struct Sampler<'a> {
    pool: &'a Pool,
    judge: Judge<'a>,
    slots: Vec<Slot>,
    position: FxHashMap<Symbol, usize>,
    /// The slots that equations give, in the order in which they can be computed.
    given: Vec<usize>,
    rng: Rng,
    left: u32,
}

/// An assignment, by slots, with what does not hold there.
struct Point {
    values: Vec<Int>,
    failing: Vec<Expr>,
}

impl<'a> Sampler<'a> {
    /// For assignments that satisfy the facts and falsify the goal, if there is one.
    pub fn new(
        pool: &'a mut Pool,
        facts: &mut Facts,
        conditions: &'a [Expr],
        goal: Option<Expr>,
    ) -> Sampler<'a> {
        let roots: Vec<Expr> = conditions.iter().copied().chain(goal).collect();
        let (constants, large) = (Constants::of(pool, &roots), large_constants(pool, &roots));
        let symbols: Vec<(Symbol, ValueRange)> =
            facts.ranges().filter_map(|(s, ..)| Some((s, facts.range(s)?.clone()))).collect();
        let mut slots = Vec::with_capacity(symbols.len());
        for (symbol, range) in symbols {
            let e = pool.symbol_expr(symbol);
            let sort = pool.sort(e);
            let domain = match sort {
                Sort::Int => facts.table(pool).domain(pool, e),
                _ => range.clone().into(),
            };
            let values = values(&domain, &constants, &large);
            slots.push(Slot { symbol, sort, range, domain, values, given: None });
        }
        let position: FxHashMap<Symbol, usize> =
            slots.iter().enumerate().map(|(i, s)| (s.symbol, i)).collect();
        let mut given = Vec::new();
        for (symbol, value) in equations(pool, conditions) {
            if let Some(&slot) = position.get(&symbol) {
                slots[slot].given = Some(value);
                given.push(slot);
            }
        }
        let pool: &Pool = pool;
        let judge = Judge::new(pool, conditions, facts.required(), goal);
        Sampler { pool, judge, slots, position, given, rng: Rng::default(), left: 0 }
    }

    /// Tries so many assignments at most, these first; also says how many were tried.
    pub fn solve(&mut self, seeds: impl Iterator<Item = Witness>, samples: u32) -> (Option<Witness>, u32) {
        self.left = samples;
        let found = self.attempt(seeds);
        (found.map(|values| self.slots.iter().map(|s| s.symbol).zip(values).collect()), samples - self.left)
    }

    fn attempt(&mut self, seeds: impl Iterator<Item = Witness>) -> Option<Vec<Int>> {
        let mut best: Option<Point> = None;
        for seed in seeds {
            let known: FxHashMap<Symbol, Int> = seed.into_iter().collect();
            let values =
                self.slots.iter().map(|s| known.get(&s.symbol).cloned().unwrap_or_default()).collect();
            let point = self.tried(values)?;
            best = Some(better(best, point));
            if let Some(found) = best.as_mut().and_then(Point::solution) {
                return Some(found);
            }
        }
        for rank in 0..RANKS {
            let at = |s: &Slot| s.values.get(rank.min(s.values.len().saturating_sub(1))).cloned();
            let values = self.slots.iter().map(|s| at(s).unwrap_or_default()).collect();
            let values = self.completed(values);
            let point = self.tried(values)?;
            best = Some(better(best, point));
            if let Some(found) = best.as_mut().and_then(Point::solution) {
                return Some(found);
            }
        }
        if let Some(found) = self.beside_rounding()? {
            return Some(found);
        }
        loop {
            let mut from = best.take();
            for _ in 0..DRAWN {
                let values = (0..self.slots.len()).map(|slot| self.draw(slot)).collect();
                let values = self.completed(values);
                let point = self.tried(values)?;
                from = Some(better(from, point));
            }
            if let Some(found) = self.repaired(from?)? {
                return Some(found);
            }
        }
    }

    /// All symbols at the greatest integer below which each is a double, and one of them beside it.
    fn beside_rounding(&mut self) -> Option<Option<Vec<Int>>> {
        let most = Int::power_of_two(f64::MANTISSA_DIGITS);
        if !self.slots.iter().any(|slot| slot.values.contains(&most)) {
            return Some(None);
        }
        for slot in 0..self.slots.len().min(MAX_BESIDE) {
            for near in [-1, 1] {
                let mut values = vec![most.clone(); self.slots.len()];
                values[slot] = &most + &Int::from(near);
                let values = self.completed(values);
                if let Some(found) = self.tried(values)?.solution() {
                    return Some(Some(found));
                }
            }
        }
        Some(None)
    }

    /// Changes symbols that what does not hold depends on. `None` within if that leads nowhere.
    fn repaired(&mut self, mut point: Point) -> Option<Option<Vec<Int>>> {
        let mut patience = PATIENCE;
        while patience > 0 {
            if let Some(found) = point.solution() {
                return Some(Some(found));
            }
            let failing = point.failing[self.rng.below(point.failing.len())];
            let slots = self.sources(failing);
            if slots.is_empty() {
                return Some(None);
            }
            let slot = slots[self.rng.below(slots.len())];
            let mut values = point.values.clone();
            values[slot] = self.changed(slot, &point.values);
            let values = self.completed(values);
            let next = self.tried(values)?;
            if next.failing.len() < point.failing.len() {
                patience = PATIENCE;
            } else {
                patience -= 1;
            }
            if next.failing.len() <= point.failing.len() {
                point = next;
            }
        }
        Some(None)
    }

    /// The slots that are drawn and that an expression depends on.
    fn sources(&self, e: Expr) -> Vec<usize> {
        let mut found = Vec::new();
        let mut waiting = vec![e];
        let mut seen = Vec::new();
        while let Some(e) = waiting.pop() {
            for symbol in self.pool.free_symbols(&[e]) {
                let Some(&slot) = self.position.get(&symbol) else { continue };
                if seen.contains(&slot) {
                    continue;
                }
                seen.push(slot);
                match self.slots[slot].given {
                    Some(value) => waiting.push(value),
                    None => found.push(slot),
                }
            }
        }
        found
    }

    /// Any value of a slot.
    fn draw(&mut self, slot: usize) -> Int {
        let Slot { values, domain, .. } = &self.slots[slot];
        if self.rng.below(4) > 0 {
            return values.get(self.rng.early(values.len())).cloned().unwrap_or_default();
        }
        let (low, high) = (domain.range.lo.finite(), domain.range.hi.finite());
        let width = match (low, high) {
            (Some(low), Some(high)) => to_i128(&(high - low)).and_then(|w| usize::try_from(w).ok()),
            _ => Some(1 << (1 + self.rng.below(20))),
        };
        let step = Int::from(self.rng.below(width.unwrap_or(1 << 20).saturating_add(1)) as i64);
        let value = match (low, high) {
            (Some(low), _) => low + &step,
            (None, Some(high)) => high - &step,
            _ => step,
        };
        domain.congruence.next(&value)
    }

    /// Another value of a slot: near the one that it has, that of another slot, or any.
    fn changed(&mut self, slot: usize, values: &[Int]) -> Int {
        let value = &values[slot];
        let modulus = self.slots[slot].domain.congruence.modulus().clone();
        let step = if modulus.is_zero() { Int::ONE } else { modulus };
        match self.rng.below(6) {
            0 => value + &step,
            1 => value - &step,
            2 => value + value,
            3 => values[self.rng.below(values.len())].clone(),
            _ => self.draw(slot),
        }
    }

    /// The values with those that equations give.
    fn completed(&self, mut values: Vec<Int>) -> Vec<Int> {
        for &slot in &self.given {
            let Some(e) = self.slots[slot].given else { continue };
            let value = |s: Symbol| Some(Value::Int(values[*self.position.get(&s)?].clone()));
            if let Ok(found) = Evaluator::new(self.pool, value).int(e) {
                values[slot] = found;
            }
        }
        values
    }

    /// Tries an assignment; `None` when no more may be tried.
    fn tried(&mut self, values: Vec<Int>) -> Option<Point> {
        if sizewise_expr::is_cancelled() {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        self.pool.charge(1);
        let value = |s: Symbol| Some(Value::Int(values[*self.position.get(&s)?].clone()));
        let mut failing = self.judge.failing(value);
        for (slot, v) in self.slots.iter().zip(&values) {
            let is_double = slot.sort != Sort::Float || v.to_exact_f64().is_some();
            if !slot.range.contains(v) || !is_double {
                failing.extend(self.pool.known_symbol_expr(slot.symbol));
            }
        }
        Some(Point { values, failing })
    }
}

impl Point {
    fn solution(&mut self) -> Option<Vec<Int>> {
        self.failing.is_empty().then(|| std::mem::take(&mut self.values))
    }
}

fn better(best: Option<Point>, point: Point) -> Point {
    match best {
        Some(best) if best.failing.len() <= point.failing.len() => best,
        _ => point,
    }
}

/// Values of a symbol worth trying, the most promising first.
fn values(domain: &Domain, constants: &Constants, large: &[Int]) -> Vec<Int> {
    let (low, high) = (domain.range.lo.finite(), domain.range.hi.finite());
    let near = constants.values_between(low.and_then(to_i128), high.and_then(to_i128), MAX_VALUES);
    let ends = low.into_iter().chain(high).cloned();
    let mut values = Vec::new();
    for v in near.into_iter().map(Int::from).chain(ends).chain(large.iter().cloned()) {
        let v = domain.congruence.next(&v);
        if domain.range.contains(&v) && !values.contains(&v) {
            values.push(v);
        }
    }
    values
}

/// The constants that no machine integer holds, and the integers beside which doubles begin to round, with their
/// neighbours.
fn large_constants(pool: &Pool, roots: &[Expr]) -> Vec<Int> {
    let mut found: Vec<Int> = Vec::new();
    let parts = pool.reachable(roots);
    if parts.iter().any(|&e| matches!(pool.as_call(e), Some((Func::ToFloat, _)))) {
        let most = Int::power_of_two(f64::MANTISSA_DIGITS);
        for near in [-1, 0, 1] {
            found.extend([most.clone(), -&most].map(|v| &v + &Int::from(near)));
        }
    }
    for e in parts {
        let constant = match pool.node(e) {
            Some(Node::Int(v)) => v,
            Some(Node::Sum { constant, .. }) => constant,
            _ => continue,
        };
        if to_i128(constant).is_none() && found.len() < MAX_VALUES {
            for near in [-1, 0, 1] {
                found.extend([constant, &-constant].map(|v| v + &Int::from(near)));
            }
        }
    }
    found
}

/// Symbols that equations among the conditions give by others, in the order in which they can be computed.
fn equations(pool: &mut Pool, conditions: &[Expr]) -> Vec<(Symbol, Expr)> {
    let mut parts = Vec::new();
    conditions.iter().for_each(|&c| conjuncts(pool, c, &mut parts));
    let mut found: Vec<(Symbol, Expr)> = Vec::new();
    // The symbols that are given, or by which others are.
    let mut used: Vec<Symbol> = Vec::new();
    for part in parts {
        let Some(&[p]) = pool.as_func(part, Func::IsZero) else { continue };
        let poly = pool.poly(p);
        // That of a plain symbol by everything else.
        for i in (0..poly.terms.len()).rev() {
            let Some(symbol) = pool.as_symbol(poly.terms[i].0) else { continue };
            if used.contains(&symbol) || !pool.stands_alone(&poly, i) {
                continue;
            }
            if let Some(value) = poly.solved_for(i) {
                let value = pool.from_poly(&value);
                used.push(symbol);
                used.extend(pool.free_symbols(&[value]));
                found.push((symbol, value));
                break;
            }
        }
    }
    found
}
