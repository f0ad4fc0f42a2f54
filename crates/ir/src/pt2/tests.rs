//! Programs that are read, and files that are refused.

use std::io::Write;

use super::*;
use crate::constant::Constant;
use crate::graph::Argument;
use crate::graph::Output;
use crate::graph::{Graph, GraphInput};
use crate::meta::{Meta, Sym};
use crate::program::{Bounds, Dialect};
use crate::signature::{InputSpec, OutputSpec};

macro_rules! sample {
    ($name:literal) => {
        read(
            include_bytes!(concat!("../../../../tests/data/programs/", $name, ".pt2")),
            &ReadOptions::default(),
        )
        .expect($name)
    };
}

/// A zip archive of these entries.
fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).expect("a new entry");
        writer.write_all(content).expect("memory to write to");
    }
    writer.finish().expect("memory to write to").into_inner()
}

/// An archive of the newer layout with this model.
fn archive(model: &str) -> Vec<u8> {
    zip(&[
        ("p/archive_format", b"pt2"),
        ("p/archive_version", b"0"),
        ("p/models/model.json", model.as_bytes()),
    ])
}

/// A program `n -> -n -> .. ` with these nodes, outputs and values; everything else is minimal.
fn program_json(nodes: &str, output: &str, values: &[&str]) -> String {
    let values: String = values.iter().map(|name| format!(r#", "{name}": {{"as_int": 1}}"#)).collect();
    format!(
        r#"{{"graph_module": {{
            "graph": {{"inputs": [{{"as_sym_int": {{"as_name": "n"}}}}],
                "outputs": [{{"as_sym_int": {{"as_name": "{output}"}}}}], "nodes": [{nodes}], "tensor_values": {{}},
                "sym_int_values": {{"n": {{"as_expr": {{"expr_str": "s0", "hint": {{"as_int": 4}}}}}}{values}}},
                "sym_bool_values": {{}}}},
            "signature": {{
                "input_specs": [{{"user_input": {{"arg": {{"as_sym_int": {{"as_name": "n"}}}}}}}}],
                "output_specs": [{{"user_output": {{"arg": {{"as_sym_int": {{"as_name": "{output}"}}}}}}}}]}},
            "module_call_graph": []}},
          "opset_version": {{}}, "range_constraints": {{}}, "schema_version": {{"major": 8, "minor": 1}}}}"#
    )
}

/// A node `output = -input`.
fn neg(output: &str, input: &str) -> String {
    format!(
        r#"{{"target": "_operator.neg", "metadata": {{}}, "name": "{output}",
            "inputs": [{{"name": "a", "arg": {{"as_sym_int": {{"as_name": "{input}"}}}}, "kind": 1}}],
            "outputs": [{{"as_sym_int": {{"as_name": "{output}"}}}}]}}"#
    )
}

fn refused(bytes: &[u8]) -> ReadError {
    read(bytes, &ReadOptions::default()).expect_err("a file to refuse")
}

fn paths(program: &Program) -> Vec<(String, String, String)> {
    let inputs = program.user_inputs().expect("inputs");
    let row = |input: &crate::UserInput| {
        (input.placeholder.to_string(), input.call_path.clone(), input.sources().next().unwrap_or_default())
    };
    inputs.iter().map(row).collect()
}

fn row(placeholder: &str, call_path: &str, source: &str) -> (String, String, String) {
    (placeholder.into(), call_path.into(), source.into())
}

#[test]
fn inputs_have_the_paths_and_sources_of_the_call() {
    assert_eq!(
        paths(&sample!("pt_dict")),
        [row("inp_a", "args[0]['a']", "L['inp']['a']"), row("inp_b", "args[0]['b']", "L['inp']['b']")]
    );
    assert_eq!(
        paths(&sample!("pt_list_tuple")),
        [
            row("xs_0", "args[0][0]", "L['xs'][0]"),
            row("xs_1", "args[0][1]", "L['xs'][1]"),
            row("t_0", "args[1][0]", "L['t'][0]"),
            row("t_1_0", "args[1][1][0]", "L['t'][1][0]"),
        ]
    );
    assert_eq!(
        paths(&sample!("pt_namedtuple")),
        [row("n_p", "args[0].p", "L['n'].p"), row("n_q", "args[0].q", "L['n'].q")]
    );
    assert_eq!(
        paths(&sample!("pt_varkw")),
        [
            row("x", "args[0]", "L['x']"),
            row("args_0", "args[1]", "L['args'][0]"),
            row("k1", "kwargs['k1']", "L['k1']"),
            row("k2", "kwargs['k2']", "L['kw']['k2']"),
        ]
    );
    let varkw = sample!("pt_varkw").user_inputs().expect("inputs");
    let sources: Vec<String> = varkw[1].sources().collect();
    assert_eq!(sources, ["L['args'][0]", "L['args_0']", "L['flat_args'][1]"]);
    assert_eq!(varkw[3].keyword.as_deref(), Some("k2"));
}

#[test]
fn constants_may_stand_for_inputs() {
    let program = sample!("const_inputs");
    let constant = |name: &str, value| InputSpec::Constant { name: name.into(), value };
    assert_eq!(
        program.signature.inputs[1..],
        [
            constant("mode", Constant::Str("nearest".into())),
            constant("flag", Constant::Bool(true)),
            constant("scale", Constant::Float(2.0)),
            constant("none", Constant::None),
        ]
    );
    assert_eq!(program.graph.inputs()[2], GraphInput::Constant(Constant::Bool(true)));
    assert_eq!(paths(&program)[4], row("none", "args[4]", "L['none']"));
}

#[test]
fn subgraphs_have_values_of_their_own() {
    let program = sample!("while_basic");
    let subgraphs: Vec<&Graph> = program.graph.subgraphs().map(|(_, graph)| graph).collect();
    assert_eq!(subgraphs.len(), 2);
    assert!(subgraphs[0].single_tensor_return() && !subgraphs[1].single_tensor_return());
    assert!(subgraphs[0].find("arg0_1").is_some() && program.graph.find("arg0_1").is_none());
    assert_eq!(program.graph.total_nodes(), program.graph.nodes().len() + 3);

    let program = sample!("cond_multi_out");
    let cond =
        program.graph.nodes().iter().find(|node| node.target.higher_order() == Some("cond")).expect("cond");
    assert_eq!(cond.outputs.len(), 2);
    assert!(cond.outputs.iter().all(|output| matches!(output, Output::Value(_))));
    assert!(matches!(&cond.inputs[1].arg, Argument::Graph(graph) if &*graph.name == "true_graph_0"));
}

#[test]
fn signatures_name_parameters_buffers_and_mutations() {
    let program = sample!("nn_batchnorm_train__core");
    assert_eq!(program.dialect, Dialect::Aten);
    let specs = &program.signature;
    assert!(specs.inputs.iter().any(|spec| matches!(spec, InputSpec::Parameter { .. })));
    assert!(specs.inputs.iter().any(|spec| matches!(spec, InputSpec::Buffer { persistent: true, .. })));
    assert_eq!(
        specs.outputs.iter().filter(|spec| matches!(spec, OutputSpec::BufferMutation { .. })).count(),
        3
    );
    assert_eq!(specs.outputs.iter().filter(|spec| spec.is_user_output()).count(), 1);
}

#[test]
fn sizes_are_literals_or_expressions_with_hints() {
    let program = sample!("pt_dict");
    let value = program.graph.find("inp_a").expect("an input");
    let Meta::Tensor(meta) = program.graph.meta(value) else { panic!("a tensor") };
    let [Sym::Expr(batch), Sym::Literal(3)] = meta.sizes[..] else { panic!("{:?}", meta.sizes) };
    let batch = program.exprs.get(batch).expect("an expression");
    assert_eq!(&*batch.text, "Symbol('s11', positive=True, integer=True)");
    assert_eq!(batch.hint, Some(crate::Hint::Int(4)));
    assert_eq!(program.range_constraints["s11"], Bounds { min: Some(2), max: Some(50) });
    assert_eq!(program.guards_code.len(), 1);
}

#[test]
fn a_models_json_is_read_without_its_archive() {
    let json = program_json(&neg("m", "n"), "m", &["m"]);
    let program = read(json.as_bytes(), &ReadOptions::default()).expect("a program");
    assert_eq!((program.graph.nodes().len(), program.dialect), (1, Dialect::Aten));
    assert_eq!(paths(&program), [row("n", "args[0]", "L['n']")]);
    assert!(read(&archive(&json), &ReadOptions::default()).is_ok());
}

#[test]
fn the_older_layout_is_read() {
    let json = program_json(&neg("m", "n"), "m", &["m"]);
    let old =
        |version: &[u8]| zip(&[("version", version), ("serialized_exported_program.json", json.as_bytes())]);
    assert!(read(&old(b"8.7"), &ReadOptions::default()).is_ok());
    for version in ["9.0", "0.1", "8", "8.x", "7.x", ""] {
        let error = refused(&old(version.as_bytes()));
        assert_eq!(
            (error.kind, error.place.entry.as_deref()),
            (ReadErrorKind::Version, Some("version")),
            "{version}"
        );
    }
}

#[test]
fn the_model_called_model_is_taken_or_the_only_one() {
    let json = program_json(&neg("m", "n"), "m", &["m"]);
    let with = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("r/models/{name}.json")).collect();
        let mut entries: Vec<(&str, &[u8])> = vec![("r/archive_format", b"pt2"), ("r/archive_version", b"0")];
        entries.extend(names.iter().map(|name| (name.as_str(), json.as_bytes())));
        zip(&entries)
    };
    for names in [&["model"] as &[_], &["other"], &["a", "model"]] {
        assert!(read(&with(names), &ReadOptions::default()).is_ok(), "{names:?}");
    }
    assert_eq!(refused(&with(&[])).kind, ReadErrorKind::NoModel);
    let error = refused(&with(&["a", "b"]));
    assert_eq!(error.kind, ReadErrorKind::SeveralModels);
    assert!(error.message.contains("(a, b)"), "{error}");
}

#[test]
fn versions_and_dialects_follow_a_policy() {
    let json = program_json(&neg("m", "n"), "m", &["m"]);
    let version = |major: i64, minor: i64| {
        json.replace(r#""major": 8, "minor": 1"#, &format!(r#""major": {major}, "minor": {minor}"#))
    };
    for (major, minor, readable) in
        [(8, 20, true), (8, 99, true), (0, 0, true), (7, 20, false), (9, 0, false), (0, 1, false)]
    {
        let result = read(version(major, minor).as_bytes(), &ReadOptions::default());
        assert_eq!(
            result.as_ref().err().map(|error| error.kind),
            (!readable).then_some(ReadErrorKind::Version),
            "{major}.{minor}"
        );
    }
    // Even when the rest has another shape.
    assert_eq!(refused(br#"{"schema_version": {"major": 9, "minor": 0}}"#).kind, ReadErrorKind::Version);

    let dialect = |names: &str, edge: bool| {
        let json = json.replacen('{', &format!(r#"{{"verifiers": [{names}], "#), 1);
        let options = ReadOptions { edge, ..ReadOptions::default() };
        read(json.as_bytes(), &options).map(|program| program.dialect).map_err(|error| error.kind)
    };
    for (names, edge, expected) in [
        (r#""""#, false, Ok(Dialect::Aten)),
        (r#""ATEN""#, false, Ok(Dialect::Aten)),
        (r#""TRAINING""#, false, Ok(Dialect::Training)),
        (r#""TRAINING", "ATEN""#, false, Ok(Dialect::Aten)),
        (r#""EDGE""#, true, Ok(Dialect::Edge)),
        (r#""EDGE""#, false, Err(ReadErrorKind::Verifier)),
        (r#""OTHER""#, true, Err(ReadErrorKind::Verifier)),
    ] {
        assert_eq!(dialect(names, edge), expected, "{names}");
    }
}

#[test]
fn a_name_that_is_not_made_yet_is_refused() {
    for (nodes, values, node, message) in [
        (
            vec![neg("m", "k"), neg("k", "n")],
            &["m", "k"] as &[_],
            "m",
            "`k` is used before it is made, or the graph is cyclic",
        ),
        (
            vec![neg("m", "k"), neg("k", "m")],
            &["m", "k"],
            "m",
            "`k` is used before it is made, or the graph is cyclic",
        ),
        (vec![neg("m", "m")], &["m"], "m", "`m` is used before it is made, or the graph is cyclic"),
        (vec![neg("m", "z")], &["m"], "m", "`z` is used but nothing makes it"),
        (vec![neg("m", "z")], &["m", "z"], "m", "`z` is used but nothing makes it"),
        (vec![neg("m", "n")], &[], "m", "the value `m` has no recorded metadata"),
        (vec![neg("m", "n"), neg("m", "n")], &["m"], "m", "the value `m` is made twice"),
        (vec![neg("n", "n")], &["m"], "n", "the value `n` is made twice"),
        (vec![neg("m", "n")], &["m", "m"], "", "the value `m` is recorded twice"),
    ] {
        let error = refused(program_json(&nodes.join(", "), "m", values).as_bytes());
        assert_eq!((error.kind, error.message.as_str()), (ReadErrorKind::Graph, message));
        assert_eq!(error.place.node.as_deref().unwrap_or_default(), node);
    }
    let error = refused(program_json(&neg("m", "k"), "m", &["m"]).as_bytes());
    assert_eq!(error.place.json_path.as_deref(), Some("graph_module.graph.nodes[0].inputs[0].arg"));
    let error = refused(program_json(&neg("m", "n"), "z", &["m"]).as_bytes());
    assert_eq!(error.to_string(), "at graph_module.graph.outputs[0]: `z` is used but nothing makes it");
}

#[test]
fn a_signature_that_does_not_fit_is_refused() {
    let json = program_json(&neg("m", "n"), "m", &["m"]);
    for (from, to, message) in [
        (
            r#""input_specs": [{"user_input": {"arg": {"as_sym_int": {"as_name": "n"}}}}]"#,
            r#""input_specs": []"#,
            "the signature has 0 inputs but the graph 1; expected as many",
        ),
        (
            r#"{"user_input": {"arg": {"as_sym_int": {"as_name": "n"}}}}"#,
            r#"{"user_input": {"arg": {"as_sym_int": {"as_name": "k"}}}}"#,
            "the signature names `k` where the graph has `n`",
        ),
        (
            r#"{"user_input": {"arg": {"as_sym_int": {"as_name": "n"}}}}"#,
            r#"{"constant_input": {"name": "n", "value": {"as_int": 1}}}"#,
            "the signature has the constant `n` where the graph has the value `n`",
        ),
        (
            r#"{"user_output": {"arg": {"as_sym_int": {"as_name": "m"}}}}"#,
            r#"{"loss_output": {"arg": {"name": "n"}}}"#,
            "the signature names `n` where the graph has `m`",
        ),
    ] {
        assert!(json.contains(from));
        let error = refused(json.replace(from, to).as_bytes());
        assert_eq!((error.kind, error.message.as_str()), (ReadErrorKind::Signature, message));
    }
}

#[test]
fn what_is_no_program_is_refused() {
    let noise: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80).collect();
    let zipped_noise = [b"PK\x03\x04".as_slice(), &noise].concat();
    for (bytes, kind) in [
        (&b""[..], ReadErrorKind::Empty),
        (b" \n\t ", ReadErrorKind::Empty),
        (&noise, ReadErrorKind::NotAnArchive),
        (b"[1, 2]", ReadErrorKind::NotAnArchive),
        (&zipped_noise, ReadErrorKind::DamagedArchive),
        (b"{", ReadErrorKind::Syntax),
        (b"{}", ReadErrorKind::Schema),
        (&zip(&[]), ReadErrorKind::NotAProgram),
        (&zip(&[("a.txt", b"hello")]), ReadErrorKind::NotAProgram),
        (&zip(&[("r/archive_format", b"onnx")]), ReadErrorKind::NotAProgram),
        (&zip(&[("r/archive_format", b"pt2")]), ReadErrorKind::Version),
        (&zip(&[("r/archive_format", b"pt2"), ("r/archive_version", b"1")]), ReadErrorKind::Version),
        (&archive("{"), ReadErrorKind::Syntax),
        (&archive(""), ReadErrorKind::Syntax),
    ] {
        assert_eq!(refused(bytes).kind, kind, "{}", refused(bytes));
    }
    assert_eq!(refused(&archive("{")).place.entry.as_deref(), Some("p/models/model.json"));
}

#[test]
fn an_archive_that_breaks_off_anywhere_is_refused() {
    let whole = include_bytes!("../../../../tests/data/programs/pt_dict.pt2");
    for length in 0..whole.len() {
        assert!(read(&whole[..length], &ReadOptions::default()).is_err(), "the first {length} bytes");
    }
}

#[test]
fn damage_to_any_byte_of_an_archive_does_no_harm() {
    let whole = include_bytes!("../../../../tests/data/programs/pt_dict.pt2");
    for at in 0..whole.len() {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0x55;
        // Some bytes do not matter; what counts is that none makes the reader fail but by an error.
        let _ = read(&damaged, &ReadOptions::default());
    }
}

#[test]
fn zip_bombs_are_refused_before_they_unpack() {
    let limits = Limits { model_bytes: 1 << 20, ..Limits::default() };
    let large = archive(&" ".repeat(2 << 20));
    let error = read(&large, &ReadOptions { limits, ..ReadOptions::default() }).expect_err("too large");
    assert_eq!(error.kind, ReadErrorKind::LimitExceeded);
    assert!(error.message.contains("2097152 bytes when unpacked; at most 1048576"), "{error}");
    let error = refused(&large);
    assert_eq!(error.kind, ReadErrorKind::LimitExceeded);
    assert!(error.message.contains("a ratio of at most"), "{error}");
    let limits = Limits { entries: 2, ..Limits::default() };
    let error =
        read(&archive("{}"), &ReadOptions { limits, ..ReadOptions::default() }).expect_err("too many");
    assert_eq!(error.message, "3 entries; at most 2 are allowed");
}

#[test]
fn entries_of_one_name_are_refused() {
    // The writer refuses a second `model.json` too: write another name of that length and patch it.
    let entries: [(&str, &[u8]); 4] = [
        ("p/archive_format", b"pt2"),
        ("p/archive_version", b"0"),
        ("p/models/model.json", b"{}"),
        ("p/models/modem.json", b"{}"),
    ];
    let mut bytes = zip(&entries);
    for at in 0..bytes.len() - 10 {
        if bytes[at..].starts_with(b"modem.json") {
            bytes[at + 4] = b'l';
        }
    }
    assert_eq!(refused(&bytes).kind, ReadErrorKind::DuplicateEntry);
}

#[test]
fn entries_that_lead_out_of_the_archive_are_refused() {
    for name in ["p/../x", "../x", "/etc/x", "\\x", "C:x", "p\\..\\x"] {
        let bytes = zip(&[("p/archive_format", b"pt2"), (name, b"")]);
        assert_eq!(refused(&bytes).kind, ReadErrorKind::UnsafeEntryName, "{name}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!(
        r#"{{"graph_module": {{"graph": {{"inputs": {}"#,
        r#"[{"as_string_to_argument": {"k": "#.repeat(1_000_000)
    );
    assert!(matches!(refused(deep.as_bytes()).kind, ReadErrorKind::LimitExceeded | ReadErrorKind::Schema));
    let nested = r#"{"as_string_to_argument": {"k": "#.repeat(1_000_000);
    let deep = format!(r#"{{"graph_module": {{"graph": {{"inputs": [{nested}"#);
    let error = refused(deep.as_bytes());
    assert_eq!(error.kind, ReadErrorKind::LimitExceeded);
    assert!(error.message.starts_with("nested too deeply"), "{error}");
    // Keys that are ignored may nest: they are skipped without recursion.
    let ignored = format!(r#"{{"later": {}{}, "#, "[".repeat(1_000_000), "]".repeat(1_000_000));
    let json = program_json(&neg("m", "n"), "m", &["m"]).replacen('{', &ignored, 1);
    assert!(read(json.as_bytes(), &ReadOptions::default()).is_ok());
}

#[test]
fn an_unknown_tag_is_named_with_its_path() {
    let json = program_json(&neg("m", "n"), "m", &["m"])
        .replace(r#"{"as_sym_int": {"as_name": "n"}}, "kind""#, r#"{"as_new": 1}, "kind""#);
    let error = refused(&archive(&json));
    assert_eq!(error.kind, ReadErrorKind::UnknownTag);
    assert_eq!(error.place.json_path.as_deref(), Some("graph_module.graph.nodes[0].inputs[0].arg"));
    assert!(
        error
            .message
            .starts_with("unknown tag `as_new` of Argument, likely written by a newer minor version")
    );
}

#[test]
fn equality_constraints_of_older_programs_are_guards() {
    let program = sample!("pt_dict");
    let json = write_json(&program).expect("JSON");
    let with = |constraints: &str| {
        let json = json.replacen('{', &format!("{{\"equality_constraints\": {constraints}, "), 1);
        read(json.as_bytes(), &ReadOptions::default())
    };
    let guards = with(r#"[[["inp_a", 0], ["inp_b", 1]]]"#).expect("a program").guards_code;
    assert_eq!(guards.len(), program.guards_code.len() + 1);
    assert_eq!(
        guards.last().map(|guard| &**guard),
        Some("L['inp']['a'].size()[0] == L['inp']['b'].size()[1]")
    );
    let error = with(r#"[[["inp_a", 0], ["other", 1]]]"#).expect_err("an unknown input");
    assert_eq!(error.message, "equality_constraints: the program has no input `other`");
}
