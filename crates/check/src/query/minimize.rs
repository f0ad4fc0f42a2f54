//! An equivalent set of guards without redundant members.
use super::premises::{Given, Stated};
use super::refusal::only;
use super::simplify::Written;
use super::{Fields, Refusal};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use sizewise_env::Premises;
use sizewise_expr::{Expr, Pool};
use sizewise_solve::egraph::Reading;
use sizewise_solve::{self as decide, Budget, Premise, Trace};

/// Answers one request.
///
/// # Errors
/// When the request cannot be understood.
pub fn answer(request: &Fields, budget: &Budget, trace: &mut Trace) -> Result<Fields, Refusal> {
    only(request, &["id", "symbols", "guards"])?;
    let mut pool = Pool::new();
    let (given, mut premises) = (Given::read(&mut pool, request, "guards")?, Premises::default());
    given.declared(&mut pool, &mut premises);
    let defined = |stated: &Stated| stated.requires.defined(&mut pool, stated.condition);
    let guards: Vec<Expr> = given.conditions.iter().map(defined).collect();
    let smaller = match premises.ranges() {
        Some(ranges) => decide::minimize_traced(&mut pool, &ranges, &guards, budget, trace),
        // No value is in an empty range: every set of guards is equivalent to the one that never holds.
        None => decide::Minimized { kept: vec![pool.bool(false)], ..decide::Minimized::default() },
    };
    let mut reading = Reading::new();
    // The given text of a guard that is kept may be shorter.
    let mut text = |&guard: &Expr| {
        let stated = guards.iter().position(|&g| g == guard).and_then(|i| given.conditions.get(i));
        Written { expr: guard, text: stated.map(|stated| stated.text.as_str()) }
            .shortest(&mut pool, &mut reading)
    };
    let kept: Vec<Value> = smaller.kept.iter().map(|g| text(g).into()).collect();
    // The guards that are kept in another form than the given one, as they are listed.
    let said = smaller.said.iter().enumerate();
    let said = said.filter(|(i, said)| guards.get(*i) != Some(said));
    let said: FxHashMap<usize, String> = said.map(|(i, said)| (i, text(said))).collect();
    let dropped: Vec<Value> = smaller
        .dropped
        .iter()
        .map(|(i, because)| {
            let text = |p: &Premise| match p {
                Premise::Fact(f) if said.contains_key(&(f.0 as usize)) => {
                    said[&(f.0 as usize)].as_str().into()
                }
                Premise::Fact(f) => {
                    given.conditions.get(f.0 as usize).map_or(Value::Null, |s| s.text.as_str().into())
                }
                p => premises.premise(&pool, p).into(),
            };
            let because: Vec<Value> = because.iter().map(text).collect();
            json!({"guard": given.conditions.get(*i).map(|stated| &stated.text), "because": because})
        })
        .collect();
    let mut reply = Fields::new();
    reply.insert("guards".into(), kept.into());
    reply.insert("dropped".into(), dropped.into());
    super::explain(&mut reply, trace);
    Ok(reply)
}
