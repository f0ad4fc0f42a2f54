//! Indexing by a vector of positions: along one dimension, and of the flattened tensor.
use super::scatter::{POSITIONS, known_reduction};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Lookup, Sizes, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::SmallVec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[index_dim::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    index_select => "aten.index_select.default";
    index_select_backward => "aten.index_select_backward.default";
    |cx, args| index_add(cx, args) => "aten.index_add.default";
    |cx, args| {
        known_reduction(cx, args, &["prod", "mean", "amax", "amin"])?;
        let (x, index) = (args.tensor("self")?, args.tensor("index")?);
        let (dim, count) = vector_index(cx, x, index, args.int("dim")?)?;
        let nothing = cx.eq(count, 0);
        in_range(cx, x, dim, index, (false, &[nothing]))?;
        slices_exist(cx, x, dim, count)?;
        index_add(cx, args)
    } => "aten.index_reduce.default";
    index_copy => "aten.index_copy.default";
    |cx, args| index_fill(cx, args) => "aten.index_fill.int_Scalar";
    |cx, args| {
        let value = args.tensor("value")?;
        cx.check(value.rank() == 0, index_dim::C6, |_| {
            format!("the value has {} dimensions, none is expected", value.rank())
        })?;
        index_fill(cx, args)
    } => "aten.index_fill.int_Tensor";
    take => "aten.take.default";
    put => "aten.put.default";
};

clauses! { index_dim {
    C1 "`dim` is in range."
    C2 "`index` has at most 1 dimension and is of `int64` or `int32`."
    C3 "From a tensor without dimensions, exactly one element is selected."
    C4 "`source` has the shape of the selection: one slice for each index, of the sizes of `self`. Either \
        may be a scalar if there is one index."
    C5 "`self` and `source` have the same dtype."
    C6 "`value` has no dimensions if it is a tensor."
    C7 "No entry of `self_sizes` is negative."
    C8 "`index` is of `int64`."
    C9 "`self` has elements, unless `index` is empty."
    C10 "`source` has as many elements as `index`."
    C11 "A complex `value` needs a complex tensor."
    C12 "The dimension `dim` is not empty, unless nothing is selected along it."
    C13 "Indices that are computed from sizes are in range, unless nothing is selected. Only `index_fill` \
         counts negative ones from the end."
    C14 "Indices that are computed from sizes are in range. Negative ones count from the end."
} }

/// The number of positions and the dimension.
fn vector_index(cx: &mut Cx, x: &Tensor, index: &Tensor, dim: Expr) -> Result<(usize, Expr), KernelError> {
    let dim = cx.dim(dim, x.rank(), index_dim::C1)?;
    cx.check(index.rank() <= 1, index_dim::C2, |_| {
        format!("the index has {} dimensions, at most 1 is expected", index.rank())
    })?;
    cx.check(matches!(index.dtype, Dtype::Int64 | Dtype::Int32), index_dim::C2, |_| {
        format!("the index is of {}, int64 or int32 is expected", index.dtype)
    })?;
    Ok((dim, index.sizes.first().copied().unwrap_or(Expr::ONE)))
}

fn in_range(
    cx: &mut Cx,
    x: &Tensor,
    dim: usize,
    index: &Tensor,
    (from_end, nothing): (bool, &[Expr]),
) -> Result<(), KernelError> {
    let Some(&size) = x.sizes.get(dim) else { return Ok(()) };
    let lookup = Lookup { size, from_end, nothing, what: POSITIONS };
    cx.require_span(index.span.as_ref(), &lookup, index_dim::C13)
}

/// The conditions under each of which slices of a tensor at positions along a dimension have no elements.
fn no_slices(cx: &mut Cx, x: &Tensor, dim: usize, count: Expr) -> SmallVec<[Expr; 4]> {
    let others = (0..x.rank()).filter(|&at| at != dim).map(|at| x.sizes[at]);
    let sizes: Sizes = others.chain([count]).collect();
    cx.without_elements(&sizes)
}

/// A copy of `self` with its order of dimensions.
fn copy(cx: &mut Cx, x: &Tensor) -> KernelResult {
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

/// `aten::index_select(Tensor self, int dim, Tensor index) -> Tensor`: the elements at positions along a dimension.
fn index_select(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index) = (args.tensor("self")?, args.tensor("index")?);
    let (dim, count) = vector_index(cx, x, index, args.int("dim")?)?;
    let nothing = cx.eq(count, 0);
    in_range(cx, x, dim, index, (false, &[nothing]))?;
    if x.rank() > 1 {
        let (some, none) = (cx.ne(x.sizes[dim], 0), cx.eq(count, 0));
        let sound = cx.any(&[some, none]);
        cx.require(sound, index_dim::C12, |_| format!("dimension {dim} is empty"))?;
    }
    let mut sizes = x.sizes.clone();
    match sizes.get_mut(dim) {
        Some(size) => *size = count,
        None => cx.require_eq(count, Expr::ONE, index_dim::C3, "one element is to be selected")?,
    }
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

fn source_fits(
    cx: &mut Cx,
    sizes: &[Expr],
    source: &Tensor,
    dim: usize,
    count: Expr,
) -> Result<(), KernelError> {
    let along = source.sizes.get(dim).copied().unwrap_or(Expr::ONE);
    cx.require_eq(along, count, index_dim::C4, "there must be as many slices as positions")?;
    if sizes.is_empty() || source.rank() == 0 {
        // One of the two has no dimensions: the other one has a single element.
        return Ok(());
    }
    cx.check(source.rank() == sizes.len(), index_dim::C4, |_| {
        format!("the source has {} dimensions, {} are expected", source.rank(), sizes.len())
    })?;
    for at in (0..sizes.len()).filter(|&at| at != dim) {
        cx.require_eq(sizes[at], source.sizes[at], index_dim::C4, "the source has another size")?;
    }
    Ok(())
}

/// `aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha) -> Tensor`: slices added at
/// positions.
fn index_add(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index, source) = (args.tensor("self")?, args.tensor("index")?, args.tensor("source")?);
    let (dim, count) = vector_index(cx, x, index, args.int("dim")?)?;
    cx.check(x.dtype == source.dtype, index_dim::C5, |_| {
        format!("the dtypes differ: {} and {}", x.dtype, source.dtype)
    })?;
    source_fits(cx, &x.sizes, source, dim, count)?;
    added_in_range(cx, x, dim, index, count)?;
    copy(cx, x)
}

fn added_in_range(
    cx: &mut Cx,
    x: &Tensor,
    dim: usize,
    index: &Tensor,
    count: Expr,
) -> Result<(), KernelError> {
    let mut nothing = if x.rank() > 1 { cx.without_elements(&x.sizes) } else { SmallVec::new() };
    nothing.push(cx.eq(count, 0));
    in_range(cx, x, dim, index, (false, &nothing))
}

/// `aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor`: the gradient's
/// slices added at positions of zeros.
fn index_select_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, sizes, index) = (args.tensor("grad")?, args.ints("self_sizes")?, args.tensor("index")?);
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, index_dim::C7, |cx| format!("the size {} is negative", cx.show(size)))?;
    }
    let input = cx.contiguous(sizes, grad.dtype, &grad.device);
    let (dim, count) = vector_index(cx, &input, index, args.int("dim")?)?;
    source_fits(cx, sizes, grad, dim, count)?;
    added_in_range(cx, &input, dim, index, count)?;
    one(input)
}

/// `aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor`: slices replaced at positions.
fn index_copy(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index, source) = (args.tensor("self")?, args.tensor("index")?, args.tensor("source")?);
    long_index(cx, index)?;
    cx.check(x.dtype == source.dtype, index_dim::C5, |_| {
        format!("the dtypes differ: {} and {}", x.dtype, source.dtype)
    })?;
    let (dim, count) = vector_index(cx, x, index, args.int("dim")?)?;
    source_fits(cx, &x.sizes, source, dim, count)?;
    let nothing = no_slices(cx, x, dim, count);
    in_range(cx, x, dim, index, (false, &nothing))?;
    slices_exist(cx, x, dim, count)?;
    copy(cx, x)
}

/// If there are positions and their slices have elements, the dimension is not empty.
fn slices_exist(cx: &mut Cx, x: &Tensor, dim: usize, count: Expr) -> Result<(), KernelError> {
    let Some(&size) = x.sizes.get(dim) else { return Ok(()) };
    let others = (0..x.rank()).filter(|&at| at != dim).map(|at| x.sizes[at]);
    let affected = cx.product(others.chain([count]));
    let (some, none) = (cx.ne(size, 0), cx.eq(affected, 0));
    let sound = cx.any(&[some, none]);
    cx.require(sound, index_dim::C12, |_| format!("dimension {dim} is empty"))
}

/// `aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor`: slices at positions filled.
fn index_fill(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index) = (args.tensor("self")?, args.tensor("index")?);
    long_index(cx, index)?;
    let complex = match args.value("value")? {
        Value::Tensor(value) => value.dtype.is_complex(),
        value => matches!(value, Value::Complex(..)),
    };
    cx.check(!complex || x.dtype.is_complex(), index_dim::C11, |_| {
        format!("a complex number does not fit into {}", x.dtype)
    })?;
    let (dim, count) = vector_index(cx, x, index, args.int("dim")?)?;
    let nothing = no_slices(cx, x, dim, count);
    in_range(cx, x, dim, index, (true, &nothing))?;
    slices_exist(cx, x, dim, count)?;
    copy(cx, x)
}

/// `aten::take(Tensor self, Tensor index) -> Tensor`: the elements at positions of the flattened tensor, shaped like the
/// index.
fn take(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index) = (args.tensor("self")?, args.tensor("index")?);
    long_index(cx, index)?;
    require_elements(cx, x, index)?;
    one(cx.contiguous(index.sizes.clone(), x.dtype, &x.device))
}

fn require_elements(cx: &mut Cx, x: &Tensor, index: &Tensor) -> Result<(), KernelError> {
    let (numel, wanted) = (cx.numel(x), cx.numel(index));
    let (some, none) = (cx.ne(numel, 0), cx.eq(wanted, 0));
    let enough = cx.any(&[some, none]);
    cx.require(enough, index_dim::C9, |_| "an empty tensor has no elements at positions".to_string())?;
    cx.require_indices(index, numel, true, "elements", index_dim::C14)
}

fn long_index(cx: &mut Cx, index: &Tensor) -> Result<(), KernelError> {
    cx.check(index.dtype == Dtype::Int64, index_dim::C8, |_| {
        format!("the index is of {}, int64 is expected", index.dtype)
    })
}

/// `aten::put(Tensor self, Tensor index, Tensor source, bool accumulate) -> Tensor`: elements replaced at positions of
/// the flattened tensor.
fn put(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index, source) = (args.tensor("self")?, args.tensor("index")?, args.tensor("source")?);
    long_index(cx, index)?;
    cx.check(x.dtype == source.dtype, index_dim::C5, |_| {
        format!("the dtypes differ: {} and {}", x.dtype, source.dtype)
    })?;
    require_elements(cx, x, index)?;
    let (positions, elements) = (cx.numel(index), cx.numel(source));
    cx.require_eq(positions, elements, index_dim::C10, "there must be one element a position")?;
    copy(cx, x)
}
