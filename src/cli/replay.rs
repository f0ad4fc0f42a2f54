//! `sizewise replay`: what torch asked its `ShapeEnv`, and what follows from the facts that it had.
use super::args::Format;
use super::failure::{Failure, Result};
use super::files;
use crate::escape;
use crate::replay::{self, Settings};
use clap::Args;
use std::io::{BufReader, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `replay`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sizewise replay trace.jsonl.gz                  an answer for each question, as JSON lines
  sizewise replay trace.jsonl.gz --format text    needless guards and avoidable errors, with their lines")]
pub struct ReplayOptions {
    /// The trace: JSON lines, plain or gzipped, or - for standard input.
    pub trace: PathBuf,
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    pub format: Format,
    /// The multiple of the work budget that a question may use. One that needs more is answered by `null`.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub budget: u32,
    /// Leave the classes of the e-graph and earlier answers out, to see what they are worth.
    #[arg(long)]
    pub ranges_only: bool,
}

/// Runs the command.
pub fn run(options: &ReplayOptions) -> Result<ExitCode> {
    let unusable =
        |error: std::io::Error| Failure::program(format!("{}: {error}", files::shown(&options.trace)));
    let budget = Settings::default().budget.times(options.budget);
    let as_lines = options.format == Format::Json;
    let settings = Settings { budget, ranges_only: options.ranges_only, explains: !as_lines };
    let input: Box<dyn std::io::Read> = if options.trace.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else if options.trace.is_dir() {
        return Err(Failure::program(format!("{}: a folder; expected a file", files::shown(&options.trace))));
    } else {
        Box::new(std::fs::File::open(&options.trace).map_err(unusable)?)
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    let mut answer = |reply: &serde_json::Value| {
        if as_lines {
            written = writeln!(out, "{}", escape::json_text(reply.to_string()));
        }
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let summary = replay::replay(BufReader::new(input), &settings, &mut answer)
        .map_err(|error| Failure::program(format!("{}: {error}", files::shown(&options.trace))))?;
    if !as_lines {
        written = write!(out, "{}", escape::lines(&summary.to_string()));
    }
    match written.and_then(|()| out.flush()) {
        // Whoever reads the output has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::usage(format!("standard output: {error}"))),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}
