//! Reductions, running sums, softmax.
use super::call::{Checked, Outcome, open};
use super::numbers;
use super::value::{Element, Elements, Tensor};
use super::{Dtype, Family};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

pub(super) const KERNELS: Family = &[
    ("ArgMax", arg_reduce),
    ("ArgMin", arg_reduce),
    ("CumProd", cumulative),
    ("CumSum", cumulative),
    ("Hardmax", softmax),
    ("LogSoftmax", softmax),
    ("ReduceL1", reduce),
    ("ReduceL2", reduce),
    ("ReduceLogSum", reduce),
    ("ReduceLogSumExp", reduce),
    ("ReduceMax", reduce),
    ("ReduceMean", reduce),
    ("ReduceMin", reduce),
    ("ReduceProd", reduce),
    ("ReduceSum", reduce),
    ("ReduceSumSquare", reduce),
    ("Softmax", softmax),
];

/// A shape with the flagged dimensions reduced to 1, or dropped.
pub(super) fn reduced(sizes: &[Expr], flags: &[bool], keep: bool) -> Vec<Expr> {
    let kept = sizes.iter().zip(flags).filter(|(_, reduced)| keep || !**reduced);
    kept.map(|(&size, &reduced)| if reduced { Expr::ONE } else { size }).collect()
}

/// Whether a shape is known to have no elements.
fn is_empty(sizes: &[Expr]) -> bool {
    sizes.contains(&Expr::ZERO)
}

/// Which axes are reduced. (C1) They are within the rank.
///
/// onnxruntime does not look at the axes of a scalar, and takes those of an empty tensor as they are: negative ones, and
/// up to version 10 those beyond the rank, stand for none.
fn flags(call: &Checked, sizes: &[Expr], axes: &[i64]) -> Result<Vec<bool>, KernelError> {
    let rank = sizes.len();
    let mut flags = vec![false; rank];
    let late =
        call.since() >= 11 && call.ints("axes").is_some() || call.attribute("axis").is_some() && rank == 0;
    if rank == 0 && !late {
        return Ok(flags);
    }
    for &axis in axes {
        if is_empty(sizes)
            && !(0..rank as i64).contains(&axis)
            && (call.since() < 11 || axis >= -(rank as i64))
            && axis < 0
            || is_empty(sizes) && call.since() < 11 && axis >= rank as i64
        {
            continue;
        }
        flags[call.axis(axis, rank, "Reduce.C1")?] = true;
    }
    Ok(flags)
}

/// A reduction over axes, all where none are given (unless `noop_with_empty_axes`).
///
/// (C1) Axes are within the rank, in a list of one dimension.
fn reduce(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let keep = call.int("keepdims", 1) == 1;
    if let Some(axes) = call.tensor(1) {
        let rank = axes.shape.as_ref().map_or(1, Vec::len);
        call.check(rank == 1, "Reduce.C1", || format!("axes are to have 1 dimension, not {rank}"))?;
        if axes.ints().is_none() && keep {
            return any_axes(cx, call, &sizes);
        }
    }
    let axes = call.list(cx, "axes", 1, "Reduce.C1")?.unwrap_or_default();
    if axes.is_empty() && call.int("noop_with_empty_axes", 0) == 1 {
        let mut result = call.output(0, sizes)?;
        if matches!(call.op(), "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceMean" | "ReduceProd") {
            result.elements = call.given(0)?.elements.clone();
        }
        return Ok(vec![result.into()]);
    }
    let flags = if axes.is_empty() { vec![true; sizes.len()] } else { flags(call, &sizes, &axes)? };
    let mut result = call.output(0, reduced(&sizes, &flags, keep))?;
    result.elements = total(cx, call, &result);
    Ok(vec![result.into()])
}

/// (C2) of [`arg_reduce`]: what is reduced is not empty where there are results.
fn some_to_reduce(
    cx: &mut Cx,
    call: &Checked,
    sizes: &[Expr],
    flags: &[bool],
    results: &[Expr],
) -> Result<(), KernelError> {
    let mut conditions: Vec<Expr> = Vec::new();
    for (&size, &flag) in sizes.iter().zip(flags) {
        if flag {
            conditions.push(cx.ne(size, 0));
        }
    }
    let filled = cx.all(&conditions);
    let count = cx.product(results.to_vec());
    let nothing = cx.eq(count, 0);
    let fine = cx.any(&[filled, nothing]);
    let op = call.op().to_owned();
    cx.require(fine, "ArgReduce.C2", |_| format!("{op} of no elements"))
}

/// Axes that only data decide: each size stays or becomes 1.
fn any_axes(cx: &mut Cx, call: &Checked, sizes: &[Expr]) -> Outcome {
    let shape = sizes.iter().map(|&size| {
        let least = cx.min(size, 1).as_inline().unwrap_or(0);
        let most = cx.at_least_one(size);
        cx.unbacked_size(least, Some(most))
    });
    let shape = shape.collect();
    call.one(shape)
}

/// The elements of the reduction of a list to one number.
fn total(cx: &mut Cx, call: &Checked, result: &Tensor) -> Option<Elements> {
    let op = match call.op() {
        "ReduceSum" => "Add",
        "ReduceProd" => "Mul",
        "ReduceMax" => "Max",
        "ReduceMin" => "Min",
        _ => return None,
    };
    let x = call.tensor(0)?;
    if result.count() != Some(1) {
        return None;
    }
    let list = x.list()?;
    let mut rest = list.iter();
    let first = match rest.next() {
        Some(first) => first.clone(),
        None if result.dtype.is_integer() => Element::Int(if op == "Add" { Expr::ZERO } else { Expr::ONE }),
        None => return None,
    };
    let sum = rest.fold(first, |so_far, next| numbers::binary(cx, op, &so_far, next, result.dtype, false));
    Some(Elements::List([sum].into()))
}

/// The index of an extreme along an axis. (C1) The axis is within the rank. (C2) The dimension is not empty.
fn arg_reduce(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let flags = flags(call, &sizes, &[call.int("axis", 0)])?;
    let results = reduced(&sizes, &flags, false);
    some_to_reduce(cx, call, &sizes, &flags, &results)?;
    call.one(reduced(&sizes, &flags, call.int("keepdims", 1) == 1))
}

/// A running sum along an axis. (C1) The axis is one number, (C2) within the rank. (C3) Flags are 0 or 1.
fn cumulative(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let axis = call.given(1)?;
    let rank = call.shape(1)?.len();
    call.check(rank <= 1, "CumSum.C1", || format!("the axis is a scalar, not of rank {rank}"))?;
    let count = cx.product(call.shape(1)?.to_vec());
    cx.require_eq(count, Expr::ONE, "CumSum.C1", "the number of axes")?;
    call.check(!sizes.is_empty(), "CumSum.C2", || "a scalar has no axis".to_owned())?;
    for flag in ["exclusive", "reverse"] {
        let value = call.int(flag, 0);
        call.check(matches!(value, 0 | 1), "CumSum.C3", || format!("{flag} is to be 0 or 1, not {value}"))?;
    }
    match axis.single().and_then(|axis| axis.int()) {
        Some(axis) => {
            let axis = cx.literal(axis, "CumSum.C2")?;
            call.axis(axis, sizes.len(), "CumSum.C2")?;
        }
        None => return Err(open(call.op(), "the axis")),
    }
    call.one(sizes)
}

/// (C1) The axis is within the rank. Before version 13 onnxruntime does not look at it where there is nothing to compute.
fn softmax(_: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let default = if call.since() < 13 { 1 } else { -1 };
    if call.since() >= 13 || !is_empty(&sizes) {
        call.axis(call.int("axis", default), sizes.len(), "Softmax.C1")?;
    }
    let mut result = call.output(0, sizes)?;
    result.dtype = call.given(0).map_or(Dtype::F32, |x| x.dtype);
    Ok(vec![result.into()])
}
