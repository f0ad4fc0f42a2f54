//! Broadcasting, where data may decide a size.
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The shape in which shapes meet, aligned at the last dimension.
///
/// Sizes meet as [`Cx::broadcast_size`] says. A size that data decide is of no example: where it meets another, they are
/// equal or one of them is 1, and which one is 1 decides the result.
pub(super) fn meet<'s>(
    cx: &mut Cx,
    shapes: impl IntoIterator<Item = &'s [Expr]>,
    clause: &'static OpClause,
) -> Result<Vec<Expr>, KernelError> {
    let mut result: Vec<Expr> = Vec::new();
    for shape in shapes {
        if shape.len() > result.len() {
            let missing = shape.len() - result.len();
            result.splice(0..0, std::iter::repeat_n(Expr::ONE, missing));
        }
        let shift = result.len() - shape.len();
        for (met, &size) in result[shift..].iter_mut().zip(shape) {
            *met = meet_sizes(cx, *met, size, clause)?;
        }
    }
    Ok(result)
}

/// The size in which two sizes meet.
pub(super) fn meet_sizes(
    cx: &mut Cx,
    a: Expr,
    b: Expr,
    clause: &'static OpClause,
) -> Result<Expr, KernelError> {
    let is_open = |cx: &mut Cx, size: Expr| size.as_inline().is_none() && cx.env.hint(size).is_none();
    if a == b || a == Expr::ONE || b == Expr::ONE || !is_open(cx, a) && !is_open(cx, b) {
        return meet_as_in_example(cx, a, b, clause);
    }
    let (a_is_one, b_is_one, equal) = (cx.eq(a, 1), cx.eq(b, 1), cx.eq(a, b));
    let (a_known, b_known) = (cx.known(a_is_one), cx.known(b_is_one));
    match (a_known, b_known) {
        (Some(true), _) => return Ok(b),
        (_, Some(true)) => return Ok(a),
        _ => {}
    }
    let fine = cx.any(&[equal, a_is_one, b_is_one]);
    cx.require(fine, clause, |cx| {
        format!("sizes {} and {} neither agree nor is one of them 1", cx.show(a), cx.show(b))
    })?;
    Ok(match (a_known, b_known) {
        (Some(false), _) => a,
        (_, Some(false)) => b,
        _ => cx.pool().ite(a_is_one, b, a),
    })
}

/// The size in which two sizes of an example meet. A size that is not 1 there may be 1 elsewhere: that is noted of the condition.
fn meet_as_in_example(cx: &mut Cx, a: Expr, b: Expr, clause: &'static OpClause) -> Result<Expr, KernelError> {
    let known = cx.env.guards().len();
    let met = cx.broadcast_size(a, b, clause);
    let condition = match &met {
        Ok(_) => cx.env.guards().get(known).map(|guard| guard.condition),
        Err(KernelError::Invalid { condition, .. }) => *condition,
        Err(_) => None,
    };
    if let Some(condition) = condition {
        let ways = [cx.eq(a, b), cx.eq(a, 1), cx.eq(b, 1)];
        let full = cx.any(&ways);
        cx.env.note_in_full(condition, full);
    }
    met
}

/// A quotient that has to be exact.
pub(super) fn exactly(cx: &mut Cx, a: Expr, b: Expr, clause: &'static OpClause) -> Result<Expr, KernelError> {
    let remainder = cx.modulo(a, b);
    cx.require_eq(remainder, Expr::ZERO, clause, "what heads leave over")?;
    Ok(cx.floor_div(a, b))
}
