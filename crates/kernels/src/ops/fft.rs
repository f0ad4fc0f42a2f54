//! Discrete Fourier transforms.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype, Layout};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[fft::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    fft => "aten.fft_fft.default", "aten.fft_ifft.default";
    rfft => "aten.fft_rfft.default", "aten.fft_ihfft.default";
    irfft => "aten.fft_irfft.default", "aten.fft_hfft.default";
    fftn => "aten.fft_fftn.default", "aten.fft_ifftn.default", "aten.fft_fft2.default",
        "aten.fft_ifft2.default";
    rfftn => "aten.fft_rfftn.default", "aten.fft_rfft2.default";
    ihfftn => "aten.fft_ihfftn.default", "aten.fft_ihfft2.default";
    irfftn => "aten.fft_irfftn.default", "aten.fft_irfft2.default";
    hfftn => "aten.fft_hfftn.default", "aten.fft_hfft2.default";
    |cx, args| c2c(cx, args, false) => "aten._fft_c2c.default";
    |cx, args| c2c(cx, args, true) => "prims.fft_c2c.default";
    |cx, args| r2c(cx, args, false) => "aten._fft_r2c.default";
    |cx, args| r2c(cx, args, true) => "prims.fft_r2c.default";
    |cx, args| c2r(cx, args, false) => "aten._fft_c2r.default";
    |cx, args| c2r(cx, args, true) => "prims.fft_c2r.default";
    fftshift => "aten.fft_fftshift.default", "aten.fft_ifftshift.default";
    |cx, args| frequencies(cx, args, false) => "aten.fft_fftfreq.default";
    |cx, args| frequencies(cx, args, true) => "aten.fft_rfftfreq.default";
};

/// The operand in the floating point (or complex) dtype that transforms compute in: integers become `float32`.
fn promoted(cx: &mut Cx, x: &Tensor, complex: bool) -> Result<Tensor, KernelError> {
    if x.dtype.is_complex() {
        return Ok(x.clone());
    }
    let dtype = promote::to_float(x.dtype);
    cx.require_dtype(dtype, Domain::SINGLE_DOUBLE.on_cpu(), &x.device, fft::C1)?;
    let dtype = if complex { promote::to_complex(dtype) } else { dtype };
    if dtype == x.dtype {
        return Ok(x.clone());
    }
    let strides = cx.preserved_strides(x);
    Ok(cx.strided(x.sizes.clone(), strides, dtype, &x.device))
}

/// Requires at least one data point.
fn require_points(cx: &mut Cx, count: Expr) -> Result<(), KernelError> {
    let some = cx.ge(count, 1);
    cx.require(some, fft::C3, |cx| format!("{} data points are none to transform", cx.show(count)))
}

/// A dimension of a tensor that is no scalar, as an index.
fn dimension(cx: &mut Cx, x: &Tensor, dim: Expr) -> Result<usize, KernelError> {
    cx.check(x.rank() > 0, fft::C2, |_| "a scalar has no dimension to transform".into())?;
    cx.dim(dim, x.rank(), fft::C2)
}

clauses! { fft {
    C1 "Operands that are not complex are of integers, `bool`, `float32` or `float64`."
    C2 "The dimensions are distinct and in range, and as many as sizes are given."
    C3 "There is at least one data point along each dimension."
    C4 "`self` is not complex."
    C5 "`norm` is `backward`, `forward` or `ortho`."
    C6 "`n` is not negative, and the dtype is floating point."
} }

/// `fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor`, and `fft_ifft`: `dim` is cut or padded
/// to `n`.
fn fft(cx: &mut Cx, args: &Args) -> KernelResult {
    check_norm(cx, args)?;
    let x = promoted(cx, args.tensor("self")?, true)?;
    let dim = dimension(cx, &x, args.int("dim")?)?;
    let n = args.opt_int("n")?.unwrap_or(x.sizes[dim]);
    require_points(cx, n)?;
    let x = cx.fft_resized(&x, &[dim], &[n]);
    one(cx.fft_c2c(&x, &[dim], fft::C3)?)
}

/// `fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor`, and `fft_ihfft`: of the `n` data points
/// that `dim` is cut or padded to, `n // 2 + 1` values.
fn rfft(cx: &mut Cx, args: &Args) -> KernelResult {
    check_norm(cx, args)?;
    let x = real(cx, args.tensor("self")?)?;
    let dim = dimension(cx, &x, args.int("dim")?)?;
    let n = args.opt_int("n")?.unwrap_or(x.sizes[dim]);
    require_points(cx, n)?;
    let x = cx.fft_resized(&x, &[dim], &[n]);
    one(cx.fft_r2c(&x, &[dim], true, fft::C3)?)
}

/// The operand in a real floating point dtype.
fn real(cx: &mut Cx, x: &Tensor) -> Result<Tensor, KernelError> {
    cx.check(!x.dtype.is_complex(), fft::C4, |_| format!("a real operand is expected, not {}", x.dtype))?;
    promoted(cx, x, false)
}

/// `2 * (size - 1)`: the data points of which a one-sided spectrum has `size` values.
fn points_of(cx: &mut Cx, size: Expr) -> Expr {
    let intervals = cx.sub(size, 1);
    cx.mul(intervals, 2)
}

/// `n // 2 + 1`: the values of a one-sided spectrum of `n` data points.
fn spectrum_of(cx: &mut Cx, n: Expr) -> Expr {
    let half = cx.floor_div(n, 2);
    cx.add(half, 1)
}

/// `fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor`, and `fft_hfft`: `dim` becomes `n`, by
/// default `2 * (self.size(dim) - 1)`.
fn irfft(cx: &mut Cx, args: &Args) -> KernelResult {
    check_norm(cx, args)?;
    let x = promoted(cx, args.tensor("self")?, true)?;
    let dim = dimension(cx, &x, args.int("dim")?)?;
    let given = args.opt_int("n")?;
    let n = match given {
        Some(n) => n,
        None => points_of(cx, x.sizes[dim]),
    };
    require_points(cx, n)?;
    let x = match given {
        Some(n) => {
            let values = spectrum_of(cx, n);
            cx.fft_resized(&x, &[dim], &[values])
        }
        None => x,
    };
    one(cx.fft_c2r(&x, &[dim], n, fft::C3)?)
}

/// The dimensions to transform, and the data points of each.
struct Extent {
    dims: Vec<usize>,
    points: Vec<Expr>,
}

/// What `s` and `dim` say: without `dim`, the last dimensions, as many as `s` has, or all; without `s`, or where it is
/// -1, the sizes that there are.
///
/// The dimensions are in range and distinct, as many as `s` has. Each has a data point.
fn extent(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Extent, KernelError> {
    let (shape, dims) = (args.opt_ints("s")?, args.opt_ints("dim")?);
    let dims = match (dims, shape) {
        (Some(dims), _) => {
            let mut wrapped = Vec::with_capacity(dims.len());
            for &dim in dims {
                let dim = dimension(cx, x, dim)?;
                cx.check(!wrapped.contains(&dim), fft::C2, |_| format!("dimension {dim} is named twice"))?;
                wrapped.push(dim);
            }
            wrapped
        }
        (None, Some(shape)) => {
            cx.check(shape.len() <= x.rank(), fft::C2, |_| {
                format!("{} sizes are given for {} dimensions", shape.len(), x.rank())
            })?;
            (x.rank() - shape.len().min(x.rank())..x.rank()).collect()
        }
        (None, None) => (0..x.rank()).collect(),
    };
    let mut points: Vec<Expr> = dims.iter().map(|&d| x.sizes[d]).collect();
    if let Some(shape) = shape {
        cx.check(shape.len() == dims.len(), fft::C2, |_| {
            format!("{} sizes are given for {} dimensions", shape.len(), dims.len())
        })?;
        let whole = cx.int(-1);
        for (points, &given) in points.iter_mut().zip(shape) {
            if given != whole {
                *points = given;
            }
        }
    }
    for &count in &points {
        require_points(cx, count)?;
    }
    Ok(Extent { dims, points })
}

/// Requires at least one dimension, and gives the last.
fn last(cx: &mut Cx, extent: &Extent) -> Result<usize, KernelError> {
    cx.check(!extent.dims.is_empty(), fft::C2, |_| "no dimension is named".into())?;
    Ok(extent.dims[extent.dims.len() - 1])
}

/// `fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor` and its like: see [`extent`].
fn fftn(cx: &mut Cx, args: &Args) -> KernelResult {
    check_norm(cx, args)?;
    let x = args.tensor("self")?;
    let extent = extent(cx, args, x)?;
    let x = promoted(cx, x, true)?;
    let x = cx.fft_resized(&x, &extent.dims, &extent.points);
    one(cx.fft_c2c(&x, &extent.dims, fft::C3)?)
}

/// `fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor`, and `fft_rfft2`: the last
/// dimension is left with `n // 2 + 1` values.
fn rfftn(cx: &mut Cx, args: &Args) -> KernelResult {
    check_norm(cx, args)?;
    let x = real(cx, args.tensor("self")?)?;
    let extent = extent(cx, args, &x)?;
    last(cx, &extent)?;
    let x = cx.fft_resized(&x, &extent.dims, &extent.points);
    one(cx.fft_r2c(&x, &extent.dims, true, fft::C3)?)
}

/// `fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor`, and `fft_ihfft2`: shaped as
/// [`rfftn`], the last dimension being transformed first.
fn ihfftn(cx: &mut Cx, args: &Args) -> KernelResult {
    check_norm(cx, args)?;
    let x = real(cx, args.tensor("self")?)?;
    let extent = extent(cx, args, &x)?;
    let last = last(cx, &extent)?;
    let x = cx.fft_resized(&x, &extent.dims, &extent.points);
    let spectrum = cx.fft_r2c(&x, &[last], true, fft::C3)?;
    one(cx.fft_c2c(&spectrum, &extent.dims[..extent.dims.len() - 1], fft::C3)?)
}

/// The operand cut or padded for a real result, the dimensions, and the size of the last one in the result.
fn hermitian(cx: &mut Cx, args: &Args) -> Result<(Tensor, Vec<usize>, Expr), KernelError> {
    check_norm(cx, args)?;
    let x = args.tensor("self")?;
    let mut extent = extent(cx, args, x)?;
    let last = last(cx, &extent)?;
    let whole = cx.int(-1);
    let given = args.opt_ints("s")?.and_then(|s| s.last().copied()).filter(|&s| s != whole);
    let n = match given {
        Some(n) => n,
        None => points_of(cx, x.sizes[last]),
    };
    require_points(cx, n)?;
    let values = if given.is_some() { spectrum_of(cx, n) } else { x.sizes[last] };
    let at = extent.points.len() - 1;
    extent.points[at] = values;
    let x = promoted(cx, x, true)?;
    Ok((cx.fft_resized(&x, &extent.dims, &extent.points), extent.dims, n))
}

/// `fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor`, and `fft_irfft2`: the last
/// dimension becomes `n`, by default `2 * (size - 1)`.
fn irfftn(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dims, n) = hermitian(cx, args)?;
    one(cx.fft_c2r(&x, &dims, n, fft::C3)?)
}

/// `fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor`, and `fft_hfft2`: as
/// [`irfftn`].
fn hfftn(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dims, n) = hermitian(cx, args)?;
    let (last, others) = (&dims[dims.len() - 1..], &dims[..dims.len() - 1]);
    let x = cx.fft_c2c(&x, others, fft::C3)?;
    one(cx.fft_c2r(&x, last, n, fft::C3)?)
}

fn check_norm(cx: &mut Cx, args: &Args) -> Result<(), KernelError> {
    let norm = args.opt_str("norm")?.unwrap_or("backward");
    cx.check(matches!(norm, "backward" | "forward" | "ortho"), fft::C5, |_| {
        format!("there is no normalisation `{norm}`")
    })
}

/// The dimensions of a transform that names them by non-negative numbers. The primitive operators look whether they are
/// in range and distinct even where there is nothing to transform, and count negative ones from the end.
fn plain_dims(cx: &mut Cx, args: &Args, x: &Tensor, primitive: bool) -> Result<Vec<usize>, KernelError> {
    let mut dims = Vec::new();
    for &dim in args.ints("dim")? {
        if primitive {
            let dim = dimension(cx, x, dim)?;
            cx.check(!dims.contains(&dim), fft::C2, |_| format!("dimension {dim} is named twice"))?;
            dims.push(dim);
            continue;
        }
        let dim = cx.literal(dim, fft::C2)?;
        let dim = usize::try_from(dim)
            .map_err(|_| KernelError::invalid(fft::C2, format!("dimension {dim} is negative")))?;
        dims.push(dim);
    }
    Ok(dims)
}

/// `_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor`: see [`Cx::fft_c2c`].
fn c2c(cx: &mut Cx, args: &Args, primitive: bool) -> KernelResult {
    let dims = plain_dims(cx, args, args.tensor("self")?, primitive)?;
    one(cx.fft_c2c(args.tensor("self")?, &dims, fft::C3)?)
}

/// `_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor`: see [`Cx::fft_r2c`].
fn r2c(cx: &mut Cx, args: &Args, primitive: bool) -> KernelResult {
    let dims = plain_dims(cx, args, args.tensor("self")?, primitive)?;
    one(cx.fft_r2c(args.tensor("self")?, &dims, args.flag("onesided")?, fft::C3)?)
}

/// `_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor`: see [`Cx::fft_c2r`].
fn c2r(cx: &mut Cx, args: &Args, primitive: bool) -> KernelResult {
    let dims = plain_dims(cx, args, args.tensor("self")?, primitive)?;
    one(cx.fft_c2r(args.tensor("self")?, &dims, args.int("last_dim_size")?, fft::C3)?)
}

/// `fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor`, and `fft_ifftshift`: shaped as the operand.
fn fftshift(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dims = args.opt_ints("dim")?;
    cx.check(dims.is_none_or(|dims| !dims.is_empty()), fft::C2, |_| "no dimension is given".into())?;
    for &dim in dims.unwrap_or_default() {
        dimension(cx, x, dim)?;
    }
    one(cx.contiguous_copy(x))
}

/// `fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, …) -> Tensor`: `[n]`; `fft_rfftfreq` gives `[n // 2 + 1]`.
fn frequencies(cx: &mut Cx, args: &Args, half: bool) -> KernelResult {
    let n = args.int("n")?;
    let size = if half { spectrum_of(cx, n) } else { n };
    let valid = cx.ge(size, 0);
    cx.require(valid, fft::C6, |cx| format!("there are no {} frequencies", cx.show(n)))?;
    let device = args.opt_device("device")?.unwrap_or_else(Device::cpu);
    let dtype = args.opt_dtype("dtype")?.unwrap_or(Dtype::Float32);
    cx.require_dtype(dtype, Domain::FLOAT.on_cpu(), &device, fft::C6)?;
    if args.opt_layout("layout")?.is_some_and(|layout| layout != Layout::Strided) {
        return Err(KernelError::Unsupported("frequencies that are not strided".into()));
    }
    one(cx.contiguous([size].as_slice(), dtype, &device))
}
