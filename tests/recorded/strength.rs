//! What each rung of the ladder settles alone: a verdict that another rung would have found hides a rung that has
//! become weak.
use crate::recorded::tally::Tally;
use serde_json::Value;
use sizewise::query::entail::Question;
use sizewise::solve::{self, Budget, Verdict};

/// Nothing but canonical form, ranges, an assignment at hand, and what linear reasoning sees without writing terms.
const NOTHING: Budget =
    Budget { points: 0, branches: 0, work: 0, terms: 1, iterations: 0, rlimit: 0, classes: true };

/// Rungs that are asked alone, each with the budget that leaves the others out.
const MEANS: [(&str, Budget); 5] = [
    ("range", NOTHING),
    ("linear", Budget { branches: 60, work: 100_000, terms: 200_000, ..NOTHING }),
    ("cases", Budget { points: 400, branches: 60, work: 100_000, terms: 200_000, ..NOTHING }),
    ("egraph", Budget { iterations: 4, ..NOTHING }),
    ("search", Budget { points: 2_000, ..NOTHING }),
];

/// What finds an assignment that satisfies the facts, before the rung is asked.
const BEFORE: Budget = Budget { points: 2_000, branches: 30, work: 60_000, terms: 100_000, ..NOTHING };

/// The verdict with one budget; none where it stays open.
fn verdict(query: &Value, name: &'static str, budget: &Budget, tally: &mut Tally) -> Option<&'static str> {
    let mut question = Question::read(&super::asked(query)).ok()?;
    question.assume();
    let (pool, facts) = (&mut question.pool, &mut question.premises.facts);
    solve::prepare(pool, facts, &BEFORE);
    let answer = solve::decide(pool, facts, question.goal, budget);
    tally.add(name, pool, facts.work());
    match answer.verdict {
        Verdict::Implied { .. } => Some("implied"),
        Verdict::Refuted { .. } => Some("refuted"),
        Verdict::Inconsistent { .. } => Some("inconsistent"),
        Verdict::Unknown { .. } => None,
    }
}

/// All means by which a query is settled.
pub fn means(query: &Value, tally: &mut Tally) -> String {
    let mut settled = Vec::new();
    for (name, budget) in &MEANS {
        let Some(verdict) = verdict(query, name, budget, tally) else { continue };
        let recorded = &query["verdict"];
        assert!(recorded.is_null() || *recorded == verdict, "{} by {name}: {verdict}", query["id"]);
        settled.push(*name);
    }
    settled.join(" ")
}

/// What is listed is still settled by those means; what is settled besides does no harm.
pub fn is_as_strong(now: &str, listed: &str) -> bool {
    listed.split(' ').all(|means| means.is_empty() || now.split(' ').any(|n| n == means))
}
