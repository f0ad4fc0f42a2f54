//! Operators that give sizes and other facts of a tensor as numbers, and the one that reads its element.
use crate::fake::error::KernelError;
use crate::fake::registry::{Kernel, kernels};
use crate::fake::{Args, Category, Cx, KernelResult, Value};
use crate::range::ValueRange;
use smallvec::smallvec;

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    size => "aten.sym_size.int", "aten.size.int";
    sizes => "aten.sym_size.default", "aten.size.default";
    stride => "aten.sym_stride.int", "aten.stride.int";
    strides => "aten.sym_stride.default", "aten.stride.default";
    numel => "aten.sym_numel.default", "aten.numel.default";
    offset => "aten.sym_storage_offset.default", "aten.storage_offset.default";
    item => "aten.item.default", "aten._local_scalar_dense.default";
};

/// `sym_size.int(Tensor self, int dim) -> SymInt`. (C1) The dimension exists.
fn size(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = existing(cx, args, "size.C1")?;
    Ok(smallvec![Value::Int(x.sizes[dim])])
}

fn sizes(_: &mut Cx, args: &Args) -> KernelResult {
    Ok(smallvec![Value::Ints(args.tensor("self")?.sizes.to_vec())])
}

/// `sym_stride.int(Tensor self, int dim) -> SymInt`. (C1) The dimension exists.
fn stride(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = existing(cx, args, "stride.C1")?;
    Ok(smallvec![Value::Int(x.strides[dim])])
}

fn strides(_: &mut Cx, args: &Args) -> KernelResult {
    Ok(smallvec![Value::Ints(args.tensor("self")?.strides.to_vec())])
}

fn existing(cx: &mut Cx, args: &Args, clause: &'static str) -> Result<usize, KernelError> {
    let x = args.tensor("self")?;
    cx.check(x.rank() > 0, clause, |_| "a 0-dimensional tensor has no dimension".into())?;
    cx.dim(args.int("dim")?, x.rank(), clause)
}

fn numel(cx: &mut Cx, args: &Args) -> KernelResult {
    let numel = cx.numel(args.tensor("self")?);
    Ok(smallvec![Value::Int(numel)])
}

fn offset(_: &mut Cx, args: &Args) -> KernelResult {
    Ok(smallvec![Value::Int(args.tensor("self")?.offset)])
}

/// `item(Tensor self) -> Scalar`: an unbacked number in the range of the dtype.
///
/// (C1) There is one element.
fn item(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let numel = cx.numel(x);
    cx.require_eq(numel, 1.into(), "item.C1", "the number of elements is not 1")?;
    Ok(smallvec![match Category::of(x.dtype) {
        Category::Bool => {
            let bit = cx.env.fresh_unbacked(ValueRange::between(0.into(), 1.into()));
            Value::Bool(cx.eq(bit, 1))
        }
        Category::Int => {
            let bits = 8 * x.dtype.item_size();
            let range = if x.dtype.is_signed() {
                let half = 1i128 << (bits - 1);
                ValueRange::between((-half).into(), (half - 1).into())
            } else {
                ValueRange::between(0.into(), ((1i128 << bits) - 1).into())
            };
            Value::Int(cx.env.fresh_unbacked(range))
        }
        Category::Float => Value::Float(cx.env.fresh_unbacked_float()),
        Category::Complex => return Err(KernelError::Unsupported("the element of a complex tensor".into())),
    }])
}
