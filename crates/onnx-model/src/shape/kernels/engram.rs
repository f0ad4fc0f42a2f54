//! onnxruntime's operators for memories that are looked up by n-grams of tokens.
use super::normalization::vector;
use super::{Family, policy};
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::values;
use crate::shape::value::{Element, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[EngramGate::ALL, NGramHash::ALL, VarlenNGramHash::ALL];

pub(super) const CONTRIB: Family = &[
    op("EngramGate", gate).passes(),
    op("NGramHashMapping", hashes).at_run(&[values(2, NGramHash::C2, "every size in {} is positive")]),
    op("VarlenNGramHashMapping", packed_hashes).at_run(&[
        values(2, NGramHash::C2, "every size in {} is positive"),
        values(3, NGramHash::C7, "the numbers in {} rise from 0 to the number of tokens"),
    ]),
];

clauses! { EngramGate {
    C1 "Keys and queries are `[batch, length, branches, hidden]`."
    C2 "Values are `[batch, length, hidden]`."
    C3 "Scales are `[branches, hidden]`."
    C4 "The second output needs the scale of the normalized values."
} }

/// The gated values, and they normalized, of the shape of the keys.
fn gate(cx: &mut Cx, call: &Checked) -> Outcome {
    let key = call.shape(0)?.to_vec();
    let &[batch, length, branches, hidden] = key.as_slice() else {
        return Err(KernelError::invalid(EngramGate::C1, format!("keys have rank {}", key.len())));
    };
    cx.require_same_shape(call.shape(1)?, &key, EngramGate::C1)?;
    cx.require_same_shape(call.shape(2)?, &[batch, length, hidden], EngramGate::C2)?;
    for at in 3..6 {
        if call.has(at) {
            cx.require_same_shape(call.shape(at)?, &[branches, hidden], EngramGate::C3)?;
        }
    }
    call.check(!call.wants(1) || call.has(5), EngramGate::C4, || {
        "the scale of normalized values is missing".to_owned()
    })?;
    let result = |at: usize| call.output(at, key.clone()).map(Value::from);
    Ok(vec![result(0)?, result(1)?])
}

/// What the attributes and the tables of the operators say.
struct Tables {
    /// The tokens before the current one.
    history: Expr,
    /// The heads of all lengths of n-grams.
    heads: Expr,
}

clauses! { NGramHash {
    C1 "`max_ngram_size` is at least 2, and `n_head_per_ngram` is positive. `pad_id` fits the type of the \
        ids."
    C2 "There is a multiplier for each token of an n-gram. Each head has a positive vocabulary size."
    C3 "There is an offset for each head."
    C4 "The token that ends a text is one number, for onnxruntime a scalar."
    C5 "Ids have 2 dimensions."
    C6 "The history is `[batch, max_ngram_size - 1]`. Segment ids have the shape of the ids."
    C7 "The row ends rise from 0 to the number of tokens, and each row has a token."
    C8 "`state_update_capacity` is from 0 to 8. If it is positive, update counts are given, one for each \
        row."
} }

fn tables(cx: &mut Cx, call: &Checked) -> Result<Tables, KernelError> {
    let (most, each) = (call.int("max_ngram_size", 0), call.int("n_head_per_ngram", 0));
    let pad = call.int("pad_id", 0);
    let fits = call.given(0)?.dtype != Dtype::I32 || i32::try_from(pad).is_ok();
    let heads = (most - 1).checked_mul(each);
    let Some(heads) = heads.filter(|_| most >= 2 && each >= 1 && fits) else {
        let message = format!("n-grams of {most}, {each} heads, the padding {pad}");
        return Err(KernelError::invalid(NGramHash::C1, message));
    };
    let (heads, most) = (cx.int(heads), cx.int(most));
    let multipliers = call.shape(1)?.to_vec();
    call.check(multipliers.len() == 1, NGramHash::C2, || {
        format!("multipliers have 1 dimension, not {}", multipliers.len())
    })?;
    let enough = cx.ge(multipliers[0], most);
    cx.require(enough, NGramHash::C2, |cx| {
        format!("{} multipliers for {} tokens", cx.show(multipliers[0]), cx.show(most))
    })?;
    vector(cx, call, 2, heads, NGramHash::C2)?;
    let is_positive = |element: &Element| element.number().is_none_or(|size| size > 0.0);
    let positive = call.given(2)?.list().is_none_or(|sizes| sizes.iter().all(is_positive));
    call.check(positive, NGramHash::C2, || "a size of a vocabulary is not positive".to_owned())?;
    Ok(Tables { history: cx.sub(most, 1), heads })
}

fn offsets(cx: &mut Cx, call: &Checked, heads: Expr, offsets: usize, end: usize) -> Result<(), KernelError> {
    if call.has(offsets) {
        vector(cx, call, offsets, heads, NGramHash::C3)?;
    }
    if call.has(end) {
        let rank = call.shape(end)?.len();
        policy::onnxruntime_checks(cx, rank == 0, NGramHash::C4, || format!("its rank is {rank}"))?;
        let count = cx.product(call.shape(end)?.to_vec());
        cx.require_eq(count, Expr::ONE, NGramHash::C4, "the number of tokens that end a text")?;
    }
    Ok(())
}

/// `[batch, length, heads]`, and the last tokens `[batch, history]`.
fn hashes(cx: &mut Cx, call: &Checked) -> Outcome {
    let ids = call.shape(0)?.to_vec();
    call.check(ids.len() == 2, NGramHash::C5, || format!("ids have 2 dimensions, not {}", ids.len()))?;
    let Tables { history, heads } = tables(cx, call)?;
    let last = vec![ids[0], history];
    if call.has(3) {
        cx.require_same_shape(call.shape(3)?, &last, NGramHash::C6)?;
    }
    offsets(cx, call, heads, 4, 5)?;
    if call.has(6) {
        cx.require_same_shape(call.shape(6)?, &ids, NGramHash::C6)?;
    }
    Ok(vec![call.output(0, vec![ids[0], ids[1], heads])?.into(), call.output(1, last)?.into()])
}

clauses! { VarlenNGramHash {
    C1 "The ids and the row ends have 1 dimension."
    C2 "The history and its segment ids are `[batch, history]`. Segment ids of the history need those of \
        the ids, which have the shape of the ids."
} }

/// As [`hashes`], of rows that are packed one after the other: `[tokens, heads]`, the last tokens and their segments,
/// `[batch, history]`, and the states that are captured, `[batch, capacity, history]`.
fn packed_hashes(cx: &mut Cx, call: &Checked) -> Outcome {
    let (ids, ends) = (call.shape(0)?.to_vec(), call.shape(3)?.to_vec());
    call.check(ids.len() == 1 && ends.len() == 1, VarlenNGramHash::C1, || {
        format!("ids and ends have 1 dimension, not {} and {}", ids.len(), ends.len())
    })?;
    let Tables { history, heads } = tables(cx, call)?;
    let enough = cx.ge(ends[0], 2);
    cx.require(enough, NGramHash::C7, |cx| format!("there are {} ends", cx.show(ends[0])))?;
    let batch = cx.sub(ends[0], 1);
    let filled = cx.ge(ids[0], batch);
    cx.require(filled, NGramHash::C7, |cx| format!("{} tokens in {} rows", cx.show(ids[0]), cx.show(batch)))?;
    known_ends(cx, call, ids[0])?;
    let last = vec![batch, history];
    for at in [4, 8] {
        if call.has(at) {
            cx.require_same_shape(call.shape(at)?, &last, VarlenNGramHash::C2)?;
        }
    }
    offsets(cx, call, heads, 5, 6)?;
    if call.has(7) {
        cx.require_same_shape(call.shape(7)?, &ids, VarlenNGramHash::C2)?;
    }
    call.check(call.has(7) || !call.has(8) && !call.wants(2), VarlenNGramHash::C2, || {
        "segments of the history need those of the ids".to_owned()
    })?;
    let captured = call.int("state_update_capacity", 0);
    call.check((0..=8).contains(&captured) && (captured > 0) == call.has(9), NGramHash::C8, || {
        format!("the capacity is {captured}, and counts are {}given", if call.has(9) { "" } else { "not " })
    })?;
    if call.has(9) {
        cx.require_same_shape(call.shape(9)?, &[batch], NGramHash::C8)?;
    }
    let captured = cx.int(captured);
    Ok(vec![
        call.output(0, vec![ids[0], heads])?.into(),
        call.output(1, last.clone())?.into(),
        Tensor::new(Dtype::I32, last).into(),
        call.output(3, vec![batch, captured, history])?.into(),
    ])
}

fn known_ends(cx: &mut Cx, call: &Checked, tokens: Expr) -> Result<(), KernelError> {
    let Some(ends) = call.given(3)?.numbers() else { return Ok(()) };
    let rising = ends.first() == Some(&0.0) && ends.windows(2).all(|pair| pair[0] < pair[1]);
    call.check(rising, NGramHash::C7, || "the ends do not rise from 0".to_owned())?;
    let Some(&end) = ends.last() else { return Ok(()) };
    let end = cx.int(end as i64);
    cx.require_eq(end, tokens, NGramHash::C7, "the last end and the number of tokens")
}
