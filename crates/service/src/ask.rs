//! Answers questions on expressions and operators from the cache, or by the engine.
use super::app::App;
use super::cache::{Key, key};
use super::text::Text;
use super::work::or_bug;
use serde_json::Value;
use sizewise_check::query::entail::{Question, Settled};
use sizewise_check::query::{self, Ask, Environment, Fields, Refusal};
use sizewise_expr::is_cancelled;
use sizewise_kernels::{Backend, Operators};
use sizewise_solve::{Trace, Verdict};

/// A question to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Do facts imply a goal?
    Entail {
        /// With a proof.
        proof: bool,
        /// With a certificate.
        certificate: bool,
        /// With the outcome of each rung.
        explain: bool,
    },
    /// The smallest equal expression.
    Simplify,
    /// The smallest equivalent set of guards.
    Minimize,
    /// Exact bounds.
    Bounds,
    /// The result of an operator call.
    Infer(Backend),
}

impl Command {
    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            Command::Entail { .. } => "entail",
            Command::Simplify => "simplify",
            Command::Minimize => "minimize",
            Command::Bounds => "bounds",
            Command::Infer(_) => "infer",
        }
    }
}

/// A command with the percentage of the budget that it may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The command.
    pub command: Command,
    /// The percentage of the budget for each answer.
    pub share: u32,
}

/// The refusal when the engine panics.
fn bug() -> Refusal {
    Refusal::no_result("internal", "internal error in the engine; please report it with the request")
}

/// The cache key of a request without its `id`.
pub fn memory_key(asked: Asked, request: &Fields) -> Key {
    let options: u8 = match asked.command {
        Command::Entail { proof, certificate, explain } => {
            u8::from(proof) + 2 * u8::from(explain) + 4 * u8::from(certificate)
        }
        Command::Infer(backend) => backend as u8,
        _ => 0,
    };
    let text = serde_json::to_vec(request).unwrap_or_default();
    key(&[asked.command.name().as_bytes(), &[options], &asked.share.to_le_bytes(), &text])
}

/// Answers requests without their `id`s, in order. Blocks; call it on a worker thread. If it is cancelled, the answers
/// are meaningless and are not cached.
pub fn answer(app: &App, asked: Asked, requests: &[Fields]) -> Vec<Result<Text, Refusal>> {
    let mut answers: Vec<Result<Text, Refusal>> = Vec::with_capacity(requests.len());
    for request in requests {
        if is_cancelled() {
            answers.push(Err(bug()));
            continue;
        }
        let memory = memory_key(asked, request);
        if let Some(known) = app.cache.recall(&memory) {
            answers.push(Ok(known));
            continue;
        }
        let mut decided = None;
        let answer = or_bug(|| compute(app, asked, request, &mut decided));
        let answer = answer.unwrap_or_else(|_| Err(counted_bug(app)));
        if !is_cancelled() {
            app.metrics.misses.inc();
            count(app, decided);
            if let Ok(text) = &answer {
                app.cache.remember(memory, text.clone());
            }
        }
        answers.push(answer);
    }
    if !is_cancelled() {
        app.metrics.queries.with_label_values(&[asked.command.name()]).inc_by(requests.len() as u64);
    }
    answers
}

fn counted_bug(app: &App) -> Refusal {
    app.metrics.panics.inc();
    bug()
}

/// A verdict of the engine, and the rung that decided.
type Decision = (&'static str, &'static str);

fn count(app: &App, decided: Option<Decision>) {
    let Some((verdict, rung)) = decided else { return };
    app.metrics.decided.with_label_values(&[verdict, rung]).inc();
    if verdict == "unknown" {
        app.metrics.exhausted.with_label_values(&["entail"]).inc();
    }
}

/// Computes an answer that is not cached; `decided` receives the verdict.
fn compute(
    app: &App,
    asked: Asked,
    request: &Fields,
    decided: &mut Option<Decision>,
) -> Result<Text, Refusal> {
    let budget = app.budget.percent(asked.share);
    let fields = match asked.command {
        Command::Entail { proof, certificate, explain } => {
            let mut question = Question::read(request)?;
            let settled = question.decide(&budget);
            if is_cancelled() {
                return Err(Refusal::no_result("cancelled", "the work was cancelled"));
            }
            *decided = Some(decision(&settled));
            let mut reply = question.reply(&settled);
            if explain {
                reply.insert("explain".into(), Question::explanation(&settled));
            }
            question.prove(&settled, (proof, certificate), &mut reply);
            reply
        }
        Command::Simplify => query::simplify::answer(request, &budget, &mut Trace::off())?,
        Command::Minimize => query::minimize::answer(request, &budget, &mut Trace::off())?,
        Command::Bounds => query::bounds::answer(request, &budget, &mut Trace::off())?,
        Command::Infer(backend) => query::infer::answer(&Operators::new().on(backend), request)?,
    };
    Ok(Text::answer(fields))
}

/// The verdict and the rung that decided.
fn decision(settled: &Settled) -> Decision {
    let verdict = match &settled.answer.verdict {
        Verdict::Implied { .. } => "implied",
        Verdict::Refuted { .. } => "refuted",
        Verdict::Inconsistent { .. } => "inconsistent",
        Verdict::Unknown { .. } => "unknown",
    };
    (verdict, settled.answer.decided_by.name())
}

/// Answers requests under the facts of an environment, in order. After a panic the facts are not used again. As with
/// [`answer`], nothing is kept of what was cancelled.
pub fn answer_in(
    app: &App,
    standing: &mut Option<Environment>,
    ask: Ask,
    share: u32,
    requests: &[Fields],
) -> Vec<Result<Text, Refusal>> {
    let budget = app.budget.percent(share);
    let command = match ask {
        Ask::Entail => "entail",
        Ask::Simplify => "simplify",
        Ask::Bounds => "bounds",
    };
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        if is_cancelled() {
            break;
        }
        let Some(mut facts) = standing.take() else {
            answers
                .push(Err(Refusal::no_result("internal", "the environment was lost to an internal error")));
            continue;
        };
        answers.push(match or_bug(|| (facts.ask(ask, request, &budget), facts)) {
            Ok((answer, facts)) => {
                *standing = Some(facts);
                if let (Ok(fields), false) = (&answer, is_cancelled()) {
                    count_fields(app, fields);
                }
                answer.map(Text::answer)
            }
            Err(_) => Err(counted_bug(app)),
        });
    }
    if !is_cancelled() {
        app.metrics.queries.with_label_values(&[command]).inc_by(requests.len() as u64);
    }
    answers
}

fn count_fields(app: &App, fields: &Fields) {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    if let (Some(verdict), Some(rung)) = (text("verdict"), text("decided_by")) {
        app.metrics.decided.with_label_values(&[verdict, rung]).inc();
        if verdict == "unknown" {
            app.metrics.exhausted.with_label_values(&["entail"]).inc();
        }
    }
}
