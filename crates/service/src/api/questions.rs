//! Questions on expressions and operators: `/v1/entail`, `/v1/simplify`, `/v1/minimize`, `/v1/bounds`, `/v1/infer`.
use super::envs::Owner;
use super::params::{self, Effort, EntailParams};
use super::schema::{
    BoundsAnswer, BoundsRequest, EntailAnswer, EntailRequest, InferAnswer, InferRequest, MinimizeAnswer,
    MinimizeRequest, SimplifyAnswer, SimplifyRequest,
};
use crate::app::App;
use crate::ask::{self, Asked, Command, Text};
use crate::auth::Holder;
use crate::batch::{self, Batch};
use crate::intake::{self, Media};
use crate::problem::{Code, Problem, not_json};
use crate::work::Job;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use serde_json::Value;
use sizewise_check::query::{Fields, Refusal};
use sizewise_ir::keys;
use std::sync::Arc;

/// Says whether an answer comes from the cache.
pub const CACHE_HEADER: HeaderName = HeaderName::from_static("sizewise-cache");

type Params<T> = Result<Query<T>, QueryRejection>;

/// Do ranges and assumptions imply a goal?
#[utoipa::path(
    post,
    path = "/v1/entail",
    tag = "questions",
    params(EntailParams),
    request_body(content((EntailRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The verdict; of a batch, one a line, in the order of the requests",
        content((EntailAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn entail(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: Params<EntailParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = params::read(query)?;
    let command = Command::Entail { proof: params.proof, explain: params.explain };
    answer(&app, holder, (command, params.effort()), &headers, body).await
}

/// The smallest expression that is equal under ranges and assumptions.
#[utoipa::path(
    post,
    path = "/v1/simplify",
    tag = "questions",
    params(Effort),
    request_body(content((SimplifyRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The expression; of a batch, one a line",
        content((SimplifyAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn simplify(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: Params<Effort>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    answer(&app, holder, (Command::Simplify, params::read(query)?), &headers, body).await
}

/// An equivalent set of guards without redundant members.
#[utoipa::path(
    post,
    path = "/v1/minimize",
    tag = "questions",
    params(Effort),
    request_body(content((MinimizeRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The guards; of a batch, one set a line",
        content((MinimizeAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn minimize(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: Params<Effort>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    answer(&app, holder, (Command::Minimize, params::read(query)?), &headers, body).await
}

/// The least and the greatest value of an expression.
#[utoipa::path(
    post,
    path = "/v1/bounds",
    tag = "questions",
    params(Effort),
    request_body(content((BoundsRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The bounds; of a batch, one pair a line",
        content((BoundsAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn bounds(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: Params<Effort>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    answer(&app, holder, (Command::Bounds, params::read(query)?), &headers, body).await
}

/// What an operator call returns.
#[utoipa::path(
    post,
    path = "/v1/infer",
    tag = "questions",
    params(Effort),
    request_body(content((InferRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "What the call returns, or why PyTorch refuses it; of a batch, one a line",
        content((InferAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn infer(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: Params<Effort>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    answer(&app, holder, (Command::Infer, params::read(query)?), &headers, body).await
}

async fn answer(
    app: &Arc<App>,
    holder: Option<Holder>,
    (command, effort): (Command, Effort),
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (share, deadline) = (effort.share()?, effort.deadline()?);
    let asked = Asked { command, share };
    if intake::media(headers, &[Media::Json, Media::Lines])? == Media::Lines {
        let answers = Arc::new(move |app: &App, _: &mut Option<_>, requests: &[Fields]| {
            ask::answer(app, asked, requests)
        });
        return batch::respond(app, Batch { answers, env: None, holder, deadline }, body);
    }
    let One { id, request, bytes } = one(app, headers, body).await?;
    // What memory holds is answered at once, without a worker.
    if let Some(text) = app.cache.recall(&ask::memory_key(asked, &request)) {
        app.metrics.queries.with_label_values(&[command.name()]).inc();
        return Ok(found(&id, &text, "hit"));
    }
    app.has_memory()?;
    let state = Arc::clone(app);
    let job = Job { holder, bytes, deadline };
    let requests = [request];
    let mut answers = app.workers.run(job, move || ask::answer(&state, asked, &requests)).await?;
    settle(&id, answers.pop())
}

/// The one request in a JSON body.
pub struct One {
    /// Its `id`.
    pub id: Value,
    /// The request without it.
    pub request: Fields,
    /// How long the body was.
    pub bytes: usize,
}

/// Takes in the one request in a JSON body.
pub async fn one(app: &App, headers: &HeaderMap, body: Body) -> Result<One, Problem> {
    let held = intake::whole(app, headers, body, app.config.limits.line).await?;
    let mut request = object(&held.bytes)?;
    let id = request.remove("id").unwrap_or_default();
    Ok(One { id, request, bytes: held.bytes.len() })
}

/// The JSON object that a text holds.
pub fn object(text: &Bytes) -> Result<Fields, Problem> {
    keys::unrepeated(text).map_err(|message| Problem::new(Code::Invalid, message))?;
    match serde_json::from_slice(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Problem::new(Code::Invalid, "the body is no JSON object").expecting("a JSON object")),
        Err(error) => Err(not_json(&error)),
    }
}

/// The response with one answer. What PyTorch would refuse is an answer; what cannot be understood is a problem.
pub fn settle(id: &Value, answer: Option<Result<Text, Refusal>>) -> Result<Response, Problem> {
    match answer {
        Some(Ok(text)) => Ok(found(id, &text, "miss")),
        Some(Err(refusal)) if refusal.malformed || refusal.kind == "limit" => Err(refusal.into()),
        Some(Err(refusal)) if refusal.kind == "internal" => {
            Err(Problem::new(Code::Internal, refusal.message))
        }
        Some(Err(refusal)) => Ok(found(id, &Text::refusal(refusal), "miss")),
        None => Err(Problem::new(Code::Internal, "there is no answer")),
    }
}

fn found(id: &Value, answer: &Text, cache: &'static str) -> Response {
    let mut text = Vec::with_capacity(answer.len() + 32);
    answer.write(id, &mut text);
    text.push(b'\n');
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_HEADER, HeaderValue::from_static(cache));
    response
}
