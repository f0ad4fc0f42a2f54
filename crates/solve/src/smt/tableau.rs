//! How large the tableau of a question gets, which Z3's resource counter does not see.
use rustc_hash::FxHashSet;
use sizewise_expr::{Expr, Node, Pool};

/// Sums of fewer terms are bounds and differences, which do not fill a tableau.
const LEAST_TERMS: usize = 3;

/// About how much work it is to solve the sums in these conditions as linear constraints: the terms in rows, times the square
/// of the columns, times the bits of the largest coefficient. A solution takes about as many pivots as there are columns, each
/// touches all rows, and rows fill up as numbers grow; measured times are below a few microseconds per unit.
pub fn size(pool: &Pool, conditions: &[Expr]) -> u64 {
    let mut columns: FxHashSet<Expr> = FxHashSet::default();
    let (mut entries, mut bits) = (0u64, 1u64);
    for e in pool.reachable(conditions) {
        let Some(Node::Sum { terms, .. }) = pool.node(e) else { continue };
        if terms.len() < LEAST_TERMS {
            continue;
        }
        entries += terms.len() as u64;
        for (monomial, coefficient) in terms {
            columns.insert(*monomial);
            bits = bits.max(coefficient.bits());
        }
    }
    let columns = columns.len() as u64;
    [columns, columns, bits].into_iter().fold(entries, u64::saturating_mul)
}
