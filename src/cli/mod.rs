//! The command line.
//!
//! Exit status: 0 clean; 1 something is violated; 2 wrong usage or spec, or a file named by an option cannot be used; 3
//! the program is unreadable or not supported, or a line of JSON lines is an error; 4 undecided; 70 internal error.
mod annotate;
mod args;
mod asked;
mod bounds_of;
mod certify;
mod check;
mod cost;
mod diff;
mod entail;
mod eval;
mod examples;
mod explain;
mod failure;
mod files;
mod fit;
mod fix;
mod fleet;
mod generated;
mod guards;
mod infer;
mod infer_onnx;
mod jsonl;
mod onnx;
mod operators;
mod ops;
mod ops_edge;
mod pass;
mod plan;
mod profile;
mod programs;
mod progress;
mod replay;
#[cfg(feature = "service")]
mod serve;
mod show;
mod sized;
mod sources;
mod spec;
mod start;
mod verify;

use crate::escape;
use crate::query;
use crate::solve::{Budget, Trace};
use args::Reasoning;
use asked::{ExpressionOptions, GuardSetOptions};
use clap::{Parser, Subcommand};
pub use sources::Sources;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// The exit status of an internal error.
const INTERNAL_ERROR: u8 = 70;

/// The exit status of wrong usage.
const WRONG_USAGE: u8 = 2;

/// Symbolic shape reasoning for exported PyTorch programs.
#[derive(Parser, Debug)]
#[command(version, about, arg_required_else_help = true)]
#[command(after_help = "Where to start, also when torch.export itself failed: sizewise help start")]
struct Options {
    /// The command.
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
enum Command {
    /// Prove that a dynamic-shape spec implies everything an exported program needs, or show an input that violates it.
    #[command(after_help = examples::CHECK)]
    Check(Box<check::CheckOptions>),
    /// Write a dynamic-shape spec: the program's own, or the widest that it supports.
    #[command(after_help = examples::SPEC)]
    #[command(subcommand)]
    Spec(spec::SpecCommand),
    /// Explain why dimensions of a program's inputs are static or what they must satisfy, or what a code
    /// means.
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::ExplainOptions),
    /// Write a program's guards as a self-contained checker of input shapes.
    #[command(after_help = examples::GUARDS)]
    Guards(guards::GuardsOptions),
    /// Write an exported program in another format: text, a .pt2 archive, an ONNX model.
    #[command(after_help = examples::SHOW)]
    Show(show::ShowOptions),
    /// Verify that an exported program follows the rules of its dialect, and report every violation.
    #[command(after_help = examples::VERIFY)]
    Verify(verify::VerifyOptions),
    /// Run passes over an exported program and verify it after each one.
    #[command(after_help = examples::PASS)]
    Pass(pass::PassOptions),
    /// Lower a program to ExecuTorch's Edge dialect, and verify it.
    #[command(after_help = examples::LOWER)]
    Lower(pass::LowerOptions),
    /// Evaluate a program on input shapes: those given as arguments, or JSON lines.
    #[command(after_help = examples::EVAL)]
    Eval(eval::EvalOptions),
    /// Show the user's source with the shapes of the values that each line makes.
    #[command(after_help = examples::ANNOTATE)]
    Annotate(annotate::AnnotateOptions),
    /// Count what a program costs, as expressions in the sizes of its inputs: floating point operations and bytes.
    #[command(after_help = examples::COST)]
    Cost(cost::CostOptions),
    /// Find the least and the greatest sizes of every value of a program, over all inputs that are allowed.
    #[command(after_help = examples::BOUNDS_OF)]
    BoundsOf(bounds_of::BoundsOfOptions),
    /// Plan the memory of a program: one arena with a place for every buffer, valid for all inputs that are allowed.
    #[command(after_help = examples::PLAN)]
    Plan(plan::PlanOptions),
    /// Find the largest size of a dimension with which a program fits in a memory.
    #[command(after_help = examples::FIT)]
    Fit(fit::FitOptions),
    /// Write the shapes between which an engine is to work, or the shapes to which inputs are padded.
    #[command(after_help = examples::PROFILE)]
    Profile(profile::ProfileOptions),
    /// Compare two exports of a program: inputs that one accepts and the other refuses, outputs, guards, the interface.
    #[command(after_help = examples::DIFF)]
    Diff(diff::DiffOptions),
    /// Infer the results of operator calls: JSON lines on standard input and output.
    #[command(after_help = examples::INFER)]
    Infer(infer::InferOptions),
    /// Infer the results of ONNX operator calls: JSON lines on standard input and output.
    #[command(after_help = examples::INFER_ONNX)]
    InferOnnx(infer_onnx::InferOnnxOptions),
    /// List the operators and whether they have a fake kernel.
    #[command(after_help = examples::OPS)]
    Ops(ops::OpsOptions),
    /// Decide whether ranges and assumptions imply a goal: a question given as arguments, or JSON lines.
    #[command(after_help = examples::ENTAIL)]
    Entail(entail::EntailOptions),
    /// Check certificates of answers: proofs that this small checker follows, believing nothing.
    #[command(after_help = examples::CERTIFY)]
    Certify(certify::CertifyOptions),
    /// Simplify an expression under assumptions: given as arguments, or JSON lines.
    #[command(after_help = examples::SIMPLIFY)]
    Simplify(ExpressionOptions),
    /// Remove redundant guards from a set: given as arguments, or JSON lines.
    #[command(after_help = examples::MINIMIZE)]
    Minimize(GuardSetOptions),
    /// Find the least and the greatest value of an expression: given as arguments, or JSON lines.
    #[command(after_help = examples::BOUNDS)]
    Bounds(ExpressionOptions),
    /// Replay what torch asked its ShapeEnv during an export or a compilation, from a recorded trace.
    #[command(after_help = examples::REPLAY)]
    Replay(replay::ReplayOptions),
    /// Write completions for a shell: `sizewise completions bash > /etc/bash_completion.d/sizewise`.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(generated::CompletionOptions),
    /// Write the manual page.
    #[command(after_help = examples::MAN)]
    Man(generated::ManOptions),
    /// Serve all of this over HTTP, with a web page (see docs/service.md).
    #[command(after_help = examples::SERVE)]
    #[cfg(feature = "service")]
    Serve(serve::ServeOptions),
}

/// Runs the program on the process's arguments.
pub fn run() -> ExitCode {
    run_as(std::env::args_os().collect(), true)
}

/// Runs the program within another one on these arguments, the first of which is its name.
pub fn run_on(arguments: Vec<OsString>) -> ExitCode {
    run_as(arguments, false)
}

/// Runs the program; `is_own` says that the process does nothing else.
fn run_as(mut arguments: Vec<OsString>, is_own: bool) -> ExitCode {
    keep_minus_signs(&mut arguments);
    if arguments.iter().skip(1).eq(["help", "start"]) {
        return ended(start::print());
    }
    let mut options = match Options::try_parse_from(&arguments) {
        Ok(options) => options,
        Err(error) => return usage(&error, &arguments),
    };
    if let Command::Check(options) = &mut options.command {
        options.arguments = is_own.then(|| arguments.split_off(1));
    }
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|panic| files::complain(&panic.to_string())));
    }
    let worker = std::thread::Builder::new().stack_size(crate::STACK_BYTES).spawn(move || dispatch(options));
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => status,
        // The panic message has said where.
        Ok(Err(_)) => {
            files::complain("internal error; please report it with the input");
            ExitCode::from(INTERNAL_ERROR)
        }
        Err(error) => {
            files::complain(&format!("no thread can be started: {error}"));
            ExitCode::from(INTERNAL_ERROR)
        }
    }
}

/// Puts a space before expressions that begin with a minus sign, which are no options: `bounds '-x'`.
fn keep_minus_signs(arguments: &mut [OsString]) {
    const REASONING: [&str; 4] = ["entail", "simplify", "minimize", "bounds"];
    if !arguments.get(1).and_then(|a| a.to_str()).is_some_and(|command| REASONING.contains(&command)) {
        return;
    }
    for argument in arguments.iter_mut().skip(2) {
        let Some(text) = argument.to_str() else { continue };
        let is_expression =
            text.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && !rest.starts_with('-'));
        if is_expression && text != "-h" {
            *argument = format!(" {text}").into();
        }
    }
}

/// Prints what is wrong with the arguments, or the help. Quoted arguments may contain anything.
fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let given: Vec<String> = arguments.iter().map(|given| given.to_string_lossy().into_owned()).collect();
    let mut parts: Vec<&str> = given.iter().flat_map(|given| given.split(['=', ','])).collect();
    parts.extend(given.iter().map(String::as_str));
    parts.retain(|part| escape::visible(part) != *part);
    if parts.is_empty() || !error.use_stderr() {
        error.exit();
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    // With its colours: the plain rendering strips characters of the arguments too.
    let text = error.render().ansi().to_string();
    let shown = parts.iter().fold(text, |text, part| text.replace(part, &escape::visible(part)));
    let mut pieces = shown.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_string();
    plain.extend(pieces.map(|piece| piece.split_once('m').map_or("", |(_, text)| text)));
    // Nobody may read it.
    let _ = write!(std::io::stderr(), "{}", escape::lines(&plain));
    ExitCode::from(WRONG_USAGE)
}

/// The answer of a JSON lines command without options to one line of input; `None` for a blank line, and for commands
/// that read no lines or need a program.
pub fn answer_line(command: &str, line: &[u8]) -> Option<String> {
    let reply = match Options::try_parse_from(["sizewise", command]).ok()?.command {
        Command::Infer(_) => {
            let operators = crate::kernels::Operators::new();
            jsonl::answer_line(&|request| query::infer::answer(&operators, request), line)
        }
        Command::InferOnnx(_) => jsonl::answer_line(&infer_onnx::answer, line),
        Command::Entail(options) => jsonl::answer_line(&|request| entail::answer(&options, request), line),
        Command::Simplify(options) => answered(&options.reasoning, query::simplify::answer, line),
        Command::Minimize(options) => answered(&options.reasoning, query::minimize::answer, line),
        Command::Bounds(options) => answered(&options.reasoning, query::bounds::answer, line),
        _ => None,
    };
    reply.map(|(text, _)| text)
}

/// Runs a command, and prints the message of its failure.
fn dispatch(options: Options) -> ExitCode {
    let result = match options.command {
        Command::Check(options) => check::run(*options),
        Command::Spec(command) => spec::run(&command),
        Command::Explain(options) => explain::run(&options),
        Command::Guards(options) => guards::run(&options),
        Command::Show(options) => show::run(&options),
        Command::Verify(options) => verify::run(&options),
        Command::Pass(options) => pass::run(&options),
        Command::Lower(options) => pass::lower(&options),
        Command::Eval(options) => eval::run(&options),
        Command::Annotate(options) => annotate::run(&options),
        Command::Cost(options) => cost::run(&options),
        Command::BoundsOf(options) => bounds_of::run(&options),
        Command::Plan(options) => plan::run(&options),
        Command::Fit(options) => fit::run(&options),
        Command::Profile(options) => profile::run(&options),
        Command::Diff(options) => diff::run(&options),
        Command::Infer(options) => infer::run(&options),
        Command::InferOnnx(options) => infer_onnx::run(&options),
        Command::Ops(options) => ops::run(&options),
        Command::Entail(options) => entail::run(&options),
        Command::Certify(options) => certify::run(&options),
        Command::Simplify(options) => match asked::about(&options) {
            Some(request) => asked::simplified(ask(&options.reasoning, query::simplify::answer, &request)),
            None => Ok(reason(&options.reasoning, query::simplify::answer)),
        },
        Command::Minimize(options) => match asked::among(&options) {
            Some(request) => asked::minimized(ask(&options.reasoning, query::minimize::answer, &request)),
            None => Ok(reason(&options.reasoning, query::minimize::answer)),
        },
        Command::Bounds(options) => match asked::about(&options) {
            Some(request) => asked::bounded(ask(&options.reasoning, query::bounds::answer, &request)),
            None => Ok(reason(&options.reasoning, query::bounds::answer)),
        },
        Command::Completions(options) => generated::completions::<Options>(&options),
        Command::Man(options) => generated::man::<Options>(&options),
        Command::Replay(options) => replay::run(&options),
        #[cfg(feature = "service")]
        Command::Serve(options) => serve::run(&options),
    };
    ended(result)
}

/// The exit status; what went wrong is said.
fn ended(result: Result<ExitCode, failure::Failure>) -> ExitCode {
    result.unwrap_or_else(|failure| {
        files::complain(&failure.message);
        ExitCode::from(failure.status)
    })
}

/// Answers a question on expressions.
type Reasoned = fn(&query::Fields, &Budget, &mut Trace) -> Result<query::Fields, query::Refusal>;

/// The answer to one request.
fn ask(
    options: &Reasoning,
    answer: Reasoned,
    request: &query::Fields,
) -> Result<query::Fields, query::Refusal> {
    answer(request, &options.budget(), &mut options.trace())
}

fn answered(options: &Reasoning, answer: Reasoned, line: &[u8]) -> Option<jsonl::Reply> {
    jsonl::answer_line(&|request| answer(request, &options.budget(), &mut options.trace()), line)
}

/// Answers questions on expressions, one a line.
fn reason(options: &Reasoning, answer: Reasoned) -> ExitCode {
    jsonl::run(options.jsonl.jobs, &|request| answer(request, &options.budget(), &mut options.trace()))
}
