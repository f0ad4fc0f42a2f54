//! Where source files are: archives record the paths of the machine that exported them.
use crate::report::Report;
use std::path::{Component, Path, PathBuf};

/// Gives the paths in a report relative to a folder: `root`, or the current one. A path that lies elsewhere is replaced
/// by the longest end of it that is a file below that folder; paths of which there is none stay as they are.
pub fn relate(report: &mut Report, root: Option<&Path>) {
    let Some(root) = root.map(Path::to_path_buf).or_else(|| std::env::current_dir().ok()) else { return };
    for guard in &mut report.guards {
        for frame in guard.stack.iter_mut().filter(|frame| !frame.library) {
            if let Some(path) = below(&root, &frame.file) {
                frame.file = path;
            }
        }
        if let (Some(file), Some(first)) = (&mut guard.file, guard.stack.first()) {
            file.clone_from(&first.file);
        }
    }
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
    use super::below;
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
}
