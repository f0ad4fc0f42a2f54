//! Questions on expressions and operators: `/v1/entail`, `/v1/simplify`, `/v1/minimize`, `/v1/bounds`, `/v1/infer`.
use super::params::{self, Effort, EntailParams, OperatorParams};
use super::single::{Single, respond, settle, single};
use crate::app::App;
use crate::ask::{self, Asked, Command};
use crate::auth::Owner;
use crate::batch::{self, Batch};
use crate::intake::{self, Media};
use crate::problem::Problem;
use crate::work::Job;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use sizewise_check::query::Fields;
use std::sync::Arc;

/// `/v1/entail`.
pub async fn entail(
    state: State<Arc<App>>,
    owner: Owner,
    query: params::Read<EntailParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = params::read(query)?;
    let EntailParams { proof, certificate, explain, .. } = params;
    let command = Command::Entail { proof, certificate, explain };
    answer(state, owner, (command, params.effort()), headers, body).await
}

/// `/v1/infer`.
pub async fn infer(
    state: State<Arc<App>>,
    owner: Owner,
    query: params::Read<OperatorParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = params::read(query)?;
    answer(state, owner, (Command::Infer(params.backend), params.effort()), headers, body).await
}

/// A route of questions whose only parameters are those of [`Effort`].
pub fn route(command: Command) -> MethodRouter<Arc<App>> {
    post(move |state, owner, query: params::Read<Effort>, headers, body| async move {
        answer(state, owner, (command, params::read(query)?), headers, body).await
    })
}

async fn answer(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    (command, effort): (Command, Effort),
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (share, deadline) = effort.limits()?;
    let asked = Asked { command, share };
    if intake::media(&headers, &[Media::Json, Media::Lines])? == Media::Lines {
        let answers = Arc::new(move |app: &App, _: &mut Option<_>, requests: &[Fields]| {
            ask::answer(app, asked, requests)
        });
        return batch::respond(&app, Batch { answers, env: None, holder, deadline }, body);
    }
    let Single { id, request, bytes } = single(&app, &headers, body).await?;
    // What the cache has is answered at once, without a worker.
    if let Some(text) = app.cache.recall(&ask::memory_key(asked, &request)) {
        app.metrics.queries.with_label_values(&[command.name()]).inc();
        return Ok(respond(&id, &text, "hit"));
    }
    app.has_memory()?;
    let (state, requests) = (Arc::clone(&app), [request]);
    let job = Job { holder, bytes, deadline };
    let mut answers = app.workers.run(job, move || ask::answer(&state, asked, &requests)).await?;
    settle(&id, answers.pop())
}
