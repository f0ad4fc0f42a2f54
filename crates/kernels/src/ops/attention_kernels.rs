//! The fused kernels of attention, each under the name of what computes it, and their gradients.
use super::attention::{matching_strides, of_attention};
use crate::domain::Domain;
use crate::flops::{Flops, formulas, not_modelled};
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value, Values};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[flash_for_cpu::ALL, flash_for_cpu_backward::ALL, attention_kernel::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    for_cpu => "aten._scaled_dot_product_flash_attention_for_cpu.default";
    for_cpu_backward => "aten._scaled_dot_product_flash_attention_for_cpu_backward.default";
    flash => "aten._scaled_dot_product_flash_attention.default";
    cudnn => "aten._scaled_dot_product_cudnn_attention.default",
        "aten._scaled_dot_product_fused_attention_overrideable.default";
    efficient => "aten._scaled_dot_product_efficient_attention.default";
    efficient_forward => "aten._efficient_attention_forward.default";
    backward => "aten._scaled_dot_product_flash_attention_backward.default",
        "aten._scaled_dot_product_cudnn_attention_backward.default";
};

/// What the family's operators compute.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    |cx, args, _| of_attention(cx, args) => "aten._scaled_dot_product_flash_attention_for_cpu.default",
        "aten._scaled_dot_product_flash_attention.default", "aten._scaled_dot_product_cudnn_attention.default",
        "aten._scaled_dot_product_efficient_attention.default";
    not_modelled => "aten._efficient_attention_forward.default",
        "aten._scaled_dot_product_flash_attention_backward.default",
        "aten._scaled_dot_product_cudnn_attention_backward.default";
};

fn operands<'a>(args: &'a Args) -> Result<[&'a Tensor; 3], KernelError> {
    Ok([args.tensor("query")?, args.tensor("key")?, args.tensor("value")?])
}

/// Key and value have the same length, which is dimension `dim` of each that has so many. No kernel looks: with other
/// lengths it reads what lies behind the shorter one.
fn same_length(
    cx: &mut Cx,
    [_, k, v]: [&Tensor; 3],
    dim: usize,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    match (k.sizes.get(dim), v.sizes.get(dim)) {
        (Some(&key), Some(&value)) => {
            cx.require_eq(key, value, clause, "the lengths of key and value differ")
        }
        _ => Ok(()),
    }
}

clauses! { flash_for_cpu {
    C1 "`query`, `key` and `value` have 4 dimensions."
    C2 "`query`, `key` and `value` have the same floating point dtype."
    C3 "`query`, `key` and `value` have the same last size."
    C4 "`dropout_p` is 0."
    C5 "`attn_mask` has 2 or 4 dimensions and broadcasts to the scores, `[b, h, l, s]`. Its dtype is \
        `float32` or that of `query`."
    C6 "`key` and `value` have the same length."
} }

/// `_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool
/// is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)`: `[b, h, l, e]`,
/// laid out as the query, and `[b, h, l]`, heads innermost.
fn for_cpu(cx: &mut Cx, args: &Args) -> KernelResult {
    let [q, k, v] = operands(args)?;
    for (t, what) in [(q, "the query"), (k, "the key"), (v, "the value")] {
        cx.rank(t, 4, flash_for_cpu::C1, what)?;
    }
    cx.require_kind(q, Domain::FLOAT.on_cpu(), flash_for_cpu::C2)?;
    cx.same_dtype(&[q, k, v], flash_for_cpu::C2)?;
    for other in [k, v] {
        cx.require_eq(q.size(3), other.size(3), flash_for_cpu::C3, "the last sizes differ")?;
    }
    same_length(cx, [q, k, v], 2, flash_for_cpu::C6)?;
    let dropout = args.float("dropout_p")?;
    let dropout = cx.literal_float(dropout, flash_for_cpu::C4)?;
    cx.check(dropout == 0.0, flash_for_cpu::C4, |_| format!("a dropout of {dropout}"))?;
    if let Some(mask) = args.opt_tensor("attn_mask")? {
        cx.check(mask.dtype == Dtype::Float32 || mask.dtype == q.dtype, flash_for_cpu::C5, |_| {
            format!("the mask is of {}, expected float32 or {}", mask.dtype, q.dtype)
        })?;
        cx.check(matches!(mask.rank(), 2 | 4), flash_for_cpu::C5, |_| {
            format!("the mask is to have 2 or 4 dimensions, not {}", mask.rank())
        })?;
        let scores = [q.size(0), q.size(1), q.size(2), v.size(2)];
        cx.require_expandable(&mask.sizes, &scores, flash_for_cpu::C5)?;
    }
    let strides = cx.preserved_strides(q);
    let output = cx.strided(q.sizes.clone(), strides, q.dtype, &q.device);
    let sizes = [q.size(0), q.size(1), q.size(2)];
    let strides = cx.strides_in_order(&sizes, &[1, 2, 0]);
    let dtype = if Domain::HALVES.contains(q.dtype) { Dtype::Float32 } else { q.dtype };
    let logsumexp = cx.strided(sizes.as_slice().into(), strides, dtype, &q.device);
    Ok([output, logsumexp].into_iter().map(Value::from).collect())
}

clauses! { flash_for_cpu_backward {
    C1 "`grad_out`, `query`, `key` and `value` have 4 dimensions."
    C2 "`grad_out`, `query`, `key` and `value` have the same floating point dtype."
    C3 "`query`, `key` and `value` have the same last size."
    C4 "`attn_mask` broadcasts to the lengths of `query` and `value` in its last two sizes."
    C5 "`key` and `value` have the same length."
} }

/// `_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor
/// out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor,
/// Tensor, Tensor)`: shaped like query, key and value, heads inside positions.
fn for_cpu_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let ([q, k, v], grad) = (operands(args)?, args.tensor("grad_out")?);
    for t in [grad, q, k, v] {
        cx.rank(t, 4, flash_for_cpu_backward::C1, "gradient, query, key and value")?;
    }
    cx.same_dtype(&[grad, q, k, v], flash_for_cpu_backward::C2)?;
    cx.require_kind(q, Domain::FLOAT.on_cpu(), flash_for_cpu_backward::C2)?;
    for other in [k, v] {
        cx.require_eq(q.size(3), other.size(3), flash_for_cpu_backward::C3, "the last sizes differ")?;
    }
    same_length(cx, [q, k, v], 2, flash_for_cpu_backward::C5)?;
    if let Some(mask) = args.opt_tensor("attn_mask")? {
        let lengths = [q.size(2), v.size(2)];
        let last = &mask.sizes[mask.rank().saturating_sub(2)..];
        cx.require_expandable(last, &lengths, flash_for_cpu_backward::C4)?;
    }
    let results = [q, k, v].map(|t| {
        let strides = cx.strides_in_order(&t.sizes, &[3, 1, 2, 0]);
        cx.strided(t.sizes.clone(), strides, t.dtype, &t.device)
    });
    Ok(results.into_iter().map(Value::from).collect())
}

fn dimensions(cx: &mut Cx, t: &Tensor, least: usize, what: &str) -> Result<(), KernelError> {
    cx.check(t.rank() >= least, attention_kernel::C1, |_| {
        format!("{what} needs {least} dimensions, not {}", t.rank())
    })
}

/// A tensor without dimensions, or a vector: what kernels keep of their random numbers.
fn state(cx: &mut Cx, q: &Tensor, sizes: &[Expr], dtype: Dtype) -> Value {
    cx.contiguous(sizes, dtype, &q.device).into()
}

/// `_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False,
/// bool return_debug_mask=False, *, float? scale=None) -> (...)`: `[b, h, l, v]` in the query's layout, `[b, h, l]`, the
/// lengths of query and key, and states; with a debug mask, `[b, h, l, 128 or more]`. There is no kernel for the CPU;
/// what a program that was made for another device needs is asked.
fn flash(cx: &mut Cx, args: &Args) -> KernelResult {
    let [q, k, v] = operands(args)?;
    cx.rank(q, 4, attention_kernel::C1, "the query")?;
    dimensions(cx, k, 3, "the key")?;
    dimensions(cx, v, 1, "the value")?;
    same_length(cx, [q, k, v], 2, attention_kernel::C3)?;
    if args.flag("return_debug_mask")? {
        return Err(KernelError::Unsupported("attention with a debug mask".into()));
    }
    let device = &q.device;
    let mut sizes = q.sizes.clone();
    sizes[3] = v.size(-1);
    let strides = matching_strides(cx, q, &sizes);
    let logsumexp = cx.contiguous(&q.sizes[..3], Dtype::Float32, device);
    let two = cx.int(2);
    Ok([
        cx.strided(sizes, strides, q.dtype, device).into(),
        logsumexp.into(),
        Value::None,
        Value::None,
        Value::Int(q.size(2)),
        Value::Int(k.size(2)),
        state(cx, q, &[two], Dtype::Uint64),
        state(cx, q, &[], Dtype::Uint64),
        state(cx, q, &[Expr::ZERO], q.dtype),
    ]
    .into_iter()
    .collect())
}

/// `_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool
/// compute_log_sumexp, ...) -> (...)` and `_scaled_dot_product_fused_attention_overrideable`: `[b, h, l, v]` in the
/// query's layout, `[b, h, l, 1]` or `[b, h, l]`, the lengths of query and key, and states.
///
/// The query has 4 dimensions (cuDNN: at least 3), the key 3, the value 1.
fn cudnn(cx: &mut Cx, args: &Args) -> KernelResult {
    let [q, k, v] = operands(args)?;
    cx.rank(q, 4, attention_kernel::C1, "the query")?;
    dimensions(cx, k, 3, "the key")?;
    dimensions(cx, v, 1, "the value")?;
    same_length(cx, [q, k, v], 2, attention_kernel::C3)?;
    let device = &q.device;
    let mut sizes = q.sizes.clone();
    sizes[3] = v.size(-1);
    let strides = matching_strides(cx, q, &sizes);
    let mut rows: Sizes = q.sizes[..3].into();
    if args.has("compute_log_sumexp") {
        rows.push(Expr::ONE);
    }
    Ok([
        cx.strided(sizes, strides, q.dtype, device).into(),
        cx.contiguous(rows, Dtype::Float32, device).into(),
        Value::None,
        Value::None,
        Value::Int(q.size(2)),
        Value::Int(k.size(2)),
        state(cx, q, &[], Dtype::Int64),
        state(cx, q, &[], Dtype::Int64),
        Value::None,
    ]
    .into_iter()
    .collect())
}

/// The length of rows of `logsumexp`: that of the query rounded up to 32, or 0 when it is not asked for.
fn aligned(cx: &mut Cx, args: &Args, length: Expr) -> Result<Expr, KernelError> {
    if !args.flag("compute_log_sumexp")? {
        return Ok(Expr::ZERO);
    }
    let blocks = cx.ceil_div(length, 32);
    Ok(cx.mul(blocks, 32))
}

/// `_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool
/// compute_log_sumexp, ...) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)`: `[b, h, l,
/// v]`, heads inside positions, `[b, h, l rounded up to 32]`, and two states.
///
/// All three have at least 3 dimensions. (They are read with heads and positions exchanged, heads being the last but one
/// dimension.).
fn efficient(cx: &mut Cx, args: &Args) -> KernelResult {
    let [q, k, v] = operands(args)?;
    for (t, what) in [(q, "the query"), (k, "the key"), (v, "the value")] {
        dimensions(cx, t, 3, what)?;
    }
    same_length(cx, [q, k, v], 2, attention_kernel::C3)?;
    let exchanged = |t: &Tensor| {
        let mut sizes = t.sizes.clone();
        sizes.swap(1, 2);
        sizes
    };
    let (query, value) = (exchanged(q), exchanged(v));
    let (batch, length, heads) = (query[0], query[1], query[query.len() - 2]);
    let sizes = [batch, heads, length, value[value.len() - 1]];
    let strides = cx.strides_in_order(&sizes, &[3, 1, 2, 0]);
    let rows = aligned(cx, args, length)?;
    Ok([
        cx.strided(sizes.as_slice().into(), strides, q.dtype, &q.device).into(),
        cx.contiguous([batch, heads, rows].as_slice(), Dtype::Float32, &q.device).into(),
        state(cx, q, &[], Dtype::Int64),
        state(cx, q, &[], Dtype::Int64),
    ]
    .into_iter()
    .collect())
}

clauses! { attention_kernel {
    C1 "The operands have at least as many dimensions as the kernel reads."
    C2 "With `cu_seqlens_q`, `max_seqlen_q` is given."
    C3 "`key` and `value` have the same length."
} }

/// `_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, Tensor?
/// cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type, bool
/// compute_log_sumexp=False, ...) -> (...)`: `[b, l, h, v]`, `[b, h, l rounded up to 32]`, two states and the greatest
/// lengths. With sequences packed together, their number and greatest length take the place of `b` and `l` in the second.
fn efficient_forward(cx: &mut Cx, args: &Args) -> KernelResult {
    let [q, k, v] = operands(args)?;
    dimensions(cx, q, 2, "the query")?;
    dimensions(cx, k, 2, "the key")?;
    dimensions(cx, v, 1, "the value")?;
    same_length(cx, [q, k, v], 1, attention_kernel::C3)?;
    let (mut batch, mut length, heads) = (q.size(0), q.size(1), q.size(-2));
    let output = cx.contiguous([batch, length, heads, v.size(-1)].as_slice(), q.dtype, &q.device);
    if let Some(starts) = args.opt_tensor("cu_seqlens_q")? {
        dimensions(cx, starts, 1, "the list of sequences")?;
        batch = cx.sub(starts.size(0), 1);
        length = args.opt_int("max_seqlen_q")?.ok_or_else(|| {
            KernelError::invalid(attention_kernel::C2, "packed sequences come without their greatest length")
        })?;
    }
    let rows = aligned(cx, args, length)?;
    Ok([
        output.into(),
        cx.contiguous([batch, heads, rows].as_slice(), Dtype::Float32, &q.device).into(),
        state(cx, q, &[], Dtype::Int64),
        state(cx, q, &[], Dtype::Int64),
        Value::Int(length),
        Value::Int(args.opt_int("max_seqlen_k")?.unwrap_or(k.size(1))),
    ]
    .into_iter()
    .collect())
}

/// `_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, ...) ->
/// (Tensor, Tensor, Tensor)` and cuDNN's: laid out like query, key and value.
fn backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut results = Values::new();
    let operands = operands(args)?;
    same_length(cx, operands, 2, attention_kernel::C3)?;
    for t in operands {
        let strides = cx.preserved_strides(t);
        results.push(cx.strided(t.sizes.clone(), strides, t.dtype, &t.device).into());
    }
    Ok(results)
}
