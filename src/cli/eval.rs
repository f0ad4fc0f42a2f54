//! `sizewise eval`: what happens to inputs of given shapes: those of the arguments, or a request a line.
use super::args::{Jsonl, Kernels, ProgramFile};
use super::failure::Result;
use super::{asked, jsonl, onnx_model, operators, programs};
use crate::query;
use clap::Args;
use std::process::ExitCode;

/// Options of `eval`.
#[derive(Args, Debug)]
pub struct EvalOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// An input with its sizes, `x=3,8`, or its value if it is a number or a tensor without dimensions; without any, JSON
    /// lines are read from standard input. Inputs of an exported program that are not given keep
    /// the sizes that they were traced with; of an ONNX model all tensors are given.
    #[arg(value_name = "INPUT=SIZES")]
    pub inputs: Vec<String>,
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
    if let Some(mut model) = loaded.model()? {
        onnx_model::refuse_operators(&options.operators)?;
        model.backend = options.operators.backend;
        if !options.inputs.is_empty() {
            let request = onnx_model::request(&model, &options.inputs)?;
            return asked::evaluated(crate::onnx::query::answer(&model, &request));
        }
        return onnx_model::eval(&model, options.jsonl.jobs);
    }
    let checker = loaded.checker()?;
    let operators = operators::load_on(&options.operators)?;
    let evaluator =
        checker.evaluator(&operators).map_err(|error| programs::unreadable(checker.name(), error))?;
    if !options.inputs.is_empty() {
        let request = asked::shapes(&options.inputs, &|name| evaluator.is_tensor(name))?;
        return asked::evaluated(query::eval::answer(&evaluator, &request));
    }
    Ok(jsonl::run(options.jsonl.jobs, &|request| query::eval::answer(&evaluator, request)))
}
