//! Data-dependent sizes: is there, for every allowed input shape, some data that satisfies all conditions?
use super::examine::Examination;
use super::obligation::{Obligation, Source};
use super::prove::Proof;
use crate::propagate::Run;
use crate::report::GuardVerdict;
use crate::spec::{Assumptions, Language};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::{RuntimeAssert, ShapeEnv};
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_solve::{Budget, Feasibility, Rung, Verdict, Witness, decide, feasible, simplify};

/// The most conditions on input sizes that are derived from one component.
const MAX_NEEDED: usize = 4;

/// Bounds of at least this magnitude only say that a number has 64 bits.
const WIDTH: i64 = i64::MAX - 1;

/// Components with more sizes than this are left undecided.
const MAX_SYMBOLS: usize = 64;
/// Components with more conditions than this are left undecided.
const MAX_CONDITIONS: usize = 400;

/// Data-dependent sizes, and what is required of them together.
#[derive(Default)]
struct Group {
    symbols: Vec<Symbol>,
    conditions: Vec<Expr>,
    /// For each condition its runtime assertion; `None` for what the operators that make the sizes guarantee.
    asserts: Vec<Option<RuntimeAssert>>,
}

impl Group {
    /// Adds the ranges that operators give the sizes, except bounds that only say that a number has 64 bits:
    /// overflow is checked elsewhere.
    fn add_ranges(&mut self, run: &Run, base: &mut ShapeEnv) {
        for &symbol in &self.symbols {
            let Some(range) = run.env.known_facts().range(symbol).cloned() else { continue };
            let e = base.pool.symbol_expr(symbol);
            let narrow = |bound: &Int| bound.abs() < Int::from(WIDTH);
            if let Some(lower) = range.lower().filter(narrow) {
                let lower = base.pool.int(lower);
                self.conditions.push(base.pool.ge(e, lower));
            }
            if let Some(upper) = range.upper().filter(narrow) {
                let upper = base.pool.int(upper);
                self.conditions.push(base.pool.le(e, upper));
            }
        }
        self.asserts.resize(self.conditions.len(), None);
    }

    /// Whether the program states all that is required.
    fn is_stated(&self) -> bool {
        self.asserts.iter().flatten().all(|assert| assert.clause.is_stated())
    }

    /// The conditions that hold on every path through the program. Data decides whether the others are evaluated.
    fn certain(&self) -> Group {
        let certain = |assert: &Option<RuntimeAssert>| assert.as_ref().is_none_or(|a| a.certain);
        let kept = self.conditions.iter().zip(&self.asserts).filter(|(_, assert)| certain(assert));
        let (conditions, asserts) = kept.map(|(&c, a)| (c, a.clone())).unzip();
        Group { symbols: self.symbols.clone(), conditions, asserts }
    }

    /// The first assertion that no data passes at an assignment of the sizes, whatever the other assertions say.
    fn culprit(&self, base: &ShapeEnv, none_passes: &Witness) -> Option<RuntimeAssert> {
        let mut there = base.clone();
        for (symbol, value) in none_passes.iter().filter(|(symbol, _)| base.symbol(*symbol).is_some()) {
            let (size, value) = (there.pool.symbol_expr(*symbol), there.pool.int(value.clone()));
            let same = there.pool.eq(size, value);
            there.assume(same);
        }
        let all = || self.conditions.iter().zip(&self.asserts);
        let fails = |(condition, _): &(&Expr, &RuntimeAssert)| {
            let made = all().filter(|(_, assert)| assert.is_none()).map(|(&other, _)| other);
            let conditions: Vec<Expr> = made.chain([**condition]).collect();
            let mut there = there.clone();
            let (pool, facts) = there.facts();
            let found = feasible(pool, facts, &self.symbols, &conditions, &Budget::small());
            matches!(found, Feasibility::Never { .. })
        };
        let mut asserted = all().filter_map(|(condition, assert)| Some((condition, assert.as_ref()?)));
        asserted.find(fails).map(|(_, assert)| assert.clone())
    }

    /// A condition on input sizes that holds wherever some data passes, and is false at an assignment where none does:
    /// `candidate`, if it is proved to be needed, else that the sizes are not those of the assignment. Data may pass where
    /// a candidate is false: `h*w == n` of a search for factors is no `n % 2 == 0`.
    fn necessary(&self, base: &ShapeEnv, candidate: Expr, none_passes: &Witness, budget: &Budget) -> Expr {
        let mut passing = base.clone();
        self.conditions.iter().for_each(|&condition| passing.assume(condition));
        let (pool, facts) = passing.facts();
        let verdict = decide(pool, facts, candidate, budget).verdict;
        if matches!(verdict, Verdict::Implied { .. } | Verdict::Inconsistent { .. }) {
            return candidate;
        }
        let sizes = pool.free_symbols(&self.conditions);
        let others =
            none_passes.iter().filter(|(symbol, _)| sizes.contains(symbol)).map(|(symbol, value)| {
                let (size, value) = (pool.symbol_expr(*symbol), pool.int(value.clone()));
                pool.ne(size, value)
            });
        let others: Vec<Expr> = others.collect();
        pool.or(&others)
    }
}

impl Examination<'_, '_> {
    /// Decides whether, for every allowed input shape, some data satisfies the conditions on data-dependent sizes.
    pub fn run_time(&mut self, run: &mut Run, base: &mut ShapeEnv) {
        let is_contract = !self.has_spec && self.evaluator.contract().language() == Language::Shapes;
        for mut group in groups(run, base) {
            // Without guards the assertions are the contract: sizes at which they always fail are refused by it.
            if is_contract && group.is_stated() {
                continue;
            }
            group.add_ranges(run, base);
            let assert = group.asserts.iter().flatten().last().cloned();
            let Some(assert) = assert else { continue };
            if group.symbols.len() > MAX_SYMBOLS || group.conditions.len() > MAX_CONDITIONS {
                let reason = format!("{} data-dependent sizes depend on each other", group.symbols.len());
                self.undecided_data(run, base, &assert, reason);
                continue;
            }
            let mut found = self.feasible(base, &group);
            let certain = group.certain();
            if found != Feasibility::Always && certain.conditions.len() < group.conditions.len() {
                found = match self.feasible(base, &certain) {
                    never @ Feasibility::Never { .. } => never,
                    _ => Feasibility::Open("data decides which of the assertions are reached".to_string()),
                };
            }
            match found {
                Feasibility::Always => {}
                Feasibility::Open(reason) => self.undecided_data(run, base, &assert, reason),
                Feasibility::Never { witness, condition, of } => {
                    let group =
                        if certain.conditions.len() < group.conditions.len() { certain } else { group };
                    let own = group.asserts.get(of).cloned().flatten();
                    let assert = own.or_else(|| group.culprit(base, &witness)).unwrap_or(assert);
                    let (pool, facts) = base.facts();
                    // It is a combination of the terms that were tried: simplify it before it is shown.
                    let tried = simplify(pool, &mut facts.clone(), condition, &Budget::small());
                    let condition = group.necessary(base, tried, &witness, &self.prover().budget);
                    let source = if condition == tried { Source::SomeData } else { Source::NoDataThere };
                    // What is more than needed may still be what a spec can say.
                    self.sufficient.push((condition, tried));
                    let obligation = Obligation { source, ..obligation(condition, &assert) };
                    let proof = self.prover().refuted(&obligation, witness, Rung::Search.name());
                    self.write(run, base, &obligation, proof);
                }
            }
        }
    }

    fn feasible(&self, base: &mut ShapeEnv, group: &Group) -> Feasibility {
        let (pool, facts) = base.facts();
        let budget = self.prover().budget;
        let cheap = feasible(pool, facts, &group.symbols, &group.conditions, &Budget::small());
        match cheap {
            Feasibility::Open(_) => feasible(pool, facts, &group.symbols, &group.conditions, &budget),
            decided => decided,
        }
    }

    fn undecided_data(&mut self, run: &Run, base: &ShapeEnv, assert: &RuntimeAssert, reason: String) {
        let obligation = obligation(assert.condition, assert);
        let mut proof = Proof::new(GuardVerdict::Unknown, Rung::Search.name());
        proof.reason = Some(format!("whether some data can pass: {reason}"));
        self.write(run, base, &obligation, proof);
    }
}

/// Conditions on input sizes without which no data can satisfy the program, besides those already known.
pub(super) fn needed(assumptions: &Assumptions, run: &mut Run, known: &[Expr]) -> Vec<Expr> {
    let mut base = assumptions.env.clone();
    known.iter().for_each(|&condition| base.assume(condition));
    let mut needed = Vec::new();
    for mut group in groups(run, &base) {
        group.add_ranges(run, &mut base);
        let group = group.certain();
        for _ in 0..MAX_NEEDED {
            let (pool, facts) = base.facts();
            let found = feasible(pool, facts, &group.symbols, &group.conditions, &Budget::small());
            let Feasibility::Never { condition, witness, .. } = found else { break };
            let condition = group.necessary(&base, condition, &witness, &Budget::small());
            needed.push(condition);
            base.assume(condition);
        }
    }
    needed
}

fn obligation(condition: Expr, assert: &RuntimeAssert) -> Obligation {
    Obligation { condition, source: Source::SomeData, origin: Some(assert.origin) }
}

/// Independent components of the data-dependent sizes about which something is asserted. Sizes of `base` are
/// not among them.
fn groups(run: &Run, base: &ShapeEnv) -> Vec<Group> {
    if run.asserts.is_empty() {
        return Vec::new();
    }
    let pool = &base.pool;
    let unbacked = |e: Expr| -> Vec<Symbol> {
        pool.free_symbols(&[e]).into_iter().filter(|&s| base.symbol(s).is_none()).collect()
    };
    let mut conditions: Vec<(Expr, Option<RuntimeAssert>, Vec<Symbol>)> = Vec::new();
    let mut seen: FxHashSet<Expr> = FxHashSet::default();
    for assert in &run.asserts {
        if seen.insert(assert.condition) {
            conditions.push((assert.condition, Some(assert.clone()), unbacked(assert.condition)));
        }
    }
    for &condition in run.env.known_facts().conditions().iter().chain(run.env.left_out()) {
        let symbols = unbacked(condition);
        if !symbols.is_empty() && seen.insert(condition) {
            conditions.push((condition, None, symbols));
        }
    }
    let mut classes = Classes::default();
    conditions.iter().for_each(|(.., symbols)| classes.join(symbols));
    let mut groups: indexmap::IndexMap<Option<Symbol>, Group> = indexmap::IndexMap::new();
    for (condition, assert, symbols) in conditions {
        let group = groups.entry(symbols.first().map(|&s| classes.root(s))).or_default();
        for symbol in symbols {
            if !group.symbols.contains(&symbol) {
                group.symbols.push(symbol);
            }
        }
        group.conditions.push(condition);
        group.asserts.push(assert);
    }
    let mut groups: Vec<Group> =
        groups.into_values().filter(|group| group.asserts.iter().any(Option::is_some)).collect();
    for group in &mut groups {
        group.symbols.sort_unstable();
    }
    groups
}

/// Symbols that conditions connect.
#[derive(Default)]
struct Classes(FxHashMap<Symbol, Symbol>);

impl Classes {
    fn root(&self, symbol: Symbol) -> Symbol {
        let mut root = symbol;
        while let Some(&next) = self.0.get(&root) {
            root = next;
        }
        root
    }

    fn join(&mut self, symbols: &[Symbol]) {
        for pair in symbols.windows(2) {
            let (a, b) = (self.root(pair[0]), self.root(pair[1]));
            if a != b {
                self.0.insert(a, b);
            }
        }
    }
}
