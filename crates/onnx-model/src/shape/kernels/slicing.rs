//! Operators that cut tensors into parts, or put something around them.
use super::{Family, policy};
use crate::shape::call::{Checked, Outcome, open};
use crate::shape::elements::{Grid, Index, build};
use crate::shape::op::{Reads, free, op};
use crate::shape::run_time::values;
use crate::shape::value::{Element, Elements, Tensor, Value};
use crate::shape::{at_load, spans};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Slice::ALL, Split::ALL, Pad::ALL];

pub(super) const KERNELS: Family = &free([
    op("Pad", pad).reads(Reads::Behind(1)).infers(at_load::read_sizes).at_run(&[values(
        1,
        Pad::C4,
        "the pads in {} leave no negative size and suit the mode",
    )]),
    op("Slice", slice).reads(Reads::Behind(1)).infers(at_load::read_sizes).span(spans::part).moves_integers(),
    op("Split", split).reads(Reads::Behind(1)).infers(at_load::read).at_run(&[values(
        1,
        Split::C2,
        "no size in {} is negative, and they add up to the dimension",
    )]),
]);

/// One bound of a slice along a dimension.
#[derive(Clone, Copy)]
enum Bound {
    Known(Expr),
    Open,
}

/// What a slice takes along each axis.
struct Parts {
    axes: Vec<usize>,
    starts: Vec<Bound>,
    ends: Vec<Bound>,
    steps: Vec<i64>,
}

clauses! { Slice {
    C1 "`starts`, `ends`, `axes` and `steps` have 1 dimension and the same length."
    C2 "`axes` are distinct and within the rank of the input."
    C3 "No element of `steps` is 0."
    C4 "For onnxruntime, the input is not a scalar."
} }

/// Elements from `start` to `end` by `step` along the axes, as Python slices.
fn slice(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    super::policy::onnxruntime_checks(cx, !sizes.is_empty(), Slice::C4, || {
        "a scalar cannot be sliced".to_owned()
    })?;
    let parts = parts(cx, call, sizes.len())?;
    let mut shape = sizes.clone();
    let mut spans = Vec::new();
    for (i, &at) in parts.axes.iter().enumerate() {
        let (length, start) = taken(cx, sizes[at], parts.starts[i], parts.ends[i], parts.steps[i]);
        shape[at] = length;
        spans.push(start);
    }
    if is_misinferred(cx, call, &sizes, &shape) {
        call.misinferred(cx);
    }
    let x = call.given(0)?;
    let mut result = call.output(0, shape)?;
    result.elements = match &x.elements {
        Some(Elements::Fill(element)) => Some(Elements::Fill(element.clone())),
        Some(Elements::List(_)) => cut(x, &result, &parts, &spans),
        None => None,
    };
    Ok(vec![result.into()])
}

/// Whether the inference of shapes finds another shape than a slice has. In version 10 it keeps names of sizes where a part
/// is taken. A part that is taken backwards has no end for the kernel if that is the greatest integer.
fn is_misinferred(cx: &Cx, call: &Checked, sizes: &[Expr], shape: &[Expr]) -> bool {
    if call.call.version == 10 {
        let differ = |(size, made): (&Expr, &Expr)| size.as_inline().is_none() && size != made;
        return !call.call.is_run && sizes.iter().zip(shape).any(differ);
    }
    let ints = |at: usize| call.tensor(at).and_then(Tensor::ints);
    let (Some(ends), Some(steps)) = (ints(2), ints(4)) else { return false };
    let is_greatest = |end: Expr| {
        let end = cx.env.pool.as_int(end).and_then(|end| end.to_i64());
        end.is_some_and(|end| end >= i64::from(i32::MAX))
    };
    ends.into_iter()
        .zip(steps)
        .any(|(end, step)| step.as_inline().is_some_and(|step| step < 0) && is_greatest(end))
}

/// The elements of a slice that begins at these places of its axes.
fn cut(x: &Tensor, result: &Tensor, parts: &Parts, starts: &[Option<i64>]) -> Option<Elements> {
    let from = Grid::new(x)?;
    build(result.shape.as_deref()?, |index| {
        let mut index = Index::from_slice(index);
        for ((&at, start), step) in parts.axes.iter().zip(starts).zip(&parts.steps) {
            let offset = i64::try_from(index[at]).ok()?.checked_mul(*step)?;
            index[at] = usize::try_from((*start)?.checked_add(offset)?).ok()?;
        }
        from.get(&index).cloned()
    })
}

fn parts(cx: &mut Cx, call: &Checked, rank: usize) -> Result<Parts, KernelError> {
    let from_attributes = call.since() < 10;
    let bounds = |cx: &mut Cx, name: &str, at: usize| -> Result<Vec<Bound>, KernelError> {
        if from_attributes {
            return Ok(call
                .ints(name)
                .unwrap_or_default()
                .iter()
                .map(|&v| Bound::Known(cx.int(v)))
                .collect());
        }
        let tensor = call.given(at)?;
        let shape = call.shape(at)?;
        call.check(shape.len() == 1, Slice::C1, || {
            format!("{name} is to have 1 dimension, not {}", shape.len())
        })?;
        let length = call.fixed_size(cx, shape[0], name)?;
        match tensor.list_of(usize::try_from(length).unwrap_or(0)) {
            Some(list) => Ok(list.iter().map(|e| e.int().map_or(Bound::Open, Bound::Known)).collect()),
            None if length <= 64 => Ok(vec![Bound::Open; usize::try_from(length).unwrap_or(0)]),
            None => Err(open(call.op(), name)),
        }
    };
    let (starts, ends) = (bounds(cx, "starts", 1)?, bounds(cx, "ends", 2)?);
    call.check(starts.len() == ends.len(), Slice::C1, || {
        format!("{} starts, {} ends", starts.len(), ends.len())
    })?;
    for at in [3, 4] {
        if !from_attributes && call.has(at) {
            let rank = call.shape(at)?.len();
            call.check(rank == 1, Slice::C1, || {
                format!("axes and steps are to have 1 dimension, not {rank}")
            })?;
        }
    }
    let axes = if from_attributes {
        call.ints("axes").map(<[i64]>::to_vec)
    } else {
        call.input_ints(cx, 3, Slice::C1)?
    };
    let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
    call.check(axes.len() == starts.len(), Slice::C1, || {
        format!("{} axes for {} starts", axes.len(), starts.len())
    })?;
    let mut seen = vec![false; rank];
    let mut places = Vec::with_capacity(axes.len());
    for axis in axes {
        let at = call.axis(axis, rank, Slice::C2)?;
        call.check(!std::mem::replace(&mut seen[at], true), Slice::C2, || {
            format!("axis {at} is named twice")
        })?;
        places.push(at);
    }
    let steps = if from_attributes { None } else { call.input_ints(cx, 4, Slice::C1)? };
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    call.check(steps.len() == starts.len(), Slice::C1, || {
        format!("{} steps for {} starts", steps.len(), starts.len())
    })?;
    call.check(!steps.contains(&0), Slice::C3, || "a step is 0".to_owned())?;
    Ok(Parts { axes: places, starts, ends, steps })
}

/// A bound of a slice as a position: counted from the end when negative, and clamped to the dimension.
fn position(cx: &mut Cx, size: Expr, bound: Expr, least: i64, most: Expr) -> Expr {
    let negative = cx.lt(bound, 0);
    let from_end = cx.add(bound, size);
    let at = match cx.known(negative) {
        Some(true) => from_end,
        Some(false) => bound,
        None => cx.pool().ite(negative, from_end, bound),
    };
    let least = cx.int(least);
    let low = cx.ge(at, least);
    let at = if cx.surely(low) { at } else { cx.max(at, least) };
    // A size is an integer of 64 bits.
    if at == cx.int(i64::MAX) {
        return most;
    }
    let high = cx.le(at, most);
    if cx.surely(high) { at } else { cx.min(at, most) }
}

/// Whether a bound is `INT_MAX` of 32 or 64 bits. As the end of a slice with a negative step, onnxruntime reads it as
/// "through the first element" (`onnxruntime/core/providers/cpu/tensor/slice_helper.h`); the specification clamps it.
fn is_int_max(cx: &mut Cx, bound: Expr) -> bool {
    [i64::from(i32::MAX), i64::MAX].into_iter().any(|greatest| cx.int(greatest) == bound)
}

/// How many elements a slice takes, and where it begins if that is a number.
fn taken(cx: &mut Cx, size: Expr, start: Bound, end: Bound, step: i64) -> (Expr, Option<i64>) {
    let (Bound::Known(start), Bound::Known(end)) = (start, end) else {
        return (cx.unbacked_size(0, Some(size)), None);
    };
    let last = cx.sub(size, 1);
    let (start, end, span) = if step > 0 {
        let (start, end) = (position(cx, size, start, 0, size), position(cx, size, end, 0, size));
        (start, end, cx.sub(end, start))
    } else {
        let start = position(cx, size, start, 0, last);
        let end =
            if cx.on_cpu() && is_int_max(cx, end) { cx.int(-1) } else { position(cx, size, end, -1, last) };
        (start, end, cx.sub(start, end))
    };
    let _ = end;
    let step = cx.int(step.saturating_abs());
    let count = cx.ceil_div(span, step);
    let natural = cx.ge(count, 0);
    let count = if cx.surely(natural) { count } else { cx.max(count, 0) };
    (count, start.as_inline())
}

clauses! { Split {
    C1 "`axis` is within the rank of the input."
    C2 "`split` has a size for each output, and the sizes add up to the dimension. No size is negative. \
        Either `split` or `num_outputs` is given."
    C3 "Without sizes, the dimension splits into as many parts as there are outputs. Before version 18 \
        they are equal; later the last one may be smaller."
} }

/// Parts along an axis: as given, or as many equal ones as there are outputs (the last one smaller from version 18 on).
fn split(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let at = call.axis(call.int("axis", 0), sizes.len(), Split::C1)?;
    let outputs = call.output_count();
    let lengths = match part_sizes(cx, call)? {
        Some(lengths) => {
            call.check(lengths.len() == outputs, Split::C2, || {
                format!("there are {} sizes for {outputs} outputs", lengths.len())
            })?;
            for &length in &lengths {
                let natural = cx.ge(length, 0);
                cx.require(natural, Split::C2, |cx| format!("a size is {}", cx.show(length)))?;
            }
            let sum = cx.sum(lengths.clone());
            cx.require_eq(sum, sizes[at], Split::C2, "the sum of the sizes and the dimension")?;
            lengths
        }
        None => equal_parts(cx, call, (at, sizes[at]), outputs)?,
    };
    let x = Grid::new(call.given(0)?);
    let mut from = Some(0usize);
    let mut parts = Vec::with_capacity(lengths.len());
    for (i, length) in lengths.into_iter().enumerate() {
        let mut shape = sizes.clone();
        shape[at] = length;
        let mut part = call.output(i, shape.clone())?;
        part.elements = x.as_ref().zip(from).and_then(|(x, from)| x.part(at, from, &shape));
        from = from.and_then(|from| from.checked_add(usize::try_from(length.as_inline()?).ok()?));
        parts.push(Value::from(part));
    }
    Ok(parts)
}

fn part_sizes(cx: &mut Cx, call: &Checked) -> Result<Option<Vec<Expr>>, KernelError> {
    if let Some(list) = call.ints("split") {
        return Ok(Some(list.iter().map(|&size| cx.int(size)).collect()));
    }
    let Some(tensor) = call.tensor(1) else { return Ok(None) };
    call.check(call.attribute("num_outputs").is_none(), Split::C2, || {
        "sizes and num_outputs are given".to_owned()
    })?;
    let rank = call.shape(1)?.len();
    call.check(rank == 1, Split::C2, || format!("the sizes have 1 dimension, not {rank}"))?;
    match tensor.ints() {
        // The inference of shapes takes an empty list for what it is.
        _ if tensor.count() == Some(0) => Ok((cx.on_cpu() && call.is_in_file(1)).then(Vec::new)),
        Some(list) => Ok(Some(list)),
        None => {
            let (given, outputs) = (call.shape(1)?.first().copied(), call.output_count());
            let expected = cx.int(outputs as i64);
            let given = given.unwrap_or(Expr::ONE);
            let cases = [cx.eq(given, expected), cx.eq(given, 0)];
            let fine = cx.any(&cases);
            cx.require(fine, Split::C2, |cx| {
                format!("there are {} sizes for {outputs} outputs", cx.show(given))
            })?;
            Ok(Some((0..outputs).map(|_| cx.unbacked_size(0, None)).collect()))
        }
    }
}

fn equal_parts(
    cx: &mut Cx,
    call: &Checked,
    (at, size): (usize, Expr),
    outputs: usize,
) -> Result<Vec<Expr>, KernelError> {
    let count = cx.int(outputs as i64);
    if call.since() < 18 {
        return evenly(cx, size, outputs);
    }
    let stated = call.int("num_outputs", 0);
    if call.attribute("num_outputs").is_none() && call.has(1) {
        return evenly(cx, size, outputs);
    }
    if call.attribute("num_outputs").is_none() {
        let message = || "neither sizes nor num_outputs are given".to_owned();
        if !cx.on_cpu() {
            return Err(KernelError::invalid(Split::C2, format!("Split: {}", message())));
        }
        // Only the inference of shapes asks for one, where it knows the size that is split.
        call.refused_where(call.size_at_load(0, at), Split::C2, message)?;
        return evenly(cx, size, outputs);
    }
    call.check(stated >= 1, Split::C2, || format!("num_outputs is {stated}"))?;
    let (part, least) = (cx.ceil_div(size, count), cx.int(stated));
    let others = cx.mul(part, outputs as i32 - 1);
    let last = cx.sub(size, others);
    let (enough, some) = (cx.ge(size, least), cx.gt(last, 0));
    let fine = cx.all(&[enough, some]);
    cx.require(fine, Split::C3, |cx| format!("{} is too small for {outputs} parts", cx.show(size)))?;
    let mut parts = vec![part; outputs];
    parts[outputs - 1] = last;
    Ok(parts)
}

fn evenly(cx: &mut Cx, size: Expr, outputs: usize) -> Result<Vec<Expr>, KernelError> {
    let count = cx.int(outputs as i64);
    let remainder = cx.modulo(size, count);
    let divides = cx.eq(remainder, 0);
    cx.require(divides, Split::C3, |cx| format!("{} does not divide by {outputs}", cx.show(size)))?;
    let part = cx.floor_div(size, count);
    Ok(vec![part; outputs])
}

clauses! { Pad {
    C1 "`pads` has two entries for each of `axes`. `axes` are distinct and within the rank of the input."
    C2 "`mode` is known, and `constant_value` has one element."
    C3 "No size of the result is negative."
    C4 "The input has enough elements to pad with. Negative pads are applied first. Then `reflect` adds \
        fewer elements than the dimension has, and `edge` and `wrap` need one. If the input is empty, only \
        empty dimensions are checked."
} }

/// The input with elements added or cut off on both sides of its dimensions.
pub(super) fn pad(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let mode = call.text("mode", "constant");
    let known = matches!(mode, "constant" | "reflect" | "edge" | "wrap");
    call.check(known, Pad::C2, || format!("no mode is named {mode}"))?;
    if call.has(2) {
        let count = cx.product(call.shape(2)?.to_vec());
        cx.require_eq(count, Expr::ONE, Pad::C2, "the number of padding values")?;
    }
    let pads = pad_list(cx, call)?;
    let axes = match call.tensor(3) {
        Some(_) => {
            padded_axes(cx, call, sizes.len(), pads.as_deref())?;
            call.input_ints(cx, 3, Pad::C1)?.unwrap_or_default()
        }
        None => (0..sizes.len() as i64).collect(),
    };
    let Some(pads) = pads else { return any_pads(cx, call, &sizes, &axes) };
    call.check(pads.len() == 2 * axes.len(), Pad::C1, || {
        format!("{} numbers for {} axes", pads.len(), axes.len())
    })?;
    let mut shape = sizes.clone();
    let mut seen = vec![false; sizes.len()];
    for (i, &axis) in axes.iter().enumerate() {
        let at = call.axis(axis, sizes.len(), Pad::C1)?;
        let (before, after) = (pads[i], pads[axes.len() + i]);
        let added = cx.add(before, after);
        shape[at] = cx.add(shape[at], added);
        call.check(!std::mem::replace(&mut seen[at], true), Pad::C1, || format!("axis {at} is named twice"))?;
        let idle = sizes.contains(&Expr::ZERO);
        call.check(!idle || mode != "wrap", Pad::C4, || "nothing cannot be wrapped".to_owned())?;
        if !idle {
            around(cx, mode, sizes[at], before, after)?;
        } else if sizes[at] == Expr::ZERO && mode != "constant" {
            let nothing = cx.le(added, 0);
            cx.require(nothing, Pad::C4, |cx| {
                format!("an empty dimension cannot be padded by {}", cx.show(added))
            })?;
        }
    }
    for &size in &shape {
        let natural = cx.ge(size, 0);
        cx.require(natural, Pad::C3, |cx| format!("a size becomes {}", cx.show(size)))?;
    }
    let mut result = call.output(0, shape)?;
    result.elements = if mode == "constant" { padded(call, &result, &axes, &pads) } else { None };
    Ok(vec![result.into()])
}

fn padded_axes(cx: &mut Cx, call: &Checked, rank: usize, pads: Option<&[Expr]>) -> Result<(), KernelError> {
    let axes = call.shape(3)?.len();
    call.check(axes == 1, Pad::C1, || format!("axes are to have 1 dimension, not {axes}"))?;
    let is_all = pads.filter(|_| call.is_in_file(1)).is_none_or(|pads| pads.len() == 2 * rank);
    policy::onnxruntime_checks(cx, is_all || call.infers_rank(3)?, Pad::C1, || {
        "the rank of the axes is not known".to_owned()
    })
}

fn any_pads(cx: &mut Cx, call: &Checked, sizes: &[Expr], axes: &[i64]) -> Outcome {
    let given = call.shape(1)?.last().copied().unwrap_or(Expr::ONE);
    let expected = cx.int(2 * axes.len() as i64);
    cx.require_eq(given, expected, Pad::C1, "the number of pads")?;
    let mut shape = sizes.to_vec();
    for &axis in axes {
        shape[call.axis(axis, sizes.len(), Pad::C1)?] = cx.unbacked_size(0, None);
    }
    call.one(shape)
}

/// The elements of a tensor with the padding value around them.
fn padded(call: &Checked, result: &Tensor, axes: &[i64], pads: &[Expr]) -> Option<Elements> {
    let x = call.tensor(0)?;
    let from = Grid::new(x)?;
    let value = match call.tensor(2) {
        Some(value) => value.single()?,
        None if x.dtype.is_integer() => Element::Int(Expr::ZERO),
        None => return None,
    };
    let before = pads.iter().take(axes.len()).map(|pad| pad.as_inline()).collect::<Option<Vec<_>>>()?;
    build(result.shape.as_deref()?, |index| {
        let mut index = index.to_vec();
        for (&axis, &before) in axes.iter().zip(&before) {
            let at = usize::try_from(if axis < 0 { axis + index.len() as i64 } else { axis }).ok()?;
            match usize::try_from(i64::try_from(index[at]).ok()?.checked_sub(before)?) {
                Ok(inside) if inside < from.sizes()[at] => index[at] = inside,
                _ => return Some(value.clone()),
            }
        }
        from.get(&index).cloned()
    })
}

fn pad_list(cx: &mut Cx, call: &Checked) -> Result<Option<Vec<Expr>>, KernelError> {
    if let Some(list) = call.ints("pads").or_else(|| call.ints("paddings")) {
        return Ok(Some(list.iter().map(|&pad| cx.int(pad)).collect()));
    }
    let tensor = call.given(1)?;
    let shape = call.shape(1)?.to_vec();
    // onnxruntime's kernel takes a row, which the inference of shapes refuses where the file has it.
    let is_row = shape.len() == 2 && (call.schema.since == 1 || cx.on_cpu() && !call.is_in_file(1));
    call.check(shape.len() == 1 || is_row, Pad::C1, || {
        format!("pads are to have 1 dimension, not {}", shape.len())
    })?;
    if is_row {
        cx.require_eq(shape[0], Expr::ONE, Pad::C1, "rows of pads")?;
    }
    Ok(tensor.ints())
}

fn around(cx: &mut Cx, mode: &str, size: Expr, before: Expr, after: Expr) -> Result<(), KernelError> {
    if mode == "constant" {
        return Ok(());
    }
    let (cut_before, cut_after) = (cx.min(before, 0), cx.min(after, 0));
    let size = cx.sum([size, cut_before, cut_after]);
    if mode == "reflect" {
        let idle = [cx.eq(before, 0), cx.eq(after, 0)];
        let (idle, left) = (cx.all(&idle), cx.gt(size, 0));
        let fine = cx.any(&[idle, left]);
        cx.require(fine, Pad::C4, |cx| {
            format!("after cropping, {} elements cannot be reflected", cx.show(size))
        })?;
    }
    for pad in [before, after] {
        // Repeating elements needs one as soon as anything is added or cut off.
        let none = match mode {
            "reflect" => cx.le(pad, 0),
            _ => cx.eq(pad, 0),
        };
        let enough = match mode {
            "reflect" => cx.lt(pad, size),
            _ => cx.gt(size, 0),
        };
        let fine = cx.any(&[none, enough]);
        cx.require(fine, Pad::C4, |cx| {
            format!("{} elements cannot be padded by {}", cx.show(size), cx.show(pad))
        })?;
    }
    Ok(())
}
