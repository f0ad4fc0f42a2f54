//! Errors as problem details (RFC 9457) with a stable code.
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use sizewise_check::check::CheckError;
use sizewise_check::query::Refusal;
use sizewise_expr::escape::json_text;
use sizewise_ir::{ReadError, ReadErrorKind};

/// The media type of problem details.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What can go wrong. Codes are stable: clients may branch on them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// The body is no JSON.
    NotJson,
    /// The body broke off, or its form is wrong.
    BrokenBody,
    /// No token, or none that is known.
    Unauthorized,
    /// A page of another site asks.
    CrossSite,
    /// The request names a host that is not this service.
    UnknownHost,
    /// There is nothing at this path.
    NotFound,
    /// There is no such environment (any more).
    UnknownEnv,
    /// The path is there, but not for this method.
    MethodNotAllowed,
    /// The body does not arrive.
    SlowBody,
    /// The body is larger than allowed.
    TooLarge,
    /// The program is larger than allowed once unpacked.
    UnpackedTooLarge,
    /// The program has more nodes than allowed.
    TooManyNodes,
    /// The environment is full.
    EnvFull,
    /// The body is of a kind that the path does not take.
    UnsupportedMediaType,
    /// The request cannot be understood.
    Invalid,
    /// A parameter of the address is wrong.
    InvalidParameter,
    /// The spec cannot be understood.
    InvalidSpec,
    /// The program cannot be read.
    UnreadableProgram,
    /// There is more work than can be queued.
    Busy,
    /// There are as many environments as allowed.
    TooManyEnvs,
    /// A bug of ours.
    Internal,
    /// The service is stopping.
    Draining,
    /// There is not enough memory at the moment.
    Memory,
    /// The answer was not found in time.
    Deadline,
}

impl Code {
    /// Every code.
    pub const ALL: [Code; 24] = [
        Code::NotJson,
        Code::BrokenBody,
        Code::Unauthorized,
        Code::CrossSite,
        Code::UnknownHost,
        Code::NotFound,
        Code::UnknownEnv,
        Code::MethodNotAllowed,
        Code::SlowBody,
        Code::TooLarge,
        Code::UnpackedTooLarge,
        Code::TooManyNodes,
        Code::EnvFull,
        Code::UnsupportedMediaType,
        Code::Invalid,
        Code::InvalidParameter,
        Code::InvalidSpec,
        Code::UnreadableProgram,
        Code::Busy,
        Code::TooManyEnvs,
        Code::Internal,
        Code::Draining,
        Code::Memory,
        Code::Deadline,
    ];

    /// The status, the name, and what it means.
    fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Code::NotJson => (400, "not-json", "The body is not JSON"),
            Code::BrokenBody => (400, "broken-body", "The body breaks off or is malformed"),
            Code::Unauthorized => (401, "unauthorized", "A known bearer token is required"),
            Code::CrossSite => (403, "cross-site", "Pages of other sites may not ask"),
            Code::UnknownHost => (403, "unknown-host", "The request names another host"),
            Code::NotFound => (404, "not-found", "There is nothing at this path"),
            Code::UnknownEnv => (404, "unknown-env", "There is no such environment, or no longer"),
            Code::MethodNotAllowed => (405, "method-not-allowed", "This path takes other methods"),
            Code::SlowBody => (408, "slow-body", "The body did not arrive in time"),
            Code::TooLarge => (413, "too-large", "The request is larger than allowed"),
            Code::UnpackedTooLarge => (413, "unpacked-too-large", "The program unpacks to more than allowed"),
            Code::TooManyNodes => (413, "too-many-nodes", "The program has more nodes than allowed"),
            Code::EnvFull => (413, "env-full", "The environment holds as much as allowed"),
            Code::UnsupportedMediaType => {
                (415, "unsupported-media-type", "This path takes other media types")
            }
            Code::Invalid => (422, "invalid", "The request cannot be understood"),
            Code::InvalidParameter => (422, "invalid-parameter", "A parameter cannot be understood"),
            Code::InvalidSpec => (422, "invalid-spec", "The spec cannot be understood"),
            Code::UnreadableProgram => (422, "unreadable-program", "The program cannot be read"),
            Code::Busy => (429, "busy", "There is more work than can be queued"),
            Code::TooManyEnvs => (429, "too-many-envs", "There are as many environments as allowed"),
            Code::Internal => (500, "internal", "Internal error; please report it with the request"),
            Code::Draining => (503, "draining", "The service is stopping"),
            Code::Memory => (503, "memory", "There is not enough memory at the moment"),
            Code::Deadline => (504, "deadline", "The answer was not found in time"),
        }
    }

    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The code's name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// What it means, for every occurrence.
    pub fn title(self) -> &'static str {
        self.row().2
    }
}

/// A request that gets no answer.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What went wrong.
    pub code: Code,
    detail: String,
    place: Map<String, Value>,
    expected: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem with what it is this time.
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        Problem { code, detail: detail.into(), place: Map::new(), expected: None, headers: Vec::new() }
    }

    /// The same, at a place: `field`, `parameter`, `line`, `node` and so on.
    #[must_use]
    pub fn at(mut self, key: &str, value: impl Into<Value>) -> Problem {
        self.place.insert(key.to_string(), value.into());
        self
    }

    /// The same, with what was expected.
    #[must_use]
    pub fn expecting(mut self, what: impl Into<String>) -> Problem {
        self.expected = Some(what.into());
        self
    }

    /// The same, with the seconds after which to come back.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Problem {
        self.headers.push((header::RETRY_AFTER, seconds.into()));
        self
    }

    /// The same, with a header of the response.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Problem {
        self.headers.push((name, value));
        self
    }

    /// The details as JSON.
    pub fn to_json(&self, request_id: &str) -> Value {
        let mut out = json!({
            "type": format!("/docs#{}", self.code.name()),
            "title": self.code.title(),
            "status": self.code.status().as_u16(),
            "code": self.code.name(),
            "detail": self.detail,
        });
        if !self.place.is_empty() {
            out["place"] = Value::Object(self.place.clone());
        }
        if let Some(expected) = &self.expected {
            out["expected"] = expected.as_str().into();
        }
        out["request_id"] = request_id.into();
        out
    }

    /// The response.
    pub fn render(&self, request_id: &str) -> Response {
        let mut response = Response::new(Body::from(json_text(self.to_json(request_id).to_string())));
        *response.status_mut() = self.code.status();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        for (name, value) in &self.headers {
            response.headers_mut().insert(name.clone(), value.clone());
        }
        response
    }
}

impl IntoResponse for Problem {
    /// A response without a body: whoever knows the request's id renders the problem, which is among the extensions.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.code.status();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let code = if refusal.kind == "limit" { Code::EnvFull } else { Code::Invalid };
        let problem = Problem::new(code, refusal.message);
        match refusal.field {
            Some(field) => problem.at("field", field),
            None => problem,
        }
    }
}

/// The problem with a text that is not JSON.
pub fn not_json(error: &serde_json::Error) -> Problem {
    Problem::new(Code::NotJson, error.to_string())
        .at("line", error.line())
        .at("column", error.column())
        .expecting("a JSON object")
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Problem {
        let code = match error.kind {
            ReadErrorKind::LimitExceeded => Code::UnpackedTooLarge,
            _ => Code::UnreadableProgram,
        };
        let mut problem = Problem::new(code, error.message.clone());
        let place = *error.place;
        for (key, value) in [("entry", place.entry), ("json_path", place.json_path), ("node", place.node)] {
            if let Some(value) = value {
                problem = problem.at(key, value);
            }
        }
        if let Some((line, column)) = place.line_column {
            problem = problem.at("line", line).at("column", column);
        }
        match code {
            Code::UnreadableProgram => problem.expecting("a .pt2 file as torch.export.save writes it"),
            _ => problem,
        }
    }
}

impl From<CheckError> for Problem {
    fn from(error: CheckError) -> Problem {
        match error {
            CheckError::Read(error) => error.into(),
            other => Problem::new(Code::UnreadableProgram, other.to_string()),
        }
    }
}
