//! The description of the API: `/openapi.json` for tools, `/docs` for people.
use crate::problem::Code;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use std::fmt::Write;
use std::sync::OnceLock;

/// The OpenAPI document. A test compares it with what the routes accept and answer.
const OPENAPI: &str = include_str!("openapi.json");

/// Whether a path is served without a token, and while the service stops.
pub fn is_open(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/" | "/docs" | "/openapi.json")
}

/// `/openapi.json`.
pub async fn json() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

/// `/docs`.
pub async fn page() -> Html<&'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    Html(TEXT.get_or_init(|| {
        let mut rows = String::new();
        for code in Code::ALL {
            // Writing to a string does not fail.
            let _ = write!(
                rows,
                "<tr id=\"{0}\"><td><code>{0}</code></td><td>{1}</td><td>{2}</td></tr>",
                code.name(),
                code.status().as_u16(),
                code.title()
            );
        }
        include_str!("../page/docs.html")
            .replace("{{style}}", sizewise_check::report::PAGE_STYLE)
            .replace("{{problems}}", &rows)
            .replace("{{openapi}}", &OPENAPI.replace('<', "\\u003c"))
    }))
}
