//! What a file holds, an exported program or an ONNX model, and the questions that are asked of either: the one place
//! where commands, the service and Python tell them apart.
use crate::check::{
    Declaration, NoGuards, cost as model_cost, declared_spec, dimension, dynamic_dimensions, explanations,
    guard_set, outline as model_outline, report, shapes, side, side_of_spec, sizing as model_sizing, widen,
};
use crate::query;
use crate::redeclare::redeclare;
use prost::bytes::Bytes;
use sizewise_check::check::{CheckError, Checker, Evaluator, Widest, outline};
use sizewise_check::query::{Fields, Refusal, eval};
use sizewise_check::report::guard_code::{Contract, GuardSet, NotExpressible};
use sizewise_check::report::{Explanation, GraphView, Report, ReportForm, Style};
use sizewise_check::spec::{Containers, Language, Spec, SpecError};
use sizewise_cost::sizing::{Sizing, SizingError, sizing};
use sizewise_cost::{Cost, cost};
use sizewise_diff::{Side, SpecSideError};
use sizewise_ir::pt2::ReadOptions;
use sizewise_ir::text;
use sizewise_kernels::{Backend, Operators};
use sizewise_onnx_model::read::{self, Model, is_model};
use sizewise_onnx_model::walk::{Input, inputs};
use sizewise_solve::Budget;
use std::time::{Duration, Instant};

/// The most dimensions that a message names.
const MAX_NAMED: usize = 20;

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An exported program: an archive, or its JSON.
    Program,
    /// An exported program as text.
    Text,
    /// An ONNX model, in protobuf or as text.
    Model,
}

impl Kind {
    /// What a file of this name that begins with these bytes holds. The bytes decide; the name does where they begin as
    /// no format does.
    pub fn of(name: &str, bytes: &[u8]) -> Kind {
        let by_name = || if name.ends_with(".onnx") { Kind::Model } else { Kind::Program };
        Kind::by_bytes(bytes).unwrap_or_else(by_name)
    }

    /// What a file that begins with these bytes holds; `None` where they begin as no format does.
    pub fn by_bytes(bytes: &[u8]) -> Option<Kind> {
        let is_program = bytes.starts_with(b"PK") || bytes.trim_ascii_start().starts_with(b"{");
        match () {
            () if is_program => Some(Kind::Program),
            () if text::is_text(bytes) => Some(Kind::Text),
            () if is_model(bytes) => Some(Kind::Model),
            () => None,
        }
    }
}

/// Why a question about a file has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The program cannot be read or checked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The model cannot be read.
    #[error(transparent)]
    Model(#[from] read::ReadError),
    /// The model has no guards.
    #[error(transparent)]
    Guards(#[from] NoGuards),
    /// A guard cannot be written.
    #[error(transparent)]
    Written(#[from] NotExpressible),
    /// The spec does not fit.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Sizes have no answer.
    #[error("{0}")]
    Sizing(SizingError),
    /// It is asked of exported programs only.
    #[error("{0} is not supported for an ONNX model")]
    NotForModels(String),
    /// It is asked of ONNX models only.
    #[error("only an ONNX model {0}")]
    NotForPrograms(&'static str),
}

type Result<T> = std::result::Result<T, SubjectError>;

impl From<SpecSideError> for SubjectError {
    fn from(error: SpecSideError) -> SubjectError {
        match error {
            SpecSideError::Check(error) => error.into(),
            SpecSideError::Spec(error) => error.into(),
        }
    }
}

impl From<SizingError> for SubjectError {
    fn from(error: SizingError) -> SubjectError {
        match error {
            SizingError::Program(error) => error.into(),
            SizingError::Spec(error) => error.into(),
            error => SubjectError::Sizing(error),
        }
    }
}

/// An exported program or an ONNX model.
pub enum Subject {
    /// An exported program.
    Program(Box<Checker>),
    /// An ONNX model.
    Model(Box<ModelFile>),
}

/// An ONNX model with the file that it was read from.
pub struct ModelFile {
    /// The name of the file in reports.
    pub name: String,
    /// The bytes of the file.
    pub bytes: Bytes,
    /// The model.
    pub model: Model,
    reading: Duration,
}

impl Subject {
    /// Reads a file; `options` are for programs.
    ///
    /// # Errors
    /// When it is neither a program nor a model, or exceeds the limits.
    pub fn read(name: &str, bytes: impl Into<Bytes>, options: &ReadOptions<'_>) -> Result<Subject> {
        let bytes = bytes.into();
        if Kind::of(name, &bytes) != Kind::Model {
            return Ok(Subject::Program(Box::new(Checker::read_within(name, &bytes, options)?)));
        }
        let started = Instant::now();
        let model = Model::read(bytes.clone())?;
        let (name, reading) = (name.to_owned(), started.elapsed());
        Ok(Subject::Model(Box::new(ModelFile { name, bytes, model, reading })))
    }

    /// The same, run by a backend. Of a program the operators say which.
    ///
    /// # Errors
    /// When the backend runs no ONNX models.
    pub fn on(mut self, backend: Backend) -> Result<Subject> {
        if let Subject::Model(file) = &mut self {
            if backend == Backend::Cuda {
                return Err(SubjectError::NotForModels("the backend cuda".to_owned()));
            }
            file.model.backend = backend;
        }
        Ok(self)
    }

    /// The name of the file in reports.
    pub fn name(&self) -> &str {
        match self {
            Subject::Program(checker) => checker.name(),
            Subject::Model(file) => &file.name,
        }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        match self {
            Subject::Program(checker) => checker.program().graph.total_nodes(),
            Subject::Model(file) => file.model.graph.node.len(),
        }
    }

    /// The checker of a program, for `what` is asked of programs only.
    ///
    /// # Errors
    /// When it is a model.
    pub fn program(&self, what: &str) -> Result<&Checker> {
        match self {
            Subject::Program(checker) => Ok(checker),
            Subject::Model(_) => Err(SubjectError::NotForModels(what.to_owned())),
        }
    }

    /// The containers that callers pass.
    pub fn containers(&self) -> Containers {
        match self {
            Subject::Program(checker) => Containers::of(checker.program()),
            Subject::Model(_) => Containers::default(),
        }
    }

    /// Checks it under a spec, or under its own contract.
    ///
    /// # Errors
    /// When a program cannot be checked, or operators are declared for a model. A spec that does not fit is a report.
    pub fn check(&self, spec: Option<&Spec>, operators: &Operators, budget: &Budget) -> Result<Report> {
        let file = match self {
            Subject::Program(checker) => return Ok(checker.check(spec, operators, budget)?),
            Subject::Model(file) => file.undeclared(operators)?,
        };
        let started = Instant::now();
        let mut report = report(&file.model, &file.name, &file.bytes, spec, budget);
        let phases = [("read", file.reading), ("check", started.elapsed())];
        report.timings = phases.map(|(phase, time)| (phase.to_owned(), time.as_secs_f64())).into();
        Ok(report)
    }

    /// A report in a form.
    ///
    /// # Errors
    /// When there is no such form for a model.
    pub fn render(&self, report: &Report, form: ReportForm, style: Style) -> Result<String> {
        if form == ReportForm::Torch {
            self.program("the report form `torch`")?;
        }
        Ok(form.render(report, style, &|| self.outline()))
    }

    /// The graph with its shapes, for pages.
    pub fn outline(&self) -> GraphView {
        match self {
            Subject::Program(checker) => outline(checker.program()),
            Subject::Model(file) => model_outline(&file.model, &shapes(&file.model)),
        }
    }

    /// What it costs at all sizes that it takes.
    ///
    /// # Errors
    /// When the program's records cannot be read, or operators are declared for a model.
    pub fn cost(&self, operators: &Operators) -> Result<Cost> {
        match self {
            Subject::Program(checker) => Ok(cost(checker.program(), operators).map_err(CheckError::from)?),
            Subject::Model(file) => Ok(model_cost(&file.undeclared(operators)?.model)),
        }
    }

    /// The spec that a program was exported with, or what a model declares; without a language, in that of the program.
    ///
    /// # Errors
    /// When the program's records cannot be read, or a model is asked for a `ShapesSpec`.
    pub fn recorded_spec(&self, language: Option<Language>, operators: &Operators) -> Result<Spec> {
        match self {
            Subject::Program(checker) => Ok(checker.recorded_spec(language, operators)?),
            Subject::Model(file) => file.undeclared(operators)?.spec(language, declared_spec(&file.model)),
        }
    }

    /// The widest spec that it supports, as [`Checker::widest_spec`]. `None` if none was found.
    ///
    /// # Errors
    /// As for [`Subject::recorded_spec`].
    pub fn widest_spec(
        &self,
        language: Option<Language>,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Option<Widest>> {
        let file = match self {
            Subject::Program(checker) => return Ok(checker.widest_spec(language, operators, budget)?),
            Subject::Model(file) => file.undeclared(operators)?,
        };
        let found = widen(&file.model, budget).map(|spec| file.spec(language, spec)).transpose()?;
        Ok(found.map(|spec| Widest { spec, is_proved: true }))
    }

    /// The conditions that a checker of sizes checks.
    ///
    /// # Errors
    /// When they are not known.
    pub fn guard_set(&self, operators: &Operators) -> Result<GuardSet> {
        match self {
            Subject::Program(checker) => Ok(checker.session(operators)?.guard_set()?),
            Subject::Model(file) => Ok(guard_set(&file.undeclared(operators)?.model, &file.name)?),
        }
    }

    /// Which inputs it serves, as a document that small checkers evaluate, and the guards that it is made of.
    ///
    /// # Errors
    /// When the guards are not known, or have no counterpart in a contract.
    pub fn contract(&self, operators: &Operators, budget: &Budget) -> Result<(Contract, GuardSet)> {
        let (guards, report) = (self.guard_set(operators)?, self.check(None, operators, budget)?);
        Ok((Contract::new(&guards, &report.inputs, &report.outputs)?, guards))
    }

    /// What it accepts, to be compared with another one. The operators are for programs.
    ///
    /// # Errors
    /// When a program cannot be checked.
    pub fn side<'s>(&'s self, operators: &'s Operators) -> Result<Side<'s>> {
        match self {
            Subject::Program(checker) => Ok(Side::of_program(checker, operators)?),
            Subject::Model(file) => Ok(side(&file.model, &file.name)),
        }
    }

    /// What a spec of this name allows of it, to be compared with another one.
    ///
    /// # Errors
    /// As for [`Subject::side`]; when the spec does not fit.
    pub fn side_of_spec<'s>(&'s self, name: &str, spec: &Spec, operators: &'s Operators) -> Result<Side<'s>> {
        match self {
            Subject::Program(checker) => Ok(Side::of_spec(name, spec, checker, operators)?),
            Subject::Model(file) => Ok(side_of_spec(&file.model, name, spec)?),
        }
    }

    /// How large its values get, over all inputs that a spec allows, or its own contract.
    ///
    /// # Errors
    /// When the spec does not fit, it cannot be followed, or no input is allowed.
    pub fn sizing<'s>(&'s self, spec: Option<&Spec>, operators: &'s Operators) -> Result<Sizing<'s>> {
        match self {
            Subject::Program(checker) => Ok(sizing(checker.program(), spec, operators)?),
            Subject::Model(file) => Ok(model_sizing(&file.undeclared(operators)?.model, spec)?),
        }
    }

    /// Why dimensions are what they are: those that are named (`x.shape[0]`, `x.0`), or all.
    ///
    /// # Errors
    /// When a name is that of no dimension.
    pub fn explain(
        &self,
        named: &[String],
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Vec<Explanation>> {
        match self {
            Subject::Program(checker) => {
                let dimensions = match named {
                    [] => checker.dimensions()?,
                    named => named
                        .iter()
                        .map(|text| checker.dimension(text))
                        .collect::<std::result::Result<_, _>>()?,
                };
                let one = |dimension| Ok(checker.explain(dimension, operators, budget)?);
                dimensions.iter().map(one).collect()
            }
            Subject::Model(file) => {
                let model = &file.undeclared(operators)?.model;
                let place = |text: &String| dimension(model, text).ok_or_else(|| no_dimension(model, text));
                let places = match named {
                    [] => dynamic_dimensions(model),
                    named => named.iter().map(place).collect::<Result<_>>()?,
                };
                Ok(explanations(model, &places))
            }
        }
    }

    /// What answers requests about inputs of given shapes.
    ///
    /// # Errors
    /// When the inputs of a program cannot be determined, or operators are declared for a model.
    pub fn answers<'s>(&'s self, operators: &'s Operators) -> Result<Answers<'s>> {
        Ok(match self {
            Subject::Program(checker) => Answers::Program(Box::new(checker.evaluator(operators)?)),
            Subject::Model(file) => Answers::Model(&file.undeclared(operators)?.model),
        })
    }

    /// A model with other declarations of its inputs and outputs, to be written to a file of this name.
    ///
    /// # Errors
    /// When it is a program, or the bytes cannot be read.
    pub fn redeclared(&self, name: &str, changes: &[Declaration]) -> Result<ModelFile> {
        let Subject::Model(file) = self else {
            return Err(SubjectError::NotForPrograms("declares its inputs and outputs"));
        };
        let bytes = Bytes::from(redeclare(&file.bytes, changes)?);
        let mut model = Model::read(bytes.clone())?;
        model.backend = file.model.backend;
        Ok(ModelFile { name: name.to_owned(), bytes, model, reading: file.reading })
    }
}

impl ModelFile {
    /// The file, unless operators are declared: models have none of them.
    fn undeclared(&self, operators: &Operators) -> Result<&ModelFile> {
        match operators.names().next() {
            Some(_) => Err(SubjectError::NotForModels("a declaration of operators (--ops)".to_owned())),
            None => Ok(self),
        }
    }

    /// A spec of the model's inputs.
    fn spec(&self, language: Option<Language>, spec: Spec) -> Result<Spec> {
        if language == Some(Language::Shapes) {
            return Err(SubjectError::NotForModels("a ShapesSpec".to_owned()));
        }
        Ok(spec)
    }
}

/// That no input has the dimension of this text.
fn no_dimension(model: &Model, text: &str) -> SubjectError {
    let of_input = |input: Input| {
        let rank = input.shape.map_or(0, |sizes| sizes.len());
        (0..rank).map(move |dim| format!("{}.shape[{dim}]", input.name))
    };
    let known: Vec<String> = inputs(model).into_iter().flat_map(of_input).take(MAX_NAMED).collect();
    CheckError::NoDimension(text.to_owned(), known.join(", ")).into()
}

/// Answers requests about inputs of given shapes.
pub enum Answers<'s> {
    /// About an exported program.
    Program(Box<Evaluator<'s>>),
    /// About an ONNX model.
    Model(&'s Model),
}

impl Answers<'_> {
    /// The answer to a request of `sizewise eval`.
    ///
    /// # Errors
    /// When the request cannot be understood.
    pub fn answer(&self, request: &Fields) -> std::result::Result<Fields, Refusal> {
        match self {
            Answers::Program(evaluator) => eval::answer(evaluator, request),
            Answers::Model(model) => query::answer(model, request),
        }
    }

    /// Whether an input is a tensor that is given by its sizes; one of a model without dimensions is given by its value.
    /// `None` if there is no input of this name.
    pub fn has_sizes(&self, name: &str) -> Option<bool> {
        match self {
            Answers::Program(evaluator) => evaluator.is_tensor(name),
            Answers::Model(model) => {
                let input = inputs(model).into_iter().find(|input| input.name == name)?;
                Some(!input.shape.is_some_and(|sizes| sizes.is_empty()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_say_what_a_file_holds_before_its_name_does() {
        let model = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n] x) => (y) { y = Relu(x) }";
        for (name, bytes, kind) in [
            ("a.pt2", &b"PK\x03\x04"[..], Kind::Program),
            ("a.onnx", b"PK\x03\x04", Kind::Program),
            ("a.onnx", b" {\"graph_module\": {}}", Kind::Program),
            ("a.onnx", b"ExportedProgram:\n", Kind::Text),
            ("a.pt2", &[8, 8, 58, 0], Kind::Model),
            ("a.pt2", model.as_bytes(), Kind::Model),
            ("a.onnx", b"nothing known", Kind::Model),
            ("a.pt2", b"nothing known", Kind::Program),
            ("a.onnx", b"", Kind::Model),
        ] {
            assert_eq!(Kind::of(name, bytes), kind, "{name} {bytes:?}");
        }
    }

    #[test]
    fn a_model_refuses_what_is_asked_of_programs_only() {
        let model = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n] x) => (y) { y = Relu(x) }";
        let read =
            || Subject::read("m", model.as_bytes().to_vec(), &ReadOptions::default()).expect("a model");
        let (plain, mut declared, budget) = (Operators::new(), Operators::new(), Budget::default());
        let returns = "returns = [{ shape = [\"*x.shape\"], dtype = \"x.dtype\" }]";
        let text = format!("[[operator]]\nschema = \"shop::sell(Tensor x) -> Tensor\"\n{returns}\n");
        declared.declare("ops.toml", &text).expect("a declaration");
        let subject = read();
        let report = subject.check(None, &plain, &budget).expect("a report");
        let shapes = Some(Language::Shapes);
        let said = |result: Result<()>| result.err().map(|error| error.to_string()).unwrap_or_default();
        for (said, word) in [
            (said(read().on(Backend::Cuda).map(drop)), "the backend cuda"),
            (said(subject.check(None, &declared, &budget).map(drop)), "(--ops)"),
            (said(subject.recorded_spec(None, &declared).map(drop)), "(--ops)"),
            (said(subject.widest_spec(None, &declared, &budget).map(drop)), "(--ops)"),
            (said(subject.guard_set(&declared).map(drop)), "(--ops)"),
            (said(subject.explain(&[], &declared, &budget).map(drop)), "(--ops)"),
            (said(subject.answers(&declared).map(drop)), "(--ops)"),
            (said(subject.recorded_spec(shapes, &plain).map(drop)), "a ShapesSpec"),
            (said(subject.widest_spec(shapes, &plain, &budget).map(drop)), "a ShapesSpec"),
            (said(subject.program("a store").map(drop)), "a store"),
            (said(subject.render(&report, ReportForm::Torch, Style::default()).map(drop)), "`torch`"),
        ] {
            assert!(
                said.contains(word) && said.ends_with("is not supported for an ONNX model"),
                "{word}: {said}"
            );
        }
    }
}
