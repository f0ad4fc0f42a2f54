//! Layer 9: the command line.
//!
//! Exit status: 0 clean, 1 something is violated, 2 wrong usage or spec, 3 program unreadable or not supported, 4 undecided, 70
//! internal error.
mod args;
mod argument;
mod check;
mod entail;
mod eval;
mod files;
mod infer;
mod jsonl;
mod query;

use args::{Command, Options};
use clap::Parser;
use std::process::ExitCode;

/// Runs the program on the process's arguments.
pub fn run() -> ExitCode {
    match Options::parse().command {
        Command::Check(options) => check::run(&options),
        Command::Eval(options) => eval::run(&options),
        Command::Infer(options) => jsonl::run(options.jobs, &infer::answer),
        Command::Entail(options) => jsonl::run(options.jobs, &entail::answer),
    }
}
