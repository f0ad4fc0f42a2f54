//! Weights of few bits, packed for products with operands that are quantised as they come.
use crate::expr::Expr;
use crate::fake::error::one;
use crate::fake::registry::{Kernel, kernels};
use crate::fake::{Args, Cx, KernelResult};
use crate::ir::dtype::Dtype;

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    pack => "aten._dyn_quant_pack_4bit_weight.default";
};

/// `_dyn_quant_pack_4bit_weight(Tensor weights, Tensor scales_zeros, Tensor? bias, int block_size, int in_features, int out_features) -> Tensor`: all numbers one after the other in
/// `float32`, as on processors that have no library for a layout of their own.
///
/// (C1) The weight is of `uint8`. (C2) Blocks are a positive multiple of 32, and divide the features.
fn pack(cx: &mut Cx, args: &Args) -> KernelResult {
    let (w, scales) = (args.tensor("weights")?, args.tensor("scales_zeros")?);
    cx.check(w.dtype == Dtype::Uint8, "dyn_quant.C1", |_| format!("the weight is {}, not uint8", w.dtype))?;
    let (block, features) = (args.int("block_size")?, args.int("in_features")?);
    let positive = cx.gt(block, 0);
    cx.require(positive, "dyn_quant.C2", |cx| format!("blocks of {}", cx.show(block)))?;
    for (whole, part) in [(block, cx.int(32)), (features, block)] {
        let rest = cx.modulo(whole, part);
        let divides = cx.eq(rest, 0);
        cx.require(divides, "dyn_quant.C2", |cx| {
            format!("{} does not divide {}", cx.show(part), cx.show(whole))
        })?;
    }
    let mut counts: Vec<Expr> = vec![cx.numel(w), cx.numel(scales)];
    if let Some(bias) = args.opt_tensor("bias")? {
        counts.push(cx.numel(bias));
    }
    let total = cx.sum(counts);
    one(cx.contiguous([total].as_slice(), Dtype::Float32, &w.device))
}
