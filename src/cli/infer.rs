//! `sizewise infer`: shape inference of one operator call a line.
use super::args::InferOptions;
use super::{files, jsonl, operators};
use crate::query;
use std::process::ExitCode;

/// Runs the command.
pub fn run(options: &InferOptions) -> ExitCode {
    match operators::load_on(&options.operators) {
        Ok(operators) => jsonl::run(options.jsonl.jobs, &|request| {
            query::infer::explained(&operators, request, options.explain)
        }),
        Err(message) => {
            files::complain(&message);
            ExitCode::from(2)
        }
    }
}
