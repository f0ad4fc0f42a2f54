//! A service in this process, and requests to it.
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use sizewise::service::{App, Config, Limits, Tokens, router};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

/// What came back.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn lines(&self) -> Vec<Value> {
        self.text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    /// The status and the stable code of a problem.
    #[track_caller]
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        let json = self.json();
        assert_eq!(json["status"], self.status.as_u16());
        assert_eq!(json["request_id"], self.header("x-request-id"));
        (self.status.as_u16(), json["code"].as_str().unwrap().to_string())
    }
}

/// A small service: two workers, the usual limits, and patience with short work on busy machines.
pub fn config() -> Config {
    let limits = Limits { short: Duration::from_secs(60), ..Limits::default() };
    Config { workers: 2, limits, ..Config::default() }
}

pub fn with_limits(change: impl FnOnce(&mut Limits)) -> Arc<App> {
    let mut config = config();
    change(&mut config.limits);
    App::new(config, None).unwrap()
}

pub fn service() -> Arc<App> {
    with_limits(|_| {})
}

pub fn with_tokens(text: &str) -> Arc<App> {
    App::new(config(), Some(Tokens::parse(text).unwrap())).unwrap()
}

pub async fn send(app: &Arc<App>, request: Request<Body>) -> Answer {
    let response = router(Arc::clone(app)).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
}

/// A request with headers.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

pub const JSON: (&str, &str) = ("content-type", "application/json");
pub const LINES: (&str, &str) = ("content-type", "application/x-ndjson");
pub const BYTES: (&str, &str) = ("content-type", "application/octet-stream");

pub async fn post(app: &Arc<App>, path: &str, body: impl Into<Body>) -> Answer {
    send(app, request("POST", path, &[JSON], body)).await
}

pub async fn post_lines(app: &Arc<App>, path: &str, body: impl Into<Body>) -> Answer {
    send(app, request("POST", path, &[LINES], body)).await
}

pub async fn get(app: &Arc<App>, path: &str) -> Answer {
    send(app, request("GET", path, &[], Body::empty())).await
}

/// A form of parts: name, file name, content.
pub fn form(path: &str, parts: &[(&str, Option<&str>, &[u8])]) -> Request<Body> {
    let mut body = Vec::new();
    for (name, file, content) in parts {
        body.extend_from_slice(
            format!("--border\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        if let Some(file) = file {
            body.extend_from_slice(format!("; filename=\"{file}\"").as_bytes());
        }
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--border--\r\n");
    request("POST", path, &[("content-type", "multipart/form-data; boundary=border")], body)
}

/// The bytes of an example.
pub fn example(name: &str) -> Vec<u8> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)).unwrap()
}
