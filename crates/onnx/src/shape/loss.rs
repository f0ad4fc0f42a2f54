//! Losses.
use super::call::{Checked, Outcome};
use super::{Family, gather};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

pub(super) const KERNELS: Family =
    &[("NegativeLogLikelihoodLoss", negative_log_likelihood), ("SoftmaxCrossEntropyLoss", cross_entropy)];

/// The shape of the loss for scores `[n, c, ..]`: that of the labels `[n, ..]`, or a scalar where it is reduced.
///
/// (C1) Scores have at least 2 dimensions, labels one less. (C2) Their sizes agree. (C3) There is a weight for each
/// class. (C4) The reduction is known.
fn loss(cx: &mut Cx, call: &Checked) -> Result<Vec<Expr>, KernelError> {
    let (scores, labels) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let reduction = call.text("reduction", "mean");
    // The function body of the negative log likelihood takes any other name for a sum.
    let known = matches!(reduction, "none" | "mean" | "sum") || call.op() == "NegativeLogLikelihoodLoss";
    call.check(known, "Loss.C4", || format!("no reduction is named {reduction}"))?;
    call.check(scores.len() >= 2 && labels.len() + 1 == scores.len(), "Loss.C1", || {
        format!("ranks {} and {}", scores.len(), labels.len())
    })?;
    let expected: Vec<Expr> = [&scores[..1], &scores[2..]].concat();
    cx.require_same_shape(&labels, &expected, "Loss.C2")?;
    if call.has(2) {
        cx.require_same_shape(call.shape(2)?, &[scores[1]], "Loss.C3")?;
    }
    Ok(if reduction == "none" { labels } else { Vec::new() })
}

/// (C5) Labels are classes, unless one is ignored.
fn negative_log_likelihood(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = loss(cx, call)?;
    if call.attribute("ignore_index").is_none() {
        gather::inside(cx, call.given(1)?, call.shape(0)?[1], "Loss.C5")?;
    }
    call.one(shape)
}

/// The loss, and the logarithms of probabilities.
fn cross_entropy(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = loss(cx, call)?;
    let scores = call.shape(0)?.to_vec();
    Ok(vec![call.output(0, shape)?.into(), call.output(1, scores)?.into()])
}
