//! `sizewise bounds-of`: how large every value gets.
use super::args::Format;
use super::failure::{Failure, Result};
use super::files;
use super::sized::{SizedOptions, noted};
use crate::escape;
use clap::Args;
use std::fmt::Write;
use std::process::ExitCode;

/// Options of `bounds-of`.
#[derive(Args, Debug)]
pub struct BoundsOfOptions {
    /// The program, and what is allowed.
    #[command(flatten)]
    pub sized: SizedOptions,
    /// A value to answer for; may be repeated. By default all.
    #[arg(long, value_name = "NAME")]
    pub value: Vec<String>,
}

/// Runs the command.
pub fn run(options: &BoundsOfOptions) -> Result<ExitCode> {
    let opened = options.sized.open()?;
    let mut sizing = opened.sizing()?;
    let names = &options.value;
    sizing.keep_values(names).map_err(|error| opened.unanswered(error))?;
    let values = sizing.values();
    let note = opened.note()?;
    let mut out = String::new();
    for bounds in &values {
        match options.sized.format {
            Format::Json => {
                let line = serde_json::to_string(&noted(sizing.value_json(bounds), note.clone()))
                    .map_err(Failure::internal)?;
                _ = writeln!(out, "{}", escape::json_text(line));
            }
            Format::Text => out.push_str(&escape::lines(&sizing.value_text(bounds))),
        }
    }
    if let (Some(note), Format::Text) = (note, options.sized.format) {
        _ = writeln!(out, "\nnote: {note}");
    }
    files::write(None, &out)?;
    Ok(ExitCode::SUCCESS)
}
