//! Commands and their options.
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Symbolic shape reasoning for exported PyTorch programs.
#[derive(Parser, Debug)]
#[command(version, about, arg_required_else_help = true)]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Prove that a dynamic-shape spec implies everything an exported program needs, or show an input that breaks it.
    Check(CheckOptions),
    /// Write an exported program as text.
    Show(super::show::ShowOptions),
    /// Hold an exported program to the rules of its dialect and report every violation.
    Verify(super::verify::VerifyOptions),
    /// Say what happens to inputs of given shapes: JSON lines on standard input and output.
    Eval(EvalOptions),
    /// Infer the result of operator calls: JSON lines on standard input and output.
    Infer(Jsonl),
    /// Decide whether ranges and assumptions imply a goal: JSON lines on standard input and output.
    Entail(Jsonl),
    /// Simplify expressions under ranges and assumptions: JSON lines on standard input and output.
    Simplify(Jsonl),
    /// Leave redundant guards out of sets of guards: JSON lines on standard input and output.
    Minimize(Jsonl),
    /// Find the least and the greatest value of expressions: JSON lines on standard input and output.
    Bounds(Jsonl),
}

/// Options of the commands that answer JSON lines.
#[derive(Args, Debug)]
pub struct Jsonl {
    /// How many threads answer; the answers come in input order all the same.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckOptions {
    /// The exported program: a .pt2 file, or - for standard input.
    pub program: PathBuf,
    /// The dynamic-shape spec, JSON; without it, the program's own ranges and guards are assumed.
    #[arg(long, value_name = "SPEC.json")]
    pub spec: Option<PathBuf>,
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Where to write the report; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
    /// Say how long each phase took; reports then differ from run to run.
    #[arg(long)]
    pub timings: bool,
}

/// Options of `eval`.
#[derive(Args, Debug)]
pub struct EvalOptions {
    /// The exported program: a .pt2 file.
    pub program: PathBuf,
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
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
    /// Whether to use colour on an output that is or is no terminal.
    pub fn enabled(self, terminal: bool) -> bool {
        match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        }
    }
}
