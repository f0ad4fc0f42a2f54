//! The sections behind a program's graph: signature and range constraints. Written and read.

use std::fmt::Write;

use super::input_names::input_names;
use super::raw::{Document, InputLine, OutputLine, Range};

use super::scan::{SourceText, split_top};
use super::show::expr_text;
use crate::{Bounds, InputSpec, OutputSpec, Program, ReadResult};
use sizewise_expr::escape::{python_string, visible};

/// Writes both sections.
pub(super) fn write(program: &Program) -> String {
    let mut text = String::from("Graph signature:\n    # inputs\n");
    let names = input_names(program, &program.graph, true);
    for (spec, name) in program.signature.inputs.iter().zip(names) {
        let (kind, target) = match spec {
            InputSpec::User { .. } | InputSpec::Constant { .. } => ("USER_INPUT", None),
            InputSpec::Parameter { fqn, .. } => ("PARAMETER", Some(fqn)),
            InputSpec::Buffer { fqn, .. } => ("BUFFER", Some(fqn)),
            InputSpec::TensorConstant { fqn, .. } => ("CONSTANT_TENSOR", Some(fqn)),
            InputSpec::CustomObj { fqn, .. } => ("CUSTOM_OBJ", Some(fqn)),
            InputSpec::Token { .. } => ("TOKEN", None),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "    {name}: {kind}");
        if let Some(target) = target {
            let _ = write!(text, " target={}", python_string(target));
        }
        if let InputSpec::Buffer { persistent, .. } = spec {
            let _ = write!(text, " persistent={}", super::show::bool_text(*persistent));
        }
        text.push('\n');
    }
    text.push_str("\n    # outputs\n");
    for (spec, output) in program.signature.outputs.iter().zip(program.graph.outputs()) {
        let (kind, target) = match spec {
            OutputSpec::User => ("USER_OUTPUT", None),
            OutputSpec::Loss => ("LOSS_OUTPUT", None),
            OutputSpec::BufferMutation { fqn } => ("BUFFER_MUTATION", Some(fqn)),
            OutputSpec::ParameterMutation { fqn } => ("PARAMETER_MUTATION", Some(fqn)),
            OutputSpec::GradientToParameter { fqn } => ("GRADIENT_TO_PARAMETER", Some(fqn)),
            OutputSpec::GradientToUserInput { input } => ("GRADIENT_TO_USER_INPUT", Some(input)),
            OutputSpec::UserInputMutation { input } => ("USER_INPUT_MUTATION", Some(input)),
            OutputSpec::Token { .. } => ("TOKEN", None),
        };
        let name = match output.value() {
            Some(value) => program.graph.name(value).to_string(),
            None => String::new(),
        };
        let _ = write!(text, "    {name}: {kind}");
        if let Some(target) = target {
            let _ = write!(text, " target={}", python_string(target));
        }
        text.push('\n');
    }
    let bound = |value: Option<i64>, none: &str| value.map_or_else(|| none.to_owned(), |v| v.to_string());
    let range = |(key, bounds): (&std::sync::Arc<str>, &Bounds)| {
        let (min, max) = (bound(bounds.min, "-int_oo"), bound(bounds.max, "int_oo"));
        format!("{}: VR[{min}, {max}]", visible(&expr_text(key)))
    };
    let ranges: Vec<String> = program.range_constraints.iter().map(range).collect();
    let _ = writeln!(text, "\nRange constraints: {{{}}}", ranges.join(", "));
    text
}

/// Reads the sections from the lines behind the graph.
pub(super) fn read(source: &SourceText<'_>, from: usize, document: &mut Document) -> ReadResult<()> {
    let mut outputs = false;
    for line in from..source.lines() {
        let text = source.line(line).trim();
        match text {
            "" | "Graph signature:" => {
                document.has_signature |= !text.is_empty();
                continue;
            }
            "# inputs" | "# outputs" => {
                outputs = text == "# outputs";
                continue;
            }
            _ => {}
        }
        if let Some(ranges) = text.strip_prefix("Range constraints:") {
            read_ranges(source, line, ranges, document)?;
            continue;
        }
        let (name, rest) = text
            .split_once(':')
            .ok_or_else(|| source.error(line, 0, "expected a line such as `x: USER_INPUT`".to_owned()))?;
        let (kind, mut rest) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let mut target = None;
        if let Some(after) = rest.trim_start().strip_prefix("target=") {
            let column = text.len() - after.len();
            let (value, end) =
                super::scan::string_literal(after).map_err(|message| source.error(line, column, message))?;
            target = Some(value);
            rest = &after[end..];
        }
        let persistent = !rest.contains("persistent=False");
        let (name, kind) = (name.to_owned(), kind.to_owned());
        if outputs {
            document.outputs.push(OutputLine { name, kind, target, line });
        } else {
            document.inputs.push(InputLine { name, kind, target, persistent, line });
        }
    }
    Ok(())
}

fn read_ranges(source: &SourceText<'_>, line: usize, text: &str, document: &mut Document) -> ReadResult<()> {
    let wrong = |part: &str| {
        let column = source.line(line).find(part).unwrap_or(0);
        source.error(line, column, "expected ranges such as {u0: VR[0, 200], s86: VR[0, int_oo]}".to_owned())
    };
    let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let inside = inside.ok_or_else(|| wrong(text.trim()))?;
    for (_, part) in split_top(inside, ',') {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let (key, range) = part.rsplit_once(": VR[").ok_or_else(|| wrong(part))?;
        let (min, max) =
            range.strip_suffix(']').and_then(|range| range.split_once(", ")).ok_or_else(|| wrong(part))?;
        let bound = |text: &str| match text {
            "int_oo" | "-int_oo" | "oo" | "-oo" => Ok(None),
            number => number.parse().map(Some).map_err(|_| wrong(part)),
        };
        let bounds = Bounds { min: bound(min)?, max: bound(max)? };
        document.ranges.push(Range { key: key.to_owned(), bounds });
    }
    Ok(())
}
