//! Repairing a spec: changes of named dimensions after which it implies the violated conditions.
//!
//! A sub-spec of a spec implies all that the spec implies, so only the violated conditions count. Equations
//! among dimensions are solved first (`a == k*b + c` makes one dimension derived from the other). What is
//! left is a set of conditions that the traced example satisfies: a box around the example, with a stride in
//! each dimension, is grown as far as the conditions are *proved* in all of it. Which dimension grows first
//! is a choice, so there may be several repairs, none of which can be widened in any one bound. Whether a
//! repair works is for a check of the changed spec to say.
mod equal;
mod equations;
mod growth;
mod multiples;

use equal::as_equal_sizes;
pub(super) use equal::equations_of_opposites;

use crate::spec::{Change, Spec};
use indexmap::IndexMap;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use sizewise_solve::Facts;

/// The most repairs that are proposed.
const MAX_ALTERNATIVES: usize = 3;

/// A named dimension in the violated conditions.
#[derive(Clone, Debug)]
struct ViolatedDim {
    symbol: Symbol,
    name: String,
    min: i64,
    max: Option<i64>,
    example: i64,
}

/// Changes by the name of the dimension.
pub type Changes = IndexMap<String, Change>;

/// Named dimensions, each with its size in the example.
type Dims = IndexMap<Symbol, (String, Int)>;

/// Repairs for violated conditions. Conditions on other symbols than those in `dims` are ignored. Of two sizes that are
/// equal in the example `alike`, one that may not be greater than the other is often meant to be the same: the repair for
/// that takes the place `at`.
pub fn proposals(
    pool: &mut Pool,
    facts: &Facts,
    dims: &Dims,
    violated: &[Expr],
    (alike, at): (&Dims, usize),
) -> Vec<Changes> {
    let mut found = propose(pool, facts, dims, violated);
    let equal: Vec<Expr> = violated.iter().map(|&c| as_equal_sizes(pool, alike, c).unwrap_or(c)).collect();
    if equal != violated {
        let at = found.len().min(at);
        found.splice(at..at, propose(pool, facts, dims, &equal).into_iter().take(1));
    }
    found
}

fn propose(pool: &mut Pool, facts: &Facts, dims: &Dims, violated: &[Expr]) -> Vec<Changes> {
    let mut named: Vec<ViolatedDim> = Vec::new();
    for (symbol, (name, example)) in dims {
        let range = facts.ranges().find(|(s, ..)| s == symbol);
        let min = range.and_then(|(_, min, _)| min.and_then(Int::to_i64)).unwrap_or(0);
        let max = range.and_then(|(.., max)| max.and_then(Int::to_i64));
        if let Some(example) = example.to_i64() {
            named.push(ViolatedDim { symbol: *symbol, name: name.clone(), min, max, example });
        }
    }
    let conditions: Vec<Expr> = violated
        .iter()
        .copied()
        .filter(|&c| {
            let symbols = pool.free_symbols(&[c]);
            !symbols.is_empty() && symbols.iter().all(|s| named.iter().any(|d| d.symbol == *s))
        })
        .collect();
    if conditions.is_empty() {
        return Vec::new();
    }
    let mut alternatives: Vec<Changes> = Vec::new();
    for turn in 0..named.len().clamp(1, MAX_ALTERNATIVES) {
        let mut order = named.clone();
        order.rotate_left(turn);
        let split = multiples::split(pool, &order, &conditions);
        let plain = multiples::Split::none(&order, &conditions);
        for split in split.iter().chain([&plain]) {
            let system = equations::System::new(&split.dims, &split.conditions);
            let (mut linear, mut solved) = (system.clone(), system);
            linear.solve(pool, false);
            solved.solve(pool, true);
            let differ = (&linear.roles, &linear.conditions) != (&solved.roles, &solved.conditions);
            for system in std::iter::once(linear).chain(Some(solved).filter(|_| differ)) {
                let Some(changes) = split.joined(growth::grow(pool, system)) else { continue };
                if !changes.is_empty() && !alternatives.contains(&changes) {
                    alternatives.push(changes);
                }
            }
        }
    }
    // Repairs that leave more dimensions dynamic come first.
    alternatives.sort_by_key(|changes| changes.values().filter(|c| matches!(c, Change::Size(_))).count());
    alternatives.truncate(MAX_ALTERNATIVES);
    // A new dimension is none that is there.
    for change in alternatives.iter_mut().flat_map(Changes::values_mut) {
        if let Change::Linear { root, .. } = change {
            while dims.values().any(|(known, _)| known == root) {
                root.push('_');
            }
        }
    }
    alternatives
}

/// The changes in a form that torch takes.
pub(super) fn for_torch(changes: &Changes) -> Changes {
    changes.iter().map(|(name, change)| (name.clone(), change.clone().for_torch())).collect()
}

/// The changed spec, and the changes as they were applied.
pub fn apply(spec: &Spec, changes: &Changes) -> (Spec, Changes) {
    let changes = resolved(changes);
    // Dimensions that others are computed from come first.
    let is_derived = |change: &Change| matches!(change, Change::Derived { .. });
    let (derived, roots): (Changes, Changes) =
        changes.into_iter().partition(|(_, change)| is_derived(change));
    let applied: Changes = roots.into_iter().chain(derived).collect();
    let changed = applied.iter().fold(spec.clone(), |spec, (name, change)| spec.with_change(name, change));
    (changed, applied)
}

/// The changes, those of derived dimensions being expressed by the new form of their roots.
fn resolved(changes: &Changes) -> Changes {
    let mut resolved = changes.clone();
    for _ in 0..changes.len() {
        let before = resolved.clone();
        for change in resolved.values_mut() {
            if let Change::Derived { root, factor, offset } = change
                && let Some(of_root) = before.get(root)
                && let Some(composed) = of_root.composed(root, *factor, *offset)
            {
                *change = composed;
            }
        }
        if resolved == before {
            break;
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::text::read;

    #[test]
    fn new_dimensions_have_new_names() {
        for (other, expected) in [("m", "_n"), ("_n", "_n_")] {
            let (mut pool, mut facts) = (Pool::new(), Facts::new());
            let mut dims = IndexMap::new();
            for name in ["n", other] {
                let e = pool.symbol(name);
                let symbol = pool.as_symbol(e).expect("a symbol");
                facts.declare(&mut pool, symbol, ValueRange::at_least(Int::ZERO));
                dims.insert(symbol, (name.to_owned(), Int::from(8)));
            }
            let even = read::closed(&mut pool, "Eq(Mod(n, 4), 0)").expect("a condition").expr;
            let found = propose(&mut pool, &facts, &dims, &[even]);
            let roots = found.iter().filter_map(|changes| match changes.get("n") {
                Some(Change::Linear { root, .. }) => Some(root.as_str()),
                _ => None,
            });
            assert_eq!(roots.collect::<Vec<_>>(), vec![expected; found.len()], "{other}");
        }
    }
}
