//! Fresh tensors of given sizes: filled, empty, like others; the unit matrix, indices of triangles, windows.
use super::cast::{fresh_like, require_rank_for, require_strided};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, promote};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype, MemoryFormat};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    creation::ALL,
    full::ALL,
    empty_strided::ALL,
    empty_permuted::ALL,
    eye::ALL,
    triangle::ALL,
    window::ALL,
    resize::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| sized(cx, args, Dtype::Float32) => "aten.zeros.default", "aten.ones.default",
        "aten.empty.memory_format", "aten._efficientzerotensor.default", "prims.empty.default";
    full => "aten.full.default", "prims.full.default";
    empty_strided => "aten.empty_strided.default", "aten.new_empty_strided.default", "prims.empty_strided.default";
    empty_permuted => "aten.empty_permuted.default", "prims.empty_permuted.default";
    new_sized => "aten.new_empty.default", "aten.new_zeros.default", "aten.new_ones.default",
        "aten.new_full.default";
    like => "aten.empty_like.default", "aten.zeros_like.default", "aten.ones_like.default",
        "aten.full_like.default", "prims.full_like.default";
    scalar_tensor => "aten.scalar_tensor.default", "prims.scalar_tensor.default";
    eye => "aten.eye.default", "aten.eye.m";
    |cx, args| triangle(cx, args, true) => "aten.tril_indices.default";
    |cx, args| triangle(cx, args, false) => "aten.triu_indices.default";
    window => "aten.bartlett_window.default", "aten.bartlett_window.periodic", "aten.blackman_window.default",
        "aten.blackman_window.periodic", "aten.hamming_window.default", "aten.hamming_window.periodic",
        "aten.hamming_window.periodic_alpha", "aten.hamming_window.periodic_alpha_beta",
        "aten.hann_window.default", "aten.hann_window.periodic", "aten.kaiser_window.default",
        "aten.kaiser_window.periodic", "aten.kaiser_window.beta";
    resize => "aten.resize.default";
    resize_as => "aten.resize_as.default";
    |cx, _| one(cx.contiguous(Sizes::new(), Dtype::Float32, &Device::cpu())) => "aten._make_dep_token.default";
};

/// The dtype asked for, else `default`.
pub(super) fn dtype_or(args: &Args, default: Dtype) -> Result<Dtype, KernelError> {
    Ok(args.opt_dtype("dtype")?.unwrap_or(default))
}

/// The device asked for, else `default`.
pub(super) fn device_or(args: &Args, default: Device) -> Result<Device, KernelError> {
    Ok(args.opt_device("device")?.unwrap_or(default))
}

/// Requires sizes to be at least 0.
pub(super) fn require_natural(
    cx: &mut Cx,
    sizes: &[Expr],
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, clause, |cx| {
            format!("a negative size {} in {}", cx.show(size), cx.show_all(sizes))
        })?;
    }
    Ok(())
}

clauses! { creation {
    C1 "No size is negative."
    C2 "`memory_format` is not `preserve_format`."
} }

/// `aten::zeros(SymInt[] size, *, ScalarType? dtype=None, …) -> Tensor` and its kin.
pub(super) fn sized(cx: &mut Cx, args: &Args, default: Dtype) -> KernelResult {
    let sizes = args.ints(if args.has("shape") { "shape" } else { "size" })?;
    require_natural(cx, sizes, creation::C1)?;
    require_strided(args)?;
    let (dtype, device) = (dtype_or(args, default)?, device_or(args, Device::cpu())?);
    let format = if args.has("memory_format") { args.opt_memory_format("memory_format")? } else { None };
    let format = format.unwrap_or(MemoryFormat::Contiguous);
    cx.check(format != MemoryFormat::Preserve, creation::C2, |_| {
        "there is no format to preserve".to_string()
    })?;
    require_rank_for(cx, format, sizes.len())?;
    let strides = cx.format_strides(sizes, format);
    one(cx.strided(sizes.into(), strides, dtype, &device))
}

clauses! { full {
    C2 "A complex `fill_value` needs a complex dtype."
} }

/// `aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, …) -> Tensor`: without a dtype, that of the
/// value.
fn full(cx: &mut Cx, args: &Args) -> KernelResult {
    let value = args.scalar("fill_value")?;
    require_storable(cx, args)?;
    sized(cx, args, promote::default_dtype_for(value.category()))
}

/// A complex number is not stored in a real tensor that was asked for.
fn require_storable(cx: &mut Cx, args: &Args) -> Result<(), KernelError> {
    let complex = args.scalar("fill_value")?.category() == promote::Category::Complex;
    let dtype = args.opt_dtype("dtype")?;
    cx.check(!complex || dtype.is_none_or(Dtype::is_complex), full::C2, |_| {
        "a complex value for a real tensor".to_string()
    })
}

clauses! { empty_strided {
    C1 "There is a stride for each size."
    C2 "No size and no stride is negative."
} }

/// `aten::empty_strided(SymInt[] size, SymInt[] stride, *, …) -> Tensor`.
fn empty_strided(cx: &mut Cx, args: &Args) -> KernelResult {
    let prim = args.has("shape");
    let (sizes, strides) = if prim {
        (args.ints("shape")?, args.ints("strides")?)
    } else {
        (args.ints("size")?, args.ints("stride")?)
    };
    cx.check(sizes.len() == strides.len(), empty_strided::C1, |_| {
        format!("{} sizes and {} strides", sizes.len(), strides.len())
    })?;
    require_natural(cx, sizes, empty_strided::C2)?;
    require_natural(cx, strides, empty_strided::C2)?;
    require_strided(args)?;
    let (dtype, device) = if args.has("self") {
        let x = args.tensor("self")?;
        (dtype_or(args, x.dtype)?, device_or(args, x.device.clone())?)
    } else {
        (dtype_or(args, Dtype::Float32)?, device_or(args, Device::cpu())?)
    };
    one(cx.strided(sizes.into(), strides.into(), dtype, &device))
}

clauses! { empty_permuted {
    C1 "`physical_layout` is a permutation of the dimensions, without negative entries."
    C2 "No size is negative."
} }

/// `aten::empty_permuted(SymInt[] size, int[] physical_layout, *, …) -> Tensor`: dense, dimensions laid out as listed,
/// outermost first.
fn empty_permuted(cx: &mut Cx, args: &Args) -> KernelResult {
    let sizes = args.ints(if args.has("shape") { "shape" } else { "size" })?;
    let layout = args.ints("physical_layout")?;
    let mut order = Vec::with_capacity(layout.len());
    for &dim in layout.iter().rev() {
        order.push(cx.literal(dim, empty_permuted::C1)?);
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    cx.check(sorted.iter().copied().eq(0..sizes.len() as i64), empty_permuted::C1, |cx| {
        format!("{} does not name each of {} dimensions once", cx.show_all(layout), sizes.len())
    })?;
    require_natural(cx, sizes, empty_permuted::C2)?;
    let order: Vec<usize> = order.into_iter().map(|dim| dim as usize).collect();
    let strides = cx.strides_in_order(sizes, &order);
    let (dtype, device) = (dtype_or(args, Dtype::Float32)?, device_or(args, Device::cpu())?);
    one(cx.strided(sizes.into(), strides, dtype, &device))
}

/// `aten::new_empty(Tensor self, SymInt[] size, *, …) -> Tensor` and its kin: contiguous, dtype and device of `self` by
/// default.
fn new_sized(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, sizes) = (args.tensor("self")?, args.ints("size")?);
    require_natural(cx, sizes, creation::C1)?;
    require_strided(args)?;
    let (dtype, device) = (dtype_or(args, x.dtype)?, device_or(args, x.device.clone())?);
    one(cx.contiguous(sizes, dtype, &device))
}

/// `aten::empty_like(Tensor self, *, …, MemoryFormat? memory_format=None) -> Tensor` and its kin.
pub(super) fn like(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    one(like_tensor(cx, args, x)?)
}

/// A tensor like `x` with the dtype, device and memory format asked for.
pub(super) fn like_tensor(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Tensor, KernelError> {
    require_strided(args)?;
    let (dtype, device) = (dtype_or(args, x.dtype)?, device_or(args, x.device.clone())?);
    let format = if args.has("memory_format") { args.opt_memory_format("memory_format")? } else { None };
    fresh_like(cx, x, dtype, &device, format)
}

/// `aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, …) -> Tensor`: no dimensions; `float32` by default,
/// or the value's dtype for the operator of `prims`.
fn scalar_tensor(cx: &mut Cx, args: &Args) -> KernelResult {
    let prim = args.schema.namespace == "prims";
    let dtype = dtype_or(args, if prim { args.scalar("s")?.dtype() } else { Dtype::Float32 })?;
    let device = device_or(args, Device::cpu())?;
    one(cx.contiguous(Sizes::new(), dtype, &device))
}

clauses! { eye {
    C1 "The numbers of rows and columns are not negative."
} }

/// `aten::eye.m(SymInt n, SymInt m, *, …) -> Tensor`: `[n, m]`, `m` being `n` by default.
fn eye(cx: &mut Cx, args: &Args) -> KernelResult {
    let n = args.int("n")?;
    let m = if args.has("m") { args.int("m")? } else { n };
    require_natural(cx, &[n, m], eye::C1)?;
    let (dtype, device) = (dtype_or(args, Dtype::Float32)?, device_or(args, Device::cpu())?);
    one(cx.contiguous([n, m].as_slice(), dtype, &device))
}

clauses! { triangle {
    C1 "`row` and `col` are not negative."
    C2 "The dtype is `int32` or `int64`."
} }

/// `aten::tril_indices(int row, int col, int offset=0, *, …) -> Tensor`: `[2, n]` for the `n` elements on and below the
/// diagonal; `triu_indices` for those on and above it.
///
/// Row `i` has `min(max(i + 1 + offset, 0), col)` elements on and below the diagonal. With `T(k) = k(k+1)/2` for positive
/// `k`, else 0, they sum up to `T(row + offset) - T(offset) - T(row + offset - col) + T(offset - col)`.
fn triangle(cx: &mut Cx, args: &Args, lower: bool) -> KernelResult {
    let (row, col, offset) = (args.int("row")?, args.int("col")?, args.int("offset")?);
    require_natural(cx, &[row, col], triangle::C1)?;
    let dtype = dtype_or(args, Dtype::Int64)?;
    cx.check(matches!(dtype, Dtype::Int64 | Dtype::Int32), triangle::C2, |_| {
        format!("indices are not of {dtype}")
    })?;
    let offset = if lower { offset } else { cx.sub(offset, 1) };
    let end = cx.add(row, offset);
    let (end_beyond, beyond) = (cx.sub(end, col), cx.sub(offset, col));
    let mut terms = Vec::new();
    for (k, sign) in [(end, 1), (offset, -1), (end_beyond, -1), (beyond, 1)] {
        let positive = cx.max(k, 0);
        let next = cx.add(positive, 1);
        let product = cx.mul(positive, next);
        let half = cx.floor_div(product, 2);
        terms.push(cx.mul(half, sign));
    }
    let below = cx.sum(terms);
    let count = if lower {
        below
    } else {
        let all = cx.mul(row, col);
        cx.sub(all, below)
    };
    let device = device_or(args, Device::cpu())?;
    one(cx.contiguous([Expr::from(2), count].as_slice(), dtype, &device))
}

clauses! { window {
    C1 "`window_length` is not negative."
    C2 "The dtype is floating point."
} }

/// `aten::hann_window(int window_length, *, …) -> Tensor` and other windows: `[window_length]`.
fn window(cx: &mut Cx, args: &Args) -> KernelResult {
    let length = args.int("window_length")?;
    require_natural(cx, &[length], window::C1)?;
    let (dtype, device) = (dtype_or(args, Dtype::Float32)?, device_or(args, Device::cpu())?);
    cx.check(dtype.is_float(), window::C2, |_| format!("a window is not of {dtype}"))?;
    one(cx.contiguous([length].as_slice(), dtype, &device))
}

clauses! { resize {
    C1 "No size is negative."
} }

/// `aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor`.
fn resize(cx: &mut Cx, args: &Args) -> KernelResult {
    let sizes = args.ints("size")?;
    resized(cx, args, sizes)
}

/// `aten::resize_as(Tensor self, Tensor the_template, *, …) -> Tensor`: the sizes of the template.
fn resize_as(cx: &mut Cx, args: &Args) -> KernelResult {
    resized(cx, args, &args.tensor("the_template")?.sizes)
}

fn resized(cx: &mut Cx, args: &Args, sizes: &[Expr]) -> KernelResult {
    let x = args.tensor("self")?;
    require_natural(cx, sizes, resize::C1)?;
    let format = args.opt_memory_format("memory_format")?.unwrap_or(MemoryFormat::Contiguous);
    if format == MemoryFormat::Preserve {
        return Err(KernelError::Unsupported("resizing with a preserved format".into()));
    }
    require_rank_for(cx, format, sizes.len())?;
    let strides = cx.format_strides(sizes, format);
    one(cx.strided(sizes.into(), strides, x.dtype, &x.device))
}
