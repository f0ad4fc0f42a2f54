//! `sizewise eval`: what happens to inputs of given shapes, a request a line.
use super::args::EvalOptions;
use super::{files, jsonl, operators, programs};
use crate::query;
use std::process::ExitCode;

/// Runs the command.
pub fn run(options: &EvalOptions) -> ExitCode {
    let checker = match programs::checker(&options.program) {
        Ok(checker) => checker,
        Err(message) => {
            files::complain(&message);
            return ExitCode::from(3);
        }
    };
    let operators = match operators::load_on(&options.operators) {
        Ok(operators) => operators,
        Err(message) => {
            files::complain(&message);
            return ExitCode::from(2);
        }
    };
    match checker.evaluator(&operators) {
        Ok(evaluator) => jsonl::run(options.jsonl.jobs, &|request| query::eval::answer(&evaluator, request)),
        Err(error) => {
            files::complain(&format!("{}: {error}", files::shown(&options.program)));
            ExitCode::from(3)
        }
    }
}
