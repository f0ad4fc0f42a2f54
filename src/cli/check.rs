//! `sizewise check`: does the spec imply everything that the program needs?
use super::args::{CheckOptions, ReportFormat};
use super::{files, operators, programs};
use crate::check::{CheckError, Checker, outline};
use crate::decide::Budget;
use crate::escape::visible;
use crate::report::{
    Outcome, Report, Style, to_github, to_html, to_json, to_sarif, to_sarif_of, to_text, to_torch,
};
use crate::spec::Spec;
use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command.
pub fn run(options: &CheckOptions) -> ExitCode {
    match check_all(options) {
        Ok(mut checked) => {
            if !options.timings {
                checked.iter_mut().for_each(|(report, _)| report.timings.clear());
            }
            if let Err(message) = files::write(options.output.as_deref(), &text(options, &checked)) {
                files::complain(&message);
                return ExitCode::from(3);
            }
            let verdicts = checked.iter().map(|(report, _)| report.verdict);
            let status = verdicts.max_by_key(|&verdict| gravity(verdict)).map_or(0, status);
            // The process ends here: taking the programs apart first would only take time.
            std::mem::forget(checked);
            ExitCode::from(status)
        }
        Err((status, message)) => {
            files::complain(&message);
            ExitCode::from(status)
        }
    }
}

fn status(verdict: Outcome) -> u8 {
    match verdict {
        Outcome::Ok => 0,
        Outcome::Violated => 1,
        Outcome::Invalid => 2,
        Outcome::Unknown => 4,
    }
}

/// The worst verdict stands for several programs.
fn gravity(verdict: Outcome) -> u8 {
    match verdict {
        Outcome::Ok => 0,
        Outcome::Unknown => 1,
        Outcome::Violated => 2,
        Outcome::Invalid => 3,
    }
}

/// The reports in one text: one after the other, in JSON as a list, in SARIF as runs of one log.
fn text(options: &CheckOptions, checked: &[(Report, Checker)]) -> String {
    let colour = options.output.is_none() && options.color.enabled(std::io::stdout().is_terminal());
    let one = |(report, checker): &(Report, Checker)| match options.format {
        ReportFormat::Text => to_text(report, Style { colour }),
        ReportFormat::Json => to_json(report),
        ReportFormat::Torch => to_torch(report),
        ReportFormat::Sarif => to_sarif(report),
        ReportFormat::Github => to_github(report),
        ReportFormat::Html => to_html(report, &outline(checker.program())),
    };
    if checked.len() > 1 && matches!(options.format, ReportFormat::Sarif) {
        return to_sarif_of(checked.iter().map(|(report, _)| report));
    }
    let texts: Vec<String> = checked.iter().map(one).collect();
    match (texts.as_slice(), options.format) {
        ([only], _) => only.clone(),
        (several, ReportFormat::Json) => {
            let items: Vec<&str> = several.iter().map(|text| text.trim_end()).collect();
            format!("[\n{}\n]\n", items.join(",\n"))
        }
        (several, ReportFormat::Text) => several.join("\n"),
        (several, _) => several.concat(),
    }
}

/// Checks the program, or all programs of an archive.
fn check_all(options: &CheckOptions) -> Result<Vec<(Report, Checker)>, (u8, String)> {
    let checkers = programs::checkers(&options.program).map_err(|message| (3, message))?;
    let of_one =
        options.fix.is_some() || options.emit_smt2.is_some() || matches!(options.format, ReportFormat::Html);
    if checkers.len() > 1 && of_one {
        let message = format!(
            "{} holds {} programs: name one with --model for a report of this kind",
            files::shown(&options.program),
            checkers.len()
        );
        return Err((2, message));
    }
    checkers.into_iter().map(|checker| check(options, checker)).collect()
}

fn check(options: &CheckOptions, checker: Checker) -> Result<(Report, Checker), (u8, String)> {
    let checker = checker.with_jobs(usize::from(options.jobs));
    let spec = match &options.spec {
        None => None,
        Some(path) => {
            let text = files::read(path).map_err(|message| (2, message))?;
            Some(Spec::parse(&text).map_err(|error| (2, format!("{}: {error}", files::shown(path))))?)
        }
    };
    let operators = operators::load_on(&options.operators).map_err(|message| (2, message))?;
    let failed = |error: CheckError| (3, format!("{}: {error}", visible(checker.name())));
    let budget = Budget::default();
    let report = match &options.emit_smt2 {
        None => checker.check(spec.as_ref(), &operators, &budget).map_err(failed)?,
        Some(folder) => {
            let archive = Archive::new(folder)?;
            let report = checker
                .check_emitting(spec.as_ref(), &operators, &budget, Some(&|text| archive.add(text)))
                .map_err(failed)?;
            archive.finish()?;
            report
        }
    };
    let Some(path) = &options.fix else { return Ok((report, checker)) };
    let fixed = match report.fixes.first().and_then(|fix| fix.spec.clone()) {
        Some(spec) => spec,
        None if report.verdict == Outcome::Ok => spec.map(|spec| spec.to_json()).unwrap_or_default(),
        None => {
            files::complain(&format!("no fix was found, {} is not written", files::shown(path)));
            return Ok((report, checker));
        }
    };
    let text = serde_json::to_string_pretty(&fixed).map_err(|error| (70, error.to_string()))?;
    files::write(Some(path), &format!("{text}\n")).map_err(|message| (3, message))?;
    let fixed = Spec::parse(text.as_bytes()).map_err(|error| (70, error.to_string()))?;
    let report = checker.check(Some(&fixed), &operators, &budget).map_err(failed)?;
    Ok((report, checker))
}

/// A folder of SMT-LIB 2 files, numbered as they come.
struct Archive<'f> {
    folder: &'f Path,
    count: Cell<usize>,
    error: RefCell<Option<String>>,
}

impl<'f> Archive<'f> {
    fn new(folder: &'f Path) -> Result<Archive<'f>, (u8, String)> {
        std::fs::create_dir_all(folder).map_err(|error| (2, format!("{}: {error}", files::shown(folder))))?;
        Ok(Archive { folder, count: Cell::new(0), error: RefCell::new(None) })
    }

    fn add(&self, text: &str) {
        self.count.set(self.count.get() + 1);
        let path = self.folder.join(format!("{:04}.smt2", self.count.get()));
        if let Err(error) = std::fs::write(&path, text) {
            self.error.borrow_mut().get_or_insert(format!("{}: {error}", files::shown(&path)));
        }
    }

    /// The first file that could not be written is an error.
    fn finish(self) -> Result<(), (u8, String)> {
        self.error.into_inner().map_or(Ok(()), |message| Err((3, message)))
    }
}
