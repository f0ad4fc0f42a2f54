//! Bags of embeddings: rows looked up by index and reduced bag by bag, and the gradients of that.
use super::embedding::{ROWS, check_indices};
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Lookup, Sizes, Tensor, promote};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    embedding_bag::ALL,
    embedding_bag_backward::ALL,
    embedding_bag_weights::ALL,
    embedding_dense_backward::ALL,
    embedding_renorm::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| embedding_bag(cx, args, true) => "aten.embedding_bag.default", "aten.embedding_bag.padding_idx",
        "aten._embedding_bag_forward_only.default";
    |cx, args| embedding_bag(cx, args, false) => "aten._embedding_bag.default";
    |cx, args| backward(cx, args, args.flag("sparse")?) => "aten._embedding_bag_backward.default";
    |cx, args| backward(cx, args, false) => "aten._embedding_bag_dense_backward.default";
    weights_backward => "aten._embedding_bag_per_sample_weights_backward.default";
    dense_backward => "aten.embedding_dense_backward.default";
    |cx, args| if args.flag("sparse")? {
        Err(KernelError::Unsupported("a sparse gradient of an embedding".into()))
    } else {
        dense_backward(cx, args)
    } => "aten.embedding_backward.default";
    renorm => "aten.embedding_renorm.default";
};

/// How the rows of a bag become one, by the operator's number for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sum,
    Mean,
    Max,
    /// A number that stands for nothing; only the values of the offsets tell whether torch comes to look at it.
    Other,
}

fn mode(cx: &mut Cx, args: &Args) -> Result<Mode, KernelError> {
    Ok(match cx.literal(args.int("mode")?, embedding_bag::mode)? {
        0 => Mode::Sum,
        1 => Mode::Mean,
        2 => Mode::Max,
        _ => Mode::Other,
    })
}

clauses! { embedding_bag {
    C1 "`weight` has 2 dimensions and a floating point dtype, `indices` 1 or 2 dimensions, and `offsets` 1."
    C2 "`indices` and `offsets` are of `int32` or `int64`."
    C3 "With `include_last_offset`, there is at least one offset."
    C4 "`per_sample_weights` has 1 dimension, with an element for each index. It goes with `mode` 0 (sum) \
        only."
    C5 "`padding_idx` is the index of a row of `weight`."
    C6 "Indices that are computed from sizes are rows of `weight`, unless there are no bags."
    mode "`mode` is a known number."
} }

/// `embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool
/// sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx) -> (Tensor, Tensor,
/// Tensor, Tensor)`: `[n, d]` with indices `[i, ..]` and offsets `[b]` gives bags `[b, d]`, the bag of each index `[i]`
/// (`[0]` where nothing needs it), the sizes of bags `[b]`, and `[b, d]` positions of maxima, `[b]` in the other modes.
/// With `include_last_offset` there is one bag less than offsets.
fn embedding_bag(cx: &mut Cx, args: &Args, forward_only: bool) -> KernelResult {
    let (weight, indices, offsets) =
        (args.tensor("weight")?, args.tensor("indices")?, args.tensor("offsets")?);
    cx.rank(weight, 2, embedding_bag::C1, "the weight")?;
    cx.require_kind(weight, Domain::FLOAT.by_definition(), embedding_bag::C1)?;
    cx.check(matches!(indices.rank(), 1 | 2), embedding_bag::C1, |_| {
        format!("indices are to have 1 or 2 dimensions, not {}", indices.rank())
    })?;
    cx.rank(offsets, 1, embedding_bag::C1, "offsets")?;
    check_indices(cx, indices, embedding_bag::C2)?;
    check_indices(cx, offsets, embedding_bag::C2)?;
    let index = promote::promote(indices.dtype, offsets.dtype).unwrap_or(Dtype::Int64);
    let mode = mode(cx, args)?;
    let listed = offsets.size(0);
    let mut bags = listed;
    let drops_last = args.flag("include_last_offset")?;
    in_rows(cx, weight.size(0), indices, offsets, drops_last)?;
    if drops_last {
        let some = cx.ge(listed, 1);
        cx.require(some, embedding_bag::C3, |_| "without any offset the last one cannot be left out".into())?;
        bags = cx.sub(listed, 1);
    }
    let scale = args.opt_tensor("per_sample_weights")?;
    if let Some(scale) = scale {
        sample_weights(cx, scale, indices, mode)?;
    }
    let padded = padding(cx, args, weight.size(0))?;
    let fast = mode != Mode::Mean
        && mode != Mode::Max
        && !padded
        && weight.dtype != Dtype::Float64
        && weight.strides[1] == Expr::ONE
        && scale.is_none_or(|scale| scale.strides[0] == Expr::ONE);
    let origins = if fast { Expr::ZERO } else { indices.size(0) };
    // Without gradients, sums do not take the trouble to drop the last offset.
    let counted = match mode {
        Mode::Sum | Mode::Other if forward_only => listed,
        _ => bags,
    };
    let columns = weight.size(1);
    let maxima: &[Expr] = match mode {
        Mode::Max => &[bags, columns],
        Mode::Other => &[bags],
        Mode::Sum | Mode::Mean => &[counted],
    };
    let device = &weight.device;
    let results = [
        cx.contiguous([bags, columns].as_slice(), weight.dtype, device),
        cx.contiguous([origins].as_slice(), index, device),
        cx.contiguous([counted].as_slice(), index, device),
        cx.contiguous(maxima, index, device),
    ];
    Ok(results.into_iter().map(Into::into).collect())
}

fn in_rows(
    cx: &mut Cx,
    rows: Expr,
    indices: &Tensor,
    offsets: &Tensor,
    drops_last: bool,
) -> Result<(), KernelError> {
    if drops_last {
        // Those behind the last offset are not looked up.
        cx.env.leave_indices_unchecked();
        return Ok(());
    }
    let sizes: Sizes = indices.sizes.iter().chain(&offsets.sizes).copied().collect();
    let nothing = cx.without_elements(&sizes);
    cx.require_span(
        indices.span.as_ref(),
        &Lookup { size: rows, from_end: false, nothing: &nothing, what: ROWS },
        embedding_bag::C6,
    )
}

fn sample_weights(cx: &mut Cx, scale: &Tensor, indices: &Tensor, mode: Mode) -> Result<(), KernelError> {
    cx.check(mode == Mode::Sum, embedding_bag::C4, |_| {
        "weights of samples are for mode 0 (sum) only".into()
    })?;
    cx.rank(scale, 1, embedding_bag::C4, "the weights of samples")?;
    let count = cx.numel(indices);
    cx.require_eq(scale.size(0), count, embedding_bag::C4, "there is to be one weight for each index")
}

fn padding(cx: &mut Cx, args: &Args, rows: Expr) -> Result<bool, KernelError> {
    if !args.has("padding_idx") {
        return Ok(false);
    }
    let Some(index) = args.opt_int("padding_idx")? else { return Ok(false) };
    if &*args.schema.overload == "padding_idx" {
        let (last, least) = (cx.lt(index, rows), cx.sub(0, rows));
        let first = cx.ge(index, least);
        let within = cx.all(&[first, last]);
        cx.require(within, embedding_bag::C5, |cx| {
            format!("the padding index {} is none of {} rows", cx.show(index), cx.show(rows))
        })?;
        return Ok(true);
    }
    Ok(cx.literal(index, embedding_bag::C5)? >= 0)
}

clauses! { embedding_bag_backward {
    C1 "`grad` has 2 dimensions and a floating point dtype."
    C2 "`num_weights` is not negative."
    C3 "`indices`, `offsets`, `offset2bag` and `bag_size` are of `int32` or `int64`."
    C4 "`mode` is 0, 1 or 2, and 0 (sum) with `per_sample_weights`."
} }

/// `_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor
/// maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int
/// padding_idx=-1) -> Tensor` and `_embedding_bag_backward`: `[b, d]` becomes `[num_weights, d]`.
fn backward(cx: &mut Cx, args: &Args, sparse: bool) -> KernelResult {
    if sparse {
        return Err(KernelError::Unsupported("a sparse gradient of a bag of embeddings".into()));
    }
    let (grad, rows) = (args.tensor("grad")?, args.int("num_weights")?);
    cx.rank(grad, 2, embedding_bag_backward::C1, "the gradient")?;
    cx.require_kind(grad, Domain::FLOAT.by_definition(), embedding_bag_backward::C1)?;
    natural_rows(cx, rows, embedding_bag_backward::C2)?;
    for name in ["indices", "offsets", "offset2bag", "bag_size"] {
        if args.has(name) {
            check_indices(cx, args.tensor(name)?, embedding_bag_backward::C3)?;
        }
    }
    let (mode, weighted) = (mode(cx, args)?, args.opt_tensor("per_sample_weights")?.is_some());
    cx.check(mode != Mode::Other && (mode == Mode::Sum || !weighted), embedding_bag_backward::C4, |_| {
        "the mode is to be 0, 1 or 2, and 0 if samples have weights".into()
    })?;
    one(cx.contiguous([rows, grad.size(1)].as_slice(), grad.dtype, &grad.device))
}

fn natural_rows(cx: &mut Cx, rows: Expr, clause: &'static OpClause) -> Result<(), KernelError> {
    let natural = cx.ge(rows, 0);
    cx.require(natural, clause, |cx| format!("the number of rows {} is negative", cx.show(rows)))
}

clauses! { embedding_bag_weights {
    C1 "`grad` and `weight` have 2 dimensions, the same number of columns and floating point dtype. \
        `indices` has 1 dimension."
    C2 "`indices`, `offsets` and `offset2bag` are of `int32` or `int64`."
    C3 "`mode` is 0 (sum)."
} }

/// `_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor
/// offset2bag, int mode, int padding_idx=-1) -> Tensor`: one element for each index.
fn weights_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, weight, indices) = (args.tensor("grad")?, args.tensor("weight")?, args.tensor("indices")?);
    cx.rank(grad, 2, embedding_bag_weights::C1, "the gradient")?;
    cx.rank(weight, 2, embedding_bag_weights::C1, "the weight")?;
    cx.rank(indices, 1, embedding_bag_weights::C1, "indices")?;
    cx.require_eq(grad.size(1), weight.size(1), embedding_bag_weights::C1, "the columns differ")?;
    cx.same_dtype(&[grad, weight], embedding_bag_weights::C1)?;
    cx.require_kind(grad, Domain::FLOAT.on_cpu(), embedding_bag_weights::C1)?;
    for name in ["indices", "offsets", "offset2bag"] {
        check_indices(cx, args.tensor(name)?, embedding_bag_weights::C2)?;
    }
    let mode = mode(cx, args)?;
    cx.check(mode == Mode::Sum, embedding_bag_weights::C3, |_| {
        "weights of samples are for mode 0 (sum) only".into()
    })?;
    one(cx.contiguous([indices.size(0)].as_slice(), grad.dtype, &grad.device))
}

clauses! { embedding_dense_backward {
    C1 "The gradient has at least 1 dimension."
    C2 "`indices` is of `int32` or `int64`."
    C3 "The gradient has a row for each index."
    C4 "`num_weights` is not negative."
} }

/// `embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool
/// scale_grad_by_freq) -> Tensor`: `[.., d]` becomes `[num_weights, d]`.
fn dense_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, indices, rows) = (args.tensor_at(0)?, args.tensor("indices")?, args.int("num_weights")?);
    cx.check(grad.rank() > 0, embedding_dense_backward::C1, |_| "the gradient has no dimension".into())?;
    check_indices(cx, indices, embedding_dense_backward::C2)?;
    let (held, looked_up) = (cx.numel(grad), cx.numel(indices));
    let needed = cx.mul(looked_up, grad.size(-1));
    cx.require_eq(held, needed, embedding_dense_backward::C3, "the gradient is not one row for each index")?;
    natural_rows(cx, rows, embedding_dense_backward::C4)?;
    one(cx.contiguous([rows, grad.size(-1)].as_slice(), grad.dtype, &grad.device))
}

clauses! { embedding_renorm {
    C1 "`self` has 2 dimensions."
    C2 "`indices` is of `int32` or `int64`."
    C3 "`self` has rows and a floating point or complex dtype, if there are indices."
    C4 "Indices that are computed from sizes are rows of `self`. Negative ones count from the end."
} }

/// `embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor`: shaped like `self`.
fn renorm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, indices) = (args.tensor("self")?, args.tensor("indices")?);
    cx.rank(x, 2, embedding_renorm::C1, "the operand")?;
    check_indices(cx, indices, embedding_renorm::C2)?;
    let looked_up = cx.numel(indices);
    let (nothing, rows) = (cx.eq(looked_up, 0), cx.gt(x.size(0), 0));
    let possible = cx.any(&[nothing, rows]);
    cx.require(possible, embedding_renorm::C3, |_| "indices into an empty table".into())?;
    cx.require_indices(indices, x.size(0), true, ROWS, embedding_renorm::C4)?;
    if !Domain::FLOAT_COMPLEX.contains(x.dtype) {
        cx.require(nothing, embedding_renorm::C3, |_| format!("rows of {} have no norm", x.dtype))?;
    }
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}
