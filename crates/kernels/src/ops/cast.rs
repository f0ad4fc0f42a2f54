//! Copies and casts: to another dtype, device or memory format; filling; the parts of complex numbers.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value, Values, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::{Device, Dtype, Layout, MemoryFormat};
use smallvec::smallvec;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    memory_format::ALL,
    contiguous::ALL,
    copy::ALL,
    fill::ALL,
    real::ALL,
    imag::ALL,
    conj_physical::ALL,
    to_dense::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    clone => "aten.clone.default", "prims.clone.default";
    contiguous => "aten.contiguous.default";
    to_copy => "aten._to_copy.default";
    to => "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other", "aten.type_as.default";
    |_, args| one(as_laid_out(args.tensor("self")?)) => "aten._lazy_clone.default";
    copy => "aten.copy.default";
    fill => "aten.fill.Scalar", "aten.fill.Tensor", "aten.zero.default", "prims.fill.default";
    cast => "aten._cast_Byte.default", "aten._cast_Char.default", "aten._cast_Double.default",
        "aten._cast_Float.default", "aten._cast_Half.default", "aten._cast_Int.default", "aten._cast_Long.default",
        "aten._cast_Short.default";
    chalf => "aten.chalf.default";
    real => "aten.real.default", "prims.real.default";
    imag => "aten.imag.default", "prims.imag.default";
    conj_physical => "aten.conj_physical.default", "aten._conj_physical.default", "prims.conj_physical.default";
    autocast => "aten._autocast_to_full_precision.default", "aten._autocast_to_reduced_precision.default";
    to_cpu => "aten._to_cpu.default";
    to_dense => "aten.to_dense.default";
    to_dense_backward => "aten.to_dense_backward.default";
    no_dense => "aten._to_dense.default";
};

/// The tensor as a result of its own: same meta, no longer standing for a Python number.
fn as_laid_out(x: &Tensor) -> Tensor {
    Tensor { wrapped: false, ..x.clone() }
}

/// A fresh tensor shaped like `x` in a memory format: `None` and `Preserve` keep the order of dimensions.
pub(super) fn fresh_like(
    cx: &mut Cx,
    x: &Tensor,
    dtype: Dtype,
    device: &Device,
    format: Option<MemoryFormat>,
) -> Result<Tensor, KernelError> {
    if x.layout != Layout::Strided {
        return Err(KernelError::Unsupported(format!("a copy of a {} tensor", x.layout)));
    }
    let strides = match format {
        None | Some(MemoryFormat::Preserve) => cx.preserved_strides(x),
        Some(format) => {
            require_rank_for(cx, format, x.rank())?;
            cx.format_strides(&x.sizes, format)
        }
    };
    Ok(cx.strided(x.sizes.clone(), strides, dtype, device))
}

clauses! { memory_format {
    C1 "The tensor has 4 dimensions for `channels_last`, 5 for `channels_last_3d`."
} }

/// Channels-last formats are for 4 and 5 dimensions.
pub(super) fn require_rank_for(cx: &mut Cx, format: MemoryFormat, rank: usize) -> Result<(), KernelError> {
    let fits = match format {
        MemoryFormat::ChannelsLast => rank == 4,
        MemoryFormat::ChannelsLast3d => rank == 5,
        _ => true,
    };
    cx.check(fits, memory_format::C1, |_| format!("{format} is not for a tensor of {rank} dimensions"))
}

/// `aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor`.
fn clone(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    one(fresh_like(cx, x, x.dtype, &x.device, args.opt_memory_format("memory_format")?)?)
}

clauses! { contiguous {
    C1 "`memory_format` is not `preserve_format`."
} }

/// `aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)`: the tensor itself
/// where it has the format already.
fn contiguous(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let format = args.opt_memory_format("memory_format")?.unwrap_or(MemoryFormat::Contiguous);
    cx.check(format != MemoryFormat::Preserve, contiguous::C1, |_| {
        "preserve_format names no order of dimensions".to_string()
    })?;
    if cx.has_format(x, format) {
        return one(as_laid_out(x));
    }
    one(fresh_like(cx, x, x.dtype, &x.device, Some(format))?)
}

/// `aten::_to_copy(Tensor self, *, ScalarType? dtype=None, …, MemoryFormat? memory_format=None) -> Tensor`.
fn to_copy(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    require_strided(args)?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(x.dtype);
    let device = args.opt_device("device")?.unwrap_or_else(|| x.device.clone());
    one(fresh_like(cx, x, dtype, &device, args.opt_memory_format("memory_format")?)?)
}

/// Only strided results are modelled.
pub(super) fn require_strided(args: &Args) -> Result<(), KernelError> {
    match args.has("layout").then(|| args.opt_layout("layout")).transpose()?.flatten() {
        None | Some(Layout::Strided) => Ok(()),
        Some(other) => Err(KernelError::Unsupported(format!("a result with layout {other}"))),
    }
}

/// `aten::to`: the tensor itself where dtype, device and memory format are right already and no copy is asked for,
/// else a copy as `_to_copy` makes it.
fn to(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    require_strided(args)?;
    let (mut dtype, mut device) = (None, None);
    if args.has("other") {
        let other = args.tensor("other")?;
        (dtype, device) = (Some(other.dtype), Some(other.device.clone()));
    }
    if args.has("dtype") {
        dtype = args.opt_dtype("dtype")?;
    }
    if args.has("device") {
        device = args.opt_device("device")?;
    }
    let (dtype, device) = (dtype.unwrap_or(x.dtype), device.unwrap_or_else(|| x.device.clone()));
    let format = if args.has("memory_format") { args.opt_memory_format("memory_format")? } else { None };
    let copy = args.has("copy") && args.flag("copy")?;
    let same = dtype == x.dtype && same_device(&device, &x.device) && !copy;
    let same_format = match format {
        None | Some(MemoryFormat::Preserve) => true,
        Some(format) => same && cx.suggested_format(x) == format,
    };
    if same && same_format {
        return one(as_laid_out(x));
    }
    one(fresh_like(cx, x, dtype, &device, format)?)
}

/// Whether a device asked for is the one at hand; without an index, the current one counts.
fn same_device(asked: &Device, held: &Device) -> bool {
    asked.kind == held.kind && (asked.index.is_none() || asked.index == held.index)
}

clauses! { copy {
    C1 "`src` broadcasts to the shape of `self`."
} }

/// `aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor`: `src` in the place of `self`.
fn copy(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, src) = (args.tensor("self")?, args.tensor("src")?);
    cx.require_expandable(&src.sizes, &x.sizes, copy::C1)?;
    one(Tensor { offset: sizewise_expr::Expr::ZERO, ..as_laid_out(x) })
}

clauses! { fill {
    C1 "A `value` that is a tensor has no dimensions."
    C2 "A complex `value` needs a complex tensor."
} }

/// `aten::fill.Scalar(Tensor self, Scalar value) -> Tensor`, and `zero`: like `self`.
fn fill(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let value = if args.has("value") { args.value("value")? } else { &Value::None };
    if let Value::Tensor(value) = value {
        cx.check(value.rank() == 0, fill::C1, |_| format!("the value has {} dimensions", value.rank()))?;
    }
    let complex = matches!(value, Value::Complex(..)) && !x.dtype.is_complex();
    cx.check(!complex, fill::C2, |_| format!("a complex value for a tensor of {}", x.dtype))?;
    one(fresh_like(cx, x, x.dtype, &x.device, None)?)
}

/// `aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor` and its kin: the dtype is in the name.
fn cast(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dtype = match args.schema.name.as_str() {
        "_cast_Byte" => Dtype::Uint8,
        "_cast_Char" => Dtype::Int8,
        "_cast_Double" => Dtype::Float64,
        "_cast_Float" => Dtype::Float32,
        "_cast_Half" => Dtype::Float16,
        "_cast_Int" => Dtype::Int32,
        "_cast_Long" => Dtype::Int64,
        _ => Dtype::Int16,
    };
    if dtype == x.dtype {
        return one(as_laid_out(x));
    }
    one(fresh_like(cx, x, dtype, &x.device, None)?)
}

/// `aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor`: as `to(complex32)`.
fn chalf(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    one(fresh_like(cx, x, Dtype::Complex32, &x.device, args.opt_memory_format("memory_format")?)?)
}

clauses! { real {
    C1 "The operand of `prims.real` is complex."
} }

/// `aten::real(Tensor(a) self) -> Tensor(a)`: a real tensor itself, or every other element of its storage.
fn real(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    if x.dtype.is_complex() {
        return part(cx, x, 0);
    }
    let plain = &*args.schema.namespace == "aten";
    cx.check(plain, real::C1, |_| format!("a complex tensor is expected, not {}", x.dtype))?;
    one(as_laid_out(x))
}

clauses! { imag {
    C1 "The operand is complex."
} }

/// `aten::imag(Tensor(a) self) -> Tensor(a)`.
fn imag(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    cx.check(x.dtype.is_complex(), imag::C1, |_| format!("a tensor of {} has no imaginary part", x.dtype))?;
    part(cx, x, 1)
}

/// The real (0) or imaginary (1) parts: a view with strides in units of parts.
fn part(cx: &mut Cx, x: &Tensor, which: i64) -> KernelResult {
    let strides = x.strides.iter().map(|&s| cx.mul(s, 2)).collect();
    let twice = cx.mul(x.offset, 2);
    let offset = cx.add(twice, cx_int(which));
    one(Tensor { strides, offset, dtype: promote::to_real(x.dtype), ..as_laid_out(x) })
}

fn cx_int(value: i64) -> sizewise_expr::Expr {
    sizewise_expr::Expr::from(value as i32)
}

clauses! { conj_physical {
    C1 "The operand of `prims.conj_physical` is complex."
    C2 "The operand is a strided tensor."
} }

/// `aten::conj_physical(Tensor self) -> Tensor`: a real tensor itself, else an element-wise result.
fn conj_physical(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    let is_prim = args.schema.namespace == "prims";
    cx.check(x.dtype.is_complex() || !is_prim, conj_physical::C1, |_| {
        format!("a complex tensor is expected, not {}", x.dtype)
    })?;
    if !x.dtype.is_complex() {
        return one(as_laid_out(x));
    }
    one(cx.elementwise(&[x], x.dtype, conj_physical::C2)?)
}

/// `aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype,
/// ScalarType cpu_dtype) -> Tensor(a)` casts `float32`, `_autocast_to_full_precision` the 16-bit floats to `float32`,
/// on devices where it is enabled.
fn autocast(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let on_cpu = &*x.device.kind == "cpu";
    let enabled = args.flag(if on_cpu { "cpu_enabled" } else { "cuda_enabled" })?;
    let dtype = if args.has("cpu_dtype") {
        let reduced = args.opt_dtype(if on_cpu { "cpu_dtype" } else { "cuda_dtype" })?;
        reduced.filter(|_| x.dtype == Dtype::Float32)
    } else {
        matches!(x.dtype, Dtype::Float16 | Dtype::Bfloat16).then_some(Dtype::Float32)
    };
    match dtype.filter(|dtype| enabled && *dtype != x.dtype) {
        Some(dtype) => one(fresh_like(cx, x, dtype, &x.device, None)?),
        None => one(as_laid_out(x)),
    }
}

/// `aten::_to_cpu(Tensor[] tensors) -> Tensor[]`: each tensor on the host.
fn to_cpu(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut moved: Vec<Option<Arc<Tensor>>> = Vec::new();
    for tensor in args.tensors("tensors")? {
        moved.push(Some(if &*tensor.device.kind == "cpu" {
            tensor
        } else {
            Arc::new(fresh_like(cx, &tensor, tensor.dtype, &Device::cpu(), None)?)
        }));
    }
    Ok(smallvec![Value::Tensors(moved)])
}

/// A strided tensor, which conversions between layouts leave as it is; others are not followed.
fn strided(x: &Tensor) -> Result<&Tensor, KernelError> {
    match x.layout {
        Layout::Strided => Ok(x),
        layout => Err(KernelError::Unsupported(format!("a {layout} tensor converted"))),
    }
}

/// `aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor`: a strided tensor
/// itself, or cast.
fn to_dense(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = strided(args.tensor("self")?)?;
    match args.opt_dtype("dtype")? {
        Some(dtype) if dtype != x.dtype => {
            let strides = cx.preserved_strides(x);
            one(cx.strided(x.sizes.clone(), strides, dtype, &x.device))
        }
        _ => one(as_laid_out(x)),
    }
}

/// `aten::to_dense_backward(Tensor grad, Tensor input, bool? masked_grad=None) -> Tensor`: the gradient in the dtype
/// of a strided `input`, copied.
fn to_dense_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x) = (strided(args.tensor("grad")?)?, strided(args.tensor("input")?)?);
    let strides = cx.preserved_strides(grad);
    one(cx.strided(grad.sizes.clone(), strides, x.dtype, &grad.device))
}

clauses! { to_dense {
    C1 "`self` is not strided: `_to_dense` has no kernel for strided tensors."
} }

/// `aten::_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor`: what `to_dense` calls for
/// other layouts.
fn no_dense(cx: &mut Cx, args: &Args) -> KernelResult {
    strided(args.tensor("self")?)?;
    cx.check(false, to_dense::C1, |_| "a strided tensor has no kernel for this".into())?;
    Ok(Values::new())
}
