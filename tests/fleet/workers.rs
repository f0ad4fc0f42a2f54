//! The processes that check programs.
use super::folder::Folder;
use super::{AREA, WIDE, has};
use serde_json::Value as Json;
use std::fs;

/// The processes that a process started.
fn children(id: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn a_worker_that_is_killed_ends_the_line_of_one_program() {
    let names: Vec<String> = (0..60).map(|at| format!("m/{at:02}.pt2")).collect();
    let programs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), AREA)).collect();
    let specs: Vec<String> = (0..60).map(|at| format!("m/{at:02}.spec.json")).collect();
    let specs: Vec<(&str, &str)> = specs.iter().map(|name| (name.as_str(), WIDE)).collect();
    let folder = Folder::new(&programs, &specs);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("sizewise"));
    command.current_dir(folder.path()).args(["check", "m", "--format", "jsonl"]);
    let running = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a run");
    let worker = loop {
        if let Some(worker) = children(running.id()).pop() {
            break worker;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    let killed = std::process::Command::new("kill").args(["-9", &worker]).status().expect("kill");
    assert!(killed.success());
    let output = running.wait_with_output().expect("an end");
    let lines: Vec<Json> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a report"))
        .collect();
    assert_eq!((lines.len(), output.status.code()), (60, Some(3)));
    let (ended, checked): (Vec<&Json>, Vec<&Json>) =
        lines.iter().partition(|line| line["verdict"] == "invalid");
    assert!(checked.iter().all(|line| line["verdict"] == "violated"));
    assert_eq!(ended.len(), 1);
    has(&ended[0]["diagnostics"].to_string(), &["not-checked", "signal: 9"]);
}

#[test]
fn a_program_that_needs_more_memory_than_is_allowed_ends_its_own_line() {
    let folder = Folder::new(&[("m/a.pt2", AREA), ("m/z.pt2", AREA)], &[("m/huge.pt2", "{")]);
    let huge = fs::File::options().write(true).open(folder.path().join("m/huge.pt2")).expect("a file");
    huge.set_len(3 << 30).expect("a file with holes");
    let ran = folder.check(&["m", "--memory", "256", "--format", "jsonl"]);
    assert_eq!(ran.verdicts(), ["m/a.pt2 ok", "m/huge.pt2 invalid", "m/z.pt2 ok"], "{}", ran.err);
    has(&ran.lines()[1]["diagnostics"].to_string(), &["not-checked"]);
    for (limit, says) in [("-1", "unexpected argument '-1'"), ("much", "invalid value 'much'")] {
        let ran = folder.check(&["m", "--memory", limit]);
        assert_eq!(ran.status, 2);
        has(&ran.err, &[says]);
    }
}
