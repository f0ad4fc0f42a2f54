//! onnxruntime's mixture of experts with quantized weights.
use super::{Family, meeting, policy};
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[QMoE::ALL];

pub(super) const CONTRIB: Family = &[op("QMoE", experts).passes()];

/// The sizes of the experts.
struct Sizes {
    count: Expr,
    inner: Expr,
    /// The rows of the first weights: twice the inner size with a gate.
    first: Expr,
    /// How many weights are in a byte.
    packed: i64,
}

clauses! { QMoE {
    C1 "`input` is `[rows, hidden]` or `[batch, length, hidden]`, and the router's inputs are `[rows, \
        experts]`."
    C2 "Weights have 2, 4 or 8 bits, `block_size` is 0 or a power of 2, at least 16, and `k` is from 1 to \
        the number of experts."
    C3 "The packed weights of experts fit `input` and each other. They are `[experts, inner, hidden]` and \
        `[experts, hidden, inner]`, or the other way round, as many to a byte as fit; with `swiglu`, the \
        first inner size is doubled."
    C4 "There is a scale for each row of a weight, or for each block of a row."
    C5 "There is a packed zero point for each scale."
    C6 "The biases of experts have an element for each row of the weight."
    C7 "onnxruntime's CPU kernel supports the call: known activations, a fused gate, scales, and no third \
        weights."
} }

/// The input's shape.
fn experts(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, router) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(matches!(sizes.len(), 2 | 3) && router.len() == 2, QMoE::C1, || {
        format!("ranks {} and {}", sizes.len(), router.len())
    })?;
    if call.given(2)?.dtype != Dtype::U8 {
        return Err(KernelError::Unsupported("QMoE: weights of 8-bit floats".to_owned()));
    }
    let rows = cx.product(sizes[..sizes.len() - 1].to_vec());
    for at in [1, 14] {
        if call.has(at) {
            cx.require_same_shape(call.shape(at)?, &[rows, router[1]], QMoE::C1)?;
        }
    }
    let packed = packing(cx, call, router[1])?;
    known_to_onnxruntime(cx, call)?;
    let hidden = sizes[sizes.len() - 1];
    let some = cx.ge(hidden, 1);
    cx.require(some, QMoE::C3, |_| "the hidden size is 0".to_owned())?;
    let of = layout(cx, call, router[1], hidden, packed)?;
    let block = call.int("block_size", 0);
    let in_blocks = block > 0 && call.has(3) && call.shape(3)?.len() == 3;
    for (scale, bias, zero, row, column) in
        [(3, 4, 11, of.first, hidden), (6, 7, 12, hidden, of.inner), (9, 10, 13, of.inner, hidden)]
    {
        quantization(cx, call, &of, (scale, zero), (row, column), in_blocks)?;
        if call.has(bias) {
            cx.require_same_shape(call.shape(bias)?, &[of.count, row], QMoE::C6)?;
        }
    }
    call.one(sizes)
}

/// How many weights are in a byte.
fn packing(cx: &mut Cx, call: &Checked, count: Expr) -> Result<i64, KernelError> {
    let (bits, block, chosen) =
        (call.int("expert_weight_bits", 4), call.int("block_size", 0), call.int("k", 1));
    call.check(matches!(bits, 2 | 4 | 8), QMoE::C2, || format!("weights have {bits} bits"))?;
    let power = block == 0 || block >= 16 && block.count_ones() == 1;
    call.check(power && chosen >= 1, QMoE::C2, || format!("blocks of {block}, {chosen} experts"))?;
    let most = cx.int(chosen);
    let enough = cx.le(most, count);
    cx.require(enough, QMoE::C2, |cx| format!("{chosen} of {} experts", cx.show(count)))?;
    Ok(8 / bits)
}

fn known_to_onnxruntime(cx: &Cx, call: &Checked) -> Result<(), KernelError> {
    let activation = call.text("activation_type", "relu");
    let known = matches!(activation, "relu" | "gelu" | "silu" | "identity" | "swiglu");
    policy::onnxruntime_checks(cx, known, QMoE::C7, || format!("the activation {activation}"))?;
    let fused = activation != "swiglu" || call.int("swiglu_fusion", 0) == 1;
    policy::onnxruntime_checks(cx, fused, QMoE::C7, || "the gate is not fused".to_owned())?;
    let third = [8, 9, 10, 13].iter().any(|&at| call.has(at));
    policy::onnxruntime_checks(cx, !third, QMoE::C7, || "there are third weights".to_owned())?;
    let scaled = call.has(3) && call.has(6);
    policy::onnxruntime_checks(cx, scaled, QMoE::C7, || "scales are missing".to_owned())?;
    let sparse = call.int("use_sparse_mixer", 0) != 0 && call.int("k", 1) != 2;
    policy::onnxruntime_checks(cx, !sparse, QMoE::C7, || "a sparse mixer chooses 2 experts".to_owned())?;
    let bits = call.int("expert_weight_bits", 4);
    let one_width = ["fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"];
    let one_width = one_width.iter().all(|name| call.int(name, bits) == bits);
    policy::onnxruntime_checks(cx, one_width, QMoE::C7, || "weights have several widths".to_owned())?;
    if one_width {
        Ok(())
    } else {
        Err(KernelError::Unsupported("QMoE: weights of several widths".to_owned()))
    }
}

fn layout(cx: &mut Cx, call: &Checked, count: Expr, hidden: Expr, packed: i64) -> Result<Sizes, KernelError> {
    const CLAUSE: &OpClause = QMoE::C3;
    let (first, second) = (call.shape(2)?.to_vec(), call.shape(5)?.to_vec());
    call.check(first.len() == 3 && second.len() == 3, CLAUSE, || "weights have 3 dimensions".to_owned())?;
    let gated = call.text("activation_type", "relu") == "swiglu";
    let bytes = cx.int(packed);
    let as_rows = cx.eq(second[1], hidden);
    let mut is_turned = !cx.branch(as_rows, CLAUSE)?;
    let mut inner = if is_turned { second[1] } else { cx.mul(second[2], packed as i32) };
    if !is_turned && gated {
        // A square layer may be given in both ways.
        let (square, turned) = (cx.eq(inner, hidden), cx.eq(first[1], hidden));
        let both = cx.all(&[square, turned]);
        is_turned = cx.branch(both, CLAUSE)?;
        if is_turned {
            inner = hidden;
        }
    }
    let doubled = if gated { cx.mul(inner, 2) } else { inner };
    let packed_hidden = meeting::exactly(cx, hidden, bytes, CLAUSE)?;
    let packed_inner = meeting::exactly(cx, inner, bytes, CLAUSE)?;
    let packed_first = if gated { cx.mul(packed_inner, 2) } else { packed_inner };
    let (of_first, of_second) = if is_turned {
        ([count, hidden, packed_first], [count, inner, packed_hidden])
    } else {
        ([count, doubled, packed_hidden], [count, hidden, packed_inner])
    };
    cx.require_same_shape(&first, &of_first, CLAUSE)?;
    cx.require_same_shape(&second, &of_second, CLAUSE)?;
    if call.has(8) {
        let of_third = if is_turned { [count, hidden, packed_inner] } else { [count, inner, packed_hidden] };
        cx.require_same_shape(call.shape(8)?, &of_third, CLAUSE)?;
    }
    Ok(Sizes { count, inner, first: doubled, packed })
}

/// Looks at the scales and zero points of weights of so many rows and columns.
fn quantization(
    cx: &mut Cx,
    call: &Checked,
    of: &Sizes,
    (scale, zero): (usize, usize),
    (row, column): (Expr, Expr),
    in_blocks: bool,
) -> Result<(), KernelError> {
    let packed = cx.int(of.packed);
    let zeros = if in_blocks {
        let block = cx.int(call.int("block_size", 0));
        let blocks = cx.ceil_div(column, block);
        if call.has(scale) {
            cx.require_same_shape(call.shape(scale)?, &[of.count, row, blocks], QMoE::C4)?;
        }
        vec![of.count, row, cx.ceil_div(blocks, packed)]
    } else {
        if call.has(scale) {
            let given = call.shape(scale)?.to_vec();
            let expected = [of.count, row, Expr::ONE];
            let expected = if given.len() == 2 { &expected[..2] } else { &expected };
            cx.require_same_shape(&given, expected, QMoE::C4)?;
        }
        vec![of.count, cx.ceil_div(row, packed)]
    };
    if call.has(zero) {
        cx.require_same_shape(call.shape(zero)?, &zeros, QMoE::C5)?;
    }
    Ok(())
}
