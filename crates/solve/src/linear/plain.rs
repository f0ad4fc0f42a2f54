//! One check of the linear relaxation, without reductions or branching. It suffices for most linear goals and
//! takes microseconds.
use super::rational::Small;
use super::simplex::{Feasibility, System};
use rustc_hash::FxHashMap;
use sizewise_expr::range::DomainTable;
use sizewise_expr::{Expr, Func, Int, Node, Pool};

/// Larger systems are left to the thorough look.
const MAX_ROWS: usize = 48;
/// Entries of the tableau that may be changed.
const WORK: u32 = 6_000;

/// Whether literals have no common solution, not even a rational one, within the table's bounds. Quotients
/// and remainders by positive constants come with their definitions. Also returns how many entries of the
/// tableau changed.
pub fn infeasible(pool: &mut Pool, table: &mut DomainTable, literals: &[Expr]) -> (bool, u32) {
    let mut relaxation =
        Relaxation { system: System::default(), index: FxHashMap::default(), waiting: Vec::new() };
    for &e in literals {
        let (p, equal) = match pool.as_call(e) {
            Some((Func::NotPositive, &[p])) => (p, false),
            Some((Func::IsZero, &[p])) => (p, true),
            _ => continue,
        };
        relaxation.row(pool, table, p, equal.then_some(Int::ZERO), Some(Int::ZERO));
    }
    let mut next = 0;
    while let Some(&atom) = relaxation.waiting.get(next) {
        next += 1;
        if relaxation.system.rows.len() > MAX_ROWS {
            return (false, 0);
        }
        let Some((func @ (Func::FloorDiv | Func::Mod), &[a, b])) = pool.as_call(atom) else { continue };
        let Some(d) = pool.as_int(b).filter(Int::is_positive) else { continue };
        // a - d*q lies in 0..d, and is the remainder.
        let quotient = pool.floor_div(a, b);
        let multiple = pool.mul(b, quotient);
        let rest = pool.sub(a, multiple);
        if func == Func::Mod {
            let same = pool.sub(rest, atom);
            relaxation.row(pool, table, same, Some(Int::ZERO), Some(Int::ZERO));
        } else {
            relaxation.row(pool, table, rest, Some(Int::ZERO), Some(&d - &Int::ONE));
        }
    }
    let mut work = WORK;
    let found = relaxation.system.check::<Small>(&mut work);
    (matches!(found, Feasibility::Infeasible(_)), WORK - work)
}

struct Relaxation {
    system: System,
    index: FxHashMap<Expr, usize>,
    /// The atoms, whose definitions follow.
    waiting: Vec<Expr>,
}

impl Relaxation {
    /// `low <= p <= high`.
    fn row(&mut self, pool: &Pool, table: &mut DomainTable, p: Expr, low: Option<Int>, high: Option<Int>) {
        let poly = pool.poly(p);
        let mut terms = Vec::with_capacity(poly.terms.len());
        for (m, c) in &poly.terms {
            let next = self.index.len();
            let column = *self.index.entry(*m).or_insert(next);
            if column == next {
                let range = table.domain(pool, *m).range;
                self.system.variables.push((range.lo.finite().cloned(), range.hi.finite().cloned()));
                if matches!(pool.node(*m), Some(Node::Call(..))) {
                    self.waiting.push(*m);
                }
            }
            terms.push((column, c.clone()));
        }
        let shift = |v: Int| &v - &poly.constant;
        self.system.rows.push((terms, (low.map(shift), high.map(shift))));
    }
}
