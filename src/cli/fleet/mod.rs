//! Checks of many programs in one command: each by itself, with one summary, one document and one exit status.
mod baseline;
mod document;
mod engine;
mod options;
mod paths;
mod settings;
mod summary;
mod worker;

pub use baseline::Baseline;
pub use options::FleetOptions;
pub use paths::{Program, is_list, is_many, programs};
pub use settings::Settings;
pub use worker::{Job, gravity, status};

use super::failure::Result;
use super::{files, progress};
use crate::report::{ReportForm, Style};
use document::Document;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use summary::Summary;
use worker::Entry;

/// Checks programs with `jobs` threads, writes their reports as one document, and returns the worst exit status.
///
/// # Errors
/// When the document or the baseline cannot be written. Whatever happens to a program is its own entry.
pub fn run(
    job: &Job,
    programs: &[Program],
    jobs: usize,
    output: Option<&Path>,
    style: Style,
) -> Result<ExitCode> {
    let mut outcome = Outcome {
        baseline: job.options.write_baseline.as_deref().map(Baseline::empty),
        ..Outcome::default()
    };
    files::write_anew(output, |out| {
        let mut out: Box<dyn Write> = match out {
            files::Out::File(file) => Box::new(file),
            files::Out::Stream(stream) => Box::new(stream),
        };
        match all(job, programs, jobs, style, &mut *out, &mut outcome) {
            // Whoever reads the document has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    })?;
    if job.form != ReportForm::Text {
        files::complain(&outcome.summary.line());
    }
    if let (Some(baseline), Some(path)) = (outcome.baseline, &job.options.write_baseline) {
        baseline.write(path)?;
    }
    Ok(ExitCode::from(outcome.status))
}

/// What is known when all programs are checked.
#[derive(Default)]
struct Outcome {
    summary: Summary,
    baseline: Option<Baseline>,
    status: u8,
}

impl Outcome {
    fn add(&mut self, entry: &mut Entry) {
        self.summary.add(entry);
        if gravity(entry.status) > gravity(self.status) {
            self.status = entry.status;
        }
        if let Some(baseline) = &mut self.baseline {
            baseline.add(&entry.path, std::mem::take(&mut entry.known));
        }
    }
}

fn all(
    job: &Job,
    programs: &[Program],
    jobs: usize,
    style: Style,
    out: &mut dyn Write,
    outcome: &mut Outcome,
) -> io::Result<()> {
    let bar = progress::of_many(programs.len());
    let mut document = Document::begin(job.form, style, out)?;
    let is_ordered = job.form != ReportForm::Text;
    let work = |at: usize| programs.get(at).map(|program| worker::check(job, program)).unwrap_or_default();
    engine::each(programs.len(), jobs, is_ordered, work, |entries: Vec<Entry>| {
        for mut entry in entries {
            outcome.add(&mut entry);
            match &bar {
                Some(bar) => bar.suspend(|| document.add(entry))?,
                None => document.add(entry)?,
            }
        }
        if let Some(bar) = &bar {
            bar.inc(1);
        }
        Ok(())
    })?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    document.end(&outcome.summary)
}
