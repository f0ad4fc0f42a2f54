//! `sizewise explain`: why dimensions are what they are, and what the codes of diagnostics mean.
use super::args::{ExplainOptions, Format};
use super::{files, operators, programs};
use crate::decide::Budget;
use crate::escape;
use crate::report::{CODES, Explanation, Style, meaning};
use std::io::IsTerminal;
use std::process::ExitCode;

/// Runs the command.
pub fn run(options: &ExplainOptions) -> ExitCode {
    let code = options.program.to_string_lossy();
    let result = match meaning(&code) {
        Some(text) if !options.program.exists() => Ok(format!("{code}\n  {text}\n")),
        _ => explain(options),
    };
    match result.and_then(|text| files::write(options.output.as_deref(), &text).map_err(|m| (3, m))) {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            files::complain(&message);
            if status == 3 && !options.program.exists() {
                let codes: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
                files::complain(&format!(
                    "it is no code of a diagnostic either; those are {}",
                    codes.join(", ")
                ));
            }
            ExitCode::from(status)
        }
    }
}

fn explain(options: &ExplainOptions) -> Result<String, (u8, String)> {
    let name = files::shown(&options.program);
    let operators = operators::load_on(&options.operators).map_err(|message| (2, message))?;
    let unreadable = |error: crate::check::CheckError| (3, format!("{name}: {error}"));
    let checker = programs::checker_of(&options.program, options.choice.model.as_deref())
        .map_err(|message| (3, message))?;
    let dimensions = match options.dim.as_slice() {
        [] => checker.dimensions().map_err(unreadable)?,
        named => named
            .iter()
            .map(|text| checker.dimension(text).map_err(|error| (2, format!("{name}: {error}"))))
            .collect::<Result<_, _>>()?,
    };
    let mut explanations: Vec<Explanation> = Vec::with_capacity(dimensions.len());
    for dimension in &dimensions {
        explanations.push(checker.explain(dimension, &operators, &Budget::default()).map_err(unreadable)?);
    }
    match options.format {
        Format::Json => {
            let text =
                serde_json::to_string_pretty(&explanations).map_err(|error| (70, error.to_string()))?;
            Ok(escape::json_text(format!("{text}\n")))
        }
        _ => {
            let colour = options.output.is_none() && options.color.enabled(std::io::stdout().is_terminal());
            let texts: Vec<String> = explanations.iter().map(|e| e.to_text(Style { colour })).collect();
            Ok(texts.join("\n"))
        }
    }
}
