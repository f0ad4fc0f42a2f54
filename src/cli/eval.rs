//! `sizewise eval`: what happens to inputs of given shapes, a request a line.
use super::args::{Jsonl, Kernels, ProgramFile};
use super::failure::Result;
use super::{jsonl, onnx_model, operators, programs};
use crate::query;
use clap::Args;
use std::process::ExitCode;

/// Options of `eval`.
#[derive(Args, Debug)]
pub struct EvalOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
}

/// Runs the command.
pub fn run(options: &EvalOptions) -> Result<ExitCode> {
    let loaded = programs::Loaded::open(&options.program)?;
    if let Some(model) = loaded.model()? {
        return onnx_model::eval(&model, options.jsonl.jobs);
    }
    let checker = loaded.checker()?;
    let operators = operators::load_on(&options.operators)?;
    let evaluator =
        checker.evaluator(&operators).map_err(|error| programs::unreadable(checker.name(), error))?;
    Ok(jsonl::run(options.jsonl.jobs, &|request| query::eval::answer(&evaluator, request)))
}
