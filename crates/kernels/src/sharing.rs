//! Whether what a call gives shares memory with what it was given: `Tensor(a)` in a schema says that it may.
use crate::Tensor;
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_ir::schema::Schema;
use sizewise_ir::{Argument, Node};

/// The size that an expression has at the example.
pub fn example(env: &mut ShapeEnv, e: Expr) -> Option<i64> {
    match env.pool.as_int(e) {
        Some(value) => value.to_i64(),
        None => env.hint_int(e).and_then(|value| value.to_i64()),
    }
}

/// Whether the elements lie in memory in their order, at the example.
pub fn in_order(env: &mut ShapeEnv, tensor: &Tensor) -> bool {
    let mut expected = Some(1_i64);
    for (size, stride) in tensor.sizes.iter().zip(&tensor.strides).rev() {
        let (size, stride) = (example(env, *size), example(env, *stride));
        if size == Some(1) {
            continue;
        }
        if stride.is_none() || stride != expected {
            return false;
        }
        expected = expected.and_then(|expected| expected.checked_mul(size?.max(1)));
    }
    true
}

/// What a result shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// The memory, with the same elements at the same places.
    All,
    /// The memory, seen in another way.
    Seen,
    /// Nothing: it is a copy.
    Nothing,
}

/// Operators that copy where the result cannot be a view.
const RESHAPING: &[&str] = &["reshape", "reshape_as", "flatten", "ravel"];
/// Operators that give what they are given, or a copy of another dtype, device or order in memory.
const CONVERTING: &[&str] = &[
    "to",
    "contiguous",
    "type_as",
    "_autocast_to_full_precision",
    "_autocast_to_reduced_precision",
    "pin_memory",
    "resolve_conj",
    "resolve_neg",
    "coalesce",
];

/// Operators that give their input itself in evaluation.
const TRAINING_ONLY: &[&str] = &["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"];
/// Operators whose results may be views of their first argument although their schemas do not say so.
const VIEWING_UNSAID: &[&str] = &[
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_tensors",
    "meshgrid",
    "type_as",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
];

/// Whether a call gives its input itself, without its schema saying so.
pub fn is_input_itself(node: &Node, schema: &Schema) -> bool {
    TRAINING_ONLY.contains(&&*schema.name) && !matches!(node.argument("train"), Some(Argument::Bool(true)))
}

/// Whether results may be views of the first argument, without the schema saying so.
pub fn may_view_unsaid(schema: &Schema) -> bool {
    schema.namespace == "aten" && VIEWING_UNSAID.contains(&&*schema.name)
}

/// What a result of a call that may view shares with the tensor that it views.
pub fn of(node: &Node, before: &Tensor, after: &Tensor, env: &mut ShapeEnv) -> Shares {
    let name = node.target.op().map_or("", |(_, op, _)| op);
    let copies = matches!(node.argument("copy"), Some(Argument::Bool(true)));
    let same = same(before, after);
    if CONVERTING.contains(&name) {
        let stays = !copies && (same || lies_alike(before, after, env));
        return if stays { Shares::All } else { Shares::Nothing };
    }
    if RESHAPING.contains(&name) && !same {
        return if reshape_views(before, after, env) { Shares::Seen } else { Shares::Nothing };
    }
    // Only these are known to leave every element where it is: sizes and strides may agree by chance elsewhere.
    let stays =
        matches!(name, "alias" | "detach" | "lift_fresh" | "positive" | "view" | "view_as" | "_unsafe_view");
    let stays =
        stays || RESHAPING.contains(&name) || matches!(name, "conj" | "real" | "expand" | "expand_as");
    if same && stays { Shares::All } else { Shares::Seen }
}

fn is_alike_in_kind(before: &Tensor, after: &Tensor) -> bool {
    before.dtype == after.dtype
        && before.device == after.device
        && before.layout == after.layout
        && before.sizes == after.sizes
}

fn same(before: &Tensor, after: &Tensor) -> bool {
    is_alike_in_kind(before, after) && before.strides == after.strides && before.offset == after.offset
}

/// Whether two tensors lie alike in memory at the example, though their strides are written in two ways.
pub fn lies_alike(before: &Tensor, after: &Tensor, env: &mut ShapeEnv) -> bool {
    let strides = before.strides.iter().zip(&after.strides).zip(&before.sizes);
    is_alike_in_kind(before, after)
        && strides.into_iter().all(|((&a, &b), &size)| {
            example(env, size) == Some(1) || example(env, a).is_some_and(|a| Some(a) == example(env, b))
        })
        && example(env, before.offset) == example(env, after.offset)
}

/// Whether a tensor can be seen under other sizes without a copy, at the example.
///
/// Source: PyTorch, `aten/src/ATen/TensorUtils.cpp` (`computeStride`).
fn reshape_views(before: &Tensor, after: &Tensor, env: &mut ShapeEnv) -> bool {
    if in_order(env, before) {
        return true;
    }
    let mut list =
        |sizes: &[Expr]| -> Option<Vec<i64>> { sizes.iter().map(|&size| example(env, size)).collect() };
    let (Some(sizes), Some(strides), Some(wanted)) =
        (list(&before.sizes), list(&before.strides), list(&after.sizes))
    else {
        // Sizes that only data decides: the strides say whether the result begins where the operand does, in its order.
        let pool = &env.pool;
        return after.strides.iter().zip(&before.strides).any(|(a, b)| !pool.is_constant(*a) && a == b);
    };
    splits(&sizes, &strides, &wanted)
}

/// Whether runs of dimensions that lie one behind the other hold whole numbers of the wanted ones.
fn splits(sizes: &[i64], strides: &[i64], wanted: &[i64]) -> bool {
    if sizes.contains(&0) || sizes.is_empty() {
        return true;
    }
    let mut view = wanted.iter().rev().copied().peekable();
    let mut run = 1_i64;
    let mut base = strides.last().copied().unwrap_or(1);
    for at in (0..sizes.len()).rev() {
        run = run.saturating_mul(sizes[at]);
        let breaks = at == 0 || (sizes[at - 1] != 1 && strides[at - 1] != run.saturating_mul(base));
        if !breaks {
            continue;
        }
        let mut filled = 1_i64;
        while let Some(&size) = view.peek() {
            if filled >= run && size != 1 {
                break;
            }
            filled = filled.saturating_mul(size);
            view.next();
        }
        if filled != run {
            return false;
        }
        if at > 0 {
            base = strides[at - 1];
            run = 1;
        }
    }
    view.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::splits;

    #[test]
    fn runs_of_dimensions_may_be_seen_under_other_sizes() {
        for (sizes, strides, wanted, views) in [
            (vec![4, 6], vec![6, 1], vec![24], true),
            (vec![4, 6], vec![6, 1], vec![2, 2, 3, 2], true),
            (vec![6, 4], vec![1, 6], vec![24], false),
            (vec![6, 4], vec![1, 6], vec![2, 3, 4], true),
            (vec![6, 4], vec![1, 6], vec![3, 8], false),
            (vec![2, 3, 4], vec![24, 8, 2], vec![6, 4], true),
            (vec![2, 3, 4], vec![24, 4, 1], vec![6, 4], false),
            (vec![2, 3, 4], vec![24, 4, 1], vec![2, 12], true),
            (vec![1, 4], vec![9, 1], vec![4, 1], true),
            (vec![0, 4], vec![1, 9], vec![0], true),
        ] {
            assert_eq!(splits(&sizes, &strides, &wanted), views, "{sizes:?} {strides:?} {wanted:?}");
        }
    }
}
