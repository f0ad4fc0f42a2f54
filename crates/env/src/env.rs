//! The shape environment.
use super::computed::Computed;
use super::guard::{Clause, Guard, GuardKind, Origin, Required, RuntimeAssert};
use super::hints::Hints;
use super::lifetime::Pending;
use super::path::Path;
use super::policy::{Artefact, Policies};
use super::replace::Replacements;
use super::symbols::{Names, SymbolInfo};
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};
use sizewise_solve::{self as decide, Facts};

/// The most conditions that are assumed and reasoned with.
pub const MAX_ASSUMED: usize = 10_000;

/// What a call noted of strides, which follow the example without a guard.
#[derive(Clone, Debug, Default)]
pub struct StrideNotes {
    /// The choices, as conditions that hold at the example.
    choices: Vec<Expr>,
    /// Whether it depends on strides of its operands.
    asked: bool,
}

/// Symbols with their hints and ranges, the guards and runtime assertions recorded so far, and the pool of expressions.
#[derive(Clone)]
pub struct ShapeEnv {
    /// The expressions.
    pub pool: Pool,
    /// What is assumed: ranges, assumptions, and the guards recorded so far.
    pub(super) facts: Facts,
    pub(super) symbols: FxHashMap<Symbol, SymbolInfo>,
    pub(super) guards: Vec<Guard>,
    pub(super) asserts: Vec<RuntimeAssert>,
    /// Assertions of the program itself.
    pub(super) stated: Vec<RuntimeAssert>,
    /// What is assumed of sizes without being told.
    pub(super) policies: Policies,
    /// What the policies have made of sizes.
    pub(super) artefacts: Vec<Artefact>,
    /// Conditions that were asked for and that the facts answered, as they hold.
    pub(super) answered: Vec<Expr>,
    /// Assumptions beyond those that are reasoned with.
    pub(super) left_out: Vec<Expr>,
    /// Symbols that sizes with equal hints share.
    pub(super) ducks: Vec<Symbol>,
    pub(super) names: Names,
    pub(super) replacements: Replacements,
    pub(super) pending: Pending,
    /// Whether no more guards may be recorded, and no more runtime assertions.
    pub(super) frozen: (bool, bool),
    /// Guards that operators called for after the environment was frozen.
    pub(super) refused: Vec<Guard>,
    /// Choices of memory layout that followed the hints; see [`ShapeEnv::layout_choice`].
    layout_choices: Vec<(Expr, Origin)>,
    /// Steps whose operators depend on strides of their operands; see [`ShapeEnv::need_strides`].
    strides_needed: Vec<Origin>,
    /// Whether the call at hand depends on strides.
    asked_strides: bool,
    /// The same by condition. They are no facts: what is required later is not settled by them.
    chosen: FxHashMap<Expr, bool>,
    /// Conditions settled or recorded before, with the truth value that the trace goes by.
    pub(super) settled: FxHashMap<Expr, bool>,
    /// Conditions found to be open, with the revision in which they were.
    open: FxHashMap<Expr, u64>,
    /// Results of operations.
    pub(super) computed: Computed,
    hints: Hints,
    pub(super) unbacked: Vec<Symbol>,
    /// How many conditions were assumed, and how many left out, when each of them was made: those on it came later.
    pub(super) made_at: FxHashMap<Symbol, (usize, usize)>,
    /// Equations of sizes that data decides by which the program's records have replaced some, and which no assertion
    /// states so far.
    pub(super) equations: Vec<Expr>,
    /// Whether everything that is assumed of backed symbols holds at the hints.
    pub(super) hints_hold: bool,
    /// Whether guards are recorded without being learned from.
    keeps_asking: bool,
    /// The branch that is being followed.
    pub(super) path: Path,
    pub(super) origin: Origin,
    revision: u64,
    /// The revision since which nothing has become known.
    known_since: u64,
}

impl Default for ShapeEnv {
    fn default() -> ShapeEnv {
        ShapeEnv::new()
    }
}

impl ShapeEnv {
    /// An environment without symbols.
    pub fn new() -> ShapeEnv {
        ShapeEnv::with_policies(Policies::default())
    }

    /// An environment without symbols that makes symbols by these policies.
    pub fn with_policies(policies: Policies) -> ShapeEnv {
        ShapeEnv {
            policies,
            artefacts: Vec::new(),
            answered: Vec::new(),
            left_out: Vec::new(),
            ducks: Vec::new(),
            names: Names::default(),
            replacements: Replacements::default(),
            pending: Pending::default(),
            frozen: (false, false),
            refused: Vec::new(),
            pool: Pool::new(),
            facts: Facts::new(),
            symbols: FxHashMap::default(),
            guards: Vec::new(),
            asserts: Vec::new(),
            stated: Vec::new(),
            layout_choices: Vec::new(),
            strides_needed: Vec::new(),
            asked_strides: false,
            chosen: FxHashMap::default(),
            settled: FxHashMap::default(),
            open: FxHashMap::default(),
            computed: Computed::default(),
            hints: Hints::default(),
            unbacked: Vec::new(),
            made_at: FxHashMap::default(),
            equations: Vec::new(),
            hints_hold: true,
            keeps_asking: false,
            path: Path::default(),
            origin: Origin::default(),
            revision: 0,
            known_since: 0,
        }
    }

    /// A number that is another one whenever something has become known or was recorded: a question asked again in
    /// the same revision has the same answer, and one that has left the revision as it was has recorded nothing.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Ends the revision at hand: something is about to become known.
    pub(super) fn revise(&mut self) {
        self.note();
        self.known_since = self.revision;
    }

    /// Ends the revision at hand: something is recorded from which nothing follows.
    pub(super) fn note(&mut self) {
        self.revision += 1;
    }

    /// Declares a symbol with its range and, if it is backed, its hint.
    pub fn declare(&mut self, name: &str, range: ValueRange, info: SymbolInfo) -> Expr {
        self.revise();
        let e = self.pool.symbol(name);
        if let Some(symbol) = self.pool.as_symbol(e) {
            let range_holds = match &info.hint {
                Some(Value::Int(hint)) => range.contains(hint),
                _ => true,
            };
            self.declared_inside(symbol, &range);
            self.facts.declare(&mut self.pool, symbol, range);
            if let Some(Value::Int(hint)) = &info.hint {
                self.hints_hold &= range_holds;
                self.facts.hint(symbol, hint.clone());
            }
            self.know(symbol, info);
        }
        e
    }

    /// Narrows the range of a declared symbol. Whether a value is left.
    pub fn narrow(&mut self, symbol: Symbol, range: ValueRange) -> bool {
        self.revise();
        let hint = self.symbols.get(&symbol).and_then(|info| info.hint.clone());
        self.hints_hold &= hint.and_then(|hint| hint.as_int()).is_none_or(|hint| range.contains(&hint));
        let left = self.facts.range(symbol).is_none_or(|known| known.meet(&range).is_some());
        self.facts.declare(&mut self.pool, symbol, range);
        left
    }

    /// Declares a double.
    pub fn declare_float(&mut self, name: &str, info: SymbolInfo) -> Expr {
        self.revise();
        let e = self.pool.symbol_of_sort(name, sizewise_expr::Sort::Float);
        if let Some(symbol) = self.pool.as_symbol(e) {
            self.know(symbol, info);
        }
        e
    }

    fn know(&mut self, symbol: Symbol, info: SymbolInfo) {
        let hint = info.hint.clone();
        let before = self.symbols.insert(symbol, info);
        // What was asked about a symbol before it was declared is to be found out anew.
        if before.and_then(|info| info.hint) != hint {
            self.hints.clear();
        }
    }

    /// Whether a symbol is a double.
    pub fn is_float(&mut self, symbol: Symbol) -> bool {
        let e = self.pool.symbol_expr(symbol);
        self.pool.sort(e) == sizewise_expr::Sort::Float
    }

    /// The unbacked symbols made so far, in order.
    pub fn unbacked(&self) -> &[Symbol] {
        &self.unbacked
    }

    /// What is known of a symbol.
    pub fn symbol(&self, symbol: Symbol) -> Option<&SymbolInfo> {
        self.symbols.get(&symbol)
    }

    /// Whether every symbol of the pool has been declared.
    pub fn knows_every_symbol(&self) -> bool {
        self.symbols.len() == self.pool.symbol_count()
    }

    /// Assumes a condition: it is a fact from now on. Of more than ten thousand (`MAX_ASSUMED`) conditions the others
    /// are only kept ([`ShapeEnv::left_out`]): whatever follows without them holds all the same.
    pub fn assume(&mut self, condition: Expr) {
        if self.pool.as_bool(condition) != Some(true) {
            if self.facts.conditions().len() >= MAX_ASSUMED {
                self.left_out.push(condition);
                return;
            }
            self.revise();
            // With unbacked symbols the hints are no assignment of all symbols.
            self.hints_hold = self.hints_hold && self.holds_at_hints(condition);
            self.facts.assume(&mut self.pool, condition);
            self.settled.insert(condition, true);
        }
    }

    /// Assumptions that nothing is derived from, as there are too many. An assignment that falsifies one is not
    /// admitted.
    pub fn left_out(&self) -> &[Expr] {
        &self.left_out
    }

    /// From now on guards are recorded, but nothing is learned from them: every step that needs a condition records
    /// it, not only the first.
    pub fn keep_asking(&mut self) {
        self.keeps_asking = true;
        self.revise();
    }

    /// The facts so far: ranges, assumptions and recorded guards.
    pub fn facts(&mut self) -> (&mut Pool, &mut Facts) {
        self.revise();
        (&mut self.pool, &mut self.facts)
    }

    /// The facts so far, to be looked at.
    pub fn known_facts(&self) -> &Facts {
        &self.facts
    }

    /// Says which step of the program what follows stems from.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// The guards recorded so far.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The runtime assertions recorded so far.
    pub fn runtime_asserts(&self) -> &[RuntimeAssert] {
        &self.asserts
    }

    /// The assertions that the program itself makes, whether or not they follow from something.
    pub fn stated(&self) -> &[RuntimeAssert] {
        &self.stated
    }

    /// The layout choices made by hint so far.
    pub fn layout_choices(&self) -> &[(Expr, Origin)] {
        &self.layout_choices
    }

    /// The least and the greatest value that an expression can have by the facts, where bounded.
    pub fn bounds(&mut self, e: Expr) -> (Option<Int>, Option<Int>) {
        let range = self.facts.domain(&mut self.pool, e).range;
        (range.lower(), range.upper())
    }

    /// A value that an expression does not exceed: of a symbol that was declared with an upper bound, that one.
    pub fn declared_upper_bound(&mut self, e: Expr) -> Option<Int> {
        let declared = self.pool.as_symbol(e).and_then(|symbol| self.facts.range(symbol)?.upper());
        declared.or_else(|| self.upper_bound(e))
    }

    /// The greatest value that an expression can have by the facts, if it is bounded.
    pub fn upper_bound(&mut self, e: Expr) -> Option<Int> {
        self.facts.domain(&mut self.pool, e).range.upper()
    }

    /// The value of an expression at the hints; none if it involves an unbacked symbol or is undefined there.
    pub fn hint(&mut self, e: Expr) -> Option<Value> {
        self.hints.value(&self.pool, &self.symbols, e)
    }

    /// Whether a condition holds at the hints, to be asked once.
    fn holds_at_hints(&self, condition: Expr) -> bool {
        let value = |s: Symbol| self.symbols.get(&s).and_then(|info| info.hint.clone());
        self.pool.eval(condition, value).is_ok_and(|value| value.as_bool())
    }

    /// The integer value of an expression at the hints.
    pub fn hint_int(&mut self, e: Expr) -> Option<Int> {
        self.hint(e)?.as_int()
    }

    /// Whether the facts settle a condition, by means that cost microseconds.
    pub fn statically(&mut self, condition: Expr) -> Option<bool> {
        if let Some(value) = self.pool.as_bool(condition) {
            return Some(value);
        }
        if let Some(&value) = self.settled.get(&condition) {
            return Some(value);
        }
        if self.open.get(&condition).is_some_and(|&revision| revision >= self.known_since) {
            return None;
        }
        let ShapeEnv { pool, facts, symbols, hints, .. } = self;
        let hints = Some(hints).filter(|_| self.hints_hold);
        let possible = |pool: &Pool| Some(hints?.value(pool, symbols, condition)?.as_bool());
        let settled = decide::quickly_knowing(pool, facts, condition, possible);
        match settled {
            Some(value) => self.settled.insert(condition, value).is_some(),
            None => self.open.insert(condition, self.revision).is_some(),
        };
        settled
    }

    /// Requires a condition of the operator at hand.
    pub fn require(&mut self, condition: Expr, clause: impl Into<Clause>) -> Required {
        let clause = clause.into();
        if clause.is_stated() {
            self.state(condition, clause);
            if self.pool.as_bool(condition) == Some(true) {
                self.state_equations(clause);
            }
        }
        if self.pool.as_bool(condition) == Some(false) {
            return Required::Refuted;
        }
        let settled = self.statically(condition);
        if settled == Some(true) {
            return Required::Proved;
        }
        match self.hint(condition) {
            Some(value) if value.as_bool() || !self.follows_example() => {
                self.record_guard(condition, GuardKind::Precondition, clause);
                Required::Guarded
            }
            Some(_) => Required::Refuted,
            None if settled == Some(false) => Required::Refuted,
            None => {
                self.record_assert(condition, clause);
                Required::Asserted
            }
        }
    }

    /// The truth value of a condition that decides which way an operator goes: by the facts, else by the hints, which
    /// records a guard. `None` when it depends on unbacked symbols and is open.
    pub fn branch(&mut self, condition: Expr, clause: impl Into<Clause>) -> Option<bool> {
        if let Some(value) = self.statically(condition) {
            return Some(value);
        }
        let value = self.hint(condition)?.as_bool();
        let held = if value { condition } else { self.pool.not(condition) };
        self.record_guard(held, GuardKind::Branch, clause.into());
        Some(value)
    }

    /// As [`ShapeEnv::branch`] for a choice that changes only the strides of a result: by the facts, else by the
    /// hints without a guard (the choice is noted), else `false`.
    pub fn layout_choice(&mut self, condition: Expr) -> bool {
        if let Some(value) = self.statically(condition) {
            return value;
        }
        let value = match self.chosen.get(&condition) {
            Some(&value) => value,
            None => self.hint(condition).is_some_and(|v| v.as_bool()),
        };
        self.chosen.insert(condition, value);
        let held = if value { condition } else { self.pool.not(condition) };
        // Every step that goes by the choice is noted: each has a result of its own.
        let mut of_this_step =
            self.layout_choices.iter().rev().take_while(|(_, origin)| *origin == self.origin);
        if !of_this_step.any(|(noted, _)| *noted == held) {
            self.layout_choices.push((held, self.origin));
        }
        value
    }

    /// Notes that what the operator at hand does depends on strides of its operands, if strides so far may be other
    /// ones elsewhere.
    pub fn need_strides(&mut self) {
        self.asked_strides = true;
        if !self.layout_choices.is_empty() {
            self.strides_needed.push(self.origin);
        }
    }

    /// Begins a call: what [`ShapeEnv::notes_since`] needs to know.
    pub fn begin_notes(&mut self) -> usize {
        self.asked_strides = false;
        self.layout_choices.len()
    }

    /// What was noted of strides since [`ShapeEnv::begin_notes`].
    pub fn notes_since(&self, begun: usize) -> StrideNotes {
        let choices = self.layout_choices.get(begun..).unwrap_or_default();
        StrideNotes { choices: choices.iter().map(|(held, _)| *held).collect(), asked: self.asked_strides }
    }

    /// Notes of the step at hand what was noted of another one that made the same call.
    pub fn repeat_notes(&mut self, notes: &StrideNotes) {
        self.layout_choices.extend(notes.choices.iter().map(|&held| (held, self.origin)));
        if notes.asked {
            self.need_strides();
        }
    }

    /// The steps that depend on strides of their operands, after the first choice of strides.
    pub fn strides_needed(&self) -> &[Origin] {
        &self.strides_needed
    }

    pub(super) fn record_guard(&mut self, condition: Expr, kind: GuardKind, clause: Clause) {
        self.revise();
        let needed = self.on_path(condition);
        let guard = Guard { condition: needed, kind, origin: self.origin, clause };
        if self.frozen.0 {
            self.refused.push(guard);
            return;
        }
        self.guards.push(guard);
        if self.keeps_asking {
            return;
        }
        self.assume(condition);
        let negated = self.pool.not(condition);
        self.settled.insert(negated, false);
    }
}
