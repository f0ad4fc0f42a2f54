//! Sizes without cases that no input takes: `T` for `Max(0, T)` where `T` is at least 1.
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func};
use sizewise_solve::{Budget, simplify};

/// The size without cases that what is known excludes.
pub(super) fn plain(env: &mut ShapeEnv, e: Expr) -> Expr {
    let is_case =
        |part: &Expr| matches!(env.pool.as_call(*part), Some((Func::Max | Func::Min | Func::Ite, _)));
    if !env.pool.reachable(&[e]).iter().any(is_case) {
        return e;
    }
    let (pool, facts) = env.facts();
    simplify(pool, facts, e, &Budget::small())
}
