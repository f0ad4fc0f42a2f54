//! Attention.
use crate::expr::Expr;
use crate::fake::domain::Domain;
use crate::fake::error::one;
use crate::fake::registry::{Kernel, kernels};
use crate::fake::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    scaled_dot_product_attention => "aten.scaled_dot_product_attention.default";
};

/// `scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool
/// is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor`: `[..., l, e] × [..., s, e] × [..., s, v] → [..., l, v]`.
///
/// (C1) All three have at least 2 dimensions. (C2) Their dtypes agree. (C3) Query and key have the same last size.
/// (C4) Key and value have the same length, unless the fused kernel runs (see [`is_fused`]), which does not look. (C5) The leading sizes broadcast; with `enable_gqa` the heads of key and value divide those
/// of the query. (C6) A mask is not given together with `is_causal`, is of `bool` or the query's dtype, and broadcasts to
/// `[..., l, s]`.
fn scaled_dot_product_attention(cx: &mut Cx, args: &Args) -> KernelResult {
    let (q, k, v) = (args.tensor("query")?, args.tensor("key")?, args.tensor("value")?);
    cx.check(q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2, "sdpa.C1", |_| {
        format!("at least 2 dimensions are expected, not {}, {} and {}", q.rank(), k.rank(), v.rank())
    })?;
    cx.check(q.dtype == k.dtype && q.dtype == v.dtype, "sdpa.C2", |_| {
        format!("the dtypes differ: {}, {} and {}", q.dtype, k.dtype, v.dtype)
    })?;
    cx.require_kind(q, Domain::FLOAT_COMPLEX, "sdpa.C2")?;
    cx.require_eq(q.size(-1), k.size(-1), "sdpa.C3", "the last sizes of query and key differ")?;
    let lead = |t: &Tensor| Sizes::from(&t.sizes[..t.rank() - 2]);
    let (ql, kl, vl) = (lead(q), lead(k), lead(v));
    let leading: Sizes = if args.flag("enable_gqa")? && q.rank() >= 3 && k.rank() >= 3 && v.rank() >= 3 {
        for t in [k, v] {
            let rest = cx.modulo(q.size(-3), t.size(-3));
            cx.require_eq(rest, Expr::ZERO, "sdpa.C5", "the query's heads are no multiple of the others'")?;
        }
        let batch = |s: &Sizes| Sizes::from(&s[..s.len() - 1]);
        let mut leading = cx.broadcast([batch(&ql).as_slice(), &batch(&kl), &batch(&vl)], "sdpa.C5")?;
        leading.push(q.size(-3));
        leading
    } else {
        cx.broadcast([ql.as_slice(), kl.as_slice(), vl.as_slice()], "sdpa.C5")?
    };
    if let Some(mask) = args.opt_tensor("attn_mask")? {
        let causal = args.flag("is_causal")?;
        cx.check(!causal, "sdpa.C6", |_| "a mask and is_causal exclude each other".into())?;
        cx.check(mask.dtype.is_bool() || mask.dtype == q.dtype, "sdpa.C6", |_| {
            format!("the mask is of {}, expected bool or {}", mask.dtype, q.dtype)
        })?;
        let mut scores = leading.clone();
        scores.extend([q.size(-2), k.size(-2)]);
        cx.require_expandable(&mask.sizes, &scores, "sdpa.C6")?;
    }
    let fused = is_fused(cx, args, q, k, v)?;
    if !fused {
        cx.require_eq(k.size(-2), v.size(-2), "sdpa.C4", "the lengths of key and value differ")?;
    }
    let mut sizes = leading;
    sizes.extend([q.size(-2), v.size(-1)]);
    if fused {
        // The fused kernel lays heads inside of positions.
        let strides = cx.strides_in_order(&sizes, &[3, 1, 2, 0]);
        return one(cx.strided(sizes, strides, q.dtype, &q.device));
    }
    one(cx.contiguous(sizes, q.dtype, &q.device))
}

/// Whether the CPU's fused kernel serves the call: 4 dimensions, no dropout, the same batch, heads and last size everywhere,
/// none of the lengths 0, and a real dtype.
fn is_fused(cx: &mut Cx, args: &Args, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<bool, KernelError> {
    let dropout = args.float("dropout_p")?;
    let plain = [q, k, v].iter().all(|t| t.rank() == 4 && t.strides[3] == Expr::ONE);
    let mask_fits = args.opt_tensor("attn_mask")?.is_none_or(|m| matches!(m.rank(), 2 | 4));
    if !plain
        || !mask_fits
        || cx.pool().as_float(dropout) != Some(0.0)
        || args.flag("enable_gqa")?
        || q.dtype.is_complex()
    {
        return Ok(false);
    }
    let mut conditions = Vec::new();
    for t in [k, v] {
        for dim in [0, 1, 3] {
            conditions.push(cx.eq(q.sizes[dim], t.sizes[dim]));
        }
    }
    for length in [q.sizes[2], k.sizes[2]] {
        conditions.push(cx.ne(length, 0));
    }
    let all = cx.all(&conditions);
    // Only the fused kernel takes keys and values of different lengths.
    let same_length = cx.eq(k.sizes[2], v.sizes[2]);
    Ok(if cx.surely(same_length) { cx.layout_choice(all) } else { cx.branch_or(all, false, "sdpa.C4") })
}
