//! The smallest expression equal to another one under ranges and assumptions.
use super::premises::Premises;
use super::{Fields, Refusal};
use crate::decide::{self, Budget};
use crate::egraph::Reading;
use crate::expr::{Expr, Pool};

/// Answers one request.
///
/// # Errors
/// When the request cannot be understood.
pub fn answer(request: &Fields, budget: &Budget) -> Result<Fields, Refusal> {
    let mut pool = Pool::new();
    let mut premises = Premises::read(&mut pool, request, "given")?;
    let e = premises.expression(&mut pool, request, "expr")?;
    premises.finish(&mut pool, true);
    Ok(under(&mut pool, &mut premises, e, budget))
}

/// The fields of the answer for an expression under premises.
pub(super) fn under(pool: &mut Pool, premises: &mut Premises, e: Expr, budget: &Budget) -> Fields {
    let simple = decide::simplify(pool, &mut premises.facts, e, budget);
    let mut reply = Fields::new();
    reply.insert("expr".into(), Reading::new().text(pool, simple).into());
    reply
}
