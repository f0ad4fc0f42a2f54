//! Where the elements of integer tensors lie that are as long as sizes say: positions `0 .. n - 1`.
//!
//! An index within such a span is a condition on sizes. It is exact where the ends of the span are elements; else it
//! says nothing unless it holds.
use super::Dtype;
use super::call::{Attribute, Call};
use super::value::{Elements, Tensor, Value};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, Lookup, Reach, Span};

/// The most places of a last axis that are told apart.
const MAX_COLUMNS: usize = 8;

/// Numbers that are computed from sizes are followed if they fit into their type at sizes up to these: in 64 and in 32
/// bits. That larger sizes do not make them wrap around is a condition of the model.
const USUAL_SIZES: (i64, i64) = (4_096, 1_024);

/// Whether an integer type can hold a value.
pub fn holds(cx: &mut Cx, e: Expr, dtype: Dtype) -> bool {
    let Some((least, most)) = dtype.integer_range() else { return false };
    match cx.pool().as_int(e) {
        Some(value) => value.to_i64().is_some_and(|value| (least..=most).contains(&i128::from(value))),
        None => match dtype {
            Dtype::I64 => cx.fits_up_to(e, (i64::MIN, i64::MAX), USUAL_SIZES.0),
            Dtype::I32 => cx.fits_up_to(e, (i32::MIN.into(), i32::MAX.into()), USUAL_SIZES.1),
            _ => false,
        },
    }
}

/// Requires elements that lie in a span to be indices of a dimension, if there are any.
pub(super) fn inside(
    cx: &mut Cx,
    indices: &Tensor,
    span: Option<&Span>,
    size: Expr,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let nothing = match (span, &indices.shape) {
        (Some(_), Some(sizes)) => cx.without_elements(sizes),
        _ => return Ok(()),
    };
    let lookup = Lookup { size, from_end: true, nothing: &nothing, what: "elements of the axis" };
    cx.require_span(span, &lookup, clause)
}

/// An integer attribute of a call.
pub(super) fn integer(call: &Call, name: &str) -> Option<i64> {
    call.attributes.iter().find_map(|(known, value)| match value {
        Attribute::Int(value) if *known == name => Some(*value),
        _ => None,
    })
}

/// Whether a call needs no more of the elements of its indices than what their spans say; `in_tuples`: they are of several
/// dimensions.
pub fn are_settled(cx: &mut Cx, call: &Call, in_tuples: bool) -> bool {
    let (Some(data), Some(indices)) = (call.tensor(0), call.tensor(1)) else { return false };
    let (Some(sizes), Some(spans)) = (&data.shape, &indices.spans) else { return false };
    let axis = integer(call, "axis").unwrap_or(0);
    let at = if axis < 0 { axis + sizes.len() as i64 } else { axis };
    let columns = match in_tuples {
        false => usize::try_from(at).ok().and_then(|at| sizes.get(at..=at)),
        true if integer(call, "batch_dims").is_none_or(|batch| batch == 0) => sizes.get(..spans.len()),
        true => None,
    };
    let Some(columns) = columns.filter(|columns| columns.len() == spans.len()) else { return false };
    spans.iter().zip(columns).all(|(span, &size)| {
        span.as_ref().is_some_and(|span| {
            span.is_attained() || {
                let fits = cx.is_index(span, size, true);
                cx.surely(fits)
            }
        })
    })
}

/// Where the elements of a tensor lie.
pub(super) fn span(cx: &mut Cx, tensor: &Tensor) -> Option<Span> {
    match &tensor.elements {
        None => tensor.span().cloned(),
        Some(Elements::Fill(element)) => element.int().map(Span::single),
        Some(Elements::List(list)) if list.len() == 1 => list[0].int().map(Span::single),
        Some(Elements::List(list)) => {
            let ints: Vec<i64> = list.iter().map(|e| e.int()?.as_inline()).collect::<Option<_>>()?;
            let (&least, &most) = (ints.iter().min()?, ints.iter().max()?);
            Some(Span { least: cx.int(least), most: cx.int(most), reach: Reach::Ends })
        }
    }
}

/// Where the integers of a result lie that are not followed: all of them, or those at each place of the last axis.
pub type SpanOf = fn(&mut Cx, &Call, &Tensor) -> Option<Vec<Option<Span>>>;

/// Notes where the elements of results lie, if they are integers that are not followed.
pub fn mark_spans(cx: &mut Cx, call: &Call, span_of: SpanOf, values: &mut [Option<Value>]) {
    let Some(Some(Value::Tensor(result))) = values.first_mut() else { return };
    if result.elements.is_some() || !has_integers(result) {
        return;
    }
    // Ends that may wrap around say nothing.
    let all_hold = |span: &Span, cx: &mut Cx, dtype: Dtype| {
        [span.least, span.most].into_iter().all(|e| holds(cx, e, dtype))
    };
    let (found, dtype) = (span_of(cx, call, result), result.dtype);
    result.spans =
        found.filter(|spans| spans.iter().flatten().all(|span| all_hold(span, cx, dtype))).map(Into::into);
}

fn has_integers(tensor: &Tensor) -> bool {
    matches!(tensor.dtype, Dtype::I64 | Dtype::I32)
}

/// The result has the elements of input 0.
pub fn same(cx: &mut Cx, call: &Call, _: &Tensor) -> Option<Vec<Option<Span>>> {
    let of = call.tensor(0).filter(|x| has_integers(x))?;
    Some(vec![Some(span(cx, of)?)])
}

/// The result has some of the elements of input 0.
pub fn part(cx: &mut Cx, call: &Call, _: &Tensor) -> Option<Vec<Option<Span>>> {
    Some(vec![Some(span(cx, call.tensor(0)?)?.part())])
}

/// The result has combinations of the elements of two inputs; whether every one meets every other is told as well.
pub fn combined(
    cx: &mut Cx,
    call: &Call,
    combine: impl FnOnce(&mut Cx, &Span, &Span, bool) -> Option<Span>,
) -> Option<Vec<Option<Span>>> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let apart = vary_apart(a, b);
    let (x, y) = (span(cx, a)?, span(cx, b)?);
    Some(vec![Some(combine(cx, &x, &y, apart)?)])
}

/// Whether every element of one tensor meets every element of the other: along no axis both have more than one.
fn vary_apart(a: &Tensor, b: &Tensor) -> bool {
    let (Some(a), Some(b)) = (&a.shape, &b.shape) else { return false };
    a.iter().rev().zip(b.iter().rev()).all(|(&a, &b)| a == Expr::ONE || b == Expr::ONE)
}

/// The inputs are put side by side along the last axis.
pub fn columns(cx: &mut Cx, call: &Call, result: &Tensor) -> Option<Vec<Option<Span>>> {
    let rank = result.shape.as_ref()?.len() as i64;
    let axis = integer(call, "axis")?;
    if axis != -1 && axis != rank - 1 {
        return None;
    }
    let mut found = Vec::with_capacity(call.inputs.len());
    for tensor in call.tensors(0) {
        let tensor = tensor?;
        if tensor.shape.as_ref()?.last() != Some(&Expr::ONE) || found.len() == MAX_COLUMNS {
            return None;
        }
        found.push(span(cx, tensor));
    }
    (found.len() > 1 && found.iter().any(Option::is_some)).then_some(found)
}
