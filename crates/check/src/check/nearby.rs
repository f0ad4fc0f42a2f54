//! Counterexamples near the traced example, and the nearest sizes at which the program runs. Where no example is known, small
//! sizes that the assumptions allow take its place.
//!
//! A proof by refutation gives any counterexample. People want the one that differs least from the example that they
//! traced: few sizes changed, each by little, none of them 0 unless that is the point, and no other condition broken.
use super::evaluate::Shapes;
use super::examine::Examination;
use super::instance::{MAX_INSTANCE, instance};
use super::obligation::{Obligation, Source};
use super::prove::{Replayed, shapes_json};
use super::usual_sizes::usual_sizes;
use crate::propagate::Run;
use crate::report::{ConditionKind, GuardVerdict, int_json};
use crate::spec::{Assumptions, DemandKind};
use rustc_hash::FxHashMap;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value as Number};
use sizewise_solve::{Compiled, Facts, Witness};
use std::cell::RefCell;
use std::rc::Rc;

/// The most conditions whose counterexample is improved.
const MAX_IMPROVED: usize = 24;
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
/// Counterexamples that are tried on the program before the first one found is kept.
const MAX_REPLAYED: usize = 4;

/// How far a counterexample is from what people want; less is better.
type Score = (usize, usize, usize, Int);

/// A condition that is tried at many sizes, with what is known of it without trying.
#[derive(Clone)]
struct Tried {
    compiled: Rc<Compiled>,
    symbols: Vec<Symbol>,
    at_example: Option<bool>,
}

/// The sizes of a counterexample, and what is asked of them.
struct Search<'a> {
    pool: &'a Pool,
    facts: &'a Facts,
    assumptions: &'a Assumptions<'a>,
    /// The example.
    example: &'a FxHashMap<Symbol, Int>,
    /// The symbols that have no example of their own.
    made_up: &'a [Symbol],
    /// The assumptions.
    assumed: &'a [Tried],
    /// Everything that is violated somewhere.
    all: &'a [Tried],
    condition: Tried,
    /// Conditions that should not be broken too.
    others: Vec<Tried>,
    /// Room for evaluation.
    room: RefCell<Vec<i128>>,
}

/// Conditions with what is known of them.
fn tried(pool: &Pool, example: &FxHashMap<Symbol, Int>, conditions: &[Expr]) -> Vec<Tried> {
    let mut room = Vec::new();
    let one = |&condition: &Expr| {
        let compiled = Compiled::new(pool, condition);
        let at_example = compiled.holds(pool, |s| example.get(&s), &mut room);
        Tried { compiled: Rc::new(compiled), symbols: pool.free_symbols(&[condition]), at_example }
    };
    conditions.iter().map(one).collect()
}

impl Search<'_> {
    /// Changed sizes with those that are made up: no example has them.
    fn whole(&self, mut changed: Witness) -> Witness {
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
            let worst = found.get(MAX_REPLAYED - 1).map(|(score, _)| score);
            if let Some(score) = self.score(changed, worst) {
                found.push((score, changed.to_vec()));
                found.sort_by(|(a, _), (b, _)| a.cmp(b));
                found.truncate(MAX_REPLAYED);
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
            found.truncate(MAX_REPLAYED);
        }
    }

    /// The sizes nearest to a counterexample at which everything holds that is violated somewhere; the example rather
    /// than sizes of 0.
    fn works(&self, changed: &[(Symbol, Int)]) -> Option<Witness> {
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
        let (symbol, size) = works[at].clone();
        let Some((_, from)) = broken.get(at).filter(|(same, _)| *same == symbol) else { return works };
        let with = |size: &Int| {
            let mut moved = works.clone();
            moved[at].1 = size.clone();
            moved
        };
        // A size of 0 works in too many programs to be of use.
        let mut sizes = between(from, &size).into_iter().filter(|size| !size.is_zero());
        sizes.find_map(|size| Some(with(&size)).filter(|moved| good(moved))).unwrap_or(works)
    }
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

impl<'p> Examination<'_, 'p> {
    /// Replaces the counterexamples by some near the example.
    pub fn counterexamples_nearby(&mut self, run: &Run<'p>, base: &ShapeEnv) {
        let mut example: FxHashMap<Symbol, Int> = FxHashMap::default();
        for (symbol, ..) in base.known_facts().ranges() {
            let hint = base.symbol(symbol).and_then(|info| info.hint.as_ref()).and_then(Number::as_int);
            example.extend(hint.map(|hint| (symbol, hint)));
        }
        let made_up = self.make_up(base, &mut example);
        let violated: Vec<usize> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .collect();
        let all: Vec<Expr> = self.violated.iter().map(|o| o.condition).collect();
        let all = tried(&base.pool, &example, &all);
        let assumed = tried(&base.pool, &example, base.known_facts().conditions());
        let roots: Vec<Tried> = violated
            .iter()
            .zip(&all)
            .filter(|(i, _)| !self.report.guards[**i].follows)
            .map(|(_, tried)| tried.clone())
            .take(MAX_IMPROVED)
            .collect();
        let mut improved = 0;
        for (at, i) in violated.into_iter().enumerate().take(all.len()) {
            if self.report.guards[i].follows || improved >= MAX_IMPROVED {
                continue;
            }
            improved += 1;
            let obligation = self.violated[at].clone();
            let others = roots.iter().filter(|root| root.compiled.condition() != obligation.condition);
            let search = Search {
                pool: &base.pool,
                facts: base.known_facts(),
                assumptions: self.assumptions,
                example: &example,
                made_up: &made_up,
                assumed: &assumed,
                all: &all,
                condition: all[at].clone(),
                others: others.cloned().collect(),
                room: RefCell::default(),
            };
            let found = self.nearest(&search);
            self.describe(i, &obligation, found, run, base);
        }
    }

    /// Adds sizes of the inputs that have no example, which it returns.
    fn make_up(&self, base: &ShapeEnv, example: &mut FxHashMap<Symbol, Int>) -> Vec<Symbol> {
        let inputs = self.assumptions.inputs.iter();
        let sizes: Vec<Expr> =
            inputs.flat_map(|i| i.allowed.iter().flatten().copied().chain(i.scalar)).collect();
        let mut missing = base.pool.free_symbols(&sizes);
        missing.retain(|symbol| !example.contains_key(symbol));
        if missing.is_empty() || self.violated.is_empty() {
            return Vec::new();
        }
        let mut pool = base.pool.clone();
        let found = usual_sizes(&mut pool, base.known_facts(), &missing, example, self.budget);
        let Some(found) = found else { return Vec::new() };
        missing.retain(|symbol| found.contains_key(symbol));
        example.extend(missing.iter().map(|symbol| (*symbol, found[symbol].clone())));
        missing
    }

    /// The best counterexample that the program refuses, with what happens, and sizes that work.
    fn nearest(&self, search: &Search) -> Option<Near> {
        let mut symbols = search.condition.symbols.clone();
        if !symbols.iter().all(|s| search.example.contains_key(s)) {
            return None;
        }
        // Sizes that the assumptions tie to these may have to change with them.
        add_tied(search, &mut symbols, search.assumed);
        let mut found = search.found(&symbols);
        // Sizes that another condition ties to these may have to change for that one to hold.
        if found.first().is_some_and(|((_, broken, ..), _)| *broken > 0) {
            add_tied(search, &mut symbols, &search.others);
            found = search.found(&symbols);
        }
        let prover = self.silent_prover();
        for ((_, broken, ..), witness) in found {
            let witness = search.whole(witness);
            if !search.assumptions.allows(&witness) {
                continue;
            }
            let Some(shapes) = prover.shapes_at(&witness) else { continue };
            let Ok(Replayed { consequence, .. }) = prover.replay(&shapes) else { continue };
            // A guard that cannot be read may refuse what all else accepts.
            let is_known = prover.evaluator.unreadable().is_empty();
            let works = if is_known { search.works(&witness) } else { None };
            let works = works
                .map(|at| search.whole(at))
                .and_then(|at| prover.shapes_at(&at))
                .filter(|at| prover.replay(at).is_err());
            return Some(Near { witness, shapes, consequence, works, alone: broken == 0 });
        }
        None
    }

    /// Writes a counterexample into the report, and what happens there in terms of the condition.
    fn describe(
        &mut self,
        i: usize,
        obligation: &Obligation,
        near: Option<Near>,
        run: &Run,
        base: &ShapeEnv,
    ) {
        let guard = &mut self.report.guards[i];
        let mut alone = false;
        if let Some(near) = near {
            let mut witness = near.witness;
            // All sizes that the condition speaks of are named.
            for s in base.pool.free_symbols(&[obligation.condition]) {
                if !witness.iter().any(|(known, _)| *known == s)
                    && let Some(hint) = base.symbol(s).and_then(|i| i.hint.as_ref()).and_then(Number::as_int)
                {
                    witness.push((s, hint));
                }
            }
            let named = |(s, v): &(Symbol, Int)| (base.pool.symbol_name(*s).to_string(), int_json(v));
            guard.witness = Some(witness.iter().map(named).collect());
            guard.inputs = Some(shapes_json(&near.shapes));
            guard.works = near.works.as_ref().map(shapes_json);
            guard.consequence = Some(near.consequence);
            alone = near.alone;
        }
        let node = obligation.origin.and_then(|origin| run.step(origin)).map(|step| step.node());
        let own = node.is_some_and(|node| {
            guard.consequence.as_deref().is_some_and(|text| text.starts_with(&format!("{node} ")))
        });
        let is_guard = obligation.source == Source::Demand(DemandKind::Guard);
        let is_record = obligation.source == Source::Demand(DemandKind::Contract);
        let Some(sizes) = guard.witness.clone().filter(|_| !(alone && is_record)) else { return };
        let shown = guard.shown.clone();
        let instance = instance(self.assumptions, &base.pool, obligation.condition, &sizes, &shown);
        guard.consequence = Some(match guard.kind {
            ConditionKind::Assertion => format!("the program asserts `{shown}`{instance}"),
            _ if is_guard && shown.len() > MAX_INSTANCE => {
                "the exported module checks this, and refuses it".to_string()
            }
            _ if is_guard => format!("the exported module refuses it: it checks `{shown}`{instance}"),
            // The program runs there.
            _ if own || alone || obligation.source == Source::RecordedSize => return,
            _ if instance.is_empty() => format!("`{shown}` is false"),
            _ => format!("it needs `{shown}`{instance}"),
        });
    }
}

/// A counterexample near the example.
struct Near {
    witness: Witness,
    shapes: Shapes,
    consequence: String,
    works: Option<Shapes>,
    /// Whether no other condition is broken that does not follow.
    alone: bool,
}
