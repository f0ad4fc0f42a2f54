//! `sizewise spec init` and `sizewise spec widen`: writing the spec of a program.
use super::args::{SpecCommand, SpecOptions};
use super::{files, operators, programs};
use crate::check::{CheckError, Checker};
use crate::decide::Budget;
use crate::escape;
use crate::report::Outcome;
use crate::spec::{Contract, Spec, Width};
use serde_json::Value as Json;
use std::process::ExitCode;

/// A spec to be written, and what its reader has to know.
type Written = (Json, Option<String>);

/// Runs the command.
pub fn run(command: &SpecCommand) -> ExitCode {
    let (options, result) = match command {
        SpecCommand::Init { options, examples } => (options, init(options, examples)),
        SpecCommand::Widen(options) => (options, widen(options)),
    };
    let written = result.and_then(|(spec, note)| {
        let text = serde_json::to_string_pretty(&spec).map_err(|error| (70, error.to_string()))?;
        files::write(options.output.as_deref(), &escape::json_text(format!("{text}\n")))
            .map_err(|message| (3, message))?;
        note.map_or(Ok(()), |note| Err((4, note)))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            files::complain(&message);
            ExitCode::from(status)
        }
    }
}

fn read(options: &SpecOptions) -> Result<Checker, (u8, String)> {
    programs::checker(&options.program).map_err(|message| (3, message))
}

fn contract<'c>(checker: &'c Checker, options: &SpecOptions) -> Result<Contract<'c>, (u8, String)> {
    Contract::load(checker.program())
        .map_err(|error| (3, format!("{}: {error}", files::shown(&options.program))))
}

fn init(options: &SpecOptions, examples: &[String]) -> Result<Written, (u8, String)> {
    let checker = read(options)?;
    let contract = contract(&checker, options)?;
    if examples.is_empty() {
        return Ok((Spec::initial(&contract, Width::Recorded).to_json(), None));
    }
    let mut parsed = Vec::with_capacity(examples.len());
    for (i, text) in examples.iter().enumerate() {
        let example: Json = serde_json::from_str(text)
            .map_err(|error| (2, format!("--example {}: `{text}` is not JSON: {error}", i + 1)))?;
        parsed.push(example);
    }
    let spec = Spec::of_examples(&contract, &parsed).map_err(|error| (2, error.to_string()))?;
    Ok((spec.to_json(), None))
}

/// The widest spec: any size, and where that is too much, what the first fix leaves of it; where there is no fix, sizes of which the
/// program demands something are left to the program.
fn widen(options: &SpecOptions) -> Result<Written, (u8, String)> {
    let checker = read(options)?;
    let operators = operators::load_on(&options.operators).map_err(|message| (2, message))?;
    let name = files::shown(&options.program);
    let contract = contract(&checker, options)?;
    let check = |spec: Option<&Spec>| {
        let report = checker.check(spec, &operators, &Budget::default());
        report.map_err(|error: CheckError| (3, format!("{name}: {error}")))
    };
    for width in [Width::Any, Width::Demanded, Width::Recorded] {
        let spec = Spec::initial(&contract, width);
        let report = check(Some(&spec))?;
        match (report.verdict, report.fixes.into_iter().next().and_then(|fix| fix.spec)) {
            (Outcome::Ok, _) => return Ok((spec.to_json(), None)),
            (_, Some(fixed)) => return Ok((fixed, None)),
            // Nothing can be proved of a program that is undecided under its own contract.
            (Outcome::Unknown, None)
                if width == Width::Recorded && check(None)?.verdict == Outcome::Unknown =>
            {
                let note = format!(
                    "{name}: the spec is the program's own contract, and whether the program keeps it is undecided; \
                     `sizewise check {name}` says more"
                );
                return Ok((spec.to_json(), Some(note)));
            }
            _ => {}
        }
    }
    let why = "no spec was found that implies everything the program needs";
    Err((4, format!("{name}: {why}; `sizewise check {name}` says more")))
}
