//! The sizes nearest to an example that break a condition, or at which all conditions hold.
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use sizewise_solve::{Compiled, Facts, Witness};
use std::cell::RefCell;
use std::rc::Rc;

/// How far from the example every size is tried, by the number of sizes that change together.
const REACH: [i64; 3] = [130, 12, 4];
/// Sizes that are tried as well.
const USUAL: [i64; 12] = [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// The most sizes that are tried of one symbol, by the number of sizes that change together.
const MAX_TRIED: [usize; 3] = [280, 40, 12];
/// How many sizes between two that are known to differ are tried one after the other.
const MAX_BETWEEN: i64 = 4096;
/// The most symbols that are changed; of conditions on more, some stay as in the example.
const MAX_SYMBOLS: usize = 6;
/// How many counterexamples are found.
const MAX_FOUND: usize = 4;

/// How far a counterexample is from what people want; less is better.
type Score = (usize, usize, usize, Int);

/// A condition that is tried at many sizes, with what is known of it without trying.
#[derive(Clone)]
pub struct Tried {
    compiled: Rc<Compiled>,
    symbols: Vec<Symbol>,
    at_example: Option<bool>,
}

impl Tried {
    /// The condition.
    pub fn condition(&self) -> Expr {
        self.compiled.condition()
    }
}

/// What is asked of the sizes of a counterexample.
pub struct Search<'a> {
    /// The pool of all conditions.
    pub pool: &'a Pool,
    /// What is assumed of the sizes.
    pub facts: &'a Facts,
    /// The example.
    pub example: &'a FxHashMap<Symbol, Int>,
    /// The symbols that have no example of their own.
    pub made_up: &'a [Symbol],
    /// The assumptions.
    pub assumed: &'a [Tried],
    /// Everything that is violated somewhere.
    pub all: &'a [Tried],
    /// The condition to be broken.
    pub condition: Tried,
    /// Conditions that should not be broken too.
    pub others: Vec<Tried>,
    /// Room for evaluation.
    pub room: RefCell<Vec<i128>>,
}

/// Conditions with what is known of them.
pub fn tried(pool: &Pool, example: &FxHashMap<Symbol, Int>, conditions: &[Expr]) -> Vec<Tried> {
    let mut room = Vec::new();
    let one = |&condition: &Expr| {
        let compiled = Compiled::new(pool, condition);
        let at_example = compiled.holds(pool, |s| example.get(&s), &mut room);
        Tried { compiled: Rc::new(compiled), symbols: pool.free_symbols(&[condition]), at_example }
    };
    conditions.iter().map(one).collect()
}

impl Search<'_> {
    /// The counterexamples nearest to the example, the best first, each with the number of other conditions that it
    /// breaks. None where some symbol of the condition has no example.
    pub fn nearest(&self) -> Vec<(usize, Witness)> {
        let mut symbols = self.condition.symbols.clone();
        if !symbols.iter().all(|s| self.example.contains_key(s)) {
            return Vec::new();
        }
        // Sizes that the assumptions tie to these may have to change with them.
        add_tied(self, &mut symbols, self.assumed);
        let mut found = self.found(&symbols);
        // Sizes that another condition ties to these may have to change for that one to hold.
        if found.first().is_some_and(|((_, broken, ..), _)| *broken > 0) {
            add_tied(self, &mut symbols, &self.others);
            found = self.found(&symbols);
        }
        found.into_iter().map(|((_, broken, ..), witness)| (broken, self.whole(witness))).collect()
    }

    /// Changed sizes with those that are made up: no example has them.
    pub fn whole(&self, mut changed: Witness) -> Witness {
        for &symbol in self.made_up {
            if !changed.iter().any(|(known, _)| *known == symbol) {
                changed.extend(self.example.get(&symbol).map(|size| (symbol, size.clone())));
            }
        }
        changed
    }

    /// Whether a condition holds where some sizes of the example are changed.
    fn holds(&self, changed: &[(Symbol, Int)], tried: &Tried) -> Option<bool> {
        if !changed.iter().any(|(s, _)| tried.symbols.contains(s)) {
            return tried.at_example;
        }
        let value = |symbol: Symbol| {
            let given = changed.iter().find(|(s, _)| *s == symbol).map(|(_, v)| v);
            given.or_else(|| self.example.get(&symbol))
        };
        tried.compiled.holds(self.pool, value, &mut self.room.borrow_mut())
    }

    /// Whether the assumptions hold.
    fn is_allowed(&self, changed: &[(Symbol, Int)]) -> bool {
        let inside = changed.iter().all(|(s, v)| self.facts.range(*s).is_none_or(|range| range.contains(v)));
        inside && self.assumed.iter().all(|tried| self.holds(changed, tried) != Some(false))
    }

    /// How far a counterexample is from what people want; `None` for what is none, or no better than `worst`.
    fn score(&self, changed: &[(Symbol, Int)], worst: Option<&Score>) -> Option<Score> {
        let zeros = changed.iter().filter(|(_, v)| v.is_zero()).count();
        let far = |(s, v): &(Symbol, Int)| (v - self.example.get(s).unwrap_or(&Int::ZERO)).abs();
        let distance = changed.iter().map(far).fold(Int::ZERO, |sum, d| &sum + &d);
        let mut score = (zeros, 0, changed.len(), distance);
        let is_worse = |score: &Score| worst.is_some_and(|worst| score >= worst);
        if is_worse(&score)
            || self.holds(changed, &self.condition) != Some(false)
            || !self.is_allowed(changed)
        {
            return None;
        }
        for other in &self.others {
            if self.holds(changed, other) == Some(false) {
                score.1 += 1;
                if is_worse(&score) {
                    return None;
                }
            }
        }
        Some(score)
    }

    /// The sizes to try of a symbol, the nearest first.
    fn tried(&self, symbol: Symbol, together: usize) -> Vec<Int> {
        let Some(example) = self.example.get(&symbol) else { return Vec::new() };
        let mut sizes: Vec<Int> = Vec::new();
        for d in 1..=REACH[together] {
            sizes.push(example + &Int::from(d));
            sizes.push(example - &Int::from(d));
        }
        sizes.extend(USUAL.map(Int::from));
        if let Some(range) = self.facts.range(symbol) {
            sizes.extend(range.lower());
            sizes.extend(range.upper());
        }
        sizes.push(example + example);
        let inside =
            |v: &Int| !v.is_negative() && self.facts.range(symbol).is_none_or(|range| range.contains(v));
        sizes.retain(|v| inside(v) && v != example);
        sizes.sort_by_key(|v| (v - example).abs());
        sizes.dedup();
        sizes.truncate(MAX_TRIED[together]);
        sizes
    }

    /// Counterexamples, the best first.
    fn found(&self, symbols: &[Symbol]) -> Vec<(Score, Witness)> {
        let mut found: Vec<(Score, Witness)> = Vec::new();
        let tries =
            |together: usize| -> Vec<Vec<Int>> { symbols.iter().map(|&s| self.tried(s, together)).collect() };
        let mut add = |changed: &[(Symbol, Int)]| {
            let worst = found.get(MAX_FOUND - 1).map(|(score, _)| score);
            if let Some(score) = self.score(changed, worst) {
                found.push((score, changed.to_vec()));
                found.sort_by(|(a, _), (b, _)| a.cmp(b));
                found.truncate(MAX_FOUND);
            }
            found.first().is_some_and(|((zeros, broken, ..), _)| (*zeros, *broken) == (0, 0))
        };
        let mut good = add(&[]);
        for (sizes, &s) in tries(0).into_iter().zip(symbols) {
            for v in sizes {
                good |= add(&[(s, v)]);
            }
        }
        if good {
            self.move_closer(&mut found);
            return found;
        }
        let sizes = tries(1);
        for (i, &s) in symbols.iter().enumerate() {
            for (j, &t) in symbols.iter().enumerate().skip(i + 1) {
                for v in &sizes[i] {
                    for w in &sizes[j] {
                        good |= add(&[(s, v.clone()), (t, w.clone())]);
                    }
                }
                // Two sizes that have to be equal change by any amount together.
                for v in self.tried(s, 0) {
                    good |= add(&[(s, v.clone()), (t, v)]);
                }
            }
        }
        if good || symbols.len() < 3 {
            return found;
        }
        let sizes = tries(2);
        for (i, j, k) in triples(symbols.len()) {
            for u in &sizes[i] {
                for v in &sizes[j] {
                    for w in &sizes[k] {
                        add(&[(symbols[i], u.clone()), (symbols[j], v.clone()), (symbols[k], w.clone())]);
                    }
                }
            }
        }
        found
    }

    /// Moves the best counterexample as close to the example as it gets, if it changes one size: of the sizes that are not
    /// next to the example, only some are tried at first.
    fn move_closer(&self, found: &mut Vec<(Score, Witness)>) {
        let Some((best, changed)) = found.first().cloned() else { return };
        let [(symbol, size)] = changed.as_slice() else { return };
        let Some(example) = self.example.get(symbol) else { return };
        let closer = between(example, size).into_iter().find_map(|size| {
            let changed = vec![(*symbol, size)];
            Some((self.score(&changed, Some(&best))?, changed))
        });
        if let Some(closer) = closer {
            found.insert(0, closer);
            found.truncate(MAX_FOUND);
        }
    }

    /// The sizes nearest to a counterexample at which everything holds that is violated somewhere; the example rather
    /// than sizes of 0.
    pub fn works(&self, changed: &[(Symbol, Int)]) -> Option<Witness> {
        let good = |at: &[(Symbol, Int)]| {
            self.is_allowed(at) && self.all.iter().all(|tried| self.holds(at, tried) == Some(true))
        };
        let example = good(&[]).then(Vec::new);
        let natural = |size: &Int| example.is_none() || !size.is_zero();
        let mut best: Option<(Int, Witness)> = None;
        for (i, (symbol, from)) in changed.iter().enumerate() {
            let mut sizes = self.tried(*symbol, 0);
            sizes.extend(self.example.get(symbol).cloned());
            sizes.retain(natural);
            sizes.sort_by_key(|v| (v.is_zero(), (v - from).abs()));
            let with = |size: &Int| -> Witness {
                let moved = changed.iter().enumerate();
                moved.map(|(j, (s, v))| (*s, if i == j { size.clone() } else { v.clone() })).collect()
            };
            let near = sizes.iter().map(|size| ((size - from).abs(), with(size))).find(|(_, at)| good(at));
            if let Some(near) = near
                && best.as_ref().is_none_or(|(distance, _)| near.0 < *distance)
            {
                best = Some(near);
            }
        }
        if best.is_none() && changed.len() > 1 {
            // Sizes that have to be equal change together.
            let (symbol, from) = &changed[0];
            let mut sizes = self.tried(*symbol, 0);
            sizes.retain(natural);
            sizes.sort_by_key(|v| (v.is_zero(), (v - from).abs()));
            let with = |size: &Int| changed.iter().map(|(s, _)| (*s, size.clone())).collect::<Witness>();
            return sizes.iter().map(with).find(|at| good(at)).or(example);
        }
        best.map(|(_, at)| self.closer(changed, at, &good)).or(example)
    }

    /// Sizes at which everything holds, moved as close to a counterexample as they get, if one size differs.
    fn closer(
        &self,
        broken: &[(Symbol, Int)],
        works: Witness,
        good: &impl Fn(&[(Symbol, Int)]) -> bool,
    ) -> Witness {
        let mut differ = (0..works.len()).filter(|&i| broken.get(i) != Some(&works[i]));
        let (Some(at), None) = (differ.next(), differ.next()) else { return works };
        let (symbol, mut size) = works[at].clone();
        let Some((_, from)) = broken.get(at).filter(|(same, _)| *same == symbol) else { return works };
        let with = |size: &Int| {
            let mut moved = works.clone();
            moved[at].1 = size.clone();
            moved
        };
        // Between sizes that are far apart the end of those that work is looked for first.
        let mut from = from.clone();
        while let Some(middle) = middle(&from, &size) {
            let works = good(&with(&middle));
            *(if works { &mut size } else { &mut from }) = middle;
        }
        // A size of 0 works in too many programs to be of use.
        let mut sizes = between(&from, &size).into_iter().filter(|size| !size.is_zero());
        sizes.find_map(|size| Some(with(&size)).filter(|moved| good(moved))).unwrap_or_else(|| with(&size))
    }
}

/// The size in the middle of two; none if those between them can be tried one after the other.
fn middle(from: &Int, to: &Int) -> Option<Int> {
    let (from, to) = (from.to_i64()?, to.to_i64()?);
    let is_far = from.abs_diff(to) > MAX_BETWEEN.unsigned_abs();
    is_far.then(|| Int::from(from.midpoint(to)))
}

/// The sizes between two, from the first on, without both; none if there are too many.
fn between(from: &Int, to: &Int) -> Vec<Int> {
    let distance = (to - from).abs().to_i64().filter(|&distance| distance <= MAX_BETWEEN).unwrap_or(0);
    let step = if to > from { Int::ONE } else { -&Int::ONE };
    (1..distance).map(|n| from + &(&step * &Int::from(n))).collect()
}

/// Adds the symbols of conditions that speak of one that is there already.
fn add_tied(search: &Search, symbols: &mut Vec<Symbol>, conditions: &[Tried]) {
    let tied = conditions.iter().filter(|tried| tried.symbols.iter().any(|s| symbols.contains(s)));
    for other in tied.flat_map(|tried| tried.symbols.iter().copied()).collect::<Vec<_>>() {
        if search.example.contains_key(&other) && !symbols.contains(&other) {
            symbols.push(other);
        }
    }
    symbols.truncate(MAX_SYMBOLS);
}

/// All choices of three of the first `n` numbers.
fn triples(n: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..n).flat_map(move |i| (i + 1..n).flat_map(move |j| (j + 1..n).map(move |k| (i, j, k))))
}

#[cfg(test)]
mod tests {
    use super::{MAX_BETWEEN, middle};
    use sizewise_expr::Int;

    /// Halving ends where the sizes between two are few enough to be tried, and never passes the end of those that work.
    #[test]
    fn the_end_of_sizes_that_are_far_apart_is_found() {
        for (bad, good, end) in
            [(2_147_483_646i64, 1024i64, 96_038_388i64), (0, i64::MAX, 70_000), (9, 10, 10)]
        {
            let works = |size: i64| if bad < good { size >= end } else { size <= end };
            let (mut from, mut to) = (Int::from(bad), Int::from(good));
            while let Some(middle) = middle(&from, &to) {
                let is_good = works(middle.to_i64().expect("a size"));
                *(if is_good { &mut to } else { &mut from }) = middle;
            }
            let (from, to) = (from.to_i64().expect("a size"), to.to_i64().expect("a size"));
            assert!(!works(from) && works(to) && from.abs_diff(to) <= MAX_BETWEEN.unsigned_abs(), "{end}");
        }
    }
}
