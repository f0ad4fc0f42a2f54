//! Environments: `/v1/envs`.
use super::params::{self, Effort};
use super::single::{Single, object, settle, single};
use crate::app::App;
use crate::ask;
use crate::auth::Owner;
use crate::batch::{self, Batch};
use crate::intake::{self, Media};
use crate::problem::{Code, Problem};
use crate::work::{Job, or_bug};
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use serde_json::{Value, json};
use sizewise_check::query::{Ask, Fields};
use sizewise_expr::escape::json_text;
use std::sync::Arc;

fn json(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], json_text(format!("{value}\n"))).into_response()
}

fn lost() -> Problem {
    Problem::new(Code::UnknownEnv, "the environment was lost to an internal error")
}

/// Creates an environment.
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

/// Adds symbols and facts: all of them, or none if one is invalid.
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
            Problem::new(Code::Internal, "internal error in the engine; the environment is deleted")
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
pub async fn delete(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
) -> Result<StatusCode, Problem> {
    app.envs.delete(&env, holder)?;
    Ok(StatusCode::NO_CONTENT)
}

/// A route of questions to an environment.
pub fn route(what: Ask) -> MethodRouter<Arc<App>> {
    post(move |state, owner, env, query, headers, body| {
        answer(state, owner, env, (what, query), headers, body)
    })
}

async fn answer(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    Path(env): Path<String>,
    (what, query): (Ask, params::Read<Effort>),
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (share, deadline) = params::read(query)?.limits()?;
    let media = intake::media(&headers, &[Media::Json, Media::Lines])?;
    let slot = app.envs.find(&env, holder)?;
    if media == Media::Lines {
        let answers = Arc::new(move |app: &App, standing: &mut Option<_>, requests: &[Fields]| {
            ask::answer_in(app, standing, what, share, requests)
        });
        return batch::respond(&app, Batch { answers, env: Some(slot), holder, deadline }, body);
    }
    let Single { id, request, bytes } = single(&app, &headers, body).await?;
    app.has_memory()?;
    let mut guard = slot.lock_owned().await;
    if guard.is_none() {
        return Err(lost());
    }
    let (state, requests) = (Arc::clone(&app), [request]);
    let work = move || ask::answer_in(&state, &mut guard, what, share, &requests);
    let mut answers = app.workers.run(Job { holder, bytes, deadline }, work).await?;
    settle(&id, answers.pop())
}
