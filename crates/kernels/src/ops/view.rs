//! Reshaping: views and copies with other sizes and as many elements.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::tensor::Sizes;
use crate::{Args, Cx, KernelError, KernelResult, Tensor, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    view::ALL,
    reshape::ALL,
    flatten::ALL,
    unflatten::ALL,
    view_dtype::ALL,
    flatten_dense_tensors::ALL,
    unflatten_dense_tensors::ALL,
    view_as_real::ALL,
    view_as_complex::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    view => "aten.view.default", "aten._unsafe_view.default";
    reshape_copy => "aten.view_copy.default", "aten._reshape_copy.default";
    |cx, args| reshape(cx, args.tensor("self")?, args.ints("shape")?) => "aten.reshape.default";
    prims_reshape => "prims.reshape.default";
    |cx, args| {
        let sizes = args.tensor("other")?.sizes.clone();
        view_to(cx, args.tensor("self")?, &sizes)
    } => "aten.view_as.default";
    |cx, args| {
        let sizes = args.tensor("other")?.sizes.clone();
        reshape(cx, args.tensor("self")?, &sizes)
    } => "aten.reshape_as.default";
    flatten => "aten.flatten.using_ints";
    ravel => "aten.ravel.default";
    unflatten => "aten.unflatten.int";
    |cx, args| one(view_dtype(cx, args)?) => "aten.view.dtype";
    |cx, args| {
        let viewed = view_dtype(cx, args)?;
        one(cx.contiguous_copy(&viewed))
    } => "aten.view_copy.dtype";
    flatten_dense_tensors => "aten.flatten_dense_tensors.default";
    unflatten_dense_tensors => "aten.unflatten_dense_tensors.default";
    |cx, args| one(view_as_real(cx, args.tensor("self")?)?) => "aten.view_as_real.default";
    |cx, args| {
        let viewed = view_as_real(cx, args.tensor("self")?)?;
        one(cx.contiguous_copy(&viewed))
    } => "aten.view_as_real_copy.default";
    |cx, args| one(view_as_complex(cx, args.tensor("self")?)?) => "aten.view_as_complex.default";
    |cx, args| {
        let viewed = view_as_complex(cx, args.tensor("self")?)?;
        one(cx.contiguous_copy(&viewed))
    } => "aten.view_as_complex_copy.default";
};

clauses! { view {
    C1 "The product of `size` is the number of elements of `self`. One entry may be -1."
    C2 "The strides of `self` allow a view of this shape."
} }

/// `aten::view(Tensor self, SymInt[] size) -> Tensor`
fn view(cx: &mut Cx, args: &Args) -> KernelResult {
    view_to(cx, args.tensor("self")?, args.ints("size")?)
}

fn view_to(cx: &mut Cx, x: &Tensor, requested: &[Expr]) -> KernelResult {
    let numel = cx.numel(x);
    let sizes = cx.inferred_sizes(numel, requested, view::C1)?;
    one(cx.view(x, sizes, view::C2)?)
}

/// `aten::reshape(Tensor self, SymInt[] shape) -> Tensor`: a view where the strides allow one, else a contiguous copy.
fn reshape(cx: &mut Cx, x: &Tensor, requested: &[Expr]) -> KernelResult {
    let numel = cx.numel(x);
    let sizes = cx.inferred_sizes(numel, requested, reshape::C1)?;
    one(cx.reshaped(x, sizes))
}

/// `aten::view_copy(Tensor self, SymInt[] size) -> Tensor`: as `reshape`, always a copy.
fn reshape_copy(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let numel = cx.numel(x);
    let sizes = cx.inferred_sizes(numel, args.ints("size")?, reshape::C1)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { reshape {
    C1 "The product of `shape` is the number of elements of the tensor. One entry may be -1, except for \
        `prims.reshape`."
    C2 "The product of `shape` is the number of elements of the tensor."
} }

/// `prims::reshape(Tensor a, SymInt[] shape) -> Tensor`: a copy; no size is inferred.
fn prims_reshape(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, sizes) = (args.tensor("a")?, args.ints("shape")?);
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, reshape::C1, |cx| format!("invalid shape dimension {}", cx.show(size)))?;
    }
    let (numel, wanted) = (cx.numel(x), cx.product(sizes.iter().copied()));
    cx.require_eq(numel, wanted, reshape::C2, "the numbers of elements differ")?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { flatten {
    C1 "`start_dim` and `end_dim` are in range."
    C2 "`start_dim` does not come after `end_dim`."
} }

/// `aten::flatten.using_ints(Tensor self, int start_dim, int end_dim) -> Tensor`: the dimensions from one to the other
/// become one; a 0-dimensional tensor becomes 1-dimensional.
fn flatten(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let start = cx.dim(args.int("start_dim")?, x.rank(), flatten::C1)?;
    let end = cx.dim(args.int("end_dim")?, x.rank(), flatten::C1)?;
    cx.check(start <= end, flatten::C2, |_| format!("start_dim {start} comes after end_dim {end}"))?;
    if x.rank() == 0 {
        return one(cx.reshaped(x, [Expr::ONE].as_slice().into()));
    }
    if start == end {
        return one(Tensor::clone(x));
    }
    let mut sizes: Sizes = x.sizes[..start].into();
    sizes.push(cx.product(x.sizes[start..=end].iter().copied()));
    sizes.extend_from_slice(&x.sizes[end + 1..]);
    one(cx.reshaped(x, sizes))
}

/// `aten::ravel(Tensor self) -> Tensor`: all elements in one dimension; a view only of a contiguous tensor.
fn ravel(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let numel = cx.numel(x);
    let mut result = cx.contiguous([numel].as_slice(), x.dtype, &x.device);
    if cx.is_contiguous(x) {
        result.offset = x.offset;
    }
    one(result)
}

clauses! { unflatten {
    C1 "`dim` is in range, and `self` has at least 1 dimension."
    C2 "`sizes` is not empty."
    C3 "The product of `sizes` is `self.size(dim)`. One entry may be -1."
} }

/// `aten::unflatten.int(Tensor self, int dim, SymInt[] sizes) -> Tensor`: one dimension becomes several.
fn unflatten(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, into) = (args.tensor("self")?, args.ints("sizes")?);
    let dim = cx.dim(args.int("dim")?, x.rank(), unflatten::C1)?;
    cx.check(x.rank() > 0, unflatten::C1, |_| "the tensor has no dimensions".to_string())?;
    cx.check(!into.is_empty(), unflatten::C2, |_| "sizes are expected".to_string())?;
    let into = cx.inferred_sizes(x.sizes[dim], into, unflatten::C3)?;
    let mut sizes: Sizes = x.sizes[..dim].into();
    sizes.extend_from_slice(&into);
    sizes.extend_from_slice(&x.sizes[dim + 1..]);
    one(cx.view(x, sizes, unflatten::C3)?)
}

clauses! { view_dtype "view.dtype" {
    C1 "`self` has at least 1 dimension, unless both dtypes have the same item size."
    C2 "The last stride of `self` is 1, unless both dtypes have the same item size."
    C3 "The last size is divisible by the ratio of the item sizes. So is the storage offset. This applies \
        to a wider dtype."
    C4 "Strides are divisible by the ratio of the item sizes. This applies to a wider dtype, and not to \
        the last stride."
} }

/// `aten::view.dtype(Tensor self, ScalarType dtype) -> Tensor`: the same bytes read as another dtype; the last dimension
/// shrinks or grows by the ratio of the item sizes.
fn view_dtype(cx: &mut Cx, args: &Args) -> Result<Tensor, crate::KernelError> {
    let x = args.tensor("self")?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(x.dtype);
    let (from, to) = (i64::from(x.dtype.item_size()), i64::from(dtype.item_size()));
    let mut result = x.with_dtype(dtype);
    if from == to {
        return Ok(result);
    }
    cx.check(x.rank() > 0, view_dtype::C1, |_| {
        format!("a tensor without dimensions cannot be viewed as {dtype}")
    })?;
    let last = x.rank() - 1;
    cx.env.need_strides();
    cx.require_eq(x.strides[last], Expr::ONE, view_dtype::C2, "the last stride must be 1")?;
    if from > to {
        let ratio = cx.int(from / to);
        for stride in &mut result.strides[..last] {
            *stride = cx.mul(*stride, ratio);
        }
        result.sizes[last] = cx.mul(x.sizes[last], ratio);
        result.offset = cx.mul(x.offset, ratio);
        return Ok(result);
    }
    let ratio = cx.int(to / from);
    let shrunk = |cx: &mut Cx, length: Expr, clause, what: &str| {
        let rest = cx.modulo(length, ratio);
        cx.require_eq(rest, Expr::ZERO, clause, what)?;
        Ok(cx.floor_div(length, ratio))
    };
    let what = "the remainder of the last size by the ratio of item sizes must be 0";
    result.sizes[last] = shrunk(cx, x.sizes[last], view_dtype::C3, what)?;
    let what = "the remainder of the storage offset by the ratio of item sizes must be 0";
    result.offset = shrunk(cx, x.offset, view_dtype::C3, what)?;
    for i in 0..last {
        let what = "the remainder of each stride by the ratio of item sizes must be 0";
        result.strides[i] = shrunk(cx, x.strides[i], view_dtype::C4, what)?;
    }
    Ok(result)
}

clauses! { flatten_dense_tensors {
    C1 "`tensors` is not empty."
    C2 "The dtypes of `tensors` promote to a common one."
} }

/// `aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor`: all elements of all tensors in one dimension.
fn flatten_dense_tensors(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    cx.check(!tensors.is_empty(), flatten_dense_tensors::C1, |_| "tensors are expected".to_string())?;
    let mut dtype = tensors[0].dtype;
    let mut numels = Vec::with_capacity(tensors.len());
    for tensor in &tensors {
        dtype = promote::promote(dtype, tensor.dtype).ok_or_else(|| {
            let message = format!("{dtype} and {} do not promote", tensor.dtype);
            KernelError::invalid(flatten_dense_tensors::C2, message)
        })?;
        numels.push(cx.numel(tensor));
    }
    let total = cx.sum(numels);
    one(cx.contiguous([total].as_slice(), dtype, &tensors[0].device))
}

clauses! { unflatten_dense_tensors {
    C1 "`flat` has 1 dimension."
    C2 "`flat` has at least as many elements as `tensors` have together."
} }

/// `aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]`: consecutive parts of a flat tensor, shaped
/// like the given ones.
fn unflatten_dense_tensors(cx: &mut Cx, args: &Args) -> KernelResult {
    let (flat, tensors) = (args.tensor("flat")?, args.tensors("tensors")?);
    cx.check(flat.rank() == 1, unflatten_dense_tensors::C1, |_| {
        format!("the flat tensor has {} dimensions", flat.rank())
    })?;
    let mut parts = Vec::with_capacity(tensors.len());
    let mut used = Expr::ZERO;
    for tensor in &tensors {
        let strides = cx.contiguous_strides(&tensor.sizes);
        let mut part = flat.viewed(tensor.sizes.clone(), strides);
        part.offset = cx.add(flat.offset, used);
        let numel = cx.numel(tensor);
        used = cx.add(used, numel);
        parts.push(part);
    }
    let enough = cx.le(used, flat.size(0));
    cx.require(enough, unflatten_dense_tensors::C2, |cx| {
        format!("{} elements do not fit into {}", cx.show(used), cx.show(flat.size(0)))
    })?;
    Ok(smallvec::smallvec![crate::value::list(parts)])
}

clauses! { view_as_real {
    C1 "`self` has a complex dtype."
} }

/// `aten::view_as_real(Tensor self) -> Tensor`: the two parts of complex numbers as a last dimension.
fn view_as_real(cx: &mut Cx, x: &Tensor) -> Result<Tensor, crate::KernelError> {
    cx.check(x.dtype.is_complex(), view_as_real::C1, |_| format!("{} is not complex", x.dtype))?;
    let mut result = x.with_dtype(crate::promote::to_real(x.dtype));
    for stride in &mut result.strides {
        *stride = cx.mul(*stride, 2);
    }
    result.sizes.push(cx.int(2));
    result.strides.push(Expr::ONE);
    result.offset = cx.mul(x.offset, 2);
    Ok(result)
}

clauses! { view_as_complex {
    C1 "`self` is of `float16`, `float32` or `float64`."
    C2 "The last size of `self` is 2."
    C3 "The last stride of `self` is 1."
    C4 "The storage offset of `self` and its strides, except the last, are even. The stride of a dimension \
        of size 1 is not checked."
} }

/// `aten::view_as_complex(Tensor self) -> Tensor`: a last dimension of two parts as complex numbers.
fn view_as_complex(cx: &mut Cx, x: &Tensor) -> Result<Tensor, crate::KernelError> {
    use sizewise_ir::dtype::Dtype;
    cx.check(
        matches!(x.dtype, Dtype::Float16 | Dtype::Float32 | Dtype::Float64),
        view_as_complex::C1,
        |_| format!("no complex dtype has parts of {}", x.dtype),
    )?;
    cx.check(x.rank() > 0, view_as_complex::C2, |_| "the tensor has no dimensions".to_string())?;
    let last = x.rank() - 1;
    let two = cx.int(2);
    cx.require_eq(x.sizes[last], two, view_as_complex::C2, "the last size must be 2")?;
    cx.env.need_strides();
    cx.require_eq(x.strides[last], Expr::ONE, view_as_complex::C3, "the last stride must be 1")?;
    let mut result = x.with_dtype(crate::promote::to_complex(x.dtype));
    result.sizes.truncate(last);
    result.strides.truncate(last);
    for at in 0..=last {
        let length = result.strides.get_mut(at).unwrap_or(&mut result.offset);
        if result.sizes.get(at) == Some(&Expr::ONE) {
            *length = cx.floor_div(*length, 2);
            continue;
        }
        let rest = cx.modulo(*length, 2);
        cx.require_eq(rest, Expr::ZERO, view_as_complex::C4, "strides and storage offset must be even")?;
        *length = cx.floor_div(*length, 2);
    }
    Ok(result)
}
