//! Layer 9: the command line.
//!
//! Exit status: 0 clean, 1 something is violated, 2 wrong usage or spec, 3 program unreadable or not supported, 4 undecided, 70
//! internal error.
mod args;
pub mod argument;
mod bounds;
mod check;
mod entail;
mod eval;
mod files;
mod guards;
mod infer;
pub mod jsonl;
mod minimize;
mod operators;
mod ops;
mod programs;
mod progress;
mod query;
mod show;
mod simplify;
mod spec;
mod verify;

use args::{Command, Options};
use clap::Parser;
use std::process::ExitCode;

/// The exit status of an internal error.
const INTERNAL_ERROR: u8 = 70;
/// Stack of the thread that works: kernels and searches recurse a little, and programs nest.
const STACK_BYTES: usize = 256 << 20;

/// Runs the program on the process's arguments.
pub fn run() -> ExitCode {
    let options = Options::parse();
    let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || dispatch(options));
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => status,
        // The panic has said where; it is a bug of ours.
        Ok(Err(_)) => {
            eprintln!("sizewise: internal error; please report it with the input");
            ExitCode::from(INTERNAL_ERROR)
        }
        Err(error) => {
            eprintln!("sizewise: no thread can be started: {error}");
            ExitCode::from(INTERNAL_ERROR)
        }
    }
}

/// The answer of a JSON lines command to one line of its input, as with no options given; none to a blank line. Commands that read no
/// lines, or need a program, answer nothing.
pub fn answer_line(command: &str, line: &[u8]) -> Option<String> {
    match Options::try_parse_from(["sizewise", command]).ok()?.command {
        Command::Infer(_) => {
            let operators = crate::fake::Operators::new();
            jsonl::answer_line(&|request| infer::answer(&operators, request), line)
        }
        Command::Entail(options) => jsonl::answer_line(&|request| entail::answer(&options, request), line),
        Command::Simplify(options) => {
            jsonl::answer_line(&|request| simplify::answer(&options, request), line)
        }
        Command::Minimize(options) => {
            jsonl::answer_line(&|request| minimize::answer(&options, request), line)
        }
        Command::Bounds(options) => jsonl::answer_line(&|request| bounds::answer(&options, request), line),
        _ => None,
    }
}

fn dispatch(options: Options) -> ExitCode {
    match options.command {
        Command::Check(options) => check::run(&options),
        Command::Spec(command) => spec::run(&command),
        Command::Guards(options) => guards::run(&options),
        Command::Show(options) => show::run(&options),
        Command::Verify(options) => verify::run(&options),
        Command::Eval(options) => eval::run(&options),
        Command::Infer(options) => infer::run(&options),
        Command::Ops(options) => ops::run(&options),
        Command::Entail(options) => entail::run(&options),
        Command::Simplify(options) => simplify::run(&options),
        Command::Minimize(options) => minimize::run(&options),
        Command::Bounds(options) => bounds::run(&options),
    }
}
