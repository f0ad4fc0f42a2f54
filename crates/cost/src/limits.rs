//! What sizes of inputs have to satisfy for the figures to be those of a run.
use super::{Cost, Sizes};
use indexmap::IndexMap;
use sizewise_check::spec::{Contract, InputKind, Solved, UNCHECKED_MINIMUM};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Evaluator, Expr, Int, Symbol, Value};

/// The sizes of inputs, the conditions that the program puts on them, and an example.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The sizes of each input, by its placeholder.
    pub inputs: Vec<(String, Vec<Expr>)>,
    /// Conditions on sizes.
    pub conditions: Vec<Expr>,
    /// The sizes of the example.
    pub example: IndexMap<Symbol, Int>,
}

impl Limits {
    /// What a program says of its inputs. Least sizes of 2 are not conditions: they are those of the trace, and the module
    /// takes less.
    pub(super) fn of(contract: &Contract, env: &mut ShapeEnv) -> Limits {
        let mut limits = Limits::default();
        for input in &contract.inputs {
            if let InputKind::Tensor { sizes, .. } = &input.kind {
                limits.inputs.push((input.input.placeholder.to_string(), sizes.to_vec()));
            }
        }
        for guard in &contract.guards {
            limits.conditions.extend(guard.requirements.iter().chain([&guard.condition]));
        }
        for (e, bounds) in &contract.ranges {
            if let Some(min) = bounds.min.filter(|&min| min > UNCHECKED_MINIMUM) {
                let min = env.pool.int(min);
                limits.conditions.push(env.pool.ge(*e, min));
            }
            if let Some(max) = bounds.max {
                let max = env.pool.int(max);
                limits.conditions.push(env.pool.le(*e, max));
            }
        }
        for symbol in contract.input_symbols() {
            let e = env.pool.symbol_expr(symbol);
            let example = env.hint_int(e);
            example.into_iter().for_each(|size| drop(limits.example.insert(symbol, size)));
        }
        limits
    }

    /// A size takes the place of a symbol that it is computed from.
    pub(super) fn example_of(&mut self, size: Symbol, symbol: Symbol, solved: &Solved) {
        if let Some(value) = self.example.get(&symbol) {
            let value = &(value * &solved.factor) + &solved.offset;
            self.example.insert(size, value);
        }
    }

    /// All expressions.
    pub(super) fn expressions(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.inputs.iter_mut().flat_map(|(_, sizes)| sizes).chain(&mut self.conditions)
    }
}

impl Cost {
    /// Whether the program takes inputs of these sizes, where the symbols are these: what it needs, if it does not. What
    /// depends on sizes that are not given is not asked.
    pub(super) fn allows(&self, sizes: &Sizes, values: &IndexMap<Symbol, Int>) -> Result<(), String> {
        let pool = &self.env.pool;
        let mut known = Evaluator::new(pool, |symbol| values.get(&symbol).cloned().map(Value::Int));
        for (input, own) in &self.limits.inputs {
            let Some(given) = sizes.get(input) else { continue };
            for (dim, (&size, &given)) in own.iter().zip(given).enumerate() {
                let Ok(value) = known.int(size) else { continue };
                if value == Int::from(given) {
                    continue;
                }
                let source = format!("{input}.shape[{dim}]");
                return Err(match pool.is_constant(size) {
                    true => format!("{source} is {value} for this program, not {given}"),
                    false => format!("{source} is {}, so {value}, not {given}", self.shown(size)),
                });
            }
        }
        let broken = self.limits.conditions.iter().find(|&&e| matches!(known.truth(e), Ok(false)));
        broken.map_or(Ok(()), |&e| Err(format!("the program needs {}", self.shown(e))))
    }
}
