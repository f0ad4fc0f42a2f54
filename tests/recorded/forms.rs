//! What goals are simplified to under their facts.
use crate::recorded::tally::Tally;
use serde_json::Value;
use sizewise::egraph::Reading;
use sizewise::query::entail::Question;
use sizewise::solve::{self, Budget};

/// The goal in its shortest form.
pub fn simplified(query: &Value, tally: &mut Tally) -> String {
    let mut question = Question::read(&super::asked(query)).expect("a question");
    question.assume();
    let (pool, facts) = (&mut question.pool, &mut question.premises.facts);
    let simple = solve::simplify(pool, facts, question.goal, &Budget::small());
    let text = Reading::new().text(pool, simple);
    tally.add("forms", pool, facts.work());
    text
}
