//! Statements about the shape functions of layers: convolution, pooling, normalization, attention and their kin.
use crate::shape::tests::{expect, outcome};

#[test]
fn windows_are_counted() {
    expect(&[
        ("Conv-11 f32[s0,3,8,8] f32[6,3,3,3]", "f32[s0,6,6,6]"),
        ("Conv-11 strides=2,2 pads=1,1,1,1 f32[1,3,8,8] f32[6,3,3,3]", "f32[1,6,4,4]"),
        ("Conv-11 group=2 f32[1,4,8] f32[6,2,3]", "f32[1,6,6]"),
        ("Conv-11 f32[1,4,8] f32[6,2,3]", "refused: Conv.C2"),
        ("Conv-11 f32[1,2,2] f32[6,2,3]", "refused: Conv.C4"),
        ("Conv-11 auto_pad=SAME_UPPER pads=1,1 f32[1,2,8] f32[6,2,3]", "refused: Spatial.C3"),
        ("ConvTranspose-11 strides=2,2 f32[s0,4,3,3] f32[4,5,2,2]", "f32[s0,5,6,6]"),
        ("ConvTranspose-11 strides=3, output_shape=9, f32[1,1,3] f32[1,1,1]", "f32[1,1,9]"),
        ("ConvTranspose-11 strides=3, output_shape=10, f32[1,1,3] f32[1,1,1]", "refused: ConvTranspose.C7"),
        ("ConvTranspose-11 strides=2, output_padding=1, f32[1,1,3] f32[1,1,2]", "f32[1,1,7]"),
        (
            "ConvTranspose-11 dilations=3, output_padding=2, f32[1,1,3] f32[1,1,2]",
            "refused: ConvTranspose.C7",
        ),
        // No window fits, but by less than a stride.
        ("AveragePool-19 kernel_shape=3, ceil_mode=1 f32[1,2,2]", "f32[1,2,0]"),
        ("AveragePool-19 kernel_shape=3, ceil_mode=1 f32[1,2,1]", "refused: Pool.C4"),
        ("MaxPool-12 kernel_shape=2,2 strides=2,2 f32[1,2,6,6]", "f32[1,2,3,3]"),
        // The computed padding is negative.
        ("MaxPool-12 kernel_shape=2,2 strides=4,4 auto_pad=SAME_UPPER f32[1,2,4,4]", "refused: Pool.C8"),
        ("MaxPool-12 kernel_shape=2,2 strides=4,4 auto_pad=SAME_UPPER f32[1,2,5,6]", "f32[1,2,2,2]"),
        ("MaxPool-12 kernel_shape=2,2 strides=4,4 auto_pad=SAME_UPPER f64[1,2,4,4]", "f64[1,2,1,1]"),
        (
            "MaxPool-12 kernel_shape=2,2 strides=4,4 auto_pad=SAME_UPPER storage_order=1 f32[1,2,4,4]",
            "f32[1,2,1,1]",
        ),
        ("LpPool-18 kernel_shape=2, strides=3, dilations=2, auto_pad=SAME_UPPER f32[1,1,9]", "f32[1,1,2]"),
        ("AveragePool-11 kernel_shape=2,2 strides=4,4 auto_pad=SAME_UPPER f32[1,2,4,4]", "refused: Pool.C8"),
        ("AveragePool-19 kernel_shape=2,2 strides=4,4 auto_pad=SAME_UPPER f32[1,2,4,4]", "f32[1,2,1,1]"),
        ("MaxPool-12 kernel_shape=2,2 pads=0,-1,0,0 auto_pad=VALID f32[1,2,6,6]", "refused: Spatial.C2"),
    ]);
}

#[test]
fn normalized_dimensions_have_elements() {
    expect(&[
        ("LayerNormalization-17 f32[s0,4] f32[4]", "f32[s0,4]"),
        ("LayerNormalization-17 f32[2,0] f32[0]", "refused: LayerNormalization.C3"),
        ("LayerNormalization-17 f32[2,3] f32[2]", "refused: LayerNormalization.C2"),
        ("GroupNormalization-21 num_groups=2 f32[s0,3,4] f32[3] f32[3]", "refused: GroupNormalization.C3"),
        ("MeanVarianceNormalization-13 f32[2,s0]", "f32[2,s0]"),
        ("MeanVarianceNormalization-13 axes=1,5 f32[2,s0]", "f32[2,s0]"),
        ("MeanVarianceNormalization-13 axes=2,5 f32[2,s0]", "refused: MeanVarianceNormalization.C2"),
    ]);
}

#[test]
fn labels_are_classes() {
    expect(&[
        ("NegativeLogLikelihoodLoss-13 reduction=none f32[3,2] i64[3]=0,1,0", "f32[3]"),
        ("NegativeLogLikelihoodLoss-13 f32[3,1] i64[3]=0,1,0", "refused: Loss.C5"),
        ("NegativeLogLikelihoodLoss-13 f32[3,2] i64[4]", "refused: Loss.C2"),
    ]);
}

#[test]
fn heads_divide() {
    expect(&[
        ("Attention-23 f32[1,3,4,8] f32[1,3,6,8] f32[1,3,6,9]", "f32[1,3,4,9]"),
        ("Attention-23 f32[1,3,4,8] f32[1,2,6,8] f32[1,2,6,8]", "refused: Attention.C3"),
        ("Attention-23 f32[1,3,4,8] f32[1,3,0,8] f32[1,3,0,8]", "refused: Attention.C6"),
        ("Attention-23 f32[1,3,4,8] f32[1,3,6,8] f32[1,3,6,8] f32[1,6]", "refused: Attention.C6"),
        // A kernel takes a mask of its own type or of truth values, and any precision.
        ("Attention-23 softmax_precision=7 f16[1,3,4,8] f16[1,3,6,8] f16[1,3,6,8] bool[4,6]", "f16[1,3,4,8]"),
        ("Attention-24 softmax_precision=7 f32[1,3,4,8] f32[1,3,6,8] f32[1,3,6,8] f32[4,6]", "f32[1,3,4,8]"),
        // The body takes other masks, but no other precision, and adds the mask to one of `float`.
        ("Attention-23 softmax_precision=1 f16[1,3,4,8] f16[1,3,6,8] f16[1,3,6,8] i64[4,6]", "f16[1,3,4,8]"),
        (
            "Attention-23 softmax_precision=7 f16[1,3,4,8] f16[1,3,6,8] f16[1,3,6,8] i64[4,6]",
            "refused: Attention.C6",
        ),
        ("Attention-24 softmax_precision=7 f16[1,3,4,8] f16[1,3,6,8] f16[1,3,6,8] f32[4,6]", "f16[1,3,4,8]"),
        ("Attention-24 softmax_precision=7 f64[1,3,4,8] f64[1,3,6,8] f64[1,3,6,8]", "refused: Attention.C6"),
        ("Attention-24 is_causal=1 f64[1,3,4,8] f64[1,3,6,8] f64[1,3,6,8]", "f64[1,3,4,8]"),
        ("Attention-24 is_causal=1 f64[1,3,4,8] f64[1,3,6,8] f64[1,3,6,8] f64[4,6]", "refused: Attention.C6"),
        ("Attention-24 is_causal=1 f64[1,3,4,8] f64[1,3,6,8] f64[1,3,6,8] f32[4,6]", "f64[1,3,4,8]"),
        ("RotaryEmbedding-23 f32[2,4,3,8] f32[2,3,4] f32[2,3,4]", "f32[2,4,3,8]"),
        ("RotaryEmbedding-23 f32[2,4,3,8] f32[9,4] f32[9,4] i64[2,3]", "f32[2,4,3,8]"),
        ("RotaryEmbedding-23 f32[1,4,1,8] f32[9,4] f32[9,4] i64[1,1]=-1", "refused: RotaryEmbedding.C2"),
        (
            "com.microsoft::MultiHeadAttention-1 num_heads=2 f32[s0,3,8] f32[s0,5,8] f32[s0,5,8]",
            "f32[s0,3,8]",
        ),
        (
            "com.microsoft::Attention-1 num_heads=2 f32[2,3,8] f32[8,24] f32[24] i32[2,5] f32[2,2,2,2,4]",
            "refused: FusedAttention.C4",
        ),
        (
            "com.microsoft::Attention-1 outs=2 num_heads=2 f32[2,3,8] f32[8,24] f32[24] i32[2,5] f32[2,2,2,2,4]",
            "f32[2,3,8] f32[2,2,2,5,4]",
        ),
        (
            "com.microsoft::Attention-1 outs=2 num_heads=2 f32[2,3,8] f32[8,24] f32[24] i32[2,1] f32[2,2,2,2,4]",
            "f32[2,3,8] f32[2,2,2,5,4]",
        ),
        (
            "com.microsoft::Attention-1 outs=2 num_heads=2 f32[2,3,8] f32[8,24] f32[24] i32[1,1] f32[2,2,2,2,4]",
            "f32[2,3,8] f32[2,2,2,5,4]",
        ),
        (
            "com.microsoft::Attention-1 num_heads=2 f32[2,3,8] f32[8,24] f32[24] i32[1,5] f32[2,2,2,2,4]",
            "refused: AttentionMask.C1",
        ),
        (
            "com.microsoft::Attention-1 num_heads=2 f32[2,3,8] f32[8,24] f32[24] i32[2,3] f32[2,2,2,2,4]",
            "refused: AttentionMask.C1",
        ),
        (
            "com.microsoft::MultiHeadAttention-1 num_heads=2 f32[1,3,8] f32[1,5,8]",
            "refused: MultiHeadAttention.C1",
        ),
    ]);
}

#[test]
fn masks_and_biases_of_attention_fit() {
    let heads = "com.microsoft::MultiHeadAttention-1 num_heads=2 f32[2,3,8] f32[2,5,8] f32[2,5,8]";
    let past = "f32[2,2,4,4] f32[2,2,4,4]";
    let table = [
        ("- i32[2]", "f32[2,3,8]"),
        ("- i32[8]", "f32[2,3,8]"),
        ("- i32[2,5]", "f32[2,3,8]"),
        ("- i32[2,3,5]", "f32[2,3,8]"),
        ("- i32[4]", "refused: MultiHeadAttention.C4"),
        ("- i32[2,1]", "refused: MultiHeadAttention.C4"),
        ("- - f32[1,1,3,5]", "f32[2,3,8]"),
        ("- - f32[2,2,3,5]", "f32[2,3,8]"),
        ("- - f32[1,1,1,5]", "refused: AttentionBias.C1"),
        ("- - f32[2,2,3,1]", "refused: AttentionBias.C1"),
    ];
    for (operands, expected) in table {
        assert_eq!(outcome(&format!("{heads} {operands}"), 1), expected, "{operands}");
    }
    assert_eq!(outcome(&format!("{heads} - i32[2,9] - {past}"), 1), "f32[2,3,8]");
    assert_eq!(outcome(&format!("{heads} - i32[2,5] - {past}"), 1), "refused: MultiHeadAttention.C4");
    let packed = "com.microsoft::Attention-1 num_heads=2 f32[2,3,6] f32[6,24] f32[24]";
    for (operands, expected) in [
        ("- - f32[1,2,3,3]", "f32[2,3,8]"),
        ("- - f32[1,2,1,3]", "refused: AttentionBias.C1"),
        ("- f32[2,2,2,4,4] f32[1,2,3,7]", "refused: FusedAttention.C5"),
    ] {
        let found = outcome(&format!("{packed} {operands}"), 2);
        assert_eq!(found.split(" f32[2,2,").next(), Some(expected), "{operands}");
    }
}

#[test]
fn contributed_operators_say_what_they_need() {
    expect(&[
        ("com.microsoft::GatedAdd-1 f32[2,s0] f32[2,s0] f32[2,1]", "f32[2,s0] if s0 >= 1"),
        ("com.microsoft::GatedAdd-1 f32[2,3] f32[2,3] f32[1,1]", "refused: GatedAdd.C2"),
        ("com.microsoft::DynamicTimeWarping-1 f32[1,s0]", "i32[2,s0]"),
        ("com.microsoft::DynamicTimeWarping-1 f32[2,2]=1,9,9,1", "i32[2,2]"),
        ("com.microsoft::DynamicTimeWarping-1 f32[0,s0]", "i32[2,0]"),
    ]);
}
