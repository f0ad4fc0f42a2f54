//! Specs given by additional example inputs, as torch's `AdditionalInputs`: what differs between examples is dynamic.
use super::Contract;
use super::error::SpecError;
use super::initial::place;
use super::inputs::{InputKind, ProgramInput};
use super::locate::{check_names, dimensions, find};
use super::parse::Spec;
use super::parts::check_parts;
use serde_json::{Map, Value as Json, json};
use sizewise_expr::{Expr, Int};
use sizewise_ir::Constant;

impl Spec {
    /// The spec that additional examples make of a program: `"DYNAMIC"` for what differs from the traced
    /// example in any of them, null for the rest. An example mirrors the inputs as a spec does, with a list
    /// of sizes for a tensor and a number for a scalar; an input that it leaves out is as traced.
    ///
    /// # Errors
    /// When an example does not mirror the inputs, or differs in what cannot be dynamic. Paths begin with
    /// `additional_inputs[i]`.
    pub fn of_examples(contract: &Contract, examples: &[Json]) -> Result<Spec, SpecError> {
        let mut tree = Json::Object(Map::new());
        let examples: Vec<(String, Spec)> = examples
            .iter()
            .enumerate()
            .map(|(i, example)| (format!("additional_inputs[{i}]"), Spec::of_tree(example.clone())))
            .collect();
        for (path, example) in &examples {
            check_names(contract, example).map_err(|error| error.within(path))?;
            check_parts(contract, example).map_err(|error| error.within(path))?;
        }
        for input in &contract.inputs {
            let mut entry = match &input.kind {
                InputKind::Tensor { sizes, .. } => Json::Array(vec![Json::Null; sizes.len()]),
                _ => Json::Null,
            };
            for (path, example) in &examples {
                let given = find(contract, example, input).map_err(|error| error.within(path))?;
                let here = format!("{path}.{}", input.path());
                differences(contract, input, given, &here, &mut entry)?;
            }
            place(&mut tree, &input.input.path, entry);
        }
        Ok(Spec::of_tree(tree))
    }

    /// The spec with additional examples replaced by what they make dynamic.
    ///
    /// # Errors
    /// As for [`Spec::of_examples`].
    pub fn resolved(&self, contract: &Contract) -> Result<Spec, SpecError> {
        match &self.examples {
            Some(examples) => Spec::of_examples(contract, examples),
            None => Ok(self.with_parameter_names(contract)),
        }
    }
}

/// Makes dynamic what differs between an example and the traced one.
fn differences(
    contract: &Contract,
    input: &ProgramInput,
    given: &Json,
    path: &str,
    entry: &mut Json,
) -> Result<(), SpecError> {
    let wrong = |message: String| Err(SpecError::new(path, message));
    match (&input.kind, given) {
        (_, Json::Null) => Ok(()),
        (InputKind::Tensor { sizes, .. }, Json::Array(items)) if items.len() == sizes.len() => {
            for (dim, (item, &recorded)) in items.iter().zip(sizes).enumerate() {
                let path = format!("{path}.shape[{dim}]");
                let Some(size) = integer(item).filter(|size| !size.is_negative()) else {
                    return Err(SpecError::new(&path, format!("expected a size, not {item}")));
                };
                if differs(contract, recorded, &size)
                    && let Some(slot) = entry.get_mut(dim)
                {
                    *slot = json!("DYNAMIC");
                }
            }
            Ok(())
        }
        (InputKind::Tensor { sizes, .. }, Json::Array(items)) => {
            wrong(format!("the tensor has {}, the example {}", dimensions(sizes.len()), items.len()))
        }
        (InputKind::Tensor { .. }, _) => {
            wrong(format!("the input is a tensor: expected a list of its sizes, not {given}"))
        }
        (InputKind::Scalar(recorded), Json::Number(_) | Json::Bool(_)) => {
            let same = integer(given).is_some_and(|value| !differs(contract, *recorded, &value));
            if !same {
                *entry = json!("DYNAMIC");
            }
            Ok(())
        }
        (InputKind::Scalar(_), _) => wrong(format!("the input is a number: expected one, not {given}")),
        (InputKind::Constant(constant), _) if is_same(constant, given) => Ok(()),
        (InputKind::Constant(_), _) => wrong(format!(
            "the program made the input constant, and it is {given} here: export the program with it dynamic"
        )),
        (InputKind::Other, _) => wrong(format!("the input has no shape: expected null, not {given}")),
    }
}

fn integer(json: &Json) -> Option<Int> {
    match json {
        Json::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

fn differs(contract: &Contract, recorded: Expr, size: &Int) -> bool {
    contract.example_int(recorded).as_ref() != Some(size)
}

fn is_same(constant: &Constant, given: &Json) -> bool {
    match (constant, given) {
        (Constant::Int(value), Json::Number(number)) => number.to_string() == value.to_string(),
        (Constant::Float(value), Json::Number(number)) => number.as_f64() == Some(*value),
        (Constant::Bool(value), Json::Bool(given)) => value == given,
        (Constant::Str(value), Json::String(given)) => **value == **given,
        _ => false,
    }
}
