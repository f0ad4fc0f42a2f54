//! Known findings, which do not count: a file that is kept beside the programs.
use crate::cli::failure::{Failure, Result};
use crate::cli::files;
use crate::escape::json_text;
use crate::report::Known;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// The version of the file's form.
const VERSION: u32 = 1;

/// The known findings by program. The path of a program is relative to the folder of the file.
#[derive(Debug, Default)]
pub struct Baseline {
    folder: PathBuf,
    findings: BTreeMap<String, Vec<Known>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    findings: BTreeMap<String, Vec<Known>>,
}

impl Baseline {
    /// One without findings, for a file that is written.
    pub fn empty(path: &Path) -> Baseline {
        Baseline { folder: folder_of(path), findings: BTreeMap::new() }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn read(path: &Path) -> Result<Baseline> {
        let bytes = files::read(path).map_err(Failure::usage)?;
        let form: Form = serde_json::from_slice(&bytes)
            .map_err(|error| files::unusable(path, format!("not a sizewise baseline: {error}")))?;
        match form.version {
            VERSION => {
                let folder = folder_of(path);
                let own = |name: &str| from(&folder, &plain(&folder.join(name)));
                let findings = form.findings.into_iter().map(|(name, found)| (own(&name), found)).collect();
                Ok(Baseline { folder, findings })
            }
            other => Err(files::unusable(path, format!("a baseline of version {other}, not {VERSION}"))),
        }
    }

    /// Writes the findings.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn write(self, path: &Path) -> Result<()> {
        let form = Form { version: VERSION, findings: self.findings };
        let text = serde_json::to_string_pretty(&form).map_err(Failure::internal)?;
        let text = json_text(text + "\n");
        files::write_anew(Some(path), |out| {
            let mut out = out.writer();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        })
    }

    /// The known findings of a program.
    pub fn of(&self, program: &str) -> Vec<Known> {
        self.findings.get(&self.name(program)).cloned().unwrap_or_default()
    }

    /// Adds findings of a program.
    pub fn add(&mut self, program: &str, mut findings: Vec<Known>) {
        if !findings.is_empty() {
            findings.sort();
            self.findings.insert(self.name(program), findings);
        }
    }

    /// A program as the file calls it.
    fn name(&self, program: &str) -> String {
        let path = std::path::absolute(program).unwrap_or_else(|_| PathBuf::from(program));
        from(&self.folder, &plain(&path))
    }
}

/// The folder of a file, as an absolute path without `..`.
fn folder_of(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    plain(&path).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// A path without `.` and `..`, as it is written: links are not followed.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A path as seen from a folder: `../models/a.pt2`. Both are absolute and without `..`.
fn from(folder: &Path, path: &Path) -> String {
    let common = folder.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let seen: PathBuf = up.chain(path.components().skip(common)).collect();
    let seen = seen.to_string_lossy();
    if cfg!(windows) { seen.replace('\\', "/") } else { seen.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::{from, plain};
    use std::path::Path;

    #[test]
    fn paths_are_seen_from_the_folder_of_the_file() {
        for (folder, path, seen) in [
            ("/p", "/p/m/a.pt2", "m/a.pt2"),
            ("/p/ci", "/p/m/a.pt2", "../m/a.pt2"),
            ("/p/ci/../known", "/p/m/./x/../a.pt2", "../m/a.pt2"),
            ("/p/ci/..", "/p/m/a.pt2", "m/a.pt2"),
            ("/p/ci", "/q/a.pt2", "../../q/a.pt2"),
            ("/../p", "/p/a.pt2", "a.pt2"),
            ("/p/m", "/p/mm/a.pt2", "../mm/a.pt2"),
        ] {
            assert_eq!(from(&plain(Path::new(folder)), &plain(Path::new(path))), seen, "{folder} {path}");
        }
    }
}
