//! Named dimensions that torch.export would refuse although the spec is right.
//!
//! torch.export checks the guards on one dimension against its range by solving inequalities. It cannot do so for those
//! of degree 2 and more: it refuses every range of a named dimension for which it records one. For `//` and `%` it puts
//! in the remainder that the example has, and then refuses ranges with sizes of another remainder. A guard that holds for
//! every size of 2 or more was recorded because torch does not see that, so no range helps (`n - 5*(n//5) >= 0`); of
//! others, the range may show torch that they hold. It looks neither at conditions joined by `and` or `or` nor at `!=`,
//! but for remainders by something that sizes decide.
//! Of an equation that divides what is itself made of a remainder (`(n + (-n) % 8) // 8`: a size padded to a multiple), it
//! records parts that an archive does not hold, and puts the example's remainder into those.
//! A dimension that it would refuse can be left to torch within the same range.
use super::pipeline::Examined;
use super::repair::Changes;
use crate::spec::{Change, DemandKind};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol};
use sizewise_solve::{Budget, Facts, decide};

/// The least size that torch.export assumes of a dimension while it traces.
const LEAST: i64 = 2;

/// The changes that leave such dimensions to torch.
pub(super) fn left_to_torch(fixed: &mut Examined) -> Changes {
    let guards = fixed.assumptions.demands.iter().filter(|demand| demand.kind == DemandKind::Guard);
    let guards: Vec<Expr> = guards.map(|guard| guard.condition).collect();
    let mut changes = Changes::new();
    for guard in guards {
        let beyond = match fixed.assumptions.env.pool.free_symbols(&[guard]).as_slice() {
            &[symbol] if is_beyond_torch(&mut fixed.assumptions.env.pool, guard, symbol) => vec![symbol],
            _ => divided_remainders(fixed, guard),
        };
        for symbol in beyond {
            leave(fixed, symbol, &mut changes);
        }
    }
    changes
}

/// Leaves a size to torch within its range. New dimensions, which others are computed from, can have no other form.
fn leave(fixed: &Examined, symbol: Symbol, changes: &mut Changes) {
    let name = fixed.assumptions.dims.get(&symbol).filter(|name| !name.starts_with('_'));
    if let Some(name) = name.cloned() {
        let range = fixed.assumptions.env.known_facts().range(symbol);
        let min = range.and_then(|range| range.lower()?.to_i64()).unwrap_or(0);
        let max = range.and_then(|range| range.upper()?.to_i64());
        changes.insert(name, Change::Auto { min, max });
    }
}

/// Whether torch cannot check a guard on one size, whatever the range of the size.
fn is_beyond_torch(pool: &mut Pool, guard: Expr, symbol: Symbol) -> bool {
    let Some(p) = compared(pool, guard) else { return divides_by_a_size(pool, guard) };
    let is_product = |e: Expr| pool.as_symbol(e).is_none() && pool.as_call(e).is_none();
    if pool.poly(p).terms.iter().any(|(monomial, _)| is_product(*monomial)) {
        return true;
    }
    let divides = |e: Expr| matches!(pool.as_call(e), Some((Func::FloorDiv | Func::Mod, _)));
    if !pool.reachable(&[p]).into_iter().any(divides) {
        return false;
    }
    let mut facts = Facts::new();
    facts.declare(pool, symbol, ValueRange::at_least(Int::from(LEAST)));
    decide(pool, &mut facts, guard, &Budget::small()).verdict.is_implied()
}

/// Whether `!=` compares a remainder by something that the size decides: that is a guard which torch checks after all.
fn divides_by_a_size(pool: &Pool, guard: Expr) -> bool {
    pool.reachable(&[guard]).into_iter().any(|part| match pool.as_call(part) {
        Some((Func::Mod, &[_, by])) => pool.as_int(by).is_none(),
        _ => false,
    })
}

/// The sizes of remainders that an equation divides again, where the remainder is not 0 for all sizes.
fn divided_remainders(fixed: &mut Examined, guard: Expr) -> Vec<Symbol> {
    let (pool, facts) = fixed.assumptions.env.facts();
    let Some(p) = compared(pool, guard) else { return Vec::new() };
    let parts = pool.reachable(&[p]);
    let divided = parts.into_iter().filter_map(|part| match pool.as_call(part) {
        Some((Func::FloorDiv | Func::Mod, &[dividend, _])) => Some(dividend),
        _ => None,
    });
    let divided: Vec<Expr> = divided.collect();
    let inner = pool.reachable(&divided).into_iter().filter_map(|part| match pool.as_call(part) {
        Some((Func::Mod, &[of, by])) if pool.as_int(by).is_some() => {
            match pool.free_symbols(&[of]).as_slice() {
                &[symbol] => Some((part, symbol)),
                _ => None,
            }
        }
        _ => None,
    });
    let inner: Vec<(Expr, Symbol)> = inner.collect();
    let varies = |(remainder, _): &(Expr, Symbol)| {
        let zero = pool.eq(*remainder, Expr::ZERO);
        !decide(pool, facts, zero, &Budget::small()).verdict.is_implied()
    };
    inner.into_iter().filter(varies).map(|(_, symbol)| symbol).collect()
}

/// What an equation or an inequality compares with 0; `None` for `!=` and for what is no comparison.
fn compared(pool: &Pool, condition: Expr) -> Option<Expr> {
    match pool.as_call(condition) {
        Some((Func::Not, &[inner])) if pool.as_func(inner, Func::IsZero).is_none() => compared(pool, inner),
        Some((Func::NotPositive | Func::IsZero, &[p])) => Some(p),
        _ => None,
    }
}
