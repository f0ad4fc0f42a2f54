//! Conditions that the values of inputs decide when a model runs.
use super::{Findings, Verdict, check};
use crate::read::Model;

fn checked(graph: &str) -> Findings {
    let text = format!("<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\n{graph}");
    check(&Model::read(text.into_bytes()).expect(graph))
}

fn listed(graph: &str) -> Vec<(String, String)> {
    let left = checked(graph).run_time;
    left.into_iter().map(|left| (left.condition.shown, left.inputs.join(" "))).collect()
}

#[test]
fn conditions_on_values_are_listed_with_their_inputs() {
    for (graph, expected) in [
        (
            "(float[3] x, int64 n) => (y) { m = Constant<value_ints = [-1]>() s = Reshape(n, m) y = Expand(x, s) }",
            vec![("no number in `s` is negative", "n")],
        ),
        // A size of 1 meets every other.
        ("(float[1] x, int64[1] n) => (y) { y = Expand(x, n) }", vec![("no number in `n` is negative", "n")]),
        (
            "(float[A,8] a, int64[I] i, int64[I] j) => (y) { k = Add(i, j) y = Gather(a, k) }",
            vec![("every index in `k` lies within a dimension of size A", "i j")],
        ),
        (
            "(float[A,8] a, int64[1] k) => (v, i) { v, i = TopK<axis = 0>(a, k) }",
            vec![("`k` is not negative and does not exceed the size of its dimension", "k")],
        ),
        ("(int64[2] s) => (y) { y = ConstantOfShape(s) }", vec![("no number in `s` is negative", "s")]),
        ("(float[A] x, int64[1] n) => (y) { y = Tile(x, n) }", vec![("no number in `n` is negative", "n")]),
        (
            "(int64 d) => (y) { a = Constant<value_int = 0>() b = Constant<value_int = 9>() y = Range(a, b, d) }",
            vec![("`d` is not 0", "d")],
        ),
        ("(int64[A] x, int64[1] d) => (y) { y = Div(x, d) }", vec![("no number in `d` is 0", "d")]),
        ("(string[A] t) => (y) { y = Cast<to = 1>(t) }", vec![("every text in `t` is a number", "t")]),
    ] {
        let expected: Vec<(String, String)> =
            expected.into_iter().map(|(says, inputs)| (says.to_owned(), inputs.to_owned())).collect();
        assert_eq!(listed(&format!("g {graph}")), expected, "{graph}");
    }
}

#[test]
fn conditions_on_sizes_and_numbers_are_not_left_to_run_time() {
    for graph in [
        // Positions that are counted off lie where their number says.
        "g (float[A,8] a) => (y) { s = Shape<end = 1>(a) z = Constant<value_int = 0>() o = Constant<value_int = 1>() \
         n = Squeeze(s) r = Range(z, n, o) y = Gather(a, r) }",
        "g (float[A,8] a) => (y) { i = Constant<value_ints = [0, -1]>() y = Gather(a, i) }",
        "g (float[A,B] a) => (y) { s = Shape(a) y = Expand(a, s) }",
        "g (float[A,B] a) => (y) { n = NonZero(a) t = Transpose(n) y = GatherND(a, t) }",
        "g (float[A,B] a, float[1] d) => (y) { y = Div(a, d) }",
    ] {
        assert_eq!(listed(graph), [], "{graph}");
    }
}

#[test]
fn a_condition_that_a_loop_meets_again_and_again_is_listed_once() {
    let graph = "g (float[8] x, int64[R] i) => (y) { m = Constant<value_int = 3>() c = Constant<value_ints = [1]>() \
                 t = Cast<to = 9>(c) y = Loop(m, t, x) <body = b (int64 at, bool go, float[8] v) => (bool on, float[8] w) \
                 { on = Identity(go) g = Gather(v, i) r = ReduceSum<keepdims = 0>(g) w = Add(v, r) }> }";
    let report = checked(graph);
    assert_eq!(report.run_time.len(), 1, "{report:?}");
    assert_ne!(report.verdict, Verdict::Violated);
    assert!(!report.is_complete());
}
