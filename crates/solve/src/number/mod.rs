//! Number theory on a reduced conjunction: facts about integers that neither ranges nor linear reasoning know.
//!
//! Each file is one argument. Each is sound by itself: it closes a conjunction that has no solution, or finds
//! the few values that an expression can have, or proposes a solution for the evaluator to replay.
mod divisors;
mod equations;
mod factor;
mod finite;
mod powers;
mod residues;
mod squares;

#[cfg(test)]
mod factor_tests;
#[cfg(test)]
mod tests;

use super::reduce::Reduced;
pub(super) use equations::solutions;
use sizewise_expr::{Expr, Int, Pool};

/// How often the arguments read a conjunction, about.
const READINGS: usize = 8;

/// What an argument comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lemma {
    /// There is no solution.
    Closed,
    /// The expression has one of these values.
    Values(Expr, Vec<Int>),
}

/// The first argument that applies to a reduced conjunction. `steps` counts down the assignments that may be looked at.
pub(super) fn examine(pool: &mut Pool, problem: &mut Reduced, steps: &mut u32) -> Option<Lemma> {
    let size = pool.reachable(&problem.unexpanded).len();
    // Each argument reads the conditions several times over.
    pool.charge(READINGS * size);
    if pool.is_spent() {
        return None;
    }
    powers::refute(pool, problem)
        .or_else(|| squares::refute(pool, problem))
        .or_else(|| finite::cliques(pool, problem))
        .or_else(|| residues::refute(pool, &problem.unexpanded, steps))
        .or_else(|| finite::enumerate(pool, problem, steps))
        .or_else(|| divisors::values(pool, problem, steps))
        .map(|lemma| match lemma {
            Lemma::Values(_, values) if values.is_empty() => Lemma::Closed,
            other => other,
        })
}
