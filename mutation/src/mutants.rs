//! The mutants: those that cargo-mutants lists, with its spans and replacements.
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// What is mutated, and what is not: the tests inside the source tree.
const EXAMINED: [&str; 2] = ["crates/expr/src/**", "crates/solve/src/**"];
const TESTS: &str = "**/*tests.rs";

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Span {
    pub start: Position,
    pub end: Position,
}

#[derive(Clone, Debug, Deserialize)]
struct Function {
    span: Span,
}

#[derive(Clone, Debug, Deserialize)]
struct Listed {
    file: String,
    genre: String,
    name: String,
    replacement: String,
    span: Span,
    function: Option<Function>,
}

/// One mutant, as byte ranges of its file.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub file: String,
    pub genre: String,
    /// As cargo-mutants prints it.
    pub name: String,
    /// The same as long as neither the function nor the replacement changes, wherever in the file the function is.
    pub key: String,
    pub replacement: String,
    pub start: usize,
    pub end: usize,
}

/// Byte offsets of lines, for positions that count characters.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a str) -> Lines<'a> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { text, starts }
    }

    /// The byte offset of a line counted from 1 and a column counted from 0.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let start = self.starts[line - 1];
        self.text[start..].char_indices().nth(column).map_or(self.text.len(), |(at, _)| start + at)
    }
}

/// FNV-1a.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The mutants of the tree at `root`, in the order of the list.
pub fn list(root: &Path) -> Result<Vec<Mutant>, String> {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--no-config", "--workspace", "--list", "--json", "-e", TESTS]).current_dir(root);
    for pattern in EXAMINED {
        command.args(["-f", pattern]);
    }
    let output = command.output().map_err(|e| format!("cargo mutants: {e}"))?;
    let listed: Vec<Listed> = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("cargo mutants --list: {e}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut mutants = Vec::new();
    for m in listed {
        if !texts.contains_key(&m.file) {
            let text = std::fs::read_to_string(root.join(&m.file)).map_err(|e| format!("{}: {e}", m.file))?;
            texts.insert(m.file.clone(), text);
        }
        let text = &texts[&m.file];
        let lines = Lines::of(text);
        let at = |p: &Position| lines.offset(p.line, p.column - 1);
        let body = m.function.as_ref().map_or("", |f| &text[at(&f.span.start)..at(&f.span.end)]);
        let what = m.name.splitn(4, ':').nth(3).unwrap_or(&m.name).trim();
        let key = format!("{}: {what} [{:08x}]", m.file, hash(body) as u32);
        let count = seen.entry(key.clone()).or_insert(0);
        *count += 1;
        mutants.push(Mutant {
            key: format!("{key}#{count}"),
            start: at(&m.span.start),
            end: at(&m.span.end),
            file: m.file,
            genre: m.genre,
            name: m.name,
            replacement: m.replacement,
        });
    }
    Ok(mutants)
}
