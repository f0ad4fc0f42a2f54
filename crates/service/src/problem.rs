//! Errors as problem details (RFC 9457) with a stable code.
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use sizewise_check::check::CheckError;
use sizewise_check::query::Refusal;
use sizewise_check::spec::SpecError;
use sizewise_expr::escape::json_text;
use sizewise_ir::{ReadError, ReadErrorKind};
use sizewise_onnx::subject::SubjectError;

/// The media type of problem details.
pub const MEDIA_TYPE: &str = "application/problem+json";

macro_rules! codes {
    ($($code:ident $status:ident $name:literal $title:literal;)+) => {
        /// What can go wrong. Codes are stable: clients may branch on them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Code {
            $(#[doc = $title] $code,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: [Code; [$($name),+].len()] = [$(Code::$code),+];

            /// The HTTP status.
            pub fn status(self) -> StatusCode {
                match self { $(Code::$code => StatusCode::$status),+ }
            }

            /// The code's name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name),+ }
            }

            /// The meaning of the code.
            pub fn title(self) -> &'static str {
                match self { $(Code::$code => $title),+ }
            }
        }
    };
}

codes! {
    NotJson BAD_REQUEST "not-json" "The body is not JSON";
    NoHost BAD_REQUEST "no-host" "A request of HTTP/1.1 names one host";
    BrokenBody BAD_REQUEST "broken-body" "The body is incomplete or malformed";
    Unauthorized UNAUTHORIZED "unauthorized" "A known bearer token is required";
    CrossSite FORBIDDEN "cross-site" "Requests from pages of other sites are refused";
    UnknownHost FORBIDDEN "unknown-host" "The request names another host";
    NotFound NOT_FOUND "not-found" "There is nothing at this path";
    UnknownEnv NOT_FOUND "unknown-env" "There is no such environment, or it has expired";
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed" "This path accepts other methods";
    SlowBody REQUEST_TIMEOUT "slow-body" "The body did not arrive in time";
    TooLarge PAYLOAD_TOO_LARGE "too-large" "The request is larger than allowed";
    UnpackedTooLarge PAYLOAD_TOO_LARGE "unpacked-too-large" "The decompressed program is larger than allowed";
    TooManyNodes PAYLOAD_TOO_LARGE "too-many-nodes" "The program has more nodes than allowed";
    EnvFull PAYLOAD_TOO_LARGE "env-full" "The environment is full";
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" "This path accepts other media types";
    Invalid UNPROCESSABLE_ENTITY "invalid" "The request is invalid";
    Undecided UNPROCESSABLE_ENTITY "undecided" "No answer was found";
    InvalidParameter UNPROCESSABLE_ENTITY "invalid-parameter" "A parameter is invalid";
    InvalidSpec UNPROCESSABLE_ENTITY "invalid-spec" "The spec is invalid";
    UnreadableProgram UNPROCESSABLE_ENTITY "unreadable-program" "The program cannot be read";
    Busy TOO_MANY_REQUESTS "busy" "There is more work than can be queued";
    TooManyEnvs TOO_MANY_REQUESTS "too-many-envs" "There are as many environments as allowed";
    Internal INTERNAL_SERVER_ERROR "internal" "Internal error; please report it with the request";
    Draining SERVICE_UNAVAILABLE "draining" "The service is stopping";
    Memory SERVICE_UNAVAILABLE "memory" "There is not enough memory at the moment";
    Deadline GATEWAY_TIMEOUT "deadline" "The answer was not found in time";
}

/// Why a request is refused, or fails.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The code.
    pub code: Code,
    /// Whether it is what the request asked for, and no failure of the service.
    pub is_asked_for: bool,
    detail: String,
    place: Map<String, Value>,
    expected: Option<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem, with the detail of this occurrence.
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        let (place, expected, headers) = (Map::new(), None, Vec::new());
        Problem { code, is_asked_for: false, detail: detail.into(), place, expected, headers }
    }

    /// The problem of a service that stops.
    pub fn draining(detail: &str) -> Problem {
        Problem::new(Code::Draining, detail)
            .retry_after(5)
            .with_header(header::CONNECTION, HeaderValue::from_static("close"))
    }

    /// Adds a place: `field`, `parameter`, `line`, `node` and so on.
    #[must_use]
    pub fn at(mut self, key: &str, value: impl Into<Value>) -> Problem {
        self.place.insert(key.to_string(), value.into());
        self
    }

    /// Adds what was expected.
    #[must_use]
    pub fn expecting(mut self, what: impl Into<String>) -> Problem {
        self.expected = Some(what.into());
        self
    }

    /// Adds the seconds after which to retry.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Problem {
        self.headers.push((header::RETRY_AFTER, seconds.into()));
        self
    }

    /// Adds a header to the response.
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
    /// A response without a body: the middleware, which knows the request's id, renders the problem from the
    /// extensions.
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

impl From<SpecError> for Problem {
    fn from(error: SpecError) -> Problem {
        Problem::new(Code::InvalidSpec, error.message).at("part", "spec").at("path", error.path)
    }
}

impl From<SubjectError> for Problem {
    fn from(error: SubjectError) -> Problem {
        match error {
            SubjectError::Check(error) => error.into(),
            SubjectError::NotForModels(_) | SubjectError::NotForPrograms(_) => {
                Problem::new(Code::InvalidParameter, error.to_string())
            }
            SubjectError::Spec(error) => error.into(),
            SubjectError::Sizing(error) => {
                let code = if error.is_mistaken() { Code::Invalid } else { Code::Undecided };
                Problem::new(code, error.to_string()).at("part", "request")
            }
            error => Problem::new(Code::UnreadableProgram, error.to_string()),
        }
    }
}
