//! Products and slices of weights that are packed in a few bits.
use super::linear::product;
use super::normalization::vector;
use super::{Family, gather, policy, products};
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::{TUPLES, values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[MatMulNBits::ALL, MatMulBnb4::ALL, MatMulFpQ4::ALL, GatherBlockQuantized::ALL];

pub(super) const CONTRIB: Family = &[
    op("GatherBlockQuantized", gather_blocks).free().at_run(&[values(1, GatherBlockQuantized::C5, TUPLES)]),
    op("MatMulBnb4", matmul_four_bits).multiplies(products::matrices),
    op("MatMulFpQ4", matmul_blob).multiplies(products::matrices),
    op("MatMulNBits", matmul_bits).multiplies(products::matrices),
];

clauses! { MatMulNBits {
    C1 "The last size of `A` is K."
    C2 "The packed weight is `[N, blocks, bytes]`, with a scale for each block. Zero points fit the \
        scales, and the bias has N elements."
    C3 "`bits` is 2, 4 or 8, and `block_size` is a power of 2 from 16 to 256. K and N are positive."
} }

/// `[.., N]` of `A [.., K]`.
fn matmul_bits(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let (k, n, bits) = (call.int("K", 0), call.int("N", 0), call.int("bits", 4));
    let shape = packed_weight(cx, call, &sizes, Packed { k, n, weight: 1, scales: 2 })?;
    let (rows, blocks) = (cx.int(n), blocks_of(call, k));
    if call.has(3) {
        let packed = call.given(3)?.dtype == Dtype::U8;
        let bytes = if packed { blocks.saturating_mul(bits).saturating_add(7) / 8 } else { blocks };
        each_block(cx, call, 3, rows, bytes)?;
    }
    if call.has(5) {
        vector(cx, call, 5, rows, MatMulNBits::C2)?;
        // The inference of shapes refuses a bias of which it does not know the length.
        policy::known_at_load(
            cx,
            call,
            call.sizes_at_load(5),
            MatMulNBits::C2,
            "the bias is to be an initializer",
        )?;
    }
    call.one(shape)
}

/// A packed weight of so many columns and rows, and the inputs that hold it and its scales.
pub(super) struct Packed {
    pub k: i64,
    pub n: i64,
    pub weight: usize,
    pub scales: usize,
}

/// How many blocks a row has.
fn blocks_of(call: &Checked, k: i64) -> i64 {
    let block = call.int("block_size", 0);
    if block > 0 { k.div_euclid(block) + i64::from(k % block != 0) } else { 0 }
}

/// `[.., N]` of an input `[.., K]`.
pub(super) fn packed_weight(
    cx: &mut Cx,
    call: &Checked,
    sizes: &[Expr],
    Packed { k, n, weight, scales }: Packed,
) -> Result<Vec<Expr>, KernelError> {
    let (bits, block) = (call.int("bits", 4), call.int("block_size", 0));
    call.check(matches!(bits, 2 | 4 | 8), MatMulNBits::C3, || format!("weights have {bits} bits"))?;
    let power = (16..=256).contains(&block) && block.count_ones() == 1;
    call.check(power && k > 0 && n > 0, MatMulNBits::C3, || format!("blocks of {block} for {k} by {n}"))?;
    let Some((&last, leading)) = sizes.split_last() else {
        return Err(KernelError::invalid(MatMulNBits::C1, "the input is a scalar"));
    };
    let inner = cx.int(k);
    cx.require_eq(last, inner, MatMulNBits::C1, "the last size and K")?;
    let blocks = blocks_of(call, k);
    let (rows, blocks_size, bytes) = (cx.int(n), cx.int(blocks), cx.int(block / 8 * bits));
    cx.require_same_shape(call.shape(weight)?, &[rows, blocks_size, bytes], MatMulNBits::C2)?;
    each_block(cx, call, scales, rows, blocks)?;
    Ok([leading, &[rows]].concat())
}

fn each_block(cx: &mut Cx, call: &Checked, at: usize, rows: Expr, blocks: i64) -> Result<(), KernelError> {
    let given = call.shape(at)?.to_vec();
    let blocks = cx.int(blocks);
    if given.len() == 2 {
        return cx.require_same_shape(&given, &[rows, blocks], MatMulNBits::C2);
    }
    let all = cx.mul(rows, blocks);
    cx.require_same_shape(&given, &[all], MatMulNBits::C2)
}

clauses! { MatMulBnb4 {
    C1 "The last size of `A` is K."
    C2 "The packed weight holds `N * K` numbers, two in a byte. There is a scale for each block."
    C3 "`quant_type` is 0 or 1, and `block_size` is a power of 2 from 16 to 256. K and N are positive."
} }

/// `[.., N]` of `A [.., K]`.
fn matmul_four_bits(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let (k, n, block) = (call.int("K", 0), call.int("N", 0), call.int("block_size", 0));
    let kind = call.int("quant_type", 0);
    call.check(matches!(kind, 0 | 1) && k > 0 && n > 0, MatMulBnb4::C3, || {
        format!("kind {kind}, {k} by {n}")
    })?;
    let power = (16..=256).contains(&block) && block.count_ones() == 1;
    call.check(power, MatMulBnb4::C3, || format!("blocks of {block}"))?;
    let Some(&last) = sizes.last() else {
        return Err(KernelError::invalid(MatMulBnb4::C1, "the input is a scalar"));
    };
    let inner = cx.int(k);
    cx.require_eq(last, inner, MatMulBnb4::C1, "the last size and K")?;
    let count = k.saturating_mul(n);
    for (at, needed) in [(1, count / 2 + count % 2), (2, count / block + i64::from(count % block != 0))] {
        let rank = call.shape(at)?.len();
        call.check(rank == 1 || cx.on_cpu(), MatMulBnb4::C2, || {
            format!("input {at} has 1 dimension, not {rank}")
        })?;
        let (given, needed) = (cx.product(call.shape(at)?.to_vec()), cx.int(needed));
        // onnxruntime takes more than are needed.
        let fine = if cx.on_cpu() { cx.ge(given, needed) } else { cx.eq(given, needed) };
        cx.require(fine, MatMulBnb4::C2, |cx| {
            format!("input {at} has {} elements, not {}", cx.show(given), cx.show(needed))
        })?;
    }
    let columns = cx.int(n);
    call.one([&sizes[..sizes.len() - 1], &[columns]].concat())
}

clauses! { MatMulFpQ4 {
    C1 "The packed weight has 1 dimension, and its shape holds 2 positive sizes."
    C2 "For onnxruntime, 32 weights of a column take 20 bytes. With a zero point, they take 21."
} }

/// The product of `A` and a packed matrix of the sizes that the third input holds.
fn matmul_blob(cx: &mut Cx, call: &Checked) -> Outcome {
    let bytes = call.shape(1)?.to_vec();
    call.check(bytes.len() == 1, MatMulFpQ4::C1, || {
        format!("a packed matrix has 1 dimension, not {}", bytes.len())
    })?;
    let rank = call.shape(2)?.len();
    call.check(rank == 1, MatMulFpQ4::C1, || format!("two sizes have 1 dimension, not {rank}"))?;
    let sizes = call.input_ints(cx, 2, MatMulFpQ4::C1)?.unwrap_or_default();
    let &[inner, columns] = sizes.as_slice() else {
        return Err(KernelError::invalid(MatMulFpQ4::C1, format!("a matrix has {} sizes", sizes.len())));
    };
    call.check(inner > 0 && columns > 0, MatMulFpQ4::C1, || format!("a matrix of {inner} by {columns}"))?;
    let each = if call.int("blk_quant_type", 1) == 0 { 20 } else { 21 };
    let blocks = inner / 32 + i64::from(inner % 32 != 0);
    let needed = cx.int(columns.saturating_mul(blocks).saturating_mul(each));
    let fits = cx.eq(bytes[0], needed);
    policy::onnxruntime(cx, fits, MatMulFpQ4::C2, |cx| {
        format!("{} bytes, where {} are needed", cx.show(bytes[0]), cx.show(needed))
    })?;
    let matrix = [cx.int(inner), cx.int(columns)];
    let shape = product(cx, call, call.shape(0)?, &matrix)?;
    call.one(shape)
}

clauses! { GatherBlockQuantized {
    C1 "`gather_axis` and `quantize_axis` are within the rank of the data."
    C2 "`bits` fits the type of the data, and `block_size` is a power of 2, at least 16. Bits are 4, or 2, \
        4 or 8 in `uint8`."
    C3 "There is a scale for each block along `quantize_axis`."
    C4 "There is a zero point for each scale."
    C5 "The indices are within the dimension `gather_axis` of the data."
} }

/// The slices of quantized data at indices.
fn gather_blocks(cx: &mut Cx, call: &Checked) -> Outcome {
    let (data, taken) = (call.given(0)?.clone(), call.shape(1)?.to_vec());
    let sizes = call.shape(0)?.to_vec();
    let at = call.axis(call.int("gather_axis", 0), sizes.len(), GatherBlockQuantized::C1)?;
    let blocked = call.axis(call.int("quantize_axis", 1), sizes.len(), GatherBlockQuantized::C1)?;
    let (bits, block) = (call.int("bits", 4), call.int("block_size", 128));
    let is_packed = data.dtype == Dtype::U8;
    let possible = if is_packed { matches!(bits, 2 | 4 | 8) } else { bits == 4 };
    call.check(possible && block >= 16 && block.count_ones() == 1, GatherBlockQuantized::C2, || {
        format!("{bits} bits in blocks of {block}")
    })?;
    let each = if is_packed { (8 / bits) as i32 } else { 1 };
    let scales = call.shape(2)?.to_vec();
    call.check(scales.len() == sizes.len(), GatherBlockQuantized::C3, || {
        format!("scales are of rank {}", scales.len())
    })?;
    let mut whole = sizes.clone();
    whole[blocked] = cx.mul(sizes[blocked], each);
    let block = cx.int(block);
    for (dim, (&size, &given)) in whole.iter().zip(&scales).enumerate() {
        let expected = if dim == blocked { cx.ceil_div(size, block) } else { size };
        cx.require_eq(given, expected, GatherBlockQuantized::C3, "scales and blocks")?;
    }
    if call.has(3) {
        // The inference of shapes refuses zero points of which it does not know the sizes.
        let known = call.sizes_at_load(2).and(call.sizes_at_load(3));
        let message = "zero points and scales are to be initializers";
        policy::known_at_load(cx, call, known, GatherBlockQuantized::C4, message)?;
        let mut points = scales.clone();
        let each = cx.int(i64::from(each));
        points[blocked] = cx.ceil_div(scales[blocked], each);
        cx.require_same_shape(call.shape(3)?, &points, GatherBlockQuantized::C4)?;
    }
    gather::inside(cx, call.given(1)?, sizes[at], GatherBlockQuantized::C5)?;
    call.one([&whole[..at], &taken, &whole[at + 1..]].concat())
}
