//! Values at the hints.
use super::symbols::SymbolInfo;
use rustc_hash::FxHashMap;
use sizewise_expr::{EvalError, Evaluator, Expr, Pool, Symbol, Value};

/// Expressions by their values at the hints, as far as they were asked for.
#[derive(Debug, Default)]
pub(super) struct Hints(FxHashMap<Expr, Result<Value, EvalError>>);

/// A copy of an environment finds values out anew, as far as it is asked for them.
impl Clone for Hints {
    fn clone(&self) -> Hints {
        Hints::default()
    }
}

impl Hints {
    /// The value of an expression; none if it involves a symbol without a hint or is undefined there.
    pub fn value(&mut self, pool: &Pool, symbols: &FxHashMap<Symbol, SymbolInfo>, e: Expr) -> Option<Value> {
        if let Some(value) = pool.constant_value(e) {
            return Some(value);
        }
        if let Some(known) = self.0.get(&e) {
            return known.clone().ok();
        }
        let assignment = |s: Symbol| symbols.get(&s).and_then(|info| info.hint.clone());
        let mut evaluator = Evaluator::knowing(pool, assignment, std::mem::take(&mut self.0));
        let value = evaluator.value(e);
        self.0 = evaluator.into_known();
        value.ok()
    }

    /// Forgets all values: a symbol has another hint than before.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
