//! Domains of expressions where someone else knows the facts.
use super::domain::{Contradiction, Domain};
use super::table::DomainTable;
use crate::{Expr, Pool};

/// Evaluates the domains of expressions of a pool, under facts that a function looks up.
pub struct Bounds<'a, F: Fn(Expr) -> Option<Domain>> {
    pool: &'a Pool,
    lookup: F,
    table: DomainTable,
}

impl<'a, F: Fn(Expr) -> Option<Domain>> Bounds<'a, F> {
    /// An evaluator under facts: `lookup` returns what is known about a symbol or any other subexpression. It
    /// is called once for each.
    pub fn new(pool: &'a Pool, lookup: F) -> Bounds<'a, F> {
        Bounds { pool, lookup, table: DomainTable::new() }
    }

    /// The domain of `e`, met with what `lookup` knows about it.
    pub fn domain(&mut self, e: Expr) -> Domain {
        self.table.evaluate(self.pool, e, &self.lookup);
        self.table.known_domain(self.pool, e)
    }

    /// The truth of a condition where it is defined, if the domains settle it.
    pub fn decide(&mut self, condition: Expr) -> Option<bool> {
        super::truth(&self.domain(condition))
    }

    /// The expression at which the facts contradict each other, if they do.
    pub fn contradiction(&self) -> Option<Contradiction> {
        self.table.contradiction()
    }
}
