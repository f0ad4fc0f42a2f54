//! Checks of many programs in one command: each by itself, with one summary, one document and one exit status.
mod baseline;
mod document;
mod engine;
mod list;
mod options;
mod paths;
mod process;
mod settings;
mod summary;
mod worker;

pub use baseline::Baseline;
pub use list::List;
pub use options::FleetOptions;
pub use paths::{Program, is_many, programs};
pub use process::serve;
pub use settings::Settings;
pub use worker::{Job, gravity, status};

use super::failure::{Failure, Result};
use super::{files, progress};
use crate::report::{ReportForm, Style};
use document::Document;
use process::Process;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use summary::Summary;
use worker::Entry;

/// The exit status of what ends because nobody reads its output, as of programs that SIGPIPE ends.
const CUT_SHORT: u8 = 141;
/// Of larger files, one at a time is held in memory.
const LARGE_FILE: u64 = 64 << 20;

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
    let mut is_cut = false;
    files::write_anew(output, |out| {
        let mut out = out.writer();
        match all(job, programs, jobs, style, &mut *out, &mut outcome) {
            // Whoever reads the document has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                is_cut = true;
                Ok(())
            }
            result => result,
        }
    })?;
    if job.form != ReportForm::Text {
        files::complain(&outcome.summary.line());
        outcome.summary.gone().into_iter().for_each(|gone| files::complain(&gone));
    }
    if let (Some(baseline), Some(path)) = (outcome.baseline, &job.options.write_baseline) {
        baseline.write(path)?;
    }
    // Not all were checked: nothing is known of the others, which may be worse.
    let status = if is_cut { CUT_SHORT } else { outcome.status };
    Ok(ExitCode::from(status))
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
    let large = Mutex::new(());
    let start = || {
        let mut process = None;
        let large = &large;
        move |at: usize| {
            let Some(program) = programs.get(at) else { return Vec::new() };
            let is_large = program.path.metadata().is_ok_and(|known| known.len() > LARGE_FILE);
            let _alone = is_large.then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
            match programs.len() {
                // A process costs more than the check of a program.
                1 if job.options.memory.is_none() => worker::check(job, program),
                _ => isolated(job, program, &mut process),
            }
        }
    };
    engine::each(programs.len(), jobs, is_ordered, start, |entries: Vec<Entry>| {
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

/// Checks a file in a process beside this one, which is started anew where a program ended it; in this process where there
/// is none.
fn isolated(job: &Job, program: &Program, process: &mut Option<Process>) -> Vec<Entry> {
    let started = Instant::now();
    if process.is_none() {
        *process = job.arguments.and_then(Process::start);
    }
    match process.as_mut().map(|process| process.check(program)) {
        None => worker::check(job, program),
        Some(Ok(entries)) => entries,
        Some(Err(ended)) => {
            *process = None;
            let name = files::text(&program.path);
            vec![worker::entry_of_failure(job, &name, &Failure::program(ended), started)]
        }
    }
}
