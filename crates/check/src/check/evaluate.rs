//! What happens to inputs of given shapes.
mod unchecked;

use crate::propagate::{Run, recorded};
use crate::records::Records;
use crate::spec::{Contract, ContractGuard, InputKind, ProgramInput, Shape, UNCHECKED_MINIMUM};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol, Value as Number, text};
use sizewise_ir::keys;
use sizewise_ir::{Constant, GraphInput, Hint, Meta, SymbolHints, UserInput};
use sizewise_kernels::{Cx, Operators, Tensor, Value};
use sizewise_solve::{Budget, FactId, Premise, Verdict, Witness, decide};
use std::cmp::Ordering;
use std::sync::{Arc, Mutex};
use unchecked::refused_by_step;

pub(super) use unchecked::Unchecked;

/// What was said of guards, each with the sizes that were 0 then.
type Told = Mutex<FxHashMap<(Expr, Vec<Symbol>), String>>;

/// A size of an input, or a number: its place, what the program records, and what is given.
type Actual = (String, Expr, Number);

/// Input shapes and scalar values by placeholder name.
pub type Shapes = IndexMap<Arc<str>, Shape>;

/// Inputs that the program does not take.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// Why.
    pub message: String,
    /// The node that fails.
    pub node: Option<Arc<str>>,
    /// The condition that does not hold.
    pub expr: Option<String>,
    /// The guard of the exported module that does not hold, and the sizes that it speaks of.
    pub guard: Option<(Expr, Witness)>,
    /// Whether the request itself is wrong: an input that does not exist, or another kind of value.
    pub malformed: bool,
}

/// The results for given input shapes.
#[derive(Clone)]
pub struct Evaluation {
    /// The environment that the sizes belong to; unbacked symbols stand for data-dependent sizes.
    pub env: ShapeEnv,
    /// One entry per user output: the sizes of a tensor, or `None`.
    pub outputs: Vec<Option<Vec<Expr>>>,
    /// One entry per user output: the value of a number, or `None`.
    pub numbers: Vec<Option<Expr>>,
    /// What the program records for the same outputs at these inputs.
    pub recorded: Vec<Option<Vec<Expr>>>,
    /// The inputs that were not given and have the sizes or the value that they were traced with.
    pub as_traced: Vec<String>,
    /// The conditions on data-dependent sizes that are left to runtime assertions: some data satisfy them.
    pub asserted: Vec<Expr>,
    /// Nodes without a kernel, whose records were trusted.
    pub unsupported: usize,
}

/// What happens where a guard divides by zero.
pub(super) const DIVIDES: &str = "a guard of the exported module divides by zero (ZeroDivisionError)";

/// Evaluates one program at many input shapes.
pub struct Evaluator<'p> {
    contract: Contract<'p>,
    operators: &'p Operators,
    pub(super) told: Told,
}

impl<'p> Evaluator<'p> {
    /// An evaluator of the program with this contract.
    pub fn new(contract: Contract<'p>, operators: &'p Operators) -> Evaluator<'p> {
        Evaluator { contract, operators, told: Told::default() }
    }

    /// The inputs that the user passes, by placeholder name.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.contract.inputs.iter().map(|input| &*input.input.placeholder)
    }

    /// The inputs that the user passes, with their names and places in the call.
    pub fn user_inputs(&self) -> impl Iterator<Item = &UserInput> {
        self.contract.inputs.iter().map(|input| &input.input)
    }

    /// Whether the input of this name (its placeholder's, or `inp['x']` as reports have it) is a tensor; `None` if there
    /// is no such input.
    pub fn is_tensor(&self, name: &str) -> Option<bool> {
        let is_called = |input: &&ProgramInput| *input.input.placeholder == *name || input.path() == name;
        let input = self.contract.inputs.iter().find(is_called)?;
        Some(matches!(input.kind, InputKind::Tensor { .. }))
    }

    /// What the program enforces and could not be read, with the reason.
    pub fn unreadable(&self) -> &[String] {
        &self.contract.unreadable
    }

    /// The program's contract.
    pub(super) fn contract(&self) -> &Contract<'p> {
        &self.contract
    }

    pub(super) fn contract_mut(&mut self) -> &mut Contract<'p> {
        &mut self.contract
    }

    /// The operators.
    pub(super) fn operators(&self) -> &'p Operators {
        self.operators
    }

    /// Whether there is an input of each name.
    fn known_inputs(&self, given: &Shapes) -> Result<(), Refused> {
        for name in given.keys() {
            if !self.contract.inputs.iter().any(|i| i.input.placeholder == *name) {
                let called = |input: &ProgramInput| match input.path() {
                    path if *path == *input.input.placeholder => path,
                    path => format!("{}, which is {path}", input.input.placeholder),
                };
                let names: Vec<String> = self.contract.inputs.iter().map(called).collect();
                let near = keys::nearest(name, self.placeholders());
                let near = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
                return Err(malformed(format!(
                    "the program has no input `{name}`{near} (it has {})",
                    names.join(if names.iter().any(|name| name.contains(',')) { "; " } else { ", " })
                )));
            }
        }
        Ok(())
    }

    /// What the program does with inputs of these shapes; inputs not given keep the shape that they were traced with.
    ///
    /// # Errors
    /// When the exported module or one of its operators refuses them.
    pub fn evaluate(&self, given: &Shapes) -> Result<Evaluation, Refused> {
        let contract = &self.contract;
        let (sizes, values) = self.sizes(given)?;
        self.check_sizes(&sizes, &values)?;
        self.check_contract(&values)?;
        let mut interpreter = self.interpreter(contract.env.with_own_pool(), &values);
        let inputs = self.inputs(&mut interpreter.run.env, &mut interpreter.records, &sizes)?;
        let results =
            interpreter.propagate(inputs).map_err(|stop| refused_by_step(&interpreter.run, stop))?;
        some_data_passes(&mut interpreter.run)?;
        let (mut outputs, mut numbers, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        let program = contract.program;
        for ((spec, argument), value) in
            program.signature.outputs.iter().zip(program.graph.outputs()).zip(&results)
        {
            if !spec.is_user_output() {
                continue;
            }
            let record = argument.value().and_then(|id| {
                recorded::value(&mut interpreter.records, &mut interpreter.run.env, program.graph.meta(id))
                    .ok()
            });
            outputs.push(tensor_sizes(value));
            numbers.push(match value {
                Value::Int(e) | Value::Float(e) | Value::Bool(e) => Some(*e),
                _ => None,
            });
            expected.push(record.as_ref().and_then(tensor_sizes));
        }
        let unsupported = interpreter.run.unsupported.len();
        let left_out = |input: &&ProgramInput| {
            matches!(input.kind, InputKind::Tensor { .. } | InputKind::Scalar(_))
                && !given.contains_key(&input.input.placeholder)
        };
        let left_out = contract.inputs.iter().filter(left_out);
        let as_traced = left_out.map(|input| input.input.placeholder.to_string()).collect();
        let env = interpreter.run.env;
        let asserted = env.runtime_asserts().iter().map(|assert| assert.condition).collect();
        Ok(Evaluation { env, outputs, numbers, recorded: expected, as_traced, asserted, unsupported })
    }

    /// The sizes of one input, given or as traced, beside what the program records.
    fn actual(
        &self,
        input: &ProgramInput,
        given: Option<&Shape>,
        sizes: &mut Vec<Actual>,
    ) -> Result<(), Refused> {
        let path = input.path();
        match (&input.kind, given) {
            (InputKind::Tensor { sizes: recorded, .. }, Some(Shape::Tensor(actual))) => {
                if recorded.len() != actual.len() {
                    return Err(refused(dimensions_differ(&path, recorded.len(), actual.len()), None));
                }
                for (i, (&r, v)) in recorded.iter().zip(actual).enumerate() {
                    if v.is_negative() {
                        return Err(malformed(format!("{path}.shape[{i}] is {v}: a size is at least 0")));
                    }
                    sizes.push((format!("{path}.shape[{i}]"), r, Number::Int(v.clone())));
                }
                Ok(())
            }
            (InputKind::Tensor { sizes: recorded, .. }, None) => {
                for (i, &r) in recorded.iter().enumerate() {
                    let example = self.contract.example(r).ok_or_else(|| {
                        malformed(format!(
                            "{path}.shape[{i}] was not recorded with an example: give the shape of {path}"
                        ))
                    })?;
                    sizes.push((format!("{path}.shape[{i}]"), r, example));
                }
                Ok(())
            }
            (InputKind::Scalar(e), Some(Shape::Scalar(value))) => {
                sizes.push((path, *e, value.clone()));
                Ok(())
            }
            (InputKind::Scalar(e), None) => {
                let example = self
                    .contract
                    .example(*e)
                    .ok_or_else(|| malformed(format!("the value of {path} is missing")))?;
                sizes.push((path, *e, example));
                Ok(())
            }
            (InputKind::Constant(constant), Some(value)) => match taken(constant, value) {
                true => Ok(()),
                false => Err(refused(
                    format!("{path} has to be {constant}, the value that it was specialized to"),
                    Some(format!("{path} == {constant}")),
                )),
            },
            (InputKind::Constant(_) | InputKind::Other, None) => Ok(()),
            (InputKind::Tensor { .. }, Some(_)) => {
                Err(malformed(format!("{path} is a tensor: give its shape")))
            }
            (InputKind::Scalar(_), Some(_)) => Err(malformed(format!("{path} is a number"))),
            (InputKind::Other, Some(_)) => Err(malformed(format!("{path} is not a tensor"))),
        }
    }

    /// Checks recorded sizes: static ones, and those that are expressions of others.
    fn check_sizes(&self, sizes: &[Actual], values: &SymbolHints) -> Result<(), Refused> {
        let pool = &self.contract.env.pool;
        for (place, recorded, actual) in sizes {
            let condition = || format!("{place} == {}", self.shown(*recorded));
            match pool.eval(*recorded, |s| values.get(&s).cloned()) {
                Ok(value)
                    if value == *actual
                        || value.as_f64() == actual.as_f64() && value.as_int() == actual.as_int() => {}
                Ok(value) => {
                    let message = format!("{place} has to be {}, not {}", show(&value), show(actual));
                    return Err(refused(message, Some(condition())));
                }
                Err(_) => {
                    let message =
                        format!("{place} = {} fits no value of the program's symbols", show(actual));
                    return Err(refused(message, Some(condition())));
                }
            }
        }
        Ok(())
    }

    /// Checks the range constraints and guards that the exported module enforces.
    fn check_contract(&self, values: &SymbolHints) -> Result<(), Refused> {
        let pool = &self.contract.env.pool;
        let lookup = |s: Symbol| values.get(&s).cloned();
        for (e, bounds) in &self.contract.ranges {
            let Some(value) = pool.eval(*e, lookup).ok().and_then(|v| v.as_int()) else { continue };
            let shown = self.shown(*e);
            if let Some(min) = bounds.min.filter(|&min| min > UNCHECKED_MINIMUM)
                && value < Int::from(min)
            {
                return Err(refused(
                    format!("{shown} has to be at least {min}, not {value}"),
                    Some(format!("{shown} >= {min}")),
                ));
            }
            if let Some(max) = bounds.max
                && value > Int::from(max)
            {
                return Err(refused(
                    format!("{shown} has to be at most {max}, not {value}"),
                    Some(format!("{shown} <= {max}")),
                ));
            }
        }
        // The step that makes an assertion checks it.
        let guards = self.contract.guards.iter().filter(|guard| !guard.is_asserted);
        for ContractGuard { text: guard, condition, requirements, .. } in guards {
            // One operand may settle a connective before another one is evaluated.
            let settled = matches!(pool.as_call(*condition), Some((Func::Or | Func::Ite, _)));
            let broken = |&requirement: &Expr| pool.eval(requirement, lookup).is_ok_and(|v| !v.as_bool());
            if let Some(&broken) = requirements.iter().find(|&e| !settled && broken(e)) {
                let message = format!("{DIVIDES}: it needs {}", self.shown(broken));
                return Err(refused(message, Some(guard.clone())));
            }
            match pool.eval(*condition, lookup) {
                Ok(value) if value.as_bool() => {}
                Ok(_) => {
                    let message = format!("guard failed: {}", self.shown(*condition));
                    let size = |s: Symbol| Some((s, lookup(s)?.as_int()?));
                    let sizes = pool.free_symbols(&[*condition]).into_iter().filter_map(size).collect();
                    let guard =
                        Refused { guard: Some((*condition, sizes)), ..refused(message, Some(guard.clone())) };
                    return Err(guard);
                }
                Err(sizewise_expr::EvalError::Unbound(_)) => {}
                Err(error) => return Err(refused(format!("guard `{guard}`: {error}"), Some(guard.clone()))),
            }
        }
        Ok(())
    }

    fn shown(&self, e: Expr) -> String {
        self.shown_of(&self.contract.env.pool, e)
    }

    pub(super) fn shown_of(&self, pool: &Pool, e: Expr) -> String {
        let symbols = pool.free_symbols(&[e]);
        let names: FxHashMap<Symbol, String> =
            symbols.into_iter().map(|s| (s, self.contract.name_of(s))).collect();
        let name = |s: Symbol| names.get(&s).map_or("?", String::as_str);
        text::print::python(pool, e, &name)
    }

    /// Values for the graph's inputs.
    fn inputs(
        &self,
        env: &mut ShapeEnv,
        records: &mut Records<'p>,
        sizes: &[Actual],
    ) -> Result<Vec<Value>, Refused> {
        let program = self.contract.program;
        let mut values = Vec::with_capacity(program.graph.inputs().len());
        for input in program.graph.inputs() {
            values.push(match input {
                GraphInput::Constant(constant) => recorded::constant_value(env, constant),
                GraphInput::Value(id) => recorded::value(records, env, program.graph.meta(*id))
                    .map_err(|error| malformed(error.to_string()))?,
            });
        }
        let mut sizes = sizes.iter();
        for input in &self.contract.inputs {
            let at = input.input.index;
            match &input.kind {
                InputKind::Tensor { sizes: recorded, strides, dtype, .. } => {
                    let actual: Vec<Expr> = sizes
                        .by_ref()
                        .take(recorded.len())
                        .map(|(_, _, v)| env.pool.value_expr(v.clone()))
                        .collect();
                    let Value::Tensor(tensor) = &values[at] else { continue };
                    // Contiguous inputs are contiguous at every size; the recorded strides say so only for
                    // sizes above 0.
                    let plain = self.contract.contiguous_example(recorded, strides);
                    let mut cx = Cx::new(env);
                    let strides = if plain { cx.contiguous_strides(&actual) } else { tensor.strides.clone() };
                    let fresh = Tensor { sizes: actual.into(), strides, dtype: *dtype, ..(**tensor).clone() };
                    values[at] = fresh.into();
                }
                InputKind::Scalar(_) => {
                    let Some((_, _, value)) = sizes.next() else { continue };
                    let e = env.pool.value_expr(value.clone());
                    let program_value = match input_meta(self.contract.program, at) {
                        Some(Meta::SymBool(_)) => Value::Bool(env.pool.truth(e)),
                        Some(Meta::SymFloat(_)) => Value::Float(env.pool.to_float(e)),
                        _ => Value::Int(e),
                    };
                    values[at] = program_value;
                }
                InputKind::Constant(_) | InputKind::Other => {}
            }
        }
        Ok(values)
    }
}

fn input_meta(program: &sizewise_ir::Program, index: usize) -> Option<&Meta> {
    match program.graph.inputs().get(index)? {
        GraphInput::Value(id) => Some(program.graph.meta(*id)),
        GraphInput::Constant(_) => None,
    }
}

fn tensor_sizes(value: &Value) -> Option<Vec<Expr>> {
    match value {
        Value::Tensor(t) => Some(t.sizes.to_vec()),
        _ => None,
    }
}

fn show(value: &Number) -> String {
    match value {
        Number::Int(v) => v.to_string(),
        Number::Float(v) => v.to_string(),
        Number::Bool(v) => v.to_string(),
        Number::Ratio(v) => v.to_string(),
    }
}

fn refused(message: String, expr: Option<String>) -> Refused {
    Refused { message, node: None, expr, guard: None, malformed: false }
}

/// Whether an exported module takes a value for a constant input: one that is equal in Python's sense, and
/// anything for `None`, which it does not check.
fn taken(constant: &Constant, value: &Shape) -> bool {
    let same = |c: &Int, v: &Number| match v {
        Number::Float(v) => c.partial_cmp_f64(*v) == Some(Ordering::Equal),
        other => other.as_int().is_some_and(|v| v == *c),
    };
    match (constant, value) {
        (Constant::None, _) => true,
        (Constant::Int(c), Shape::Scalar(v)) => same(&Int::from(*c), v),
        (Constant::Bool(c), Shape::Scalar(v)) => same(&Int::from(i64::from(*c)), v),
        (Constant::Float(c), Shape::Scalar(Number::Float(v))) => c == v || c.is_nan() && v.is_nan(),
        (Constant::Float(c), Shape::Scalar(v)) => {
            v.as_int().is_some_and(|v| v.partial_cmp_f64(*c) == Some(Ordering::Equal))
        }
        (Constant::Str(c), Shape::Text(v)) => c == v,
        _ => false,
    }
}

fn malformed(message: String) -> Refused {
    Refused { message, node: None, expr: None, guard: None, malformed: true }
}

/// Refuses inputs for which the program's assertions on data-dependent sizes contradict each other: whatever
/// the data is, one of them fails.
fn some_data_passes(run: &mut Run) -> Result<(), Refused> {
    let Some(assert) = run.env.runtime_asserts().iter().rfind(|assert| assert.certain) else {
        return Ok(());
    };
    let node = run.step(assert.origin).map(|s| s.node().into());
    let clause = assert.clause.to_string();
    let (pool, facts) = run.env.facts();
    let never = pool.bool(false);
    let Verdict::Inconsistent { because } = decide(pool, facts, never, &Budget::small()).verdict else {
        return Ok(());
    };
    let conditions = facts.conditions();
    let shown = because.iter().filter_map(|premise| match premise {
        Premise::Fact(FactId(i)) => conditions.get(*i as usize),
        _ => None,
    });
    let shown: Vec<String> = shown.map(|&e| text::print::expression(pool, e)).collect();
    let message = format!("no data passes the assertions: {}", shown.join(", "));
    Err(Refused { message, node, expr: Some(clause), guard: None, malformed: false })
}

/// A size or number that is given, as a hint.
fn hint_of(actual: &Number) -> Result<Hint, Refused> {
    Ok(match actual {
        Number::Int(v) => {
            Hint::Int(v.to_i64().ok_or_else(|| malformed("a size does not fit in 64 bits".into()))?)
        }
        Number::Float(v) => Hint::Float(*v),
        Number::Bool(v) => Hint::Bool(*v),
        Number::Ratio(_) => return Err(malformed("a rational number is not a size".into())),
    })
}

/// What is wrong with a tensor of another number of dimensions. Without any there is no size to give, and a value is data.
fn dimensions_differ(path: &str, recorded: usize, given: usize) -> String {
    match recorded {
        0 => format!("{path} has no dimensions, not {given}: its sizes are [], and its value is data"),
        _ => format!("{path} has {recorded} dimensions, not {given}"),
    }
}
