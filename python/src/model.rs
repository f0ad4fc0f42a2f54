//! ONNX models: the same questions as to exported programs, and the same reports.
use crate::errors::Kind;
use crate::program::Refusal;
use serde_json::{Value as Json, json};
use sizewise::Budget;
use sizewise::onnx::check::{
    self as onnx, Condition, Evaluated, Filled, ShownSize, check, declared_spec, evaluate,
};
use sizewise::onnx::read::Model as Message;
use sizewise::onnx::report;
use sizewise::onnx::walk::{Given, inputs};
use sizewise::report::{GraphView, Report};
use sizewise::spec::Spec;
use std::collections::HashSet;

/// A model that was read.
pub struct Model {
    name: String,
    bytes: Vec<u8>,
    message: Message,
}

impl Model {
    /// Reads the bytes of a file.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Model, Refusal> {
        let wrong = |error: sizewise::onnx::read::ReadError| Refusal(Kind::Program, error.to_string());
        let message = Message::read(bytes.to_vec()).map_err(wrong)?;
        Ok(Model { name: name.to_string(), bytes: bytes.to_vec(), message })
    }

    /// Checks whether it accepts every input that a spec allows, or that it declares where there is none.
    pub fn check(&self, spec: Option<&Spec>, budget: &Budget) -> Report {
        report::report(&self.message, &self.name, &self.bytes, spec, budget)
    }

    /// The graph with its shapes, for pages.
    pub fn outline(&self) -> GraphView {
        report::outline(&self.message, &onnx::shapes(&self.message))
    }

    /// What happens to inputs of given sizes.
    pub fn evaluate(&self, request: &Json) -> Result<Json, Refusal> {
        let wrong = |what: &str| Refusal(Kind::Spec, what.to_string());
        let names: HashSet<String> = inputs(&self.message).into_iter().map(|input| input.name).collect();
        let known = |name: &String| match names.contains(name) {
            true => Ok(name.clone()),
            false => Err(Refusal(Kind::Spec, format!("the model has no input {name:?}"))),
        };
        let mut sizes = rustc_hash::FxHashMap::default();
        for (name, shape) in request["shapes"].as_object().into_iter().flatten() {
            let shape = shape.as_array().and_then(|list| list.iter().map(Json::as_i64).collect());
            sizes.insert(known(name)?, shape.ok_or_else(|| wrong("sizes are integers of 64 bits"))?);
        }
        let mut filled = rustc_hash::FxHashMap::default();
        for (name, value) in request["scalars"].as_object().into_iter().flatten() {
            let number = value.as_f64().or_else(|| value.as_bool().map(|b| f64::from(u8::from(b))));
            let number = number.ok_or_else(|| wrong("the value of a model's input is a number"))?;
            filled.insert(known(name)?, Filled::All(number));
        }
        match evaluate(&self.message, &sizes, &filled) {
            Ok(Evaluated { outputs }) => {
                let sizes =
                    |sizes: &Vec<ShownSize>| sizes.iter().map(ShownSize::known_json).collect::<Json>();
                let outputs: Json = outputs.iter().map(|output| output.as_ref().map(sizes)).collect();
                Ok(json!({"ok": true, "outputs": outputs}))
            }
            Err(refused) if refused.is_unsupported => Err(Refusal(Kind::Unsupported, refused.message)),
            Err(refused) => {
                Ok(json!({"ok": false, "error": refused.message, "node": refused.node, "expr": refused.expr}))
            }
        }
    }

    /// The sizes that it declares of its inputs, as a spec.
    pub fn spec(&self) -> Json {
        declared_spec(&self.message)
    }

    /// What the model needs of a dimension, `x.shape[0]` or `x.0`: data and text.
    pub fn explain(&self, dimension: &str) -> Result<(Json, String), Refusal> {
        let unknown = || Refusal(Kind::Spec, format!("the model has no dimension {dimension:?}"));
        let declared = inputs(&self.message);
        let place = |input: &sizewise::onnx::walk::Input| {
            let rest = dimension.strip_prefix(input.name.as_str())?;
            let at = rest.strip_prefix(".shape[").and_then(|rest| rest.strip_suffix(']'));
            Some((input.clone(), at.or_else(|| rest.strip_prefix('.'))?.parse::<usize>().ok()?))
        };
        let (input, at) = declared.iter().find_map(place).ok_or_else(unknown)?;
        let size = input.shape.as_ref().and_then(|shape| shape.get(at)).ok_or_else(unknown)?;
        let place = format!("{}.shape[{at}]", input.name);
        if let Given::Size(size) = size {
            let text = format!("{place} is static: {size}\nThe model declares it.\n");
            return Ok((json!({"dimension": place, "static": size, "conditions": []}), text));
        }
        let shapes = onnx::shapes(&self.message);
        let shown = shapes.values.get(&input.name).and_then(|value| value.shape.as_ref()?.get(at));
        let Some(ShownSize::Text(shown)) = shown else { return Err(unknown()) };
        let words: HashSet<&str> = words(shown).collect();
        let needed: Vec<Condition> = check(&self.message)
            .conditions
            .into_iter()
            .filter(|condition| self::words(&condition.expr).any(|word| words.contains(word)))
            .collect();
        let mut text = format!("{place} is dynamic: {shown}\n");
        for Condition { shown, node, op, because, .. } in &needed {
            text += &format!("  {shown}\n    node {node} ({op}): {because}\n");
        }
        let conditions: Vec<Json> = needed.iter().map(condition).collect();
        Ok((json!({"dimension": place, "size": shown, "conditions": conditions}), text))
    }
}

/// The identifiers in an expression.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.split(move |c| !is_word(c))
        .filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

fn condition(condition: &Condition) -> Json {
    json!({"expr": condition.expr, "node": condition.node, "op": condition.op, "because": condition.because})
}
