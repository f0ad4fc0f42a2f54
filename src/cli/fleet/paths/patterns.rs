//! Patterns of paths: `models/**/*.pt2`.
use super::{MAX_DEPTH, Program, is_spec};
use glob::{MatchOptions, Pattern};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// Whether a path is a pattern, and no file itself.
pub fn is_pattern(path: &Path) -> bool {
    is_part_pattern(path.as_os_str()) && !path.exists()
}

fn is_part_pattern(part: &OsStr) -> bool {
    part.as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// A part of a pattern.
enum Part {
    /// Any number of folders.
    Folders,
    /// The names that match.
    Names(Pattern),
    /// This name.
    Name(PathBuf),
}

/// Adds the files that a pattern matches, by name.
///
/// # Errors
/// What is wrong with the pattern.
pub fn matching(pattern: &Path, found: &mut Vec<Program>) -> Result<(), String> {
    let mut parts = pattern.components().map(part).collect::<Result<Vec<Part>, String>>()?;
    // Any number of folders, twice, is any number.
    parts.dedup_by(|a, b| matches!((a, b), (Part::Folders, Part::Folders)));
    // What stands before the first part that is a pattern is the folder.
    let fixed = parts.iter().take_while(|part| matches!(part, Part::Name(_))).count();
    let root: PathBuf = pattern.components().take(fixed).collect();
    Search { root: &root, found }.below(&root, &parts[fixed..], 0);
    Ok(())
}

fn part(part: Component) -> Result<Part, String> {
    let text = part.as_os_str();
    if text == "**" {
        return Ok(Part::Folders);
    }
    if !is_part_pattern(text) {
        return Ok(Part::Name(text.into()));
    }
    // A name that is no Unicode is matched by what it is shown as.
    let pattern = Pattern::new(&text.to_string_lossy());
    pattern.map(Part::Names).map_err(|error| format!("not a pattern: {error}"))
}

/// A search of the files that a pattern matches.
struct Search<'f> {
    root: &'f Path,
    found: &'f mut Vec<Program>,
}

impl Search<'_> {
    /// Goes on below a folder with the parts that are left.
    fn below(&mut self, folder: &Path, parts: &[Part], depth: usize) {
        match parts {
            [] => self.add(folder),
            [Part::Name(name), rest @ ..] => {
                let path = folder.join(name);
                if path.exists() {
                    self.below(&path, rest, depth);
                }
            }
            [Part::Names(pattern), rest @ ..] => {
                for (path, _) in self.entries(folder) {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
                    let is_way = rest.is_empty() || path.is_dir();
                    if is_way && pattern.matches_with(&name, options) {
                        self.below(&path, rest, depth);
                    }
                }
            }
            [Part::Folders, ..] if depth >= MAX_DEPTH => {
                self.found.push(Program::missing(folder, "this folder is too deep within others"));
            }
            [Part::Folders, rest @ ..] => {
                self.below(folder, rest, depth);
                for (path, is_folder) in self.entries(folder) {
                    let is_hidden =
                        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
                    if is_folder && !is_hidden {
                        self.below(&path, parts, depth + 1);
                    } else if !is_folder && rest.is_empty() && !is_hidden {
                        self.add(&path);
                    }
                }
            }
        }
    }

    fn add(&mut self, path: &Path) {
        if !path.is_dir() && !is_spec(path) {
            self.found.push(Program::below(self.root, path.to_path_buf()));
        }
    }

    /// What is in a folder, by name, and whether each is a folder. Links to folders are none: they may lead in circles.
    fn entries(&mut self, folder: &Path) -> Vec<(PathBuf, bool)> {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if !here.is_dir() {
            return Vec::new();
        }
        let entries = match std::fs::read_dir(here) {
            Ok(entries) => entries,
            Err(error) => {
                self.found.push(Program::missing(folder, error.to_string()));
                return Vec::new();
            }
        };
        let one = |entry: std::fs::DirEntry| {
            (folder.join(entry.file_name()), entry.file_type().is_ok_and(|kind| kind.is_dir()))
        };
        let mut entries: Vec<(PathBuf, bool)> = entries.filter_map(Result::ok).map(one).collect();
        entries.sort();
        entries
    }
}
