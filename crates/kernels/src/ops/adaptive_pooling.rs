//! Pooling to a given size.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::pool::{require_filled, results, with_height, without_height};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[adaptive_pool::ALL, adaptive_pool_backward::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| avg(cx, args, 1, true) => "aten.adaptive_avg_pool1d.default";
    |cx, args| avg(cx, args, 2, true) => "aten.adaptive_avg_pool2d.default";
    |cx, args| avg(cx, args, 3, true) => "aten.adaptive_avg_pool3d.default";
    |cx, args| avg(cx, args, 2, false) => "aten._adaptive_avg_pool2d.default";
    |cx, args| avg(cx, args, 3, false) => "aten._adaptive_avg_pool3d.default";
    |cx, args| avg_backward(cx, args, 2) => "aten._adaptive_avg_pool2d_backward.default";
    |cx, args| avg_backward(cx, args, 3) => "aten._adaptive_avg_pool3d_backward.default";
    |cx, args| max(cx, args, 1) => "aten.adaptive_max_pool1d.default";
    |cx, args| max(cx, args, 2) => "aten.adaptive_max_pool2d.default";
    |cx, args| max(cx, args, 3) => "aten.adaptive_max_pool3d.default";
    |cx, args| max_backward(cx, args, 2) => "aten.adaptive_max_pool2d_backward.default";
    |cx, args| max_backward(cx, args, 3) => "aten.adaptive_max_pool3d_backward.default";
};

clauses! { adaptive_pool {
    C1 "`output_size` has an entry for each spatial dimension, and none is negative."
    C2 "The input has the spatial dimensions, channels, and optionally a batch dimension."
    C3 "No spatial dimension of the input is empty, unless the output size is 1 and the result a mean. In \
        3 spatial dimensions, the channels are not empty either."
    C4 "There is a CPU kernel for the dtype. In 1 or 2 spatial dimensions any goes where the result is \
        empty."
} }

/// The shape `[(n,) c, output_size]`.
fn target(cx: &mut Cx, args: &Args, x: &Tensor, rank: usize) -> Result<Sizes, KernelError> {
    let output = args.ints("output_size")?;
    cx.check(output.len() == rank, adaptive_pool::C1, |_| format!("output_size is to have {rank} entries"))?;
    for &size in output {
        let natural = cx.ge(size, 0);
        cx.require(natural, adaptive_pool::C1, |cx| format!("a size of {} is negative", cx.show(size)))?;
    }
    cx.check(x.rank() == rank + 1 || x.rank() == rank + 2, adaptive_pool::C2, |_| {
        format!("{} dimensions are not {} or {}", x.rank(), rank + 1, rank + 2)
    })?;
    let mut sizes = Sizes::from_slice(&x.sizes[..x.rank() - rank]);
    sizes.extend_from_slice(output);
    Ok(sizes)
}

/// `aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor` and the like: `[(n,) c, ..] → [(n,) c,
/// output_size]`.
fn avg(cx: &mut Cx, args: &Args, rank: usize, by_mean: bool) -> KernelResult {
    let x = args.tensor("self")?;
    let mut sizes = target(cx, args, x, rank)?;
    if rank == 3 {
        cx.require_kind(x, Domain::FLOAT.on_cpu(), adaptive_pool::C4)?;
    } else {
        cx.require_kind_where_filled(x, Domain::FLOAT.on_cpu(), &sizes, adaptive_pool::C4)?;
    }
    let spatial = sizes.len() - rank;
    let mean = by_mean && sizes[spatial..].iter().all(|s| *s == Expr::ONE);
    if !mean {
        let first = if rank == 3 { 1 } else { spatial };
        require_filled(cx, &x.sizes[first..], adaptive_pool::C3)?;
    }
    one(match rank {
        1 => {
            let like = with_height(cx, x);
            sizes.insert(spatial, Expr::ONE);
            without_height(cx.image(&like, sizes, x.dtype))
        }
        2 => cx.image(x, sizes, x.dtype),
        _ => cx.contiguous(sizes, x.dtype, &x.device),
    })
}

/// `aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor` and the like: shaped like `self`.
fn avg_backward(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (grad, x) = (args.tensor("grad_output")?, args.tensor("self")?);
    gradient(cx, grad, x, rank)?;
    one(if rank == 2 {
        cx.image(x, x.sizes.clone(), x.dtype)
    } else {
        cx.contiguous(x.sizes.clone(), x.dtype, &x.device)
    })
}

/// The conditions of [`avg_backward`].
fn gradient(cx: &mut Cx, grad: &Tensor, x: &Tensor, rank: usize) -> Result<(), KernelError> {
    cx.check(grad.rank() == rank + 1 || grad.rank() == rank + 2, adaptive_pool_backward::C1, |_| {
        format!("{} dimensions are not {} or {}", grad.rank(), rank + 1, rank + 2)
    })?;
    require_filled(cx, &grad.sizes[1..], adaptive_pool_backward::C1)?;
    cx.rank(x, grad.rank(), adaptive_pool_backward::C2, "self")?;
    cx.same_dtype(&[x, grad], adaptive_pool_backward::C2)?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), adaptive_pool_backward::C3)
}

/// `aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)` and the like: values and where they
/// are.
fn max(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let x = args.tensor("self")?;
    let mut sizes = target(cx, args, x, rank)?;
    require_filled(cx, &x.sizes[1..], adaptive_pool::C3)?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), adaptive_pool::C4)?;
    let values = match rank {
        1 => {
            let like = with_height(cx, x);
            sizes.insert(sizes.len() - 1, Expr::ONE);
            without_height(cx.image(&like, sizes, x.dtype))
        }
        2 => cx.image(x, sizes, x.dtype),
        _ => cx.contiguous(sizes, x.dtype, &x.device),
    };
    let positions = values.with_dtype(Dtype::Int64);
    Ok(results([values, positions]))
}

clauses! { adaptive_pool_backward {
    C1 "`grad_output` has spatial dimensions, channels and optionally a batch. Only the batch may be empty."
    C2 "`grad_output` has the rank and the dtype of `self`."
    C3 "There is a CPU kernel for the dtype of `self`."
    C4 "`indices` is of `int64` and has the shape of `grad_output`."
} }

/// `aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor` and the like: shaped
/// like `self`.
fn max_backward(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (grad, x, indices) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("indices")?);
    gradient(cx, grad, x, rank)?;
    cx.check(indices.dtype == Dtype::Int64, adaptive_pool_backward::C4, |_| {
        "indices are to be int64".into()
    })?;
    cx.rank(indices, grad.rank(), adaptive_pool_backward::C4, "indices")?;
    for (&a, &b) in grad.sizes.iter().zip(&indices.sizes) {
        cx.require_eq(a, b, adaptive_pool_backward::C4, "the gradient and the indices differ in shape")?;
    }
    one(if rank == 2 {
        cx.image(x, x.sizes.clone(), x.dtype)
    } else {
        cx.contiguous(x.sizes.clone(), x.dtype, &x.device)
    })
}
