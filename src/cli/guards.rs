//! `sizewise guards`: a program's guards as code.
use super::args::{Kernels, ProgramFile};
use super::failure::Result;
use super::programs::{Loaded, failed, unreadable};
use super::{files, operators};
use crate::Budget;
use crate::Operators;
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
    /// A C++17 header with a function `sizewise::check` that returns nullptr or a reason.
    Cpp,
    /// Sizes and conditions as data.
    Json,
    /// A contract, which small checkers in Rust, C, C++ and Python evaluate (see docs/contract.md). In a file that is
    /// called `.szc`, its compact form.
    Contract,
}

/// Runs the command.
pub fn run(options: &GuardsOptions) -> Result<ExitCode> {
    let loaded = Loaded::open(&options.program)?;
    let subject = loaded.subject(options.operators.backend, &["emit", "backend", "output"])?;
    let operators = operators::load_on(&options.operators)?;
    let (code, not_followed) = written(options, &subject, &operators)?;
    if not_followed > 0 {
        files::complain(&incomplete(not_followed));
    }
    files::write_bytes(options.output.as_deref(), &code)?;
    Ok(ExitCode::SUCCESS)
}

/// The checker, and the number of nodes that are not followed.
fn written(options: &GuardsOptions, subject: &Subject, operators: &Operators) -> Result<(Vec<u8>, usize)> {
    let language = match options.emit {
        GuardLanguage::Python => Language::Python,
        GuardLanguage::Rust => Language::Rust,
        GuardLanguage::C => Language::C,
        GuardLanguage::Json => Language::Json,
        GuardLanguage::Cpp | GuardLanguage::Contract => {
            let made = subject.contract(operators, &Budget::default());
            let (contract, guards) = made.map_err(|error| failed(subject.name(), error))?;
            let is_compact =
                options.output.as_ref().is_some_and(|path| path.extension() == Some("szc".as_ref()));
            let code = match options.emit {
                GuardLanguage::Cpp => contract.to_cpp(&guards).into_bytes(),
                _ if is_compact => contract.bytes,
                _ => contract.to_text().into_bytes(),
            };
            return Ok((code, guards.not_followed));
        }
    };
    let guards = subject.guard_set(operators).map_err(|error| failed(subject.name(), error))?;
    let code = guards.emit(language).map_err(|error| unreadable(subject.name(), error))?;
    Ok((code.into_bytes(), guards.not_followed))
}

/// That a checker may accept inputs that the model refuses.
fn incomplete(nodes: usize) -> String {
    let nodes = if nodes == 1 { "1 node is".to_owned() } else { format!("{nodes} nodes are") };
    format!("the guards are incomplete: {nodes} not fully followed, and what they accept may be refused")
}
