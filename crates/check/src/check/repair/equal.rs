//! Inequalities that are meant as equations, or leave nothing else.
use indexmap::IndexMap;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol};

/// `a == b` for a condition `a <= b` on two dimensions that are equal in the example.
pub(super) fn as_equal_sizes(
    pool: &mut Pool,
    dims: &IndexMap<Symbol, (String, Int)>,
    condition: Expr,
) -> Option<Expr> {
    // Of a disjunction it is enough that one part holds.
    if let Some(parts) = pool.as_func(condition, Func::Or) {
        let parts = parts.to_vec();
        return parts.into_iter().find_map(|part| as_equal_sizes(pool, dims, part));
    }
    let &[p] = pool.as_func(condition, Func::NotPositive)? else { return None };
    let &[a, b] = pool.free_symbols(&[p]).as_slice() else { return None };
    let is_equal = dims.get(&a)?.1 == dims.get(&b)?.1;
    let (a, b) = (pool.symbol_expr(a), pool.symbol_expr(b));
    let (ahead, behind) = (pool.sub(a, b), pool.sub(b, a));
    (is_equal && (p == ahead || p == behind)).then(|| pool.eq(p, Expr::ZERO))
}

/// Replaces two inequalities that leave one number, as `a <= b` and `b <= a` do, by the equation.
pub(in crate::check) fn equations_of_opposites(pool: &mut Pool, conditions: &mut Vec<Expr>) {
    let at_most = |pool: &Pool, c: Expr| {
        pool.as_func(c, Func::NotPositive).and_then(|operands| operands.first().copied())
    };
    let mut at = 0;
    while at < conditions.len() {
        let found = at_most(pool, conditions[at]).and_then(|p| {
            let opposite =
                |pool: &mut Pool, c: Expr| at_most(pool, c).is_some_and(|q| pool.add(p, q) == Expr::ZERO);
            let other = (at + 1..conditions.len()).find(|&i| opposite(pool, conditions[i]))?;
            Some((pool.eq(p, Expr::ZERO), other))
        });
        if let Some((equation, other)) = found {
            conditions[at] = equation;
            conditions.remove(other);
        }
        at += 1;
    }
}
