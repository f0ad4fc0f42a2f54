//! Reductions whose result has a value for empty dimensions too: sums, products, means, variances, truth, counts.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    sum::ALL,
    nansum::ALL,
    mean::ALL,
    nanmean::ALL,
    any::ALL,
    is_all_true::ALL,
    count_nonzero::ALL,
    logsumexp::ALL,
    var::ALL,
    sum_to_size::ALL,
    hash_tensor::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    sum => "aten.sum.default", "aten.sum.dim_IntList", "aten.prod.default", "aten.prod.dim_int";
    hash_tensor => "aten.hash_tensor.default";
    nansum => "aten.nansum.default";
    mean => "aten.mean.default", "aten.mean.dim";
    nanmean => "aten.nanmean.default";
    truth => "aten.any.default", "aten.any.dim", "aten.any.dims", "aten.all.default", "aten.all.dim",
        "aten.all.dims";
    is_true => "aten._is_all_true.default", "aten._is_any_true.default";
    count_nonzero => "aten.count_nonzero.default", "aten.count_nonzero.dim_IntList";
    logsumexp => "aten.logsumexp.default", "aten.special_logsumexp.default";
    spread => "aten.var.default", "aten.var.dim", "aten.var.correction", "aten.std.default", "aten.std.dim",
        "aten.std.correction";
    spread_and_mean => "aten.var_mean.default", "aten.var_mean.dim", "aten.var_mean.correction",
        "aten.std_mean.default", "aten.std_mean.dim", "aten.std_mean.correction";
    sum_to_size => "aten.sum_to_size.default";
};

/// The dtype that sums are given in: the one asked for, else the operand's, integers widened.
fn sum_dtype(args: &Args, x: &Tensor) -> Result<Dtype, KernelError> {
    Ok(match args.opt_dtype("dtype")? {
        Some(dtype) => dtype,
        None if x.dtype.is_float() || x.dtype.is_complex() => x.dtype,
        None => Dtype::Int64,
    })
}

clauses! { sum {
    C1 "The dimensions are distinct and in range."
    C2 "There is a CPU kernel to sum elements of the dtype."
} }

/// `sum(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor`, and `prod`: the dimensions
/// in `dim` go.
fn sum(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dtype = sum_dtype(args, x)?;
    let reduction = cx.reduction(args, x, sum::C1)?;
    cx.require_dtype(dtype, Domain::ORDINARY.with(Domain::COMPLEX_HALF).on_cpu(), &x.device, sum::C2)?;
    one(cx.reduced(x, &reduction, dtype))
}

clauses! { nansum {
    C1 "The dimensions are distinct and in range."
    C2 "`self` is not complex, nor is the dtype of the sum."
} }

/// `nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor`: as [`sum`].
fn nansum(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dtype = sum_dtype(args, x)?;
    let reduction = cx.reduction(args, x, nansum::C1)?;
    cx.require_dtype(x.dtype, Domain::REAL_BOOL.on_cpu(), &x.device, nansum::C2)?;
    cx.require_dtype(dtype, Domain::REAL_BOOL.on_cpu(), &x.device, nansum::C2)?;
    one(cx.reduced(x, &reduction, dtype))
}

clauses! { mean {
    C1 "The dimensions are distinct and in range."
    C2 "The dtype of the mean is floating point or complex."
} }

/// `mean(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor`: the dimensions in `dim` go.
fn mean(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(x.dtype);
    cx.require_dtype(
        dtype,
        Domain::FLOAT_COMPLEX.with(Domain::COMPLEX_HALF).by_definition(),
        &x.device,
        mean::C2,
    )?;
    let reduction = cx.reduction(args, x, mean::C1)?;
    one(cx.reduced(x, &reduction, dtype))
}

clauses! { nanmean {
    C1 "The dimensions are distinct and in range."
    C2 "`self` has a floating point dtype."
} }

/// `nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor`: as [`mean`].
fn nanmean(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(x.dtype);
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, nanmean::C2)?;
    let reduction = cx.reduction(args, x, nanmean::C1)?;
    // The sum in `dtype` is divided by the number of elements, which is an integer.
    one(cx.reduced(x, &reduction, promote::to_float(dtype)))
}

clauses! { any {
    C1 "The dimensions are distinct and in range."
    C2 "There is a CPU kernel for the dtype of `self`."
} }

/// `any(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor`, and `all`: the dimensions in `dim` go; an empty
/// list is no dimension. The result is `bool`, of `uint8` operands `uint8`.
fn truth(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let reduction = cx.reduction_over(args, x, false, any::C1)?;
    cx.require_dtype(x.dtype, Domain::ORDINARY.with(Domain::COMPLEX_HALF).on_cpu(), &x.device, any::C2)?;
    let dtype = if x.dtype == Dtype::Uint8 { Dtype::Uint8 } else { Dtype::Bool };
    one(cx.reduced(x, &reduction, dtype))
}

clauses! { is_all_true {
    C1 "`self` is of `bool`."
} }

/// `_is_all_true(Tensor self) -> Tensor`, and `_is_any_true`: a scalar.
fn is_true(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_dtype(x.dtype, Domain::BOOL.by_definition(), &x.device, is_all_true::C1)?;
    one(cx.contiguous([].as_slice(), Dtype::Bool, &x.device))
}

clauses! { count_nonzero {
    C1 "The dimensions are distinct and in range."
    C2 "There is a CPU kernel for the dtype of `self`."
} }

/// `count_nonzero(Tensor self, int? dim=None) -> Tensor`: the dimensions in `dim` go.
fn count_nonzero(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let reduction = cx.reduction(args, x, count_nonzero::C1)?;
    cx.require_dtype(
        x.dtype,
        Domain::ORDINARY.with(Domain::COMPLEX_HALF).on_cpu(),
        &x.device,
        count_nonzero::C2,
    )?;
    one(cx.reduced(x, &reduction, Dtype::Int64))
}

clauses! { logsumexp {
    C1 "The dimensions are distinct and in range."
    C2 "There is a CPU kernel for the dtype of `self`."
} }

/// `logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor`: the dimensions in `dim` go; integers become
/// `float32`.
fn logsumexp(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let reduction = cx.reduction(args, x, logsumexp::C1)?;
    cx.require_dtype(x.dtype, Domain::ORDINARY.on_cpu(), &x.device, logsumexp::C2)?;
    one(cx.reduced(x, &reduction, promote::to_float(x.dtype)))
}

clauses! { var {
    C1 "The dimensions are distinct and in range."
    C2 "`self` has a floating point or complex dtype."
} }

/// `var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor`, and `std`:
/// the dimensions in `dim` go; of complex operands the result is real.
fn spread(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_dtype(x.dtype, Domain::FLOAT_COMPLEX.by_definition(), &x.device, var::C2)?;
    let reduction = cx.reduction(args, x, var::C1)?;
    one(cx.reduced(x, &reduction, promote::to_real(x.dtype)))
}

/// `var_mean.correction(…) -> (Tensor, Tensor)`, and `std_mean`: [`spread`] and [`mean`].
fn spread_and_mean(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut results = spread(cx, args)?;
    let x = args.tensor("self")?;
    let reduction = cx.reduction(args, x, var::C1)?;
    results.push(cx.reduced(x, &reduction, x.dtype).into());
    Ok(results)
}

clauses! { sum_to_size {
    C1 "`size` broadcasts to the shape of `self`."
} }

/// `sum_to_size(Tensor self, SymInt[] size) -> Tensor`: `size`; the operand itself where nothing is to be added and
/// `size` is not empty.
fn sum_to_size(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, size) = (args.tensor("self")?, args.ints("size")?);
    cx.require_expandable(size, &x.sizes, sum_to_size::C1)?;
    let shift = x.rank() - size.len();
    let dtype = if x.dtype.is_float() || x.dtype.is_complex() { x.dtype } else { Dtype::Int64 };
    let mut summed = shift > 0 || size.is_empty();
    for (i, &kept) in size.iter().enumerate() {
        let (same, one) = (cx.eq(kept, x.sizes[shift + i]), cx.eq(kept, 1));
        if !cx.surely(same) {
            // Where the sizes agree the dimension stays; else it is summed to 1.
            let unequal = cx.not(same);
            let sums = cx.all(&[one, unequal]);
            // Unless the dtype tells, only the strides do.
            summed |=
                if dtype == x.dtype { cx.layout_choice(sums) } else { cx.branch(sums, sum_to_size::C1)? };
        }
    }
    if !summed {
        // In the wanted size: the operand's own may differ from it where it is 1 here.
        return one(x.viewed(size.into(), x.strides.clone()));
    }
    one(cx.contiguous(size, dtype, &x.device))
}

clauses! { hash_tensor {
    C1 "The dimensions are distinct and in range."
    C2 "The reduced dimensions are not empty."
    C3 "`mode` is 0."
} }

/// `hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor`: the dimensions in `dim` go;
/// `uint64`.
fn hash_tensor(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, mode) = (args.tensor("self")?, args.int("mode")?);
    let reduction = cx.reduction(args, x, hash_tensor::C1)?;
    cx.require_reducible(x, &reduction, hash_tensor::C2)?;
    if args.ints("dim")?.is_empty() {
        let numel = cx.numel(x);
        let some = cx.ne(numel, 0);
        cx.require(some, hash_tensor::C2, |_| "an empty tensor has no hash".into())?;
    }
    cx.require_eq(mode, Expr::ZERO, hash_tensor::C3, "there is no other mode than 0")?;
    one(cx.reduced(x, &reduction, Dtype::Uint64))
}
