//! `/v1/check`: does a spec imply everything that a program needs?
use super::form;
use super::params::{self, CheckParams};
use crate::app::App;
use crate::auth::Owner;
use crate::problem::Problem;
use crate::work::Job;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use sizewise_check::report::{self, Report, ReportForm, Style};
use sizewise_check::spec::Spec;
use sizewise_kernels::Operators;
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
        Some(part) => Some(Spec::parse(&part.bytes)?),
    };
    let (state, name, program) = (Arc::clone(&app), upload.name.clone(), upload.program.clone());
    let (format, backend) = (params.format, params.backend);
    let operators = Operators::new().on(backend);
    let job = Job { holder, bytes: program.len(), deadline };
    let work = move || -> Result<String, Problem> {
        let budget = state.budget.percent(share);
        let subject = form::read(&state, &name, &program, backend)?;
        let mut report = subject.check(spec.as_ref(), &operators, &budget)?;
        report.timings.clear();
        if matches!(format, ReportForm::Html | ReportForm::View) {
            subject.add_costs(&mut report, spec.as_ref(), &operators);
        }
        count(&state, &report);
        Ok(subject.render(&report, format, Style::default())?)
    };
    let text = app.workers.run(job, work).await??;
    // Until here it counts among the bodies that are held.
    drop(upload);
    Ok(([(header::CONTENT_TYPE, media_type(format))], text).into_response())
}

/// The media type of a report in this form.
fn media_type(form: ReportForm) -> &'static str {
    match form {
        ReportForm::Json
        | ReportForm::Jsonl
        | ReportForm::Sarif
        | ReportForm::View
        | ReportForm::Hints
        | ReportForm::ModelExplorer => "application/json",
        ReportForm::Text | ReportForm::Torch | ReportForm::Github => "text/plain; charset=utf-8",
        ReportForm::Junit => "application/xml",
        ReportForm::Html | ReportForm::Annotated => "text/html; charset=utf-8",
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
