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

/// Each coordinate of a place is the sum of as many products as there are coordinates, and one.
pub(super) fn grid(cx: &mut Cx, _: &Call, results: &[Option<&Tensor>]) -> Option<Expr> {
    let sizes = result(results)?;
    let (elements, terms) = (times(cx, sizes), cx.add(*sizes.last()?, Expr::ONE));
    Some(cx.mul(elements, terms))
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

/// Subscripts of an operand, one for each dimension; those of an ellipsis are numbered from behind.
fn subscripts(text: &str, rank: usize) -> Option<Vec<Subscript>> {
    let (before, behind) = text.split_once("...").unwrap_or((text, ""));
    let letters = |part: &str| part.chars().map(Subscript::Letter).collect::<Vec<_>>();
    let stands = rank.checked_sub(before.len() + behind.len())?;
    let inner = (0..stands).rev().map(Subscript::Inner);
    Some(letters(before).into_iter().chain(inner).chain(letters(behind)).collect())
}

/// A subscript of an equation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subscript {
    Letter(char),
    /// One that an ellipsis stands for, by its number from behind.
    Inner(usize),
}

/// The equation of two operands multiplies an element of each for all subscripts that both have or the result has, where it
/// sums over one that both have. Of more operands the order is not known.
pub(super) fn einsum(cx: &mut Cx, call: &Call, _: &[Option<&Tensor>]) -> Option<Expr> {
    let equation: String = call.text("equation").chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = equation.split_once("->").unwrap_or((&equation, ""));
    let operands: Vec<&str> = left.split(',').collect();
    let [a, b] = operands[..] else { return (operands.len() == 1).then_some(Expr::ZERO) };
    let [a, b] = [(a, call.sizes(0)?), (b, call.sizes(1)?)].map(|(text, sizes)| {
        Some(subscripts(text, sizes.len())?.into_iter().zip(sizes.iter().copied()).collect::<Vec<_>>())
    });
    let (a, b) = (a?, b?);
    let count = |letter: char| left.chars().filter(|c| *c == letter).count();
    // Without a result, subscripts that occur once are those of it.
    let stays = |subscript: Subscript| match subscript {
        Subscript::Letter(letter) if equation.contains("->") => right.contains(letter),
        Subscript::Letter(letter) => count(letter) == 1,
        Subscript::Inner(_) => !equation.contains("->") || right.contains("..."),
    };
    let mut sizes: Vec<(Subscript, Expr)> = Vec::new();
    let mut sums = false;
    for &(subscript, size) in a.iter().chain(&b) {
        let both = [&a, &b].iter().all(|of| of.iter().any(|(known, _)| *known == subscript));
        sums |= both && !stays(subscript);
        match sizes.iter_mut().find(|(known, _)| *known == subscript) {
            // A size of 1 is stretched.
            Some((_, known)) if *known == Expr::ONE => *known = size,
            Some(_) => {}
            None if both || stays(subscript) => sizes.push((subscript, size)),
            None => {}
        }
    }
    Some(if sums { times(cx, sizes.iter().map(|(_, size)| size)) } else { Expr::ZERO })
}

/// As [`attention`], where queries, keys and values may be packed in one input: `[batch, length, heads, 3, size]`.
pub(super) fn multi_head(cx: &mut Cx, call: &Call, results: &[Option<&Tensor>]) -> Option<Expr> {
    const PAST: usize = 6;
    let (query, made) = (call.sizes(0)?, result(results)?);
    let (batch, length, width) = (made.first()?, made.get(1)?, made.get(2)?);
    let mut keys = match call.sizes(1) {
        Some(&[_, _, keys, _]) => keys,
        Some(sizes) => *sizes.get(1)?,
        None if call.has(1) => return None,
        None => *length,
    };
    if call.has(PAST) {
        keys = cx.add(keys, *call.sizes(PAST)?.get(2)?);
    }
    // Keys are as wide as queries.
    let of_keys = if let &[_, _, width] = query { width } else { *width };
    let width = cx.add(of_keys, *width);
    Some(times(cx, [batch, length, &keys, &width]))
}
