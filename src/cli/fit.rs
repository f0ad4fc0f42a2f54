//! `sizewise fit`: the largest size that fits in a memory. The exit status is 1 where none does.
use super::failure::{Failure, Result};
use super::files;
use super::sized::SizedOptions;
use crate::expr::Int;
use crate::sizing::{Fit, memory};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `fit`.
#[derive(Args, Debug)]
pub struct FitOptions {
    /// The program, and what is allowed.
    #[command(flatten)]
    pub sized: SizedOptions,
    /// The memory that there is: 24GB, 512MiB, or a number of bytes. GB is a thousand million bytes, GiB is 2^30.
    #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
    pub memory: String,
    /// The dimension that is to be as large as possible: `x.0`, or its name in the spec. By default the only one that varies
    /// and is not given.
    #[arg(long, value_name = "DIM")]
    pub maximize: Option<String>,
    /// The size of another dimension, `seq=2048`; may be repeated.
    #[arg(long, value_name = "DIM=SIZE")]
    pub given: Vec<String>,
    /// Another dimension, for sizes of which the largest one is wanted: a table.
    #[arg(long, value_name = "DIM")]
    pub frontier: Option<String>,
    /// Where to write the table as a picture (SVG).
    #[arg(long, value_name = "FILE", requires = "frontier")]
    pub plot: Option<PathBuf>,
}

/// Runs the command.
pub fn run(options: &FitOptions) -> Result<ExitCode> {
    let fit = Fit {
        memory: memory(&options.memory).map_err(|error| Failure::usage(format!("--memory: {error}")))?,
        maximize: options.maximize.clone(),
        given: options.given.iter().map(|text| given(text)).collect::<Result<_>>()?,
    };
    let opened = options.sized.open()?;
    let mut sizing = opened.sizing()?;
    let Some(other) = &options.frontier else {
        let fitted = sizing.fit(&fit).map_err(|error| opened.unanswered(error))?;
        let text = || format!("{}\n{}", opened.name(), fitted.text());
        opened.print(options.sized.format, || fitted.json(), text)?;
        return Ok(status(fitted.fits.is_some() || fitted.is_unlimited));
    };
    let frontier = sizing.frontier(&fit, other).map_err(|error| opened.unanswered(error))?;
    if let Some(plot) = &options.plot {
        files::write(Some(plot), &frontier.svg())?;
    }
    opened.print(
        options.sized.format,
        || frontier.json(),
        || format!("{}\n{}", opened.name(), frontier.text()),
    )?;
    Ok(status(frontier.fits()))
}

/// The exit status: 1 where nothing fits.
fn status(fits: bool) -> ExitCode {
    ExitCode::from(u8::from(!fits))
}

/// A size that is given: `seq=2048`.
fn given(text: &str) -> Result<(String, Int)> {
    let wrong = || Failure::usage(format!("--given: expected DIM=SIZE, such as seq=2048, not {text}"));
    let (name, size) = text.split_once('=').ok_or_else(wrong)?;
    let size: i64 = size.trim().parse().map_err(|_| wrong())?;
    Ok((name.trim().to_owned(), Int::from(size)))
}
