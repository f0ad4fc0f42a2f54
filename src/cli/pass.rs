//! `sizewise pass` and `sizewise lower`: programs made of programs.
use super::args::{OperatorFiles, ProgramFile};
use super::programs::Loaded;
use super::{files, operators, programs};
use crate::escape;
use crate::ir::Program;
use crate::ir::text::{self, Detail};
use crate::pass::{Pass, PassError, Pipeline};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `pass`.
#[derive(Args, Debug)]
pub struct PassOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The passes, in order: dce, cse, fold, derive, assert, functionalize, decompose. After each one the program is verified.
    #[arg(long, value_name = "PASSES", value_delimiter = ',', required = true, value_parser = pass)]
    pub run: Vec<String>,
    /// Where to write: a .pt2 archive if the name ends in .pt2, text otherwise; text on standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Custom operators.
    #[command(flatten)]
    pub operators: OperatorFiles,
}

/// Options of `lower`.
#[derive(Args, Debug)]
pub struct LowerOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The dialect.
    #[arg(long, value_enum, default_value_t = Dialect::Edge)]
    pub to: Dialect,
    /// Where to write: a .pt2 archive if the name ends in .pt2, text otherwise; text on standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Custom operators.
    #[command(flatten)]
    pub operators: OperatorFiles,
}

/// Dialects that a renaming leads to.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// ExecuTorch's Edge dialect.
    Edge,
}

fn pass(name: &str) -> Result<String, String> {
    match Pass::find(name) {
        Some(_) => Ok(name.to_owned()),
        None => {
            let known: Vec<&str> = Pass::ALL.iter().map(|pass| pass.name).collect();
            Err(format!("no pass is called so; there are {}", known.join(", ")))
        }
    }
}

/// Runs `pass`.
pub fn run(options: &PassOptions) -> ExitCode {
    let passes = options.run.iter().filter_map(|name| Pass::find(name));
    let pipeline = passes.fold(Pipeline::new(), Pipeline::then);
    finish(&options.program, &pipeline, &options.operators, options.output.as_deref())
}

/// The way from a training program to the Edge dialect. A program that is functional already passes the first step as it is.
const LOWERING: &[&str] = &["functionalize", "decompose", "edge"];

/// Runs `lower`.
pub fn lower(options: &LowerOptions) -> ExitCode {
    let Dialect::Edge = options.to;
    let passes = LOWERING.iter().filter_map(|name| Pass::find(name));
    let pipeline = passes.fold(Pipeline::new(), Pipeline::then);
    finish(&options.program, &pipeline, &options.operators, options.output.as_deref())
}

fn finish(
    program: &ProgramFile,
    pipeline: &Pipeline,
    ops: &OperatorFiles,
    output: Option<&Path>,
) -> ExitCode {
    let operators = match operators::load(ops) {
        Ok(operators) => operators,
        Err(message) => return refuse(&message, 2),
    };
    let loaded = Loaded::open(program).and_then(|loaded| Ok((loaded.load()?, loaded)));
    let (program, loaded) = match loaded {
        Ok(loaded) => loaded,
        Err(message) => return refuse(&message, 3),
    };
    match pipeline.run(&program, &operators) {
        Ok(made) => match write(&made, &loaded, output) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => refuse(&message, 3),
        },
        Err(PassError::Broken { pass, violations }) => {
            files::complain(&format!("after {pass} the program breaks rules of its dialect:"));
            for violation in &violations {
                eprintln!("  {}", escape::visible(&violation.to_string()));
            }
            ExitCode::from(1)
        }
        Err(PassError::Left { pass, operators }) => {
            files::complain(&format!("{pass}: left as they are:"));
            for what in &operators {
                eprintln!("  {}", escape::visible(what));
            }
            ExitCode::from(1)
        }
        Err(error) => refuse(&error.to_string(), 3),
    }
}

fn refuse(message: &str, status: u8) -> ExitCode {
    files::complain(message);
    ExitCode::from(status)
}

fn write(program: &Program, from: &Loaded, output: Option<&Path>) -> Result<(), String> {
    if output.is_some_and(|path| path.extension().is_some_and(|extension| extension == "pt2")) {
        return programs::write_archive(program, from, output);
    }
    files::write(output, &text::write_readable(program, Detail::Full))
}
