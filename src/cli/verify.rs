//! `sizewise verify`: does a program keep the rules of its dialect?
use super::args::{Colour, Format, ProgramFile};
use super::files;
use super::programs::Loaded;
use crate::escape::{coloured_lines, json_text, lines, visible};
use crate::fake::Operators;
use crate::ir::schema::Schema;
use crate::ir::{Dialect, ReadErrorKind};
use crate::verify::{
    KnownOperators, Level, Options, Profile, Rule, Violation, verify_outline, verify_program,
};
use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
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
    pub operators: super::args::OperatorFiles,
    /// The dialect whose rules the program is to keep; its own by default.
    #[arg(long, value_enum)]
    pub dialect: Option<DialectName>,
    /// Expect memory formats rather than dimension orders in the Edge dialect (ExecuTorch's `_skip_dim_order`).
    #[arg(long)]
    pub no_dim_order: bool,
    /// The form of the report.
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
    /// What torch.export.export gives.
    Training,
    /// Functional ATen operators.
    Aten,
    /// The core ATen operator set.
    Core,
    /// ExecuTorch's Edge dialect.
    Edge,
    /// The Edge dialect with operators of backends.
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

/// The operators at hand, as verifiers ask for them.
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
pub fn run(options: &VerifyOptions) -> ExitCode {
    let written = verify(options).and_then(|findings| {
        let colour = options.output.is_none() && options.color.enabled(std::io::stdout().is_terminal());
        let text = match options.format {
            Format::Text => to_text(&findings, colour),
            Format::Json => to_json(&findings),
        };
        files::write(options.output.as_deref(), &text)?;
        Ok(findings.verdict().1)
    });
    ExitCode::from(written.unwrap_or_else(|message| {
        files::complain(&message);
        3
    }))
}

fn verify(options: &VerifyOptions) -> Result<Findings, String> {
    let loaded = Loaded::open(&options.program)?;
    let name = loaded.name().to_owned();
    let shown = visible(&name).into_owned();
    let (outline, program) = loaded.both().map_err(|error| format!("{shown}: {error}"))?;
    let mut violations = verify_outline(&outline);
    let asked = options.dialect.map(Profile::from);
    let (own, profile) = match program {
        Ok(program) => {
            let profile = asked.unwrap_or(program.dialect.into());
            let operators = AtHand(super::operators::load(&options.operators)?);
            let checks = Options { dim_order: !options.no_dim_order };
            violations.extend(verify_program(&program, profile, &operators, checks));
            (Some(program.dialect), profile)
        }
        // The outline's findings say it better, and all of it.
        Err(error)
            if violations
                .iter()
                .any(|violation| !matches!(violation.rule, Rule::StateRecorded | Rule::ModuleCallValues))
                && matches!(error.kind, ReadErrorKind::Graph | ReadErrorKind::Signature) =>
        {
            (None, asked.unwrap_or(Profile::Training))
        }
        Err(error) => return Err(format!("{shown}: {error}")),
    };
    Ok(Findings { name, own, profile, violations })
}

fn to_text(findings: &Findings, colour: bool) -> String {
    let paint = |text: &str, code: &str| {
        if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let mut text = String::new();
    let (errors, undecided) = (findings.count(Level::Error), findings.count(Level::Undecided));
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
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {} dialect: {outcome}", visible(&findings.name), findings.profile);
    for violation in &findings.violations {
        let (level, code) = match violation.rule.level() {
            Level::Error => ("error", "31"),
            Level::Undecided => ("undecided", "33"),
        };
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
            "level": match violation.rule.level() { Level::Error => "error", Level::Undecided => "undecided" },
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
