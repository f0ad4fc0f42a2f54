//! Graphs within nodes, as onnxruntime loads and runs them.
use super::{Verdict, check, evaluate};
use crate::read::Model;
use crate::read::message::ModelProto;
use prost::Message;
use rustc_hash::FxHashMap;

fn message(version: i64, graph: &str) -> ModelProto {
    let text = format!("<ir_version: 9, opset_import: [\"\" : {version}]>\n{graph}");
    crate::read::message(text.into_bytes()).expect(graph)
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
