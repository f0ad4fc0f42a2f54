//! `sizewise spec init` and `sizewise spec widen`: writing the spec of a program.
use super::args::{SpecCommand, SpecOptions};
use super::{files, operators, progress};
use crate::check::{CheckError, Checker};
use crate::decide::Budget;
use crate::report::Outcome;
use crate::spec::{Contract, Spec, Width};
use serde_json::Value as Json;
use std::process::ExitCode;

/// Runs the command.
pub fn run(command: &SpecCommand) -> ExitCode {
    let (options, result) = match command {
        SpecCommand::Init(options) => (options, init(options)),
        SpecCommand::Widen(options) => (options, widen(options)),
    };
    let written = result.and_then(|spec| {
        let text = serde_json::to_string_pretty(&spec).map_err(|error| (70, error.to_string()))?;
        files::write(options.output.as_deref(), &format!("{text}\n")).map_err(|message| (3, message))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            eprintln!("sizewise: {message}");
            ExitCode::from(status)
        }
    }
}

fn read(options: &SpecOptions) -> Result<Checker, (u8, String)> {
    let bytes = files::read(&options.program).map_err(|message| (3, message))?;
    let name = files::name(&options.program);
    let checker = Checker::read(&name, &bytes).map_err(|error| (3, format!("{name}: {error}")))?;
    Ok(match progress::on_terminal() {
        Some(watch) => checker.watched(watch),
        None => checker,
    })
}

fn contract<'c>(checker: &'c Checker, options: &SpecOptions) -> Result<Contract<'c>, (u8, String)> {
    Contract::load(checker.program())
        .map_err(|error| (3, format!("{}: {error}", files::name(&options.program))))
}

fn init(options: &SpecOptions) -> Result<Json, (u8, String)> {
    let checker = read(options)?;
    let contract = contract(&checker, options)?;
    Ok(Spec::initial(&contract, Width::Recorded).to_json())
}

/// The widest spec: any size, and where that is too much, what the first fix leaves of it.
fn widen(options: &SpecOptions) -> Result<Json, (u8, String)> {
    let checker = read(options)?;
    let operators = operators::load(&options.operators).map_err(|message| (2, message))?;
    let widest = Spec::initial(&contract(&checker, options)?, Width::Any);
    let failed = |error: CheckError| (3, format!("{}: {error}", files::name(&options.program)));
    let report = checker.check(Some(&widest), &operators, &Budget::default()).map_err(failed)?;
    match (report.verdict, report.fixes.into_iter().next().and_then(|fix| fix.spec)) {
        (Outcome::Ok, _) => Ok(widest.to_json()),
        (_, Some(spec)) => Ok(spec),
        (verdict, None) => {
            let name = files::name(&options.program);
            let why = match verdict {
                Outcome::Unknown => "not everything the program needs could be decided",
                _ => "no spec was found that implies everything the program needs",
            };
            Err((4, format!("{name}: {why}; `sizewise check {name}` says more")))
        }
    }
}
