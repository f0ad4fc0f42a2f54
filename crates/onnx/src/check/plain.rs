//! Sizes and conditions in their simplest forms.
use rustc_hash::FxHashMap;
use sizewise_check::check::{simplest, simplest_size};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func};

/// Of more conditions the later ones are left as they are.
const MAX_SIMPLE: usize = 300;

/// The size without cases that what is known excludes: `T` for `Max(0, T)` where `T` is at least 1.
pub(super) fn plain(env: &mut ShapeEnv, e: Expr) -> Expr {
    let is_case =
        |part: &Expr| matches!(env.pool.as_call(*part), Some((Func::Max | Func::Min | Func::Ite, _)));
    if !env.pool.reachable(&[e]).iter().any(is_case) {
        return e;
    }
    let (pool, facts) = env.facts();
    simplest_size(pool, facts, e)
}

/// Conditions, each put simply where those before it hold. One that follows from them is true.
pub(super) fn simple_in_turn(env: &ShapeEnv, conditions: &[Expr]) -> Vec<Expr> {
    let mut before = env.clone();
    let mut known: FxHashMap<Expr, Expr> = FxHashMap::default();
    let mut all = Vec::with_capacity(conditions.len());
    for (at, &condition) in conditions.iter().enumerate() {
        let simple = *known.entry(condition).or_insert_with(|| {
            if at >= MAX_SIMPLE {
                return condition;
            }
            let (pool, facts) = before.facts();
            let simple = simplest(pool, facts, condition);
            before.assume(condition);
            simple
        });
        all.push(simple);
    }
    all
}
