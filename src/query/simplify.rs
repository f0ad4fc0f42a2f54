//! The smallest expression equal to another one under ranges and assumptions.
use super::premises::Premises;
use super::refusal::only;
use super::{Fields, Refusal};
use crate::decide::{self, Budget, Trace};
use crate::egraph::Reading;
use crate::expr::{Expr, Pool};

/// Answers one request.
///
/// # Errors
/// When the request cannot be understood.
pub fn answer(request: &Fields, budget: &Budget, trace: &mut Trace) -> Result<Fields, Refusal> {
    only(request, &["id", "symbols", "given", "expr"])?;
    let mut pool = Pool::new();
    let mut premises = Premises::read(&mut pool, request, "given")?;
    let e = premises.expression(&mut pool, request, "expr")?;
    premises.finish(&mut pool, true);
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
    let simple = decide::simplify_traced(pool, &mut premises.facts, e, budget, trace);
    let mut reply = Fields::new();
    reply.insert("expr".into(), Reading::new().text(pool, simple).into());
    if let Some(attempts) = trace.attempts() {
        reply.insert("explain".into(), super::attempts(attempts));
    }
    reply
}
