//! Deferred runtime assertions: where in the program they can be checked first. And freezing.
use super::guard::{Clause, Guard, RuntimeAssert};
use super::{EnvError, ShapeEnv};
use sizewise_expr::{Expr, Symbol};

impl ShapeEnv {
    /// The unbacked symbol after which a condition can be checked: the last made of those that it needs. None for a
    /// condition on the inputs alone, which can be checked before anything runs.
    pub fn placed_after(&self, condition: Expr) -> Option<Symbol> {
        let needed = self.pool.free_symbols(&[condition]);
        self.symbols.unbacked.iter().rev().copied().find(|symbol| needed.contains(symbol))
    }

    /// The runtime assertions that belong right after the step that makes a symbol, or with none, before the first
    /// step.
    ///
    /// ```
    /// use sizewise_expr::range::ValueRange;
    /// use sizewise_env::ShapeEnv;
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::new();
    /// let (u, v) = (env.fresh_unbacked(ValueRange::all()), env.fresh_unbacked(ValueRange::all()));
    /// let less = env.pool.lt(v, u);
    /// env.check(less)?;
    /// assert_eq!(env.deferred_after(env.pool.as_symbol(u)).count(), 0);
    /// assert_eq!(env.deferred_after(env.pool.as_symbol(v)).count(), 1);
    /// # Ok(()) }
    /// ```
    pub fn deferred_after(&self, symbol: Option<Symbol>) -> impl Iterator<Item = &RuntimeAssert> {
        self.records.asserts.iter().filter(move |assert| self.placed_after(assert.condition) == symbol)
    }

    /// Records a runtime assertion.
    pub(super) fn defer(&mut self, condition: Expr, clause: Clause) -> Result<(), EnvError> {
        if self.records.frozen.1 {
            let condition = self.text(condition);
            return Err(EnvError::Frozen { condition, kind: "runtime assertion" });
        }
        self.record_assert(condition, clause);
        Ok(())
    }

    pub(super) fn record_assert(&mut self, condition: Expr, clause: Clause) {
        self.revise();
        let needed = self.on_path(condition);
        let certain = self.path.is_certain();
        self.records.asserts.push(RuntimeAssert {
            condition: needed,
            origin: self.records.origin,
            clause,
            certain,
        });
        self.assume(condition);
    }

    /// Takes no more guards. What is asked for and would be one is an error that names it; operators that call for
    /// one go on by the hints, and [`ShapeEnv::refused_guards`] lists what they called for.
    ///
    /// ```
    /// use sizewise_env::{DimDynamic, ShapeEnv};
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::new();
    /// let x = env.create("L['x'].size()[0]", 6, DimDynamic::Dynamic, None)?;
    /// env.freeze();
    /// let (two, five) = (env.pool.int(2), env.pool.int(5));
    /// let (known, new) = (env.pool.ge(x, two), env.pool.gt(x, five));
    /// assert!(env.evaluate(known)?);
    /// let message = "the environment is frozen: `s77 >= 6` would be a new guard";
    /// assert_eq!(env.evaluate(new).map_err(|e| e.to_string()), Err(message.to_string()));
    /// # Ok(()) }
    /// ```
    pub fn freeze(&mut self) {
        self.records.frozen.0 = true;
        self.revise();
    }

    /// Takes no more runtime assertions; what would be one is an error that names it.
    pub fn freeze_runtime_asserts(&mut self) {
        self.records.frozen.1 = true;
        self.revise();
    }

    /// The guards that operators called for since the environment was frozen.
    pub fn refused_guards(&self) -> &[Guard] {
        &self.records.refused
    }
}
