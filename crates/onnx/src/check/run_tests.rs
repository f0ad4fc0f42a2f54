//! What onnxruntime 1.31 runs and refuses of operators with their own rules, for inputs of given sizes.
use super::size::ShownSize;
use super::{Verdict, check, evaluate};
use rustc_hash::FxHashMap;
use sizewise_onnx_model::read::Model;

/// A graph, the sizes of its inputs in their order, and those of its first output; `None` if the model refuses them.
/// A check may then not find it fine, but for empty inputs, which it leaves out.
type Row = (&'static str, &'static [&'static [i64]], Option<&'static [i64]>);

fn expect(rows: &[Row]) {
    for (graph, sizes, expected) in rows {
        let text = format!("<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\ng {graph}");
        let model = Model::read(text.into_bytes()).expect(graph);
        let names = sizewise_onnx_model::walk::inputs(&model).into_iter().map(|input| input.name);
        let given: FxHashMap<String, Vec<i64>> =
            names.zip(sizes.iter().map(|sizes| sizes.to_vec())).collect();
        let found = match evaluate(&model, &given, &FxHashMap::default()) {
            Ok(found) => {
                Some(found.outputs[0].iter().flatten().filter_map(ShownSize::number).collect::<Vec<i64>>())
            }
            Err(refused) => {
                assert!(!refused.is_unsupported, "{graph}\n{refused:?}");
                let is_empty = sizes.iter().any(|sizes| sizes.contains(&0));
                assert!(is_empty || check(&model).verdict != Verdict::Ok, "{graph}");
                None
            }
        };
        assert_eq!(found.as_deref(), *expected, "{graph} {sizes:?}");
    }
}

#[test]
fn indices_of_a_vector_are_no_scalar() {
    let graph = "(int64[] i) => (y) { d = Constant<value_int = 3>() v = Constant<value_ints = [0, 1]>() y = OneHot(i, d, v) }";
    expect(&[(graph, &[&[]], None), (graph, &[&[2]], Some(&[2, 3]))]);
}

#[test]
fn zero_points_are_scalars_or_of_columns() {
    let product = "(uint8[a,b] x, uint8[] w, uint8[] z) => (y) { y = MatMulInteger(x, w, , z) }";
    let left = "(uint8[2,3] x, uint8[3,4] w, uint8[] z) => (y) { y = MatMulInteger(x, w, z) }";
    let scaled = "(uint8[2,8] x, uint8[] w, float[] t, float s, uint8 z) => (y) { y = QLinearMatMul(x, s, z, w, t, z, s, z) }";
    let windows =
        "(uint8[1,1,3,3] x, uint8[2,1,2,2] w, uint8[] z, uint8[] v) => (y) { y = ConvInteger(x, w, z, v) }";
    let conv = "(uint8[1,1,5,5] x, uint8[2,1,2,2] w, float[] t, float[] u, uint8 z) => (y) { y = QLinearConv(x, t, z, w, u, z, t, z) }";
    expect(&[
        (product, &[&[2, 3], &[3, 4], &[1, 1]], None),
        (product, &[&[2, 3], &[3, 4], &[4]], Some(&[2, 4])),
        (product, &[&[2, 3], &[3, 4], &[1, 4]], Some(&[2, 4])),
        (product, &[&[2, 3], &[5, 3, 4], &[4]], None),
        (product, &[&[2, 3], &[5, 3, 4], &[5, 1, 4]], Some(&[5, 2, 4])),
        (product, &[&[2, 3], &[3, 1], &[1, 1]], Some(&[2, 1])),
        (left, &[&[2, 3], &[3, 4], &[1]], Some(&[2, 4])),
        (left, &[&[2, 3], &[3, 4], &[1, 1]], None),
        (scaled, &[&[2, 8], &[8, 16], &[1, 16], &[], &[]], Some(&[2, 16])),
        (scaled, &[&[2, 8], &[8, 16], &[1, 1], &[], &[]], None),
        (windows, &[&[1, 1, 3, 3], &[2, 1, 2, 2], &[1], &[1]], Some(&[1, 2, 2, 2])),
        (windows, &[&[1, 1, 3, 3], &[2, 1, 2, 2], &[1, 1], &[1]], None),
        (windows, &[&[1, 1, 3, 3], &[2, 1, 2, 2], &[1], &[2]], None),
        (conv, &[&[1, 1, 5, 5], &[2, 1, 2, 2], &[1], &[2], &[]], Some(&[1, 2, 4, 4])),
        (conv, &[&[1, 1, 5, 5], &[2, 1, 2, 2], &[1, 1], &[2], &[]], None),
        (conv, &[&[1, 1, 5, 5], &[2, 1, 2, 2], &[1], &[1, 1], &[]], None),
    ]);
}

#[test]
fn recurrent_layers_have_one_layout() {
    let rnn = "(float[s,b,2] x, float[1,6,2] w, float[1,6,6] r) => (y) { y = RNN<hidden_size = 6, layout = 1>(x, w, r) }";
    expect(&[(rnn, &[&[4, 3, 2], &[1, 6, 2], &[1, 6, 6]], None)]);
}

#[test]
fn a_cache_of_attention_is_returned() {
    let one = "(float[1,4,32] x, float[32,96] w, float[96] b, float[2,1,4,p,8] c) => (y) \
               { y = com.microsoft.Attention<num_heads = 4>(x, w, b, , c) }";
    let two = "(float[1,4,32] x, float[32,96] w, float[96] b, float[2,1,4,p,8] c) => (y, d) \
               { y, d = com.microsoft.Attention<num_heads = 4>(x, w, b, , c) }";
    let sizes: &[&[i64]] = &[&[1, 4, 32], &[32, 96], &[96], &[2, 1, 4, 3, 8]];
    expect(&[(one, sizes, None), (two, sizes, Some(&[1, 4, 32]))]);
}

#[test]
fn batches_change_places_in_stacks_of_one_rank() {
    let batches = "(float[] a, float[] b) => (y) { y = com.microsoft.FusedMatMul<transBatchA = 1>(a, b) }";
    let turned =
        "(float[] a, float[] b) => (y) { y = com.microsoft.FusedMatMul<transA = 1, transB = 1>(a, b) }";
    let right = "(float[] a, float[] b) => (y) { y = com.microsoft.FusedMatMul<transB = 1>(a, b) }";
    expect(&[
        (batches, &[&[2, 8], &[2, 8, 5]], None),
        (batches, &[&[3, 2, 8], &[8, 5]], None),
        (batches, &[&[3, 2, 8], &[2, 8, 5]], Some(&[2, 3, 5])),
        (turned, &[&[0, 8, 1], &[1, 5, 8]], None),
        (right, &[&[0, 1, 8], &[1, 5, 8]], Some(&[0, 1, 5])),
    ]);
}

#[test]
fn scales_and_biases_go_with_the_product() {
    let product = "(float[] a, uint8[] b, float[] s, uint8[] z) => (y) { y = com.microsoft.DynamicQuantizeMatMul(a, b, s, z) }";
    let biased = "(float[] a, uint8[] b, float[] c, float s) => (y) { y = com.microsoft.DynamicQuantizeMatMul(a, b, s, , c) }";
    let float = "(uint8[] a, uint8[] b, float[] c, float s) => (y) { y = com.microsoft.MatMulIntegerToFloat(a, b, s, s, , , c) }";
    expect(&[
        (product, &[&[2, 8], &[8, 16], &[], &[1, 1]], None),
        (product, &[&[2, 8], &[8, 16], &[1, 1], &[]], Some(&[2, 16])),
        (product, &[&[2, 8], &[8, 16], &[2, 1], &[]], Some(&[2, 16])),
        (product, &[&[2, 8], &[8, 16], &[16, 1], &[]], None),
        (product, &[&[2, 3, 8], &[2, 8, 16], &[], &[16]], None),
        (product, &[&[2, 3, 8], &[2, 8, 16], &[], &[2, 1, 16]], Some(&[2, 3, 16])),
        (biased, &[&[2, 8], &[8, 16], &[16, 1], &[]], Some(&[2, 16])),
        (biased, &[&[2, 8], &[8, 0], &[16], &[]], Some(&[2, 0])),
        (biased, &[&[2, 8], &[8, 16], &[1], &[]], None),
        (float, &[&[2, 8], &[8, 16], &[1, 16], &[]], Some(&[2, 16])),
        (float, &[&[2, 8], &[8, 16], &[2, 16], &[]], None),
    ]);
}

#[test]
fn scalars_are_taken_where_the_rank_is_not_known() {
    let sum = "(uint8[n] a, float[] s, float t, uint8 z) => (y) { y = com.microsoft.QLinearAdd(a, s, z, a, t, z, t, z) }";
    let known = "(uint8[n] a, float[1] s, float t, uint8 z) => (y) { y = com.microsoft.QLinearAdd(a, s, z, a, t, z, t, z) }";
    expect(&[
        ("(float x) => (y) { y = com.microsoft.FastGelu(x) }", &[&[]], None),
        (sum, &[&[3], &[1], &[], &[]], Some(&[3])),
        (sum, &[&[3], &[1, 1], &[], &[]], None),
        (known, &[&[3], &[1], &[], &[]], None),
        ("(float[3] a, int32[] z) => (y) { y = com.microsoft.ExpandDims(a, z) }", &[&[3], &[1, 1]], None),
        (
            "(float[] x) => (y) { m = Constant<value_ints = [1]>() b = Cast<to = 9>(m) y = Compress(x, b) }",
            &[&[]],
            Some(&[1]),
        ),
        (
            "(float x) => (y) { m = Constant<value_ints = [1]>() b = Cast<to = 9>(m) y = Compress(x, b) }",
            &[&[]],
            None,
        ),
        ("(float[] x) => (y) { y = Multinomial<sample_size = 3>(x) }", &[&[2, 2, 2]], Some(&[2, 3])),
        ("(float[a,b,c] x) => (y) { y = Multinomial<sample_size = 3>(x) }", &[&[2, 2, 2]], None),
        ("(float[] a, float[8,5] b) => (y) { y = Gemm(a, b) }", &[&[8], &[8, 5]], Some(&[1, 5])),
        ("(float[n] a, float[8,5] b) => (y) { y = Gemm(a, b) }", &[&[8], &[8, 5]], None),
        ("(float[] a, float[8,5] b) => (y) { y = Gemm<transA = 1>(a, b) }", &[&[8], &[8, 5]], None),
        (
            "(uint8[] a, uint8[8,5] b, float s, uint8 z) => (y) { y = com.microsoft.QGemm(a, s, z, b, s, z) }",
            &[&[8], &[8, 5], &[], &[]],
            Some(&[1, 5]),
        ),
        ("(float[] x) => (y) { y = ArgMax<axis = 1>(x) }", &[&[0]], Some(&[0])),
        ("(float[] x) => (y) { y = ArgMax<axis = 1>(x) }", &[&[]], Some(&[])),
        ("(float[] x) => (y) { y = ArgMax<axis = 1>(x) }", &[&[3]], None),
        ("(float[n] x) => (y) { y = ArgMax<axis = 1>(x) }", &[&[0]], None),
        ("(float[] x) => (y) { a = Constant<value_ints = [1]>() y = ReduceMax(x, a) }", &[&[0]], Some(&[0])),
        ("(float[] x) => (y) { y = Hardmax<axis = 1>(x) }", &[&[0]], Some(&[0])),
        ("(float[] x) => (y) { y = Hardmax<axis = 1>(x) }", &[&[]], None),
        ("(float[n] x) => (y) { y = Softmax<axis = 1>(x) }", &[&[0]], None),
        (
            "(uint8[] a, float s, uint8 z) => (y) { y = com.microsoft.QLinearSoftmax<axis = 2, opset = 13>(a, s, z, s, z) }",
            &[&[0], &[], &[]],
            Some(&[0]),
        ),
        ("(float[] x, int64[a,b] p) => (y) { y = Pad(x, p) }", &[&[2, 3], &[1, 4]], Some(&[4, 5])),
        ("(float[] x, int64[a,b] p) => (y) { y = Pad(x, p) }", &[&[2, 3], &[4, 1]], None),
        ("(float[] x, int64[1,4] p) => (y) { y = Pad(x, p) }", &[&[2, 3], &[1, 4]], Some(&[4, 5])),
        ("(float[2,3] x) => (y) <int64[1,4] p = {0, 1, 0, 1}> { y = Pad(x, p) }", &[&[2, 3]], None),
    ]);
}

#[test]
fn what_is_empty_has_any_sizes() {
    let joined =
        "(float[] a, float[] b) => (y) { s = SequenceConstruct(a, b) y = ConcatFromSequence<axis = 1>(s) }";
    let scaled = "(uint8[] a, uint8[] b, float s, uint8 z) => (y) { y = com.microsoft.QLinearConcat<axis = 1>(s, z, a, s, z, b, s, z) }";
    expect(&[
        (joined, &[&[2, 2], &[0, 4, 2]], Some(&[2, 6])),
        (joined, &[&[0, 4, 2], &[2, 2]], Some(&[2, 6])),
        (joined, &[&[2, 2], &[1, 4, 2]], None),
        (scaled, &[&[3, 4], &[0, 1], &[], &[]], Some(&[3, 5])),
        (scaled, &[&[0, 1], &[3, 4], &[], &[]], Some(&[3, 5])),
        (scaled, &[&[3, 4], &[2, 1], &[], &[]], None),
    ]);
}

#[test]
fn parts_of_one_lose_their_dimension() {
    let cut = "(float[n,m] x) => (y) { k = Constant<value_int = 2>() s = SplitToSequence<keepdims = 0>(x, k) \
               y = ConcatFromSequence<axis = 0>(s) }";
    expect(&[(cut, &[&[1, 3]], Some(&[3])), (cut, &[&[2, 3]], None), (cut, &[&[3, 3]], None)]);
}

#[test]
fn masks_and_positions_fit_their_inputs() {
    let masked =
        "(float[] x, int32[] m) => (y) { y = com.microsoft.MaxpoolWithMask<kernel_shape = [2, 2]>(x, m) }";
    let bits = "(float[2,32] x, uint8[32,1,16] w, float[32] s, float[] c) => (y) \
                { y = com.microsoft.MatMulNBits<K = 32, N = 32, bits = 4, block_size = 32>(x, w, s, , , c) }";
    let rotated = "(float[2,4,8] x, float[r,4] c) => (y) { p = Constant<value_int = 2>() y = com.microsoft.RotaryEmbedding(x, p, c, c) }";
    let embedded = "(int32[2,3] i, float[10,16] w, float[8,16] p, float[3,16] g, float[16] v) => (y, m) \
                    { y, m = com.microsoft.EmbedLayerNormalization(i, , w, p, g, v, v) }";
    let placed = "(int32[2,3] i, float[10,16] w, float[8,16] p, float[16] v, int32[] q) => (y, m) \
                  { y, m = com.microsoft.EmbedLayerNormalization(i, , w, p, , v, v, , q) }";
    expect(&[
        (masked, &[&[1, 1, 4, 4], &[2, 3, 4, 4]], Some(&[1, 1, 3, 3])),
        (masked, &[&[1, 1, 4, 4], &[1, 0, 4, 4]], None),
        (bits, &[&[2, 32], &[32, 1, 16], &[32], &[32]], None),
        (rotated, &[&[2, 4, 8], &[5, 4]], None),
        (rotated, &[&[2, 4, 8], &[6, 4]], Some(&[2, 4, 8])),
        (embedded, &[&[2, 3], &[10, 16], &[8, 16], &[3, 16], &[16]], Some(&[2, 3, 16])),
        (placed, &[&[2, 3], &[10, 16], &[8, 16], &[16], &[1, 3, 2]], Some(&[2, 3, 16])),
        (placed, &[&[2, 3], &[10, 16], &[8, 16], &[16], &[1, 3, 0]], None),
        (placed, &[&[2, 3], &[10, 16], &[8, 16], &[16], &[1, 2, 3]], None),
    ]);
}

#[test]
fn lengths_are_places_in_the_returned_cache() {
    let cached = |last: i64, total: i64, length: i64| {
        format!(
            "(float[1,{length},32] q, float[1,4,3,8] c) => (y, k, v) <int32[1] l = {{{last}}}, int32[1] t = {{{total}}}> \
             {{ y, k, v = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 4>(q, q, q, c, c, l, t) }}"
        )
    };
    for (last, total, length, fine) in [
        (0, 1, 1, true),
        (1, 1, 1, true),
        (2, 3, 1, true),
        (3, 3, 1, false),
        (3, 4, 1, true),
        (4, 4, 1, false),
        (-1, 2, 1, false),
        (2, 2, 2, true),
        (0, 2, 2, true),
        (0, 3, 2, false),
        (4, 5, 2, true),
        (0, 5, 2, false),
    ] {
        let graph: &'static str = cached(last, total, length).leak();
        let query: &'static [i64] = vec![1, length, 32].leak();
        let sizes: &'static [&'static [i64]] = vec![query, &[1, 4, 3, 8][..]].leak();
        expect(&[(graph, sizes, fine.then_some(query))]);
    }
    let scalar = "(float[1,s,32] q, int32 l) => (y, k, v) <int32[1] t = {4}> \
                  { y, k, v = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 4>(q, q, q, , , l, t) }";
    expect(&[(scalar, &[&[1, 4, 32], &[]], None)]);
}

#[test]
fn an_inverse_transform_may_be_one_sided() {
    let inverse = "(float[1,n,10,p] x) => (y) { y = DFT<axis = 1, inverse = 1, onesided = 1>(x) }";
    expect(&[(inverse, &[&[1, 6, 10, 2]], Some(&[1, 10, 10, 1])), (inverse, &[&[1, 6, 10, 1]], None)]);
}

#[test]
fn divisors_are_looked_at_where_nothing_is_divided() {
    let rest = "(int64[n,2] x, float[a,b] s) => (y) { d = Shape(s) y = Mod(x, d) }";
    expect(&[(rest, &[&[0, 2], &[3, 0]], None), (rest, &[&[0, 2], &[3, 4]], Some(&[0, 2]))]);
}

#[test]
fn fewer_labels_than_scores_are_taken() {
    let loss = "(float[3,5,m] x, int64[1,l] y) => (o) { o = SoftmaxCrossEntropyLoss(x, y) }";
    let known = "(float[3,5,2] x, int64[1,2] y) => (o) { o = SoftmaxCrossEntropyLoss(x, y) }";
    expect(&[
        (loss, &[&[3, 5, 1], &[1, 1]], Some(&[])),
        (loss, &[&[3, 5, 1], &[1, 2]], None),
        (known, &[&[3, 5, 2], &[1, 2]], None),
    ]);
}

#[test]
fn whether_a_taken_scalar_has_a_known_rank_is_open() {
    let text = "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[n] x) => (y) { k = Constant<value_ints = [0]>() \
                t = Shape(x) s = GatherND(t, k) b = Cast<to = 9>(k) y = Compress(s, b) }";
    assert_eq!(check(&Model::read(text.as_bytes().to_vec()).expect("a model")).verdict, Verdict::Unknown);
}
