//! Layer 9: the command line.
//!
//! Exit status: 0 clean, 1 something is violated, 2 wrong usage or spec, 3 program unreadable or not supported, 4 undecided, 70
//! internal error.
mod args;
mod argument;
mod bounds;
mod entail;
mod infer;
mod jsonl;
mod minimize;
mod query;
mod simplify;

use clap::Parser;
use std::process::ExitCode;

/// Runs the program on the process's arguments.
pub fn run() -> ExitCode {
    let options = args::Options::parse();
    match options.command {
        args::Command::Infer(options) => jsonl::run(options.jobs, infer::answer),
        args::Command::Entail(options) => jsonl::run(options.jobs, entail::answer),
        args::Command::Simplify(options) => jsonl::run(options.jobs, simplify::answer),
        args::Command::Minimize(options) => jsonl::run(options.jobs, minimize::answer),
        args::Command::Bounds(options) => jsonl::run(options.jobs, bounds::answer),
    }
}
