//! `/v1/sizes`: how large values get, memory plans, what fits, profiles.
use super::form;
use super::params::{self, OperatorParams};
use super::single::object;
use crate::app::App;
use crate::auth::Owner;
use crate::problem::{Code, Problem};
use crate::work::Job;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use sizewise_check::spec::Spec;
use sizewise_expr::escape;
use sizewise_kernels::Operators;
use sizewise_onnx::subject::SubjectError;
use std::sync::Arc;

/// Answers a question about the sizes of a program's values.
pub async fn sizes(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: params::Read<OperatorParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = params::read(query)?;
    let (_, deadline) = params.effort().limits()?;
    app.has_memory()?;
    let mut upload = form::take(&app, &headers, body, None, &["spec", "request"], false).await?;
    let spec = match upload.parts.shift_remove("spec") {
        Some(part) if !part.bytes.trim_ascii().is_empty() => Some(Spec::parse(&part.bytes)?),
        _ => None,
    };
    let Some(request) = upload.parts.shift_remove("request") else {
        return Err(Problem::new(Code::Invalid, "the form has no part `request`")
            .at("part", "request")
            .expecting("a JSON object such as {\"ask\": \"bounds\"}"));
    };
    let request = object(&request.bytes).map_err(|mut problem| {
        problem.code = Code::Invalid;
        problem.at("part", "request")
    })?;
    let (state, name, program) = (Arc::clone(&app), upload.name.clone(), upload.program.clone());
    let backend = params.backend;
    let operators = Operators::new().on(backend);
    let job = Job { holder, bytes: program.len(), deadline };
    let work = move || -> Result<String, Problem> {
        state.metrics.queries.with_label_values(&["sizes"]).inc();
        let subject = form::read(&state, &name, &program, backend)?;
        let mut sizing = subject.sizing(spec.as_ref(), &operators)?;
        let answer = sizing.answer(&request).map_err(SubjectError::from)?;
        Ok(escape::json_text(answer.to_string()) + "\n")
    };
    let text = app.workers.run(job, work).await??;
    drop(upload);
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}
