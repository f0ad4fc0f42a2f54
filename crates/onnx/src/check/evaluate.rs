//! What a model does with inputs of given sizes, as onnxruntime does: it enforces ranks and static sizes, not names.
use super::size::ShownSize;
use super::sources::{CHANCE_DECIDES, Decides, SIZES_DECIDE, Sources};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_expr::text::print;
use sizewise_kernels::{Backend, KernelError};
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::{Dtype, Element, Elements, MAX_ELEMENTS, Sequence, Tensor, Value};
use sizewise_onnx_model::walk::{Branches, Given, Input, Walk, WalkStep, declared, filling, inputs, value};
use std::sync::Arc;

/// The elements of an input.
#[derive(Debug, Clone)]
pub enum Filled {
    /// Every element is this number.
    All(f64),
    /// These, row by row, repeated as needed.
    List(Vec<f64>),
    /// These texts, row by row, repeated as needed.
    Texts(Vec<Arc<str>>),
    /// The input is a sequence of tensors of these sizes, or an optional value that holds one.
    Items(Vec<Vec<i64>>),
    /// The input is an optional value that holds nothing.
    Nothing,
}

/// Why a model refuses inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// The node that refuses.
    pub node: Option<String>,
    /// The condition of its operator.
    pub expr: Option<String>,
    /// Whether it is not known what the model does, because a node has no shape function.
    pub is_unsupported: bool,
}

/// What a model makes of inputs.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// The sizes of each output; `None` if it is no tensor or its rank is not known.
    pub outputs: Vec<Option<Vec<ShownSize>>>,
    /// What has to hold of elements that are not followed, if that is asked for.
    pub left: Vec<String>,
}

fn refused(message: String) -> Refused {
    Refused { message, node: None, expr: None, is_unsupported: false }
}

/// Evaluates a model on sizes for each input. Elements are as `filled` says, else 1, 0.5, true and "a".
///
/// # Errors
/// When the model refuses the inputs, or it is not known whether it does.
pub fn evaluate(
    model: &Model,
    sizes: &FxHashMap<String, Vec<i64>>,
    filled: &FxHashMap<String, Filled>,
) -> Result<Evaluated, Refused> {
    evaluate_and_trace(model, sizes, filled).0
}

/// As [`evaluate`], and it is not known either whether the model refuses the inputs where sizes decide that through
/// numbers that are not followed.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_fully(
    model: &Model,
    sizes: &FxHashMap<String, Vec<i64>>,
    filled: &FxHashMap<String, Filled>,
) -> Result<Evaluated, Refused> {
    evaluated(model, sizes, &mut Branches::default(), Asked { filled: Some(filled), is_full: true })
}

/// The first condition that no data decide: sizes through numbers that are not followed, or chance.
fn not_followed(model: &Model, walk: &Walk) -> Option<Refused> {
    let mut sources = None;
    for assert in walk.env.runtime_asserts() {
        let at = *walk.steps.get(assert.origin.0 as usize)?;
        let sources = sources.get_or_insert_with(|| Sources::new(model));
        if let Some(reason) = decides(sources, at) {
            let condition = print::expression(&walk.env.pool, assert.condition);
            let (message, node) = (format!("whether {condition}: {reason}"), Some(at.node().to_owned()));
            return Some(Refused { message, node, expr: None, is_unsupported: true });
        }
    }
    let (left, at, reason) = walk.run_time.iter().find_map(|(step, left)| {
        let at = *walk.steps.get(*step)?;
        let sources = sources.get_or_insert_with(|| Sources::new(model));
        match sources.of_condition(at, left) {
            Decides::Sizes => Some((left, at, SIZES_DECIDE)),
            Decides::Chance => Some((left, at, CHANCE_DECIDES)),
            Decides::Inputs(_) | Decides::Unknown => None,
        }
    })?;
    let says = left.says.replace("{}", at.input(left.input)).replace('#', "that size");
    let (message, node) = (format!("whether {says}: {reason}"), Some(at.node().to_owned()));
    Some(Refused { message, node, expr: None, is_unsupported: true })
}

/// What has to hold of elements that are not followed.
fn left_open(walk: &Walk) -> Vec<String> {
    let print = |e: Expr| print::expression(&walk.env.pool, e);
    let of_sizes = walk.env.runtime_asserts().iter().map(|assert| print(assert.condition));
    let of_elements = walk.run_time.iter().filter_map(|(step, left)| {
        let at = walk.steps.get(*step)?;
        let size = left.size.map_or_else(|| "that size".to_owned(), print);
        let says = left.says.replace("{}", &format!("`{}`", at.input(left.input))).replace('#', &size);
        Some(format!("{says}, at {}", at.node()))
    });
    let mut all: Vec<String> = of_sizes.chain(of_elements).collect();
    let mut seen = FxHashSet::default();
    all.retain(|one| seen.insert(one.clone()));
    all
}

/// What decides the sizes that a node is given, where the elements of no input do.
fn decides<'m>(sources: &Sources<'m>, at: WalkStep<'m>) -> Option<&'static str> {
    let mut reason = SIZES_DECIDE;
    for input in 0..at.count() {
        match sources.of_input(at, input) {
            Decides::Inputs(_) | Decides::Unknown => return None,
            Decides::Chance => reason = CHANCE_DECIDES,
            Decides::Sizes => {}
        }
    }
    Some(reason)
}

/// As [`evaluate`], with the branches that were taken.
pub(super) fn evaluate_and_trace(
    model: &Model,
    sizes: &FxHashMap<String, Vec<i64>>,
    filled: &FxHashMap<String, Filled>,
) -> (Result<Evaluated, Refused>, Branches) {
    let mut taken = Branches::default();
    let found = evaluated(model, sizes, &mut taken, Asked { filled: Some(filled), is_full: false });
    (found, taken)
}

/// Evaluates a model on sizes for each input, whatever their elements are. What only data decide is left open.
///
/// # Errors
/// When the model refuses the sizes with all data, or it is not known whether it does.
pub(super) fn evaluate_for_any_data(
    model: &Model,
    sizes: &FxHashMap<String, Vec<i64>>,
) -> Result<Evaluated, Refused> {
    evaluate_along(model, sizes, Branches::default())
}

/// Evaluates a model on sizes for each input, for all data with which it takes these branches.
///
/// # Errors
/// When the model refuses the sizes with all such data, or it is not known whether it does.
pub(super) fn evaluate_along(
    model: &Model,
    sizes: &FxHashMap<String, Vec<i64>>,
    mut branches: Branches,
) -> Result<Evaluated, Refused> {
    evaluated(model, sizes, &mut branches, Asked { filled: None, is_full: false })
}

/// What is asked of an evaluation.
#[derive(Clone, Copy)]
struct Asked<'f> {
    /// What elements inputs have beside the usual ones; `None` where they are any.
    filled: Option<&'f FxHashMap<String, Filled>>,
    /// Whether conditions that sizes decide must be followed.
    is_full: bool,
}

/// Evaluates a model along the branches, and replaces them with those that were taken.
fn evaluated(
    model: &Model,
    sizes: &FxHashMap<String, Vec<i64>>,
    branches: &mut Branches,
    asked: Asked<'_>,
) -> Result<Evaluated, Refused> {
    let follows = std::mem::take(branches);
    let (env, values) = given(model, sizes, asked)?;
    let mut walk = Walk::new(model, env, true);
    (walk.follows, walk.notes_run_time) = (follows, asked.is_full);
    walk.takes_any_data = asked.filled.is_none();
    let results = walk.run(values);
    *branches = std::mem::take(&mut walk.taken);
    if let Some((step, message)) = walk.unsupported.take().filter(|_| results.is_some()) {
        let node = walk.steps.get(step).map(|step| step.node().to_owned());
        return Err(Refused { message, node, expr: None, is_unsupported: true });
    }
    if asked.filled.is_some()
        && results.is_some()
        && let Some((step, message)) = walk.unknown.first()
    {
        let node = walk.steps.get(*step).map(|step| step.node().to_owned());
        return Err(Refused { message: message.clone(), node, expr: None, is_unsupported: true });
    }
    if let Some(refused) = not_followed(model, &walk).filter(|_| asked.is_full && results.is_some()) {
        return Err(refused);
    }
    if asked.is_full
        && results.is_some()
        && let Some(refused) = misstated(model, sizes, &walk)
    {
        return Err(refused);
    }
    if let Some(refused) =
        results.as_deref().filter(|_| asked.is_full).and_then(|made| of_another_type(model, made))
    {
        return Err(refused);
    }
    match results {
        Some(results) => {
            let size = |e: &Expr| match walk.env.pool.as_int(*e).and_then(|size| size.to_i64()) {
                Some(size) => ShownSize::Number(size),
                None => ShownSize::Open(Some(print::expression(&walk.env.pool, *e))),
            };
            let sizes = |value: &Value| Some(value.tensor()?.shape.as_ref()?.iter().map(size).collect());
            let left = if asked.is_full { left_open(&walk) } else { Vec::new() };
            Ok(Evaluated { outputs: results.iter().map(sizes).collect(), left })
        }
        None => Err(reason(&walk)),
    }
}

/// That it is not known what onnxruntime does with values of which `value_info` states other sizes than they have: it
/// plans memory by those.
fn misstated(model: &Model, given: &FxHashMap<String, Vec<i64>>, walk: &Walk) -> Option<Refused> {
    if model.backend == Backend::Any {
        return None;
    }
    // A name of which inputs have several sizes says nothing.
    let mut named: FxHashMap<String, Option<i64>> = FxHashMap::default();
    for input in inputs(model) {
        let sizes = given.get(&input.name).map(Vec::as_slice).unwrap_or_default();
        for (stated, &size) in input.shape.iter().flatten().zip(sizes) {
            if let Given::Name(name) = stated {
                let known = named.entry(name.clone()).or_insert(Some(size));
                *known = known.filter(|known| *known == size);
            }
        }
    }
    let mut is_other = |stated: &Given, size: &Expr| match (stated, size.as_inline()) {
        (Given::Size(stated), Some(size)) => *stated != size,
        (Given::Name(name), Some(size)) => {
            named.entry(name.clone()).or_insert(Some(size)).is_some_and(|known| known != size)
        }
        _ => false,
    };
    let wrong = model.graph.value_info.iter().find(|info| {
        let stated = declared(&info.name, info.r#type.as_ref()).shape;
        let value = model.number(&info.name).and_then(|number| walk.values.get(number)?.as_ref());
        let made = value.and_then(|value| value.tensor()?.shape.as_ref());
        let (Some(stated), Some(made)) = (stated, made) else { return false };
        stated.len() != made.len() || stated.iter().zip(made).any(|(stated, size)| is_other(stated, size))
    })?;
    let message = format!(
        "value_info states other sizes of `{}` than are computed: what onnxruntime does with them is not known",
        wrong.name
    );
    Some(Refused { message, node: None, expr: None, is_unsupported: true })
}

/// The refusal of a model that declares an output of another type than it makes: onnxruntime does not load it.
fn of_another_type(model: &Model, made: &[Value]) -> Option<Refused> {
    model.graph.output.iter().zip(made).find_map(|(message, made)| {
        let output = declared(&message.name, message.r#type.as_ref());
        let made = match made {
            Value::Tensor(tensor) => output.is_tensor.then_some(tensor.dtype),
            Value::Sequence(sequence) => output.is_sequence.then_some(sequence.dtype),
            _ => None,
        };
        let (name, stated, made) = (&output.name, output.dtype?.name(), made?.name());
        (stated != made)
            .then(|| refused(format!("the output `{name}` is {made}, where the model says {stated}")))
    })
}

/// The values of the inputs for given sizes.
fn given(
    model: &Model,
    sizes: &FxHashMap<String, Vec<i64>>,
    asked: Asked<'_>,
) -> Result<(ShapeEnv, Vec<(String, Value)>), Refused> {
    let mut env = ShapeEnv::new();
    let mut values = Vec::new();
    for input in inputs(model) {
        let value = match &input.held {
            Some(held) => optional(&mut env, held, sizes, asked)?,
            None => given_value(&mut env, &input, sizes, asked)?,
        };
        values.push((input.name, value));
    }
    Ok((env, values))
}

/// The value of an optional input. Of one that is not given nothing is known.
fn optional(
    env: &mut ShapeEnv,
    held: &Input,
    sizes: &FxHashMap<String, Vec<i64>>,
    asked: Asked<'_>,
) -> Result<Value, Refused> {
    let filled = asked.filled.and_then(|filled| filled.get(&held.name));
    let kind: Arc<str> = value(held, Vec::new()).type_name().into();
    Ok(match filled {
        Some(Filled::Nothing) => Value::Optional(None, kind),
        _ if sizes.contains_key(&held.name) || matches!(filled, Some(Filled::Items(_))) => {
            Value::Optional(Some(Box::new(given_value(env, held, sizes, asked)?)), kind)
        }
        _ => Value::Unknown,
    })
}

/// The value of an input that is not optional.
fn given_value(
    env: &mut ShapeEnv,
    input: &Input,
    sizes: &FxHashMap<String, Vec<i64>>,
    asked: Asked<'_>,
) -> Result<Value, Refused> {
    let filled = asked.filled.and_then(|filled| filled.get(&input.name));
    let with_sizes = |env: &mut ShapeEnv, given: &[i64]| -> Vec<Expr> {
        given.iter().map(|&size| env.pool.int(size)).collect()
    };
    if !input.is_tensor {
        let Some(Filled::Items(items)) = filled else { return Ok(value(input, Vec::new())) };
        let dtype = input.dtype.unwrap_or(Dtype::F32);
        let tensors = items.iter().map(|given| {
            let shape = with_sizes(env, given);
            filled_tensor(env, Tensor::new(dtype, shape), None)
        });
        return Ok(Value::Sequence(Sequence::of(dtype, tensors.collect())));
    }
    let Some(given) = sizes.get(&input.name) else {
        return Err(refused(format!("no sizes are given for the input `{}`", input.name)));
    };
    fits(input, given)?;
    let shape = with_sizes(env, given);
    Ok(match value(input, shape) {
        Value::Tensor(tensor) if asked.filled.is_some() => filled_tensor(env, tensor, filled).into(),
        other => other,
    })
}

/// A message without the operator at its beginning.
pub(crate) fn without_operator<'a>(message: &'a str, op: &str) -> &'a str {
    let name = op.rsplit("::").next().unwrap_or(op);
    let rest = [op, name].into_iter().find_map(|name| message.strip_prefix(name)?.strip_prefix(": "));
    rest.unwrap_or(message)
}

fn reason(walk: &Walk) -> Refused {
    let Some(failure) = walk.failures.first() else {
        let message = "the model has too many nodes to visit".to_owned();
        return Refused { message, node: None, expr: None, is_unsupported: true };
    };
    let step = walk.steps.get(failure.step);
    let node = step.map(|step| step.node().to_owned());
    match &failure.error {
        KernelError::Invalid { clause, message, condition } => {
            let op = step.map(WalkStep::op).unwrap_or_default();
            // Of sizes that are given, a condition says no more than that it is false.
            let condition = condition.filter(|e| e.as_literal_bool().is_none());
            let expr =
                condition.map_or_else(|| clause.name().to_owned(), |e| print::expression(&walk.env.pool, e));
            let message = format!("{op}: {}", without_operator(message, &op));
            Refused { message, node, expr: Some(expr), is_unsupported: false }
        }
        KernelError::Unsupported(message) | KernelError::DataDependent { message, .. } => {
            Refused { message: message.clone(), node, expr: None, is_unsupported: true }
        }
    }
}

/// Requires the declared rank and static sizes.
fn fits(input: &Input, given: &[i64]) -> Result<(), Refused> {
    if let Some(size) = given.iter().find(|&&size| size < 0) {
        return Err(refused(format!("a size of `{}` is {size}", input.name)));
    }
    let Some(declared) = &input.shape else { return Ok(()) };
    if declared.len() != given.len() {
        let message =
            format!("`{}` is of rank {}, where the model says {}", input.name, given.len(), declared.len());
        return Err(refused(message));
    }
    for (at, (declared, &given)) in declared.iter().zip(given).enumerate() {
        if let Given::Size(size) = declared
            && *size != given
        {
            return Err(refused(format!(
                "`{}` has the size {given} in dimension {at}, where the model says {size}",
                input.name
            )));
        }
    }
    Ok(())
}

fn filled_tensor(env: &mut ShapeEnv, mut tensor: Tensor, filled: Option<&Filled>) -> Tensor {
    let dtype = tensor.dtype;
    let element = |env: &mut ShapeEnv, number: f64| match dtype {
        Dtype::Bool => Element::Bool(env.pool.bool(number != 0.0)),
        _ if dtype.is_integer() => Element::Int(env.pool.int(number as i64)),
        _ if dtype.is_float() => Element::Float(number),
        _ => Element::Open,
    };
    tensor.elements = match filled {
        None => filling(&env.pool, dtype).map(Elements::Fill),
        Some(Filled::Items(_) | Filled::Nothing) => None,
        Some(Filled::All(number)) => Some(Elements::Fill(element(env, *number))),
        _ if tensor.count() == Some(0) => Some(Elements::List([].into())),
        Some(Filled::List(list)) => repeated(list.iter().map(|&number| element(env, number)), &tensor),
        Some(Filled::Texts(list)) => repeated(list.iter().cloned().map(Element::Text), &tensor),
    };
    tensor
}

/// Elements of a tensor, repeated as needed, if it has not too many.
fn repeated(elements: impl Iterator<Item = Element>, tensor: &Tensor) -> Option<Elements> {
    let elements: Vec<Element> = elements.collect();
    let count = tensor.count().and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|&count| count <= MAX_ELEMENTS && !elements.is_empty())?;
    Some(Elements::List(elements.into_iter().cycle().take(count).collect()))
}
