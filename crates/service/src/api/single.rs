//! One request in a JSON body, and the response with its answer.
use crate::app::App;
use crate::intake;
use crate::problem::{Code, Problem, not_json};
use crate::text::Text;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use serde_json::Value;
use sizewise_check::query::{Fields, Refusal};
use sizewise_ir::keys;

/// Says whether an answer comes from the cache.
const CACHE_HEADER: HeaderName = HeaderName::from_static("sizewise-cache");

/// The only request of a body.
pub struct Single {
    /// Its `id`.
    pub id: Value,
    /// The request without it.
    pub request: Fields,
    /// The length of the body.
    pub bytes: usize,
}

/// Reads the only request of a body.
pub async fn single(app: &App, headers: &HeaderMap, body: Body) -> Result<Single, Problem> {
    let held = intake::whole(app, headers, body, app.config.limits.line).await?;
    let mut request = object(&held.bytes)?;
    let id = request.remove("id").unwrap_or_default();
    Ok(Single { id, request, bytes: held.bytes.len() })
}

/// The JSON object that a text holds.
pub fn object(text: &Bytes) -> Result<Fields, Problem> {
    keys::unrepeated(text).map_err(|message| Problem::new(Code::Invalid, message))?;
    match serde_json::from_slice(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Problem::new(Code::Invalid, "the body is no JSON object").expecting("a JSON object")),
        Err(error) => Err(not_json(&error)),
    }
}

/// The response with one answer. What PyTorch rejects is an answer too; a malformed request is a problem.
pub fn settle(id: &Value, answer: Option<Result<Text, Refusal>>) -> Result<Response, Problem> {
    match answer {
        Some(Ok(text)) => Ok(respond(id, &text, "miss")),
        Some(Err(refusal)) if refusal.malformed || refusal.kind == "limit" => Err(refusal.into()),
        Some(Err(refusal)) if refusal.kind == "internal" => {
            Err(Problem::new(Code::Internal, refusal.message))
        }
        Some(Err(refusal)) => Ok(respond(id, &Text::refusal(refusal), "miss")),
        None => Err(Problem::new(Code::Internal, "there is no answer")),
    }
}

/// The response with the text of an answer; `cache` says where it comes from.
pub fn respond(id: &Value, answer: &Text, cache: &'static str) -> Response {
    let mut text = Vec::with_capacity(answer.len() + 32);
    answer.write(id, &mut text);
    text.push(b'\n');
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_HEADER, HeaderValue::from_static(cache));
    response
}
