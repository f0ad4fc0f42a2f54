//! `/v1/check`: does a spec imply everything that a program needs?
use super::form::{self, Subject};
use super::params::{self, CheckParams, ReportForm};
use crate::app::App;
use crate::auth::Owner;
use crate::problem::{Code, Problem};
use crate::work::Job;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use sizewise_check::check::outline;
use sizewise_check::report::{self, GraphView, Report, Style};
use sizewise_check::spec::{Spec, SpecError};
use sizewise_kernels::Operators;
use sizewise_onnx::check::shapes;
use sizewise_onnx::report as models;
use std::sync::Arc;

/// Checks a program, under a spec or under its own contract.
pub async fn check(
    State(app): State<Arc<App>>,
    Extension(holder): Owner,
    query: params::Read<CheckParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let params = params::read(query)?;
    let (share, deadline) = params.effort().limits()?;
    app.has_memory()?;
    let mut upload = form::take(&app, &headers, body, params.name.as_deref(), &["spec"], true).await?;
    let spec = match upload.parts.shift_remove("spec") {
        None => None,
        // A field of a page that was left empty.
        Some(part) if part.bytes.trim_ascii().is_empty() => None,
        Some(part) => Some(Spec::parse(&part.bytes).map_err(spec_problem)?),
    };
    let (state, name, program) = (Arc::clone(&app), upload.name.clone(), upload.program.clone());
    let (format, backend) = (params.format, params.backend);
    let operators = Operators::new().on(backend);
    let job = Job { holder, bytes: program.len(), deadline };
    let work = move || -> Result<_, Problem> {
        let budget = state.budget.percent(share);
        let (report, graph) = match form::read(&state, &name, &program)? {
            Subject::Program(checker) => {
                let report = checker.check(spec.as_ref(), &operators, &budget)?;
                (report, outline(checker.program()))
            }
            Subject::Model(_) if matches!(format, ReportForm::Torch) => {
                let problem = Problem::new(Code::InvalidParameter, "`torch` is a form for exported programs");
                return Err(problem.at("parameter", "format"));
            }
            Subject::Model(mut model) => {
                model.backend = backend;
                let report = models::report(&model, &name, &program, spec.as_ref(), &budget);
                let graph = models::outline(&model, &shapes(&model));
                (report, graph)
            }
        };
        Ok(rendered(&state, &graph, report, format))
    };
    let (kind, text) = app.workers.run(job, work).await??;
    // Until here it counts among the bodies that are held.
    drop(upload);
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn spec_problem(error: SpecError) -> Problem {
    Problem::new(Code::InvalidSpec, error.message).at("part", "spec").at("path", error.path)
}

/// The report in this format, with its media type.
fn rendered(app: &App, graph: &GraphView, mut report: Report, form: ReportForm) -> (&'static str, String) {
    report.timings.clear();
    count(app, &report);
    match form {
        ReportForm::Json => ("application/json", report::to_json(&report)),
        ReportForm::Text => ("text/plain; charset=utf-8", report::to_text(&report, Style { colour: false })),
        ReportForm::Torch => ("text/plain; charset=utf-8", report::to_torch(&report)),
        ReportForm::Github => ("text/plain; charset=utf-8", report::to_github(&report)),
        ReportForm::Sarif => ("application/json", report::to_sarif(&report)),
        ReportForm::View => ("application/json", report::to_view_json(&report, graph)),
        ReportForm::Html => ("text/html; charset=utf-8", report::to_html(&report, graph)),
    }
}

fn count(app: &App, report: &Report) {
    app.metrics.queries.with_label_values(&["check"]).inc();
    for guard in &report.guards {
        let verdict = match guard.verdict {
            report::GuardVerdict::Implied => "implied",
            report::GuardVerdict::Violated => "refuted",
            report::GuardVerdict::Unknown => {
                app.metrics.exhausted.with_label_values(&["check"]).inc();
                "unknown"
            }
        };
        if let Some(rung) = &guard.decided_by {
            app.metrics.decided.with_label_values(&[verdict, rung.as_str()]).inc();
        }
    }
}
