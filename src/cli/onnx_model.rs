//! Commands on ONNX models: what they do with inputs, the shapes of their values, and whether they accept all that they
//! declare.
use super::check::{CheckOptions, ReportFormat};
use super::failure::{Failure, Result};
use super::{files, jsonl};
use crate::escape::json_text;
use crate::onnx::check::{
    Condition, Filled, Report, ShownSize, Sizes, Stated, Verdict, check, evaluate, shapes,
};
use crate::onnx::read::{Model, is_model};
use crate::query::{Fields, Refusal};
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;

/// The model in a file, if the file is one.
///
/// # Errors
/// When it is a damaged one, or of a version that is not read.
pub fn model(name: &str, bytes: &[u8]) -> Result<Option<Model>> {
    if !name.ends_with(".onnx") && !is_model(bytes) {
        return Ok(None);
    }
    match Model::read(bytes.to_vec()) {
        Ok(model) => Ok(Some(model)),
        Err(error) => Err(Failure::program(format!("{name}: {error}"))),
    }
}

/// `eval`: what happens to inputs of given sizes in onnxruntime, a request a line.
pub fn eval(model: &Model, jobs: u16) -> Result<ExitCode> {
    Ok(jsonl::run(jobs, &|request| answer(model, request)))
}

pub(super) fn answer(model: &Model, request: &Fields) -> std::result::Result<Fields, Refusal> {
    let wrong = |what: &str| Refusal::invalid(format!("expected {what}"));
    let given = request.get("shapes").and_then(Json::as_object);
    let given = given.ok_or_else(|| wrong("`shapes`, an object of lists of sizes"))?;
    let mut sizes: FxHashMap<String, Vec<i64>> = FxHashMap::default();
    for (name, list) in given {
        let list = list.as_array().and_then(|list| list.iter().map(Json::as_i64).collect());
        sizes.insert(name.clone(), list.ok_or_else(|| wrong("a list of sizes for each input"))?);
    }
    let mut filled: FxHashMap<String, Filled> = FxHashMap::default();
    for (name, value) in request.get("values").and_then(Json::as_object).into_iter().flatten() {
        let number = |json: &Json| json.as_f64().or_else(|| json.as_bool().map(|b| f64::from(u8::from(b))));
        let value = match value {
            Json::Array(items) => items.iter().map(number).collect::<Option<_>>().map(Filled::List),
            Json::String(text) if text == "zeros" => Some(Filled::All(0.0)),
            value => number(value).map(Filled::All),
        };
        filled.insert(name.clone(), value.ok_or_else(|| wrong("numbers as `values`"))?);
    }
    let mut fields = Fields::new();
    match evaluate(model, &sizes, &filled) {
        Ok(evaluated) => {
            fields.insert("ok".into(), true.into());
            fields.insert(
                "outputs".into(),
                evaluated
                    .outputs
                    .iter()
                    .map(|sizes| sizes.as_ref().map(|s| s.iter().map(evaluated_size).collect::<Json>()))
                    .collect(),
            );
        }
        Err(refused) => {
            fields.insert("ok".into(), false.into());
            if refused.is_unsupported {
                fields.insert("error_kind".into(), "unsupported".into());
            }
            fields.insert("error".into(), refused.message.into());
            fields.insert("node".into(), refused.node.into());
            fields.insert("expr".into(), refused.expr.into());
        }
    }
    Ok(fields)
}

/// `show --as shapes`: the shapes of all values.
pub fn show(model: &Model, output: Option<&Path>) -> Result<ExitCode> {
    let shapes = shapes(model);
    let symbols: Fields = shapes
        .symbols
        .iter()
        .map(|named| {
            let source = named.source.as_ref().map(|(input, dim)| format!("{input}[{dim}]"));
            (named.name.clone(), json!({"source": source, "name": named.declared}))
        })
        .collect();
    let mut values = Fields::new();
    for (name, shown) in shapes.values {
        let mut value = json!({"dtype": shown.dtype.map(|dtype| dtype.name()), "shape": null});
        if let Some(sizes) = shown.shape {
            value["shape"] = sizes.iter().map(size).collect();
            if sizes.iter().any(|size| matches!(size, ShownSize::Open(Some(_)))) {
                value["upper_bound"] = sizes.iter().map(bound).collect();
            }
        }
        values.insert(name, value);
    }
    let text = json_text(json!({"symbols": symbols, "values": values}).to_string());
    files::write(output, &(text + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn size(size: &ShownSize) -> Json {
    match size {
        ShownSize::Number(number) => (*number).into(),
        ShownSize::Text(text) => text.as_str().into(),
        ShownSize::Open(_) => Json::Null,
    }
}

/// A size of an output; one that data decide is a name.
fn evaluated_size(size: &ShownSize) -> Json {
    match size {
        ShownSize::Open(name) => name.as_deref().into(),
        known => self::size(known),
    }
}

fn bound(size: &ShownSize) -> Json {
    match size {
        ShownSize::Open(bound) => bound.as_deref().into(),
        known => self::size(known),
    }
}

/// `check`: whether the model accepts every input that it declares.
pub fn report(model: &Model, name: &str, options: &CheckOptions) -> Result<ExitCode> {
    if options.spec.is_some() {
        return Err(Failure::usage(
            "a spec for an ONNX model is not supported yet; what it declares is checked",
        ));
    }
    let report = check(model);
    let text = match options.format {
        ReportFormat::Json => json_text(to_json(&report, name).to_string()) + "\n",
        ReportFormat::Text => to_text(&report, name),
        _ => return Err(Failure::usage("the report on an ONNX model is text or JSON")),
    };
    files::write(options.output.as_deref(), &text)?;
    Ok(ExitCode::from(match report.verdict {
        Verdict::Ok => 0,
        Verdict::Violated => 1,
        Verdict::Unknown => 4,
    }))
}

fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Ok => "ok",
        Verdict::Violated => "violated",
        Verdict::Unknown => "unknown",
    }
}

fn condition(condition: &Condition) -> Json {
    json!({"expr": condition.expr, "node": condition.node, "op": condition.op, "because": condition.because})
}

fn to_json(report: &Report, name: &str) -> Json {
    let violated = report.violations.iter().map(|violation| {
        let mut guard = condition(&violation.condition);
        guard["verdict"] = "violated".into();
        guard["message"] = violation.message.as_str().into();
        guard["inputs"] = json!(violation.inputs);
        guard
    });
    let undecided = report.undecided.iter().map(|(open, reason)| {
        let mut guard = condition(open);
        guard["verdict"] = "unknown".into();
        guard["reason"] = reason.as_str().into();
        guard
    });
    let guards: Vec<Json> = violated.chain(undecided).collect();
    let mismatches: Vec<Json> = report
        .wrong_outputs
        .iter()
        .map(|wrong| {
            json!({"output": wrong.output, "dim": wrong.dim, "declared": wrong.declared, "derived": wrong.derived,
                "inputs": wrong.inputs})
        })
        .collect();
    let unsupported: Vec<Json> = report
        .unknown
        .iter()
        .map(|(node, op, reason)| json!({"node": node, "op": op, "reason": reason}))
        .collect();
    let conditions: Vec<Json> = report.conditions.iter().map(condition).collect();
    let mut json = json!({"program": name, "verdict": verdict(report), "guards": guards, "mismatches": mismatches,
        "unsupported": unsupported, "conditions": conditions});
    if let Some(suffices) = report.suffices {
        let of = |(expr, verdict): &(String, Stated)| json!({"expr": expr, "verdict": stated(*verdict)});
        json["stated"] = report.stated.iter().map(of).collect();
        json["stated_suffices"] = suffices.into();
    }
    json
}

/// Whether the model needs a condition that its file states.
fn stated(verdict: Stated) -> &'static str {
    match verdict {
        Stated::Needed => "needed",
        Stated::NotNeeded => "not needed",
        Stated::Unknown => "unknown",
    }
}

/// Sizes by input: `x: [2, 3], y: [3]`.
fn sizes(inputs: &Sizes) -> String {
    inputs.iter().map(|(name, sizes)| format!("{name}: {sizes:?}")).collect::<Vec<_>>().join(", ")
}

fn to_text(report: &Report, name: &str) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for violation in &report.violations {
        let condition = &violation.condition;
        let _ = writeln!(text, "error: the model declares inputs that break `{}`", condition.expr);
        let _ =
            writeln!(text, "  --> node `{}` ({}), by {}", condition.node, condition.op, condition.because);
        let _ = writeln!(text, "  for example  {}", sizes(&violation.inputs));
        let _ = writeln!(text, "  then         {}\n", violation.message);
    }
    for wrong in &report.wrong_outputs {
        let (output, dim) = (&wrong.output, wrong.dim);
        let _ = writeln!(text, "error: the output `{output}` is declared as {}, at {dim}", wrong.declared);
        let _ = writeln!(text, "  it is        {}", wrong.derived);
        let _ = writeln!(text, "  for example  {}\n", sizes(&wrong.inputs));
    }
    for (open, reason) in &report.undecided {
        let _ = writeln!(text, "warning: `{}` is undecided: {reason}", open.expr);
        let _ = writeln!(text, "  --> node `{}` ({})\n", open.node, open.op);
    }
    for (node, op, reason) in &report.unknown {
        let _ = writeln!(text, "warning: the result of node `{node}` ({op}) is not known: {reason}\n");
    }
    for (expr, verdict) in report.stated.iter().filter(|(_, verdict)| *verdict != Stated::Needed) {
        let _ = writeln!(text, "note: the file states `{expr}`: {}\n", stated(*verdict));
    }
    if report.suffices == Some(false) {
        let _ = writeln!(text, "note: what the file states does not suffice for the model to run\n");
    }
    let _ = writeln!(
        text,
        "{name}: {} ({} violated, {} wrong outputs, {} undecided). Assumed: sizes of at least 1, equal names equal.",
        verdict(report),
        report.violations.len(),
        report.wrong_outputs.len(),
        report.undecided.len() + report.unknown.len(),
    );
    text
}
