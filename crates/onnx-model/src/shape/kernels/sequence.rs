//! Lists of tensors, and values that may be missing.
use super::Family;
use crate::shape::call::{Checked, Outcome, open};
use crate::shape::elements::{Grid, joined, stacked};
use crate::shape::op::{Counts, free, op};
use crate::shape::run_time::{About, POSITION, rule, values};
use crate::shape::value::{Element, Elements, Sequence, Tensor, Value};
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::{Expr, Func, Node};
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[items::ALL, SequenceEmpty::ALL, ConcatFromSequence::ALL, SplitToSequence::ALL, OptionalGetElement::ALL];

pub(super) const KERNELS: Family = &free([
    op("ConcatFromSequence", concat),
    op("Optional", optional).infers(at_load::rank),
    op("OptionalGetElement", optional_get),
    op("OptionalHasElement", optional_has).infers(at_load::rank),
    op("SequenceAt", at).at_run(&[rule(1, items::C2, About::Position, POSITION)]),
    op("SequenceConstruct", construct).infers(at_load::rank).counts(Counts::Node),
    op("SequenceEmpty", empty).infers(at_load::rank).counts(Counts::Node),
    op("SequenceErase", erase).infers(at_load::rank).counts(Counts::Items).at_run(&[rule(
        1,
        items::C2,
        About::Position,
        POSITION,
    )]),
    op("SequenceInsert", insert).infers(at_load::rank).counts(Counts::Items).at_run(&[rule(
        2,
        items::C2,
        About::Position,
        POSITION,
    )]),
    op("SequenceLength", length).infers(at_load::rank),
    op("SplitToSequence", split).infers(at_load::rank).counts(Counts::Elements(1)).at_run(&[values(
        1,
        SplitToSequence::C2,
        "the size {} is positive, or the sizes in {} are not negative and add up to the dimension",
    )]),
]);

/// The most parts that a tensor is split into one by one.
const MAX_PARTS: i64 = 1_024;

fn sequence<'c>(call: &Checked<'c, '_>) -> Result<&'c Sequence, KernelError> {
    match call.input(0) {
        Some(Value::Sequence(sequence)) => Ok(sequence),
        _ => Err(open(call.op(), "the items of a sequence")),
    }
}

/// The number of items, if it is known.
fn count(cx: &mut Cx, sequence: &Sequence) -> Option<Expr> {
    match &sequence.items {
        Some(items) => Some(cx.int(items.len() as i64)),
        None => sequence.count,
    }
}

fn placed(cx: &mut Cx, call: &Checked, input: usize, items: Expr) -> Result<(), KernelError> {
    let position = if call.has(input) {
        let tensor = call.given(input)?;
        call.shape(input)?;
        call.check(tensor.count() != Some(0), items::C1, || "there is no position".to_owned())?;
        let Some(Element::Int(position)) = tensor.single() else { return Ok(()) };
        position
    } else if call.op() == "SequenceErase" {
        cx.int(-1)
    } else {
        return Ok(());
    };
    let from_end = cx.add(position, items);
    let end = if call.op() == "SequenceInsert" { cx.add(items, 1) } else { items };
    let (low, high) = (cx.ge(from_end, 0), cx.lt(position, end));
    // A number is of one sign.
    let negative = cx.lt(position, 0);
    let fine = match cx.known(negative) {
        Some(true) => {
            parts_beyond(cx, items, position.as_inline().map(|at| at.saturating_neg() - 1)).unwrap_or(low)
        }
        Some(false) if end == items => parts_beyond(cx, items, position.as_inline()).unwrap_or(high),
        Some(false) => high,
        None => cx.all(&[low, high]),
    };
    cx.require(fine, items::C2, |cx| {
        format!("position {} of a sequence of {}", cx.show(position), cx.show(items))
    })
}

/// That a tensor is cut into more parts than `least`, where their number is that of parts of a positive size: then the
/// tensor is larger than so many of them.
fn parts_beyond(cx: &mut Cx, parts: Expr, least: Option<i64>) -> Option<Expr> {
    let pool = cx.pool();
    let poly = pool.poly(parts);
    let [(quotient, factor)] = poly.terms.as_slice() else { return None };
    let is_rounded_up = poly.constant.is_zero() && *factor == (-1).into();
    let (less, size) = match pool.node(*quotient) {
        Some(Node::Call(Func::FloorDiv, args)) if is_rounded_up => (*args.first()?, *args.get(1)?),
        _ => return None,
    };
    let (whole, least) = (cx.mul(less, -1), cx.int(least?));
    let positive = cx.ge(size, 1);
    let taken = cx.mul(size, least);
    cx.surely(positive).then(|| cx.gt(whole, taken))
}

clauses! { items "Sequence" {
    C1 "The position is one number."
    C2 "The position is within the sequence. That of an insertion may be its end."
    C3 "The inserted tensor has the element type of the sequence."
} }

/// A position in a sequence, or `None` where it is not known: counted from the end when negative.
fn place(cx: &mut Cx, call: &Checked, input: usize, end: usize) -> Result<Option<usize>, KernelError> {
    let tensor = call.given(input)?;
    call.shape(input)?;
    call.check(tensor.count() != Some(0), items::C1, || "there is no position".to_owned())?;
    let Some(Element::Int(position)) = tensor.single() else { return Ok(None) };
    let position = cx.literal(position, items::C1)?;
    let span = end as i64;
    let items = match call.op() {
        "SequenceInsert" => span - 1,
        _ => span,
    };
    let fine = (-items..span).contains(&position);
    call.check(fine, items::C2, || format!("position {position} of a sequence of {items}"))?;
    Ok(Some(if position < 0 { position + items } else { position } as usize))
}

/// A tensor of unknown rank where nothing more is known of an item.
fn item(dtype: Dtype) -> Value {
    Tensor::unranked(dtype).into()
}

fn at(cx: &mut Cx, call: &Checked) -> Outcome {
    let sequence = sequence(call)?;
    let Some(items) = &sequence.items else {
        if let Some(count) = sequence.count {
            placed(cx, call, 1, count)?;
        }
        return Ok(vec![item(sequence.dtype)]);
    };
    match place(cx, call, 1, items.len())? {
        Some(place) => Ok(items.get(place).cloned().map(Value::from).into_iter().collect()),
        None => Ok(vec![item(sequence.dtype)]),
    }
}

fn construct(_: &mut Cx, call: &Checked) -> Outcome {
    let items: Vec<Tensor> = (0..call.count()).map(|at| call.given(at).cloned()).collect::<Result<_, _>>()?;
    let dtype = items[0].dtype;
    Ok(vec![Value::Sequence(Sequence::of(dtype, items))])
}

clauses! { SequenceEmpty {
    C1 "`dtype` is a type that a sequence may have."
} }

fn empty(_: &mut Cx, call: &Checked) -> Outcome {
    let dtype = Dtype::from_number(call.int("dtype", 1));
    let dtype = dtype
        .filter(|dtype| call.schema.outputs.formals[0].types.allow_name(&format!("seq({})", dtype.name())));
    let refused = || KernelError::invalid(SequenceEmpty::C1, "no sequence has items of this type");
    Ok(vec![Value::Sequence(Sequence::of(dtype.ok_or_else(refused)?, Vec::new()))])
}

fn erase(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut sequence = sequence(call)?.clone();
    let before = count(cx, &sequence);
    if let Some(items) = &mut sequence.items {
        let place = match call.has(1) {
            true => place(cx, call, 1, items.len())?,
            false => {
                call.check(!items.is_empty(), items::C2, || "the sequence is empty".to_owned())?;
                Some(items.len() - 1)
            }
        };
        match place {
            Some(place) => drop(items.remove(place)),
            None => sequence.items = None,
        }
    } else if let Some(count) = before {
        placed(cx, call, 1, count)?;
    }
    sequence.count = before.filter(|_| sequence.items.is_none()).map(|count| cx.sub(count, 1));
    Ok(vec![Value::Sequence(sequence)])
}

fn insert(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut sequence = sequence(call)?.clone();
    let tensor = call.given(1)?;
    call.check(tensor.dtype == sequence.dtype, items::C3, || "the item is of another type".to_owned())?;
    let before = count(cx, &sequence);
    if let Some(items) = &mut sequence.items {
        let place = match call.has(2) {
            true => place(cx, call, 2, items.len() + 1)?,
            false => Some(items.len()),
        };
        match place {
            Some(place) => items.insert(place, tensor.clone()),
            None => sequence.items = None,
        }
    } else if let Some(count) = before {
        placed(cx, call, 2, count)?;
    }
    sequence.count = before.filter(|_| sequence.items.is_none()).map(|count| cx.add(count, 1));
    Ok(vec![Value::Sequence(sequence)])
}

fn length(cx: &mut Cx, call: &Checked) -> Outcome {
    let result = call.output(0, Vec::new())?;
    Ok(vec![match count(cx, sequence(call)?) {
        Some(count) => result.with(vec![Element::Int(count)]).into(),
        None => result.into(),
    }])
}

clauses! { ConcatFromSequence {
    C1 "The sequence is not empty."
    C2 "The tensors of the sequence have the same rank. `axis` is within that of the result."
    C3 "The tensors of the sequence have the same sizes, except along `axis`."
} }

/// The items one behind the other, along a new axis with `new_axis`.
fn concat(cx: &mut Cx, call: &Checked) -> Outcome {
    let sequence = sequence(call)?;
    let axis = call.int("axis", 0);
    let new = call.int("new_axis", 0) != 0;
    let Some(items) = &sequence.items else {
        if let Some(count) = sequence.count {
            let some = cx.ge(count, 1);
            cx.require(some, ConcatFromSequence::C1, |_| "the sequence is empty".to_owned())?;
        }
        return Ok(vec![item(sequence.dtype)]);
    };
    call.check(!items.is_empty(), ConcatFromSequence::C1, || "the sequence is empty".to_owned())?;
    let shapes: Option<Vec<&Vec<Expr>>> = items.iter().map(|tensor| tensor.shape.as_ref()).collect();
    let Some(shapes) = shapes else { return Err(open(call.op(), "the rank of an item")) };
    // onnxruntime looks at the sizes of what is not empty.
    let is_empty = |shape: &[Expr]| shape.contains(&Expr::ZERO);
    let lead = shapes.iter().position(|shape| !is_empty(shape)).unwrap_or(0);
    let mut shape = shapes[lead].clone();
    let at = call.axis(axis, shape.len() + usize::from(new), ConcatFromSequence::C2)?;
    let mut along = if new { cx.int(shapes.len() as i64) } else { shape[at] };
    for (_, other) in shapes.iter().enumerate().filter(|(item, _)| *item != lead) {
        let skipped = cx.on_cpu() && is_empty(other);
        let fits = other.len() == shape.len() || skipped && other.len() > shape.len();
        call.check(fits, ConcatFromSequence::C2, || "ranks differ".to_owned())?;
        for (dim, (&a, &b)) in shape.iter().zip(other.iter()).enumerate() {
            if !new && dim == at {
                along = cx.add(along, b);
            } else if !skipped {
                cx.require_eq(a, b, ConcatFromSequence::C3, "sizes beside the axis")?;
            }
        }
    }
    let rank = shape.len();
    if new {
        shape.insert(at, along);
    } else {
        shape[at] = along;
    }
    let mut result = Tensor::new(sequence.dtype, shape);
    let parts: Vec<&Tensor> = items.iter().collect();
    if parts.iter().all(|part| part.shape.as_ref().is_some_and(|sizes| sizes.len() == rank)) {
        result.elements = if new { stacked(&parts, at, &result) } else { joined(&parts, at, &result) };
    }
    Ok(vec![result.into()])
}

/// How a tensor is split along an axis.
enum Cut {
    /// Into parts of these sizes.
    Into(Vec<Expr>),
    /// Into so many parts, where this is known, which are not followed.
    Open(Option<Expr>),
}

clauses! { SplitToSequence {
    C1 "`axis` is within the rank of the input."
    C2 "`split` is a positive scalar, or a list of sizes that add up to the dimension. Sizes in a list are \
        not negative. Parts of a scalar size of more than 1 keep the dimension."
} }

/// Parts along an axis as a sequence: of a size (the last one smaller), of given sizes, or of size 1, whose dimension is
/// dropped without `keepdims`. onnxruntime takes an empty list of sizes as none.
fn split(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let dtype = call.given(0)?.dtype;
    let at = call.axis(call.int("axis", 0), sizes.len(), SplitToSequence::C1)?;
    let given = call.tensor(1).filter(|tensor| tensor.count() != Some(0));
    let rank = given.and_then(|tensor| tensor.shape.as_ref()).map_or(0, Vec::len);
    call.check(rank <= 1 || cx.on_cpu(), SplitToSequence::C2, || format!("sizes are of rank {rank}"))?;
    let is_stated = !cx.on_cpu() || given.is_some() || !call.is_in_file(1);
    call.check(is_stated, SplitToSequence::C2, || "the file has an empty list of sizes".to_owned())?;
    let scalar = rank == 0;
    let keep = !scalar || call.int("keepdims", 1) != 0;
    let cut = match given {
        None => match sizes[at].as_inline().filter(|&size| (0..=MAX_PARTS).contains(&size)) {
            Some(size) => Cut::Into(vec![Expr::ONE; size as usize]),
            None => Cut::Open(Some(sizes[at])),
        },
        Some(tensor) if call.shape(1)?.is_empty() => into_equal(cx, tensor, sizes[at], keep)?,
        Some(tensor) => into_given(cx, call, tensor, sizes[at])?,
    };
    let lengths = match cut {
        Cut::Into(lengths) => lengths,
        Cut::Open(count) => return Ok(vec![Value::Sequence(Sequence::open(dtype, count))]),
    };
    let (x, mut from) = (Grid::new(call.given(0)?), Some(0));
    let mut items = Vec::with_capacity(lengths.len());
    for length in lengths {
        let mut shape = sizes.clone();
        shape[at] = length;
        let elements = x.as_ref().zip(from).and_then(|(x, from)| x.part(at, from, &shape));
        from = from.and_then(|from: usize| from.checked_add(usize::try_from(length.as_inline()?).ok()?));
        if !keep {
            shape.remove(at);
        }
        items.push(Tensor { elements, ..Tensor::new(dtype, shape) });
    }
    Ok(vec![Value::Sequence(Sequence::of(dtype, items))])
}

fn into_equal(cx: &mut Cx, given: &Tensor, size: Expr, keep: bool) -> Result<Cut, KernelError> {
    let Some(step) = given.ints() else { return Ok(Cut::Open(None)) };
    let step = step[0];
    let positive = cx.ge(step, 1);
    cx.require(positive, SplitToSequence::C2, |cx| format!("a size is {}", cx.show(step)))?;
    if !keep {
        // The only part of a size of 1 is one, too.
        let (one, short) = (cx.eq(step, 1), cx.le(size, 1));
        let one = cx.any(&[one, short]);
        cx.require(one, SplitToSequence::C2, |cx| format!("parts of {} have a dimension", cx.show(step)))?;
    }
    let sizes = step.as_inline().zip(size.as_inline());
    let Some((step, literal)) = sizes.filter(|(step, size)| size / step <= MAX_PARTS) else {
        return Ok(Cut::Open(Some(cx.ceil_div(size, step))));
    };
    let starts = (0..literal).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    Ok(Cut::Into(starts.map(|start| cx.int(step.min(literal - start))).collect()))
}

fn into_given(cx: &mut Cx, call: &Checked, given: &Tensor, size: Expr) -> Result<Cut, KernelError> {
    let parts = cx.product(call.shape(1)?.to_vec());
    let Some(count) = parts.as_inline().filter(|&count| count <= MAX_PARTS) else {
        let none = cx.eq(parts, 0);
        let sum = match &given.elements {
            Some(Elements::Fill(Element::Int(part))) => cx.mul(*part, parts),
            _ => cx.unbacked_size(0, None),
        };
        let adds_up = cx.eq(sum, size);
        let fine = cx.any(&[none, adds_up]);
        cx.require(fine, SplitToSequence::C2, |cx| {
            format!("the sum of the sizes and the dimension: {} != {}", cx.show(sum), cx.show(size))
        })?;
        return Ok(Cut::Open(Some(cx.pool().ite(none, size, parts))));
    };
    let list = given.list_of(count as usize).unwrap_or_else(|| vec![Element::Open; count as usize].into());
    let list: Vec<Expr> =
        list.iter().map(|element| element.int().unwrap_or_else(|| cx.unbacked_size(0, None))).collect();
    let sum = cx.sum(list.clone());
    cx.require_eq(sum, size, SplitToSequence::C2, "the sum of the sizes and the dimension")?;
    for &size in &list {
        let natural = cx.ge(size, 0);
        cx.require(natural, SplitToSequence::C2, |cx| format!("a size is {}", cx.show(size)))?;
    }
    Ok(Cut::Into(list))
}

fn optional(_: &mut Cx, call: &Checked) -> Outcome {
    let Some(value) = call.input(0) else { return Err(open(call.op(), "a type")) };
    Ok(vec![Value::Optional(Some(Box::new(value.clone())), value.type_name().as_ref().into())])
}

clauses! { OptionalGetElement {
    C1 "The optional value is present."
} }

fn optional_get(_: &mut Cx, call: &Checked) -> Outcome {
    match call.input(0) {
        Some(Value::Optional(Some(value), _)) => Ok(vec![(**value).clone()]),
        Some(Value::Optional(None, _)) | None => {
            Err(KernelError::invalid(OptionalGetElement::C1, "the optional value is not there"))
        }
        Some(value) => Ok(vec![value.clone()]),
    }
}

fn optional_has(cx: &mut Cx, call: &Checked) -> Outcome {
    let has = !matches!(call.input(0), None | Some(Value::Optional(None, _)));
    let truth = cx.pool().bool(has);
    Ok(vec![call.output(0, Vec::new())?.with(vec![Element::Bool(truth)]).into()])
}
