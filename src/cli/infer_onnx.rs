//! `sizewise infer-onnx`: shape inference of one ONNX operator call a line.
use super::args::{Jsonl, backend};
use super::failure::Result;
use super::jsonl;
use crate::kernels::Backend;
use crate::onnx_model::shape::{
    Attribute, Call, Dtype, Element, Known, MAX_ELEMENTS, Sequence, Tensor, Value, infer, unsupported_version,
};
use crate::query::argument::read_int;
use crate::query::infer::declare_symbols;
use crate::query::{Fields, Refusal, only};
use clap::Args;
use serde_json::{Value as Json, json};
use sizewise_env::ShapeEnv;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Pool};
use sizewise_kernels::{Cx, KernelError};
use std::cell::RefCell;
use std::process::ExitCode;

/// Options of `infer-onnx`.
#[derive(Args, Debug)]
pub struct InferOnnxOptions {
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
    /// The backend that runs the operators: onnxruntime, or any, which requires only what the specification requires.
    #[arg(long, default_value = Backend::ONNXRUNTIME, value_parser = backend())]
    pub backend: Backend,
}

/// Runs the command.
pub fn run(options: &InferOnnxOptions) -> Result<ExitCode> {
    Ok(jsonl::run(options.jsonl.jobs, &|request| answer_on(request, options.backend)))
}

type Read<T> = std::result::Result<T, Refusal>;

/// The most dimensions of a tensor that are read.
const MAX_RANK: usize = 64;
/// The most inputs or outputs of a call.
const MAX_VALUES: usize = 10_000;

/// Answers one request, for onnxruntime.
pub fn answer(request: &Fields) -> Read<Fields> {
    answer_on(request, Backend::Cpu)
}

/// The fields of a request. The last three are those of a recorded call, and are not read.
const REQUEST: &[&str] =
    &["id", "op", "domain", "opset", "attrs", "inputs", "outs", "symbols", "expect", "group", "from"];
/// The fields of an input.
const INPUT: &[&str] = &["dtype", "shape", "value", "const", "seq"];

fn answer_on(request: &Fields, backend: Backend) -> Read<Fields> {
    only(request, REQUEST)?;
    let text = |field: &str| request.get(field).and_then(Json::as_str);
    let op = text("op").ok_or_else(|| Refusal::invalid("expected `op`, such as \"Conv\""))?;
    let version = request.get("opset").and_then(Json::as_i64);
    let version =
        version.ok_or_else(|| Refusal::invalid("expected `opset`, the version of the operator's domain"))?;
    let mut env = ShapeEnv::new();
    declare_symbols(&mut env, request.get("symbols"))?;
    let attributes = attributes(&mut env, request.get("attrs"))?;
    let inputs = list(request.get("inputs"), "inputs")?;
    let inputs: Vec<Option<Value>> =
        inputs.iter().map(|input| value(&mut env, input)).collect::<Read<_>>()?;
    let inputs: Vec<Option<&Value>> = inputs.iter().map(Option::as_ref).collect();
    let outputs = outputs(request.get("outs"))?;
    let (domain, attributes) = (text("domain").unwrap_or(""), attributes.as_slice());
    if let Some(error) = unsupported_version(version, backend).filter(|_| domain.is_empty()) {
        return Err(refusal(error));
    }
    let (inputs, outputs) = (inputs.as_slice(), outputs.as_slice());
    // Inputs that are no constants have any sizes.
    let (is_run, found_at_load, doubts) = (true, &|_, _| Known::No, &RefCell::default());
    let call = Call { domain, op, version, attributes, inputs, outputs, is_run, found_at_load, doubts };
    let values = infer(&mut Cx::on(&mut env, backend), &call).map_err(refusal)?;
    let shown = |conditions: &mut dyn Iterator<Item = Expr>| -> Vec<Json> {
        conditions.map(|e| print::expression(&env.pool, e).into()).collect()
    };
    let guards = shown(&mut env.guards().iter().map(|guard| guard.condition));
    let asserts = shown(&mut env.runtime_asserts().iter().map(|assert| assert.condition));
    let written: Vec<Json> = values.iter().map(|value| written(&env.pool, value.as_ref())).collect();
    let mut fields = Fields::new();
    fields.insert("outputs".into(), written.into());
    fields.insert("guards".into(), guards.into());
    if !asserts.is_empty() {
        fields.insert("asserts".into(), asserts.into());
    }
    Ok(fields)
}

fn refusal(error: KernelError) -> Refusal {
    match error {
        KernelError::Invalid { clause, message, .. } => {
            Refusal { clause: Some(clause), ..Refusal::no_result("invalid", message) }
        }
        KernelError::Unsupported(message) => Refusal::no_result("unsupported", message),
        KernelError::DataDependent { message, .. } => Refusal::no_result("data_dependent", message),
    }
}

fn list<'j>(json: Option<&'j Json>, what: &str) -> Read<&'j [Json]> {
    match json {
        None | Some(Json::Null) => Ok(&[]),
        Some(Json::Array(items)) if items.len() <= MAX_VALUES => Ok(items),
        Some(_) => Err(Refusal::invalid(format!("expected a list of {what}, of at most {MAX_VALUES}"))),
    }
}

/// Which outputs are asked for: their number, or a flag for each.
fn outputs(json: Option<&Json>) -> Read<Vec<bool>> {
    let wrong = || Refusal::invalid("expected `outs`, the number of outputs or a flag for each");
    match json {
        None => Ok(vec![true]),
        Some(Json::Array(flags)) if flags.len() <= MAX_VALUES => {
            flags.iter().map(|flag| flag.as_i64().map(|flag| flag != 0).ok_or_else(wrong)).collect()
        }
        Some(json) => {
            let count = json.as_u64().filter(|&count| count <= MAX_VALUES as u64).ok_or_else(wrong)?;
            Ok(vec![true; count as usize])
        }
    }
}

fn attributes<'j>(env: &mut ShapeEnv, json: Option<&'j Json>) -> Read<Vec<(&'j str, Attribute)>> {
    let fields = match json {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Object(fields)) => fields,
        Some(_) => return Err(Refusal::invalid("expected an object of `attrs`")),
    };
    fields.iter().map(|(name, value)| Ok((name.as_str(), attribute(env, name, value)?))).collect()
}

fn attribute(env: &mut ShapeEnv, name: &str, json: &Json) -> Read<Attribute> {
    let wrong = || {
        Refusal::invalid(format!(
            "the attribute `{name}` is not understood; expected its kind and value, such as {{\"i\": 1}}, \
             {{\"ints\": [1, 2]}}, {{\"f\": 0.5}} or {{\"s\": \"same\"}}"
        ))
    };
    let (kind, value) = json.as_object().and_then(|object| object.iter().next()).ok_or_else(wrong)?;
    let float = |value: &Json| match value {
        Json::String(text) => text.parse().ok(),
        value => value.as_f64(),
    };
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let items = || value.as_array().ok_or_else(wrong);
    Ok(match kind.as_str() {
        "i" => Attribute::Int(value.as_i64().ok_or_else(wrong)?),
        "f" => Attribute::Float(float(value).ok_or_else(wrong)?),
        "s" => Attribute::Text(text(value).ok_or_else(wrong)?),
        "ints" => {
            Attribute::Ints(items()?.iter().map(Json::as_i64).collect::<Option<_>>().ok_or_else(wrong)?)
        }
        "floats" => Attribute::Floats(items()?.iter().map(float).collect::<Option<_>>().ok_or_else(wrong)?),
        "strings" => Attribute::Texts(items()?.iter().map(text).collect::<Option<_>>().ok_or_else(wrong)?),
        "t" => Attribute::Tensor(tensor(env, value)?),
        "g" => Attribute::Other('g'),
        _ => return Err(wrong()),
    })
}

fn value(env: &mut ShapeEnv, json: &Json) -> Read<Option<Value>> {
    if json.is_null() {
        return Ok(None);
    }
    if let Json::Object(fields) = json {
        only(fields, INPUT)?;
    }
    let Some(items) = json.get("seq") else { return tensor(env, json).map(|tensor| Some(tensor.into())) };
    let items: Vec<Tensor> =
        list(Some(items), "tensors")?.iter().map(|item| tensor(env, item)).collect::<Read<_>>()?;
    let dtype = match json.get("dtype") {
        Some(name) => dtype(name)?,
        None => items.first().map_or(Dtype::F32, |item| item.dtype),
    };
    Ok(Some(Value::Sequence(Sequence::of(dtype, items))))
}

fn dtype(json: &Json) -> Read<Dtype> {
    let found = json.as_str().and_then(Dtype::from_name);
    found.ok_or_else(|| Refusal::invalid(format!("expected an element type such as \"f32\", got {json}")))
}

fn tensor(env: &mut ShapeEnv, json: &Json) -> Read<Tensor> {
    let dtype = dtype(json.get("dtype").unwrap_or(&Json::Null))?;
    let sizes = json.get("shape").and_then(Json::as_array).filter(|sizes| sizes.len() <= MAX_RANK);
    let sizes =
        sizes.ok_or_else(|| Refusal::invalid(format!("expected a `shape` of at most {MAX_RANK} sizes")))?;
    let shape: Vec<Expr> = sizes.iter().map(|size| read_int(env, size)).collect::<Read<_>>()?;
    if let Some(size) = shape.iter().filter_map(|size| size.as_inline()).find(|&size| size < 0) {
        return Err(Refusal::invalid(format!("a size of the `shape` is {size}")));
    }
    let is_constant = json.get("const").and_then(Json::as_bool).unwrap_or(false);
    let tensor = Tensor::new(dtype, shape).of_call(is_constant);
    Ok(match json.get("value") {
        None | Some(Json::Null) => match filling(env, dtype) {
            Some(element) => tensor.filled(element),
            None => tensor,
        },
        Some(Json::Array(items)) if items.len() <= MAX_ELEMENTS => {
            let elements: Vec<_> = items.iter().map(|item| element(env, dtype, item)).collect();
            tensor.with(elements)
        }
        Some(Json::Array(_)) => tensor,
        Some(single) => {
            let element = element(env, dtype, single);
            tensor.filled(element)
        }
    })
}

/// What every element is where no values are given: 1, 0.5, true, "a".
fn filling(env: &mut ShapeEnv, dtype: Dtype) -> Option<Element> {
    match dtype {
        Dtype::Bool => Some(Element::Bool(env.pool.bool(true))),
        Dtype::Str => Some(Element::Text("a".into())),
        _ if dtype.is_integer() => Some(Element::Int(Expr::ONE)),
        _ if dtype.is_float() => Some(Element::Float(0.5)),
        _ => None,
    }
}

fn element(env: &mut ShapeEnv, dtype: Dtype, json: &Json) -> Element {
    let known = match json {
        Json::Bool(value) if dtype == Dtype::Bool => Some(Element::Bool(env.pool.bool(*value))),
        Json::String(text) if dtype == Dtype::Str => Some(Element::Text(text.as_str().into())),
        Json::Number(number) if dtype == Dtype::Bool => {
            number.as_f64().map(|value| Element::Bool(env.pool.bool(value != 0.0)))
        }
        _ if dtype.is_integer() => read_int(env, json).ok().map(Element::Int),
        Json::Number(number) => number.as_f64().map(Element::Float),
        Json::String(text) => text.parse().ok().map(Element::Float),
        _ => None,
    };
    known.unwrap_or(Element::Open)
}

/// An integer expression as JSON: a number, or its text.
fn size(pool: &Pool, e: Expr) -> Json {
    match e.as_inline() {
        Some(value) => value.into(),
        None => print::expression(pool, e).into(),
    }
}

fn written(pool: &Pool, value: Option<&Value>) -> Json {
    match value {
        None => Json::Null,
        Some(Value::Tensor(tensor)) => written_tensor(pool, tensor),
        Some(Value::Sequence(sequence)) => match &sequence.items {
            Some(items) => {
                let items: Vec<Json> = items.iter().map(|item| written_tensor(pool, item)).collect();
                json!({"seq": items})
            }
            None => json!({"seq": null}),
        },
        Some(Value::Optional(Some(value), _)) => written(pool, Some(value)),
        Some(other) => json!({"kind": other.type_name()}),
    }
}

fn written_tensor(pool: &Pool, tensor: &Tensor) -> Json {
    let shape: Json = match &tensor.shape {
        Some(shape) => shape.iter().map(|&e| size(pool, e)).collect(),
        None => Json::Null,
    };
    let mut fields = json!({"dtype": tensor.dtype.name(), "shape": shape});
    let elements = tensor.list().filter(|list| list.len() <= 64);
    let known: Option<Vec<Json>> =
        elements.and_then(|list| list.iter().map(|e| written_element(pool, e)).collect());
    if let Some(known) = known {
        fields["value"] = known.into();
    }
    fields
}

fn written_element(pool: &Pool, element: &Element) -> Option<Json> {
    Some(match element {
        Element::Int(e) => size(pool, *e),
        Element::Bool(e) => match e.as_literal_bool() {
            Some(value) => value.into(),
            None => print::expression(pool, *e).into(),
        },
        Element::Float(value) => serde_json::Number::from_f64(*value)?.into(),
        Element::Text(text) => text.to_string().into(),
        Element::Quotient(..) | Element::Open => return None,
    })
}
