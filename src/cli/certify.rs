//! `sizewise certify`: checks certificates, believing nothing but the checker.
use super::failure::{Failure, Result};
use super::files;
use crate::certificate::{Checked, Sexp, check, explain};
use crate::query::proof::lines;
use clap::Args;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit status where something is not certified, but nothing is wrong.
const UNDECIDED: u8 = 4;

/// Options of `certify`.
#[derive(Args, Debug)]
pub struct CertifyOptions {
    /// Files with certificates, or JSON lines of `entail --certificate`; - for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Say only how many there are.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print each fact with its number and the step that it is from.
    #[arg(long, conflicts_with = "quiet")]
    pub steps: bool,
}

/// What was found in all files.
#[derive(Default)]
struct Tally {
    accepted: usize,
    rejected: usize,
    missing: usize,
    steps: usize,
    outside: usize,
}

/// Checks each certificate, prints what it claims, and counts.
pub fn run(options: &CertifyOptions) -> Result<ExitCode> {
    let mut tally = Tally::default();
    for path in &options.files {
        let bytes = files::read(path).map_err(Failure::program)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::program(format!("{}: not UTF-8", files::shown(path))))?;
        if !is_certificates(&text) {
            let message = format!(
                "{}: no certificates; expected `(certificate …)` or the JSON lines of `entail --certificate`",
                files::shown(path)
            );
            return Err(Failure::program(message));
        }
        for certificate in certificates(&text) {
            let outcome = match certificate {
                Ok(Sexp::List(items)) if items.first().and_then(Sexp::word) == Some("uncertified") => None,
                Ok(certificate) if options.steps => Some(explain(&certificate)),
                Ok(certificate) => Some(check(&certificate)),
                Err(problem) => Some(Err(problem)),
            };
            let said = tally.add(outcome, &files::shown(path));
            if !options.quiet {
                files::write(None, &crate::escape::lines(&said))?;
            }
        }
    }
    let Tally { accepted, rejected, missing, steps, outside } = tally;
    let mut summary =
        format!("{accepted} accepted, {rejected} rejected, {steps} steps, {outside} by other solvers");
    if missing > 0 {
        summary.push_str(&format!("; {missing} answers without a certificate"));
    }
    files::write(None, &(summary + "\n"))?;
    Ok(match (rejected + usize::from(accepted + missing == 0), missing + outside) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(UNDECIDED),
        _ => ExitCode::FAILURE,
    })
}

/// Whether a text begins as certificates do, or as JSON lines. What follows `;` on a line is a remark.
fn is_certificates(text: &str) -> bool {
    let lines = text.lines().map(|line| line.split(';').next().unwrap_or_default().trim_start());
    let first = lines.filter(|line| !line.is_empty()).find_map(|line| line.chars().next());
    matches!(first, Some('(' | '{'))
}

/// The certificates of a text: S-expressions, or the field `certificate` of JSON lines.
fn certificates(text: &str) -> Vec<std::result::Result<Sexp, String>> {
    if !text.trim_start().starts_with('{') {
        return match Sexp::read_all(text) {
            Ok(all) => all.into_iter().map(Ok).collect(),
            Err(problem) => vec![Err(problem)],
        };
    }
    let answers = text.lines().filter(|line| !line.trim().is_empty());
    let answers =
        answers.map(|line| serde_json::from_str::<Value>(line).map_err(|problem| problem.to_string()));
    let proved = |answer: &Value| matches!(answer["verdict"].as_str(), Some("implied" | "inconsistent"));
    let missing = || Sexp::List(vec![Sexp::Word("uncertified".into())]);
    let mut found = Vec::new();
    for answer in answers {
        match answer {
            Err(problem) => found.push(Err(problem)),
            Ok(answer) => match &answer["certificate"] {
                Value::String(text) => found.extend(match Sexp::read_all(text) {
                    Ok(all) => all.into_iter().map(Ok).collect::<Vec<_>>(),
                    Err(problem) => vec![Err(problem)],
                }),
                _ if proved(&answer) => found.push(Ok(missing())),
                _ => {}
            },
        }
    }
    found
}

impl Tally {
    /// Counts a certificate; what is said of it.
    fn add(&mut self, outcome: Option<std::result::Result<Checked, String>>, path: &str) -> String {
        match outcome {
            None => {
                self.missing += 1;
                String::new()
            }
            Some(Ok(checked)) => {
                self.accepted += 1;
                self.steps += checked.steps;
                self.outside += checked.outside.len();
                accepted(&checked) + "\n"
            }
            Some(Err(problem)) => {
                self.rejected += 1;
                format!("{path}: rejected: {problem}\n")
            }
        }
    }
}

/// What a certificate shows.
fn accepted(checked: &Checked) -> String {
    let premises: Vec<String> = checked.claim.premises.iter().map(ToString::to_string).collect();
    let mut said = format!("{} |- {}", premises.join(", "), checked.claim.goal());
    said.push_str(&format!("\n  {} steps", checked.steps));
    if checked.assignments > 0 {
        said.push_str(&format!(", {} assignments", checked.assignments));
    }
    for solver in &checked.outside {
        said.push_str(&format!(", one by {solver}"));
    }
    for line in lines(checked) {
        said.push_str(&format!("\n    {line}"));
    }
    said
}
