//! Statements about checks of models, and about files that are no models.
use super::said::Said;
use super::{check, evaluate};
use sizewise_check::report::{GuardVerdict, Outcome as Verdict, Report};
use sizewise_env::ShapeEnv;
use sizewise_kernels::Backend;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::{Dtype, Tensor};
use sizewise_onnx_model::walk::Walk;

const HEAD: &str = "<ir_version: 8, opset_import: [\"\" : 17]>\n";

#[test]
fn a_check_finds_what_a_declaration_allows_and_the_model_does_not() {
    for (body, verdict) in [
        ("g (float[N] x) => (float[N] y) { y = Relu(x) }", Verdict::Ok),
        ("g (float[N] x, float[N] w) => (float[N] y) { y = Add(x, w) }", Verdict::Ok),
        // Unequal names may be unequal sizes.
        ("g (float[N] x, float[M] w) => (float[N] y) { y = Add(x, w) }", Verdict::Violated),
        ("g (float[N,K] x, float[L,M] w) => (float[N,M] y) { y = MatMul(x, w) }", Verdict::Violated),
        // Outputs are compared with numbers, with names of inputs, and with each other.
        ("g (float[N,M] x) => (float[N,M] y) { y = Transpose<perm = [1, 0]>(x) }", Verdict::Violated),
        ("g (float[N] x) => (float[4] y) { y = Relu(x) }", Verdict::Violated),
        ("g (float[N] x) => (float[N,1] y) { y = Relu(x) }", Verdict::Violated),
        ("g (float[N] x) => (int64[N] y) { y = Relu(x) }", Verdict::Violated),
        (
            "g (float[N] x) => (float[P] y, float[P] z) { y = Relu(x) z = Concat<axis = 0>(x, x) }",
            Verdict::Violated,
        ),
        // Data decide the rank, and false makes another one than declared.
        (
            "g (bool c, float[N,M] x) => (float[P,Q] y) { t = Constant<value_ints = [-1]>() \
             y = If(c)<then_branch = a () => (float[N,M] a) { a = Relu(x) }, \
             else_branch = b () => (float[K] b) { b = Reshape(x, t) }> }",
            Verdict::Violated,
        ),
        // A loop of no rounds makes rows of which onnxruntime knows no size.
        (
            "g (float[N] x) => (float[T,N] y) <int64 m = {0}, bool t = {1}> { z, y = Loop(m, t, x)<body = \
             b (int64 i, bool c, float[N] s) => (bool d, float[N] r, float[N] q) \
             { d = Identity(c) r = Identity(s) q = Identity(s) }> }",
            Verdict::Violated,
        ),
        // What the model says of its own values is not believed, but onnxruntime folds `Shape` by it.
        ("g (float[N] x) => (float[N] y) <float[N] v> { v = Relu(x) y = Relu(v) }", Verdict::Ok),
        ("g (float[N] x) => (float[N] y) <float[9] v> { v = Relu(x) y = Relu(v) }", Verdict::Unknown),
    ] {
        let model = Model::read(format!("{HEAD}{body}").into_bytes()).expect(body);
        let report = check(&model);
        assert_eq!(report.verdict, verdict, "{body}\n{report:?}");
        let shown = !report.violated().is_empty() || !report.mismatches.is_empty();
        assert_eq!(shown, verdict == Verdict::Violated, "{body}");
    }
}

#[test]
fn what_no_shape_function_knows_is_neither_right_nor_wrong() {
    for (head, body) in [
        ("<ir_version: 8, opset_import: [\"\" : 17, \"shop\" : 1]>\n", "y = shop.Sell(x)"),
        ("<ir_version: 8, opset_import: [\"\" : 17, \"shop\" : 1]>\n", "a = shop.Sell(x) y = Relu(a)"),
    ] {
        let text = format!("{head}g (float[N] x) => (float[N] y) {{ {body} }}");
        let model = Model::read(text.into_bytes()).expect("a model");
        assert_eq!(check(&model).verdict, Verdict::Unknown, "{body}");
        let sizes = [("x".to_owned(), vec![3])].into_iter().collect();
        let refused = evaluate(&model, &sizes, &Default::default()).expect_err("not known");
        assert!(refused.is_unsupported && refused.message.contains("shop::Sell"), "{refused:?}");
    }
}

#[test]
fn numbers_that_are_computed_from_sizes_are_no_data() {
    let half = "s = Shape<start = 0, end = 1>(x) f = Cast<to = 1>(s) h = Constant<value_float = 0.3>() m = Mul(f, h) \
                k = Cast<to = 7>(m)";
    for (body, verdict) in [
        ("z, i = TopK(x, k)", Verdict::Unknown),
        (
            "o = Constant<value_ints = [0, 0, 0]>() n = Neg(k) p = Concat<axis = 0>(o, n) z = Pad(x, p)",
            Verdict::Unknown,
        ),
        ("z = ReduceSum(x, k)", Verdict::Violated),
        // The result has the same shape for all numbers.
        ("c = Cast<to = 1>(k) z = Add(x, c)", Verdict::Ok),
        ("e = Exp(f) c = Clip(e, h, h) z = Mul(x, c)", Verdict::Ok),
    ] {
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[a,b] x) => (z) {{ {half} {body} }}"
        );
        let model = Model::read(text.into_bytes()).expect(body);
        let report = check(&model);
        assert_eq!(report.verdict, verdict, "{body}\n{report:?}");
    }
}

#[test]
fn rounds_add_rows_of_one_shape() {
    let body = "bool k2, float[] nx, float[] row";
    for (text, verdict) in [
        // A scalar that becomes a vector in the first round.
        (
            format!(
                "g (float x, float[c] y) => (v, rows) {{ n = Constant<value_int = 3>() v, rows = Loop(n, \"\", x)<body = b \
                 (int64 i, bool k, float[] cx) => ({body}) {{ k2 = Identity(k) nx = Add(cx, y) row = Identity(cx) }}> }}"
            ),
            Verdict::Violated,
        ),
        (
            format!(
                "g (float[c] x) => (v, rows) {{ n = Constant<value_int = 3>() v, rows = Loop(n, \"\", x)<body = b \
                 (int64 i, bool k, float[] cx) => ({body}) {{ k2 = Identity(k) nx = Neg(cx) row = Identity(cx) }}> }}"
            ),
            Verdict::Ok,
        ),
        // As many rounds as an input has elements: the rows grow.
        (
            format!(
                "g (float[c] x) => (v, rows) {{ n = Size(x) v, rows = Loop(n, \"\", x)<body = b \
                 (int64 i, bool k, float[] cx) => ({body}) {{ k2 = Identity(k) nx = Concat<axis = 0>(cx, x) \
                 row = Identity(cx) }}> }}"
            ),
            Verdict::Violated,
        ),
        // One result more than the body makes.
        (
            "g (float[c] x) => (v, w) { n = Constant<value_int = 3>() v, w = Loop(n, \"\", x)<body = b (int64 i, bool k, \
             float[] c) => (bool k2, float[] c2) { k2 = Identity(k) c2 = Identity(c) }> }"
                .to_owned(),
            Verdict::Violated,
        ),
        // Nothing is left to scan where `c` is 1.
        (
            "g (float[c] x) => (z) { o = Constant<value_ints = [1]>() e = Constant<value_ints = [2]>() t = Slice(x, o, e) \
             z = Scan<num_scan_inputs = 1, body = b (float s) => (float r) { r = Neg(s) }>(t) }"
                .to_owned(),
            Verdict::Violated,
        ),
        // The branch declares a size that it does not have.
        (
            "g (float[c] x) => (z) { s = Shape(x) q = Squeeze(s) t = Constant<value_int = 3>() g = Greater(q, t) \
             z = If(g)<then_branch = a () => (float[3] p) { p = Identity(x) }, else_branch = b () => (float[d] u) \
             { u = Identity(x) }> }"
                .to_owned(),
            Verdict::Violated,
        ),
    ] {
        let model = Model::read(format!("<ir_version: 8, opset_import: [\"\" : 18]>\n{text}").into_bytes()).expect(&text);
        let report = check(&model);
        assert_eq!(report.verdict, verdict, "{text}\n{report:?}");
    }
}

#[test]
fn nested_loops_are_given_up_in_time() {
    let mut body = "p12 = Identity(v12)".to_owned();
    for depth in (0..12).rev() {
        let within = depth + 1;
        body = format!(
            "n{depth} = Constant<value_int = 60>() p{depth} = Loop(n{depth}, \"\", v{depth})<body = b{depth} \
             (int64 i{depth}, bool k{depth}, float[] v{within}) => (bool c{depth}, float[] p{within}) \
             {{ c{depth} = Identity(k{depth}) {body} }}>"
        );
    }
    let text = format!("{HEAD}g (float[N] v0) => (float[N] p0) {{ {body} }}");
    let model = Model::read(text.into_bytes()).expect("a model");
    let mut walk = Walk::new(&model, ShapeEnv::new(), true);
    walk.most_visits = 1_000;
    let size = walk.env.pool.int(3);
    let given = Tensor::new(Dtype::F32, vec![size]);
    assert_eq!(walk.run(vec![("v0".to_owned(), given.into())]), None);
    assert!(walk.unsupported.is_some() && walk.steps.len() <= 1_001, "{} steps", walk.steps.len());
}

#[test]
fn versions_that_onnxruntime_does_not_load_are_refused() {
    for (version, verdict) in [(26, Verdict::Ok), (27, Verdict::Violated)] {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : {version}]>\ng (float[N] x) => (float[N] y) {{ y = Relu(x) }}"
        );
        let mut model = Model::read(text.into_bytes()).expect("a model");
        assert_eq!(check(&model).verdict, verdict, "{version}");
        model.backend = sizewise_kernels::Backend::Any;
        assert_eq!(check(&model).verdict, Verdict::Ok, "{version}");
    }
}

#[test]
fn operators_of_a_domain_that_is_not_imported_are_refused() {
    let text =
        "<ir_version: 8, opset_import: [\"shop\" : 1]>\ng (float[N] x) => (float[N] y) { y = Relu(x) }";
    let mut model = Model::read(text.as_bytes().to_vec()).expect("a model");
    // onnxruntime takes the newest ones.
    assert_eq!(check(&model).verdict, Verdict::Ok);
    model.backend = Backend::Any;
    let report = check(&model);
    assert_eq!(report.verdict, Verdict::Violated);
    let consequence = report.violated()[0].consequence.as_deref().unwrap_or_default();
    assert!(consequence.contains("does not import"), "{consequence}");
}

#[test]
fn what_data_decide_within_a_branch_keeps_a_model_from_being_right() {
    let text = format!(
        "{HEAD}g (bool c, float[N] x, float[N] w) => (float[M] y) {{ y = If(c)<then_branch = a () => (float[K] p) \
         {{ i = NonZero(x) t = Constant<value_ints = [-1]>() j = Reshape(i, t) k = Cast<to = 1>(j) p = Add(k, w) }}, \
         else_branch = b () => (float[L] q) {{ q = Neg(x) }}> }}"
    );
    let model = Model::read(text.into_bytes()).expect("a model");
    assert_ne!(check(&model).verdict, Verdict::Ok);
}

#[test]
fn declared_expressions_are_sizes() {
    for (body, verdict) in [
        (
            "g (float[seq] x, float[\"2*seq + 1\"] w) => (float[\"3*seq + 1\"] y) { y = Concat<axis = 0>(x, w) }",
            Verdict::Ok,
        ),
        (
            "g (float[seq] x, float[\"2*seq + 1\"] w) => (float[\"3*seq\"] y) { y = Concat<axis = 0>(x, w) }",
            Verdict::Violated,
        ),
        (
            "g (float[seq] x, float[\"seq * 2\"] w, float[\"2*seq\"] v) => (float[n] y) { y = Add(w, v) }",
            Verdict::Ok,
        ),
        (
            "g (float[\"past + seq\"] x, float[past] w, float[seq] v) => (float[\"past + seq\"] y) \
          { c = Concat<axis = 0>(w, v) y = Add(x, c) }",
            Verdict::Ok,
        ),
        ("g (float[\"floor(seq/2)\"] x, float[seq] w) => (float[\"seq//2\"] y) { y = Relu(x) }", Verdict::Ok),
        // The name stands within expressions alone.
        (
            "g (float[\"2*n\"] x, float[\"3*n\"] w) => (float[\"5*n\"] y) { y = Concat<axis = 0>(x, w) }",
            Verdict::Ok,
        ),
        // What may be a name is one.
        (
            "g (float[\"unk-1\"] x, float[\"unk-2\"] w) => (float[n] y) { s = Slice(x, a, b) y = Add(s, w) }",
            Verdict::Violated,
        ),
    ] {
        let body = body
            .replace("{ s =", "{ a = Constant<value_ints = [1]>() b = Constant<value_ints = [100000]>() s =");
        let model = Model::read(format!("{HEAD}{body}").into_bytes()).expect("a model");
        let report = check(&model);
        assert_eq!(report.verdict, verdict, "{body}\n{report:?}");
    }
}

/// What is said of the conditions that a file states.
fn stated_of(report: &Report) -> (Vec<(&str, &str)>, Option<bool>) {
    let needs = report.needs.as_ref().expect("what it needs");
    let stated = needs.stated.iter().map(|stated| (stated.expr.as_str(), stated.verdict));
    (stated.collect(), needs.stated_suffices)
}

#[test]
fn what_a_file_states_of_itself_is_compared_and_not_assumed() {
    let of = |stated: &str| {
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 17], metadata_props: [\"sizewise.conditions\" : \"{stated}\"]>\n\
             g (float[seq] x, float[past] w) => (float[n] y) {{ a = Constant<value_ints = [1]>() \
             c = Constant<value_ints = [0]>() p = Pad(w, d) d = Constant<value_ints = [0, 1]>() y = Mul(x, p) }}"
        );
        check(&Model::read(text.into_bytes()).expect("a model"))
    };
    let cases: &[(&str, &str, bool)] = &[
        ("Eq(seq, past + 1)", "not needed", true),
        ("Eq(seq, past + 1) | Eq(seq, 1)", "needed", true),
        ("Eq(seq, 9)", "not needed", false),
        ("Eq(other, 9)", "unknown", false),
        ("what?", "unknown", false),
    ];
    for (stated, expected, suffices) in cases {
        let report = of(stated);
        assert_eq!(report.verdict, Verdict::Violated, "{stated}");
        let needs = stated_of(&report);
        assert_eq!(needs, (vec![(*stated, *expected)], Some(*suffices)), "{report:?}");
    }
}

#[test]
fn what_is_not_followed_may_need_what_a_file_states() {
    for (node, stated, expected) in [
        ("y = Relu(x)", "seq <= 9", "not needed"),
        ("y = shop.Sell(x)", "seq <= 9", "unknown"),
        ("s = shop.Sell(x) y = Add(x, w)", "Eq(seq, past) | Eq(past, 1) | Eq(seq, 1)", "needed"),
        // A node that fails at every size.
        ("y = Transpose<perm = [0, 0]>(x)", "seq <= 9", "unknown"),
    ] {
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 17, \"shop\" : 1], \
             metadata_props: [\"sizewise.conditions\" : \"{stated}\"]>\n\
             g (float[seq] x, float[past] w) => (float[n] y) {{ {node} }}"
        );
        let report = check(&Model::read(text.into_bytes()).expect("a model"));
        assert_eq!(stated_of(&report).0, [(stated, expected)], "{report:?}");
    }
}

#[test]
fn a_broadcast_is_broken_in_every_way_that_it_has() {
    // The sizes of 1 of the example broadcast, and one of them alone may be another size.
    let body = "g (float[N, K] x, float[M, 1] b) => (float[N, 1] y) <float[3, 1] c = {1, 2, 3}> \
                { a = MatMul(x, c) y = Add(a, b) }";
    let model = Model::read(format!("{HEAD}{body}").into_bytes()).expect(body);
    let report = check(&model);
    assert!(report.with(GuardVerdict::Unknown).is_empty(), "{report:?}");
    assert_eq!(report.shown(), ["K == 3", "M == 1 or M == N or N == 1"], "{report:?}");
    let broken =
        ["x", "y", "z"].map(|input| (input.to_owned(), super::said::sizes(report.violated()[1], input)));
    let broken = broken.into_iter().filter(|(_, sizes)| !sizes.is_empty()).collect();
    assert!(evaluate(&model, &broken, &Default::default()).is_err());
}

#[test]
fn a_mask_is_as_large_as_what_it_chooses_from() {
    for (sizes, verdict) in [("N", Verdict::Ok), ("M", Verdict::Violated)] {
        let text = format!(
            "{HEAD}g (float[N] x, bool[{sizes}] m) => (float[K] y) \
             {{ p = NonZero(m) i = Transpose<perm = [1, 0]>(p) y = GatherND(x, i) }}"
        );
        let model = Model::read(text.into_bytes()).expect("a model");
        assert_eq!(check(&model).verdict, verdict, "{sizes}");
    }
}

#[test]
fn sizes_near_the_greatest_integer_are_no_danger() {
    for (body, verdict) in [
        (
            "g (float[N] x) => (float[M] y) <int64[1] t = {4611686018427387904}> { y = Reshape(x, t) }",
            Verdict::Violated,
        ),
        (
            "g (float[N] x) => (float[M] y) <int64[1] t = {9223372036854775807}> { y = Reshape(x, t) }",
            Verdict::Violated,
        ),
    ] {
        let model = Model::read(format!("{HEAD}{body}").into_bytes()).expect(body);
        assert_eq!(check(&model).verdict, verdict, "{body}");
    }
}

#[test]
fn many_conditions_of_a_large_model_take_bounded_work() {
    // Each pair of inputs is added: a condition for each, all of them broken.
    let pairs = 300;
    let inputs: Vec<String> = (0..pairs).map(|i| format!("float[a{i}] x{i}, float[b{i}] w{i}")).collect();
    let nodes: String = (0..pairs).map(|i| format!("y{i} = Add(x{i}, w{i}) ")).collect();
    let body = format!("g ({}) => (float[a0] y0) {{ {nodes} }}", inputs.join(", "));
    let model = Model::read(format!("{HEAD}{body}").into_bytes()).expect("a model");
    let report = check(&model);
    assert_eq!(report.verdict, Verdict::Violated);
    assert_eq!(report.needed().len(), pairs);
    assert!(report.violated().len() <= 100, "{}", report.violated().len());
}
