//! `/v1/eval`: what happens to inputs of given shapes.
use super::form;
use super::params::{self, Effort};
use super::questions::{object, settle};
use super::schema::{EvalAnswer, EvalForm};
use crate::check::Checker;
use crate::query::{self, Fields, Refusal};
use crate::service::app::App;
use crate::service::ask::Text;
use crate::service::batch::{self, Batch};
use crate::service::problem::{Code, Problem};
use crate::service::work::or_bug;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use std::sync::Arc;

/// Says what happens to inputs of given shapes.
#[utoipa::path(
    post,
    path = "/v1/eval",
    tag = "programs",
    params(Effort),
    request_body(content((EvalForm = "multipart/form-data")),
        description = "The program and one `request`, or several `requests`, one a line"),
    responses((status = 200, description = "The outputs, or why the shapes are refused; of several requests, one a line",
        content((EvalAnswer = "application/json"), (String = "application/x-ndjson"))))
)]
pub async fn eval(
    State(app): State<Arc<App>>,
    query: Result<Query<Effort>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let effort = params::read(query)?;
    effort.share()?;
    let deadline = effort.deadline()?;
    app.has_memory()?;
    let mut upload = form::take(&app, &headers, body, None, &["request", "requests"], false).await?;
    let (one, many) = (upload.parts.shift_remove("request"), upload.parts.shift_remove("requests"));
    let one = match (one, &many) {
        (Some(part), None) => Some(object(&part.bytes).map_err(|mut problem| {
            problem.code = Code::Invalid;
            problem.at("part", "request")
        })?),
        (None, Some(_)) => None,
        _ => {
            return Err(Problem::new(
                Code::Invalid,
                "the form has neither or both of `request` and `requests`",
            )
            .expecting("a part `request` (a JSON object) or `requests` (JSON lines)"));
        }
    };
    let (state, name, program) = (Arc::clone(&app), upload.name.clone(), upload.program.clone());
    let read = move |_: &_| form::read(&state, &name, &program).map(Arc::new);
    let place = app.workers.admit()?;
    let checker = app.workers.run(place, deadline, read).await??;
    match (one, many) {
        (Some(mut request), _) => {
            let id = request.remove("id").unwrap_or_default();
            let place = app.workers.admit()?;
            let state = Arc::clone(&app);
            let work = move |_: &_| answers(&state, &checker, &[request]);
            let mut answers = app.workers.run(place, deadline, work).await?;
            settle(&id, answers.pop())
        }
        (None, many) => {
            let lines = many.map(|part| part.bytes).unwrap_or_default();
            let answer =
                move |app: &App, _: &mut Option<_>, requests: &[Fields]| answers(app, &checker, requests);
            batch::respond(&app, Batch { answers: Arc::new(answer), env: None, deadline }, Body::from(lines))
        }
    }
}

fn answers(app: &App, checker: &Checker, requests: &[Fields]) -> Vec<Result<Text, Refusal>> {
    app.metrics.queries.with_label_values(&["eval"]).inc_by(requests.len() as u64);
    let evaluator = match checker.evaluator(&app.operators) {
        Ok(evaluator) => evaluator,
        Err(error) => return requests.iter().map(|_| Err(Refusal::invalid(error.to_string()))).collect(),
    };
    let answer = |request| match or_bug(|| query::eval::answer(&evaluator, request)) {
        Ok(answer) => answer.map(Text::answer),
        Err(_) => {
            app.metrics.panics.inc();
            Err(Refusal::no_result("internal", "the engine came upon a bug of its own"))
        }
    };
    requests.iter().map(answer).collect()
}
