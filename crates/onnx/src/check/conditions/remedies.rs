//! Changes of sizes after which a condition holds: the widest first.
use super::{Check, Decided, decide};
use crate::check::written::Change;
use rustc_hash::FxHashMap;
use sizewise_expr::{Evaluator, Expr, Func, Node, Symbol, Value};

/// Sizes of a symbol that are tried, from the least one.
pub(super) const WINDOW: i64 = 300;
/// How often the ends of ranges are moved.
const MAX_GROWN: usize = 24;
/// Sizes of symbols while a multiple of another is looked for.
const PRIMES: &[i64] = &[307, 311, 313];
/// The most symbols of a condition for which ranges are looked for.
const MAX_SYMBOLS: usize = 3;
/// The most ranges of one size that are looked at.
const MAX_RUNS: usize = 4;
/// Fewer multiples are better told as numbers: the least and the greatest differ by at least this.
const LEAST_MULTIPLES: i64 = 2;
/// Sizes of two symbols at which it is seen whether it matters that they are equal, and not how large they are.
const EQUAL_SIZES: &[i64] = &[1, 2, 1_000, 1_000_003];

/// From which sizes on ranges are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// Those of the example.
    Example,
    /// Larger ones.
    Larger,
}

/// Changes that make a condition hold.
pub(super) struct Remedy {
    pub changes: FxHashMap<Symbol, Change>,
    /// Whether it rejects sizes at which the condition holds.
    pub rejects: bool,
}

/// A range of a symbol.
type Within = (Symbol, i64, Option<i64>);

impl Remedy {
    /// What comes first: changes that lose nothing, that keep all sizes open, ranges, and numbers last.
    fn rank(&self) -> usize {
        let any = |is: fn(&Change) -> bool| self.changes.values().any(is);
        let is_number = any(|change| matches!(change, Change::Number(_)));
        let depends = any(|change| matches!(change, Change::Same { .. } | Change::Multiple { .. }));
        match () {
            () if !self.rejects => 0,
            () if is_number => 4 - usize::from(depends),
            () if depends => 1,
            () => 2,
        }
    }
}

impl Check<'_> {
    /// Changes of sizes after which a condition holds, the widest first.
    pub(super) fn remedies(&self, condition: Expr, anchor: Anchor) -> Vec<Remedy> {
        let symbols = self.symbolic.env.pool.free_symbols(&[condition]);
        let known = |symbol: &Symbol| self.symbolic.symbols.iter().any(|(known, _)| known == symbol);
        if symbols.is_empty() || symbols.len() > MAX_SYMBOLS || !symbols.iter().all(known) {
            return Vec::new();
        }
        let mut remedies = match symbols.as_slice() {
            [only] => self.of_one(condition, *only),
            several => {
                let mut remedies = self.equation(condition);
                remedies.extend(self.equal(condition, several));
                remedies.extend(self.multiples_of(condition, several));
                remedies.extend(several.iter().filter_map(|&symbol| self.multiple(condition, symbol)));
                remedies.extend(self.boxes(condition, several, anchor));
                remedies
            }
        };
        // It is enough that one part of a disjunction holds, such as `a == b` of `a == b or a == 1 or b == 1`.
        if let Some(Node::Call(Func::Or, parts)) = self.symbolic.env.pool.node(condition)
            && symbols.len() > 1
        {
            let of_parts = parts.iter().flat_map(|&part| self.remedies(part, anchor));
            remedies.extend(of_parts.map(|remedy| Remedy { rejects: true, ..remedy }));
        }
        remedies.sort_by_key(Remedy::rank);
        remedies
    }

    /// Ranges, multiples and numbers of the one symbol that a condition is about.
    fn of_one(&self, condition: Expr, symbol: Symbol) -> Vec<Remedy> {
        let (min, max) = self.range(symbol);
        let end = max.unwrap_or(i64::MAX).min(min.saturating_add(WINDOW));
        let holding: Vec<i64> = (min..=end).filter(|&size| self.holds_at(condition, symbol, size)).collect();
        let one = |change, rejects| Remedy { changes: FxHashMap::from_iter([(symbol, change)]), rejects };
        let first = match holding.first() {
            Some(&first) => Some(first),
            None => self.first_beyond(condition, symbol, end, max),
        };
        let mut starts: Vec<i64> = first.into_iter().collect();
        let later = holding.windows(2).filter(|pair| pair[1] - pair[0] > 1).map(|pair| pair[1]);
        starts.extend(later.take(MAX_RUNS));
        // From where it holds to where it does not any more, the longest first.
        let run = |first: i64| (first, self.last_from(condition, symbol, first, max));
        let mut runs: Vec<(i64, Option<i64>)> = starts.into_iter().map(run).collect();
        runs.sort_by_key(|(first, last)| std::cmp::Reverse(last.map_or(i64::MAX, |last| last - first)));
        let mut remedies = Vec::new();
        let found =
            runs.into_iter().find(|&(first, last)| self.holds_within(condition, &[(symbol, first, last)]));
        if let Some((first, last)) = found {
            let below = first == min || self.fails_within(condition, symbol, min, Some(first - 1));
            let above = last.and_then(|last| last.checked_add(1)).filter(|_| last != max);
            let above = above.is_none_or(|above| self.fails_within(condition, symbol, above, max));
            let only = Some(first) == last;
            let change = if only { Change::Number(first) } else { Change::Range(first, last) };
            remedies.push(one(change, !(below && above)));
        }
        let regular = self.regular(condition, symbol);
        if let Some((factor, offset)) = regular.or_else(|| self.recurring(condition, symbol)) {
            let is_all = regular.is_some();
            let multiple = self.multiple_within(symbol, factor, offset);
            remedies.extend(multiple.map(|multiple| one(multiple, !is_all)));
        }
        let hint = self.symbolic.hint(symbol).filter(|&hint| self.holds_at(condition, symbol, hint));
        if let Some(number) = hint.or(first) {
            remedies.push(one(Change::Number(number), true));
        }
        remedies
    }

    /// Multiples of a factor and an offset, within the range of a symbol; `None` where these are only a few sizes.
    fn multiple_within(&self, symbol: Symbol, factor: i64, first: i64) -> Option<Change> {
        let (min, max) = self.range(symbol);
        // The first of them is one that is allowed.
        let offset = first.rem_euclid(factor);
        let least = first.max(min).saturating_sub(offset);
        let least = least.div_euclid(factor) + i64::from(least.rem_euclid(factor) > 0);
        let most = max.map(|max| max.saturating_sub(offset).div_euclid(factor));
        most.is_none_or(|most| most - least >= LEAST_MULTIPLES).then_some(Change::Multiple {
            factor,
            offset,
            min: least,
            max: most,
        })
    }

    /// For each symbol of a condition the multiples at which it holds where the others are as in the example, together.
    fn multiples_of(&self, condition: Expr, symbols: &[Symbol]) -> Option<Remedy> {
        let recurring = |&symbol: &Symbol| Some((symbol, self.recurring(condition, symbol)?));
        let found: Vec<_> = symbols.iter().filter_map(recurring).collect();
        let change =
            |&(symbol, (factor, first))| Some((symbol, self.multiple_within(symbol, factor, first)?));
        let changes = found.iter().map(change).collect::<Option<FxHashMap<_, _>>>()?;
        (changes.len() > 1).then_some(Remedy { changes, rejects: true })
    }

    /// Two symbols as one size, where a condition holds whenever they are equal.
    pub(super) fn equal(&self, condition: Expr, symbols: &[Symbol]) -> Option<Remedy> {
        let &[other, replaced] = symbols else { return None };
        let holds = |size: i64| {
            let value = |s: Symbol| symbols.contains(&s).then(|| Value::Int(size.into()));
            Evaluator::new(&self.symbolic.env.pool, value).truth(condition) == Ok(true)
        };
        if !EQUAL_SIZES.iter().all(|&size| holds(size)) {
            return None;
        }
        let mut env = self.symbolic.env.clone();
        let (one, two) = (env.pool.symbol_expr(other), env.pool.symbol_expr(replaced));
        let same = env.pool.eq(one, two);
        env.assume(same);
        let (pool, facts) = env.facts();
        let found = decide(pool, facts, condition, &self.budget).verdict;
        matches!(found, Decided::Implied { .. }).then(|| self.same(replaced, other, (1, 0)))?
    }

    /// One symbol as `factor * other + offset`, where both are within their ranges.
    fn same(&self, replaced: Symbol, other: Symbol, (factor, offset): (i64, i64)) -> Option<Remedy> {
        let (min, max) = self.range(replaced);
        let mut changes = FxHashMap::from_iter([(replaced, Change::Same { other, factor, offset })]);
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
        Some(Remedy { changes, rejects: true })
    }

    /// What one symbol is by the others' sizes, where a condition is an equation that says it. Of several others all but
    /// one are as in the example.
    fn equation(&self, condition: Expr) -> Vec<Remedy> {
        let pool = &self.symbolic.env.pool;
        let Some(Node::Call(Func::IsZero, args)) = pool.node(condition) else { return Vec::new() };
        let Some(&difference) = args.first() else { return Vec::new() };
        let poly = pool.poly(difference);
        let solved = |(at, kept): (usize, usize)| {
            let replaced = pool.as_symbol(poly.terms.get(at)?.0)?;
            let rest = poly.solved_for(at)?;
            let (term, factor) = rest.terms.get(kept)?;
            let other = pool.as_symbol(*term).filter(|_| factor.is_positive())?;
            let mut offset = rest.constant.to_i64()?;
            let mut numbers = Vec::new();
            for (term, factor) in rest.terms.iter().enumerate().filter(|(at, _)| *at != kept).map(|(_, t)| t)
            {
                let symbol = pool.as_symbol(*term)?;
                let hint = self.symbolic.hint(symbol)?;
                offset = offset.checked_add(factor.to_i64()?.checked_mul(hint)?)?;
                numbers.push((symbol, Change::Number(hint)));
            }
            let mut remedy = self.same(replaced, other, (factor.to_i64()?, offset))?;
            remedy.rejects = !numbers.is_empty();
            remedy.changes.extend(numbers);
            Some(remedy)
        };
        let count = poly.terms.len();
        let places = (0..count).rev().flat_map(|at| (0..count.saturating_sub(1)).map(move |kept| (at, kept)));
        let mut remedies: Vec<Remedy> = places.filter_map(solved).collect();
        // The symbol with the widest range is the one to keep.
        let width = |symbol| {
            let (min, max) = self.range(symbol);
            max.map_or(i64::MAX, |max| max - min)
        };
        let kept = |remedy: &Remedy| {
            let others = remedy.changes.values().filter_map(|change| match change {
                Change::Same { other, .. } => Some(width(*other)),
                _ => None,
            });
            others.max()
        };
        remedies.sort_by_key(|remedy| std::cmp::Reverse(kept(remedy)));
        remedies
    }

    /// A multiple that a symbol has to be for a condition on several, where their product has to be divisible.
    fn multiple(&self, condition: Expr, symbol: Symbol) -> Option<Remedy> {
        let factor = self.factor_of(condition, symbol)?;
        let change = self.multiple_within(symbol, factor, 0)?;
        Some(Remedy { changes: FxHashMap::from_iter([(symbol, change)]), rejects: true })
    }

    /// The factor that a symbol has to have for a condition on several, where their product has to be divisible.
    pub(super) fn factor_of(&self, condition: Expr, symbol: Symbol) -> Option<i64> {
        let places = || self.symbolic.symbols.iter().map(|(known, _)| *known);
        // Sizes without a common factor hide none of the symbol's.
        let other = |s: Symbol| PRIMES.get(places().position(|known| known == s)? % PRIMES.len()).copied();
        let (min, max) = self.range(symbol);
        let holds = |size: i64| {
            let value = |s: Symbol| if s == symbol { Some(size) } else { other(s) };
            let value = |s: Symbol| value(s).map(|value| Value::Int(value.into()));
            Evaluator::new(&self.symbolic.env.pool, value).truth(condition) == Ok(true)
        };
        (2..=max.unwrap_or(WINDOW).min(WINDOW)).find(|&size| size >= min && holds(size))
    }

    /// Ranges as wide as those of their symbols where the condition allows that, one after the other; of others with
    /// ends as far as doubling steps allow: first together, then each.
    fn grown(&self, condition: Expr, mut ranges: Vec<Within>) -> Vec<Within> {
        let limits: Vec<(i64, Option<i64>)> = ranges.iter().map(|(symbol, ..)| self.range(*symbol)).collect();
        for (at, &(least, most)) in limits.iter().enumerate() {
            let mut next = ranges.clone();
            (next[at].1, next[at].2) = (least, most);
            if next != ranges && self.holds_within(condition, &next) {
                ranges = next;
            }
        }
        // The lower and the upper ends that are none of the range of a symbol.
        let lower = (0..ranges.len()).filter(|&at| ranges[at].1 != limits[at].0).map(|at| (at, false));
        let upper = (0..ranges.len()).filter(|&at| ranges[at].2 != limits[at].1).map(|at| (at, true));
        let ends: Vec<(usize, bool)> = upper.chain(lower).collect();
        let all = std::iter::once(ends.clone());
        for group in all.chain(ends.into_iter().map(|end| vec![end])) {
            let mut step = 1i64;
            let mut is_doubling = true;
            for _ in 0..MAX_GROWN {
                let mut next = ranges.clone();
                for &(at, is_upper) in &group {
                    let (least, most) = limits[at];
                    if is_upper {
                        let end = next[at].2.map(|end| end.saturating_add(step));
                        next[at].2 = end.map(|end| end.min(most.unwrap_or(i64::MAX)));
                    } else {
                        next[at].1 = next[at].1.saturating_sub(step).max(least);
                    }
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

    /// The sizes at which ranges begin or end: those of the example, or the first larger ones at which the condition
    /// holds, all alike or one of them larger than the others.
    fn anchored(&self, condition: Expr, symbols: &[Symbol], anchor: Anchor) -> Option<Vec<i64>> {
        let hints = symbols.iter().map(|&symbol| self.symbolic.hint(symbol)).collect::<Option<Vec<i64>>>()?;
        if anchor == Anchor::Example {
            return Some(hints);
        }
        // Quarters of what is left of a range, or a power of two where it has no end.
        let larger = |at: usize, quarters: u32| {
            let (hint, (min, max)) = (hints[at], self.range(symbols[at]));
            let size = match max {
                Some(max) => hint.saturating_add((max - hint) / 4 * i64::from(quarters)),
                None => hint.saturating_mul(2 << quarters),
            };
            size.max(min)
        };
        let all: Vec<usize> = (0..symbols.len()).collect();
        let alike = std::iter::once(all.iter().map(|&at| larger(at, 2)).collect::<Vec<i64>>());
        let one_larger =
            |own: &usize| all.iter().map(|at| larger(*at, if at == own { 3 } else { 1 })).collect();
        let holds = |sizes: &Vec<i64>| {
            let value = |s: Symbol| {
                let at = symbols.iter().position(|symbol| *symbol == s)?;
                Some(Value::Int(sizes[at].into()))
            };
            Evaluator::new(&self.symbolic.env.pool, value).truth(condition) == Ok(true)
        };
        alike.chain(all.iter().map(one_larger)).find(holds)
    }

    /// Ranges of several symbols that begin or end at sizes at which the condition holds, or are around them.
    fn boxes(&self, condition: Expr, symbols: &[Symbol], anchor: Anchor) -> Vec<Remedy> {
        let Some(sizes) = self.anchored(condition, symbols, anchor) else { return Vec::new() };
        let sides = (0..1u32 << symbols.len()).map(|sides| {
            let of = |(at, &symbol): (usize, &Symbol)| {
                let (min, max) = self.range(symbol);
                if sides >> at & 1 == 0 { (symbol, min, Some(sizes[at])) } else { (symbol, sizes[at], max) }
            };
            symbols.iter().enumerate().map(of).collect::<Vec<_>>()
        });
        let mut found: Vec<Vec<Within>> =
            sides.filter(|ranges| self.holds_within(condition, ranges)).collect();
        if found.is_empty() {
            let around: Vec<Within> =
                symbols.iter().zip(&sizes).map(|(&symbol, &size)| (symbol, size, Some(size))).collect();
            found.extend(Some(around).filter(|ranges| self.holds_within(condition, ranges)));
        }
        let remedy = |ranges: Vec<Within>| {
            let change = |(symbol, min, max): Within| match max {
                Some(max) if max == min => (symbol, Change::Number(min)),
                max => (symbol, Change::Range(min, max)),
            };
            let changes = self.grown(condition, ranges).into_iter().map(change).collect();
            Remedy { changes, rejects: true }
        };
        found.into_iter().map(remedy).collect()
    }
}
