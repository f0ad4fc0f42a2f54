//! `sizewise entail`: do ranges and assumptions imply a goal?
use super::args::EntailOptions;
use super::jsonl::{self, Refusal};
use super::query::Query;
use crate::decide::{self, Answer, Premise, Verdict};
use crate::expr::{Expr, Pool};
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use std::time::Instant;

/// Answers the lines of standard input.
pub fn run(options: &EntailOptions) -> ExitCode {
    if let Some(folder) = &options.emit_smt2
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        eprintln!("sizewise: {}: {error}", folder.display());
        return ExitCode::from(2);
    }
    jsonl::run(options.reasoning.jsonl.jobs, &|request| answer(options, request))
}

/// Answers one line.
pub(super) fn answer(
    options: &EntailOptions,
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let mut pool = Pool::new();
    let mut query = Query::read(&mut pool, request, "given")?;
    let goal = query.expression(&mut pool, request, "goal")?;
    let setup = Instant::now();
    query.finish(&mut pool, true);
    let budget = options.reasoning.budget();
    decide::prepare(&mut pool, &mut query.facts, &budget);
    let start = Instant::now();
    let mut answer = decide::decide(&mut pool, &mut query.facts, goal, &budget);
    let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    if let Verdict::Implied { because } = &mut answer.verdict {
        *because = decide::narrow(&mut pool, &query.facts, Some(goal), because);
    } else if let Verdict::Inconsistent { because } = &mut answer.verdict {
        *because = decide::minimal_clash(&mut pool, &query.facts, because, &budget);
    }
    let mut reply = fields(&pool, &query, &answer, elapsed);
    reply.insert("setup_ns".into(), u64::try_from((start - setup).as_nanos()).unwrap_or(u64::MAX).into());
    if options.reasoning.explain {
        reply.insert("explain".into(), jsonl::attempts(&answer.trace));
    }
    if options.proof {
        reply.insert("proof".into(), proof(&mut pool, &query, &answer, goal));
    }
    if let Some(folder) = &options.emit_smt2 {
        let file = emit(&mut pool, &query, &answer, goal, folder, request.get("id"))?;
        reply.insert("smt2".into(), file);
    }
    Ok(reply)
}

/// The steps of a proof; null where there is nothing to prove.
fn proof(pool: &mut Pool, query: &Query, answer: &Answer, goal: Expr) -> Value {
    let steps = match &answer.verdict {
        Verdict::Implied { because } => decide::proof(pool, &query.facts, Some(goal), because),
        Verdict::Inconsistent { because } => decide::proof(pool, &query.facts, None, because),
        _ => return Value::Null,
    };
    if steps.is_empty() {
        let says = match answer.decided_by {
            decide::Rung::Smt => "Z3 finds these premises and the negated goal unsatisfiable",
            decide::Rung::EGraph => "the rewrite rules contradict these premises with the negated goal",
            _ => "every assignment within the ranges was tried",
        };
        return json!([{"rule": answer.decided_by.name(), "says": says}]);
    }
    steps.into_iter().map(|s| json!({"rule": s.rule, "says": s.says})).collect()
}

/// Writes the question to a file and returns its name; null where it has no counterpart.
fn emit(
    pool: &mut Pool,
    query: &Query,
    answer: &Answer,
    goal: Expr,
    folder: &std::path::Path,
    id: Option<&Value>,
) -> Result<Value, Refusal> {
    let status = match answer.verdict {
        Verdict::Implied { .. } | Verdict::Inconsistent { .. } => "unsat",
        Verdict::Refuted { .. } => "sat",
        Verdict::Unknown { .. } => "unknown",
    };
    // Facts that contradict each other imply even what never holds.
    let goal = match answer.verdict {
        Verdict::Inconsistent { .. } => pool.bool(false),
        _ => goal,
    };
    let Some(text) = decide::obligation(pool, &query.facts, goal, status) else { return Ok(Value::Null) };
    let id = match id {
        Some(Value::String(id)) => id.clone(),
        other => other.map_or_else(|| "null".to_string(), Value::to_string),
    };
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let path = folder.join(format!("{}.smt2", name.trim_start_matches('.')));
    std::fs::write(&path, text).map_err(|e| Refusal {
        kind: "io",
        message: format!("{}: {e}", path.display()),
        clause: None,
    })?;
    Ok(path.display().to_string().into())
}

fn fields(pool: &Pool, query: &Query, answer: &Answer, elapsed: u64) -> Map<String, Value> {
    let mut reply = Map::new();
    let (verdict, witness, because): (_, _, &[Premise]) = match &answer.verdict {
        Verdict::Implied { because } => ("implied", Value::Null, because),
        Verdict::Refuted { witness } => ("refuted", query.assignment(pool, witness), &[]),
        Verdict::Inconsistent { because } => ("inconsistent", Value::Null, because),
        Verdict::Unknown { .. } => ("unknown", Value::Null, &[]),
    };
    reply.insert("verdict".into(), verdict.into());
    reply.insert("witness".into(), witness);
    reply.insert("decided_by".into(), answer.decided_by.name().into());
    reply.insert("because".into(), because.iter().map(|p| query.premise(pool, *p)).collect());
    reply.insert("time_ns".into(), elapsed.into());
    if let Verdict::Unknown { reason } = &answer.verdict {
        reply.insert("reason".into(), reason.as_str().into());
    }
    reply
}
