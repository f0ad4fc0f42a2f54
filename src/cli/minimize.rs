//! `sizewise minimize`: an equivalent set of guards without redundant members.
use super::args::Reasoning;
use super::jsonl::{self, Refusal};
use super::query::Query;
use crate::decide;
use crate::egraph::Reading;
use crate::expr::Pool;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Answers the lines of standard input.
pub fn run(options: &Reasoning) -> ExitCode {
    jsonl::run(options.jsonl.jobs, &|request| answer(options, request))
}

/// Answers one line.
pub(super) fn answer(
    options: &Reasoning,
    request: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let (mut pool, mut trace) = (Pool::new(), options.trace());
    let query = Query::read(&mut pool, request, "guards")?;
    let guards = query.defined(&mut pool);
    let smaller = match query.ranges() {
        Some(ranges) => decide::minimize_traced(&mut pool, &ranges, &guards, &options.budget(), &mut trace),
        // No value is in an empty range: every set of guards is equivalent to the one that never holds.
        None => decide::Minimized { kept: vec![pool.bool(false)], dropped: Vec::new() },
    };
    let mut reading = Reading::new();
    let guards: Vec<Value> = smaller.kept.iter().map(|&g| reading.text(&mut pool, g).into()).collect();
    let dropped: Vec<Value> = smaller
        .dropped
        .iter()
        .map(|(i, because)| {
            let because: Vec<Value> = because.iter().map(|p| query.premise(&pool, *p)).collect();
            json!({"guard": query.texts.get(*i), "because": because})
        })
        .collect();
    let mut reply = Map::new();
    reply.insert("guards".into(), guards.into());
    reply.insert("dropped".into(), dropped.into());
    if let Some(attempts) = trace.attempts() {
        reply.insert("explain".into(), jsonl::attempts(attempts));
    }
    Ok(reply)
}
