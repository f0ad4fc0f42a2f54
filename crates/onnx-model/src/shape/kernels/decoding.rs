//! onnxruntime's operators around the decoding of tokens.
use super::Family;
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::{About, within};
use crate::shape::value::{Element, Elements, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[BifurcationDetector::ALL, DynamicTimeWarping::ALL, NGramRepeatBlock::ALL];

pub(super) const CONTRIB: Family = &[
    op("BifurcationDetector", bifurcation),
    op("DynamicTimeWarping", time_warping),
    op("NGramRepeatBlock", repeat_block).at_run(&[within(0, NGramRepeatBlock::C3, About::Dimension(1, 1))]),
];

clauses! { BifurcationDetector {
    C1 "The inputs of tokens have 1 dimension."
    C2 "The index of the previous match is one number, which is not negative."
    C3 "There is one predicted token more than source tokens from the previous match on."
} }

/// The tokens, followed by the predicted ones up to where they leave the source, and where the suffix matches.
fn bifurcation(cx: &mut Cx, call: &Checked) -> Outcome {
    for at in [0, 1, 3] {
        if call.has(at) {
            let rank = call.shape(at)?.len();
            call.check(rank == 1, BifurcationDetector::C1, || format!("tokens have rank {rank}"))?;
        }
    }
    let (source, mut length) = (call.shape(0)?[0], call.shape(1)?[0]);
    let index = call.shape(2)?.to_vec();
    let count = cx.product(index.clone());
    cx.require_eq(count, Expr::ONE, BifurcationDetector::C2, "the number of indices")?;
    if call.has(3) {
        let predicted = call.shape(3)?[0];
        let start = call.given(2)?.single().and_then(|start| start.int());
        if let Some(start) = start {
            let natural = cx.ge(start, 0);
            cx.require(natural, BifurcationDetector::C2, |_| "the index is negative".to_owned())?;
            let expected = cx.add(source, 1);
            let expected = cx.sub(expected, start);
            cx.require_eq(predicted, expected, BifurcationDetector::C3, "predicted tokens")?;
        }
        let taken = match agreeing(call, start) {
            Some(taken) => cx.int(taken),
            None => cx.unbacked_size(0, Some(predicted)),
        };
        length = cx.add(length, taken);
    }
    let index = Tensor::new(Dtype::I64, index);
    Ok(vec![Tensor::new(Dtype::I64, vec![length]).into(), index.into()])
}

/// How many predicted tokens are taken: those that are as in the source, and the first that is not.
fn agreeing(call: &Checked, start: Option<Expr>) -> Option<i64> {
    let start = usize::try_from(start?.as_inline()?).ok()?;
    let numbers = |at: usize| -> Option<Vec<i64>> {
        call.tensor(at)?.ints()?.iter().map(|token| token.as_inline()).collect()
    };
    let (source, predicted) = (numbers(0)?, numbers(3)?);
    let same = predicted.iter().zip(source.get(start..)?).take_while(|(a, b)| a == b).count();
    i64::try_from((same + 1).min(predicted.len())).ok()
}

clauses! { DynamicTimeWarping {
    C1 "The input is `[rows, columns]`, or `[1, rows, columns]`."
} }

/// `[2, length of the path]`.
fn time_warping(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let (rows, columns) = match *sizes.as_slice() {
        [rows, columns] => (rows, columns),
        [one, rows, columns] => {
            cx.require_eq(one, Expr::ONE, DynamicTimeWarping::C1, "the first size")?;
            (rows, columns)
        }
        _ => {
            return Err(KernelError::invalid(
                DynamicTimeWarping::C1,
                format!("the input has rank {}", sizes.len()),
            ));
        }
    };
    let two = cx.int(2);
    // Without rows or columns there is no path; of one row it takes every column.
    let (no_rows, no_columns) = (rows == Expr::ZERO, columns == Expr::ZERO);
    let length = if no_rows || no_columns {
        Expr::ZERO
    } else if rows == Expr::ONE {
        columns
    } else if let Some(length) = path_length(call.given(0)?, rows, columns) {
        cx.int(length)
    } else {
        let most = cx.add(rows, columns);
        cx.unbacked_size(0, Some(most))
    };
    Ok(vec![Tensor::new(Dtype::I32, vec![two, length]).into()])
}

/// The number of steps of the path through known costs, as onnxruntime takes them: to where the costs so far are less
/// than both others, and along the columns otherwise.
fn path_length(costs: &Tensor, rows: Expr, columns: Expr) -> Option<i64> {
    let costs: Vec<f32> =
        costs.list()?.iter().map(|cost| cost.number().map(|cost| cost as f32)).collect::<Option<_>>()?;
    let (rows, columns) =
        (usize::try_from(rows.as_inline()?).ok()?, usize::try_from(columns.as_inline()?).ok()?);
    let width = columns + 1;
    let mut sums = vec![f32::INFINITY; (rows + 1) * width];
    sums[0] = 0.0;
    // A step back: over a row and a column, over a row, over a column.
    let mut steps = vec![(0, 1); (rows + 1) * width];
    for row in 1..=rows {
        steps[row * width] = (1, 0);
    }
    for column in 1..=columns {
        for row in 1..=rows {
            let at = row * width + column;
            let (both, above, beside) = (sums[at - width - 1], sums[at - width], sums[at - 1]);
            let (sum, step) = if both < above && both < beside {
                (both, (1, 1))
            } else if above < both && above < beside {
                (above, (1, 0))
            } else {
                (beside, (0, 1))
            };
            sums[at] = costs[(row - 1) * columns + column - 1] + sum;
            steps[at] = step;
        }
    }
    let (mut row, mut column, mut length) = (rows, columns, 0);
    while row > 0 || column > 0 {
        let (up, back) = steps[row * width + column];
        (row, column, length) = (row - up, column - back, length + 1);
    }
    Some(length)
}

clauses! { NGramRepeatBlock {
    C1 "`input_ids` is `[batch, length]` and `scores` is `[batch, vocabulary]`."
    C2 "`ngram_size` is positive."
    C3 "The ids that would repeat an n-gram are within the vocabulary."
} }

/// The scores.
fn repeat_block(cx: &mut Cx, call: &Checked) -> Outcome {
    let (ids, scores) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(ids.len() == 2 && scores.len() == 2, NGramRepeatBlock::C1, || {
        "operands have 2 dimensions".to_owned()
    })?;
    cx.require_eq(ids[0], scores[0], NGramRepeatBlock::C1, "batches")?;
    let size = call.int("ngram_size", 0);
    call.check(size > 0, NGramRepeatBlock::C2, || format!("the n-gram has {size} ids"))?;
    if let Some(Elements::Fill(Element::Int(id))) = &call.given(0)?.elements {
        let size = cx.int(size);
        let (none, short) = (cx.eq(ids[0], 0), cx.lt(ids[1], size));
        let (natural, inside) = (cx.ge(*id, 0), cx.lt(*id, scores[1]));
        let inside = cx.all(&[natural, inside]);
        let fine = cx.any(&[none, short, inside]);
        cx.require(fine, NGramRepeatBlock::C3, |cx| {
            format!("{} is not within a vocabulary of {}", cx.show(*id), cx.show(scores[1]))
        })?;
    }
    call.one(scores)
}
