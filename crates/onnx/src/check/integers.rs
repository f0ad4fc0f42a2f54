//! Integers that a model computes from sizes: the conditions that they do not wrap around in their types.
use super::existing::MOST_BYTES;
use super::symbolic::Symbolic;
use rustc_hash::FxHashSet;
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_kernels::Cx;
use sizewise_onnx_model::shape::Dtype;
use sizewise_onnx_model::shape::clauses::Integer;
use sizewise_onnx_model::walk::Walk;
use sizewise_solve::{Budget, Verdict as Decided, decide};

/// Of integers that are computed from them, no dimension is longer.
const MOST_SIZE: i64 = i32::MAX as i64;
/// The most conditions that are decided.
const MAX_DECIDED: usize = 100;
/// Of more conditions it is not asked which follow from others.
const MAX_COMPARED: usize = 12;
/// The clause of these conditions.
pub(super) const CLAUSE: &str = Integer::C1.code;

/// A condition that an integer does not wrap around, with the step that computes it.
#[derive(Clone, Copy)]
pub(super) struct Fits {
    pub step: usize,
    pub condition: Expr,
}

/// The environment in which memory bounds all sizes, and the model's conditions hold.
pub(super) fn within_memory(symbolic: &Symbolic, walk: &Walk) -> ShapeEnv {
    let mut env = walk.env.clone();
    for (symbol, _) in &symbolic.symbols {
        let (size, most) = (env.pool.symbol_expr(*symbol), env.pool.int(MOST_SIZE));
        let fits = env.pool.le(size, most);
        env.assume(fits);
    }
    assume_existing(symbolic, &mut env);
    env
}

/// Assumes that the inputs can exist.
pub(super) fn assume_existing(symbolic: &Symbolic, env: &mut ShapeEnv) {
    for (input, sizes) in &symbolic.sizes {
        let bytes = env.pool.int(input.dtype.map_or(1, Dtype::bytes));
        let most = env.pool.int(MOST_BYTES);
        let total = env.product(sizes.iter().copied().chain([bytes]));
        let mut bounded = vec![total];
        bounded.extend(sizes);
        for size in bounded.into_iter().filter(|size| size.as_inline().is_none()) {
            let fits = env.pool.le(size, most);
            env.assume(fits);
        }
    }
}

/// The conditions that integers fit into their types, where memory and the model's conditions do not see to it.
pub(super) fn integers(symbolic: &Symbolic, walk: &mut Walk, budget: &Budget) -> Vec<Fits> {
    let known: FxHashSet<_> = symbolic.symbols.iter().map(|(symbol, _)| *symbol).collect();
    let backend = walk.backend();
    let mut env: Option<ShapeEnv> = None;
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let mut decided = 0;
    for (step, e, dtype) in walk.integers.clone() {
        let Some((least, most)) = bounds(dtype).filter(|_| seen.insert((e, dtype))) else { continue };
        if Cx::on(&mut walk.env, backend).fits_up_to(e, (least, most), MOST_SIZE)
            || !walk.env.pool.free_symbols(&[e]).iter().all(|symbol| known.contains(symbol))
        {
            continue;
        }
        decided += 1;
        if decided > MAX_DECIDED {
            break;
        }
        let env = env.get_or_insert_with(|| within_memory(symbolic, walk));
        let (low, high) = (env.pool.int(least), env.pool.int(most));
        for condition in [env.pool.le(e, high), env.pool.ge(e, low)] {
            let (pool, facts) = env.facts();
            let verdict = decide(pool, facts, condition, budget).verdict;
            if !matches!(verdict, Decided::Implied { .. } | Decided::Inconsistent { .. }) {
                env.assume(condition);
                found.push(Fits { step, condition });
            }
        }
    }
    without_implied(found, symbolic, walk, budget)
}

/// The conditions without those that follow from later ones: a power that fits has a base that does.
fn without_implied(found: Vec<Fits>, symbolic: &Symbolic, walk: &Walk, budget: &Budget) -> Vec<Fits> {
    if found.len() > MAX_COMPARED {
        return found;
    }
    let mut kept: Vec<Fits> = Vec::new();
    for (at, fits) in found.iter().enumerate() {
        let mut env = within_memory(symbolic, walk);
        found[at + 1..].iter().for_each(|later| env.assume(later.condition));
        let (pool, facts) = env.facts();
        if !matches!(decide(pool, facts, fits.condition, budget).verdict, Decided::Implied { .. }) {
            kept.push(*fits);
        }
    }
    kept
}

fn bounds(dtype: Dtype) -> Option<(i64, i64)> {
    let (least, most) = dtype.integer_range()?;
    Some((i64::try_from(least).ok()?, i64::try_from(most).ok()?))
}
