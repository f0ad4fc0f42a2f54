//! Programs that were read, and the questions that are asked of them.
use crate::door;
use crate::errors::{Kind, raise};
use crate::report::Report;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sizewise::check::CheckError;
use sizewise::cli::Sources;
use sizewise::diff::{Side, diff_of};
use sizewise::expr::is_cancelled;
use sizewise::ir::pt2::ReadOptions;
use sizewise::ir::{PathStep, ReadErrorKind, TreeKind, TreeSpec, UserInput};
use sizewise::kernels::Operators;
use sizewise::onnx::check::Declaration;
use sizewise::onnx::subject::{Subject, SubjectError};
use sizewise::query;
use sizewise::report::guard_code::Language;
use sizewise::report::{Annotations, Outcome};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A refusal: which exception, and its message.
pub struct Refusal(pub Kind, pub String);

impl Refusal {
    fn into_error(self, py: Python<'_>) -> PyErr {
        raise(py, self.0, self.1)
    }
}

impl From<CheckError> for Refusal {
    fn from(error: CheckError) -> Refusal {
        let kind = match &error {
            CheckError::Read(read) => match read.kind {
                ReadErrorKind::Version | ReadErrorKind::Verifier => Kind::Unsupported,
                _ => Kind::Program,
            },
            CheckError::Undetermined(_) | CheckError::UnreadableContract(_) => Kind::Unsupported,
            CheckError::NoDimension(..) => Kind::Spec,
            CheckError::Contract(_)
            | CheckError::Records(_)
            | CheckError::OtherTrace(_)
            | CheckError::Refuses { .. }
            | CheckError::Cancelled => Kind::Program,
        };
        Refusal(kind, error.to_string())
    }
}

impl From<SubjectError> for Refusal {
    fn from(error: SubjectError) -> Refusal {
        let kind = match error {
            SubjectError::Check(error) => return error.into(),
            SubjectError::Model(_) => Kind::Program,
            SubjectError::Spec(_) => Kind::Spec,
            SubjectError::Sizing(ref error) if error.is_mistaken() => Kind::Spec,
            SubjectError::Sizing(_)
            | SubjectError::Guards(_)
            | SubjectError::Written(_)
            | SubjectError::NotForModels(_)
            | SubjectError::NotForPrograms(_) => Kind::Unsupported,
        };
        Refusal(kind, error.to_string())
    }
}

/// A program.
#[pyclass(module = "sizewise._native", frozen)]
pub struct Program {
    subject: Arc<Subject>,
}

/// An input: placeholder, parameter, place in the call, and whether Python can go that way by itself.
type Input = (String, Option<String>, String, bool);

/// The sizes of inputs, by their names.
type Sizes = std::collections::HashMap<String, Vec<i64>>;

/// Declarations of operators: names of files, and their texts.
type Declared = Vec<(String, String)>;

fn operators(declared: &Declared) -> Result<Operators, Refusal> {
    let mut operators = Operators::new();
    for (name, text) in declared {
        let wrong = |error: sizewise::kernels::DeclarationError| Refusal(Kind::Spec, error.to_string());
        operators.declare(name, text).map_err(wrong)?;
    }
    Ok(operators)
}

fn spec_of(text: &str) -> Result<Spec, Refusal> {
    Spec::parse(text.as_bytes()).map_err(|error| Refusal(Kind::Spec, error.to_string()))
}

fn budget(factor: f64) -> Budget {
    crate::env::scaled(&Budget::default(), factor)
}

fn enter<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> PyResult<T> {
    let result = door::run_owned(py, work).map_err(|stopped| stopped.into_error(py))?;
    result.map_err(|refusal| refusal.into_error(py))
}

/// Reads a program of any kind.
fn read(name: &str, bytes: Vec<u8>, model: Option<&str>) -> Result<Arc<Subject>, Refusal> {
    Ok(Arc::new(Subject::read(name, bytes, &ReadOptions { model, ..ReadOptions::default() })?))
}

/// The most bytes read of one file.
const MAX_BYTES: u64 = 4 << 30;

/// The bytes of a file; what has been read when the work is cancelled.
fn file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?.take(MAX_BYTES);
    let mut bytes = Vec::new();
    let size = path.metadata()?.len().min(MAX_BYTES) + 1;
    // If there is not as much memory, the vector grows as far as it can.
    let _ = bytes.try_reserve_exact(usize::try_from(size).unwrap_or(0));
    while !is_cancelled() && (&mut file).take(CHUNK).read_to_end(&mut bytes)? > 0 {}
    Ok(bytes)
}

/// How much of a file is read at once.
const CHUNK: u64 = 16 << 20;

#[pymethods]
impl Program {
    /// Reads an archive, the JSON of a program, or an ONNX model.
    #[new]
    #[pyo3(signature = (name, data, model=None))]
    fn new(py: Python<'_>, name: String, data: PyBackedBytes, model: Option<String>) -> PyResult<Program> {
        let subject = enter(py, move || read(&name, data.to_vec(), model.as_deref()))?;
        Ok(Program { subject })
    }

    /// Reads a file.
    #[staticmethod]
    #[pyo3(signature = (path, model=None))]
    fn from_file(py: Python<'_>, path: PathBuf, model: Option<String>) -> PyResult<Program> {
        let subject = enter(py, move || {
            let name = path.display().to_string();
            let failed = |error: std::io::Error| Refusal(Kind::Program, format!("{name}: {error}"));
            let bytes = file(&path).map_err(failed)?;
            read(&name, bytes, model.as_deref())
        })?;
        Ok(Program { subject })
    }

    /// Whether it is an ONNX model.
    #[getter]
    fn is_model(&self) -> bool {
        matches!(*self.subject, Subject::Model(_))
    }

    /// What was passed over when the program was read.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        match &*self.subject {
            Subject::Program(checker) => checker.program().warnings.iter().map(ToString::to_string).collect(),
            Subject::Model(_) => Vec::new(),
        }
    }

    /// The inputs that a caller passes: placeholder, parameter, place in the call (`args[0]['a']`), and whether Python
    /// can go that way by itself.
    fn inputs(&self, py: Python<'_>) -> PyResult<Vec<Input>> {
        let checker = self.subject.program("the structure of a call");
        let checker = checker.map_err(|error| Refusal::from(error).into_error(py))?;
        let inputs = checker.program().user_inputs();
        let inputs = inputs.map_err(|error| raise(py, Kind::Program, error.to_string()))?;
        let parameter = |input: &UserInput| match input.path.first() {
            Some(PathStep::Parameter(name)) => Some(name.to_string()),
            _ => None,
        };
        let plain = checker.program().call_signature().is_none_or(|call| is_plain(&call.in_spec));
        let described = inputs
            .iter()
            .map(|input| (input.placeholder.to_string(), parameter(input), input.call_path.clone(), plain));
        Ok(described.collect())
    }

    /// Checks it under a spec (JSON), or under its own contract.
    #[pyo3(signature = (spec=None, operators=vec![], budget=1.0, trace=None))]
    #[pyo3(name = "check")]
    fn checked(
        &self,
        py: Python<'_>,
        spec: Option<String>,
        operators: Declared,
        budget: f64,
        trace: Option<PathBuf>,
    ) -> PyResult<Report> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let subject = match trace {
                Some(trace) => traced(&subject, &trace)?,
                None => subject,
            };
            let spec = spec.as_deref().map(spec_of).transpose()?;
            let known = self::operators(&operators)?;
            let report = subject.check(spec.as_ref(), &known, &self::budget(budget))?;
            Ok(Report::new(report, subject, spec, known))
        })
    }

    /// What happens to inputs of given shapes: a request as of `sizewise eval`, and its answer.
    #[pyo3(signature = (request, operators=vec![]))]
    fn evaluate(&self, py: Python<'_>, request: String, operators: Declared) -> PyResult<String> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let wrong = |refusal: query::Refusal| Refusal(Kind::Spec, refusal.message);
            let request = query::parse_line(request.as_bytes()).map_err(wrong)?;
            let known = self::operators(&operators)?;
            let refused = |refusal: query::Refusal| match refusal.kind {
                "unsupported" => Refusal(Kind::Unsupported, refusal.message),
                _ => wrong(refusal),
            };
            let answer = subject.answers(&known)?.answer(&request).map_err(refused)?;
            let text = |field: &str| answer.get(field).and_then(serde_json::Value::as_str);
            if text("error_kind") == Some("unsupported") {
                return Err(Refusal(Kind::Unsupported, text("error").unwrap_or_default().to_owned()));
            }
            Ok(serde_json::Value::Object(answer).to_string())
        })
    }

    /// Why a dimension is what it is: `x.shape[0]` or `x.0`. JSON, and as text.
    #[pyo3(signature = (dimension, operators=vec![]))]
    fn explain(&self, py: Python<'_>, dimension: String, operators: Declared) -> PyResult<(String, String)> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let known = self::operators(&operators)?;
            let found = subject.explain(&[dimension], &known, &Budget::default())?.pop();
            let missing = || Refusal(Kind::Spec, "the dimension has no explanation".to_owned());
            let explanation = found.ok_or_else(missing)?;
            let json = serde_json::to_string(&explanation).map_err(bug)?;
            Ok((json, explanation.to_text(sizewise::report::Style::default())))
        })
    }

    /// The program's own spec, as JSON and as Python.
    fn recorded_spec(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || Ok(texts(&subject.recorded_spec(None, &Operators::new())?, &subject)))
    }

    /// The widest spec that the program supports, as JSON and as Python, and whether that is proved.
    #[pyo3(signature = (operators=vec![]))]
    fn widest_spec(&self, py: Python<'_>, operators: Declared) -> PyResult<(String, String, bool)> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let known = self::operators(&operators)?;
            let (spec, proved) = match subject.widest_spec(None, &known, &Budget::default())? {
                Some(widest) => (widest.spec, widest.is_proved),
                None => (subject.recorded_spec(None, &known)?, false),
            };
            let (json, code) = texts(&spec, &subject);
            Ok((json, code, proved))
        })
    }

    /// What another program changes, as JSON, text, HTML and Markdown.
    #[pyo3(signature = (new, operators=vec![]))]
    fn diff(
        &self,
        py: Python<'_>,
        new: PyRef<'_, Program>,
        operators: Declared,
    ) -> PyResult<(String, String, String, String)> {
        let (old, new) = (Arc::clone(&self.subject), Arc::clone(&new.subject));
        enter(py, move || {
            let known = self::operators(&operators)?;
            difference(&old.side(&known)?, &new.side(&known)?)
        })
    }

    /// What another spec (JSON) allows of the program, in the forms of `diff`.
    #[pyo3(signature = (old, new, operators=vec![]))]
    fn diff_specs(
        &self,
        py: Python<'_>,
        old: String,
        new: String,
        operators: Declared,
    ) -> PyResult<(String, String, String, String)> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let known = self::operators(&operators)?;
            let (old, new) = (spec_of(&old)?, spec_of(&new)?);
            difference(
                &subject.side_of_spec("the old spec", &old, &known)?,
                &subject.side_of_spec("the new spec", &new, &known)?,
            )
        })
    }

    /// What the program costs (JSON), at sizes of inputs if such are given.
    #[pyo3(signature = (at=None, operators=vec![]))]
    fn cost(&self, py: Python<'_>, at: Option<Sizes>, operators: Declared) -> PyResult<String> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let known = self::operators(&operators)?;
            let cost = subject.cost(&known)?;
            if let Some(input) = at.iter().flatten().map(|(input, _)| input).find(|input| !cost.varies(input))
            {
                return Err(Refusal(Kind::Spec, format!("at: no size of {input:?} varies")));
            }
            let at = at.map(|sizes| sizes.into_iter().collect());
            let answer = cost.json(at.as_ref()).map_err(|error| Refusal(Kind::Spec, error))?;
            Ok(answer.to_string())
        })
    }

    /// The lines of the user's code with the shapes of the values that they make, as JSON, text and HTML. Sizes have the names
    /// of a spec (JSON), if one is given.
    #[pyo3(signature = (spec=None, operators=vec![], source=None))]
    fn annotate(
        &self,
        py: Python<'_>,
        spec: Option<String>,
        operators: Declared,
        source: Option<PathBuf>,
    ) -> PyResult<(String, String, String)> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let spec = spec.as_deref().map(spec_of).transpose()?;
            let known = self::operators(&operators)?;
            let report = subject.check(spec.as_ref(), &known, &Budget::default())?;
            if report.verdict == Outcome::Invalid {
                let why = report.diagnostics.into_iter().next().map(|first| first.message);
                return Err(Refusal(Kind::Spec, why.unwrap_or_default()));
            }
            let sources = Sources::new(source.as_deref());
            let sources = sources.map_err(|failure| Refusal(Kind::Spec, failure.message))?;
            let mut found = Annotations::new(&report, &subject.outline());
            found.attach(source.is_some(), &mut |file| sources.find(file));
            Ok((found.to_json().to_string(), found.to_text(), found.to_html()))
        })
    }

    /// The answer (JSON) to a question (JSON) about the sizes of values, over what a spec allows: see
    /// `Sizing::answer`.
    #[pyo3(signature = (request, spec=None, operators=vec![]))]
    fn sizes(
        &self,
        py: Python<'_>,
        request: String,
        spec: Option<String>,
        operators: Declared,
    ) -> PyResult<String> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let known = self::operators(&operators)?;
            let spec = spec.as_deref().map(spec_of).transpose()?;
            let wrong = |error: serde_json::Error| Refusal(Kind::Spec, error.to_string());
            let request = serde_json::from_str(&request).map_err(wrong)?;
            let mut sizing = subject.sizing(spec.as_ref(), &known)?;
            Ok(sizing.answer(&request).map_err(SubjectError::from)?.to_string())
        })
    }

    /// The guards as code: `python`, `c`, `cpp`, `rust` or `json`; or as a `contract`.
    #[pyo3(signature = (language, operators=vec![]))]
    fn guards(&self, py: Python<'_>, language: String, operators: Declared) -> PyResult<String> {
        let subject = Arc::clone(&self.subject);
        enter(py, move || {
            let operators = self::operators(&operators)?;
            let language = match language.as_str() {
                "python" => Language::Python,
                "c" => Language::C,
                "rust" => Language::Rust,
                "json" => Language::Json,
                "cpp" | "contract" => {
                    let (contract, guards) = subject.contract(&operators, &Budget::default())?;
                    return Ok(if language == "cpp" { contract.to_cpp(&guards) } else { contract.to_text() });
                }
                other => {
                    let message = format!(
                        "{other:?} is no language; there are python, c, cpp, rust, json and contract"
                    );
                    return Err(Refusal(Kind::Spec, message));
                }
            };
            let guards = subject.guard_set(&operators)?;
            guards.emit(language).map_err(|error| Refusal(Kind::Unsupported, error.to_string()))
        })
    }

    /// The bytes of an ONNX model with other declarations (JSON) of its inputs and outputs.
    fn redeclared<'py>(&self, py: Python<'py>, declarations: String) -> PyResult<Bound<'py, PyBytes>> {
        let subject = Arc::clone(&self.subject);
        let bytes = enter(py, move || {
            let wrong = |what: String| Refusal(Kind::Spec, what);
            let list: Vec<serde_json::Value> =
                serde_json::from_str(&declarations).map_err(|error| wrong(error.to_string()))?;
            let read =
                |json| Declaration::of_json(json).ok_or_else(|| wrong(format!("{json} declares nothing")));
            let changes = list.iter().map(read).collect::<Result<Vec<Declaration>, Refusal>>()?;
            Ok(subject.redeclared(subject.name(), &changes)?.bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// A program with the lines that a trace names.
fn traced(subject: &Subject, trace: &Path) -> Result<Arc<Subject>, Refusal> {
    let failed = |message: String| Refusal(Kind::Program, format!("{}: {message}", trace.display()));
    let checker = subject.program("a trace of torch").map_err(|error| failed(error.to_string()))?;
    let file = File::open(trace).map_err(|error| failed(error.to_string()))?;
    let asked =
        sizewise::replay::asked(std::io::BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
    let checker = checker.with_trace(asked).map_err(|error| failed(error.to_string()))?;
    Ok(Arc::new(Subject::Program(Box::new(checker))))
}

/// A spec as Python to paste, of a spec in any form that is read.
#[pyfunction]
pub fn spec_code(py: Python<'_>, spec: String) -> PyResult<String> {
    enter(py, move || Ok(spec_of(&spec)?.to_python()))
}

/// A difference as JSON, text, HTML and Markdown.
fn difference(old: &Side, new: &Side) -> Result<(String, String, String, String), Refusal> {
    let found = diff_of(old, new)?;
    Ok((found.to_json().to_string(), found.to_text(), found.to_html(), found.to_markdown()))
}

/// A spec as JSON, and as Python with the containers of a program.
fn texts(spec: &Spec, subject: &Subject) -> (String, String) {
    (spec.to_json().to_string(), spec.to_python_with(&subject.containers()))
}

/// Whether a structure has containers only whose elements Python reaches as paths are written.
fn is_plain(spec: &TreeSpec) -> bool {
    !matches!(spec.kind, TreeKind::Other { .. }) && spec.children.iter().all(is_plain)
}

fn bug(error: serde_json::Error) -> Refusal {
    Refusal(Kind::Internal, error.to_string())
}
