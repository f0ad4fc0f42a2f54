//! The smallest expression equal to another one under ranges and assumptions.
use super::premises::{Given, note};
use super::refusal::only;
use super::{Fields, Refusal};
use serde_json::Value;
use sizewise_env::Premises;
use sizewise_expr::{Expr, Pool};
use sizewise_solve::egraph::Reading;
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
    let asked = Written { expr: e, text: request.get("expr").and_then(Value::as_str) };
    Ok(under(&mut pool, &mut premises, asked, budget, trace))
}

/// An expression and the text that it was read from.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub expr: Expr,
    pub text: Option<&'a str>,
}

impl Written<'_> {
    /// The shortest text found for the expression, or its own.
    pub fn shortest(self, pool: &mut Pool, reading: &mut Reading) -> String {
        reading.text_or(pool, self.expr, self.text)
    }
}

/// The fields of the answer for an expression under premises.
pub(super) fn under(
    pool: &mut Pool,
    premises: &mut Premises,
    asked: Written<'_>,
    budget: &Budget,
    trace: &mut Trace,
) -> Fields {
    let simple = decide::simplify_traced(pool, &mut premises.facts, asked.expr, budget, trace);
    let mut reply = Fields::new();
    let contradiction = premises.contradiction(pool);
    let simple = Written { expr: simple, ..asked };
    reply.insert("expr".into(), simple.shortest(pool, &mut Reading::new()).into());
    note(premises, pool, &mut reply, contradiction.as_deref());
    super::explain(&mut reply, trace);
    reply
}
