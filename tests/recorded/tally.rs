//! Counted work, added up over queries.
use sizewise::expr::Pool;
use sizewise::solve::Work;
use std::collections::BTreeMap;

/// The sums, by what took the work.
#[derive(Default)]
pub struct Tally(BTreeMap<&'static str, BTreeMap<&'static str, u64>>);

impl Tally {
    /// Adds what was done to expressions and what deciding took.
    pub fn add(&mut self, what: &'static str, pool: &Pool, work: Work) {
        let sums = self.0.entry(what).or_default();
        let Work { points, variations, branches, entries, steps, rounds, nodes, attempts, uses, solver } =
            work;
        for (name, count) in [
            ("terms", pool.work()),
            ("expressions", pool.len() as u64),
            ("points", points),
            ("variations", variations),
            ("branches", branches),
            ("entries", entries),
            ("steps", steps),
            ("rounds", rounds),
            ("nodes", nodes),
            ("attempts", attempts),
            ("uses", uses),
            ("solver", solver),
        ] {
            *sums.entry(name).or_default() += count;
        }
    }
    /// What took the work, with the sums that are not 0.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.0.iter().map(|(what, sums)| {
            let counted: Vec<String> =
                sums.iter().filter(|(_, n)| **n > 0).map(|(name, n)| format!("{n} {name}")).collect();
            (*what, counted.join(", "))
        })
    }
}
