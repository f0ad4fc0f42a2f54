//! `sizewise minimize`: an equivalent set of guards without redundant members.
use super::jsonl::Refusal;
use super::query::Query;
use crate::decide::{self, Budget};
use crate::egraph::Reading;
use crate::expr::Pool;
use serde_json::{Map, Value, json};

/// Answers one line.
pub fn answer(request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut pool = Pool::new();
    let query = Query::read(&mut pool, request, "guards")?;
    let guards = query.defined(&mut pool);
    let smaller = match query.ranges() {
        Some(ranges) => decide::minimize(&mut pool, &ranges, &guards, &Budget::default()),
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
    Ok(reply)
}
