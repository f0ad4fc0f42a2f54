//! Normalizations.
use super::{Family, policy};
use crate::shape::call::{Attribute, Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::value::{Tensor, Value};
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    BatchNormalization::ALL,
    InstanceNormalization::ALL,
    GroupNormalization::ALL,
    LRN::ALL,
    LayerNormalization::ALL,
    LpNormalization::ALL,
    MeanVarianceNormalization::ALL,
];

pub(super) const KERNELS: Family = &free([
    op("BatchNormalization", batch).passes().infers(at_load::same),
    op("GroupNormalization", group).passes().infers(at_load::rank).runs_deprecated(),
    op("InstanceNormalization", instance).passes().infers(at_load::same),
    op("LRN", local_response).infers(at_load::same),
    op("LayerNormalization", layer).passes().infers(at_load::rank),
    op("LpNormalization", lp).infers(at_load::same),
    op("MeanVarianceNormalization", mean_variance),
    op("RMSNormalization", layer).passes().infers(at_load::rank),
    op("SimplifiedLayerNormalization", layer).infers(at_load::rank),
]);

/// Requires a vector of a length.
pub(super) fn vector(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    length: Expr,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let shape = call.shape(at)?.to_vec();
    call.check(shape.len() == 1, clause, || {
        format!("input {at} is to have 1 dimension, not {}", shape.len())
    })?;
    cx.require_eq(shape[0], length, clause, "the length of a vector and the channels")
}

clauses! { BatchNormalization {
    C1 "The input is not a scalar."
    C2 "`scale`, `B`, mean and variance have an element for each channel."
    C3 "Without `training_mode`, there is one output."
} }

fn batch(cx: &mut Cx, call: &Checked) -> Outcome {
    if call.int("spatial", 1) == 0 {
        let message = "BatchNormalization: statistics of each place have no shape function".to_owned();
        return Err(KernelError::Unsupported(message));
    }
    let sizes = call.shape(0)?.to_vec();
    let channels = match sizes.as_slice() {
        [] => return Err(KernelError::invalid(BatchNormalization::C1, "the input is a scalar")),
        [_] => Expr::ONE,
        [_, channels, ..] => *channels,
    };
    for at in 1..5 {
        vector(cx, call, at, channels, BatchNormalization::C2)?;
    }
    let training = call.int("training_mode", 0) != 0;
    if call.since() >= 14 {
        let extra = (1..call.output_count()).any(|at| call.wants(at));
        call.check(training || !extra, BatchNormalization::C3, || {
            "statistics are outputs when training only".to_owned()
        })?;
    }
    let dtype = call.given(0)?.dtype;
    let mut outputs: Vec<Value> = vec![Tensor::new(dtype, sizes).into()];
    for at in 1..5 {
        let dtype = call.output_type(at).unwrap_or(dtype);
        outputs.push(Tensor::new(dtype, vec![channels]).into());
    }
    Ok(outputs)
}

clauses! { InstanceNormalization {
    C1 "The input has at least 3 dimensions."
    C2 "`scale` and `B` have an element for each channel."
} }

fn instance(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(sizes.len() >= 3, InstanceNormalization::C1, || {
        format!("the input has rank {}", sizes.len())
    })?;
    for at in 1..3 {
        vector(cx, call, at, sizes[1], InstanceNormalization::C2)?;
    }
    call.one(sizes)
}

clauses! { GroupNormalization {
    C1 "The input has at least 2 dimensions."
    C2 "`scale` and `bias` have one element for each channel. In version 18, they have one for each group; \
        onnxruntime also takes a single element."
    C3 "`num_groups` is positive, and the number of channels is divisible by it."
    C4 "For onnxruntime, the input is not empty, and `stash_type` is a float type. The function body \
        reshapes the input to `[0, 0, -1]`."
} }

fn group(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(sizes.len() >= 2, GroupNormalization::C1, || format!("the input has rank {}", sizes.len()))?;
    let groups = call.int("num_groups", 0);
    call.check(groups > 0, GroupNormalization::C3, || format!("there are {groups} groups"))?;
    let groups = cx.int(groups);
    let remainder = cx.modulo(sizes[1], groups);
    cx.require_eq(remainder, Expr::ZERO, GroupNormalization::C3, "channels that are left over")?;
    policy::not_empty(cx, &sizes, GroupNormalization::C4)?;
    let is_computed = matches!(stash_type(call), Some(Dtype::F16 | Dtype::F32 | Dtype::F64));
    policy::onnxruntime_checks(cx, is_computed, GroupNormalization::C4, || {
        "onnxruntime computes no statistics of this type".to_owned()
    })?;
    let each = if call.since() < 21 { groups } else { sizes[1] };
    for at in 1..3 {
        if !cx.on_cpu() {
            vector(cx, call, at, each, GroupNormalization::C2)?;
            continue;
        }
        // The body reshapes what is given, which then broadcasts.
        let count = cx.product(call.shape(at)?.to_vec());
        let (one, all) = (cx.eq(count, 1), cx.eq(count, each));
        let fine = cx.any(&[one, all]);
        cx.require(fine, GroupNormalization::C2, |cx| format!("input {at} has {} elements", cx.show(count)))?;
    }
    call.one(sizes)
}

clauses! { LRN {
    C1 "`size` is odd and positive."
    C2 "The input has 4 dimensions."
    C3 "For onnxruntime, `alpha` and `beta` are positive."
} }

fn local_response(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let size = call.int("size", 0);
    call.check(size > 0 && size % 2 == 1, LRN::C1, || format!("the window is {size}, not odd and positive"))?;
    let positive = ["alpha", "beta"].iter().all(|name| call.float(name).is_none_or(|value| value > 0.0));
    policy::onnxruntime_checks(cx, positive, LRN::C3, || "alpha and beta are to be positive".to_owned())?;
    call.check(sizes.len() == 4, LRN::C2, || format!("the input has 4 dimensions, not {}", sizes.len()))?;
    call.one(sizes)
}

/// The type in which statistics are computed; `None` for a number that is no type.
fn stash_type(call: &Checked) -> Option<Dtype> {
    match call.attribute("stash_type") {
        Some(Attribute::Int(number)) => Dtype::from_number(*number),
        _ => Some(Dtype::F32),
    }
}

clauses! { LayerNormalization {
    C1 "`axis` is within the rank of the input."
    C2 "The scale and the bias broadcast to the input."
    C3 "For onnxruntime, the normalized dimensions are not empty."
    C4 "onnxruntime has kernels for statistics of 32-bit floats, and for a scale of the type of the input."
} }

/// The normalized input, and mean and inverse deviation with the normalized dimensions reduced to 1.
fn layer(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let at = call.axis(call.int("axis", -1), sizes.len(), LayerNormalization::C1)?;
    for input in 1..call.count() {
        if call.has(input) {
            cx.require_expandable(call.shape(input)?, &sizes, LayerNormalization::C2)?;
        }
    }
    policy::not_empty(cx, &sizes[at..], LayerNormalization::C3)?;
    // The body that stands for the kernel of mixed types is not loaded.
    let is_old = call.op() == "LayerNormalization" && call.call.version < 17;
    if is_old && call.given(0)?.dtype != call.given(1)?.dtype {
        call.misinferred(cx);
    }
    let statistics: Vec<Expr> =
        sizes.iter().enumerate().map(|(dim, &size)| if dim < at { size } else { Expr::ONE }).collect();
    let stash = stash_type(call);
    // The statistics are of this type.
    let is_kept = stash == Some(Dtype::F32) || !(call.wants(1) || call.wants(2));
    let is_of_two_types = call.op() == "RMSNormalization" && call.given(1)?.dtype != call.given(0)?.dtype;
    policy::onnxruntime_checks(cx, is_kept && !is_of_two_types, LayerNormalization::C4, || {
        "onnxruntime has no kernel of these types".to_owned()
    })?;
    let stash = stash.unwrap_or(Dtype::F32);
    let dtype = call.output_type(0).unwrap_or(call.given(0)?.dtype);
    let mut outputs: Vec<Value> = vec![Tensor::new(dtype, sizes).into()];
    for output in 1..3 {
        let dtype = call.output_type(output).unwrap_or(stash);
        outputs.push(Tensor::new(dtype, statistics.clone()).into());
    }
    Ok(outputs)
}

clauses! { LpNormalization {
    C1 "`axis` is within the rank of the input."
    C2 "`p` is 1 or 2."
} }

fn lp(_: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.axis(call.int("axis", -1), sizes.len(), LpNormalization::C1)?;
    let order = call.int("p", 2);
    call.check(matches!(order, 1 | 2), LpNormalization::C2, || format!("the order is {order}"))?;
    call.one(sizes)
}

clauses! { MeanVarianceNormalization {
    C1 "`axes` are within the rank of the input."
    C2 "For onnxruntime, at least one of `axes` is within the rank of the input. It ignores the others."
} }

fn mean_variance(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let axes = call.ints("axes").unwrap_or(&[0, 2, 3]);
    let rank = sizes.len() as i64;
    let is_within = |&axis: &i64| (-rank..rank).contains(&axis);
    policy::onnxruntime_checks(cx, axes.iter().any(is_within), MeanVarianceNormalization::C2, || {
        format!("none of the axes {axes:?} is within rank {rank}")
    })?;
    if !cx.on_cpu() {
        for &axis in axes {
            call.axis(axis, sizes.len(), MeanVarianceNormalization::C1)?;
        }
    }
    call.one(sizes)
}
