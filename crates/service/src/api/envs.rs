//! Environments: `/v1/envs`.
use super::params::{self, Effort};
use super::questions::{One, object, one, settle};
use super::schema::{
    Added, BoundsAnswer, EntailAnswer, EnvBoundsRequest, EnvEntailRequest, EnvMade, EnvShown, Facts,
    SimplifyAnswer,
};
use crate::app::App;
use crate::ask;
use crate::auth::Holder;
use crate::batch::{self, Batch};
use crate::intake::{self, Media};
use crate::problem::{Code, Problem};
use crate::work::{Job, or_bug};
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sizewise_check::query::{Ask, Fields};
use sizewise_expr::escape::json_text;
use std::sync::Arc;

/// Whose environment it is: set where the token is looked at.
pub type Owner = Extension<Option<Holder>>;

fn json(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], json_text(format!("{value}\n"))).into_response()
}

fn lost() -> Problem {
    Problem::new(Code::UnknownEnv, "a bug has left the environment in disorder; it is gone")
}

/// Makes an environment.
#[utoipa::path(
    post,
    path = "/v1/envs",
    tag = "environments",
    request_body(content((Facts = "application/json")), description = "Its first symbols and facts"),
    responses((status = 201, description = "It is there", body = EnvMade))
)]
pub async fn make(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    intake::media(&headers, &[Media::Json])?;
    let held = intake::whole(&app, &headers, body, app.config.limits.line).await?;
    let facts = object(&held.bytes)?;
    app.has_memory()?;
    let mut standing = app.envs.blank();
    let job = Job { holder, bytes: held.bytes.len(), deadline: None };
    let added = app.workers.run_once(job, move || standing.add(&facts).map(|()| standing)).await?;
    let id = app.envs.make(added?, holder)?;
    let idle = app.envs.idle().as_secs();
    let mut response = json(StatusCode::CREATED, &json!({"env": id, "idle_seconds": idle}));
    if let Ok(location) = format!("/v1/envs/{id}").parse() {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Shows an environment.
#[utoipa::path(
    get,
    path = "/v1/envs/{env}",
    tag = "environments",
    params(("env" = String, Path, description = "The environment")),
    responses((status = 200, description = "Its symbols and facts", body = EnvShown))
)]
pub async fn show(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
) -> Result<Response, Problem> {
    let slot = app.envs.find(&env, holder)?;
    let standing = slot.lock_owned().await;
    let standing = standing.as_ref().ok_or_else(lost)?;
    let mut shown = Fields::new();
    shown.insert("env".into(), env.into());
    shown.extend(standing.describe());
    Ok(json(StatusCode::OK, &Value::Object(shown)))
}

/// Adds symbols and facts; all of them, or none when something is wrong.
#[utoipa::path(
    post,
    path = "/v1/envs/{env}/facts",
    tag = "environments",
    params(("env" = String, Path, description = "The environment")),
    request_body(content((Facts = "application/json"))),
    responses((status = 200, description = "They are added", body = Added))
)]
pub async fn add(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    intake::media(&headers, &[Media::Json])?;
    let slot = app.envs.find(&env, holder)?;
    let held = intake::whole(&app, &headers, body, app.config.limits.line).await?;
    let facts = object(&held.bytes)?;
    app.has_memory()?;
    let mut guard = slot.lock_owned().await;
    let job = Job { holder, bytes: held.bytes.len(), deadline: None };
    let state = Arc::clone(&app);
    let work = move || {
        let mut standing = guard.take().ok_or_else(lost)?;
        let (added, standing) = or_bug(move || (standing.add(&facts), standing)).map_err(|_| {
            state.metrics.panics.inc();
            Problem::new(Code::Internal, "the engine came upon a bug of its own; the environment is gone")
        })?;
        let size = standing.size();
        *guard = Some(standing);
        added?;
        Ok::<_, Problem>(size)
    };
    let (symbols, facts) = app.workers.run_once(job, work).await??;
    Ok(json(StatusCode::OK, &json!({"symbols": symbols, "facts": facts})))
}

/// Deletes an environment.
#[utoipa::path(
    delete,
    path = "/v1/envs/{env}",
    tag = "environments",
    params(("env" = String, Path, description = "The environment")),
    responses((status = 204, description = "It is gone"))
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
) -> Result<StatusCode, Problem> {
    app.envs.delete(&env, holder)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Do the facts of an environment imply a goal?
#[utoipa::path(
    post,
    path = "/v1/envs/{env}/entail",
    tag = "environments",
    params(("env" = String, Path, description = "The environment"), Effort),
    request_body(content((EnvEntailRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The verdict; of a batch, one a line",
        content((EntailAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn entail(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
    query: Result<Query<Effort>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    answer(&app, holder, &env, Ask::Entail, params::read(query)?, &headers, body).await
}

/// The smallest expression that is equal under the facts of an environment.
#[utoipa::path(
    post,
    path = "/v1/envs/{env}/simplify",
    tag = "environments",
    params(("env" = String, Path, description = "The environment"), Effort),
    request_body(content((EnvBoundsRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The expression; of a batch, one a line",
        content((SimplifyAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn simplify(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
    query: Result<Query<Effort>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    answer(&app, holder, &env, Ask::Simplify, params::read(query)?, &headers, body).await
}

/// The least and the greatest value of an expression under the facts of an environment.
#[utoipa::path(
    post,
    path = "/v1/envs/{env}/bounds",
    tag = "environments",
    params(("env" = String, Path, description = "The environment"), Effort),
    request_body(content((EnvBoundsRequest = "application/json"), (String = "application/x-ndjson"))),
    responses((status = 200, description = "The bounds; of a batch, one pair a line",
        content((BoundsAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn bounds(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
    query: Result<Query<Effort>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    answer(&app, holder, &env, Ask::Bounds, params::read(query)?, &headers, body).await
}

async fn answer(
    app: &Arc<App>,
    holder: Option<Holder>,
    env: &str,
    what: Ask,
    effort: Effort,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (share, deadline) = (effort.share()?, effort.deadline()?);
    let media = intake::media(headers, &[Media::Json, Media::Lines])?;
    let slot = app.envs.find(env, holder)?;
    if media == Media::Lines {
        let answers = Arc::new(move |app: &App, standing: &mut Option<_>, requests: &[Fields]| {
            ask::answer_in(app, standing, what, share, requests)
        });
        return batch::respond(app, Batch { answers, env: Some(slot), holder, deadline }, body);
    }
    let One { id, request, bytes } = one(app, headers, body).await?;
    app.has_memory()?;
    let mut guard = slot.lock_owned().await;
    if guard.is_none() {
        return Err(lost());
    }
    let (state, requests) = (Arc::clone(app), [request]);
    let work = move || ask::answer_in(&state, &mut guard, what, share, &requests);
    let mut answers = app.workers.run(Job { holder, bytes, deadline }, work).await?;
    settle(&id, answers.pop())
}
