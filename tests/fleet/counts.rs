//! What is said of programs by what counts: little, as tests, in torch's words.
use super::folder::Folder;
use super::{AREA, MODEL, OPEN, WIDE, has};

#[test]
fn quiet_is_a_line_for_each_program_that_is_not_ok_and_the_totals() {
    let folder = Folder::new(
        &[("a.pt2", AREA), ("b.pt2", AREA), ("c.onnx", MODEL)],
        &[("a.spec.json", WIDE), ("d.pt2", "x")],
    );
    let ran = folder.check(&[".", "--quiet"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    let starts = [
        "violated    ./a.pt2: ",
        "violated    ./c.onnx: ",
        "not checked ./d.pt2: ",
        "4 programs: 1 ok, 2 violated, 1 not checked",
    ];
    assert_eq!(lines.len(), starts.len(), "{}", ran.out);
    assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{}", ran.out);
    assert_eq!(folder.check(&["b.pt2", "b*", "-q"]).out, "1 program: 1 ok\n");
}

#[test]
fn test_cases_fail_where_the_exit_status_does() {
    let folder =
        Folder::new(&[("a.pt2", AREA), ("c.onnx", MODEL), ("o.pt2", OPEN)], &[("a.spec.json", WIDE)]);
    for (path, arguments, status) in [
        ("a.pt2", &["--select", "guard-not-implied"][..], 1),
        ("a.pt2", &["--select", "shape-mismatch"], 0),
        ("c.onnx", &["--fail-on", "violated"], 0),
        ("c.onnx", &["--fail-on", "undeclarable"], 1),
        ("o.pt2", &["--fail-on", "violated"], 0),
        ("o.pt2", &["--fail-on", "unknown"], 4),
    ] {
        let ran = folder.check(&[&[path, "--format", "junit"], arguments].concat());
        assert_eq!(ran.status, status, "{path} {arguments:?}");
        has(&ran.out, &[if status == 0 { "failures=\"0\"" } else { "failures=\"1\"" }]);
    }
    has(&folder.check(&["o.pt2", "--fail-on", "violated", "--format", "junit"]).out, &["<system-out>"]);
}

#[test]
fn causes_are_those_of_findings_that_count() {
    let folder = Folder::new(&[("a.pt2", AREA), ("c.onnx", MODEL)], &[("a.spec.json", WIDE)]);
    let all = folder.check(&["."]).out;
    let count = |text: &str| {
        text.split("commonest causes:\n")
            .nth(1)
            .map_or(0, |rest| rest.lines().take_while(|line| line.starts_with("    ")).count())
    };
    assert!(count(&all) > 0, "{all}");
    let none = folder.check(&[".", "--select", "shape-mismatch"]).out;
    assert_eq!(count(&none), 0, "{none}");
}

#[test]
fn a_model_in_torchs_words_is_said_to_have_none() {
    let folder = Folder::new(&[("a.pt2", AREA), ("c.onnx", MODEL)], &[("a.spec.json", WIDE)]);
    let ran = folder.check(&[".", "--format", "torch"]);
    assert_ne!(ran.status, 0);
    has(&ran.out, &["Constraints violated", "./c.onnx: not checked: ", "`torch`"]);
}
