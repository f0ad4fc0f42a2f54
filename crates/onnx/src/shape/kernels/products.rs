//! How many products operators sum.
use crate::shape::call::Call;
use crate::shape::value::Tensor;
use crate::shape::work::{result, times};
use sizewise_expr::Expr;
use sizewise_kernels::Cx;

/// As many products as the result has elements, times the inner size.
pub(super) fn matrices(cx: &mut Cx, call: &Call, results: &[Option<&Tensor>]) -> Option<Expr> {
    let elements = times(cx, result(results)?);
    Some(cx.mul(elements, *call.sizes(0)?.last()?))
}

/// As [`matrices`], where the operand on the left may lie the other way.
pub(super) fn turned(cx: &mut Cx, call: &Call, results: &[Option<&Tensor>]) -> Option<Expr> {
    let (elements, sizes) = (times(cx, result(results)?), call.sizes(0)?);
    let back = if call.number("transA") == 0 { 1 } else { 2 };
    Some(cx.mul(elements, *sizes.get(sizes.len().checked_sub(back)?)?))
}

/// As many products as the weight has elements, at each place of the result.
pub(super) fn convolution(cx: &mut Cx, call: &Call, results: &[Option<&Tensor>]) -> Option<Expr> {
    at_each_place(cx, result(results)?, call.sizes(1)?)
}

/// As many products as the weight has elements, at each place of the input.
pub(super) fn transposed(cx: &mut Cx, call: &Call, _: &[Option<&Tensor>]) -> Option<Expr> {
    at_each_place(cx, call.sizes(0)?, call.sizes(1)?)
}

fn at_each_place(cx: &mut Cx, places: &[Expr], weight: &[Expr]) -> Option<Expr> {
    let (batch, spatial) = (places.first()?, places.get(2..)?);
    Some(times(cx, [batch].into_iter().chain(spatial).chain(weight)))
}

/// Each step of each item multiplies all elements of both weights. Lengths leave steps out.
pub(super) fn recurrent(cx: &mut Cx, call: &Call, _: &[Option<&Tensor>]) -> Option<Expr> {
    if call.has(4) {
        return None;
    }
    let (steps, w, r) = (call.sizes(0)?.get(..2)?, call.sizes(1)?, call.sizes(2)?);
    let (w, r) = (times(cx, w), times(cx, r));
    let (weights, steps) = (cx.add(w, r), times(cx, steps));
    Some(cx.mul(steps, weights))
}

/// Each query meets each key, and the scores each value, past ones included.
pub(super) fn attention(cx: &mut Cx, call: &Call, results: &[Option<&Tensor>]) -> Option<Expr> {
    let (query, key, made) = (call.sizes(0)?, call.sizes(1)?, result(results)?);
    let length = |sizes: &[Expr]| sizes.get(sizes.len().checked_sub(2)?).copied();
    let mut keys = length(key)?;
    if call.has(4) {
        keys = cx.add(keys, length(call.sizes(4)?)?);
    }
    let width = cx.add(*query.last()?, *made.last()?);
    let leading = query.get(..query.len().checked_sub(1)?)?;
    Some(times(cx, leading.iter().chain([&keys, &width])))
}
