//! Views that reorder, add or drop dimensions, and views that change nothing.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::value::{Value, list};
use crate::view::copied;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    permute::ALL,
    transpose::ALL,
    t::ALL,
    adjoint::ALL,
    mH::ALL,
    mT::ALL,
    matrix_H::ALL,
    movedim::ALL,
    unsqueeze::ALL,
    squeeze::ALL,
    conj::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    transpose_int => "aten.transpose.int", "aten.swapdims.default";
    |cx, args| copied(cx, args, transpose_int) => "aten.transpose_copy.int";
    |cx, args| transpose(cx, args, "self", "axis0", "axis1") => "aten.swapaxes.default";
    permute => "aten.permute.default";
    |cx, args| copied(cx, args, permute) => "aten.permute_copy.default";
    prims_transpose => "prims.transpose.default";
    t => "aten.t.default";
    |cx, args| copied(cx, args, t) => "aten.t_copy.default";
    |_, args| {
        let x = args.tensor("self")?;
        let order: Vec<usize> = (0..x.rank()).rev().collect();
        one(reordered(x, &order))
    } => "aten.numpy_T.default";
    |cx, args| matrix_transpose(cx, args.tensor("self")?, mT::C1) => "aten.mT.default";
    |cx, args| matrix_transpose(cx, args.tensor("self")?, mH::C1) => "aten.mH.default";
    |cx, args| matrix_transpose(cx, args.tensor("self")?, adjoint::C1) => "aten.adjoint.default";
    |cx, args| {
        let x = args.tensor("self")?;
        cx.check(matches!(x.rank(), 0 | 2), matrix_H::C1, |_| {
            format!("a matrix is expected, not {} dimensions", x.rank())
        })?;
        matrix_transpose(cx, x, matrix_H::C1)
    } => "aten.matrix_H.default";
    movedim => "aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int", "aten.moveaxis.intlist";
    unsqueeze => "aten.unsqueeze.default";
    |cx, args| copied(cx, args, unsqueeze) => "aten.unsqueeze_copy.default";
    squeeze_all => "aten.squeeze.default";
    squeeze_dim => "aten.squeeze.dim";
    squeeze_dims => "aten.squeeze.dims";
    |cx, args| copied(cx, args, squeeze_all) => "aten.squeeze_copy.default";
    |cx, args| copied(cx, args, squeeze_dim) => "aten.squeeze_copy.dim";
    |cx, args| copied(cx, args, squeeze_dims) => "aten.squeeze_copy.dims";
    prims_squeeze => "prims.squeeze.default";
    |cx, args| one(at_least(cx, args.tensor("self")?, 1)) => "aten.atleast_1d.default";
    |cx, args| one(at_least(cx, args.tensor("self")?, 2)) => "aten.atleast_2d.default";
    |cx, args| one(at_least(cx, args.tensor("self")?, 3)) => "aten.atleast_3d.default";
    |cx, args| at_least_each(cx, args, 1) => "aten.atleast_1d.Sequence";
    |cx, args| at_least_each(cx, args, 2) => "aten.atleast_2d.Sequence";
    |cx, args| at_least_each(cx, args, 3) => "aten.atleast_3d.Sequence";
    same => "aten.alias.default", "aten.detach.default", "aten.lift.default", "aten.lift_fresh.default",
        "aten.resolve_conj.default", "aten.resolve_neg.default", "aten._neg_view.default",
        "aten._fw_primal.default", "aten.data.default", "prims.view_of.default";
    fresh_copy => "aten.alias_copy.default", "aten.detach_copy.default", "aten._neg_view_copy.default";
    |cx, args| copied(cx, args, same) => "aten.lift_fresh_copy.default";
    conjugate => "aten._conj.default";
    |cx, args| conjugate(cx, args).and_then(|_| fresh_copy(cx, args)) => "aten._conj_copy.default";
};

/// The view whose dimension `i` is dimension `order[i]` of the tensor.
pub(super) fn reordered(x: &Tensor, order: &[usize]) -> Tensor {
    let sizes = order.iter().map(|&i| x.sizes[i]).collect();
    let strides = order.iter().map(|&i| x.strides[i]).collect();
    x.viewed(sizes, strides)
}

/// The view with two dimensions swapped.
pub(super) fn swapped(x: &Tensor, a: usize, b: usize) -> Tensor {
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    if a != b {
        result.sizes.swap(a, b);
        result.strides.swap(a, b);
    }
    result
}

/// `aten::transpose.int(Tensor self, int dim0, int dim1) -> Tensor`: two dimensions swapped.
fn transpose_int(cx: &mut Cx, args: &Args) -> KernelResult {
    transpose(cx, args, "self", "dim0", "dim1")
}

fn transpose(cx: &mut Cx, args: &Args, x: &str, first: &str, second: &str) -> KernelResult {
    let x = args.tensor(x)?;
    let a = cx.dim(args.int(first)?, x.rank(), transpose::C1)?;
    let b = cx.dim(args.int(second)?, x.rank(), transpose::C1)?;
    one(swapped(x, a, b))
}

clauses! { permute {
    C1 "`dims` has an entry for each dimension."
    C2 "`dims` are distinct and in range."
} }

/// `aten::permute(Tensor self, int[] dims) -> Tensor`
fn permute(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dims) = (args.tensor("self")?, args.ints("dims")?);
    cx.check(dims.len() == x.rank(), permute::C1, |_| {
        format!("{} entries for {} dimensions", dims.len(), x.rank())
    })?;
    let order = distinct(cx, dims, x.rank(), permute::C2)?;
    one(reordered(x, &order))
}

/// Dimensions as indices, which are to be distinct.
fn distinct(
    cx: &mut Cx,
    dims: &[Expr],
    rank: usize,
    clause: &'static OpClause,
) -> Result<Vec<usize>, KernelError> {
    let mut order = Vec::with_capacity(dims.len());
    for &dim in dims {
        let dim = cx.dim(dim, rank, clause)?;
        cx.check(!order.contains(&dim), clause, |_| format!("dimension {dim} appears twice"))?;
        order.push(dim);
    }
    Ok(order)
}

clauses! { transpose {
    C1 "Both dimensions are in range. A permutation has an entry for each."
    C2 "The permutation names each dimension once, and none is negative."
} }

/// `prims::transpose(Tensor a, int[] permutation) -> Tensor`
fn prims_transpose(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dims) = (args.tensor("a")?, args.ints("permutation")?);
    cx.check(dims.len() == x.rank(), transpose::C1, |_| {
        format!("{} entries for {} dimensions", dims.len(), x.rank())
    })?;
    let natural = dims.iter().all(|d| d.as_inline().is_some_and(|v| v >= 0));
    cx.check(natural, transpose::C2, |cx| format!("{} is not a permutation", cx.show_all(dims)))?;
    let order = distinct(cx, dims, x.rank(), transpose::C2)?;
    one(reordered(x, &order))
}

clauses! { t {
    C1 "`self` has at most 2 dimensions."
} }

/// `aten::t(Tensor self) -> Tensor`: the transpose of a matrix; what has fewer dimensions stays as it is.
fn t(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() <= 2, t::C1, |_| format!("at most 2 dimensions are expected, not {}", x.rank()))?;
    one(if x.rank() == 2 { swapped(x, 0, 1) } else { Tensor::clone(x) })
}

clauses! { adjoint {
    C1 "`self` is a scalar, a matrix or a batch of matrices. It does not have 1 dimension."
} }

clauses! { mH {
    C1 "`self` is a scalar, a matrix or a batch of matrices. It does not have 1 dimension."
} }

clauses! { mT {
    C1 "`self` is a scalar, a matrix or a batch of matrices. It does not have 1 dimension."
} }

clauses! { matrix_H {
    C1 "`self` has 0 or 2 dimensions."
} }

/// The last two dimensions swapped; a tensor without dimensions stays as it is.
fn matrix_transpose(cx: &mut Cx, x: &Tensor, clause: &'static OpClause) -> KernelResult {
    if x.rank() == 0 {
        return one(Tensor::clone(x));
    }
    cx.check(x.rank() >= 2, clause, |_| format!("matrices are expected, not {} dimensions", x.rank()))?;
    one(swapped(x, x.rank() - 2, x.rank() - 1))
}

clauses! { movedim {
    C1 "`source` and `destination` have the same length."
    C2 "`source` and `destination` each name distinct dimensions in range."
} }

/// `aten::movedim.intlist(Tensor self, int[] source, int[] destination) -> Tensor`: the dimensions of `source` come to
/// stand at `destination`, the others keep their order.
fn movedim(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let read = |name: &str| -> Result<Vec<Expr>, KernelError> {
        match args.value(name)? {
            Value::Int(dim) => Ok(vec![*dim]),
            _ => args.ints(name).map(<[Expr]>::to_vec),
        }
    };
    let (source, destination) = (read("source")?, read("destination")?);
    cx.check(source.len() == destination.len(), movedim::C1, |_| {
        format!("{} sources and {} destinations", source.len(), destination.len())
    })?;
    let source = distinct(cx, &source, x.rank(), movedim::C2)?;
    let destination = distinct(cx, &destination, x.rank(), movedim::C2)?;
    if x.rank() == 0 {
        return one(Tensor::clone(x));
    }
    let mut order = vec![None; x.rank()];
    for (&from, &to) in source.iter().zip(&destination) {
        order[to] = Some(from);
    }
    let mut rest = (0..x.rank()).filter(|i| !source.contains(i));
    let order: Vec<usize> = order.into_iter().filter_map(|slot| slot.or_else(|| rest.next())).collect();
    one(reordered(x, &order))
}

clauses! { unsqueeze {
    C1 "`dim` is a dimension of the result."
} }

/// `aten::unsqueeze(Tensor self, int dim) -> Tensor`: a dimension of size 1 put in at `dim`.
fn unsqueeze(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = cx.dim(args.int("dim")?, x.rank() + 1, unsqueeze::C1)?;
    one(unsqueezed(cx, x, dim))
}

/// The view with a dimension of size 1 put in.
pub(super) fn unsqueezed(cx: &mut Cx, x: &Tensor, dim: usize) -> Tensor {
    let stride = if dim < x.rank() { cx.mul(x.sizes[dim], x.strides[dim]) } else { Expr::ONE };
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    result.sizes.insert(dim, Expr::ONE);
    result.strides.insert(dim, stride);
    result
}

/// The view without those of the dimensions in question whose size is 1.
fn squeezed(
    cx: &mut Cx,
    x: &Tensor,
    in_question: impl Fn(usize) -> bool,
    clause: &'static OpClause,
) -> KernelResult {
    let mut result = x.viewed(smallvec![], smallvec![]);
    for i in 0..x.rank() {
        if !(in_question(i) && cx.drops(x.sizes[i], clause)?) {
            result.sizes.push(x.sizes[i]);
            result.strides.push(x.strides[i]);
        }
    }
    one(result)
}

/// `aten::squeeze(Tensor self) -> Tensor`: all dimensions of size 1 dropped.
fn squeeze_all(cx: &mut Cx, args: &Args) -> KernelResult {
    squeezed(cx, args.tensor("self")?, |_| true, squeeze::C1)
}

/// `aten::squeeze.dim(Tensor self, int dim) -> Tensor`: one dimension dropped if its size is 1.
fn squeeze_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = cx.dim(args.int("dim")?, x.rank(), squeeze::C1)?;
    squeezed(cx, x, |i| i == dim, squeeze::C1)
}

/// `aten::squeeze.dims(Tensor self, int[] dim) -> Tensor`: those of several dimensions dropped whose size is 1.
fn squeeze_dims(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let flags = cx.dims(Some(args.ints("dim")?), x.rank(), false, squeeze::C1)?;
    squeezed(cx, x, |i| flags[i], squeeze::C1)
}

clauses! { squeeze {
    C1 "Whether a size is 1, which decides if its dimension is dropped. Dimensions that are named are in \
        range."
    C2 "Each dimension that `prims.squeeze` drops has size 1."
} }

/// `prims::squeeze(Tensor a, int[] dimensions) -> Tensor`
///
/// The dimensions exist, not counted from the end, and are distinct.
fn prims_squeeze(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dims) = (args.tensor("a")?, args.ints("dimensions")?);
    let mut dropped = vec![false; x.rank()];
    for &dim in dims {
        let at = cx.literal(dim, squeeze::C1)?;
        let at = usize::try_from(at).ok().filter(|&at| at < x.rank());
        let Some(at) = at else {
            return Err(KernelError::invalid(
                squeeze::C1,
                format!("dimension {} does not exist", cx.show(dim)),
            ));
        };
        cx.require_eq(x.sizes[at], Expr::ONE, squeeze::C2, "a size to be dropped must be 1")?;
        let twice = std::mem::replace(&mut dropped[at], true);
        cx.check(!twice, squeeze::C1, |_| format!("dimension {at} appears twice"))?;
    }
    let kept: Vec<usize> = (0..x.rank()).filter(|&i| !dropped[i]).collect();
    one(reordered(x, &kept))
}

/// `aten::atleast_nd`: dimensions of size 1 put in front up to `rank`; of three dimensions the last comes behind.
pub(super) fn at_least(cx: &mut Cx, x: &Tensor, rank: usize) -> Tensor {
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    while result.rank() < rank {
        let dim = if result.rank() == 2 { 2 } else { 0 };
        result = unsqueezed(cx, &result, dim);
    }
    result
}

fn at_least_each(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    let results: Vec<Tensor> = tensors.iter().map(|x| at_least(cx, x, rank)).collect();
    Ok(smallvec![list(results)])
}

/// What returns its first argument, a tensor, as it is.
fn same(_: &mut Cx, args: &Args) -> KernelResult {
    match args.values().first() {
        Some(Value::Tensor(x)) => one(Tensor::clone(x)),
        _ => Err(KernelError::Unsupported(format!("{}: no tensor is given", args.schema.qualified()))),
    }
}

/// A copy of the first argument, row-major.
fn fresh_copy(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

clauses! { conj {
    C1 "The operand is complex."
} }

/// `_conj(Tensor(a) self) -> Tensor(a)`: a view that is read as the conjugate.
fn conjugate(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    cx.check(x.dtype.is_complex(), conj::C1, |_| format!("{} numbers have no conjugate view", x.dtype))?;
    one(Tensor::clone(x))
}
