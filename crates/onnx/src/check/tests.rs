//! Statements about checks of models, and about files that are no models.
use super::{Verdict, check, evaluate};
use crate::read::Model;

const HEAD: &str = "<ir_version: 8, opset_import: [\"\" : 17]>\n";

#[test]
fn a_check_finds_what_a_declaration_admits_and_the_model_does_not() {
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
        // Data decide the rank: no example shows that it is right.
        (
            "g (bool c, float[N,M] x) => (float[P,Q] y) { t = Constant<value_ints = [-1]>() \
             y = If(c)<then_branch = a () => (float[N,M] a) { a = Relu(x) }, \
             else_branch = b () => (float[K] b) { b = Reshape(x, t) }> }",
            Verdict::Unknown,
        ),
        // A loop of no rounds makes rows of which onnxruntime knows no size.
        (
            "g (float[N] x) => (float[T,N] y) <int64 m = {0}, bool t = {1}> { z, y = Loop(m, t, x)<body = \
             b (int64 i, bool c, float[N] s) => (bool d, float[N] r, float[N] q) \
             { d = Identity(c) r = Identity(s) q = Identity(s) }> }",
            Verdict::Violated,
        ),
        // What the model says of its own values is not believed.
        ("g (float[N] x) => (float[N] y) <float[9] v> { v = Relu(x) y = Relu(v) }", Verdict::Ok),
    ] {
        let model = Model::read(format!("{HEAD}{body}").into_bytes()).expect(body);
        let report = check(&model);
        assert_eq!(report.verdict, verdict, "{body}\n{report:?}");
        let shown = !report.violations.is_empty() || !report.wrong_outputs.is_empty();
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
fn operators_of_a_domain_that_is_not_imported_are_refused() {
    let text =
        "<ir_version: 8, opset_import: [\"shop\" : 1]>\ng (float[N] x) => (float[N] y) { y = Relu(x) }";
    let model = Model::read(text.as_bytes().to_vec()).expect("a model");
    let report = check(&model);
    assert_eq!(report.verdict, Verdict::Violated);
    assert!(report.violations[0].message.contains("does not import"), "{}", report.violations[0].message);
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
