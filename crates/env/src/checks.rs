//! Being told: `torch._check` and its kin.
use super::error::range_text;
use super::guard::{Clause, GuardKind};
use super::{EnvError, ShapeEnv};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int};

impl ShapeEnv {
    /// `torch._check(condition)`: the condition holds from now on. One that the facts imply leaves no trace; one on
    /// backed symbols becomes a guard, one on unbacked symbols a runtime assertion.
    ///
    /// # Errors
    /// When the condition is false in the example, contradicts what is known, or would be a new record of a frozen
    /// environment.
    ///
    /// ```
    /// use sizewise_expr::range::ValueRange;
    /// use sizewise_env::ShapeEnv;
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::new();
    /// let u = env.fresh_unbacked(ValueRange::all());
    /// let (two, hundred) = (env.pool.int(2), env.pool.int(100));
    /// for condition in [env.pool.ge(u, two), env.pool.le(u, hundred)] {
    ///     env.check(condition)?;
    /// }
    /// assert_eq!(env.bounds(u), (Some(2.into()), Some(100.into())));
    /// let empty = env.pool.lt(u, two);
    /// assert!(!env.evaluate(empty)?);
    /// let message = "`u0 <= 1` contradicts what is known: u0 >= 2";
    /// assert_eq!(env.check(empty).map_err(|e| e.to_string()), Err(message.to_string()));
    /// # Ok(()) }
    /// ```
    pub fn check(&mut self, condition: Expr) -> Result<(), EnvError> {
        let condition = self.pool.truth(condition);
        match self.statically_known(condition) {
            Some(true) => return Ok(()),
            Some(false) => return Err(self.contradicted(condition)),
            None => {}
        }
        let rewritten = self.replace(condition);
        match self.hint(rewritten) {
            Some(value) if value.as_bool() => {
                self.guard_or_defer(rewritten, GuardKind::Precondition, Clause::Check)
            }
            Some(_) => Err(self.false_in_example(rewritten)),
            None => self.defer(condition, Clause::Check),
        }
    }

    /// `torch._check_is_size(e)`: it is a size, so at least 0.
    ///
    /// # Errors
    /// As for [`ShapeEnv::check`].
    pub fn check_is_size(&mut self, e: Expr) -> Result<(), EnvError> {
        let condition = self.pool.ge(e, Expr::ZERO);
        self.check(condition)
    }

    /// `torch.sym_constrain_range(e, min, max)`. On an unbacked symbol it narrows the range, and the operator itself
    /// checks it when the program runs, so nothing is recorded; any other expression is checked.
    ///
    /// # Errors
    /// When no value is left, and as for [`ShapeEnv::check`].
    pub fn constrain_range(&mut self, e: Expr, min: Option<Int>, max: Option<Int>) -> Result<(), EnvError> {
        let range = ValueRange::between_options(min.clone(), max.clone());
        let (Some(range), Some(symbol)) = (range, self.pool.as_symbol(e)) else {
            return self.check_bounds(e, min, max);
        };
        if !self.symbols.unbacked.contains(&symbol) {
            return self.check_bounds(e, min, max);
        }
        let known = self.facts.domain(&mut self.pool, e).range;
        if known.meet(&range).is_none() {
            let (what, value) = (self.text(e), range_text(&known));
            return Err(EnvError::OutOfRange { what, value, range: range_text(&range) });
        }
        self.revise();
        self.facts.declare(&mut self.pool, symbol, range);
        Ok(())
    }

    fn check_bounds(&mut self, e: Expr, min: Option<Int>, max: Option<Int>) -> Result<(), EnvError> {
        if let Some(min) = min {
            let min = self.pool.int(min);
            let condition = self.pool.ge(e, min);
            self.check(condition)?;
        }
        if let Some(max) = max {
            let max = self.pool.int(max);
            let condition = self.pool.le(e, max);
            self.check(condition)?;
        }
        Ok(())
    }

    fn contradicted(&mut self, condition: Expr) -> EnvError {
        let is_false = self.pool.as_bool(condition) == Some(false);
        if !is_false
            && self.hint(condition).is_some_and(|value| !value.as_bool())
            && self.records.guards.is_empty()
        {
            return self.false_in_example(condition);
        }
        EnvError::Contradictory(self.unsat_core_with(condition))
    }

    fn false_in_example(&mut self, condition: Expr) -> EnvError {
        let mut example = Vec::new();
        for symbol in self.pool.free_symbols(&[condition]) {
            let e = self.pool.symbol_expr(symbol);
            if let Some(value) = self.hint(e) {
                let value = self.pool.value_expr(value);
                example.push(format!("{} = {}", self.text(e), self.text(value)));
            }
        }
        EnvError::FalseInExample { condition: self.text(condition), example: example.join(", ") }
    }
}
