//! Pooling over windows of a given size.
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::pool::{Windows, pool, require_filled, require_image, results, with_height, without_height};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    max_pool_backward::ALL,
    avg_pool_backward::ALL,
    fractional_max_pool::ALL,
    fractional_max_pool_backward::ALL,
    max_unpool::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| max_pool(cx, args, 1, false) => "aten.max_pool1d.default";
    |cx, args| max_pool(cx, args, 2, false) => "aten.max_pool2d.default";
    |cx, args| max_pool(cx, args, 3, false) => "aten.max_pool3d.default";
    |cx, args| max_pool(cx, args, 1, true) => "aten.max_pool1d_with_indices.default";
    |cx, args| max_pool(cx, args, 2, true) => "aten.max_pool2d_with_indices.default";
    |cx, args| max_pool(cx, args, 3, true) => "aten.max_pool3d_with_indices.default";
    |cx, args| max_pool_backward(cx, args, 2) => "aten.max_pool2d_with_indices_backward.default";
    |cx, args| max_pool_backward(cx, args, 3) => "aten.max_pool3d_with_indices_backward.default";
    |cx, args| avg_pool(cx, args, 1) => "aten.avg_pool1d.default";
    |cx, args| avg_pool(cx, args, 2) => "aten.avg_pool2d.default";
    |cx, args| avg_pool(cx, args, 3) => "aten.avg_pool3d.default";
    |cx, args| avg_pool_backward(cx, args, 2) => "aten.avg_pool2d_backward.default";
    |cx, args| avg_pool_backward(cx, args, 3) => "aten.avg_pool3d_backward.default";
    |cx, args| fractional(cx, args, 2) => "aten.fractional_max_pool2d.default";
    |cx, args| fractional(cx, args, 3) => "aten.fractional_max_pool3d.default";
    |cx, args| fractional_backward(cx, args, 2) => "aten.fractional_max_pool2d_backward.default";
    |cx, args| fractional_backward(cx, args, 3) => "aten.fractional_max_pool3d_backward.default";
    |cx, args| unpool(cx, args, 2) => "aten.max_unpool2d.default";
    |cx, args| unpool(cx, args, 3) => "aten.max_unpool3d.default";
};

/// Integers and floating point, real.
const REAL: Accepted = Domain::REAL.on_cpu();

/// `aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1,
/// bool ceil_mode=False) -> (Tensor, Tensor)` and the like: the maximum of each window, and where it is.
fn max_pool(cx: &mut Cx, args: &Args, rank: usize, indices: bool) -> KernelResult {
    let x = args.tensor("self")?;
    let windows = Windows::read(args, rank)?;
    let sizes = windows.sizes(cx, x)?;
    // The operator over one dimension that gives no indices has a kernel of its own, for fewer dtypes.
    cx.require_kind(x, if rank == 1 && !indices { Domain::REAL_BOOL.on_cpu() } else { REAL }, pool::C6)?;
    let values = pooled(cx, x, sizes, rank, rank == 1 && !indices);
    if !indices {
        return one(values);
    }
    let positions = values.with_dtype(Dtype::Int64);
    Ok(results([values, positions]))
}

/// A fresh tensor of pooled values, in the memory format that the kernel for this many spatial dimensions keeps.
fn pooled(cx: &mut Cx, x: &Tensor, sizes: Sizes, rank: usize, contiguous: bool) -> Tensor {
    match rank {
        _ if contiguous => cx.contiguous(sizes, x.dtype, &x.device),
        1 => {
            let like = with_height(cx, x);
            let mut sizes = sizes;
            sizes.insert(sizes.len() - 1, Expr::ONE);
            without_height(cx.image(&like, sizes, x.dtype))
        }
        2 => cx.image(x, sizes, x.dtype),
        _ => cx.volume(x, sizes, x.dtype),
    }
}

/// `aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool
/// count_include_pad=True, int? divisor_override=None) -> Tensor` and the like: the mean of each window.
fn avg_pool(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let x = args.tensor("self")?;
    let sizes = averaged(cx, args, x, rank)?;
    require_averaged(cx, x, rank)?;
    one(if rank == 3 { cx.contiguous(sizes, x.dtype, &x.device) } else { pooled(cx, x, sizes, rank, false) })
}

fn require_averaged(cx: &mut Cx, x: &Tensor, rank: usize) -> Result<(), KernelError> {
    let kinds = if rank == 3 { Domain::SINGLE_DOUBLE } else { Domain::FLOAT };
    cx.require_cpu_kernel(x.dtype, kinds.contains(x.dtype) || x.dtype == Dtype::Int64, pool::C6)
}

/// The shape of the means of windows.
fn averaged(cx: &mut Cx, args: &Args, x: &Tensor, rank: usize) -> Result<Sizes, KernelError> {
    let windows = Windows::read(args, rank)?;
    let sizes = windows.sizes(cx, x)?;
    if args.has("divisor_override")
        && let Some(divisor) = args.opt_int("divisor_override")?
    {
        let fine = cx.ne(divisor, 0);
        cx.require(fine, pool::C7, |_| "the divisor is 0".into())?;
    }
    if rank == 3 {
        for (i, &kernel) in windows.kernel.iter().enumerate() {
            let n = x.sizes[x.rank() - 3 + i];
            let fits = cx.ge(n, kernel);
            cx.require(fits, pool::C8, |cx| {
                format!("a kernel of {} exceeds the input's size {}", cx.show(kernel), cx.show(n))
            })?;
        }
    }
    Ok(sizes)
}

/// Requires of a gradient or of indices the shape of the result, in 3 spatial dimensions the batch apart, which no
/// kernel checks.
fn require_result(
    cx: &mut Cx,
    given: &Tensor,
    sizes: &[Expr],
    spatial: usize,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    cx.rank(given, sizes.len(), clause, "the gradient or the indices")?;
    let skip = if spatial == 3 { sizes.len() - spatial - 1 } else { 0 };
    for (&a, &b) in given.sizes.iter().zip(sizes).skip(skip) {
        cx.require_eq(a, b, clause, "a size of the gradient or the indices is not the result's")?;
    }
    Ok(())
}

clauses! { max_pool_backward {
    C7 "`grad_output` has the dtype of `self` and the shape of the result. In 3 spatial dimensions, the \
        batch is not checked."
    C8 "`indices` is of `int64` and has the shape of the result. In 3 spatial dimensions, the batch is not \
        checked."
} }

/// `aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2]
/// padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor`: shaped like `self`.
fn max_pool_backward(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (grad, x, indices) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("indices")?);
    let windows = Windows::read(args, rank)?;
    let sizes = if rank == 3 { given_windows(cx, &windows, grad, x)? } else { windows.sizes(cx, x)? };
    cx.require_kind(x, REAL, pool::C6)?;
    require_result(cx, grad, &sizes, rank, max_pool_backward::C7)?;
    cx.same_dtype(&[x, grad], max_pool_backward::C7)?;
    require_result(cx, indices, &sizes, rank, max_pool_backward::C8)?;
    cx.check(indices.dtype == Dtype::Int64, max_pool_backward::C8, |_| "indices are to be int64".into())?;
    one(pooled(cx, x, x.sizes.clone(), rank, false))
}

/// The shape of the result whose windows the gradient says: channels of the input, windows of the gradient, none of them
/// empty.
fn given_windows(cx: &mut Cx, windows: &Windows, grad: &Tensor, x: &Tensor) -> Result<Sizes, KernelError> {
    windows.positive(cx)?;
    require_image(cx, x, 3, pool::C4)?;
    for (&pad, &kernel) in windows.padding.iter().zip(&windows.kernel) {
        let half = cx.floor_div(kernel, 2);
        let small = cx.le(pad, half);
        cx.require(small, pool::C3, |cx| {
            format!("a padding of {} exceeds half of the kernel", cx.show(pad))
        })?;
    }
    cx.rank(grad, x.rank(), max_pool_backward::C7, "the gradient")?;
    let first = x.rank() - 3;
    require_filled(cx, &grad.sizes[first..], pool::C5)?;
    let mut sizes = Sizes::from_slice(&x.sizes[..first]);
    sizes.extend_from_slice(&grad.sizes[first..]);
    Ok(sizes)
}

clauses! { avg_pool_backward {
    C9 "`grad_output` has the dtype of `self` and the shape of the result. In 3 spatial dimensions, the \
        batch is not checked."
} }

/// `aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool
/// ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor`: shaped like `self`.
fn avg_pool_backward(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (grad, x) = (args.tensor("grad_output")?, args.tensor("self")?);
    let sizes = averaged(cx, args, x, rank)?;
    require_result(cx, grad, &sizes, rank, avg_pool_backward::C9)?;
    cx.same_dtype(&[x, grad], avg_pool_backward::C9)?;
    require_averaged(cx, x, rank)?;
    let sizes = x.sizes.clone();
    one(if rank == 3 { cx.contiguous(sizes, x.dtype, &x.device) } else { cx.image(x, sizes, x.dtype) })
}

clauses! { fractional_max_pool {
    C1 "`kernel_size` and `output_size` have an entry for each spatial dimension."
    C2 "`self` has spatial dimensions, channels and optionally a batch. Only the batch may be empty."
    C3 "The windows fit: `output_size + kernel_size - 1 <= n`, and `< n` in 3 spatial dimensions. \
        `kernel_size` is positive, and `output_size` not negative."
    C4 "`random_samples` is `[batch, c, spatial]` and has the dtype of `self`. The batch may be larger."
    C5 "`self` has a floating point dtype."
} }

/// `aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor,
/// Tensor)` and the like: as many windows as `output_size` says, at random places.
fn fractional(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (x, samples) = (args.tensor("self")?, args.tensor("random_samples")?);
    let (kernel, output) = (args.ints("kernel_size")?, args.ints("output_size")?);
    cx.check(kernel.len() == rank && output.len() == rank, fractional_max_pool::C1, |_| {
        format!("kernel and output size are to have {rank} entries")
    })?;
    require_image(cx, x, rank, fractional_max_pool::C2)?;
    let first = x.rank() - rank;
    let mut sizes = x.sizes.clone();
    for i in 0..rank {
        let sum = cx.add(output[i], kernel[i]);
        let reach = cx.sub(sum, 1);
        // Three spatial dimensions have to leave room for a step.
        let reach = if rank == 3 { sum } else { reach };
        let conditions = [cx.le(reach, x.sizes[first + i]), cx.gt(kernel[i], 0), cx.ge(output[i], 0)];
        let fits = cx.all(&conditions);
        cx.require(fits, fractional_max_pool::C3, |cx| {
            format!("{} windows of {} do not fit", cx.show(output[i]), cx.show(kernel[i]))
        })?;
        sizes[first + i] = output[i];
    }
    cx.rank(samples, 3, fractional_max_pool::C4, "random_samples")?;
    cx.same_dtype(&[x, samples], fractional_max_pool::C4)?;
    let batch = if first == 2 { x.sizes[0] } else { Expr::ONE };
    let enough = cx.ge(samples.size(0), batch);
    cx.require(enough, fractional_max_pool::C4, |_| "there are fewer samples than images".into())?;
    cx.require_eq(
        samples.size(1),
        x.sizes[first - 1],
        fractional_max_pool::C4,
        "samples do not fit the channels",
    )?;
    let each = cx.int(rank as i64);
    cx.require_eq(samples.size(2), each, fractional_max_pool::C4, "samples do not fit the dimensions")?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), fractional_max_pool::C5)?;
    let values = cx.contiguous(sizes, x.dtype, &x.device);
    let positions = values.with_dtype(Dtype::Int64);
    Ok(results([values, positions]))
}

clauses! { fractional_max_pool_backward {
    C1 "`self` has spatial dimensions, channels and optionally a batch."
    C2 "`grad_output` has the shape of the result. So has `indices` in 2 spatial dimensions."
    C3 "`grad_output` and `self` have the same floating point dtype. `indices` is of `int64`."
} }

/// `aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor
/// indices) -> Tensor`: shaped like `self`.
fn fractional_backward(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (grad, x, indices) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("indices")?);
    let output = args.ints("output_size")?;
    cx.check(output.len() == rank, fractional_max_pool_backward::C2, |_| {
        format!("output_size is to have {rank} entries")
    })?;
    cx.check(x.rank() == rank + 1 || x.rank() == rank + 2, fractional_max_pool_backward::C1, |_| {
        format!("{} dimensions are not {} or {}", x.rank(), rank + 1, rank + 2)
    })?;
    let mut sizes = Sizes::from_slice(&x.sizes[..x.rank() - rank]);
    sizes.extend_from_slice(output);
    let (checked, skip): (&[&Tensor], _) =
        if rank == 2 { (&[grad, indices], 0) } else { (&[grad], x.rank() - 3) };
    for t in checked {
        cx.rank(t, x.rank(), fractional_max_pool_backward::C2, "the gradient or the indices")?;
        for (&given, &size) in t.sizes.iter().zip(&sizes).skip(skip) {
            cx.require_eq(given, size, fractional_max_pool_backward::C2, "a size is not the result's")?;
        }
    }
    cx.same_dtype(&[x, grad], fractional_max_pool_backward::C3)?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), fractional_max_pool_backward::C3)?;
    cx.check(indices.dtype == Dtype::Int64, fractional_max_pool_backward::C3, |_| {
        "indices are to be int64".into()
    })?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

clauses! { max_unpool {
    C1 "`indices` is of `int64`."
    C2 "`indices` has the shape of `self`."
    C3 "`self` has spatial dimensions, channels and optionally a batch. Only the batch may be empty."
    C4 "`output_size` has an entry for each spatial dimension, not negative. In 3 spatial dimensions, so \
        have `stride`, which is not 0, and `padding`."
    C5 "`self` has a floating point dtype."
} }

/// `aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor` and the like: `[(n,) c, ..] → [(n,)
/// c, output_size]`.
fn unpool(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (x, indices, output) = (args.tensor("self")?, args.tensor("indices")?, args.ints("output_size")?);
    cx.check(indices.dtype == Dtype::Int64, max_unpool::C1, |_| {
        format!("indices are to be int64, not {}", indices.dtype)
    })?;
    cx.rank(indices, x.rank(), max_unpool::C2, "indices")?;
    for (&a, &b) in x.sizes.iter().zip(&indices.sizes) {
        cx.require_eq(a, b, max_unpool::C2, "self and indices differ in shape")?;
    }
    require_image(cx, x, rank, max_unpool::C3)?;
    cx.check(output.len() == rank, max_unpool::C4, |_| format!("output_size is to have {rank} entries"))?;
    for &size in output {
        let natural = cx.ge(size, 0);
        cx.require(natural, max_unpool::C4, |cx| format!("a size of {} is negative", cx.show(size)))?;
    }
    if rank == 3 {
        let (stride, padding) = (args.ints("stride")?, args.ints("padding")?);
        cx.check(stride.len() == 3 && padding.len() == 3, max_unpool::C4, |_| {
            "stride and padding are to have 3 entries".into()
        })?;
        require_filled(cx, stride, max_unpool::C4)?;
    }
    cx.require_kind(x, Domain::FLOAT.on_cpu(), max_unpool::C5)?;
    let mut sizes = Sizes::from_slice(&x.sizes[..x.rank() - rank]);
    sizes.extend_from_slice(output);
    one(if rank == 2 { cx.image(x, sizes, x.dtype) } else { cx.contiguous(sizes, x.dtype, &x.device) })
}
