//! What each rung of the ladder settles alone: a verdict that another rung would have found hides a rung that has become weak.
use serde_json::Value;
use sizewise::decide::{self, Budget, Verdict};
use sizewise::query::entail::Question;

/// Nothing but canonical form, ranges and an assignment at hand.
const NOTHING: Budget = Budget { points: 0, branches: 0, work: 0, terms: 0, iterations: 0, rlimit: 0 };

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
fn verdict(query: &Value, budget: &Budget) -> Option<&'static str> {
    let mut question = Question::read(query.as_object().expect("an object")).ok()?;
    question.assume();
    let (pool, facts) = (&mut question.pool, &mut question.premises.facts);
    decide::prepare(pool, facts, &BEFORE);
    match decide::decide(pool, facts, question.goal, budget).verdict {
        Verdict::Implied { .. } => Some("implied"),
        Verdict::Refuted { .. } => Some("refuted"),
        Verdict::Inconsistent { .. } => Some("inconsistent"),
        Verdict::Unknown { .. } => None,
    }
}

/// The means by which a query is settled.
fn settled(query: &Value, means: &[&(&'static str, Budget)]) -> Vec<&'static str> {
    let mut settled = Vec::new();
    for (name, budget) in means {
        let Some(verdict) = verdict(query, budget) else { continue };
        let recorded = &query["verdict"];
        assert!(recorded.is_null() || *recorded == verdict, "{} by {name}: {verdict}", query["id"]);
        settled.push(*name);
    }
    settled
}

/// All means by which a query is settled.
pub fn means(query: &Value) -> String {
    settled(query, &MEANS.iter().collect::<Vec<_>>()).join(" ")
}

/// What is listed is still settled by those means; what is settled besides does no harm.
pub fn assert_as_strong(query: &Value, listed: &str) {
    let wanted: Vec<&str> = listed.split(' ').filter(|w| !w.is_empty()).collect();
    let means: Vec<_> = MEANS.iter().filter(|(name, _)| wanted.contains(name)).collect();
    assert_eq!(settled(query, &means), wanted, "{query}");
}
