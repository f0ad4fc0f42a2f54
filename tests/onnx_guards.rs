//! What ONNX models need, as explanations and as checkers.
use crate::onnx_reports::run;
use rustc_hash::FxHashMap;
use serde_json::Value;
use sizewise::onnx::check::{evaluate, guard_set};
use sizewise::onnx_model::read::Model;
use sizewise::report::guard_code::Language;
use std::process::Command;

const ADD: &str = "g (float[batch, n] x, float[batch, 6] y) => (float[batch, 6] z) { z = Add(x, y) }";
const PATCHES: &str = "g (float[batch, height] x, float[4, height] y) => (float[a, b, c] z, float[d, e] p) {
    one = Constant<value_ints = [1]>()
    u = Unsqueeze(x, one)
    k = Constant<value = float[2, 1, 3] {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>()
    z = Conv<strides = [2]>(u, k)
    rows = Constant<value_ints = [-1, 5]>()
    p = Reshape(y, rows)
}";
const TWICE: &str = "g (float[n, \"2*n\"] x, float[n, n] y) => (float[n, k] z) { z = MatMul(y, x) }";
const UNRANKED: &str = "g (float[] x) => (float[n] z) { z = Relu(x) }";
const REFUSES: &str = "g (float[n, 3] x, float[n, 4] y) => (float[n, k] z) { z = Add(x, y) }";

fn model(body: &str) -> Model {
    let head = "<ir_version: 8, opset_import: [\"\" : 17]>";
    Model::read(format!("{head}\n{body}\n").into_bytes()).expect("a model")
}

#[test]
fn explanations_name_what_needs_a_condition() {
    for (model, words, status, said) in [
        (
            ADD,
            &["explain", "model.onnx"][..],
            0,
            "x.shape[1] is dynamic: n\n  it has to satisfy\n    n == 1 or n == 6",
        ),
        (ADD, &["explain", "model.onnx"], 0, "      needed by z = Add (Broadcast.C1)"),
        (ADD, &["explain", "model.onnx", "--dim", "y.1"], 0, "y.shape[1] is static: 6\n  the model declares"),
        (TWICE, &["explain", "model.onnx", "--dim", "x.shape[1]"], 0, "x.shape[1] is dynamic: 2*n"),
        (ADD, &["explain", "model.onnx", "--dim", "x.2"], 2, "no input has the dimension `x.2`"),
        (ADD, &["explain", "model.onnx", "--store"], 2, "--store is not supported for an ONNX model"),
        (UNRANKED, &["guards", "model.onnx"], 3, "the model does not say how many dimensions x has"),
        (REFUSES, &["guards", "model.onnx"], 3, "no sizes are known that the model accepts: z: "),
        (ADD, &["guards", "model.onnx", "--emit", "json"], 0, "\"conditions\""),
        (ADD, &["guards", "model.onnx", "--emit", "rust"], 0, "pub fn check"),
        (ADD, &["guards", "model.onnx", "--emit", "c"], 0, "sizewise_check"),
    ] {
        let (code, text, error) = run(model, "", words);
        assert_eq!(code, status, "{words:?}: {text}{error}");
        assert!(text.contains(said) || error.contains(said), "{words:?}: {said:?} is not in\n{text}{error}");
    }
    let (_, text, _) = run(ADD, "", &["explain", "model.onnx", "--format", "json"]);
    let explained: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(explained[1]["restrictions"][0]["node"], "z");
}

/// The emitted checker accepts the sizes that the model accepts, where they are as it declares.
#[test]
fn checkers_accept_what_models_accept() {
    for body in [ADD, PATCHES, TWICE] {
        let model = model(body);
        let code = guard_set(&model, "model").expect("guards").emit(Language::Python).expect("code");
        let (mut points, mut script) = (Vec::new(), code);
        for first in 0..8i64 {
            for second in 0..12i64 {
                let (x, y) = match body {
                    ADD => (vec![first, second], vec![first, 6]),
                    PATCHES => (vec![first, second], vec![4, second]),
                    _ => (vec![first, 2 * first], vec![first, first]),
                };
                script += &format!("print(check({{'x': {x:?}, 'y': {y:?}}}) is None)\n");
                points.push((x, y));
            }
        }
        let output = Command::new("python3").args(["-c", &script]).output().expect("Python runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text.lines().count(), points.len(), "{}", String::from_utf8_lossy(&output.stderr));
        for (line, (x, y)) in text.lines().zip(points) {
            // Empty tensors are beyond what a check assumes.
            let is_empty = x.contains(&0) || y.contains(&0);
            let given = FxHashMap::from_iter([("x".to_owned(), x.clone()), ("y".to_owned(), y.clone())]);
            let runs = !is_empty && evaluate(&model, &given, &FxHashMap::default()).is_ok();
            assert_eq!(line == "True", runs, "{body}\n{x:?} {y:?}");
        }
    }
}

/// What is not followed is warned of, and the checker does not say that the model serves what it accepts.
#[test]
fn incomplete_guards_say_so() {
    const SERVES: &str = "the program serves inputs of these shapes";
    let unknown = "g (float[n] x) => (float[n] y) { y = shop.Sell(x) }";
    for language in ["python", "rust", "c"] {
        let words = ["guards", "model.onnx", "--emit", language];
        let (code, text, error) = run(ADD, "", &words);
        assert_eq!((code, error.as_str()), (0, ""));
        assert!(text.contains(SERVES), "{text}");
        let (code, text, error) = run(unknown, "", &words);
        assert_eq!(code, 0, "{error}");
        assert!(error.contains("the guards are incomplete: 1 node is not fully followed"), "{error}");
        assert!(!text.contains(SERVES) && text.contains("which is not all that the program needs"), "{text}");
    }
}

/// What is the same of every dimension is said once.
#[test]
fn explanations_say_once_where_the_walk_stopped() {
    let unknown = "g (float[n, m] x) => (float[n, m] y) { y = shop.Sell(x) }";
    for (words, count) in
        [(&["explain", "model.onnx"][..], 2), (&["explain", "model.onnx", "--dim", "x.0"], 1)]
    {
        let (_, text, _) = run(unknown, "", words);
        assert_eq!(text.matches("is dynamic").count(), count, "{text}");
        assert_eq!(text.matches("nothing is known of what comes after y").count(), 1, "{text}");
    }
}

/// What is no tensor is refused, and not taken for sizes.
#[test]
fn checkers_refuse_what_is_no_tensor() {
    let code = guard_set(&model(ADD), "model").expect("guards").emit(Language::Python).expect("code");
    let mut script = code + "class T:\n    shape = (2, 6)\n";
    for (x, said) in [
        ("T()", "None"),
        ("[2, 6]", "None"),
        ("(2, 1)", "None"),
        ("3", "'x has to have 2 dimensions, of integers'"),
        ("None", "'x has to have 2 dimensions, of integers'"),
        ("'ab'", "'x has to have 2 dimensions, of integers'"),
        ("{0: 1, 1: 2}", "'x has to have 2 dimensions, of integers'"),
        ("[2, 6, 6]", "'x has to have 2 dimensions, of integers'"),
        ("[2, None]", "'x has to have 2 dimensions, of integers'"),
        ("['a', 6]", "'x has to have 2 dimensions, of integers'"),
        ("[2.0, 6]", "'x has to have 2 dimensions, of integers'"),
        ("[2, True]", "'x has to have 2 dimensions, of integers'"),
    ] {
        script += &format!("print(repr(check({{'x': {x}, 'y': [2, 6]}})).startswith({said:?}))\n");
    }
    let output = Command::new("python3").args(["-c", &script]).output().expect("Python");
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !text.contains("False"), "{text}{error}");
}
