//! Programs that ExecuTorch made: `scripts/record_edge.py` writes them to `tests/data/edge`.
#[cfg(feature = "cli")]
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::ir::schema::{Schema, SchemaTable};
use sizewise::ir::{Node, Program};
use sizewise::kernels::Operators;
use sizewise::pass::{PassError, lower_to_edge};
use sizewise::recorded_values;
use sizewise::verify::{KnownOperators, Level, Options, Profile, Violation, verify_outline, verify_program};
use std::io::{Read, Write};

/// The operators of the crate, those of libraries as declared ones.
struct Known(Operators);

impl KnownOperators for Known {
    fn declared(&self, op: &str) -> Option<&Schema> {
        let (schema, _) = self.0.find(op)?;
        SchemaTable::global().find(op).is_none().then_some(schema)
    }

    fn has_kernel(&self, op: &str) -> bool {
        self.0.find(op).is_some()
    }
}

/// The lines of a file of `tests/data/edge`.
fn rows(name: &str) -> Vec<Json> {
    let path = format!("{}/tests/data/edge/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).expect(&path);
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// An archive with a program's document. ExecuTorch's own documents have versions of an older schema, whose fields
/// are the same.
fn archive(document: &Json) -> Vec<u8> {
    let mut document = document.clone();
    if document["schema_version"]["major"] == 5 {
        document["schema_version"] = serde_json::json!({"major": 8, "minor": 0});
    }
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let entries = [
        ("p/archive_format", "pt2".to_owned()),
        ("p/archive_version", "0".to_owned()),
        ("p/models/model.json", document.to_string()),
    ];
    for (name, content) in entries {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).expect("a new entry");
        writer.write_all(content.as_bytes()).expect("memory to write to");
    }
    writer.finish().expect("memory to write to").into_inner()
}

fn reading() -> ReadOptions<'static> {
    ReadOptions { edge: true, ..ReadOptions::default() }
}

fn program(document: &Json) -> Program {
    pt2::read(&archive(document), &reading()).unwrap_or_else(|error| panic!("{error}"))
}

/// What verification finds of a program, remarks aside.
fn findings(document: &Json, profile: Profile) -> Vec<Violation> {
    let bytes = archive(document);
    let mut found = verify_outline(&pt2::outline(&bytes, &reading()).expect("an outline"));
    let program = program(document);
    found.extend(verify_program(&program, profile, &Known(Operators::new()), &Options::default()));
    found.extend(recorded_values(&program, &Operators::new()));
    found.retain(|violation| violation.rule.level() != Level::Warning);
    found
}

fn name(row: &Json) -> &str {
    row["name"].as_str().expect("a name")
}

#[test]
fn programs_of_executorch_verify_clean_in_their_dialects() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for row in rows("programs") {
        for (field, profile) in
            [("core", Profile::Core), ("edge", Profile::Edge), ("delegated", Profile::Backend)]
        {
            let Some(document) = row.get(field) else { continue };
            count += 1;
            for violation in findings(document, profile) {
                // `to_edge` leaves out assertions of dtypes before it verifies.
                if field == "core" && violation.message.contains("`aten._assert_tensor_metadata.default`") {
                    continue;
                }
                wrong.push(format!("{} as {field}: {violation}", name(&row)));
            }
        }
    }
    assert!(count >= 140, "{count} programs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_that_executorch_refuses_are_refused() {
    let (mut wrong, rows) = (Vec::new(), rows("broken"));
    assert!(rows.len() >= 30, "{} programs", rows.len());
    for row in &rows {
        let found = findings(&row["edge"], Profile::Edge);
        let said = ["edge-dtype", "edge-tensor", "edge-operator", "core-operator", "dim-order"];
        if !found.iter().any(|violation| said.contains(&violation.rule.code())) {
            wrong.push(format!("{}: {}; found {found:?}", name(row), row["says"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a call is: the operator without its wrapper, and the dtypes of the tensors that it takes and gives.
fn call(program: &Program, node: &Node) -> String {
    let target =
        node.target.wrapped().map_or_else(|| node.target.to_string(), |wrapped| wrapped.name.to_string());
    let dtype = |id| program.graph.meta(id).tensor().map_or("number", |meta| meta.dtype.name());
    let mut taken = Vec::new();
    node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut |id| taken.push(dtype(id))));
    let given: Vec<&str> = node.output_values().map(dtype).collect();
    format!("{target}({}) -> {}", taken.join(", "), given.join(", "))
}

fn calls(program: &Program) -> Vec<String> {
    let mut calls: Vec<String> = program.graph.nodes().iter().map(|node| call(program, node)).collect();
    calls.sort();
    calls
}

#[test]
fn lowering_agrees_with_executorch_on_operators_and_dtypes_or_names_what_is_left() {
    let operators = Operators::new();
    let (mut wrong, mut left, mut agree) = (Vec::new(), Vec::new(), 0);
    for row in rows("programs") {
        let (core, edge) = (program(&row["core"]), program(&row["edge"]));
        match lower_to_edge(&core, &operators) {
            Ok(lowered) => {
                let (ours, theirs) = (calls(&lowered), calls(&edge));
                if ours == theirs {
                    agree += 1;
                } else {
                    let only = |a: &[String], b: &[String]| -> Vec<String> {
                        a.iter().filter(|call| !b.contains(call)).cloned().collect()
                    };
                    let (ours, theirs) = (only(&ours, &theirs), only(&theirs, &ours));
                    wrong.push(format!("{}: ours {ours:?}, theirs {theirs:?}", name(&row)));
                }
                let found =
                    verify_program(&lowered, Profile::Edge, &Known(Operators::new()), &Options::default());
                for violation in found.iter().filter(|violation| violation.rule.level() != Level::Warning) {
                    wrong.push(format!("{}: {violation}", name(&row)));
                }
            }
            Err(PassError::Left { operators: what, .. }) => left.push(format!("{}: {what:?}", name(&row))),
            Err(error) => wrong.push(format!("{}: {error}", name(&row))),
        }
    }
    assert!(wrong.is_empty(), "{agree} agree, {left:?} are left\n{}", wrong.join("\n"));
    assert!(agree >= 65, "{agree} agree, {left:?} are left");
}

#[cfg(feature = "cli")]
mod on_the_command_line {
    use super::*;

    fn sizewise(arguments: &[&str]) -> (i32, String, String) {
        crate::command::with_input(arguments, "")
    }

    /// A folder with a program of the recorded ones in a file.
    fn written(rows: &[Json], wanted: &str, field: &str) -> (tempfile::TempDir, String) {
        let row = rows.iter().find(|row| name(row) == wanted).expect(wanted);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program.pt2");
        std::fs::write(&path, archive(&row[field])).expect("a writable folder");
        let path = path.display().to_string();
        (folder, path)
    }

    #[test]
    fn operators_outside_the_core_set_are_allowed_where_they_are_excepted() {
        let (_folder, path) = written(&rows("broken"), "no_core_selu", "edge");
        let (code, output, _) = sizewise(&["verify", &path]);
        assert!(code == 1 && output.contains("core-operator"), "{output}");
        for option in ["--core-exception", "--preserve"] {
            let (code, output, _) = sizewise(&["verify", &path, option, "aten.selu"]);
            assert_eq!(code, 0, "{output}");
        }
        let (code, _, error) = sizewise(&["verify", &path, "--preserve", "se lu"]);
        assert!(code == 2 && error.contains("expected an operator"), "{error}");
    }

    #[test]
    fn dtypes_are_those_of_the_given_table() {
        let (folder, path) = written(&rows("programs"), "softmax", "edge");
        let yaml = folder.path().join("edge.yaml");
        let table = "- func: aten::_softmax\n  namespace: edge\n  inherits: aten::_softmax\n  type_alias:\n    T0: [Half]\n  \
                     type_constraint:\n  - self: T0\n    __ret_0: T0\n";
        std::fs::write(&yaml, table).expect("a writable folder");
        let yaml = yaml.display().to_string();
        assert_eq!(sizewise(&["verify", &path]).0, 0);
        let (code, output, _) = sizewise(&["verify", &path, "--edge-yaml", &yaml]);
        assert!(code == 1 && output.contains("`self` as float16, not as float32"), "{output}");
        let (code, output, _) = sizewise(&["ops", "--edge", "aten._softmax", "--edge-yaml", &yaml]);
        assert!(code == 0 && output.contains("  self: float16\n"), "{output}");
        std::fs::write(&yaml, "- func: x").expect("a writable folder");
        let (code, _, error) = sizewise(&["verify", &path, "--edge-yaml", &yaml]);
        assert!(code == 2 && error.contains("edge.yaml: entry 0 has no `inherits`"), "{code} {error}");
    }

    #[test]
    fn the_dtypes_of_an_operator_are_printed() {
        let (code, output, _) = sizewise(&["ops", "--edge", "aten.abs"]);
        assert_eq!(code, 0);
        assert!(output.starts_with("aten.abs.default: 1 combinations of dtypes in edge.yaml\n"), "{output}");
        let (_, output, _) = sizewise(&["ops", "--edge", "aten.gather.default", "--format", "json"]);
        let report: Json = serde_json::from_str(&output).expect("JSON");
        assert_eq!(report["listed"], false);
        assert_eq!(report["tensors"]["self"].as_array().map(Vec::len), Some(13), "{output}");
        assert_eq!(report["tensors"].get("dim"), None, "{output}");
        let (code, _, error) = sizewise(&["ops", "--edge", "aten.add.Tensr"]);
        assert!(code == 2 && error.contains("aten.add.Tensor"), "{code} {error}");
    }

    #[test]
    fn lowered_programs_are_written_with_their_lifted_constants() {
        let (folder, path) = written(&rows("programs"), "mixed_int_scalar", "core");
        let made = folder.path().join("made.pt2");
        let shown = made.display().to_string();
        let (code, _, error) = sizewise(&["lower", &path, "--to", "edge", "--output", &shown]);
        assert_eq!(code, 0, "{error}");
        let (code, output, _) = sizewise(&["verify", &shown]);
        assert_eq!(code, 0, "{output}");
        let mut archive =
            zip::ZipArchive::new(std::fs::File::open(&made).expect("a file")).expect("an archive");
        let mut bytes = Vec::new();
        let weight = archive.by_name("archive/data/weights/weight_0");
        weight.expect("a weight").read_to_end(&mut bytes).expect("bytes");
        assert_eq!(bytes, 2_i64.to_le_bytes());
    }

    #[test]
    fn what_cannot_be_lowered_is_named() {
        let mut rows = rows("programs");
        let row = rows.iter_mut().find(|row| name(row) == "cond").expect("a program");
        // A number in a branch is not lifted out of it.
        let nodes = row["core"]["graph_module"]["graph"]["nodes"].as_array_mut().expect("nodes");
        let call =
            nodes.iter_mut().find(|node| node["target"] == "torch.ops.higher_order.cond").expect("a call");
        let node = &mut call["inputs"][1]["arg"]["as_graph"]["graph"]["nodes"][0];
        node["target"] = "torch.ops.aten.mul.Tensor".into();
        let number = serde_json::json!({"name": "other", "arg": {"as_float": 2.5}, "kind": 1});
        node["inputs"].as_array_mut().expect("inputs").push(number);
        let (_folder, path) = written(&rows, "cond", "core");
        let (code, _, error) = sizewise(&["lower", &path, "--to", "edge"]);
        assert!(code == 1 && error.contains("left as they are"), "{code} {error}");
        assert!(error.contains("`aten.mul.Tensor` takes a tensor and is given a number"), "{error}");
    }

    #[test]
    fn arguments_without_names_are_those_at_their_positions_for_declared_operators_too() {
        let mut rows = rows("programs");
        let row = rows.iter_mut().find(|row| name(row) == "sub_alpha").expect("a program");
        let node = &mut row["core"]["graph_module"]["graph"]["nodes"][0];
        node["target"] = "torch.ops.mine.sub.default".into();
        node["inputs"][0]["name"] = "".into();
        node["inputs"][1]["name"] = "".into();
        let (folder, path) = written(&rows, "sub_alpha", "core");
        let ops = folder.path().join("mine.toml");
        let declared = "[[operator]]\nschema = \"mine::sub(Tensor a, Tensor b, *, Scalar alpha=1) -> Tensor\"\n\
                        returns = [{ like = \"a\" }]\n";
        std::fs::write(&ops, declared).expect("a writable folder");
        let ops = ops.display().to_string();
        for command in ["verify", "check"] {
            let (code, output, error) = sizewise(&[command, &path, "--ops", &ops]);
            assert_eq!(code, 0, "{command}: {output}{error}");
        }
        let text = declared.replace("Tensor b, *, ", "Tensor b, Tensor c, *, ");
        std::fs::write(&ops, text).expect("a writable folder");
        let (code, output, _) = sizewise(&["verify", &path, "--ops", &ops]);
        assert!(code == 1 && output.contains("is not given `c`"), "{output}");
    }
}
