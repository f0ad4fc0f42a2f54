//! Models that onnxruntime refuses and the specification allows, and the other way around: `--backend cpu` and `any`.
use crate::command;

/// A model without its head, the version of ai.onnx, and the verdicts for onnxruntime and for the specification.
#[rustfmt::skip]
const MODELS: &[(&str, u32, &str, &str)] = &[
    // An inverse transform makes real numbers of halves of spectra.
    ("g (float[N, 6, 2] x) => (float[N, 10, 1] y) <int64 n = {10}> { y = DFT<axis = 1, inverse = 1, onesided = 1>(x, n) }", 19, "ok", "ok"),
    // The last size of a mask may be shorter than that of the keys, and a mask may be a row.
    ("g (float[B, 3, 4, 8] q, float[B, 3, 6, 8] k, float[B, 3, 6, 8] v, float[6] m) => (y) { y = Attention(q, k, v, m) }", 23, "violated", "ok"),
    ("g (float[B, 3, 4, 8] q, float[B, 3, 6, 8] k, float[B, 3, 6, 8] v, float[4, 4] m, int64[B] n) => (y) { y = Attention(q, k, v, m, , , n) }", 24, "violated", "ok"),
    // Doubles have remainders since version 28, which onnxruntime does not load.
    ("g (float[N] x, float[N] w) => (y) { y = Mod(x, w) }", 28, "violated", "ok"),
    ("g (float[N] x, float[N] w) => (y) { y = Mod(x, w) }", 13, "violated", "violated"),
    // The greatest of no truth values is false.
    ("g (bool[0] x) => (y) { y = ReduceMax<keepdims = 0>(x) }", 20, "violated", "ok"),
    // Cubic interpolation is along the last axes, if onnxruntime does it.
    ("g (float[N, H, W, C] x) => (y) { r = Constant<value = float[0] {}>() s = Constant<value = float[4] {1, 0.5, 0.5, 1}>() y = Resize<mode = \"cubic\">(x, r, s) }", 13, "violated", "ok"),
];

/// The verdict on the text of a model.
fn verdict(text: &str, backend: &str) -> String {
    let (status, _, error) = command::with_input(&["check", "-", "--backend", backend], text);
    assert_eq!(error, "", "{text}");
    match status {
        0 => "ok",
        1 => "violated",
        _ => "unknown",
    }
    .to_owned()
}

#[test]
fn each_backend_takes_what_it_takes() {
    let mut wrong = Vec::new();
    for (body, opset, cpu, any) in MODELS {
        let text = format!("<ir_version: 8, opset_import: [\"\" : {opset}]>\n{body}\n");
        for (backend, expected) in [("cpu", cpu), ("any", any)] {
            let found = verdict(&text, backend);
            if found != *expected {
                wrong.push(format!("{body}, opset {opset}, {backend}: {found} instead of {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn newer_files_are_read_for_the_specification() {
    let text =
        "<ir_version: 14, opset_import: [\"\" : 28]>\ng (float[N] x) => (float[N] y) { y = Relu(x) }\n";
    assert_eq!((verdict(text, "cpu").as_str(), verdict(text, "any").as_str()), ("violated", "ok"));
}
