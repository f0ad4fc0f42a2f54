//! How each recorded query is answered: the verdict, the rung that reached it, what it rests on, and by which
//! steps it is proved.
use crate::recorded::tally::Tally;
use serde_json::Value;
use sizewise::query::entail::Question;
use sizewise::solve::Budget;

/// Without Z3, whose versions answer differently.
const BUDGET: Budget = Budget {
    points: 2_000,
    branches: 60,
    work: 100_000,
    terms: 200_000,
    iterations: 4,
    rlimit: 0,
    classes: true,
};

/// The answer in a line.
pub fn answered(query: &Value, tally: &mut Tally) -> String {
    let mut question = Question::read(&super::asked(query)).expect("a question");
    let settled = question.decide(&BUDGET);
    tally.add("deciding", &question.pool, question.premises.facts.work());
    let reply = question.reply(&settled);
    let text = |key: &str| reply[key].as_str().unwrap_or_default().to_string();
    let rests_on = match text("verdict").as_str() {
        "refuted" => reply["witness"].to_string(),
        "unknown" => text("reason"),
        _ => reply["because"].to_string(),
    };
    let proof = question.proof(&settled);
    let mut rules: Vec<&str> = Vec::new();
    for rule in proof.as_array().into_iter().flatten().filter_map(|step| step["rule"].as_str()) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let verdict = text("verdict");
    let recorded = &query["verdict"];
    assert!(verdict == "unknown" || recorded.is_null() || *recorded == *verdict, "{query}: {verdict}");
    format!("{verdict} by {}: {rests_on} {}", text("decided_by"), rules.join(" "))
}
