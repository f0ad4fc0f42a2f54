//! Dimensions of size 1, added and taken away.
use super::Family;
use super::layout::kept;
use crate::shape::at_load::{self, AtLoad};
use crate::shape::call::{Call, Checked, Outcome};
use crate::shape::op::{Reads, free, op};
use crate::shape::spans::{self};
use crate::shape::value::Tensor;
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Unsqueeze::ALL, Axes::ALL, Squeeze::ALL];

pub(super) const KERNELS: Family = &free([
    op("Squeeze", squeeze).is_view().reads(Reads::Behind(1)).infers(squeeze_at_load).span(spans::same),
    op("Unsqueeze", unsqueeze)
        .is_view()
        .reads(Reads::Behind(1))
        .infers(at_load::read)
        .span(spans::same)
        .moves_integers(),
]);

/// Conditions that decide what a node makes, and require nothing.
pub(super) const WAYS: &[&OpClause] = &[Squeeze::C3];

clauses! { Unsqueeze {
    C1 "`axes` are distinct and within the rank of the result."
} }

fn unsqueeze(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let axes = axes(cx, call)?.unwrap_or_default();
    axes_at_load(cx, call, &axes);
    let rank = sizes.len() + axes.len();
    let mut added = vec![false; rank];
    for axis in axes {
        let at = call.axis(axis, rank, Unsqueeze::C1)?;
        call.check(!std::mem::replace(&mut added[at], true), Unsqueeze::C1, || {
            format!("axis {at} is named twice")
        })?;
    }
    let mut rest = sizes.into_iter();
    let shape =
        added.iter().map(|&new| if new { Some(Expr::ONE) } else { rest.next() }).collect::<Option<_>>();
    Ok(vec![kept(call.given(0)?, call.output(0, shape.unwrap_or_default())?)])
}

clauses! { Axes {
    C1 "`axes` has 1 dimension."
} }

fn axes(cx: &mut Cx, call: &Checked) -> Result<Option<Vec<i64>>, KernelError> {
    if let Some(tensor) = call.tensor(1)
        && let Some(shape) = &tensor.shape
    {
        let fine = shape.len() == 1 || shape.is_empty() && call.op() == "Unsqueeze";
        call.check(fine, Axes::C1, || format!("axes are to have 1 dimension, not {}", shape.len()))?;
    }
    call.list(cx, "axes", 1, Axes::C1)
}

clauses! { Squeeze {
    C1 "`axes` are within the rank of the input."
    C2 "The squeezed dimensions have size 1."
    C3 "Whether a size is 1, which decides if the dimension is dropped without `axes`."
} }

/// The input without dimensions of size 1.
fn squeeze(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let axes = axes(cx, call)?;
    let mut dropped = vec![false; sizes.len()];
    match axes.filter(|axes| !axes.is_empty()) {
        Some(axes) => {
            axes_at_load(cx, call, &axes);
            for axis in axes {
                let at = call.axis(axis, sizes.len(), Squeeze::C1)?;
                cx.require_eq(sizes[at], Expr::ONE, Squeeze::C2, "the size of a squeezed dimension")?;
                dropped[at] = true;
            }
        }
        None => {
            for (at, &size) in sizes.iter().enumerate() {
                let one = cx.eq(size, 1);
                dropped[at] = cx.branch(one, Squeeze::C3)?;
            }
        }
    }
    let shape = sizes.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(&size, _)| size).collect();
    Ok(vec![kept(call.given(0)?, call.output(0, shape)?)])
}

/// What is known when the model loads of what is left without dimensions. Which sizes are 1 is not inferred of sizes that are
/// no numbers.
fn squeeze_at_load(call: &Call, rank: usize) -> AtLoad {
    let drops_any = call.inputs.len() < 2 && call.attributes.is_empty();
    let is_sized = call.tensor(0).is_some_and(Tensor::is_sized_at_load);
    if drops_any && !is_sized { AtLoad::default() } else { at_load::read(call, rank) }
}

/// Notes that the inference of shapes finds no negative axes before version 11.
fn axes_at_load(cx: &Cx, call: &Checked, axes: &[i64]) {
    if call.since() < 11 && axes.iter().any(|&axis| axis < 0) {
        call.misinferred(cx);
    }
}
