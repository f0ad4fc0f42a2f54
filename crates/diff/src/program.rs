//! An exported program as one of the two that are compared.
use super::side::{Followed, Input, Kind, Outcome, Side, Source};
use serde_json::Value as Json;
use sizewise_check::check::{Acceptance, CheckError, Checker, Evaluation, Shapes};
use sizewise_check::report::int_json;
use sizewise_check::spec::{InputKind, ProgramInput};
use sizewise_expr::{Expr, Int, Symbol, Value as Number, text};
use sizewise_ir::{Argument, Meta, Program};
use sizewise_kernels::{Operators, Value};
use std::sync::Arc;

impl<'c> Side<'c> {
    /// A program.
    ///
    /// # Errors
    /// When it cannot be checked.
    pub fn of_program(checker: &'c Checker, operators: &'c Operators) -> Result<Side<'c>, CheckError> {
        let session = checker.session(operators)?;
        let acceptance = session.acceptance(None).map_err(|error| error.to_string());
        let program = checker.program();
        let results = match &acceptance {
            Ok(acceptance) => {
                let all = program.signature.outputs.iter().zip(&acceptance.results);
                all.filter(|(spec, _)| spec.is_user_output()).map(|(_, value)| expressions(value)).collect()
            }
            Err(_) => Vec::new(),
        };
        let contract = session.contract();
        Ok(Side {
            name: checker.name().to_owned(),
            nodes: program.graph.total_nodes(),
            inputs: contract.inputs.iter().map(|one| called(one, program)).collect(),
            pool: contract.env.pool.clone(),
            hints: contract.hints.clone(),
            ranges: contract.ranges.iter().map(|(_, bounds)| *bounds).collect(),
            outputs: Some(kinds_of_outputs(program)),
            acceptance,
            results,
            source: Box::new(Followed(session)),
        })
    }
}

impl Followed<'_> {
    pub(super) fn program(&self) -> &Program {
        self.0.contract().program
    }
}

impl Source for Followed<'_> {
    /// As `sizewise eval` answers it.
    fn replay(&self, shapes: &Shapes) -> Outcome {
        let evaluator = self.0.evaluator();
        match evaluator.evaluate(shapes) {
            Ok(_) if !evaluator.unreadable().is_empty() => Outcome::Open,
            Ok(evaluation) => {
                let results = (0..evaluation.outputs.len()).map(|at| result(&evaluation, at));
                Outcome::Accepts(results.collect())
            }
            Err(refused) if refused.malformed => Outcome::Open,
            Err(refused) => Outcome::Refuses(refused.message),
        }
    }

    fn case(&self, symbol: Symbol, value: Int) -> Option<Acceptance> {
        self.0.acceptance(Some((symbol, value))).ok()
    }

    fn line(&self, output: usize) -> Option<String> {
        let program = self.program();
        let outputs = program.signature.outputs.iter().zip(program.graph.outputs());
        let (_, argument) = outputs.filter(|(spec, _)| spec.is_user_output()).nth(output)?;
        let node = program.graph.producer(argument.value()?)?;
        node.provenance.location().map(|location| location.to_string())
    }

    fn whole(&self) -> Option<Vec<u8>> {
        Some(format!("{:?}", self.program()).into_bytes())
    }

    fn program(&self) -> Option<&Followed<'_>> {
        Some(self)
    }
}

/// An input of a program, which may not record how it is called.
fn called(one: &ProgramInput, program: &Program) -> Input {
    let input = input(one);
    Input { call: input.call.filter(|_| program.call_signature().is_some()), ..input }
}

/// An input of a program.
pub(super) fn input(input: &ProgramInput) -> Input {
    let kind = match &input.kind {
        InputKind::Tensor { sizes, dtype, .. } => {
            Kind::Tensor { sizes: sizes.clone(), dtype: dtype.to_string() }
        }
        InputKind::Scalar(e) => Kind::Scalar(*e),
        InputKind::Constant(value) => Kind::Constant(value.clone()),
        InputKind::Other => Kind::Other,
    };
    Input {
        placeholder: Arc::clone(&input.input.placeholder),
        path: input.path(),
        is_keyword: input.input.keyword.is_some(),
        call: Some(input.input.call_path.clone()),
        kind,
    }
}

/// The outputs that the user gets, in words.
fn kinds_of_outputs(program: &Program) -> Vec<String> {
    let outputs = program.signature.outputs.iter().zip(program.graph.outputs());
    let outputs = outputs.filter(|(spec, _)| spec.is_user_output());
    let kind = |argument: &Argument| match argument.value().map(|id| program.graph.meta(id)) {
        Some(Meta::Tensor(meta)) => format!("a {} tensor of rank {}", meta.dtype, meta.sizes.len()),
        Some(Meta::SymInt(_)) => "an integer".to_owned(),
        Some(Meta::SymFloat(_)) => "a float".to_owned(),
        Some(Meta::SymBool(_)) => "a truth value".to_owned(),
        Some(_) => "no tensor".to_owned(),
        None => "a constant".to_owned(),
    };
    outputs.map(|(_, argument)| kind(argument)).collect()
}

/// The sizes of a tensor, or the value of a number.
fn expressions(value: &Value) -> Option<Vec<Expr>> {
    match value {
        Value::Tensor(tensor) => Some(tensor.sizes.to_vec()),
        Value::Int(e) | Value::Bool(e) => Some(vec![*e]),
        _ => None,
    }
}

/// The sizes or the value of an output; `None` where data decides them.
fn result(evaluation: &Evaluation, output: usize) -> Option<Json> {
    let pool = &evaluation.env.pool;
    if let Some(sizes) = &evaluation.outputs[output] {
        let size = |&e: &Expr| pool.as_int(e).map(|v| int_json(&v));
        return sizes.iter().map(size).collect::<Option<Vec<Json>>>().map(Json::from);
    }
    let number = evaluation.numbers[output]?;
    Some(match pool.constant_value(number)? {
        Number::Int(v) => int_json(&v),
        Number::Bool(v) => v.into(),
        _ => text::print::expression(pool, number).into(),
    })
}
