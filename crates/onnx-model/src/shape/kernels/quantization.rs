//! Quantization, and operators on quantized tensors.
use super::Family;
use super::linear::{for_columns, gemm_sides, product};
use super::meeting::meet;
use super::pooling::GlobalPool;
use crate::shape::call::{Attribute, Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::value::Tensor;
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[Quantize::ALL, QGemm::ALL, Quantized::ALL, QLinearSoftmax::ALL, QLinearConcat::ALL];

pub(super) const KERNELS: Family = &free([
    op("DequantizeLinear", dequantize).passes().infers(at_load::rank),
    op("DynamicQuantizeLinear", dynamic_quantize).passes().infers(at_load::rank),
    op("QLinearConv", super::convolution::quantized_conv).passes().infers(at_load::rank),
    op("QLinearMatMul", quantized_matmul).passes().infers(at_load::rank),
    op("QuantizeLinear", quantize).passes().infers(at_load::rank),
]);

pub(super) const CONTRIB: Family = &[
    op("DequantizeLinear", dequantize),
    op("DynamicQuantizeMatMul", dynamic_matmul),
    op("MatMulIntegerToFloat", matmul_to_float),
    op("QLinearAdd", quantized_binary),
    op("QLinearAveragePool", quantized_pool),
    op("QLinearConcat", quantized_concat),
    op("QLinearConv", super::convolution::quantized_conv),
    op("QLinearGlobalAveragePool", quantized_global_pool),
    op("QLinearLeakyRelu", quantized_unary),
    op("MulInteger", integer_product),
    op("QLinearMul", quantized_binary),
    op("QLinearSigmoid", quantized_unary),
    op("QLinearSoftmax", quantized_softmax),
    op("QLinearWhere", quantized_where),
    op("QGemm", quantized_gemm),
    op("QuantizeLinear", quantize),
];

clauses! { Quantize {
    C1 "Scale and zero point have the same shape, or one element each. `output_dtype`, if given, is the \
        type of the zero point."
    C2 "There is one scale, or one for each index along `axis`, or one for each block. A block has \
        `block_size` elements."
} }

fn scales(cx: &mut Cx, call: &Checked) -> Result<(), KernelError> {
    let (sizes, scale) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let single = |shape: &[Expr]| shape.is_empty() || shape == [Expr::ONE];
    if call.has(2) && !(single(&scale) && single(call.shape(2)?)) {
        cx.require_same_shape(&scale, call.shape(2)?, Quantize::C1)?;
    }
    let block = call.int("block_size", 0);
    call.check(block >= 0, Quantize::C2, || format!("the block size is {block}"))?;
    if block > 0 {
        let at = call.axis(call.int("axis", 1), sizes.len(), Quantize::C2)?;
        call.check(scale.len() == sizes.len(), Quantize::C2, || {
            format!("scales are of rank {}", scale.len())
        })?;
        for (dim, (&size, &given)) in sizes.iter().zip(&scale).enumerate() {
            let expected = if dim == at {
                let block = cx.int(block);
                cx.ceil_div(size, block)
            } else {
                size
            };
            cx.require_eq(given, expected, Quantize::C2, "scales and blocks")?;
        }
        return Ok(());
    }
    let count = cx.product(scale.clone());
    let one = cx.eq(count, 1);
    if scale.is_empty() || scale.len() == 1 && cx.surely(one) {
        return Ok(());
    }
    call.check(scale.len() == 1, Quantize::C2, || format!("scales are of rank {}", scale.len()))?;
    let at = call.axis(call.int("axis", 1), sizes.len(), Quantize::C2)?;
    let each = cx.eq(scale[0], sizes[at]);
    let fine = cx.any(&[one, each]);
    cx.require(fine, Quantize::C2, |cx| {
        format!("{} scales for a size of {}", cx.show(scale[0]), cx.show(sizes[at]))
    })
}

/// `saturate(round(x / scale) + zero)`, of the zero point's type, or `output_dtype`, or 8 bits without sign.
fn quantize(cx: &mut Cx, call: &Checked) -> Outcome {
    scales(cx, call)?;
    let stated = match call.attribute("output_dtype") {
        Some(Attribute::Int(0)) | None => None,
        Some(Attribute::Int(number)) => Some(super::elementwise::named(call, *number)?),
        _ => None,
    };
    let dtype = match (call.tensor(2), stated) {
        (Some(zero), Some(stated)) => {
            call.check(zero.dtype == stated, Quantize::C1, || {
                "output_dtype is not the zero point's".to_owned()
            })?;
            stated
        }
        (Some(zero), None) => zero.dtype,
        (None, stated) => stated.unwrap_or(Dtype::U8),
    };
    Ok(vec![Tensor::new(dtype, call.shape(0)?.to_vec()).into()])
}

/// `(x - zero) * scale`, of the scale's type.
fn dequantize(cx: &mut Cx, call: &Checked) -> Outcome {
    scales(cx, call)?;
    let dtype = match call.attribute("output_dtype") {
        Some(Attribute::Int(number)) if *number != 0 => super::elementwise::named(call, *number)?,
        _ => call.given(1)?.dtype,
    };
    Ok(vec![Tensor::new(dtype, call.shape(0)?.to_vec()).into()])
}

/// The quantized tensor, its scale and its zero point.
fn dynamic_quantize(_: &mut Cx, call: &Checked) -> Outcome {
    let scalar = |dtype: Dtype| Tensor::new(dtype, Vec::new()).into();
    Ok(vec![Tensor::new(Dtype::U8, call.shape(0)?.to_vec()).into(), scalar(Dtype::F32), scalar(Dtype::U8)])
}

/// Requires inputs that have one element each.
fn single(cx: &mut Cx, call: &Checked, inputs: &[usize]) -> Result<(), KernelError> {
    for &at in inputs {
        if call.has(at) {
            let shape = call.shape(at)?.to_vec();
            let fine = shape.is_empty() || shape.len() == 1;
            call.check(fine, Quantized::C1, || {
                format!("input {at} is a scalar, not of rank {}", shape.len())
            })?;
            let count = cx.product(shape);
            cx.require_eq(count, Expr::ONE, Quantized::C1, "the number of scales")?;
        }
    }
    Ok(())
}

/// Requires scalars. onnxruntime's inference of shapes refuses one element in one dimension, too, where it knows the rank.
pub(super) fn scalars(cx: &mut Cx, call: &Checked, inputs: &[usize]) -> Result<(), KernelError> {
    for &at in inputs {
        if call.has(at) {
            let rank = call.shape(at)?.len();
            let is_fine = rank == 0 || cx.on_cpu() && !call.infers_rank(at)?;
            super::policy::onnxruntime_checks(cx, is_fine, Quantized::C1, || {
                format!("input {at} is a scalar, not of rank {rank}")
            })?;
        }
    }
    single(cx, call, inputs)
}

/// Requires scales of one element. onnxruntime reads the first, whatever the shape, and no zero point of none.
fn first_of(cx: &mut Cx, call: &Checked, scales: &[usize], zeros: &[usize]) -> Result<(), KernelError> {
    if !cx.on_cpu() {
        single(cx, call, scales)?;
        return single(cx, call, zeros);
    }
    for &at in scales {
        let count = cx.product(call.shape(at)?.to_vec());
        let some = cx.ge(count, 1);
        cx.require(some, Quantized::C1, |_| format!("input {at} is empty"))?;
    }
    Ok(())
}

/// Requires one scale, or one for each column.
fn per_column(cx: &mut Cx, call: &Checked, inputs: &[usize], columns: Expr) -> Result<(), KernelError> {
    for &at in inputs {
        if call.has(at) {
            let count = cx.product(call.shape(at)?.to_vec());
            let (one, each) = (cx.eq(count, 1), cx.eq(count, columns));
            let fine = cx.any(&[one, each]);
            cx.require(fine, Quantized::C1, |cx| format!("there are {} scales", cx.show(count)))?;
        }
    }
    Ok(())
}

fn last(shape: &[Expr]) -> Expr {
    shape.last().copied().unwrap_or(Expr::ONE)
}

/// A product of matrices `a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero`.
fn quantized_matmul(cx: &mut Cx, call: &Checked) -> Outcome {
    let (a, b) = (call.shape(0)?, call.shape(3)?);
    let shape = product(cx, call, a, b)?;
    single(cx, call, &[1, 2, 6, 7])?;
    for at in [4, 5] {
        for_columns(cx, call, at, b, Quantized::C1)?;
    }
    call.one(shape)
}

/// `A, B, a_scale, b_scale, a_zero, b_zero, bias`.
fn matmul_to_float(cx: &mut Cx, call: &Checked) -> Outcome {
    let (a, b) = (call.shape(0)?, call.shape(1)?);
    let shape = product(cx, call, a, b)?;
    for at in [2, 3] {
        scale_of_product(cx, call, at, &shape)?;
    }
    single(cx, call, &[4])?;
    for_columns(cx, call, 5, b, Quantized::C1)?;
    bias(cx, call, 6, &shape)?;
    call.one(shape)
}

/// `A, B, b_scale, b_zero, bias`.
fn dynamic_matmul(cx: &mut Cx, call: &Checked) -> Outcome {
    let (a, b) = (call.shape(0)?, call.shape(1)?);
    let shape = product(cx, call, a, b)?;
    scale_of_product(cx, call, 2, &shape)?;
    for_columns(cx, call, 3, b, Quantized::C1)?;
    bias(cx, call, 4, &shape)?;
    Ok(vec![Tensor::new(Dtype::F32, shape).into()])
}

/// Requires scales that broadcast to the product; leading dimensions of 1 do not matter.
fn scale_of_product(cx: &mut Cx, call: &Checked, at: usize, shape: &[Expr]) -> Result<(), KernelError> {
    let scale = call.shape(at)?.to_vec();
    let (leading, rest) = scale.split_at(scale.len().saturating_sub(shape.len()));
    for &size in leading {
        cx.require_eq(size, Expr::ONE, Quantized::C1, "a leading dimension of scales")?;
    }
    cx.require_expandable(rest, shape, Quantized::C1)
}

fn bias(cx: &mut Cx, call: &Checked, at: usize, shape: &[Expr]) -> Result<(), KernelError> {
    if !call.has(at) {
        return Ok(());
    }
    if !cx.on_cpu() {
        return cx.require_same_shape(call.shape(at)?, &[last(shape)], Quantized::C2);
    }
    let columns = call.shape(1)?;
    let columns = if columns.len() > 1 { last(columns) } else { Expr::ONE };
    let (count, all) = (cx.product(call.shape(at)?.to_vec()), cx.product(shape.to_vec()));
    let (each, nothing) = (cx.eq(count, columns), cx.eq(all, 0));
    let fine = cx.any(&[each, nothing]);
    cx.require(fine, Quantized::C2, |cx| {
        format!("a bias of {} for {} columns", cx.show(count), cx.show(columns))
    })
}

clauses! { QGemm {
    C1 "Inputs `A` and `B` have 2 dimensions, and their contracted sizes are equal. `C` broadcasts to the \
        product."
    C2 "`b_scale` and `b_zero_point` have the same shape, with at most 1 dimension."
} }

/// `alpha A' B'` with scales.
fn quantized_gemm(cx: &mut Cx, call: &Checked) -> Outcome {
    let [[rows, inner], [again, columns]] = gemm_sides(cx, call, [0, 3], QGemm::C1)?;
    cx.require_eq(inner, again, QGemm::C1, "inner sizes")?;
    single(cx, call, &[1, 2, 7, 8])?;
    per_column(cx, call, &[4, 5], columns)?;
    if call.has(4) && call.has(5) {
        cx.require_same_shape(call.shape(4)?, call.shape(5)?, QGemm::C2)?;
    }
    for at in [4, 5] {
        let rank = call.shape(at)?.len();
        call.check(rank <= 1, QGemm::C2, || format!("input {at} is of rank {rank}"))?;
    }
    if call.has(6) {
        cx.require_expandable(call.shape(6)?, &[rows, columns], QGemm::C1)?;
    }
    let dtype = if call.has(8) { call.given(8)?.dtype } else { Dtype::F32 };
    Ok(vec![Tensor::new(dtype, vec![rows, columns]).into()])
}

clauses! { Quantized {
    C1 "Scales and zero points have one element. Those of `B` may have one for each column."
    C2 "The bias has an element for each column. onnxruntime compares only the number of elements, if the \
        product is not empty."
    C3 "The shapes of the operands broadcast."
} }

/// `a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero`: shapes meet.
fn quantized_binary(cx: &mut Cx, call: &Checked) -> Outcome {
    scalars(cx, call, &[1, 2, 4, 5, 6, 7])?;
    let shape = meet(cx, [call.shape(0)?, call.shape(3)?], Quantized::C3)?;
    call.one(shape)
}

/// `a, a_zero, b, b_zero`: shapes meet.
fn integer_product(cx: &mut Cx, call: &Checked) -> Outcome {
    super::policy::onnxruntime_checks(cx, call.has(1) && call.has(3), Quantized::C1, || {
        "the inference of types needs the zero points".to_owned()
    })?;
    scalars(cx, call, &[1, 3])?;
    let shape = meet(cx, [call.shape(0)?, call.shape(2)?], Quantized::C3)?;
    Ok(vec![Tensor::new(call.output_type(0).unwrap_or(Dtype::I32), shape).into()])
}

/// `condition, x, x_scale, x_zero, y, ..`.
fn quantized_where(cx: &mut Cx, call: &Checked) -> Outcome {
    first_of(cx, call, &[2, 5, 7], &[3, 6, 8])?;
    let shape = meet(cx, [call.shape(0)?, call.shape(1)?, call.shape(4)?], Quantized::C3)?;
    call.one(shape)
}

fn quantized_unary(cx: &mut Cx, call: &Checked) -> Outcome {
    single(cx, call, &[1, 2, 3, 4])?;
    call.one(call.shape(0)?.to_vec())
}

clauses! { QLinearSoftmax {
    C6 "`axis` is within the rank of the input."
} }

/// `x, x_scale, x_zero, y_scale, y_zero`.
fn quantized_softmax(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let axis = call.int("axis", -1);
    if !super::reduction::is_idle(cx, call, &sizes, axis)? {
        call.axis(axis, sizes.len(), QLinearSoftmax::C6)?;
    }
    if !cx.on_cpu() {
        single(cx, call, &[1, 2, 3, 4])?;
    }
    call.one(sizes)
}

fn channels_last(call: &Checked) -> bool {
    call.int("channels_last", 0) != 0
}

fn quantized_global_pool(cx: &mut Cx, call: &Checked) -> Outcome {
    single(cx, call, &[1, 2, 3, 4])?;
    let mut shape = call.shape(0)?.to_vec();
    let rank = shape.len();
    call.check(rank >= 3, GlobalPool::C1, || format!("an image has at least 3 dimensions, not {rank}"))?;
    let image = if channels_last(call) { &shape[1..rank - 1] } else { &shape[2..] };
    super::policy::not_empty(cx, image, GlobalPool::C6)?;
    if channels_last(call) {
        shape[1..rank - 1].fill(Expr::ONE);
    } else {
        shape[2..].fill(Expr::ONE);
    }
    call.one(shape)
}

fn quantized_pool(cx: &mut Cx, call: &Checked) -> Outcome {
    super::policy::onnxruntime_checks(cx, call.has(2), Quantized::C1, || {
        "the inference of types needs the zero point".to_owned()
    })?;
    scalars(cx, call, &[1, 2, 3, 4])?;
    let shape = super::pooling::pooled(cx, call)?;
    call.one(shape)
}

clauses! { QLinearConcat {
    C4 "Each tensor to concatenate is three inputs: it, its scale and zero point."
    C5 "The tensors to concatenate have the same type and rank. Except along `axis`, they have the same \
        sizes."
} }

/// `y_scale, y_zero`, and then `x, scale, zero` for each part.
fn quantized_concat(cx: &mut Cx, call: &Checked) -> Outcome {
    let count = call.count();
    call.check(count >= 5 && (count - 2).is_multiple_of(3), QLinearConcat::C4, || {
        format!("it has {count} inputs")
    })?;
    first_of(cx, call, &[0], &[1])?;
    // onnxruntime looks at the sizes of what is not empty.
    let is_empty = |shape: &[Expr]| shape.contains(&Expr::ZERO);
    let mut lead = 2;
    for part in (2..count).step_by(3).rev() {
        if cx.on_cpu() && !is_empty(call.shape(part)?) {
            lead = part;
        }
    }
    let mut shape = call.shape(lead)?.to_vec();
    let dtype = call.given(1)?.dtype;
    let at = call.axis(call.int("axis", 0), shape.len(), QLinearConcat::C5)?;
    for part in (2..count).step_by(3) {
        let (x, scale, zero) = (call.given(part)?, call.given(part + 1)?, call.given(part + 2)?);
        let fine = x.dtype == dtype && zero.dtype == dtype && scale.dtype == Dtype::F32;
        call.check(fine, QLinearConcat::C5, || "types differ".to_owned())?;
        first_of(cx, call, &[part + 1], &[part + 2])?;
        if part == lead {
            continue;
        }
        let next = call.shape(part)?.to_vec();
        call.check(next.len() == shape.len(), QLinearConcat::C5, || "ranks differ".to_owned())?;
        let skipped = cx.on_cpu() && is_empty(&next);
        for dim in 0..shape.len() {
            if dim == at {
                shape[dim] = cx.add(shape[dim], next[dim]);
            } else if !skipped {
                cx.require_eq(shape[dim], next[dim], QLinearConcat::C5, "sizes beside the axis")?;
            }
        }
    }
    Ok(vec![Tensor::new(dtype, shape).into()])
}
