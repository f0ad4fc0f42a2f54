//! `sizewise eval`: what happens to inputs of given shapes, a request a line.
use super::args::EvalOptions;
use super::{files, jsonl, operators};
use crate::check::Checker;
use crate::query;
use std::process::ExitCode;

/// Runs the command.
pub fn run(options: &EvalOptions) -> ExitCode {
    let loaded = files::read(&options.program).and_then(|bytes| {
        let name = files::name(&options.program);
        Checker::read(&name, &bytes).map_err(|error| format!("{}: {error}", files::shown(&options.program)))
    });
    let checker = match loaded {
        Ok(checker) => checker,
        Err(message) => {
            files::complain(&message);
            return ExitCode::from(3);
        }
    };
    let operators = match operators::load(&options.operators) {
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
