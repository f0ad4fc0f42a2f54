//! What onnxruntime 1.31 runs and refuses of operators with their own rules, for inputs of given sizes.
use super::size::ShownSize;
use super::{Verdict, check, evaluate};
use crate::read::Model;
use rustc_hash::FxHashMap;

/// A graph, the sizes of its inputs in their order, and those of its first output; `None` if the model refuses them.
/// A check may then not find it fine, but for empty inputs, which it leaves out.
type Row = (&'static str, &'static [&'static [i64]], Option<&'static [i64]>);

fn expect(rows: &[Row]) {
    for (graph, sizes, expected) in rows {
        let text = format!("<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\ng {graph}");
        let model = Model::read(text.into_bytes()).expect(graph);
        let names = crate::walk::inputs(&model).into_iter().map(|input| input.name);
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
fn a_cache_of_attention_is_returned() {
    let one = "(float[1,4,32] x, float[32,96] w, float[96] b, float[2,1,4,p,8] c) => (y) \
               { y = com.microsoft.Attention<num_heads = 4>(x, w, b, , c) }";
    let two = "(float[1,4,32] x, float[32,96] w, float[96] b, float[2,1,4,p,8] c) => (y, d) \
               { y, d = com.microsoft.Attention<num_heads = 4>(x, w, b, , c) }";
    let sizes: &[&[i64]] = &[&[1, 4, 32], &[32, 96], &[96], &[2, 1, 4, 3, 8]];
    expect(&[(one, sizes, None), (two, sizes, Some(&[1, 4, 32]))]);
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
