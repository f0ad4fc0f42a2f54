//! Attention as programs ask for it, and by its formula.
pub(super) use crate::attention::CLAUSES;
use crate::attention::{Attention, sdpa};
use crate::domain::Domain;
use crate::error::one;
use crate::flops::{Flops, formulas, twice};
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    scaled_dot_product_attention => "aten.scaled_dot_product_attention.default";
    by_formula => "aten._scaled_dot_product_attention_math.default";
};

/// What the family's operators compute.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    |cx, args, _| of_attention(cx, args) => "aten.scaled_dot_product_attention.default",
        "aten._scaled_dot_product_attention_math.default";
};

/// `2 b h l s (e + v)` for `[b, h, l, e]`, `[b, h', s, e]` and `[b, h', s, v]`, whatever the mask.
pub(super) fn of_attention(cx: &mut Cx, args: &Args) -> Result<Expr, KernelError> {
    let (q, k, v) = (args.tensor("query")?, args.tensor("key")?, args.tensor("value")?);
    let width = cx.add(q.size(-1), v.size(-1));
    let leading = q.sizes[..q.rank() - 2].iter().copied();
    let sizes: Vec<Expr> = leading.chain([q.size(-2), k.size(-2), width]).collect();
    Ok(twice(cx, sizes))
}

/// `scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool
/// is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor`: `[.., l, e] × [.., s, e] × [.., s, v] → [..,
/// l, v]`. The fused kernel lays the result out as the query.
///
/// A mask is not given together with `is_causal` and is of `bool`, `float32` or the query's dtype. Where the query's
/// length is 0 or the value is empty, nothing else is asked, and the result is contiguous: `[.., l, v]` with the query's
/// leading sizes.
fn scaled_dot_product_attention(cx: &mut Cx, args: &Args) -> KernelResult {
    let (q, k, v) = (args.tensor("query")?, args.tensor("key")?, args.tensor("value")?);
    cx.check(q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2, sdpa::C1, |_| {
        format!("at least 2 dimensions are expected, not {}, {} and {}", q.rank(), k.rank(), v.rank())
    })?;
    cx.check(q.dtype == k.dtype && q.dtype == v.dtype, sdpa::C2, |_| {
        format!("the dtypes differ: {}, {} and {}", q.dtype, k.dtype, v.dtype)
    })?;
    let mask = args.opt_tensor("attn_mask")?;
    if let Some(mask) = mask {
        let fits = mask.dtype.is_bool() || mask.dtype == Dtype::Float32 || mask.dtype == q.dtype;
        cx.check(fits, sdpa::C6, |_| {
            format!("the mask is of {}, expected bool, float32 or {}", mask.dtype, q.dtype)
        })?;
        let causal = args.flag("is_causal")?;
        cx.check(!causal, sdpa::C6, |_| "a mask and is_causal exclude each other".into())?;
    }
    let nothing = has_nothing(cx, q, v);
    let dropout = literal_dropout(cx, args)?;
    let kind = cx.require_kind(q, Domain::FLOAT.on_cpu().within(Domain::FLOAT_COMPLEX), sdpa::C2);
    // Where both ways lead to the same sizes, the conditions are asked only where there is something.
    let alike = kind.is_ok() && dropout == Some(0.0) && has_batch_of(q, k) && has_batch_of(q, v);
    let empty = if alike { cx.surely(nothing) } else { cx.branch_or(nothing, false, sdpa::nothing) };
    if empty {
        let mut sizes = q.sizes.clone();
        sizes[q.rank() - 1] = v.size(-1);
        return one(cx.contiguous(sizes, q.dtype, &q.device));
    }
    kind?;
    // Without a batch, one is put in front.
    let lift = q.rank() == 3 && k.rank() == 3 && v.rank() == 3;
    let lifted = [q, k, v].map(|t| if lift { with_batch(cx, t) } else { (**t).clone() });
    let attention = Attention {
        query: &lifted[0],
        key: &lifted[1],
        value: &lifted[2],
        mask: mask.map(|mask| if lift { padded(&mask.sizes) } else { mask.sizes.clone() }),
        dropout,
        grouped: args.flag("enable_gqa")?,
        unless: alike.then_some(nothing),
    };
    let (mut sizes, fused) = attend(cx, &attention)?;
    if lift {
        sizes.remove(0);
    }
    let strides = result_strides(cx, q, &sizes, fused, attention.unless);
    one(cx.strided(sizes, strides, q.dtype, &q.device))
}

/// The condition that there is no query, or no value.
fn has_nothing(cx: &mut Cx, query: &Tensor, value: &Tensor) -> Expr {
    let sizes = value.sizes.iter().chain([query.size(-2)].iter()).copied().collect::<Sizes>();
    let empty = sizes.into_iter().filter_map(|size| {
        let empty = cx.eq(size, 0);
        (cx.known(empty) != Some(false)).then_some(empty)
    });
    let empty: Vec<Expr> = empty.collect();
    cx.any(&empty)
}

/// Whether the leading sizes of `t` broadcast to the query's whatever they are: they are the query's, or 1.
fn has_batch_of(query: &Tensor, t: &Tensor) -> bool {
    let (query, own) = (&query.sizes[..query.rank() - 2], &t.sizes[..t.rank() - 2]);
    own.len() <= query.len()
        && own.iter().rev().zip(query.iter().rev()).all(|(&size, &whole)| size == whole || size == Expr::ONE)
}

/// The strides of the result: those of the fused kernel under the condition `fused`, else contiguous ones, as where
/// `nothing` holds.
fn result_strides(
    cx: &mut Cx,
    query: &Tensor,
    sizes: &Sizes,
    fused: Option<Expr>,
    nothing: Option<Expr>,
) -> Sizes {
    let contiguous = cx.contiguous_strides(sizes);
    // A contiguous query is laid out as the result is anyway.
    let plain = query.sizes == *sizes && query.strides == contiguous;
    let Some(fused) = fused.filter(|_| !plain) else { return contiguous };
    let fused = match nothing {
        Some(nothing) => {
            let something = cx.not(nothing);
            cx.all(&[fused, something])
        }
        None => fused,
    };
    // The kernel returns the query's sizes.
    if cx.layout_choice(fused) { cx.preserved_strides(query) } else { contiguous }
}

/// The shape of the result, and the condition under which the fused kernel makes it, if it can. That of the CPU asks what
/// the formula asks and more. On other backends the fused kernel's layout is assumed.
fn attend(cx: &mut Cx, attention: &Attention) -> Result<(Sizes, Option<Expr>), KernelError> {
    let Some(eligible) = attention.fused(cx)? else {
        cx.check(attention.dropout.is_none_or(|p| p <= 1.0), sdpa::C9, |_| "a dropout above 1".into())?;
        return Ok((attention.formula(cx)?.0, None));
    };
    if attention.dropout != Some(0.0) {
        if cx.on_cpu() {
            let formula = cx.not(eligible);
            cx.require(formula, sdpa::C7, |_| "a negative dropout".into())?;
        }
        return Ok((attention.formula(cx)?.0, None));
    }
    Ok((attention.formula(cx)?.0, Some(eligible)))
}

fn literal_dropout(cx: &mut Cx, args: &Args) -> Result<Option<f64>, KernelError> {
    let dropout = args.float("dropout_p")?;
    Ok(cx.pool().as_float(dropout))
}

/// The tensor with a first dimension of size 1.
fn with_batch(cx: &mut Cx, t: &Tensor) -> Tensor {
    let (mut sizes, mut strides) = (t.sizes.clone(), t.strides.clone());
    sizes.insert(0, Expr::ONE);
    let stride = cx.mul(t.sizes[0], t.strides[0]);
    strides.insert(0, stride);
    t.viewed(sizes, strides)
}

/// A shape with dimensions of size 1 in front up to 4.
fn padded(sizes: &Sizes) -> Sizes {
    let mut sizes = sizes.clone();
    while sizes.len() < 4 {
        sizes.insert(0, Expr::ONE);
    }
    sizes
}

/// `_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float
/// dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) ->
/// (Tensor, Tensor)`: the result and the scores `[.., l, s]`.
fn by_formula(cx: &mut Cx, args: &Args) -> KernelResult {
    let (q, k, v) = (args.tensor("query")?, args.tensor("key")?, args.tensor("value")?);
    cx.check(q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2, sdpa::C1, |_| {
        format!("at least 2 dimensions are expected, not {}, {} and {}", q.rank(), k.rank(), v.rank())
    })?;
    cx.same_dtype(&[q, k, v], sdpa::C2)?;
    cx.require_kind(q, Domain::FLOAT.on_cpu().within(Domain::FLOAT_COMPLEX), sdpa::C2)?;
    let mask = args.opt_tensor("attn_mask")?;
    if let Some(mask) = mask {
        let causal = args.flag("is_causal")?;
        cx.check(!causal && !mask.dtype.is_complex(), sdpa::C6, |_| {
            "a mask is real and goes without is_causal".into()
        })?;
    }
    if args.opt_tensor("dropout_mask")?.is_some() {
        return Err(KernelError::Unsupported("attention with a mask of dropout".into()));
    }
    let attention = Attention {
        query: q,
        key: k,
        value: v,
        mask: mask.map(|mask| mask.sizes.clone()),
        dropout: literal_dropout(cx, args)?,
        grouped: args.flag("enable_gqa")?,
        unless: None,
    };
    cx.check(attention.dropout.is_none_or(|p| p <= 1.0), sdpa::C9, |_| "a dropout above 1".into())?;
    let (sizes, scores) = attention.formula(cx)?;
    let results = [cx.contiguous(sizes, q.dtype, &q.device), cx.contiguous(scores, q.dtype, &q.device)];
    Ok(results.into_iter().map(Value::from).collect())
}

/// The strides that a fused kernel gives a result of shape `sizes`: the query's order of dimensions, without gaps; a
/// dimension of stride 0 comes last.
pub fn matching_strides(cx: &mut Cx, query: &Tensor, sizes: &[Expr]) -> Sizes {
    if query.sizes.as_slice() == sizes {
        return cx.preserved_strides(query);
    }
    let mut order: smallvec::SmallVec<[usize; 5]> = smallvec![];
    for dim in 0..query.rank() {
        let stride = query.strides[dim];
        let at = if stride == Expr::ZERO {
            order.len()
        } else {
            let inside = |cx: &mut Cx, other: usize| {
                let other = query.strides[other];
                let less = cx.lt(stride, other);
                other == Expr::ZERO || cx.layout_choice(less)
            };
            (0..order.len()).find(|&i| inside(cx, order[i])).unwrap_or(order.len())
        };
        order.insert(at, dim);
    }
    let mut strides: Sizes = smallvec![Expr::ONE; sizes.len()];
    let mut stride = Expr::ONE;
    for dim in order {
        strides[dim] = stride;
        stride = cx.mul(stride, sizes[dim]);
    }
    strides
}
