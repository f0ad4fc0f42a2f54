//! `--fix`: writes what the first fix of a report changes, a spec or the declarations of a model.
use super::failure::{Failure, Result};
use super::files;
use super::programs::failed;
use super::spec::SpecForm;
use crate::escape;
use crate::kernels::Operators;
use crate::onnx::check::Declaration;
use crate::onnx::subject::{ModelFile, Subject};
use crate::report::{Outcome, Report};
use crate::spec::Spec;
use std::path::Path;

/// The number of a fix, if that is what `--fix` was given.
pub fn number(path: &Path) -> Option<usize> {
    path.to_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// The changed spec of a fix as Python; of one that declares sizes in a model, what it declares.
///
/// # Errors
/// When there is no such fix.
pub fn text(report: &Report, number: usize) -> Result<String> {
    let fix = number.checked_sub(1).and_then(|at| report.fixes.get(at)).ok_or_else(|| {
        let count = report.fixes.len();
        Failure::usage(format!("there is no fix {number}: the report has {count}"))
    })?;
    let text = fix.code.as_ref().unwrap_or(&fix.text);
    // What is to be known of it goes with it.
    let note = fix.note.as_ref().filter(|_| fix.code.is_some() && fix.declarations.is_empty());
    let note = note.map(|note| format!("# {}\n", escape::visible(note))).unwrap_or_default();
    Ok(format!("{note}{}\n", escape::lines(text.trim_end())))
}

/// What was written.
pub enum Fixed {
    /// A spec.
    Spec(Spec),
    /// A model with other declarations.
    Model(Box<ModelFile>),
}

/// Writes the first fix of its kind to a file: the declarations of a model to one that ends in `.onnx`, else a spec.
/// Where everything is right, the model or the spec as it is. `None`, with a message, if there is no such fix.
///
/// # Errors
/// When the file cannot be written, or is the model itself.
pub fn write(path: &Path, subject: &Subject, report: &Report, spec: Option<&Spec>) -> Result<Option<Fixed>> {
    let real = |path: &Path| path.canonicalize().ok();
    if real(path).is_some_and(|fixed| real(Path::new(subject.name())) == Some(fixed)) {
        let what = if matches!(subject, Subject::Model(_)) { "model" } else { "program" };
        return Err(Failure::usage(format!("--fix would replace the {what} itself; name another file")));
    }
    let is_model = path.extension().is_some_and(|extension| extension == "onnx");
    if let (true, Subject::Model(file)) = (is_model, subject) {
        return Ok(declared(path, subject, file, report)?.map(Fixed::Model));
    }
    let mut specs = report.fixes.iter().filter(|fix| fix.declarations.is_empty());
    let fixed = match specs.find_map(|fix| fix.spec.clone()) {
        Some(fixed) => Spec::parse(fixed.to_string().as_bytes()).map_err(Failure::internal)?,
        None if report.verdict == Outcome::Ok => match spec {
            Some(spec) => spec.clone(),
            None => {
                let own = subject.recorded_spec(None, &Operators::new());
                own.map_err(|error| failed(subject.name(), error))?
            }
        },
        None => {
            let other = "the fix declares sizes in the model: name a file that ends in .onnx";
            not_written(path, report, other);
            return Ok(None);
        }
    };
    let form = SpecForm::of(Some(path), SpecForm::Json);
    files::write(Some(path), &form.text(&fixed, &subject.containers())?)?;
    Ok(Some(Fixed::Spec(fixed)))
}

/// Says why nothing is written: there is no fix, or it is of another kind.
fn not_written(path: &Path, report: &Report, other: &str) {
    let why = if report.fixes.is_empty() { "no fix was found" } else { other };
    files::complain(&format!("{why}, {} is not written", files::shown(path)));
}

/// Writes the model with the declarations of the first fix that has any, or as it is where it is right.
fn declared(
    path: &Path,
    subject: &Subject,
    file: &ModelFile,
    report: &Report,
) -> Result<Option<Box<ModelFile>>> {
    let place = report.fixes.iter().position(|fix| !fix.declarations.is_empty());
    let fix = place.map(|place| &report.fixes[place]);
    if fix.is_none() && report.verdict != Outcome::Ok {
        not_written(path, report, "the fix is a spec: name a file that ends in .json or .py");
        return Ok(None);
    }
    let changes: Vec<Declaration> = fix
        .iter()
        .flat_map(|fix| &fix.declarations)
        .map(|json| Declaration::of_json(json).ok_or_else(|| Failure::internal("a declaration of no kind")))
        .collect::<Result<_>>()?;
    let written = subject.redeclared(&files::name(path), &changes).map_err(Failure::internal)?;
    files::write_bytes(Some(path), &written.bytes)?;
    let name = files::shown(path);
    if let Some(place) = place.filter(|&place| place > 0) {
        files::complain(&format!(
            "{name} has fix {}: the first is a spec, which `--fix SPEC.json` writes",
            place + 1
        ));
    }
    if let Some(cost) = fix.filter(|fix| fix.loses != Some(false)).and_then(|fix| fix.cost.as_ref()) {
        files::complain(&format!("{name}: what it declares {}", cost.trim_start_matches("it ")));
    }
    if let Some(place) = place.filter(|&place| report.fixes[place].spec.is_some()) {
        let model = files::shown(Path::new(&file.name));
        let spec = format!("`sizewise check {model} --fix {} > SPEC.py`", place + 1);
        files::complain(&format!("{name} needs a spec as well, which {spec} writes"));
    }
    warn_of_weights(file, path);
    Ok(Some(Box::new(written)))
}

/// Says that weights in other files are looked for beside the model that is written.
fn warn_of_weights(file: &ModelFile, path: &Path) {
    let weights = file.model.external_files();
    let folder = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
    if let Some(first) = weights.first().filter(|_| folder(Path::new(&file.name)) != folder(path)) {
        let others = if weights.len() > 1 { ", ..." } else { "" };
        files::complain(&format!(
            "{}: its weights are in other files ({first}{others}), which have to be beside it",
            files::shown(path)
        ));
    }
}
