//! An equivalent set of guards without redundant members.
use super::premises::Premises;
use super::refusal::only;
use super::{Fields, Refusal};
use crate::decide::{self, Budget, Trace};
use crate::egraph::Reading;
use crate::expr::Pool;
use serde_json::{Value, json};

/// Answers one request.
///
/// # Errors
/// When the request cannot be understood.
pub fn answer(request: &Fields, budget: &Budget, trace: &mut Trace) -> Result<Fields, Refusal> {
    only(request, &["id", "symbols", "guards"])?;
    let mut pool = Pool::new();
    let premises = Premises::read(&mut pool, request, "guards")?;
    let guards = premises.defined(&mut pool);
    let smaller = match premises.ranges() {
        Some(ranges) => decide::minimize_traced(&mut pool, &ranges, &guards, budget, trace),
        // No value is in an empty range: every set of guards is equivalent to the one that never holds.
        None => decide::Minimized { kept: vec![pool.bool(false)], dropped: Vec::new() },
    };
    let mut reading = Reading::new();
    let guards: Vec<Value> = smaller.kept.iter().map(|&g| reading.text(&mut pool, g).into()).collect();
    let dropped: Vec<Value> = smaller
        .dropped
        .iter()
        .map(|(i, because)| {
            let because: Vec<Value> = because.iter().map(|p| premises.premise(&pool, *p)).collect();
            json!({"guard": premises.texts.get(*i), "because": because})
        })
        .collect();
    let mut reply = Fields::new();
    reply.insert("guards".into(), guards.into());
    reply.insert("dropped".into(), dropped.into());
    if let Some(attempts) = trace.attempts() {
        reply.insert("explain".into(), super::attempts(attempts));
    }
    Ok(reply)
}
