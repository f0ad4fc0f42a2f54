//! The user's source with the shapes that its lines make, and graphs for Model Explorer.
#![cfg(feature = "cli")]
use crate::command::with_input;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A model whose layers are called twice each; `LINE` stands for what is recorded of a node's origin.
const CHAIN: &str = "<ir_version: 8, opset_import: [\"\" : 17]>
g (float[n, 4] x, float[4, 4] w) => (float[n, 4] y) { a = MatMul(x, w) b = Relu(a) y = Add(b, x) }";

fn annotate(args: &[&str]) -> (i32, String, String) {
    with_input(&[&["annotate"], args].concat(), "")
}

fn json(args: &[&str]) -> Json {
    let (code, text, error) = annotate(&[args, &["--format", "json"]].concat());
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&text).expect("JSON")
}

/// The hints by line, with their columns.
fn hints(answer: &Json) -> BTreeMap<u64, (String, Option<u64>)> {
    let all = answer["hints"].as_array().expect("a list").iter();
    all.map(|hint| {
        let text = hint["text"].as_str().expect("a text").to_owned();
        (hint["line"].as_u64().expect("a line"), (text, hint["column"].as_u64()))
    })
    .collect()
}

const POOLED: &str = "examples/pooled.pt2";

#[test]
fn lines_have_the_shapes_that_they_make_in_the_names_of_the_spec() {
    let answer = json(&[POOLED, "--spec", "examples/pooled.py", "--source", "examples"]);
    let source = fs::read_to_string("examples/export_pooled.py").expect("the source");
    let lines: Vec<&str> = source.lines().collect();
    for (line, (text, column)) in hints(&answer) {
        let at = usize::try_from(line).expect("a line") - 1;
        assert_eq!(column, Some(lines[at].chars().count() as u64 + 1), "{line}");
        assert!(text.starts_with("f32[") && !text.contains("shape["), "{line}: {text}");
    }
    // Without a spec, sizes are named by inputs.
    let (_, text, _) = annotate(&["examples/bert.pt2"]);
    assert!(text.contains("# f32[input_ids.shape[0], input_ids.shape[1], 32]"), "{text}");
}

/// What a test changes in a copy of the source.
type Change = fn(&str) -> String;

#[test]
fn text_is_used_only_if_the_recorded_lines_are_in_it() {
    let source = fs::read_to_string("examples/export_pooled.py").expect("the source");
    for (change, is_used) in [
        ((|text| text.to_owned()) as Change, true),
        (|text| text.replace("    ", "\t"), true),
        (|text| format!("# more\n{text}"), false),
        (|text| text.replace("stride=1", "stride=2"), false),
        (|_| String::new(), false),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("src")).expect("a folder");
        let file = folder.path().join("src/export_pooled.py");
        fs::write(&file, change(&source)).expect("a file");
        let root = folder.path().join("src").display().to_string();
        let answer = json(&[POOLED, "--source", &root]);
        assert_eq!(hints(&answer).values().all(|(_, column)| column.is_some()), is_used);
        assert_eq!(answer["changed"].as_array().expect("a list").is_empty(), is_used, "{answer}");
        // A file is given as itself, too.
        let by_file = json(&[POOLED, "--source", &file.display().to_string()]);
        assert_eq!(hints(&by_file), hints(&answer));
        let (_, text, _) = annotate(&[POOLED, "--source", &root]);
        assert_eq!(text.contains("is another one"), !is_used, "{text}");
        assert_eq!(text.contains("def forward"), is_used, "{text}");
    }
}

#[test]
fn every_node_is_on_a_line_or_listed_without_one() {
    for program in ["examples/bert.pt2", "examples/area.pt2", POOLED, "tests/data/costs/hf_bert_qa.pt2"] {
        let answer = json(&[program]);
        let placed =
            answer["hints"].as_array().into_iter().flatten().flat_map(|hint| hint["values"].as_array());
        let all = placed.flatten().chain(answer["unplaced"].as_array().into_iter().flatten());
        let named: Vec<String> = all.map(|value| value["node"].to_string()).collect();
        let program = sizewise::ir::pt2::read(&fs::read(program).expect("a file"), &Default::default());
        let graph = &program.as_ref().expect("a program").graph;
        assert_eq!(named.len(), graph.total_nodes());
        let distinct: BTreeSet<&String> = named.iter().collect();
        assert!(graph.nodes().iter().all(|node| distinct.contains(&format!("\"{}\"", node.name))));
    }
}

#[test]
fn calls_of_a_line_by_several_modules_are_shown_by_module() {
    let (_, text, _) = annotate(&["examples/bert.pt2"]);
    let of_queries = text.lines().find(|line| line.contains("attention.self.query")).expect("a line");
    assert!(of_queries.contains("encoder.layer.{0,1}.attention.self.query"), "{of_queries}");
    assert!(of_queries.contains("linear x2"), "{of_queries}");
    let answer = json(&["examples/bert.pt2"]);
    let values = answer["hints"].as_array().into_iter().flatten().flat_map(|hint| hint["values"].as_array());
    let of_layers = values.flatten().filter(|value| value["module"].to_string().ends_with("self.query\""));
    assert_eq!(of_layers.count(), 2);
}

#[test]
fn findings_stand_beside_the_lines_that_need_them() {
    let answer = json(&[POOLED, "--spec", "examples/pooled.py"]);
    let found = answer["hints"].as_array().into_iter().flatten().flat_map(|hint| hint["findings"].as_array());
    let levels: Vec<&Json> = found.flatten().map(|finding| &finding["level"]).collect();
    assert!(levels.contains(&&Json::from("error")), "{answer}");
}

#[test]
fn pages_have_no_scripts_and_nothing_of_a_program_is_markup() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html").display().to_string();
    assert_eq!(annotate(&[POOLED, "--format", "html", "--output", &page]).0, 0);
    let text = fs::read_to_string(page).expect("a page");
    assert!(text.starts_with("<!doctype html>") && !text.contains("<script") && text.contains("avg_pool1d"));
    let archive = text_program("def forward(self, x):  # <b>", "a<i>.py");
    let file = folder.path().join("program.json").display().to_string();
    fs::write(&file, archive).expect("a file");
    let (code, text, error) = annotate(&[&file, "--format", "html"]);
    assert_eq!(code, 0, "{error}");
    assert!(!text.contains("<b>") && !text.contains("<i>") && text.contains("&lt;b&gt;"), "{text}");
}

/// The JSON of the example with another line and file recorded.
fn text_program(code: &str, file: &str) -> String {
    let (_, json, _) = with_input(&["show", POOLED, "--as", "json"], "");
    let mut program: Json = serde_json::from_str(&json).expect("JSON");
    let nodes = program["graph_module"]["graph"]["nodes"].as_array_mut().expect("nodes");
    for node in nodes {
        node["metadata"]["stack_trace"] = format!("File \"{file}\", line 3, in forward\n    {code}").into();
    }
    program.to_string()
}

#[test]
fn what_cannot_be_used_is_refused() {
    let static_spec = "{\"nothing\": null}";
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("spec.json").display().to_string();
    fs::write(&spec, static_spec).expect("a file");
    for (args, status, message) in [
        (&[POOLED, "--source", "/no/such/folder"][..], 2, "no such file or folder"),
        (&[POOLED, "--spec", "/no/such/spec.json"], 2, "/no/such/spec.json"),
        (&[POOLED, "--spec", &spec], 2, "nothing"),
        (&["/no/such/program.pt2"], 3, "/no/such/program.pt2"),
    ] {
        let (code, _, error) = annotate(args);
        assert!(code == status && error.contains(message), "{args:?}: {code} {error}");
    }
}

#[test]
fn models_have_the_lines_that_exporters_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("model.onnx").display().to_string();
    let (code, _, error) = with_input(&["show", POOLED, "--as", "onnx", "--output", &model], "");
    assert_eq!(code, 0, "{error}");
    let (of_model, of_program) = (json(&[&model]), json(&[POOLED]));
    let lines = |answer: &Json| hints(answer).into_keys().collect::<BTreeSet<u64>>();
    assert!(!lines(&of_model).is_empty() && lines(&of_model).is_subset(&lines(&of_program)));
    // One without lines is listed.
    fs::write(&model, CHAIN).expect("a file");
    let (_, text, _) = annotate(&[&model]);
    assert!(text.contains("without a line") && text.contains("a: f32[n, 4]  MatMul"), "{text}");
}

/// A graph for Model Explorer, and data of its nodes.
fn explored(args: &[&str]) -> (Json, BTreeMap<String, Json>) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data").display().to_string();
    let (code, text, error) =
        with_input(&[&["show"], args, &["--as", "model-explorer", "--node-data", &data]].concat(), "");
    assert_eq!(code, 0, "{error}");
    let read = |name: &str| {
        let text = fs::read_to_string(folder.path().join(format!("data/{name}.json"))).expect("data");
        (name.to_owned(), serde_json::from_str(&text).expect("JSON"))
    };
    (
        serde_json::from_str(&text).expect("JSON"),
        ["bytes", "shapes", "conditions", "findings"].map(read).into(),
    )
}

#[test]
fn graphs_for_model_explorer_have_every_node_once_and_edges_between_nodes() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("model.onnx").display().to_string();
    fs::write(&model, CHAIN).expect("a file");
    let branching = "tests/data/programs/nested_conds.pt2";
    for program in ["examples/bert.pt2", POOLED, &model, branching] {
        let (collection, data) = explored(&[program]);
        let graphs = collection["graphs"].as_array().expect("graphs");
        let graph_ids: BTreeSet<&str> = graphs.iter().filter_map(|graph| graph["id"].as_str()).collect();
        assert_eq!(graph_ids.len(), graphs.len());
        for graph in graphs {
            let nodes = graph["nodes"].as_array().expect("nodes");
            let ids: BTreeSet<&str> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
            assert_eq!(ids.len(), nodes.len(), "{program}");
            for node in nodes {
                for edge in node["incomingEdges"].as_array().into_iter().flatten() {
                    assert!(ids.contains(edge["sourceNodeId"].as_str().expect("a node")), "{edge}");
                }
                for inner in node["subgraphIds"].as_array().into_iter().flatten() {
                    assert!(graph_ids.contains(inner.as_str().expect("a graph")), "{inner}");
                }
            }
            for of in data.values() {
                let results = of[graph["id"].as_str().expect("an id")]["results"].as_object().expect("data");
                assert!(results.keys().all(|node| ids.contains(node.as_str())));
            }
        }
    }
}

#[test]
fn nodes_for_model_explorer_have_shapes_bytes_conditions_and_findings() {
    let (collection, data) = explored(&[POOLED, "--spec", "examples/pooled.py"]);
    let nodes = collection["graphs"][0]["nodes"].as_array().expect("nodes");
    let pooled = nodes.iter().find(|node| node["id"] == "avg_pool1d").expect("a node");
    let attrs: BTreeMap<&str, &str> = pooled["attrs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|attr| Some((attr["key"].as_str()?, attr["value"].as_str()?)))
        .collect();
    assert_eq!(attrs["op"], "aten.avg_pool1d.default");
    assert!(attrs["line"].starts_with("export_pooled.py:") && attrs["code"].contains("avg_pool1d"));
    assert_eq!(attrs["bytes"], "12*batch*(time // 5)");
    let of = |name: &str| data[name]["main"]["results"].as_object().expect("data").clone();
    assert!(of("bytes")["avg_pool1d"]["value"].as_i64().is_some_and(|bytes| bytes > 0));
    assert!(of("shapes")["avg_pool1d"]["value"].as_str().is_some_and(|shape| shape.starts_with("f32[")));
    assert!(!of("findings").is_empty() && !of("conditions").is_empty());
    // Modules are the groups.
    let (collection, _) = explored(&["examples/bert.pt2"]);
    let nodes = collection["graphs"][0]["nodes"].as_array().expect("nodes");
    assert!(nodes.iter().any(|node| node["namespace"] == "m/bert/encoder/layer/0/attention/self/query"));
}

#[test]
fn options_for_model_explorer_are_refused_elsewhere() {
    for option in ["--spec", "--node-data"] {
        let (code, _, error) = with_input(&["show", POOLED, option, "examples/pooled.py"], "");
        assert!(code == 2 && error.contains("is for --as model-explorer"), "{error}");
    }
}
