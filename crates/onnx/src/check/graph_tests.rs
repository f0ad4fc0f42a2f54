//! Graphs within nodes, as onnxruntime loads and runs them.
use super::{Declaration, Declared, ShownSize, check, evaluate};
use crate::redeclare::redeclare;
use prost::Message;
use rustc_hash::FxHashMap;
use sizewise_check::report::Outcome as Verdict;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::read::message::{AttributeProto, ModelProto, SparseTensorProto, TensorProto};

fn message(version: i64, graph: &str) -> ModelProto {
    let text = format!("<ir_version: 9, opset_import: [\"\" : {version}]>\n{graph}");
    sizewise_onnx_model::read::message(text.into_bytes()).expect(graph)
}

fn model(version: i64, graph: &str) -> Model {
    Model::read(message(version, graph).encode_to_vec()).expect(graph)
}

/// Whether a model takes inputs of these sizes.
fn runs(model: &Model, sizes: &[(&str, &[i64])]) -> bool {
    let sizes = sizes.iter().map(|(name, sizes)| ((*name).to_owned(), sizes.to_vec())).collect();
    evaluate(model, &sizes, &FxHashMap::default()).is_ok()
}

#[test]
fn results_are_held_to_declared_sizes_where_all_are_known_at_load() {
    let branches = |rank: &str, stated: &str| {
        format!(
            "g (bool c, float{rank} x) => (y) {{ y = If(c)<then_branch = t () => (float{stated} p) {{ p = Identity(x) }}, \
             else_branch = e () => (float[2,3] q) {{ q = Constant<value = float[2,3] {{1,2,3,4,5,6}}>() }}> }}"
        )
    };
    let scan = |rank: &str, stated: &str| {
        format!(
            "g (float[1] c, float{rank} x) => (f, y) {{ f, y = Scan<num_scan_inputs = 1, body = b (float[1] s, \
             float[] e) => (float[1] t, float{stated} o) {{ t = Identity(s) o = Relu(e) }}>(c, x) }}"
        )
    };
    for (graph, sizes, expected, is_run) in [
        (branches("[?,?]", "[1,K]"), &[2, 3][..], Verdict::Ok, true),
        (branches("[?,3]", "[1,K]"), &[2, 3], Verdict::Violated, false),
        (branches("[n,m]", "[1,3]"), &[2, 3], Verdict::Violated, false),
        (branches("[n,3]", "[K,3]"), &[2, 3], Verdict::Ok, true),
        // What disagrees is not known.
        (branches("[2,m]", "[1,K]"), &[2, 3], Verdict::Ok, true),
        (branches("[2,3]", "[1,3]"), &[2, 3], Verdict::Ok, true),
        (branches("[]", "[1,3]"), &[2, 3], Verdict::Unknown, false),
        (scan("[4,?,?]", "[1,K]"), &[4, 2, 3], Verdict::Violated, false),
        (scan("[4,n,3]", "[1,3]"), &[4, 2, 3], Verdict::Violated, false),
        (scan("[4,2,3]", "[1,K]"), &[4, 2, 3], Verdict::Ok, true),
    ] {
        let model = model(17, &graph);
        assert_eq!(check(&model).verdict, expected, "{graph}");
        let c: &[i64] = if graph.contains("Scan") { &[1] } else { &[] };
        assert_eq!(runs(&model, &[("c", c), ("x", sizes)]), is_run, "{graph}");
    }
}

#[test]
fn graphs_within_have_sparse_initializers() {
    let graph = "g (float[n] x, bool c) => (y) { y = If(c)<then_branch = b () => (float[] p) { p, q = Split<axis = 0>(x, s) }, \
                 else_branch = e () => (float[] u) { u = Relu(x) }> }";
    for (sizes, indices, is_read) in
        [(&[2][..], &[0, 1][..], true), (&[2], &[1, 0], false), (&[2], &[1, 1], false), (&[2, 0], &[], false)]
    {
        let mut message = message(17, graph);
        let tensor = |name: &str, data: &[i64]| TensorProto {
            name: name.to_owned(),
            dims: vec![data.len() as i64],
            data_type: 7,
            int64_data: data.to_vec(),
            ..TensorProto::default()
        };
        let values = Some(tensor("s", &[2, 4][..indices.len()]));
        let sparse = SparseTensorProto { values, indices: Some(tensor("", indices)), dims: sizes.to_vec() };
        let node = message.graph.as_mut().and_then(|graph| graph.node.first_mut());
        let mut attributes = node.map(|node| node.attribute.iter_mut()).expect("a node");
        let then = attributes.find(|attribute: &&mut AttributeProto| attribute.name == "then_branch");
        let then = then.and_then(|attribute| attribute.g.as_mut()).expect("a branch");
        then.sparse_initializer.push(sparse);
        let read = Model::read(message.encode_to_vec());
        assert_eq!(read.is_ok(), is_read, "{indices:?}");
        let Ok(model) = read else { continue };
        assert!(runs(&model, &[("x", &[6]), ("c", &[])]));
        assert!(!runs(&model, &[("x", &[8]), ("c", &[])]));
        assert_eq!(check(&model).verdict, Verdict::Violated);
    }
}

#[test]
fn slices_have_the_sizes_that_a_body_declares_if_they_are_known_at_load() {
    for (rank, stated, axis, sizes, expected, is_run) in [
        ("[n,1]", "[2]", 0, &[3, 1][..], Verdict::Violated, false),
        ("[n,m]", "[2]", 0, &[3, 1], Verdict::Ok, true),
        ("[n]", "[2]", 0, &[3], Verdict::Violated, false),
        ("[n,3]", "[k,j]", 0, &[3, 3], Verdict::Violated, false),
        ("[4,3]", "[3,1]", 0, &[4, 3], Verdict::Violated, false),
        ("[2,n]", "[3]", 1, &[2, 4], Verdict::Violated, false),
        ("[3,n]", "[3]", 1, &[3, 4], Verdict::Ok, true),
        ("[]", "[2]", 0, &[3, 1], Verdict::Unknown, true),
    ] {
        let graph = format!(
            "g (float[1] i, float{rank} x) => (f, z) {{ f, z = Scan<num_scan_inputs = 1, scan_input_axes = [{axis}], \
             body = b (float[1] s, float{stated} e) => (float[1] t, float[1] o) \
             {{ t = Identity(s) o = Identity(s) }}>(i, x) }}"
        );
        let model = model(17, &graph);
        assert_eq!(check(&model).verdict, expected, "{graph}");
        assert_eq!(runs(&model, &[("i", &[1]), ("x", sizes)]), is_run, "{graph}");
    }
}

#[test]
fn loops_have_carried_values_before_version_11() {
    let graph = "g (float[3] x) => (y) { n = Constant<value = int64 {2}>() \
                 y = Loop(n, \"\")<body = b (int64 i, bool q) => (bool w, float[] r) { w = Identity(q) r = Relu(x) }> }";
    for (version, expected) in [(7, Verdict::Violated), (10, Verdict::Violated), (11, Verdict::Ok)] {
        assert_eq!(check(&model(version, graph)).verdict, expected, "{version}");
    }
}

#[test]
fn branches_are_merged_before_version_11() {
    let graph = |input: &str, other: &str| {
        format!(
            "g (float{input} x, bool c) => (y) {{ y = If(c)<then_branch = t () => (float[] p) {{ p = Relu(x) }}, \
             else_branch = e () => (float[] r) {{ {other} }}> }}"
        )
    };
    for (input, other, old, new) in [
        ("[3,4]", "r = Transpose(x)", Verdict::Violated, Verdict::Ok),
        ("[3,m]", "r = Transpose(x)", Verdict::Ok, Verdict::Ok),
        ("[n,m]", "r = Flatten<axis = 1>(x)", Verdict::Ok, Verdict::Ok),
        ("[n,m]", "s = Constant<value = int64[1] {-1}>() r = Reshape(x, s)", Verdict::Violated, Verdict::Ok),
        // The branch that refuses the example is inferred all the same.
        (
            "[2,m]",
            "s = Constant<value = int64[3] {5, -1, 1}>() r = Reshape(x, s)",
            Verdict::Unknown,
            Verdict::Violated,
        ),
        ("[n,m]", "r = Constant<value = float[2] {5, 5}>()", Verdict::Violated, Verdict::Ok),
        ("[n,m]", "r = Constant<value = float[1,2] {5, 5}>()", Verdict::Ok, Verdict::Ok),
        ("[2,m]", "r = Constant<value = float[1,2] {5, 5}>()", Verdict::Violated, Verdict::Ok),
        (
            "[n]",
            "s = Shape(x) t = Concat<axis = 0>(s, s) u = Expand(x, t) r = Identity(u)",
            Verdict::Unknown,
            Verdict::Ok,
        ),
    ] {
        let graph = graph(input, other);
        for (version, expected) in [(7, old), (10, old), (11, new)] {
            // `Expand` came with version 8.
            if version > 7 || !graph.contains("Expand") {
                assert_eq!(check(&model(version, &graph)).verdict, expected, "{version}: {graph}");
            }
        }
    }
}

#[test]
fn bodies_of_loops_load_with_the_ranks_that_they_declare() {
    for (input, stated, body, expected) in [
        ("[]", "", "w = Flatten(v)", Verdict::Unknown),
        ("[n,3]", "", "w = Concat<axis = 0>(v, v)", Verdict::Unknown),
        ("[n,3]", "[k]", "w = Transpose<perm = [1, 0]>(v)", Verdict::Unknown),
        ("[n,3]", "[k]", "w = Concat<axis = 0>(v, v)", Verdict::Ok),
        ("[n,3]", "[]", "w = Transpose<perm = [1, 0]>(v)", Verdict::Ok),
        ("[n,3]", "[k,j]", "w = Transpose<perm = [1, 0]>(v)", Verdict::Ok),
    ] {
        for rounds in [0, 1] {
            let graph = format!(
                "g (float{input} x) => (y) {{ n = Constant<value_int = {rounds}>() \
                 y = Loop(n, \"\", x)<body = l (int64 i, bool c, float{stated} v) => (bool d, float w) \
                 {{ d = Identity(c) {body} }}> }}"
            );
            assert_eq!(check(&model(18, &graph)).verdict, expected, "{graph}");
        }
    }
}

#[test]
fn rows_that_no_round_makes_have_the_sizes_that_are_declared_and_inferred() {
    for (input, stated, sizes, expected) in [
        ("[k]", "[3]", &[5][..], Some(vec![0, 3])),
        ("[k]", "[]", &[5], Some(vec![0, 0])),
        ("[k]", "[j]", &[5], Some(vec![0, 0])),
        ("[5]", "[3]", &[5], Some(vec![0, 0])),
        ("[5]", "[j]", &[5], Some(vec![0, 5])),
        ("[k,3]", "[2,j]", &[2, 3], Some(vec![0, 2, 3])),
        ("[2,k]", "[3,3]", &[2, 3], Some(vec![0, 0, 0])),
        ("[2,3]", "[3,3]", &[2, 3], Some(vec![0, 0, 3])),
    ] {
        for rounds in ["n = Constant<value_int = 0>()", "s = Size(x) n = Sub(s, s)"] {
            let graph = format!(
                "g (float{input} x) => (y) {{ {rounds} y = Loop(n, \"\")<body = l (int64 i, bool c) => \
                 (bool d, float{stated} w) {{ d = Identity(c) w = Relu(x) }}> }}"
            );
            let given = [("x".to_owned(), sizes.to_vec())].into_iter().collect();
            let made = evaluate(&model(18, &graph), &given, &FxHashMap::default());
            let made = made.ok().and_then(|made| made.outputs[0].clone());
            let expected: Option<Vec<ShownSize>> =
                expected.as_ref().map(|sizes| sizes.iter().map(|&size| ShownSize::Number(size)).collect());
            assert_eq!(made, expected, "{graph}");
        }
    }
    // With an unknown number of rounds, the size of a row is not sure to be that of the value it is made of.
    let graph = "g (float[k] x, int64 n) => (z) { y = Loop(n, \"\")<body = l (int64 i, bool c) => (bool d, float[] w) \
                 { d = Identity(c) w = Relu(x) }> z = Add(y, x) }";
    assert_ne!(check(&model(18, graph)).verdict, Verdict::Ok);
}

#[test]
fn a_model_that_does_not_import_ai_onnx_has_its_newest_operators() {
    for (node, expected) in [
        ("z = Relu(x)", Verdict::Ok),
        ("z = ReduceSum<keepdims = 0>(x)", Verdict::Ok),
        // Axes are an input since version 13.
        ("z = ReduceSum<axes = [1]>(x)", Verdict::Violated),
    ] {
        let text = format!(
            "<ir_version: 9, opset_import: [\"ai.onnx.ml\" : 1]>\ng (float[n,4] x) => (z) {{ {node} }}"
        );
        assert_eq!(check(&Model::read(text.into_bytes()).expect(node)).verdict, expected, "{node}");
    }
}

#[test]
fn inputs_are_declared_as_their_initializers_are() {
    for (declared, is_read) in [
        ("[3]", true),
        ("[m]", true),
        ("[?]", true),
        ("[]", true),
        ("[2]", false),
        ("[m,2]", false),
        ("", false),
    ] {
        let graph =
            format!("g (float[n] x, float{declared} q) => (y) <float[3] q = {{1, 2, 3}}> {{ y = Neg(x) }}");
        assert_eq!(Model::read(message(18, &graph).encode_to_vec()).is_ok(), is_read, "{graph}");
    }
}

#[test]
fn messages_that_come_twice_are_redeclared_as_one() {
    let whole = message(18, "g (float[n] x) => (float[n] y) { y = Neg(x) }");
    let (mut first, mut second) = (whole.clone(), ModelProto { graph: whole.graph, ..ModelProto::default() });
    let graphs = first.graph.as_mut().zip(second.graph.as_mut());
    if let Some((first, second)) = graphs {
        first.input.clear();
        first.node.clear();
        second.output.clear();
        second.name.clear();
    }
    let bytes = [first.encode_to_vec(), second.encode_to_vec()].concat();
    let size = |is_output: bool| Declaration {
        value: if is_output { "y" } else { "x" }.to_owned(),
        is_output,
        declared: Declared::Size(0, Some("3".to_owned())),
    };
    let changed = redeclare(&bytes, &[size(false), size(true)]).expect("a model");
    let changed = sizewise_onnx_model::read::message(changed).expect("a model");
    assert_eq!(changed, message(18, "g (float[3] x) => (float[3] y) { y = Neg(x) }"));
}
