//! Programs that were read, and the questions that are asked of them.
use crate::door;
use crate::errors::{Kind, raise};
use crate::report::Report;
use pyo3::prelude::*;
use sizewise::check::{CheckError, Checker};
use sizewise::decide::Budget;
use sizewise::fake::Operators;
use sizewise::ir::pt2::ReadOptions;
use sizewise::ir::{PathStep, ReadErrorKind, TreeKind, TreeSpec, UserInput};
use sizewise::query;
use sizewise::report::Outcome;
use sizewise::report::guard_code::Language;
use sizewise::spec::{Contract, Spec, Width};
use std::sync::Arc;

/// A refusal: which exception, and its message.
pub struct Refusal(pub Kind, pub String);

impl From<CheckError> for Refusal {
    fn from(error: CheckError) -> Refusal {
        let kind = match &error {
            CheckError::Read(read) => match read.kind {
                ReadErrorKind::Version | ReadErrorKind::Verifier => Kind::Unsupported,
                _ => Kind::Program,
            },
            CheckError::Undetermined(_) => Kind::Unsupported,
            CheckError::NoDimension(..) => Kind::Spec,
            CheckError::Contract(_) | CheckError::Records(_) | CheckError::Cancelled => Kind::Program,
        };
        Refusal(kind, error.to_string())
    }
}

/// A program.
#[pyclass(module = "sizewise._native", frozen)]
pub struct Program {
    checker: Arc<Checker>,
}

/// An input: placeholder, parameter, place in the call, and whether Python can go that way by itself.
type Input = (String, Option<String>, String, bool);

/// Declarations of operators: names of files, and their texts.
type Declared = Vec<(String, String)>;

fn operators(declared: &Declared) -> Result<Operators, Refusal> {
    let mut operators = Operators::new();
    for (name, text) in declared {
        let wrong = |error: sizewise::fake::DeclarationError| Refusal(Kind::Spec, error.to_string());
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

fn enter<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Refusal> + Send) -> PyResult<T> {
    let result = door::run(py, work).map_err(|stopped| stopped.into_error(py))?;
    result.map_err(|Refusal(kind, message)| raise(py, kind, message))
}

#[pymethods]
impl Program {
    /// Reads an archive, or the JSON of a program.
    #[new]
    #[pyo3(signature = (name, data, model=None))]
    fn new(py: Python<'_>, name: &str, data: &[u8], model: Option<&str>) -> PyResult<Program> {
        let options = ReadOptions { model, ..ReadOptions::default() };
        let checker = enter(py, || Ok(Checker::read_within(name, data, &options)?))?;
        Ok(Program { checker: Arc::new(checker) })
    }

    /// What was passed over when the program was read.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.checker.program().warnings.iter().map(ToString::to_string).collect()
    }

    /// The inputs that a caller passes: placeholder, parameter, place in the call (`args[0]['a']`), and whether Python
    /// can go that way by itself.
    fn inputs(&self, py: Python<'_>) -> PyResult<Vec<Input>> {
        let inputs = self.checker.program().user_inputs();
        let inputs = inputs.map_err(|error| raise(py, Kind::Program, error.to_string()))?;
        let parameter = |input: &UserInput| match input.path.first() {
            Some(PathStep::Parameter(name)) => Some(name.to_string()),
            _ => None,
        };
        let plain = self.checker.program().call_signature().is_none_or(|call| is_plain(&call.in_spec));
        let described = inputs
            .iter()
            .map(|input| (input.placeholder.to_string(), parameter(input), input.call_path.clone(), plain));
        Ok(described.collect())
    }

    /// Checks it under a spec (JSON), or under its own contract.
    #[pyo3(signature = (spec=None, operators=vec![], budget=1.0))]
    #[pyo3(name = "check")]
    fn checked(
        &self,
        py: Python<'_>,
        spec: Option<&str>,
        operators: Declared,
        budget: f64,
    ) -> PyResult<Report> {
        let checker = Arc::clone(&self.checker);
        let report = enter(py, || {
            let spec = spec.map(spec_of).transpose()?;
            let known = self::operators(&operators)?;
            Ok(checker.check(spec.as_ref(), &known, &self::budget(budget))?)
        })?;
        Ok(Report::new(report, checker))
    }

    /// What happens to inputs of given shapes: a request as of `sizewise eval`, and its answer.
    #[pyo3(signature = (request, operators=vec![]))]
    fn evaluate(&self, py: Python<'_>, request: &str, operators: Declared) -> PyResult<String> {
        enter(py, || {
            let known = self::operators(&operators)?;
            let evaluator = self.checker.evaluator(&known)?;
            let wrong = |refusal: query::Refusal| Refusal(Kind::Spec, refusal.message);
            let request = query::parse_line(request.as_bytes()).map_err(wrong)?;
            let answer = query::eval::answer(&evaluator, &request).map_err(wrong)?;
            Ok(serde_json::Value::Object(answer).to_string())
        })
    }

    /// Why a dimension is what it is: `x.shape[0]` or `x.0`. JSON, and as text.
    #[pyo3(signature = (dimension, operators=vec![]))]
    fn explain(&self, py: Python<'_>, dimension: &str, operators: Declared) -> PyResult<(String, String)> {
        enter(py, || {
            let known = self::operators(&operators)?;
            let dimension = self.checker.dimension(dimension)?;
            let explanation = self.checker.explain(&dimension, &known, &Budget::default())?;
            let json = serde_json::to_string(&explanation).map_err(bug)?;
            Ok((json, explanation.to_text(sizewise::report::Style { colour: false })))
        })
    }

    /// The program's own spec, as JSON.
    fn recorded_spec(&self, py: Python<'_>) -> PyResult<String> {
        enter(py, || Ok(Spec::initial(&self.contract()?, Width::Recorded).to_json().to_string()))
    }

    /// The widest spec that the program supports, as JSON, and whether that is proved.
    #[pyo3(signature = (operators=vec![]))]
    fn widest_spec(&self, py: Python<'_>, operators: Declared) -> PyResult<(String, bool)> {
        enter(py, || {
            let known = self::operators(&operators)?;
            let contract = self.contract()?;
            for width in [Width::Any, Width::Demanded, Width::Recorded] {
                let spec = Spec::initial(&contract, width);
                let report = self.checker.check(Some(&spec), &known, &Budget::default())?;
                let fixed = report.fixes.into_iter().find(|fix| fix.proved).and_then(|fix| fix.spec);
                match (report.verdict, fixed) {
                    (Outcome::Ok, _) => return Ok((spec.to_json().to_string(), true)),
                    (_, Some(fixed)) => return Ok((fixed.to_string(), true)),
                    (_, None) => {}
                }
            }
            Ok((Spec::initial(&contract, Width::Recorded).to_json().to_string(), false))
        })
    }

    /// The guards as code: `python`, `c`, `rust` or `json`.
    #[pyo3(signature = (language, operators=vec![]))]
    fn guards(&self, py: Python<'_>, language: &str, operators: Declared) -> PyResult<String> {
        enter(py, || {
            let language = match language {
                "python" => Language::Python,
                "c" => Language::C,
                "rust" => Language::Rust,
                "json" => Language::Json,
                other => {
                    let message = format!("{other:?} is no language; there are python, c, rust and json");
                    return Err(Refusal(Kind::Spec, message));
                }
            };
            let known = self::operators(&operators)?;
            let guards = self.checker.session(&known)?.guard_set()?;
            guards.emit(language).map_err(|error| Refusal(Kind::Unsupported, error.to_string()))
        })
    }
}

impl Program {
    fn contract(&self) -> Result<Contract<'_>, Refusal> {
        let unreadable = |error| Refusal::from(CheckError::Contract(error));
        Contract::load(self.checker.program()).map_err(unreadable)
    }
}

/// Whether a structure has containers only whose elements Python reaches as paths are written.
fn is_plain(spec: &TreeSpec) -> bool {
    !matches!(spec.kind, TreeKind::Other { .. }) && spec.children.iter().all(is_plain)
}

fn bug(error: serde_json::Error) -> Refusal {
    Refusal(Kind::Internal, error.to_string())
}
