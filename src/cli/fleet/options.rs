//! The options for checks of many programs, and what they count.
use super::baseline::Baseline;
use crate::cli::failure::{Failure, Result};
use crate::cli::files;
use crate::escape::visible;
use crate::keys::nearest;
use crate::report::{Findings, Known, is_code, is_of_remarks, known_codes};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The options that say which findings count, and where specs are.
#[derive(Args, Clone, Debug, Default)]
pub struct FleetOptions {
    /// The folder of specs, each at the path of its program there, as model.spec.json, model.spec.py, model.json or
    /// model.py. By default a spec stands beside its program, as model.spec.json or model.spec.py; a program without one
    /// is checked under its own ranges and guards.
    #[arg(long, value_name = "DIR")]
    pub specs: Option<PathBuf>,
    /// A file of known findings, which do not count.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// The project's file that names the baseline, if the command line does not.
    #[arg(skip)]
    pub baseline_from: Option<PathBuf>,
    /// Write all findings to this file, as a baseline for later checks.
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub write_baseline: Option<PathBuf>,
    /// Count findings with these codes only, separated by commas: guard-not-implied, guard-not-implied/overflow.
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    pub select: Vec<String>,
    /// Do not count findings with these codes.
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// What makes the exit status other than 0; by default everything that is not proved. A program that cannot be checked
    /// always does.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub fail_on: Option<FailOn>,
    /// The MiB of memory that the check of one of several programs may take; 0 for no limit. A program that needs more is
    /// not checked. By default 8192.
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
}

/// What a command fails on.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailOn {
    /// Something that is violated.
    Violated,
    /// Something that is violated or undecided.
    Unknown,
    /// Also a least or greatest size that a model needs and an ONNX file cannot declare.
    Undeclarable,
}

/// What is known of the findings on a program.
#[derive(Default)]
pub struct Counted {
    /// All that could be known: those of the codes that are selected.
    pub all: Vec<Known>,
    /// How many findings of the baseline are there no more.
    pub gone: usize,
}

impl FleetOptions {
    /// Whether any is given.
    pub fn is_any(&self) -> bool {
        let files = [&self.specs, &self.baseline, &self.write_baseline];
        let has_codes = !self.select.is_empty() || !self.ignore.is_empty();
        files.into_iter().any(Option::is_some) || has_codes || self.fail_on.is_some()
    }

    /// Whether all that is asked is to leave out notes, which a whole report can do.
    pub fn ignores_notes(&self) -> bool {
        let others = FleetOptions { ignore: Vec::new(), ..self.clone() };
        !self.ignore.is_empty() && !others.is_any() && self.ignore.iter().all(|code| is_of_remarks(code))
    }

    /// Refuses codes that no finding has, and a folder of specs that is none.
    ///
    /// # Errors
    /// A message that names the nearest code, or the folder.
    pub fn check_values(&self) -> Result<()> {
        if let Some(folder) = self.specs.as_deref().filter(|folder| !folder.is_dir()) {
            return Err(Failure::usage(format!("--specs: {} is no folder", files::shown(folder))));
        }
        for (option, codes) in [("select", &self.select), ("ignore", &self.ignore)] {
            refuse_unknown(codes).map_err(|says| Failure::usage(format!("--{option}: {says}")))?;
        }
        Ok(())
    }

    /// Keeps the findings on a program that count.
    pub fn count(&self, findings: &mut Findings, program: &str, baseline: &Baseline) -> Counted {
        let has = |finding: &Known, codes: &[String]| codes.iter().any(|code| finding.has(code));
        let is_asked = |finding: &Known| {
            (self.select.is_empty() || has(finding, &self.select)) && !has(finding, &self.ignore)
        };
        findings.retain(is_asked);
        let mut counted = Counted { all: findings.known(), gone: 0 };
        if self.write_baseline.is_some() {
            findings.retain(|_| false);
        } else {
            let mut known = baseline.of(program);
            findings.retain(|finding| match known.iter().position(|known| known == finding) {
                Some(at) => {
                    known.swap_remove(at);
                    false
                }
                None => true,
            });
            findings.retain_remarks_beside_findings();
            counted.gone = known.iter().filter(|known| is_asked(known)).count();
        }
        counted
    }
}

/// Refuses a code that no finding has.
///
/// # Errors
/// What is wrong, with the nearest code.
pub fn refuse_unknown(codes: &[String]) -> std::result::Result<(), String> {
    codes.iter().find(|code| !is_code(code)).map_or(Ok(()), |code| {
        let near = nearest(code, known_codes()).unwrap_or_default();
        Err(format!("no finding has the code `{}`; the nearest is `{near}`", visible(code)))
    })
}
