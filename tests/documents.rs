//! The commands of the README and of the manual run, and print what is shown below them. `SIZEWISE_WRITE_DOCS=1` writes what
//! they print anew; `...` stands for lines that are left out.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a file of a page comes from.
enum From {
    /// A file or a folder of the repository.
    Repository(&'static str),
    /// This text.
    Text(&'static str),
}
use From::{Repository, Text};

/// A small model that takes `ids` and `steps`.
const GENERATE: &str = "<ir_version: 8, opset_import: [\"\" : 17]>
g (int64[batch, seq] ids, int64 steps) => (int64[batch, seq] out) { out = Add(ids, steps) }";
const SHRINK: &str = "<ir_version: 8, opset_import: [\"\" : 17]>
g (float[batch, 3, height, 8] x) => (y) { y = MaxPool<kernel_shape = [6, 3]>(x) }";

/// The files that the commands of a page name, beside those that it shows itself.
const FILES: &[(&str, &[(&str, From)])] = &[
    ("README.md", &[("examples", Repository("examples"))]),
    (
        "docs/ci.md",
        &[
            ("models/area.pt2", Repository("examples/area.pt2")),
            ("models/rows.pt2", Repository("examples/rows.pt2")),
        ],
    ),
    ("docs/annotate.md", &[("examples", Repository("examples"))]),
    (
        "docs/costs.md",
        &[
            ("model.pt2", Repository("tests/data/costs/hf_fnet.pt2")),
            ("model.onnx", Repository("examples/patches.onnx")),
        ],
    ),
    (
        "docs/diff.md",
        &[("old.pt2", Repository("examples/area.pt2")), ("new.pt2", Repository("examples/area.pt2"))],
    ),
    ("docs/onnx.md", &[("model.onnx", Text(GENERATE)), ("images.onnx", Text(SHRINK))]),
    ("docs/reports.md", &[("examples", Repository("examples"))]),
    ("docs/first_check.md", &[("examples", Repository("examples"))]),
    ("docs/contract.md", &[("examples", Repository("examples"))]),
    (
        "docs/operators.md",
        &[
            ("model.pt2", Repository("examples/area.pt2")),
            ("my_ops.toml", Repository("operators/torchvision.toml")),
            ("shapes.jsonl", Text("{\"id\": 1, \"shapes\": {\"x\": [8], \"y\": [8]}}\n")),
            (
                "calls.jsonl",
                Text(
                    "{\"id\": 1, \"op\": \"aten.relu.default\", \"args\": [{\"tensor\": {\"shape\": [3], \"dtype\": \"float32\"}}]}\n",
                ),
            ),
        ],
    ),
    ("docs/replay.md", &[("trace.jsonl.gz", Repository("tests/data/traces/add_same.defer.jsonl.gz"))]),
    (
        "docs/sizes.md",
        &[("model.pt2", Repository("examples/bert.pt2")), ("spec.json", Repository("examples/bert.json"))],
    ),
    ("docs/store.md", &[("beam_flatten.pt2", Repository("tests/data/programs/beam_flatten.pt2"))]),
];

/// Commands that build, install, listen or measure are run elsewhere, or not at all.
const NOT_RUN: &[&str] = &["sizewise serve"];

/// A command of a page: the indentation, the command and the lines shown below it.
struct Shown<'p> {
    indent: &'static str,
    command: &'p str,
    /// The lines of the page that show what it prints; empty if none do.
    printed: std::ops::Range<usize>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The commands of a page, in order.
fn commands<'p>(lines: &[&'p str]) -> Vec<Shown<'p>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language) };
        }
        let indent = if fence == Some("console") { "" } else { "    " };
        let text = if fence.is_some() && fence != Some("console") { None } else { line.strip_prefix(indent) };
        at += 1;
        let Some(text) = text else { continue };
        if text.starts_with("sizewise ") && fence.is_none() {
            found.push(Shown { indent, command: text, printed: at..at });
        }
        let Some(command) = text.strip_prefix("$ ") else { continue };
        let is_over = |line: &str| match fence {
            Some(_) => line.starts_with("```") || line.starts_with("$ "),
            None => (!line.is_empty() && !line.starts_with(indent)) || line.starts_with("    $ "),
        };
        let mut end = at;
        while end < lines.len() && !is_over(lines[end]) {
            end += 1;
        }
        while end > at && lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        found.push(Shown { indent, command, printed: at..end });
        at = end;
    }
    found
}

/// Whether lines are what is shown, where `...` stands for any lines.
fn agrees(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=printed.len()).any(|n| agrees(rest, &printed[n..]))
        }
        Some((first, rest)) => {
            printed.first().is_some_and(|line| line.trim_end() == first.trim_end())
                && agrees(rest, &printed[1..])
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    if from.is_dir() {
        for file in fs::read_dir(from).expect("a folder").flatten() {
            copy(&file.path(), &to.join(file.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}

/// The folder in which the commands of a page run.
fn folder(page: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let files = FILES.iter().find(|(known, _)| *known == page).map_or(&[][..], |(_, files)| files);
    for (name, from) in files {
        let to = folder.path().join(name);
        match from {
            Repository(from) => copy(&root().join(from), &to),
            Text(text) => {
                fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
                fs::write(&to, text).expect("a file");
            }
        }
    }
    folder
}

fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).expect("the manual").flatten();
    let docs = docs.map(|file| format!("docs/{}", file.file_name().to_string_lossy()));
    // `shapes` has the test of docs/dim_or_shapes.md.
    let is_ours = |page: &String| page.ends_with(".md") && !page.ends_with("dim_or_shapes.md");
    let mut pages: Vec<String> = docs.filter(is_ours).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

#[test]
fn the_commands_of_the_documents_print_what_is_shown() {
    let program = assert_cmd::cargo::cargo_bin("sizewise");
    let own = program.parent().expect("a folder").display().to_string();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap_or_default());
    let (mut ran, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).expect("a page");
        let lines: Vec<&str> = text.lines().collect();
        let shown = commands(&lines);
        let folder = folder(&page);
        let mut written: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for Shown { indent, command, printed } in shown {
            let expected: Vec<String> = lines[printed.clone()]
                .iter()
                .map(|line| line.strip_prefix(indent).unwrap_or(line).to_owned())
                .collect();
            if let Some(file) = command.strip_prefix("cat ") {
                let (file, text) = (folder.path().join(file), expected.join("\n"));
                match fs::read_to_string(&file) {
                    Ok(there) if there.trim_end() == text => {}
                    Ok(there) => wrong.push(format!("{page}: {command} prints\n{there}\n")),
                    Err(_) => fs::write(file, text).expect("a file"),
                }
                continue;
            }
            if NOT_RUN.iter().any(|not| command.starts_with(not)) {
                continue;
            }
            let mut shell = Command::new("sh");
            shell
                .current_dir(folder.path())
                .env("PATH", &path)
                .env_remove("FORCE_COLOR")
                .args(["-c", command]);
            let output = shell.output().expect("a run");
            let prints = String::from_utf8(output.stdout).expect("text");
            let says = String::from_utf8_lossy(&output.stderr).into_owned();
            let status = output.status.code();
            ran += 1;
            if !matches!(status, Some(0 | 1 | 4)) {
                wrong.push(format!("{page}: {command}: {status:?}\n{says}"));
            }
            let prints: Vec<&str> = prints.trim_end().lines().collect();
            if !expected.is_empty() && !agrees(&expected, &prints) {
                wrong.push(format!("{page}: {command} prints\n{}\n", prints.join("\n")));
                let anew = prints.iter().map(|line| format!("{indent}{line}").trim_end().to_owned());
                written[printed.start] = anew.collect::<Vec<_>>().join("\n");
                written[printed.start + 1..printed.end]
                    .iter_mut()
                    .for_each(|line| *line = "\u{0}".to_owned());
            }
        }
        if std::env::var_os("SIZEWISE_WRITE_DOCS").is_some() {
            written.retain(|line| line != "\u{0}");
            fs::write(root().join(&page), written.join("\n") + "\n").expect("the page is written");
        }
    }
    assert!(ran >= 20, "only {ran} commands were found");
    assert!(wrong.is_empty(), "SIZEWISE_WRITE_DOCS=1 writes these anew:\n{}", wrong.join("\n"));
}

#[test]
fn dots_stand_for_lines_that_are_left_out() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (text, printed, expected) in [
        ("a\nb", &["a", "b"][..], true),
        ("a\n...", &["a", "b", "c"], true),
        ("a\n...\nc", &["a", "b", "c"], true),
        ("a\n...\nd", &["a", "b", "c"], false),
        ("a", &["a", "b"], false),
        ("a\nb", &["a"], false),
    ] {
        assert_eq!(agrees(&shown(text), printed), expected, "{text:?}");
    }
}

/// Blocks of these languages are text, or are run: `console` by the test above.
const TEXT_OR_RUN: &[&str] = &["text", "console"];

#[test]
fn every_block_runs_or_says_why_not() {
    let doctests = include_str!("../python/tests/test_docs.py");
    let library = include_str!("../src/lib.rs");
    let (mut blocks, mut wrong) = (0, Vec::new());
    for page in pages().into_iter().chain(["docs/dim_or_shapes.md".to_owned()]) {
        let text = fs::read_to_string(root().join(&page)).expect("a page");
        let lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        while let Some(n) = lines[at..].iter().position(|line| line.starts_with("```")) {
            let start = at + n;
            let language = &lines[start][3..];
            let length =
                lines[start + 1..].iter().position(|line| *line == "```").expect("the end of a block");
            let says_why = start > 0 && lines[start - 1].starts_with("<!-- not run: ");
            let is_run = match language {
                "python" => lines[start + 1].starts_with(">>> ") && doctests.contains(&format!("\"{page}\"")),
                // By `service::page`.
                "sh" if page == "docs/service.md" => !says_why,
                // By rustdoc.
                "rust" => library.contains(&format!("include_str!(\"../{page}\")")),
                _ => TEXT_OR_RUN.contains(&language),
            };
            if is_run == says_why {
                wrong.push(format!("{page}:{}: {language}", start + 1));
            }
            blocks += 1;
            at = start + length + 2;
        }
    }
    assert!(blocks > 40, "only {blocks} blocks were found");
    assert!(wrong.is_empty(), "neither run nor marked with `<!-- not run: REASON -->`: {wrong:#?}");
}

#[test]
fn links_beside_the_manual_lead_somewhere() {
    let mut links = 0;
    for page in ["README.md", "SKILL.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "python/README.md"] {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let folder = root().join(page).parent().expect("a folder").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().expect("a path");
            assert!(file.starts_with("http") || folder.join(file).exists(), "{page}: {link}");
            links += 1;
        }
    }
    assert!(links > 10, "only {links} links were found");
}
