//! Evenly spaced numbers: `arange`, `range`, `linspace`, `logspace`.
use super::creation::{device_or, dtype_or, require_natural};
use crate::elementwise::Operand;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::Category;
use crate::{Args, Cx, KernelError, KernelResult, Scalar};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::{Expr, Func, Sort};
use sizewise_ir::dtype::{Device, Dtype};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[arange::ALL, iota::ALL, linspace::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    arange => "aten.arange.default", "aten.arange.start", "aten.arange.start_step";
    range => "aten.range.step", "aten.range.default";
    iota => "prims.iota.default";
    linspace => "aten.linspace.default", "aten.linspace.Scalar_Tensor", "aten.linspace.Tensor_Scalar",
        "aten.linspace.Tensor_Tensor", "aten.logspace.default", "aten.logspace.Scalar_Tensor",
        "aten.logspace.Tensor_Scalar", "aten.logspace.Tensor_Tensor";
};

/// First number, limit and step of a sequence.
struct Bounds {
    start: Expr,
    end: Expr,
    step: Expr,
    /// Whether all three are integers; if not, all are doubles.
    exact: bool,
}

clauses! { arange {
    C1 "`start`, `end` and `step` are real and finite."
    C2 "`step` is not 0."
    C3 "`end` lies in the direction of `step` from `start`."
    C4 "The dtype of the result is neither `bool` nor complex."
} }

/// Reads the bounds of a sequence.
fn bounds(cx: &mut Cx, args: &Args) -> Result<Bounds, KernelError> {
    let mut numbers = [Expr::ZERO, Expr::ZERO, Expr::ONE];
    for (number, name) in numbers.iter_mut().zip(["start", "end", "step"]) {
        if args.has(name) {
            *number = match args.scalar(name)? {
                Scalar::Int(e) | Scalar::Float(e) => e,
                Scalar::Bool(e) => cx.pool().as_integer(e),
                Scalar::Complex(..) => {
                    return Err(KernelError::invalid(arange::C1, format!("{name} is complex")));
                }
            };
            let finite = cx.pool().as_float(*number).is_none_or(f64::is_finite);
            cx.check(finite, arange::C1, |cx| format!("{name} is {}", cx.show(*number)))?;
        }
    }
    let exact = numbers.iter().all(|&e| cx.pool().sort(e) != Sort::Float);
    if !exact {
        numbers = numbers.map(|e| cx.pool().to_float(e));
    }
    let [start, end, step] = numbers;
    let zero = if exact { Expr::ZERO } else { cx.pool().float(0.0) };
    let nonzero = cx.ne(step, zero);
    cx.require(nonzero, arange::C2, |_| "the step is 0".to_string())?;
    let (up, forward) = (cx.gt(step, zero), cx.ge(end, start));
    let (down, backward) = (cx.lt(step, zero), cx.le(end, start));
    let (ascending, descending) = (cx.all(&[up, forward]), cx.all(&[down, backward]));
    let leads = cx.any(&[ascending, descending]);
    cx.require(leads, arange::C3, |cx| {
        format!("steps of {} do not lead from {} to {}", cx.show(step), cx.show(start), cx.show(end))
    })?;
    Ok(Bounds { start, end, step, exact })
}

/// `aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, …) -> Tensor`:
/// `[ceil((end - start) / step)]`, of `int64` when all numbers are integers, else of `float32`.
///
/// Integers divide exactly; doubles as doubles do.
fn arange(cx: &mut Cx, args: &Args) -> KernelResult {
    let Bounds { start, end, step, exact } = bounds(cx, args)?;
    let dtype = dtype_or(args, if exact { Dtype::Int64 } else { Dtype::Float32 })?;
    cx.check(!dtype.is_bool() && !dtype.is_complex(), arange::C4, |_| format!("a range is not of {dtype}"))?;
    let span = cx.sub(end, start);
    let length = if exact {
        cx.ceil_div(span, step)
    } else {
        let steps = cx.pool().true_div(span, step);
        cx.pool().float_to_int(Func::Ceil, steps)
    };
    let device = device_or(args, Device::cpu())?;
    one(cx.contiguous([length].as_slice(), dtype, &device))
}

/// `aten::range.step(Scalar start, Scalar end, Scalar step=1, *, …) -> Tensor`: `[floor((end - start) / step) + 1]`,
/// `float32` by default.
fn range(cx: &mut Cx, args: &Args) -> KernelResult {
    let Bounds { start, end, step, exact } = bounds(cx, args)?;
    let span = cx.sub(end, start);
    let steps = if exact {
        cx.floor_div(span, step)
    } else {
        let steps = cx.pool().true_div(span, step);
        cx.pool().float_to_int(Func::Floor, steps)
    };
    let length = cx.add(steps, 1);
    let (dtype, device) = (dtype_or(args, Dtype::Float32)?, device_or(args, Device::cpu())?);
    one(cx.contiguous([length].as_slice(), dtype, &device))
}

clauses! { iota {
    C1 "`dtype` is an integer dtype."
    C2 "`step` is not 0."
    C3 "`length` is not negative."
    C4 "`requires_grad` is not set."
} }

/// `prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) ->
/// Tensor`.
fn iota(cx: &mut Cx, args: &Args) -> KernelResult {
    let (length, step) = (args.int("length")?, args.int("step")?);
    let dtype = dtype_or(args, Dtype::Int64)?;
    cx.check(dtype.is_integral(), iota::C1, |_| format!("{dtype} is not of integers"))?;
    let trains = args.flag("requires_grad")?;
    cx.check(!trains, iota::C4, |_| format!("{dtype} has no gradients"))?;
    let nonzero = cx.ne(step, 0);
    cx.require(nonzero, iota::C2, |_| "the step is 0".to_string())?;
    require_natural(cx, &[length], iota::C3)?;
    let device = device_or(args, Device::cpu())?;
    one(cx.contiguous([length].as_slice(), dtype, &device))
}

clauses! { linspace {
    C1 "`start` and `end` have no dimensions if they are tensors."
    C2 "`steps` is not negative."
    C3 "`dtype` is complex if `start` or `end` is."
} }

/// `aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, …) -> Tensor`, and `logspace`:
/// `[steps]`.
fn linspace(cx: &mut Cx, args: &Args) -> KernelResult {
    let ends = [args.operand(0)?, args.operand(1)?];
    for end in ends {
        if let Operand::Tensor(end) = end {
            cx.check(end.rank() == 0, linspace::C1, |_| format!("an end has {} dimensions", end.rank()))?;
        }
    }
    let steps = args.int("steps")?;
    require_natural(cx, &[steps], linspace::C2)?;
    let complex = ends.iter().any(|end| end.category() == Category::Complex);
    let dtype = dtype_or(args, if complex { Dtype::Complex64 } else { Dtype::Float32 })?;
    cx.check(!complex || dtype.is_complex(), linspace::C3, |_| {
        format!("complex ends for a result of {dtype}")
    })?;
    let device = device_or(args, Device::cpu())?;
    one(cx.contiguous([steps].as_slice(), dtype, &device))
}
