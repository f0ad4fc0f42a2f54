//! Arguments that several commands have.
use crate::decide::{Budget, Trace};
use clap::{Args, ValueEnum};
use std::io::IsTerminal;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Options of the commands that answer JSON lines.
#[derive(Args, Debug)]
pub struct Jsonl {
    /// How many threads answer; the answers come in input order all the same.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

/// Options of the commands that reason about expressions.
#[derive(Args, Debug)]
pub struct Reasoning {
    /// Add a field `explain`: what was tried, in order, and what came of it.
    #[arg(long)]
    pub explain: bool,
    /// How many times the usual amount of work a request may take before the answer is unknown; the `reason` names the
    /// limit that ran out.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub budget: u32,
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
}

impl Reasoning {
    /// The work that a request may take.
    pub fn budget(&self) -> Budget {
        Budget::default().times(self.budget)
    }

    /// An empty record, where attempts are to be explained.
    pub fn trace(&self) -> Trace {
        if self.explain { Trace::on() } else { Trace::off() }
    }
}

/// Files that declare custom operators.
#[derive(Args, Debug)]
pub struct OperatorFiles {
    /// Declarations of custom operators, TOML (see docs/operators.md); may be given several times.
    #[arg(long = "ops", value_name = "OPS.toml")]
    pub ops: Vec<PathBuf>,
}

/// The program that a command is about.
#[derive(Args, Debug)]
pub struct ProgramFile {
    /// The exported program: a .pt2 file, or - for standard input; `show`, `verify`, `pass` and `lower` take a text
    /// form too.
    #[arg(value_name = "PROGRAM")]
    pub path: PathBuf,
    /// Which program of an archive that holds several; by default the one called `model`.
    #[command(flatten)]
    pub choice: ModelChoice,
}

/// Which program of an archive is meant.
#[derive(Args, Debug)]
pub struct ModelChoice {
    /// The program's name, in an archive that holds several; by default `check` takes all of them, other commands the
    /// one called `model`.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

impl Deref for ProgramFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

/// The forms of a report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// On terminals, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// Whether to use colour in a report that goes to this file, or to standard output. Files get no colour.
    pub fn on_stdout(self, output: Option<&Path>) -> bool {
        let wanted = match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        output.is_none() && wanted
    }
}
