//! Facts: ranges of symbols, assumptions, and divisors that are not zero.
use super::bits;
use super::components::{Components, default_value};
use super::division;
use super::exact_floats::{exact, has_floats};
use super::example::Example;
use super::judge::Required;
use super::models::Models;
use super::program::{is_beyond_code, to_i128};
use super::search::conjuncts;
use super::store::{Store, StoreView};
use super::verdict::{Budget, FactId, Premise, Witness};
use super::work::Work;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use sizewise_expr::range::{Domain, DomainTable, ValueRange};
use sizewise_expr::{Expr, Func, Int, Pool, Sort, Symbol, Value};

/// More facts than this are divided into independent components.
const MAX_TOGETHER: usize = 12;

/// Whether some assignment satisfies the facts.
#[derive(Clone, Debug, Default)]
pub(super) enum Consistency {
    /// Not asked yet, or not since the last change.
    #[default]
    Open,
    /// Some assignment does, and it has been replayed.
    Consistent,
    /// None does.
    Inconsistent(Vec<Premise>),
    /// Neither was found.
    Unsettled,
}

/// Ranges of symbols, assumptions and divisors that are not zero.
///
/// Assumptions may be added at any time. Results about them (satisfying assignments, tightened ranges) are
/// cached, so asking many questions of the same facts is cheap.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    ranges: IndexMap<Symbol, ValueRange, FxBuildHasher>,
    given: Vec<Expr>,
    required: Required,
    /// The symbols that occur in assumptions.
    assumed_of: FxHashSet<Symbol>,
    pub(super) models: Models,
    /// An assignment that satisfied the facts when it was found, where compiled code cannot keep it.
    kept: Option<Witness>,
    pub(super) consistency: Consistency,
    pub(super) store: Store,
    pub(super) hints: IndexMap<Symbol, Int, FxBuildHasher>,
    pub(super) example: Example,
    pub(super) components: Components<Facts>,
    /// Whether the facts are never divided into components, however many they are.
    whole: bool,
    /// Whether compiled code cannot compute a fact or a question, so that few facts are divided, too.
    beyond_code: bool,
    /// Whether the last question is better answered part by part, however few the facts are.
    in_parts: bool,
    /// Whether quotients and remainders of one division are put together in what is reasoned with.
    pub(super) merges_divisions: bool,
    /// What questions have taken, but for what the models count.
    pub(super) work: Work,
}

impl Facts {
    /// No facts.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// No facts, to be asked for verdicts alone ([`super::settle`]). Conditions are reasoned with in a form in which
    /// more follow at once: `s - s % 4` is `4*(s // 4)`. Proofs are about that form, and premises are fewer.
    pub fn for_verdicts() -> Facts {
        Facts { merges_divisions: true, ..Facts::default() }
    }

    /// Declares a symbol with its range. A second declaration intersects the ranges. If the result is empty,
    /// the facts are inconsistent.
    pub fn declare(&mut self, pool: &mut Pool, symbol: Symbol, range: ValueRange) {
        let e = pool.symbol_expr(symbol);
        let known = self.ranges.entry(symbol).or_insert_with(ValueRange::all);
        match known.meet(&range) {
            Some(met) => *known = met,
            None => self.store.contradict(),
        }
        self.components.record_declaration(symbol);
        if pool.sort(e) == Sort::Int {
            self.store.declare(pool, e, known.clone().into());
        }
        let known = known.clone();
        if !self.is_divided() {
            self.models.declare(symbol, &known);
        }
        self.example.declared(symbol, &known);
        self.changed();
    }

    /// Assumes a condition and returns its number.
    pub fn assume(&mut self, pool: &mut Pool, condition: Expr) -> FactId {
        let id = FactId(self.given.len() as u32);
        let condition = pool.truth(condition);
        self.given.push(condition);
        self.declare_free(pool, condition);
        let symbols = pool.free_symbols(&[condition]);
        // What always holds is no fact about anything.
        if !self.whole && pool.as_bool(condition) != Some(true) {
            self.components.record_assumption(id, &symbols);
        }
        self.assumed_of.extend(symbols.iter().copied());
        if pool.as_bool(condition) == Some(false) {
            self.store.contradict();
        }
        let mut parts = Vec::new();
        let simpler = self.simpler(pool, condition);
        if simpler != condition {
            self.keep_divisors(pool, condition, simpler);
        }
        self.beyond_code |= is_beyond_code(pool, &[simpler]);
        conjuncts(pool, simpler, &mut parts);
        for part in parts {
            if !self.is_divided() {
                self.models.require(pool, part);
            }
            self.store.assume(part, id);
        }
        self.changed();
        id
    }

    /// A condition in the form that is reasoned with. Bitwise operations are replaced by arithmetic, and arithmetic of
    /// doubles by that of integers, where the facts show both to be the same; see also [`Facts::for_verdicts`].
    pub(super) fn simpler(&mut self, pool: &mut Pool, condition: Expr) -> Expr {
        let plain = if pool.has_bits() { bits::arithmetic(pool, condition) } else { condition };
        let in_integers = match has_floats(pool, plain) {
            true => exact(pool, self.store.table(pool), plain),
            false => plain,
        };
        if self.merges_divisions { division::folded(pool, in_integers) } else { in_integers }
    }

    /// Assumes that the divisors of a condition are not zero that its simpler form does without.
    fn keep_divisors(&mut self, pool: &mut Pool, condition: Expr, simpler: Expr) {
        let kept = symbolic_divisors(pool, &[simpler]);
        for divisor in symbolic_divisors(pool, &[condition]) {
            if !kept.contains(&divisor) {
                if !self.is_divided() {
                    self.models.exclude_zero(pool, divisor);
                }
                self.store.exclude_zero(pool, divisor);
            }
        }
    }

    /// Assumes that a divisor is not zero. Divisors that occur in assumptions and goals need no mention.
    /// Those that construction has cancelled do.
    pub fn exclude_zero(&mut self, pool: &mut Pool, divisor: Expr) {
        if pool.as_int(divisor).is_none_or(|d| d.is_zero()) && !self.required.nonzero.contains(&divisor) {
            self.required.nonzero.push(divisor);
            self.declare_free(pool, divisor);
            let symbols = pool.free_symbols(&[divisor]);
            if !self.whole {
                self.components.record_divisor(divisor, &symbols);
            }
            self.assumed_of.extend(symbols.iter().copied());
            if !self.is_divided() {
                self.models.exclude_zero(pool, divisor);
            }
            self.store.exclude_zero(pool, divisor);
            self.changed();
        }
    }

    /// Assumes that an operation has a value: one that is part of no assumption because construction has dropped it.
    pub fn require_value(&mut self, pool: &mut Pool, e: Expr) {
        if self.required.defined.contains(&e) {
            return;
        }
        self.required.defined.push(e);
        self.declare_free(pool, e);
        let symbols = pool.free_symbols(&[e]);
        if !self.whole {
            self.components.record_operation(e, &symbols);
        }
        self.assumed_of.extend(symbols);
        if !self.is_divided() {
            self.models.clear();
        }
        self.changed();
    }

    /// Requirements other than the assumptions.
    pub(super) fn required(&self) -> &Required {
        &self.required
    }

    /// What the ranges and assumptions say about the values of `e`, by interval and congruence reasoning.
    pub fn domain(&mut self, pool: &mut Pool, e: Expr) -> Domain {
        self.store.table(pool).domain(pool, e)
    }

    /// What the store holds: classes of equal expressions with their values, what holds, and why.
    pub fn view(&mut self, pool: &mut Pool) -> StoreView {
        self.store.view(pool)
    }

    /// Reasons without the classes of the store and without earlier answers, to see what these are worth.
    pub fn use_ranges_only(&mut self) {
        self.store.use_ranges_only();
    }

    /// Leaves classes out if a budget does.
    pub(super) fn go_by(&mut self, budget: &Budget) {
        if !budget.classes {
            self.use_ranges_only();
        }
    }

    /// What deciding has taken so far.
    pub fn work(&self) -> Work {
        let mut work = self.work;
        work.variations += self.models.variations();
        work
    }

    /// Counts what a copy of these facts took.
    pub(super) fn add_work(&mut self, work: Work) {
        self.work += work;
    }

    /// Whether an assumption mentions a symbol.
    pub fn mentions(&self, symbol: Symbol) -> bool {
        self.assumed_of.contains(&symbol)
    }

    /// The table of domains, with everything that the assumptions say about each other.
    pub(super) fn table(&mut self, pool: &Pool) -> &mut DomainTable {
        self.store.table(pool)
    }

    /// Whether ranges and congruences alone show that the facts contradict each other.
    pub(super) fn is_empty(&mut self, pool: &Pool) -> bool {
        // Many facts are looked at by components, before a question is.
        if self.are_few() { self.store.is_empty(pool) } else { self.store.is_known_empty() }
    }

    /// Records a value of a symbol that is known to occur, such as the size in the example input: where to look first.
    pub fn hint(&mut self, symbol: Symbol, value: Int) {
        self.hints.insert(symbol, value.clone());
        self.example.set(symbol, Value::Int(value.clone()), self.ranges.get(&symbol));
        if let Some(value) = to_i128(&value) {
            self.models.hint(symbol, value);
        }
    }

    /// Records the value of a double in the example input.
    pub fn hint_float(&mut self, symbol: Symbol, value: f64) {
        self.example.set(symbol, Value::Float(value), None);
    }

    /// What a condition is at the hints; `None` where a symbol has no hint, or it has no value.
    pub fn at_hints(&self, pool: &Pool, condition: Expr) -> Option<bool> {
        self.example.truth(pool, condition)
    }

    /// Whether the hints are an assignment that the facts allow.
    pub(super) fn hold_at_hints(&mut self, pool: &Pool) -> bool {
        self.example.satisfies(pool, &self.given, &self.required)
    }

    /// Makes the hints, which satisfy the facts, the assignment from which others are varied, where none is known.
    pub(super) fn remember_hints(&mut self) {
        if self.models.is_empty() {
            let hints = self.at_hints_or_ends();
            self.models.remember(&hints);
        }
    }

    /// Whether there are hints.
    pub(super) fn has_hints(&self) -> bool {
        !self.hints.is_empty()
    }

    /// Each symbol at its hint or, without one, at an end of its range.
    pub(super) fn at_hints_or_ends(&self) -> Witness {
        self.assignment(|symbol| self.hints.get(&symbol).cloned())
    }

    /// An assignment of all symbols: those without a `value` are at an end of their ranges.
    pub(super) fn assignment(&self, value: impl Fn(Symbol) -> Option<Int>) -> Witness {
        let value =
            |(&s, range): (&Symbol, &ValueRange)| (s, value(s).unwrap_or_else(|| default_value(range)));
        self.ranges.iter().map(value).collect()
    }

    /// Keeps an assignment that satisfies the facts.
    pub(super) fn remember(&mut self, model: Witness) {
        self.models.remember(&model);
        self.kept = self.models.is_empty().then_some(model);
    }

    /// An assignment that satisfied the facts when it was found. What was assumed since may exclude it.
    pub(super) fn model(&self) -> Option<Witness> {
        let kept = || {
            let values: FxHashMap<Symbol, &Int> = self.kept.as_ref()?.iter().map(|(s, v)| (*s, v)).collect();
            Some(self.assignment(|symbol| values.get(&symbol).copied().cloned()))
        };
        self.models.first().or_else(kept)
    }

    /// Forgets the assignments that satisfied the facts.
    pub(super) fn forget_models(&mut self) {
        self.models.clear();
        self.kept = None;
    }

    /// Divides even few facts into components, if compiled code cannot compute a question; a single one too, where the
    /// question has parts, or is about other symbols.
    pub(super) fn divide_for(&mut self, pool: &Pool, goal: Expr) {
        self.in_parts = false;
        if self.whole || self.is_divided() {
            return;
        }
        let is_beyond = |facts: &Facts| facts.beyond_code || is_beyond_code(pool, &[goal]);
        if self.given.len() > 1 {
            self.beyond_code = is_beyond(self);
        } else if pool.as_func(goal, Func::And).is_some()
            || self.given.len() == 1 && pool.free_symbols(&[goal]).iter().any(|s| !self.mentions(*s))
        {
            self.in_parts = is_beyond(self);
        }
    }

    /// No facts yet, for some of these. They are not divided into components, however many are added.
    pub(super) fn whole(&self) -> Facts {
        Facts { whole: true, merges_divisions: self.merges_divisions, ..Facts::default() }
    }

    /// No facts yet, to be reasoned with and asked in the same way as these.
    pub(super) fn without_facts(&self) -> Facts {
        Facts {
            whole: self.whole,
            merges_divisions: self.merges_divisions,
            work: self.work,
            ..Facts::default()
        }
    }

    /// Whether the facts are so few that they can be looked at together.
    pub(super) fn are_few(&self) -> bool {
        self.whole || self.given.len() <= MAX_TOGETHER
    }

    /// Whether the facts are so many that a question uses only the components that it concerns.
    pub(super) fn is_divided(&self) -> bool {
        !self.are_few() || !self.whole && (self.in_parts || self.beyond_code && self.given.len() > 1)
    }

    /// Whether the facts are never divided into components, and do not know these.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether facts about doubles stand beside others, which are better looked at without them.
    pub(super) fn is_mixed(&self, pool: &Pool) -> bool {
        !self.whole && pool.has_floats()
    }

    /// The declared range of a symbol.
    pub fn range(&self, symbol: Symbol) -> Option<&ValueRange> {
        self.ranges.get(&symbol)
    }

    /// The assumptions, in the order of their numbers.
    pub fn conditions(&self) -> &[Expr] {
        &self.given
    }

    /// The declared symbols with their inclusive bounds.
    pub fn ranges(&self) -> impl Iterator<Item = (Symbol, Option<&Int>, Option<&Int>)> {
        self.ranges.iter().map(|(s, r)| (*s, r.lo.finite(), r.hi.finite()))
    }

    /// The divisors that are excluded from being zero, other than those in assumptions.
    pub fn nonzero(&self) -> &[Expr] {
        &self.required.nonzero
    }

    /// The conjuncts of all assumptions with the assumption each comes from.
    pub(super) fn parts(&self) -> &[(Expr, FactId)] {
        self.store.parts()
    }

    /// The bounds of the declared ranges as conditions.
    pub(super) fn range_conditions(&self, pool: &mut Pool) -> Vec<Expr> {
        let mut out = Vec::with_capacity(2 * self.ranges.len());
        for (symbol, low, high) in self.ranges() {
            let e = pool.symbol_expr(symbol);
            if let Some(low) = low {
                let low = pool.int(low.clone());
                out.push(pool.le(low, e));
            }
            if let Some(high) = high {
                let high = pool.int(high.clone());
                out.push(pool.le(e, high));
            }
        }
        out
    }

    /// One bound of a symbol's declared range as a condition.
    pub(super) fn bound(&self, pool: &mut Pool, symbol: Symbol, upper: bool) -> Option<Expr> {
        let range = self.ranges.get(&symbol)?;
        let end = if upper { range.hi.finite() } else { range.lo.finite() }?.clone();
        let (e, end) = (pool.symbol_expr(symbol), pool.int(end));
        Some(if upper { pool.le(e, end) } else { pool.le(end, e) })
    }

    /// Divisors that are not zero: those excluded, those of the assumptions, and those of `e`.
    pub(super) fn divisors(&self, pool: &Pool, e: Option<Expr>) -> Vec<Expr> {
        let mut roots = self.given.clone();
        roots.extend(e);
        let mut nonzero = symbolic_divisors(pool, &roots);
        nonzero.extend_from_slice(&self.required.nonzero);
        nonzero.extend(symbolic_divisors(pool, &self.required.nonzero));
        nonzero.sort_unstable();
        nonzero.dedup();
        nonzero
    }

    /// A copy of the facts in which divisors of a question's expression are not zero, which is no fact for later; `None`
    /// if that is known, or there are none.
    pub(super) fn for_divisors_of(&mut self, pool: &mut Pool, e: Expr) -> Option<Facts> {
        for divisor in self.divisors(pool, None) {
            self.exclude_zero(pool, divisor);
        }
        let mut divisors = self.divisors(pool, Some(e));
        divisors.retain(|divisor| !self.required.nonzero.contains(divisor));
        if divisors.is_empty() {
            return None;
        }
        let mut own = self.clone();
        for divisor in divisors {
            own.exclude_zero(pool, divisor);
        }
        Some(own)
    }

    /// Everything that was assumed, as premises.
    pub(super) fn all_premises(&self, pool: &Pool) -> Vec<Premise> {
        let nonzero = self.divisors(pool, None).into_iter().map(Premise::Nonzero);
        let facts = (0..self.given.len()).map(|i| Premise::Fact(FactId(i as u32)));
        let lower =
            self.ranges.iter().filter(|(_, r)| r.lo.finite().is_some()).map(|(s, _)| Premise::Lower(*s));
        let upper =
            self.ranges.iter().filter(|(_, r)| r.hi.finite().is_some()).map(|(s, _)| Premise::Upper(*s));
        facts.chain(lower).chain(upper).chain(nonzero).collect()
    }

    /// Symbols that were never declared are unbounded.
    pub(super) fn declare_free(&mut self, pool: &Pool, e: Expr) {
        for symbol in pool.free_symbols(&[e]) {
            if !self.ranges.contains_key(&symbol) {
                self.ranges.insert(symbol, ValueRange::all());
                self.components.record_declaration(symbol);
                if !self.is_divided() {
                    self.models.declare(symbol, &ValueRange::all());
                }
            }
        }
    }

    fn changed(&mut self) {
        // A contradiction stays one.
        if !matches!(self.consistency, Consistency::Inconsistent(_)) {
            self.consistency = Consistency::Open;
        }
    }
}

/// The divisors in `roots` that are no nonzero constants, oldest first.
pub(super) fn symbolic_divisors(pool: &Pool, roots: &[Expr]) -> Vec<Expr> {
    let mut divisors: Vec<Expr> = Vec::new();
    for part in pool.reachable(roots) {
        if let Some((Func::FloorDiv | Func::Mod, args)) = pool.as_call(part)
            && pool.as_int(args[1]).is_none_or(|d| d.is_zero())
        {
            divisors.push(args[1]);
        }
    }
    divisors.sort_unstable();
    divisors.dedup();
    divisors
}
