//! The least and the greatest value of an expression under ranges and assumptions.
use super::premises::{Given, assignment, note};
use super::refusal::only;
use super::{Fields, Refusal};
use crate::report::int_json;
use serde_json::Value;
use sizewise_env::Premises;
use sizewise_expr::{Expr, Int, Pool};
use sizewise_solve::{self as decide, Budget, Trace};

/// Answers one request.
///
/// # Errors
/// When the request cannot be understood.
pub fn answer(request: &Fields, budget: &Budget, trace: &mut Trace) -> Result<Fields, Refusal> {
    only(request, &["id", "symbols", "given", "expr"])?;
    let mut pool = Pool::new();
    let (mut given, mut premises) = (Given::read(&mut pool, request, "given")?, Premises::default());
    let e = given.expression(&mut pool, request, "expr")?;
    given.learn(&mut pool, &mut premises);
    Ok(under(&mut pool, &mut premises, e, budget, trace))
}

/// The fields of the answer for an expression under premises.
pub(super) fn under(
    pool: &mut Pool,
    premises: &mut Premises,
    e: Expr,
    budget: &Budget,
    trace: &mut Trace,
) -> Fields {
    let found = decide::bounds_traced(pool, &mut premises.facts, e, budget, trace);
    // A value that is taken shows that the premises can hold together.
    let taken = found.min_at.is_some() || found.max_at.is_some();
    let contradiction = if taken { None } else { premises.contradiction(pool) };
    let number = |v: &Option<Int>| v.as_ref().map_or(Value::Null, int_json);
    let assignment = |w: &Option<decide::Witness>| match w {
        Some(w) => assignment(pool, w),
        None => Value::Null,
    };
    let mut reply = Fields::new();
    reply.insert("min".into(), number(&found.min));
    reply.insert("max".into(), number(&found.max));
    reply.insert("min_at".into(), assignment(&found.min_at));
    reply.insert("max_at".into(), assignment(&found.max_at));
    reply.insert("exact".into(), found.exact.into());
    note(premises, pool, &mut reply, contradiction.as_deref());
    super::explain(&mut reply, trace);
    reply
}
