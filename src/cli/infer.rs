//! `sizewise infer`: shape inference of one operator call a line.
use super::args::{Jsonl, Kernels};
use super::failure::Result;
use super::{jsonl, operators};
use crate::query;
use clap::Args;
use std::process::ExitCode;

/// Options of `infer`.
#[derive(Args, Debug)]
pub struct InferOptions {
    /// Add a field `explain`: what settled each condition of the operator.
    #[arg(long)]
    pub explain: bool,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
}

/// Runs the command.
pub fn run(options: &InferOptions) -> Result<ExitCode> {
    let operators = operators::load_on(&options.operators)?;
    Ok(jsonl::run(options.jsonl.jobs, &|request| {
        query::infer::explained(&operators, request, options.explain)
    }))
}
