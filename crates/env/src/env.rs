//! The shape environment.
use super::parts::{Answers, Computed, Path, Records, Replacements, Strides, Symbols};
use super::policy::Policies;
use super::symbols::SymbolInfo;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};
use sizewise_solve::Facts;

/// The most conditions that are assumed and reasoned with.
pub const MAX_ASSUMED: usize = 10_000;

/// Symbols with their hints and ranges, the guards and runtime assertions recorded so far, and the pool of expressions.
///
/// A clone has facts of its own and the same pool, so that expressions of either mean the same in both.
#[derive(Clone)]
pub struct ShapeEnv {
    /// The expressions.
    pub pool: Pool,
    /// What is assumed: ranges, assumptions, and the guards recorded so far.
    pub(super) facts: Facts,
    pub(super) symbols: Symbols,
    pub(super) records: Records,
    pub(super) answers: Answers,
    pub(super) strides: Strides,
    /// What is assumed of sizes without being told.
    pub(super) policies: Policies,
    pub(super) replacements: Replacements,
    pub(super) computed: Computed,
    /// The branch that is being followed.
    pub(super) path: Path,
    /// Whether everything that is assumed of backed symbols holds at the hints.
    pub(super) hints_hold: bool,
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
            pool: Pool::new(),
            facts: Facts::new(),
            symbols: Symbols::default(),
            records: Records::default(),
            answers: Answers::default(),
            strides: Strides::default(),
            policies,
            replacements: Replacements::default(),
            computed: Computed::default(),
            path: Path::default(),
            hints_hold: true,
        }
    }

    /// A clone that keeps the expressions that are added to it to itself; see [`Pool::branch`].
    pub fn with_own_pool(&self) -> ShapeEnv {
        ShapeEnv { pool: self.pool.branch(), ..self.clone() }
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
        let hint = self.symbols.info.get(&symbol).and_then(|info| info.hint.clone());
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
        let before = self.symbols.info.insert(symbol, info);
        // What was asked about a symbol before it was declared is to be found out anew.
        if before.and_then(|info| info.hint) != hint {
            self.symbols.hints.clear();
        }
    }

    /// Whether a symbol is a double.
    pub fn is_float(&mut self, symbol: Symbol) -> bool {
        let e = self.pool.symbol_expr(symbol);
        self.pool.sort(e) == sizewise_expr::Sort::Float
    }

    /// The unbacked symbols made so far, in order.
    pub fn unbacked(&self) -> &[Symbol] {
        &self.symbols.unbacked
    }

    /// What is known of a symbol.
    pub fn symbol(&self, symbol: Symbol) -> Option<&SymbolInfo> {
        self.symbols.info.get(&symbol)
    }

    /// Whether every symbol of the pool has been declared.
    pub fn knows_every_symbol(&self) -> bool {
        self.symbols.info.len() == self.pool.symbol_count()
    }

    /// Assumes a condition: it is a fact from now on. Of more than ten thousand (`MAX_ASSUMED`) conditions the others
    /// are only kept ([`ShapeEnv::left_out`]): whatever follows without them holds all the same.
    pub fn assume(&mut self, condition: Expr) {
        if self.pool.as_bool(condition) != Some(true) {
            if self.facts.conditions().len() >= MAX_ASSUMED {
                self.records.left_out.push(condition);
                return;
            }
            self.revise();
            // With unbacked symbols the hints are no assignment of all symbols.
            self.hints_hold = self.hints_hold && self.holds_at_hints(condition);
            self.facts.assume(&mut self.pool, condition);
            self.answers.settled.insert(condition, true);
        }
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
        self.symbols.hints.value(&self.pool, &self.symbols.info, e)
    }

    /// Whether a condition holds at the hints, to be asked once.
    fn holds_at_hints(&self, condition: Expr) -> bool {
        let value = |s: Symbol| self.symbols.info.get(&s).and_then(|info| info.hint.clone());
        self.pool.eval(condition, value).is_ok_and(|value| value.as_bool())
    }

    /// The integer value of an expression at the hints.
    pub fn hint_int(&mut self, e: Expr) -> Option<Int> {
        self.hint(e)?.as_int()
    }
}
