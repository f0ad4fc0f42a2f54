//! What refusals of an exported module's guards say: `x.shape[1] % 4 == 0` where the guard compares two products.
use super::evaluate::{Evaluator, Refused};
use super::readable::readable;
use super::simpler::simplest;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};
use sizewise_solve::Facts;

/// The longest condition that is shown, in characters.
const MAX_SHOWN: usize = 100;

impl Evaluator<'_> {
    /// What a refusal says, with a guard in its simplest form: the same condition for all inputs that are empty nowhere these are
    /// not.
    pub fn told(&self, refused: &Refused) -> String {
        let Some((guard, sizes)) = &refused.guard else { return refused.message.clone() };
        let empty = sizes.iter().filter(|(_, size)| size.is_zero()).map(|(symbol, _)| *symbol).collect();
        let key = (*guard, empty);
        if let Some(said) = self.told.lock().ok().and_then(|told| told.get(&key).cloned()) {
            return said;
        }
        let said = format!("guard failed: {}", self.simply(*guard, sizes));
        if let Ok(mut told) = self.told.lock() {
            told.insert(key, said.clone());
        }
        said
    }

    fn simply(&self, guard: Expr, sizes: &[(Symbol, Int)]) -> String {
        let mut pool = self.contract().env.pool.clone();
        let mut facts = Facts::new();
        for (symbol, size) in sizes {
            let least = size.clone().min(Int::ONE);
            facts.declare(&mut pool, *symbol, ValueRange::at_least(least));
        }
        let simple = simplest(&mut pool, &mut facts, guard);
        let simple = readable(&pool, &facts, simple);
        let value = |symbol: Symbol| {
            let size = sizes.iter().find(|(known, _)| *known == symbol)?;
            Some(Value::Int(size.1.clone()))
        };
        let is_broken = pool.eval(simple, value).is_ok_and(|holds| !holds.as_bool());
        let shown = if is_broken { simple } else { guard };
        let names = |pool: &Pool| -> Vec<String> {
            pool.free_symbols(&[shown]).into_iter().map(|symbol| self.contract().name_of(symbol)).collect()
        };
        within(self.shown_of(&pool, shown), || names(&pool))
    }
}

/// A condition, or what it is on where it is too long to be read.
fn within(shown: String, names: impl FnOnce() -> Vec<String>) -> String {
    match shown.chars().count() <= MAX_SHOWN {
        true => shown,
        false => format!("a condition on {}", names().join(", ")),
    }
}
