//! The source tree keeps its own rules: layers, file sizes, headers.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates, each of which uses crates above it in this list only.
const CRATES: &[&str] = &["expr", "solve", "env", "ir", "kernels", "check", "tools", "onnx", "service"];

/// The crates that `env` uses: what an exporter depends on.
const USED_BY_ENV: &[&str] = &["expr", "solve"];

/// The layers inside crates: a module uses modules of lower layers only. The files of no module listed are those of "".
const LAYERS: &[(&str, &[(&str, u32)])] = &[
    ("expr", &[("escape", 0), ("", 0), ("range", 1)]),
    ("solve", &[("egraph", 0), ("", 1)]),
    ("ir", &[("keys", 0), ("", 1)]),
    ("check", &[("records", 0), ("spec", 1), ("propagate", 2), ("report", 3), ("check", 4), ("query", 5)]),
    ("tools", &[("replay", 0), ("verify", 0), ("recorded_values", 1), ("pass", 2)]),
];
/// The longest source file, in lines.
const MAX_LINES: usize = 500;

fn rust_files(root: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(root)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn relative(path: &Path) -> String {
    path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string()
}

/// The modules that a source text names behind `crate::`, comments aside.
fn used_modules(source: &str) -> Vec<String> {
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut used = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            used.push(word(rest));
            continue;
        };
        // The names at the group's own level; what they bring along is behind further braces.
        let (mut depth, mut fresh) = (1, true);
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => fresh = true,
                c if fresh && depth == 1 && !c.is_whitespace() => {
                    used.push(word(&group[i..]));
                    fresh = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    used
}

#[test]
fn crates_use_lower_crates_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let folders = fs::read_dir(&root).expect("the crates").map(|entry| entry.expect("a folder").file_name());
    let mut found: Vec<String> = folders.map(|name| name.to_string_lossy().into_owned()).collect();
    let mut known: Vec<&str> = CRATES.to_vec();
    found.sort();
    known.sort_unstable();
    assert_eq!(found, known);
    for (at, name) in CRATES.iter().enumerate() {
        let manifest = fs::read_to_string(root.join(name).join("Cargo.toml")).expect("a manifest");
        let lines = manifest.lines().filter_map(|line| line.strip_prefix("sizewise-"));
        let used: Vec<&str> = lines.filter_map(|line| line.split(['.', ' ']).next()).collect();
        for used in &used {
            assert!(CRATES[..at].contains(used), "`{name}` uses `{used}`");
        }
        if *name == "env" {
            assert_eq!(used, USED_BY_ENV);
        }
    }
}

#[test]
fn modules_use_lower_layers_only() {
    let mut wrong = Vec::new();
    for (name, layers) in LAYERS {
        let folder = format!("crates/{name}/src/");
        let layer = |module: &str| {
            let known = layers.iter().find(|(known, _)| *known == module);
            known.or_else(|| layers.iter().find(|(known, _)| known.is_empty()))
        };
        for path in rust_files(&folder) {
            let file = relative(&path);
            let module = file.strip_prefix(&folder).and_then(|rest| rest.split(['/', '.']).next());
            let Some(module) = module.filter(|module| *module != "lib") else { continue };
            let Some((_, own)) = layer(module) else {
                wrong.push(format!("{file}: `{module}` is no module of the design"));
                continue;
            };
            let source = fs::read_to_string(&path).expect("a readable file");
            for used in used_modules(&source) {
                match layer(&used) {
                    Some((known, other)) if *known != module && used != module && other > own => {
                        wrong.push(format!("{file}: layer {own} uses `{used}` of layer {other}"));
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_layer_check_sees_every_form_of_use() {
    let source = "use crate::{\n    expr::{Expr, Pool},\n    range,\n};\nlet x = crate::decide::quickly();\n// crate::cli\n";
    assert_eq!(used_modules(source), ["expr", "range", "decide"]);
}

/// The crates whose files use each other without circles.
const WITHOUT_CIRCLES: &[&str] = CRATES;

/// The paths that a source text names behind `super::` (how often) or `crate::`, comments and tests aside. Of a group
/// in braces each name is a path.
fn named_paths(source: &str) -> Vec<(Option<usize>, Vec<String>)> {
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut paths = Vec::new();
    let starts = code.match_indices("crate::").chain(code.match_indices("super::"));
    for (at, start) in starts.filter(|(at, _)| !code[..*at].ends_with("super::")) {
        let mut rest = &code[at + start.len()..];
        let mut up = (start == "super::").then_some(1);
        while let (Some(levels), Some(further)) = (&mut up, rest.strip_prefix("super::")) {
            (*levels, rest) = (*levels + 1, further);
        }
        let mut path = Vec::new();
        while let Some(further) =
            rest.strip_prefix(&word(rest)).and_then(|further| further.strip_prefix("::"))
        {
            path.push(word(rest));
            rest = further;
        }
        let names = match rest.strip_prefix('{') {
            Some(group) => {
                group.split('}').next().unwrap_or_default().split(',').map(|n| word(n.trim())).collect()
            }
            None => vec![word(rest)],
        };
        paths.extend(names.into_iter().map(|name| (up, [path.as_slice(), &[name]].concat())));
    }
    paths
}

#[test]
fn files_use_each_other_without_circles() {
    for name in WITHOUT_CIRCLES {
        let folder = format!("crates/{name}/src/");
        let mut files: BTreeMap<Vec<String>, String> = BTreeMap::new();
        for path in rust_files(&folder) {
            let file = relative(&path);
            let module = file.trim_start_matches(&folder).trim_end_matches(".rs").trim_end_matches("/mod");
            if !module.ends_with("tests") && module != "lib" {
                let source = fs::read_to_string(&path).expect("a readable file");
                files.insert(module.split('/').map(str::to_owned).collect(), source);
            }
        }
        let used = |module: &[String], source: &str| -> Vec<Vec<String>> {
            let absolute = named_paths(source).into_iter().filter_map(|(up, path)| {
                let levels = up.map_or(Some(0), |up| module.len().checked_sub(up))?;
                Some([&module[..levels], &path].concat())
            });
            let known = absolute.filter_map(|path| {
                let prefixes = (1..=path.len()).rev().map(|end| path[..end].to_vec());
                prefixes.into_iter().find(|prefix| files.contains_key(prefix))
            });
            known.filter(|used| used != module).collect()
        };
        let mut left: BTreeMap<&Vec<String>, Vec<Vec<String>>> =
            files.iter().map(|(module, source)| (module, used(module, source))).collect();
        // Files that use none of those left are in no circle.
        loop {
            let modules: Vec<Vec<String>> = left.keys().map(|module| (*module).clone()).collect();
            left.retain(|_, used| used.iter().any(|module| modules.contains(module)));
            if left.len() == modules.len() {
                break;
            }
        }
        let names: Vec<String> = left.keys().map(|module| module.join("/")).collect();
        assert!(names.is_empty(), "in circles, or using files in circles: {}", names.join(", "));
    }
}

#[test]
fn the_circle_check_sees_every_form_of_use() {
    let source = "use super::super::{a, b::C};\nuse crate::d::e::{F, g};\nlet x = super::h();\n// super::i\n";
    let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<String>>();
    let found = named_paths(source);
    for (up, text) in [(Some(2), "a"), (Some(2), "b"), (None, "d/e/F"), (None, "d/e/g"), (Some(1), "h")] {
        assert!(found.contains(&(up, path(text))), "{text}: {found:?}");
    }
    assert_eq!(found.len(), 5);
}

#[test]
fn files_are_short_and_begin_with_a_header() {
    let mut wrong = Vec::new();
    for root in ["src", "crates", "tests", "proptests", "benches"] {
        for path in rust_files(root) {
            let source = fs::read_to_string(&path).expect("a readable file");
            let lines = source.lines().count();
            if lines > MAX_LINES {
                wrong.push(format!("{}: {lines} lines, at most {MAX_LINES} are allowed", relative(&path)));
            }
            if !source.starts_with("//!") {
                wrong.push(format!("{}: begins without a `//!` header", relative(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_module_has_a_name_without_meaning() {
    for path in rust_files("src").into_iter().chain(rust_files("crates")) {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        assert!(
            !matches!(stem, "utils" | "util" | "helpers" | "common" | "misc" | "manager"),
            "{}",
            relative(&path)
        );
    }
}

/// The numbers of the conditions that a comment lists: `(C2)`, and all from `(C1) to (C4)`.
fn listed(comment: &str) -> Vec<u32> {
    let mut listed = Vec::new();
    let mut parts = comment.split("(C");
    let mut before = parts.next().unwrap_or_default();
    for part in parts {
        let Some((number, after)) = part.split_once(')') else { continue };
        let Ok(number) = number.parse() else { continue };
        let first = if before.trim() == "to" { listed.last().copied().unwrap_or(number) } else { number };
        listed.extend(first..=number);
        before = after;
    }
    listed
}

/// The numbers of the conditions that code requires: `"mm.C2"`.
fn required(code: &str) -> Vec<u32> {
    let clauses = code.split('"').skip(1).step_by(2).filter_map(|text| text.rsplit_once(".C"));
    clauses.filter_map(|(_, number)| number.parse().ok()).collect()
}

#[test]
fn kernels_list_the_conditions_that_they_require() {
    let mut wrong = Vec::new();
    for path in rust_files("crates/kernels/src").iter().filter(|path| !path.ends_with("tests.rs")) {
        let text = fs::read_to_string(path).expect("a source file");
        let (mut comment, mut inside) = (String::new(), None);
        for (at, line) in text.lines().enumerate() {
            let code = line.trim_start();
            if let Some(text) = code.strip_prefix("///") {
                comment.extend([text, "\n"]);
                continue;
            }
            if ["fn ", "pub fn ", "pub(super) fn "].iter().any(|start| code.starts_with(start)) {
                inside = Some(listed(&comment));
            } else if line.starts_with('}') {
                // What follows is a table or another item: tables hand clauses to functions.
                inside = None;
            }
            if !code.starts_with("#[") {
                comment.clear();
            }
            let Some(inside) = &inside else { continue };
            for number in required(line).iter().filter(|number| !inside.contains(number)) {
                wrong.push(format!("{}:{}: (C{number}) is not listed above", relative(path), at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lists_of_conditions_are_read_as_people_read_them() {
    for (comment, numbers) in [
        ("(C1) The sizes agree. (C2) So do the dtypes.", vec![1, 2]),
        ("(C1) to (C3) As [`mm`]. (C5) More.", vec![1, 1, 2, 3, 5]),
        ("Nothing (see below).", vec![]),
    ] {
        assert_eq!(listed(comment), numbers, "{comment}");
    }
    assert_eq!(
        required(r#"cx.require(fits, "mm.C2", |_| "no.C".into())?; cx.rank(x, 2, "bmm.C10", "x")"#),
        [2, 10]
    );
}
