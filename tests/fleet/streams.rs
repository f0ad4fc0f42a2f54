//! What is read from standard input, and whoever stops reading standard output.
use super::folder::Folder;
use super::{BERT, has};
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
