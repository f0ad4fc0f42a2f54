//! Connectionist temporal classification: the loss over all alignments of a sequence of labels with a longer one, and
//! its gradient.
use super::embedding::check_indices;
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[ctc_loss::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    with_alignments => "aten._ctc_loss.default", "aten._ctc_loss.Tensor";
    loss => "aten.ctc_loss.IntList", "aten.ctc_loss.Tensor";
    backward => "aten._ctc_loss_backward.default", "aten._ctc_loss_backward.Tensor";
};

/// A length of each sequence: numbers, or a tensor of them, whose values only running tells.
enum Lengths<'a> {
    Numbers(&'a [Expr]),
    Data(&'a Tensor),
}

fn lengths<'a>(args: &'a Args, name: &str) -> Result<Lengths<'a>, KernelError> {
    Ok(match args.value(name)? {
        Value::Tensor(t) => Lengths::Data(t),
        _ => Lengths::Numbers(args.ints(name)?),
    })
}

/// The conditions of [`loss`] on `[t, n, c]`; the greatest length of a target, where it is told.
fn checked(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Option<Expr>, KernelError> {
    cx.rank(x, 3, ctc_loss::C1, "the input")?;
    cx.require_kind(x, Domain::SINGLE_DOUBLE.on_cpu(), ctc_loss::C1)?;
    let numel = cx.numel(x);
    let filled = cx.ne(numel, 0);
    cx.require(filled, ctc_loss::C1, |_| "the input is empty".into())?;
    let (steps, batch, blank) = (x.size(0), x.size(1), args.int("blank")?);
    let (least, most) = (cx.ge(blank, 0), cx.lt(blank, x.size(2)));
    let label = cx.all(&[least, most]);
    cx.require(label, ctc_loss::C2, |cx| format!("the blank {} is no label", cx.show(blank)))?;
    let targets = args.tensor("targets")?;
    check_indices(cx, targets, ctc_loss::C3)?;
    cx.check(matches!(targets.rank(), 1 | 2), ctc_loss::C3, |_| {
        format!("targets are to have 1 or 2 dimensions, not {}", targets.rank())
    })?;
    let mut longest = Some(Expr::ZERO);
    for (name, limit) in [("input_lengths", Some(steps)), ("target_lengths", None)] {
        match lengths(args, name)? {
            Lengths::Data(t) => {
                cx.check(t.dtype.is_integral() && !t.dtype.is_bool(), ctc_loss::C4, |_| {
                    format!("{name} are to be integers, not {}", t.dtype)
                })?;
                let count = cx.numel(t);
                cx.require_eq(count, batch, ctc_loss::C4, &format!("{name} are not one for each sequence"))?;
                longest = None;
            }
            Lengths::Numbers(list) => {
                let count = cx.int(list.len() as i64);
                cx.require_eq(count, batch, ctc_loss::C4, &format!("{name} are not one for each sequence"))?;
                for &length in list {
                    let (mut within, natural) = (vec![], cx.ge(length, 0));
                    within.push(natural);
                    within.extend(limit.map(|limit| cx.le(length, limit)));
                    let within = cx.all(&within);
                    cx.require(within, ctc_loss::C5, |cx| {
                        format!("{name}: {} is out of range", cx.show(length))
                    })?;
                    if limit.is_none() {
                        longest = longest.map(|longest| cx.max(longest, length));
                    }
                }
            }
        }
    }
    if let (Some(longest), Lengths::Numbers(list)) = (longest, lengths(args, "target_lengths")?) {
        if targets.rank() == 1 {
            let all = cx.sum(list.iter().copied());
            cx.require_eq(targets.size(0), all, ctc_loss::C6, "the targets are not as long as all of them")?;
        } else {
            cx.require_eq(targets.size(0), batch, ctc_loss::C6, "the targets are not one for each sequence")?;
            let enough = cx.ge(targets.size(1), longest);
            cx.require(enough, ctc_loss::C6, |cx| {
                format!(
                    "a target of {} exceeds the targets' size {}",
                    cx.show(longest),
                    cx.show(targets.size(1))
                )
            })?;
        }
    }
    Ok(longest)
}

/// `_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool
/// zero_infinity=False) -> (Tensor, Tensor)`: the loss of each sequence `[n]`, and the alignments `[n, t, 2 * s + 1]`,
/// `s` being the greatest length of a target.
fn with_alignments(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("log_probs")?;
    let states = match checked(cx, args, x)? {
        Some(longest) => {
            let labels = cx.mul(longest, 2);
            cx.add(labels, 1)
        }
        None => cx.unbacked_size(1, None),
    };
    let results = [
        cx.contiguous([x.size(1)].as_slice(), x.dtype, &x.device),
        cx.contiguous([x.size(1), x.size(0), states].as_slice(), x.dtype, &x.device),
    ];
    Ok(results.into_iter().map(Value::from).collect())
}

/// `ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int
/// reduction=1, bool zero_infinity=False) -> Tensor`: of `[t, n, c]` `[n]`, of `[t, c]` a number; reduced, a number.
fn loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("log_probs")?;
    let batched = x.rank() != 2;
    let lifted = if batched {
        (**x).clone()
    } else {
        let [steps, labels] = [x.sizes[0], x.sizes[1]];
        x.viewed(Sizes::from_slice(&[steps, Expr::ONE, labels]), Sizes::from_slice(&[Expr::ONE; 3]))
    };
    checked(cx, args, &lifted)?;
    let reduced = matches!(cx.literal(args.int("reduction")?, ctc_loss::reduction)?, 1 | 2);
    let sizes: &[Expr] = if reduced || !batched { &[] } else { &lifted.sizes[1..2] };
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { ctc_loss {
    C1 "`log_probs` is not empty, has 3 dimensions (2 without a batch), and is of `float32` or `float64`."
    C2 "`blank` is the index of a label."
    C3 "`targets` is of `int32` or `int64`, and has 1 or 2 dimensions."
    C4 "There is an input length and a target length for each sequence."
    C5 "No length is negative, and no input length exceeds the number of steps."
    C6 "`targets` is as long as the target lengths require. In 1 dimension its size is their sum; in 2 it \
        has a row for each sequence, at least as long as the longest target."
    C7 "The gradient, the losses and the alignments have the dtype of `log_probs`."
    C8 "`grad` and `neg_log_likelihood` have 1 dimension, and `log_alpha` has 3."
    reduction "`reduction` is a known number."
} }

/// `_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor
/// neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor`: shaped like `log_probs`.
fn backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("log_probs")?;
    checked(cx, args, x)?;
    for (name, rank) in [("grad", 1), ("neg_log_likelihood", 1), ("log_alpha", 3)] {
        cx.same_dtype(&[x, args.tensor(name)?], ctc_loss::C7)?;
        cx.rank(args.tensor(name)?, rank, ctc_loss::C8, name)?;
    }
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}
