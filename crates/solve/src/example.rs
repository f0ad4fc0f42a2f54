//! The sizes of an example, which tell what does not follow, and that the facts do not contradict each other.
use super::judge::{Judge, Judgement, Required};
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};

/// Values of symbols that occur together.
#[derive(Clone, Debug, Default)]
pub(super) struct Example {
    values: FxHashMap<Symbol, Value>,
    /// How many conditions, divisors and operations were found to hold.
    checked: [usize; 3],
    /// Whether a fact does not hold, or has a symbol without a value.
    fails: bool,
}

impl Example {
    /// Sets the value of a symbol that has this range.
    pub fn set(&mut self, symbol: Symbol, value: Value, range: Option<&ValueRange>) {
        self.values.insert(symbol, value);
        if let Some(range) = range {
            self.declared(symbol, range);
        }
    }

    /// Notes the range of a symbol.
    pub fn declared(&mut self, symbol: Symbol, range: &ValueRange) {
        if let Some(Value::Int(value)) = self.values.get(&symbol) {
            self.fails |= !range.contains(value);
        }
    }

    /// The value of an integer.
    pub fn integer(&self, symbol: Symbol) -> Option<&Int> {
        match self.values.get(&symbol) {
            Some(Value::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// The value of a double.
    pub fn float(&self, symbol: Symbol) -> Option<f64> {
        match self.values.get(&symbol) {
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        }
    }

    /// The values of doubles.
    pub fn floats(&self) -> Vec<(Symbol, f64)> {
        let float = |(symbol, value): (&Symbol, &Value)| match value {
            Value::Float(value) => Some((*symbol, *value)),
            _ => None,
        };
        let mut floats: Vec<(Symbol, f64)> = self.values.iter().filter_map(float).collect();
        floats.sort_unstable_by_key(|(symbol, _)| *symbol);
        floats
    }

    /// The value of a symbol where one has another value.
    pub fn near(&self, symbol: Symbol, changed: Symbol, value: &Int) -> Option<Value> {
        if symbol == changed { Some(Value::Int(value.clone())) } else { self.values.get(&symbol).cloned() }
    }

    /// The truth of a condition.
    pub fn truth(&self, pool: &Pool, condition: Expr) -> Option<bool> {
        pool.eval(condition, |symbol| self.values.get(&symbol).cloned()).ok().map(|value| value.as_bool())
    }

    /// Whether all facts hold. Each is evaluated once.
    pub fn satisfies(&mut self, pool: &Pool, conditions: &[Expr], required: &Required) -> bool {
        let all = [conditions.len(), required.nonzero.len(), required.defined.len()];
        if !self.fails && self.checked != all {
            let [conditions_before, nonzero, defined] = self.checked;
            let required = Required {
                nonzero: required.nonzero[nonzero..].to_vec(),
                defined: required.defined[defined..].to_vec(),
            };
            let judge = Judge::new(pool, &conditions[conditions_before..], &required, None);
            self.fails = judge.at(|symbol| self.values.get(&symbol).cloned()) != Judgement::Holds;
            self.checked = all;
        }
        !self.fails
    }
}
