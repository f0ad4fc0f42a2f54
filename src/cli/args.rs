//! Commands and their options.
use crate::decide::{Budget, Trace};
use crate::fake::Backend;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Symbolic shape reasoning for exported PyTorch programs.
#[derive(Parser, Debug)]
#[command(version, about, arg_required_else_help = true)]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Prove that a dynamic-shape spec implies everything an exported program needs, or show an input that breaks it.
    Check(CheckOptions),
    /// Write a spec: the one that a program has, or the widest one that it serves.
    #[command(subcommand)]
    Spec(SpecCommand),
    /// Say why dimensions of a program's inputs are static, or what they have to satisfy; or what a diagnostic's code means.
    Explain(ExplainOptions),
    /// Write a program's guards as a self-contained checker of input shapes.
    Guards(GuardsOptions),
    /// Write an exported program in another form: text, a .pt2 archive, an ONNX model.
    Show(super::show::ShowOptions),
    /// Hold an exported program to the rules of its dialect and report every violation.
    Verify(super::verify::VerifyOptions),
    /// Run passes over an exported program and verify it after each one.
    Pass(super::pass::PassOptions),
    /// Take a functional ATen program to ExecuTorch's Edge dialect, and verify it.
    Lower(super::pass::LowerOptions),
    /// Say what happens to inputs of given shapes: JSON lines on standard input and output.
    Eval(EvalOptions),
    /// Infer the result of operator calls: JSON lines on standard input and output.
    Infer(InferOptions),
    /// List the operators and whether they have a fake kernel.
    Ops(OpsOptions),
    /// Decide whether ranges and assumptions imply a goal: JSON lines on standard input and output.
    Entail(EntailOptions),
    /// Simplify expressions under ranges and assumptions: JSON lines on standard input and output.
    Simplify(Reasoning),
    /// Leave redundant guards out of sets of guards: JSON lines on standard input and output.
    Minimize(Reasoning),
    /// Find the least and the greatest value of expressions: JSON lines on standard input and output.
    Bounds(Reasoning),
    /// Serve all of this over HTTP, with a page for people (see docs/service.md).
    #[cfg(feature = "service")]
    Serve(super::serve::ServeOptions),
}

/// Options of the commands that answer JSON lines.
#[derive(Args, Debug)]
pub struct Jsonl {
    /// How many threads answer; the answers come in input order all the same.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

/// Options of the commands that reason about expressions.
#[derive(Args, Debug)]
pub struct Reasoning {
    /// Add a field `explain`: what was tried, in order, and what came of it.
    #[arg(long)]
    pub explain: bool,
    /// How many times the usual amount of work a request may take before the answer is unknown; the `reason` names the limit that ran out.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub budget: u32,
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
}

impl Reasoning {
    /// The work that a request may take.
    pub fn budget(&self) -> Budget {
        Budget::default().times(self.budget)
    }

    /// An empty record, where attempts are to be explained.
    pub fn trace(&self) -> Trace {
        if self.explain { Trace::on() } else { Trace::off() }
    }
}

/// Options of `entail`.
#[derive(Args, Debug)]
pub struct EntailOptions {
    /// Add a field `proof`: the steps by which the premises imply the goal.
    #[arg(long)]
    pub proof: bool,
    /// Write each question as an SMT-LIB 2 file, which any solver can check again.
    #[arg(long, value_name = "DIR")]
    pub emit_smt2: Option<PathBuf>,
    /// How questions are reasoned about, and answered.
    #[command(flatten)]
    pub reasoning: Reasoning,
}

/// Files that declare custom operators.
#[derive(Args, Debug)]
pub struct OperatorFiles {
    /// Declarations of custom operators, TOML (see docs/operators.md); may be given several times.
    #[arg(long = "ops", value_name = "OPS.toml")]
    pub ops: Vec<PathBuf>,
}

/// The operators of a program, and what runs them.
#[derive(Args, Debug)]
pub struct Kernels {
    /// Custom operators.
    #[command(flatten)]
    pub files: OperatorFiles,
    /// The backend whose kernels run the program; `any` requires only what every backend requires (see docs/backends.md).
    #[arg(long, default_value_t = Backend::Cpu, value_parser = backend())]
    pub backend: Backend,
}

/// Reads a [`Backend`].
fn backend() -> impl TypedValueParser<Value = Backend> {
    PossibleValuesParser::new(Backend::ALL.map(|(name, _)| name)).try_map(|name| name.parse::<Backend>())
}

/// Options of `infer`.
#[derive(Args, Debug)]
pub struct InferOptions {
    /// Add a field `explain`: what settled each condition of the operator.
    #[arg(long)]
    pub explain: bool,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
}

/// Options of `ops`.
#[derive(Args, Debug)]
pub struct OpsOptions {
    /// List only operators without a kernel.
    #[arg(long)]
    pub missing: bool,
    /// The form of the list.
    #[arg(long, value_enum, default_value_t = CoverageFormat::Text)]
    pub format: CoverageFormat,
    /// A folder of tables of operator calls, to count their lines for each operator.
    #[arg(long, value_name = "FOLDER")]
    pub tables: Option<PathBuf>,
    /// Print the dtypes that an operator of the Edge dialect takes and gives, as in `aten.add.Tensor`.
    #[arg(long, value_name = "OP", conflicts_with_all = ["missing", "tables"])]
    pub edge: Option<String>,
    /// The dtypes that Edge operators take, in the form of ExecuTorch's edge.yaml; its own by default.
    #[arg(long, value_name = "FILE", requires = "edge")]
    pub edge_yaml: Option<PathBuf>,
    /// Custom operators.
    #[command(flatten)]
    pub operators: OperatorFiles,
}

/// The forms of the list of operators.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoverageFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For documents.
    Markdown,
}

/// The program that a command is about.
#[derive(Args, Debug)]
pub struct ProgramFile {
    /// The exported program: a .pt2 file, or - for standard input; `show`, `verify`, `pass` and `lower` take a text form too.
    #[arg(value_name = "PROGRAM")]
    pub path: PathBuf,
    /// Which program of an archive that holds several; by default the one called `model`.
    #[command(flatten)]
    pub choice: ModelChoice,
}

/// Which program of an archive is meant.
#[derive(Args, Debug)]
pub struct ModelChoice {
    /// The program's name, in an archive that holds several; by default `check` takes all of them, other commands the one called `model`.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

impl Deref for ProgramFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The dynamic-shape spec, JSON; without it, the program's own ranges and guards are assumed.
    #[arg(long, value_name = "SPEC.json")]
    pub spec: Option<PathBuf>,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Where to write the report; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
    /// Write the spec as the first fix changes it; the report is then that of the changed spec.
    #[arg(long, value_name = "FILE", requires = "spec")]
    pub fix: Option<PathBuf>,
    /// Write each question that the check decides as an SMT-LIB 2 file, which any solver can check again.
    #[arg(long, value_name = "DIR")]
    pub emit_smt2: Option<PathBuf>,
    /// Say how long each phase took; reports then differ from run to run.
    #[arg(long)]
    pub timings: bool,
    /// How many threads decide a program's conditions, where there are many; the report is the same.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

/// What spec to write.
#[derive(Subcommand, Debug)]
pub enum SpecCommand {
    /// The spec that the program has: named dimensions in the ranges that it records; or what additional examples make dynamic.
    Init {
        /// What is written, and where.
        #[command(flatten)]
        options: SpecOptions,
        /// An additional example, such as '{"x": [3, 8]}': sizes that differ from the traced ones become dynamic; may be given several
        /// times.
        #[arg(long = "example", value_name = "JSON")]
        examples: Vec<String>,
    },
    /// The widest spec that the program serves: any size, narrowed by proved fixes.
    Widen(SpecOptions),
}

/// Options of `spec`.
#[derive(Args, Debug)]
pub struct SpecOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// Where to write the spec; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `explain`.
#[derive(Args, Debug)]
pub struct ExplainOptions {
    /// The exported program (a .pt2 file, or - for standard input), or a code such as guard-not-implied.
    pub program: PathBuf,
    /// Which program of an archive.
    #[command(flatten)]
    pub choice: ModelChoice,
    /// A dimension: x.shape[0], or x.0; may be given several times. All of them by default.
    #[arg(long, value_name = "DIM")]
    pub dim: Vec<String>,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// The form of the answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Where to write the answer; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// Options of `guards`.
#[derive(Args, Debug)]
pub struct GuardsOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The language of the checker.
    #[arg(long, value_enum, default_value_t = GuardLanguage::Python)]
    pub emit: GuardLanguage,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// Where to write the checker; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The languages of checkers.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardLanguage {
    /// A function `check(inputs)` that returns None or a reason.
    Python,
    /// A function `check` that returns a Result.
    Rust,
    /// A function `sizewise_check` that returns NULL or a reason.
    C,
    /// Sizes and conditions as data.
    Json,
}

/// Options of `eval`.
#[derive(Args, Debug)]
pub struct EvalOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// How requests are answered.
    #[command(flatten)]
    pub jsonl: Jsonl,
}

/// The forms of a report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The forms of the report of a check.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// As torch words constraint violations, with fixes that torch can read; empty where nothing is violated.
    Torch,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands, which GitHub shows beside the lines.
    Github,
    /// A page, all in one file.
    Html,
}

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// On terminals, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    /// Whether to use colour on an output that is or is no terminal.
    pub fn enabled(self, terminal: bool) -> bool {
        match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        }
    }
}
