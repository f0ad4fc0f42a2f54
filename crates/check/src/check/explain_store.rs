//! What the store of facts holds after a program was propagated: classes of equal sizes, what holds, and why.
use super::checker::Checker;
use super::error::CheckError;
use super::explain::{Needed, describe};
use super::obligation::{Obligation, Source};
use super::summary;
use crate::propagate::{Step, propagate};
use crate::report::{StoreClass, StoreEntry, StoreReport};
use crate::spec::{Assumptions, Contract};
use rustc_hash::FxHashMap;
use sizewise_expr::range::Domain;
use sizewise_expr::{Expr, Pool};
use sizewise_kernels::Operators;
use sizewise_solve::egraph::{Join, Why};

/// Where facts come from.
struct Sources<'a> {
    assumptions: &'a Assumptions<'a>,
    steps: &'a [Step<'a>],
    pool: &'a Pool,
    /// The facts by their numbers.
    conditions: &'a [Expr],
    /// Those that operators recorded as guards.
    guards: FxHashMap<Expr, Obligation>,
}

impl Checker {
    /// The store of facts at the end of the program, under the contract that it records.
    ///
    /// # Errors
    /// When the program's records cannot be read.
    pub fn store(&self, operators: &Operators) -> Result<StoreReport, CheckError> {
        let contract = Contract::load(self.program())?;
        let assumptions = contract.assumed();
        let mut run = propagate(self.program(), &assumptions, operators)?;
        let guard = |guard: &sizewise_env::Guard| {
            let source = Source::Guard(guard.kind, guard.clause);
            let origin = Some(guard.origin);
            (guard.condition, Obligation { condition: guard.condition, source, origin })
        };
        // The first step that needs a condition recorded it.
        let guards = run.env.guards().iter().rev().map(guard).collect();
        let (pool, facts) = run.env.facts();
        let view = facts.view(pool);
        let (steps, conditions) = (&run.steps, facts.conditions());
        let sources = Sources { assumptions: &assumptions, steps, pool, conditions, guards };
        let joined =
            |join: &Join| sources.entry(join, format!("{} = {}", sources.text(join.a), sources.text(join.b)));
        let class = |class: &sizewise_solve::Class| StoreClass {
            members: class.members.iter().map(|&member| sources.text(member)).collect(),
            values: values(&class.values),
            joined: class.joins.iter().map(joined).collect(),
        };
        Ok(StoreReport {
            classes: view.classes.iter().map(class).collect(),
            holds: view.holds.iter().map(|join| sources.entry(join, sources.text(join.a))).collect(),
            equations: view.equations.iter().map(|&(a, b)| [sources.text(a), sources.text(b)]).collect(),
            contradictory: view.contradictory,
        })
    }
}

impl Sources<'_> {
    fn text(&self, e: Expr) -> String {
        summary::shown_in(self.assumptions, self.pool, e)
    }

    fn entry(&self, join: &Join, shown: String) -> StoreEntry {
        let fact = match join.why {
            Why::Fact(id) => self.conditions.get(id as usize).copied(),
            Why::Nonzero | Why::Equations => None,
        };
        let because = match (join.why, fact) {
            (Why::Nonzero, _) => "a divisor is not 0".to_owned(),
            (Why::Fact(_), Some(fact)) => self.text(fact),
            _ => "the equations make one of the other".to_owned(),
        };
        let needed = fact.and_then(|fact| self.guards.get(&fact)).map(|obligation| {
            let item = Needed { condition: obligation.condition, obligation: obligation.clone(), nodes: 1 };
            describe(self.assumptions, self.steps, self.pool, &item)
        });
        let (node, location) = needed.map_or((None, None), |needed| (needed.node, needed.location));
        StoreEntry { shown, because, node, location }
    }
}

/// A range and a congruence in words.
fn values(domain: &Domain) -> String {
    let range = match (domain.range.lower(), domain.range.upper()) {
        (Some(low), Some(high)) if low == high => return low.to_string(),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "any integer".to_owned(),
    };
    let congruence = &domain.congruence;
    match (congruence.is_any(), congruence.residue().is_zero()) {
        (true, _) => range,
        (false, true) => format!("{range}, a multiple of {}", congruence.modulus()),
        (false, false) => format!("{range}, {} modulo {}", congruence.residue(), congruence.modulus()),
    }
}
