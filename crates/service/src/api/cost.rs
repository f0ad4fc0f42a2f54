//! `/v1/cost`: what a program costs, at all sizes that it takes.
use super::form;
use super::params::{self, OperatorParams};
use crate::app::App;
use crate::auth::Owner;
use crate::problem::{Code, Problem, not_json};
use crate::work::Job;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use sizewise_cost::Sizes;
use sizewise_expr::escape::json_text;
use sizewise_kernels::Operators;
use std::sync::Arc;

/// Counts operations and bytes of a program.
pub async fn cost(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: params::Read<OperatorParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = params::read(query)?;
    let (_, deadline) = params.effort().limits()?;
    app.has_memory()?;
    let mut upload = form::take(&app, &headers, body, None, &["at"], true).await?;
    let at = upload.parts.shift_remove("at").filter(|part| !part.bytes.trim_ascii().is_empty());
    let at = at.map(|part| serde_json::from_slice::<Sizes>(&part.bytes)).transpose();
    let at = at.map_err(|error| {
        let mut problem = not_json(&error);
        problem.code = Code::Invalid;
        problem.at("part", "at").expecting("the sizes of inputs: {\"x\":[6,8]}")
    })?;
    let (state, name, program) = (Arc::clone(&app), upload.name.clone(), upload.program.clone());
    let backend = params.backend;
    let job = Job { holder, bytes: program.len(), deadline };
    let work = move || -> Result<String, Problem> {
        let subject = form::read(&state, &name, &program, backend)?;
        let cost = subject.cost(&Operators::new().on(backend))?;
        let wrong = |what: String| Problem::new(Code::Invalid, what).at("part", "at");
        let none_varies = |input: &&String| !cost.varies(input);
        if let Some(input) = at.iter().flat_map(Sizes::keys).find(none_varies) {
            return Err(wrong(format!("no size of `{input}` varies")));
        }
        state.metrics.queries.with_label_values(&["cost"]).inc();
        Ok(json_text(cost.json(at.as_ref()).map_err(wrong)?.to_string()) + "\n")
    };
    let text = app.workers.run(job, work).await??;
    // Until here it counts among the bodies that are held.
    drop(upload);
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}
