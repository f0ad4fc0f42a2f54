//! `sizewise simplify`: the smallest expression equal to another one under ranges and assumptions.
use super::args::Reasoning;
use super::jsonl::{self, Refusal};
use super::query::Query;
use crate::decide;
use crate::egraph::Reading;
use crate::expr::Pool;
use serde_json::{Map, Value};
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
    let mut query = Query::read(&mut pool, request, "given")?;
    let e = query.expression(&mut pool, request, "expr")?;
    query.finish(&mut pool, true);
    let simple = decide::simplify_traced(&mut pool, &mut query.facts, e, &options.budget(), &mut trace);
    let mut reply = Map::new();
    reply.insert("expr".into(), Reading::new().text(&mut pool, simple).into());
    if let Some(attempts) = trace.attempts() {
        reply.insert("explain".into(), jsonl::attempts(attempts));
    }
    Ok(reply)
}
