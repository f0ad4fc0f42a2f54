//! The source tree keeps its own rules: layers, file sizes, headers.
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use uses::{Files, Module, circles, without_tests};

/// The crates, each of which uses crates above it in this list only.
const CRATES: &[&str] = &[
    "contract",
    "certificate",
    "prove",
    "expr",
    "solve",
    "env",
    "ir",
    "kernels",
    "check",
    "replay",
    "verify",
    "cost",
    "diff",
    "pass",
    "onnx-model",
    "onnx",
    "onnx-write",
    "service",
];

/// The crates that `env` uses: what an exporter depends on.
const USED_BY_ENV: &[&str] = &["expr", "solve"];

/// The layers inside crates: a module uses modules of lower layers and of its own only. The files of no module listed are
/// those of "".
const LAYERS: &[(&str, &[(&str, u32)])] = &[
    (
        "contract",
        &[("format", 0), ("input", 0), ("kind", 0), ("op", 0), ("reader", 1), ("machine", 2), ("", 3)],
    ),
    ("certificate", &[("", 0)]),
    ("prove", &[("", 0)]),
    ("expr", &[("escape", 0), ("", 0), ("range", 1)]),
    ("solve", &[("egraph", 0), ("", 1)]),
    (
        "env",
        &[
            ("clause", 0),
            ("error", 0),
            ("guard", 0),
            ("operations", 0),
            ("policy", 0),
            ("symbols", 0),
            ("hints", 1),
            ("parts", 2),
            ("env", 3),
            ("", 4),
        ],
    ),
    ("ir", &[("keys", 0), ("", 1)]),
    ("kernels", &[("", 0), ("policy", 1), ("ops", 2), ("custom", 3), ("operators", 3), ("coverage", 4)]),
    ("check", &[("records", 0), ("spec", 1), ("propagate", 2), ("report", 3), ("check", 4), ("query", 5)]),
    ("replay", &[("", 0)]),
    ("verify", &[("", 0)]),
    ("cost", &[("", 0), ("sizing", 1)]),
    ("diff", &[("", 0)]),
    ("pass", &[("", 0)]),
    ("onnx-model", &[("shape", 0), ("text", 1), ("read", 1), ("walk", 2)]),
    (
        "onnx",
        &[
            ("check", 0),
            ("dot", 1),
            ("fill", 1),
            ("query", 1),
            ("redeclare", 2),
            ("subject", 3),
            ("costs", 4),
        ],
    ),
    ("onnx-write", &[("", 0)]),
    (
        "service",
        &[
            ("", 0),
            ("app", 1),
            ("ask", 2),
            ("batch", 2),
            ("connections", 2),
            ("intake", 2),
            ("listen", 2),
            ("api", 3),
            ("router", 4),
            ("server", 5),
        ],
    ),
];
/// The longest source file, in lines.
const MAX_LINES: usize = 500;
/// The longest function, in lines.
const MAX_FUNCTION_LINES: usize = 80;

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

/// Which files of a crate use which others.
fn uses(folder: &str) -> BTreeMap<Module, BTreeSet<Module>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = rust_files(folder);
    let source = |path: &PathBuf| fs::read_to_string(path).expect("a readable file");
    Files::new(files.iter().map(|path| (path.strip_prefix(&root).unwrap_or(path), source(path)))).uses()
}

/// The source folders of production code.
fn production() -> Vec<String> {
    let crates = CRATES.iter().map(|name| format!("crates/{name}/src"));
    crates.chain(["src".to_owned(), "python/src".to_owned()]).collect()
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
    let listed: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, CRATES);
    for (name, layers) in LAYERS {
        let layer = |module: &Module| {
            let known = layers.iter().find(|(known, _)| *known == module[0]);
            known.or_else(|| layers.iter().find(|(known, _)| known.is_empty())).map(|(_, layer)| *layer)
        };
        for (module, used) in uses(&format!("crates/{name}/src")) {
            let Some(own) = layer(&module) else {
                wrong.push(format!("{name}: `{}` is no module of the design", module[0]));
                continue;
            };
            for used in used.iter().filter(|used| layer(used).is_some_and(|other| other > own)) {
                wrong.push(format!("{name}: {} of layer {own} uses {}", module.join("/"), used.join("/")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn files_use_each_other_without_circles() {
    for folder in production() {
        let names: Vec<String> = circles(&uses(&folder)).iter().map(|module| module.join("/")).collect();
        assert!(names.is_empty(), "{folder}: in circles, or using files in circles: {}", names.join(", "));
    }
}

/// The modules of the Python package that a text imports, also within functions; what only types need is left out.
fn imported(source: &str) -> BTreeSet<String> {
    let mut for_types = None;
    let mut found = BTreeSet::new();
    for line in source.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if for_types.is_some_and(|outer| indent <= outer && !code.is_empty()) {
            for_types = None;
        }
        if code.starts_with("if TYPE_CHECKING:") {
            for_types = Some(indent);
        }
        let named = code.strip_prefix("from sizewise.").and_then(|rest| rest.split(' ').next());
        found.extend(named.filter(|_| for_types.is_none()).map(str::to_owned));
    }
    found
}

#[test]
fn python_modules_import_each_other_without_circles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/sizewise");
    let mut imports = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the package") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == "py") && name != "__init__" {
            imports.insert(name, imported(&fs::read_to_string(&path).expect("a readable file")));
        }
    }
    assert!(imports.get("_check").is_some_and(|used| used.contains("_read")), "{imports:?}");
    assert_eq!(circles(&imports), Vec::<String>::new());
    let source =
        "if TYPE_CHECKING:\n    from sizewise._a import A\n\ndef f():\n    from sizewise._b import B\n";
    assert_eq!(imported(source), BTreeSet::from(["_b".to_owned()]));
}

/// The functions of a source text that are longer than allowed, with their lengths.
fn long_functions(source: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut long = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words = code.split(['(', '<']).next().unwrap_or_default();
        let is_start = words.split(' ').any(|word| word == "fn") && !code.starts_with("//");
        // A function ends at the brace below its first letter.
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let length = lines[at..].iter().position(|line| *line == end).map_or(0, |last| last + 1);
        let is_one = is_start && !line.ends_with([';', '}']);
        if is_one && length > MAX_FUNCTION_LINES {
            long.push((words.rsplit(' ').next().unwrap_or_default().to_owned(), length));
        }
    }
    long
}

#[test]
fn functions_are_short() {
    let mut wrong = Vec::new();
    for folder in production() {
        for path in rust_files(&folder).iter().filter(|path| !path.to_string_lossy().ends_with("tests.rs")) {
            let source = without_tests(&fs::read_to_string(path).expect("a readable file"));
            let found = long_functions(&source).into_iter();
            wrong
                .extend(found.map(|(name, length)| format!("{}: {name} has {length} lines", relative(path))));
        }
    }
    assert!(wrong.is_empty(), "at most {MAX_FUNCTION_LINES} are allowed\n{}", wrong.join("\n"));
    let body = |lines: usize| format!("    pub fn f<T>(x: T) {{\n{}    }}\n", "        x;\n".repeat(lines));
    assert_eq!(long_functions(&body(MAX_FUNCTION_LINES - 2)), []);
    let length = MAX_FUNCTION_LINES + 1;
    assert_eq!(long_functions(&body(length - 2)), [("f".to_owned(), length)]);
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

/// `print!` panics where the reader of a pipe has gone; `files::write` ends quietly.
#[test]
fn commands_print_by_one_function() {
    for path in rust_files("src") {
        let source = without_tests(&fs::read_to_string(&path).expect("a readable file"));
        let printed = source.lines().find(|line| {
            let line = line.trim_start();
            !line.starts_with("//")
                && (line.contains(" print!(")
                    || line.contains(" println!(")
                    || line.starts_with("print!(")
                    || line.starts_with("println!("))
        });
        assert_eq!(printed, None, "{}", relative(&path));
    }
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
