//! Splitting a dimension into consecutive parts.
use super::slice::real_dim;
use crate::kernel::{Kernel, kernels};
use crate::value::list;
use crate::view::copied;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    split::ALL,
    split_with_sizes::ALL,
    chunk::ALL,
    tensor_split::ALL,
    dsplit::ALL,
    vsplit::ALL,
    hsplit::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    split => "aten.split.Tensor", "aten.unsafe_split.Tensor";
    |cx, args| copied(cx, args, split) => "aten.split_copy.Tensor";
    |cx, args| split_with_sizes(cx, args, "split_size") => "aten.split.sizes";
    |cx, args| split_with_sizes(cx, args, "split_sizes") => "aten.split_with_sizes.default",
        "aten.unsafe_split_with_sizes.default";
    |cx, args| copied(cx, args, |cx, args| split_with_sizes(cx, args, "split_sizes")) =>
        "aten.split_with_sizes_copy.default";
    chunk => "aten.chunk.default", "aten.unsafe_chunk.default";
    |cx, args| {
        let x = args.tensor("self")?;
        let dim = real_dim(cx, x, args.int("dim")?, tensor_split::C1)?;
        sections(cx, x, dim, args.int("sections")?)
    } => "aten.tensor_split.sections";
    |cx, args| {
        let x = args.tensor("self")?;
        let dim = real_dim(cx, x, args.int("dim")?, tensor_split::C1)?;
        indices(cx, x, dim, args.ints("indices")?)
    } => "aten.tensor_split.indices";
    by_tensor => "aten.tensor_split.tensor_indices_or_sections";
    |cx, args| equal_parts(cx, args, 1, hsplit::C1) => "aten.hsplit.int";
    |cx, args| equal_parts(cx, args, 2, vsplit::C1) => "aten.vsplit.int";
    |cx, args| equal_parts(cx, args, 3, dsplit::C1) => "aten.dsplit.int";
    |cx, args| parts_at(cx, args, 1, hsplit::C1) => "aten.hsplit.array";
    |cx, args| parts_at(cx, args, 2, vsplit::C1) => "aten.vsplit.array";
    |cx, args| parts_at(cx, args, 3, dsplit::C1) => "aten.dsplit.array";
};

/// Consecutive parts of a dimension with the given sizes.
pub(super) fn consecutive(cx: &mut Cx, x: &Tensor, dim: usize, sizes: &[Expr]) -> Vec<Tensor> {
    let mut start = Expr::ZERO;
    let mut parts = Vec::with_capacity(sizes.len());
    for &size in sizes {
        let mut part = x.viewed(x.sizes.clone(), x.strides.clone());
        part.sizes[dim] = size;
        let skipped = cx.mul(start, x.strides[dim]);
        part.offset = cx.add(x.offset, skipped);
        start = cx.add(start, size);
        parts.push(part);
    }
    parts
}

/// The sizes of parts of `step` elements, the last one having what is left: `n = max(1, ceil(size / step))` of them,
/// for which `(n - 1) * step < size <= n * step` has to hold.
fn even_sizes(
    cx: &mut Cx,
    size: Expr,
    step: Expr,
    clause: &'static OpClause,
) -> Result<Vec<Expr>, KernelError> {
    let count = cx.ceil_div(size, step);
    let count = match cx.env.hint_int(count).and_then(|n| n.to_i64()) {
        Some(n) => n.max(1),
        None => cx.literal(count, clause)?,
    };
    let count = cx.result_count(count)?.end;
    let (fewer, all) = (cx.int(count - 1), cx.int(count));
    let (before, all) = (cx.mul(step, fewer), cx.mul(step, all));
    if count > 1 {
        let some_left = cx.lt(before, size);
        cx.branch(some_left, clause)?;
    }
    let enough = cx.le(size, all);
    cx.branch(enough, clause)?;
    let mut sizes = vec![step; count as usize - 1];
    sizes.push(cx.sub(size, before));
    Ok(sizes)
}

clauses! { split {
    C1 "`dim` is in range."
    C2 "`split_size` is not negative."
    C3 "`split_size` is positive, unless the dimension is empty."
    C4 "Whether the number of parts, and so of results, is that of the example."
} }

/// `aten::split.Tensor(Tensor self, SymInt split_size, int dim) -> Tensor[]`: parts of `split_size` elements, the last
/// having what is left.
fn split(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, step) = (args.tensor("self")?, args.int("split_size")?);
    let dim = real_dim(cx, x, args.int("dim")?, split::C1)?;
    let size = x.sizes[dim];
    let natural = cx.ge(step, 0);
    cx.require(natural, split::C2, |cx| format!("split_size {} is negative", cx.show(step)))?;
    let some = cx.gt(step, 0);
    if !cx.branch_or(some, true, split::C3) {
        cx.require_eq(size, Expr::ZERO, split::C3, "split_size can only be 0 if the dimension is empty")?;
        return Ok(smallvec![list([Tensor::clone(x)])]);
    }
    let sizes = even_sizes(cx, size, step, split::C4)?;
    Ok(smallvec![list(consecutive(cx, x, dim, &sizes))])
}

clauses! { split_with_sizes {
    C1 "`dim` is in range."
    C2 "No entry of `split_sizes` is negative."
    C3 "The sum of `split_sizes` is `self.size(dim)`."
} }

/// `aten::split_with_sizes(Tensor self, SymInt[] split_sizes, int dim) -> Tensor[]`
fn split_with_sizes(cx: &mut Cx, args: &Args, sizes: &str) -> KernelResult {
    let (x, sizes) = (args.tensor("self")?, args.ints(sizes)?);
    let dim = real_dim(cx, x, args.int("dim")?, split_with_sizes::C1)?;
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, split_with_sizes::C2, |cx| format!("the size {} is negative", cx.show(size)))?;
    }
    let total = cx.sum(sizes.iter().copied());
    cx.require_eq(
        total,
        x.sizes[dim],
        split_with_sizes::C3,
        "the sizes must sum up to that of the dimension",
    )?;
    Ok(smallvec![list(consecutive(cx, x, dim, sizes))])
}

clauses! { chunk {
    C1 "`dim` is in range."
    C2 "`chunks` is a known positive number."
    C3 "Whether the number of parts, and so of results, is that of the example."
} }

/// `aten::chunk(Tensor self, int chunks, int dim) -> Tensor[]`: parts of `ceil(d / chunks)` elements, which are `chunks`
/// parts or fewer; of an empty dimension `chunks` empty parts.
fn chunk(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = real_dim(cx, x, args.int("dim")?, chunk::C1)?;
    let chunks = cx.literal(args.int("chunks")?, chunk::C2)?;
    cx.check(chunks > 0, chunk::C2, |_| format!("the number of chunks {chunks} is not positive"))?;
    let chunks = cx.result_count(chunks)?.end;
    let size = x.sizes[dim];
    let (divisor, fewer) = (cx.int(chunks), cx.int(chunks - 1));
    let step = cx.ceil_div(size, divisor);
    let before = cx.mul(step, fewer);
    // All of the parts have elements, or none of them has.
    let full = match chunks {
        1 => cx.env.pool.bool(true),
        2 => cx.ne(size, 1),
        _ => {
            let (some_left, empty) = (cx.lt(before, size), cx.eq(size, 0));
            cx.any(&[some_left, empty])
        }
    };
    let sizes = if cx.branch(full, chunk::C3)? {
        let mut sizes = vec![step; chunks as usize - 1];
        sizes.push(cx.sub(size, before));
        sizes
    } else {
        even_sizes(cx, size, step, chunk::C3)?
    };
    Ok(smallvec![list(consecutive(cx, x, dim, &sizes))])
}

/// `aten::tensor_split.sections(Tensor self, SymInt sections, int dim) -> Tensor[]`: parts whose sizes differ by at most
/// 1, the larger ones first; part `i` has `(d + sections - 1 - i) // sections` elements.
fn sections(cx: &mut Cx, x: &Tensor, dim: usize, count: Expr) -> KernelResult {
    let count = cx.literal(count, tensor_split::C2)?;
    cx.check(count > 0, tensor_split::C2, |_| format!("the number of sections {count} is not positive"))?;
    let divisor = cx.int(count);
    let mut sizes = Vec::new();
    for i in cx.result_count(count)? {
        let rounding = cx.int(count - 1 - i);
        let raised = cx.add(x.sizes[dim], rounding);
        sizes.push(cx.floor_div(raised, divisor));
    }
    Ok(smallvec![list(consecutive(cx, x, dim, &sizes))])
}

/// `aten::tensor_split.indices(Tensor self, SymInt[] indices, int dim) -> Tensor[]`: the slices between one index and
/// the next.
fn indices(cx: &mut Cx, x: &Tensor, dim: usize, indices: &[Expr]) -> KernelResult {
    let mut start = Expr::ZERO;
    let mut parts = Vec::with_capacity(indices.len() + 1);
    for &end in indices.iter().chain([&x.sizes[dim]]) {
        parts.push(cx.sliced(x, dim, start, end, Expr::ONE));
        start = end;
    }
    Ok(smallvec![list(parts)])
}

clauses! { tensor_split {
    C1 "`dim` is in range."
    C2 "The number of sections is a known positive number."
    C3 "`tensor_indices_or_sections` is of `int64` and has at most 1 dimension."
    C4 "The number of indices is known, because it decides the number of results."
} }

/// `aten::tensor_split.tensor_indices_or_sections(Tensor self, Tensor tensor_indices_or_sections, int dim) -> Tensor[]`:
/// as `tensor_split.indices` with the values of a tensor.
fn by_tensor(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, at) = (args.tensor("self")?, args.tensor("tensor_indices_or_sections")?);
    let dim = real_dim(cx, x, args.int("dim")?, tensor_split::C1)?;
    cx.check(at.dtype == Dtype::Int64 && at.rank() <= 1, tensor_split::C3, |_| {
        format!("int64 of at most 1 dimension is expected, not {} of {}", at.dtype, at.rank())
    })?;
    if at.rank() == 0 {
        return Err(KernelError::Unsupported("tensor_split by a number that only running tells".to_string()));
    }
    let count = cx.literal(at.size(0), tensor_split::C4)?;
    let count = cx.result_count(count)?.end;
    if count == 0 {
        return Ok(smallvec![list([Tensor::clone(x)])]);
    }
    let mut parts = Vec::new();
    for _ in 0..=count {
        let mut part = x.viewed(x.sizes.clone(), x.strides.clone());
        part.sizes[dim] = cx.unbacked_size(0, Some(x.sizes[dim]));
        parts.push(part);
    }
    Ok(smallvec![list(parts)])
}

clauses! { dsplit {
    C1 "`self` has at least 3 dimensions."
} }

clauses! { vsplit {
    C1 "`self` has at least 2 dimensions."
} }

/// The dimension that `hsplit`, `vsplit` and `dsplit` split: 1 (0 of a 1-dimensional tensor), 0 and 2.
fn split_dim(cx: &mut Cx, x: &Tensor, least: usize, clause: &'static OpClause) -> Result<usize, KernelError> {
    cx.check(x.rank() >= least, clause, |_| {
        format!("at least {least} dimensions are expected, not {}", x.rank())
    })?;
    Ok(match least {
        1 => usize::from(x.rank() > 1),
        2 => 0,
        _ => 2,
    })
}

clauses! { hsplit {
    C1 "`self` has at least 1 dimension."
    C2 "The size of the dimension is divisible by the number of sections. That is positive."
} }

/// Equal parts along a dimension.
fn equal_parts(cx: &mut Cx, args: &Args, least: usize, clause: &'static OpClause) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = split_dim(cx, x, least, clause)?;
    let count = cx.literal(args.int("sections")?, hsplit::C2)?;
    cx.check(count > 0, hsplit::C2, |_| format!("the number of sections {count} is not positive"))?;
    let divisor = cx.int(count);
    let rest = cx.modulo(x.sizes[dim], divisor);
    let divides = cx.eq(rest, 0);
    cx.require(divides, hsplit::C2, |cx| {
        format!("the size {} is not divisible by {count}", cx.show(x.sizes[dim]))
    })?;
    sections(cx, x, dim, divisor)
}

fn parts_at(cx: &mut Cx, args: &Args, least: usize, clause: &'static OpClause) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = split_dim(cx, x, least, clause)?;
    indices(cx, x, dim, args.ints("indices")?)
}
