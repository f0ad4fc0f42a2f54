//! Repetition: expanded views and repeated copies.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::tensor::Sizes;
use crate::value::list;
use crate::view::copied;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    expand::ALL,
    broadcast_tensors::ALL,
    meshgrid::ALL,
    repeat::ALL,
    repeat_interleave::ALL,
    broadcast_in_dim::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    expand => "aten.expand.default", "aten.broadcast_to.default";
    |cx, args| copied(cx, args, expand) => "aten.expand_copy.default";
    expand_as => "aten.expand_as.default";
    broadcast_tensors => "aten.broadcast_tensors.default";
    |cx, args| meshgrid(cx, args, "ij") => "aten.meshgrid.default";
    |cx, args| meshgrid(cx, args, args.str("indexing")?) => "aten.meshgrid.indexing";
    repeat => "aten.repeat.default";
    tile => "aten.tile.default";
    repeat_interleave_int => "aten.repeat_interleave.self_int";
    repeat_interleave_tensor => "aten.repeat_interleave.self_Tensor";
    repeat_indices => "aten.repeat_interleave.Tensor";
    broadcast_in_dim => "prims.broadcast_in_dim.default";
};

clauses! { expand {
    C1 "Each size of `self` is the requested one or 1, where -1 requests the size itself."
} }

/// `aten::expand(Tensor self, SymInt[] size, *, bool implicit) -> Tensor`: dimensions of size 1 repeated, new ones put in
/// front.
fn expand(cx: &mut Cx, args: &Args) -> KernelResult {
    one(cx.expanded(args.tensor("self")?, args.ints("size")?, expand::C1)?)
}

/// `aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)`
fn expand_as(cx: &mut Cx, args: &Args) -> KernelResult {
    let sizes = args.tensor("other")?.sizes.clone();
    one(cx.expanded(args.tensor("self")?, &sizes, expand::C1)?)
}

clauses! { broadcast_tensors {
    C1 "The shapes of the tensors broadcast."
} }

/// `aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]`
fn broadcast_tensors(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    let sizes = cx.broadcast(tensors.iter().map(|t| t.sizes.as_slice()), broadcast_tensors::C1)?;
    let mut results = Vec::with_capacity(tensors.len());
    for tensor in &tensors {
        results.push(cx.expanded(tensor, &sizes, broadcast_tensors::C1)?);
    }
    Ok(smallvec![list(results)])
}

clauses! { meshgrid {
    C1 "There is at least one tensor."
    C2 "Each tensor has at most 1 dimension."
    C3 "The tensors have the same dtype."
    C4 "`indexing` is `ij` or `xy`."
} }

/// `aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]`: tensor `i` along dimension `i`, repeated
/// along the others; `xy` swaps the first two dimensions.
fn meshgrid(cx: &mut Cx, args: &Args, indexing: &str) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    cx.check(!tensors.is_empty(), meshgrid::C1, |_| "tensors are expected".to_string())?;
    let dtype = tensors[0].dtype;
    let mut shape = Sizes::new();
    for tensor in &tensors {
        cx.check(tensor.rank() <= 1, meshgrid::C2, |_| {
            format!("at most 1 dimension is expected, not {}", tensor.rank())
        })?;
        cx.check(tensor.dtype == dtype, meshgrid::C3, |_| {
            format!("the dtypes differ: {dtype} and {}", tensor.dtype)
        })?;
        shape.push(tensor.sizes.first().copied().unwrap_or(Expr::ONE));
    }
    cx.check(matches!(indexing, "ij" | "xy"), meshgrid::C4, |_| {
        format!("indexing is to be ij or xy, not {indexing}")
    })?;
    let mut dims: Vec<usize> = (0..tensors.len()).collect();
    if indexing == "xy" && dims.len() > 1 {
        dims.swap(0, 1);
        shape.swap(0, 1);
    }
    let mut results = Vec::with_capacity(tensors.len());
    for (tensor, &dim) in tensors.iter().zip(&dims) {
        let mut strides: Sizes = smallvec![Expr::ZERO; shape.len()];
        strides[dim] = tensor.strides.first().copied().unwrap_or(Expr::ONE);
        results.push(tensor.viewed(shape.clone(), strides));
    }
    Ok(smallvec![list(results)])
}

clauses! { repeat {
    C1 "`repeats` has at least as many entries as `self` has dimensions."
    C2 "No number of repeats is negative."
} }

/// `aten::repeat(Tensor self, SymInt[] repeats) -> Tensor`: size `i` times `repeats[i]`, aligned at the last dimension.
fn repeat(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, repeats) = (args.tensor("self")?, args.ints("repeats")?);
    cx.check(repeats.len() >= x.rank(), repeat::C1, |_| {
        format!("{} repeats for {} dimensions", repeats.len(), x.rank())
    })?;
    repeated(cx, x, repeats)
}

/// `aten::tile(Tensor self, SymInt[] dims) -> Tensor`: as [`repeat`], missing repeats being 1.
fn tile(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, repeats) = (args.tensor("self")?, args.ints("dims")?);
    let missing = x.rank().saturating_sub(repeats.len());
    let mut padded = vec![Expr::ONE; missing];
    padded.extend_from_slice(repeats);
    repeated(cx, x, &padded)
}

fn repeated(cx: &mut Cx, x: &Tensor, repeats: &[Expr]) -> KernelResult {
    let new = repeats.len() - x.rank();
    let mut sizes = Sizes::new();
    for (i, &times) in repeats.iter().enumerate() {
        let natural = cx.ge(times, 0);
        cx.require(natural, repeat::C2, |cx| format!("the repeat {} is negative", cx.show(times)))?;
        let size = if i < new { Expr::ONE } else { x.sizes[i - new] };
        sizes.push(cx.mul(size, times));
    }
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// `aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim, *, SymInt? output_size) -> Tensor`: each
/// element of a dimension `repeats` times; without a dimension, of the flattened tensor.
fn repeat_interleave_int(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, times) = (args.tensor("self")?, args.int("repeats")?);
    let natural = cx.ge(times, 0);
    cx.require(natural, repeat_interleave::C2, |cx| format!("the repeat {} is negative", cx.show(times)))?;
    let (mut sizes, dim) = interleaved_dim(cx, args, x)?;
    sizes[dim] = cx.mul(sizes[dim], times);
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// The sizes and the dimension along which elements are repeated: those of the flattened tensor where `dim` is absent.
fn interleaved_dim(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<(Sizes, usize), KernelError> {
    match args.opt_int("dim")? {
        Some(dim) => {
            cx.check(x.rank() > 0, repeat_interleave::C1, |_| "the tensor has no dimensions".to_string())?;
            Ok((x.sizes.clone(), cx.dim(dim, x.rank(), repeat_interleave::C1)?))
        }
        None => Ok(([cx.numel(x)].as_slice().into(), 0)),
    }
}

/// `aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim, *, SymInt? output_size) -> Tensor`:
/// element `i` of a dimension `repeats[i]` times; the size is known only to the program unless `output_size` gives it.
fn repeat_interleave_tensor(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, repeats) = (args.tensor("self")?, args.tensor("repeats")?);
    cx.check(repeats.rank() <= 1, repeat_interleave::C3, |_| {
        format!("repeats has {} dimensions, at most 1 is expected", repeats.rank())
    })?;
    let (mut sizes, dim) = interleaved_dim(cx, args, x)?;
    if let Some(&count) = repeats.sizes.first() {
        let (single, each) = (cx.eq(count, 1), cx.eq(count, sizes[dim]));
        let fits = cx.any(&[single, each]);
        cx.require(fits, repeat_interleave::C3, |cx| {
            format!("repeats has {} elements for a size of {}", cx.show(count), cx.show(sizes[dim]))
        })?;
    }
    sizes[dim] = repeated_size(cx, args)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// How many elements there are after repeating: `output_size`, or a number known only to the program.
fn repeated_size(cx: &mut Cx, args: &Args) -> Result<Expr, KernelError> {
    let Some(size) = args.opt_int("output_size")? else { return Ok(cx.unbacked_size(0, None)) };
    let natural = cx.ge(size, 0);
    cx.require(natural, repeat_interleave::C6, |cx| format!("an output size of {}", cx.show(size)))?;
    Ok(size)
}

clauses! { repeat_interleave {
    C1 "`dim` is in range, and `self` is not a scalar."
    C2 "`repeats` is not negative."
    C3 "`repeats` has at most 1 dimension, and 1 element or one for each index in `dim`."
    C4 "`repeats` has 1 dimension."
    C5 "`repeats` is of `int32` or `int64`."
    C6 "`output_size` is not negative."
} }

/// `aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size) -> Tensor`: the index `i`, `repeats[i]` times.
fn repeat_indices(cx: &mut Cx, args: &Args) -> KernelResult {
    let repeats = args.tensor("repeats")?;
    cx.check(repeats.rank() == 1, repeat_interleave::C4, |_| {
        format!("repeats has {} dimensions, 1 is expected", repeats.rank())
    })?;
    cx.check(matches!(repeats.dtype, Dtype::Int32 | Dtype::Int64), repeat_interleave::C5, |_| {
        format!("repeats is of {}, int32 or int64 is expected", repeats.dtype)
    })?;
    let size = repeated_size(cx, args)?;
    one(cx.contiguous([size].as_slice(), repeats.dtype, &repeats.device))
}

clauses! { broadcast_in_dim {
    C1 "`broadcast_dimensions` is ascending, with an entry for each dimension of `a`. Its entries are less \
        than the rank of the result."
    C2 "Each size of `a` is that of the result or 1. No size of the result is negative."
} }

/// `prims::broadcast_in_dim(Tensor a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor`: dimension `i` becomes
/// dimension `broadcast_dimensions[i]` of the result.
fn broadcast_in_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, shape, into) = (args.tensor("a")?, args.ints("shape")?, args.ints("broadcast_dimensions")?);
    cx.check(into.len() == x.rank() && shape.len() >= x.rank(), broadcast_in_dim::C1, |_| {
        format!("{} entries for {} dimensions", into.len(), x.rank())
    })?;
    let mut placed = vec![None; shape.len()];
    let mut least = 0;
    for (i, &to) in into.iter().enumerate() {
        let to = cx.literal(to, broadcast_in_dim::C1)?;
        let at = usize::try_from(to).ok().filter(|&at| at >= least && at < shape.len());
        let Some(at) = at else {
            return Err(KernelError::invalid(
                broadcast_in_dim::C1,
                format!("{} is not strictly ascending below {}", cx.show_all(into), shape.len()),
            ));
        };
        placed[at] = Some(i);
        least = at + 1;
    }
    // Dimensions are lined up as `expand` has them, then given their places.
    let wanted: Vec<Expr> = (0..shape.len()).filter(|&at| placed[at].is_some()).map(|at| shape[at]).collect();
    for &size in shape {
        let natural = cx.ge(size, 0);
        cx.require(natural, broadcast_in_dim::C2, |cx| format!("the size {} is negative", cx.show(size)))?;
    }
    let lined_up = cx.expanded(x, &wanted, broadcast_in_dim::C2)?;
    let mut strides: Sizes = smallvec![Expr::ZERO; shape.len()];
    let mut next = 0;
    for at in 0..shape.len() {
        if let Some(i) = placed[at] {
            strides[at] = lined_up.strides[i];
            next = i + 1;
        } else if shape[at] == Expr::ONE {
            strides[at] = match x.strides.get(next) {
                Some(&stride) => cx.mul(stride, x.sizes[next]),
                None => Expr::ONE,
            };
        }
    }
    one(x.viewed(shape.into(), strides))
}
