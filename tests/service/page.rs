//! The shell of the manual's page on the service runs, and is answered.
use super::process::Process;
use std::process::Command;

/// The blocks of shell that are not marked as not run.
fn blocks(page: &str) -> Vec<String> {
    let (mut found, mut before) = (Vec::new(), "");
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == "```sh" && !before.starts_with("<!-- not run") {
            found.push(lines.by_ref().take_while(|line| *line != "```").collect::<Vec<_>>().join("\n"));
        }
        before = line;
    }
    found
}

#[test]
fn the_shell_of_the_manual_is_answered() {
    let root = env!("CARGO_MANIFEST_DIR");
    let page = std::fs::read_to_string(format!("{root}/docs/service.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(&["--listen", "127.0.0.1:0"]);
    let mut answers = String::new();
    for script in blocks(&page) {
        let script = script
            .replace("localhost:8077", process.address())
            .replace("@examples/", &format!("@{root}/examples/"))
            .replace("curl ", "curl --silent --show-error --fail ");
        let output = Command::new("sh").current_dir(folder.path()).args(["-ec", &script]).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
        answers += &String::from_utf8_lossy(&output.stdout);
    }
    for part in ["\"verdict\":\"implied\"", "p*q <= 999", ": ok, "] {
        assert!(answers.contains(part), "{part}: {answers}");
    }
    let tokens = folder.path().join("tokens.txt").display().to_string();
    Process::start(&["--listen", "127.0.0.1:0", "--tokens", &tokens]);
}
