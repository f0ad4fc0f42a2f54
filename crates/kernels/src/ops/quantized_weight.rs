//! Weights of few bits, packed for products with operands that are quantised as they come.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[dyn_quant::ALL, int8pack::ALL, int4pack::ALL, int4pack_mm::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    pack => "aten._dyn_quant_pack_4bit_weight.default";
    int8_product => "aten._weight_int8pack_mm.default";
    pack_int4 => "aten._convert_weight_to_int4pack.default";
    pack_int4_for_cpu => "aten._convert_weight_to_int4pack_for_cpu.default";
    int4_product => "aten._weight_int4pack_mm.default";
    int4_product_for_cpu => "aten._weight_int4pack_mm_for_cpu.default";
    int4_product_with_zeros => "aten._weight_int4pack_mm_with_scales_and_zeros.default";
};

clauses! { dyn_quant {
    C1 "`weights` is of `uint8`."
    C2 "`block_size` is a positive multiple of 32, and `in_features` is divisible by it."
} }

/// `_dyn_quant_pack_4bit_weight(Tensor weights, Tensor scales_zeros, Tensor? bias, int block_size, int in_features, int
/// out_features) -> Tensor`: all numbers one after the other in `float32`, as on processors that have no library for a
/// layout of their own.
fn pack(cx: &mut Cx, args: &Args) -> KernelResult {
    let (w, scales) = (args.tensor("weights")?, args.tensor("scales_zeros")?);
    cx.check(w.dtype == Dtype::Uint8, dyn_quant::C1, |_| format!("the weight is {}, not uint8", w.dtype))?;
    let (block, features) = (args.int("block_size")?, args.int("in_features")?);
    let positive = cx.gt(block, 0);
    cx.require(positive, dyn_quant::C2, |cx| format!("blocks of {}", cx.show(block)))?;
    for (whole, part) in [(block, cx.int(32)), (features, block)] {
        let rest = cx.modulo(whole, part);
        let divides = cx.eq(rest, 0);
        cx.require(divides, dyn_quant::C2, |cx| {
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

/// A matrix, and its dtype one of those given.
fn matrix(cx: &mut Cx, x: &Tensor, dtypes: &[Dtype], clause: &'static OpClause) -> Result<(), KernelError> {
    cx.rank(x, 2, clause, "the operand")?;
    cx.check(dtypes.contains(&x.dtype), clause, |_| format!("an operand is {}", x.dtype))
}

/// The dtypes of what is multiplied with packed weights.
const FLOATS: &[Dtype] = &[Dtype::Float32, Dtype::Float16, Dtype::Bfloat16];

/// `[m, n]` in the dtype of an operand of `m` rows.
fn product(cx: &mut Cx, x: &Tensor, columns: Expr) -> KernelResult {
    one(cx.contiguous([x.size(0), columns].as_slice(), x.dtype, &x.device))
}

clauses! { int8pack {
    C1 "`self` has 2 dimensions, and is of `float32`, `float16` or `bfloat16`."
    C2 "`mat2` has 2 dimensions, is of `int8`, and has as many columns as `self`."
    C3 "`scales` has 1 dimension, with an element for each row of `mat2` and the dtype of `self`."
} }

/// `_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor`: `[m, k]` and `[n, k]` give `[m, n]`.
fn int8_product(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, w, scales) = (args.tensor("self")?, args.tensor("mat2")?, args.tensor("scales")?);
    matrix(cx, x, FLOATS, int8pack::C1)?;
    matrix(cx, w, &[Dtype::Int8], int8pack::C2)?;
    cx.require_eq(w.size(1), x.size(1), int8pack::C2, "columns of weight and operand")?;
    cx.check(scales.rank() == 1 && scales.dtype == x.dtype, int8pack::C3, |_| {
        format!("scales are {} with {} dimensions", scales.dtype, scales.rank())
    })?;
    cx.require_eq(scales.size(0), w.size(0), int8pack::C3, "scales and rows of the weight")?;
    product(cx, x, w.size(0))
}

/// `_convert_weight_to_int4pack(Tensor self, int innerKTiles) -> Tensor`: `[n, k / 2]` of uint8 gives the tiles of GPUs,
/// `[n / 8, k / (16 * t), 32, t / 2]` of int32.
fn pack_int4(cx: &mut Cx, args: &Args) -> KernelResult {
    let (w, tiles) = (args.tensor("self")?, args.int("innerKTiles")?);
    matrix(cx, w, &[Dtype::Uint8], int4pack::C1)?;
    let positive = cx.gt(tiles, 0);
    cx.require(positive, int4pack::C2, |cx| format!("{} tiles", cx.show(tiles)))?;
    let (k, width) = (cx.mul(w.size(1), 2), cx.mul(tiles, 16));
    let sizes = [cx.floor_div(w.size(0), 8), cx.floor_div(k, width), cx.int(32), cx.floor_div(tiles, 2)];
    one(cx.contiguous(sizes.as_slice(), Dtype::Int32, &w.device))
}

clauses! { int4pack {
    C1 "The weight has 2 dimensions and is of `uint8`, or of `int32` for the CPU."
    C2 "`innerKTiles` is positive."
    C3 "The number of rows of the weight is divisible by 16."
    C4 "The number of columns of the weight is even."
} }

/// `_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor`: `[n, k]` of int32 gives `[n, k / 2]` of
/// uint8.
fn pack_int4_for_cpu(cx: &mut Cx, args: &Args) -> KernelResult {
    let w = args.tensor("self")?;
    matrix(cx, w, &[Dtype::Int32], int4pack::C1)?;
    for (dim, step, clause) in [(0, 16, int4pack::C3), (1, 2, int4pack::C4)] {
        let rest = cx.modulo(w.size(dim), step);
        let divides = cx.eq(rest, 0);
        cx.require(divides, clause, |cx| format!("{} is no multiple of {step}", cx.show(w.size(dim))))?;
    }
    let half = cx.floor_div(w.size(1), 2);
    one(cx.contiguous([w.size(0), half].as_slice(), Dtype::Uint8, &w.device))
}

/// `_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor`: `[m, k]` and the
/// tiles of GPUs, `[n / 8, ...]`, give `[m, n]`.
fn int4_product(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, w) = (args.tensor("self")?, args.tensor("mat2")?);
    matrix(cx, x, FLOATS, int4pack_mm::C1)?;
    cx.check(w.rank() == 4 && w.dtype == Dtype::Int32, int4pack_mm::C2, |_| {
        format!("the weight is {} with {} dimensions", w.dtype, w.rank())
    })?;
    let columns = cx.mul(w.size(0), 8);
    product(cx, x, columns)
}

clauses! { int4pack_mm {
    C1 "`self` has 2 dimensions, and is of `float32`, `float16` or `bfloat16`."
    C2 "`mat2` has the layout of packed weights: 4 dimensions of `int32`. It has 2, of `uint8`, for the \
        CPU, and of `int32` with separate scales and zeros."
    C3 "`mat2` has half as many columns as `self`."
    C4 "`qGroupSize` is 32, 64, 128 or 256."
    C5 "`qScaleAndZeros` is `[groups, n, 2]`, with the dtype of `self`."
} }

/// `_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor`: `[m, k]` and
/// `[n, k / 2]` give `[m, n]`.
fn int4_product_for_cpu(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, w, scales) = (args.tensor("self")?, args.tensor("mat2")?, args.tensor("qScaleAndZeros")?);
    matrix(cx, x, FLOATS, int4pack_mm::C1)?;
    matrix(cx, w, &[Dtype::Uint8], int4pack_mm::C2)?;
    let half = cx.floor_div(x.size(1), 2);
    cx.require_eq(w.size(1), half, int4pack_mm::C3, "columns of the weight and half those of the operand")?;
    let group = args.int("qGroupSize")?;
    let sizes = [32, 64, 128, 256].map(|size| cx.eq(group, size));
    let known = cx.any(&sizes);
    cx.require(known, int4pack_mm::C4, |cx| format!("groups of {}", cx.show(group)))?;
    cx.check(scales.rank() == 3 && scales.dtype == x.dtype, int4pack_mm::C5, |_| {
        format!("scales are {} with {} dimensions", scales.dtype, scales.rank())
    })?;
    cx.require_eq(scales.size(1), w.size(0), int4pack_mm::C5, "scales and rows of the weight")?;
    let two = cx.int(2);
    cx.require_eq(scales.size(2), two, int4pack_mm::C5, "a scale and a zero")?;
    product(cx, x, w.size(0))
}

/// `_weight_int4pack_mm_with_scales_and_zeros(Tensor self, Tensor mat2, int qGroupSize, Tensor qScale, Tensor qZeros) ->
/// Tensor`: `[m, k]` and `[n, ...]` give `[m, n]`.
fn int4_product_with_zeros(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, w) = (args.tensor("self")?, args.tensor("mat2")?);
    matrix(cx, x, FLOATS, int4pack_mm::C1)?;
    matrix(cx, w, &[Dtype::Int32], int4pack_mm::C2)?;
    product(cx, x, w.size(0))
}
