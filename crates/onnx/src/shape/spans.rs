//! Where the elements of integer tensors lie that are as long as sizes say: positions `0 .. n - 1`.
//!
//! An index within such a span is a condition on sizes. It is exact where the ends of the span are elements; else it
//! says nothing unless it holds.
use super::call::{Attribute, Call};
use super::value::{Elements, Tensor, Value};
use super::{Dtype, numbers};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, Lookup, Reach, Span};

/// The most places of a last axis that are told apart.
const MAX_COLUMNS: usize = 8;

/// Requires elements that lie in a span to be indices of a dimension, if there are any.
pub(super) fn inside(
    cx: &mut Cx,
    indices: &Tensor,
    span: Option<&Span>,
    size: Expr,
    clause: &'static str,
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

/// Whether a call needs no more of the elements of its indices than what their spans say.
pub fn are_settled(cx: &mut Cx, call: &Call) -> bool {
    let (Some(Some(Value::Tensor(data))), Some(Some(Value::Tensor(indices)))) =
        (call.inputs.first(), call.inputs.get(1))
    else {
        return false;
    };
    let (Some(sizes), Some(spans)) = (&data.shape, &indices.spans) else { return false };
    let axis = integer(call, "axis").unwrap_or(0);
    let at = if axis < 0 { axis + sizes.len() as i64 } else { axis };
    let columns = match (call.domain, call.op) {
        ("", "Gather" | "GatherElements") => usize::try_from(at).ok().and_then(|at| sizes.get(at..=at)),
        ("", "GatherND") if integer(call, "batch_dims").is_none_or(|batch| batch == 0) => {
            sizes.get(..spans.len())
        }
        _ => None,
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
fn span(cx: &mut Cx, tensor: &Tensor) -> Option<Span> {
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

/// Notes where the elements of results lie, if they are integers that are not followed.
pub fn mark_spans(cx: &mut Cx, call: &Call, values: &mut [Option<Value>]) {
    let Some(Some(Value::Tensor(result))) = values.first_mut() else { return };
    if result.elements.is_some()
        || !matches!(result.dtype, Dtype::I64 | Dtype::I32)
        || !call.domain.is_empty()
    {
        return;
    }
    let found = match call.op {
        "Concat" => columns(cx, call, result),
        op => of_all(cx, call, op, result).map(|span| vec![Some(span)]),
    };
    // Ends that may wrap around say nothing.
    let holds = |span: &Span, cx: &mut Cx, dtype: Dtype| {
        [span.least, span.most].into_iter().all(|e| numbers::holds(cx, e, dtype))
    };
    let dtype = result.dtype;
    result.spans =
        found.filter(|spans| spans.iter().flatten().all(|span| holds(span, cx, dtype))).map(Into::into);
}

/// Where all elements of a result lie.
fn of_all(cx: &mut Cx, call: &Call, op: &str, result: &Tensor) -> Option<Span> {
    let tensor = |at: usize| call.inputs.get(at).copied().flatten().and_then(Value::tensor);
    match op {
        "Range" => {
            let start = tensor(0)?.single()?.int()?;
            let step = tensor(2).map_or(Some(Expr::ONE), |step| step.single()?.int())?;
            step.as_inline()?;
            let span = cx.steps_span(start, step, *result.shape.as_ref()?.first()?);
            span.map(|span| span.rearranged())
        }
        "Identity" | "Cast" | "Unsqueeze" | "Squeeze" | "Reshape" | "Flatten" | "Transpose" | "Expand"
        | "Tile" => {
            let of = tensor(0).filter(|x| matches!(x.dtype, Dtype::I64 | Dtype::I32))?;
            span(cx, of)
        }
        "ArgMax" | "ArgMin" => {
            let sizes = tensor(0)?.shape.as_ref()?;
            let axis = integer(call, "axis").unwrap_or(0);
            let at = if axis < 0 { axis + sizes.len() as i64 } else { axis };
            let most = cx.sub(*sizes.get(usize::try_from(at).ok()?)?, Expr::ONE);
            Some(Span { least: Expr::ZERO, most, reach: Reach::Within })
        }
        "Slice" | "Gather" | "GatherElements" | "GatherND" => Some(span(cx, tensor(0)?)?.part()),
        "Add" | "Sub" | "Mul" => {
            let (a, b) = (tensor(0)?, tensor(1)?);
            let apart = vary_apart(a, b);
            let (x, y) = (span(cx, a)?, span(cx, b)?);
            match op {
                "Add" => Some(cx.add_spans(&x, &y, apart)),
                "Sub" => {
                    let y = cx.negated_span(&y);
                    Some(cx.add_spans(&x, &y, apart))
                }
                _ => cx.multiply_spans(&x, &y, apart),
            }
        }
        _ => None,
    }
}

/// Whether every element of one tensor meets every element of the other: along no axis both have more than one.
fn vary_apart(a: &Tensor, b: &Tensor) -> bool {
    let (Some(a), Some(b)) = (&a.shape, &b.shape) else { return false };
    a.iter().rev().zip(b.iter().rev()).all(|(&a, &b)| a == Expr::ONE || b == Expr::ONE)
}

/// Where the elements lie that are put side by side along a last axis.
fn columns(cx: &mut Cx, call: &Call, result: &Tensor) -> Option<Vec<Option<Span>>> {
    let rank = result.shape.as_ref()?.len() as i64;
    let axis = integer(call, "axis")?;
    if axis != -1 && axis != rank - 1 {
        return None;
    }
    let mut found = Vec::with_capacity(call.inputs.len());
    for value in call.inputs {
        let tensor = value.and_then(Value::tensor)?;
        if tensor.shape.as_ref()?.last() != Some(&Expr::ONE) || found.len() == MAX_COLUMNS {
            return None;
        }
        found.push(span(cx, tensor));
    }
    (found.len() > 1 && found.iter().any(Option::is_some)).then_some(found)
}
