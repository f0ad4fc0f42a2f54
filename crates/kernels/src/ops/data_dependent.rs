//! Operators whose results' sizes, or results, only running tells.
use super::index::nonzero_count;
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::value::list;
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_expr::range::ValueRange;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[nonzero_static::ALL, masked::ALL, unique::ALL, item::ALL, bincount::ALL, one_hot::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| one(nonzero(cx, args.tensor("self")?)) => "aten.nonzero.default", "aten.argwhere.default";
    |cx, args| nonzero_each(cx, args.tensor("self")?) => "aten.nonzero_numpy.default";
    |cx, args| nonzero_each(cx, args.tensor("condition")?) => "aten.where.default";
    nonzero_static => "aten.nonzero_static.default";
    masked_select => "aten.masked_select.default";
    |cx, args| {
        let (x, mask, source) = (args.tensor("self")?, args.tensor("mask")?, args.tensor("source")?);
        masked_scatter(cx, x, mask, source)
    } => "aten.masked_scatter.default";
    masked_scatter_backward => "aten.masked_scatter_backward.default";
    |cx, args| {
        let (grad, x, mask) = (args.tensor("grad")?, args.tensor("input")?, args.tensor("mask")?);
        masked_scatter(cx, x, mask, grad)
    } => "aten.masked_select_backward.default";
    |cx, args| unique(cx, args, 2) => "aten._unique.default";
    |cx, args| unique(cx, args, 3) => "aten._unique2.default";
    unique_consecutive => "aten.unique_consecutive.default";
    unique_dim => "aten.unique_dim.default", "aten.unique_dim_consecutive.default";
    item => "aten.item.default", "prims.item.default";
    |cx, args| scalar_of(cx, args.tensor("self")?) => "aten._local_scalar_dense.default";
    is_nonzero => "aten.is_nonzero.default";
    bincount => "aten.bincount.default";
    one_hot => "aten.one_hot.default";
};

/// `aten::nonzero(Tensor self) -> Tensor`: the positions of nonzero elements, one a row, laid out by columns.
fn nonzero(cx: &mut Cx, x: &Tensor) -> Tensor {
    let (count, rank) = (nonzero_count(cx, x), cx.int(x.rank() as i64));
    let strides = [Expr::ONE, count].as_slice().into();
    cx.strided([count, rank].as_slice().into(), strides, Dtype::Int64, &x.device)
}

/// `aten::nonzero_numpy(Tensor self) -> Tensor[]`: the positions of nonzero elements, one tensor a dimension; a
/// tensor without dimensions counts as one with one.
fn nonzero_each(cx: &mut Cx, x: &Tensor) -> KernelResult {
    let count = nonzero_count(cx, x);
    let column = cx.contiguous([count].as_slice(), Dtype::Int64, &x.device);
    Ok(smallvec![list(vec![column; x.rank().max(1)])])
}

clauses! { nonzero_static {
    C1 "`size` is not negative."
} }

/// `aten::nonzero_static(Tensor self, *, SymInt size, int fill_value) -> Tensor`: the first `size` of those positions.
fn nonzero_static(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, size) = (args.tensor("self")?, args.int("size")?);
    let natural = cx.ge(size, 0);
    cx.require(natural, nonzero_static::C1, |cx| format!("the size {} is negative", cx.show(size)))?;
    let rank = cx.int(x.rank() as i64);
    one(cx.contiguous([size, rank].as_slice(), Dtype::Int64, &x.device))
}

fn require_mask(cx: &mut Cx, mask: &Tensor) -> Result<(), KernelError> {
    cx.check(mask.dtype.is_bool(), masked::C1, |_| format!("the mask is of {}, bool is expected", mask.dtype))
}

/// `aten::masked_select(Tensor self, Tensor mask) -> Tensor`: the elements where the mask is true, both broadcast.
fn masked_select(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, mask) = (args.tensor("self")?, args.tensor("mask")?);
    require_mask(cx, mask)?;
    let sizes = cx.broadcast([x.sizes.as_slice(), mask.sizes.as_slice()], masked::C2)?;
    let numel = cx.product(sizes);
    let count = cx.unbacked_size(0, Some(numel));
    one(cx.contiguous([count].as_slice(), x.dtype, &x.device))
}

clauses! { masked {
    C1 "The mask is of `bool`."
    C2 "The mask broadcasts with the other operand."
    C3 "`self` and the source have the same dtype."
    C4 "No element of `sizes` is negative."
} }

/// `aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor`: elements where the mask is true replaced by
/// those of the source in turn.
fn masked_scatter(cx: &mut Cx, x: &Tensor, mask: &Tensor, source: &Tensor) -> KernelResult {
    require_mask(cx, mask)?;
    cx.check(x.dtype == source.dtype, masked::C3, |_| {
        format!("the dtypes differ: {} and {}", x.dtype, source.dtype)
    })?;
    let sizes = cx.broadcast([x.sizes.as_slice(), mask.sizes.as_slice()], masked::C2)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// `aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor`: the gradient of the
/// source.
fn masked_scatter_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, mask, sizes) = (args.tensor("grad_output")?, args.tensor("mask")?, args.ints("sizes")?);
    require_mask(cx, mask)?;
    cx.broadcast([grad.sizes.as_slice(), mask.sizes.as_slice()], masked::C2)?;
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, masked::C4, |cx| format!("the size {} is negative", cx.show(size)))?;
    }
    one(cx.contiguous(sizes, grad.dtype, &grad.device))
}

/// An empty vector of positions, for results that were not asked for.
fn absent(cx: &mut Cx, x: &Tensor) -> Tensor {
    cx.contiguous([Expr::ZERO].as_slice(), Dtype::Int64, &x.device)
}

/// The number of distinct elements among `length`: at least 1 unless there are none.
fn distinct_count(cx: &mut Cx, length: Expr) -> Expr {
    if length == Expr::ZERO { Expr::ZERO } else { cx.unbacked_size(0, Some(length)) }
}

/// `aten::_unique2(Tensor self, bool sorted, bool return_inverse, bool return_counts) -> (Tensor, Tensor, Tensor)`: the
/// distinct elements, where each element went, and how many there are of each; `_unique` gives the first two.
fn unique(cx: &mut Cx, args: &Args, results: usize) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_kind(x, Domain::REAL_BOOL.on_cpu(), unique::C3)?;
    let numel = cx.numel(x);
    let count = distinct_count(cx, numel);
    let values = cx.contiguous([count].as_slice(), x.dtype, &x.device);
    let inverse = if args.flag("return_inverse")? {
        cx.contiguous(x.sizes.clone(), Dtype::Int64, &x.device)
    } else {
        absent(cx, x)
    };
    if results == 2 {
        return Ok(smallvec![values.into(), inverse.into()]);
    }
    let counts = if args.flag("return_counts")? {
        cx.contiguous([count].as_slice(), Dtype::Int64, &x.device)
    } else {
        absent(cx, x)
    };
    Ok(smallvec![values.into(), inverse.into(), counts.into()])
}

/// `aten::unique_consecutive(Tensor self, bool return_inverse, bool return_counts, int? dim) -> (Tensor, Tensor,
/// Tensor)`: elements without immediate repetitions; with a dimension, slices along it.
fn unique_consecutive(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_kind(x, Domain::REAL_BOOL.on_cpu(), unique::C3)?;
    match args.opt_int("dim")? {
        // The one dimension of a vector, not counted from the end, is the flattened tensor.
        None => {}
        Some(Expr::ZERO) if x.rank() == 1 => {}
        Some(_) => return unique_dim(cx, args),
    }
    let numel = cx.numel(x);
    let count = distinct_count(cx, numel);
    let values = cx.contiguous([count].as_slice(), x.dtype, &x.device);
    let inverse = if args.flag("return_inverse")? {
        cx.contiguous(x.sizes.clone(), Dtype::Int64, &x.device)
    } else {
        absent(cx, x)
    };
    let counts = if args.flag("return_counts")? {
        cx.contiguous([count].as_slice(), Dtype::Int64, &x.device)
    } else {
        absent(cx, x)
    };
    Ok(smallvec![values.into(), inverse.into(), counts.into()])
}

clauses! { unique {
    C1 "`dim` is in range, and `self` is not a scalar."
    C2 "Dimensions other than `dim` are not empty, unless `dim` is empty too."
    C3 "The dtype of `self` is ordered."
} }

/// `aten::unique_dim(Tensor self, int dim, bool sorted, bool return_inverse, bool return_counts) -> (Tensor, Tensor,
/// Tensor)`: the distinct slices along a dimension; positions and counts are given in any case.
fn unique_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_kind(x, Domain::REAL_BOOL.on_cpu(), unique::C3)?;
    let dim = match args.opt_int("dim")? {
        Some(dim) if x.rank() > 0 => cx.dim(dim, x.rank(), unique::C1)?,
        _ => return Err(KernelError::invalid(unique::C1, "the tensor has no dimension to take")),
    };
    let length = x.sizes[dim];
    for at in (0..x.rank()).filter(|&at| at != dim) {
        let (some, none) = (cx.ne(x.sizes[at], 0), cx.eq(length, 0));
        let sound = cx.any(&[some, none]);
        cx.require(sound, unique::C2, |_| format!("dimension {at} is empty"))?;
    }
    let count = distinct_count(cx, length);
    let mut sizes = x.sizes.clone();
    sizes[dim] = count;
    let values = cx.contiguous(sizes, x.dtype, &x.device);
    let inverse = cx.contiguous([length].as_slice(), Dtype::Int64, &x.device);
    let counts = cx.contiguous([count].as_slice(), Dtype::Int64, &x.device);
    Ok(smallvec![values.into(), inverse.into(), counts.into()])
}

clauses! { item {
    C1 "The tensor has exactly one element."
    C2 "The tensor has at least one element."
} }

/// `aten::item(Tensor self) -> Scalar`: the only element as a number.
fn item(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    let numel = cx.numel(x);
    cx.require_eq(numel, Expr::ONE, item::C1, "a tensor must have one element to become a number")?;
    scalar_of(cx, x)
}

/// `aten::_local_scalar_dense(Tensor self) -> Scalar`: the first element as a number, in the range of the dtype.
fn scalar_of(cx: &mut Cx, x: &Tensor) -> KernelResult {
    let numel = cx.numel(x);
    let some = cx.ne(numel, 0);
    cx.require(some, item::C2, |_| "an empty tensor has no first element".to_string())?;
    let dtype = x.dtype;
    let value = if dtype.is_bool() {
        let bit = cx.env.fresh_unbacked(ValueRange::between(0.into(), 1.into()));
        Value::Bool(cx.eq(bit, 1))
    } else if dtype.is_integral() {
        let bits = 8 * dtype.item_size();
        let range = if dtype.is_signed() {
            let half = 1i128 << (bits - 1);
            ValueRange::between((-half).into(), (half - 1).into())
        } else {
            ValueRange::between(0.into(), ((1i128 << bits) - 1).into())
        };
        Value::Int(cx.env.fresh_unbacked(range))
    } else if dtype.is_float() {
        Value::Float(cx.env.fresh_unbacked_float())
    } else {
        return Err(KernelError::Unsupported(format!("a number of {dtype} from a tensor")));
    };
    Ok(smallvec![value])
}

/// `aten::is_nonzero(Tensor self) -> bool`: the truth of the only element.
fn is_nonzero(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let numel = cx.numel(x);
    cx.require_eq(numel, Expr::ONE, item::C1, "the truth of a tensor needs one element")?;
    let bit = cx.env.fresh_unbacked(ValueRange::between(0.into(), 1.into()));
    Ok(smallvec![Value::Bool(cx.eq(bit, 1))])
}

clauses! { bincount {
    C1 "`self` has 1 dimension and an integer dtype."
    C2 "`weights` has the shape of `self`, unless `self` is empty."
    C3 "`minlength` is not negative."
} }

/// `aten::bincount(Tensor self, Tensor? weights, SymInt minlength) -> Tensor`: how often each natural number occurs, as
/// far as the greatest one and at least up to `minlength`; of `int64`, with weights of `float64` (`float32` weights keep
/// their dtype).
fn bincount(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, least) = (args.tensor("self")?, args.int("minlength")?);
    cx.check(x.rank() == 1 && x.dtype.is_integral(), bincount::C1, |_| {
        format!("integers in 1 dimension are expected, not {} in {}", x.dtype, x.rank())
    })?;
    let natural = cx.ge(least, 0);
    cx.require(natural, bincount::C3, |cx| format!("minlength {} is negative", cx.show(least)))?;
    let none = cx.eq(x.size(0), 0);
    let without_elements = match args.opt_tensor("weights")? {
        Some(_) => cx.branch(none, bincount::C2)?,
        None => cx.exceptionally(none, bincount::C2),
    };
    if without_elements {
        return one(cx.contiguous([least].as_slice(), Dtype::Int64, &x.device));
    }
    let mut dtype = Dtype::Int64;
    if let Some(weights) = args.opt_tensor("weights")? {
        cx.check(weights.rank() == 1, bincount::C2, |_| {
            format!("weights have {} dimensions, 1 is expected", weights.rank())
        })?;
        cx.require_eq(weights.size(0), x.size(0), bincount::C2, "there must be one weight an element")?;
        dtype = if weights.dtype == Dtype::Float32 { Dtype::Float32 } else { Dtype::Float64 };
    }
    let at_least = cx.env.bounds(least).0.unwrap_or_default();
    let count = cx.unbacked_size(at_least, None);
    let enough = cx.ge(count, least);
    cx.env.assume(enough);
    one(cx.contiguous([count].as_slice(), dtype, &x.device))
}

clauses! { one_hot {
    C1 "`self` is of `int64`."
    C2 "`num_classes` is positive, or -1 if `self` is not empty."
    C3 "Elements of `self` that are computed from sizes are from 0 to `num_classes - 1`."
} }

/// `aten::one_hot(Tensor self, int num_classes) -> Tensor`: a last dimension of zeros with a one at the element's
/// position; -1 stands for one more than the greatest element.
fn one_hot(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, classes) = (args.tensor("self")?, args.int("num_classes")?);
    cx.check(x.dtype == Dtype::Int64, one_hot::C1, |_| format!("int64 is expected, not {}", x.dtype))?;
    let mut sizes = x.sizes.clone();
    if classes == cx.int(-1) {
        let numel = cx.numel(x);
        let some = cx.ne(numel, 0);
        cx.require(some, one_hot::C2, |_| "an empty tensor does not tell the number of classes".to_string())?;
        sizes.push(cx.unbacked_size(1, None));
    } else {
        let positive = cx.gt(classes, 0);
        cx.require(positive, one_hot::C2, |cx| format!("num_classes {} is not positive", cx.show(classes)))?;
        cx.require_indices(x, classes, false, "classes", one_hot::C3)?;
        sizes.push(classes);
    }
    one(cx.contiguous(sizes, Dtype::Int64, &x.device))
}
