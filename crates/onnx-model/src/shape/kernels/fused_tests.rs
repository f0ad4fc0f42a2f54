//! Statements about onnxruntime's operators for accelerators.
use crate::shape::tests::{expect, outcome};

#[test]
fn fused_operators_have_the_shapes_of_what_they_fuse() {
    expect(&[
        ("com.microsoft::BiasDropout-1 f32[2,s0] f32[s0]", "f32[2,s0]"),
        ("com.microsoft::BiasDropout-1 f32[2,3] f32[2]", "refused: BiasDropout.C1"),
        ("com.microsoft::BiasDropout-1 f32[2,3] f32[3] f32[2,2]", "refused: BiasDropout.C2"),
        ("com.microsoft::BitmaskDropout-1 f32[2,3] f32[1]", "refused: BiasDropout.C3"),
        ("com.microsoft::BiasSoftmax-1 is_inner_broadcast=1 f32[2,3] f32[1,3]", "f32[2,3]"),
        ("com.microsoft::BiasSoftmax-1 is_inner_broadcast=1 f32[2,3] f32[2]", "refused: BiasSoftmax.C2"),
        (
            "com.microsoft::BiasSoftmax-1 is_inner_broadcast=1 axis=2 f32[2,3] f32[3]",
            "refused: BiasSoftmax.C1",
        ),
        ("com.microsoft::BiasSplitGelu-1 f32[s0,5,8] f32[8]", "f32[s0,5,4]"),
        ("com.microsoft::BiasSplitGelu-1 f32[2,5,7] f32[7]", "refused: BiasSplitGelu.C2"),
        ("com.microsoft::GemmFastGelu-1 f32[2,s0,4] f32[4,6] f32[6]", "f32[2,s0,6]"),
        ("com.microsoft::GemmFastGelu-1 f32[2,4] f32[4,6] f32[4]", "refused: GemmFastGelu.C4"),
        ("com.microsoft::GemmFloat8-1 transB=1 dtype=10 f32[s0,4] f32[6,4]", "f16[s0,6]"),
        ("com.microsoft::FusedMatMulActivation-1 activation=Relu transA=1 f32[4,2] f32[4,6]", "f32[2,6]"),
        ("com.microsoft::TorchEmbedding-1 f32[9,s0] i64[2,3]", "f32[2,3,s0]"),
        ("com.microsoft::TorchEmbedding-1 f32[9] i64[2,3]", "refused: TorchEmbedding.C1"),
        ("com.microsoft::MatMulBlockQuantizedFp4Weight-1 f16[s0,32] u8[5,16] u8[5,2] f32[]", "f16[s0,5]"),
        (
            "com.microsoft::MatMulBlockQuantizedFp4Weight-1 f16[2,32] u8[5,16] u8[5,3] f32[]",
            "refused: MatMulBlocks.C2",
        ),
        (
            "com.microsoft::MatMulBlockQuantizedFp4Weight-1 f16[2,31] u8[5,16] u8[5,2] f32[]",
            "refused: MatMulBlocks.C1",
        ),
    ]);
}

#[test]
fn outputs_beside_the_first_have_their_own_shapes() {
    let table = [
        ("com.microsoft::BitmaskDropout-1 f32[4,s0]", 2, "f32[4,s0] u32[-((-s0)//8)]"),
        (
            "com.microsoft::SkipGroupNorm-1 groups=2 activation=0 f32[s0,5,5,4] f32[4] f32[4] f32[s0,4]",
            2,
            "f32[s0,5,5,4] f32[s0,5,5,4]",
        ),
        ("com.microsoft::QuantizeBFP-1 bfp_type=1 f32[s0,3]", 3, "u8[u0] i64[2]=s0,3 i64[2]"),
        (
            "com.microsoft::VarlenCausalConvWithState-1 dilation=2 f32[s0,4] f32[4,1,3] i32[3] f32[4] f32[2,4,4]",
            2,
            "f32[s0,4] f32[2,4,4]",
        ),
        ("com.microsoft::RemovePadding-1 f32[s0,3,8] i32[s0]", 4, "f32[u0,8] i32[s0,3] i32[s0+1] i32[1]"),
        (
            "com.microsoft::DecoderMaskedSelfAttention-1 num_heads=2 past_present_share_buffer=1 f32[s0,1,8] \
             f32[8,24] f32[24] - f32[2,s0,2,9,4] - i32[1]",
            2,
            "f32[s0,1,8] f32[2,s0,2,9,4]",
        ),
    ];
    let refused = [
        (
            "com.microsoft::VarlenCausalConvWithState-1 f32[5,4] f32[4,1,3] i32[3] f32[4] f32[2,4,4]",
            2,
            "refused: VarlenConv.C3",
        ),
        ("com.microsoft::RemovePadding-1 f32[2,3] i32[2]", 4, "refused: RemovePadding.C1"),
        (
            "com.microsoft::DecoderMaskedSelfAttention-1 num_heads=2 past_present_share_buffer=1 f32[2,3,8] \
             f32[8,24] f32[24] - f32[2,2,2,9,4] - i32[1]",
            2,
            "refused: DecoderMaskedSelfAttention.C1",
        ),
    ];
    for (call, outputs, expected) in table.into_iter().chain(refused) {
        assert_eq!(outcome(call, outputs), expected, "{call}");
    }
}

#[test]
fn sequences_without_padding_keep_their_tokens() {
    expect(&[
        ("com.microsoft::RestorePadding-1 f32[s0,8] i32[2,3]", "f32[2,3,8]"),
        ("com.microsoft::RestorePadding-1 f32[8] i32[2,3]", "refused: RestorePadding.C1"),
        (
            "com.microsoft::PackedAttention-1 num_heads=2 f32[s0,4] f32[4,24] f32[24] i32[2,3] i32[3]",
            "f32[s0,8]",
        ),
        (
            "com.microsoft::PackedAttention-1 num_heads=3 f32[5,4] f32[4,24] f32[24] i32[2,3] i32[3]",
            "refused: Heads.C1",
        ),
        (
            "com.microsoft::PackedAttention-1 num_heads=2 f32[5,4] f32[4,24] f32[24] i32[2,3] i32[2]",
            "refused: PackedTokens.C1",
        ),
        (
            "com.microsoft::PackedMultiHeadAttention-1 num_heads=2 f32[s0,2,3,4] - - - i32[2,3] i32[3]",
            "f32[s0,8]",
        ),
        (
            "com.microsoft::PackedMultiHeadAttention-1 num_heads=2 f32[s0,8] f32[s0,8] f32[s0,6] - i32[2,3] i32[3]",
            "f32[s0,6]",
        ),
        (
            "com.microsoft::PackedMultiHeadAttention-1 num_heads=2 f32[5,8] - - - i32[2,3] i32[3]",
            "refused: PackedMultiHeadAttention.C1",
        ),
        (
            "com.microsoft::PagedAttention-1 num_heads=4 kv_num_heads=2 f16[s0,32] f16[s0,16] f16[s0,16] \
             f16[7,16,2,8] f16[7,16,2,8] i32[3] i32[2] i32[2,9]",
            "f16[s0,32]",
        ),
        (
            "com.microsoft::PagedAttention-1 num_heads=4 kv_num_heads=2 f16[5,32] f16[5,16] f16[5,16] \
             f16[7,16,2,6] f16[7,16,2,6] i32[3] i32[2] i32[2,9]",
            "refused: PagedAttention.C3",
        ),
        (
            "com.microsoft::PagedAttention-1 num_heads=4 kv_num_heads=2 f16[5,32] f16[5,16] f16[5,16] \
             f16[7,16,2,8] f16[7,16,2,8] i32[2] i32[2] i32[2,9]",
            "refused: PagedAttention.C4",
        ),
        ("com.microsoft::GatedDeltaNet-1 f32[s0,2,8] f32[s0,2,8] f32[s0,4,6] i32[3]", "f32[s0,4,6]"),
        (
            "com.microsoft::GatedDeltaNet-1 f32[5,2,8] f32[5,2,8] f32[5,3,6] i32[3]",
            "refused: GatedDeltaNet.C2",
        ),
        ("com.microsoft::GatedDeltaNet-1 f32[5,2,8] f32[5,2,8] f32[5,4,6]", "refused: GatedDeltaNet.C3"),
    ]);
}

#[test]
fn positions_and_windows_fit() {
    expect(&[
        (
            "com.microsoft::RelativePositionBias-1 max_distance=8 f32[32,2] i64[1]=s0 i64[1]=s0",
            "f32[1,2,s0,s0]",
        ),
        (
            "com.microsoft::RelativePositionBias-1 max_distance=8 f32[32,2] i64[1]=4 i64[1]=5",
            "refused: RelativePositionBias.C2",
        ),
        (
            "com.microsoft::RelativePositionBias-1 max_distance=8 f32[32,2] i64[2] i64[1]=5",
            "refused: RelativePositionBias.C2",
        ),
        (
            "com.microsoft::GatedRelativePositionBias-1 num_heads=2 f32[s0,3,8] f32[8] f32[1,2,3,3] f32[4,6] \
             f32[6] f32[1,2,1,1]",
            "f32[s0,2,3,3]",
        ),
        (
            "com.microsoft::GatedRelativePositionBias-1 num_heads=2 f32[2,3,8] f32[8] f32[1,2,3,3] f32[4,5] \
             f32[5] f32[1,2,1,1]",
            "refused: GatedRelativePositionBias.C3",
        ),
        (
            "com.microsoft::LongformerAttention-1 num_heads=2 window=2 f32[s0,8,4] f32[4,12] f32[12] \
             f32[s0,8] f32[4,12] f32[12] i32[s0,8]",
            "f32[s0,8,4]",
        ),
        (
            "com.microsoft::LongformerAttention-1 num_heads=2 window=3 f32[1,8,4] f32[4,12] f32[12] f32[1,8] \
             f32[4,12] f32[12] i32[1,8]",
            "refused: Longformer.C3",
        ),
    ]);
}

#[test]
fn layouts_of_accelerators_do_not_change_shapes() {
    expect(&[
        ("com.microsoft::NhwcConv-1 pads=1,1,1,1 f32[s0,7,8,4] f32[6,4,3,3]", "f32[s0,7,8,6]"),
        ("com.microsoft::NhwcConv-1 f32[2,7,8,4] f32[6,3,3,3]", "refused: Conv.C2"),
        ("com.microsoft::GroupNorm-1 groups=2 activation=0 f32[s0,5,5,4] f32[4] f32[4]", "f32[s0,5,5,4]"),
        (
            "com.microsoft::GroupNorm-1 groups=3 activation=0 f32[1,5,5,4] f32[4] f32[4]",
            "refused: GroupNorm.C3",
        ),
        (
            "com.microsoft::GroupNorm-1 groups=2 activation=0 channels_last=0 f32[1,4,5,5] f32[4] f32[4]",
            "f32[1,4,5,5]",
        ),
        (
            "com.microsoft::SkipGroupNorm-1 groups=2 activation=0 f32[1,5,5,4] f32[4] f32[4] f32[1,5,1,4]",
            "refused: GroupNorm.C4",
        ),
        ("com.microsoft::Rfft-1 f32[s0,8]", "f32[s0,5,2]"),
        ("com.microsoft::Rfft-1 f32[2,7]", "refused: Rfft.C2"),
        ("com.microsoft::Irfft-1 signal_ndim=1 f32[2,s0,2]", "f32[2,2*s0-2]"),
        ("com.microsoft::Irfft-1 signal_ndim=1 f32[2,5,3]", "refused: Irfft.C1"),
        (
            "com.microsoft::DequantizeWithOrder-1 order_input=1 order_output=1 to=10 i8[2,s0] f32[]",
            "f16[2,s0]",
        ),
        ("com.microsoft::DequantizeBFP-1 bfp_type=1 u8[9] i64[2]=s0,3 i64[2]", "f32[s0,3]"),
        ("com.microsoft::DequantizeBFP-1 bfp_type=1 u8[9] i64[2]=2,3 i64[3]", "refused: DequantizeBFP.C1"),
        ("com.microsoft::ReduceSumInteger-1 axes=1, keepdims=0 u8[2,s0,3]", "u32[2,3]"),
        ("com.microsoft::QLinearReduceMean-1 axes=-1, keepdims=1 u8[2,s0] f32[] u8[] f32[] u8[]", "u8[2,1]"),
        (
            "com.microsoft::QLinearReduceMean-1 axes=-1, keepdims=1 u8[2,s0] f32[1] u8[] f32[] u8[]",
            "refused: Quantized.C1",
        ),
        (
            "com.microsoft::QOrderedMatMul-1 order_A=1 order_B=0 order_Y=1 i8[2,s0,4] f32[] i8[4,6] f32[] f32[]",
            "i8[2,s0,6]",
        ),
        ("com.microsoft::QOrderedGelu-1 i8[2,s0] f32[] f32[]", "i8[2,s0]"),
    ]);
}
