//! Conditions that the values of inputs decide when a model runs.
use super::check;
use super::said::{Said, lines};
use sizewise_check::report::{Outcome as Verdict, Report};
use sizewise_onnx_model::read::Model;

fn checked(graph: &str) -> Report {
    let text = format!("<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\n{graph}");
    check(&Model::read(text.into_bytes()).expect(graph))
}

fn listed(graph: &str) -> Vec<(String, String)> {
    let left = checked(graph).runtime_asserts;
    left.into_iter().map(|left| (left.expr, left.inputs.join(" "))).collect()
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
        // The greatest of each row lie within it.
        "g (float[A] s, float[A,4] b) => (y) { k = Constant<value_ints = [1]>() v, i = TopK(s, k) y = Gather(b, i) }",
    ] {
        assert_eq!(listed(graph), [], "{graph}");
    }
}

#[test]
fn conditions_that_sizes_decide_through_numbers_that_are_not_followed_are_unknown() {
    let zero = "z = Constant<value_int = 0>()";
    for graph in [
        "n = Shape<end = 1>(x) k = ConstantOfShape<value = int64[1] {1}>(n) p = CumSum(k, z) o = Gather(y, p)",
        "n = Shape<end = 1>(x) k = ConstantOfShape<value = int64[1] {1}>(n) q = NonZero(k) m = Constant<value_ints = [-1]>() \
         p = Reshape(q, m) o = Gather(y, p)",
        "n = Shape(x) f = Cast<to = 1>(n) l = Constant<value_floats = [0.5]>() r = PRelu(f, l) i = Cast<to = 7>(r) \
         q = SplitToSequence<axis = 0, keepdims = 1>(i) p = SequenceAt(q, z) o = Gather(y, p)",
        "n = Shape(x) l, p = Scan<num_scan_inputs = 1, body = b (int64 a, int64 e) => (int64 s, int64 r) \
         { s = Add(a, e) r = Identity(s) }>(z, n) o = Gather(y, p)",
        "n = Shape<end = 1>(x) t = Concat<axis = 0>(n, n) k = ConstantOfShape<value = float[1] {1}>(t) e = EyeLike(k) \
         p = ArgMax<axis = 0, keepdims = 0>(e) o = Gather(y, p)",
        // The branches capture what sizes decide.
        "n = Shape(x) u = Unique(n) f = Cast<to = 1>(u) s = ReduceSum<keepdims = 0>(f) i = IsNaN(s) \
         p = If(i) <then_branch = a () => (int64[2] g) { g = Identity(n) }, else_branch = b () => (int64[2] h) { h = Neg(n) }> \
         o = Gather(y, p)",
    ] {
        let graph = format!("g (float[N,M] x, float[3000,3] y) => (o) {{ {zero} {graph} }}");
        let report = checked(&graph);
        assert_eq!((report.verdict, report.runtime_asserts.len()), (Verdict::Unknown, 0), "{graph}");
    }
}

#[test]
fn conditions_of_control_flow_have_one_element() {
    let branches = "<then_branch = a () => (float[K] oa) { oa = Identity(x) }, else_branch = b () => (float[L] ob) { ob = Neg(x) }>";
    let body =
        "<body = b (int64 i, bool go, float[a] s) => (bool on, float[e] r) { on = Identity(go) r = Neg(s) }>";
    for (graph, verdict) in [
        (format!("(bool c, float[N] x) => (o) {{ o = If(c) {branches} }}"), Verdict::Ok),
        (format!("(bool[1,1] c, float[N] x) => (o) {{ o = If(c) {branches} }}"), Verdict::Ok),
        (format!("(bool[C] c, float[N] x) => (o) {{ o = If(c) {branches} }}"), Verdict::Violated),
        (format!("(bool[2] c, float[N] x) => (o) {{ o = If(c) {branches} }}"), Verdict::Violated),
        (
            format!(
                "(int64[T] t, float[N] x) => (o) {{ one = Constant<value_int = 1>() c = Cast<to = 9>(one) o = Loop(t, c, x) {body} }}"
            ),
            Verdict::Violated,
        ),
    ] {
        assert_eq!(checked(&format!("g {graph}")).verdict, verdict, "{graph}");
    }
}

#[test]
fn a_condition_that_a_loop_meets_again_and_again_is_listed_once() {
    let graph = "g (float[8] x, int64[R] i) => (y) { m = Constant<value_int = 3>() c = Constant<value_int = 1>() \
                 t = Cast<to = 9>(c) y = Loop(m, t, x) <body = b (int64 at, bool go, float[8] v) => (bool on, float[8] w) \
                 { on = Identity(go) g = Gather(v, i) r = ReduceSum<keepdims = 0>(g) w = Add(v, r) }> }";
    let report = checked(graph);
    assert_eq!(report.runtime_asserts.len(), 1, "{report:?}");
    assert_ne!(report.verdict, Verdict::Violated);
    assert!(!report.needs.expect("needs").conditions_complete);
}

#[test]
fn positions_in_a_sequence_are_conditions_where_sizes_decide_how_many_items_there_are() {
    let position = "p = Constant<value_int = POSITION>()";
    for (graph, at, expected) in [
        ("q = SplitToSequence(x) z = SequenceAt(q, p)", 3, "a >= 4"),
        ("q = SplitToSequence(x) z = SequenceAt(q, p)", -3, "a >= 3"),
        ("q = SplitToSequence(x) r = SequenceErase(q) z = SequenceAt(r, p)", 1, "a >= 3"),
        ("q = SplitToSequence(x) r = SequenceInsert(q, x) z = SequenceAt(r, p)", 2, "a >= 2"),
        ("q = SplitToSequence(x) z = SequenceInsert(q, x, p)", 2, "a >= 2"),
        ("k = Constant<value_int = 4>() q = SplitToSequence(x, k) z = SequenceErase(q, p)", 1, "a >= 5"),
    ] {
        let position = position.replace("POSITION", &at.to_string());
        let report = checked(&format!("g (float[a,b] x) => (z) {{ {position} {graph} }}"));
        let shown: Vec<&str> = report.needed().iter().map(|condition| condition.expr.as_str()).collect();
        assert_eq!((report.verdict, shown), (Verdict::Violated, vec![expected]), "{graph} {at}");
    }
    // A caller decides how long a sequence is that it gives.
    let left = listed("g (seq(float[a]) q) => (z) { p = Constant<value_int = 3>() z = SequenceAt(q, p) }");
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn integers_that_wrap_around_at_larger_sizes_are_a_condition() {
    for (graph, verdict, expected) in [
        (
            "(float[s] x) => (y) { h = Shape(x) i = Cast<to = 6>(h) j = Mul(i, i) k = Mul(j, i) l = Cast<to = 7>(k) \
             y = ConstantOfShape(l) }",
            Verdict::Violated,
            vec!["s**3 <= 2147483647"],
        ),
        // Memory has no room for sizes that wrap 64 bits around.
        ("(float[s] x) => (y) { h = Shape(x) j = Mul(h, h) y = ConstantOfShape(j) }", Verdict::Ok, vec![]),
        (
            "(float[a,b,c,d] x) => (y) { h = Shape(x) p = ReduceProd(h) y = ConstantOfShape(p) }",
            Verdict::Ok,
            vec![],
        ),
    ] {
        let report = checked(&format!("g {graph}"));
        let shown: Vec<&str> = report.needed().iter().map(|condition| condition.expr.as_str()).collect();
        assert_eq!((report.verdict, shown), (verdict, expected), "{graph}");
    }
}

#[test]
fn a_broadcast_that_the_example_decides_is_said_in_full() {
    let report = checked("g (float[a] x, float[b] y) => (z) { z = Add(x, y) }");
    assert_eq!(report.violated()[0].expr, "Eq(a, 1) | Eq(a, b) | Eq(b, 1)");
    let note = report.diagnostics.iter().find(|note| note.code == "broadcast-by-example");
    assert!(note.is_some_and(|note| note.message.contains("may broadcast at z the")), "{report:?}");
}

#[test]
fn conditions_have_no_factors_that_are_not_zero() {
    let graph = "g (float[a,b] x) => (y) { h = Shape<start = 1>(x) t = Constant<value_ints = [2]>() \
                 s = Concat<axis = 0>(t, h) y = Reshape(x, s) }";
    let report = checked(graph);
    assert_eq!(report.violated()[0].expr, "Eq(a, 2)", "{report:?}");
}

#[test]
fn a_size_is_declared_as_a_sum_where_a_bound_needs_a_spec() {
    let graph = "g (float[q,4] x, float[p,4] past, float[q,m] mask, float[9,4] table) => (y, k) { \
                 z = Constant<value_int = 0>() o = Constant<value_int = 1>() all = Concat<axis = 0>(past, x) \
                 h = Shape<end = 1>(all) n = Squeeze(h) r = Range(z, n, o) e = Gather(table, r) \
                 t = Transpose(all) f = MatMul(x, t) y = Add(f, mask) k = Add(all, e) }";
    let report = checked(graph);
    let fix = report.fixes.first().expect("a fix");
    assert!(lines(fix).iter().any(|line| line.ends_with("p + q") || line.ends_with("q + p")), "{fix:?}");
    assert!(fix.spec.is_some(), "{fix:?}");
}

#[test]
fn sizes_that_recur_are_declared_as_multiples() {
    // Half of the size, rounded up, divides by 4.
    let graph = "g (float[1,1,h] x) => (y) { w = Constant<value_floats = [1.0, 1.0, 1.0]>() \
                 s = Constant<value_ints = [1, 1, 3]>() k = Reshape(w, s) c = Conv<pads = [1, 1], strides = [2]>(x, k) \
                 t = Constant<value_ints = [4, -1]>() y = Reshape(c, t) }";
    let report = checked(graph);
    let texts: Vec<String> = report.fixes.iter().flat_map(lines).collect();
    assert_eq!(texts, ["declare x.shape[2] as 8*_h"], "{report:?}");
}

#[test]
fn each_condition_names_the_inputs_that_decide_it() {
    let graph = "g (int32[b, s] ids, int32[b, s] mask, int32[b, s] places) => (y, m) { \
                 w = Constant<value = float[2, 4] {1, 1, 1, 1, 1, 1, 1, 1}>() v = Constant<value_floats = [1.0, 1.0, 1.0, 1.0]>() \
                 y, m = com.microsoft.EmbedLayerNormalization(ids, , w, w, , v, v, mask, places) }";
    let listed = listed(graph);
    let of = |word: &str| {
        listed.iter().filter(|(shown, _)| shown.contains(word)).map(|(_, by)| by.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((of("`ids`"), of("`places`")), (vec!["ids"], vec!["places"]), "{listed:?}");
}

#[test]
fn the_indices_of_the_greatest_differ() {
    let model = |size: &str| {
        format!(
            "g (float[A] s, float[{size}] b) => (y) {{ k = Shape(s) v, i = TopK(s, k) y = Gather(b, i) }}"
        )
    };
    let found = checked(&model("B"));
    assert_eq!((found.verdict, found.needed_shown()), (Verdict::Violated, vec!["A <= B"]));
    assert_eq!(checked(&model("A")).verdict, Verdict::Ok);
    // What is divided may be equal, and what is negated counts from the end.
    for (changed, least) in
        [("d = Div(i, k)", None), ("d = Sub(i, k)", None), ("d = Add(i, one)", Some("B >= 6"))]
    {
        let graph = format!(
            "g (float[5] s, float[B] b) => (y) {{ one = Constant<value_ints = [1]>() k = Shape(s) \
             v, i = TopK(s, k) {changed} y = Gather(b, d) }}"
        );
        let found = checked(&graph);
        let shown = found.needed_shown().first().copied();
        assert_eq!(shown, least, "{changed}");
    }
}
