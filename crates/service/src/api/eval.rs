//! `/v1/eval`: what happens to inputs of given shapes.
use super::form;
use super::params::{self, OperatorParams};
use super::single::{object, settle};
use crate::app::App;
use crate::auth::Owner;
use crate::batch::{self, Batch};
use crate::problem::{Code, Problem};
use crate::text::Text;
use crate::work::{Job, or_bug};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::Response;
use sizewise_check::query::{Fields, Refusal};
use sizewise_expr::is_cancelled;
use sizewise_kernels::Operators;
use sizewise_onnx::subject::Subject;
use std::sync::Arc;

/// Says what happens to inputs of given shapes.
pub async fn eval(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: params::Read<OperatorParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = params::read(query)?;
    let (_, deadline) = params.effort().limits()?;
    let operators = Arc::new(Operators::new().on(params.backend));
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
    let job = Job { holder, bytes: upload.program.len(), deadline };
    let backend = params.backend;
    let read = move || form::read(&state, &name, &program, backend).map(Arc::new);
    let subject = app.workers.run(job, read).await??;
    match (one, many) {
        (Some(mut request), _) => {
            let id = request.remove("id").unwrap_or_default();
            let (state, requests) = (Arc::clone(&app), [request]);
            let work = move || answers(&state, &subject, &operators, &requests);
            let mut answers = app.workers.run(job, work).await?;
            settle(&id, answers.pop())
        }
        (None, many) => {
            let lines = many.map(|part| part.bytes).unwrap_or_default();
            let answer = move |app: &App, _: &mut Option<_>, requests: &[Fields]| {
                answers(app, &subject, &operators, requests)
            };
            let batch = Batch { answers: Arc::new(answer), env: None, holder, deadline };
            batch::respond(&app, batch, Body::from(lines))
        }
    }
}

fn answers(
    app: &App,
    subject: &Subject,
    operators: &Operators,
    requests: &[Fields],
) -> Vec<Result<Text, Refusal>> {
    app.metrics.queries.with_label_values(&["eval"]).inc_by(requests.len() as u64);
    let answers = match subject.answers(operators) {
        Ok(answers) => answers,
        Err(error) => return requests.iter().map(|_| Err(Refusal::invalid(error.to_string()))).collect(),
    };
    let one = |request: &Fields| match or_bug(|| answers.answer(request)) {
        Ok(answer) => answer.map(Text::answer),
        Err(_) => {
            app.metrics.panics.inc();
            Err(Refusal::no_result("internal", "internal error in the engine"))
        }
    };
    requests.iter().take_while(|_| !is_cancelled()).map(one).collect()
}
