//! ONNX models: the same questions as to exported programs, and the same reports.
use crate::errors::Kind;
use crate::program::Refusal;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use sizewise::ir::Dtype;
use sizewise::onnx::check::{
    self as onnx, Condition, Evaluated, Filled, Shapes, ShownSize, ShownValue, Sizes, Verdict, check,
    evaluate,
};
use sizewise::onnx::read::Model as Message;
use sizewise::onnx::walk::{Given, inputs};
use sizewise::report::{
    Assumed, Cause, ConditionKind, Diagnostic, GraphView, GuardReport, GuardVerdict, Level, MismatchReport,
    NodeView, Outcome, ProgramInfo, Report, SCHEMA_VERSION, SymbolReport, TensorInfo, Tool, Traced,
    UnsupportedReport, ValueView,
};
use std::collections::HashSet;

/// A model that was read.
pub struct Model {
    name: String,
    sha256: String,
    message: Message,
}

impl Model {
    /// Reads the bytes of a file.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Model, Refusal> {
        let wrong = |error: sizewise::onnx::read::ReadError| Refusal(Kind::Program, error.to_string());
        let message = Message::read(bytes.to_vec()).map_err(wrong)?;
        Ok(Model { name: name.to_string(), sha256: hash(bytes), message })
    }

    /// Checks whether it accepts every input that it declares.
    pub fn check(&self) -> Report {
        let found = check(&self.message);
        let shapes = onnx::shapes(&self.message);
        let value = |name: &str| info(name, shapes.values.get(name));
        Report {
            schema_version: SCHEMA_VERSION,
            tool: Tool { name: "sizewise".into(), version: env!("CARGO_PKG_VERSION").into() },
            program: ProgramInfo {
                path: self.name.clone(),
                sha256: self.sha256.clone(),
                nodes: self.message.graph.node.len(),
                dialect: "ONNX".into(),
                torch_version: String::new(),
            },
            verdict: match found.verdict {
                Verdict::Ok => Outcome::Ok,
                Verdict::Violated => Outcome::Violated,
                Verdict::Unknown => Outcome::Unknown,
            },
            assumed: Assumed::Contract,
            inputs: inputs(&self.message).iter().map(|input| value(&input.name)).collect(),
            outputs: self.message.graph.output.iter().map(|output| value(&output.name)).collect(),
            symbols: shapes.symbols.iter().map(symbol).collect(),
            minimal_guards: found.conditions.iter().map(|condition| condition.expr.clone()).collect(),
            mismatches: found.wrong_outputs.iter().map(mismatch).collect(),
            unsupported: found
                .unknown
                .iter()
                .map(|(node, op, reason)| UnsupportedReport {
                    node: node.clone(),
                    op: op.clone(),
                    reason: reason.clone(),
                })
                .collect(),
            fixes: Vec::new(),
            help: Vec::new(),
            runtime_asserts: Vec::new(),
            ledger: Vec::new(),
            diagnostics: stated(&found),
            timings: indexmap::IndexMap::new(),
            guards: guards(found),
        }
    }

    /// The graph with its shapes, for pages.
    pub fn outline(&self) -> GraphView {
        let Shapes { values, .. } = onnx::shapes(&self.message);
        let graph = &self.message.graph;
        let view = |name: &String| view(name, values.get(name));
        GraphView {
            inputs: inputs(&self.message).iter().map(|input| view(&input.name)).collect(),
            nodes: graph
                .node
                .iter()
                .map(|node| NodeView {
                    name: node.name.clone(),
                    op: node.op_type.clone(),
                    depth: 0,
                    uses: node.input.iter().filter(|name| !name.is_empty()).cloned().collect(),
                    values: node.output.iter().filter(|name| !name.is_empty()).map(view).collect(),
                    location: None,
                    code: None,
                })
                .collect(),
            outputs: graph.output.iter().map(|output| output.name.clone()).collect(),
        }
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
                let sizes = |sizes: &Vec<ShownSize>| sizes.iter().map(evaluated).collect::<Json>();
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
        let entry = |size: &Given| match size {
            Given::Size(_) => Json::Null,
            Given::Name(name) if is_identifier(name) => json!({"dim": name, "min": 1, "max": null}),
            Given::Name(_) | Given::Open => json!("AUTO"),
        };
        let of = |shape: &Vec<Given>| shape.iter().map(entry).collect::<Json>();
        let declared = inputs(&self.message);
        declared
            .into_iter()
            .map(|input| (input.name, json!(input.shape.as_ref().map(of))))
            .collect::<Map<_, _>>()
            .into()
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
        for Condition { expr, node, op, because } in &needed {
            text += &format!("  {expr}\n    node {node} ({op}): {because}\n");
        }
        let conditions: Vec<Json> = needed.iter().map(condition).collect();
        Ok((json!({"dimension": place, "size": shown, "conditions": conditions}), text))
    }
}

/// The hash of a file's bytes in hexadecimal.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The identifiers in an expression.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.split(move |c| !is_word(c))
        .filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_identifier(name: &str) -> bool {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(begins) && name.chars().all(|c| begins(c) || c.is_ascii_digit())
}

fn condition(condition: &Condition) -> Json {
    json!({"expr": condition.expr, "node": condition.node, "op": condition.op, "because": condition.because})
}

/// A size as JSON; `None` for one that data decide.
fn size(size: &ShownSize) -> Json {
    match size {
        ShownSize::Number(number) => json!(number),
        ShownSize::Text(text) => json!(text),
        ShownSize::Open(_) => Json::Null,
    }
}

/// A size of an output; one that data decide is a name.
fn evaluated(size: &ShownSize) -> Json {
    match size {
        ShownSize::Open(name) => json!(name),
        known => self::size(known),
    }
}

fn info(name: &str, value: Option<&ShownValue>) -> TensorInfo {
    let shape = value.and_then(|value| value.shape.as_ref());
    let is_open = |size: &ShownSize| matches!(size, ShownSize::Open(Some(_)));
    let bound = |size: &ShownSize| match size {
        ShownSize::Open(bound) => bound.as_ref().map(|bound| json!(bound)),
        known => Some(self::size(known)),
    };
    TensorInfo {
        name: name.to_string(),
        shape: shape.map(|sizes| sizes.iter().map(size).collect()),
        dtype: dtype(value),
        value: None,
        upper_bound: shape
            .filter(|sizes| sizes.iter().any(is_open))
            .map(|sizes| sizes.iter().map(bound).collect()),
    }
}

fn view(name: &str, value: Option<&ShownValue>) -> ValueView {
    let info = info(name, value);
    ValueView { name: info.name, kind: info.dtype, sizes: info.shape, value: None }
}

fn dtype(value: Option<&ShownValue>) -> String {
    let Some(dtype) = value.and_then(|value| value.dtype) else { return "unknown".to_string() };
    // The names of exported programs, where torch has the type.
    Dtype::from_short_name(dtype.name()).map_or(dtype.name(), Dtype::name).to_string()
}

fn symbol(named: &onnx::Named) -> (String, SymbolReport) {
    let source = named.source.as_ref().map(|(input, dim)| format!("{input}.shape[{dim}]"));
    let report =
        SymbolReport { min: Some(json!(1)), max: None, hint: None, source, dim: named.declared.clone() };
    (named.name.clone(), report)
}

fn mismatch(wrong: &onnx::WrongOutput) -> MismatchReport {
    MismatchReport {
        node: wrong.output.clone(),
        value: format!("{}.shape[{}]", wrong.output, wrong.dim),
        recorded: wrong.declared.clone(),
        derived: wrong.derived.clone(),
        inputs: Some(shown(&wrong.inputs)),
    }
}

fn shown(inputs: &Sizes) -> indexmap::IndexMap<String, Json> {
    inputs.iter().map(|(name, sizes)| (name.clone(), json!(sizes))).collect()
}

/// What the file states of itself, where that is not what the model needs.
fn stated(found: &onnx::Report) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    for (expr, verdict) in &found.stated {
        let what = match verdict {
            onnx::Stated::Needed => continue,
            onnx::Stated::NotNeeded => "the model does not need it",
            onnx::Stated::Unknown => "whether the model needs it is not known",
        };
        let message = format!("the file states `{expr}`: {what}");
        notes.push(Diagnostic::new("stated-condition", Level::Note, message));
    }
    if found.suffices == Some(false) {
        let message = "what the file states does not suffice for the model to run".to_string();
        notes.push(Diagnostic::new("stated-condition", Level::Note, message));
    }
    notes
}

/// The conditions with their verdicts: broken ones, undecided ones, and the rest.
fn guards(found: onnx::Report) -> Vec<GuardReport> {
    let mut guards: Vec<GuardReport> = Vec::new();
    for violation in found.violations {
        let mut guard = guard(&violation.condition, GuardVerdict::Violated);
        guard.inputs = Some(shown(&violation.inputs));
        guard.consequence = Some(violation.message);
        guards.push(guard);
    }
    for (open, reason) in &found.undecided {
        let mut guard = guard(open, GuardVerdict::Unknown);
        guard.reason = Some(reason.clone());
        guards.push(guard);
    }
    for condition in &found.conditions {
        let is_listed = |guard: &GuardReport| {
            guard.expr == condition.expr && guard.node.as_deref() == Some(condition.node.as_str())
        };
        if !guards.iter().any(is_listed) {
            guards.push(guard(condition, GuardVerdict::Implied));
        }
    }
    guards
}

fn guard(condition: &Condition, verdict: GuardVerdict) -> GuardReport {
    GuardReport {
        expr: condition.expr.clone(),
        kind: ConditionKind::Precondition,
        verdict,
        node: Some(condition.node.clone()),
        op: Some(condition.op.clone()),
        location: None,
        decided_by: None,
        because: Vec::new(),
        witness: None,
        inputs: None,
        shown: condition.expr.clone(),
        clause: Some(condition.because.clone()),
        code: None,
        consequence: None,
        reason: None,
        cause: Cause::Operator,
        excludes: None,
        follows: false,
        traced: Traced::Needed,
        more_nodes: 0,
        file: None,
        line: None,
        module: None,
        stack: Vec::new(),
        works: None,
        settled_by: None,
    }
}
