//! What was read is written and read again.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use super::{SourceArchive, write, write_json, write_stream, write_to};
use crate::Program;
use crate::pt2::{Limits, ReadOptions, outline, read};
use crate::text;

#[test]
fn programs_that_were_read_are_written_and_read_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the programs") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a program");
        let program = read(&bytes, &ReadOptions::default()).expect("a program");
        let json = write_json(&program).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let archive = write(&program).expect("an archive");
        for written in [json.as_bytes(), &archive] {
            let again = read(written, &ReadOptions::default())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            // Everything that a program holds is in its debug form.
            assert!(format!("{program:?}") == format!("{again:?}"), "{}", path.display());
            assert!(write_json(&again).as_ref() == Ok(&json), "{}", path.display());
        }
        assert_eq!(write(&program).expect("an archive"), archive, "the same bytes");
        outline(&archive, &ReadOptions::default()).expect("an outline");
        count += 1;
    }
    assert!(count > 100, "{count} programs");
}

#[test]
fn what_the_format_has_no_place_for_is_refused() {
    let program = |annotation: &str| {
        let head = format!("class M(torch.nn.Module):\n    def forward(self, x{annotation}):\n");
        text::read(&format!("{head}        return (x,)\n")).expect("a program")
    };
    assert!(write_json(&program(": \"f32[3]\"")).is_ok());
    for (annotation, message) in
        [("", "`x`: nothing is recorded of it"), (": \"int4[3]\"", "`x`: the format has no int4")]
    {
        assert_eq!(write_json(&program(annotation)).expect_err(message).to_string(), message);
    }
}

/// A program with a parameter, two buffers, of which one is not persistent, and a constant.
fn stateful() -> Program {
    let text = "ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: \"f32[2]\", b_b: \"f32[2]\", b_n: \"i64[]\", c_c: \"f32[3, 2]\", x: \"f32[2]\"):
            add: \"f32[2]\" = torch.ops.aten.add.Tensor(x, p_w)
            return (add,)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    b_b: BUFFER target='b' persistent=True
    b_n: BUFFER target='n' persistent=False
    c_c: CONSTANT_TENSOR target='c'
    x: USER_INPUT

    # outputs
    add: USER_OUTPUT

Range constraints: {}
";
    text::read(text).expect("a program")
}

const WEIGHTS: &str = r#"{"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false},
    "b": {"path_name": "weight_0", "is_param": false, "use_pickle": false}}}"#;
const CONSTANTS: &str = r#"{"config": {"n": {"path_name": "tensor_0", "is_param": false, "use_pickle": false},
    "c": {"path_name": "tensor_1", "is_param": false, "use_pickle": true}}}"#;

fn zipped(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file(*name, options).expect("an entry");
        writer.write_all(content.as_bytes()).expect("bytes");
    }
    writer.finish().expect("an archive").into_inner()
}

fn entries(bytes: &[u8]) -> Vec<(String, String)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let mut list = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("an entry");
        assert_eq!(entry.data_start().expect("a place") % 64, 0, "torch begins entries at multiples of 64");
        let mut content = String::new();
        entry.read_to_string(&mut content).expect("text");
        list.push((entry.name().expect("a name").to_string(), content));
    }
    list
}

fn written(program: &Program, source: &[u8]) -> Result<Vec<u8>, String> {
    let open = || SourceArchive::open(source, None, &Limits::default()).map_err(|error| error.to_string());
    let mut bytes = Cursor::new(Vec::new());
    write_to(program, Some(&mut open()?), &mut bytes).map_err(|error| error.to_string())?;
    let mut streamed = Vec::new();
    write_stream(program, Some(&mut open()?), &mut streamed).expect("a stream");
    let names = |bytes: &[u8]| -> Vec<String> {
        let archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
        archive.file_names().map(|name| name.expect("a name").to_string()).collect()
    };
    assert_eq!(names(&streamed), names(bytes.get_ref()));
    Ok(bytes.into_inner())
}

#[test]
fn weights_constants_samples_and_files_are_copied_from_the_source() {
    let program = stateful();
    let json = write_json(&program).expect("JSON");
    let source = [
        ("any/archive_format", "pt2"),
        ("any/archive_version", "0"),
        ("any/models/named.json", &json),
        ("any/data/weights/named_weights_config.json", WEIGHTS),
        ("any/data/weights/weight_0", "12345678"),
        ("any/data/constants/named_constants_config.json", CONSTANTS),
        ("any/data/constants/tensor_0", "abcdefgh"),
        ("any/data/constants/tensor_1", "a pickle"),
        ("any/data/sample_inputs/named.pt", "samples"),
        ("any/extra/notes.txt", "of the user"),
    ];
    let bytes = written(&program, &zipped(&source)).expect("an archive");
    let made = entries(&bytes);
    let content =
        |name: &str| made.iter().find(|(known, _)| known == name).map(|(_, content)| content.as_str());
    for (name, expected) in [
        ("archive/data/weights/weight_0", "12345678"),
        ("archive/data/constants/tensor_0", "abcdefgh"),
        ("archive/data/constants/tensor_1", "a pickle"),
        ("archive/data/sample_inputs/model.pt", "samples"),
        ("archive/extra/notes.txt", "of the user"),
        ("archive/models/model.json", &json),
    ] {
        assert_eq!(content(name), Some(expected), "{name}");
    }
    for (name, list) in [("weights", WEIGHTS), ("constants", CONSTANTS)] {
        let text = content(&format!("archive/data/{name}/model_{name}_config.json")).expect(name);
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(text), read(list));
    }
    assert_eq!(content("archive/extra/without_weights"), None);
    assert_eq!(
        format!("{program:?}"),
        format!("{:?}", read(&bytes, &ReadOptions::default()).expect("a program"))
    );
}

#[test]
fn pickles_of_old_archives_are_copied_under_the_names_that_torch_still_reads() {
    let program = stateful();
    let json = write_json(&program).expect("JSON");
    let source = [
        ("version", "8.8"),
        ("serialized_exported_program.json", json.as_str()),
        ("serialized_state_dict.pt", "weights"),
        ("serialized_constants.pt", "constants"),
        ("serialized_example_inputs.pt", "samples"),
        ("extra_files/notes.txt", "of the user"),
    ];
    let made = entries(&written(&program, &zipped(&source)).expect("an archive"));
    let tail: Vec<(&str, &str)> =
        made.iter().rev().take(4).rev().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        tail,
        [
            ("archive/data/weights/model.pt", "weights"),
            ("archive/data/constants/model.pt", "constants"),
            ("archive/data/sample_inputs/model.pt", "samples"),
            ("archive/extra/notes.txt", "of the user"),
        ]
    );
}

#[test]
fn states_without_a_source_are_empty_entries_which_torch_reads_as_zeros() {
    let made = entries(&write(&stateful()).expect("an archive"));
    let names: Vec<&str> = made.iter().map(|(name, _)| name.trim_start_matches("archive/")).collect();
    for name in [
        "data/weights/weight_0",
        "data/weights/weight_1",
        "data/constants/tensor_0",
        "data/constants/tensor_1",
        "data/sample_inputs/model.pt",
    ] {
        let at = names.iter().position(|known| *known == name).expect(name);
        assert_eq!(made[at].1, "", "{name}");
    }
    assert!(names.contains(&"extra/without_weights"));
}

#[test]
fn damaged_sources_are_refused() {
    let program = stateful();
    let json = write_json(&program).expect("JSON");
    let with = |weights: &str| {
        zipped(&[
            ("any/archive_format", "pt2"),
            ("any/archive_version", "0"),
            ("any/models/model.json", &json),
            ("any/data/weights/model_weights_config.json", weights),
        ])
    };
    for (weights, message) in [
        ("{", "`any/data/weights/model_weights_config.json` of the source archive: EOF"),
        (r#"{"config": {"w": {}}}"#, "`w` has no `path_name`"),
    ] {
        let error = written(&program, &with(weights)).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
    assert!(written(&program, b"PK nothing").expect_err("no archive").starts_with("the source archive"));
    // Values that are listed and not there are those of states without a source.
    let archive = with(WEIGHTS);
    let made = written(&program, &archive).expect("an archive");
    assert!(entries(&made).iter().any(|(name, _)| name.ends_with("extra/without_weights")));
    let other = SourceArchive::open(&archive, Some("other"), &Limits::default());
    assert!(other.err().is_some_and(|error| error.to_string().contains("no program of this name")));
}
