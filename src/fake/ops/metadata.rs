//! What a tensor looks like, as numbers.
use crate::expr::Expr;
use crate::fake::registry::Kernel;
use crate::fake::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use crate::ir::dtype::{Layout, MemoryFormat};
use smallvec::smallvec;

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = &[
    ("aten.sym_size.int", size_at),
    ("aten.size.int", size_at),
    ("aten.sym_size.default", |_, args| ints(&args.tensor("self")?.sizes)),
    ("aten.size.default", |_, args| ints(&args.tensor("self")?.sizes)),
    ("aten.sym_stride.int", stride_at),
    ("aten.stride.int", stride_at),
    ("aten.sym_stride.default", |_, args| ints(&args.tensor("self")?.strides)),
    ("aten.stride.default", |_, args| ints(&args.tensor("self")?.strides)),
    ("aten.sym_numel.default", numel),
    ("aten.numel.default", numel),
    ("aten.sym_storage_offset.default", |_, args| int(args.tensor("self")?.offset)),
    ("aten.storage_offset.default", |_, args| int(args.tensor("self")?.offset)),
    ("aten.dim.default", |cx, args| {
        let rank = cx.int(args.tensor("self")?.rank() as i64);
        int(rank)
    }),
    ("aten.dense_dim.default", |cx, args| {
        let rank = cx.int(args.tensor("self")?.rank() as i64);
        int(rank)
    }),
    ("aten.sparse_dim.default", |_, args| args.tensor("self").and_then(|_| int(Expr::ZERO))),
    ("aten.get_device.default", |cx, args| {
        let device = &args.tensor("self")?.device;
        let index = match (&*device.kind, device.index) {
            ("cpu" | "meta", _) => -1,
            (_, index) => i64::from(index.unwrap_or(0)),
        };
        let index = cx.int(index);
        int(index)
    }),
    ("aten.is_complex.default", |cx, args| truth(cx, args.tensor("self")?.dtype.is_complex())),
    ("aten.is_floating_point.default", |cx, args| truth(cx, args.tensor("self")?.dtype.is_float())),
    ("aten.is_signed.default", |cx, args| truth(cx, args.tensor("self")?.dtype.is_signed())),
    ("aten.is_same_size.default", is_same_size),
    ("aten.is_contiguous.default", |cx, args| {
        let contiguous = cx.is_contiguous(args.tensor("self")?);
        truth(cx, contiguous)
    }),
    ("aten.is_contiguous.memory_format", is_contiguous),
    ("aten.sym_is_contiguous.default", is_contiguous),
    ("aten.is_coalesced.default", |cx, args| {
        let x = args.tensor("self")?;
        if x.layout == Layout::SparseCoo {
            return Err(KernelError::Unsupported("whether a sparse tensor is coalesced".to_string()));
        }
        let message = format!("a sparse tensor is expected, not a {} one", x.layout);
        cx.check(false, "is_coalesced.C1", |_| message).and_then(|()| truth(cx, false))
    }),
];

fn int(value: Expr) -> KernelResult {
    Ok(smallvec![Value::Int(value)])
}

fn ints(values: &[Expr]) -> KernelResult {
    Ok(smallvec![Value::Ints(values.to_vec())])
}

fn truth(cx: &mut Cx, value: bool) -> KernelResult {
    Ok(smallvec![Value::Bool(cx.env.pool.bool(value))])
}

/// The dimension that `dim` names.
///
/// (C1) It exists.
fn dim_of(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<usize, KernelError> {
    cx.check(x.rank() > 0, "size.C1", |_| "the tensor has no dimensions".to_string())?;
    cx.dim(args.int("dim")?, x.rank(), "size.C1")
}

/// `aten::sym_size.int(Tensor self, int dim) -> SymInt`
///
/// (C1) The dimension exists.
fn size_at(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = dim_of(cx, args, x)?;
    int(x.sizes[dim])
}

/// `aten::sym_stride.int(Tensor self, int dim) -> SymInt`
///
/// (C1) The dimension exists.
fn stride_at(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = dim_of(cx, args, x)?;
    int(x.strides[dim])
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

/// `aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool`
fn is_contiguous(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let format = args.opt_memory_format("memory_format")?.unwrap_or(MemoryFormat::Contiguous);
    let laid_out = cx.has_format(x, format);
    truth(cx, laid_out)
}
