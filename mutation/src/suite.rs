//! The tests, what each costs and which mutants it reaches.
use crate::child::{self, End};
use crate::instrument::Number;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a test may cost, in seconds of the processor; a dearer one is left out.
const DEAREST: u64 = 30;

/// Tests of the source tree itself, which the copy does not keep, and of what the mutants are no part of.
const LEFT_OUT: [&str; 2] = ["tidy", "service"];

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Test {
    pub target: String,
    pub program: PathBuf,
    pub name: String,
    pub seconds: f64,
    pub reached: Vec<Number>,
}

impl Test {
    pub fn title(&self) -> String {
        format!("{}::{}", self.target, self.name)
    }
}

/// A command that runs tests of one program, one after the other.
pub fn command(root: &Path, program: &Path, names: &[&str], mutant: &str) -> Command {
    let mut command = Command::new(program);
    command.args(names).args(["--exact", "--test-threads=1"]).current_dir(root);
    command.env("SIZEWISE_MUTANT", mutant).env("CARGO_MANIFEST_DIR", root).env("RUST_BACKTRACE", "0");
    command
}

/// Runs each test of a program alone and records what it reaches. Tests that fail without a mutant or cost too much
/// are left out, and said.
pub fn record(root: &Path, work: &Path, target: &str, program: &Path) -> Result<Vec<Test>, String> {
    let (record, output) = (work.join("reached"), work.join("output"));
    let mut tests = Vec::new();
    if LEFT_OUT.contains(&target) {
        return Ok(tests);
    }
    let listing = Command::new(program).args(["--list", "--format", "terse"]).current_dir(root).output();
    let listing = String::from_utf8_lossy(&listing.map_err(|e| e.to_string())?.stdout).into_owned();
    for name in listing.lines().filter_map(|line| line.strip_suffix(": test")) {
        let _ = std::fs::remove_file(&record);
        let mut command = command(root, program, &[name], &record.display().to_string());
        let ran = child::run(&mut command, &output, DEAREST)?;
        if ran.end != End::Passed {
            eprintln!("left out: {target}::{name} ({:?} without a mutant)", ran.end);
            continue;
        }
        let bytes = std::fs::read(&record).unwrap_or_default();
        let reached: BTreeSet<Number> =
            bytes.chunks_exact(4).map(|b| Number::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        tests.push(Test {
            target: target.to_string(),
            program: program.to_path_buf(),
            name: name.to_string(),
            seconds: ran.seconds,
            reached: reached.into_iter().collect(),
        });
    }
    Ok(tests)
}
