//! Operators that take elements by their indices.
use super::Family;
use crate::shape::at_load::{self, AtLoad, Known};
use crate::shape::call::{Call, Checked, Outcome};
use crate::shape::elements::{Grid, Index, build, indices, place};
use crate::shape::op::{Reads, free, op};
use crate::shape::run_time::{About, LENGTHS, tuples, values, within};
use crate::shape::value::{Element, Elements, Places, Tensor};
use crate::shape::{Dtype, spans};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, Span};
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[Gather::ALL, GatherElements::ALL, GatherND::ALL, Compress::ALL, OneHot::ALL, ReverseSequence::ALL];

pub(super) const KERNELS: Family = &free([
    op("Compress", compress).infers(at_load::rank),
    op("Gather", gather)
        .reads(Reads::Behind(1))
        .infers(gather_at_load)
        .span(spans::part)
        .is_settled_by_spans()
        .moves_integers()
        .at_run(&[within(1, Gather::C2, About::Axis)]),
    op("GatherElements", gather_elements)
        .infers(gather_elements_at_load)
        .span(spans::part)
        .is_settled_by_spans()
        .at_run(&[within(1, GatherElements::C3, About::Axis)]),
    op("GatherND", gather_nd)
        .infers(gather_nd_at_load)
        .span(spans::part)
        .is_settled_by_spans()
        .at_run(&[tuples(1, GatherND::C3)]),
    op("NonZero", non_zero).infers(at_load::rank),
    op("OneHot", one_hot).infers(at_load::rank).at_run(&[values(
        1,
        OneHot::C2,
        "the depth {} is at least 1",
    )]),
    op("ReverseSequence", reverse_sequence).infers(at_load::rank).at_run(&[values(
        1,
        ReverseSequence::C3,
        LENGTHS,
    )]),
]);

/// The most indices of one tensor that are computed from sizes and looked at.
const MAX_COMPUTED: usize = 64;

/// Requires literal indices, and those computed from sizes, to lie in a dimension: `-size <= index < size`. Other
/// indices are data.
pub(super) fn inside(
    cx: &mut Cx,
    indices: &Tensor,
    size: Expr,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let known: Vec<Element> = match &indices.elements {
        Some(Elements::Fill(element)) if indices.count() != Some(0) => vec![element.clone()],
        Some(Elements::List(list)) => list.to_vec(),
        _ => return spans::inside(cx, indices, indices.span(), size, clause),
    };
    // Of none there is no index that could be out of range.
    let count = cx.product(indices.shape.clone().unwrap_or_default());
    let none = cx.eq(count, 0);
    let (mut least, mut most) = (None, None);
    for index in known.iter().filter_map(|element| element.int()?.as_inline()) {
        least = Some(least.map_or(index, |least: i64| least.min(index)));
        most = Some(most.map_or(index, |most: i64| most.max(index)));
    }
    for bound in
        [least.filter(|&index| index < 0).map(|index| -index), most.map(|index| index.saturating_add(1))]
    {
        let Some(bound) = bound else { continue };
        let needed = cx.int(bound);
        let fits = cx.ge(size, needed);
        let fine = cx.any(&[none, fits]);
        cx.require(fine, clause, |cx| format!("an index is out of range for the size {}", cx.show(size)))?;
    }
    // Indices that are computed from sizes.
    let computed = known.iter().filter_map(Element::int).filter(|index| index.as_inline().is_none());
    for index in computed.take(MAX_COMPUTED) {
        if cx.env.hint_int(index).is_some() {
            spans::inside(cx, indices, Some(&Span::single(index)), size, clause)?;
        }
    }
    Ok(())
}

/// Requires the places in one tensor to be places in another: a mask is as large as what it chooses from, at most.
pub(super) fn places_inside(
    cx: &mut Cx,
    indices: &Tensor,
    sizes: &[Expr],
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let Some(places) = indices.places.as_ref().filter(|places| places.in_rows) else { return Ok(()) };
    if indices.elements.is_some() || places.sizes.len() != sizes.len() {
        return Ok(());
    }
    for (&size, &own) in sizes.iter().zip(&places.sizes) {
        let fits = cx.ge(size, own);
        cx.require(fits, clause, |cx| {
            format!("places along a size of {} are indices for one of {}", cx.show(own), cx.show(size))
        })?;
    }
    Ok(())
}

/// Requires literal indices not to count from the end.
pub(super) fn not_negative(call: &Checked, at: usize, clause: &'static OpClause) -> Result<(), KernelError> {
    let indices = call.given(at)?.ints().unwrap_or_default();
    let natural = indices.iter().all(|index| index.as_inline().is_none_or(|index| index >= 0));
    call.check(natural, clause, || "an index is negative".to_owned())
}

clauses! { Gather {
    C1 "`axis` is within the rank of `data`."
    C2 "`indices` are within the dimension `axis` of `data`."
} }

/// The slices of the data at the indices.
fn gather(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, taken) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let at = call.axis(call.int("axis", 0), sizes.len(), Gather::C1)?;
    let (data, indices) = (call.given(0)?, call.given(1)?);
    inside(cx, indices, sizes[at], Gather::C2)?;
    let shape = [&sizes[..at], &taken, &sizes[at + 1..]].concat();
    let mut result = call.output(0, shape)?;
    result.elements = match &data.elements {
        Some(Elements::Fill(element)) => Some(Elements::Fill(element.clone())),
        Some(Elements::List(_)) => taken_from(data, indices, at, &result),
        None => None,
    };
    Ok(vec![result.into()])
}

fn taken_from(data: &Tensor, indices: &Tensor, at: usize, result: &Tensor) -> Option<Elements> {
    let (data, indices) = (Grid::new(data)?, Grid::new(indices)?);
    let rank = indices.sizes().len();
    build(result.shape.as_deref()?, |index| {
        let place = place(indices.get(&index[at..at + rank])?, data.sizes()[at])?;
        data.get(&[&index[..at], &[place], &index[at + rank..]].concat()).cloned()
    })
}

clauses! { GatherElements {
    C1 "`data` and `indices` have the same rank, which is not 0, and `axis` is within it."
    C2 "`indices` is no larger than `data` in any dimension other than `axis`."
    C3 "`indices` are within the dimension `axis` of `data`."
} }

/// An element for each index.
fn gather_elements(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, taken) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(!sizes.is_empty() && sizes.len() == taken.len(), GatherElements::C1, || {
        format!("ranks {} and {} are to agree and not to be 0", sizes.len(), taken.len())
    })?;
    let at = call.axis(call.int("axis", 0), sizes.len(), GatherElements::C1)?;
    for (dim, (&size, &index)) in sizes.iter().zip(&taken).enumerate() {
        if dim != at && size != index {
            let fits = cx.le(index, size);
            cx.require(fits, GatherElements::C2, |cx| {
                format!("there are {} indices along a size of {}", cx.show(index), cx.show(size))
            })?;
        }
    }
    let (data, indices) = (call.given(0)?, call.given(1)?);
    inside(cx, indices, sizes[at], GatherElements::C3)?;
    let mut result = call.output(0, taken)?;
    result.elements = Grid::new(data).zip(Grid::new(indices)).and_then(|(data, indices)| {
        build(result.shape.as_deref()?, |index| {
            let mut from = Index::from_slice(index);
            from[at] = place(indices.get(index)?, data.sizes()[at])?;
            data.get(&from).cloned()
        })
    });
    Ok(vec![result.into()])
}

clauses! { GatherND {
    C1 "`batch_dims` is less than the rank of `data`, and at most that of `indices`. Both are not scalars."
    C2 "The last size of `indices` is at most the rank of `data` minus `batch_dims`."
    C3 "`indices` are within the dimensions of `data`, unless the result is empty."
    C4 "The number of index tuples is a multiple of the number of batches."
} }

/// Slices by index tuples.
pub(super) fn gather_nd(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, taken) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let batch = call.int("batch_dims", 0);
    let (rank, index_rank) = (sizes.len(), taken.len());
    call.check(rank > 0 && index_rank > 0, GatherND::C1, || "an operand is a scalar".to_owned())?;
    let fine = (0..rank as i64).contains(&batch) && batch <= index_rank as i64;
    call.check(fine, GatherND::C1, || format!("batch_dims is {batch} for ranks of {rank} and {index_rank}"))?;
    let batch = batch as usize;
    let (length, most) = (taken[index_rank - 1], rank - batch);
    let limit = cx.int(most as i64);
    let fits = cx.le(length, limit);
    cx.require(fits, GatherND::C2, |cx| format!("tuples of {} for {most} dimensions", cx.show(length)))?;
    let length = cx.literal(length, GatherND::C2)?;
    let fits = usize::try_from(length).is_ok_and(|length| length <= most);
    call.check(fits, GatherND::C2, || format!("tuples of {length} for {most} dimensions"))?;
    let length = length as usize;
    let result = [&taken[..index_rank - 1], &sizes[batch + length..]].concat();
    if batch > 0 {
        let (batches, tuples) =
            (cx.product(sizes[..batch].to_vec()), cx.product(taken[..index_rank - 1].to_vec()));
        if batches != tuples {
            let some = cx.gt(batches, 0);
            cx.require(some, GatherND::C4, |_| "there is no batch".to_owned())?;
            let rest = cx.modulo(tuples, batches);
            cx.require_eq(rest, Expr::ZERO, GatherND::C4, "tuples that are left over")?;
        }
    }
    if result.contains(&Expr::ZERO) {
        return call.one(result);
    }
    if let (Some(Elements::Fill(Element::Int(_))), _) | (_, 1) = (&call.given(1)?.elements, length) {
        for &size in &sizes[batch..batch + length] {
            inside(cx, call.given(1)?, size, GatherND::C3)?;
        }
    } else if let Some(list) = call.given(1)?.ints() {
        for (dim, &size) in sizes[batch..batch + length].iter().enumerate() {
            let column = list.iter().skip(dim).step_by(length).copied().collect();
            inside(cx, &Tensor::of_ints(Dtype::I64, column), size, GatherND::C3)?;
        }
    }
    let columns = call.given(1)?.spans.as_deref().filter(|spans| length > 1 && spans.len() == length);
    for (span, &size) in columns.unwrap_or_default().iter().zip(&sizes[batch..]) {
        spans::inside(cx, call.given(1)?, span.as_ref(), size, GatherND::C3)?;
    }
    places_inside(cx, call.given(1)?, &sizes[batch..batch + length], GatherND::C3)?;
    let mut result = call.output(0, result)?;
    if batch == 0 {
        result.elements = taken_slices(call, length, &result);
    }
    Ok(vec![result.into()])
}

/// The elements of [`gather_nd`] without batches, where they are followed.
fn taken_slices(call: &Checked, length: usize, result: &Tensor) -> Option<Elements> {
    let (data, tuples) = (Grid::new(call.tensor(0)?)?, Grid::new(call.tensor(1)?)?);
    let depth = tuples.sizes().len() - 1;
    build(result.shape.as_deref()?, |index| {
        let mut from = Vec::with_capacity(data.sizes().len());
        for part in 0..length {
            from.push(place(tuples.get(&[&index[..depth], &[part]].concat())?, data.sizes()[part])?);
        }
        from.extend(&index[depth..]);
        data.get(&from).cloned()
    })
}

/// The number of true elements of a list, and its length, if both are known.
fn true_count(cx: &mut Cx, tensor: &Tensor) -> Option<Expr> {
    if let Some(Elements::Fill(element)) = &tensor.elements {
        let condition = super::numbers::truth(cx, element)?.as_literal_bool()?;
        let count = cx.product(tensor.shape.clone()?);
        return Some(if condition { count } else { Expr::ZERO });
    }
    let mut count = Expr::ZERO;
    for element in tensor.list()?.iter() {
        let condition = super::numbers::truth(cx, element)?;
        let one = cx.pool().ite(condition, Expr::ONE, Expr::ZERO);
        count = cx.add(count, one);
    }
    Some(count)
}

/// `[rank, number of elements that are not 0]`; of a scalar `[1, ..]`.
fn non_zero(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let rank = cx.int(sizes.len().max(1) as i64);
    let count = match true_count(cx, call.given(0)?) {
        Some(count) => count,
        None => {
            let most = cx.product(sizes.clone());
            cx.unbacked_size(0, Some(most))
        }
    };
    if sizes.is_empty() {
        call.misinferred(cx);
    }
    let mut result = call.output(0, vec![rank, count])?;
    result.elements = true_places(cx, call.given(0)?, &result);
    result.places = (!sizes.is_empty()).then(|| Arc::new(Places { sizes, in_rows: false }));
    Ok(vec![result.into()])
}

/// What is known of [`gather`] when the model loads: the sizes, where those of the indices are, and those of the input or
/// that it is a list.
fn gather_at_load(call: &Call, rank: usize) -> AtLoad {
    let is_sized = |at: usize| call.tensor(at).is_some_and(Tensor::is_sized_at_load);
    let is_list = call.tensor(0).is_some_and(|x| {
        x.at_load.rank == Known::Yes && x.shape.as_ref().is_some_and(|shape| shape.len() == 1)
    });
    if is_sized(1) && (is_sized(0) || is_list) { AtLoad::SIZED } else { at_load::rank(call, rank) }
}

/// What is known of [`gather_elements`] when the model loads: the shape is that of the indices.
fn gather_elements_at_load(call: &Call, rank: usize) -> AtLoad {
    let is_sized = call.tensor(1).is_some_and(Tensor::is_sized_at_load);
    if is_sized { AtLoad::SIZED } else { at_load::rank(call, rank) }
}

/// What is known of [`gather_nd`] when the model loads: nothing of no dimensions.
fn gather_nd_at_load(call: &Call, rank: usize) -> AtLoad {
    if rank == 0 { AtLoad::default() } else { at_load::rank(call, rank) }
}

/// The indices of the elements that are not 0, where it is known which ones these are.
fn true_places(cx: &mut Cx, x: &Tensor, result: &Tensor) -> Option<Elements> {
    let grid = Grid::new(x)?;
    let mut places = Vec::new();
    for index in indices(grid.sizes()) {
        if super::numbers::truth(cx, grid.get(&index)?)?.as_literal_bool()? {
            places.push(index);
        }
    }
    build(result.shape.as_deref()?, |at| {
        let place = places.get(at[1])?.get(at[0]).copied().unwrap_or(0);
        Some(Element::Int(Expr::from(i32::try_from(place).ok()?)))
    })
}

clauses! { Compress {
    C1 "The input is not a scalar, and `axis` is within its rank."
} }

/// The slices at which the condition is true, of the flattened input where no axis is given.
fn compress(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, condition) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    // Only the inference of shapes refuses a scalar without an axis.
    let is_taken =
        !sizes.is_empty() || cx.on_cpu() && call.attribute("axis").is_none() && !call.infers_rank(0)?;
    call.check(is_taken, Compress::C1, || "the input is a scalar".to_owned())?;
    let at = match call.attribute("axis") {
        Some(_) => Some(call.axis(call.int("axis", 0), sizes.len(), Compress::C1)?),
        None => None,
    };
    let along = at.map_or_else(|| cx.product(sizes.clone()), |at| sizes[at]);
    let given = cx.product(condition);
    let most = cx.min(along, given);
    // A condition longer than the dimension is cut off.
    let flags = call.given(1)?;
    let cut = match (most.as_inline(), flags.list()) {
        (Some(most), Some(list)) => {
            let list = &list[..usize::try_from(most).map_or(0, |most| most.min(list.len()))];
            Some(Tensor::new(Dtype::Bool, vec![most_of(list.len())]).with(list))
        }
        _ => match &flags.elements {
            Some(Elements::Fill(element)) => {
                Some(Tensor::new(Dtype::Bool, vec![most]).filled(element.clone()))
            }
            _ => None,
        },
    };
    let count = match cut.and_then(|cut| true_count(cx, &cut)) {
        Some(count) => count,
        None => cx.unbacked_size(0, Some(most)),
    };
    let mut shape = sizes;
    match at {
        Some(at) => shape[at] = count,
        None => shape = vec![count],
    }
    let mut result = call.output(0, shape)?;
    result.elements = chosen(call, at, &result);
    Ok(vec![result.into()])
}

/// The elements of [`compress`], where it is known which ones are chosen.
fn chosen(call: &Checked, at: Option<usize>, result: &Tensor) -> Option<Elements> {
    let (list, data) = (call.tensor(1)?.list()?, call.tensor(0)?);
    let flags = list.iter().map(|flag| match flag {
        Element::Bool(condition) => condition.as_literal_bool(),
        _ => None,
    });
    let flags = flags.collect::<Option<Vec<bool>>>()?;
    let places: Vec<usize> = (0..flags.len()).filter(|&place| flags[place]).collect();
    let Some(at) = at else {
        let list = data.list()?;
        return build(result.shape.as_deref()?, |index| list.get(*places.get(index[0])?).cloned());
    };
    let data = Grid::new(data)?;
    build(result.shape.as_deref()?, |index| {
        let mut from = Index::from_slice(index);
        from[at] = *places.get(index[at])?;
        data.get(&from).cloned()
    })
}

fn most_of(length: usize) -> Expr {
    Expr::from(i32::try_from(length).unwrap_or(i32::MAX))
}

clauses! { OneHot {
    C1 "`depth` is one number."
    C2 "`depth` is positive."
    C3 "`values` has 2 elements, in 1 dimension."
    C4 "`axis` is within the rank of the result."
    C5 "`indices` is not a scalar."
} }

/// The indices with a new dimension of `depth`.
fn one_hot(cx: &mut Cx, call: &Checked) -> Outcome {
    let indices = call.shape(0)?.to_vec();
    call.check(!indices.is_empty(), OneHot::C5, || "the indices are a scalar".to_owned())?;
    let depth_shape = call.shape(1)?.to_vec();
    call.check(depth_shape.len() <= 1, OneHot::C1, || format!("the depth is of rank {}", depth_shape.len()))?;
    let count = cx.product(depth_shape);
    cx.require_eq(count, Expr::ONE, OneHot::C1, "the number of depths")?;
    let values = call.shape(2)?.to_vec();
    call.check(values.len() == 1, OneHot::C3, || format!("values have 1 dimension, not {}", values.len()))?;
    let two = cx.int(2);
    cx.require_eq(values[0], two, OneHot::C3, "the number of values")?;
    let rank = indices.len() + 1;
    let at = call.axis(call.int("axis", -1), rank, OneHot::C4)?;
    let depth = match call.given(1)?.single() {
        Some(Element::Int(depth)) => depth,
        Some(Element::Float(depth)) => cx.int(depth as i64),
        _ => cx.unbacked_size(0, None),
    };
    let natural = cx.gt(depth, 0);
    cx.require(natural, OneHot::C2, |cx| format!("the depth is {}", cx.show(depth)))?;
    let mut shape = indices;
    shape.insert(at, depth);
    call.one(shape)
}

clauses! { ReverseSequence {
    C1 "The input has at least 2 dimensions. Of `batch_axis` and `time_axis`, one is 0 and one is 1."
    C2 "`sequence_lens` has 1 dimension, with a length for each sequence."
    C3 "Sequence lengths are from 0 to the size of the time axis."
} }

/// Sequences turned round, each up to its length.
fn reverse_sequence(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, lengths) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(sizes.len() >= 2, ReverseSequence::C1, || format!("the rank is {}, below 2", sizes.len()))?;
    call.check(lengths.len() == 1, ReverseSequence::C2, || format!("lengths are of rank {}", lengths.len()))?;
    let (batch, time) = (call.int("batch_axis", 1), call.int("time_axis", 0));
    call.check(matches!((batch, time), (0, 1) | (1, 0)), ReverseSequence::C1, || {
        format!("axes are to be 0 and 1, not {batch} and {time}")
    })?;
    cx.require_eq(sizes[batch as usize], lengths[0], ReverseSequence::C2, "sequences and lengths")?;
    for length in call.given(1)?.ints().unwrap_or_default() {
        let (natural, fits) = (cx.ge(length, 0), cx.le(length, sizes[time as usize]));
        let fine = cx.all(&[natural, fits]);
        cx.require(fine, ReverseSequence::C3, |cx| {
            format!("a sequence has a length of {}", cx.show(length))
        })?;
    }
    call.one(sizes)
}
