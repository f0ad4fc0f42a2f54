//! Layers of transformers as one operator.
use super::recurrent_cell::linear;
use crate::domain::Domain;
use crate::error::one;
use crate::flops::{Flops, formulas, not_modelled};
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value, Values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[multi_head_attention::ALL, transform_bias_rescale::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    multi_head_attention => "aten._native_multi_head_attention.default";
    encoder_layer => "aten._transformer_encoder_layer_fwd.default";
    transform_bias_rescale => "aten._transform_bias_rescale_qkv.default";
};

/// What the family's operators compute.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    not_modelled => "aten._native_multi_head_attention.default", "aten._transformer_encoder_layer_fwd.default";
};

/// The weights of attention with several heads.
struct Heads<'a> {
    width: Expr,
    count: Expr,
    weight: &'a Tensor,
    bias: &'a Tensor,
    projection: &'a Tensor,
    projection_bias: &'a Tensor,
}

clauses! { multi_head_attention {
    C1 "The input has 3 dimensions, the last of size `embed_dim`, which is divisible by the number of \
        heads."
    C2 "`qkv_weight` is `[3 * embed_dim, embed_dim]` and `qkv_bias` is `[3 * embed_dim]`. Both have the \
        floating point dtype of the input."
    C4 "`query`, `key` and `value` have the same shape and dtype."
} }

impl<'a> Heads<'a> {
    fn read(args: &'a Args, count: &str) -> Result<Heads<'a>, KernelError> {
        Ok(Heads {
            width: args.int("embed_dim")?,
            count: args.int(count)?,
            weight: args.tensor("qkv_weight")?,
            bias: args.tensor("qkv_bias")?,
            projection: args.tensor("proj_weight")?,
            projection_bias: args.tensor("proj_bias")?,
        })
    }

    /// What an input `[n, t, width]` becomes: `[n, t, ..]` as the projection has it.
    ///
    /// The projection is a linear function.
    fn apply(&self, cx: &mut Cx, x: &Tensor) -> Result<Tensor, KernelError> {
        cx.rank(x, 3, multi_head_attention::C1, "the input")?;
        cx.require_eq(
            x.size(2),
            self.width,
            multi_head_attention::C1,
            "the input's last size is not embed_dim",
        )?;
        let some = cx.gt(self.count, 0);
        cx.require(some, multi_head_attention::C1, |_| "there are no heads".into())?;
        let rest = cx.modulo(self.width, self.count);
        cx.require_eq(rest, Expr::ZERO, multi_head_attention::C1, "the heads do not divide embed_dim")?;
        let three = cx.mul(self.width, 3);
        cx.rank(self.weight, 2, multi_head_attention::C2, "the weight")?;
        cx.rank(self.bias, 1, multi_head_attention::C2, "the bias")?;
        cx.require_eq(self.weight.size(0), three, multi_head_attention::C2, "the weight's rows")?;
        cx.require_eq(self.weight.size(1), self.width, multi_head_attention::C2, "the weight's columns")?;
        cx.require_eq(self.bias.size(0), three, multi_head_attention::C2, "the bias")?;
        cx.same_dtype(&[x, self.weight, self.bias], multi_head_attention::C2)?;
        cx.require_kind(x, Domain::FLOAT.on_cpu(), multi_head_attention::C2)?;
        linear(cx, x, self.projection, Some(self.projection_bias))
    }
}

fn without_mask(args: &Args) -> Result<(), KernelError> {
    match args.opt_tensor("mask")? {
        Some(_) => Err(KernelError::Unsupported("a layer of a transformer with a mask".into())),
        None => Ok(()),
    }
}

/// `_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight,
/// Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool
/// average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)`: `[n, t, width]`, and the scores `[n, t, t]`, for
/// each head `[n, heads, t, t]`, or none.
fn multi_head_attention(cx: &mut Cx, args: &Args) -> KernelResult {
    let (q, k, v) = (args.tensor("query")?, args.tensor("key")?, args.tensor("value")?);
    without_mask(args)?;
    let heads = Heads::read(args, "num_head")?;
    let output = heads.apply(cx, q)?;
    for other in [k, v] {
        cx.same_shape(&q.sizes, &other.sizes, multi_head_attention::C4, "query, key and value differ")?;
        cx.same_dtype(&[q, other], multi_head_attention::C4)?;
    }
    let mut results: Values = std::iter::once(Value::from(output)).collect();
    let (batch, length) = (q.size(0), q.size(1));
    results.push(match (args.flag("need_weights")?, args.flag("average_attn_weights")?) {
        (false, _) => Value::None,
        (true, true) => cx.contiguous([batch, length, length].as_slice(), q.dtype, &q.device).into(),
        (true, false) => {
            cx.contiguous([batch, heads.count, length, length].as_slice(), q.dtype, &q.device).into()
        }
    });
    Ok(results)
}

/// `_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor
/// proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, ..., Tensor
/// ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor`: shaped like the source: attention and two linear
/// functions, each added to its input, normalised before or after.
fn encoder_layer(cx: &mut Cx, args: &Args) -> KernelResult {
    without_mask(args)?;
    let heads = Heads::read(args, "num_heads")?;
    let first = args.flag("norm_first")?;
    let norm = |cx: &mut Cx, x: &Tensor, at: usize| {
        let (weight, bias) =
            (args.tensor(&format!("norm_weight_{at}"))?, args.tensor(&format!("norm_bias_{at}"))?);
        let shape = Value::Ints(vec![heads.width]);
        cx.invoke_one("aten.layer_norm.default", [x.into(), shape, (&**weight).into(), (&**bias).into()])
    };
    let add = |cx: &mut Cx, a: &Tensor, b: &Tensor| cx.invoke_one("aten.add_.Tensor", [a.into(), b.into()]);
    let source = args.tensor("src")?;
    let mut x = (**source).clone();
    let input = if first { norm(cx, &x, 1)? } else { x.clone() };
    let attended = heads.apply(cx, &input)?;
    x = add(cx, &attended, &x)?;
    if !first {
        x = norm(cx, &x, 1)?;
    }
    let input = if first { norm(cx, &x, 2)? } else { x.clone() };
    let wide = linear(cx, &input, args.tensor("ffn_weight_1")?, Some(args.tensor("ffn_bias_1")?))?;
    let narrow = linear(cx, &wide, args.tensor("ffn_weight_2")?, Some(args.tensor("ffn_bias_2")?))?;
    x = add(cx, &narrow, &x)?;
    if !first {
        x = norm(cx, &x, 2)?;
    }
    one(x)
}

clauses! { transform_bias_rescale {
    C1 "`qkv` has 3 dimensions and a floating point dtype, and is not empty."
    C2 "The last size of `qkv` is divisible by 3, and a third of it by `num_heads`."
} }

/// `_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)`: `[n, t, 3 *
/// width]` becomes three times `[n, heads, t, width / heads]`, in one piece of memory.
fn transform_bias_rescale(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, heads) = (args.tensor("qkv")?, args.int("num_heads")?);
    cx.rank(x, 3, transform_bias_rescale::C1, "the operand")?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), transform_bias_rescale::C1)?;
    let numel = cx.numel(x);
    let filled = cx.ne(numel, 0);
    cx.require(filled, transform_bias_rescale::C1, |_| "the operand is empty".into())?;
    let rest = cx.modulo(x.size(2), 3);
    cx.require_eq(rest, Expr::ZERO, transform_bias_rescale::C2, "the last size is no multiple of 3")?;
    let some = cx.gt(heads, 0);
    cx.require(some, transform_bias_rescale::C2, |_| "there are no heads".into())?;
    let width = cx.floor_div(x.size(2), 3);
    let rest = cx.modulo(width, heads);
    cx.require_eq(rest, Expr::ZERO, transform_bias_rescale::C2, "the heads do not divide the width")?;
    let each = cx.floor_div(width, heads);
    let part = cx.contiguous([x.size(0), heads, x.size(1), each].as_slice(), x.dtype, &x.device);
    let extent = cx.numel(&part);
    let mut results = Values::new();
    for at in 0..3 {
        let offset = cx.mul(extent, at);
        results.push(Tensor { offset, ..part.clone() }.into());
    }
    Ok(results)
}
