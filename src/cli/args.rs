//! Arguments that several commands share.
use crate::kernels::Backend;
use crate::report::{ReportForm, Style};
use crate::solve::{Budget, Trace};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use std::io::IsTerminal;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Options of commands that answer JSON lines.
#[derive(Args, Debug)]
pub struct Jsonl {
    /// The number of threads; answers stay in input order.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

/// Options of the commands that reason about expressions.
#[derive(Args, Debug)]
pub struct Reasoning {
    /// Add a field `explain`: the methods that were tried, in order, with their outcomes.
    #[arg(long)]
    pub explain: bool,
    /// The multiple of the default work budget that a request may use. An answer that needs more is unknown; its
    /// `reason` names the limit that ran out.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub budget: u32,
    /// Options for JSON lines.
    #[command(flatten)]
    pub jsonl: Jsonl,
}

impl Reasoning {
    /// The budget of a request.
    pub fn budget(&self) -> Budget {
        Budget::default().times(self.budget)
    }

    /// A trace that records attempts if they are to be explained.
    pub fn trace(&self) -> Trace {
        if self.explain { Trace::on() } else { Trace::off() }
    }
}

/// How much work a command may do on one question.
#[derive(Args, Debug)]
pub struct Effort {
    /// The multiple of the default work budget that one condition may use. What needs more stays undecided.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub budget: u32,
}

impl Effort {
    /// The budget of a question.
    pub fn budget(&self) -> Budget {
        Budget::default().times(self.budget)
    }
}

/// Files that declare custom operators.
#[derive(Args, Debug, Default)]
pub struct OperatorFiles {
    /// A TOML file that declares custom operators (see docs/operators.md); may be repeated.
    #[arg(long = "ops", value_name = "OPS.toml")]
    pub ops: Vec<PathBuf>,
}

/// The operators of a program, and the backend that runs them.
#[derive(Args, Debug, Default)]
pub struct Kernels {
    /// Custom operators.
    #[command(flatten)]
    pub files: OperatorFiles,
    /// The backend whose kernels run the program; an ONNX model runs on onnxruntime, which `cpu` stands for there, or
    /// any. `any` requires only what every backend requires (see docs/backends.md).
    #[arg(long, default_value_t = Backend::Cpu, value_parser = backend())]
    pub backend: Backend,
}

/// Reads a [`Backend`].
pub fn backend() -> impl TypedValueParser<Value = Backend> {
    let names = Backend::ALL.iter().map(|(name, _)| *name).chain([Backend::ONNXRUNTIME]);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Backend>())
}

/// The options that a command was given, by name. What an ONNX model knows nothing of is refused, never ignored.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<String>);

impl Given {
    /// Whether this option was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|given| given == name)
    }

    /// The first option that is none of these.
    pub fn other_than(&self, known: &[&str]) -> Option<&str> {
        self.0.iter().map(String::as_str).find(|given| !known.contains(given))
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, clap::Error> {
        let is_given = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        // Groups have the names of types.
        let is_argument = |id: &&clap::Id| id.as_str().starts_with(|c: char| c.is_ascii_lowercase());
        let given = matches.ids().filter(is_argument).filter(is_given);
        Ok(Given(given.map(|id| id.as_str().replace('_', "-")).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

/// Reads a [`ReportForm`] that is written to files.
pub fn report_form() -> impl TypedValueParser<Value = ReportForm> {
    let forms = ReportForm::ALL.iter().filter(|(form, ..)| form.is_of_check());
    let values = forms.map(|(_, name, about)| PossibleValue::new(name).help(*about));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ReportForm>())
}

/// The program of a command.
#[derive(Args, Debug)]
pub struct ProgramFile {
    /// What the command was given. First: what is read of the arguments is taken away from them.
    #[command(flatten)]
    pub given: Given,
    /// The exported program: a .pt2 file, or - for standard input; `annotate`, `bounds-of`, `check`, `cost`, `eval`, `fit`, `guards`, `plan`, `profile` and `show` also read ONNX
    /// models, and `show`, `verify`, `pass` and `lower` text.
    #[arg(value_name = "PROGRAM")]
    pub path: PathBuf,
    /// The program of an archive that holds several.
    #[command(flatten)]
    pub choice: ModelChoice,
}

/// The choice of a program in an archive.
#[derive(Args, Debug)]
pub struct ModelChoice {
    /// The program's name in an archive that holds several. By default, `check` checks all of them; other commands use
    /// the one called `model`.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

impl Deref for ProgramFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

/// The formats of a report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// On terminals, unless NO_COLOR or CLICOLOR=0 is set or TERM is dumb; always if FORCE_COLOR or CLICOLOR_FORCE is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The widest text that lines are broken to: wider ones are hard to read.
const MAX_WIDTH: usize = 120;

impl Colour {
    /// Whether to use colour in a report that goes to this file, or to standard output. Files get no colour.
    pub fn on_stdout(self, output: Option<&Path>) -> bool {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let forced = |name: &str| set(name).is_some_and(|value| value != "0");
        let wanted = match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto if set("NO_COLOR").is_some() => false,
            Colour::Auto if forced("FORCE_COLOR") || forced("CLICOLOR_FORCE") => true,
            Colour::Auto => {
                let is_off =
                    set("CLICOLOR").as_deref() == Some("0") || set("TERM").as_deref() == Some("dumb");
                std::io::stdout().is_terminal() && !is_off
            }
        };
        output.is_none() && wanted
    }

    /// The style of a report that goes to this file, or to standard output. On a terminal, lines are broken at its width.
    pub fn style(self, output: Option<&Path>) -> Style {
        let is_terminal = output.is_none() && std::io::stdout().is_terminal();
        let width = terminal_size::terminal_size().filter(|_| is_terminal);
        let width = width.map(|(terminal_size::Width(width), _)| usize::from(width).min(MAX_WIDTH));
        Style { colour: self.on_stdout(output), width, ..Style::default() }
    }
}
