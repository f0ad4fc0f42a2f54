//! What ranges and residues are derived from the facts of recorded queries, for every part of their goals.
//! `!` stands where the facts contradict each other.
use crate::recorded::tally::Tally;
use serde_json::Value;
use sizewise::expr::{Pool, Sort, read};
use sizewise::range::{DomainTable, ValueRange};
use sizewise::solve::Work;

/// Facts are assumed again this often, as long as they teach something.
const ROUNDS: usize = 3;

/// The domains of the parts of the goal.
pub fn derived(query: &Value, tally: &mut Tally) -> String {
    let (mut pool, mut table) = (Pool::new(), DomainTable::new());
    let end = |v: &Value| (!v.is_null()).then(|| v.to_string().parse().expect("an integer"));
    for (name, range) in query["symbols"].as_object().expect("an object") {
        let symbol = pool.symbol(name);
        let range = ValueRange::between_options(end(&range["min"]), end(&range["max"])).expect("not empty");
        table.set(&pool, symbol, range.into()).expect("consistent");
    }
    let mut read =
        |text: &Value| read::closed(&mut pool, text.as_str().expect("text")).expect("it reads").expr;
    let given: Vec<_> = query["given"].as_array().expect("a list").iter().map(&mut read).collect();
    let goal = read(&query["goal"]);
    for _ in 0..ROUNDS {
        let mut changed = false;
        for &fact in &given {
            match table.assume(&pool, fact) {
                Ok(news) => changed |= news,
                Err(_) => return "!".to_string(),
            }
        }
        if !changed {
            break;
        }
    }
    let parts =
        pool.reachable(&[goal]).into_iter().filter(|&e| !pool.is_constant(e) && pool.sort(e) != Sort::Float);
    let domains = parts.map(|e| format!("{:?}", table.domain(&pool, e))).collect::<Vec<_>>().join("; ");
    tally.add("ranges", &pool, Work::default());
    domains
}
