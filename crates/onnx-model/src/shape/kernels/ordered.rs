//! Operators of onnxruntime on numbers of 8 bits and less in layouts of an accelerator: shapes are those of the numbers,
//! not of the layouts. Its CPU provider has no kernels for them.
use super::Family;
use super::fused::type_of;
use super::layout::sizes_of;
use super::linear::product;
use super::meeting::exactly;
use super::normalization::vector;
use super::quantization::scalars;
use super::reduction::reduced;
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::kernels::attention::heads;
use crate::shape::kernels::reduction::Reduce;
use crate::shape::op::op;
use crate::shape::value::{Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[QOrderedLayerNormalization::ALL, QOrderedMatMul::ALL, QOrderedAttention::ALL, DequantizeBFP::ALL];

pub(super) const CONTRIB: Family = &[
    op("DequantizeBFP", dequantize_blocks),
    op("DequantizeWithOrder", dequantize).passes(),
    op("QLinearReduceMean", mean).passes(),
    op("QOrderedAttention", attention).passes(),
    op("QOrderedGelu", same).passes(),
    op("QOrderedLayerNormalization", layer).passes(),
    op("QOrderedMatMul", matmul).passes(),
    op("QuantizeBFP", quantize_blocks).passes(),
    op("QuantizeWithOrder", same).passes(),
    op("ReduceSumInteger", total).passes(),
];

/// The shape of the input.
fn same(_: &mut Cx, call: &Checked) -> Outcome {
    call.one(call.shape(0)?.to_vec())
}

/// The shape of the input, with the element type that `to` gives.
fn dequantize(_: &mut Cx, call: &Checked) -> Outcome {
    Ok(vec![Tensor::new(type_of(call, "to", Dtype::F32)?, call.shape(0)?.to_vec()).into()])
}

clauses! { QOrderedLayerNormalization {
    C1 "Scale and bias have an element for each element of the last dimension. The input is not a scalar."
} }

fn layer(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let Some(&last) = sizes.last() else {
        return Err(KernelError::invalid(QOrderedLayerNormalization::C1, "the input is a scalar"));
    };
    vector(cx, call, 2, last, QOrderedLayerNormalization::C1)?;
    if call.has(3) {
        vector(cx, call, 3, last, QOrderedLayerNormalization::C1)?;
    }
    call.one(sizes)
}

clauses! { QOrderedMatMul {
    C4 "The bias has an element for each column."
} }

fn matmul(cx: &mut Cx, call: &Checked) -> Outcome {
    let weight = call.shape(2)?;
    let shape = product(cx, call, call.shape(0)?, weight)?;
    if let (true, Some(&columns)) = (call.has(5), weight.last()) {
        vector(cx, call, 5, columns, QOrderedMatMul::C4)?;
    }
    call.one(shape)
}

clauses! { QOrderedAttention {
    C1 "The input has 3 dimensions, and the weights have 2."
    C2 "The weights are square, with the last size of the input, and biases have an element for each \
        column."
} }

/// `[batch, length, hidden]`, with weights of queries, keys and values apart.
fn attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let &[batch, length, width] = call.shape(0)? else {
        return Err(KernelError::invalid(QOrderedAttention::C1, "the input is to have 3 dimensions"));
    };
    let heads = call.int("num_heads", 0);
    call.check(heads > 0, heads::C1, || format!("there are {heads} heads"))?;
    let heads = cx.int(heads);
    for (weight, bias) in [(5, 11), (6, 12), (7, 13)] {
        let &[inner, columns] = call.shape(weight)? else {
            return Err(KernelError::invalid(QOrderedAttention::C1, "a weight is to have 2 dimensions"));
        };
        cx.require_eq(width, inner, QOrderedAttention::C2, "the input and the weights")?;
        vector(cx, call, bias, columns, QOrderedAttention::C2)?;
        exactly(cx, columns, heads, heads::C1)?;
        cx.require_eq(columns, width, QOrderedAttention::C2, "the input and the hidden size")?;
    }
    call.one(vec![batch, length, width])
}

/// The mean over axes that an attribute names. They are within the rank. Scales and zero points are scalars.
fn mean(cx: &mut Cx, call: &Checked) -> Outcome {
    scalars(cx, call, &[1, 2, 3, 4])?;
    let shape = without_axes(call)?;
    call.one(shape)
}

/// The sum over axes that an attribute names, in 32 bits. They are within the rank.
fn total(_: &mut Cx, call: &Checked) -> Outcome {
    let dtype = if call.given(0)?.dtype == Dtype::U8 { Dtype::U32 } else { Dtype::I32 };
    Ok(vec![Tensor::new(dtype, without_axes(call)?).into()])
}

fn without_axes(call: &Checked) -> Result<Vec<Expr>, KernelError> {
    let sizes = call.shape(0)?;
    let mut flags = vec![false; sizes.len()];
    for &axis in call.ints("axes").unwrap_or_default() {
        flags[call.axis(axis, sizes.len(), Reduce::C1)?] = true;
    }
    Ok(reduced(sizes, &flags, call.int("keepdims", 1) != 0))
}

/// The data in blocks, the sizes and the strides of the input.
fn quantize_blocks(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let rank = cx.int(sizes.len() as i64);
    let bytes = cx.unbacked_size(0, None);
    let strides = call.output(2, vec![rank])?;
    let results: [Value; 3] =
        [call.output(0, vec![bytes])?.into(), Tensor::of_ints(Dtype::I64, sizes).into(), strides.into()];
    Ok(results.into())
}

clauses! { DequantizeBFP {
    C1 "The data, the shape and the strides have 1 dimension. Shape and strides have the same length."
} }

/// Numbers in blocks, in the shape that the second input holds.
fn dequantize_blocks(cx: &mut Cx, call: &Checked) -> Outcome {
    let rank = call.shape(0)?.len();
    call.check(rank == 1, DequantizeBFP::C1, || format!("the data have 1 dimension, not {rank}"))?;
    let shape = sizes_of(cx, call, 1, DequantizeBFP::C1)?;
    let count = cx.int(shape.len() as i64);
    vector(cx, call, 2, count, DequantizeBFP::C1)?;
    Ok(vec![Tensor::new(type_of(call, "dtype", Dtype::F32)?, shape).into()])
}
