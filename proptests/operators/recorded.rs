//! Calls that were recorded with torch, generalised: sizes become symbols.
use super::choices::Choices;
use super::law::{Call, NAMES};
use flate2::read::GzDecoder;
use serde_json::{Map, Value as Json};
use sizewise::ir::schema::{ArgSpec, SchemaTable, Type};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// The recorded calls by overload.
pub fn calls() -> BTreeMap<String, Vec<Map<String, Json>>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ops.jsonl.gz");
    let lines = BufReader::new(GzDecoder::new(File::open(path).expect("the recorded calls"))).lines();
    let mut calls: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for line in lines {
        let line = line.expect("a line");
        let Ok(Json::Object(call)) = serde_json::from_str(&line) else { panic!("no call: {line}") };
        let op = call.get("op").and_then(Json::as_str).expect("an operator").to_string();
        calls.entry(op).or_default().push(call);
    }
    calls
}

/// Puts symbols in the place of sizes.
struct Generalise<'a, 'c> {
    choices: &'a mut Choices<'c>,
    hints: Vec<i64>,
}

impl Generalise<'_, '_> {
    /// A size as a symbol with this hint, one made before or a fresh one; or as it is.
    fn size(&mut self, size: &Json) -> Json {
        let Some(value) = size.as_i64().filter(|v| *v >= 0) else { return size.clone() };
        if self.choices.rarely(1, 6) {
            return size.clone();
        }
        let known = self.hints.iter().position(|h| *h == value);
        match known {
            Some(i) if !self.choices.rarely(1, 4) => NAMES[i].into(),
            _ if self.hints.len() < NAMES.len() => {
                self.hints.push(value);
                NAMES[self.hints.len() - 1].into()
            }
            Some(i) => NAMES[i].into(),
            None => size.clone(),
        }
    }

    fn sizes(&mut self, sizes: &Json) -> Json {
        sizes.as_array().map_or(Json::Null, |items| items.iter().map(|s| self.size(s)).collect())
    }

    fn tensor(&mut self, tensor: &Json) -> Json {
        let Some(fields) = tensor.as_object() else { return tensor.clone() };
        let mut fields = fields.clone();
        let sizes = self.sizes(&fields["shape"]);
        // Strides are those of a contiguous tensor unless they were recorded as others: then they stay numbers where
        // no symbol is.
        let contiguous = |sizes: &Json, strides: &Json| {
            let numbers = |j: &Json| -> Vec<i64> {
                j.as_array().map_or(Vec::new(), |a| a.iter().filter_map(Json::as_i64).collect())
            };
            let (sizes, strides) = (numbers(sizes), numbers(strides));
            let mut expected = 1;
            sizes.iter().zip(&strides).rev().all(|(n, s)| {
                let same = *s == expected;
                expected *= (*n).max(1);
                same
            })
        };
        if fields.get("stride").is_none_or(|s| s.is_null() || contiguous(&fields["shape"], s)) {
            fields.remove("stride");
            fields.insert("shape".into(), sizes);
        }
        Json::Object(fields)
    }

    fn argument(&mut self, argument: &Json, spec: Option<&ArgSpec>) -> Json {
        let symbolic = spec.is_some_and(|s| takes_symbols(&s.ty));
        let Some((kind, content)) = argument.as_object().and_then(|o| o.iter().next()) else {
            return argument.clone();
        };
        let content = match kind.as_str() {
            "tensor" => self.tensor(content),
            "tensors" => {
                content.as_array().map_or(Json::Null, |items| items.iter().map(|t| self.tensor(t)).collect())
            }
            "ints" if symbolic && self.choices.rarely(1, 2) => self.sizes(content),
            "int" if symbolic && self.choices.rarely(1, 4) => self.size(content),
            _ => content.clone(),
        };
        Json::Object([(kind.clone(), content)].into_iter().collect())
    }
}

/// Whether the schema says `SymInt`.
fn takes_symbols(ty: &Type) -> bool {
    match ty {
        Type::Int { symbolic } => *symbolic,
        Type::Optional(inner) | Type::List(inner, _) => takes_symbols(inner),
        _ => false,
    }
}

/// A recorded call with symbols for sizes.
pub fn generalise(recorded: &Map<String, Json>, choices: &mut Choices) -> Call {
    let mut generalise = Generalise { choices, hints: Vec::new() };
    let none = Vec::new();
    let args = recorded.get("args").and_then(Json::as_array).unwrap_or(&none);
    let op = recorded.get("op").and_then(Json::as_str).unwrap_or_default();
    let specs = SchemaTable::global().get(op).map_or(&[][..], |schema| &schema.args);
    let args = args.iter().enumerate().map(|(i, a)| generalise.argument(a, specs.get(i))).collect();
    let empty = Map::new();
    let kwargs = recorded.get("kwargs").and_then(Json::as_object).unwrap_or(&empty);
    let kwargs = kwargs.iter().map(|(name, a)| {
        let spec = specs.iter().find(|s| s.name == *name);
        (name.clone(), generalise.argument(a, spec))
    });
    let kwargs = kwargs.collect();
    Call { op: op.to_string(), args, kwargs, hints: generalise.hints }
}
