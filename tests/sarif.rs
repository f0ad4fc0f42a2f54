//! SARIF logs keep the rules of the standard (SARIF 2.1.0, sections 3.13 to 3.49), and GitHub's annotations say the same.
use crate::command::with_input;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

#[track_caller]
fn text<'j>(object: &'j Value, key: &str) -> &'j str {
    let text = object[key].as_str().unwrap_or_else(|| panic!("`{key}` is to be a text in {object}"));
    assert!(!text.is_empty(), "`{key}` is empty in {object}");
    text
}

#[track_caller]
fn keys(object: &Value, known: &[&str]) {
    let object: &Map<String, Value> = object.as_object().expect("an object");
    let unknown = object.keys().find(|key| !known.contains(&key.as_str()));
    assert_eq!(unknown, None, "the standard has no such property here");
}

#[track_caller]
fn list<'j>(object: &'j Value, key: &str) -> &'j [Value] {
    object[key].as_array().unwrap_or_else(|| panic!("`{key}` is to be a list in {object}"))
}

/// Checks a log against what the standard requires of the objects that are written.
#[track_caller]
pub fn keeps_rules(log: &Value) {
    keys(log, &["$schema", "version", "runs"]);
    assert_eq!(log["version"], "2.1.0");
    assert!(text(log, "$schema").contains("sarif-schema-2.1.0.json"));
    for run in list(log, "runs") {
        keys(run, &["tool", "columnKind", "artifacts", "invocations", "results", "automationDetails"]);
        let driver = &run["tool"]["driver"];
        text(driver, "name");
        let ids: Vec<&str> = list(driver, "rules").iter().map(rule).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "ids of rules are unique");
        for invocation in list(run, "invocations") {
            assert!(invocation["executionSuccessful"].is_boolean(), "required of an invocation");
        }
        let mut fingerprints = HashSet::new();
        for result in list(run, "results") {
            check_result(result, &ids, list(run, "artifacts").len());
            let fingerprint = text(&result["partialFingerprints"], "sizewiseFinding/v1");
            assert!(fingerprints.insert(fingerprint), "fingerprints tell results apart");
        }
    }
}

#[track_caller]
fn rule(rule: &Value) -> &str {
    keys(rule, &["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"]);
    for message in ["shortDescription", "fullDescription", "help"] {
        text(&rule[message], "text");
    }
    assert!(["none", "note", "warning", "error"].contains(&text(&rule["defaultConfiguration"], "level")));
    text(rule, "id")
}

#[track_caller]
fn check_result(result: &Value, rules: &[&str], artifacts: usize) {
    let known =
        ["ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "partialFingerprints"];
    keys(result, &known);
    text(&result["message"], "text");
    assert!(["none", "note", "warning", "error"].contains(&text(result, "level")));
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(rules[index], text(result, "ruleId"), "index and id name one rule");
    for place in list(result, "locations") {
        location(place, artifacts);
    }
    let related = result["relatedLocations"].as_array().map_or(&[][..], Vec::as_slice);
    for (i, place) in related.iter().enumerate() {
        assert_eq!(place["id"], i, "ids tell related locations apart");
        text(&place["message"], "text");
        location(place, artifacts);
    }
}

#[track_caller]
fn location(location: &Value, artifacts: usize) {
    keys(location, &["id", "message", "physicalLocation", "logicalLocations"]);
    let physical = &location["physicalLocation"];
    keys(physical, &["artifactLocation", "region"]);
    let artifact = &physical["artifactLocation"];
    let uri = text(artifact, "uri");
    assert!(uri.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b)), "{uri}");
    if let Some(index) = artifact.get("index") {
        assert!((index.as_u64().expect("an index") as usize) < artifacts);
    }
    if let Some(region) = physical.get("region") {
        keys(region, &["startLine", "snippet"]);
        assert!(region["startLine"].as_u64().expect("a line") >= 1, "lines count from 1");
        if region.get("snippet").is_some() {
            text(&region["snippet"], "text");
        }
    }
    for logical in location.get("logicalLocations").and_then(Value::as_array).into_iter().flatten() {
        text(logical, "name");
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The report of a program of `tests/data/reports` under a spec.
fn report(program: &str, spec: &str, format: &str) -> String {
    let path = root().join("tests/data/reports").join(program);
    let arguments = [
        "check",
        path.to_str().expect("a path"),
        "--spec",
        "-",
        "--format",
        format,
        "--source-root",
        "/nowhere",
    ];
    with_input(&arguments, spec).1
}

fn log(program: &str, spec: &str) -> Value {
    let log = serde_json::from_str(&report(program, spec, "sarif")).expect("JSON");
    keeps_rules(&log);
    log
}

const SWIN: &str = r#"{"pixel_values": [{"dim": "b"}, null, {"dim": "h"}, {"dim": "w"}]}"#;
/// The log of the program with most errors, which takes a while.
static SWIN_LOG: LazyLock<Value> = LazyLock::new(|| log("swin.pt2", SWIN));
const DERIVED: &str = r#"{"frames": [{"dim": "frames", "min": 2, "max": 100}, null],
    "labels": [{"dim": "pairs", "min": 1, "max": 50}, null]}"#;
const UNBACKED: &str = r#"{"tokens": [{"dim": "tokens", "min": 2}], "position": []}"#;

#[test]
fn a_result_has_its_line_with_its_text() {
    for (program, spec, rule, file, line, snippet) in [
        (
            "derived.pt2",
            DERIVED,
            "guard-not-implied/guard",
            "model.py",
            73,
            "pairs = frames.view(-1, 2, 3).mean(1)",
        ),
        ("unbacked.pt2", UNBACKED, "guard-not-implied/contract", "model.py", 63, "n = position.item()"),
    ] {
        let log = log(program, spec);
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["ruleId"], rule, "{program}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], file, "{program}");
        assert_eq!(place["region"]["startLine"], line, "{program}");
        assert_eq!(place["region"]["snippet"]["text"], snippet, "{program}");
    }
}

/// The innermost line of the user's own code is the place; what it calls in a library stands beside it.
#[test]
fn the_calls_on_the_way_are_related_locations() {
    let result = &SWIN_LOG["runs"][0]["results"][0];
    let own = text(&result["locations"][0]["physicalLocation"]["artifactLocation"], "uri");
    assert_eq!(own, "programs_make/cases_models.py");
    let related = list(result, "relatedLocations");
    let inner = text(&related[0]["physicalLocation"]["artifactLocation"], "uri");
    assert!(inner.ends_with("transformers/models/swin/modeling_swin.py"), "{inner}");
    assert_eq!(related[0]["message"]["text"], "through this line, in forward");
}

#[test]
fn fingerprints_do_not_depend_on_the_run() {
    let prints = |log: &Value| -> Vec<String> {
        let results = list(&log["runs"][0], "results");
        results.iter().map(|r| text(&r["partialFingerprints"], "sizewiseFinding/v1").to_string()).collect()
    };
    assert_eq!(prints(&SWIN_LOG), prints(&log("swin.pt2", SWIN)));
}

/// What follows from other errors, and what a fix settles, is a remark each.
#[test]
fn a_hundred_broken_conditions_are_no_wall_of_annotations() {
    let of =
        |level: &str| list(&SWIN_LOG["runs"][0], "results").iter().filter(|r| r["level"] == level).count();
    assert_eq!((of("error"), of("warning")), (5, 0));
    let text = report("swin.pt2", SWIN, "github");
    let count = |command: &str| text.lines().filter(|line| line.starts_with(command)).count();
    assert_eq!((count("::error "), count("::warning ")), (5, 0), "{text}");
}

#[test]
fn annotations_of_github_say_the_same() {
    let text = report("derived.pt2", DERIVED, "github");
    let first = text.lines().next().expect("an annotation");
    for part in [
        "::error file=model.py,line=73,endLine=73,title=sizewise guard-not-implied::Your spec allows shapes",
        "%0A    pairs = frames.view(-1, 2, 3).mean(1)%0A",
        "%0AThen view fails: shape [-1, 2, 3] is invalid for input of size 27 (the exported module refuses it before).",
        "%0AShapes nearby that work: frames: f32[8, 3], labels: f32[4, 3].",
        "%0AFix, proved: _frames = Dim('_frames', min=2, max=50); frames = 2*_frames; pairs = _frames",
    ] {
        assert!(first.contains(part), "{part} in {first}");
    }
}

/// A program whose source is recorded at this path.
fn program_from(recorded: &str) -> Vec<u8> {
    let archive = std::fs::File::open(root().join("tests/data/reports/derived.pt2")).expect("a file");
    let mut archive = zip::ZipArchive::new(archive).expect("an archive");
    let mut json = String::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("an entry");
        if entry.name().is_ok_and(|name| name.ends_with("models/model.json")) {
            entry.read_to_string(&mut json).expect("text");
        }
    }
    let (old, new) = (r#"File \"model.py\""#, format!(r#"File \"{recorded}\""#));
    assert!(json.contains(old));
    json.replace(old, &new).into_bytes()
}

/// The file of the first annotation of a program, from a folder, and the path of the program in it.
fn annotated(folder: &Path, recorded: &str, format: &str, root: Option<&str>) -> (String, String) {
    std::fs::write(folder.join("program.json"), program_from(recorded)).expect("a file");
    let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program");
    command.current_dir(folder);
    command.args(["check", "program.json", "--spec", "-", "--format", format]).write_stdin(DERIVED);
    let output = command.args(root.map(|root| format!("--source-root={root}"))).output().expect("a run");
    let text = String::from_utf8(output.stdout).expect("text");
    if format == "github" {
        let file = |line: &str| line.split(['=', ',']).nth(1).unwrap_or_default().to_string();
        return (text.lines().next().map(file).unwrap_or_default(), String::new());
    }
    let log: Value = serde_json::from_str(&text).expect("JSON");
    keeps_rules(&log);
    let run = &log["runs"][0];
    let place = &run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    (self::text(place, "uri").to_string(), self::text(&run["artifacts"][0]["location"], "uri").to_string())
}

#[test]
fn paths_are_relative_to_the_checkout_or_to_the_root_that_is_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let checkout = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.join(".git")).expect("a folder");
        std::fs::create_dir_all(path.join("src")).expect("a folder");
        std::fs::create_dir_all(path.join("exports")).expect("a folder");
        std::fs::write(path.join("src/model.py"), "").expect("a file");
        path
    };
    let (here, other) = (checkout("here"), checkout("other"));
    let (exports, src) = (here.join("exports"), here.join("src"));
    let absolute = other.join("src/model.py").to_str().expect("a path").to_string();
    for (from, recorded, given, file, program) in [
        (&here, "/elsewhere/repo/src/model.py", None, "src/model.py", "program.json"),
        (&exports, "/elsewhere/repo/src/model.py", None, "src/model.py", "exports/program.json"),
        (&exports, absolute.as_str(), None, "src/model.py", "exports/program.json"),
        (&exports, "/elsewhere/repo/gone.py", None, "/elsewhere/repo/gone.py", "exports/program.json"),
        (&exports, "/elsewhere/repo/src/model.py", Some("../src"), "model.py", "program.json"),
        (&src, "/elsewhere/repo/src/model.py", Some("."), "model.py", "program.json"),
    ] {
        for format in ["sarif", "github"] {
            let (found, artifact) = annotated(from, recorded, format, given);
            assert_eq!(found, file, "{recorded} from {}", from.display());
            if format == "sarif" {
                assert_eq!(artifact, program, "{recorded} from {}", from.display());
            }
        }
    }
}
