//! Wrong inputs on the command line: each gets an error that names the file and what was expected, and the right exit
//! status.
#![cfg(feature = "cli")]
use assert_cmd::Command;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A program with one input `x`, a dictionary of two tensors.
const PROGRAM: &str = "tests/data/programs/pt_dict.pt2";

fn model_json() -> String {
    model_json_of(PROGRAM)
}

fn model_json_of(program: &str) -> String {
    let file = std::fs::File::open(program).expect("the test's program");
    let mut archive = zip::ZipArchive::new(file).expect("an archive");
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("an entry");
        if entry.name().is_ok_and(|name| name.ends_with("models/model.json")) {
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("text");
            return text;
        }
    }
    panic!("no model")
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("a writable folder");
        path
    }
}

/// Exit status, standard output and standard error of `sizewise check`.
fn check(program: &Path, spec: Option<&Path>) -> (i32, String, String) {
    let mut command = Command::cargo_bin("sizewise").expect("the program");
    command.arg("check").arg(program);
    if let Some(spec) = spec {
        command.arg("--spec").arg(spec);
    }
    let output = command.output().expect("a run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn refused(name: &str, bytes: &[u8], expected: &[&str]) {
    let folder = Folder::new();
    let path = folder.file(name, bytes);
    let (status, _, error) = check(&path, None);
    assert_eq!(status, 3, "{error}");
    assert!(error.contains(name), "names the file: {error}");
    for part in expected {
        assert!(error.contains(part), "says `{part}`: {error}");
    }
}

#[track_caller]
fn spec_refused(spec: &str, expected: &[&str]) {
    let folder = Folder::new();
    let path = folder.file("spec.json", spec.as_bytes());
    let (status, out, error) = check(Path::new(PROGRAM), Some(&path));
    assert_eq!(status, 2, "{out}{error}");
    for part in expected {
        assert!(out.contains(part) || error.contains(part), "says `{part}`: {out}{error}");
    }
}

/// Messages quote the beginning of an expression, however long it is.
#[test]
fn long_expressions_that_cannot_be_read() {
    let long = format!("{}s77{}", "FloorDiv(".repeat(100_000), ", 2)".repeat(100_000));
    let model = model_json_of("tests/data/programs/cop_guarded.pt2");
    let symbol = "\"expr_str\": \"Symbol('s77', positive=True, integer=True)\"";
    let guard = "\"guards_code\": [\"";
    let folder = Folder::new();
    for (part, changed) in
        [(symbol, format!("\"expr_str\": \"{long}\"")), (guard, format!("{guard}{long} == 2\", \""))]
    {
        assert!(model.contains(part), "{part}");
        let path = folder.file("long.json", model.replacen(part, &changed, 1).as_bytes());
        let (status, out, error) = check(&path, None);
        assert_ne!(status, 0, "{error}");
        let said = format!("{out}{error}");
        let quoted = long.chars().take(150).collect::<String>();
        assert!(said.contains(&quoted) && said.len() < 5_000, "{} bytes: {said:.500}", said.len());
    }
    let text = format!("graph():\n    %x : f32[{long}] = placeholder[target=x]\n    return (x,)\n");
    let (status, _, error) = check(&folder.file("long.txt", text.as_bytes()), None);
    assert!(status == 3 && error.len() < 2_000, "{status}, {} bytes: {error:.500}", error.len());
}

#[test]
fn an_empty_file() {
    refused("empty.pt2", b"", &["empty", "expected a .pt2 archive"]);
}

#[test]
fn a_truncated_archive() {
    let bytes = std::fs::read(PROGRAM).expect("the test's program");
    refused("half.pt2", &bytes[..bytes.len() / 2], &["archive"]);
}

/// What is cut off ends within an archive that an entry holds, as sample inputs do: that one's list is no list of it.
#[test]
fn an_archive_that_is_cut_off_behind_one_inside() {
    let mut inner = Vec::new();
    let mut outer = Vec::new();
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(&mut inner));
    archive.start_file("data.pkl", stored).expect("an entry");
    archive.write_all(&[7; 50]).expect("its bytes");
    archive.finish().expect("an archive");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(&mut outer));
    for (name, bytes) in
        [("model/archive_format", &b"pt2"[..]), ("model/data/model.pt", &inner), ("model/x", &[1; 99])]
    {
        archive.start_file(name, stored).expect("an entry");
        archive.write_all(bytes).expect("its bytes");
    }
    archive.finish().expect("an archive");
    let end = outer.len() - 200;
    for cut in [end, end - 20, end - 60] {
        refused("cut.pt2", &outer[..cut], &["the zip archive is incomplete: the list of its entries"]);
    }
}

#[test]
fn a_zip_bomb() {
    let mut bytes = Vec::new();
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(&mut bytes));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("m/archive_format", options).expect("an entry");
    archive.write_all(b"pt2").expect("bytes");
    archive.start_file("m/archive_version", options).expect("an entry");
    archive.write_all(b"0").expect("bytes");
    archive.start_file("m/models/model.json", options).expect("an entry");
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..64 {
        archive.write_all(&zeros).expect("bytes");
    }
    archive.finish().expect("an archive");
    refused("bomb.pt2", &bytes, &["models/model.json", "ratio of at most"]);
}

#[test]
fn another_major_version() {
    let text = model_json().replace("\"schema_version\": {\"major\": 8", "\"schema_version\": {\"major\": 9");
    assert!(text.contains("\"major\": 9"));
    refused("new.json", text.as_bytes(), &["version", "9"]);
}

#[test]
fn random_bytes() {
    let mut state = 1u32;
    let noise: Vec<u8> = (0..4096)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    refused("noise.pt2", &noise, &["neither a zip archive nor JSON"]);
}

#[test]
fn nesting_a_million_deep() {
    refused("deep.json", format!("{{\"other\": {}", "[".repeat(1_000_000)).as_bytes(), &["line 1"]);
}

/// The model with the first argument of its first node renamed.
fn with_first_argument(name: &str) -> String {
    let mut model: serde_json::Value = serde_json::from_str(&model_json()).expect("JSON");
    let node = &mut model["graph_module"]["graph"]["nodes"][0];
    node["inputs"][0]["arg"]["as_tensor"]["name"] = name.into();
    model.to_string()
}

fn first_output() -> String {
    let model: serde_json::Value = serde_json::from_str(&model_json()).expect("JSON");
    let output = &model["graph_module"]["graph"]["nodes"][0]["outputs"][0]["as_tensor"]["name"];
    output.as_str().expect("a tensor").to_string()
}

#[test]
fn a_cyclic_graph() {
    let own = first_output();
    refused("cycle.json", with_first_argument(&own).as_bytes(), &[&own, "before it is made"]);
}

#[test]
fn a_name_used_before_it_is_made() {
    let model: serde_json::Value = serde_json::from_str(&model_json()).expect("JSON");
    let nodes = model["graph_module"]["graph"]["nodes"].as_array().expect("nodes");
    let last = nodes.last().expect("a node")["outputs"][0]["as_tensor"]["name"].as_str().expect("a tensor");
    refused("early.json", with_first_argument(last).as_bytes(), &[last, "before it is made"]);
    refused("unknown.json", with_first_argument("nowhere").as_bytes(), &["nowhere"]);
}

#[test]
fn a_file_that_does_not_exist() {
    let (status, _, error) = check(Path::new("tests/data/none.pt2"), None);
    assert_eq!(status, 3);
    assert!(error.contains("tests/data/none.pt2"), "{error}");
}

#[test]
fn a_spec_for_an_input_that_does_not_exist() {
    spec_refused(r#"{"y": ["AUTO"]}"#, &["y", "no such input"]);
}

#[test]
fn a_spec_of_the_wrong_rank() {
    spec_refused(r#"{"inp": {"a": ["AUTO", "AUTO", "AUTO", "AUTO", "AUTO"]}}"#, &["dimensions"]);
}

#[test]
fn a_dimension_out_of_range() {
    spec_refused(r#"{"inp": {"a": {"7": "AUTO"}}}"#, &["there is no dimension \"7\""]);
    spec_refused(r#"{"inp": {"a": [{"dim": "n", "min": 5, "max": 2}, null]}}"#, &["the range of n is empty"]);
    spec_refused(r#"{"inp": {"a": [{"dim": "n", "min": 1000}, null]}}"#, &["outside the range of n"]);
}

#[test]
fn specs_that_are_none() {
    for (spec, expected) in [
        ("", "empty"),
        ("{", "not JSON"),
        ("3", "expected an object by parameter name or a list"),
        (r#"{"inp": {"a": ["batch", null]}}"#, "{\"dim\": \"batch\"}"),
        (r#"{"inp": {"a": [-1, null]}}"#, "at least 0"),
        (r#"{"inp": {"a": [{"dim": "2n"}, null]}}"#, "not an identifier"),
    ] {
        spec_refused(spec, &[expected]);
    }
}

#[test]
fn lines_that_cannot_be_read_do_not_end_the_stream() {
    let input = "nonsense\n[1]\n{\"id\": 7}\n\n{\"id\": 8, \"op\": \"aten.mm.default\", \"args\": [{\"tensor\": 3}]}\n";
    let output = Command::cargo_bin("sizewise")
        .expect("the program")
        .arg("infer")
        .write_stdin(input)
        .output()
        .expect("a run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines.iter().all(|l| l.contains("\"kind\":\"invalid\"")), "{text}");
    assert!(lines[2].contains("\"id\":7") && lines[3].contains("\"id\":8"), "{text}");
}

#[test]
fn an_onnx_model_where_an_exported_program_is_needed() {
    let folder = Folder::new();
    let text = "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N] x) => (float[N] y) { y = Relu(x) }";
    let path = folder.file("m.onnx", text.as_bytes());
    let output = Command::cargo_bin("sizewise").expect("the program").arg("verify").arg(&path).output();
    let output = output.expect("a run");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("m.onnx: an ONNX model; this command takes exported programs"), "{error}");
}

/// A file of so many zeros, of which nothing is stored.
fn zeros(folder: &Folder, name: &str, length: u64) -> PathBuf {
    let path = folder.file(name, b"");
    std::fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(length))
        .expect("a long file");
    path
}

#[test]
fn files_that_are_too_long_are_not_read() {
    let folder = Folder::new();
    for (name, gigabytes, expected) in [
        ("huge.onnx", 6, "huge.onnx: it is longer than 2 GiB, the most that protobuf allows"),
        ("huge.pt2", 6, "huge.pt2: it is longer than 4 GiB, the most that is read"),
        // No format begins with a zero: the rest is not read.
        ("zeros.pt2", 3, "zeros.pt2: neither a zip archive nor JSON nor an ONNX model"),
        ("zeros.onnx", 1, "zeros.onnx: the file: not an ONNX model, or a damaged one"),
    ] {
        let (status, _, error) = check(&zeros(&folder, name, gigabytes << 30), None);
        assert_eq!(status, 3, "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_text_that_is_too_long() {
    let folder = Folder::new();
    let text = "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N] x) => (float[N] y) { y = Relu(x) }";
    let path = folder.file("long.txt", text.as_bytes());
    let file = std::fs::File::options().write(true).open(&path).expect("the file");
    file.set_len(3 << 30).expect("a long file");
    let (status, _, error) = check(&path, None);
    assert_eq!(status, 3, "{error}");
    assert!(error.contains("long.txt: it is a text of more than 256 MiB, the most that is read"), "{error}");
}

#[test]
fn what_stands_in_place_of_a_file() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    for (bytes, expected) in [
        (&[0x1f, 0x8b, 8, 0][..], "it is compressed with gzip; unpack it first"),
        (pointer.as_bytes(), "it is a pointer of Git LFS to the file; `git lfs pull` gets the file"),
        (b"\n<!doctype HTML><title>404</title>", "it is an HTML page, perhaps of an error"),
        (b"<html lang=en>", "it is an HTML page, perhaps of an error"),
        (b"{\"message\": \"Not Found\"}", "JSON, but not of an exported program: it has no `graph_module`"),
    ] {
        for name in ["m.onnx", "m.pt2"] {
            refused(name, bytes, &[expected]);
        }
    }
}

/// Exit status and both outputs of a command on a model.
fn on_model(text: &str, command: &[&str]) -> (i32, String) {
    let folder = Folder::new();
    let path = folder.file("m.onnx", text.as_bytes());
    let (first, rest) = command.split_first().expect("a command");
    let output =
        Command::cargo_bin("sizewise").expect("the program").arg(first).arg(&path).args(rest).output();
    let output = output.expect("a run");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn inputs_of_an_onnx_model_on_the_command_line() {
    let text = "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N] x, int64 k) => (y) \
                { o = Constant<value_int = 1>() z = Constant<value_int = 0>() r = Range(z, k, o) y = Gather(x, r) }";
    for (arguments, status, expected) in [
        (&["x=4", "k=3"][..], 0, "output 0   [3]"),
        (&["x=2", "k=3"], 1, "refused: Gather"),
        (&["x=2", "k="], 0, "output 0   [1]"),
        (&["x=2"], 2, "no sizes are given for the input `k`"),
        (&["x=2", "k=3", "foo=1"], 2, "no input is named `foo`; there are x, k"),
    ] {
        let (found, text) = on_model(text, &[&["eval"], arguments].concat());
        assert!(found == status && text.contains(expected), "{arguments:?}: {found} {text}");
    }
    let (status, text) = on_model(text, &["explain", "--dim", "seq"]);
    assert!(status == 2 && text.contains("no input has the dimension `seq`; there are x.shape[0]"), "{text}");
}

#[test]
fn questions_of_infer_onnx_have_known_fields() {
    let relu = |fields: &str| format!("{{\"op\": \"Relu\", \"opset\": 17, {fields}}}");
    let x = "\"inputs\": [{\"dtype\": \"f32\", \"shape\": [2]}]";
    for (fields, expected) in [
        (x.to_owned(), "\"shape\":[2]"),
        (format!("{x}, \"attributes\": {{}}"), "attributes"),
        (x.replace("\"shape\"", "\"values\": [1], \"shape\""), "values"),
        (x.replace("[2]", "[-3]"), "a size of the `shape` is -3"),
        (format!("{x}, \"attrs\": {{\"axis\": 1}}"), "expected its kind and value, such as"),
    ] {
        let answer = sizewise::cli::answer_line("infer-onnx", relu(&fields).as_bytes()).expect("an answer");
        assert!(answer.contains(expected), "{fields}: {answer}");
    }
    let answer =
        sizewise::cli::answer_line("infer-onnx", relu(x).replace("17", "99").as_bytes()).expect("an answer");
    assert!(answer.contains("loads ai.onnx up to version 26, not 99"), "{answer}");
}

#[test]
fn a_fix_does_not_replace_the_model() {
    let folder = Folder::new();
    let text = "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[2] x) => (float[3] y) { y = Neg(x) }";
    let path = folder.file("m.onnx", text.as_bytes());
    let command = |fixed: &Path| {
        let mut command = Command::cargo_bin("sizewise").expect("the program");
        command.arg("check").arg(&path).arg("--fix").arg(fixed).output().expect("a run")
    };
    let output = command(&path);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--fix would replace the model itself; name another file"), "{error}");
    assert_eq!(std::fs::read(&path).expect("the model"), text.as_bytes());
    assert_eq!(command(&folder.0.path().join("fixed.onnx")).status.code(), Some(0));
}
