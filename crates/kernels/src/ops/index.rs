//! Indexing by tensors of positions and by masks.
use super::scatter::POSITIONS;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::tensor::Sizes;
use crate::{Args, Cx, KernelError, KernelResult, Lookup, Span, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[index::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| index(cx, args, Masks::Allowed) => "aten.index.Tensor";
    |cx, args| index(cx, args, Masks::Refused) => "aten._unsafe_index.Tensor";
    |cx, args| index_put(cx, args, Masks::Allowed) => "aten.index_put.default",
        "aten._unsafe_index_put.default", "aten._index_put_impl.default";
    masked_index => "aten._unsafe_masked_index.default";
    masked_index_put => "aten._unsafe_masked_index_put_accumulate.default";
};

/// Whether masks may stand among the indices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Masks {
    Allowed,
    Refused,
}

/// One entry a dimension of the indexed tensor: the shape of the positions, or none where the dimension is kept.
type Positions = Vec<Option<Sizes>>;

clauses! { index {
    C1 "There is at least one index."
    C2 "Each index is of `int64` or `int32`, or a mask where masks are allowed. Masks are of `bool` or \
        `uint8`."
    C3 "A mask has the sizes of the dimensions that it indexes."
    C4 "There are no more indices than dimensions of `self`."
    C5 "The indices broadcast."
    C6 "`values` broadcasts to the shape of the selection."
    C7 "`values` has the dtype of `self`."
    C8 "`mask` broadcasts with the selection or the values."
    C9 "Indices that are computed from sizes are in range, unless nothing is selected. Negative ones count \
        from the end. An indexed dimension is not empty."
} }

/// The indices with each mask replaced by the positions of its true elements, one index a dimension of the mask.
fn positions(
    cx: &mut Cx,
    x: &Tensor,
    indices: &[Option<Arc<Tensor>>],
    masks: Masks,
) -> Result<Positions, KernelError> {
    cx.check(!indices.is_empty(), index::C1, |_| "an index is expected".to_string())?;
    let mut positions = Positions::new();
    for (i, index) in indices.iter().enumerate() {
        let Some(index) = index else {
            positions.push(None);
            continue;
        };
        match index.dtype {
            Dtype::Int64 | Dtype::Int32 => positions.push(Some(index.sizes.clone())),
            Dtype::Bool | Dtype::Uint8 if masks == Masks::Allowed => {
                let first = positions.len();
                let fits = first + index.rank() <= x.rank();
                cx.check(fits, index::C4, |_| format!("too many indices for {} dimensions", x.rank()))?;
                for (j, &size) in index.sizes.iter().enumerate() {
                    let what = "the sizes of a mask must be those of the dimensions that it indexes";
                    cx.require_eq(size, x.sizes[first + j], index::C3, what)?;
                }
                let count = nonzero_count(cx, index);
                positions.extend(index.sizes.iter().map(|_| Some([count].as_slice().into())));
            }
            dtype => {
                return Err(KernelError::invalid(
                    index::C2,
                    format!("index {i} is of {dtype}; int64, int32 or a mask is expected"),
                ));
            }
        }
    }
    cx.check(positions.len() <= x.rank(), index::C4, |_| {
        format!("{} indices for {} dimensions", positions.len(), x.rank())
    })?;
    Ok(positions)
}

/// The number of nonzero elements of a tensor: 0 if it is empty, else an unbacked size.
pub(super) fn nonzero_count(cx: &mut Cx, x: &Tensor) -> Expr {
    let numel = cx.numel(x);
    if numel == Expr::ZERO { Expr::ZERO } else { cx.unbacked_size(0, Some(numel)) }
}

/// The shape that indexing gives: the shape in which the positions broadcast takes the place of the indexed dimensions
/// where they stand side by side, else it comes first.
struct Indexed {
    /// The result's sizes.
    sizes: Sizes,
    /// The indexed tensor's strides along them, 0 along those of the positions.
    strides: Sizes,
    /// The shape in which the positions broadcast.
    picked: Sizes,
}

fn shape_of(cx: &mut Cx, x: &Tensor, positions: &Positions) -> Result<Indexed, KernelError> {
    let given: Vec<usize> = (0..positions.len()).filter(|&i| positions[i].is_some()).collect();
    let shapes = positions.iter().flatten().map(|shape| shape.as_slice());
    let picked = cx.broadcast(shapes, index::C5)?;
    let (first, last) = match (given.first(), given.last()) {
        (Some(&first), Some(&last)) => (first, last),
        _ => {
            let (sizes, strides) = (x.sizes.clone(), x.strides.clone());
            return Ok(Indexed { sizes, strides, picked });
        }
    };
    let at = if last + 1 - first == given.len() { first } else { 0 };
    let mut result = Indexed { sizes: Sizes::new(), strides: Sizes::new(), picked: picked.clone() };
    for dim in (0..x.rank()).filter(|dim| !given.contains(dim)) {
        result.sizes.push(x.sizes[dim]);
        result.strides.push(x.strides[dim]);
    }
    let zeros: Sizes = std::iter::repeat_n(Expr::ZERO, picked.len()).collect();
    result.sizes.insert_many(at, picked);
    result.strides.insert_many(at, zeros);
    Ok(result)
}

fn in_range(
    cx: &mut Cx,
    x: &Tensor,
    indices: &[Option<Arc<Tensor>>],
    selected: &Indexed,
) -> Result<(), KernelError> {
    let decided = |index: &Arc<Tensor>| index.span.as_ref().is_some_and(Span::is_attained);
    let mut nothing = cx.without_elements(&selected.picked);
    let kept = cx.without_elements(&selected.sizes);
    let kept: Vec<Expr> = kept.into_iter().filter(|empty| !nothing.contains(empty)).collect();
    let nothing_kept = cx.any(&kept);
    nothing.push(nothing_kept);
    let last = nothing.len() - 1;
    let mut dim = 0;
    for index in indices {
        let Some(&size) = x.sizes.get(dim) else { break };
        let Some(index) = index else {
            dim += 1;
            continue;
        };
        if matches!(index.dtype, Dtype::Bool | Dtype::Uint8) {
            dim += index.rank();
            continue;
        }
        dim += 1;
        let some = cx.ge(size, 1);
        nothing[last] = cx.all(&[nothing_kept, some]);
        // An empty dimension has no positions, whatever is kept of the others.
        let nothing = if decided(index) { &nothing[..] } else { &nothing[..last] };
        let lookup = Lookup { size, from_end: true, nothing, what: POSITIONS };
        cx.require_span(index.span.as_ref(), &lookup, index::C9)?;
    }
    Ok(())
}

/// `aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor`: the elements at positions; see above for the
/// conditions.
fn index(cx: &mut Cx, args: &Args, masks: Masks) -> KernelResult {
    let (x, indices) = (args.tensor("self")?, args.opt_tensors("indices")?);
    let positions = positions(cx, x, indices, masks)?;
    let selected = shape_of(cx, x, &positions)?;
    in_range(cx, x, indices, &selected)?;
    one(laid_out(cx, x, selected))
}

/// What is selected, laid out as an element-wise operator would on the indexed tensor. How many positions there are
/// does not matter: those of one lie where they would among several.
fn laid_out(cx: &mut Cx, x: &Tensor, selected: Indexed) -> Tensor {
    let Indexed { sizes, strides, .. } = selected;
    let strides = match x.strides == cx.contiguous_strides(&x.sizes) {
        true => cx.contiguous_strides(&sizes),
        false => {
            let source = x.viewed(sizes.clone(), strides);
            cx.ordered_strides(&sizes, &[&source])
        }
    };
    cx.strided(sizes, strides, x.dtype, &x.device)
}

/// As [`index`], wherever the positions lie.
fn indexed(
    cx: &mut Cx,
    x: &Tensor,
    indices: &[Option<Arc<Tensor>>],
    masks: Masks,
) -> Result<Tensor, KernelError> {
    let positions = positions(cx, x, indices, masks)?;
    let selected = shape_of(cx, x, &positions)?;
    Ok(laid_out(cx, x, selected))
}

/// `aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate) -> Tensor`: a copy with the elements
/// at positions replaced.
fn index_put(cx: &mut Cx, args: &Args, masks: Masks) -> KernelResult {
    let (x, values) = (args.tensor("self")?, args.tensor("values")?);
    let indices = args.opt_tensors("indices")?;
    let positions = positions(cx, x, indices, masks)?;
    let selected = shape_of(cx, x, &positions)?;
    in_range(cx, x, indices, &selected)?;
    put(cx, x, values, &values.sizes, &selected.sizes)
}

fn put(cx: &mut Cx, x: &Tensor, values: &Tensor, given: &[Expr], selected: &[Expr]) -> KernelResult {
    cx.check(x.dtype == values.dtype, index::C7, |_| {
        format!("the dtypes differ: {} and {}", x.dtype, values.dtype)
    })?;
    let mut given = given;
    // Leading dimensions, which have to be of size 1, are dropped.
    while given.len() > selected.len() {
        cx.require_eq(
            given[0],
            Expr::ONE,
            index::C6,
            "the values have more dimensions than what is selected",
        )?;
        given = &given[1..];
    }
    cx.require_expandable(given, selected, index::C6)?;
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

/// `aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor`: the elements at
/// positions where the mask is true, else `fill`.
fn masked_index(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, mask) = (args.tensor("self")?, args.tensor("mask")?);
    let selected = indexed(cx, x, args.opt_tensors("indices")?, Masks::Refused)?;
    let sizes = cx.broadcast([mask.sizes.as_slice(), selected.sizes.as_slice()], index::C8)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// `aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor`: a
/// copy of `self` with the values added at positions where the mask is true.
fn masked_index_put(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, mask, values) = (args.tensor("self")?, args.tensor("mask")?, args.tensor("values")?);
    let positions = positions(cx, x, args.opt_tensors("indices")?, Masks::Refused)?;
    let selected = shape_of(cx, x, &positions)?;
    let given = cx.broadcast([mask.sizes.as_slice(), values.sizes.as_slice()], index::C8)?;
    put(cx, x, values, &given, &selected.sizes)
}
