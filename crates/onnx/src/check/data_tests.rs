//! What data decide, and what conditions on sizes leave out.
use super::conditions::Data;
use super::said::{Said, is_on_sizes};
use super::{NoGuards, ShownSize, check, evaluate, guard_set, guarded_shapes};
use rustc_hash::FxHashMap;
use sizewise_check::report::{GuardVerdict, Outcome as Verdict, Report};
use sizewise_onnx_model::read::Model;

fn model(graph: &str) -> Model {
    let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\n{graph}");
    Model::read(text.into_bytes()).expect(graph)
}

#[test]
fn numbers_that_may_wrap_around_are_not_followed() {
    let sizes = "s = Shape<start = 0, end = 1>(x)";
    for (body, verdict) in [
        (
            // Every sum is negative.
            "h = Constant<value_ints = [9223372036854775807]>() k = Add(s, h) z = ConstantOfShape(k)",
            Verdict::Violated,
        ),
        (
            "h = Constant<value_ints = [4294967296]>() q = Add(s, h) w = Cast<to = 6>(q) k = Cast<to = 7>(w) \
             z = ConstantOfShape(k)",
            Verdict::Unknown,
        ),
        (
            "h = Constant<value_ints = [4611686018427387904]>() q = Mul(s, h) k = Mul(q, q) z = ConstantOfShape(k)",
            Verdict::Unknown,
        ),
        (
            "h = Constant<value_ints = [-9223372036854775807]>() k = Sub(h, s) n = Neg(k) z = Expand(x, n)",
            Verdict::Violated,
        ),
        (
            // Of 33,554,432 rows the product is negative.
            "h = Constant<value_ints = [64]>() q = Mul(s, h) w = Cast<to = 6>(q) k = Cast<to = 7>(w) \
          z = ConstantOfShape(k)",
            Verdict::Violated,
        ),
        ("k = Mul(s, s) z = ConstantOfShape(k)", Verdict::Ok),
    ] {
        let report = check(&model(&format!("g (float[a,b] x) => (z) {{ {sizes} {body} }}")));
        assert_eq!(report.verdict, verdict, "{body}\n{report:?}");
    }
}

#[test]
fn elements_of_inputs_may_be_anything() {
    for (graph, verdict, violated) in [
        // Indices of 0 are within every size.
        ("g (float[A,8] a, int64[I] i) => (float[I,8] g) { g = Gather(a, i) }", Verdict::Ok, vec![]),
        // As many sizes as the input has elements.
        (
            "g (float[a,b] x, float[c] y, int64[k] s) => (r, z) { r = Reshape(x, s) z = Add(x, y) }",
            Verdict::Violated,
            vec!["b == 1 or b == c or c == 1"],
        ),
        (
            "g (float[a,b] x, int64[k] s) => (float r) { t = Reshape(x, s) r = ReduceSum<keepdims = 0>(t) }",
            Verdict::Unknown,
            vec![],
        ),
    ] {
        let report = check(&model(graph));
        assert_eq!(report.verdict, verdict, "{graph}\n{report:?}");
        assert_eq!(report.shown(), violated, "{graph}");
        assert_eq!(report.needed().len(), violated.len(), "{graph}: {report:?}");
        assert!(!report.needs.as_ref().expect(graph).conditions_complete, "{graph}");
        // What stays open is said in the words of what is left to run time.
        let left: Vec<&str> = report.runtime_asserts.iter().map(|left| left.expr.as_str()).collect();
        let open = report.with(GuardVerdict::Unknown).into_iter();
        for open in open.filter(|open| open.op.as_deref() == Some("Gather")) {
            let reason = open.reason.as_deref().unwrap_or_default();
            assert!(
                left.contains(&open.shown.as_str()) && reason.contains("run time"),
                "{graph}: {report:?}"
            );
        }
    }
}

#[test]
fn a_branch_that_data_choose_and_that_refuses_sizes_is_violated() {
    let (fails, runs) = ("= t () => (p) { p = Add(x, y) }", "= e () => (q) { q = Identity(x) }");
    for (then, other, data) in [(fails, runs, Data::Usual), (runs, fails, Data::Zeros)] {
        let graph = format!(
            "g (bool c, float[a] x, float[b] y) => (z) {{ z = If(c)<then_branch {then}, else_branch {other}> }}"
        );
        let report = check(&model(&graph));
        let model = model(&graph);
        let found: Vec<_> = report.violated().iter().map(|v| (v.op.as_deref(), v.values.clone())).collect();
        assert_eq!(found, [(Some("Add"), Some(data.elements(&model)))], "{report:?}");
        assert_eq!(report.verdict, Verdict::Violated);
    }
}

#[test]
fn an_index_on_a_branch_is_left_to_run_time() {
    let graph = "g (bool c, int64[1] i, float[a] x) => (z) { z = If(c)<then_branch = t () => (p) { p = Gather(x, i) }, \
                 else_branch = e () => (q) { o = Constant<value_ints = [0]>() q = Gather(x, o) }> }";
    let report = check(&model(graph));
    assert_eq!((report.verdict, report.runtime_asserts.len()), (Verdict::Ok, 1), "{report:?}");
}

#[test]
fn outputs_that_some_data_make_otherwise_than_declared_are_wrong() {
    for graph in [
        "g (float[a, b] x) => (int64[2, a] z) { z = NonZero(x) }",
        "g (bool c, float[a, b] x) => (float[a, b] z) { o = Constant<value_ints = [-1]>() \
         z = If(c)<then_branch = t () => (p) { p = Identity(x) }, else_branch = e () => (q) { q = Reshape(x, o) }> }",
    ] {
        let report = check(&model(graph));
        assert!(report.mismatches.iter().all(|wrong| wrong.values.is_some()), "{report:?}");
        assert_eq!((report.verdict, report.mismatches.len()), (Verdict::Violated, 1), "{report:?}");
    }
}

#[test]
fn what_fails_with_all_data_is_violated() {
    for graph in [
        "g (float[2] x, int64[3] s) => (z) { o = Constant<value_ints = [7]>() z = Reshape(x, o) }",
        "g (float[a] x, int64[k] i) => (z) { n = Identity(i) z = Gather<axis = 1>(x, n) }",
        "g (float[a] x, int64[2] s) => (z) { z = Concat<axis = 0>(s, s, x) }",
    ] {
        assert_eq!(check(&model(graph)).verdict, Verdict::Violated, "{graph}");
    }
}

#[test]
fn conditions_that_are_not_complete_say_so() {
    // The position is outside where there is one round.
    let graph = "g (float[a,b] x) => (z) { p = Constant<value_int = 1>() s = Shape<end = 1>(x) n = Squeeze(s) \
                 e = SequenceEmpty<dtype = 1>() c = Equal(p, p) q = Loop(n, c, e)<body = r (int64 i, bool on, seq(float[a,b]) v) \
                 => (bool go, seq(float[a,b]) w) { go = Identity(on) w = SequenceInsert(v, x) }> z = SequenceAt(q, p) }";
    let report = check(&model(graph));
    let is_complete = |report: &Report| report.needs.as_ref().is_some_and(|needs| needs.conditions_complete);
    assert_eq!((report.verdict, is_complete(&report)), (Verdict::Violated, false), "{report:?}");
    assert!(report.violated().into_iter().all(|violation| !is_on_sizes(violation)), "{report:?}");
    let refused = guard_set(&model(graph), "m").err().expect("no checker");
    assert!(matches!(&refused, NoGuards::Incomplete { node, .. } if node == "z"), "{refused}");
    let graph = "g (float[a,b] x, float[c] y) => (z) { z = Add(x, y) }";
    let report = check(&model(graph));
    assert!(is_complete(&report) && report.violated().into_iter().all(is_on_sizes), "{report:?}");
    assert!(guard_set(&model(graph), "m").is_ok());
}

#[test]
fn what_always_fails_is_no_condition_on_sizes() {
    let graph = "g (float[a] x) => (v, rows) { n = Constant<value_int = 3>() v, rows = Loop(n, \"\", x)<body = b \
                 (int64 i, bool k, float[] c) => (bool k2, float[] w, float[] row) { k2 = Identity(k) w = Identity(c) \
                 o = Constant<value_ints = [-1]>() l = Reshape(i, o) row = ConstantOfShape(l) }> }";
    let report = check(&model(graph));
    assert_eq!(report.verdict, Verdict::Violated);
    assert!(report.violated().into_iter().all(|v| v.shown != "False" && !is_on_sizes(v)), "{report:?}");
}

#[test]
fn a_scan_runs_only_if_the_ranks_of_its_results_are_known_when_the_model_loads() {
    let scan = "v, rows = Scan(z, y)<body = b (float[] s, float[] e) => (float[] n, float[] row) \
                { n = Mul(s, e) row = Identity(e) }, num_scan_inputs = 1>";
    for (before, verdict) in [
        ("q = SequenceConstruct(x) z = ConcatFromSequence<axis = 0>(q)", Verdict::Unknown),
        ("z = Identity(x)", Verdict::Ok),
    ] {
        let graph = format!("g (float[a] x, float[c] y) => (v) {{ {before} {scan} }}");
        assert_eq!(check(&model(&graph)).verdict, verdict, "{graph}");
    }
}

#[test]
fn a_slope_that_is_larger_than_the_input_is_not_followed() {
    for (x, slope, verdict) in
        [("2, a", "a", Verdict::Ok), ("", "1", Verdict::Unknown), ("1", "3", Verdict::Unknown)]
    {
        let x = if x.is_empty() { "float x".to_owned() } else { format!("float[{x}] x") };
        let graph = format!("g ({x}, float[{slope}] s) => (y) {{ p = PRelu(x, s) y = Neg(p) }}");
        assert_eq!(check(&model(&graph)).verdict, verdict, "{graph}");
    }
}

#[test]
fn there_may_be_fewer_labels_than_scores() {
    let graph = "g (float[n, 5] x, int64[m] l) => (float y) { y = NegativeLogLikelihoodLoss(x, l) }";
    let report = check(&model(graph));
    assert_eq!(report.shown(), ["m <= n"], "{report:?}");
    let graph = "g (float[3, 5] x, int64[2] l) => (float y) { y = NegativeLogLikelihoodLoss(x, l) }";
    assert_eq!(check(&model(graph)).verdict, Verdict::Violated);
}

#[test]
fn shapes_come_with_the_conditions_under_which_they_hold() {
    let (shapes, conditions) = guarded_shapes(&model("g (float[a] x, float[b] y) => (z) { z = Add(x, y) }"));
    assert!(shapes.values.contains_key("z"));
    assert_eq!(conditions.len(), 1, "{conditions:?}");
    let (_, conditions) = guarded_shapes(&model("g (float[a] x, float[a] y) => (z) { z = Add(x, y) }"));
    assert!(conditions.is_empty(), "{conditions:?}");
}

#[test]
fn positions_from_a_range_have_to_be_within_the_table() {
    let positions = "s = Shape<start = 1, end = 2>(x) n = Squeeze(s) o = Constant<value_int = 0>() \
                     i = Constant<value_int = 1>() r = Range(o, n, i)";
    for (rest, verdict, conditions) in [
        ("z = Gather(w, r)", Verdict::Violated, vec!["s <= 64"]),
        // Each number meets itself alone, so that the greatest product is not known.
        ("t = Sub(r, r) z = Gather(w, t)", Verdict::Unknown, vec![]),
        ("t = Add(r, i) u = Add(t, i) z = Gather(w, u)", Verdict::Violated, vec!["s <= 62"]),
        (
            "a = Constant<value_ints = [0]>() u = Unsqueeze(r, a) z = Gather(w, u)",
            Verdict::Violated,
            vec!["s <= 64"],
        ),
        // Positions in the input itself are always within it.
        ("z = Gather<axis = 1>(x, r)", Verdict::Ok, vec![]),
        // A part need not have the greatest position.
        (
            "a = Constant<value_ints = [0]>() e = Constant<value_ints = [5]>() t = Slice(r, a, e) z = Gather(w, t)",
            Verdict::Unknown,
            vec![],
        ),
    ] {
        let graph = format!("g (float[b, s] x, float[64, 8] w) => (z) {{ {positions} {rest} }}");
        let report = check(&model(&graph));
        let shown: Vec<&str> = report.needed_shown();
        assert_eq!((report.verdict, shown), (verdict, conditions), "{graph}");
    }
}

#[test]
fn tuples_of_positions_are_within_what_they_choose_from() {
    let graph = "g (float[b, s] x) => (z) { o = Constant<value_int = 0>() i = Constant<value_int = 1>() \
                 l = Constant<value_ints = [-1]>() k = Constant<value_ints = [1]>() h = Shape(x) \
                 sb = Shape<start = 0, end = 1>(x) ss = Shape<start = 1, end = 2>(x) nb = Squeeze(sb) ns = Squeeze(ss) \
                 rb = Range(o, nb, i) rs = Range(o, ns, i) ub = Unsqueeze(rb, k) eb = Expand(ub, h) es = Expand(rs, h) \
                 cb = Unsqueeze(eb, l) cs = Unsqueeze(es, l) t = Concat<axis = -1>(cb, cs) z = GatherND(x, t) }";
    let report = check(&model(graph));
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    let turned = graph.replace("(cb, cs)", "(cs, cb)");
    let report = check(&model(&turned));
    let shown: Vec<&str> = report.needed_shown();
    assert_eq!((report.verdict, shown), (Verdict::Violated, vec!["b >= s", "b <= s"]), "{report:?}");
}

#[test]
fn an_index_that_is_computed_from_sizes_is_a_condition_on_them() {
    let graph = "g (float[a, b] x) => (z) { s = Shape<start = 1, end = 2>(x) o = Constant<value_ints = [1]>() \
                 i = Sub(s, o) z = Gather(x, i) }";
    let report = check(&model(graph));
    let shown: Vec<&str> = report.needed_shown();
    assert_eq!((report.verdict, shown), (Verdict::Violated, vec!["a >= b"]), "{report:?}");
}

#[test]
fn a_row_that_no_round_makes_may_have_no_rank() {
    let loops = |row: &str| {
        format!(
            "g (float[a] x) => (z, rows) {{ n = Constant<value_int = 0>() z, rows = Loop(n, \"\", x)<body = b \
             (int64 i, bool k, float[] c) => (bool k2, float[] w, {row} r) \
             {{ k2 = Identity(k) w = Identity(c) r = Identity(c) }}> }}"
        )
    };
    assert_eq!(check(&model(&loops("float[]"))).verdict, Verdict::Unknown);
    assert_eq!(check(&model(&loops("float[n]"))).verdict, Verdict::Ok);
}

#[test]
fn numbers_that_constants_make_and_that_are_not_followed_are_no_data() {
    let graph = "g (float[a, b] x) => (z) { s = Shape<start = 0, end = 1>(x) h = Cast<to = 10>(s) \
                 c = Constant<value_floats = [2.0]>() d = Cast<to = 10>(c) q = Div(h, d) k = Cast<to = 7>(q) \
                 z, i = TopK<axis = 0>(x, k) }";
    let report = check(&model(graph));
    assert_eq!(report.verdict, Verdict::Unknown, "{report:?}");
}

#[test]
fn counters_of_rounds_are_indices_as_far_as_sizes_decide_them() {
    let trips = "sh = Shape<start = 1, end = 2>(x) one = Constant<value_ints = [1]>() yes = Constant<value = bool {1}>()";
    let row = "(int64 it, bool ci, float[P] v) => (bool co, float[P2] v2, float[R] o) { co = Identity(ci) v2 = Identity(v)";
    let from_data = "(int64 it, bool ci, float[P] v) => (bool co, float[P2] v2, float[R] o) \
                     { k = ReduceMax<keepdims = 0>(v) z = Constant<value_float = 0.0>() co = Less(k, z) v2 = Identity(v)";
    for (declared, count, body, index, verdict) in [
        ("float[a,a] x, float[c,a] w", "n = Identity(sh)", row, "j = Identity(it)", Verdict::Violated),
        ("float[a,c] x, float[c,a] w", "n = Identity(sh)", row, "j = Identity(it)", Verdict::Ok),
        ("float[a,c] x, float[c,a] w", "n = Add(sh, one)", row, "j = Identity(it)", Verdict::Violated),
        (
            "float[a,c] x, float[c,a] w",
            "n = Sub(sh, one)",
            row,
            "u = Squeeze(one) j = Add(it, u)",
            Verdict::Ok,
        ),
        // Whether data end the loop before the last index is too great is a matter of run time.
        ("float[a,a] x, float[c,a] w", "n = Identity(sh)", from_data, "j = Identity(it)", Verdict::Ok),
        // A number of rounds that sizes decide, but that is not followed.
        (
            "float[a,a] x, float[c,a] w",
            "f = Cast<to = 1>(sh) q = Sqrt(f) n = Cast<to = 7>(q)",
            row,
            "j = Identity(it)",
            Verdict::Unknown,
        ),
    ] {
        let graph = format!(
            "g ({declared}, float[e] s) => (y) {{ {trips} {count} t = Squeeze(n) \
             f1, y = Loop(t, yes, s)<body = b {body} {index} o = Gather(w, j) }}> }}"
        );
        let report = check(&model(&graph));
        assert_eq!(report.verdict, verdict, "{graph}\n{report:?}");
    }
}

#[test]
fn carried_counters_are_followed_as_far_as_sizes_decide_them() {
    for (start, step, by_sizes) in [
        ("s = Constant<value_int = 0>()", "r = Add(i, u)", true),
        ("s = ReduceMax<keepdims = 0>(d)", "r = Add(i, u)", false),
        ("s = Constant<value_int = 0>()", "m = ReduceMax<keepdims = 0>(d) r = Add(i, m)", false),
    ] {
        let body = format!("{{ co = Identity(ci) u = Constant<value_int = 1>() {step} o = Gather(w, i) }}");
        let graph = format!(
            "g (float[a] x, float[c,3] w, int64[k] d) => (y) {{ n = Shape(x) t = Squeeze(n) \
             yes = Constant<value = bool {{1}}>() {start} f, y = Loop(t, yes, s)<body = b \
             (int64 it, bool ci, int64 i) => (bool co, int64 r, float[3] o) {body}> }}"
        );
        let report = check(&model(&graph));
        assert_eq!(!report.unsupported.is_empty(), by_sizes, "{graph}\n{report:?}");
        let graph = format!(
            "g (float[a,2] x, float[c,3] w, int64[k] d) => (y) {{ {start} f, y = Scan<num_scan_inputs = 1, body = b \
             (int64 i, float[2] v) => (int64 r, float[3] o) {}>(s, x) }}",
            body.replace("co = Identity(ci)", "")
        );
        let report = check(&model(&graph));
        assert_eq!(!report.unsupported.is_empty(), by_sizes, "{graph}\n{report:?}");
    }
}

#[test]
fn rows_that_no_round_makes_have_the_sizes_that_are_inferred_at_load() {
    // As onnxruntime 1.31 makes them.
    let (x, numbers) = ("float[c,3] w", "float[5,3] w");
    let of_numbers = |sizes: &str| format!("sh = Shape(w) {sizes} o = ConstantOfShape(s2)");
    let [same, some, divided] = [
        "s2 = Identity(sh)",
        "i = Constant<value_ints = [1]>() s2 = Gather(sh, i)",
        "i = Constant<value_ints = [2]>() s2 = Div(sh, i)",
    ]
    .map(of_numbers);
    for (declared, body, row, before, made) in [
        (x, "o = Relu(w)", "float[R,S] o", "", [0, 0, 3].as_slice()),
        (x, "o = Gather(w, it)", "float[R] o", "", &[0, 3]),
        ("float[c,d] w", "o = Relu(w)", "float[R,S] o", "", &[0, 0, 0]),
        (numbers, "o = Transpose(w)", "float[R,S] o", "", &[0, 3, 5]),
        (x, "o = Concat<axis = 1>(w, w)", "float[R,S] o", "", &[0, 0, 6]),
        (x, "sh = Shape(w) o = ConstantOfShape(sh)", "float[R,S] o", "", &[0, 0, 0]),
        (x, "sh = Shape(w) o = Reshape(w, sh)", "float[R,S] o", "", &[0, 0, 0]),
        // Numbers of sizes are not followed where one is open.
        (x, &same, "float[R,S] o", "", &[0, 0, 0]),
        (x, &some, "float[R] o", "", &[0, 0]),
        // Else that depends on the operators, and on how much onnxruntime optimizes.
        (numbers, "sh = Shape(w) o = ConstantOfShape(sh)", "float[R,S] o", "", &[]),
        (numbers, &same, "float[R,S] o", "", &[]),
        (numbers, &some, "float[R] o", "", &[]),
        (numbers, &divided, "float[R,S] o", "", &[]),
        (numbers, &divided, "float[2,1] o", "", &[0, 2, 1]),
        (numbers, "sh = Size(w) o = Add(w, w)", "float[R,S] o", "", &[0, 5, 3]),
        (x, "sh = Constant<value_ints = [-1,3]>() o = Reshape(w, sh)", "float[R,S] o", "", &[0, 0, 3]),
        (x, "o = Identity(v)", "float[R] o", "", &[0, 0]),
        (x, "o = MatMul(w, u)", "float[R,S] o", "u = Transpose(w)", &[0, 0, 0]),
        (numbers, "o = MatMul(w, u)", "float[R,S] o", "u = Transpose(w)", &[0, 5, 5]),
    ] {
        let graph = format!(
            "g ({declared}, float[k] s) => (y) {{ {before} n = Constant<value_int = 0>() \
             yes = Constant<value = bool {{1}}>() f, y = Loop(n, yes, s)<body = b (int64 it, bool ci, float[P] v) => \
             (bool co, float[P2] v2, {row}) {{ co = Identity(ci) v2 = Identity(v) {body} }}> }}"
        );
        let sizes = [("w".to_owned(), vec![5, 3]), ("s".to_owned(), vec![4])];
        let found = evaluate(&model(&graph), &FxHashMap::from_iter(sizes), &FxHashMap::default());
        if made.is_empty() {
            assert!(found.is_err_and(|refused| refused.is_unsupported), "{graph}");
            continue;
        }
        let found = found.expect(&graph).outputs[0].clone().expect("a tensor");
        let found: Vec<Option<i64>> = found.iter().map(ShownSize::number).collect();
        assert_eq!(found, made.iter().copied().map(Some).collect::<Vec<_>>(), "{graph}");
    }
}

#[test]
fn numbers_that_wrap_around_are_followed_where_they_are_known() {
    // As onnxruntime 1.31 computes them; `None` is a refusal.
    for (body, sizes, made) in [
        ("c = Cast<to = 3>(s) k = Cast<to = 7>(c) y = Reshape(x, k)", [300, 2], None),
        ("c = Cast<to = 3>(s) k = Cast<to = 7>(c) y = Reshape(x, k)", [1, 256], Some([1, 256])),
        ("c = Cast<to = 3>(s) k = Cast<to = 7>(c) y = ConstantOfShape(k)", [300, 2], Some([44, 2])),
        ("c = Cast<to = 3>(s) k = Cast<to = 7>(c) y = ConstantOfShape(k)", [200, 2], None),
        (
            "c = Cast<to = 2>(s) m = Mul(c, c) k = Cast<to = 7>(m) y = ConstantOfShape(k)",
            [17, 2],
            Some([33, 4]),
        ),
        ("c = Cast<to = 3>(s) m = Mul(c, c) k = Cast<to = 7>(m) y = Expand(x, k)", [1, 16], None),
        (
            "c = Cast<to = 5>(s) m = Mul(c, c) k = Cast<to = 7>(m) y = ConstantOfShape(k)",
            [257, 3],
            Some([513, 9]),
        ),
        (
            "f = Cast<to = 1>(s) c = Cast<to = 2>(f) k = Cast<to = 7>(c) y = ConstantOfShape(k)",
            [300, 2],
            Some([44, 2]),
        ),
    ] {
        let graph = format!("g (float[a,b] x) => (float[p,q] y) {{ s = Shape(x) {body} }}");
        let given = FxHashMap::from_iter([("x".to_owned(), sizes.to_vec())]);
        let found = evaluate(&model(&graph), &given, &FxHashMap::default());
        match (found, made) {
            (Ok(found), Some(made)) => {
                let sizes: Vec<Option<i64>> =
                    found.outputs[0].iter().flatten().map(ShownSize::number).collect();
                assert_eq!(sizes, made.map(Some), "{body} {sizes:?}");
            }
            (Err(refused), None) => assert!(!refused.is_unsupported, "{body} {sizes:?}"),
            (found, _) => panic!("{body} {sizes:?} {found:?}"),
        }
    }
}

#[test]
fn an_input_without_elements_is_resized_to_sizes_of_0() {
    let model = model("g (float[a,b] x) => (float[p,q] y) { s = Shape(x) y = Resize(x, , , s) }");
    let given = FxHashMap::from_iter([("x".to_owned(), vec![4, 0])]);
    let found = evaluate(&model, &given, &FxHashMap::default()).expect("it runs");
    let sizes: Vec<Option<i64>> = found.outputs[0].iter().flatten().map(ShownSize::number).collect();
    assert_eq!(sizes, [Some(4), Some(0)]);
}
