//! What a check of a model found, as the report that a check of an exported program makes.
use crate::changed::changed;
use crate::check as model;
use crate::check::{
    Condition, Data, Findings, LeftToRunTime, Limits, Named, Rejects, Shapes, ShownSize, ShownValue, Sizes,
    Stated, Verdict, Violation, WrongOutput, check_within, full_name, without_operator,
};
use crate::read::Model;
use crate::shape::condition_text;
use crate::walk::{Given, Input, inputs};
use indexmap::IndexMap;
use serde_json::{Value as Json, json};
use sizewise_check::check::{hash, tool};
use sizewise_check::report::{
    AssertReport, Assumed, Cause, ConditionKind, Diagnostic, Fix, GraphView, GuardReport, GuardVerdict,
    Level, MismatchReport, Needed, Needs, NodeView, Outcome, ProgramInfo, Report, StatedReport, SymbolReport,
    TensorInfo, UnsupportedReport, ValueView, dimensions, every_element,
};
use sizewise_check::spec::Spec;
use sizewise_solve::Budget;

/// The most conditions that a sentence names.
const MAX_NAMED: usize = 3;
/// The most inputs whose sizes a sentence has.
const MAX_INPUTS: usize = 12;
/// The longest spec that is written in one line.
const MAX_LINE: usize = 90;

/// Checks a model that was read from these bytes, under a spec, or under what it declares where there is none. `name`
/// is that of the file; each condition has the budget.
pub fn report(model: &Model, name: &str, bytes: &[u8], spec: Option<&Spec>, budget: &Budget) -> Report {
    let program = ProgramInfo {
        path: name.to_owned(),
        sha256: hash(bytes),
        nodes: model.graph.node.len(),
        dialect: "onnx".to_owned(),
        torch_version: String::new(),
        onnx: Some(versions(model)),
    };
    let assumed = if spec.is_some() { Assumed::Spec } else { Assumed::Declaration };
    let limits = match spec.map(|spec| Limits::new(model, spec)).transpose() {
        Ok(limits) => limits,
        Err(error) => {
            let wrong = Diagnostic::new("spec-does-not-fit", Level::Error, error.to_string());
            let (verdict, diagnostics) = (Outcome::Invalid, vec![wrong]);
            return Report { verdict, diagnostics, ..Report::new(tool(), program, assumed) };
        }
    };
    let found = check_within(model, limits.as_ref(), budget);
    let value = |name: &str| info(name, found.shapes.values.get(name));
    let types = inputs(model);
    let report = Report {
        verdict: match found.verdict {
            Verdict::Ok => Outcome::Ok,
            Verdict::Violated => Outcome::Violated,
            Verdict::Unknown => Outcome::Unknown,
        },
        inputs: types.iter().map(|input| value(&input.name)).collect(),
        outputs: model.graph.output.iter().map(|output| value(&output.name)).collect(),
        symbols: found.shapes.symbols.iter().map(symbol).collect(),
        guards: guards(&found, &types, limits.is_some()),
        minimal_guards: found.conditions.iter().map(|condition| condition.expr.clone()).collect(),
        mismatches: found.wrong_outputs.iter().map(|wrong| mismatch(wrong, &types)).collect(),
        unsupported: found.unknown.iter().map(unsupported).collect(),
        fixes: found.fixes.iter().map(|each| fix(each, model, limits.is_some())).collect(),
        help: help(&found, limits.is_some()),
        diagnostics: diagnostics(&found, limits.is_some()),
        needs: Some(needs(&found)),
        runtime_asserts: found.run_time.iter().map(left_to_run_time).collect(),
        ..Report::new(tool(), program, assumed)
    };
    Report { dimensions: dimensions(&report), ..report }
}

/// `opset 17, com.microsoft 1, made by pytorch 2.15.0`.
fn versions(model: &Model) -> String {
    let mut imports: Vec<(&String, &i64)> = model.imports.iter().collect();
    imports.sort_unstable();
    let of = |(domain, version): (&String, &i64)| match domain.as_str() {
        "" => format!("opset {version}"),
        domain => format!("{domain} {version}"),
    };
    let mut text = imports.into_iter().map(of).collect::<Vec<_>>().join(", ");
    if !model.producer.is_empty() {
        text += &format!(", made by {}", model.producer);
    }
    text
}

/// The conditions with their verdicts: broken ones, undecided ones, and those that the declaration implies.
fn guards(found: &Findings, types: &[Input], has_spec: bool) -> Vec<GuardReport> {
    let of = |condition: &Condition, verdict| guard(condition, verdict);
    let violated = found.violations.iter().map(|violation| GuardReport {
        inputs: Some(shown(&violation.inputs)),
        witness: Some(witness(violation, &found.shapes)),
        values: violation.data.map(|data| elements(data, types)),
        consequence: Some(format!(
            "the model refuses it{}: {}",
            with_elements(violation.data, types),
            violation.message
        )),
        follows: violation.follows,
        undeclarable: violation.condition.is_bound && !has_spec,
        works: match violation.data {
            Some(_) => violation.works.as_ref().map(|(sizes, _)| shown(sizes)),
            None => found.works.as_ref().map(shown),
        },
        works_values: violation.works.as_ref().map(|(_, data)| elements(*data, types)),
        ..of(&violation.condition, GuardVerdict::Violated)
    });
    let undecided = found.undecided.iter().map(|(open, reason)| GuardReport {
        reason: Some(reason.clone()),
        ..of(open, GuardVerdict::Unknown)
    });
    let proved = found.proved.iter().map(|condition| of(condition, GuardVerdict::Implied));
    violated.chain(undecided).chain(proved).collect()
}

/// A condition as texts show it. One that is not on sizes is known by its code: its sentence says more.
fn said(condition: &Condition) -> String {
    let sentence = (!condition.on_sizes).then(|| condition_text(&condition.shown)).flatten();
    let Some(sentence) = sentence else { return condition.shown.clone() };
    let sentence = sentence.trim_end_matches('.').replace('`', "");
    let mut letters = sentence.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            let rest: String = sentence.chars().skip(1).collect();
            format!("{}{rest}", first.to_lowercase())
        }
        _ => sentence,
    }
}

fn guard(condition: &Condition, verdict: GuardVerdict) -> GuardReport {
    GuardReport {
        shown: said(condition),
        node: Some(condition.node.clone()).filter(|node| !node.is_empty()),
        op: Some(condition.op.clone()).filter(|op| !op.is_empty()),
        because: vec![condition.because.clone()],
        clause: Some(condition.because.clone()),
        cause: if condition.node.is_empty() { Cause::Declared } else { Cause::Operator },
        ..GuardReport::new(condition.expr.clone(), ConditionKind::Precondition, verdict)
    }
}

/// What every element of each input is, as `values` of `eval`.
fn elements(data: Data, types: &[Input]) -> IndexMap<String, Json> {
    let tensors = types.iter().filter(|input| input.is_tensor);
    tensors.filter_map(|input| Some((input.name.clone(), data.element(input.dtype?)?))).collect()
}

/// `, every element being: c true, x 0.5`.
fn with_elements(data: Option<Data>, types: &[Input]) -> String {
    let Some(data) = data else { return String::new() };
    every_element(&elements(data, types))
}

/// The values of symbols that a counterexample gives.
fn witness(violation: &Violation, shapes: &Shapes) -> IndexMap<String, Json> {
    let value = |named: &Named| {
        let (input, dim) = named.source.as_ref()?;
        Some((named.name.clone(), json!(violation.inputs.get(input)?.get(*dim)?)))
    };
    shapes.symbols.iter().filter_map(value).collect()
}

/// What else can be done, where no declaration was found under which the model is right.
fn help(found: &Findings, has_spec: bool) -> Vec<String> {
    let own = found.violations.iter().filter(|violation| !violation.follows);
    let own: Vec<&Condition> = own.map(|violation| &violation.condition).collect();
    let mut help = Vec::new();
    if !own.is_empty() && found.fixes.is_empty() {
        let more = if own.len() > MAX_NAMED { " and more" } else { "" };
        let is_one = own.len() == 1;
        let named = own.iter().take(MAX_NAMED).map(|condition| match condition.shown.as_str() {
            either if !is_one && either.contains(" or ") => format!("({either})"),
            shown => shown.to_owned(),
        });
        let named = named.collect::<Vec<_>>().join(" and ");
        help.push(match has_spec {
            true if found.runs_nowhere.is_some() => {
                "no fix: the model refuses all that the spec allows; other sizes of the spec have to change"
                    .to_owned()
            }
            false if found.runs_nowhere.is_some() => {
                "no fix: the model itself is wrong; declare inputs of other sizes, or export it again"
                    .to_owned()
            }
            _ if own.iter().any(|condition| !condition.on_sizes) => {
                "no fix: a node refuses some sizes, and no condition is known that says which; `--spec` with the sizes that you use \
                 says whether these run"
                    .to_owned()
            }
            true => format!("no fix: no narrower spec was found; the model runs only where {named}{more}"),
            false => {
                let what = "no declarations and no spec were found under which every input works";
                format!("no fix: {what}; serve the model only where {named}{more}")
            }
        });
    }
    if !found.wrong_outputs.is_empty() && found.fixes.is_empty() {
        help.push("declare the outputs as they are computed, or leave their sizes open".to_owned());
    }
    help
}

/// Declarations, a spec, or both as a fix.
fn fix(fix: &model::Fix, model: &Model, has_spec: bool) -> Fix {
    let mut lines: Vec<String> = fix.changes.iter().map(model::Declaration::line).collect();
    lines.extend(fix.spec.as_ref().map(|spec| changed_spec(model, spec, fix.before.as_ref())));
    // An ONNX file has names and numbers for sizes, and no ranges.
    let note = match (&fix.spec, fix.changes.is_empty()) {
        (None, _) => None,
        (Some(_), true) => Some("a spec, for --spec: an ONNX file declares no ranges of sizes"),
        (Some(_), false) => {
            Some("the ranges are a spec, for --spec, of the model that declares its sizes so")
        }
    };
    Fix {
        assumptions: Vec::new(),
        text: lines.join("\n"),
        spec: fix.spec.clone(),
        code: fix.spec.as_ref().and_then(python),
        proved: fix.is_proved,
        cost: cost(&fix.rejects, &inputs(model)),
        loses: match fix.rejects {
            Rejects::Nothing => Some(false),
            Rejects::Perhaps => None,
            Rejects::Sizes(_) => Some(true),
        },
        note: note.filter(|_| !has_spec).map(str::to_owned),
        changes: changed(fix, model),
        declarations: fix.changes.iter().map(model::Declaration::json).collect(),
    }
}

/// A spec as Python.
fn python(spec: &Json) -> Option<String> {
    Some(Spec::parse(spec.to_string().as_bytes()).ok()?.to_python())
}

/// What a fix rejects. Inputs of which all sizes are declared as numbers are left out.
fn cost(rejects: &Rejects, inputs: &[Input]) -> Option<String> {
    match rejects {
        Rejects::Nothing => None,
        Rejects::Perhaps => Some("it may also reject sizes at which the model runs".to_owned()),
        Rejects::Sizes(sizes) => {
            let size = |(input, sizes): (&String, &Vec<i64>)| {
                let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
                format!("{input} [{}]", sizes.join(", "))
            };
            let varies = |name: &String| {
                let shape =
                    inputs.iter().find(|input| input.name == *name).and_then(|input| input.shape.as_ref());
                shape.is_none_or(|shape| shape.iter().any(|size| !matches!(size, Given::Size(_))))
            };
            let mut shown: Vec<String> = sizes.iter().filter(|(name, _)| varies(name)).map(size).collect();
            if shown.len() > MAX_INPUTS {
                shown.truncate(MAX_INPUTS);
                shown.push("...".to_owned());
            }
            let shown = shown.join(", ");
            Some(format!("also rejects sizes at which the model runs: {shown}"))
        }
    }
}

/// The part of a spec in which it differs from the one before, as Python: a spec that says the same of the model. Of
/// dimensions to which the model gives one name, the first says it for all.
fn changed_spec(model: &Model, spec: &Json, before: Option<&Json>) -> String {
    let mut changed = serde_json::Map::new();
    let mut said: Vec<String> = Vec::new();
    for input in inputs(model) {
        let Some(entries) = spec.get(&input.name).and_then(Json::as_array) else { continue };
        let known = before.and_then(|before| before.get(&input.name)?.as_array());
        let given = input.shape.as_ref();
        let entry = |(dim, entry): (usize, &Json)| {
            if known.and_then(|known| known.get(dim)) == Some(entry) {
                return Json::Null;
            }
            match given.and_then(|given| given.get(dim)) {
                Some(Given::Name(name)) if said.contains(name) => Json::Null,
                Some(Given::Name(name)) => {
                    said.push(name.clone());
                    entry.clone()
                }
                _ => entry.clone(),
            }
        };
        let entries: Vec<Json> = entries.iter().enumerate().map(entry).collect();
        if entries.iter().any(|entry| !entry.is_null()) {
            changed.insert(input.name, entries.into());
        }
    }
    let spec = Spec::parse(Json::from(changed).to_string().as_bytes());
    let text = spec.map(|spec| spec.to_python()).unwrap_or_default();
    let (names, tree) = text.split_once("dynamic_shapes = ").unwrap_or((&text, ""));
    let mut lines: Vec<&str> = names.lines().filter(|line| line.contains(" = ")).collect();
    let in_one: String = tree.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let in_one = in_one.replace("{ ", "{").replace(", }", "}");
    let whole = format!("dynamic_shapes = {}", if in_one.len() <= MAX_LINE { &in_one } else { tree });
    lines.extend(whole.lines());
    lines.join("\n")
}

fn needs(found: &Findings) -> Needs {
    let needed = |condition: &Condition| Needed {
        expr: condition.expr.clone(),
        node: condition.node.clone(),
        op: condition.op.clone(),
        because: condition.because.clone(),
    };
    let stated = |(expr, verdict): &(String, Stated)| StatedReport {
        expr: expr.clone(),
        verdict: match verdict {
            Stated::Needed => "needed",
            Stated::NotNeeded => "not needed",
            Stated::Unknown => "unknown",
        },
    };
    Needs {
        conditions: found.conditions.iter().map(needed).collect(),
        conditions_complete: found.is_complete(),
        stated: found.stated.iter().map(stated).collect(),
        stated_suffices: found.suffices,
    }
}

/// A condition that the values of inputs decide when the model runs.
fn left_to_run_time(left: &LeftToRunTime) -> AssertReport {
    let condition = &left.condition;
    AssertReport {
        after_node: condition.node.clone(),
        op: Some(condition.op.clone()),
        expr: condition.shown.clone(),
        message: format!("{} needs it ({})", condition.op, condition.because),
        check: String::new(),
        inputs: left.inputs.clone(),
    }
}

fn mismatch(wrong: &WrongOutput, types: &[Input]) -> MismatchReport {
    MismatchReport {
        node: wrong.output.clone(),
        value: wrong.right.place(&wrong.output),
        recorded: wrong.declared.clone(),
        derived: format!("{}{}", wrong.derived, with_elements(wrong.data, types)),
        values: wrong.data.map(|data| elements(data, types)),
        inputs: Some(shown(&wrong.inputs)),
        stack: Vec::new(),
    }
}

fn unsupported((node, op, reason): &(String, String, String)) -> UnsupportedReport {
    let reason = without_operator(reason, op).to_owned();
    UnsupportedReport { node: node.clone(), op: op.clone(), reason, stack: Vec::new() }
}

/// What is said beside the conditions.
fn diagnostics(found: &Findings, has_spec: bool) -> Vec<Diagnostic> {
    let any = if has_spec { " that the spec allows" } else { "" };
    let nowhere = found.runs_nowhere.as_ref().map(|(node, says)| {
        let message = format!(
            "the model runs at no size{any}: {node} refuses its operands whatever the sizes are ({says})"
        );
        Diagnostic { node: Some(node.clone()), ..Diagnostic::new("nothing-works", Level::Note, message) }
    });
    let notes = stated(found).into_iter().chain(precise(found)).chain(incomplete(found));
    notes.chain(by_example(found)).chain(nowhere).collect()
}

/// That sizes are assumed to be such that floats count them exactly.
fn precise(found: &Findings) -> Option<Diagnostic> {
    let shown: Vec<String> = found.precise.iter().map(|condition| format!("`{}`", condition.shown)).collect();
    let message = format!(
        "assumed: {}; the model counts sizes in floating point, which is exact up to there",
        shown.join(", ")
    );
    (!shown.is_empty()).then(|| Diagnostic::new("sizes-in-floats", Level::Note, message))
}

/// What the file states of itself, where that is not what the model needs.
fn stated(found: &Findings) -> Vec<Diagnostic> {
    let note = |message: String| Diagnostic::new("stated-condition", Level::Note, message);
    let of = |(expr, verdict): &(String, Stated)| {
        let what = match verdict {
            Stated::Needed => return None,
            Stated::NotNeeded => "the model does not need it",
            Stated::Unknown => "whether the model needs it is not known",
        };
        Some(note(format!("the file states `{expr}`: {what}")))
    };
    let suffices = (found.suffices == Some(false))
        .then(|| note("what the file states does not suffice for the model to run".to_owned()));
    found.stated.iter().filter_map(of).chain(suffices).collect()
}

/// That conditions do not say all, where a model refuses sizes at which they hold.
fn incomplete(found: &Findings) -> Option<Diagnostic> {
    let node = found.refuses.as_ref()?;
    let message = format!("the conditions are not complete: {node} refuses sizes at which all of them hold");
    let has_conditions = found.conditions.iter().any(|condition| condition.on_sizes);
    has_conditions.then(|| Diagnostic::new("conditions-incomplete", Level::Note, message))
}

/// That the example decides what other sizes may do, too.
fn by_example(found: &Findings) -> Option<Diagnostic> {
    let (node, rest) = found.by_example.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let message = format!(
        "the conditions are those of the sizes that broadcast as in the example: a size of 1 may broadcast at \
         {node}{more} the other way, and the model may run where they do not hold"
    );
    Some(Diagnostic::new("broadcast-by-example", Level::Note, message))
}

fn symbol(named: &Named) -> (String, SymbolReport) {
    let report = SymbolReport {
        min: Some(json!(named.min)),
        max: named.max.map(Json::from),
        hint: named.hint.map(Json::from),
        source: named.source.as_ref().map(|(input, dim)| format!("{input}.shape[{dim}]")),
        dim: named.declared.clone(),
    };
    (named.name.clone(), report)
}

fn shown(inputs: &Sizes) -> IndexMap<String, Json> {
    inputs.iter().map(|(name, sizes)| (name.clone(), json!(sizes))).collect()
}

fn info(name: &str, value: Option<&ShownValue>) -> TensorInfo {
    let shape = value.and_then(|value| value.shape.as_ref());
    let is_open = |size: &ShownSize| matches!(size, ShownSize::Open(Some(_)));
    let bound = |size: &ShownSize| Some(size.known_json()).filter(|bound| !bound.is_null());
    TensorInfo {
        name: name.to_owned(),
        shape: shape.map(|sizes| sizes.iter().map(ShownSize::json).collect()),
        dtype: dtype(value),
        value: None,
        upper_bound: shape
            .filter(|sizes| sizes.iter().any(is_open))
            .map(|sizes| sizes.iter().map(bound).collect()),
    }
}

/// The name of the element type.
fn dtype(value: Option<&ShownValue>) -> String {
    let dtype = value.and_then(|value| value.dtype);
    dtype.map_or("unknown", full_name).to_owned()
}

/// The main graph of a model with its shapes, for pages.
pub fn outline(model: &Model, shapes: &Shapes) -> GraphView {
    let view = |name: &String| {
        let info = info(name, shapes.values.get(name));
        ValueView { name: info.name, kind: info.dtype, sizes: info.shape, value: None }
    };
    let named = |names: &[String]| names.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>();
    GraphView {
        inputs: inputs(model).iter().map(|input| view(&input.name)).collect(),
        nodes: model
            .graph
            .node
            .iter()
            .map(|node| NodeView {
                name: if node.name.is_empty() {
                    node.output.first().cloned().unwrap_or_default()
                } else {
                    node.name.clone()
                },
                op: node.op_type.clone(),
                depth: 0,
                uses: named(&node.input),
                values: named(&node.output).iter().map(view).collect(),
                location: None,
                code: None,
                module: None,
            })
            .collect(),
        outputs: model.graph.output.iter().map(|output| output.name.clone()).collect(),
    }
}
