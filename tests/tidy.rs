//! The source tree keeps its own rules: layers, file sizes, headers.
use std::fs;
use std::path::{Path, PathBuf};

/// The layers of the design: a module may use modules of lower layers only.
const LAYERS: &[(&str, u32)] = &[
    ("escape", 0),
    ("keys", 0),
    ("expr", 0),
    ("range", 1),
    ("ir", 2),
    ("egraph", 2),
    ("verify", 3),
    ("decide", 3),
    ("shape_env", 4),
    ("spec", 5),
    ("fake", 5),
    ("propagate", 6),
    ("report", 7),
    ("pass", 7),
    ("check", 8),
    ("onnx", 8),
    ("query", 9),
    ("service", 10),
    ("cli", 11),
];
/// The longest source file, in lines.
const MAX_LINES: usize = 500;

fn layer(module: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

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
fn modules_use_lower_layers_only() {
    let mut wrong = Vec::new();
    for path in rust_files("src") {
        let name = relative(&path);
        let Some(module) = name.strip_prefix("src/").and_then(|rest| rest.split(['/', '.']).next()) else {
            continue;
        };
        if matches!(module, "lib" | "main") {
            continue;
        }
        let Some(own) = layer(module) else {
            wrong.push(format!("{name}: `{module}` is no module of the design"));
            continue;
        };
        let source = fs::read_to_string(&path).expect("a readable file");
        for used in used_modules(&source) {
            match layer(&used) {
                Some(other) if used != module && other >= own => {
                    wrong.push(format!("{name}: layer {own} uses `{used}` of layer {other}"));
                }
                _ => {}
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

#[test]
fn files_are_short_and_begin_with_a_header() {
    let mut wrong = Vec::new();
    for root in ["src", "tests", "proptests", "benches"] {
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
    for path in rust_files("src") {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        assert!(
            !matches!(stem, "utils" | "util" | "helpers" | "common" | "misc" | "manager"),
            "{}",
            relative(&path)
        );
    }
}
