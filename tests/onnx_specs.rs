//! Specs of ONNX models: what a check under one says, and what `sizewise spec` writes.
use crate::onnx_reports::run;
use serde_json::{Value, json};

const JOIN: &str =
    "g (float[batch, seq] x, float[b2, 4] y) => (float[n, k] z) { z = Concat<axis = 1>(x, y) }";
const KERNEL: &str = "g (float[batch, 3, h, w] x) => (float[n, c, i, j] z) {
    sizes = Constant<value_ints = [8, 3, 5, 5]>()
    k = ConstantOfShape<value = float[1] {0.1}>(sizes)
    z = Conv(x, k)
}";
const ROWS: &str = "g (float[batch, seq] x) => (float[n, k] z) {
    c = Constant<value_ints = [-1, 8]>()
    z = Reshape(x, c)
}";
const THERE_AND_BACK: &str = "g (float[batch, seq] x) => (float[n, k] z) {
    c = Constant<value_ints = [1, -1]>()
    r = Reshape(x, c)
    s = Shape(x)
    z = Reshape(r, s)
}";
const SUM: &str = "g (float[p] a, float[q] b, float[t] c) => (float[n] z) {
    j = Concat<axis = 0>(a, b)
    z = Mul(j, c)
}";
const RANK: &str = "g (float[] x) => (float[n, k] z) { z = MatMul(x, x) }";

#[test]
fn a_check_is_under_the_spec() {
    for (model, spec, status, said) in [
        (JOIN, r#"{"x": [{"dim": "b"}, null], "y": [{"dim": "b"}, null]}"#, 0, "model.onnx: ok"),
        (JOIN, r#"[[{"dim": "b"}, null], {"0": {"dim": "b"}}]"#, 0, "model.onnx: ok"),
        (JOIN, "b = Dim('b', max=9)\ndynamic_shapes = {'x': [b, None], 'y': [b, 4]}", 0, "model.onnx: ok"),
        // What the spec says nothing of is as the model declares it.
        (JOIN, "{}", 1, "your spec allows shapes that break `b2 == batch`"),
        (JOIN, r#"{"x": [7, null], "y": [7, null]}"#, 0, "model.onnx: ok"),
        (JOIN, r#"{"x": [7, null], "y": [8, null]}"#, 1, "error[guard-not-implied]"),
        // A number that the model declares: onnxruntime takes no other size.
        (
            JOIN,
            r#"{"x": [3, null], "y": [3, "DYNAMIC"]}"#,
            1,
            "your spec allows shapes that break `y.shape[1] == 4`",
        ),
        (
            JOIN,
            r#"{"x": [3, null], "y": [3, "DYNAMIC"]}"#,
            1,
            "  declared      the model declares y.shape[1] as a number",
        ),
        (JOIN, r#"{"x": [3, null], "y": [3, "AUTO"]}"#, 0, "model.onnx: ok"),
        (
            KERNEL,
            r#"{"x": [null, null, {"dim": "h", "min": 5}, {"dim": "w", "min": 5}]}"#,
            0,
            "model.onnx: ok",
        ),
        (
            KERNEL,
            r#"{"x": [null, null, {"dim": "h", "min": 5}, {"dim": "w", "max": 9}]}"#,
            1,
            "              w = Dim('w', min=5, max=9)\n",
        ),
        (KERNEL, r#"{"x": [{"dim": "b", "min": 0}, null, 9, 9]}"#, 0, "model.onnx: ok"),
        (ROWS, r#"{"x": [{"derived": "8*r", "root": {"dim": "r"}}, null]}"#, 0, "model.onnx: ok"),
        (
            ROWS,
            r#"{"x": [{"dim": "r"}, {"derived": "4*s", "root": {"dim": "s"}}]}"#,
            1,
            "  for example   x: f32[",
        ),
        (RANK, r#"{"x": [{"dim": "n"}, {"dim": "n"}]}"#, 0, "model.onnx: ok"),
        // A size that is the sum of others.
        (SUM, "p = Dim('p', max=7)\nq = Dim('q')\n{'a': [p], 'b': [q], 'c': [p + q]}", 0, "model.onnx: ok"),
        (
            SUM,
            "p, q = dims('p', 'q', min=3)\n{'a': [p], 'b': [q], 'c': [q + p + 1]}",
            1,
            "the model runs at no size that your spec allows: it needs that ",
        ),
        (
            SUM,
            r#"{"a": [{"dim": "p"}], "b": [{"dim": "q"}], "c": [{"derived": "q + p", "roots": [{"dim": "p"}, {"dim": "q"}]}]}"#,
            0,
            "model.onnx: ok",
        ),
        (SUM, "p, q = dims('p', 'q', min=0)\n{'a': [2*p], 'b': [q], 'c': [q + 2*p]}", 0, "model.onnx: ok"),
        // A fix keeps it.
        (KERNEL, "p, q, r = dims('p', 'q', 'r', min=3)\n{'x': [p + q, None, r, p + r]}", 1, "fix 1         "),
        // A size of 0 in a target of `Reshape` is that of the input.
        (THERE_AND_BACK, r#"{"x": [{"dim": "b"}, 9]}"#, 0, "model.onnx: ok"),
        (THERE_AND_BACK, r#"{"x": [{"dim": "b", "min": 0}, 9]}"#, 1, "fix 1         b = Dim('b', min=1)"),
        (THERE_AND_BACK, "{'x': [Dim('b', min=0), 9]}", 1, "fix 1         b = Dim('b', min=1)"),
    ] {
        let (code, text, error) = run(model, spec, &["--spec", "spec.json"]);
        assert_eq!(code, status, "{spec}: {text}{error}");
        assert!(text.contains(said), "{spec}: {said:?} is not in\n{text}");
    }
}

#[test]
fn a_spec_that_does_not_fit_is_invalid() {
    for (model, spec, said) in [
        (JOIN, r#"{"w": [null, null]}"#, "w: the model has no input of this name"),
        (JOIN, r#"{"x": [null]}"#, "x: the tensor has 2 dimensions, the spec 1"),
        (JOIN, r#"{"x": {"2": "AUTO"}}"#, "x: the tensor has 2 dimensions: there is no dimension \"2\""),
        (JOIN, r#"{"x": "AUTO"}"#, "x: expected null or a list with one entry a dimension"),
        (JOIN, "[[null, null]]", "the model has 2 inputs, the spec 1"),
        (JOIN, r#"{"y": [null, 5]}"#, "y.shape[1]: the spec says 5, the model declares 4"),
        (
            JOIN,
            r#"{"y": [null, {"dim": "k", "min": 5}]}"#,
            "y.shape[1]: the model declares 4, which is outside",
        ),
        (
            JOIN,
            r#"{"x": [{"dim": "b", "max": 3}, null], "y": [{"dim": "b"}, null]}"#,
            "y.shape[0]: b has the range 1..unbounded here and 1..3 before",
        ),
        (JOIN, r#"{"x": [{"dim": "b", "max": 0}, null]}"#, "x.shape[0]: the range is empty"),
        (JOIN, r#"{"x": [{"derived": "b*b", "root": {"dim": "b"}}, null]}"#, "is not of the form k*b + c"),
        (
            JOIN,
            r#"{"x": [{"derived": "2*c", "root": {"dim": "b"}}, null]}"#,
            "may only use its root b, not c",
        ),
        (JOIN, r#"{"additional_inputs": [{"x": [3, 4]}]}"#, "example inputs are no spec here"),
        (RANK, r#"{"x": {"0": "AUTO"}}"#, "x: the model does not say how many dimensions it has"),
    ] {
        let (code, text, error) = run(model, spec, &["--spec", "spec.json"]);
        assert_eq!(code, 2, "{spec}: {text}{error}");
        assert!(text.contains("error[spec-does-not-fit]") && text.contains(said), "{spec}: {said}\n{text}");
        let (code, text, _) = run(model, spec, &["--spec", "spec.json", "--format", "json"]);
        let report: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((code, &report["verdict"]), (2, &json!("invalid")), "{spec}");
    }
    let (code, _, error) = run(JOIN, "{", &["--spec", "spec.json"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("spec.json"), "{error}");
}

#[test]
fn what_no_sizes_satisfy_implies_nothing() {
    const RELATED: &str = "g (float[n] x, float[\"n - 5\"] y) => (float[m] z) { z = Concat<axis = 0>(x, y) }";
    const NEVER: &str = "g (float[n] x, float[\"3 - 3*n\"] y) => (float[m] z) { z = Concat<axis = 0>(x, y) }";
    let allows = |most: i64| format!(r#"{{"x": [{{"dim": "n", "max": {most}}}]}}"#);
    for (model, spec, status, said) in [
        (RELATED, allows(6), 0, "model.onnx: ok"),
        (RELATED, allows(5), 2, "error[contradictory]: no input satisfies all assumptions: n >= 6, n <= 5"),
        (RELATED, "{}".to_owned(), 0, "model.onnx: ok"),
        (NEVER, "{}".to_owned(), 2, "error[contradictory]: no input satisfies all assumptions"),
    ] {
        let (code, text, error) = run(model, &spec, &["--spec", "spec.json"]);
        assert_eq!(code, status, "{spec}: {text}{error}");
        assert!(text.contains(said), "{spec}: {said}\n{text}");
    }
    let (code, text, _) = run(NEVER, "", &[]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("error[contradictory-contract]: the program allows no input at all"), "{text}");
}

#[test]
fn proofs_say_what_they_rest_on() {
    // Sizes that memory does not hold are none.
    const HUGE: &str = "g (float[a, b] x) => (z) {
        n = Shape<start = 1>(x)
        k = Constant<value_ints = [9223372036854775807]>()
        q = Div(n, k)
        two = Constant<value_ints = [2]>()
        s = Add(q, two)
        seven = Constant<value_ints = [7]>()
        m = Mod(s, seven)
        rest = Constant<value_ints = [-1]>()
        c = Concat<axis = 0>(m, rest)
        z = Reshape(x, c)
    }";
    let (_, text, error) = run(HUGE, "{}", &["--spec", "spec.json", "--format", "json"]);
    let report: Value = serde_json::from_str(&text).expect(&error);
    let guards = report["guards"].as_array().expect("conditions");
    let implied = guards.iter().find(|guard| guard["verdict"] == "implied").expect(&text);
    assert_eq!(implied["decided_by"], "range", "{implied}");
    let facts = implied["because"].as_array().expect("facts");
    assert!(facts.contains(&json!("b <= 1099511627776")) && !facts.contains(&json!("")), "{implied}");
}

#[test]
fn specs_are_written() {
    for (model, words, status, said) in [
        (
            JOIN,
            &["spec", "init", "model.onnx", "--as", "python"][..],
            0,
            "    'x': [batch, seq],\n    'y': [b2, None],",
        ),
        (JOIN, &["spec", "show", "model.onnx"], 0, "    'x': [batch, seq],\n    'y': [b2, None],"),
        (
            JOIN,
            &["spec", "widen", "model.onnx", "--as", "python"],
            0,
            "    'x': [batch, seq],\n    'y': [batch, None],",
        ),
        (
            KERNEL,
            &["spec", "widen", "model.onnx", "--as", "python"],
            0,
            "h = Dim('h', min=5)\nw = Dim('w', min=5)",
        ),
        (ROWS, &["spec", "widen", "model.onnx", "--as", "python"], 0, "    'x': [batch, 8*_seq],"),
        (KERNEL, &["spec", "init", "model.onnx"], 0, "\"dim\": \"batch\""),
        (RANK, &["spec", "widen", "model.onnx"], 4, ""),
        (JOIN, &["spec", "init", "model.onnx", "--example", "{\"x\": [3, 4]}"], 2, ""),
    ] {
        let (code, text, error) = run(model, "", words);
        assert_eq!(code, status, "{words:?}: {text}{error}");
        assert!(text.contains(said), "{words:?}: {said:?} is not in\n{text}");
        assert_eq!(error.is_empty(), status == 0, "{error}");
    }
}

/// A fix is a spec that is written where `--fix` says, and the report is that of a check under it.
#[test]
fn a_fix_is_written_and_checked() {
    let (code, text, error) = run(KERNEL, "{}", &["--spec", "spec.json", "--fix", "fixed.py"]);
    assert_eq!(code, 0, "{text}{error}");
    assert!(text.starts_with("model.onnx: ok"), "{text}");
    let (code, _, error) = run(RANK, "{}", &["--spec", "spec.json", "--fix", "fixed.py"]);
    assert_eq!(code, 4, "{error}");
    assert!(error.contains("no fix was found, fixed.py is not written"), "{error}");
    // Sizes that the model is to declare are none of a spec.
    let halves = "g (float[n] x, float[m] w) => (float[n] y) { y = Add(x, w) }";
    let (code, text, error) = run(halves, "", &["check", "model.onnx", "--fix", "fixed.py"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("fix 1         declare w.shape[0] as n"), "{text}");
    assert!(error.contains("declares sizes in the model: name a file that ends in .onnx"), "{error}");
    let (code, text, error) = run(halves, "", &["check", "model.onnx", "--fix", "fixed.onnx"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("fixed.onnx: ok"), "{text}");
    assert!(error.contains("what it declares also rejects shapes that work, such as x: ["), "{error}");
    // A model cannot have a fix that is a spec.
    let small =
        "g (float[1, 1, h, 8] x) => (float[a, b, c, d] y) <float[1, 1, 2, 1] w = {1, 1}> { y = Conv(x, w) }";
    let (code, _, error) = run(small, "", &["check", "model.onnx", "--fix", "fixed.onnx"]);
    assert_eq!(code, 1, "{error}");
    assert!(
        error.contains("the fix is a spec: name a file that ends in .json or .py, fixed.onnx is not written"),
        "{error}"
    );
    // What is right is written as it is, and a spec is none for a model.
    let (code, text, error) = run(ROWS, "", &["check", "model.onnx", "--fix", "fixed.onnx"]);
    assert_eq!(code, 0, "{text}{error}");
    let right = "g (float[n] x) => (float[n] y) { y = Neg(x) }";
    let (code, text, error) = run(right, "", &["check", "model.onnx", "--fix", "fixed.onnx"]);
    assert!(code == 0 && error.is_empty() && text.starts_with("fixed.onnx: ok"), "{text}{error}");
    let (code, _, error) = run(KERNEL, "{}", &["--spec", "spec.json", "--fix", "fixed.onnx"]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("the fix is a spec: name a file that ends in .json or .py"), "{error}");
}
