//! Embeddings of tokens.
use super::normalization::vector;
use super::{Family, policy};
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::{About, within};
use crate::shape::value::Tensor;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[EmbedLayerNormalization::ALL, WordConvEmbedding::ALL];

pub(super) const KERNELS: Family = &[
    op("EmbedLayerNormalization", embed).free().makes_of(1, 7).at_run(&[
        within(0, EmbedLayerNormalization::C2, About::Dimension(2, 0)),
        within(1, EmbedLayerNormalization::C2, About::Dimension(4, 0)),
        within(8, EmbedLayerNormalization::C2, About::Dimension(3, 0)),
    ]),
    op("QEmbedLayerNormalization", quantized_embed).at_run(&[
        within(0, EmbedLayerNormalization::C2, About::Dimension(2, 0)),
        within(1, EmbedLayerNormalization::C2, About::Dimension(4, 0)),
    ]),
    op("WordConvEmbedding", word_embedding).at_run(&[within(
        0,
        WordConvEmbedding::C3,
        About::Dimension(3, 0),
    )]),
];

clauses! { EmbedLayerNormalization {
    C1 "`input_ids` is `[batch, length]`."
    C2 "Embeddings have 2 dimensions and the same hidden size. Ids are indices of their rows."
    C3 "`gamma` and `beta` have an element for each element of the hidden size."
    C4 "Segment ids, mask and position ids have the shape of `input_ids`. Segment ids and segment \
        embeddings are given together; position ids may have a batch size of 1."
    C5 "Scales and zero points have one element."
    C6 "Without position ids, the position embedding has a row for each position."
} }

/// `[batch, length, hidden]` and a length for each batch.
fn embed(cx: &mut Cx, call: &Checked) -> Outcome {
    let ids = call.shape(0)?.to_vec();
    call.check(ids.len() == 2, EmbedLayerNormalization::C1, || {
        format!("ids have 2 dimensions, not {}", ids.len())
    })?;
    let words = call.shape(2)?.to_vec();
    call.check(words.len() == 2, EmbedLayerNormalization::C2, || {
        format!("embeddings have rank {}", words.len())
    })?;
    let hidden = words[1];
    // onnxruntime takes no notice of embeddings of segments without ids.
    let is_paired = if call.has(1) { call.has(4) } else { !call.has(4) || cx.on_cpu() };
    call.check(is_paired, EmbedLayerNormalization::C4, || "segments come with embeddings".to_owned())?;
    for at in [3, 4] {
        if call.has(at) {
            let table = call.shape(at)?.to_vec();
            call.check(table.len() == 2, EmbedLayerNormalization::C2, || {
                format!("embeddings have rank {}", table.len())
            })?;
            cx.require_eq(table[1], hidden, EmbedLayerNormalization::C2, "hidden sizes")?;
        }
    }
    for at in [5, 6] {
        vector(cx, call, at, hidden, EmbedLayerNormalization::C3)?;
        // The inference of shapes refuses vectors of which it does not know the length.
        let message = "gamma and beta are to be initializers";
        policy::known_at_load(cx, call, call.sizes_at_load(at), EmbedLayerNormalization::C3, message)?;
    }
    policy::not_empty(cx, &[hidden], EmbedLayerNormalization::C3)?;
    for at in [1, 7] {
        if call.has(at) {
            cx.require_same_shape(&ids, call.shape(at)?, EmbedLayerNormalization::C4)?;
        }
    }
    if call.has(8) {
        let positions = call.shape(8)?.to_vec();
        // onnxruntime reads the first elements of positions with more dimensions.
        let is_taken = positions.len() == 2 || positions.len() > 2 && cx.on_cpu();
        call.check(is_taken, EmbedLayerNormalization::C4, || "positions have 2 dimensions".to_owned())?;
        for &size in &positions[2..] {
            let some = cx.ge(size, 1);
            cx.require(some, EmbedLayerNormalization::C4, |_| "there are no positions".to_owned())?;
        }
        cx.require_expandable(&positions[..2], &ids, EmbedLayerNormalization::C4)?;
        cx.require_eq(positions[1], ids[1], EmbedLayerNormalization::C4, "lengths")?;
    } else {
        positions_fit(cx, call, &ids)?;
    }
    let shape = vec![ids[0], ids[1], hidden];
    let dtype = call.given(2)?.dtype;
    Ok(vec![
        Tensor::new(dtype, shape.clone()).into(),
        Tensor::new(Dtype::I32, vec![ids[0]]).into(),
        Tensor::new(dtype, shape).into(),
    ])
}

fn positions_fit(cx: &mut Cx, call: &Checked, ids: &[Expr]) -> Result<(), KernelError> {
    if !call.has(3) {
        return Ok(());
    }
    let rows = call.shape(3)?[0];
    let (nothing, fits) = (cx.eq(ids[0], 0), cx.le(ids[1], rows));
    let fine = cx.any(&[nothing, fits]);
    cx.require(fine, EmbedLayerNormalization::C6, |cx| {
        format!("{} positions, and a table of {} rows", cx.show(ids[1]), cx.show(rows))
    })
}

/// As [`embed`], of quantized embeddings.
fn quantized_embed(cx: &mut Cx, call: &Checked) -> Outcome {
    let ids = call.shape(0)?.to_vec();
    let words = call.shape(2)?.to_vec();
    call.check(ids.len() == 2 && words.len() == 2, EmbedLayerNormalization::C1, || {
        format!("ids of rank {}, embeddings of rank {}", ids.len(), words.len())
    })?;
    let message = "the inference of shapes needs the sizes of embeddings";
    policy::known_at_load(cx, call, call.sizes_at_load(2), EmbedLayerNormalization::C2, message)?;
    let hidden = words[1];
    for at in [3, 4] {
        if call.has(at) {
            let table = call.shape(at)?.to_vec();
            cx.require_same_shape(
                &table,
                &[table.first().copied().unwrap_or(Expr::ONE), hidden],
                EmbedLayerNormalization::C2,
            )?;
        }
    }
    for at in [5, 6] {
        vector(cx, call, at, hidden, EmbedLayerNormalization::C3)?;
    }
    for at in [1, 7] {
        if call.has(at) {
            cx.require_same_shape(&ids, call.shape(at)?, EmbedLayerNormalization::C4)?;
        }
    }
    positions_fit(cx, call, &ids)?;
    for at in 8..call.count() {
        if call.has(at) {
            let count = cx.product(call.shape(at)?.to_vec());
            cx.require_eq(count, Expr::ONE, EmbedLayerNormalization::C5, "the number of scales")?;
        }
    }
    let shape = vec![ids[0], ids[1], hidden];
    Ok(vec![Tensor::new(call.given(8)?.dtype, shape).into(), Tensor::new(Dtype::I32, vec![ids[0]]).into()])
}

clauses! { WordConvEmbedding {
    C1 "Words, weight, bias and character embeddings fit each other. Words are `[words, letters, ..]`, the \
        weight `[embedding, 1, window, letter size, ..]`, embeddings of letters `[n, letter size, ..]`, \
        and the bias `[embedding]`."
    C2 "The attributes are the sizes of the inputs that they repeat. They are `embedding_size`, \
        `conv_window_size` and `char_embedding_size`."
    C3 "A word has at least as many letters as the window is wide."
} }

/// `[words, embedding]`.
fn word_embedding(cx: &mut Cx, call: &Checked) -> Outcome {
    let (words, weight) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let letters = call.shape(3)?.to_vec();
    call.check(words.len() >= 2 && weight.len() >= 4 && letters.len() >= 2, WordConvEmbedding::C1, || {
        format!("ranks {}, {} and {}", words.len(), weight.len(), letters.len())
    })?;
    vector(cx, call, 2, weight[0], WordConvEmbedding::C1)?;
    cx.require_eq(weight[3], letters[1], WordConvEmbedding::C1, "letter sizes")?;
    for (name, size) in
        [("embedding_size", weight[0]), ("conv_window_size", weight[2]), ("char_embedding_size", letters[1])]
    {
        let stated = call.int(name, -1);
        if stated != -1 {
            let stated = cx.int(stated);
            cx.require_eq(stated, size, WordConvEmbedding::C2, name)?;
        }
    }
    let fits = cx.ge(words[1], weight[2]);
    cx.require(fits, WordConvEmbedding::C3, |_| "a window does not fit a word".to_owned())?;
    call.one(vec![words[0], weight[0]])
}
