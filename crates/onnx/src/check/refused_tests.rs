//! Models that onnxruntime does not load or run, and what is near them.
use super::said::{Said, sizes};
use super::{check, evaluate_fully};
use prost::Message;
use rustc_hash::FxHashMap;
use sizewise_check::report::Outcome as Verdict;
use sizewise_onnx_model::read::{Model, message};

fn model(version: i64, graph: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\" : {version}]>\ng {graph}");
    Model::read(text.clone().into_bytes()).expect(&text)
}

/// What `eval` says of the sizes of `x`: accepted, refused or open.
fn outcome(model: &Model, sizes: &[i64]) -> &'static str {
    let sizes = FxHashMap::from_iter([("x".to_owned(), sizes.to_vec())]);
    match evaluate_fully(model, &sizes, &FxHashMap::default()) {
        Ok(_) => "accepted",
        Err(refused) if refused.is_unsupported => "open",
        Err(_) => "refused",
    }
}

#[test]
fn what_kernels_and_the_inference_of_shapes_refuse_is_refused() {
    let stft = "<int64 s = {8}, int64 l = {16}> { y = STFT(x, s, , l) }";
    let cubic = |scales: &str| {
        format!(
            "(float[N, H, W, C] x) => (y) <float[4] s = {{{scales}}}> {{ y = Resize<mode = \"cubic\">(x, , s) }}"
        )
    };
    let resized = |kind: &str, mode: &str| {
        format!(
            "({kind}[1, 1, h, w] x) => (y) <int64[4] s = {{1, 1, 3, 3}}> {{ y = Resize<mode = \"{mode}\">(x, , , s) }}"
        )
    };
    let unpooled = |shape: &str| {
        format!(
            "(float[1, 1, 2, 2] x) => (y) <int64[1, 1, 2, 2] i = {{0, 1, 2, 3}}, int64[4] s = {{{shape}}}> {{\n \
             y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i, s) }}"
        )
    };
    let causal =
        |kind: &str| format!("({kind}[b, 3, 4, 8] x) => (y) {{ y = Attention<is_causal = 1>(x, x, x) }}");
    let table: Vec<(i64, String, &[i64], &str)> = vec![
        (11, unpooled("2, 1, 5, 5"), &[1, 1, 2, 2], "refused"),
        (11, unpooled("1, 1, 5, 5"), &[1, 1, 2, 2], "accepted"),
        (23, causal("bfloat16"), &[1, 3, 4, 8], "refused"),
        (23, causal("float"), &[1, 3, 4, 8], "accepted"),
        (17, format!("(float[b, n, c] x) => (y) {stft}"), &[1, 32, 1], "accepted"),
        (17, format!("(float[b, n, c] x) => (y) {stft}"), &[1, 32, 2], "accepted"),
        (17, format!("(float[b, n, c] x) => (y) {stft}"), &[1, 32, 3], "refused"),
        (17, format!("(float[b, n] x) => (y) {stft}"), &[1, 32], "accepted"),
        (13, cubic("1, 0.5, 0.5, 1"), &[1, 4, 4, 3], "refused"),
        (13, cubic("1, 2, 2, 1"), &[1, 4, 4, 3], "accepted"),
        (13, cubic("1, 1, 0.5, 0.5"), &[1, 3, 4, 4], "accepted"),
        (19, resized("uint8", "cubic"), &[1, 1, 4, 4], "refused"),
        (19, resized("uint8", "cubic"), &[1, 1, 3, 3], "accepted"),
        (19, resized("uint8", "linear"), &[1, 1, 4, 4], "accepted"),
        (19, resized("float", "cubic"), &[1, 1, 4, 4], "accepted"),
        (22, "(float[N] x) => (y) { y = Bernoulli(x) }".to_owned(), &[2], "refused"),
        (21, "(float[N] x) => (y) { y = Bernoulli(x) }".to_owned(), &[2], "accepted"),
        (25, "(float[N] x) => (y) { y = Cast<to = 23>(x) }".to_owned(), &[2], "refused"),
        (25, "(float[N] x) => (y) { y = Cast<to = 21>(x) }".to_owned(), &[2], "accepted"),
        (20, "(uint8[N] x) => (y) { y = ImageDecoder(x) }".to_owned(), &[2], "refused"),
        (18, "(float[N, 4] x) => (y, z) { y, z = Split<axis = 1>(x) }".to_owned(), &[1, 4], "refused"),
        (18, "(float[N, 4] x) => (y, z) { y, z = Split<axis = 0>(x) }".to_owned(), &[2, 4], "accepted"),
        (
            18,
            "(float[N, 4] x) => (y) <int64[1] s = {3}> { y = CenterCropPad(x, s) }".to_owned(),
            &[2, 4],
            "refused",
        ),
        (23, "(float[N] x) => (y) { y = Dropout<seed = 1>(x) }".to_owned(), &[2], "accepted"),
        (13, "(float[N] x) => (y) <float r = {1}> { y = Dropout(x, r) }".to_owned(), &[2], "refused"),
    ];
    for (version, graph, sizes, expected) in table {
        assert_eq!(outcome(&model(version, &graph), sizes), expected, "{graph} {sizes:?}");
    }
}

#[test]
fn initializers_hold_as_many_elements_as_their_sizes_say() {
    let text = "<ir_version: 10, opset_import: [\"\" : 13]>\n\
                g (float[3] x) => (float[3] y) <float[3] w = {1, 1, 1}> { y = Add(x, w) }";
    for (length, expected) in [
        (12, None),
        (8, Some("it has 8 bytes, where its sizes say 12")),
        (16, Some("it has 16 bytes, where its sizes say 12")),
    ] {
        let mut proto = message(text.as_bytes().to_vec()).expect("a model");
        let weights = &mut proto.graph.as_mut().expect("a graph").initializer[0];
        weights.float_data.clear();
        weights.raw_data = vec![0; length].into();
        let read = Model::read(proto.encode_to_vec());
        assert_eq!(read.err().map(|error| error.message).as_deref(), expected);
    }
}

#[test]
fn sizes_behind_any_node_may_be_known_when_the_model_loads() {
    // The last window begins behind the input: the inference of shapes counts it, and the kernel does not.
    let pooled = |before: &str, size: &str| {
        let pool = "MaxPool<kernel_shape = [2, 2], strides = [4, 4], pads = [0, 0, 1, 1], ceil_mode = 1>";
        model(18, &format!("(float[n, 1, {size}, {size}] x) => (y) {{ r = {before}(x)\n y = {pool}(r) }}"))
    };
    for before in ["Identity", "Relu", "Tanh", "Sigmoid", "Softmax", "Abs", "Elu", "Erf"] {
        assert_eq!(check(&pooled(before, "3")).verdict, Verdict::Unknown, "{before}");
        assert_eq!(outcome(&pooled(before, "3"), &[1, 1, 3, 3]), "open", "{before}");
        // What an input leaves open is not known.
        assert_eq!(outcome(&pooled(before, "s"), &[1, 1, 3, 3]), "accepted", "{before}");
        assert_eq!(check(&pooled(before, "4")).verdict, Verdict::Unknown, "{before}");
        // The last window begins within the input.
        assert_eq!(check(&pooled(before, "5")).verdict, Verdict::Ok, "{before}");
    }
}

#[test]
fn an_empty_part_is_joined_only_with_parts_of_its_sizes() {
    // No window fits, which the inference of shapes sees, and the kernel of Concat leaves out what is empty.
    let joined = |channels: usize| {
        let graph = format!(
            "(float[n, 2, 3, 1] x) => (z) <float[1, {channels}, 1, 2] w = {{{}}}> {{ r = Relu(x)\n \
             y = AveragePool<kernel_shape = [3, 3]>(r)\n z = Concat<axis = 3>(y, w) }}",
            vec!["1"; 2 * channels].join(", ")
        );
        check(&model(18, &graph)).verdict
    };
    assert_ne!(joined(1), Verdict::Ok);
}

#[test]
fn a_squeeze_without_axes_has_no_condition() {
    let found = check(&model(
        13,
        "(float[T, F] x) => (float[T] y) <float[3, 1] w = {1, 1, 1}> { h = MatMul(x, w)\n y = Squeeze(h) }",
    ));
    for violation in found.violated() {
        assert_ne!(sizes(violation, "x")[1], 3, "{violation:?}");
    }
    assert!(
        found.violated().iter().all(|violation| violation.clause.as_deref() != Some("Squeeze.C3")),
        "{found:?}"
    );
    assert!(found.needed().iter().all(|condition| condition.because != "Squeeze.C3"), "{found:?}");
    // Of a row, the output has another rank than is declared.
    let wrong = found.mismatches.first().expect("an output");
    assert_eq!(wrong.inputs.as_ref().and_then(|inputs| inputs.get("x")), Some(&serde_json::json!([1, 3])));
}

#[test]
fn counterexamples_are_inputs_that_can_exist() {
    let flipped = |end: &str| {
        let graph = format!(
            "(float[t, 3] x) => (y) <int64[1] s = {{-1}}, int64[1] e = {{{end}}}, int64[1] a = {{0}}> {{\n \
             f = Slice(x, s, e, a, s)\n y = Add(x, f) }}"
        );
        check(&model(13, &graph)).verdict
    };
    assert_eq!(flipped("-9223372036854775807"), Verdict::Ok);
    assert_eq!(flipped("-9223372036854775808"), Verdict::Ok);
    let first = "(float[n, 2048] x) => (y) <int64[1] s = {0}, int64[1] e = {1000000000}, int64[1] a = {0}> {\n \
                 f = Slice(x, s, e, a)\n y = Add(x, f) }";
    assert_eq!(check(&model(13, first)).verdict, Verdict::Ok);
}

#[test]
fn what_64_bits_do_not_count_is_refused() {
    let graph = "(float[n] x) => (y) <int64 k = {100}> {\n y = Loop(k, , x) <body = b (int64 i, bool c, float[m] a) => \
                 (bool d, float[p] r) { d = Identity(c)\n r = Concat<axis = 0>(a, a) }> }";
    assert_eq!(outcome(&model(13, graph), &[3]), "refused");
}

#[test]
fn what_value_info_states_wrongly_is_open() {
    let stated = |info: &str| {
        outcome(
            &model(17, &format!("(float[N, 4] x) => (y) <float[{info}] r> {{ r = Relu(x)\n y = Neg(r) }}")),
            &[2, 4],
        )
    };
    assert_eq!(stated("N, 4"), "accepted");
    assert_eq!(stated("k, 4"), "accepted");
    assert_eq!(stated("2, 4"), "accepted");
    assert_eq!(stated("3, 4"), "open");
    assert_eq!(stated("N, N"), "open");
    assert_eq!(stated("N"), "open");
}
