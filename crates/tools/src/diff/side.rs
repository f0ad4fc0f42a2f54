//! One of the two programs that are compared.
use sizewise_check::check::{Acceptance, CheckError, Checker, Evaluation, Session, Shapes};
use sizewise_check::spec::{InputKind, ProgramInput, Shape};
use sizewise_expr::{Int, Symbol, Value as Number};
use sizewise_ir::Constant;
use sizewise_kernels::Operators;
use std::sync::Arc;

/// A program with what it accepts.
pub(super) struct Side<'c> {
    pub checker: &'c Checker,
    pub session: Session<'c>,
    /// What it accepts, or why that is not known.
    pub acceptance: Result<Acceptance, CheckError>,
}

/// What a program does with inputs of given sizes.
pub(super) enum Outcome {
    Accepts(Box<Evaluation>),
    Refuses(String),
    /// It is not known.
    Open,
}

impl<'c> Side<'c> {
    pub fn new(checker: &'c Checker, operators: &'c Operators) -> Result<Side<'c>, CheckError> {
        let session = checker.session(operators)?;
        let acceptance = session.acceptance(None);
        Ok(Side { checker, session, acceptance })
    }

    /// The inputs that callers pass.
    pub fn inputs(&self) -> &[ProgramInput] {
        &self.session.contract().inputs
    }

    /// What the program does with these inputs, as `sizewise eval` answers it.
    pub fn replay(&self, shapes: &Shapes) -> Outcome {
        let evaluator = self.session.evaluator();
        match evaluator.evaluate(shapes) {
            Ok(_) if !evaluator.unreadable().is_empty() => Outcome::Open,
            Ok(evaluation) => Outcome::Accepts(Box::new(evaluation)),
            Err(refused) if refused.malformed => Outcome::Open,
            Err(refused) => Outcome::Refuses(refused.message),
        }
    }

    /// The sizes at a witness; symbols that it does not name have their values at the traced example.
    pub fn shapes_with(&self, witness: &[(Symbol, Int)]) -> Option<Shapes> {
        let hints = &self.session.contract().hints;
        self.shapes_at(&|symbol: Symbol| {
            let named = witness.iter().find(|(s, _)| *s == symbol).map(|(_, v)| Number::Int(v.clone()));
            named.or_else(|| hints.get(&symbol).cloned())
        })
    }

    /// The sizes of all inputs where the symbols have these values; `None` where one has no value, or is negative.
    fn shapes_at(&self, value: &dyn Fn(Symbol) -> Option<Number>) -> Option<Shapes> {
        let contract = self.session.contract();
        let pool = &contract.env.pool;
        let mut shapes = Shapes::new();
        for input in &contract.inputs {
            let shape = match &input.kind {
                InputKind::Tensor { sizes, .. } => {
                    let size = |&e| pool.eval(e, value).ok()?.as_int().filter(|v| !v.is_negative());
                    Shape::Tensor(sizes.iter().map(size).collect::<Option<_>>()?)
                }
                InputKind::Scalar(e) => Shape::Scalar(pool.eval(*e, value).ok()?),
                InputKind::Constant(constant) => constant_shape(constant),
                InputKind::Other => continue,
            };
            shapes.insert(Arc::clone(&input.input.placeholder), shape);
        }
        Some(shapes)
    }
}

/// A constant as a caller passes it.
fn constant_shape(constant: &Constant) -> Shape {
    match constant {
        Constant::None => Shape::None,
        Constant::Int(v) => Shape::Scalar(Number::Int((*v).into())),
        Constant::Float(v) => Shape::Scalar(Number::Float(*v)),
        Constant::Bool(v) => Shape::Scalar(Number::Bool(*v)),
        Constant::Str(v) => Shape::Text(Arc::clone(v)),
    }
}
