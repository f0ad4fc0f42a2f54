//! `sizewise entail`: do ranges and assumptions imply a goal?
use super::args::Reasoning;
use super::{asked, failure, files, jsonl};
use crate::query::entail::{Question, Settled};
use crate::query::{Fields, Refusal};
use crate::solve::{self, Verdict};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `entail`.
#[derive(Args, Debug)]
pub struct EntailOptions {
    /// Conditions that are assumed, and the goal behind `=>`: 's0 % 8 == 0 and s0 >= 2' '=> s0 >= 8'. Without them,
    /// JSON lines are read from standard input.
    #[arg(value_name = "CONDITION")]
    pub question: Vec<String>,
    /// Add a field `proof`: the steps by which the premises imply the goal.
    #[arg(long)]
    pub proof: bool,
    /// Add a field `certificate`: a proof that `sizewise certify` checks.
    #[arg(long)]
    pub certificate: bool,
    /// Write each question as an SMT-LIB 2 file to this folder, for other solvers to check.
    #[arg(long, value_name = "DIR")]
    pub emit_smt2: Option<PathBuf>,
    /// Options for reasoning and JSON lines.
    #[command(flatten)]
    pub reasoning: Reasoning,
}

/// Answers the question, or the lines of standard input.
pub fn run(options: &EntailOptions) -> failure::Result<ExitCode> {
    if let Some(folder) = &options.emit_smt2 {
        files::make_folder(folder)?;
    }
    let answer = |request: &Fields| answer(options, request);
    if !options.question.is_empty() {
        return asked::entails(&options.question, &answer);
    }
    Ok(jsonl::run(options.reasoning.jsonl.jobs, &answer))
}

/// Answers one line.
pub(super) fn answer(options: &EntailOptions, request: &Fields) -> Result<Fields, Refusal> {
    let mut question = Question::read(request)?;
    let settled = question.decide(&options.reasoning.budget());
    let mut reply = question.reply(&settled);
    if options.reasoning.explain {
        reply.insert("explain".into(), Question::explanation(&settled));
    }
    question.prove(&settled, (options.proof, options.certificate), &mut reply);
    if let Some(folder) = &options.emit_smt2 {
        reply.insert("smt2".into(), emit(&mut question, &settled, folder, request.get("id"))?);
    }
    Ok(reply)
}

/// Writes the question to a file and returns its name; null if it cannot be expressed in SMT-LIB.
fn emit(
    question: &mut Question,
    settled: &Settled,
    folder: &Path,
    id: Option<&Value>,
) -> Result<Value, Refusal> {
    let status = settled.answer.verdict.status();
    // Contradictory facts imply even `false`.
    let goal = match settled.answer.verdict {
        Verdict::Inconsistent { .. } => question.pool.bool(false),
        _ => question.goal,
    };
    let Some(text) = solve::obligation(&mut question.pool, &question.premises.facts, goal, status) else {
        return Ok(Value::Null);
    };
    let id = match id {
        Some(Value::String(id)) => id.clone(),
        other => other.map_or_else(|| "null".to_string(), Value::to_string),
    };
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let path = folder.join(format!("{}.smt2", name.trim_start_matches('.')));
    std::fs::write(&path, text).map_err(|e| Refusal::no_result("io", format!("{}: {e}", path.display())))?;
    Ok(path.display().to_string().into())
}
