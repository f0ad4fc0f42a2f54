//! `sizewise cost`: what a program costs at all sizes that it allows.
use super::args::{Format, Kernels, ProgramFile};
use super::failure::{Failure, Result};
use super::{files, operators, programs};
use crate::cost::{Cost, Growth, Numbers, Share, Sizes, cost};
use crate::escape;
use crate::onnx::subject::Kind;
use clap::Args;
use std::fmt::Write;
use std::process::ExitCode;

/// The most operators, modules and lines that a text lists.
const MAX_LISTED: usize = 12;

/// Options of `cost`.
#[derive(Args, Debug)]
pub struct CostOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// Sizes of an input at which the figures are wanted as numbers, `x=8,512`; may be repeated.
    #[arg(long, value_name = "INPUT=SIZES")]
    pub at: Vec<String>,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// The format of the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// The options that mean something for ONNX models.
const FOR_MODELS: &[&str] = &["at", "backend", "format"];

/// Runs the command.
pub fn run(options: &CostOptions) -> Result<ExitCode> {
    let loaded = programs::Loaded::open(&options.program)?;
    // What is not for models is refused before anything else.
    let model = match loaded.kind() {
        Kind::Model => Some(loaded.subject(options.operators.backend, FOR_MODELS)?),
        Kind::Program | Kind::Text => None,
    };
    let operators = operators::load_on(&options.operators)?;
    let cost = match model {
        Some(model) => model.cost(&operators).map_err(|error| programs::failed(loaded.name(), error))?,
        // Edge programs and texts, too.
        None => {
            cost(&loaded.load()?, &operators).map_err(|error| programs::unreadable(loaded.name(), error))?
        }
    };
    let sizes = sizes(&options.at, &cost)?;
    let text = match options.format {
        Format::Json => {
            let answer = cost.json(sizes.as_ref()).map_err(Failure::usage)?;
            escape::json_text(serde_json::to_string_pretty(&answer).unwrap_or_default()) + "\n"
        }
        Format::Text => {
            let at = sizes.map(|sizes| cost.at(&sizes)).transpose().map_err(Failure::usage)?;
            escape::lines(&text(loaded.name(), &cost, at.as_ref())).into_owned()
        }
    };
    files::write(None, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Sizes of inputs as they are given: `x=8,512`.
fn sizes(given: &[String], cost: &Cost) -> Result<Option<Sizes>> {
    let mut sizes = Sizes::new();
    for text in given {
        let wrong = || Failure::usage(format!("--at: expected INPUT=SIZES, such as x=8,512, not {text}"));
        let (input, list) = text.split_once('=').ok_or_else(wrong)?;
        let list: Vec<i64> =
            list.split(',').map(|size| size.trim().parse().map_err(|_| wrong())).collect::<Result<_>>()?;
        if list.iter().any(|size| *size < 0) {
            return Err(Failure::usage(format!("--at: a size is not negative: {text}")));
        }
        if !cost.varies(input) {
            return Err(Failure::usage(format!("--at: no size of `{input}` varies")));
        }
        sizes.insert(input.to_owned(), list);
    }
    Ok((!sizes.is_empty()).then_some(sizes))
}

/// A report for people.
fn text(name: &str, cost: &Cost, at: Option<&Numbers>) -> String {
    let mut out = String::new();
    let peak: Vec<String> = cost.peak_bytes.iter().map(|&e| cost.shown(e)).collect();
    let peak = if peak.len() == 1 { peak[0].clone() } else { format!("max({})", peak.join(", ")) };
    _ = writeln!(out, "{name}");
    for (what, expression, number) in [
        ("flops", cost.shown(cost.flops), at.map(|at| &at.flops)),
        ("activation bytes", cost.shown(cost.activation_bytes), at.map(|at| &at.activation_bytes)),
        ("peak bytes", peak, at.map(|at| &at.peak_bytes)),
        ("input bytes", cost.shown(cost.input_bytes), None),
        ("parameter bytes", cost.shown(cost.parameter_bytes), None),
        ("output bytes", cost.shown(cost.output_bytes), None),
    ] {
        _ = write!(out, "  {what:18}{expression}");
        if let Some(number) = number {
            _ = write!(out, "  = {number}");
        }
        out.push('\n');
    }
    let growth = cost.growth();
    if !growth.is_empty() {
        out.push_str("\ngrowth\n");
    }
    for (size, of) in &growth {
        let [flops, bytes, peak] = [of.flops, of.activation_bytes, of.peak_bytes].map(Growth::word);
        _ = writeln!(out, "  {size}: flops {flops}, activation bytes {bytes}, peak bytes {peak}");
    }
    for (title, shares) in [("operator", &cost.by_op), ("module", &cost.by_module), ("line", &cost.by_line)] {
        let shares: Vec<(&String, &Share)> = shares.iter().filter(|(key, _)| !key.is_empty()).collect();
        if shares.is_empty() {
            continue;
        }
        _ = writeln!(out, "\nby {title}");
        for (key, share) in shares.iter().take(MAX_LISTED) {
            _ = writeln!(
                out,
                "  {key}: {} flops, {} bytes",
                cost.shown(share.flops),
                cost.shown(share.bytes)
            );
        }
        if shares.len() > MAX_LISTED {
            _ = writeln!(out, "  and {} more, which --format json lists", shares.len() - MAX_LISTED);
        }
    }
    if !cost.is_exact() {
        out.push_str("\nnot exact:\n");
        cost.reasons.iter().for_each(|reason| _ = writeln!(out, "  {reason}"));
    }
    out
}
