//! Narrower specs under which a model is right: ranges, multiples and sizes that depend on others.
use super::{Budget, Check, Decided, checked, decide};
use crate::check::findings::Verdict;
use crate::check::limits::{LEAST, Limits};
use crate::check::symbolic::Symbolic;
use crate::check::written::{Change, written};
use crate::read::Model;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_check::spec::Spec;
use sizewise_expr::{Evaluator, Expr, Func, Node, Symbol, Value};

/// Sizes of a symbol that are tried, from the least one.
const WINDOW: i64 = 300;
/// How often the ends of ranges are moved.
const MAX_GROWN: usize = 24;
/// How often a size has to recur among those that are tried.
const LEAST_SEEN: usize = 4;
/// The most conditions that are made to hold one after the other, and the nodes that may be visited for it.
const MAX_ROUNDS: usize = 12;
const MAX_VISITED: usize = 200_000;
/// Sizes of symbols while a multiple of another is looked for.
const PRIMES: &[i64] = &[307, 311, 313];
/// The most symbols of a condition for which ranges are looked for.
const MAX_SYMBOLS: usize = 3;

/// A spec under which a check comes out ok.
pub(super) struct Narrowed {
    pub spec: Json,
    /// Whether it rejects sizes at which the model runs.
    pub rejects: bool,
}

/// Changes that make a condition hold.
struct Remedy {
    changes: FxHashMap<Symbol, Change>,
    rejects: bool,
}

impl Check<'_> {
    /// What was allowed, as a spec.
    pub(super) fn written(&self) -> Option<Json> {
        written(&self.symbolic, &FxHashMap::default())
    }

    /// Narrows the sizes, a condition at a time, until a check of the model under the spec comes out ok.
    pub(super) fn narrowed(&self) -> Option<Narrowed> {
        let rounds = (MAX_VISITED / self.model.graph.node.len().max(1)).min(MAX_ROUNDS);
        let mut rejects = false;
        let mut current: Option<Check> = None;
        let mut spec: Option<Json> = None;
        for _ in 0..rounds {
            let check = current.as_ref().unwrap_or(self);
            if check.report.verdict == Verdict::Ok {
                break;
            }
            if !check.report.wrong_outputs.is_empty()
                || !check.failed.is_empty()
                || check.report.refuses.is_some()
            {
                return None;
            }
            let own = |check: &Check| {
                check.broken.iter().filter(|(at, _)| !check.report.violations[*at].follows).count()
            };
            let &(_, condition) =
                check.broken.iter().find(|(at, _)| !check.report.violations[*at].follows)?;
            let better = check.remedies(condition).into_iter().find_map(|remedy| {
                let json = written(&check.symbolic, &remedy.changes)?;
                let limits = Limits::new(self.model, &Spec::parse(json.to_string().as_bytes()).ok()?).ok()?;
                let next = checked(self.model, Some(&limits), &self.budget);
                let is_better = next.report.verdict == Verdict::Ok
                    || next.report.verdict == Verdict::Violated && own(&next) < own(check);
                is_better.then_some((next, json, remedy.rejects))
            });
            let (next, json, more) = better?;
            rejects |= more;
            spec = Some(json);
            current = Some(next);
        }
        (current?.report.verdict == Verdict::Ok).then_some(Narrowed { spec: spec?, rejects })
    }

    /// Changes of sizes after which a condition holds, the widest first.
    fn remedies(&self, condition: Expr) -> Vec<Remedy> {
        let symbols = self.symbolic.env.pool.free_symbols(&[condition]);
        let known = |symbol: &Symbol| self.symbolic.symbols.iter().any(|(known, _)| known == symbol);
        if symbols.is_empty() || symbols.len() > MAX_SYMBOLS || !symbols.iter().all(known) {
            return Vec::new();
        }
        // It is enough that one part of a disjunction holds, such as `a == b` of `a == b or a == 1 or b == 1`.
        if let Some(Node::Call(Func::Or, parts)) = self.symbolic.env.pool.node(condition)
            && symbols.len() > 1
        {
            let remedies = parts.iter().flat_map(|&part| self.remedies(part));
            let mut remedies: Vec<_> = remedies.map(|remedy| Remedy { rejects: true, ..remedy }).collect();
            // Changes that keep sizes dynamic come before those that fix a size to a number.
            remedies.sort_by_key(|remedy| {
                remedy.changes.values().any(|change| matches!(change, Change::Number(_)))
            });
            return remedies;
        }
        match symbols.as_slice() {
            [only] => self.of_one(condition, *only),
            several => {
                let equation = self.equation(condition).into_iter();
                let multiples = several.iter().filter_map(|&symbol| self.multiple(condition, symbol));
                equation.chain(multiples).chain(self.boxes(condition, several)).collect()
            }
        }
    }

    pub(super) fn range(&self, symbol: Symbol) -> (i64, Option<i64>) {
        let named = self.symbolic.symbols.iter().find(|(known, _)| *known == symbol);
        named.map_or((1, None), |(_, named)| (named.min, named.max))
    }

    /// Whether a condition holds at a size of a symbol, and at the example's sizes of the others.
    pub(super) fn holds_at(&self, condition: Expr, symbol: Symbol, size: i64) -> bool {
        let value = |s: Symbol| if s == symbol { Some(size) } else { self.symbolic.hint(s) };
        let value = |s: Symbol| value(s).map(|value| Value::Int(value.into()));
        Evaluator::new(&self.symbolic.env.pool, value).truth(condition) == Ok(true)
    }

    /// Whether a condition holds in these ranges of symbols.
    fn holds_within(&self, condition: Expr, ranges: &[(Symbol, i64, Option<i64>)]) -> bool {
        let mut env = self.symbolic.env.clone();
        for &(symbol, min, max) in ranges {
            let size = env.pool.symbol_expr(symbol);
            let least = env.pool.int(min);
            let least = env.pool.ge(size, least);
            env.assume(least);
            if let Some(max) = max {
                let most = env.pool.int(max);
                let most = env.pool.le(size, most);
                env.assume(most);
            }
        }
        let (pool, facts) = env.facts();
        matches!(decide(pool, facts, condition, &self.budget).verdict, Decided::Implied { .. })
    }

    /// Ranges, multiples and numbers of the one symbol that a condition is about.
    fn of_one(&self, condition: Expr, symbol: Symbol) -> Vec<Remedy> {
        let (min, max) = self.range(symbol);
        let end = max.unwrap_or(i64::MAX).min(min.saturating_add(WINDOW));
        let holding: Vec<i64> = (min..=end).filter(|&size| self.holds_at(condition, symbol, size)).collect();
        let one = |change, rejects| Remedy { changes: FxHashMap::from_iter([(symbol, change)]), rejects };
        let mut remedies = Vec::new();
        // From where it holds to where it does not any more.
        let first = match holding.first() {
            Some(&first) => Some(first),
            None => self.first_beyond(condition, symbol, end, max),
        };
        if let Some(first) = first {
            let last = self.last_from(condition, symbol, first, max);
            if self.holds_within(condition, &[(symbol, first, last)]) {
                let below = first == min || self.fails_within(condition, symbol, min, Some(first - 1));
                let above = last.and_then(|last| last.checked_add(1)).filter(|_| last != max);
                let above = above.is_none_or(|above| self.fails_within(condition, symbol, above, max));
                let rejects = !(below && above);
                let only = Some(first) == last;
                let change = if only { Change::Number(first) } else { Change::Range(first, last) };
                remedies.push(one(change, rejects));
            }
        }
        if let [first, second, ..] = *holding.as_slice()
            && second - first > 1
        {
            let (factor, offset) = (second - first, first % (second - first));
            let least = (first - offset) / factor;
            let most = max.map(|max| (max - offset).div_euclid(factor));
            let is_regular = self.regular(condition, symbol) == Some((factor, offset));
            remedies.push(one(Change::Multiple { factor, offset, min: least, max: most }, !is_regular));
        }
        let hint = self.symbolic.hint(symbol).filter(|&hint| self.holds_at(condition, symbol, hint));
        if let Some(number) = hint.or(first) {
            remedies.push(one(Change::Number(number), true));
        }
        remedies
    }

    /// The factor and the offset of the multiples at which, and only at which, a condition on one size holds.
    pub(super) fn regular(&self, condition: Expr, symbol: Symbol) -> Option<(i64, i64)> {
        let (min, max) = self.range(symbol);
        let end = max.unwrap_or(i64::MAX).min(min.saturating_add(WINDOW));
        let mut holding = (min..=end).filter(|&size| self.holds_at(condition, symbol, size));
        let (first, second) = (holding.next()?, holding.next()?);
        let factor = second - first;
        let offset = first.rem_euclid(factor);
        let is_regular = factor > 1
            && first - min < factor
            && (min..=end).all(|size| (size % factor == offset) == self.holds_at(condition, symbol, size));
        is_regular.then_some((factor, offset))
    }

    /// The factor and the offset of sizes at which a condition holds, again and again from the first one on; the sizes
    /// of other symbols are those of the example.
    pub(super) fn recurring(&self, condition: Expr, symbol: Symbol) -> Option<(i64, i64)> {
        let (min, max) = self.range(symbol);
        if max.is_some() {
            return None;
        }
        let end = min.saturating_add(WINDOW);
        let holds: Vec<bool> = (min..=end).map(|size| self.holds_at(condition, symbol, size)).collect();
        let first = holds.iter().position(|&holds| holds)?;
        let recurs = |factor: usize| holds[first..].iter().step_by(factor).all(|&holds| holds);
        let factor = (1..=holds.len().saturating_sub(first) / LEAST_SEEN).find(|&factor| recurs(factor))?;
        // Where it holds from the first size on, it is a range and no multiple.
        (factor > 1).then_some((factor as i64, min.checked_add(first as i64)?))
    }

    /// The first size above one that was tried at which a condition holds, if it holds from there on.
    fn first_beyond(&self, condition: Expr, symbol: Symbol, tried: i64, max: Option<i64>) -> Option<i64> {
        let (mut fails, mut step) = (tried, 1i64);
        loop {
            let size = fails.checked_add(step)?.min(max.unwrap_or(i64::MAX));
            if self.holds_at(condition, symbol, size) {
                return Some(self.boundary(condition, symbol, fails, size));
            }
            if Some(size) == max || size == i64::MAX {
                return None;
            }
            (fails, step) = (size, step.checked_mul(2)?);
        }
    }

    /// The last size up to which a condition holds from `first` on, as far as doubling steps show it; the greatest
    /// allowed one where none fails.
    pub(super) fn last_from(
        &self,
        condition: Expr,
        symbol: Symbol,
        first: i64,
        max: Option<i64>,
    ) -> Option<i64> {
        let (mut holds, mut step) = (first, 1i64);
        loop {
            let Some(size) = holds.checked_add(step) else { return max };
            let size = size.min(max.unwrap_or(i64::MAX));
            if !self.holds_at(condition, symbol, size) {
                return Some(self.boundary(condition, symbol, size, holds));
            }
            if size == max.unwrap_or(i64::MAX) {
                return max;
            }
            let Some(double) = step.checked_mul(2) else { return max };
            (holds, step) = (size, double);
        }
    }

    /// Between a size at which a condition fails and one at which it holds: the last that holds on that side.
    fn boundary(&self, condition: Expr, symbol: Symbol, mut fails: i64, mut holds: i64) -> i64 {
        while fails.abs_diff(holds) > 1 {
            let middle = fails.min(holds) + (fails.abs_diff(holds) / 2) as i64;
            match self.holds_at(condition, symbol, middle) {
                true => holds = middle,
                false => fails = middle,
            }
        }
        holds
    }

    /// Whether a condition fails at all sizes of a range.
    fn fails_within(&self, condition: Expr, symbol: Symbol, min: i64, max: Option<i64>) -> bool {
        // A clone is a handle of the same pool.
        let fails = self.symbolic.env.pool.clone().not(condition);
        self.holds_within(fails, &[(symbol, min, max)])
    }

    /// What one symbol is by the others' sizes, where a condition is an equation of two that says it.
    fn equation(&self, condition: Expr) -> Vec<Remedy> {
        let pool = &self.symbolic.env.pool;
        let Some(Node::Call(Func::IsZero, args)) = pool.node(condition) else { return Vec::new() };
        let Some(&difference) = args.first() else { return Vec::new() };
        let poly = pool.poly(difference);
        let solved = |at: usize| {
            let replaced = pool.as_symbol(poly.terms.get(at)?.0)?;
            let rest = poly.solved_for(at)?;
            let [(term, factor)] = rest.terms.as_slice() else { return None };
            let other = pool.as_symbol(*term).filter(|_| factor.is_positive())?;
            let (factor, offset) = (factor.to_i64()?, rest.constant.to_i64()?);
            let (min, max) = self.range(replaced);
            let mut changes = FxHashMap::from_iter([(replaced, Change::Same { other, factor, offset })]);
            // The other's range is narrowed to where both are in theirs.
            let (own_min, own_max) = self.range(other);
            // The quotient rounded up.
            let least = own_min.max(-offset.checked_sub(min)?.div_euclid(factor));
            let most = max.map(|max| Some(max.checked_sub(offset)?.div_euclid(factor)));
            let most = most.map_or(Some(None), |most| most.map(Some))?;
            let most = most.into_iter().chain(own_max).min();
            if most.is_some_and(|most| most < least) {
                return None;
            }
            if (least, most) != (own_min, own_max) {
                changes.insert(other, Change::Range(least, most));
            }
            Some(Remedy { changes, rejects: false })
        };
        (0..poly.terms.len()).rev().filter_map(solved).collect()
    }

    /// A multiple that a symbol has to be for a condition on several, where their product has to be divisible.
    fn multiple(&self, condition: Expr, symbol: Symbol) -> Option<Remedy> {
        let places = || self.symbolic.symbols.iter().map(|(known, _)| *known);
        // Sizes without a common factor hide none of the symbol's.
        let other = |s: Symbol| PRIMES.get(places().position(|known| known == s)? % PRIMES.len()).copied();
        let (min, max) = self.range(symbol);
        let holds = |size: i64| {
            let value = |s: Symbol| if s == symbol { Some(size) } else { other(s) };
            let value = |s: Symbol| value(s).map(|value| Value::Int(value.into()));
            Evaluator::new(&self.symbolic.env.pool, value).truth(condition) == Ok(true)
        };
        let factor = (2..=max.unwrap_or(WINDOW).min(WINDOW)).find(|&size| size >= min && holds(size))?;
        let change = Change::Multiple {
            factor,
            offset: 0,
            min: min.max(1).div_euclid(factor).max(1),
            max: max.map(|max| max.div_euclid(factor)),
        };
        Some(Remedy { changes: FxHashMap::from_iter([(symbol, change)]), rejects: true })
    }

    /// Ranges that end at the example with ends as far beyond as doubling steps allow: first together, then each.
    fn grown(
        &self,
        condition: Expr,
        mut ranges: Vec<(Symbol, i64, Option<i64>)>,
    ) -> Vec<(Symbol, i64, Option<i64>)> {
        let limits: Vec<Option<i64>> = ranges.iter().map(|(symbol, ..)| self.range(*symbol).1).collect();
        let bounded: Vec<usize> = (0..ranges.len()).filter(|&at| ranges[at].2 != limits[at]).collect();
        let all = std::iter::once(bounded.clone());
        for group in all.chain(bounded.into_iter().map(|at| vec![at])) {
            let mut step = 1i64;
            let mut is_doubling = true;
            for _ in 0..MAX_GROWN {
                let mut next = ranges.clone();
                for &at in &group {
                    let end = next[at].2.map(|end| end.saturating_add(step));
                    next[at].2 = end.map(|end| end.min(limits[at].unwrap_or(i64::MAX)));
                }
                let holds = next != ranges && self.holds_within(condition, &next);
                if holds {
                    ranges = next;
                }
                is_doubling &= holds;
                if is_doubling {
                    step = step.saturating_mul(2);
                } else if step > 1 {
                    step /= 2;
                } else if !holds {
                    break;
                }
            }
        }
        ranges
    }

    /// Ranges of several symbols that begin or end at the example.
    fn boxes(&self, condition: Expr, symbols: &[Symbol]) -> Vec<Remedy> {
        let hints: Option<Vec<i64>> = symbols.iter().map(|&symbol| self.symbolic.hint(symbol)).collect();
        let Some(hints) = hints else { return Vec::new() };
        let mut found = Vec::new();
        for sides in 0..1u32 << symbols.len() {
            let of = |(at, &symbol): (usize, &Symbol)| {
                let (min, max) = self.range(symbol);
                if sides >> at & 1 == 0 { (symbol, min, Some(hints[at])) } else { (symbol, hints[at], max) }
            };
            let ranges: Vec<_> = symbols.iter().enumerate().map(of).collect();
            if self.holds_within(condition, &ranges) {
                let ranges = self.grown(condition, ranges);
                let changes = ranges.into_iter().map(|(s, min, max)| (s, Change::Range(min, max))).collect();
                found.push(Remedy { changes, rejects: true });
            }
        }
        found
    }
}

/// What a model declares of its inputs, as a spec: names, numbers, and sizes of at least 1.
pub fn declared_spec(model: &Model) -> Json {
    let symbolic = Symbolic::new(model, None, &|_| LEAST);
    written(&symbolic, &FxHashMap::default()).unwrap_or(Json::Null)
}

/// A spec under which the model is right, as wide as the conditions allow: what it declares, narrowed where that is too
/// wide. `None` where none was found.
pub fn widen(model: &Model, budget: &Budget) -> Option<Json> {
    let check = checked(model, None, budget);
    match check.report.verdict {
        Verdict::Ok => check.written(),
        Verdict::Violated => check.narrowed().map(|narrowed| narrowed.spec),
        Verdict::Unknown => None,
    }
}
