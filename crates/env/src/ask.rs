//! Asking: conditions and sizes that decide how a trace goes on.
use super::error::DataDependent;
use super::guard::{Clause, GuardKind};
use super::{EnvError, ShapeEnv};
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_solve::{Budget, Verdict, decide};

impl ShapeEnv {
    /// An expression as Python, in symbol names.
    pub fn text(&self, e: Expr) -> String {
        print::python(&self.pool, e, &|s| self.pool.symbol_name(s))
    }

    /// The conditions that are settled, by the facts or by guards, with their truth value; oldest first.
    pub fn settled_conditions(&self) -> Vec<(Expr, bool)> {
        let mut settled: Vec<(Expr, bool)> =
            self.answers.settled.iter().map(|(e, value)| (*e, *value)).collect();
        settled.sort_unstable();
        settled
    }

    /// Whether a condition holds for all sizes that the facts allow, or for none of them; nothing if neither is
    /// proved. Records nothing.
    pub fn statically_known(&mut self, condition: Expr) -> Option<bool> {
        let condition = self.replace(condition);
        let condition = self.pool.truth(condition);
        if let Some(known) = self.statically(condition) {
            return Some(known);
        }
        let hint = self.hint(condition).map(|value| value.as_bool());
        for value in [true, false] {
            // What is false in the example does not hold for all sizes.
            if hint == Some(!value) {
                continue;
            }
            let goal = if value { condition } else { self.pool.not(condition) };
            let answer = decide(&mut self.pool, &mut self.facts, goal, &Budget::small());
            if matches!(answer.verdict, Verdict::Implied { .. }) {
                return Some(value);
            }
        }
        None
    }

    /// Whether a condition is proved to hold for all sizes that the facts allow. Records nothing.
    pub fn statically_known_true(&mut self, condition: Expr) -> bool {
        self.statically_known(condition) == Some(true)
    }

    /// The truth value of a condition: what the facts say, else what the hints say, which records a guard (or a
    /// runtime assertion, by the policy [`prefer_deferred_asserts`](super::Policies::prefer_deferred_asserts)).
    ///
    /// # Errors
    /// When it depends on unbacked symbols and the facts leave it open, or when it would be a guard of a frozen
    /// environment.
    ///
    /// ```
    /// use sizewise_expr::range::ValueRange;
    /// use sizewise_env::{DimDynamic, ShapeEnv};
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::new();
    /// let x = env.create("L['x'].size()[0]", 6, DimDynamic::Dynamic, None)?;
    /// let three = env.pool.int(3);
    /// let more = env.pool.gt(x, three);
    /// assert!(env.evaluate(more)?);
    /// assert_eq!(env.text(env.guards()[0].condition), "s77 >= 4");
    ///
    /// let u = env.fresh_unbacked(ValueRange::all());
    /// let open = env.pool.gt(u, three);
    /// let message = "`u0 >= 4` depends on data (u0); \
    ///     `torch._check(u0 >= 4)` or `torch._check(u0 <= 3)` before it settles it";
    /// assert_eq!(env.evaluate(open).map_err(|e| e.to_string()), Err(message.to_string()));
    /// # Ok(()) }
    /// ```
    pub fn evaluate(&mut self, condition: Expr) -> Result<bool, EnvError> {
        if let Some(known) = self.statically_known(condition) {
            let held = if known { condition } else { self.pool.not(condition) };
            if self.pool.as_bool(held).is_none() && self.answers.answered.insert(held) {
                self.note();
            }
            return Ok(known);
        }
        let condition = self.replace(condition);
        let condition = self.pool.truth(condition);
        let Some(value) = self.hint(condition).map(|value| value.as_bool()) else {
            let no = self.pool.not(condition);
            let checks = [condition, no].map(|c| format!("torch._check({})", self.text(c)));
            return Err(self.data_dependent(condition, checks.to_vec()));
        };
        let held = if value { condition } else { self.pool.not(condition) };
        self.guard_or_defer(held, GuardKind::Branch, Clause::Evaluate)?;
        Ok(value)
    }

    /// The value of an integer expression as a constant, which records the guard that it has it.
    ///
    /// # Errors
    /// As for [`ShapeEnv::evaluate`].
    pub fn evaluate_int(&mut self, e: Expr) -> Result<Int, EnvError> {
        let e = self.replace(e);
        if let Some(value) = self.pool.as_int(e) {
            return Ok(value);
        }
        let Some(value) = self.hint_int(e) else {
            let check = format!("torch._check({} == n)", self.text(e));
            return Err(self.data_dependent(e, vec![check]));
        };
        let constant = self.pool.int(value.clone());
        let equal = self.pool.eq(e, constant);
        if self.statically_known(equal) != Some(true) {
            self.guard_or_defer(equal, GuardKind::Branch, Clause::Evaluate)?;
        }
        Ok(value)
    }

    /// As [`ShapeEnv::evaluate`], but `true` where the answer depends on data. Nothing is recorded then, so the
    /// caller has to be right either way.
    ///
    /// # Errors
    /// When it would be a guard of a frozen environment.
    pub fn guard_or_true(&mut self, condition: Expr) -> Result<bool, EnvError> {
        self.guard_or(condition, true)
    }

    /// As [`ShapeEnv::guard_or_true`], but `false` where the answer depends on data.
    ///
    /// # Errors
    /// When it would be a guard of a frozen environment.
    pub fn guard_or_false(&mut self, condition: Expr) -> Result<bool, EnvError> {
        self.guard_or(condition, false)
    }

    fn guard_or(&mut self, condition: Expr, default: bool) -> Result<bool, EnvError> {
        match self.evaluate(condition) {
            Err(EnvError::DataDependent(_)) => Ok(default),
            answer => answer,
        }
    }

    fn data_dependent(&self, e: Expr, checks: Vec<String>) -> EnvError {
        let name = |s: &Symbol| self.pool.symbol_name(*s).to_string();
        let unbacked =
            self.pool.free_symbols(&[e]).iter().filter(|s| self.has_no_hint(**s)).map(name).collect();
        EnvError::DataDependent(DataDependent { expression: self.text(e), unbacked, checks })
    }

    fn has_no_hint(&self, symbol: Symbol) -> bool {
        self.symbols.info.get(&symbol).is_none_or(|info| info.hint.is_none())
    }

    /// Records a condition on backed symbols that holds in the example.
    pub(super) fn guard_or_defer(
        &mut self,
        held: Expr,
        kind: GuardKind,
        clause: Clause,
    ) -> Result<(), EnvError> {
        if self.policies.prefer_deferred_asserts {
            return self.defer(held, clause);
        }
        if self.records.frozen.0 {
            return Err(EnvError::Frozen { condition: self.text(held), kind: "guard" });
        }
        self.record_guard(held, kind, clause);
        Ok(())
    }
}
