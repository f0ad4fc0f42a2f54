//! Checks of models that call the same over and over, and of sizes that grow with each node.
use super::examples::walked;
use super::{Verdict, check, evaluate, shapes};
use rustc_hash::FxHashMap;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::Value;

/// Calls are kept behind so many nodes, and when they come for the second time.
const FIRST: usize = 32;

/// A model that repeats outer products, each of which squares the number of elements.
fn outer(rounds: usize) -> Model {
    let node = |at: usize| {
        format!(
            "r{at} = Reshape(v{at}, m) a{at} = Unsqueeze(r{at}, z) b{at} = Unsqueeze(r{at}, o) \
             v{} = Mul(a{at}, b{at}) ",
            at + 1
        )
    };
    let nodes: String = (0..rounds).map(node).collect();
    let text = format!(
        "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[A,B] v0) => (float[P,Q] v{rounds}) \
         <int64[1] m = {{-1}}, int64[1] z = {{0}}, int64[1] o = {{1}}> {{ {nodes} }}"
    );
    Model::read(text.into_bytes()).expect("a model")
}

#[test]
fn sizes_that_grow_with_each_node_are_unknown_beyond_a_bound() {
    for (rounds, verdict) in [(3, Verdict::Ok), (10, Verdict::Unknown), (60, Verdict::Unknown)] {
        assert_eq!(check(&outer(rounds)).verdict, verdict, "{rounds}");
    }
}

#[test]
fn numbers_of_too_many_bits_are_not_followed() {
    let sizes = |size: i64| [("v0".to_owned(), vec![size, size])].into_iter().collect();
    let refused = evaluate(&outer(60), &sizes(3), &FxHashMap::default()).expect_err("too large");
    assert!(refused.is_unsupported, "{refused:?}");
    assert_eq!(refused.message, "a size is too large an expression to follow");
    assert!(evaluate(&outer(60), &sizes(1), &FxHashMap::default()).is_ok());
}

/// A model of a body, so many nodes behind that repeat nothing of it, and the body's end.
fn model(inputs: &str, outputs: &str, body: &[&str]) -> Model {
    let mut lines: Vec<String> = Vec::new();
    // Calls are kept behind some nodes, and when they come for the second time.
    lines.extend((0..FIRST).map(|at| format!("pad{at} = Constant<value_int = {at}>()")));
    lines.extend(body.iter().map(|&line| line.to_owned()));
    let text = format!(
        "<ir_version: 8, opset_import: [\"\" : 17]>\ng ({inputs}) => ({outputs}) {{\n{}\n}}",
        lines.join("\n")
    );
    Model::read(text.into_bytes()).expect("a model")
}

fn shape(model: &Model, name: &str) -> String {
    format!("{:?}", shapes(model).values[name].shape)
}

#[test]
fn equal_calls_have_equal_results() {
    let relus: Vec<String> = (1..6).map(|at| format!("r{at} = Relu(x)\ns{at} = Add(r{at}, x)")).collect();
    let body: Vec<&str> = relus.iter().map(String::as_str).collect();
    let model = model("float[N, 3] x", "float[] s5", &body);
    for at in 2..6 {
        assert_eq!(shape(&model, &format!("s{at}")), shape(&model, "s1"));
    }
}

#[test]
fn sizes_that_data_decide_differ_each_time() {
    let body = ["a = NonZero(x)", "b = NonZero(x)", "c = NonZero(x)", "d = NonZero(x)"];
    let model = model("float[N, 3] x", "int64[] a, int64[] b, int64[] c, int64[] d", &body);
    let walk = walked(&model, None).walk;
    let shape = |name: &str| walk.values[model.number(name).expect(name)].as_ref().and_then(Value::tensor);
    let shape = |name: &&str| shape(name).and_then(|tensor| tensor.shape.clone());
    let found: Vec<_> = ["a", "b", "c", "d"].iter().map(shape).collect();
    assert!(found.iter().enumerate().all(|(at, one)| !found[..at].contains(one)), "{found:?}");
}

#[test]
fn what_is_learned_between_equal_calls_counts() {
    // Where `a` and `b` meet, the sizes are known to be equal from then on.
    let body = [
        "i = Identity(x)",
        "p = Concat<axis = 0>(x, y)",
        "q = Concat<axis = 0>(x, y)",
        "m = Add(x, y)",
        "r = Concat<axis = 0>(x, y)",
        "s = Concat<axis = 0>(x, y)",
    ];
    let model = model("float[A] x, float[B] y", "float[] s", &body);
    let none = FxHashMap::default();
    for (a, b, runs) in [(4, 4, true), (4, 5, false)] {
        let sizes = [("x".to_owned(), vec![a]), ("y".to_owned(), vec![b])].into_iter().collect();
        assert_eq!(evaluate(&model, &sizes, &none).is_ok(), runs, "{a} {b}");
    }
    assert_eq!(check(&model).verdict, Verdict::Violated);
}

#[test]
fn each_refusal_is_reported() {
    let lines: Vec<String> = (0..4).map(|at| format!("z{at} = MatMul(x, y)")).collect();
    let body: Vec<&str> = lines.iter().map(String::as_str).collect();
    let model = model("float[2, 3] x, float[4, 5] y", "float[] z3", &body);
    assert_eq!(walked(&model, None).walk.failures.len(), 4);
}
