//! What a tensor is besides its shape: flags that ordinary tensors do not carry, and views that only carry them.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Dtype, Layout};
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[make_dual::ALL, internal_overlap::ALL, saturate_weight::ALL, add_batch_dim::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    // A description of a tensor has no bit for a pending conjugation or negation: tensors are what their elements say.
    never => "aten.is_conj.default", "aten.is_neg.default", "aten._is_zerotensor.default",
        "aten.is_distributed.default", "aten.is_inference.default", "aten.is_pinned.default";
    cudnn_is_acceptable => "aten.cudnn_is_acceptable.default";
    is_set_to => "aten.is_set_to.default";
    internal_overlap => "aten._debug_has_internal_overlap.default";
    |cx, args| {
        let same = args.tensor("self")?.layout == args.tensor("from")?.layout;
        truth(cx, same)
    } => "aten._has_compatible_shallow_copy_type.default";
    |_, args| one((**args.tensor("self")?).clone()) => "aten._foobar.default";
    |_, args| Ok(smallvec![Value::Tensor(args.tensor("dual")?.clone()), Value::None]) => "aten._unpack_dual.default";
    make_dual => "aten._make_dual.default";
    saturate => "aten._saturate_weight_to_fp16.default";
    add_batch_dim => "aten._add_batch_dim.default";
    |cx, args| {
        let x = args.tensor("self")?;
        one(cx.contiguous([Expr::ZERO].as_slice(), x.dtype, &x.device))
    } => "aten.set.default";
    |_, args| one(args.tensor("source")?.with_dtype(args.tensor("self")?.dtype)) => "aten.set.source_Tensor";
};

clauses! { make_dual {
    C1 "`primal` and `tangent` have the same shape."
    C2 "`primal` and `tangent` have floating point or complex dtypes."
} }

/// `_make_dual(Tensor(a) primal, Tensor tangent, int level) -> Tensor(a)`: the primal; the tangent hides behind it.
fn make_dual(cx: &mut Cx, args: &Args) -> KernelResult {
    let (primal, tangent) = (args.tensor("primal")?, args.tensor("tangent")?);
    cx.require_same_shape(&primal.sizes, &tangent.sizes, make_dual::C1)?;
    for part in [primal, tangent] {
        cx.check(part.dtype.is_float() || part.dtype.is_complex(), make_dual::C2, |_| {
            format!("a tensor of {} has no derivative", part.dtype)
        })?;
    }
    one((**primal).clone())
}

fn truth(cx: &mut Cx, value: bool) -> KernelResult {
    Ok(smallvec![Value::Bool(cx.env.pool.bool(value))])
}

/// `is_conj(Tensor self) -> bool` and the like: no.
///
/// The tensor is on the CPU, where none is pinned or belongs to others.
fn never(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    if &*x.device.kind != "cpu" {
        return Err(KernelError::Unsupported(format!("`{}` of a tensor on {}", args.schema.name, x.device)));
    }
    truth(cx, false)
}

/// `cudnn_is_acceptable(Tensor self) -> bool`: on the CPU it is not.
fn cudnn_is_acceptable(cx: &mut Cx, args: &Args) -> KernelResult {
    if !cx.on_cpu() {
        return Err(KernelError::Unsupported("whether cuDNN takes a tensor depends on the build".into()));
    }
    never(cx, args)
}

/// `is_set_to(Tensor self, Tensor tensor) -> bool`: whether two tensors are one view of one memory. They are not
/// where they differ in anything; whether equal descriptions share memory is not told.
fn is_set_to(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("tensor")?);
    cx.env.need_strides();
    let mut same = vec![cx.eq(a.offset, b.offset)];
    if a.rank() == b.rank() && a.dtype == b.dtype {
        for (&x, &y) in a.sizes.iter().zip(&b.sizes).chain(a.strides.iter().zip(&b.strides)) {
            same.push(cx.eq(x, y));
        }
        let same = cx.all(&same);
        if cx.known(same) != Some(false) {
            return Err(KernelError::Unsupported("whether two tensors share their memory".into()));
        }
    }
    truth(cx, false)
}

clauses! { internal_overlap {
    C1 "Whether a stride of 0 repeats elements, which decides the result."
} }

/// `_debug_has_internal_overlap(Tensor self) -> int`: 0 for a tensor without gaps, 1 where a stride of 0 repeats
/// elements, 2 where it is not looked at closer.
fn internal_overlap(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let repeats = |cx: &mut Cx, (size, stride): (Expr, Expr)| {
        let (more, none) = (cx.gt(size, 1), cx.eq(stride, 0));
        let both = cx.all(&[more, none]);
        cx.branch(both, internal_overlap::C1)
    };
    let mut answer = if cx.is_dense(x) { 0 } else { 2 };
    for pair in x.sizes.iter().copied().zip(x.strides.iter().copied()) {
        if answer == 2 && repeats(cx, pair)? {
            answer = 1;
        }
    }
    Ok(smallvec![Value::Int(cx.int(answer))])
}

clauses! { saturate_weight {
    C1 "`weight` is of `float32`."
} }

/// `_saturate_weight_to_fp16(Tensor weight) -> Tensor`: the weight itself.
fn saturate(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("weight")?;
    cx.check(x.dtype == Dtype::Float32, saturate_weight::C1, |_| {
        format!("float32 is expected, not {}", x.dtype)
    })?;
    one((**x).clone())
}

clauses! { add_batch_dim {
    C1 "The tensor has at least 1 dimension."
    C2 "`level` is from 0 to 63."
} }

/// `_add_batch_dim(Tensor self, int batch_dim, int level) -> Tensor`: what is to be seen of the tensor under `vmap`: all
/// dimensions but the given one, or but the last where that does not exist.
fn add_batch_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dim) = (args.tensor("self")?, args.int("batch_dim")?);
    let dim = cx.literal(dim, add_batch_dim::C1)?;
    cx.check(x.rank() > 0, add_batch_dim::C1, |_| "the tensor has no dimension".into())?;
    let level = args.int("level")?;
    let level = cx.literal(level, add_batch_dim::C2)?;
    cx.check((0..64).contains(&level), add_batch_dim::C2, |_| format!("there is no level {level}"))?;
    let hidden = dim.clamp(0, x.rank() as i64 - 1) as usize;
    let (mut sizes, mut strides) = (x.sizes.clone(), x.strides.clone());
    sizes.remove(hidden);
    strides.remove(hidden);
    one(Tensor { layout: Layout::Strided, ..x.viewed(sizes, strides) })
}
