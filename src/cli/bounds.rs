//! `sizewise bounds`: the least and the greatest value of an expression under ranges and assumptions.
use super::args::Reasoning;
use super::jsonl::{self, Refusal};
use super::query::Query;
use crate::decide;
use crate::expr::{Int, Pool};
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
    let found = decide::bounds_traced(&mut pool, &mut query.facts, e, &options.budget(), &mut trace);
    let number = |v: &Option<Int>| match v {
        Some(v) => serde_json::from_str(&v.to_string()).unwrap_or(Value::Null),
        None => Value::Null,
    };
    let assignment = |w: &Option<decide::Witness>| match w {
        Some(w) => query.assignment(&pool, w),
        None => Value::Null,
    };
    let mut reply = Map::new();
    reply.insert("min".into(), number(&found.min));
    reply.insert("max".into(), number(&found.max));
    reply.insert("min_at".into(), assignment(&found.min_at));
    reply.insert("max_at".into(), assignment(&found.max_at));
    reply.insert("exact".into(), found.exact.into());
    if let Some(attempts) = trace.attempts() {
        reply.insert("explain".into(), jsonl::attempts(attempts));
    }
    Ok(reply)
}
