//! Differences, the trapezoidal rule and numerical gradients along dimensions.
use super::join::joined;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::{ResultType, to_float};
use crate::value::list;
use crate::{Args, Cx, KernelError, KernelResult, Scalar, Sizes, Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[diff::ALL, trapezoid::ALL, gradient::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    diff => "aten.diff.default";
    |cx, args| trapezoid(cx, args, false) => "aten.trapezoid.x", "aten.trapezoid.dx", "aten.trapz.x", "aten.trapz.dx";
    |cx, args| trapezoid(cx, args, true) => "aten.cumulative_trapezoid.x", "aten.cumulative_trapezoid.dx";
    gradient => "aten.gradient.array", "aten.gradient.scalararray", "aten.gradient.scalarint",
        "aten.gradient.scalarrayarray", "aten.gradient.scalarrayint", "aten.gradient.tensorarray",
        "aten.gradient.tensorarrayint";
};

/// A dimension of a tensor that has some.
fn dimension(cx: &mut Cx, x: &Tensor, dim: Expr, clause: &'static OpClause) -> Result<usize, KernelError> {
    cx.check(x.rank() > 0, clause, |_| "a tensor without dimensions has none to go along".into())?;
    cx.dim(dim, x.rank(), clause)
}

/// What is left of `size` elements when `count` are taken away, at least none.
fn without(cx: &mut Cx, size: Expr, count: i64) -> Expr {
    let count = cx.int(count);
    let left = cx.sub(size, count);
    cx.clamped_below(left, Expr::ZERO)
}

clauses! { diff {
    C1 "`dim` is in range, and `self` is not a scalar. With `n` equal to 0 and nothing to join, `dim` is \
        not checked."
    C2 "`n` is not negative."
    C3 "`prepend` and `append` have the shape of `self`, except along `dim`."
} }

/// `diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor`: differences of
/// neighbours, taken `n` times, each of which leaves one element less (at least none) of `self` between what is put
/// before and after it.
fn diff(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, n) = (args.tensor("self")?, args.int("n")?);
    let n = cx.literal(n, diff::C2)?;
    cx.check(n >= 0, diff::C2, |_| format!("n is to be at least 0, not {n}"))?;
    let (before, after) = (args.opt_tensor("prepend")?, args.opt_tensor("append")?);
    if n == 0 && before.or(after).is_none() && x.rank() > 0 {
        let strides = cx.preserved_strides(x);
        return one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device));
    }
    let dim = dimension(cx, x, args.int("dim")?, diff::C1)?;
    for other in [before, after].into_iter().flatten() {
        cx.check(other.rank() == x.rank(), diff::C3, |_| {
            format!("tensors of {} and {} dimensions are not joined", other.rank(), x.rank())
        })?;
        for at in (0..x.rank()).filter(|&at| at != dim) {
            cx.require_eq(other.sizes[at], x.sizes[at], diff::C3, "sizes that are not joined differ")?;
        }
    }
    let parts: Vec<Arc<Tensor>> = [before, Some(x), after].into_iter().flatten().cloned().collect();
    let whole = if parts.len() > 1 && n > 0 { joined(cx, &parts, dim)? } else { (**x).clone() };
    let mut part = whole.viewed(whole.sizes.clone(), whole.strides.clone());
    part.sizes[dim] = without(cx, part.sizes[dim], n);
    let strides = match n {
        0 => cx.preserved_strides(&part),
        _ => cx.elementwise_strides(&part.sizes.clone(), &[&part, &part]),
    };
    one(cx.strided(part.sizes, strides, whole.dtype, &whole.device))
}

clauses! { trapezoid {
    C1 "`dim` is in range, and `y` is not a scalar."
    C2 "Unless there are no samples, `y` and `x` are not of `bool`, and `dx` is an integer or a float."
    C3 "The intervals of `x` broadcast with those of `y`. If `x` has 1 dimension, it has as many elements \
        as `y` along `dim`."
    C4 "The dtypes of `y` and `x` promote to a common one."
} }

/// `trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor`, `trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) ->
/// Tensor`, `trapz`, and `cumulative_trapezoid`: `dim` goes, or is left with one element less. Integers become `float32`,
/// unless there are no samples to add up.
fn trapezoid(cx: &mut Cx, args: &Args, cumulative: bool) -> KernelResult {
    let y = args.tensor("y")?;
    let dim = dimension(cx, y, args.int("dim")?, trapezoid::C1)?;
    let samples = y.sizes[dim];
    let none = cx.eq(samples, 0);
    let mut sizes = y.sizes.clone();
    let same_result = !args.has("x") && to_float(y.dtype) == y.dtype;
    let without_samples = match (cumulative, same_result) {
        (true, _) => false,
        (_, true) => cx.exceptionally(none, trapezoid::C2),
        _ => cx.branch(none, trapezoid::C2)?,
    };
    if without_samples {
        sizes.remove(dim);
        return one(cx.contiguous(sizes, y.dtype, &y.device));
    }
    cx.check(!y.dtype.is_bool(), trapezoid::C2, |_| "bool is not added up".into())?;
    sizes[dim] = without(cx, samples, 1);
    let mut dtype = y.dtype;
    if args.has("x") {
        let x = args.tensor("x")?;
        cx.check(!x.dtype.is_bool(), trapezoid::C2, |_| "bool is not added up".into())?;
        let widths = widths(cx, x, y, dim)?;
        sizes = cx.broadcast([sizes.as_slice(), widths.as_slice()], trapezoid::C3)?;
        dtype =
            ResultType::default().with(y).with(&cx.contiguous(widths, x.dtype, &x.device)).dtype().map_err(
                |(a, b)| KernelError::invalid(trapezoid::C4, format!("{a} and {b} do not promote")),
            )?;
    } else {
        let real = matches!(args.scalar("dx")?, Scalar::Int(_) | Scalar::Float(_));
        cx.check(real, trapezoid::C2, |_| "dx is to be a real number".into())?;
    }
    if !cumulative {
        sizes.remove(dim);
    }
    one(cx.contiguous(sizes, to_float(dtype), &y.device))
}

/// The shape of the intervals of `x`, as far as it broadcasts to `y`: an `x` of one dimension goes along `dim`, and one
/// of fewer dimensions than `y` along the last ones.
fn widths(cx: &mut Cx, x: &Tensor, y: &Tensor, dim: usize) -> Result<Sizes, KernelError> {
    let mut sizes: Sizes = smallvec![Expr::ONE; y.rank()];
    match x.rank() {
        1 => {
            cx.require_eq(x.size(0), y.sizes[dim], trapezoid::C3, "there is to be one x a sample")?;
            sizes[dim] = x.size(0);
        }
        rank if rank < y.rank() => sizes[y.rank() - rank..].copy_from_slice(&x.sizes),
        _ => sizes = x.sizes.clone(),
    }
    sizes[dim] = without(cx, sizes[dim], 1);
    Ok(sizes)
}

clauses! { gradient {
    C1 "The dimensions are distinct and in range, and `self` is not a scalar."
    C2 "`spacing` is missing, a single number, or has an entry for each dimension."
    C3 "`edge_order` is 1 or 2."
    C4 "Each dimension of the gradient has more than `edge_order` elements."
    C5 "`self` is neither of `uint8` nor of `bool`."
    C6 "Coordinates have 1 dimension, more than `edge_order` elements, and fit `self`. Their inner \
        elements broadcast with those of the dimension, and their dtypes promote."
} }

/// `gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]` and its like:
/// for each dimension in `dim`, or for all, a tensor of the shape of `self`, integers becoming `float32`. Spacing by
/// coordinates may stretch a dimension.
fn gradient(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, order) = (args.tensor("self")?, args.int("edge_order")?);
    let dims = directions(cx, args, x)?;
    let order = cx.literal(order, gradient::C3)?;
    cx.check(matches!(order, 1 | 2), gradient::C3, |_| format!("edge_order is to be 1 or 2, not {order}"))?;
    cx.check(x.dtype != Dtype::Uint8 && !x.dtype.is_bool(), gradient::C5, |_| {
        format!("there is no gradient of {}", x.dtype)
    })?;
    let spacing = if args.has("spacing") { args.value("spacing")? } else { &Value::None };
    let lengths = match spacing {
        Value::Tensors(items) => Some(items.len()),
        Value::Scalars(items) => Some(items.len()),
        _ => None,
    };
    let given = lengths.unwrap_or(dims.len());
    cx.check(given == dims.len(), gradient::C2, |_| {
        format!("{given} spacings for {} dimensions", dims.len())
    })?;
    let least = cx.int(order);
    for &dim in &dims {
        let enough = cx.gt(x.sizes[dim], least);
        cx.require(enough, gradient::C4, |cx| {
            format!("dimension {dim} of size {} is to have more than {order} elements", cx.show(x.sizes[dim]))
        })?;
    }
    let mut results = Vec::with_capacity(dims.len());
    for (at, &dim) in dims.iter().enumerate() {
        let (mut sizes, mut common) = (x.sizes.clone(), ResultType::default().with(x));
        match spacing {
            Value::Tensors(items) => {
                let Some(Some(coordinates)) = items.get(at) else { continue };
                sizes[dim] = stretched(cx, coordinates, sizes[dim], order)?;
                common = common.with(coordinates);
            }
            Value::Scalars(items) => {
                if let Some(number) = items.get(at).and_then(Value::as_scalar) {
                    common = common.with_scalar(number);
                }
            }
            number => {
                if let Some(number) = number.as_scalar() {
                    common = common.with_scalar(number);
                }
            }
        }
        let dtype = common
            .dtype()
            .map_err(|(a, b)| KernelError::invalid(gradient::C6, format!("{a} and {b} do not promote")))?;
        results.push(cx.contiguous(sizes, to_float(dtype), &x.device));
    }
    Ok(smallvec![list(results)])
}

/// The dimensions that a gradient goes along.
fn directions(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Vec<usize>, KernelError> {
    let given = if args.has("dim") { args.value("dim")? } else { &Value::None };
    let given = match given {
        Value::None => return Ok((0..x.rank()).collect()),
        Value::Int(dim) => std::slice::from_ref(dim),
        _ => args.ints("dim")?,
    };
    let mut dims = Vec::with_capacity(given.len());
    for &dim in given {
        let dim = dimension(cx, x, dim, gradient::C1)?;
        cx.check(!dims.contains(&dim), gradient::C1, |_| format!("dimension {dim} is named twice"))?;
        dims.push(dim);
    }
    Ok(dims)
}

/// The size of a dimension whose inner elements have met the inner ones of their coordinates: `size`, unless it is the
/// one that broadcasts.
///
/// Coordinates have one dimension, and more elements than `order`; the inner elements broadcast.
fn stretched(cx: &mut Cx, coordinates: &Tensor, size: Expr, order: i64) -> Result<Expr, KernelError> {
    cx.rank(coordinates, 1, gradient::C6, "the spacing of a dimension")?;
    let points = coordinates.size(0);
    if points == size {
        return Ok(size);
    }
    let least = cx.int(order);
    let enough = cx.gt(points, least);
    cx.require(enough, gradient::C6, |cx| {
        format!("{} coordinates are not more than {order}", cx.show(points))
    })?;
    let (a, b) = (without(cx, size, 2), without(cx, points, 2));
    let inner = cx.broadcast_size(a, b, gradient::C6)?;
    Ok(cx.add(inner, 2))
}
