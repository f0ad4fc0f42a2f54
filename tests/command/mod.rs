//! The program run as a command.

/// Exit status, standard output and standard error of a command with this standard input.
pub fn with_input(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program");
    let output = command.args(arguments).write_stdin(input).output().expect("a run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}
