//! Narrower specs under which a model is right: ranges, multiples and sizes that depend on others.
use super::remedies::{Anchor, Remedy, WINDOW};
use super::{Budget, Check, Decided, MAX_VIOLATIONS, checked, decide};
use crate::check::findings::Verdict;
use crate::check::limits::{LEAST, Limits};
use crate::check::symbolic::Symbolic;
use crate::check::written::written;
use crate::read::Model;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_check::spec::Spec;
use sizewise_expr::{Evaluator, Expr, Symbol, Value};

/// How often a size has to recur among those that are tried.
const LEAST_SEEN: usize = 4;
/// From how many sizes at which a condition holds it is asked whether these recur.
const MAX_STARTS: usize = 3;
/// The most conditions that are made to hold one after the other, the most specs that are checked for it, and the
/// nodes that may be visited.
const MAX_ROUNDS: usize = 12;
const MAX_CHECKED: usize = 48;
const MAX_VISITED: usize = 200_000;

/// A spec under which a check comes out ok.
pub(super) struct Narrowed {
    pub spec: Json,
    /// Whether it rejects sizes at which the model runs.
    pub rejects: bool,
    /// Whether a check under it comes out ok; else only what no spec settles stays open.
    pub is_proved: bool,
    /// How many sizes it fixes to numbers.
    fixed: usize,
}

/// How many sizes of a spec are numbers.
pub(super) fn numbers_in(spec: &Json) -> usize {
    let entries = spec.as_object().into_iter().flat_map(|inputs| inputs.values());
    entries.filter_map(Json::as_array).flatten().filter(|entry| entry.is_number()).count()
}

impl Check<'_> {
    /// What was allowed, as a spec.
    pub(super) fn written(&self) -> Option<Json> {
        written(&self.symbolic, &FxHashMap::default())
    }

    /// Narrows the sizes until a check of the model under the spec comes out ok; where that fixes sizes to numbers, also
    /// from larger sizes than those of the example.
    pub(super) fn narrowed(&self) -> Option<Narrowed> {
        let near = self.narrowed_from(Anchor::Example)?;
        if near.fixed == 0 {
            return Some(near);
        }
        let far = self.narrowed_from(Anchor::Larger);
        let is_better = |far: &Narrowed| far.fixed < near.fixed && far.is_proved >= near.is_proved;
        Some(far.filter(is_better).unwrap_or(near))
    }

    /// Narrows the sizes, a condition at a time, until a check of the model under the spec comes out ok.
    fn narrowed_from(&self, anchor: Anchor) -> Option<Narrowed> {
        let mut left = (MAX_VISITED / self.model.graph.node.len().max(1)).clamp(1, MAX_CHECKED);
        let fixed = self.written().as_ref().map_or(0, numbers_in);
        let mut rejects = false;
        let mut current: Option<Check> = None;
        let mut spec: Option<Json> = None;
        for _ in 0..MAX_ROUNDS {
            let check = current.as_ref().unwrap_or(self);
            if check.report.verdict == Verdict::Ok {
                break;
            }
            if !check.report.wrong_outputs.is_empty()
                || !check.failed.is_empty()
                || check.report.refuses.is_some()
                || check.report.violations.len() >= MAX_VIOLATIONS
            {
                return None;
            }
            let broken = check.broken.iter().find(|(at, _)| !check.report.violations[*at].follows);
            // The model may run where a condition does not hold that is in doubt.
            let doubtful = check.doubtful.first().map(|condition| (condition, true));
            let broken = broken.map(|(_, condition)| (condition, false)).or(doubtful);
            let Some((&condition, is_doubtful)) = broken else { break };
            // Sizes of 1 that broadcast another way are not in the condition.
            let is_doubtful = is_doubtful || check.wide.contains_key(&condition);
            let better = check.remedies(condition, anchor).into_iter().find_map(|remedy| {
                left = left.checked_sub(1)?;
                let (next, json) = check.with(&remedy)?;
                let is_better = next.own_count() + next.open_count() < check.own_count() + check.open_count();
                is_better.then_some((next, json, remedy.rejects || is_doubtful))
            });
            // What is in doubt may stay so.
            if better.is_none() && check.report.verdict != Verdict::Violated {
                break;
            }
            let (next, json, more) = better?;
            rejects |= more;
            spec = Some(json);
            current = Some(next);
        }
        let (last, spec) = (current?, spec?);
        let fixed = numbers_in(&spec).saturating_sub(fixed);
        let is_proved = last.report.verdict == Verdict::Ok;
        let is_as_open = last.report.verdict == Verdict::Unknown && last.open_count() <= self.open_count();
        (is_proved || is_as_open).then_some(Narrowed { spec, rejects, is_proved, fixed })
    }

    /// A check of the model with sizes changed, and the spec that says so.
    fn with(&self, remedy: &Remedy) -> Option<(Self, Json)> {
        let json = written(&self.symbolic, &remedy.changes)?;
        let limits = Limits::new(self.model, &Spec::parse(json.to_string().as_bytes()).ok()?).ok()?;
        Some((checked(self.model, Some(&limits), &self.budget), json))
    }

    /// How many conditions are violated that follow from no other.
    fn own_count(&self) -> usize {
        self.broken.iter().filter(|(at, _)| !self.report.violations[*at].follows).count()
    }

    /// How much is neither proved nor refuted.
    pub(super) fn open_count(&self) -> usize {
        self.report.undecided.len() + self.report.unknown.len()
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
    pub(super) fn holds_within(&self, condition: Expr, ranges: &[(Symbol, i64, Option<i64>)]) -> bool {
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

    /// The factor of sizes at which a condition holds, again and again, and the first of them; the sizes of other symbols
    /// are those of the example.
    pub(super) fn recurring(&self, condition: Expr, symbol: Symbol) -> Option<(i64, i64)> {
        let (min, max) = self.range(symbol);
        let end = max.unwrap_or(i64::MAX).min(min.saturating_add(WINDOW));
        let holds: Vec<bool> = (min..=end).map(|size| self.holds_at(condition, symbol, size)).collect();
        let starts = (0..holds.len()).filter(|&at| holds[at]).take(MAX_STARTS);
        let recurs = |first: usize, factor: usize| holds[first..].iter().step_by(factor).all(|&holds| holds);
        let found = starts.filter_map(|first| {
            let most = holds.len().saturating_sub(first) / LEAST_SEEN;
            Some(((1..=most).find(|&factor| recurs(first, factor))?, first))
        });
        // The smallest factor leaves the most sizes. Where all sizes do, it is a range and no multiple.
        let (factor, first) = found.min()?;
        // Models are used at multiples of it rather than beside them.
        let multiple = usize::try_from((-min).rem_euclid(factor as i64)).ok()?;
        let plain = (multiple..holds.len()).step_by(factor).take(MAX_STARTS).find(|&at| recurs(at, factor));
        let first = plain.filter(|_| factor > 1).unwrap_or(first);
        (factor > 1).then_some((factor as i64, min.checked_add(first as i64)?))
    }

    /// The first size above one that was tried at which a condition holds, if it holds from there on.
    pub(super) fn first_beyond(
        &self,
        condition: Expr,
        symbol: Symbol,
        tried: i64,
        max: Option<i64>,
    ) -> Option<i64> {
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
    pub(super) fn fails_within(&self, condition: Expr, symbol: Symbol, min: i64, max: Option<i64>) -> bool {
        // A clone is a handle of the same pool.
        let fails = self.symbolic.env.pool.clone().not(condition);
        self.holds_within(fails, &[(symbol, min, max)])
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
        _ => check.narrowed().filter(|found| found.is_proved).map(|found| found.spec),
    }
}
