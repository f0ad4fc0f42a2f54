//! Between dense tensors and sparse ones.
use crate::fake::error::one;
use crate::fake::registry::{Kernel, kernels};
use crate::fake::{Args, Cx, KernelError, KernelResult, Tensor};
use crate::ir::dtype::{Dtype, Layout};

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    to_sparse => "aten.to_sparse.default", "aten._to_sparse.default";
    to_sparse_dim => "aten.to_sparse.sparse_dim", "aten._to_sparse.sparse_dim";
    to_dense => "aten.to_dense.default";
    to_dense_backward => "aten.to_dense_backward.default";
};

fn strided(x: &Tensor) -> Result<(), KernelError> {
    match x.layout {
        Layout::Strided => Ok(()),
        other => Err(KernelError::Unsupported(format!("a {other} operand"))),
    }
}

fn coordinates(x: &Tensor) -> Tensor {
    Tensor { layout: Layout::SparseCoo, ..x.with_dtype(x.dtype) }
}

/// `to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor`: the same tensor by coordinates.
///
/// (C1) By coordinates there are neither blocks nor dense dimensions.
fn to_sparse(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    strided(x)?;
    match args.opt_layout("layout")? {
        None | Some(Layout::SparseCoo) => {}
        Some(other) => return Err(KernelError::Unsupported(format!("a {other} result"))),
    }
    let plain = args.opt_ints("blocksize")?.is_none() && args.opt_int("dense_dim")?.is_none();
    cx.check(plain, "to_sparse.C1", |_| "coordinates go without blocks and dense dimensions".into())?;
    one(coordinates(x))
}

/// `to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor`: coordinates in the first dimensions.
///
/// (C2) Their number is positive, unless there are no dimensions, and at most the rank.
fn to_sparse_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    strided(x)?;
    let count = cx.literal(args.int("sparse_dim")?, "to_sparse.C2")?;
    let rank = x.rank() as i64;
    cx.check((rank.min(1)..=rank).contains(&count), "to_sparse.C2", |_| {
        format!("{count} sparse dimensions of {rank}")
    })?;
    one(coordinates(x))
}

/// `to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor`: a dense tensor itself, or in another dtype.
fn to_dense(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    strided(x)?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(x.dtype);
    in_dtype(cx, x, dtype)
}

/// `to_dense_backward(Tensor grad, Tensor input, bool? masked_grad=None) -> Tensor`: the gradient itself, for a dense input, in its dtype.
fn to_dense_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, input) = (args.tensor("grad")?, args.tensor("input")?);
    strided(grad)?;
    strided(input)?;
    in_dtype(cx, grad, input.dtype)
}

fn in_dtype(cx: &mut Cx, x: &Tensor, dtype: Dtype) -> KernelResult {
    if dtype == x.dtype {
        return one(x.clone());
    }
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, dtype, &x.device))
}
