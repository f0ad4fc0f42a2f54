//! Reductions of segments, and sequences of different lengths packed together or padded.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    segment_reduce::ALL,
    segment_reduce_backward::ALL,
    pack_padded::ALL,
    pack_padded_backward::ALL,
    pad_packed::ALL,
    rowwise_prune::ALL,
    jagged::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    segment_reduce => "aten.segment_reduce.default";
    segment_reduce_backward => "aten._segment_reduce_backward.default";
    pack => "aten._pack_padded_sequence.default";
    pack_backward => "aten._pack_padded_sequence_backward.default";
    pad => "aten._pad_packed_sequence.default";
    rowwise_prune => "aten._rowwise_prune.default";
    jagged_to_padded => "aten._jagged_to_padded_dense_forward.default";
    padded_to_jagged => "aten._padded_dense_to_jagged_forward.default";
};

clauses! { segment_reduce {
    C1 "`axis` is in range, and `reduce` names one of 5 reductions. `data` has a floating point dtype."
    C2 "`lengths` or `offsets` are given, of `int32` or `int64`, and `axis` is their last dimension."
    C3 "Lengths that are checked are not empty, and there is at least one offset. torch does not check \
        whether segments exceed the rows of `data`."
} }

/// `segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int
/// axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor`: `[.., n, ..]` and lengths `[.., s]` give `[.., s, ..]`;
/// of offsets there is one more than segments.
fn segment_reduce(cx: &mut Cx, args: &Args) -> KernelResult {
    let data = args.tensor("data")?;
    cx.check(data.rank() > 0, segment_reduce::C1, |_| "the data has no dimension".into())?;
    let axis = cx.dim(args.int("axis")?, data.rank(), segment_reduce::C1)?;
    cx.require_kind(data, Domain::FLOAT.on_cpu(), segment_reduce::C1)?;
    let reduce = args.str("reduce")?;
    cx.check(
        matches!(reduce, "max" | "amax" | "mean" | "min" | "amin" | "sum" | "prod"),
        segment_reduce::C1,
        |_| format!("the reduction `{reduce}` is unknown"),
    )?;
    if args.opt_tensor("indices")?.is_some() {
        return Err(KernelError::Unsupported("segments by indices".into()));
    }
    let (lengths, offsets) = (args.opt_tensor("lengths")?, args.opt_tensor("offsets")?);
    let Some(segments) = lengths.or(offsets) else {
        return Err(KernelError::invalid(segment_reduce::C2, "there are neither lengths nor offsets"));
    };
    super::embedding::check_indices(cx, segments, segment_reduce::C2)?;
    cx.check(segments.rank() == axis + 1, segment_reduce::C2, |_| {
        format!("axis {axis} is not the last of {} dimensions of the segments", segments.rank())
    })?;
    let mut count = segments.sizes[axis];
    if lengths.is_some() {
        if !args.flag("unsafe")? {
            let numel = cx.numel(segments);
            let filled = cx.ne(numel, 0);
            cx.require(filled, segment_reduce::C3, |_| "there are no lengths to check".into())?;
        }
    } else {
        let some = cx.ge(count, 1);
        cx.require(some, segment_reduce::C3, |_| "there is no offset".into())?;
        count = cx.sub(count, 1);
    }
    let mut sizes = data.sizes.clone();
    sizes[axis] = count;
    one(cx.contiguous(sizes, data.dtype, &data.device))
}

clauses! { segment_reduce_backward {
    C1 "`axis` is a dimension of `data`."
    C2 "`grad`, `output` and `data` have the same floating point dtype."
} }

/// `_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, ...) -> Tensor`: shaped like the
/// data.
fn segment_reduce_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, output, data) = (args.tensor("grad")?, args.tensor("output")?, args.tensor("data")?);
    cx.check(data.rank() > 0, segment_reduce_backward::C1, |_| "the data has no dimension".into())?;
    cx.dim(args.int("axis")?, data.rank(), segment_reduce_backward::C1)?;
    cx.same_dtype(&[grad, output, data], segment_reduce_backward::C2)?;
    cx.require_kind(data, Domain::FLOAT.on_cpu(), segment_reduce_backward::C2)?;
    one(cx.contiguous(data.sizes.clone(), grad.dtype, &data.device))
}

/// A vector of `int64` on the CPU.
fn counts(cx: &mut Cx, t: &Tensor, clause: &'static OpClause) -> Result<(), KernelError> {
    cx.check(t.rank() == 1 && t.dtype == Dtype::Int64, clause, |_| {
        format!("a vector of int64 is expected, not {} in {} dimensions", t.dtype, t.rank())
    })
}

clauses! { pack_padded {
    C1 "`input` has at least 2 dimensions and is not empty."
    C2 "`lengths` has 1 dimension, is of `int64`, and has one element for each sequence."
} }

/// `_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)`: `[t, n, ..]` becomes
/// `[total, ..]` and the size of the batch at each step up to the longest length.
fn pack(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, lengths) = (args.tensor("input")?, args.tensor("lengths")?);
    cx.check(x.rank() >= 2, pack_padded::C1, |_| format!("{} dimensions are too few", x.rank()))?;
    counts(cx, lengths, pack_padded::C2)?;
    let (steps, batch) =
        if args.flag("batch_first")? { (x.size(1), x.size(0)) } else { (x.size(0), x.size(1)) };
    let numel = cx.numel(x);
    let filled = cx.ne(numel, 0);
    cx.require(filled, pack_padded::C1, |_| "an empty tensor is not packed".into())?;
    cx.require_eq(lengths.size(0), batch, pack_padded::C2, "there is not one length for each sequence")?;
    let all = cx.mul(steps, batch);
    let (total, longest) = (cx.unbacked_size(1, Some(all)), cx.unbacked_size(1, Some(steps)));
    let mut sizes: Sizes = x.sizes[1..].into();
    sizes[0] = total;
    let data = cx.contiguous(sizes, x.dtype, &x.device);
    let batches = cx.contiguous([longest].as_slice(), Dtype::Int64, &lengths.device);
    Ok([data, batches].into_iter().map(Value::from).collect())
}

clauses! { pack_padded_backward {
    C1 "`batch_sizes` has 1 dimension and is of `int64`."
    C2 "No entry of `input_size` is negative. With `batch_first`, it has at least 2 entries."
    C3 "The rows of `grad` broadcast to the rows of the input, if there are any batches."
} }

/// `_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor`: of
/// shape `input_size`.
fn pack_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, sizes) = (args.tensor("grad")?, args.ints("input_size")?);
    let (batches, batch_first) = (args.tensor("batch_sizes")?, args.flag("batch_first")?);
    counts(cx, batches, pack_padded_backward::C1)?;
    cx.check(!batch_first || sizes.len() >= 2, pack_padded_backward::C2, |_| {
        "the input had no batch".into()
    })?;
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, pack_padded_backward::C2, |cx| {
            format!("the size {} is negative", cx.show(size))
        })?;
    }
    let none = cx.eq(batches.size(0), 0);
    if !cx.branch_or(none, false, pack_padded_backward::C3) {
        cx.check(grad.rank() > 0 && sizes.len() >= 2, pack_padded_backward::C3, |_| {
            "gradient and input need dimensions".into()
        })?;
        cx.require_expandable(&grad.sizes[1..], &sizes[2..], pack_padded_backward::C3)?;
    }
    let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
    if batch_first {
        let outermost = sizes.len() - 1;
        order.swap(outermost, outermost - 1);
    }
    let strides = cx.strides_in_order(sizes, &order);
    one(cx.strided(sizes.into(), strides, grad.dtype, &grad.device))
}

clauses! { pad_packed {
    C1 "`batch_sizes` has 1 dimension, is of `int64`, and is not empty."
    C2 "`data` has at least 1 dimension."
    C3 "`total_length`, if positive, is at least the number of steps."
} }

/// `_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) ->
/// (Tensor, Tensor)`: `[total, ..]` becomes `[t, n, ..]`, with `batch_first` `[n, t, ..]`, and the lengths `[n]`, `n`
/// being the first size of a batch.
fn pad(cx: &mut Cx, args: &Args) -> KernelResult {
    let (data, batches, total) =
        (args.tensor("data")?, args.tensor("batch_sizes")?, args.int("total_length")?);
    counts(cx, batches, pad_packed::C1)?;
    let mut steps = batches.size(0);
    let some = cx.ge(steps, 1);
    cx.require(some, pad_packed::C1, |_| "there are no batches".into())?;
    cx.check(data.rank() > 0, pad_packed::C2, |_| "the data has no dimension".into())?;
    if cx.literal(total, pad_packed::C3)? > 0 {
        let enough = cx.ge(total, steps);
        cx.require(enough, pad_packed::C3, |cx| {
            format!("a total length of {} is below {} steps", cx.show(total), cx.show(steps))
        })?;
        steps = total;
    }
    let batch = cx.unbacked_size(0, Some(data.size(0)));
    let batch_first = args.flag("batch_first")?;
    let mut sizes = Sizes::from_slice(&if batch_first { [batch, steps] } else { [steps, batch] });
    sizes.extend_from_slice(&data.sizes[1..]);
    let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
    if batch_first {
        let outermost = sizes.len() - 1;
        order.swap(outermost, outermost - 1);
    }
    let strides = cx.strides_in_order(&sizes, &order);
    let padded = cx.strided(sizes, strides, data.dtype, &data.device);
    let lengths = cx.contiguous([batch].as_slice(), Dtype::Int64, &batches.device);
    Ok([padded, lengths].into_iter().map(Value::from).collect())
}

clauses! { rowwise_prune {
    C1 "`weight` has 2 dimensions."
    C2 "`mask` has one element for each row of `weight`."
    C3 "`compressed_indices_dtype` is `int32` or `int64`."
} }

/// `_rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor, Tensor)`: the rows that
/// the mask keeps, and for each row where it went.
fn rowwise_prune(cx: &mut Cx, args: &Args) -> KernelResult {
    let (weight, mask) = (args.tensor("weight")?, args.tensor("mask")?);
    cx.rank(weight, 2, rowwise_prune::C1, "the weight")?;
    let (numel, rows) = (cx.numel(mask), weight.size(0));
    cx.require_eq(numel, rows, rowwise_prune::C2, "the mask has not an element for each row")?;
    let index = args.opt_dtype("compressed_indices_dtype")?;
    let Some(index @ (Dtype::Int32 | Dtype::Int64)) = index else {
        return Err(KernelError::invalid(rowwise_prune::C3, "positions are to be int32 or int64"));
    };
    let kept = cx.unbacked_size(0, Some(rows));
    let pruned = cx.contiguous([kept, weight.size(1)].as_slice(), weight.dtype, &weight.device);
    let positions = cx.contiguous([rows].as_slice(), index, &weight.device);
    Ok([pruned, positions].into_iter().map(Value::from).collect())
}

/// The offsets of a single jagged dimension.
fn offsets(args: &Args) -> Result<Tensor, KernelError> {
    let offsets = args.tensors("offsets")?;
    match offsets.as_slice() {
        [one] if one.rank() > 0 => Ok((**one).clone()),
        other => Err(KernelError::invalid(
            jagged::C1,
            format!("one vector of offsets is expected, there are {} tensors", other.len()),
        )),
    }
}

clauses! { jagged {
    C1 "There is exactly one tensor of offsets, with at least 1 dimension. For a padded result it is not \
        empty, and there is one maximum length that is not negative."
    C2 "`values` has at least 1 dimension, `dense` at least 2."
    C3 "`total_L` is not negative."
    C4 "There is at most one more offset than `dense` has rows."
} }

/// `_jagged_to_padded_dense_forward(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float padding_value=0.0) ->
/// Tensor`: `[total, ..]` becomes `[n, max_length, ..]`, `n` being one less than the offsets.
fn jagged_to_padded(cx: &mut Cx, args: &Args) -> KernelResult {
    let (values, lengths) = (args.tensor("values")?, args.ints("max_lengths")?);
    let offsets = offsets(args)?;
    let [length] = lengths else {
        return Err(KernelError::invalid(
            jagged::C1,
            format!("one length is expected, not {}", lengths.len()),
        ));
    };
    let (some, natural) = (cx.ge(offsets.size(0), 1), cx.ge(*length, 0));
    let sound = cx.all(&[some, natural]);
    cx.require(sound, jagged::C1, |_| "there are no offsets, or the length is negative".into())?;
    cx.check(values.rank() > 0, jagged::C2, |_| "the values have no dimension".into())?;
    let mut sizes: Sizes = values.sizes.clone();
    sizes[0] = *length;
    let count = cx.sub(offsets.size(0), 1);
    sizes.insert(0, count);
    one(cx.contiguous(sizes, values.dtype, &values.device))
}

/// `_padded_dense_to_jagged_forward(Tensor dense, Tensor[] offsets, SymInt? total_L=None) -> Tensor`: `[n, length, ..]`
/// becomes `[total, ..]`.
///
/// There is one vector of offsets. The operand has at least 2 dimensions.
fn padded_to_jagged(cx: &mut Cx, args: &Args) -> KernelResult {
    let dense = args.tensor("dense")?;
    let offsets = offsets(args)?;
    cx.check(dense.rank() >= 2, jagged::C2, |_| format!("{} dimensions are too few", dense.rank()))?;
    let rows = cx.add(dense.size(0), 1);
    let enough = cx.le(offsets.size(0), rows);
    cx.require(enough, jagged::C4, |cx| {
        let (starts, rows) = (cx.show(offsets.size(0)), cx.show(dense.size(0)));
        format!("{starts} offsets are more than one beyond {rows} rows")
    })?;
    let total = match args.opt_int("total_L")? {
        Some(total) => total,
        None => cx.unbacked_size(0, None),
    };
    let natural = cx.ge(total, 0);
    cx.require(natural, jagged::C3, |cx| format!("a total of {} is negative", cx.show(total)))?;
    let mut sizes: Sizes = dense.sizes[1..].into();
    sizes[0] = total;
    one(cx.contiguous(sizes, dense.dtype, &dense.device))
}
