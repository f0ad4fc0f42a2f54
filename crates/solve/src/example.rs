//! The sizes of an example, which tell what does not follow, and that the facts do not contradict each other.
use super::facts::Facts;
use super::replay::{Judge, Judgement, Required};
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};
use smallvec::SmallVec;

/// Goals of more symbols are not tried near the example.
const MAX_SYMBOLS: usize = 6;

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
    fn near(&self, symbol: Symbol, changed: Symbol, value: &Int) -> Option<Value> {
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

impl Facts {
    /// Whether a goal is false where one of its symbols has another value than in the example, which satisfies the
    /// facts. Most questions that are open are found to be so at once.
    pub(super) fn fails_nearby(&mut self, pool: &Pool, goal: Expr) -> bool {
        let symbols = pool.free_symbols(&[goal]);
        if symbols.len() > MAX_SYMBOLS {
            return false;
        }
        let mut around = None;
        for &symbol in &symbols {
            for value in self.neighbours(symbol) {
                if pool
                    .eval(goal, |s| self.example.near(s, symbol, &value))
                    .is_ok_and(|value| !value.as_bool())
                {
                    if around.is_none() {
                        around = Some(self.requirements_on(&symbols));
                    }
                    let Some((conditions, required)) = &around else { continue };
                    let judge = Judge::new(pool, conditions, required, Some(goal));
                    if judge.at(|s| self.example.near(s, symbol, &value)) == Judgement::Holds {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Other values of a symbol: around that in the example, and the ends of its range.
    fn neighbours(&self, symbol: Symbol) -> SmallVec<[Int; 8]> {
        let (Some(Value::Int(value)), Some(range)) = (self.example.values.get(&symbol), self.range(symbol))
        else {
            return SmallVec::new();
        };
        let mut others: SmallVec<[Int; 8]> = [1, -1, 2].iter().map(|&d| value + &Int::from(d)).collect();
        others.push(value + value);
        others.extend(range.lo.finite().cloned());
        others.extend(range.lo.finite().map(|low| low + &Int::ONE));
        others.extend(range.hi.finite().cloned());
        others.retain(|other| other != value && range.contains(other));
        others
    }
}
