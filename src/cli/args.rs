//! Commands and their options.
use clap::{Args, Parser, Subcommand};

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
