//! Where source files are: archives record the paths of the machine that exported them.
use super::failure::{Failure, Result};
use super::files;
use crate::report::{FoundSource, Frame, Report};
use std::path::{Component, Path, PathBuf};

/// Gives the paths of source files in a report relative to a folder: `root`, or the current one. A path that lies
/// elsewhere is replaced by the longest end of it that is a file below that folder; paths of which there is none stay
/// as they are.
pub fn relate(report: &mut Report, root: Option<&Path>) {
    let Some(root) = root.map(Path::to_path_buf).or_else(|| std::env::current_dir().ok()) else { return };
    relate_to(report, |_| vec![root.clone()]);
}

/// As [`relate`], for what a code host shows beside the files of a checkout, and the program's own path too: relative
/// to `root`, or else to the checkout that the file lies in, to the one around the current folder or the program, or to
/// the current folder.
pub fn relate_to_checkout(report: &mut Report, root: Option<&Path>) {
    let current = std::env::current_dir().unwrap_or_default();
    // A program in an archive is called by the archive's path and its own name.
    let path = report.program.path.clone();
    let program = current.join(path.split('#').next().unwrap_or(&path));
    let around = |path: &Path| checkout(path).map(Path::to_path_buf);
    let roots: Vec<PathBuf> = match root {
        Some(root) => vec![current.join(root)],
        None => [around(&current), around(&program), Some(current.clone())].into_iter().flatten().collect(),
    };
    relate_to(report, |file| {
        let found = if root.is_none() && file.is_absolute() && file.is_file() { around(file) } else { None };
        found.into_iter().chain(roots.iter().cloned()).collect()
    });
    if program.is_file()
        && let Some(inside) =
            roots.iter().find_map(|root| current.join(&path).strip_prefix(root).ok().map(Path::to_path_buf))
    {
        report.program.path = inside.to_string_lossy().into_owned();
    }
}

/// Gives the paths of source files relative to the first of these folders that has the file.
fn relate_to(report: &mut Report, roots: impl Fn(&Path) -> Vec<PathBuf>) {
    for frame in frames(report) {
        if let Some(path) = roots(Path::new(&frame.file)).iter().find_map(|root| below(root, &frame.file)) {
            frame.file = path;
        }
    }
    // The file of a condition is that of the innermost line.
    for guard in &mut report.guards {
        if let (Some(file), Some(first)) = (&mut guard.file, guard.stack.first()) {
            file.clone_from(&first.file);
        }
    }
}

/// The longest source file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// Where the texts of source files are looked for.
pub enum Sources {
    /// In this file alone.
    File(PathBuf),
    /// Below this folder.
    Folder(PathBuf),
    /// Below the current folder, and where the program says.
    Usual(PathBuf),
}

impl Sources {
    /// In a file or a folder, or in the usual places.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn new(given: Option<&Path>) -> Result<Sources> {
        match given {
            None => Ok(Sources::Usual(std::env::current_dir().unwrap_or_default())),
            Some(path) if path.is_dir() => Ok(Sources::Folder(path.to_path_buf())),
            Some(path) if path.is_file() => Ok(Sources::File(path.to_path_buf())),
            Some(path) => {
                Err(Failure::usage(format!("--source: {}: no such file or folder", files::shown(path))))
            }
        }
    }

    /// The text of a file that a program records.
    pub fn find(&self, recorded: &str) -> Option<FoundSource> {
        let (path, shown) = match self {
            Sources::File(file) => {
                let name = recorded.rsplit(['/', '\\']).next();
                let is_it = file.file_name().and_then(|own| own.to_str()) == name;
                is_it.then(|| (file.clone(), files::name(file)))?
            }
            Sources::Folder(root) => below(root, recorded).map(|path| (root.join(&path), path))?,
            Sources::Usual(root) => {
                let inside = below(root, recorded).map(|path| (root.join(&path), path));
                inside.filter(|(path, _)| path.is_file()).or_else(|| {
                    let path = PathBuf::from(recorded);
                    path.is_absolute().then(|| (path, recorded.to_owned()))
                })?
            }
        };
        let about = path.metadata().ok().filter(|about| about.is_file() && about.len() <= MAX_BYTES);
        let bytes = about.and_then(|_| std::fs::read(&path).ok())?;
        Some(FoundSource { path: shown, text: String::from_utf8_lossy(&bytes).into_owned() })
    }
}

/// The lines of the user's own code in a report.
fn frames(report: &mut Report) -> impl Iterator<Item = &mut Frame> {
    let guards = report.guards.iter_mut().flat_map(|guard| &mut guard.stack);
    let wrong = report.mismatches.iter_mut().flat_map(|mismatch| &mut mismatch.stack);
    let skipped = report.unsupported.iter_mut().flat_map(|item| &mut item.stack);
    let notes = report.diagnostics.iter_mut().flat_map(|note| &mut note.stack);
    guards.chain(wrong).chain(skipped).chain(notes).filter(|frame| !frame.library)
}

/// The innermost folder around a path that has a `.git`: the checkout.
fn checkout(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.join(".git").exists())
}

/// A recorded path relative to a folder.
fn below(root: &Path, recorded: &str) -> Option<String> {
    let path = PathBuf::from(recorded.replace('\\', "/"));
    if let Ok(inside) = path.strip_prefix(root) {
        return Some(inside.to_string_lossy().into_owned());
    }
    let parts: Vec<Component> = path.components().collect();
    let plain = |parts: &[Component]| parts.iter().all(|part| matches!(part, Component::Normal(_)));
    let ends = (0..parts.len()).map(|start| &parts[start..]).filter(|end| plain(end));
    let mut ends = ends.map(|end| end.iter().collect::<PathBuf>());
    ends.find(|end| root.join(end).is_file()).map(|end| end.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::{below, checkout};
    use std::path::Path;

    #[test]
    fn recorded_paths_are_given_relative_to_the_root() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let inside = root.join("src/main.rs");
        for (recorded, expected) in [
            (inside.to_str().expect("a path"), Some("src/main.rs")),
            ("/elsewhere/checkout/src/main.rs", Some("src/main.rs")),
            ("src/main.rs", Some("src/main.rs")),
            ("/elsewhere/no_such_file.py", None),
            ("../src/main.rs", Some("src/main.rs")),
            ("", None),
        ] {
            assert_eq!(below(root, recorded).as_deref(), expected, "{recorded}");
        }
    }

    #[test]
    fn the_checkout_is_the_innermost_folder_with_a_git_folder_or_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::create_dir_all(root.join("outer/.git")).expect("a folder");
        std::fs::create_dir_all(root.join("outer/inner/src")).expect("a folder");
        std::fs::write(root.join("outer/inner/.git"), "gitdir: elsewhere").expect("a file");
        for (file, expected) in [
            ("outer/model.py", "outer"),
            ("outer/inner/src/model.py", "outer/inner"),
            ("outer/inner", "outer/inner"),
        ] {
            assert_eq!(checkout(&root.join(file)), Some(root.join(expected).as_path()), "{file}");
        }
    }
}
