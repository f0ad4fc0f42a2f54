//! `sizewise plan`: one arena with a place for every buffer.
use super::failure::Result;
use super::sized::SizedOptions;
use clap::Args;
use std::process::ExitCode;

/// Options of `plan`.
#[derive(Args, Debug)]
pub struct PlanOptions {
    /// The program, and what is allowed.
    #[command(flatten)]
    pub sized: SizedOptions,
    /// What the offsets and the bytes of buffers are multiples of: a power of two.
    #[arg(long, default_value_t = crate::sizing::ALIGNMENT, value_name = "BYTES")]
    pub align: u64,
}

/// Runs the command.
pub fn run(options: &PlanOptions) -> Result<ExitCode> {
    let opened = options.sized.open()?;
    let plan = opened.sizing()?.plan(options.align).map_err(|error| opened.unanswered(error))?;
    opened.print(options.sized.format, || plan.json(), || format!("{}\n{}", opened.name(), plan.text()))
}
