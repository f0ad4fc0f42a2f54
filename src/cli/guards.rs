//! `sizewise guards`: a program's guards as code.
use super::args::{Kernels, ProgramFile};
use super::failure::Result;
use super::programs::{Loaded, failed, unreadable};
use super::{files, operators};
use crate::onnx::subject::Subject;
use crate::report::guard_code::Language;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `guards`.
#[derive(Args, Debug)]
pub struct GuardsOptions {
    /// The exported program, or ONNX model.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The language of the checker.
    #[arg(long, value_enum, default_value_t = GuardLanguage::Python)]
    pub emit: GuardLanguage,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// Where to write the checker; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The languages of checkers.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardLanguage {
    /// A function `check(inputs)` that returns None or a reason.
    Python,
    /// A function `check` that returns a Result.
    Rust,
    /// A function `sizewise_check` that returns NULL or a reason.
    C,
    /// Sizes and conditions as data.
    Json,
}

/// Runs the command.
pub fn run(options: &GuardsOptions) -> Result<ExitCode> {
    let language = match options.emit {
        GuardLanguage::Python => Language::Python,
        GuardLanguage::Rust => Language::Rust,
        GuardLanguage::C => Language::C,
        GuardLanguage::Json => Language::Json,
    };
    let loaded = Loaded::open(&options.program)?;
    let subject = loaded.subject(options.operators.backend, &["emit", "backend", "output"])?;
    let operators = operators::load_on(&options.operators)?;
    let guards = subject.guard_set(&operators).map_err(|error| failed(subject.name(), error))?;
    let code = guards.emit(language).map_err(|error| unreadable(subject.name(), error))?;
    if guards.not_followed > 0 && matches!(subject, Subject::Model(_)) {
        files::complain(&incomplete(guards.not_followed));
    }
    files::write(options.output.as_deref(), &code)?;
    Ok(ExitCode::SUCCESS)
}

/// That a checker may accept inputs that the model refuses.
fn incomplete(nodes: usize) -> String {
    let nodes = if nodes == 1 { "1 node is".to_owned() } else { format!("{nodes} nodes are") };
    format!(
        "the guards are incomplete: {nodes} not fully followed, and the model may refuse what they accept"
    )
}
