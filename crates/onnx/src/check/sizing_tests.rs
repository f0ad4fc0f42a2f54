//! Bounds of models that go several ways.
use super::sizing;
use sizewise_onnx_model::read::Model;

/// Whether the bounds of the last value are exact.
fn is_exact(graph: &str) -> bool {
    let text = format!("<ir_version: 8, opset_import: [\"\" : 17]>\ng {graph}");
    let model = Model::read(text.into_bytes()).expect(graph);
    let mut sizing = sizing(&model, None).expect(graph);
    sizing.values().last().expect("a value").is_exact()
}

#[test]
fn bounds_are_exact_where_the_model_goes_one_way() {
    for (graph, expected) in [
        ("(float[n, 1, d] x) => (float[n, e] y) {y = Squeeze(x)}", false),
        ("(float[n, 1, d] x) => (float[n, d] y) <int64[1] a = {1}> {y = Squeeze(x, a)}", true),
        // A size of 1 on either side broadcasts.
        ("(float[a] x, float[b] y) => (float[c] z) {z = Add(x, y)}", false),
        ("(float[a] x, float[a] y) => (float[a] z) {z = Add(x, y)}", true),
        ("(float[a, 4] x, float[4] y) => (float[a, 4] z) {z = Add(x, y)}", true),
        ("(float[a, 4] x, float[b, 1] y) => (float[a, 4] z) {z = Mul(x, y)}", false),
        ("(float[a, b] x, float[b, c] y) => (float[a, c] z) {z = MatMul(x, y)}", true),
    ] {
        assert_eq!(is_exact(graph), expected, "{graph}");
    }
}
