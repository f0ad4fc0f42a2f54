//! Reductions, running sums, softmax.
use super::{Family, numbers};
use crate::shape::call::{Call, Checked, Outcome, open};
use crate::shape::elements::{Grid, indices};
use crate::shape::op::{Op, Reads, free, op};
use crate::shape::run_time::{Rule, values};
use crate::shape::spans::integer;
use crate::shape::value::{Element, Elements, Origin, Tensor};
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, Reach, Span};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Reduce::ALL, CumSum::ALL, Softmax::ALL];

pub(super) const KERNELS: Family = &free([
    op("ArgMax", arg_reduce).infers(at_load::rank).span(place_span),
    op("ArgMin", arg_reduce).infers(at_load::rank).span(place_span),
    op("CumProd", cumulative).infers(at_load::rank),
    op("CumSum", cumulative).reads(Reads::Behind(1)).infers(at_load::same),
    op("Hardmax", softmax).infers(at_load::same),
    op("LogSoftmax", softmax).passes().infers(at_load::same),
    reduction("ReduceL1"),
    reduction("ReduceL2"),
    reduction("ReduceLogSum"),
    reduction("ReduceLogSumExp"),
    reduction("ReduceMax"),
    reduction("ReduceMean"),
    reduction("ReduceMin"),
    reduction("ReduceProd"),
    reduction("ReduceSum"),
    reduction("ReduceSumSquare"),
    op("Softmax", softmax).passes().infers(at_load::same),
]);

/// A shape with the flagged dimensions reduced to 1, or dropped.
pub(super) fn reduced(sizes: &[Expr], flags: &[bool], keep: bool) -> Vec<Expr> {
    let kept = sizes.iter().zip(flags).filter(|(_, reduced)| keep || !**reduced);
    kept.map(|(&size, &reduced)| if reduced { Expr::ONE } else { size }).collect()
}

const AXES: &[Rule] = &[values(1, Reduce::C1, "every axis in {} is within the rank")];

const fn reduction(name: &'static str) -> Op {
    op(name, reduce).reads(Reads::Behind(1)).infers(at_load::read).at_run(AXES)
}

/// Whether a shape is known to have no elements.
fn is_empty(sizes: &[Expr]) -> bool {
    sizes.contains(&Expr::ZERO)
}

/// Which axes are reduced.
///
/// A model with wrong axes does not load where attributes of version 11 or later or constants say them and the rank is
/// known. What onnxruntime computes with otherwise: axes of a scalar do not matter; of an empty tensor they are taken as
/// they are, so that negative ones, and those beyond the rank, stand for none.
fn flags(call: &Checked, sizes: &[Expr], axes: &[i64]) -> Result<Vec<bool>, KernelError> {
    let rank = sizes.len();
    let mut flags = vec![false; rank];
    let constant = match call.op() {
        // Nothing looks at their attributes when a model is loaded, but for those of a scalar.
        "ReduceMax" | "ReduceMin" if rank > 0 && call.ints("axes").is_some() => false,
        _ => call.tensor(1).is_none_or(|axes| axes.origin == Origin::Constant),
    };
    let loaded = call.since() >= 11 && constant;
    if rank == 0 && !loaded {
        return Ok(flags);
    }
    if rank == 0 && !axes.is_empty() && !call.infers_rank(0)? {
        return Ok(flags);
    }
    for &axis in axes {
        let inside = (-(rank as i64)..rank as i64).contains(&axis);
        if is_empty(sizes) && if inside { axis < 0 } else { !loaded || !call.infers_rank(0)? } {
            continue;
        }
        flags[call.axis(axis, rank, Reduce::C1)?] = true;
    }
    Ok(flags)
}

/// A reduction over axes, all where none are given (unless `noop_with_empty_axes`).
///
/// Of no truth values there is no least and no greatest.
fn reduce(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let keep = call.int("keepdims", 1) == 1;
    if let Some(axes) = call.tensor(1) {
        let rank = call.shape(1)?.len();
        call.check(rank == 1, Reduce::C1, || format!("axes are to have 1 dimension, not {rank}"))?;
        if axes.ints().is_none() && keep {
            return any_axes(cx, call, &sizes);
        }
    }
    let axes = call.list(cx, "axes", 1, Reduce::C1)?.unwrap_or_default();
    if axes.is_empty() && call.int("noop_with_empty_axes", 0) == 1 {
        let mut result = call.output(0, sizes)?;
        if matches!(call.op(), "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceMean" | "ReduceProd") {
            result.elements = call.given(0)?.elements.clone();
        }
        return Ok(vec![result.into()]);
    }
    empty_at_load(cx, call, &sizes, &axes);
    let flags = if axes.is_empty() { vec![true; sizes.len()] } else { flags(call, &sizes, &axes)? };
    // Of no flags the specification has a least and a greatest; onnxruntime has none.
    if call.given(0)?.dtype == Dtype::Bool && cx.on_cpu() {
        let results = reduced(&sizes, &flags, false);
        some_to_reduce(cx, call, &sizes, &flags, &results)?;
    }
    let mut result = call.output(0, reduced(&sizes, &flags, keep))?;
    result.elements = total(cx, call, &flags, &result);
    Ok(vec![result.into()])
}

/// Notes that the inference of shapes drops a negative axis of an empty tensor, which the kernel keeps. Given sizes of 0 run
/// in most models.
fn empty_at_load(cx: &Cx, call: &Checked, sizes: &[Expr], axes: &[i64]) {
    let drops = call.int("keepdims", 1) == 0 && axes.iter().any(|&axis| axis < 0);
    if !call.call.is_run && is_empty(sizes) && drops {
        call.misinferred(cx);
    }
}

/// Where the places of [`arg_reduce`] lie.
fn place_span(cx: &mut Cx, call: &Call, _: &Tensor) -> Option<Vec<Option<Span>>> {
    let sizes = call.tensor(0)?.shape.as_ref()?;
    let axis = integer(call, "axis").unwrap_or(0);
    let at = if axis < 0 { axis + sizes.len() as i64 } else { axis };
    let most = cx.sub(*sizes.get(usize::try_from(at).ok()?)?, Expr::ONE);
    Some(vec![Some(Span { least: Expr::ZERO, most, reach: Reach::Within })])
}

clauses! { Reduce {
    C1 "`axes` are within the rank of the input, in a list of 1 dimension."
    C2 "The reduced dimensions are not empty, unless the result is."
} }

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
    cx.require(fine, Reduce::C2, |_| format!("{op} of no elements"))
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

/// The elements of a reduction, where those of the input are followed.
fn total(cx: &mut Cx, call: &Checked, flags: &[bool], result: &Tensor) -> Option<Elements> {
    let op = match call.op() {
        "ReduceSum" => "Add",
        "ReduceProd" => "Mul",
        "ReduceMax" => "Max",
        "ReduceMin" => "Min",
        _ => return None,
    };
    let grid = Grid::new(call.tensor(0)?)?;
    let sizes: Vec<usize> =
        grid.sizes().iter().zip(flags).map(|(&n, &flag)| if flag { 1 } else { n }).collect();
    let mut totals: Vec<Option<Element>> = vec![None; sizes.iter().product()];
    for index in indices(grid.sizes()) {
        let kept = index.iter().zip(flags).map(|(&at, &flag)| if flag { 0 } else { at });
        let position = kept.zip(&sizes).fold(0, |position, (at, &size)| position * size + at);
        let next = grid.get(&index)?;
        totals[position] = Some(match &totals[position] {
            Some(so_far) => numbers::folded(cx, op, so_far, next, result.dtype),
            None => next.clone(),
        });
    }
    // The greatest and the least integer of none are the ends of the type.
    let nothing = result.dtype.integer_range().map(|(least, most)| {
        Element::Int(match op {
            "Add" => Expr::ZERO,
            "Mul" => Expr::ONE,
            "Max" => cx.pool().int(least),
            _ => cx.pool().int(most),
        })
    });
    let totals = totals.into_iter().map(|total| total.or_else(|| nothing.clone()));
    totals.collect::<Option<Vec<_>>>().map(|totals| Elements::List(totals.into()))
}

/// The index of an extreme along an axis. The dimension is not empty.
fn arg_reduce(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    empty_at_load(cx, call, &sizes, &[call.int("axis", 0)]);
    let flags = flags(call, &sizes, &[call.int("axis", 0)])?;
    let results = reduced(&sizes, &flags, false);
    some_to_reduce(cx, call, &sizes, &flags, &results)?;
    let mut result = call.output(0, reduced(&sizes, &flags, call.int("keepdims", 1) == 1))?;
    // Of equal elements it is the first, or the last where that is asked for.
    let is_equal = match &call.given(0)?.elements {
        Some(Elements::Fill(Element::Int(_))) => true,
        Some(Elements::Fill(Element::Float(value))) => !value.is_nan(),
        _ => false,
    };
    if is_equal {
        let last = sizes.iter().zip(&flags).find(|(_, flag)| **flag).map_or(Expr::ONE, |(&size, _)| size);
        let place = if call.int("select_last_index", 0) == 1 { cx.sub(last, 1) } else { Expr::ZERO };
        result.elements = Some(Elements::Fill(Element::Int(place)));
    }
    Ok(vec![result.into()])
}

clauses! { CumSum {
    C1 "`axis` is one number."
    C2 "`axis` is within the rank of the input."
    C3 "`exclusive` and `reverse` are 0 or 1."
} }

/// A running sum along an axis.
fn cumulative(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let axis = call.given(1)?;
    let rank = call.shape(1)?.len();
    for flag in ["exclusive", "reverse"] {
        let value = call.int(flag, 0);
        call.check(matches!(value, 0 | 1), CumSum::C3, || format!("{flag} is to be 0 or 1, not {value}"))?;
    }
    if is_empty(&sizes) {
        return call.one(sizes);
    }
    call.check(rank <= 1, CumSum::C1, || format!("the axis is a scalar, not of rank {rank}"))?;
    let count = cx.product(call.shape(1)?.to_vec());
    cx.require_eq(count, Expr::ONE, CumSum::C1, "the number of axes")?;
    call.check(!sizes.is_empty(), CumSum::C2, || "a scalar has no axis".to_owned())?;
    let Some(axis) = axis.single().and_then(|axis| axis.int()) else {
        return Err(open(call.op(), "the axis"));
    };
    let axis = cx.literal(axis, CumSum::C2)?;
    let at = call.axis(axis, sizes.len(), CumSum::C2)?;
    let mut result = call.output(0, sizes)?;
    if call.op() == "CumSum" && call.int("exclusive", 0) == 0 && call.int("reverse", 0) == 0 {
        result.elements = running(cx, call, at, &result);
    }
    Ok(vec![result.into()])
}

fn running(cx: &mut Cx, call: &Checked, at: usize, result: &Tensor) -> Option<Elements> {
    let mut grid = Grid::new(call.tensor(0)?)?;
    let sizes = grid.sizes().to_vec();
    for index in indices(&sizes).filter(|index| index[at] > 0) {
        let mut before = index.clone();
        before[at] -= 1;
        let (so_far, next) = (grid.get(&before)?.clone(), grid.get(&index)?.clone());
        *grid.get_mut(&index)? = numbers::folded(cx, "Add", &so_far, &next, result.dtype);
    }
    Some(grid.into_elements())
}

/// Whether onnxruntime does not look at an axis beyond the rank: nothing is to be computed, and the rank is not known
/// when the model loads.
pub(super) fn is_idle(cx: &Cx, call: &Checked, sizes: &[Expr], axis: i64) -> Result<bool, KernelError> {
    let rank = sizes.len() as i64;
    Ok(cx.on_cpu() && is_empty(sizes) && !(-rank..rank).contains(&axis) && !call.infers_rank(0)?)
}

clauses! { Softmax {
    C1 "`axis` is within the rank of the input. onnxruntime does not check it if the input is empty, \
        unless it knows the rank when it loads a model of version 11 or later."
} }

fn softmax(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let default = if call.since() < 13 { 1 } else { -1 };
    let axis = call.int("axis", default);
    if call.since() >= 11 && !is_idle(cx, call, &sizes, axis)? || !is_empty(&sizes) {
        call.axis(axis, sizes.len(), Softmax::C1)?;
    }
    let mut result = call.output(0, sizes)?;
    result.dtype = call.given(0).map_or(Dtype::F32, |x| x.dtype);
    Ok(vec![result.into()])
}
