//! `sizewise check PATH…`: many programs in one command, each by itself.
mod baselines;
mod counts;
mod folder;
mod hostile;
mod names;
mod streams;
mod workers;

use crate::sarif::keeps_rules;
use folder::{Folder, Ran};
use serde_json::{Value as Json, json};
use std::fs;

const AREA: &str = "examples/area.pt2";
const BERT: &str = "examples/bert.pt2";
const MODEL: &str = "examples/patches.onnx";
/// A program that is undecided.
const OPEN: &str = "tests/data/programs/cop_guarded_no.pt2";
const WIDE: &str = include_str!("../examples/area.json");

fn examples() -> Vec<(&'static str, &'static str)> {
    let examples = ["area", "bert", "branch", "flatten", "masked", "rows", "thirds"];
    let named =
        examples.map(|name| (format!("good/{name}.pt2").leak(), format!("examples/{name}.pt2").leak()));
    let mut named: Vec<(&str, &str)> = named.map(|(name, from)| (&*name, &*from)).into();
    named.push(("good/patches.onnx", MODEL));
    named
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` is not in\n{text}"));
}

#[test]
fn thirty_hostile_files_among_good_ones_end_their_own_lines_only() {
    let folder = Folder::new(&examples(), &[("good/area.spec.json", WIDE)]);
    let [program, model] = ["good/bert.pt2", "good/patches.onnx"]
        .map(|name| fs::read(folder.path().join(name)).expect("a file"));
    fs::create_dir(folder.path().join("bad")).expect("a folder");
    assert_eq!(hostile::write_thirty(&folder.path().join("bad"), &program, &model), 30);
    let ran = folder.check(&["bad", "good", "--format", "jsonl", "--jobs", "3"]);
    let lines = ran.lines();
    assert_eq!((ran.status, lines.len()), (3, 38), "{}", ran.err);
    let (bad, good) = lines.split_at(30);
    for line in bad {
        let codes: Vec<&str> = line["diagnostics"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|d| d["code"].as_str())
            .collect();
        assert_eq!(
            (line["verdict"].as_str(), codes.as_slice()),
            (Some("invalid"), &["not-checked"][..]),
            "{}",
            line["path"]
        );
        assert!(!line["diagnostics"].to_string().contains("a bug in sizewise"), "{line}");
    }
    for line in good {
        let path = line["path"].as_str().expect("a path");
        let spec: &[&str] = if path == "good/area.pt2" { &["--spec", "good/area.spec.json"] } else { &[] };
        let alone = folder.check(&[&[path, "--format", "json"], spec].concat());
        let mut expected: Json = serde_json::from_str(&alone.out).expect("a report");
        expected["path"] = json!(path);
        assert_eq!(*line, expected, "{path}");
    }
}

#[test]
fn reports_are_in_the_order_of_the_paths() {
    let folder = Folder::new(&examples(), &[]);
    let one = folder.check(&["good/thirds.pt2", "good", "good/area.pt2", "--format", "jsonl"]);
    let paths: Vec<String> =
        one.lines().iter().map(|line| line["path"].as_str().unwrap_or_default().to_owned()).collect();
    let names = [
        "thirds.pt2",
        "area.pt2",
        "bert.pt2",
        "branch.pt2",
        "flatten.pt2",
        "masked.pt2",
        "patches.onnx",
        "rows.pt2",
    ];
    assert_eq!(paths, names.map(|name| format!("good/{name}")));
    let many = folder.check(&["good/thirds.pt2", "good", "--format", "jsonl", "--jobs", "4"]);
    assert_eq!((one.out, one.status), (many.out, many.status));
}

#[test]
fn paths_are_files_folders_patterns_and_lists() {
    let programs = [
        ("m/a.pt2", AREA),
        ("m/deep/b.pt2", AREA),
        ("m/deep/c.onnx", MODEL),
        ("x y.pt2", AREA),
        ("m/.hidden/d.pt2", AREA),
    ];
    let folder = Folder::new(&programs, &[("m/notes.txt", "no program"), ("m/a.spec.json", WIDE)]);
    let [a, b, c, x] = ["m/a.pt2 violated", "m/deep/b.pt2 ok", "m/deep/c.onnx violated", "x y.pt2 ok"];
    for (arguments, input, expected) in [
        (&["m"][..], "", &[a, b, c][..]),
        (&["m/deep", "m"], "", &[b, c, a]),
        (&["m/*.pt2"], "", &[a]),
        (&["m/a*"], "", &[a]),
        (&["m/**/*.pt2"], "", &[a, b]),
        (&["m/deep/?.onnx", "x y.pt2"], "", &[c, x]),
        (&["m/a.pt2", "m/a.spec.json"], "", &[a]),
        (&["-"], "x y.pt2\n\nm/deep\r\n", &[x, b, c]),
        (&["m/a.pt2", "-"], "x y.pt2\nm/a.pt2", &[a, x]),
        (&["nothing/*.pt2", "m/a.pt2"], "", &["nothing/*.pt2 invalid", a]),
        (&["nothing.pt2", "m/a.pt2"], "", &["nothing.pt2 invalid", a]),
        (&["x y.pt2", "-"], "-\n", &[x, "- invalid"]),
        (&["m/a.pt2", "/dev/zero"], "", &[a, "/dev/zero invalid"]),
        (&["m/a.pt2", "m/[.pt2"], "", &[a, "m/[.pt2 invalid"]),
    ] {
        let ran = folder.check_with(&[arguments, &["--format", "jsonl"]].concat(), input);
        assert_eq!(ran.verdicts(), expected, "{arguments:?} {}", ran.err);
    }
}

#[test]
fn a_single_file_is_checked_under_the_spec_beside_it() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[("a.spec.json", WIDE), ("b.json", WIDE)]);
    let alone = folder.check(&["a.pt2"]);
    assert!(alone.status == 1 && alone.out.starts_with("a.pt2: violated"), "{}", alone.out);
    has(&alone.err, &["note: the spec is a.spec.json"]);
    let given = folder.check(&["a.pt2", "--spec", "b.json"]);
    assert!(given.status == 1 && !given.err.contains("note:"), "{}", given.err);
    let bytes = fs::read(folder.path().join("a.pt2")).expect("a file");
    let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program");
    let piped = command.args(["check", "-"]).write_stdin(bytes).output().expect("a run");
    has(&String::from_utf8_lossy(&piped.stdout), &["standard input: ok"]);
    for (format, starts) in
        [("jsonl", "{\"path\":\"a.pt2\",\"schema_version\":"), ("junit", "<?xml version=\"1.0\"")]
    {
        let ran = folder.check(&["a.pt2", "--format", format]);
        assert!(ran.status == 1 && ran.out.starts_with(starts), "{}", ran.out);
    }
}

#[test]
fn the_exit_status_is_the_worst() {
    let programs = [("ok.pt2", AREA), ("violated.onnx", MODEL), ("open.pt2", OPEN), ("invalid.pt2", AREA)];
    let folder = Folder::new(&programs, &[("broken.pt2", "nothing"), ("invalid.spec.json", "{\"z\": null}")]);
    for (arguments, expected) in [
        (&["ok.pt2", "ok*"][..], 0),
        (&["ok.pt2", "open.pt2"], 4),
        (&["violated.onnx", "open.pt2"], 1),
        (&["violated.onnx", "invalid.pt2", "open.pt2"], 2),
        (&["broken.pt2", "violated.onnx", "invalid.pt2"], 3),
        (&["ok.pt2", "open.pt2", "--fail-on", "violated"], 0),
        (&["ok.pt2", "open.pt2", "--fail-on", "unknown"], 4),
        // It needs a least height, which an ONNX file cannot declare.
        (&["open.pt2", "violated.onnx", "--fail-on", "violated"], 0),
        (&["open.pt2", "violated.onnx", "--fail-on", "unknown"], 4),
        (&["ok.pt2", "violated.onnx", "--fail-on", "unknown"], 0),
        (&["ok.pt2", "violated.onnx", "--fail-on", "undeclarable"], 1),
        (&["open.pt2", "broken.pt2", "--fail-on", "violated"], 3),
    ] {
        let ran = folder.check(arguments);
        assert_eq!(ran.status, expected, "{arguments:?}\n{}{}", ran.out, ran.err);
    }
}

#[test]
fn a_spec_stands_beside_its_program_or_in_a_folder() {
    let python =
        "from torch.export import Dim\ndynamic_shapes = {'x': [Dim('p', min=2)], 'y': [Dim('q', min=2)]}\n";
    let folder = Folder::new(
        &[("m/a.pt2", AREA), ("m/sub/b.pt2", AREA), ("m/c.pt2", AREA)],
        &[
            ("m/a.spec.json", WIDE),
            ("m/sub/b.spec.py", python),
            ("in/sub/b.json", WIDE),
            ("in/m/c.py", python),
            ("two/a.json", WIDE),
            ("two/a.py", python),
            ("bad/a.json", "{"),
        ],
    );
    for (arguments, expected) in [
        (&["m"][..], ["violated", "ok", "violated"]),
        (&["m", "--specs", "in"], ["ok", "violated", "violated"]),
        (&["m", "--specs", "in/m"], ["ok", "violated", "ok"]),
        (&["m/a.pt2", "m/c.pt2", "m/sub/b.pt2", "--specs", "in"], ["ok", "violated", "ok"]),
        (&["m", "--specs", "two"], ["invalid", "ok", "ok"]),
        (&["m", "--specs", "bad"], ["invalid", "ok", "ok"]),
    ] {
        let ran = folder.check(&[arguments, &["--format", "jsonl"]].concat());
        let verdicts: Vec<String> =
            ran.verdicts().iter().filter_map(|line| Some(line.rsplit_once(' ')?.1.to_owned())).collect();
        assert_eq!(verdicts, expected, "{arguments:?}");
    }
    has(
        &folder.check(&["m", "--specs", "two"]).out,
        &["it has two specs, two/a.json and two/a.py; keep one"],
    );
    has(&folder.check(&["m", "--specs", "bad"]).out, &["bad/a.json: "]);
    has(&folder.check(&["m"]).out, &["without a spec, so under their own contract: 1"]);
}

#[test]
fn every_format_is_one_document() {
    let folder =
        Folder::new(&examples(), &[("good/area.spec.json", WIDE), ("good/broken<&>.pt2", "nothing")]);
    let ran = |format: &str| folder.check(&["good", "--format", format]).out;
    let list: Vec<Json> = serde_json::from_str(&ran("json")).expect("a list");
    let lines: Vec<Json> =
        ran("jsonl").lines().map(|line| serde_json::from_str(line).expect("a report")).collect();
    assert!(list.len() == 9 && list == lines);

    let log: Json = serde_json::from_str(&ran("sarif")).expect("a log");
    keeps_rules(&log);
    let runs = log["runs"].as_array().expect("runs");
    assert_eq!((runs.len(), runs[0]["artifacts"].as_array().map(Vec::len)), (1, Some(9)));
    assert_eq!(runs[0]["invocations"][0]["executionSuccessful"], false);
    let of = |path: &str| {
        let log: Json = serde_json::from_str(&folder.check(&[path, "--format", "sarif"]).out).expect("a log");
        log["runs"][0]["results"].as_array().map_or(0, Vec::len)
    };
    let alone: usize =
        ["bert.pt2", "branch.pt2", "flatten.pt2", "masked.pt2", "patches.onnx", "rows.pt2", "thirds.pt2"]
            .iter()
            .map(|name| of(&format!("good/{name}")))
            .sum();
    // Those of `area` under its spec, and the file that is broken.
    assert_eq!(runs[0]["results"].as_array().map(Vec::len), Some(alone + 2 + 1));

    has(
        &ran("github"),
        &[
            "::error file=good/area.pt2,title=sizewise guard-not-implied::",
            "::error file=good/broken<&>.pt2,title=sizewise program-or-spec::not-checked: ",
        ],
    );
    let junit = ran("junit");
    has(
        &junit,
        &[
            "tests=\"9\" failures=\"2\" errors=\"1\" skipped=\"0\"",
            "name=\"good/bert.pt2\"/>",
            "name=\"good/broken&lt;&amp;&gt;.pt2\">\n      <error type=\"invalid\"",
        ],
    );
    assert_eq!((junit.matches("<testcase ").count(), junit.matches("</testcase>").count()), (9, 3));
    let page = ran("html");
    for at in 0..9 {
        has(
            &page,
            &[&format!("<script type=\"application/json\" id=\"d{at}\">"), &format!("<a href=\"#p{at}\">")],
        );
    }
    has(&page, &["9 programs: 6 ok, 2 violated, 1 not checked", "good/broken&lt;&amp;&gt;.pt2"]);
    assert!(!page.contains("{{") && !page.contains("src="));
    has(&ran("torch"), &["Constraints violated"]);
    has(&ran("text"), &["violated    good/area.pt2 (", "9 programs: ", "commonest causes:", "slowest:"]);
}

#[test]
fn unsupported_operators_are_counted() {
    let folder = Folder::new(&[("a.pt2", OPEN), ("b.pt2", OPEN)], &[]);
    has(
        &folder.check(&["a.pt2", "b.pt2"]).out,
        &["2 programs: 2 unknown", "unsupported operators:\n        2  "],
    );
}

#[test]
fn findings_are_selected_by_code() {
    let folder =
        Folder::new(&[("a.pt2", AREA), ("c.onnx", MODEL), ("o.pt2", OPEN)], &[("a.spec.json", WIDE)]);
    for (path, arguments, expected) in [
        ("a.pt2", &["--select", "guard-not-implied"][..], 1),
        ("a.pt2", &["--select", "guard-not-implied/guard"], 1),
        ("a.pt2", &["--select", "guard-not-implied/overflow,shape-mismatch"], 0),
        ("a.pt2", &["--ignore", "guard-not-implied/guard"], 0),
        ("a.pt2", &["--ignore", "guard-not-implied/precondition"], 1),
        ("a.pt2", &["--select", "guard-not-implied", "--ignore", "guard-not-implied/guard"], 0),
        ("c.onnx", &["--ignore", "guard-not-implied/guard"], 1),
        ("c.onnx", &["--ignore", "guard-not-implied/precondition"], 1),
        ("c.onnx", &["--ignore", "guard-not-implied/undeclarable"], 0),
        ("o.pt2", &["--ignore", "shape-mismatch"], 4),
        ("o.pt2", &["--ignore", "unsupported-operator"], 0),
    ] {
        let ran = folder.check(&[&[path, "--specs", "."], arguments].concat());
        assert_eq!(ran.status, expected, "{path} {arguments:?}\n{}", ran.out);
    }
}

#[test]
fn notes_are_left_out_of_a_whole_report() {
    let folder = Folder::new(&[("b.pt2", BERT)], &[]);
    let whole = folder.check(&["b.pt2"]);
    has(&whole.out, &["note[index-values]", "outputs: contiguous"]);
    let left_out = folder.check(&["b.pt2", "--ignore", "index-values"]);
    has(&left_out.out, &["outputs: contiguous"]);
    assert!(!left_out.out.contains("index-values"), "{}", left_out.out);
    assert_eq!(left_out.status, whole.status);
}

#[test]
fn a_file_of_the_project_has_options() {
    let folder = Folder::new(
        &[("m/a.pt2", AREA), ("m/c.onnx", MODEL)],
        &[("m/a.spec.json", WIDE), ("specs/a.json", "{\"x\": null, \"y\": null}")],
    );
    let run = |arguments: &[&str]| folder.check(arguments);
    for (name, text, arguments, status, says) in [
        (
            "sizewise.toml",
            "specs = 'specs'\nignore = ['guard-not-implied/undeclarable']",
            &["m"][..],
            0,
            "2 programs: 2 ok",
        ),
        (
            "sizewise.toml",
            "ignore = ['guard-not-implied']",
            &["m", "--ignore", "shape-mismatch"],
            1,
            "2 violated",
        ),
        ("sizewise.toml", "format = 'jsonl'\njobs = 2", &["m"], 1, "{\"path\":\"m/a.pt2\""),
        ("sizewise.toml", "format = 'jsonl'", &["m", "--format", "junit"], 1, "<testsuites"),
        (
            "sizewise.toml",
            "fail-on = 'violated'\nbudget = 2\nbackend = 'cpu'\nmemory = 2048",
            &["m"],
            1,
            "2 violated",
        ),
        (
            "sizewise.toml",
            "baseline = 'none.json'",
            &["m/a.pt2", "--spec", "m/a.spec.json"],
            1,
            "m/a.pt2: violated",
        ),
        ("pyproject.toml", "[tool.sizewise]\nignore = ['guard-not-implied']", &["m"], 0, "2 ok"),
        ("pyproject.toml", "[tool.other]\nignore = 1", &["m"], 1, "2 violated"),
    ] {
        folder.write(name, text.as_bytes());
        let ran = run(arguments);
        assert_eq!(ran.status, status, "{text}\n{}{}", ran.out, ran.err);
        has(&ran.out, &[says]);
        fs::remove_file(folder.path().join(name)).expect("a file");
    }
    // The file of a folder around the current one, and paths relative to it.
    folder.write("sizewise.toml", b"specs = 'specs'\nignore = ['guard-not-implied/undeclarable']");
    let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program");
    let below = command.current_dir(folder.path().join("m")).args(["check", "."]).output().expect("a run");
    assert_eq!(below.status.code(), Some(0));
    for (name, text, says) in [
        ("sizewise.toml", "igonre = []", "there is no field `igonre` here; the nearest is `ignore`"),
        ("sizewise.toml", "ignore = 'guard'", "`ignore`: expected a list of strings"),
        ("sizewise.toml", "ignore = ['guard-not-impled']", "the nearest is `guard-not-implied`"),
        ("sizewise.toml", "fail-on = 'never'", "`fail-on`: expected violated, unknown or undeclarable"),
        ("sizewise.toml", "format = 'xml'", "`format`: there is no such format"),
        ("sizewise.toml", "format = 'view'", "`format`: there is no such format"),
        ("sizewise.toml", "jobs = 0", "`jobs`: expected a number from 1 to 256"),
        ("sizewise.toml", "budget = 9999", "`budget`: expected a number from 1 to 1000"),
        ("sizewise.toml", "backend = 'tpu'", "`backend`: "),
        ("sizewise.toml", "memory = -1", "`memory`: expected a whole number that is not negative"),
        ("sizewise.toml", "jobs = '2'", "`jobs`: expected a whole number that is not negative"),
        ("sizewise.toml", "specs = 1", "`specs`: expected a string"),
        ("sizewise.toml", "jobs = 2\n = 1", "sizewise.toml: TOML parse error at line 2, column 2: "),
        ("pyproject.toml", "[tool.sizewise]\njob = 1", "there is no field `job` here; the nearest is `jobs`"),
    ] {
        let _ = fs::remove_file(folder.path().join("sizewise.toml"));
        folder.write(name, text.as_bytes());
        let ran = run(&["m"]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{text}");
        has(&ran.err, &[name, says]);
        assert!(!ran.err.contains("\\n"), "{}", ran.err);
    }
}

#[test]
fn what_means_nothing_for_several_is_refused() {
    let folder =
        Folder::new(&[("a.pt2", AREA), ("b.pt2", BERT)], &[("s.json", WIDE), ("empty/notes.txt", "")]);
    for (arguments, input, says) in [
        (
            &["a.pt2", "b.pt2", "--spec", "s.json"][..],
            "",
            "--spec is for one program; of several, specs stand beside",
        ),
        (&["a.pt2", "b.pt2", "--fix", "f.json"], "", "--fix is for one program"),
        (&["a.pt2", "b.pt2", "--trace", "t"], "", "--trace is for one program"),
        (&["a.pt2", "b.pt2", "--emit-smt2", "q"], "", "--emit-smt2 is for one program"),
        (&["a.pt2", "b.pt2", "--model", "m"], "", "--model is for one program"),
        (&["a.pt2", "--baseline", "k", "--spec", "s.json"], "", "--spec is for one program"),
        (&["a.pt2", "--baseline", "k", "--write-baseline", "k"], "", "cannot be used with"),
        (&["a.pt2", "--fail-on", "nothing"], "", "invalid value 'nothing'"),
        (&["a.pt2", "--select", "guard-not-impled"], "", "the nearest is `guard-not-implied`"),
        (&["a.pt2", "--ignore", "x"], "", "--ignore: no finding has the code `x`"),
        (&["a.pt2", "-"], "{}", "standard input: expected a list of paths"),
        (&["a.pt2", "-"], "", "standard input: expected a list of paths"),
        (&["a.spec.json", "b.spec.py"], "", "these paths stand for no program"),
        (&[], "", "<PATH>"),
    ] {
        let Ran { status, out, err } = folder.check_with(arguments, input);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?} {err}");
        has(&err, &[says]);
    }
    let deep = "d/".repeat(70);
    fs::create_dir_all(folder.path().join(&deep)).expect("a folder");
    for (path, says) in [
        ("empty", "no .pt2 and no .onnx file is in this folder"),
        ("nothing*.pt2", "no file matches this pattern"),
        ("[.pt2", "not a pattern: "),
        ("d", "this folder is too deep within others"),
        ("/dev/zero", "not a regular file"),
        ("nothing.pt2", "No such file or directory"),
    ] {
        let none = folder.check(&[path, path, "--fail-on", "violated"]);
        assert_eq!(none.status, 3, "{path}");
        has(&none.out, &[says, "1 program: 1 not checked"]);
    }
    folder.write("sizewise.toml", b"# \xff");
    has(&folder.check(&["a.pt2"]).err, &["sizewise.toml: expected text in UTF-8"]);
}

#[test]
fn the_lines_of_the_manual_run() {
    let folder =
        Folder::new(&[("exported/a.pt2", AREA), ("exported/b.pt2", AREA), ("models/a.pt2", AREA)], &[]);
    let program = assert_cmd::cargo::cargo_bin("sizewise");
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut ran = 0;
    for page in ["docs/python.md", "docs/ci.md"] {
        let text =
            fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect("a page");
        for line in text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- run: "))
            .filter(|line| line.starts_with("sizewise "))
        {
            let mut command = std::process::Command::new("sh");
            let output = command
                .current_dir(folder.path())
                .env("PATH", &path)
                .args(["-c", line])
                .output()
                .expect("a run");
            assert_eq!(output.status.code(), Some(0), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
            ran += 1;
        }
    }
    assert!(ran >= 3, "{ran}");
}
