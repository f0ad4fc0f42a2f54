//! Batches: JSON lines in, answers out in the same order, both streamed. The work is done in short turns, so that a
//! long batch leaves room for other requests.
use super::app::App;
use super::auth::Holder;
use super::envs::Slot;
use super::intake::{Broken, Lines};
use super::lanes::Lane;
use super::problem::{Code, Problem};
use super::text::Text;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream::{FuturesOrdered, poll_fn};
use sizewise_check::query::{self, Environment, Fields, Refusal};
use sizewise_expr::is_cancelled;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The most lines of one piece of work.
const CHUNK: usize = 32;
/// The length of a turn in the short lane; short enough not to be cancelled.
const SHORT_TURN: Duration = Duration::from_millis(5);
/// The length of a turn in the long lane.
const LONG_TURN: Duration = Duration::from_millis(100);
/// Lines that the engine answers between two looks at the clock.
const STRIDE: usize = 8;

/// Answers requests in order, on a worker thread.
pub type Answers = Arc<Answering>;

type Answering =
    dyn Fn(&App, &mut Option<Environment>, &[Fields]) -> Vec<Result<Text, Refusal>> + Send + Sync;

/// How a batch is answered.
#[derive(Clone)]
pub struct Batch {
    /// Answers requests.
    pub answers: Answers,
    /// The environment, if the questions are about one; then pieces of work run one after the other.
    pub env: Option<Slot>,
    /// The holder of the token.
    pub holder: Option<Holder>,
    /// The time limit of an answer.
    pub deadline: Option<Duration>,
}

/// Starts to answer the lines of a body.
///
/// # Errors
/// [`Code::Busy`] when as many batches run as are allowed.
pub fn respond(app: &Arc<App>, batch: Batch, body: Body) -> Result<Response, Problem> {
    let permit = Arc::clone(&app.batches)
        .try_acquire_owned()
        .map_err(|_| Problem::new(Code::Busy, "as many batches are running as are allowed").retry_after(1))?;
    let (out, mut answers) = mpsc::channel::<Result<Bytes, std::convert::Infallible>>(4);
    let accepted = app.accept();
    let app = Arc::clone(app);
    tokio::spawn(async move {
        let _held = (permit, accepted);
        drive(&app, &batch, body, &out).await;
    });
    let mut response = Response::new(Body::from_stream(poll_fn(move |context| answers.poll_recv(context))));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

type Out = mpsc::Sender<Result<Bytes, std::convert::Infallible>>;

async fn drive(app: &Arc<App>, batch: &Batch, body: Body, out: &Out) {
    let limits = &app.config.limits;
    let mut lines = Lines::new(body, limits.line, limits.patience);
    let parallel = if batch.env.is_some() { 1 } else { app.config.workers.max(1) + 1 };
    let mut pending = FuturesOrdered::new();
    let (mut reading, mut count, mut last) = (true, 0u64, None);
    while reading || !pending.is_empty() {
        tokio::select! {
            biased;
            () = app.until_cut_off() => {
                last = Some(ended(Code::Draining, "the service stops: the batch ends here"));
                break;
            }
            Some(text) = pending.next(), if !pending.is_empty() => {
                let text: Result<Vec<u8>, Problem> = text;
                match text {
                    Ok(text) => if !send(app, out, text.into()).await { return },
                    Err(problem) => {
                        last = Some(ended(problem.code, &format!("{}: the batch ends here", problem.code.title())));
                        break;
                    }
                }
            }
            more = lines.next(CHUNK), if reading && pending.len() < parallel => match more {
                Ok(chunk) if chunk.is_empty() => reading = false,
                Ok(mut chunk) => {
                    let left = usize::try_from(limits.queries - count).unwrap_or(usize::MAX);
                    if chunk.len() > left {
                        chunk.truncate(left);
                        reading = false;
                        let message = format!("a batch has at most {} queries", limits.queries);
                        last = Some(ended(Code::TooLarge, &message));
                    }
                    count += chunk.len() as u64;
                    pending.push_back(chunk_answers(Arc::clone(app), batch.clone(), chunk));
                }
                Err(broken) => {
                    reading = false;
                    last = Some(match broken {
                        Broken::TooLong => {
                            ended(Code::TooLarge, &format!("a line has at most {} bytes", limits.line))
                        }
                        Broken::Slow => ended(Code::SlowBody, "no line arrived in time"),
                        // Nobody is there to read it, most likely.
                        Broken::Off(why) => ended(Code::BrokenBody, &why),
                    });
                }
            },
        }
    }
    if let Some(last) = last {
        send(app, out, last).await;
    }
}

/// A last line that says why the batch ends early.
fn ended(code: Code, message: &str) -> Bytes {
    let error = serde_json::json!({"kind": "ended", "code": code.name(), "message": message});
    let mut text = serde_json::json!({"id": null, "error": error}).to_string();
    text.push('\n');
    sizewise_expr::escape::json_text(text).into()
}

/// Sends a text to the client; false if nobody reads it any more.
async fn send(app: &App, out: &Out, text: Bytes) -> bool {
    matches!(tokio::time::timeout(app.config.limits.patience, out.send(Ok(text))).await, Ok(Ok(())))
}

async fn chunk_answers(app: Arc<App>, batch: Batch, lines: Vec<Bytes>) -> Result<Vec<u8>, Problem> {
    let (mut text, mut lines, mut lane) = (Vec::new(), lines, Lane::Short);
    while !lines.is_empty() {
        app.has_memory()?;
        let guard = match &batch.env {
            Some(slot) => Some(Arc::clone(slot).lock_owned().await),
            None => None,
        };
        let place = app.workers.admit_later(lane, batch.holder).await?;
        let (state, answers, left) = (Arc::clone(&app), Arc::clone(&batch.answers), lines.len());
        let turn = move || {
            let mut guard = guard;
            let mut nobody = None;
            let standing = guard.as_deref_mut().unwrap_or(&mut nobody);
            let length = if lane == Lane::Short { SHORT_TURN } else { LONG_TURN };
            take_turn(&state, standing, &*answers, lines, (text, length))
        };
        (text, lines) = app.workers.turn(place, batch.deadline, turn).await?;
        // Lines that are too much for a turn of the short lane get one of the long lane.
        let is_stuck = lane == Lane::Short && lines.len() == left;
        lane = if is_stuck { Lane::Long } else { Lane::Short };
        app.metrics.work.moved.inc_by(u64::from(is_stuck));
    }
    Ok(text)
}

/// Answers lines for the length of a turn, at least a few unless it is cancelled; returns the text of the answers and
/// the remaining lines.
fn take_turn(
    app: &App,
    standing: &mut Option<Environment>,
    answers: &Answering,
    mut lines: Vec<Bytes>,
    (mut text, length): (Vec<u8>, Duration),
) -> (Vec<u8>, Vec<Bytes>) {
    let start = Instant::now();
    while !lines.is_empty() && start.elapsed() < length {
        let some = &lines[..STRIDE.min(lines.len())];
        let answered = answer_lines(app, standing, answers, some);
        if is_cancelled() {
            break;
        }
        text.extend_from_slice(&answered);
        lines.drain(..STRIDE.min(lines.len()));
    }
    (text, lines)
}

/// The text of the answers to some lines.
fn answer_lines(
    app: &App,
    standing: &mut Option<Environment>,
    answers: &Answering,
    lines: &[Bytes],
) -> Vec<u8> {
    let (mut ids, mut requests, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        match query::parse_line(line) {
            Ok(mut request) => {
                ids.push(request.remove("id").unwrap_or_default());
                requests.push(request);
                refusals.push(None);
            }
            Err(refusal) => refusals.push(Some(refusal)),
        }
    }
    let mut text = Vec::new();
    let mut answered = ids.iter().zip(answers(app, standing, &requests));
    for refusal in refusals {
        match refusal {
            Some(refusal) => Text::refusal(refusal).write(&serde_json::Value::Null, &mut text),
            None => match answered.next() {
                Some((id, Ok(answer))) => answer.write(id, &mut text),
                Some((id, Err(refusal))) => Text::refusal(refusal).write(id, &mut text),
                None => continue,
            },
        }
        text.push(b'\n');
    }
    text
}
