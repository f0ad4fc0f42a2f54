//! Programs in every archive that torch and ExecuTorch write: any name and size, several programs, older schemas, any
//! container.
#![cfg(feature = "cli")]
use assert_cmd::Command;
use flate2::Crc;
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, Shapes};
use sizewise::expr::Int;
use sizewise::ir::pt2::{self, Limits, ReadOptions};
use sizewise::ir::{Constant, Dialect, PathStep, Program, ReadErrorKind};
use sizewise::kernels::Operators;
use sizewise::report::{Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reading").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(data(name)).expect("a sample")
}

fn lines(name: &str) -> Vec<Json> {
    let text = String::from_utf8(bytes(name)).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The smallest program: its one input is its output.
const IDENTITY: &str = r#"{"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "x"}}],
  "nodes": [], "tensor_values": {"x": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu"},
  "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}, "sym_int_values": {}, "sym_bool_values": {}},
  "signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
  "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "x"}}}}]}, "module_call_graph": []},
  "opset_version": {}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 1}}"#;

/// A zip as torch writes it: nothing compressed, the contents of every entry at a multiple of 64 bytes by an extra
/// field of padding, sizes after the contents, the records of zip64 before the ordinary one, and those of size 0
/// where there is no entry.
#[derive(Default)]
struct TorchZip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    entries: u64,
}

impl TorchZip {
    fn add(&mut self, name: &str, contents: &[u8]) {
        let mut crc = Crc::new();
        crc.update(contents);
        let (offset, size) = (self.bytes.len() as u32, contents.len() as u32);
        let length = name.len() as u16;
        // No compression, UTF-8 names, sizes in a descriptor.
        let common = |out: &mut Vec<u8>| out.extend([0x08, 0x08, 0, 0, 0, 0, 0, 0]);
        let start = self.bytes.len() + 30 + name.len() + 4;
        let padding = start.next_multiple_of(64) - start;
        self.bytes.extend(b"PK\x03\x04\0\0");
        common(&mut self.bytes);
        self.bytes.extend([0; 12]);
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend((padding as u16 + 4).to_le_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(b"FB");
        self.bytes.extend((padding as u16).to_le_bytes());
        self.bytes.resize(self.bytes.len() + padding, b'Z');
        assert_eq!(self.bytes.len() % 64, 0);
        self.bytes.extend(contents);
        self.bytes.extend(b"PK\x07\x08");
        let sums: Vec<u8> = [crc.sum(), size, size].iter().flat_map(|number| number.to_le_bytes()).collect();
        self.bytes.extend(&sums);
        self.directory.extend(b"PK\x01\x02\0\0\0\0");
        common(&mut self.directory);
        self.directory.extend(&sums);
        self.directory.extend(length.to_le_bytes());
        self.directory.extend([0; 12]);
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.entries += 1;
    }

    fn finish(mut self) -> Vec<u8> {
        let (size, start) = (self.directory.len() as u64, self.bytes.len() as u64);
        self.bytes.append(&mut self.directory);
        let record = self.bytes.len() as u64;
        let mut write = |head: &[u8], numbers: &[u64]| {
            self.bytes.extend(head);
            self.bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        };
        write(b"PK\x06\x06", &[44]);
        write(&[0x1e, 0x03, 0x2d, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[self.entries, self.entries, size, start]);
        write(b"PK\x06\x07\0\0\0\0", &[record]);
        write(&[1, 0, 0, 0], &[]);
        write(b"PK\x05\x06\0\0\0\0", &[]);
        let count = (self.entries as u16).to_le_bytes();
        write(&[count, count].concat(), &[]);
        write(&[(size as u32).to_le_bytes(), (start as u32).to_le_bytes()].concat(), &[]);
        write(&[0, 0], &[]);
        self.bytes
    }
}

/// An archive called `stem` with so many weights and these programs, as torch lays it out.
fn archive(stem: &str, weights: usize, models: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = TorchZip::default();
    for (at, (name, json)) in models.iter().enumerate() {
        let mut config = String::new();
        for weight in at * weights..(at + 1) * weights {
            zip.add(&format!("{stem}/data/weights/weight_{weight}"), &vec![7; 4 * (weight % 40)]);
            let comma = if config.is_empty() { "" } else { ", " };
            config += &format!(r#"{comma}"w{weight}": {{"path_name": "weight_{weight}", "is_param": true}}"#);
        }
        let config = format!(r#"{{"config": {{{config}}}}}"#);
        zip.add(&format!("{stem}/data/weights/{name}_weights_config.json"), config.as_bytes());
        zip.add(&format!("{stem}/data/constants/{name}_constants_config.json"), br#"{"config": {}}"#);
        zip.add(&format!("{stem}/models/{name}.json"), json.as_bytes());
    }
    zip.add(&format!("{stem}/archive_format"), b"pt2");
    zip.add(&format!("{stem}/archive_version"), b"0");
    zip.add(&format!("{stem}/.data/version"), b"3\n");
    zip.add(&format!("{stem}/byteorder"), b"little");
    zip.add(&format!("{stem}/.data/serialization_id"), &[b'0'; 40]);
    zip.finish()
}

fn read(bytes: &[u8]) -> Program {
    pt2::read(bytes, &ReadOptions { edge: true, ..ReadOptions::default() }).expect("a program")
}

#[test]
fn archives_in_torchs_layout_are_read_whatever_their_name_and_number_of_weights() {
    let letters: String = ('a'..='z').chain('0'..='9').chain("_-. +".chars()).collect();
    let mut read_in_all = 0;
    for length in 1..=60 {
        let stem: String = letters.chars().cycle().skip(length * 7).take(length).collect();
        for weights in [0, 1, 2, 3, 7, 30, 64, 100, 300] {
            let bytes = archive(&stem, weights, &[("model", IDENTITY)]);
            let (outline, program) = pt2::read_both(&bytes, &ReadOptions::default())
                .unwrap_or_else(|e| panic!("{stem}, {weights}: {e}"));
            assert_eq!(program.expect("a program").graph.inputs().len(), 1, "{stem}, {weights}");
            assert_eq!(outline.state.expect("a state").weights.len(), weights, "{stem}");
            read_in_all += 1;
        }
    }
    assert_eq!(read_in_all, 540);
    for stem in ["modèle", "模型", "a'b", "x".repeat(250).as_str(), "PK\u{5}\u{6}"] {
        read(&archive(stem, 3, &[("model", IDENTITY)]));
    }
}

#[test]
fn what_precedes_an_archive_is_passed_over() {
    for length in [4, 76, 1000] {
        let mut bytes = b"PK".repeat(length / 2);
        bytes.extend(archive("resnet18", 2, &[("model", IDENTITY)]));
        read(&bytes);
    }
}

#[test]
fn an_archive_of_several_programs_is_read_by_name() {
    let two = IDENTITY.replace(r#""as_int": 2"#, r#""as_int": 5"#);
    let bytes = archive("pair", 2, &[("encoder", IDENTITY), ("decoder", &two)]);
    assert_eq!(pt2::models(&bytes, &Limits::default()).expect("an archive"), ["encoder", "decoder"]);
    let named = |model| pt2::read(&bytes, &ReadOptions { model, ..ReadOptions::default() });
    for name in ["encoder", "decoder"] {
        named(Some(name)).expect("a program");
    }
    let error = named(None).expect_err("two programs");
    assert_eq!(error.kind, ReadErrorKind::SeveralModels);
    assert!(error.to_string().contains("encoder, decoder"), "{error}");
    let error = named(Some("coder")).expect_err("no such program");
    assert_eq!(error.kind, ReadErrorKind::NoModel);
    assert!(error.to_string().contains("no program called `coder`; there are encoder, decoder"), "{error}");
    let json = pt2::read(IDENTITY.as_bytes(), &ReadOptions { model: Some("x"), ..ReadOptions::default() });
    assert_eq!(json.expect_err("no archive").kind, ReadErrorKind::NoModel);

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pair.pt2");
    std::fs::write(&file, &bytes).expect("a file");
    let run = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("sizewise").expect("the program");
        let output = command.args(arguments).arg(&file).output().expect("it runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (status, text, _) = run(&["check"]);
    assert_eq!(status, Some(0));
    assert!(text.contains("pair.pt2#encoder: ok") && text.contains("pair.pt2#decoder: ok"), "{text}");
    let (_, text, _) = run(&["check", "--format", "json"]);
    let reports: Json = serde_json::from_str(&text).expect("JSON");
    assert_eq!(reports.as_array().map(Vec::len), Some(2));
    assert_eq!(reports[1]["inputs"][0]["shape"], serde_json::json!([5]));
    let (_, text, _) = run(&["check", "--format", "sarif"]);
    let log: Json = serde_json::from_str(&text).expect("JSON");
    let runs = log["runs"].as_array().expect("runs");
    let ids: Vec<&str> = runs.iter().filter_map(|run| run["automationDetails"]["id"].as_str()).collect();
    assert!(ids.len() == 2 && ids[0].ends_with("encoder/") && ids[1].ends_with("decoder/"), "{ids:?}");
    let (status, text, _) = run(&["check", "--model", "decoder", "--format", "json"]);
    let report: Json = serde_json::from_str(&text).expect("JSON");
    assert_eq!((status, &report["inputs"][0]["shape"]), (Some(0), &serde_json::json!([5])));
    assert_eq!(run(&["show"]).0, Some(3));
    assert_eq!(run(&["show", "--model", "encoder"]).0, Some(0));
    let (status, _, message) = run(&["check", "--format", "html"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("--model"), "{message}");
}

#[test]
fn programs_of_older_schemas_are_read() {
    // Written by scripts/write_older_programs.py under each of these versions; what is no program was taken out of
    // the archives.
    for (name, version, nodes, symbols) in [
        ("torch-2.2.2-cat", (2, 0), 3, 2),
        ("torch-2.2.2-kw", (2, 0), 1, 1),
        ("torch-2.2.2-unb", (2, 0), 13, 0),
        ("torch-2.2.2-mut_dec", (2, 0), 2, 0),
        ("torch-2.3.1-cat", (5, 1), 3, 2),
        ("torch-2.3.1-lin_dec", (5, 1), 3, 1),
        ("torch-2.4.1-kw", (5, 3), 1, 1),
        ("torch-2.4.1-cond", (5, 3), 5, 1),
        ("torch-2.4.1-conv_dec", (5, 3), 4, 1),
        ("torch-2.5.1-kw", (7, 3), 1, 1),
        ("torch-2.5.1-unb", (7, 3), 10, 0),
    ] {
        let archive = bytes(&format!("{name}.pt2"));
        let program = read(&archive);
        assert_eq!(program.schema_version, version, "{name}");
        let report = check(&archive, None);
        assert_eq!(
            (report.verdict, report.program.nodes),
            (Outcome::Ok, nodes),
            "{name}: {:?}",
            report.diagnostics
        );
        assert_eq!((report.symbols.len(), report.unsupported.len()), (symbols, 0), "{name}");
    }
    // The constants of torch 2.2 and 2.5: a truth value was written as an integer.
    for name in ["torch-2.2.2-kw", "torch-2.5.1-kw"] {
        let program = read(&bytes(&format!("{name}.pt2")));
        assert_eq!(program.burned_in(2), Some(&Constant::Bool(true)), "{name}");
    }
}

#[test]
fn programs_of_executorch_are_read_with_their_delegates() {
    for (name, nodes) in [("edge", 5), ("delegate", 4)] {
        let archive = bytes(&format!("executorch-1.5.1-{name}.pt2"));
        let program = read(&archive);
        assert_eq!((program.schema_version, program.dialect), ((5, 4), Dialect::Edge), "{name}");
        assert_eq!(program.graph.nodes().len(), nodes, "{name}");
        // It records no names of parameters; placeholders are called after them.
        let inputs = program.user_inputs().expect("inputs");
        assert_eq!(inputs[0].path, [PathStep::Parameter("x".into())], "{name}");
        let refused = pt2::read(&archive, &ReadOptions::default()).expect_err("Edge is read on request");
        assert_eq!(refused.kind, ReadErrorKind::Verifier);
    }
}

#[test]
fn every_container_that_torch_saves_is_read_and_its_keys_are_named_as_torch_names_them() {
    for record in lines("containers.jsonl") {
        let name = record["name"].as_str().expect("a name");
        let json = record["program"].to_string();
        let program = read(json.as_bytes());
        let inputs = program.user_inputs().expect("inputs");
        let paths = record["paths"].as_array().expect("paths");
        assert_eq!(inputs.len(), paths.len(), "{name}");
        for (input, path) in inputs.iter().zip(paths) {
            let ours: String = input.path[1..].iter().map(PathStep::to_string).collect();
            let torchs = path.as_str().expect("text");
            match name {
                // torch shows the value as well, and saves some keys as what they equal.
                "enum" => {
                    assert!(torchs.starts_with(&ours.replace('[', "[<").replace(']', ":")), "{ours} {torchs}")
                }
                "int_enum" => assert_eq!(ours, "[1]"),
                "named_tuple_as_key" => assert_eq!(ours, "[(1, 2)]"),
                _ => assert_eq!(ours, torchs, "{name}"),
            }
        }
        let recorded = &record["program"]["graph_module"]["module_call_graph"][0]["signature"]["in_spec"];
        let signature = program.call_signature().expect("a signature");
        let written: Json = serde_json::from_str(&signature.in_spec.to_json()).expect("JSON");
        let recorded: Json = serde_json::from_str(recorded.as_str().expect("text")).expect("JSON");
        assert_eq!(written, recorded, "{name}");
        runs_agree(name, &json, &record["runs"]);
    }
}

/// Evaluates the inputs, all of one shape, that the module was called with.
fn runs_agree(name: &str, program: &str, runs: &Json) {
    if name == "named_tuple_as_key" {
        // The archive does not say that the key `(1, 2)` is what a guard calls `Pair(p=1, q=2)`.
        return;
    }
    let (checker, operators) =
        (Checker::read(name, program.as_bytes()).expect("a program"), Operators::new());
    let evaluator = checker.evaluator(&operators).expect("an evaluator");
    for run in runs.as_array().expect("runs") {
        let sizes = run[0].as_array().expect("sizes").iter().map(|v| Int::from(v.as_i64().expect("a size")));
        let sizes: Vec<Int> = sizes.collect();
        let inputs = checker.program().user_inputs().expect("inputs").into_iter();
        let tensors = inputs.filter(|input| checker.program().burned_in(input.index).is_none());
        let shapes: Shapes = tensors.map(|input| (input.placeholder, Shape::Tensor(sizes.clone()))).collect();
        assert_eq!(evaluator.evaluate(&shapes).is_ok(), run[1] == true, "{name}: {}", run[0]);
    }
}

fn check(bytes: &[u8], spec: Option<&Json>) -> Report {
    let spec = spec.map(|spec| Spec::parse(spec.to_string().as_bytes()).expect("a spec"));
    let checker = Checker::read("sample", bytes).expect("a program");
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report")
}

#[test]
fn a_spec_names_keys_that_are_no_strings_as_python_writes_them() {
    let at_least = |min: i64| json!([{"dim": "a", "min": min, "max": 64}, {"dim": "b", "min": 4, "max": 64}]);
    for (name, key) in [
        ("bool", "True"),
        ("float", "1.5"),
        ("none", "None"),
        ("tuple", "(1, 'a]')"),
        ("enum", "Color.RED"),
        ("negative", "-3"),
        ("ordered_tuple", "(1, 2)"),
        ("default_list", "True"),
    ] {
        let records = lines("containers.jsonl");
        let record = records.iter().find(|record| record["name"] == name).expect("the program");
        let program = record["program"].to_string();
        // Those that the spec says nothing of are static: 3 x 4.
        for (min, verdict) in [(2, Outcome::Ok), (1, Outcome::Violated)] {
            let spec = json!({"x": {(key): at_least(min)}});
            let report = check(program.as_bytes(), Some(&spec));
            assert_eq!(report.verdict, verdict, "{name}, {min}: {:?}", report.diagnostics);
        }
        let unknown = check(program.as_bytes(), Some(&json!({"x": {"Colour": at_least(2)}})));
        assert_eq!(unknown.verdict, Outcome::Invalid, "{name}");
    }
}

#[test]
fn fields_of_a_newer_minor_version_are_passed_over_and_named() {
    let newer = IDENTITY
        .replace(r#""minor": 1"#, r#""minor": 99"#)
        .replace(r#""range_constraints""#, r#""colour": 3, "range_constraints""#)
        .replace(r#""requires_grad""#, r#""sparsity": {"a": 1}, "requires_grad""#);
    assert_eq!(
        read(newer.as_bytes()).warnings,
        [
            "`graph_module.graph.tensor_values.x.sparsity` is newer than this reader (schema version 8.99): it is passed over",
            "`colour` is newer than this reader (schema version 8.99): it is passed over",
        ]
    );
    assert!(read(newer.replace("99", "20").as_bytes()).warnings.is_empty());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("newer.json");
    std::fs::write(&file, &newer).expect("a file");
    let output = Command::cargo_bin("sizewise")
        .expect("the program")
        .arg("check")
        .arg(&file)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning: `colour` is newer"), "{output:?}");
}
