//! `sizewise entail`: do ranges and assumptions imply a goal?
use super::jsonl::Refusal;
use super::query::Query;
use crate::decide::{self, Answer, Budget, Premise, Verdict};
use crate::expr::Pool;
use serde_json::{Map, Value};
use std::time::Instant;

/// Answers one line.
pub fn answer(request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut pool = Pool::new();
    let mut query = Query::read(&mut pool, request, "given")?;
    let goal = query.expression(&mut pool, request, "goal")?;
    let setup = Instant::now();
    query.finish(&mut pool, true);
    let budget = Budget::default();
    decide::prepare(&mut pool, &mut query.facts, &budget);
    let start = Instant::now();
    let answer = decide::decide(&mut pool, &mut query.facts, goal, &budget);
    let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let mut reply = fields(&pool, &query, &answer, elapsed);
    reply.insert("setup_ns".into(), u64::try_from((start - setup).as_nanos()).unwrap_or(u64::MAX).into());
    Ok(reply)
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
