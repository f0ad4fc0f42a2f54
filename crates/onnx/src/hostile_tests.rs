//! Hostile models: each is refused with a message, or worked on within bounds.
use crate::check::{Filled, check, evaluate, shapes};
use prost::Message;
use rustc_hash::FxHashMap;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::read::message::{
    AttributeProto, ElementType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorType, TypeProto, TypeValue, ValueInfoProto,
};

const HEAD: &str = "<ir_version: 8, opset_import: [\"\" : 17, \"l\" : 1]>\n";

fn read(body: &str) -> Result<Model, String> {
    Model::read(format!("{HEAD}{body}").into_bytes()).map_err(|error| error.to_string())
}

/// The message of the refusal to read a model.
fn refusal(body: &str) -> String {
    match read(body) {
        Ok(_) => panic!("this is read: {body}"),
        Err(message) => message,
    }
}

/// What happens to inputs whose every size is 2.
fn run(model: &Model) -> Result<(), String> {
    let inputs = sizewise_onnx_model::walk::inputs(model);
    let sizes: FxHashMap<String, Vec<i64>> = inputs
        .into_iter()
        .map(|input| (input.name.clone(), vec![2; input.shape.map_or(0, |shape| shape.len())]))
        .collect();
    let filled: FxHashMap<String, Filled> = FxHashMap::default();
    evaluate(model, &sizes, &filled).map(drop).map_err(|refused| refused.message)
}

#[test]
fn circles_of_nodes_are_refused() {
    for length in 1..=10 {
        let ring: String = (0..length).map(|at| format!("v{at} = Relu(v{}) ", (at + 1) % length)).collect();
        let message = refusal(&format!("g (float[N] x) => (float[N] v0) {{ {ring} }}"));
        assert!(message.contains("it is in a circle of nodes"), "{length}: {message}");
    }
}

#[test]
fn circles_of_functions_are_refused() {
    for length in 1..=10 {
        let function = |at: usize| {
            let next = (at + 1) % length;
            format!(
                "<domain: \"l\", opset_import: [\"\" : 17, \"l\" : 1]> f{at} (a) => (b) {{ b = l.f{next}(a) }}\n"
            )
        };
        let functions: String = (0..length).map(function).collect();
        let message = refusal(&format!("g (float[N] x) => (float[N] y) {{ y = l.f0(x) }}\n{functions}"));
        assert!(message.contains("it calls itself, or a function that does"), "{length}: {message}");
    }
}

#[test]
fn values_that_nothing_makes_and_names_that_are_made_twice_are_refused() {
    for (body, expected) in [
        ("g (float x) => (float y) { y = Relu(z) }", "node of `y` (Relu): its input `z` is made by nothing"),
        ("g (float x) => (float y) { y = Add(x, z) }", "node of `y` (Add): its input `z` is made by nothing"),
        (
            "g (float x) => (float y) { [n] y = Relu(\"\\\\\") }",
            "node `n` (Relu): its input `\\` is made by nothing",
        ),
        ("g (float x) => (float y) { z = Relu(x) }", "output `y`: nothing makes it"),
        ("g () => (float y) { }", "output `y`: nothing makes it"),
        ("g (float x, float x) => (float x) { }", "input `x`: two inputs have this name"),
        ("g (float x) => (float x) { x = Relu(x) }", "node of `x` (Relu): `x` is made more than once"),
        (
            "g (float x) => (float y) { y = Relu(x) y = Abs(x) }",
            "node of `y` (Abs): `y` is made more than once",
        ),
        ("g (float x) => (float y) { y, y = Foo(x) }", "node of `y` (Foo): `y` is made more than once"),
        (
            "g (bool c) => (float y) { y = If(c)<then_branch = t () => (float a) { a = Relu(q) },\
             else_branch = e () => (float b) { b = Abs(q) }> }",
            "node of `a` (Relu): its input `q` is made by nothing",
        ),
        (
            "g (bool c) => (float y) { y = If(c)<then_branch = t () => (float a) { },\
             else_branch = e () => (float a) { }> }",
            "output `a`: nothing makes it",
        ),
        (
            "g (float x) => (float y) { y = l.f(x) }\n\
             <domain: \"l\", opset_import: [\"\" : 17]> f (a) => (b) { b = Relu(x) }",
            "node of `b` (Relu): its input `x` is made by nothing",
        ),
    ] {
        assert_eq!(refusal(body), expected, "{body}");
    }
}

#[test]
fn wrong_types_are_refused_when_the_model_runs() {
    for body in [
        "g (float[N] x, int64[N] z) => (float[N] y) { y = Add(x, z) }",
        "g (int64[N] x) => (int64[N] y) { y = Conv(x, x) }",
        "g (string[N] x) => (string[N] y) { y = Relu(x) }",
        "g (float[N] x) => (float[N] y) { y = Not(x) }",
        "g (bool[N] x) => (bool[N] y) { y = Add(x, x) }",
        "g (float[N] x) => (float[N] y) { y = Reshape(x, x) }",
        "g (float[N] x) => (float[N] y) { y = Gather(x, x) }",
        "g (float[N] x) => (float[N] y) { y = Relu<alpha = 1>(x) }",
        "g (float[N] x) => (float[N] y) { y = Softmax<axis = \"one\">(x) }",
        "g (float[N] x) => (float[N] y) { y = Relu(x, x) }",
        "g (float[N] x) => (float[N] y) { y = Concat<axis = 7>(x, x) }",
        "g (seq(float[N]) x) => (float[N] y) { y = Relu(x) }",
    ] {
        let model = read(body).expect(body);
        assert!(run(&model).is_err(), "{body}");
        let _ = (shapes(&model), check(&model));
    }
}

/// A model with graphs in graphs, `depth` of them.
fn nested(depth: usize) -> Vec<u8> {
    // Encoded from the inside out: a graph in an attribute of a node of a graph, and so on.
    let field = |number: u8, value: &[u8]| {
        let mut bytes = vec![number << 3 | 2];
        prost::encoding::encode_varint(value.len() as u64, &mut bytes);
        bytes.extend_from_slice(value);
        bytes
    };
    let mut graph = Vec::new();
    for _ in 0..depth {
        graph = field(1, &field(5, &field(6, &graph)));
    }
    // The outermost one has an input that is an output.
    graph.extend([field(11, &field(1, b"y")), field(12, &field(1, b"y"))].concat());
    [vec![8, 8], field(8, &[16, 17]), field(7, &graph)].concat()
}

#[test]
fn deep_nesting_is_refused() {
    Model::read(nested(8)).expect("a model");
    for depth in [40, 60, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000] {
        let message = Model::read(nested(depth)).expect_err("deep nesting").to_string();
        assert!(message.contains("recursion limit"), "{depth}: {message}");
    }
}

#[test]
fn huge_and_negative_sizes_are_worked_on_within_bounds() {
    let most = i64::MAX;
    for body in [
        format!("g (float[{most},{most}] x) => (float[N] y) {{ y = Flatten(x) }}"),
        format!("g (float[-1,N] x) => (float[N,M] y) <int64[2] w = {{{most}, {most}}}> {{ y = Tile(x, w) }}"),
        format!("g () => (float[N] y) <int64[2] w = {{{most}, {most}}}> {{ y = ConstantOfShape(w) }}"),
        format!("g () => (int64[N] y) \
             <int64 a = {{0}}, int64 b = {{{most}}}, int64 c = {{1}}> {{ y = Range(a, b, c) }}"),
        format!("g (float[N] x) => (float[M] y) <int64[2] w = {{{most}, {most}}}> {{ y = Pad(x, w) }}"),
        format!("g (float[N] x) => (float[M] y) <int64[2] w = {{{most}, -7}}> {{ y = Reshape(x, w) }}"),
        format!("g (float[N] x) => (float[M] y) <int64[1] w = {{{most}}}> {{ y = Expand(x, w) }}"),
        format!("g (float[N] x) => (float[M] y) {{ y = Unsqueeze(x, w) w = Constant<value_ints = [{most}]>() }}"),
        format!("g (float[N] x) => (float[M] y) <float[{most},{most}] w> {{ y = Transpose<perm = [{most}]>(x) }}"),
        format!(
            "g (float[N] x) => (float[M] y) <int64 m = {{{most}}}, bool t = {{1}}> {{ y = Loop(m, t, x)<body = \
             b (int64 i, bool c, float[K] s) => (bool d, float[L] r) \
              {{ d = Identity(c) r = Concat<axis = 0>(s, s) }}> }}"
        ),
        "g (float[N,C,A,B] x) => (float[M] y) { y = MaxPool<kernel_shape = [9223372036854775807, 1],\
         strides = [1, 9223372036854775807], pads = [9223372036854775807, 0, 9223372036854775807, 0]>(x) }"
            .to_owned(),
        "g (float[N] x) => (float[M] y) { y = OneHot(x, d, v) d = Constant<value_int = 9223372036854775807>() \
         v = Constant<value_floats = [0.0, 1.0]>() }"
            .to_owned(),
    ] {
        let model = read(&body).unwrap_or_else(|error| panic!("{body}\n{error}"));
        let _ = (run(&model), shapes(&model), check(&model));
    }
}

#[test]
fn weights_of_impossible_sizes_have_no_elements() {
    for dims in [
        vec![-1],
        vec![i64::MIN],
        vec![0, -1],
        vec![i64::MAX, i64::MAX],
        vec![1 << 62],
        vec![4096, 4096, 4096, 4096, 4096, 4096],
        vec![i64::MAX, 0],
        vec![5],
        vec![3; 1000],
        vec![],
    ] {
        let tensor = TensorProto { name: "w".into(), dims, data_type: 1, ..TensorProto::default() };
        let node = NodeProto {
            input: vec!["w".into()],
            output: vec!["y".into()],
            op_type: "Relu".into(),
            attribute: vec![AttributeProto { name: "a".into(), kind: 999, ..AttributeProto::default() }],
            ..NodeProto::default()
        };
        let output = ValueInfoProto { name: "y".into(), ..ValueInfoProto::default() };
        let graph = GraphProto {
            node: vec![node],
            initializer: vec![tensor],
            output: vec![output],
            ..GraphProto::default()
        };
        let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
        let message = ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..ModelProto::default() };
        let model = Model::read(message.encode_to_vec()).expect("a model");
        let _ = (run(&model), shapes(&model), check(&model));
    }
}

#[test]
fn files_that_are_no_models_are_refused() {
    let text = format!("{HEAD}g (float[N,4] x) => (float[N,4] y) {{ y = Add(x, x) }}");
    let whole = sizewise_onnx_model::text::parse(&text).expect("a model").encode_to_vec();
    for (bytes, expected) in [
        (Vec::new(), "the file: nothing is in it; expected an ONNX model"),
        (b"<ir_version: 8, \xff>".to_vec(), "the text: it is not UTF-8"),
        (b"<ir_version".to_vec(), "the text: line 1, column 12: expected `:`, got the end"),
        (vec![0xff; 100], "the file: not an ONNX model, or a damaged one"),
        (vec![8, 2], "ir_version: 2 is not read; the versions 3 to 14 are"),
        (vec![8, 99], "ir_version: 99 is not read; the versions 3 to 14 are"),
        (vec![8, 8], "graph: the model has none"),
        (vec![8, 8, 58, 0], "opset_import: the model imports no operators"),
        (vec![8, 8, 58, 0, 66, 2, 16, 3], "opset_import: version 3 of ai.onnx is not read"),
        (vec![8, 8, 58, 255, 255, 255, 255, 15], "the file: not an ONNX model, or a damaged one"),
    ] {
        let message = Model::read(bytes.clone()).expect_err("no model").to_string();
        assert!(message.starts_with(expected), "{bytes:?}: {message}");
    }
    // A damaged file is read as another model, or refused; what is read is worked on.
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            if let Ok(model) = Model::read(bytes) {
                let _ = (run(&model), shapes(&model));
            }
        }
        let _ = Model::read(whole[..at].to_vec()).map(|model| shapes(&model));
    }
}

#[test]
fn inputs_of_undefined_element_types_are_refused() {
    let tensor =
        |elem_type| TypeProto::from(TypeValue::Tensor(TensorType { elem_type, ..TensorType::default() }));
    let of = |inner: TypeProto| Box::new(ElementType { elem_type: Some(Box::new(inner)) });
    let sequence = |elem_type| TypeProto::from(TypeValue::Sequence(of(tensor(elem_type))));
    let optional = |elem_type| TypeProto::from(TypeValue::Optional(of(sequence(elem_type))));
    for (kind, is_read) in [
        (tensor(1), true),
        (tensor(0), false),
        (sequence(0), false),
        (optional(0), false),
        (optional(7), true),
    ] {
        let input =
            ValueInfoProto { name: "x".into(), r#type: Some(kind.clone()), ..ValueInfoProto::default() };
        let output = ValueInfoProto { name: "x".into(), ..ValueInfoProto::default() };
        let graph = GraphProto { input: vec![input], output: vec![output], ..GraphProto::default() };
        let opset_import = vec![OperatorSetIdProto { version: 18, ..OperatorSetIdProto::default() }];
        let message = ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..ModelProto::default() };
        assert_eq!(Model::read(message.encode_to_vec()).is_ok(), is_read, "{kind:?}");
    }
}
