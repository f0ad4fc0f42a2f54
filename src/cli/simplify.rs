//! `sizewise simplify`: the smallest expression equal to another one under ranges and assumptions.
use super::jsonl::Refusal;
use super::query::Query;
use crate::decide::{self, Budget};
use crate::egraph::Reading;
use crate::expr::Pool;
use serde_json::{Map, Value};

/// Answers one line.
pub fn answer(request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut pool = Pool::new();
    let mut query = Query::read(&mut pool, request, "given")?;
    let e = query.expression(&mut pool, request, "expr")?;
    query.finish(&mut pool, true);
    let simple = decide::simplify(&mut pool, &mut query.facts, e, &Budget::default());
    let mut reply = Map::new();
    reply.insert("expr".into(), Reading::new().text(&mut pool, simple).into());
    Ok(reply)
}
