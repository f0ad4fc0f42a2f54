//! Both ways of reading a document agree: in passing, and as a whole.

use std::path::Path;

use crate::program::{Dialect, Program};
use crate::pt2::{ReadOptions, json, read, write_json};

/// The JSON of every program of the tests, in sizewise's own writing, which is torch's.
fn documents() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs");
    let options = ReadOptions { edge: true, ..ReadOptions::default() };
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "pt2")
            && let Ok(program) = read(&std::fs::read(&path).expect("bytes"), &options)
        {
            documents.push((path.display().to_string(), write_json(&program).expect("JSON")));
        }
    }
    documents
}

fn in_passing(text: &str) -> Option<Program> {
    super::read(text, |_| Some(Dialect::Aten))
}

fn as_a_whole(text: &str) -> Option<Program> {
    let document = json::parse(text.as_bytes()).ok()?;
    super::program(&document, Dialect::Aten).ok()
}

#[test]
fn what_torch_writes_is_read_in_passing_and_the_same_as_when_read_as_a_whole() {
    let documents = documents();
    assert!(documents.len() > 50, "{}", documents.len());
    for (name, text) in documents {
        let passing = in_passing(&text).unwrap_or_else(|| panic!("{name} is not read in passing"));
        let whole = as_a_whole(&text).expect(&name);
        assert!(format!("{passing:?}") == format!("{whole:?}"), "{name} reads differently");
    }
}

#[test]
fn what_is_odd_is_left_to_reading_as_a_whole() {
    let tensor = r#"{"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu"}, "strides": [{"as_int": 1}],
        "storage_offset": {"as_int": 0}, "layout": 7}"#;
    let program = |graph: &str, rest: &str| {
        format!(
            r#"{{"graph_module": {{"graph": {{{graph}, "sym_int_values": {{}}, "sym_bool_values": {{}}}},
            "signature": {{"input_specs": [{{"user_input": {{"arg": {{"as_tensor": {{"name": "x"}}}}}}}}],
            "output_specs": [{{"user_output": {{"arg": {{"as_tensor": {{"name": "y"}}}}}}}}]}}, "module_call_graph": []}},
            "opset_version": {{}}, "range_constraints": {{}}, "schema_version": {{"major": 8, "minor": 20}}{rest}}}"#
        )
    };
    let inputs = r#""inputs": [{"as_tensor": {"name": "x"}}]"#;
    let outputs = r#""outputs": [{"as_tensor": {"name": "y"}}]"#;
    let node = |name: &str| {
        format!(
            r#"{{"target": "torch.ops.aten.relu.default", "inputs": [{{"name": "self", "arg": {{"as_tensor": {{"name": "x"}}}}}}],
            "outputs": [{{"as_tensor": {{"name": "{name}"}}}}], "metadata": {{}}}}"#
        )
    };
    let nodes = format!(r#""nodes": [{}]"#, node("y"));
    let values = format!(r#""tensor_values": {{"x": {tensor}, "y": {tensor}}}"#);
    let plain = program(&format!("{inputs}, {outputs}, {nodes}, {values}"), "");
    // Whether it is read in passing, and as a whole.
    for (what, text, passing, whole) in [
        ("as it should be", plain.clone(), true, true),
        ("records first", program(&format!("{values}, {inputs}, {outputs}, {nodes}"), ""), false, true),
        ("nodes first", program(&format!("{nodes}, {inputs}, {outputs}, {values}"), ""), false, true),
        ("an escape by number", plain.replace("\"y\"", "\"\\u0079\""), true, true),
        (
            "an unknown field",
            program(&format!("{inputs}, {outputs}, {nodes}, {values}"), r#", "new": [{"a": 1e5}]"#),
            true,
            true,
        ),
        (
            "a value that nothing makes",
            plain.replace("{\"x\":", &format!("{{\"z\": {tensor}, \"x\":")),
            false,
            true,
        ),
        ("nothing recorded of a value", plain.replace(&format!(", \"y\": {tensor}"), ""), false, false),
        ("nothing recorded of an input", plain.replace(&format!("\"x\": {tensor}, "), ""), false, false),
        (
            "a value recorded twice",
            plain.replace("{\"x\":", &format!("{{\"x\": {tensor}, \"x\":")),
            false,
            false,
        ),
        (
            "a value made twice",
            plain.replace(&nodes, &format!(r#""nodes": [{}, {}]"#, node("y"), node("y"))),
            false,
            false,
        ),
        (
            "a value recorded as something else",
            plain
                .replace("\"sym_int_values\": {}", "\"sym_int_values\": {\"y\": {\"as_int\": 1}}")
                .replace(&format!(", \"y\": {tensor}"), ""),
            false,
            false,
        ),
        (
            "a field given twice",
            plain.replace("\"opset_version\": {}", "\"opset_version\": {}, \"opset_version\": {}"),
            false,
            false,
        ),
        ("a field missing", plain.replace("\"opset_version\": {},", ""), false, false),
        ("a field of the graph missing", plain.replace("\"sym_int_values\": {}, ", ""), false, false),
        ("text behind the document", format!("{plain} x"), false, false),
        ("a control character in a string", plain.replace("\"y\"", "\"y\u{1}\""), false, false),
        ("a number with a leading zero", plain.replace("\"minor\": 20", "\"minor\": 020"), false, false),
    ] {
        assert_ne!((what == "as it should be", text == plain), (false, true), "{what} changes nothing");
        let (read, all) = (in_passing(&text), as_a_whole(&text));
        assert_eq!((read.is_some(), all.is_some()), (passing, whole), "{what}");
        if let (Some(read), Some(all)) = (read, all) {
            assert_eq!(format!("{read:?}"), format!("{all:?}"), "{what}");
        }
    }
}
