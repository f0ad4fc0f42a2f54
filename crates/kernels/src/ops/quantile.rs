//! Quantiles.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelResult, Sizes, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[quantile::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    quantile => "aten.quantile.default", "aten.quantile.scalar", "aten.nanquantile.default", "aten.nanquantile.scalar";
};

clauses! { quantile {
    C1 "`self` is of `float32` or `float64`, and not empty."
    C2 "`q` is from 0 to 1. A tensor has at most 1 dimension and the dtype of `self`."
    C3 "`interpolation` is `linear`, `lower`, `higher`, `midpoint` or `nearest`."
    C4 "`dim` is in range."
} }

/// `quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor`,
/// `nanquantile`, and with a number for `q`: `dim`, or every dimension, goes; of a vector of orders there comes a first
/// dimension, which is the innermost in memory.
fn quantile(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, method) = (args.tensor("self")?, args.str("interpolation")?);
    cx.require_kind(x, Domain::SINGLE_DOUBLE.by_definition(), quantile::C1)?;
    let numel = cx.numel(x);
    let some = cx.ne(numel, 0);
    cx.require(some, quantile::C1, |_| "there are no quantiles of an empty tensor".into())?;
    let mut orders = None;
    match args.value("q")? {
        Value::Tensor(q) => {
            cx.check(q.rank() <= 1, quantile::C2, |_| format!("orders have {} dimensions", q.rank()))?;
            cx.same_dtype(&[x, q], quantile::C2)?;
            orders = q.sizes.first().copied();
        }
        _ => {
            let q = args.float("q")?;
            let outside = cx.pool().as_float(q).is_some_and(|q| !(0.0..=1.0).contains(&q));
            cx.check(!outside, quantile::C2, |cx| format!("{} is not between 0 and 1", cx.show(q)))?;
        }
    }
    let methods = ["linear", "lower", "higher", "midpoint", "nearest"];
    cx.check(methods.contains(&method), quantile::C3, |_| {
        format!("the interpolation is to be one of {}, not {method}", methods.join(", "))
    })?;
    let keepdim = args.flag("keepdim")?;
    let mut sizes: Sizes = match args.opt_int("dim")? {
        Some(dim) => {
            let dim = cx.dim(dim, x.rank(), quantile::C4)?;
            let kept = x.sizes.iter().enumerate().filter(|(at, _)| keepdim || *at != dim);
            kept.map(|(at, &size)| if at == dim { Expr::ONE } else { size }).collect()
        }
        None => smallvec![Expr::ONE; if keepdim { x.rank() } else { 0 }],
    };
    let Some(orders) = orders else { return one(cx.contiguous(sizes, x.dtype, &x.device)) };
    sizes.push(orders);
    let mut strides = cx.contiguous_strides(&sizes);
    sizes.rotate_right(1);
    strides.rotate_right(1);
    one(cx.strided(sizes, strides, x.dtype, &x.device))
}
