//! Operators that write elements by their indices.
use super::Family;
use super::gather::inside;
use crate::shape::call::{Checked, Outcome};
use crate::shape::elements::{Grid, indices, place};
use crate::shape::op::{free, op};
use crate::shape::run_time::{About, tuples, values, within};
use crate::shape::value::{Elements, Tensor};
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::Cx;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[ScatterElements::ALL, ScatterND::ALL, TensorScatter::ALL];

pub(super) const KERNELS: Family = &free([
    op("Scatter", scatter_elements).infers(at_load::rank).at_run(&[within(1, ScatterElements::C4, About::Axis)]),
    op("ScatterElements", scatter_elements).infers(at_load::same).at_run(&[within(1, ScatterElements::C4, About::Axis)]),
    op("ScatterND", scatter_nd).infers(at_load::same).at_run(&[tuples(1, ScatterND::C4)]),
    op("TensorScatter", tensor_scatter).infers(at_load::rank).at_run(&[values(2, TensorScatter::C3, "no index in {} is negative, and the updates fit into the cache from it on unless the mode is circular")]),
]);

clauses! { ScatterElements {
    C1 "`data` and `indices` have the same rank, which is not 0, and `axis` is within it."
    C2 "`indices` and `updates` have the same shape."
    C3 "`indices` is no larger than `data` in any dimension other than `axis`."
    C4 "`indices` are within the dimension `axis` of `data`."
} }

/// The data with updates written.
fn scatter_elements(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, indices, updates) =
        (call.shape(0)?.to_vec(), call.shape(1)?.to_vec(), call.shape(2)?.to_vec());
    call.check(!sizes.is_empty() && sizes.len() == indices.len(), ScatterElements::C1, || {
        format!("ranks {} and {} are to agree and not to be 0", sizes.len(), indices.len())
    })?;
    let at = call.axis(call.int("axis", 0), sizes.len(), ScatterElements::C1)?;
    cx.require_same_shape(&indices, &updates, ScatterElements::C2)?;
    for (dim, (&size, &index)) in sizes.iter().zip(&indices).enumerate() {
        if dim != at && size != index {
            let fits = cx.le(index, size);
            cx.require(fits, ScatterElements::C3, |cx| {
                format!("there are {} indices along a size of {}", cx.show(index), cx.show(size))
            })?;
        }
    }
    inside(cx, call.given(1)?, sizes[at], ScatterElements::C4)?;
    let mut result = call.output(0, sizes)?;
    if call.text("reduction", "none") == "none" {
        result.elements = written(call, at);
    }
    Ok(vec![result.into()])
}

/// The elements of [`scatter_elements`], where all are followed.
fn written(call: &Checked, at: usize) -> Option<Elements> {
    let mut data = Grid::new(call.tensor(0)?)?;
    let (places, updates) = (Grid::new(call.tensor(1)?)?, Grid::new(call.tensor(2)?)?);
    for index in indices(places.sizes()) {
        let mut to = index.clone();
        to[at] = place(places.get(&index)?, data.sizes()[at])?;
        *data.get_mut(&to)? = updates.get(&index)?.clone();
    }
    Some(data.into_elements())
}

/// The elements of [`scatter_nd`], where all are followed.
fn written_slices(call: &Checked, length: usize) -> Option<Elements> {
    let mut data = Grid::new(call.tensor(0)?)?;
    let (tuples, updates) = (Grid::new(call.tensor(1)?)?, Grid::new(call.tensor(2)?)?);
    let depth = tuples.sizes().len() - 1;
    for index in indices(updates.sizes()) {
        let mut to = Vec::with_capacity(data.sizes().len());
        for part in 0..length {
            let tuple = tuples.get(&[&index[..depth], &[part]].concat())?;
            to.push(place(tuple, data.sizes()[part])?);
        }
        to.extend(&index[depth..]);
        *data.get_mut(&to)? = updates.get(&index)?.clone();
    }
    Some(data.into_elements())
}

clauses! { ScatterND {
    C1 "`data` and `indices` are not scalars."
    C2 "The last size of `indices` is at most the rank of `data`."
    C3 "`updates` has the shape of `indices` up to the last, and the sizes of its slices. A slice has the \
        sizes of `data` that are not indexed."
    C4 "`indices` are within the dimensions of `data`."
} }

/// The data with slices written at index tuples.
fn scatter_nd(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, indices, updates) =
        (call.shape(0)?.to_vec(), call.shape(1)?.to_vec(), call.shape(2)?.to_vec());
    call.check(!sizes.is_empty() && !indices.is_empty(), ScatterND::C1, || {
        "an operand is a scalar".to_owned()
    })?;
    let (tuples, length) = indices.split_at(indices.len() - 1);
    let length = cx.literal(length[0], ScatterND::C2)?;
    let fits = usize::try_from(length).is_ok_and(|length| length <= sizes.len());
    call.check(fits, ScatterND::C2, || format!("tuples of {length} for {} dimensions", sizes.len()))?;
    let length = length as usize;
    let expected: Vec<Expr> = [tuples, &sizes[length..]].concat();
    cx.require_same_shape(&updates, &expected, ScatterND::C3)?;
    if let Some(list) = call.given(1)?.ints().filter(|_| length > 0) {
        for (dim, &size) in sizes[..length].iter().enumerate() {
            let column = list.iter().skip(dim).step_by(length).copied().collect();
            inside(cx, &Tensor::of_ints(Dtype::I64, column), size, ScatterND::C4)?;
        }
    } else {
        for &size in &sizes[..length] {
            inside(cx, call.given(1)?, size, ScatterND::C4)?;
        }
    }
    super::gather::places_inside(cx, call.given(1)?, &sizes[..length], ScatterND::C4)?;
    let mut result = call.output(0, sizes)?;
    if call.text("reduction", "none") == "none" {
        result.elements = written_slices(call, length);
    }
    Ok(vec![result.into()])
}

clauses! { TensorScatter {
    C1 "The cache and the update have the same rank, at least 2. `axis` is within it, and not the first."
    C2 "The update is no larger than the cache along `axis`, and their other sizes agree."
    C3 "There is a write index for each batch, not negative. Unless `mode` is `circular`, the update fits \
        into the cache from it on."
    C4 "`mode` is `linear` or `circular`."
} }

/// A cache with an update written into a dimension.
fn tensor_scatter(cx: &mut Cx, call: &Checked) -> Outcome {
    let (cache, update) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(cache.len() == update.len() && cache.len() >= 2, TensorScatter::C1, || {
        format!("ranks {} and {} are to agree", cache.len(), update.len())
    })?;
    let at = call.axis(call.int("axis", -2), cache.len(), TensorScatter::C1)?;
    let mode = call.text("mode", "linear");
    call.check(matches!(mode, "linear" | "circular"), TensorScatter::C4, || {
        format!("no mode is named {mode}")
    })?;
    call.check(at > 0, TensorScatter::C1, || "the axis is that of batches".to_owned())?;
    for (dim, (&a, &b)) in cache.iter().zip(&update).enumerate() {
        if dim == at {
            let fits = cx.le(b, a);
            cx.require(fits, TensorScatter::C2, |cx| format!("{} exceeds {}", cx.show(b), cx.show(a)))?;
        } else {
            cx.require_eq(a, b, TensorScatter::C2, "sizes beside the axis")?;
        }
    }
    if call.has(2) {
        let indices = call.shape(2)?.to_vec();
        call.check(indices.len() == 1, TensorScatter::C3, || {
            format!("indices are of rank {}", indices.len())
        })?;
        cx.require_eq(indices[0], cache[0], TensorScatter::C3, "write indices and batches")?;
        super::gather::not_negative(call, 2, TensorScatter::C3)?;
        if mode == "linear" {
            let left = cx.sub(cache[at], update[at]);
            let places = cx.add(left, 1);
            super::gather::inside(cx, call.given(2)?, places, TensorScatter::C3)?;
        }
    }
    call.one(cache)
}
