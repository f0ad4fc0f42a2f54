//! What is read from standard input, and whoever stops reading standard output.
use super::folder::Folder;
#[cfg(unix)]
use super::folder::path_of;
use super::{AREA, BERT, MODEL, has};
use assert_cmd::cargo::cargo_bin;
use std::process::{Command, Stdio};

#[test]
fn a_check_that_nobody_reads_is_no_success() {
    let folder = Folder::new(&[("m/a.pt2", BERT), ("m/b.pt2", BERT)], &[]);
    assert_eq!(folder.check(&["m"]).status, 0);
    let mut command = Command::new(cargo_bin("sizewise"));
    command.args(["check", "m"]).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("a process");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("an end").code(), Some(141));
}

#[test]
fn an_empty_standard_input_is_called_so() {
    let folder = Folder::new(&[], &[]);
    for input in ["", "\n\n"] {
        let ran = folder.check_with(&["-"], input);
        has(&ran.err, &["standard input is empty: expected a program, or a list of paths, one a line"]);
        assert_eq!(ran.status, 3);
    }
}

#[cfg(unix)]
#[test]
fn a_list_is_told_from_a_program_by_the_files_that_it_names() {
    let folder = Folder::new(&[("PKG/a.pt2", AREA), ("{b}/a.pt2", AREA), ("c\nd.pt2", AREA)], &[]);
    let odd = folder.path().join(path_of(b"\xff.pt2"));
    std::fs::copy(folder.path().join("PKG/a.pt2"), odd).expect("a copy");
    for (list, count) in [
        (&b"PKG/a.pt2\n{b}/a.pt2\n"[..], 2),
        (b"{b}/a.pt2\r\nPKG/a.pt2\r\n", 2),
        (b"PKG/a.pt2\n\xff.pt2\n", 2),
        (b"PKG/a.pt2\0c\nd.pt2\0\xff.pt2\0", 3),
        (b"{b}\0", 1),
    ] {
        let ran = folder.check_with(&["-", "--format", "jsonl"], list);
        let verdicts = ran.verdicts();
        assert_eq!((ran.status, verdicts.len()), (0, count), "{list:?} {verdicts:?} {}", ran.err);
    }
    for path in [AREA, MODEL] {
        let bytes =
            std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file");
        has(&folder.check_with(&["-"], bytes).out, &["standard input: "]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_message_that_cannot_be_written_is_no_panic() {
    let folder = Folder::new(&[("a.pt2", AREA), ("b.pt2", AREA)], &[]);
    for arguments in
        [&["check", "none.pt2"][..], &["check", ".", "--format", "jsonl"], &["check", "--nothing"]]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
        let mut command = Command::new(cargo_bin("sizewise"));
        command.args(arguments).current_dir(folder.path()).stdout(Stdio::null()).stderr(full);
        let status = command.status().expect("a run").code();
        assert!(matches!(status, Some(0 | 2 | 3)), "{arguments:?} {status:?}");
    }
}

#[test]
fn a_violation_that_was_read_is_not_all() {
    let folder = Folder::new(&[("m/a.onnx", MODEL), ("m/b.pt2", BERT), ("m/c.pt2", BERT)], &[]);
    let mut command = Command::new(cargo_bin("sizewise"));
    command.args(["check", "m", "--format", "jsonl"]).current_dir(folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a process");
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut out, &mut line).expect("a line");
    assert!(line.contains("violated"), "{line}");
    drop(out);
    assert_eq!(child.wait().expect("an end").code(), Some(141));
}
