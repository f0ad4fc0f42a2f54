//! Random numbers that a key determines (Philox), quasi-random sequences (Sobol), and the gradient of gamma variates.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::matrix::batch;
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[philox::ALL, sobol::ALL, gamma_grad::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    key_split => "aten._philox_key_split.default";
    key_fold_in => "aten._philox_key_fold_in.default", "aten._philox_key_fold_in.Tensor";
    |cx, args| drawn(cx, args, Domain::FLOAT) => "aten._philox_normal.default", "aten._philox_uniform.default";
    |cx, args| drawn(cx, args, Domain::INT) => "aten._philox_randint.default";
    sobol_draw => "aten._sobol_engine_draw.default";
    gamma_grad => "aten._standard_gamma_grad.default";
};

clauses! { philox {
    C1 "`key` is of `uint64`."
    C2 "The last dimension of `key` has size 2."
    C3 "`num_splits` is positive."
    C5 "`self` has a floating point dtype, or an integer dtype for `randint`."
    C6 "A batch of keys has one dimension more than `self`, and expands to its shape."
} }

fn require_key(cx: &mut Cx, key: &Tensor) -> Result<(), KernelError> {
    cx.check(key.dtype == Dtype::Uint64, philox::C1, |_| format!("a key is of uint64, not {}", key.dtype))?;
    cx.check(key.rank() > 0, philox::C2, |_| "a key has a dimension".into())?;
    let two = cx.int(2);
    cx.require_eq(key.size(-1), two, philox::C2, "the last dimension of a key has another size than 2")
}

/// `_philox_key_split(Tensor key, int num_splits) -> Tensor`: `[num_splits, *, 2]` of `[*, 2]`.
fn key_split(cx: &mut Cx, args: &Args) -> KernelResult {
    let (key, splits) = (args.tensor("key")?, args.int("num_splits")?);
    require_key(cx, key)?;
    let some = cx.gt(splits, 0);
    cx.require(some, philox::C3, |cx| format!("num_splits is to be positive, not {}", cx.show(splits)))?;
    let mut sizes: Sizes = smallvec![splits];
    sizes.extend_from_slice(&key.sizes);
    one(cx.contiguous(sizes, key.dtype, &key.device))
}

/// `_philox_key_fold_in(Tensor key, int data) -> Tensor`: `[*, 2]`; what is folded in may be a tensor without dimensions.
///
/// A tensor that is folded in is of `int64` and has no dimensions; what others do is not known.
fn key_fold_in(cx: &mut Cx, args: &Args) -> KernelResult {
    let key = args.tensor("key")?;
    require_key(cx, key)?;
    if let Ok(data) = args.tensor("data")
        && (data.rank() > 0 || data.dtype != Dtype::Int64)
    {
        return Err(KernelError::Unsupported(
            "a key with several numbers, or others than int64, folded in".into(),
        ));
    }
    one(cx.contiguous_copy(key))
}

/// `_philox_uniform(Tensor self, Tensor key, float low=0., float high=1.) -> Tensor` and its like: `self` filled anew, by
/// one key or by one a row of the leading dimensions.
fn drawn(cx: &mut Cx, args: &Args, domain: Domain) -> KernelResult {
    let (x, key) = (args.tensor("self")?, args.tensor("key")?);
    cx.require_kind(x, domain.by_definition(), philox::C5)?;
    require_key(cx, key)?;
    let keys = batch(&key.sizes, 1);
    if !keys.is_empty() {
        cx.check(keys.len() == x.rank(), philox::C6, |_| {
            format!("keys of {} dimensions for a tensor of {}", key.rank(), x.rank())
        })?;
        cx.require_expandable(keys, &x.sizes, philox::C6)?;
    }
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

clauses! { sobol {
    C1 "`quasi` and `sobolstate` are of `int64`, and `dtype` is floating point."
    C2 "`quasi` has 1 dimension, of `dimension` elements."
    C3 "`n` is not negative."
    C4 "`sobolstate` has 2 dimensions: `dimension` rows, and at least 30 columns."
} }

/// `_sobol_engine_draw(Tensor quasi, int n, Tensor sobolstate, int dimension, int num_generated, ScalarType? dtype) ->
/// (Tensor, Tensor)`: `n` points, `[n, dimension]` of `dtype` (by default `float32`), and the state after them, like
/// `quasi`.
fn sobol_draw(cx: &mut Cx, args: &Args) -> KernelResult {
    let (quasi, state) = (args.tensor("quasi")?, args.tensor("sobolstate")?);
    let (n, dimension) = (args.int("n")?, args.int("dimension")?);
    for x in [quasi, state] {
        cx.check(x.dtype == Dtype::Int64, sobol::C1, |_| format!("int64 is expected, not {}", x.dtype))?;
    }
    cx.rank(quasi, 1, sobol::C2, "quasi")?;
    cx.require_eq(quasi.size(0), dimension, sobol::C2, "quasi has another size than the dimension")?;
    cx.rank(state, 2, sobol::C4, "the state")?;
    cx.require_eq(state.size(0), dimension, sobol::C4, "the state has another size than the dimension")?;
    let enough = cx.ge(state.size(1), 30);
    cx.require(enough, sobol::C4, |cx| format!("{} numbers a dimension are not 30", cx.show(state.size(1))))?;
    let natural = cx.ge(n, 0);
    cx.require(natural, sobol::C3, |cx| format!("{} points are negative", cx.show(n)))?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(Dtype::Float32);
    cx.require_dtype(dtype, Domain::FLOAT.on_cpu(), &quasi.device, sobol::C1)?;
    let points: [Expr; 2] = [n, dimension];
    let points = cx.contiguous(points.as_slice(), dtype, &quasi.device);
    Ok(smallvec![points.into(), cx.contiguous_copy(quasi).into()])
}

clauses! { gamma_grad {
    C1 "The shapes of `self` and `output` broadcast."
    C2 "`self` and `output` have the same dtype."
    C3 "`self` has a floating point dtype."
} }

/// `_standard_gamma_grad(Tensor self, Tensor output) -> Tensor`: element by element.
fn gamma_grad(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, output) = (args.tensor("self")?, args.tensor("output")?);
    cx.same_dtype(&[x, output], gamma_grad::C2)?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), gamma_grad::C3)?;
    one(cx.elementwise(&[x, output], x.dtype, gamma_grad::C1)?)
}
