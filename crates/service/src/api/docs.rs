//! The description of the API: `/openapi.json`, and `/docs` for people.
use super::{check, envs, eval, health, questions, schema};
use crate::problem::{Code, MEDIA_TYPE};
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use utoipa::openapi::path::{HttpMethod, Operation};
use utoipa::openapi::schema::{AdditionalProperties, Schema};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder, SecurityRequirement};
use utoipa::{Modify, OpenApi};

#[derive(OpenApi)]
#[openapi(
    info(title = "sizewise", description = "Symbolic shape reasoning for exported PyTorch programs."),
    paths(
        questions::entail, questions::simplify, questions::minimize, questions::bounds, questions::infer,
        check::check, eval::eval, envs::make, envs::show, envs::add, envs::delete, envs::entail,
        envs::simplify, envs::bounds, health::alive, health::ready, health::metrics,
    ),
    components(schemas(schema::ProblemDetails)),
    modifiers(&Everywhere)
)]
struct Api;

/// What holds for every path: problems and tokens.
struct Everywhere;

impl Modify for Everywhere {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        api.components.get_or_insert_default().add_security_scheme("bearer", bearer);
        // Forms take the parts that they name; other objects may have fields that nobody reads.
        for form in ["CheckForm", "EvalForm"] {
            let schemas = api.components.get_or_insert_default();
            if let Some(RefOr::T(Schema::Object(form))) = schemas.schemas.get_mut(form) {
                form.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
            }
        }
        // Bounds are integers of any size.
        if let Some(RefOr::T(Schema::Object(range))) =
            api.components.get_or_insert_default().schemas.get_mut("Range")
        {
            for bound in range.properties.values_mut() {
                if let RefOr::T(Schema::Object(bound)) = bound {
                    bound.format = None;
                }
            }
        }
        for (path, item) in &mut api.paths.paths {
            let operations = [
                (HttpMethod::Get, &mut item.get),
                (HttpMethod::Post, &mut item.post),
                (HttpMethod::Delete, &mut item.delete),
            ];
            for (method, operation) in operations {
                if let Some(operation) = operation {
                    describe(path, &method, operation);
                }
            }
        }
    }
}

/// Whether a path is served without a token, and while the service stops.
pub fn is_open(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/" | "/docs" | "/openapi.json")
}

/// The problems that a request to a path can run into.
fn problems(path: &str, method: &HttpMethod) -> Vec<Code> {
    if is_open(path) {
        return vec![Code::CrossSite, Code::UnknownHost, Code::MethodNotAllowed, Code::Internal];
    }
    let mut codes = vec![
        Code::Unauthorized,
        Code::CrossSite,
        Code::UnknownHost,
        Code::MethodNotAllowed,
        Code::Internal,
        Code::Draining,
    ];
    if path.contains("{env}") {
        codes.push(Code::UnknownEnv);
    }
    if *method == HttpMethod::Post {
        codes.extend(Code::ALL.into_iter().filter(|code| {
            !matches!(code, Code::NotFound | Code::UnknownEnv)
                && matches!(code.status().as_u16(), 400 | 408..)
        }));
    }
    codes
}

fn describe(path: &str, method: &HttpMethod, operation: &mut Operation) {
    // Functions of two modules may have one name; paths are told apart.
    let verb = match method {
        HttpMethod::Get => "get",
        HttpMethod::Delete => "delete",
        _ => "post",
    };
    let words = path.split(['/', '{', '}']).filter(|word| !word.is_empty());
    operation.operation_id = Some(std::iter::once(verb).chain(words).collect::<Vec<_>>().join("_"));
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in problems(path, method) {
        let names = by_status.entry(code.status().as_u16()).or_default();
        if !names.contains(&code.name()) {
            names.push(code.name());
        }
    }
    for (status, names) in by_status {
        let content = Content::new(Some(RefOr::Ref(Ref::from_schema_name("ProblemDetails"))));
        let response =
            ResponseBuilder::new().description(names.join(", ")).content(MEDIA_TYPE, content).build();
        operation.responses.responses.entry(status.to_string()).or_insert(RefOr::T(response));
    }
    if !is_open(path) {
        operation.security = Some(vec![
            SecurityRequirement::default(),
            SecurityRequirement::new("bearer", Vec::<String>::new()),
        ]);
    }
}

/// The description as JSON.
pub fn openapi() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| Api::openapi().to_json().unwrap_or_default())
}

/// `/openapi.json`.
pub async fn json() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi()).into_response()
}

/// `/docs`.
pub async fn page(State(_): State<Arc<crate::app::App>>) -> Html<&'static str> {
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
            .replace("{{openapi}}", &openapi().replace('<', "\\u003c"))
    }))
}
