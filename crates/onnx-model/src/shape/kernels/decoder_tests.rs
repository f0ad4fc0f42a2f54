//! Statements about the shape functions of onnxruntime's operators for language models.
use crate::shape::tests::expect;

#[test]
fn attention_of_one_token_keeps_its_caches() {
    let cached =
        "com.microsoft::DecoderMaskedMultiHeadAttention-1 num_heads=2 past_present_share_buffer=1 outs=3";
    let of = |inputs: &str| format!("{cached} {inputs}");
    let cases: &[(&str, &str)] = &[
        (
            "f32[s0,1,8] f32[s0,1,8] f32[s0,1,8] - - f32[s0,2,6,4] f32[s0,2,6,4] i32[1]=3",
            "f32[s0,1,8] f32[s0,2,6,4] f32[s0,2,6,4]",
        ),
        (
            "f32[1,1,8] f32[1,1,8] f32[1,1,8] i32[1,4] - f32[1,2,s0,4] f32[1,2,s0,4] i32[]=3",
            "f32[1,1,8] f32[1,2,s0,4] f32[1,2,s0,4] if s0 >= 4",
        ),
        (
            "f32[1,2,8] f32[1,2,8] f32[1,2,8] - - f32[1,2,6,4] f32[1,2,6,4] i32[1]=3",
            "refused: DecoderMaskedAttention.C1",
        ),
        (
            "f32[1,1,8] f32[1,3,8] f32[1,3,8] - - f32[1,2,6,4] f32[1,2,6,4] i32[1]=3",
            "refused: DecoderMaskedAttention.C2",
        ),
        (
            "f32[1,1,8] f32[1,1,8] f32[1,1,8] - - f32[1,2,6,4] f32[1,2,6,4] i32[1]=6",
            "refused: DecoderMaskedAttention.C3",
        ),
        (
            "f32[1,1,8] f32[1,1,8] f32[1,1,8] - - f32[1,2,6,4] - i32[1]=3",
            "refused: DecoderMaskedAttention.C3",
        ),
        (
            "f32[1,1,8] f32[1,1,8] f32[1,1,8] i32[1,5] - f32[1,2,6,4] f32[1,2,6,4] i32[1]=3",
            "refused: DecoderMaskedAttention.C4",
        ),
        (
            "f32[2,1,8] f32[2,1,8] f32[2,1,8] - - f32[2,2,6,4] f32[2,2,6,4] i32[1]=3 i32[1]=2",
            "refused: DecoderMaskedAttention.C5",
        ),
        ("f32[1,1,24] - - - - f32[1,2,6,4] f32[1,2,6,4] i32[1]=3", "refused: DecoderMaskedAttention.C6"),
    ];
    for (inputs, expected) in cases {
        expect(&[(&of(inputs), expected)]);
    }
    expect(&[
        (
            "com.microsoft::DecoderMaskedMultiHeadAttention-1 num_heads=2 f32[s0,1,8] f32[s0,2,s1,4] f32[s0,2,s1,4]",
            "f32[s0,1,8]",
        ),
        (
            "com.microsoft::DecoderMaskedMultiHeadAttention-1 num_heads=2 f32[1,1,8] f32[1,2,5,3] f32[1,2,5,3]",
            "refused: DecoderMaskedAttention.C2",
        ),
    ]);
}

#[test]
fn sparse_attention_reads_its_layouts() {
    let of = |inputs: &str| {
        format!(
            "com.microsoft::SparseAttention-1 num_heads=2 kv_num_heads=1 sparse_block_size=16 outs=3 {inputs}"
        )
    };
    let cases: &[(&str, &str)] = &[
        (
            "f32[s0,4,16] f32[s0,4,8] f32[s0,4,8] f32[s0,1,32,8] f32[s0,1,32,8] \
             i32[1,3]=0,1,3 i32[1,3]=0,0,1 i32[1]=4 i32[s0]",
            "f32[s0,4,16] f32[s0,1,32,8] f32[s0,1,32,8] if s0 >= 1",
        ),
        (
            "f32[1,4,32] - - f32[1,1,32,8] f32[1,1,32,8] i32[1,3]=0,1,3 i32[1,3]=0,0,1 i32[1]=4 i32[1]=4",
            "f32[1,4,16] f32[1,1,32,8] f32[1,1,32,8]",
        ),
        (
            "f32[1,4,33] - - f32[1,1,32,8] f32[1,1,32,8] i32[1,3] i32[1,3] i32[1] i32[1]",
            "refused: SparseAttention.C1",
        ),
        (
            "f32[1,4,16] f32[1,4,8] - f32[1,1,32,8] f32[1,1,32,8] i32[1,3] i32[1,3] i32[1] i32[1]",
            "refused: SparseAttention.C2",
        ),
        (
            "f32[1,4,32] - - f32[1,2,32,8] f32[1,2,32,8] i32[1,3] i32[1,3] i32[1] i32[1]",
            "refused: SparseAttention.C3",
        ),
        (
            "f32[1,4,32] - - f32[1,1,32,8] f32[1,1,32,8] i32[3,3] i32[3,3] i32[1] i32[1]",
            "refused: SparseAttention.C4",
        ),
        (
            "f32[1,4,32] - - f32[1,1,3,8] f32[1,1,3,8] i32[1,3] i32[1,3] i32[1]=4 i32[1]",
            "refused: SparseAttention.C5",
        ),
        (
            "f32[1,4,16] - - f32[1,1,32,4] f32[1,1,32,4] i32[1,3] i32[1,3] i32[1] i32[1]",
            "refused: SparseAttention.C7",
        ),
        (
            "f32[1,4,32] - - f32[1,1,32,8] f32[1,1,32,8] i32[1,3]=0,2,1 i32[1,3]=0,0,1 i32[1]=4 i32[1]",
            "refused: SparseAttention.C8",
        ),
        (
            "f32[1,4,32] - - f32[1,1,32,8] f32[1,1,32,8] i32[1,3]=0,1,3 i32[1,3]=0,0,2 i32[1]=4 i32[1]",
            "refused: SparseAttention.C8",
        ),
        (
            "f32[1,4,32] - - f32[1,1,32,8] f32[1,1,32,8] i32[1,3] i32[1,3] i32[1]=9 i32[1]=3",
            "refused: SparseAttention.C9",
        ),
    ];
    for (inputs, expected) in cases {
        expect(&[(&of(inputs), expected)]);
    }
    expect(&[(
        "com.microsoft::SparseAttention-1 num_heads=1 kv_num_heads=1 sparse_block_size=16 do_rotary=1 outs=3 \
         f32[1,4,48] - - f32[1,1,32,16] f32[1,1,32,16] i32[1,3] i32[1,3] i32[1]=4 i32[1] f32[3,8] f32[3,8]",
        "refused: SparseAttention.C6",
    )]);
}

#[test]
fn weights_are_packed() {
    expect(&[
        ("com.microsoft::MatMulFpQ4-1 f32[s0,s1,40] u8[126] i64[2]=40,3", "f32[s0,s1,3]"),
        ("com.microsoft::MatMulFpQ4-1 blk_quant_type=0 f32[40] u8[120] i64[2]=40,3", "f32[3]"),
        ("com.microsoft::MatMulFpQ4-1 f32[2,40] u8[126] i64[3]=40,3,1", "refused: MatMulFpQ4.C1"),
        ("com.microsoft::MatMulFpQ4-1 f32[2,40] u8[126] i64[2]=40,0", "refused: MatMulFpQ4.C1"),
        ("com.microsoft::MatMulFpQ4-1 f32[2,40] u8[120] i64[2]=40,3", "refused: MatMulFpQ4.C2"),
        ("com.microsoft::MatMulFpQ4-1 f32[2,41] u8[126] i64[2]=40,3", "refused: MatMul.C2"),
        ("com.microsoft::MatMulFpQ4-1 f32[2,40] u8[126] i64[2]", "open"),
        (
            "com.microsoft::QMoE-1 f32[s0,s1,16] f32[s0*s1,4] u8[4,32,8] f32[4,32] - u8[4,16,16] f32[4,16,1]",
            "f32[s0,s1,16]",
        ),
        (
            "com.microsoft::QMoE-1 block_size=16 expert_weight_bits=8 f32[s0,32] f32[s0,4] u8[4,64,32] f32[4,64,2] - \
             u8[4,32,64] f32[4,32,4] - - - - u8[4,64,2] u8[4,32,4]",
            "f32[s0,32]",
        ),
        (
            "com.microsoft::QMoE-1 activation_type=swiglu swiglu_fusion=1 f32[3,16] f32[3,4] u8[4,16,32] f32[4,64] - \
             u8[4,32,8] f32[4,16]",
            "f32[3,16]",
        ),
        (
            "com.microsoft::QMoE-1 f32[3,16] f32[2,4] u8[4,32,8] f32[4,32] - u8[4,16,16] f32[4,16]",
            "refused: QMoE.C1",
        ),
        (
            "com.microsoft::QMoE-1 k=5 f32[3,16] f32[3,4] u8[4,32,8] f32[4,32] - u8[4,16,16] f32[4,16]",
            "refused: QMoE.C2",
        ),
        (
            "com.microsoft::QMoE-1 f32[3,16] f32[3,4] u8[4,32,9] f32[4,32] - u8[4,16,16] f32[4,16]",
            "refused: QMoE.C3",
        ),
        (
            "com.microsoft::QMoE-1 f32[3,16] f32[3,4] u8[4,32,8] f32[4,31] - u8[4,16,16] f32[4,16]",
            "refused: QMoE.C4",
        ),
        (
            "com.microsoft::QMoE-1 f32[3,16] f32[3,4] u8[4,32,8] f32[4,32] - u8[4,16,16] f32[4,16] - - - - u8[4,32]",
            "refused: QMoE.C5",
        ),
        (
            "com.microsoft::QMoE-1 f32[3,16] f32[3,4] u8[4,32,8] f32[4,32] f32[4,31] u8[4,16,16] f32[4,16]",
            "refused: QMoE.C6",
        ),
        ("com.microsoft::QMoE-1 f32[3,16] f32[3,4] u8[4,32,8] - - u8[4,16,16] f32[4,16]", "refused: QMoE.C7"),
    ]);
}

#[test]
fn linear_attention_returns_its_state() {
    let of = |heads: &str, inputs: &str| format!("com.microsoft::LinearAttention-1 {heads} outs=2 {inputs}");
    for (heads, inputs, expected) in [
        (
            "q_num_heads=2 kv_num_heads=4 update_rule=linear",
            "f32[s0,s1,8] f32[s0,s1,8] f32[s0,s1,12]",
            "f32[s0,s1,12] f32[s0,4,4,3]",
        ),
        (
            "q_num_heads=4 kv_num_heads=2",
            "f32[1,5,16] f32[1,5,8] f32[1,5,6] f32[1,2,4,3] f32[1,5,8] f32[1,5,1]",
            "f32[1,5,12] f32[1,2,4,3]",
        ),
        (
            "q_num_heads=2 kv_num_heads=2 update_rule=linear",
            "f32[1,5,0] f32[1,5,8] f32[1,5,6]",
            "refused: LinearAttention.C1",
        ),
        (
            "q_num_heads=2 kv_num_heads=3 update_rule=linear",
            "f32[1,5,8] f32[1,5,8] f32[1,5,6]",
            "refused: LinearAttention.C2",
        ),
        (
            "q_num_heads=2 kv_num_heads=2 update_rule=linear",
            "f32[1,5,8] f32[1,5,8] f32[1,5,6] f32[1,2,4,2]",
            "refused: LinearAttention.C3",
        ),
        (
            "q_num_heads=2 kv_num_heads=2 update_rule=quick",
            "f32[1,5,8] f32[1,5,8] f32[1,5,6]",
            "refused: LinearAttention.C4",
        ),
        ("q_num_heads=2 kv_num_heads=2", "f32[1,5,8] f32[1,5,8] f32[1,5,6]", "refused: LinearAttention.C5"),
        (
            "q_num_heads=2 kv_num_heads=2 update_rule=gated",
            "f32[1,5,8] f32[1,5,8] f32[1,5,6] - f32[1,5,3]",
            "refused: LinearAttention.C5",
        ),
        (
            "q_num_heads=2 kv_num_heads=2 update_rule=linear state_window=2",
            "f32[1,5,8] f32[1,5,8] f32[1,5,6]",
            "refused: LinearAttention.C6",
        ),
    ] {
        expect(&[(&of(heads, inputs), expected)]);
    }
    expect(&[
        ("com.microsoft::LinearAttentionGate-1 f32[2,s0] f32[s0] f32[s0,1]", "f32[2,s0] if s0 >= 1"),
        ("com.microsoft::LinearAttentionGate-1 f32[2,0] f32[0] f32[0]", "refused: LinearAttentionGate.C1"),
        ("com.microsoft::LinearAttentionGate-1 f32[2,3] f32[2] f32[3]", "refused: LinearAttentionGate.C2"),
        (
            "com.microsoft::LinearAttentionGate-1 outs=2 f32[2,3] f32[3] f32[3]",
            "refused: LinearAttentionGate.C3",
        ),
        ("com.microsoft::GatedRMSNorm-1 f32[s0,8] f32[4] f32[s0,8]", "f32[s0,8]"),
        ("com.microsoft::GatedRMSNorm-1 f32[2,8] f32[4] f32[1,8]", "refused: GatedRMSNorm.C1"),
        ("com.microsoft::GatedRMSNorm-1 f32[2,8] f32[3] f32[2,8]", "refused: GatedRMSNorm.C2"),
        (
            "com.microsoft::GatedRMSNorm-1 activation=relu f32[2,8] f32[8] f32[2,8]",
            "refused: GatedRMSNorm.C3",
        ),
    ]);
}

#[test]
fn streams_have_branches() {
    expect(&[
        ("com.microsoft::BranchwiseRMSNorm-1 f32[s0,4,8] f32[8]", "f32[s0,4,8]"),
        ("com.microsoft::BranchwiseRMSNorm-1 num_branches=4 f32[s0,32] f32[32]", "f32[s0,32]"),
        ("com.microsoft::BranchwiseRMSNorm-1 num_branches=5 f32[2,32]", "refused: Branches.C1"),
        ("com.microsoft::BranchwiseRMSNorm-1 f32[2,4,8] f32[4]", "refused: Branches.C2"),
        ("com.microsoft::HyperConnectionPreMix-1 f32[s0,4,8] f32[s0,4,1]", "f32[s0,8]"),
        ("com.microsoft::HyperConnectionPreMix-1 num_branches=4 f32[s0,32] f32[s0,32]", "f32[s0,8]"),
        ("com.microsoft::HyperConnectionPreMix-1 f32[2,4,8] f32[2,32]", "refused: Branches.C3"),
        (
            "com.microsoft::HyperConnectionPostMix-1 f32[s0,4,8] f32[s0,8] f32[s0,4] f32[s0,4,4]",
            "f32[s0,4,8]",
        ),
        ("com.microsoft::HyperConnectionPostMix-1 f32[2,4,8] f32[2,4] f32[2,4]", "refused: Branches.C4"),
        (
            "com.microsoft::HyperConnectionPostMix-1 f32[2,4,8] f32[2,8] f32[2,5]",
            "refused: HyperConnectionPostMix.C1",
        ),
        (
            "com.microsoft::HyperConnectionPostMix-1 f32[2,4,8] f32[2,8] f32[2,4] f32[2,4]",
            "refused: Branches.C5",
        ),
        ("com.microsoft::ScaledSiLU-1 f32[s0,3] f32[]", "f32[s0,3]"),
        ("com.microsoft::ScaledSiLU-1 f32[2,3] f32[1]", "refused: ScaledSiLU.C1"),
    ]);
}

#[test]
fn n_grams_are_hashed() {
    let rows = "com.microsoft::NGramHashMapping-1 max_ngram_size=3 n_head_per_ngram=2 pad_id=0 outs=2";
    let packed =
        "com.microsoft::VarlenNGramHashMapping-1 max_ngram_size=3 n_head_per_ngram=2 pad_id=0 outs=2";
    for (op, inputs, expected) in [
        (rows, "i32[s0,s1] i32[3] i32[4]", "i32[s0,s1,4] i32[s0,2]"),
        (rows, "i32[s0,5] i32[3] i32[4]=1,0,1,1", "refused: NGramHash.C2"),
        (rows, "i32[2,5] i32[2] i32[4]", "refused: NGramHash.C2"),
        (rows, "i32[2,5] i32[3] i32[4] - i32[3]", "refused: NGramHash.C3"),
        (rows, "i32[2,5] i32[3] i32[4] - - i32[1]", "refused: NGramHash.C4"),
        (rows, "i32[5] i32[3] i32[4]", "refused: NGramHash.C5"),
        (rows, "i32[2,5] i32[3] i32[4] i32[2,3]", "refused: NGramHash.C6"),
        (packed, "i32[5] i32[3] i32[4] i32[3]=0,2,5", "i32[5,4] i32[2,2]"),
        (packed, "i32[s1] i32[3] i32[4] i32[s0]", "i32[s1,4] i32[s0-1,2] if s0 >= 2 and s0 <= s1 + 1"),
        (packed, "i32[1,5] i32[3] i32[4] i32[3]=0,2,5", "refused: VarlenNGramHash.C1"),
        (packed, "i32[5] i32[3] i32[4] i32[3]=0,2,5 i32[2,3]", "refused: VarlenNGramHash.C2"),
        (packed, "i32[5] i32[3] i32[4] i32[3]=0,2,4", "refused: NGramHash.C7"),
        (packed, "i32[5] i32[3] i32[4] i32[3]=0,0,5", "refused: NGramHash.C7"),
        (packed, "i32[5] i32[3] i32[4] i32[3]=0,2,5 - - - - - i32[2]", "refused: NGramHash.C8"),
    ] {
        expect(&[(&format!("{op} {inputs}"), expected)]);
    }
    expect(&[
        (
            "com.microsoft::NGramHashMapping-1 max_ngram_size=1 n_head_per_ngram=2 pad_id=0 i32[2,5] i32[3] i32[4]",
            "refused: NGramHash.C1",
        ),
        (
            "com.microsoft::EngramGate-1 f32[s0,3,2,4] f32[s0,3,2,4] f32[s0,3,4] f32[2,4] f32[2,4]",
            "f32[s0,3,2,4]",
        ),
        (
            "com.microsoft::EngramGate-1 f32[1,3,4] f32[1,3,4] f32[1,3,4] f32[2,4] f32[2,4]",
            "refused: EngramGate.C1",
        ),
        (
            "com.microsoft::EngramGate-1 f32[1,3,2,4] f32[1,3,2,4] f32[1,3,2] f32[2,4] f32[2,4]",
            "refused: EngramGate.C2",
        ),
        (
            "com.microsoft::EngramGate-1 f32[1,3,2,4] f32[1,3,2,4] f32[1,3,4] f32[2,4] f32[4]",
            "refused: EngramGate.C3",
        ),
        (
            "com.microsoft::EngramGate-1 outs=2 f32[1,3,2,4] f32[1,3,2,4] f32[1,3,4] f32[2,4] f32[2,4]",
            "refused: EngramGate.C4",
        ),
    ]);
}

#[test]
fn a_recurrent_layer_attends_to_a_memory() {
    let of = |inputs: &str| format!("com.microsoft::AttnLSTM-1 hidden_size=3 outs=3 {inputs}");
    for (inputs, expected) in [
        (
            "f32[s0,2,4] f32[1,12,9] f32[1,12,3] - - - - - f32[1,3,6] f32[1,5,6] f32[1,6] f32[2,s1,5]",
            "f32[s0,1,2,3] f32[1,2,3] f32[1,2,3] if s0 >= 1 and s1 >= 1",
        ),
        (
            "f32[3,2,4] f32[1,12,11] f32[1,12,3] - i32[2]=3,1 - - - f32[1,3,6] f32[1,5,6] f32[1,6] f32[2,8,5] \
             - f32[1,8,7]",
            "f32[3,1,2,3] f32[1,2,3] f32[1,2,3]",
        ),
        ("f32[3,2,4] f32[1,12,9] f32[1,12,3]", "refused: AttnLSTM.C2"),
        (
            "f32[3,2,4] f32[1,12,10] f32[1,12,3] - - - - - f32[1,3,6] f32[1,5,6] f32[1,6] f32[2,8,5]",
            "refused: AttnLSTM.C3",
        ),
        (
            "f32[3,2,4] f32[1,12,9] f32[1,12,3] - i32[2]=3,0 - - - f32[1,3,6] f32[1,5,6] f32[1,6] f32[2,8,5]",
            "refused: AttnLSTM.C4",
        ),
        (
            "f32[3,2,4] f32[1,12,9] f32[1,12,3] - - f32[1,1,3] - - f32[1,3,6] f32[1,5,6] f32[1,6] f32[2,8,5]",
            "refused: AttnLSTM.C5",
        ),
        (
            "f32[3,2,4] f32[1,12,9] f32[1,12,3] - - - - - f32[1,3,6] f32[1,4,6] f32[1,6] f32[2,8,5]",
            "refused: AttnLSTM.C6",
        ),
    ] {
        expect(&[(&of(inputs), expected)]);
    }
    expect(&[(
        "com.microsoft::AttnLSTM-1 hidden_size=3 direction=up f32[3,2,4] f32[1,12,9] f32[1,12,3]",
        "refused: AttnLSTM.C1",
    )]);
}

#[test]
fn generated_sequences_are_as_long_as_is_asked_for() {
    let of = |op: &str, inputs: &str| {
        format!("com.microsoft::{op}-1 decoder=graph eos_token_id=1 pad_token_id=0 {inputs}")
    };
    for (op, inputs, expected) in [
        ("GreedySearch", "i32[s0,3] i32[1]=7", "i32[s0,7]"),
        ("GreedySearch", "i32[2,s0] i32[1]=7", "i32[2,7] if s0 <= 6 and s0 >= 1"),
        ("GreedySearch", "i32[2,3] i32[1]", "i32[2,u0]"),
        ("GreedySearch", "i32[2,3] i32[2]=7,7", "refused: Generation.C2"),
        ("GreedySearch", "i32[2,7] i32[1]=7", "refused: Generation.C2"),
        ("GreedySearch", "i32[2] i32[1]=7", "refused: Generation.C1"),
        ("GreedySearch", "vocab_size=9 i32[2,3] i32[1]=7 - - i32[8]", "refused: Generation.C3"),
        ("GreedySearch", "model_type=1 i32[2,3] i32[1]=7", "refused: Generation.C6"),
        ("Sampling", "i32[2,3] i32[1]=7", "i32[2,7]"),
        ("Sampling", "outs=2 i32[2,3] i32[1]=7", "refused: Generation.C6"),
        (
            "BeamSearch",
            "outs=3 vocab_size=9 i32[s0,3] i32[1]=7 i32[1]=0 i32[1]=4 i32[1]=2 f32[1]=1",
            "i32[s0,2,7] f32[s0,2] f32[4,s0,4,9]",
        ),
        ("BeamSearch", "i32[2,3] i32[1]=7 i32[1]=0 i32[1]=4 i32[1]=5 f32[1]=1", "refused: Generation.C4"),
        ("BeamSearch", "i32[2,3] i32[1]=7 - i32[1]=4 i32[1]=2 f32[1]=1", "refused: Generation.C5"),
        (
            "WhisperBeamSearch",
            "encoder=graph f32[2,80,s0] i32[1]=7 i32[1]=0 i32[1]=4 i32[1]=2 f32[1]=1 - - - - i32[2,3]",
            "i32[2,2,7]",
        ),
    ] {
        expect(&[(&of(op, inputs), expected)]);
    }
}
