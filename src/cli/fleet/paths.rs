//! Which programs are checked together: files, folders, patterns and lists of them, and the spec of each.
mod patterns;

use super::list::List;
use crate::cli::files;
use patterns::{is_pattern, matching};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// The extensions of programs and models that are looked for in folders.
const EXTENSIONS: [&str; 2] = ["pt2", "onnx"];
/// How deep folders are looked through.
pub(super) const MAX_DEPTH: usize = 64;

/// A program to check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The file.
    #[serde(with = "raw")]
    pub path: PathBuf,
    /// Its path within the folder or pattern that it was found by; for a file that was named, its name.
    #[serde(with = "raw")]
    pub inside: PathBuf,
    /// Why there is no such program.
    pub problem: Option<String>,
}

/// Paths as they are, of which the names may be no Unicode.
mod raw {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(deserializer).map(PathBuf::from)
    }
}

impl Program {
    fn named(path: PathBuf) -> Program {
        let inside = path.file_name().map(PathBuf::from).unwrap_or_default();
        Program { path, inside, problem: None }
    }

    pub(super) fn below(root: &Path, path: PathBuf) -> Program {
        let inside = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        Program { path, inside, problem: None }
    }

    pub(super) fn missing(path: &Path, problem: impl Into<String>) -> Program {
        Program { path: path.to_path_buf(), inside: PathBuf::new(), problem: Some(problem.into()) }
    }

    /// The spec of the program: in `folder` at its path or at its path within the folder it was found by; without a
    /// folder, beside it.
    ///
    /// # Errors
    /// When there are several, or it is no file that can be read.
    pub fn spec(&self, folder: Option<&Path>) -> Result<Option<PathBuf>, String> {
        let (places, endings): (Vec<PathBuf>, &[&str]) = match folder {
            None => (vec![self.path.clone()], &["spec.json", "spec.py"]),
            Some(folder) => {
                let is_plain = self.path.components().all(|part| matches!(part, Component::Normal(_)));
                let places = [is_plain.then_some(&self.path), Some(&self.inside)].into_iter().flatten();
                (places.map(|place| folder.join(place)).collect(), &["spec.json", "spec.py", "json", "py"])
            }
        };
        for place in places {
            let known = endings.iter().map(|ending| place.with_extension(ending));
            let found: Vec<PathBuf> = known.filter(|path| is_there(path)).collect();
            match found.as_slice() {
                [] => {}
                [only] => return is_readable(only).map(|()| Some(only.clone())),
                [first, second, ..] => {
                    let [first, second] = [first, second].map(|path| files::shown(path));
                    return Err(format!("it has two specs, {first} and {second}; keep one"));
                }
            }
        }
        Ok(None)
    }
}

/// Whether a path stands for files that are looked for: a folder, or a pattern that is no file itself.
pub fn is_many(path: &Path) -> bool {
    path.is_dir() || is_pattern(path)
}

/// Whether something stands at a path, whatever it is: also a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => {
            let kind = error.kind();
            !matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
        }
    }
}

/// Refuses a spec that is no file.
fn is_readable(spec: &Path) -> Result<(), String> {
    let says = match spec.metadata() {
        Ok(known) if known.is_file() => return Ok(()),
        Ok(known) if known.is_dir() => "a folder; expected a file".to_owned(),
        Ok(_) => "not a regular file".to_owned(),
        Err(error) if spec.is_symlink() => format!("a link that cannot be followed: {error}"),
        Err(error) => error.to_string(),
    };
    Err(format!("its spec {}: {says}", files::shown(spec)))
}

/// The programs that paths stand for, in their order, each once. `-` stands for those of `list`.
pub fn programs(paths: &[PathBuf], list: Option<&List>) -> Vec<Program> {
    let mut found = Vec::new();
    for path in paths {
        match list {
            Some(list) if path.as_os_str() == "-" => list.paths().for_each(|path| add(&path, &mut found)),
            _ => add(path, &mut found),
        }
    }
    let mut seen = FxHashSet::default();
    found.retain(|program| seen.insert(program.path.clone()));
    found
}

/// Adds what a path stands for. A spec is that of the program beside it.
fn add(path: &Path, found: &mut Vec<Program>) {
    let before = found.len();
    if is_spec(path) {
        return;
    }
    if path.is_dir() {
        walk(path, path, 0, found);
        if found.len() == before {
            found.push(Program::missing(path, "no .pt2 and no .onnx file is in this folder"));
        }
    } else if is_pattern(path) {
        if let Err(problem) = matching(path, found) {
            found.push(Program::missing(path, problem));
        } else if found.len() == before {
            found.push(Program::missing(path, "no file matches this pattern"));
        }
    } else {
        found.push(Program::named(path.to_path_buf()));
    }
}

/// Whether a file is called as specs beside programs are.
pub(super) fn is_spec(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".spec.json") || name.ends_with(".spec.py")
}

/// Whether a file is one that folders are looked through for.
fn is_wanted(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The programs below a folder, by name. Links to folders are not followed: they may lead in circles.
fn walk(root: &Path, folder: &Path, depth: usize, found: &mut Vec<Program>) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) if depth < MAX_DEPTH => entries,
        Ok(_) => return found.push(Program::missing(folder, "this folder is too deep within others")),
        Err(error) => return found.push(Program::missing(folder, error.to_string())),
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !is_hidden => walk(root, &path, depth + 1, found),
            Ok(kind) if !kind.is_dir() && !is_hidden && is_wanted(&path) && !path.is_dir() => {
                found.push(Program::below(root, path));
            }
            _ => {}
        }
    }
}
