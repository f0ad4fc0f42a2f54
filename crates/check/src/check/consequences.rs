//! Which of the violated conditions follow from others, so that one cause is one error.
use super::examine::Examination;
use super::minimal;
use crate::report::{Diagnostic, GuardVerdict, Level};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_solve::{Compiled, decide};

/// The most counterexamples that are compared.
const MAX_WITNESSES: usize = 8;
/// The most symbols that are changed, each alone, to see which conditions break near the example.
const MAX_SYMBOLS: usize = 6;
/// The changes that are tried.
const CHANGES: [i64; 10] = [1, -1, 2, -2, 3, -3, 4, -4, 8, -8];

/// Values of symbols.
type Sizes = FxHashMap<Symbol, Int>;

impl Examination<'_, '_> {
    /// Marks the violated conditions that follow from others.
    pub(super) fn consequences(&mut self, base: &mut ShapeEnv) {
        let conditions: Vec<Expr> = self.violated.iter().map(|o| o.condition).collect();
        if conditions.len() < 2 {
            return;
        }
        let compiled: Vec<Compiled> = conditions.iter().map(|&c| Compiled::new(&base.pool, c)).collect();
        let mut room = Vec::new();
        let mut broken = Vec::new();
        for sizes in self.assignments(base, &conditions) {
            let mut is_broken =
                |c: &Compiled| c.holds(&base.pool, |s| sizes.get(&s), &mut room).map(|holds| !holds);
            broken.push(compiled.iter().map(&mut is_broken).collect());
        }
        let (pool, facts) = base.facts();
        let follows = minimal::consequences(pool, facts, &conditions, &broken);
        let violated = self.report.guards.iter_mut().filter(|g| g.verdict == GuardVerdict::Violated);
        for (guard, follows) in violated.zip(follows) {
            guard.follows = follows;
        }
    }

    /// Assignments that satisfy the assumptions: counterexamples, and sizes near the example.
    fn assignments(&self, base: &ShapeEnv, conditions: &[Expr]) -> Vec<Sizes> {
        let hint = |s| base.symbol(s)?.hint.as_ref()?.as_int();
        let facts = base.known_facts();
        let example: Sizes = facts.ranges().filter_map(|(s, ..)| Some((s, hint(s)?))).collect();
        let mut assignments: Vec<Sizes> = Vec::new();
        let violated = self.report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated);
        for witness in violated.filter_map(|guard| guard.witness.as_ref()) {
            let given =
                |s: Symbol| witness.get(base.pool.symbol_name(s)).and_then(Json::as_i64).map(Int::from);
            let sizes = example.iter().map(|(s, v)| (*s, given(*s).unwrap_or_else(|| v.clone()))).collect();
            if assignments.len() < MAX_WITNESSES && !assignments.contains(&sizes) {
                assignments.push(sizes);
            }
        }
        let assumed: Vec<Compiled> =
            facts.conditions().iter().map(|&c| Compiled::new(&base.pool, c)).collect();
        let mut room = Vec::new();
        for s in base.pool.free_symbols(conditions).into_iter().take(MAX_SYMBOLS) {
            let Some(at) = example.get(&s) else { continue };
            for size in CHANGES.map(|change| at + &Int::from(change)) {
                if facts.range(s).is_some_and(|range| !range.contains(&size)) {
                    continue;
                }
                let mut sizes = example.clone();
                sizes.insert(s, size);
                let mut holds =
                    |c: &Compiled| c.holds(&base.pool, |s| sizes.get(&s), &mut room) == Some(true);
                if assumed.iter().all(&mut holds) {
                    assignments.push(sizes);
                }
            }
        }
        assignments
    }

    /// The violated conditions that follow from no others, as a spec is to imply them.
    pub(super) fn roots(&self) -> Vec<Expr> {
        let guards = self.report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated);
        let pairs = self.violated.iter().zip(guards);
        let roots = pairs.filter(|(_, guard)| !guard.follows).map(|(obligation, _)| obligation.condition);
        let sufficient =
            |e: Expr| self.sufficient.iter().find(|(only, _)| *only == e).map_or(e, |(_, more)| *more);
        roots.map(sufficient).collect()
    }

    /// Notes where a condition that a step needs is false at every size that the spec allows, and says whether it is.
    pub(super) fn note_if_nothing_works(&mut self, condition: Option<Expr>, shown: Option<&str>) -> bool {
        let (Some(condition), Some(shown), true) = (condition, shown, self.has_spec) else { return false };
        let mut base = self.assumptions.env.clone();
        let symbols = base.pool.free_symbols(&[condition]);
        let (pool, facts) = base.facts();
        let is_known = symbols.iter().all(|&symbol| facts.range(symbol).is_some());
        let opposite = pool.not(condition);
        let never = is_known && decide(pool, facts, opposite, self.budget).verdict.is_implied();
        if never && !self.report.has("nothing-works") {
            self.report.diagnostics.push(nothing_works(shown));
        }
        never
    }
}

/// That what a program needs contradicts its spec.
pub(super) fn nothing_works(needed: &str) -> Diagnostic {
    let message = format!("at no size that the spec allows the program works: it needs {needed}");
    Diagnostic::new("nothing-works", Level::Note, message)
}
