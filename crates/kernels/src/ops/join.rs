//! Joining tensors: along a dimension, along a new one, as blocks, as combinations.
use super::permute::{at_least, unsqueezed};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::ResultType;
use crate::tensor::Sizes;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype, MemoryFormat};
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[cat::ALL, stack::ALL, block_diag::ALL, chunk_cat::ALL, pad_sequence::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    cat => "aten.cat.default", "aten.concat.default", "aten.concatenate.default";
    prims_cat => "prims.cat.default";
    stack => "aten.stack.default", "aten._stack.default";
    |cx, args| {
        let tensors = raised(cx, args, 1)?;
        let dim = tensors.first().map_or(0, |t| usize::from(t.rank() > 1));
        one(joined(cx, &tensors, dim)?)
    } => "aten.hstack.default";
    |cx, args| {
        let tensors = raised(cx, args, 2)?;
        one(joined(cx, &tensors, 0)?)
    } => "aten.vstack.default", "aten.row_stack.default";
    |cx, args| {
        let tensors = raised(cx, args, 3)?;
        one(joined(cx, &tensors, 2)?)
    } => "aten.dstack.default";
    column_stack => "aten.column_stack.default";
    block_diag => "aten.block_diag.default";
    chunk_cat => "aten._chunk_cat.default";
    pad_sequence => "aten.pad_sequence.default";
};

/// The dtype in which tensors meet.
///
/// # Errors
/// [`KernelError::Invalid`] when the dtypes do not promote.
fn common_dtype(tensors: &[Arc<Tensor>], clause: &'static OpClause) -> Result<Dtype, KernelError> {
    let common = ResultType::of(tensors.iter().map(|t| &**t)).dtype();
    common.map_err(|(x, y)| KernelError::invalid(clause, format!("{x} and {y} do not promote")))
}

clauses! { cat {
    C1 "There is at least one tensor, and each has at least 1 dimension."
    C2 "The tensors have the same rank, except for empty ones of 1 dimension, which are skipped."
    C3 "`dim` is in range."
    C4 "The sizes of the tensors agree, except along `dim`."
    C5 "The dtypes of the tensors promote to a common one."
} }

/// `aten::cat(Tensor[] tensors, int dim) -> Tensor`: the tensors one after the other along a dimension.
fn cat(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    let rank = tensors.iter().map(|t| t.rank()).find(|&rank| rank != 1).unwrap_or(1);
    cx.check(!tensors.is_empty(), cat::C1, |_| "tensors are expected".to_string())?;
    let dim = cx.dim(args.int("dim")?, rank, cat::C3)?;
    one(joined(cx, &tensors, dim)?)
}

/// Tensors joined along an existing dimension; see [`cat`] for the conditions. All laid out in one channels-last format,
/// they keep it; else the result is contiguous.
pub(super) fn joined(cx: &mut Cx, tensors: &[Arc<Tensor>], dim: usize) -> Result<Tensor, KernelError> {
    let sizes = joined_sizes(cx, tensors, dim)?;
    let dtype = common_dtype(tensors, cat::C5)?;
    let mut format = None;
    for tensor in tensors {
        let own = cx.suggested_format(tensor);
        if own == MemoryFormat::Contiguous || format.is_some_and(|f| f != own) {
            format = None;
            break;
        }
        format = Some(own);
    }
    let strides = match format {
        Some(format) => cx.format_strides(&sizes, format),
        None => cx.contiguous_strides(&sizes),
    };
    Ok(cx.strided(sizes, strides, dtype, &tensors[0].device))
}

/// The sizes of tensors joined along a dimension.
fn joined_sizes(cx: &mut Cx, tensors: &[Arc<Tensor>], dim: usize) -> Result<Sizes, KernelError> {
    cx.check(!tensors.is_empty(), cat::C1, |_| "tensors are expected".to_string())?;
    for (i, tensor) in tensors.iter().enumerate() {
        cx.check(tensor.rank() > 0, cat::C1, |_| format!("tensor {i} has no dimensions"))?;
    }
    let rank = tensors.iter().map(|t| t.rank()).find(|&rank| rank != 1).unwrap_or(1);
    let mut result: Option<Sizes> = None;
    let mut joined = Vec::with_capacity(tensors.len());
    for (i, tensor) in tensors.iter().enumerate() {
        if tensor.rank() != rank {
            cx.check(tensor.rank() == 1, cat::C2, |_| {
                format!("{rank} dimensions are expected, tensor {i} has {}", tensor.rank())
            })?;
            let empty = cx.eq(tensor.sizes[0], 0);
            cx.require(empty, cat::C2, |cx| {
                format!("{rank} dimensions are expected, tensor {i} has shape {}", cx.show_all(&tensor.sizes))
            })?;
            continue;
        }
        let Some(sizes) = &mut result else {
            cx.check(dim < rank, cat::C3, |_| format!("dimension {dim} of {rank} does not exist"))?;
            joined.push(tensor.sizes[dim]);
            result = Some(tensor.sizes.clone());
            continue;
        };
        for at in (0..rank).filter(|&at| at != dim) {
            let (a, b) = (sizes[at], tensor.sizes[at]);
            cx.require_eq(a, b, cat::C4, "sizes of tensors must match except in the joined dimension")?;
        }
        joined.push(tensor.sizes[dim]);
    }
    let mut sizes = result.ok_or_else(|| KernelError::invalid(cat::C1, "tensors are expected"))?;
    sizes[dim] = cx.env.pool.sum(joined);
    Ok(sizes)
}

/// `prims::cat(Tensor[] tensors, int dim) -> Tensor`: as `aten::cat`, the dimension not counted from the end, the result
/// always contiguous and of the first tensor's dtype.
fn prims_cat(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    let dim = cx.literal(args.int("dim")?, cat::C3)?;
    let dim = usize::try_from(dim)
        .map_err(|_| KernelError::invalid(cat::C3, format!("dimension {dim} is negative")))?;
    let sizes = joined_sizes(cx, &tensors, dim)?;
    one(cx.contiguous(sizes, tensors[0].dtype, &tensors[0].device))
}

clauses! { stack {
    C1 "There is at least one tensor."
    C2 "`dim` is a dimension of the result."
    C3 "The tensors have the same shape."
} }

/// `aten::stack(Tensor[] tensors, int dim) -> Tensor`: the tensors one after the other along a new dimension.
fn stack(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    cx.check(!tensors.is_empty(), stack::C1, |_| "tensors are expected".to_string())?;
    let dim = cx.dim(args.int("dim")?, tensors[0].rank() + 1, stack::C2)?;
    one(stacked(cx, &tensors, dim)?)
}

/// Tensors joined along a new dimension.
fn stacked(cx: &mut Cx, tensors: &[Arc<Tensor>], dim: usize) -> Result<Tensor, KernelError> {
    let first = tensors[0].clone();
    for (i, tensor) in tensors.iter().enumerate() {
        cx.check(tensor.rank() == first.rank(), stack::C3, |_| {
            format!("tensor {i} has {} dimensions, the first has {}", tensor.rank(), first.rank())
        })?;
        for at in 0..first.rank() {
            let (a, b) = (first.sizes[at], tensor.sizes[at]);
            cx.require_eq(a, b, stack::C3, "stack expects tensors of equal shape")?;
        }
    }
    let count = cx.int(tensors.len() as i64);
    if dim == first.rank() {
        let raised: Vec<Arc<Tensor>> = tensors.iter().map(|t| Arc::new(unsqueezed(cx, t, dim))).collect();
        return joined(cx, &raised, dim);
    }
    // Joined along the dimension behind the new one, which is then split.
    let mut result = joined(cx, tensors, dim)?;
    result.sizes[dim] = first.sizes[dim];
    let extent = cx.at_least_one(first.sizes[dim]);
    let outer = cx.mul(result.strides[dim], extent);
    result.sizes.insert(dim, count);
    result.strides.insert(dim, outer);
    Ok(result)
}

/// The tensors of the call with dimensions of size 1 put in up to `rank`.
fn raised(cx: &mut Cx, args: &Args, rank: usize) -> Result<Vec<Arc<Tensor>>, KernelError> {
    let tensors = args.tensors("tensors")?;
    Ok(tensors.iter().map(|t| Arc::new(at_least(cx, t, rank))).collect())
}

/// `aten::column_stack(Tensor[] tensors) -> Tensor`: tensors of at most 1 dimension as columns, joined along
/// dimension 1.
fn column_stack(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut tensors = args.tensors("tensors")?;
    for tensor in tensors.iter_mut().filter(|t| t.rank() <= 1) {
        let length = tensor.sizes.first().copied().unwrap_or(Expr::ONE);
        *tensor = Arc::new(cx.reshaped(tensor, [length, Expr::ONE].as_slice().into()));
    }
    one(joined(cx, &tensors, 1)?)
}

clauses! { block_diag {
    C1 "Each tensor has at most 2 dimensions."
    C2 "The dtypes of the tensors promote to a common one."
} }

/// `aten::block_diag(Tensor[] tensors) -> Tensor`: matrices along the diagonal of a larger one; vectors count as rows.
fn block_diag(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    let Some(first) = tensors.first().cloned() else {
        return one(cx.contiguous([Expr::ONE, Expr::ZERO].as_slice(), Dtype::Float32, &Device::cpu()));
    };
    let (mut rows, mut columns) = (Expr::ZERO, Expr::ZERO);
    for tensor in &tensors {
        cx.check(tensor.rank() <= 2, block_diag::C1, |_| {
            format!("at most 2 dimensions are expected, not {}", tensor.rank())
        })?;
        let matrix = at_least(cx, tensor, 2);
        rows = cx.add(rows, matrix.sizes[0]);
        columns = cx.add(columns, matrix.sizes[1]);
    }
    let dtype = common_dtype(&tensors, block_diag::C2)?;
    one(cx.contiguous([rows, columns].as_slice(), dtype, &first.device))
}

clauses! { chunk_cat {
    C1 "There is at least one tensor, and none is empty."
    C2 "`num_chunks` is positive."
    C3 "`dim` is in range for each tensor. It is negative only if the tensors have the same rank."
    C4 "The sizes of the tensors before `dim` agree."
    C5 "The tensors have the same dtype."
} }

/// `aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor`: each tensor split into `num_chunks` along a
/// dimension, padded, its chunks flattened from there on and joined with those of the others.
fn chunk_cat(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    cx.check(!tensors.is_empty(), chunk_cat::C1, |_| "tensors are expected".to_string())?;
    let first = tensors[0].clone();
    let chunks = args.int("num_chunks")?;
    let positive = cx.gt(chunks, 0);
    cx.require(positive, chunk_cat::C2, |cx| format!("num_chunks {} is not positive", cx.show(chunks)))?;
    let dim = cx.literal(args.int("dim")?, chunk_cat::C3)?;
    let alike = tensors.iter().all(|t| t.rank() == first.rank());
    cx.check(dim >= 0 || alike, chunk_cat::C3, |_| {
        "a dimension counted from the end is one only of tensors with as many dimensions".to_string()
    })?;
    let least = tensors.iter().map(|t| t.rank()).min().unwrap_or(0);
    cx.check(dim < least as i64, chunk_cat::C3, |_| {
        format!("dimension {dim} does not exist in all tensors")
    })?;
    // A tensor without dimensions has none that could be chunked, although -1 names one elsewhere.
    cx.check(least > 0, chunk_cat::C3, |_| "a tensor has no dimension".to_string())?;
    let dim = cx.wrap_dim(dim, first.rank(), chunk_cat::C3)?;
    let mut length = Expr::ZERO;
    for tensor in &tensors {
        let numel = cx.numel(tensor);
        let some = cx.ne(numel, 0);
        cx.require(some, chunk_cat::C1, |_| "tensors are not to be empty".to_string())?;
        cx.check(tensor.dtype == first.dtype, chunk_cat::C5, |_| {
            format!("the dtypes differ: {} and {}", first.dtype, tensor.dtype)
        })?;
        for at in 0..dim {
            let (a, b) = (first.sizes[at], tensor.sizes[at]);
            cx.require_eq(a, b, chunk_cat::C4, "the sizes before the dimension must agree")?;
        }
        let chunk = cx.ceil_div(tensor.sizes[dim], chunks);
        let behind = cx.product(tensor.sizes[dim + 1..].iter().copied());
        let elements = cx.mul(chunk, behind);
        length = cx.add(length, elements);
    }
    let mut sizes: Sizes = first.sizes[..dim].into();
    sizes.extend([chunks, length]);
    one(cx.contiguous(sizes, first.dtype, &first.device))
}

clauses! { pad_sequence {
    C1 "There is at least one sequence, and each has at least 1 dimension."
    C2 "The sizes of each sequence, except the first, broadcast to those of the first."
    C3 "`padding_side` is `left` or `right`."
} }

/// `aten::pad_sequence(Tensor[] sequences, bool batch_first, float padding_value, str padding_side) -> Tensor`: sequences
/// padded to the longest one and stacked.
fn pad_sequence(cx: &mut Cx, args: &Args) -> KernelResult {
    let sequences = args.tensors("sequences")?;
    let dimensioned = !sequences.is_empty() && sequences.iter().all(|t| t.rank() > 0);
    cx.check(dimensioned, pad_sequence::C1, |_| "sequences are expected".to_string())?;
    let side = args.str("padding_side")?;
    cx.check(matches!(side, "left" | "right"), pad_sequence::C3, |_| {
        format!("the side is to be left or right, not {side}")
    })?;
    let trailing: Sizes = sequences[0].sizes[1..].into();
    let mut longest = sequences[0].sizes[0];
    for sequence in &sequences[1..] {
        let mut own: Sizes = [sequence.sizes[0]].as_slice().into();
        own.extend_from_slice(&trailing);
        cx.require_expandable(&sequence.sizes, &own, pad_sequence::C2)?;
        let longer = cx.ge(sequence.sizes[0], longest);
        longest = match cx.known(longer) {
            Some(true) => sequence.sizes[0],
            Some(false) => longest,
            None => cx.max(longest, sequence.sizes[0]),
        };
    }
    let count = cx.int(sequences.len() as i64);
    let mut sizes: Sizes =
        if args.flag("batch_first")? { [count, longest] } else { [longest, count] }.as_slice().into();
    sizes.extend_from_slice(&trailing);
    one(cx.contiguous(sizes, sequences[0].dtype, &sequences[0].device))
}
