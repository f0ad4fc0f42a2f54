//! Distances between vectors, and similarities.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[cdist::ALL, cdist_backward::ALL, euclidean_dist::ALL, pdist::ALL, pdist_backward::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    cdist => "aten.cdist.default", "aten._cdist_forward.default";
    cdist_backward => "aten._cdist_backward.default";
    euclidean => "aten._euclidean_dist.default";
    pdist => "aten.pdist.default", "aten._pdist_forward.default";
    pdist_backward => "aten._pdist_backward.default";
};

/// `[.., n, c]` and `[.., m, c]`: the batch in which they meet.
fn batch(cx: &mut Cx, a: &Tensor, b: &Tensor) -> Result<Sizes, KernelError> {
    for t in [a, b] {
        cx.check(t.rank() >= 2, cdist::C1, |cx| {
            format!("at least 2 dimensions are expected, the shape is {}", cx.show_all(&t.sizes))
        })?;
    }
    cx.require_eq(a.size(-1), b.size(-1), cdist::C2, "the numbers of columns differ")?;
    cx.broadcast([&a.sizes[..a.rank() - 2], &b.sizes[..b.rank() - 2]], cdist::C3)
}

fn condition_any_empty(cx: &mut Cx, sizes: &[Expr]) -> Expr {
    let product = cx.product(sizes.iter().copied());
    cx.eq(product, 0)
}

clauses! { cdist {
    C1 "`x1` and `x2` have at least 2 dimensions."
    C2 "`x1` and `x2` have the same number of columns."
    C3 "The batch dimensions of `x1` and `x2` broadcast."
    C4 "`x1` and `x2` have floating point dtypes that the CPU kernel takes. Unless the result is empty or \
        has no columns to compare, they agree and are `float32` or `float64`, or the distance is computed \
        as a matrix product."
    C5 "`p` is not negative."
    C6 "`compute_mode` is 0, 1 or 2."
} }

/// `aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor`: `[.., n, c], [.., m, c] → [.., n,
/// m]`.
fn cdist(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("x1")?, args.tensor("x2")?);
    let (p, mode) = (args.float("p")?, args.opt_int("compute_mode")?);
    cx.check(a.dtype.is_float() && b.dtype.is_float(), cdist::C4, |_| {
        format!("floating point is expected, not {} and {}", a.dtype, b.dtype)
    })?;
    let mut sizes = batch(cx, a, b)?;
    let p = cx.literal_float(p, cdist::C5)?;
    cx.check(p >= 0.0, cdist::C5, |_| format!("p is to be at least 0, not {p}"))?;
    let mode = match mode {
        Some(mode) => cx.literal(mode, cdist::C6)?,
        None => 0,
    };
    cx.check((0..=2).contains(&mode), cdist::C6, |_| format!("mode {mode} is none of 0, 1, 2"))?;
    let (n, m) = (a.size(-2), b.size(-2));
    let by_product = p == 2.0 && mode != 2;
    cx.require_cpu_cdist([a, b], &sizes, by_product.then_some(mode == 1), cdist::C4)?;
    sizes.extend([n, m]);
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

clauses! { cdist_backward {
    C1 "`x1` and `x2` have at least 2 dimensions."
    C2 "The batch dimensions of `x1` and `x2` broadcast."
    C3 "All operands are of `float32` or all of `float64`, unless one is empty."
    empty "Whether an operand is empty, which decides the shape of the gradient."
} }

/// `aten::_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor`: shaped like `x1`
/// expanded to the common batch, and like `x1` itself where there is nothing to compute.
fn cdist_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, a, b) = (args.tensor("grad_output")?, args.tensor("x1")?, args.tensor("x2")?);
    let cdist = args.tensor("cdist")?;
    for t in [a, b] {
        cx.check(t.rank() >= 2, cdist_backward::C1, |_| "at least 2 dimensions are expected".into())?;
    }
    let mut sizes = cx.broadcast([&a.sizes[..a.rank() - 2], &b.sizes[..b.rank() - 2]], cdist_backward::C2)?;
    let mut inside: Vec<Expr> = sizes.to_vec();
    inside.extend([a.size(-2), b.size(-2), a.size(-1)]);
    sizes.extend([a.size(-2), a.size(-1)]);
    let empty = condition_any_empty(cx, &inside);
    let alike =
        [grad, b, cdist].iter().all(|t| t.dtype == a.dtype) && Domain::SINGLE_DOUBLE.contains(a.dtype);
    if !alike {
        cx.require(empty, cdist_backward::C3, |_| "all dtypes are to be float32, or all float64".into())?;
    }
    if sizes != a.sizes && cx.branch(empty, cdist_backward::empty)? {
        sizes = a.sizes.clone();
    }
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

clauses! { euclidean_dist {
    C4 "`x1` and `x2` have the same floating point dtype."
} }

/// `aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor`: `[.., n, c], [.., m, c] → [.., n, m]`.
fn euclidean(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("x1")?, args.tensor("x2")?);
    let mut sizes = batch(cx, a, b)?;
    cx.same_dtype(&[a, b], euclidean_dist::C4)?;
    cx.require_kind(a, Domain::FLOAT.on_cpu(), euclidean_dist::C4)?;
    sizes.extend([a.size(-2), b.size(-2)]);
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

clauses! { pdist {
    C1 "`self` has 2 dimensions."
    C2 "`self` is of `float32` or `float64`. With less than 2 rows or without columns, any floating point \
        dtype goes."
    C3 "`p` is not negative."
} }

/// `aten::pdist(Tensor self, float p=2.) -> Tensor`: `[n, c] → [n(n-1)/2]`, one distance for each pair of rows.
fn pdist(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() > 0, pdist::C1, |_| "self has no dimensions".into())?;
    let several = cx.gt(x.size(0), 1);
    let trusting = &*args.schema.name == "_pdist_forward";
    if trusting && (x.rank() != 2 || !x.dtype.is_float()) && !cx.branch(several, pdist::C1)? {
        return one(cx.contiguous([Expr::ZERO].as_slice(), x.dtype, &x.device));
    }
    cx.rank(x, 2, pdist::C1, "self")?;
    let p = cx.literal_float(args.float("p")?, pdist::C3)?;
    cx.check(p >= 0.0, pdist::C3, |_| format!("p is to be at least 0, not {p}"))?;
    cx.check(x.dtype.is_float(), pdist::C2, |_| format!("floating point is expected, not {}", x.dtype))?;
    let n = x.size(0);
    let trivial = |cx: &mut Cx| {
        let (few, none) = (cx.le(n, 1), cx.eq(x.size(-1), 0));
        cx.any(&[few, none])
    };
    cx.require_cpu_kernel_unless(x.dtype, Domain::SINGLE_DOUBLE, trivial, pdist::C2)?;
    let before = cx.sub(n, 1);
    let twice = cx.mul(n, before);
    let pairs = cx.floor_div(twice, 2);
    one(cx.contiguous([pairs].as_slice(), x.dtype, &x.device))
}

clauses! { pdist_backward {
    C1 "All operands are of `float32`, or all of `float64`."
    C2 "`grad_output` has at least 1 dimension."
} }

/// `aten::_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor`: shaped like `self`.
fn pdist_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, pdist) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("pdist")?);
    let p = args.float("p")?;
    // The 0-norm is flat: its gradient is 0 without looking.
    if cx.pool().as_float(p) != Some(0.0) {
        cx.same_dtype(&[grad, x, pdist], pdist_backward::C1)?;
        cx.check(grad.rank() > 0, pdist_backward::C2, |_| "the gradient has no dimensions".into())?;
    }
    cx.require_kind(x, Domain::SINGLE_DOUBLE.on_cpu(), pdist_backward::C1)?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}
