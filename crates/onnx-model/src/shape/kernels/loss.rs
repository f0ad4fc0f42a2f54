//! Losses.
use super::{Family, gather, policy};
use crate::shape::at_load::{self, Known};
use crate::shape::call::{Attribute, Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::run_time::{About, rule};
use crate::shape::value::{Element, Elements, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Loss::ALL];

pub(super) const KERNELS: Family = &free([
    op("NegativeLogLikelihoodLoss", negative_log_likelihood).infers(at_load::rank).at_run(&[rule(
        1,
        Loss::C5,
        About::Dimension(0, 1),
        "every label in {} that counts is one of # classes",
    )]),
    op("SoftmaxCrossEntropyLoss", cross_entropy).infers(at_load::rank).at_run(&[rule(
        1,
        Loss::C5,
        About::Dimension(0, 1),
        "every label in {} that counts is one of # classes",
    )]),
]);

clauses! { Loss {
    C1 "The scores have at least 2 dimensions, and the labels one less."
    C2 "The sizes of the labels are those of the scores, without the classes. onnxruntime also takes \
        smaller ones."
    C3 "The weights have 1 dimension, with an element for each class."
    C4 "`reduction` is `none`, `mean` or `sum`."
    C5 "Each label is the index of a class, or `ignore_index`."
    C6 "For onnxruntime, the scores are not empty. The function body reshapes them to `[0, 0, -1]`."
} }

/// The shape of the loss for scores `[n, c, ..]`: that of the labels `[n, ..]`, or a scalar where it is reduced.
fn loss(cx: &mut Cx, call: &Checked) -> Result<Vec<Expr>, KernelError> {
    let (scores, labels) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let reduction = call.text("reduction", "mean");
    // The function bodies, which onnxruntime runs, take any other name for a sum.
    let known = matches!(reduction, "none" | "mean" | "sum") || cx.on_cpu();
    call.check(known, Loss::C4, || format!("no reduction is named {reduction}"))?;
    call.check(scores.len() >= 2 && labels.len() + 1 == scores.len(), Loss::C1, || {
        format!("ranks {} and {}", scores.len(), labels.len())
    })?;
    let expected: Vec<Expr> = [&scores[..1], &scores[2..]].concat();
    // The body of one of them reshapes the scores: what becomes of their sizes is known where all are.
    let is_reshaped = call.op() == "SoftmaxCrossEntropyLoss";
    let of_scores = if is_reshaped { call.sizes_at_load(0) } else { Known::Yes };
    for (dim, (&label, &score)) in labels.iter().zip(&expected).enumerate() {
        let of_score = of_scores.and(call.size_at_load(0, if dim == 0 { 0 } else { dim + 1 }));
        let known = of_score.and(call.size_at_load(1, dim));
        if !cx.on_cpu() || known == Known::Yes {
            cx.require_eq(label, score, Loss::C2, "labels and scores")?;
            continue;
        }
        // The bodies gather scores by labels. Only sizes that are known when the model loads have to agree.
        let within = cx.le(label, score);
        cx.require(within, Loss::C2, |_| "there are more labels than scores".to_owned())?;
        if known == Known::Maybe && label != score {
            call.doubt("labels and scores disagree, if onnxruntime knows their sizes");
        }
    }
    let labels_that_count = counted_labels(call)?;
    gather::inside(cx, &labels_that_count, scores[1], Loss::C5)?;
    if call.has(2) {
        let weights = call.shape(2)?.to_vec();
        call.check(weights.len() == 1, Loss::C3, || format!("weights have rank {}", weights.len()))?;
        if cx.on_cpu() {
            // The bodies gather weights by labels, whatever the number of weights.
            gather::inside(cx, &labels_that_count, weights[0], Loss::C3)?;
        } else {
            cx.require_eq(weights[0], scores[1], Loss::C3, "weights and classes")?;
        }
    }
    Ok(if reduction == "none" { labels } else { Vec::new() })
}

/// The labels but for those that are to be ignored.
fn counted_labels(call: &Checked) -> Result<Tensor, KernelError> {
    let mut labels = call.given(1)?.clone();
    let Some(Attribute::Int(ignored)) = call.attribute("ignore_index") else { return Ok(labels) };
    let counts = |label: &Element| label.int().and_then(|e| e.as_inline()) != Some(*ignored);
    labels.elements = match labels.elements {
        Some(Elements::Fill(label)) if !counts(&label) => None,
        Some(Elements::List(list)) => {
            Some(Elements::List(list.iter().filter(|e| counts(e)).cloned().collect()))
        }
        other => other,
    };
    Ok(labels)
}

fn negative_log_likelihood(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = loss(cx, call)?;
    call.one(shape)
}

/// The loss, and the logarithms of probabilities.
fn cross_entropy(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = loss(cx, call)?;
    let scores = call.shape(0)?.to_vec();
    policy::not_empty(cx, &scores, Loss::C6)?;
    Ok(vec![call.output(0, shape)?.into(), call.output(1, scores)?.into()])
}
