//! Known findings, which do not count: a file that is kept beside the programs.
use crate::cli::failure::{Failure, Result};
use crate::cli::files;
use crate::escape::json_text;
use crate::report::Known;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
            VERSION => Ok(Baseline { folder: folder_of(path), findings: form.findings }),
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
        files::write(Some(path), &json_text(text + "\n"))
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
        let inside = path.strip_prefix(&self.folder).unwrap_or(&path);
        inside.to_string_lossy().replace('\\', "/")
    }
}

fn folder_of(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}
