//! onnxruntime's own operators, but for attention and quantization.
use super::linear::{is_flat, product, stacked_product};
use super::normalization::vector;
use super::{Family, creation, elementwise, gather, layout, linear, policy, products, slicing};
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::kernels::creation::Range;
use crate::shape::kernels::gather::GatherND;
use crate::shape::kernels::linear::MatMul;
use crate::shape::kernels::slicing::Pad;
use crate::shape::kernels::sorting::Unique;
use crate::shape::op::op;
use crate::shape::run_time::{About, tuples, values, within};
use crate::shape::value::{Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    Bias::ALL,
    FastGelu::ALL,
    IsAllFinite::ALL,
    GatedAdd::ALL,
    CDist::ALL,
    CropAndResize::ALL,
    ExpandDims::ALL,
    FusedGemm::ALL,
    UnfoldTensor::ALL,
    Inverse::ALL,
    MoE::ALL,
    SkipLayerNormalization::ALL,
];

pub(super) const KERNELS: Family = &[
    op("BiasAdd", bias).free(),
    op("BiasGelu", bias).free().passes(),
    op("CDist", distances),
    op("CausalConvWithState", super::convolution::causal_conv),
    op("ComplexMul", elementwise::binary).free(),
    op("ComplexMulConj", elementwise::binary).free(),
    op("ConvTransposeWithDynamicPads", super::transposed_convolution::padded_conv_transpose),
    op("CropAndResize", crop_and_resize).at_run(&[within(2, CropAndResize::C1, About::Dimension(0, 0))]),
    op("ExpandDims", expand_dims).free(),
    op("FastGelu", fast_gelu).free().passes(),
    op("FusedConv", super::convolution::fused_conv).multiplies(products::convolution),
    op("FusedGemm", fused_gemm).multiplies(products::turned),
    op("FusedMatMul", fused_matmul).multiplies(products::turned).passes(),
    op("GatedAdd", gated_add).free(),
    op("GatherND", gather::gather_nd).free().at_run(&[tuples(1, GatherND::C3)]),
    op("Gelu", elementwise::unary).free().passes(),
    op("GridSample", super::sampling::grid_sample).free(),
    op("Inverse", inverse),
    op("IsAllFinite", is_all_finite).free(),
    op("MatMulInteger16", integer_matmul),
    op("MoE", experts),
    op("MurmurHash3", hash).free(),
    op("Pad", slicing::pad).free().at_run(&[values(
        1,
        Pad::C4,
        "the pads in {} leave no negative size and suit the mode",
    )]),
    op("QuickGelu", elementwise::unary).free().passes(),
    op("SampleOp", elementwise::unary).free(),
    op("Range", creation::range).free().at_run(&[values(2, Range::C2, "{} is not 0")]),
    op("SkipLayerNormalization", skip_norm).free().passes(),
    op("SkipSimplifiedLayerNormalization", skip_norm).free().passes(),
    op("TransposeMatMul", fused_matmul).multiplies(products::turned),
    op("Trilu", layout::trilu).free(),
    op("UnfoldTensor", unfold).free(),
    op("Unique", unique).free(),
];

clauses! { Bias {
    C1 "The bias has an element for each element of the input's last dimension."
} }

fn bias(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let Some(&last) = sizes.last() else {
        return Err(KernelError::invalid(Bias::C1, "the input is a scalar"));
    };
    vector(cx, call, 1, last, Bias::C1)?;
    call.one(sizes)
}

clauses! { FastGelu {
    C2 "For onnxruntime, the input is not a scalar."
} }

fn fast_gelu(cx: &mut Cx, call: &Checked) -> Outcome {
    let is_scalar = call.shape(0)?.is_empty();
    policy::onnxruntime_checks(cx, !is_scalar, FastGelu::C2, || "the input is a scalar".to_owned())?;
    if call.has(1) { bias(cx, call) } else { call.one(call.shape(0)?.to_vec()) }
}

clauses! { IsAllFinite {
    C1 "At most one of `isinf_only` and `isnan_only` is set."
    C2 "All inputs have the same element type."
} }

fn is_all_finite(_: &mut Cx, call: &Checked) -> Outcome {
    let both = call.int("isinf_only", 0) != 0 && call.int("isnan_only", 0) != 0;
    call.check(!both, IsAllFinite::C1, || "two flags exclude each other".to_owned())?;
    let first = call.given(0)?.dtype;
    let one = (1..call.count()).all(|at| call.tensor(at).is_none_or(|tensor| tensor.dtype == first));
    call.check(one, IsAllFinite::C2, || "operands are of several types".to_owned())?;
    Ok(vec![Tensor::new(call.output_type(0).unwrap_or(Dtype::Bool), Vec::new()).into()])
}

clauses! { GatedAdd {
    C1 "The first two inputs have the same shape, and their last dimension is not empty."
    C2 "The gate has the shape of the other inputs, except for a last size of 1."
} }

fn gated_add(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    cx.require_same_shape(&sizes, call.shape(1)?, GatedAdd::C1)?;
    let Some((&last, leading)) = sizes.split_last() else {
        return Err(KernelError::invalid(GatedAdd::C1, "the input is a scalar"));
    };
    let some = cx.ge(last, 1);
    cx.require(some, GatedAdd::C1, |_| "the last dimension is empty".to_owned())?;
    let gate = [leading, &[Expr::ONE]].concat();
    cx.require_same_shape(call.shape(2)?, &gate, GatedAdd::C2)?;
    call.one(sizes)
}

clauses! { CDist {
    C1 "Inputs `A` and `B` have 2 dimensions and the same number of columns."
    C2 "For onnxruntime, `A` and `B` have columns."
} }

fn distances(cx: &mut Cx, call: &Checked) -> Outcome {
    let (a, b) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(a.len() == 2 && b.len() == 2, CDist::C1, || "operands have 2 dimensions".to_owned())?;
    cx.require_eq(a[1], b[1], CDist::C1, "lengths of rows")?;
    policy::not_empty(cx, &a[1..], CDist::C2)?;
    call.one(vec![a[0], b[0]])
}

clauses! { CropAndResize {
    C1 "Input `X` has 4 dimensions, `rois` is `[n, 4]`, `batch_indices` `[n]`, and `crop_size` two \
        positive numbers. Indices are those of batches."
    C2 "`mode` is `bilinear` or `nearest`."
} }

/// `[regions, c, height, width]`.
fn crop_and_resize(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, regions, batches) =
        (call.shape(0)?.to_vec(), call.shape(1)?.to_vec(), call.shape(2)?.to_vec());
    call.check(sizes.len() == 4 && regions.len() == 2 && batches.len() == 1, CropAndResize::C1, || {
        format!("ranks {}, {} and {}", sizes.len(), regions.len(), batches.len())
    })?;
    let mode = call.text("mode", "bilinear");
    call.check(matches!(mode, "bilinear" | "nearest"), CropAndResize::C2, || {
        format!("no mode is named {mode}")
    })?;
    let (four, two) = (cx.int(4), cx.int(2));
    cx.require_eq(regions[1], four, CropAndResize::C1, "the numbers of a region")?;
    cx.require_eq(regions[0], batches[0], CropAndResize::C1, "regions and batch indices")?;
    gather::inside(cx, call.given(2)?, sizes[0], CropAndResize::C1)?;
    gather::not_negative(call, 2, CropAndResize::C1)?;
    cx.require_same_shape(call.shape(3)?, &[two], CropAndResize::C1)?;
    let crop = layout::sizes_of(cx, call, 3, CropAndResize::C1)?;
    for &size in &crop {
        let positive = cx.ge(size, 1);
        cx.require(positive, CropAndResize::C1, |cx| format!("a size is {}", cx.show(size)))?;
    }
    call.one(vec![regions[0], sizes[1], crop[0], crop[1]])
}

clauses! { ExpandDims {
    C1 "The axis is one number within the rank of the result."
} }

fn expand_dims(cx: &mut Cx, call: &Checked) -> Outcome {
    let rank = call.shape(1)?.len();
    call.check(rank <= 1, ExpandDims::C1, || format!("the axis is of rank {rank}"))?;
    let mut shape = call.shape(0)?.to_vec();
    let axes = call.input_ints(cx, 1, ExpandDims::C1)?.unwrap_or_default();
    call.check(axes.len() == 1, ExpandDims::C1, || format!("there are {} axes", axes.len()))?;
    let at = call.axis(axes[0], shape.len() + 1, ExpandDims::C1)?;
    shape.insert(at, Expr::ONE);
    call.one(shape)
}

/// A matrix product of operands whose last two dimensions, or batches, may change places.
pub(super) fn fused_matmul(cx: &mut Cx, call: &Checked) -> Outcome {
    let side = |at: usize, transposed: &str, batch: &str| -> Result<Vec<Expr>, KernelError> {
        let mut sizes = call.shape(at)?.to_vec();
        let rank = sizes.len();
        if call.int(batch, 0) != 0 && rank > 2 {
            // The first dimension stands before the last one.
            let first = sizes.remove(0);
            sizes.insert(rank - 2, first);
        }
        if call.int(transposed, 0) != 0 && rank >= 2 {
            sizes.swap(rank - 1, rank - 2);
        }
        Ok(sizes)
    };
    let (a, b) = (side(0, "transA", "transBatchA")?, side(1, "transB", "transBatchB")?);
    let moves = |name: &str| call.int(name, 0) != 0;
    let batches_move = moves("transBatchA") || moves("transBatchB");
    call.check(!batches_move || a.len() == b.len() && a.len() > 2, MatMul::C5, || {
        format!("batches change places in operands of ranks {} and {}", a.len(), b.len())
    })?;
    // Only matrices that lie as they are stacked are taken as one.
    let flat = !batches_move && !moves("transA") && is_flat(&a, &b);
    let shape = stacked_product(cx, call, &a, &b, flat)?;
    call.one(shape)
}

clauses! { FusedGemm {
    C4 "The activation is known, and its parameters are given."
} }

/// A product, a sum and an activation.
fn fused_gemm(cx: &mut Cx, call: &Checked) -> Outcome {
    let activation = call.text("activation", "");
    let (known, needs): (bool, &[&str]) = match activation {
        "Relu" | "Sigmoid" | "Softplus" | "Softsign" | "Tanh" => (true, &[]),
        "Elu" | "LeakyRelu" | "ThresholdedRelu" => (true, &["activation_alpha"]),
        "HardSigmoid" | "ParametricSoftplus" | "ScaledTanh" => {
            (true, &["activation_alpha", "activation_beta"])
        }
        "Selu" => (true, &["activation_alpha", "activation_gamma"]),
        _ => (false, &[]),
    };
    call.check(known && needs.iter().all(|name| call.attribute(name).is_some()), FusedGemm::C4, || {
        format!("the activation {activation} is not known or has no parameters")
    })?;
    linear::gemm(cx, call)
}

clauses! { UnfoldTensor {
    C1 "`dim` is within the rank of the input."
    C2 "`size` is positive and at most the size of the dimension. `step` is positive."
} }

/// Windows of a size along a dimension, as a last dimension.
fn unfold(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    let at = call.axis(call.int("dim", -1), shape.len(), UnfoldTensor::C1)?;
    let (size, step) = (call.int("size", 0), call.int("step", 1));
    call.check(size > 0 && step > 0, UnfoldTensor::C2, || format!("size {size}, step {step}"))?;
    let (size, step) = (cx.int(size), cx.int(step));
    let fits = cx.ge(shape[at], size);
    cx.require(fits, UnfoldTensor::C2, |cx| format!("a window of {} does not fit", cx.show(size)))?;
    shape[at] = sizewise_kernels::windows(cx, shape[at], size, step, Expr::ONE);
    shape.push(size);
    call.one(shape)
}

clauses! { Inverse {
    C1 "The input has at least 2 dimensions, and its last two sizes are equal."
} }

fn inverse(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(sizes.len() >= 2, Inverse::C1, || format!("a matrix has 2 dimensions, not {}", sizes.len()))?;
    cx.require_eq(sizes[sizes.len() - 1], sizes[sizes.len() - 2], Inverse::C1, "rows and columns")?;
    call.one(sizes)
}

fn integer_matmul(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = product(cx, call, call.shape(0)?, call.shape(1)?)?;
    let signed = [0, 1].iter().any(|&at| call.tensor(at).is_some_and(|x| x.dtype == Dtype::I16));
    Ok(vec![Tensor::new(if signed { Dtype::I32 } else { Dtype::U32 }, shape).into()])
}

clauses! { MoE {
    C1 "`input` is `[.., hidden]`, and `router_probs` is `[rows, experts]`. `input` has rank 2 or 3, and \
        `k` is from 1 to the number of experts."
    C2 "The weights of experts fit `input` and `router_probs`. They are `[experts, inner, hidden]` and \
        `[experts, hidden, inner]`, or both with the last two sizes swapped."
    C3 "`fc2_experts_bias` is `[experts, hidden]`."
} }

/// The input's shape.
fn experts(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, router) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(matches!(sizes.len(), 2 | 3) && router.len() == 2, MoE::C1, || {
        format!("ranks {} and {}", sizes.len(), router.len())
    })?;
    let rows = cx.product(sizes[..sizes.len() - 1].to_vec());
    cx.require_eq(rows, router[0], MoE::C1, "rows of the input and of the router")?;
    let hidden = sizes[sizes.len() - 1];
    let (first, second) = (call.shape(2)?.to_vec(), call.shape(4)?.to_vec());
    call.check(first.len() == 3 && second.len() == 3, MoE::C2, || "weights have 3 dimensions".to_owned())?;
    let gated = call.text("activation_type", "relu") == "swiglu";
    cx.require_same_shape(&[first[0], second[0]], &[router[1], router[1]], MoE::C2)?;
    let mut layouts = Vec::new();
    for (row, column) in [(2, 1), (1, 2)] {
        let width = if gated { cx.mul(second[row], 2) } else { second[row] };
        let fits = [cx.eq(second[column], hidden), cx.eq(first[row], hidden), cx.eq(first[column], width)];
        layouts.push(cx.all(&fits));
    }
    let fine = cx.any(&layouts);
    cx.require(fine, MoE::C2, |cx| {
        format!("weights {} and {} for {}", cx.show_all(&first), cx.show_all(&second), cx.show(hidden))
    })?;
    if call.has(5) {
        cx.require_same_shape(call.shape(5)?, &[router[1], hidden], MoE::C3)?;
    }
    let k = call.int("k", 1);
    let chosen = cx.int(k);
    let enough = cx.le(chosen, router[1]);
    call.check(k > 0, MoE::C1, || format!("k is {k}"))?;
    cx.require(enough, MoE::C1, |cx| format!("{k} of {} experts", cx.show(router[1])))?;
    call.one(sizes)
}

/// A hash of each string.
fn hash(_: &mut Cx, call: &Checked) -> Outcome {
    let dtype = if call.int("positive", 1) != 0 { Dtype::U32 } else { Dtype::I32 };
    Ok(vec![Tensor::new(dtype, call.shape(0)?.to_vec()).into()])
}

clauses! { SkipLayerNormalization {
    C1 "`skip` has the shape of `input`, or broadcasts along its batch dimension."
    C2 "`gamma`, `beta` and `bias` have an element for each of the last dimension. For onnxruntime, that \
        is not empty."
    C3 "`epsilon` is not negative."
} }

/// The normalized sum of input, skip and bias, and the sum.
fn skip_norm(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(matches!(sizes.len(), 2 | 3), SkipLayerNormalization::C1, || {
        format!("the input has rank {}", sizes.len())
    })?;
    let skip = call.shape(1)?.to_vec();
    let fine = matches!(skip.len(), 2 | 3) && (skip.len() == sizes.len() || skip.len() + 1 == sizes.len());
    call.check(fine, SkipLayerNormalization::C1, || format!("the skip has rank {}", skip.len()))?;
    let shift = sizes.len() - skip.len();
    for (dim, &size) in skip.iter().enumerate() {
        let own = sizes[shift + dim];
        if shift + dim == 0 && sizes.len() == 3 {
            // onnxruntime repeats a skip of any batch.
            if cx.on_cpu() {
                continue;
            }
            cx.require_expandable(&[size], &[own], SkipLayerNormalization::C1)?;
        } else {
            cx.require_eq(size, own, SkipLayerNormalization::C1, "the input and the skip")?;
        }
    }
    let last = sizes[sizes.len() - 1];
    let epsilon = call.float("epsilon").unwrap_or(0.0);
    call.check(epsilon >= 0.0, SkipLayerNormalization::C3, || format!("epsilon is {epsilon}"))?;
    policy::not_empty(cx, &[last], SkipLayerNormalization::C2)?;
    for at in 2..call.count() {
        if call.has(at) {
            vector(cx, call, at, last, SkipLayerNormalization::C2)?;
        }
    }
    let dtype = call.given(0)?.dtype;
    let mut statistics = sizes.clone();
    statistics[sizes.len() - 1] = Expr::ONE;
    let statistic = || Value::from(Tensor::new(Dtype::F32, statistics.clone()));
    let all = || Value::from(Tensor::new(dtype, sizes.clone()));
    Ok(vec![all(), statistic(), statistic(), all()])
}

fn unique(cx: &mut Cx, call: &Checked) -> Outcome {
    let rank = call.shape(0)?.len();
    call.check(rank == 1, Unique::C1, || format!("the input has 1 dimension, not {rank}"))?;
    let along = call.shape(0)?[0];
    let least = cx.min(along, 1).as_inline().unwrap_or(0);
    let count = cx.unbacked_size(least, Some(along));
    let indices = |size: Expr| Tensor::new(Dtype::I64, vec![size]).into();
    Ok(vec![call.output(0, vec![count])?.into(), indices(along), indices(count)])
}
