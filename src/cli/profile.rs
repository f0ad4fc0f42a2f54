//! `sizewise profile`: the shapes between which an engine is to work, and buckets.
use super::failure::{Failure, Result};
use super::sized::SizedOptions;
use crate::sizing::Serving;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

/// Options of `profile`.
#[derive(Args, Debug)]
pub struct ProfileOptions {
    /// The program, and what is allowed.
    #[command(flatten)]
    pub sized: SizedOptions,
    /// What the profile is for.
    #[arg(long = "for", id = "for", value_enum, default_value_t = Engine::Tensorrt)]
    pub engine: Engine,
    /// Instead: at most so many shapes to which all inputs are padded, with as little padding as possible.
    #[arg(long, value_name = "N")]
    pub buckets: Option<usize>,
    /// Instead: the fewest shapes to which all inputs are padded, with at most so much padding, `25%`.
    #[arg(long, value_name = "SHARE", conflicts_with = "buckets")]
    pub padding: Option<String>,
}

/// What a profile is for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// TensorRT: the flags of trtexec.
    Tensorrt,
}

/// Runs the command.
pub fn run(options: &ProfileOptions) -> Result<ExitCode> {
    let serving = match (&options.buckets, &options.padding) {
        (Some(count), _) => Some(Serving::Count(*count)),
        (None, Some(padding)) => Some(Serving::Padding(share(padding)?)),
        (None, None) => None,
    };
    let opened = options.sized.open()?;
    let mut sizing = opened.sizing()?;
    match serving {
        Some(serving) => {
            let buckets = sizing.buckets(serving).map_err(|error| opened.unanswered(error))?;
            opened.print(options.sized.format, || buckets.json(), || buckets.text())
        }
        None => {
            let profile = sizing.profile().map_err(|error| opened.unanswered(error))?;
            opened.print(options.sized.format, || profile.json(), || profile.text())
        }
    }
}

/// A share: `25%`, or `0.25`.
fn share(text: &str) -> Result<f64> {
    let (number, factor) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text.trim(), 1.0),
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|_| Failure::usage(format!("--padding: expected a share such as 25%, not {text}")))?;
    Ok(number * factor)
}
