//! Files of known findings.
use super::folder::Folder;
use super::{AREA, MODEL, WIDE, has};
use std::fs;

#[test]
fn known_findings_do_not_count() {
    let folder = Folder::new(
        &[("m/a.pt2", AREA), ("m/c.onnx", MODEL)],
        &[("m/a.spec.json", WIDE), ("m/b.pt2", "nothing")],
    );
    let good = ["m/a.pt2", "m/c.onnx"];
    let ran = |arguments: &[&str]| folder.check(&[&good[..], arguments].concat());
    assert_eq!(ran(&["--write-baseline", "known/b.json"]).status, 2, "the folder is missing");
    assert_eq!(ran(&["--write-baseline", "known.json"]).status, 0);
    let text = folder.read("known.json");
    has(
        &text,
        &["\"version\": 1", "\"m/a.pt2\"", "\"code\": \"guard-not-implied/guard\"", "\"about\": \"p <= q\""],
    );
    let again = ran(&["--baseline", "known.json"]);
    assert_eq!(again.status, 0, "{}", again.out);
    has(&again.out, &["ok          m/a.pt2 (", "2 known findings", "2 programs: 2 ok"]);
    let silent = ran(&["--baseline", "known.json", "--format", "github"]);
    assert!(!silent.out.contains("::error"), "{}", silent.out);
    // A finding that the file does not have counts; so does what could not be checked.
    folder.write("fewer.json", text.replace("p <= q", "p <= r").as_bytes());
    let fewer = ran(&["--baseline", "fewer.json", "--format", "github"]);
    assert_eq!((fewer.status, fewer.out.matches("::error").count()), (1, 1), "{}", fewer.out);
    assert_eq!(folder.check(&["m", "--write-baseline", "all.json"]).status, 3);
    assert_eq!(folder.check(&["m", "--baseline", "all.json"]).status, 3);
    for (bad, says) in [
        ("{", "not a sizewise baseline"),
        ("{\"version\": 2, \"findings\": {}}", "a baseline of version 2, not 1"),
        ("{\"version\": 1, \"findings\": {}, \"more\": 1}", "unknown field `more`"),
        ("{\"version\": 1, \"findings\": {\"m/a.pt2\": [{\"code\": \"x\"}]}}", "missing field `about`"),
    ] {
        folder.write("bad.json", bad.as_bytes());
        let ran = ran(&["--baseline", "bad.json"]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{bad}");
        has(&ran.err, &["bad.json: ", says]);
    }
    let missing = ["--baseline: none.json: No such file", "; --write-baseline none.json writes it"];
    has(&ran(&["--baseline", "none.json"]).err, &missing);
    folder.write("sizewise.toml", b"baseline = 'none.json'");
    has(&ran(&[]).err, &["sizewise.toml: `baseline`: ", "none.json: No such file", "--write-baseline "]);
}

#[test]
fn a_baseline_may_stand_beside_the_folder_of_programs() {
    let folder = Folder::new(&[("p/m/a.pt2", AREA)], &[("p/m/a.spec.json", WIDE), ("p/ci/none", "")]);
    let write = ["p/m/a.pt2", "--write-baseline", "p/ci/known.json"];
    assert_eq!(folder.check(&write).status, 0);
    has(&folder.read("p/ci/known.json"), &["\"../m/a.pt2\""]);
    // Named by another way, from a project's file, and after the whole folder has moved.
    folder.write("p/ci/sizewise.toml", b"baseline = '../ci/./known.json'");
    fs::rename(folder.path().join("p"), folder.path().join("q")).expect("a folder");
    let below = |folder_of: &str, path: &str| {
        let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program");
        command.current_dir(folder.path().join(folder_of)).args(["check", path]);
        command.output().expect("a run").status.code()
    };
    assert_eq!(below("q/ci", "../m"), Some(0));
    assert_eq!(below("q/ci", "../../q/m/a.pt2"), Some(0));
    assert_eq!(below("q", "m/a.pt2"), Some(1), "there is no baseline here");
}

#[test]
fn findings_that_are_gone_are_counted() {
    let folder = Folder::new(&[("a.pt2", AREA), ("c.onnx", MODEL)], &[("a.spec.json", WIDE)]);
    assert_eq!(folder.check(&[".", "--write-baseline", "known.json"]).status, 0);
    let ran = |arguments: &[&str]| folder.check(&[&[".", "--baseline", "known.json"], arguments].concat());
    let known = ran(&[]);
    assert!(!known.out.contains("gone") && !known.out.contains("commonest causes"), "{}", known.out);
    fs::remove_file(folder.path().join("a.spec.json")).expect("a file");
    let gone = "2 findings of the baseline are gone: write it anew with --write-baseline";
    has(&ran(&[]).out, &[gone]);
    has(&ran(&["--format", "jsonl"]).err, &[gone]);
    // What is not asked for is not missed.
    let other = ran(&["--select", "shape-mismatch"]);
    assert!(!other.out.contains("gone"), "{}", other.out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_baseline_that_cannot_be_written_stays_as_it_was() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[("a.spec.json", WIDE), ("known.json", "as it was")]);
    // No file of this process may be longer.
    let mut command = std::process::Command::new("sh");
    let limited = "ulimit -f 0; trap '' XFSZ; exec \"$0\" check . --write-baseline known.json";
    command.current_dir(folder.path()).args(["-c", limited]).arg(assert_cmd::cargo::cargo_bin("sizewise"));
    let output = command.output().expect("a run");
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(folder.read("known.json"), "as it was");
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 3, "nothing else is left");
}
