//! What a tensor looks like, as numbers.
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Layout, MemoryFormat};
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[is_contiguous::ALL, is_coalesced::ALL, size::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    size_at => "aten.sym_size.int", "aten.size.int";
    |_, args| ints(&args.tensor("self")?.sizes) => "aten.sym_size.default", "aten.size.default";
    stride_at => "aten.sym_stride.int", "aten.stride.int";
    strides => "aten.sym_stride.default", "aten.stride.default";
    numel => "aten.sym_numel.default", "aten.numel.default";
    |_, args| int(args.tensor("self")?.offset) => "aten.sym_storage_offset.default",
        "aten.storage_offset.default";
    |cx, args| {
        let rank = cx.int(args.tensor("self")?.rank() as i64);
        int(rank)
    } => "aten.dim.default", "aten.dense_dim.default";
    |_, args| args.tensor("self").and_then(|_| int(Expr::ZERO)) => "aten.sparse_dim.default";
    |cx, args| {
        let device = &args.tensor("self")?.device;
        let index = match (&*device.kind, device.index) {
            ("cpu" | "meta", _) => -1,
            (_, index) => i64::from(index.unwrap_or(0)),
        };
        let index = cx.int(index);
        int(index)
    } => "aten.get_device.default";
    |cx, args| truth(cx, args.tensor("self")?.dtype.is_complex()) => "aten.is_complex.default";
    |cx, args| truth(cx, args.tensor("self")?.dtype.is_float()) => "aten.is_floating_point.default";
    |cx, args| truth(cx, args.tensor("self")?.dtype.is_signed()) => "aten.is_signed.default";
    is_same_size => "aten.is_same_size.default";
    is_contiguous => "aten.is_contiguous.default", "aten.is_contiguous.memory_format";
    |cx, args| {
        let format = args.opt_memory_format("memory_format")?.unwrap_or(MemoryFormat::Contiguous);
        let laid_out = is_laid_out(cx, args.tensor("self")?, format);
        Ok(smallvec![Value::Bool(laid_out)])
    } => "aten.sym_is_contiguous.default";
    is_coalesced => "aten.is_coalesced.default";
};

fn int(value: Expr) -> KernelResult {
    Ok(smallvec![Value::Int(value)])
}

fn ints(values: &[Expr]) -> KernelResult {
    Ok(smallvec![Value::Ints(values.to_vec())])
}

fn truth(cx: &mut Cx, value: bool) -> KernelResult {
    Ok(smallvec![Value::Bool(cx.env.pool.bool(value))])
}

clauses! { is_contiguous {
    C1 "Whether the tensor is contiguous in the memory format, which decides the result."
} }

/// `aten::is_contiguous(Tensor self) -> bool`, also in a memory format.
fn is_contiguous(cx: &mut Cx, args: &Args) -> KernelResult {
    let format = if args.has("memory_format") { args.opt_memory_format("memory_format")? } else { None };
    let laid_out = is_laid_out(cx, args.tensor("self")?, format.unwrap_or(MemoryFormat::Contiguous));
    let laid_out = cx.branch(laid_out, is_contiguous::C1)?;
    truth(cx, laid_out)
}

clauses! { is_coalesced {
    C1 "The tensor has a sparse layout."
} }

/// `aten::is_coalesced(Tensor self) -> bool`
fn is_coalesced(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    if x.layout == Layout::SparseCoo {
        return Err(KernelError::Unsupported("whether a sparse tensor is coalesced".to_string()));
    }
    cx.check(false, is_coalesced::C1, |_| format!("a sparse tensor is expected, not a {} one", x.layout))?;
    truth(cx, false)
}

clauses! { size {
    C1 "`dim` is in range, and the tensor is not a scalar."
} }

/// The dimension that `dim` names.
fn dim_of(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<usize, KernelError> {
    cx.check(x.rank() > 0, size::C1, |_| "the tensor has no dimensions".to_string())?;
    cx.dim(args.int("dim")?, x.rank(), size::C1)
}

/// `aten::sym_size.int(Tensor self, int dim) -> SymInt`
fn size_at(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = dim_of(cx, args, x)?;
    int(x.sizes[dim])
}

/// `aten::sym_stride.int(Tensor self, int dim) -> SymInt`
fn stride_at(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = dim_of(cx, args, x)?;
    cx.env.need_strides();
    int(x.strides[dim])
}

/// `aten::sym_stride(Tensor self) -> SymInt[]`
fn strides(cx: &mut Cx, args: &Args) -> KernelResult {
    cx.env.need_strides();
    ints(&args.tensor("self")?.strides)
}

/// `aten::sym_numel(Tensor self) -> SymInt`
fn numel(cx: &mut Cx, args: &Args) -> KernelResult {
    let numel = cx.numel(args.tensor("self")?);
    int(numel)
}

/// `aten::is_same_size(Tensor self, Tensor other) -> bool`
fn is_same_size(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    if a.rank() != b.rank() {
        return truth(cx, false);
    }
    let mut same = Vec::with_capacity(a.rank());
    for (&x, &y) in a.sizes.iter().zip(&b.sizes) {
        same.push(cx.eq(x, y));
    }
    Ok(smallvec![Value::Bool(cx.all(&same))])
}

/// `aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format) -> SymBool`: whether the strides are those of a
/// fresh tensor in the format, dimensions of size 1 aside. Empty tensors count as contiguous, but not as
/// channels-last. A tensor whose rank a channels-last format is not for is not in it.
fn is_laid_out(cx: &mut Cx, x: &Tensor, format: MemoryFormat) -> Expr {
    cx.env.need_strides();
    let rank = x.rank();
    let (row_major, order): (bool, Vec<usize>) = match (format, rank) {
        (MemoryFormat::ChannelsLast, 4) | (MemoryFormat::ChannelsLast3d, 5) => {
            (false, std::iter::once(1).chain((2..rank).rev()).chain([0]).collect())
        }
        (MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d, _) => return cx.env.pool.bool(false),
        _ => (true, (0..rank).rev().collect()),
    };
    let mut expected = Expr::ONE;
    let mut conditions = Vec::with_capacity(rank);
    for dim in order {
        let (one, same) = (cx.eq(x.sizes[dim], 1), cx.eq(x.strides[dim], expected));
        conditions.push(cx.any(&[one, same]));
        // Where a size is 0 the tensor is empty, and what follows does not matter or does not hold.
        let extent = if row_major { cx.at_least_one(x.sizes[dim]) } else { x.sizes[dim] };
        expected = cx.mul(expected, extent);
    }
    let dense = cx.all(&conditions);
    if !row_major {
        return dense;
    }
    let numel = cx.numel(x);
    let empty = cx.eq(numel, 0);
    cx.any(&[dense, empty])
}
