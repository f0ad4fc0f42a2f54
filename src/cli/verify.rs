//! `sizewise verify`: does a program follow the rules of its dialect?
use super::args::{Colour, Format, OperatorFiles, ProgramFile};
use super::failure::{Failure, Result};
use super::programs::{Loaded, unread};
use super::{files, operators};
use crate::escape::{coloured_lines, json_text, lines, visible};
use crate::ir::schema::{OperatorName, Schema};
use crate::ir::{Dialect, ReadErrorKind};
use crate::kernels::Operators;
use crate::recorded_values;
use crate::verify::{
    EdgeDtypes, KnownOperators, Level, Options, Profile, Rule, Violation, verify_outline, verify_program,
};
use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The version of the JSON report.
const SCHEMA_VERSION: u32 = 1;

/// Options of `verify`.
#[derive(Args, Debug)]
pub struct VerifyOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// Custom operators.
    #[command(flatten)]
    pub operators: OperatorFiles,
    /// The dialect whose rules apply; the program's own by default.
    #[arg(long, value_enum)]
    pub dialect: Option<DialectName>,
    /// Expect memory formats rather than dimension orders in the Edge dialect (ExecuTorch's `_skip_dim_order`).
    #[arg(long)]
    pub no_dim_order: bool,
    /// An operator that is allowed although it is not in the core ATen set, such as `aten.selu.default`; may be
    /// repeated (ExecuTorch's `_core_aten_ops_exception_list`).
    #[arg(long, value_name = "OP", value_parser = overload)]
    pub core_exception: Vec<String>,
    /// An operator that is preserved although it is not in the core ATen set, unless it is a view; may be repeated
    /// (ExecuTorch's `preserve_ops`).
    #[arg(long, value_name = "OP", value_parser = overload)]
    pub preserve: Vec<String>,
    /// The dtypes of Edge operators, in the format of ExecuTorch's edge.yaml; ExecuTorch's own by default.
    #[arg(long, value_name = "FILE")]
    pub edge_yaml: Option<PathBuf>,
    /// The format of the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Where to write the report; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// The dialects.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DialectName {
    /// The result of torch.export.export.
    Training,
    /// Functional ATen operators.
    Aten,
    /// The core ATen operator set.
    Core,
    /// ExecuTorch's Edge dialect.
    Edge,
    /// The Edge dialect with backend operators.
    Backend,
}

impl From<DialectName> for Profile {
    fn from(name: DialectName) -> Profile {
        match name {
            DialectName::Training => Profile::Training,
            DialectName::Aten => Profile::Aten,
            DialectName::Core => Profile::Core,
            DialectName::Edge => Profile::Edge,
            DialectName::Backend => Profile::Backend,
        }
    }
}

/// An operator's overload as programs name it, `default` where none is given.
fn overload(text: &str) -> std::result::Result<String, String> {
    let name = OperatorName::split(text);
    name.map(|name| name.to_string()).ok_or_else(|| "expected an operator such as aten.add.Tensor".to_owned())
}

/// The dtypes that Edge operators take: of a file, or ExecuTorch's own.
pub(super) fn edge_dtypes(file: Option<&Path>) -> Result<Cow<'static, EdgeDtypes>> {
    let Some(path) = file else { return Ok(Cow::Borrowed(EdgeDtypes::shipped())) };
    let text = String::from_utf8_lossy(&files::read(path).map_err(Failure::usage)?).into_owned();
    EdgeDtypes::from_yaml(&text).map(Cow::Owned).map_err(|error| files::unusable(path, error))
}

/// The known operators, as verifiers need them.
struct AtHand(Operators);

impl KnownOperators for AtHand {
    fn declared(&self, op: &str) -> Option<&Schema> {
        // An operator without a line in the table of schemas is there because someone declared it.
        let (schema, _) = self.0.find(op)?;
        let in_table = crate::ir::schema::SchemaTable::global().find(op).is_some();
        (!in_table).then_some(schema)
    }

    fn has_kernel(&self, op: &str) -> bool {
        self.0.find(op).is_some()
    }
}

/// What a verification found.
struct Findings {
    name: String,
    own: Option<Dialect>,
    profile: Profile,
    violations: Vec<Violation>,
}

impl Findings {
    fn count(&self, level: Level) -> usize {
        self.violations.iter().filter(|violation| violation.rule.level() == level).count()
    }

    fn verdict(&self) -> (&'static str, u8) {
        match (self.count(Level::Error), self.count(Level::Undecided)) {
            (0, 0) => ("ok", 0),
            (0, _) => ("unknown", 4),
            _ => ("violated", 1),
        }
    }
}

/// Runs the command.
pub fn run(options: &VerifyOptions) -> Result<ExitCode> {
    let findings = verify(options)?;
    let text = match options.format {
        Format::Text => to_text(&findings, options.color.on_stdout(options.output.as_deref())),
        Format::Json => to_json(&findings),
    };
    files::write(options.output.as_deref(), &text)?;
    Ok(ExitCode::from(findings.verdict().1))
}

fn verify(options: &VerifyOptions) -> Result<Findings> {
    let loaded = Loaded::open(&options.program)?;
    loaded.refuse_model()?;
    let name = loaded.name().to_owned();
    let (outline, program) = loaded.both().map_err(|error| unread(&name, &error))?;
    let mut violations = verify_outline(&outline);
    let asked = options.dialect.map(Profile::from);
    let (own, profile) = match program {
        Ok(program) => {
            let profile = asked.unwrap_or(program.dialect.into());
            let operators = AtHand(operators::load(&options.operators)?);
            let checks = Options {
                dim_order: !options.no_dim_order,
                core_exceptions: options.core_exception.clone(),
                preserved: options.preserve.clone(),
                edge_dtypes: edge_dtypes(options.edge_yaml.as_deref())?,
            };
            violations.extend(verify_program(&program, profile, &operators, &checks));
            violations.extend(recorded_values(&program, &operators.0));
            (Some(program.dialect), profile)
        }
        // The findings of the outline are complete, and more precise.
        Err(error)
            if violations
                .iter()
                .any(|violation| !matches!(violation.rule, Rule::StateRecorded | Rule::ModuleCallValues))
                && matches!(error.kind, ReadErrorKind::Graph | ReadErrorKind::Signature) =>
        {
            (None, asked.unwrap_or(Profile::Training))
        }
        Err(error) => return Err(unread(&name, &error)),
    };
    Ok(Findings { name, own, profile, violations })
}

fn to_text(findings: &Findings, colour: bool) -> String {
    let paint = |text: &str, code: &str| {
        if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let mut text = String::new();
    let (errors, undecided) = (findings.count(Level::Error), findings.count(Level::Undecided));
    let warnings = findings.count(Level::Warning);
    let plural = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    let outcome = match (errors, undecided) {
        (0, 0) => paint("keeps every rule", "32"),
        (0, _) => paint(&format!("{} undecided", plural(undecided, "finding")), "33"),
        (_, 0) => paint(&plural(errors, "violation"), "31"),
        _ => paint(&format!("{}, {undecided} undecided", plural(errors, "violation")), "31"),
    };
    let remarks = if warnings == 0 { String::new() } else { format!(", {}", plural(warnings, "warning")) };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {} dialect: {outcome}{remarks}", visible(&findings.name), findings.profile);
    for violation in &findings.violations {
        let level = violation.rule.level();
        let code = if level == Level::Error { "31" } else { "33" };
        let level = level.name();
        let head = paint(&format!("{level}[{}]", violation.rule), code);
        let _ = writeln!(text, "\n{head}: {}", visible(&violation.message));
        if let Some(node) = &violation.node {
            let graph =
                if violation.graph.is_empty() { String::new() } else { format!(" of {}", violation.graph) };
            let location = violation.location.as_ref().map_or(String::new(), |line| format!("   {line}"));
            let _ = writeln!(text, "  at    {}", visible(&format!("{node}{graph}{location}")));
        }
        let _ = writeln!(text, "  rule  {} ({})", violation.rule.statement(), violation.rule.source());
    }
    if findings.own.is_none() {
        let _ =
            writeln!(text, "\nThe program is not well formed; its operators and records were not looked at.");
    }
    if colour { coloured_lines(&text) } else { lines(&text).into_owned() }
}

fn to_json(findings: &Findings) -> String {
    let entry = |violation: &Violation| -> Json {
        json!({
            "code": violation.rule.code(),
            "level": violation.rule.level().name(),
            "message": violation.message,
            "graph": violation.graph,
            "node": violation.node,
            "location": violation.location,
            "rule": violation.rule.statement(),
            "source": violation.rule.source(),
        })
    };
    let report = json!({
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
        "program": {"path": findings.name, "dialect": findings.own.map(Dialect::name)},
        "dialect": findings.profile.name(),
        "verdict": findings.verdict().0,
        "well_formed": findings.own.is_some(),
        "findings": findings.violations.iter().map(entry).collect::<Vec<_>>(),
    });
    let mut text = json_text(serde_json::to_string_pretty(&report).unwrap_or_default());
    text.push('\n');
    text
}
