//! The copy of the repository that is instrumented, and its compilation.
use crate::instrument::{Number, Part, instrument};
use crate::mutants::Mutant;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often the compiler is asked before its errors count as ours.
const ROUNDS: usize = 40;

/// The name and the program of each test target, or what the compiler has against the sources.
type Compiled = Result<Vec<(String, PathBuf)>, Vec<Value>>;

/// The instrumented copy.
pub struct Copy {
    pub root: PathBuf,
    pub target: PathBuf,
    /// The tests: the name of each target and its program.
    pub programs: Vec<(String, PathBuf)>,
    /// Mutants without a switch, with the reason.
    pub without: BTreeMap<Number, String>,
}

/// Marks a function that has to stay `const`, in the list of what does not compile.
const KEPT_CONST: &str = "const fn";

/// What the tests of reasoning need: the service only takes its time to build.
const FEATURES: &str = "smt,cli";

/// Optimised a little, with overflow and assertions checked as in a build for tests.
const PROFILE: &str = "\n[profile.mutation]\ninherits = \"release\"\nopt-level = 1\ndebug = false\nlto = false\nincremental = true\ncodegen-units = 64\ndebug-assertions = true\noverflow-checks = true\n\n[profile.mutation.package.\"*\"]\ndebug-assertions = false\noverflow-checks = false\n";

fn put(path: &Path, text: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let fail = |e: std::io::Error| format!("{}: {e}", path.display());
    std::fs::create_dir_all(path.parent().expect("a file in a folder")).map_err(fail)?;
    std::fs::write(path, text).map_err(fail)?;
    Ok(())
}

/// Copies the files that git knows or would take; what is no longer there goes.
fn files(root: &Path, to: &Path) -> Result<(), String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("git ls-files: {e}"))?;
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: HashSet<&str> =
        listing.split('\0').filter(|n| !n.is_empty() && !n.starts_with("mutation/")).collect();
    let known = to.join(".files");
    for old in std::fs::read_to_string(&known).unwrap_or_default().lines().filter(|old| !names.contains(old))
    {
        let _ = std::fs::remove_file(to.join(old));
    }
    for name in &names {
        // Sources are written by `Copy::make`, once.
        if !is_source(name) && root.join(name).is_file() {
            let text = std::fs::read(root.join(name)).map_err(|e| format!("{name}: {e}"))?;
            put(&to.join(name), &text)?;
        }
    }
    put(&known, names.iter().copied().collect::<Vec<_>>().join("\n").as_bytes())
}

fn is_source(name: &str) -> bool {
    name == "Cargo.toml" || ((name.starts_with("src/") || name.starts_with("crates/")) && name.ends_with(".rs"))
}

/// The crates that are mutated find the switch as `crate::mutation`.
fn with_switch(name: &str, text: String) -> String {
    let switch = match name {
        "crates/expr/src/lib.rs" => "#[allow(missing_docs)]\npub mod mutation;",
        "crates/solve/src/lib.rs" => "pub use sizewise_expr::mutation;",
        _ => return text,
    };
    format!("#![allow(warnings)]\n{text}\n{switch}\n")
}

impl Copy {
    /// Makes the copy with all mutants that compile.
    pub fn make(root: &Path, work: &Path, mutants: &[Mutant]) -> Result<Copy, String> {
        let mut copy = Copy {
            root: work.join("tree"),
            target: work.join("target"),
            programs: Vec::new(),
            without: BTreeMap::new(),
        };
        files(root, &copy.root)?;
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).map_err(|e| e.to_string())?;
        let workspace = if manifest.contains("[workspace]") { "" } else { "\n[workspace]\n" };
        put(&copy.root.join("Cargo.toml"), format!("{manifest}{workspace}{PROFILE}").as_bytes())?;
        let switch = format!(
            "const MUTANTS: usize = {};\n{}",
            mutants.len().max(1),
            include_str!("switch.rs").replace("//!", "//")
        );
        put(&copy.root.join("crates/expr/src/mutation.rs"), switch.as_bytes())?;
        let mut by_file: HashMap<&str, Vec<(Number, &Mutant)>> = HashMap::new();
        for (n, m) in mutants.iter().enumerate() {
            by_file.entry(&m.file).or_default().push((n as Number, m));
        }
        let (mut dropped, mut keep_const) = (HashSet::new(), HashSet::new());
        // What did not compile before is not tried again.
        let uncompilable = work.join("uncompilable.tsv");
        for line in std::fs::read_to_string(&uncompilable).unwrap_or_default().lines() {
            let Some((key, why)) = line.split_once('\t') else { continue };
            if key == KEPT_CONST {
                keep_const.insert(why.to_string());
            } else if let Some(n) = mutants.iter().position(|m| m.key == key) {
                dropped.insert(n as Number);
                copy.without.insert(n as Number, why.to_string());
            }
        }
        for round in 0..ROUNDS {
            let mut parts: HashMap<String, Vec<Part>> = HashMap::new();
            let mut folders = vec![root.join("src"), root.join("crates")];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten() {
                    let path = entry.path();
                    if path.is_dir() {
                        folders.push(path);
                        continue;
                    }
                    let name = path.strip_prefix(root).expect("a file of the tree").display().to_string();
                    let Ok(source) = std::fs::read_to_string(&path) else { continue };
                    let text = match by_file.get(name.as_str()) {
                        Some(own) => {
                            let written = instrument(&source, own, &dropped, &keep_const)
                                .map_err(|e| format!("{name}: {e}"))?;
                            for (n, why) in written.inexpressible {
                                copy.without.insert(n, format!("not expressible: {why}"));
                            }
                            parts.insert(name.clone(), written.parts);
                            written.text
                        }
                        None => source,
                    };
                    let text = with_switch(&name, text);
                    put(&copy.root.join(&name), text.as_bytes())?;
                }
            }
            let before = dropped.len() + keep_const.len();
            let errors = match copy.compile()? {
                Ok(programs) => {
                    copy.programs = programs;
                    return Ok(copy);
                }
                Err(errors) => errors,
            };
            for error in &errors {
                copy.give_up(error, &parts, &mut dropped, &mut keep_const)?;
            }
            let after = dropped.len() + keep_const.len();
            let line = |n: &Number| {
                format!("{}\t{}\n", mutants[*n as usize].key, copy.without[n].replace('\n', " "))
            };
            let kept = keep_const.iter().map(|name| format!("{KEPT_CONST}\t{name}\n"));
            put(&uncompilable, dropped.iter().map(line).chain(kept).collect::<String>().as_bytes())?;
            eprintln!("round {}: {} errors, {} mutants dropped", round + 1, errors.len(), dropped.len());
            if before == after {
                return Err(format!(
                    "the copy does not compile:\n{}",
                    errors[0]["rendered"].as_str().unwrap_or("")
                ));
            }
        }
        Err("the copy does not compile".into())
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.args(arguments).args(["--profile", "mutation", "--message-format", "json"]);
        command.args(["--no-default-features", "--features", FEATURES]);
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target).stderr(Stdio::null());
        command
    }

    /// Checks the library, which is quick, then builds the tests: the name and the program of each target, or the
    /// errors.
    fn compile(&self) -> Result<Compiled, String> {
        let mut built = Vec::new();
        for arguments in [&["check", "--lib"][..], &["test", "--no-run", "--tests"]] {
            let output = self.cargo(arguments).output().map_err(|e| format!("cargo: {e}"))?;
            let of_source = |m: &Value| m["message"]["spans"].as_array().is_some_and(|s| !s.is_empty());
            let errors: Vec<Value> = messages(&output.stdout)
                .filter(|m| m["message"]["level"] == "error" && of_source(m))
                .map(|m| m["message"].clone())
                .collect();
            if !errors.is_empty() {
                return Ok(Err(errors));
            }
            if !output.status.success() {
                return Err(format!("cargo {arguments:?} fails without an error in the sources"));
            }
            for m in messages(&output.stdout) {
                let is_test = m["reason"] == "compiler-artifact" && m["profile"]["test"] == true;
                let (path, name) = (m["executable"].as_str(), m["target"]["name"].as_str());
                if let (true, Some(path), Some(name)) = (is_test, path, name)
                    && m["target"]["kind"][0] != "bin"
                {
                    built.push((name.to_string(), PathBuf::from(path)));
                }
            }
        }
        built.sort();
        Ok(Ok(built))
    }

    fn give_up(
        &mut self,
        error: &Value,
        parts: &HashMap<String, Vec<Part>>,
        dropped: &mut HashSet<Number>,
        keep_const: &mut HashSet<String>,
    ) -> Result<(), String> {
        let text = error["message"].as_str().unwrap_or("");
        if let Some(rest) = text.strip_prefix("cannot call non-const ") {
            let name = rest.split('`').nth(1).unwrap_or("").rsplit("::").next().unwrap_or("");
            keep_const.insert(name.to_string());
            return Ok(());
        }
        let spans = error["spans"].as_array().map_or(&[][..], Vec::as_slice);
        let mut primary: Vec<&Value> = spans.iter().filter(|s| s["is_primary"] == true).collect();
        primary.extend(spans.iter().filter(|s| s["is_primary"] != true));
        for span in primary {
            let Some(own) = span["file_name"].as_str().and_then(|f| parts.get(f)) else { continue };
            let at = |name: &str| span[name].as_u64().unwrap_or(0) as usize;
            let (start, end) = (at("byte_start"), at("byte_end"));
            let around = own.iter().filter(|p| p.range.start <= start && end <= p.range.end);
            if let Some(part) = around.min_by_key(|p| p.range.len()) {
                for &n in &part.mutants {
                    dropped.insert(n);
                    self.without.insert(n, format!("does not compile: {text}"));
                }
                return Ok(());
            }
        }
        eprintln!("not attributed: {}", error["rendered"].as_str().unwrap_or(text));
        Ok(())
    }
}

fn messages(stdout: &[u8]) -> impl Iterator<Item = Value> + '_ {
    stdout.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}
