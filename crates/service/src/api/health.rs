//! `/healthz`, `/readyz`, `/metrics`.
use crate::app::App;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::sync::Arc;

/// `/healthz`: whether the process lives.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// `/readyz`: whether new work is accepted.
pub async fn ready(State(app): State<Arc<App>>) -> Response {
    let status = match (app.is_draining(), app.has_memory()) {
        (true, _) => "draining",
        (false, Err(_)) => "out of memory",
        (false, Ok(())) => "ready",
    };
    let text = json!({"status": status, "in_flight": app.in_flight()});
    let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, [(header::CONTENT_TYPE, "application/json")], format!("{text}\n")).into_response()
}

/// `/metrics`: metrics for Prometheus.
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    app.refresh_metrics();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.text()).into_response()
}
