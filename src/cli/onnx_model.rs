//! Commands on ONNX models: what they do with inputs, the shapes of their values, and whether they accept all that they
//! declare.
use super::args::Kernels;
use super::check::{self, CheckOptions, ReportFormat};
use super::failure::{Failure, Result};
use super::programs::Loaded;
use super::spec::{self, Form};
use super::{asked, files, jsonl};
use crate::escape::json_text;
use crate::fake::Backend;
use crate::onnx;
use crate::onnx::check::{Declaration, ShownSize, declared_spec, guarded_shapes, shapes};
use crate::onnx::query::answer;
use crate::onnx::read::{Model, is_model};
use crate::onnx::redeclare::redeclare;
use crate::onnx::walk::{Input, inputs};
use crate::query::Fields;
use crate::report::{Outcome, Report, Style, to_github, to_html, to_json, to_sarif, to_text};
use crate::spec::{Containers, Spec};
use prost::bytes::Bytes;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::ExitCode;

/// The model in a file, if the file is one.
///
/// # Errors
/// When it is a damaged one, or of a version that is not read.
pub fn model(name: &str, bytes: &Bytes) -> Result<Option<Model>> {
    // An archive is no model, whatever its name is.
    if bytes.starts_with(b"PK") || !name.ends_with(".onnx") && !is_model(bytes) {
        return Ok(None);
    }
    if bytes.is_empty() {
        return Err(Failure::program(format!("{name} is empty; expected an ONNX model")));
    }
    read(name, bytes).map(Some)
}

fn read(name: &str, bytes: &Bytes) -> Result<Model> {
    Model::read(bytes.clone()).map_err(|error| Failure::program(format!("{name}: {error}")))
}

/// `eval`: what happens to inputs of given sizes in onnxruntime, a request a line.
pub fn eval(model: &Model, jobs: u16) -> Result<ExitCode> {
    Ok(jsonl::run(jobs, &|request| answer(model, request)))
}

/// The request of `x=3,8 steps=5`: sizes of tensors, and values of inputs without dimensions.
///
/// # Errors
/// When an argument is no input of the model with its sizes, or the sizes of one are missing.
pub fn request(model: &Model, words: &[String]) -> Result<Fields> {
    let inputs = inputs(model);
    let is_scalar = |input: &Input| input.shape.as_ref().is_some_and(Vec::is_empty);
    let known = |name: &str| inputs.iter().find(|input| input.name == name);
    let mut request = asked::shapes(words, &|name| known(name).map(|input| !is_scalar(input)))?;
    let scalars = request.remove("scalars").and_then(|scalars| scalars.as_object().cloned());
    let (mut shapes, mut values) = (Fields::new(), Fields::new());
    if let Some(Json::Object(given)) = request.remove("shapes") {
        shapes.extend(given);
    }
    for (name, value) in scalars.into_iter().flatten() {
        shapes.insert(name.clone(), json!([]));
        // `x=` says no more than that there are no dimensions.
        if value != json!("") {
            values.insert(name, value);
        }
    }
    if let Some(name) = shapes.keys().find(|name| known(name).is_none()) {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        return Err(Failure::usage(format!("no input is named `{name}`; there are {}", names.join(", "))));
    }
    if let Some(input) = inputs.iter().find(|input| input.is_tensor && !shapes.contains_key(&input.name)) {
        let message = format!("no sizes are given for the input `{}`: write {0}=SIZES", input.name);
        return Err(Failure::usage(message));
    }
    Ok([("shapes".to_owned(), shapes.into()), ("values".to_owned(), values.into())].into_iter().collect())
}

/// `show --as shapes`: the shapes of all values.
pub fn show(model: &Model, output: Option<&Path>) -> Result<ExitCode> {
    let (shapes, guards) = guarded_shapes(model);
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
            value["shape"] = sizes.iter().map(ShownSize::json).collect();
            if sizes.iter().any(|size| matches!(size, ShownSize::Open(Some(_)))) {
                value["upper_bound"] = sizes.iter().map(ShownSize::known_json).collect();
            }
        }
        values.insert(name, value);
    }
    let text = json_text(json!({"symbols": symbols, "values": values, "guards": guards}).to_string());
    files::write(output, &(text + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// `check`: whether the model accepts every input that it declares.
pub fn report(model: &Model, loaded: &Loaded, options: &CheckOptions) -> Result<ExitCode> {
    refuse(options)?;
    let spec = options.spec.as_deref().map(spec::read).transpose()?;
    let budget = options.effort.budget();
    let under =
        |spec: Option<&Spec>| onnx::report::report(model, loaded.name(), loaded.bytes(), spec, &budget);
    let mut report = under(spec.as_ref());
    if let Some(path) = &options.fix {
        let is_model = path.extension().is_some_and(|extension| extension == "onnx");
        let place = |path: &Path| path.canonicalize().ok();
        if place(path).is_some_and(|place_of_fix| place(Path::new(loaded.name())) == Some(place_of_fix)) {
            return Err(Failure::usage("--fix would replace the model itself; name another file"));
        }
        let applied = match is_model {
            true => declared(&report, loaded.bytes(), path)?
                .map(|bytes| {
                    let name = files::name(path);
                    warn_of_weights(model, loaded.name(), path);
                    let mut fixed = read(&name, &bytes)?;
                    fixed.backend = model.backend;
                    Ok(onnx::report::report(&fixed, &name, &bytes, spec.as_ref(), &budget))
                })
                .transpose()?,
            false => narrowed(&report, spec.as_ref(), model, path)?.map(|fixed| under(Some(&fixed))),
        };
        report = applied.unwrap_or(report);
    }
    let colour = options.color.on_stdout(options.output.as_deref());
    let text = match options.format {
        ReportFormat::Text => to_text(&report, Style { colour }),
        ReportFormat::Json => to_json(&report),
        ReportFormat::Sarif => to_sarif(&report),
        ReportFormat::Github => to_github(&report),
        ReportFormat::Html => to_html(&report, &onnx::report::outline(model, &shapes(model))),
        ReportFormat::Torch => {
            return Err(Failure::usage("--format torch is for exported programs, not for ONNX models"));
        }
    };
    files::write(options.output.as_deref(), &text)?;
    Ok(ExitCode::from(check::status(report.verdict)))
}

/// Writes the spec of the first fix that is one, or the spec itself where the model is right. `None` if there is none.
fn narrowed(report: &Report, spec: Option<&Spec>, model: &Model, path: &Path) -> Result<Option<Spec>> {
    let mut specs = report.fixes.iter().filter(|fix| fix.declarations.is_empty());
    let fixed = match specs.find_map(|fix| fix.spec.clone()) {
        None if report.verdict == Outcome::Ok => spec.map_or_else(|| declared_spec(model), Spec::to_json),
        Some(fixed) => fixed,
        None => {
            let why = match report.fixes.is_empty() {
                true => "no fix was found",
                false => "the fix declares sizes in the model: name a file that ends in .onnx",
            };
            files::complain(&format!("{why}, {} is not written", files::shown(path)));
            return Ok(None);
        }
    };
    let fixed = Spec::parse(fixed.to_string().as_bytes()).map_err(Failure::internal)?;
    let form = Form::of(Some(path), Form::Json);
    files::write(Some(path), &form.text(&fixed, &Containers::default())?)?;
    Ok(Some(fixed))
}

/// Writes the model with the declarations of the first fix that has any, or as it is where it is right. `None` if there
/// is no such fix.
fn declared(report: &Report, model: &[u8], path: &Path) -> Result<Option<Bytes>> {
    let place = report.fixes.iter().position(|fix| !fix.declarations.is_empty());
    let fix = place.map(|place| &report.fixes[place]);
    if fix.is_none() && report.verdict != Outcome::Ok {
        let why = match report.fixes.is_empty() {
            true => "no fix was found",
            false => "the fix is a spec: name a file that ends in .json or .py",
        };
        files::complain(&format!("{why}, {} is not written", files::shown(path)));
        return Ok(None);
    }
    let changes: Vec<Declaration> = fix
        .iter()
        .flat_map(|fix| &fix.declarations)
        .map(|json| Declaration::of_json(json).ok_or_else(|| Failure::internal("a declaration of no kind")))
        .collect::<Result<_>>()?;
    let bytes = Bytes::from(redeclare(model, &changes).map_err(Failure::internal)?);
    files::write_bytes(Some(path), &bytes)?;
    let name = files::shown(path);
    if let Some(place) = place.filter(|&place| place > 0) {
        files::complain(&format!(
            "{name} has fix {}: the first is a spec, which `--fix SPEC.json` writes",
            place + 1
        ));
    }
    if let Some(cost) = fix.and_then(|fix| fix.cost.as_ref()) {
        files::complain(&format!("{name}: what it declares {}", cost.trim_start_matches("it ")));
    }
    if fix.is_some_and(|fix| fix.spec.is_some()) {
        files::complain(&format!(
            "{name} needs a spec as well: `sizewise check {name} --fix SPEC.json` writes it"
        ));
    }
    Ok(Some(bytes))
}

/// Says that weights in other files are looked for beside the model that is written.
fn warn_of_weights(model: &Model, source: &str, path: &Path) {
    let weights = model.external_files();
    let folder = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
    if let Some(first) = weights.first().filter(|_| folder(Path::new(source)) != folder(path)) {
        let others = if weights.len() > 1 { ", ..." } else { "" };
        files::complain(&format!(
            "{}: its weights are in other files ({first}{others}), which have to be beside it",
            files::shown(path)
        ));
    }
}

/// Refuses options that are about exported programs.
fn refuse(options: &CheckOptions) -> Result<()> {
    let refused = [
        (options.emit_smt2.is_some(), "--emit-smt2"),
        (options.timings, "--timings"),
        (options.trace.is_some(), "--trace"),
    ];
    refuse_operators(&options.operators)?;
    match refused.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::usage(format!("{option} is not supported for an ONNX model yet"))),
        None => Ok(()),
    }
}

/// Refuses operators that are declared for exported programs, and backends that run no ONNX models.
///
/// # Errors
/// When there are any.
pub fn refuse_operators(operators: &Kernels) -> Result<()> {
    if !operators.files.ops.is_empty() {
        return Err(Failure::usage("--ops is not supported for an ONNX model yet"));
    }
    match operators.backend {
        Backend::Cpu | Backend::Any => Ok(()),
        Backend::Cuda => {
            Err(Failure::usage("an ONNX model runs on --backend onnxruntime or any, not on cuda"))
        }
    }
}
