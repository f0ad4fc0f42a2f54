//! `sizewise explain`: why dimensions are what they are, and what the codes of diagnostics mean.
use super::args::{Colour, Effort, Format, Given, Kernels, ModelChoice};
use super::failure::{Failure, Result};
use super::programs::{Loaded, failed};
use super::{files, operators};
use crate::env::OpClause;
use crate::kernels::{conditions, coverage, refused_call};
use crate::report::{CODES, Explanation, Style, explained};
use crate::{escape, onnx_model, propagate};
use clap::Args;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

const CHOICE: &str = "The operator goes one way or another by the sizes of its operands. The example took one of them; the condition \
                      says where the program is followed that way. What happens elsewhere is not known from this program.";

/// Options of `explain`.
#[derive(Args, Debug)]
pub struct ExplainOptions {
    /// What the command was given.
    #[command(flatten)]
    pub given: Given,
    /// The exported program or ONNX model (a file, or - for standard input), or a code: guard-not-implied of a diagnostic, pointwise.C1 of an
    /// operator's condition.
    pub program: PathBuf,
    /// The program of an archive.
    #[command(flatten)]
    pub choice: ModelChoice,
    /// A dimension, x.shape[0] or x.0; may be repeated. All of them by default.
    #[arg(long, value_name = "DIM")]
    pub dim: Vec<String>,
    /// Print what is known at the end of the program instead: classes of equal sizes with their values, conditions that
    /// hold, and why.
    #[arg(long, conflicts_with = "dim")]
    pub store: bool,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// How much work is done.
    #[command(flatten)]
    pub effort: Effort,
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Where to write the answer; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// Runs the command.
pub fn run(options: &ExplainOptions) -> Result<ExitCode> {
    let code = options.program.to_string_lossy();
    let text = match explained(&code) {
        Some(text) if !options.program.exists() => format!("{code}\n  {text}\n"),
        None if !options.program.exists() && is_like_a_code(&code) => return Err(unknown_code(&code)),
        None if !options.program.exists() && is_like_a_clause(&code) => clause(&code)?,
        _ => explain(options)?,
    };
    files::write(options.output.as_deref(), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// A condition of an operator, of a model or of a program, by its code.
fn condition(code: &str) -> Option<&'static OpClause> {
    let mut all = conditions().chain(onnx_model::conditions()).chain(propagate::conditions());
    all.find(|clause| clause.code == code)
}

/// Whether a text looks like a code rather than the name of a file.
fn is_like_a_code(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '/';
    text.len() > 1 && !text.starts_with('/') && text.chars().all(is_word)
}

/// Whether a text looks like the code of an operator's condition: `pointwise.C1`.
fn is_like_a_clause(text: &str) -> bool {
    if condition(text).is_some() {
        return true;
    }
    let number = text.rsplit_once('.').and_then(|(_, last)| last.strip_prefix(['C', 'S']));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()))
}

/// The most operators that are named.
const MAX_OPERATORS: usize = 12;

/// What a condition of operators says, and the operators that have it.
fn clause(code: &str) -> Result<String> {
    let known = condition(code);
    let operators = coverage().into_iter().filter(|operator| operator.clauses.contains(&code));
    let found: Vec<(String, &str)> = operators.map(|o| (o.name, o.family.unwrap_or_default())).collect();
    if known.is_none() && found.is_empty() {
        let message = "no operator is known to refuse a call by this condition, and there is no such file";
        return Err(Failure::program(format!(
            "`{}`: {message}; docs/coverage.md lists all",
            escape::visible(code)
        )));
    }
    let mut text = match known {
        Some(choice) if choice.is_choice() => format!("{code}\n  {}\n  {CHOICE}\n", choice.says),
        Some(clause) => format!("{code}\n  A condition on the operands of an operator:\n  {}\n", clause.says),
        None => format!("{code}\n  A condition on the operands of an operator.\n"),
    };
    if let Some(call) = refused_call(code) {
        let _ = writeln!(text, "  For example, it refuses {call}");
    }
    if let Some((_, family)) = found.first() {
        let names: Vec<&str> = found.iter().take(MAX_OPERATORS).map(|(name, _)| name.as_str()).collect();
        let more = match found.len() - names.len() {
            0 => String::new(),
            n => format!(" and {n} more (docs/coverage.md)"),
        };
        let _ = writeln!(text, "  Operators that have it: {}{more}", names.join(", "));
        let _ = writeln!(text, "  In the source: crates/kernels/src/ops/{family}.rs");
    } else {
        text.push_str("  A report that names it says which node needs it.\n");
    }
    Ok(text)
}

fn unknown_code(code: &str) -> Failure {
    let codes: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
    Failure::program(format!(
        "`{code}` is not a diagnostic code, and there is no such file; the codes are {}",
        codes.join(", ")
    ))
}

/// The options that mean something for ONNX models.
const FOR_MODELS: &[&str] = &["dim", "backend", "format", "output", "color"];

fn explain(options: &ExplainOptions) -> Result<String> {
    let loaded = Loaded::open_at(&options.program, &options.choice, &options.given)?;
    let subject = loaded.subject(options.operators.backend, FOR_MODELS)?;
    let style = options.color.style(options.output.as_deref());
    let operators = operators::load_on(&options.operators)?;
    let failed = |error| failed(subject.name(), error);
    if options.store {
        let checker = subject.program("--store").map_err(failed)?;
        let report = checker.store(&operators).map_err(|error| failed(error.into()))?;
        return match options.format {
            Format::Json => json(serde_json::to_string_pretty(&report)),
            Format::Text => Ok(report.to_text(style)),
        };
    }
    let explanations = subject.explain(&options.dim, &operators, &options.effort.budget());
    written(options, &explanations.map_err(failed)?, style)
}

fn written(options: &ExplainOptions, explanations: &[Explanation], style: Style) -> Result<String> {
    if options.format == Format::Json {
        return json(serde_json::to_string_pretty(explanations));
    }
    // What is the same of all dimensions is said once.
    let stopped = explanations.first().and_then(|first| first.stopped_at.as_ref());
    let stopped = stopped.filter(|_| explanations.len() > 1);
    let stopped = stopped.filter(|&node| explanations.iter().all(|e| e.stopped_at.as_ref() == Some(node)));
    let text = |e: &Explanation| match stopped {
        Some(_) => Explanation { stopped_at: None, ..e.clone() }.to_text(style),
        None => e.to_text(style),
    };
    let mut texts: Vec<String> = explanations.iter().map(text).collect();
    texts.extend(
        stopped.map(|node| format!("nothing is known of what comes after {}\n", escape::visible(node))),
    );
    Ok(texts.join("\n"))
}

fn json(text: serde_json::Result<String>) -> Result<String> {
    let text = text.map_err(Failure::internal)?;
    Ok(escape::json_text(format!("{text}\n")))
}
