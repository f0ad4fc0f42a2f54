//! Operators that onnxruntime fuses from several: a bias, a normalization or an activation with what comes before. Its
//! CPU provider has no kernels for them, so that they ask for what their specification says.
use super::Family;
use super::contrib::fused_matmul;
use super::elementwise::named;
use super::linear::{gemm_sizes, product};
use super::normalization::vector;
use super::packed::{Packed, packed_weight};
use crate::shape::Dtype;
use crate::shape::call::{Attribute, Checked, Outcome};
use crate::shape::kernels::packed::MatMulNBits;
use crate::shape::op::op;
use crate::shape::value::{Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    BiasDropout::ALL,
    BiasSoftmax::ALL,
    BiasSplitGelu::ALL,
    GemmFastGelu::ALL,
    GemmaRotaryEmbedding::ALL,
    MatMulBlocks::ALL,
    Projection::ALL,
    TorchEmbedding::ALL,
];

pub(super) const CONTRIB: Family = &[
    op("BiasDropout", bias_dropout).passes(),
    op("BiasSoftmax", bias_softmax).passes(),
    op("BiasSplitGelu", bias_split_gelu).passes(),
    op("BitmaskBiasDropout", bias_dropout).passes(),
    op("BitmaskDropout", bitmask_dropout).passes(),
    op("FusedMatMulActivation", fused_matmul).passes(),
    op("GemmFastGelu", gemm_fast_gelu).passes(),
    op("GemmFloat8", gemm_float8).passes(),
    op("GemmaRotaryEmbedding", gemma_rotary).passes(),
    op("MatMulBlockQuantizedFp4Weight", matmul_blocks).passes(),
    op("MatMulBlockQuantizedFp8Weight", matmul_blocks).passes(),
    op("MatMulNBitsMlp", gated_projection).passes(),
    op("MatMulNBitsQkv", projections).passes(),
    op("TorchEmbedding", torch_embedding),
];

clauses! { BiasDropout {
    C1 "The bias has the shape of the data, or is a vector along its last dimension."
    C2 "The residual has the shape of the data."
    C3 "`ratio` and `training_mode` are scalars."
} }

/// `dropout(data + bias) + residual`, and the mask.
fn bias_dropout(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let bias = call.shape(1)?.to_vec();
    match sizes.last() {
        Some(&last) if bias.len() == 1 => {
            cx.require_eq(bias[0], last, BiasDropout::C1, "the bias and the data")?
        }
        _ => cx.require_same_shape(&bias, &sizes, BiasDropout::C1)?,
    }
    if call.has(2) {
        cx.require_same_shape(call.shape(2)?, &sizes, BiasDropout::C2)?;
    }
    dropped(cx, call, sizes, 3)
}

/// `dropout(data)`, and the mask.
fn bitmask_dropout(cx: &mut Cx, call: &Checked) -> Outcome {
    dropped(cx, call, call.shape(0)?.to_vec(), 1)
}

/// The results of dropout; ratio and mode are inputs from `ratio` on. A bit mask has 32 elements in a number.
fn dropped(cx: &mut Cx, call: &Checked, sizes: Vec<Expr>, ratio: usize) -> Outcome {
    for at in [ratio, ratio + 1] {
        if call.has(at) {
            let rank = call.shape(at)?.len();
            call.check(rank == 0, BiasDropout::C3, || {
                format!("input {at} is to be a scalar, not of rank {rank}")
            })?;
        }
    }
    let mask = if call.op().starts_with("Bitmask") {
        let (count, bits) = (cx.product(sizes.clone()), cx.int(32));
        vec![cx.ceil_div(count, bits)]
    } else {
        sizes.clone()
    };
    Ok(vec![call.output(0, sizes)?.into(), call.output(1, mask)?.into()])
}

clauses! { BiasSoftmax {
    C1 "`axis` is within the rank of the data."
    C2 "The bias broadcasts to the data."
} }

/// `softmax(data + bias)`.
fn bias_softmax(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.axis(call.int("axis", 1), sizes.len(), BiasSoftmax::C1)?;
    cx.require_expandable(call.shape(1)?, &sizes, BiasSoftmax::C2)?;
    call.one(sizes)
}

clauses! { BiasSplitGelu {
    C1 "The input has 3 dimensions, and the bias an element for each of the last one."
    C2 "The last size of the input is even."
} }

/// The first half of `X + bias` times the activated second one: `[n, s, d / 2]` of `[n, s, d]`.
fn bias_split_gelu(cx: &mut Cx, call: &Checked) -> Outcome {
    let &[batch, length, width] = call.shape(0)? else {
        return Err(KernelError::invalid(BiasSplitGelu::C1, "the input is to have 3 dimensions"));
    };
    vector(cx, call, 1, width, BiasSplitGelu::C1)?;
    let two = cx.int(2);
    let remainder = cx.modulo(width, two);
    cx.require_eq(remainder, Expr::ZERO, BiasSplitGelu::C2, "what halves leave over")?;
    let half = cx.floor_div(width, two);
    call.one(vec![batch, length, half])
}

clauses! { GemmFastGelu {
    C4 "The bias has an element for each column."
} }

/// `gelu(X W + bias)`.
fn gemm_fast_gelu(cx: &mut Cx, call: &Checked) -> Outcome {
    let weight = call.shape(1)?;
    let shape = product(cx, call, call.shape(0)?, weight)?;
    if call.has(2) {
        let columns = if weight.len() > 1 { weight[weight.len() - 1] } else { Expr::ONE };
        vector(cx, call, 2, columns, GemmFastGelu::C4)?;
    }
    call.one(shape)
}

/// The element type that an attribute gives as ONNX numbers them.
pub(super) fn type_of(call: &Checked, name: &str, default: Dtype) -> Result<Dtype, KernelError> {
    match call.attribute(name) {
        Some(Attribute::Int(number)) => named(call, *number),
        _ => Ok(default),
    }
}

/// As `Gemm`, with scales of operands of 8 bits.
fn gemm_float8(cx: &mut Cx, call: &Checked) -> Outcome {
    let [rows, columns] = gemm_sizes(cx, call)?;
    Ok(vec![Tensor::new(type_of(call, "dtype", Dtype::F32)?, vec![rows, columns]).into()])
}

clauses! { GemmaRotaryEmbedding {
    C1 "`emb` is `[batch, length, head size]`, and `q` and `k` are `[batch, heads, length, head size]`."
    C2 "`q_rot` has the shape of `q`, and `k_rot` that of `k`."
} }

/// Queries and keys, rotated.
fn gemma_rotary(cx: &mut Cx, call: &Checked) -> Outcome {
    let (angles, query, key) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec(), call.shape(3)?.to_vec());
    call.check(angles.len() == 3 && query.len() == 4 && key.len() == 4, GemmaRotaryEmbedding::C1, || {
        format!("ranks {}, {} and {} are to be 3, 4 and 4", angles.len(), query.len(), key.len())
    })?;
    for (rows, rotated) in [(&query, 2), (&key, 4)] {
        cx.require_same_shape(&[rows[0], rows[2], rows[3]], &angles, GemmaRotaryEmbedding::C1)?;
        cx.require_same_shape(call.shape(rotated)?, rows, GemmaRotaryEmbedding::C2)?;
    }
    Ok(vec![call.output(0, query)?.into(), call.output(1, key)?.into()])
}

clauses! { MatMulBlocks {
    C1 "The last size of `A` is K, and the weight is `[N, K]`. With 4 bits, the weight is `[N, K / 2]`."
    C2 "The scales are `[N, blocks]`, with one for each block of K."
    C3 "`block_size` is positive."
    C4 "The bias has N elements."
} }

/// `[.., N]` of `A [.., K]` and a weight of 8 bits, `[N, K]`, or of 4 bits, `[N, K / 2]`.
fn matmul_blocks(cx: &mut Cx, call: &Checked) -> Outcome {
    let halves = call.op() == "MatMulBlockQuantizedFp4Weight";
    let (sizes, weight) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let (Some((&last, leading)), &[rows, stored]) = (sizes.split_last(), weight.as_slice()) else {
        return Err(KernelError::invalid(
            MatMulBlocks::C1,
            "the weight is to have 2 dimensions, A at least 1",
        ));
    };
    let inner = if halves { cx.mul(stored, 2) } else { stored };
    cx.require_eq(last, inner, MatMulBlocks::C1, "the last size and the weight's")?;
    let block = call.int("block_size", if halves { 16 } else { 128 });
    call.check(block > 0, MatMulBlocks::C3, || format!("blocks of {block}"))?;
    let block = cx.int(block);
    let blocks = cx.ceil_div(inner, block);
    cx.require_same_shape(call.shape(2)?, &[rows, blocks], MatMulBlocks::C2)?;
    let bias = if halves { 5 } else { 4 };
    if call.has(bias) {
        vector(cx, call, bias, rows, MatMulBlocks::C4)?;
    }
    call.one([leading, &[rows]].concat())
}

/// `[.., N]` of `A [.., K]`, and the sum of `A` and what is added to it.
///
/// What is added has the shape of A, and the scale of the normalization K elements.
fn gated_projection(cx: &mut Cx, call: &Checked) -> Outcome {
    let columns = call.int("N", 0);
    projected(cx, call, &[columns, columns])
}

/// Queries, keys and values, `[.., N]` each, of one `A [.., K]`, and the sum of `A` and what is added to it: conditions
/// as for [`gated_projection`].
fn projections(cx: &mut Cx, call: &Checked) -> Outcome {
    let (query, other) = (call.int("Nq", 0), call.int("Nkv", 0));
    projected(cx, call, &[query, other, other])
}

clauses! { Projection {
    C4 "The tensor that is added has the shape of `A`. The scale of the normalization has K elements."
} }

/// The results of products with packed weights of so many columns; of a gate and what it lets through there is one.
fn projected(cx: &mut Cx, call: &Checked, columns: &[i64]) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let inner = call.int("K", 0);
    let k = cx.int(inner);
    if call.has(1) {
        cx.require_same_shape(call.shape(1)?, &sizes, Projection::C4)?;
    }
    if call.has(2) {
        vector(cx, call, 2, k, Projection::C4)?;
    }
    let mut shapes = Vec::with_capacity(columns.len());
    for (at, &columns) in columns.iter().enumerate() {
        // A weight, its scales and a bias for each.
        let first = 3 + 3 * at;
        let packed = Packed { k: inner, n: columns, weight: first, scales: first + 1 };
        shapes.push(packed_weight(cx, call, &sizes, packed)?);
        if call.has(first + 2) {
            let columns = cx.int(columns);
            vector(cx, call, first + 2, columns, MatMulNBits::C2)?;
        }
    }
    if call.op() == "MatMulNBitsMlp" {
        shapes.truncate(1);
    }
    shapes.push(sizes);
    let outputs = shapes.into_iter().enumerate().map(|(at, shape)| Ok(call.output(at, shape)?.into()));
    outputs.collect::<Result<Vec<Value>, KernelError>>()
}

clauses! { TorchEmbedding {
    C1 "The table has at least 2 dimensions."
} }

/// Rows of a table: the shape of the indices, and that of a row.
fn torch_embedding(_: &mut Cx, call: &Checked) -> Outcome {
    let (table, indices) = (call.shape(0)?, call.shape(1)?);
    call.check(table.len() >= 2, TorchEmbedding::C1, || format!("the table is of rank {}", table.len()))?;
    call.one([indices, &table[1..]].concat())
}
