//! Options that a project keeps in a file: `sizewise.toml`, or `[tool.sizewise]` in `pyproject.toml`.
use super::options::{FailOn, FleetOptions, refuse_unknown};
use crate::cli::failure::{Failure, Result};
use crate::cli::files;
use crate::keys::unknown;
use clap::ValueEnum;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The keys of the file, which are those of the options of `check`.
const KEYS: [&str; 12] = [
    "backend",
    "baseline",
    "budget",
    "fail-on",
    "format",
    "ignore",
    "jobs",
    "memory",
    "ops",
    "select",
    "source-root",
    "specs",
];

/// What the file says. Paths are relative to its folder.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Settings {
    /// The file.
    #[serde(skip)]
    pub file: PathBuf,
    /// `--backend`.
    pub backend: Option<String>,
    /// `--baseline`.
    pub baseline: Option<PathBuf>,
    /// `--budget`.
    pub budget: Option<u32>,
    /// `--fail-on`.
    pub fail_on: Option<String>,
    /// `--format`.
    pub format: Option<String>,
    /// `--ignore`.
    pub ignore: Vec<String>,
    /// `--jobs`.
    pub jobs: Option<u32>,
    /// `--memory`.
    pub memory: Option<u64>,
    /// `--ops`.
    pub ops: Vec<PathBuf>,
    /// `--select`.
    pub select: Vec<String>,
    /// `--source-root`.
    pub source_root: Option<PathBuf>,
    /// `--specs`.
    pub specs: Option<PathBuf>,
}

impl Settings {
    /// Reads the file of the current folder, or of the nearest folder around it that has one.
    ///
    /// # Errors
    /// A message that names the file and the key.
    pub fn find() -> Result<Option<Settings>> {
        let current = std::env::current_dir().unwrap_or_default();
        for folder in current.ancestors() {
            let own = folder.join("sizewise.toml");
            if own.is_file() {
                return Settings::of(&own, read(&own)?).map(Some);
            }
            let shared = folder.join("pyproject.toml");
            if shared.is_file()
                && let Some(table) = tool(read(&shared)?)
            {
                return Settings::of(&shared, table).map(Some);
            }
        }
        Ok(None)
    }

    fn of(file: &Path, table: Table) -> Result<Settings> {
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(files::unusable(file, unknown(key, &KEYS)));
        }
        for (key, value) in &table {
            let (is_right, expected) = fits(key, value);
            if !is_right {
                return Err(files::unusable(file, format!("`{key}`: expected {expected}")));
            }
        }
        let mut settings: Settings =
            Value::Table(table).try_into().map_err(|error: toml::de::Error| files::unusable(file, error))?;
        file.clone_into(&mut settings.file);
        let folder = file.parent().unwrap_or(Path::new(""));
        for path in [&mut settings.baseline, &mut settings.source_root, &mut settings.specs] {
            *path = path.take().map(|path| folder.join(path));
        }
        settings.ops.iter_mut().for_each(|path| *path = folder.join(&*path));
        Ok(settings)
    }

    /// A failure of the value of a key.
    pub fn wrong(&self, key: &str, says: &str) -> Failure {
        files::unusable(&self.file, format!("`{key}`: {says}"))
    }

    /// Sets what the command line did not.
    ///
    /// # Errors
    /// A message that names the file and the key.
    pub fn fill(&self, options: &mut FleetOptions) -> Result<()> {
        options.memory = options.memory.or(self.memory);
        options.specs = options.specs.take().or_else(|| self.specs.clone());
        if options.write_baseline.is_none() && options.baseline.is_none() && self.baseline.is_some() {
            options.baseline.clone_from(&self.baseline);
            options.baseline_from = Some(self.file.clone());
        }
        for (key, given, own) in
            [("select", &mut options.select, &self.select), ("ignore", &mut options.ignore, &self.ignore)]
        {
            refuse_unknown(own).map_err(|says| self.wrong(key, &says))?;
            if given.is_empty() {
                given.clone_from(own);
            }
        }
        if let (None, Some(what)) = (options.fail_on, &self.fail_on) {
            let what = FailOn::from_str(what, false);
            options.fail_on =
                Some(what.map_err(|_| self.wrong("fail-on", "expected violated, unknown or undeclarable"))?);
        }
        Ok(())
    }
}

/// The table of a file.
fn read(path: &Path) -> Result<Table> {
    let bytes = files::read(path).map_err(Failure::usage)?;
    let text = String::from_utf8(bytes).map_err(|_| files::unusable(path, "expected text in UTF-8"))?;
    text.parse().map_err(|error: toml::de::Error| {
        let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let says = error.message().replace('\n', ", ");
        files::unusable(path, format!("TOML parse error at line {line}, column {column}: {says}"))
    })
}

/// Whether a value is of the kind that its key has, and what that is.
fn fits(key: &str, value: &Value) -> (bool, &'static str) {
    match key {
        "ignore" | "ops" | "select" => {
            let is_list = value.as_array().is_some_and(|items| items.iter().all(Value::is_str));
            (is_list, "a list of strings")
        }
        "budget" | "jobs" | "memory" => {
            let is_number = value.as_integer().is_some_and(|number| u32::try_from(number).is_ok());
            (is_number, "a whole number that is not negative")
        }
        _ => (value.is_str(), "a string"),
    }
}

/// The table `[tool.sizewise]`.
fn tool(mut table: Table) -> Option<Table> {
    let Some(Value::Table(mut tools)) = table.remove("tool") else { return None };
    match tools.remove("sizewise") {
        Some(Value::Table(own)) => Some(own),
        _ => None,
    }
}
