//! `sizewise bounds`: the least and the greatest value of an expression under ranges and assumptions.
use super::jsonl::Refusal;
use super::query::Query;
use crate::decide::{self, Budget};
use crate::expr::{Int, Pool};
use serde_json::{Map, Value};

/// Answers one line.
pub fn answer(request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut pool = Pool::new();
    let mut query = Query::read(&mut pool, request, "given")?;
    let e = query.expression(&mut pool, request, "expr")?;
    query.finish(&mut pool, true);
    let found = decide::bounds(&mut pool, &mut query.facts, e, &Budget::default());
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
    Ok(reply)
}
