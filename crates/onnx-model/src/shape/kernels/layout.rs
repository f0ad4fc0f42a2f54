//! Operators that arrange elements anew: shapes read and changed, transposition, concatenation, blocks.
use super::Family;
use super::meeting::meet;
use crate::shape::at_load::{self, AtLoad, Known};
use crate::shape::call::{Call, Checked, Outcome, open};
use crate::shape::elements::{Grid, build, joined};
use crate::shape::op::{Reads, free, op};
use crate::shape::run_time::{About, NATURAL, rule, values};
use crate::shape::spans::{self, integer};
use crate::shape::value::{Element, Elements, Origin, Places, Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[Flatten::ALL, Reshape::ALL, Expand::ALL, Tile::ALL, Transpose::ALL, Concat::ALL, Trilu::ALL];

pub(super) const KERNELS: Family = &free([
    op("Concat", concat).passes().infers(concat_at_load).span(spans::columns).moves_integers(),
    op("Expand", expand).reads(Reads::Behind(1)).infers(expand_at_load).span(spans::same).at_run(&[
        values(1, Expand::C2, NATURAL),
        rule(1, Expand::C3, About::Broadcast, "the sizes in {} broadcast with those of the input"),
    ]),
    op("Flatten", flatten).is_view().passes().infers(at_load::rank).span(spans::same),
    op("Reshape", reshape)
        .is_view()
        .reads(Reads::Behind(1))
        .infers(reshape_at_load)
        .span(spans::same)
        .at_run(&[values(1, Reshape::C4, "the sizes in {} make as many elements as the input has")]),
    op("Shape", shape).reads(Reads::Ignores).infers(shape_at_load).moves_integers(),
    op("Size", size).reads(Reads::Ignores).infers(shape_at_load).moves_integers(),
    op("Tile", tile).reads(Reads::Behind(1)).infers(at_load::read_sizes).span(spans::same).at_run(&[values(
        1,
        Tile::C2,
        NATURAL,
    )]),
    op("Transpose", transpose).passes().infers(transpose_at_load).span(spans::same),
    op("Trilu", trilu).reads(Reads::Behind(1)).infers(at_load::rank),
]);

/// The sizes of the input from `start` to `end`, both clamped.
fn shape(_: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?;
    let rank = sizes.len() as i64;
    let clamped = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (start, end) = (clamped(call.int("start", 0)), clamped(call.int("end", rank)));
    let kept = sizes.get(start..end.max(start)).unwrap_or_default().to_vec();
    let dtype = call.output_type(0).unwrap_or(crate::shape::Dtype::I64);
    Ok(vec![Tensor::of_ints(dtype, kept).into()])
}

/// The number of elements.
fn size(cx: &mut Cx, call: &Checked) -> Outcome {
    let count = cx.product(call.shape(0)?.to_vec());
    Ok(vec![call.output(0, Vec::new())?.with(vec![Element::Int(count)]).into()])
}

/// The elements of the input, which stay in their order.
pub(super) fn kept(x: &Tensor, mut result: Tensor) -> Value {
    result.elements = x.elements.clone();
    result.into()
}

clauses! { Flatten {
    C1 "`axis` is from -rank to rank, and not negative before version 11."
} }

/// `[product of the sizes before axis, product of the others]`.
fn flatten(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?;
    let (rank, axis) = (sizes.len() as i64, call.int("axis", 1));
    let least = if call.since() < 11 { 0 } else { -rank };
    call.check((least..=rank).contains(&axis), Flatten::C1, || {
        format!("axis {axis} is not in [{least}, {rank}]")
    })?;
    let at = if axis < 0 { axis + rank } else { axis } as usize;
    let (rows, columns) = (cx.product(sizes[..at].to_vec()), cx.product(sizes[at..].to_vec()));
    Ok(vec![kept(call.given(0)?, call.output(0, vec![rows, columns])?)])
}

/// The sizes that an input gives; each is a new unbacked size if nothing is known of it.
pub(super) fn sizes_of(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    clause: &'static OpClause,
) -> Result<Vec<Expr>, KernelError> {
    let tensor = call.given(at)?;
    let shape = call.shape(at)?;
    // Where nothing is inferred of the rank, onnxruntime takes the elements of another one, too.
    let is_inferred = || if tensor.origin == Origin::Constant { Ok(false) } else { call.infers_rank(at) };
    let is_any = match call.op() {
        _ if shape.len() == 1 => true,
        "Expand" => (call.since() >= 13 || !call.is_in_file(at)) && !is_inferred()?,
        "ConstantOfShape" => !shape.is_empty() && !is_inferred()?,
        "Resize" => tensor.origin == Origin::Constant,
        "CenterCropPad" => shape.is_empty(),
        _ => false,
    };
    call.check(shape.len() == 1 || is_any && cx.on_cpu(), clause, || {
        format!("its shape is to have 1 dimension, not {}", shape.len())
    })?;
    let length = cx.product(shape.to_vec());
    let length = call.fixed_size(cx, length, "the sizes")?;
    let length = usize::try_from(length).ok().filter(|&length| length <= 1_024);
    let length = length.ok_or_else(|| open(call.op(), "the sizes"))?;
    let known = tensor.list_of(length).unwrap_or_else(|| vec![Element::Open; length].into());
    Ok(known.iter().map(|element| element.int().unwrap_or_else(|| cx.unbacked_size(0, None))).collect())
}

clauses! { Reshape {
    C1 "`shape` has 1 dimension."
    C2 "`shape` has at most one -1 and no smaller number. Symbolic sizes are not 0 or less. With \
        `allowzero`, there is no 0 beside -1."
    C3 "A 0 in `shape` stands at the place of a dimension of the input."
    C4 "The input and the new shape have the same number of elements."
} }

/// The input in another shape: 0 keeps a size (unless `allowzero`), -1 is what is left.
fn reshape(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let allow_zero = call.int("allowzero", 0) == 1;
    let target = sizes_of(cx, call, 1, Reshape::C1)?;
    let both = target.contains(&Expr::ZERO) && target.contains(&Expr::from(-1));
    call.check(
        !both || call.int("allowzero", 0) == 0 || call.given(1)?.origin != Origin::Constant,
        Reshape::C2,
        || "with allowzero, 0 and -1 are ambiguous".to_owned(),
    )?;
    let mut shape = Vec::with_capacity(target.len());
    let mut rest = None;
    let given = call.given(1)?.list_of(target.len());
    let is_given = |at: usize| given.as_ref().is_some_and(|given| given[at].int().is_some());
    for (at, &wanted) in target.iter().enumerate() {
        match wanted.as_inline() {
            Some(-1) => {
                call.check(rest.replace(at).is_none(), Reshape::C2, || "two sizes are -1".to_owned())?;
                shape.push(Expr::ONE);
            }
            Some(0) if !allow_zero => {
                let kept = sizes.get(at).copied();
                call.check(kept.is_some(), Reshape::C3, || format!("size {at} is kept, but there is none"))?;
                shape.push(kept.unwrap_or(Expr::ZERO));
            }
            Some(literal) => {
                call.check(literal >= 0, Reshape::C2, || format!("a size is {literal}"))?;
                shape.push(wanted);
            }
            // A number that is not followed may stand for another: then the size is that one.
            None if !is_given(at) => shape.push(wanted),
            None => shape.push(computed_size(cx, wanted, sizes.get(at).copied(), allow_zero)?),
        }
    }
    match rest {
        Some(at) => shape[at] = what_is_left(cx, sizes, &shape, allow_zero)?,
        None => {
            let (total, known) = (cx.product(sizes), cx.product(shape.clone()));
            cx.require_eq(total, known, Reshape::C4, "numbers of elements")?;
        }
    }
    Ok(vec![kept(call.given(0)?, call.output(0, shape)?)])
}

/// A computed size of [`reshape`]: that it is one, and neither 0 nor -1 stand for another, is a condition. `kept` is the
/// size that 0 stands for; of a size that data decide they decide this, too.
fn computed_size(
    cx: &mut Cx,
    wanted: Expr,
    kept: Option<Expr>,
    allow_zero: bool,
) -> Result<Expr, KernelError> {
    let least = cx.ge(wanted, i32::from(!allow_zero));
    if cx.surely(least) {
        return Ok(wanted);
    }
    let natural = cx.ge(wanted, 0);
    if let Some(kept) = kept.filter(|_| cx.env.hint(wanted).is_none() && cx.surely(natural)) {
        let keeps = cx.eq(wanted, 0);
        return Ok(cx.pool().ite(keeps, kept, wanted));
    }
    // What 0 stands for may be 0 itself.
    let ways = kept.map(|kept| [cx.ge(wanted, 1), cx.eq(kept, 0)]);
    let is_same = ways.map(|ways| cx.any(&ways)).is_some_and(|same| cx.surely(same));
    let keeps = !allow_zero && (is_same || kept == Some(wanted));
    let least = cx.ge(wanted, i32::from(!allow_zero && !keeps));
    cx.require(least, Reshape::C2, |cx| format!("the size {} stands for another", cx.show(wanted)))?;
    Ok(wanted)
}

/// The size that -1 stands for beside the others.
fn what_is_left(
    cx: &mut Cx,
    mut sizes: Vec<Expr>,
    others: &[Expr],
    allow_zero: bool,
) -> Result<Expr, KernelError> {
    let (mut others, mut common) = (others.to_vec(), Vec::new());
    if allow_zero {
        // What stands on both sides is left out of both or of none.
        others.retain(|other| match sizes.iter().position(|size| size == other) {
            Some(at) => {
                common.push(sizes.remove(at));
                false
            }
            None => true,
        });
        if common.contains(&Expr::ZERO) {
            for list in [&mut sizes, &mut others, &mut common] {
                list.retain(|&size| size != Expr::ZERO);
            }
        }
    }
    let (total, known) = (cx.product(sizes), cx.product(others));
    let (some, common) = (cx.ne(known, 0), cx.product(common));
    cx.require(some, Reshape::C4, |_| "of no elements -1 cannot be inferred".to_owned())?;
    let (left, both) = (cx.ne(total, 0), cx.ne(common, 0));
    let fine = cx.any(&[left, both]);
    cx.require(fine, Reshape::C4, |_| "which sizes are 0 decides what -1 is".to_owned())?;
    let remainder = cx.modulo(total, known);
    let divides = cx.eq(remainder, 0);
    cx.require(divides, Reshape::C4, |cx| {
        format!("{} elements do not divide by {}", cx.show(total), cx.show(known))
    })?;
    Ok(cx.floor_div(total, known))
}

clauses! { Expand {
    C1 "`shape` has 1 dimension."
    C2 "No size in `shape` is negative."
    C3 "The shape of the input broadcasts with `shape`."
} }

/// The input broadcast with a shape.
fn expand(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let target = sizes_of(cx, call, 1, Expand::C1)?;
    for &size in &target {
        let natural = cx.ge(size, 0);
        cx.require(natural, Expand::C2, |cx| format!("a size is {}", cx.show(size)))?;
    }
    let shape = meet(cx, [sizes.as_slice(), target.as_slice()], Expand::C3)?;
    let mut result = call.output(0, shape)?;
    let x = call.given(0)?;
    result.elements = match &x.elements {
        Some(Elements::Fill(element)) => Some(Elements::Fill(element.clone())),
        _ if x.count() == Some(1) => x.single().map(Elements::Fill),
        _ if x.shape == result.shape => x.elements.clone(),
        _ => Grid::new(x).and_then(|from| {
            let shape = result.shape.as_deref()?;
            build(shape, |index| from.get(index).cloned())
        }),
    };
    Ok(vec![result.into()])
}

clauses! { Tile {
    C1 "`repeats` has 1 dimension, with an element for each dimension of the input."
    C2 "No element of `repeats` is negative."
} }

/// Each size times its number of repeats.
fn tile(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let repeats = sizes_of(cx, call, 1, Tile::C1)?;
    call.check(repeats.len() == sizes.len(), Tile::C1, || {
        format!("there are {} repeats for {} dimensions", repeats.len(), sizes.len())
    })?;
    let mut shape = Vec::with_capacity(sizes.len());
    for (&size, &times) in sizes.iter().zip(&repeats) {
        let natural = cx.ge(times, 0);
        cx.require(natural, Tile::C2, |cx| format!("a repeat is {}", cx.show(times)))?;
        shape.push(cx.mul(size, times));
    }
    let x = call.given(0)?;
    let mut result = call.output(0, shape)?;
    result.elements = match &x.elements {
        Some(Elements::Fill(element)) => Some(Elements::Fill(element.clone())),
        Some(Elements::List(_)) => Grid::new(x).and_then(|from| {
            build(result.shape.as_deref()?, |index| {
                let wrapped: Vec<usize> =
                    index.iter().zip(from.sizes()).map(|(&at, &size)| at % size).collect();
                from.get(&wrapped).cloned()
            })
        }),
        None => None,
    };
    Ok(vec![result.into()])
}

clauses! { Transpose {
    C1 "`perm` is a permutation of the dimensions."
} }

fn transpose(_: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?;
    let rank = sizes.len();
    let order: Vec<usize> = match call.ints("perm") {
        None => (0..rank).rev().collect(),
        Some(perm) => {
            let mut seen = vec![false; rank];
            for &axis in perm {
                let at = usize::try_from(axis).ok().filter(|&at| at < rank);
                let fresh = at.is_some_and(|at| !std::mem::replace(&mut seen[at], true));
                call.check(fresh, Transpose::C1, || format!("{perm:?} is no order of {rank} dimensions"))?;
            }
            call.check(perm.len() == rank, Transpose::C1, || {
                format!("{perm:?} is no order of {rank} dimensions")
            })?;
            perm.iter().map(|&axis| axis as usize).collect()
        }
    };
    let x = call.given(0)?;
    let mut result = call.output(0, order.iter().map(|&at| sizes[at]).collect())?;
    if order == [1, 0] {
        let turned = |places: &Arc<Places>| Places { in_rows: !places.in_rows, ..(**places).clone() };
        result.places = x.places.as_ref().map(|places| Arc::new(turned(places)));
    }
    result.elements = match &x.elements {
        Some(Elements::Fill(element)) => Some(Elements::Fill(element.clone())),
        Some(Elements::List(_)) if order.iter().copied().eq(0..rank) => x.elements.clone(),
        Some(Elements::List(_)) => Grid::new(x).and_then(|from| {
            build(result.shape.as_deref()?, |index| {
                let mut moved = vec![0; rank];
                index.iter().zip(&order).for_each(|(&at, &dim)| moved[dim] = at);
                from.get(&moved).cloned()
            })
        }),
        None => None,
    };
    Ok(vec![result.into()])
}

clauses! { Concat {
    C1 "The inputs have the same rank, which is not 0, and `axis` is within it."
    C2 "Inputs have the same sizes, except along `axis`. onnxruntime does not check those of empty inputs, \
        other than the first if all are empty."
} }

/// The inputs one behind the other.
fn concat(cx: &mut Cx, call: &Checked) -> Outcome {
    let shapes: Vec<&[Expr]> = (0..call.count()).map(|at| call.shape(at)).collect::<Result<_, _>>()?;
    let is_empty = |shape: &[Expr]| shape.contains(&Expr::ZERO);
    let lead = shapes.iter().position(|shape| !is_empty(shape)).unwrap_or(0);
    let mut shape = shapes[lead].to_vec();
    let at = call.axis(call.int("axis", 1), shape.len(), Concat::C1)?;
    let mut along = vec![shape[at]];
    for (input, &next) in shapes.iter().enumerate().filter(|(input, _)| *input != lead) {
        let skipped = is_empty(next);
        let is_open = |input: usize| Ok(call.since() < 11 || !call.infers_rank(input)?);
        let fine =
            next.len() == shape.len() || skipped && at < next.len() && (is_open(input)? || is_open(lead)?);
        call.check(fine, Concat::C1, || format!("ranks {} and {} differ", shape.len(), next.len()))?;
        along.insert(if input < lead { along.len() - 1 } else { along.len() }, next[at]);
        if skipped {
            continue;
        }
        for (dim, &size) in next.iter().enumerate().filter(|(dim, _)| *dim != at) {
            cx.require_eq(shape[dim], size, Concat::C2, "sizes beside the axis")?;
            // A number says more than what is equal to it.
            if size.as_inline().is_some() {
                shape[dim] = size;
            }
        }
    }
    if cx.on_cpu() && shapes.iter().any(|shape| is_empty(shape)) {
        joined_at_load(call, &shapes, at)?;
    }
    shape[at] = cx.sum(along);
    let mut result = call.output(0, shape)?;
    let inputs = (0..call.count()).map(|input| call.given(input)).collect::<Result<Vec<_>, _>>()?;
    result.elements = joined(&inputs, at, &result);
    Ok(vec![result.into()])
}

fn joined_at_load(call: &Checked, shapes: &[&[Expr]], axis: usize) -> Result<(), KernelError> {
    let most = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    for dim in (0..most).filter(|&dim| dim != axis) {
        let differ = |is_meant: fn(Known) -> bool| {
            let known = shapes.iter().enumerate().filter(|(at, _)| is_meant(call.size_at_load(*at, dim)));
            let mut sizes = known.filter_map(|(_, shape)| shape.get(dim)?.as_inline());
            let first = sizes.next();
            sizes.any(|size| Some(size) != first)
        };
        call.check(!differ(|known| known == Known::Yes), Concat::C2, || {
            "declared sizes beside the axis disagree".to_owned()
        })?;
        if differ(|known| known != Known::No) {
            call.doubt("sizes beside the axis disagree, if onnxruntime knows them");
        }
    }
    Ok(())
}

/// What is known of a concatenation when the model loads. Before version 11 the inference knows no negative axes.
fn concat_at_load(call: &Call, rank: usize) -> AtLoad {
    let is_behind = call.version < 11 && integer(call, "axis").is_some_and(|axis| axis < 0);
    if is_behind { AtLoad::default() } else { at_load::all(call, rank) }
}

/// What is known of the sizes of a value when the model loads: how many there are, where that of their dimensions is.
fn shape_at_load(call: &Call, _: usize) -> AtLoad {
    let is_ranked = call.tensor(0).is_some_and(|x| x.at_load.rank == Known::Yes);
    if is_ranked { AtLoad::SIZED } else { AtLoad::RANKED }
}

/// What is known of another order of dimensions when the model loads. The inference says nothing of no dimensions before
/// version 13.
fn transpose_at_load(call: &Call, rank: usize) -> AtLoad {
    if call.version < 13 && rank == 0 { AtLoad::default() } else { at_load::sized_by_first(call, rank) }
}

/// What is known when the model loads of sizes that the file has, or of which the number is known.
fn reshape_at_load(call: &Call, rank: usize) -> AtLoad {
    if !at_load::are_in_file(call, 1) {
        return at_load::counted(call, 14, rank);
    }
    let is_size = |element: &Element| element.number().is_some_and(|size| size >= 1.0);
    let target = call.tensor(1).and_then(Tensor::list);
    match target.is_some_and(|target| target.iter().all(is_size)) {
        true => AtLoad::SIZED,
        false => at_load::sized_by_first(call, rank),
    }
}

/// What is known when the model loads of sizes that broadcast with others.
fn expand_at_load(call: &Call, rank: usize) -> AtLoad {
    if at_load::are_in_file(call, 1) { at_load::read(call, rank) } else { at_load::counted(call, 13, rank) }
}

clauses! { Trilu {
    C1 "The input has at least 2 dimensions."
    C2 "`k` has one element and at most 1 dimension."
} }

/// The upper or lower triangle of matrices.
pub(super) fn trilu(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(sizes.len() >= 2, Trilu::C1, || {
        format!("it needs at least 2 dimensions, not {}", sizes.len())
    })?;
    if call.has(1) {
        let count = cx.product(call.shape(1)?.to_vec());
        cx.require_eq(count, Expr::ONE, Trilu::C2, "the number of elements of k")?;
        let rank = call.shape(1)?.len();
        call.check(rank <= 1, Trilu::C2, || format!("k has {rank} dimensions"))?;
    }
    call.one(sizes)
}
