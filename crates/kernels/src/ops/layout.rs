//! Between dense tensors and sparse ones.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Layout;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[to_sparse::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    to_sparse => "aten.to_sparse.default", "aten._to_sparse.default";
    to_sparse_dim => "aten.to_sparse.sparse_dim", "aten._to_sparse.sparse_dim";
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

/// `to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor`: the same
/// tensor by coordinates.
fn to_sparse(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    strided(x)?;
    match args.opt_layout("layout")? {
        None | Some(Layout::SparseCoo) => {}
        Some(other) => return Err(KernelError::Unsupported(format!("a {other} result"))),
    }
    let plain = args.opt_ints("blocksize")?.is_none() && args.opt_int("dense_dim")?.is_none();
    cx.check(plain, to_sparse::C1, |_| "coordinates go without blocks and dense dimensions".into())?;
    one(coordinates(x))
}

clauses! { to_sparse {
    C1 "Neither `blocksize` nor `dense_dim` is given for a COO tensor."
    C2 "`sparse_dim` is from 1 to the rank of `self`, or 0 for a scalar."
} }

/// `to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor`: coordinates in the first dimensions.
fn to_sparse_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    strided(x)?;
    let count = cx.literal(args.int("sparse_dim")?, to_sparse::C2)?;
    let rank = x.rank() as i64;
    cx.check((rank.min(1)..=rank).contains(&count), to_sparse::C2, |_| {
        format!("{count} sparse dimensions of {rank}")
    })?;
    one(coordinates(x))
}
