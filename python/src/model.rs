//! ONNX models: the same questions as to exported programs, and the same reports.
use crate::errors::Kind;
use crate::program::Refusal;
use serde_json::{Value as Json, json};
use sizewise::Budget;
use sizewise::onnx::check::{
    self as onnx, Declaration, Evaluated, Filled, ShownSize, declared_spec, dimension, evaluate_fully,
    explanations, guard_set, widen,
};
use sizewise::onnx::read::Model as Message;
use sizewise::onnx::redeclare::redeclare;
use sizewise::onnx::report;
use sizewise::onnx::walk::inputs;
use sizewise::report::guard_code::GuardSet;
use sizewise::report::{Explanation, GraphView, Report};
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
            let name = known(name)?;
            // A tensor without dimensions is given by its value.
            sizes.entry(name.clone()).or_insert_with(Vec::new);
            filled.insert(name, Filled::All(number));
        }
        match evaluate_fully(&self.message, &sizes, &filled) {
            Ok(Evaluated { outputs, left }) => {
                let sizes =
                    |sizes: &Vec<ShownSize>| sizes.iter().map(ShownSize::known_json).collect::<Json>();
                let outputs: Json = outputs.iter().map(|output| output.as_ref().map(sizes)).collect();
                Ok(json!({"ok": true, "outputs": outputs, "runtime_asserts": left}))
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

    /// The widest spec under which it is right, and whether one was found: else what it declares.
    pub fn widest(&self) -> (Json, bool) {
        match widen(&self.message, &Budget::default()) {
            Some(spec) => (spec, true),
            None => (self.spec(), false),
        }
    }

    /// The conditions that a checker of sizes checks.
    pub fn guards(&self) -> Result<GuardSet, Refusal> {
        guard_set(&self.message, &self.name).map_err(|error| Refusal(Kind::Unsupported, error.to_string()))
    }

    /// The bytes of the model with other declarations, a list in JSON.
    pub fn redeclared(&self, declarations: &str) -> Result<Vec<u8>, Refusal> {
        let wrong = |what: String| Refusal(Kind::Spec, what);
        let list: Vec<Json> = serde_json::from_str(declarations).map_err(|error| wrong(error.to_string()))?;
        let read =
            |json: &Json| Declaration::of_json(json).ok_or_else(|| wrong(format!("{json} declares nothing")));
        let declarations = list.iter().map(read).collect::<Result<Vec<Declaration>, Refusal>>()?;
        redeclare(&self.bytes, &declarations).map_err(|error| Refusal(Kind::Program, error.to_string()))
    }

    /// What the model needs of a dimension, `x.shape[0]` or `x.0`.
    pub fn explain(&self, name: &str) -> Result<Explanation, Refusal> {
        let unknown = || Refusal(Kind::Spec, format!("the model has no dimension {name:?}"));
        let place = dimension(&self.message, name).ok_or_else(unknown)?;
        explanations(&self.message, &[place]).pop().ok_or_else(unknown)
    }
}
