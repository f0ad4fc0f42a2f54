//! `sizewise eval`: what happens to inputs of given shapes: those of the arguments, or a request a line.
use super::args::{Jsonl, Kernels, ProgramFile};
use super::failure::Result;
use super::programs::{Loaded, failed};
use super::{asked, jsonl, operators};
use clap::Args;
use std::process::ExitCode;

/// Options of `eval`.
#[derive(Args, Debug)]
pub struct EvalOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// An input with its sizes, `x=3,8` (`x=[]` for a tensor without dimensions), or its value if it is a number (of an ONNX model
    /// also a tensor without dimensions); without any, JSON lines are read from standard input.
    /// Inputs of an exported program that are not given keep the sizes that they were traced with;
    /// of an ONNX model all tensors are given.
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
    let loaded = Loaded::open(&options.program)?;
    let subject = loaded.subject(options.operators.backend, &["inputs", "backend", "jobs"])?;
    let operators = operators::load_on(&options.operators)?;
    let answers = subject.answers(&operators).map_err(|error| failed(subject.name(), error))?;
    if !options.inputs.is_empty() {
        let request = asked::shapes(&options.inputs, &|name| answers.has_sizes(name))?;
        return asked::evaluated(answers.answer(&request));
    }
    Ok(jsonl::run(options.jsonl.jobs, &|request| answers.answer(request)))
}
