//! onnxruntime's operators that generate sequences of tokens with the graphs that they hold. These graphs are not
//! followed.
use super::{Family, policy};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::value::{Tensor, Value};
use crate::shape::{Attribute, Dtype};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Generation::ALL];

pub(super) const CONTRIB: Family = &[
    op("BeamSearch", beam_search),
    op("GreedySearch", single_search),
    op("Sampling", single_search),
    op("WhisperBeamSearch", beam_search),
];

/// The sequences `[batch, returned, most]`, their scores `[batch, returned]`, and those of all tokens, `[most - length,
/// batch, beams, vocabulary]`.
fn beam_search(cx: &mut Cx, call: &Checked) -> Outcome {
    const CLAUSE: &OpClause = Generation::C4;
    let [batch, most, length, vocabulary] = start(cx, call, 7)?;
    let beams = number(cx, call, 3, "the number of beams")?.unwrap_or(Expr::ONE);
    let returned = number(cx, call, 4, "the number of returned sequences")?.unwrap_or(Expr::ONE);
    single(cx, call, 5, "the penalty")?;
    call.check(call.int("eos_token_id", -1) >= 0, Generation::C5, || {
        "the token that ends sequences has no id".to_owned()
    })?;
    policy::onnxruntime_checks(cx, call.has(2) && call.has(5), Generation::C5, || {
        "the least length and the penalty are to be given".to_owned()
    })?;
    let kind = call.int("model_type", if call.op() == "BeamSearch" { 0 } else { 2 });
    let encodes = kind == 0 || call.attribute("encoder").is_some();
    call.check((0..=2).contains(&kind) && encodes, Generation::C5, || {
        format!("a model of type {kind}, {} encoder", if encodes { "with its" } else { "without an" })
    })?;
    let (some, enough, bounded) = (cx.ge(returned, 1), cx.le(returned, beams), cx.le(beams, 128));
    let fine = cx.all(&[some, enough]);
    cx.require(fine, CLAUSE, |cx| format!("{} of {} beams", cx.show(returned), cx.show(beams)))?;
    policy::onnxruntime(cx, bounded, CLAUSE, |cx| format!("there are {} beams", cx.show(beams)))?;
    let scores = call.output_type(1).unwrap_or(Dtype::F32);
    let steps = cx.sub(most, length);
    Ok(vec![
        Tensor::new(Dtype::I32, vec![batch, returned, most]).into(),
        Tensor::new(scores, vec![batch, returned]).into(),
        Tensor::new(scores, vec![steps, batch, beams, vocabulary]).into(),
        // How many layers and heads there are, the graphs decide.
        Tensor::unranked(Dtype::F32).into(),
        Tensor::new(Dtype::F32, vec![batch]).into(),
    ])
}

/// The sequences `[batch, most]`, and for samples the scores of the last tokens, `[batch, vocabulary]`.
fn single_search(cx: &mut Cx, call: &Checked) -> Outcome {
    let kind = call.int("model_type", 0);
    policy::onnxruntime_checks(cx, kind == 0, Generation::C6, || format!("the model is of type {kind}"))?;
    let [batch, most, _, vocabulary] = start(cx, call, 4)?;
    let sequences = Tensor::new(Dtype::I32, vec![batch, most]).into();
    if call.op() == "GreedySearch" {
        return Ok(vec![sequences]);
    }
    policy::onnxruntime_checks(cx, !call.wants(1), Generation::C6, || {
        "the kernel does not make the scores".to_owned()
    })?;
    if call.has(7) {
        cx.require_same_shape(call.shape(7)?, &[batch, vocabulary], Generation::C3)?;
    }
    let scores: Value = Tensor::new(Dtype::F32, vec![batch, vocabulary]).into();
    Ok(vec![sequences, scores])
}

clauses! { Generation {
    C1 "The first input is `[batch, length]`, or `[batch, bins, frames]` for Whisper. For onnxruntime, \
        sequences are not empty."
    C2 "`max_length` is greater than the number of given tokens. For onnxruntime it is at most 4,096. \
        Lengths are single numbers, and `repetition_penalty` is positive."
    C3 "Masks fit the ids and the vocabulary. They are `[vocabulary]`, `[batch, vocabulary]` and `[batch, \
        length]`."
    C4 "`num_return_sequences` is from 1 to `num_beams`, which onnxruntime takes up to 128."
    C5 "`eos_token_id` is not negative, and models but those of type 0 have an encoder. onnxruntime needs \
        `min_length` and `length_penalty`."
    C6 "onnxruntime's CPU kernel runs models of type 0, and does not return the scores."
} }

/// The batch, the length of the longest sequence, that of those that are given, and the size of the vocabulary.
fn start(cx: &mut Cx, call: &Checked, masks: usize) -> Result<[Expr; 4], KernelError> {
    const LENGTHS: &OpClause = Generation::C2;
    if call.call.attributes.iter().any(|(_, value)| matches!(value, Attribute::Other('g'))) {
        call.doubt("the graphs within it are not followed");
    }
    let is_whisper = call.op() == "WhisperBeamSearch" || call.int("model_type", 0) == 2;
    let ids = call.shape(0)?.to_vec();
    let rank = if is_whisper { 3 } else { 2 };
    call.check(ids.len() == rank, Generation::C1, || {
        format!("input 0 has {rank} dimensions, not {}", ids.len())
    })?;
    let length = if is_whisper || call.int("model_type", 0) == 1 {
        let given = call.tensor(10).and_then(|given| given.shape.as_deref());
        given.and_then(|sizes| sizes.get(1)).copied().unwrap_or(Expr::ONE)
    } else {
        ids[1]
    };
    let most = match number(cx, call, 1, "the greatest length")? {
        Some(most) => most,
        None => cx.int(4_096),
    };
    let (longer, bounded) = (cx.gt(most, length), cx.le(most, 4_096));
    cx.require(longer, LENGTHS, |cx| {
        format!("a length of {} for {} tokens", cx.show(most), cx.show(length))
    })?;
    policy::onnxruntime(cx, bounded, LENGTHS, |cx| format!("a length of {}", cx.show(most)))?;
    let (none, some) = (cx.eq(ids[0], 0), cx.ge(length, 1));
    let filled = cx.any(&[none, some]);
    policy::onnxruntime(cx, filled, Generation::C1, |_| "there are no tokens to begin with".to_owned())?;
    single(cx, call, 2, "the least length")?;
    if call.has(masks - 1) {
        let penalty = call.given(masks - 1)?.single().and_then(|penalty| penalty.number());
        let count = cx.product(call.shape(masks - 1)?.to_vec());
        let some = cx.ge(count, 1);
        cx.require(some, LENGTHS, |_| "the penalty of repetitions is missing".to_owned())?;
        call.check(penalty.is_none_or(|penalty| penalty > 0.0), LENGTHS, || {
            "the penalty of repetitions is not positive".to_owned()
        })?;
    }
    let vocabulary = vocabulary(cx, call, masks)?;
    let expected = [vec![vocabulary], vec![ids[0], vocabulary], ids.clone()];
    let count = if is_whisper { 2 } else { 3 };
    for (at, expected) in expected.iter().enumerate().take(count) {
        if call.has(masks + at) {
            cx.require_same_shape(call.shape(masks + at)?, expected, Generation::C3)?;
        }
    }
    Ok([ids[0], most, length, vocabulary])
}

/// The size of the vocabulary: an attribute, else that of a mask, else the graphs decide it.
fn vocabulary(cx: &mut Cx, call: &Checked, mask: usize) -> Result<Expr, KernelError> {
    let stated = call.int("vocab_size", -1);
    call.check(stated >= -1, Generation::C3, || format!("the size of the vocabulary is {stated}"))?;
    if stated > 0 {
        return Ok(cx.int(stated));
    }
    for at in [mask, mask + 1] {
        if call.has(at) && call.shape(at)?.len() == at + 1 - mask {
            return Ok(call.shape(at)?[at - mask]);
        }
    }
    Ok(cx.unbacked_size(1, None))
}

/// The number that an input holds, if it is given.
fn number(cx: &mut Cx, call: &Checked, at: usize, what: &str) -> Result<Option<Expr>, KernelError> {
    if !call.has(at) {
        return Ok(None);
    }
    single(cx, call, at, what)?;
    Ok(Some(match call.given(at)?.single().and_then(|number| number.int()) {
        Some(number) => number,
        None => cx.unbacked_size(0, None),
    }))
}

/// Requires that an input is one number, if it is given.
fn single(cx: &mut Cx, call: &Checked, at: usize, what: &str) -> Result<(), KernelError> {
    if !call.has(at) {
        return Ok(());
    }
    let rank = call.shape(at)?.len();
    policy::onnxruntime_checks(cx, rank <= 1, Generation::C2, || format!("{what} has rank {rank}"))?;
    let count = cx.product(call.shape(at)?.to_vec());
    cx.require_eq(count, Expr::ONE, Generation::C2, what)
}
