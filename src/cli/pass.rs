//! `sizewise pass` and `sizewise lower`: transform programs.
use super::args::{OperatorFiles, ProgramFile};
use super::failure::{Failure, Result};
use super::programs::Loaded;
use super::{files, operators, programs};
use crate::escape;
use crate::ir::Program;
use crate::ir::text::{self, Detail};
use crate::pass::{Pass, PassError, Pipeline};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `pass`.
#[derive(Args, Debug)]
pub struct PassOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    // The help is made of the passes that there are.
    #[arg(
        long, value_name = "PASSES", value_delimiter = ',', required = true, value_parser = pass,
        help = format!("The passes, in order: {}. After each one the program is verified.", names())
    )]
    pub run: Vec<String>,
    /// Where to write: a .pt2 archive if the name ends in .pt2, otherwise text. By default text to standard output.
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
    /// Where to write: a .pt2 archive if the name ends in .pt2, otherwise text. By default text to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Custom operators.
    #[command(flatten)]
    pub operators: OperatorFiles,
}

/// Dialects that programs are lowered to.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// ExecuTorch's Edge dialect.
    Edge,
}

fn names() -> String {
    Pass::ALL.iter().map(|pass| pass.name).collect::<Vec<_>>().join(", ")
}

fn pass(name: &str) -> std::result::Result<String, String> {
    match Pass::find(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(format!("no pass has this name; there are {}", names())),
    }
}

/// Runs `pass`.
pub fn run(options: &PassOptions) -> Result<ExitCode> {
    let names = options.run.iter().map(String::as_str);
    transform(&options.program, names, &options.operators, options.output.as_deref())
}

/// The passes from a training program to the Edge dialect. The first leaves a functional program as it is.
const LOWERING: &[&str] = &["functionalize", "decompose", "edge"];

/// Runs `lower`.
pub fn lower(options: &LowerOptions) -> Result<ExitCode> {
    let Dialect::Edge = options.to;
    transform(&options.program, LOWERING.iter().copied(), &options.operators, options.output.as_deref())
}

fn transform<'n>(
    program: &ProgramFile,
    passes: impl Iterator<Item = &'n str>,
    operators: &OperatorFiles,
    output: Option<&Path>,
) -> Result<ExitCode> {
    let pipeline = passes.filter_map(Pass::find).fold(Pipeline::new(), Pipeline::then);
    let operators = operators::load(operators)?;
    let loaded = Loaded::open(program)?;
    let (what, details) = match pipeline.run(&loaded.load()?, &operators) {
        Ok(made) => {
            write(&made, &loaded, output)?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(PassError::Broken { pass, violations }) => (
            format!("after {pass} the program breaks rules of its dialect:"),
            violations.iter().map(ToString::to_string).collect(),
        ),
        Err(PassError::Left { pass, operators }) => (format!("{pass}: left as they are:"), operators),
        Err(error) => return Err(Failure::program(error)),
    };
    files::complain(&what);
    for detail in &details {
        let _ = writeln!(std::io::stderr(), "  {}", escape::visible(detail));
    }
    Ok(ExitCode::from(1))
}

fn write(program: &Program, from: &Loaded, output: Option<&Path>) -> Result<()> {
    if output.is_some_and(|path| path.extension().is_some_and(|extension| extension == "pt2")) {
        return programs::write_archive(program, from, output);
    }
    files::write(output, &text::write_readable(program, Detail::Full))
}
