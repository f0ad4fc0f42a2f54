//! Named dimensions that torch.export would refuse although the spec is right.
//!
//! torch.export checks the guards on one dimension against its range by solving inequalities, and cannot do so for
//! those of degree 2 and more: it refuses every range of a named dimension for which it records one. Such a dimension
//! can be left to torch within the same range.
use super::pipeline::Examined;
use super::repair::Changes;
use crate::spec::{Change, DemandKind};
use sizewise_expr::{Expr, Func, Pool};

/// The changes that leave such dimensions to torch.
pub(super) fn left_to_torch(fixed: &Examined) -> Changes {
    let mut changes = Changes::new();
    let (env, dims) = (&fixed.assumptions.env, &fixed.assumptions.dims);
    let guards = fixed.assumptions.demands.iter().filter(|demand| demand.kind == DemandKind::Guard);
    for guard in guards.filter(|guard| has_degree_2(&env.pool, guard.condition)) {
        let &[symbol] = env.pool.free_symbols(&[guard.condition]).as_slice() else { continue };
        // New dimensions, which others are computed from, can have no other form.
        let Some(name) = dims.get(&symbol).filter(|name| !name.starts_with('_')) else { continue };
        let range = env.known_facts().range(symbol);
        let min = range.and_then(|range| range.lower()?.to_i64()).unwrap_or(0);
        let max = range.and_then(|range| range.upper()?.to_i64());
        changes.insert(name.clone(), Change::Auto { min, max });
    }
    changes
}

/// Whether a condition is on a polynomial with a product of sizes.
fn has_degree_2(pool: &Pool, condition: Expr) -> bool {
    let p = match pool.as_call(condition) {
        Some((Func::Not, &[inner])) => return has_degree_2(pool, inner),
        Some((Func::NotPositive | Func::IsZero, &[p])) => p,
        _ => return false,
    };
    let is_product = |e: Expr| pool.as_symbol(e).is_none() && pool.as_call(e).is_none();
    pool.poly(p).terms.iter().any(|(monomial, _)| is_product(*monomial))
}
