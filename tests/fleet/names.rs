//! Names of files: of specs that do not fit or are not there, of programs in any encoding, of fixes.
use super::folder::Folder;
#[cfg(unix)]
use super::folder::path_of;
use super::{AREA, WIDE, has};
#[cfg(unix)]
use serde_json::Value as Json;
use std::fs;

#[test]
fn a_folder_of_specs_has_to_be_there() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[]);
    let ran = folder.check(&[".", "--specs", "spcs"]);
    assert_eq!(ran.status, 2, "{}", ran.out);
    has(&ran.err, &["--specs: spcs is no folder"]);
}

#[test]
fn a_baseline_knows_no_specs_that_do_not_fit() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[("a.spec.json", "{\"z\": null}")]);
    assert_eq!(folder.check(&[".", "--write-baseline", "known.json"]).status, 2);
    assert_eq!(folder.check(&[".", "--baseline", "known.json"]).status, 2);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_unicode_are_names_that_differ() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[("a.spec.json", WIDE)]);
    // The last is a name of letters and a backslash.
    for name in [&b"m\xff"[..], b"m\xfe", b"m\\xff"] {
        for (from, ending) in [("a.pt2", &b".pt2"[..]), ("a.spec.json", b".spec.json")] {
            let to = folder.path().join(path_of(&[name, ending].concat()));
            fs::copy(folder.path().join(from), to).expect("a copy");
        }
    }
    let names = ["m\\x5cxff.pt2", "m\\xfe.pt2", "m\\xff.pt2"];
    for paths in [&["."][..], &["m*.pt2"], &["**/m*"]] {
        let lines = folder.check(&[paths, &["--format", "jsonl"]].concat()).verdicts();
        let lines =
            lines.iter().map(|line| line.trim_start_matches("./")).filter(|line| !line.starts_with('a'));
        let expected: Vec<String> = names.iter().map(|name| format!("{name} violated")).collect();
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{paths:?}");
    }
    assert_eq!(folder.check(&["m*", "--write-baseline", "known.json"]).status, 0);
    let known: Json = serde_json::from_str(&folder.read("known.json")).expect("a baseline");
    let known: Vec<&String> = known["findings"].as_object().expect("programs").keys().collect();
    assert_eq!(known, names);
    assert_eq!(folder.check(&["m*", "--baseline", "known.json"]).status, 0);
    let log: Json = serde_json::from_str(&folder.check(&["m*", "--format", "sarif"]).out).expect("a log");
    let artifacts = log["runs"][0]["artifacts"].as_array().expect("artifacts").iter();
    let uris: Vec<&str> = artifacts.filter_map(|artifact| artifact["location"]["uri"].as_str()).collect();
    assert_eq!(uris, ["m%5Cxff.pt2", "m%FE.pt2", "m%FF.pt2"]);
}

#[cfg(unix)]
#[test]
fn patterns_pass_by_names_that_are_no_unicode() {
    let folder = Folder::new(&[("a.pt2", AREA), ("d/a.pt2", AREA)], &[]);
    fs::create_dir(folder.path().join(path_of(b"d/\xff"))).expect("a folder");
    fs::write(folder.path().join(path_of(b"\xfe.txt")), "").expect("a file");
    for (pattern, count) in
        [("*.pt2", 1), ("**/*.pt2", 2), ("d/**", 1), ("*/*.pt2", 1), ("./*.pt2", 1), ("d/../a*", 1)]
    {
        let ran = folder.check(&[pattern, "--format", "jsonl"]);
        assert_eq!((ran.status, ran.lines().len()), (0, count), "{pattern} {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_name_of_no_characters_is_escaped_in_xml() {
    let folder = Folder::new(&[("\u{fffe}\u{ffff}.pt2", AREA)], &[]);
    has(&folder.check(&[".", "--format", "junit"]).out, &["name=\"./\\ufffe\\uffff.pt2\""]);
}

#[cfg(unix)]
#[test]
fn a_spec_that_cannot_be_read_is_not_passed_over() {
    let folder = Folder::new(&[("m/a.pt2", AREA)], &[]);
    let spec = folder.path().join("m/a.spec.json");
    let fifo = |path: &std::path::Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
    };
    let link = |to: &'static str| {
        move |path: &std::path::Path| std::os::unix::fs::symlink(to, path).expect("a link")
    };
    type Make<'m> = &'m dyn Fn(&std::path::Path);
    let kinds: [(Make<'_>, &str); 5] = [
        (&link("nothing.json"), "a link that cannot be followed"),
        (&link("a.spec.json"), "a link that cannot be followed"),
        (&link("/dev/null"), "not a regular file"),
        (&|path| fs::create_dir(path).expect("a folder"), "a folder; expected a file"),
        (&fifo, "not a regular file"),
    ];
    for (make, says) in kinds {
        make(&spec);
        let ran = folder.check(&["m"]);
        assert_ne!(ran.status, 0, "{}", ran.out);
        has(&ran.out, &["not checked m/a.pt2", "its spec m/a.spec.json: ", says]);
        let alone = folder.check(&["m/a.pt2"]);
        assert_eq!((alone.status, alone.out.as_str()), (2, ""), "{says}");
        has(&alone.err, &[says]);
        fs::remove_file(&spec).or_else(|_| fs::remove_dir(&spec)).expect("none");
    }
}

#[test]
fn a_fix_does_not_replace_the_program() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[("b.json", WIDE)]);
    let before = fs::read(folder.path().join("a.pt2")).expect("a file");
    let ran = folder.check(&["a.pt2", "--spec", "b.json", "--fix", "a.pt2"]);
    assert_eq!(ran.status, 2, "{}", ran.out);
    has(&ran.err, &["--fix would replace the program itself"]);
    assert_eq!(fs::read(folder.path().join("a.pt2")).expect("a file"), before);
}
