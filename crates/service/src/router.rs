//! The routes, and the middleware around every request.
use super::api::{check, cost, docs, envs, eval, health, questions, sizes};
use super::app::App;
use super::ask::Command;
use super::problem::{Code, Problem};
use super::rest::Rest;
use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::FutureExt;
use sizewise_check::query::Ask;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The header with the id of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Pages load nothing but themselves.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Slower requests are always logged.
const SLOW: Duration = Duration::from_secs(1);
/// The longest request id that is accepted from a client.
const MAX_ID: usize = 64;

/// The service as a router.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/docs", get(docs::page))
        .route("/openapi.json", get(docs::json))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/v1/check", post(check::check))
        .route("/v1/eval", post(eval::eval))
        .route("/v1/cost", post(cost::cost))
        .route("/v1/sizes", post(sizes::sizes))
        .route("/v1/entail", post(questions::entail))
        .route("/v1/simplify", questions::route(Command::Simplify))
        .route("/v1/minimize", questions::route(Command::Minimize))
        .route("/v1/bounds", questions::route(Command::Bounds))
        .route("/v1/infer", post(questions::infer))
        .route("/v1/envs", post(envs::make))
        .route("/v1/envs/{env}", get(envs::show).delete(envs::delete))
        .route("/v1/envs/{env}/facts", post(envs::add))
        .route("/v1/envs/{env}/entail", envs::route(Ask::Entail))
        .route("/v1/envs/{env}/simplify", envs::route(Ask::Simplify))
        .route("/v1/envs/{env}/bounds", envs::route(Ask::Bounds))
        .fallback(async || {
            Problem::new(Code::NotFound, "there is nothing at this path; /docs lists the paths")
        })
        .method_not_allowed_fallback(async || {
            Problem::new(Code::MethodNotAllowed, "this path takes other methods")
        })
        .layer(from_fn_with_state(Arc::clone(&app), around))
        .with_state(app)
}

async fn page() -> Html<&'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    Html(TEXT.get_or_init(|| {
        include_str!("page/index.html")
            .replace("{{style}}", sizewise_check::report::PAGE_STYLE)
            .replace("{{view}}", sizewise_check::report::PAGE_SCRIPT)
            .replace("{{script}}", include_str!("page/page.js"))
    }))
}

/// The client's id of the request, if it is valid; otherwise a new one.
fn request_id(request: &Request) -> HeaderValue {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: OnceLock<u32> = OnceLock::new();
    if let Some(given) = request.headers().get(REQUEST_ID) {
        let harmless = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
        let bytes = given.as_bytes();
        if !bytes.is_empty() && bytes.len() <= MAX_ID && bytes.iter().all(harmless) {
            return given.clone();
        }
    }
    let process = PROCESS.get_or_init(|| {
        let mut random = [0u8; 4];
        // Without random numbers, the process's number tells replicas apart.
        match getrandom::fill(&mut random) {
            Ok(()) => u32::from_le_bytes(random),
            Err(_) => std::process::id(),
        }
    });
    let id = format!("{process:08x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed));
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("unknown"))
}

/// Checks that a request says once to whom it is, as RFC 9112 has it.
fn has_host(request: &Request) -> Result<(), Problem> {
    let named = request.headers().get_all(header::HOST).iter().count();
    let must = request.version() == Version::HTTP_11;
    if named > 1 || (must && named == 0) {
        let detail = if named == 0 { "there is no Host" } else { "there are several Host headers" };
        return Err(Problem::new(Code::NoHost, detail).at("header", "Host").expecting("one Host header"));
    }
    Ok(())
}

/// Checks host, token and origin, and records the holder of the token.
fn allow(app: &App, request: &mut Request) -> Result<(), Problem> {
    let mut holder = None;
    has_host(request)?;
    if let Some(hosts) = &app.hosts {
        hosts.allow(request.uri(), request.headers())?;
    }
    if !docs::is_open(request.uri().path()) {
        holder = app.holder(request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes))?;
        // Pages of other sites can send forms to a service on loopback, though they cannot read the answer.
        let site = request.headers().get("sec-fetch-site").map(HeaderValue::as_bytes);
        if request.method() != Method::GET && matches!(site, Some(b"cross-site" | b"same-site")) {
            return Err(
                Problem::new(Code::CrossSite, "a page of another site asks").at("header", "Sec-Fetch-Site")
            );
        }
        if app.is_draining() && request.uri().path() != "/metrics" {
            return Err(Problem::draining("no new work is taken"));
        }
    }
    request.extensions_mut().insert(holder);
    Ok(())
}

/// The answer of a route, or that there is none.
async fn answered(app: &App, request: Request, next: Next) -> Response {
    tokio::select! {
        response = AssertUnwindSafe(next.run(request)).catch_unwind() => response.unwrap_or_else(|_| {
            Problem::new(Code::Internal, "internal error in the service").into_response()
        }),
        () = app.until_cut_off() => {
            Problem::draining("the service stops, and the answer was not found in time").into_response()
        }
    }
}

/// The middleware: request id, access, metrics, log, and problems as JSON.
async fn around(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = request_id(&request);
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let _accepted = (!docs::is_open(request.uri().path())).then(|| app.accept());
    let (mut request, rest) = Rest::of(request);
    let mut response = match allow(&app, &mut request) {
        Err(problem) => {
            drop(request);
            problem.into_response()
        }
        Ok(()) => answered(&app, request, next).await,
    };
    if !rest.read().await {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let took = start.elapsed();
    let endpoint = matched.as_ref().map_or("other", MatchedPath::as_str);
    app.metrics.request(endpoint, response.status().as_u16(), took);
    // Stopping is no failure: neither what is refused meanwhile, nor that `/readyz` says so.
    let mut is_expected = app.is_draining() && response.status() == 503;
    let code = response.extensions_mut().remove::<Problem>().map(|problem| {
        let code = problem.code;
        is_expected |= problem.is_asked_for;
        app.metrics.problems.with_label_values(&[code.name()]).inc();
        if code == Code::Internal {
            app.metrics.panics.inc();
        }
        // What routing knows, such as the methods that are allowed, stays.
        let others = std::mem::take(response.headers_mut());
        response = problem.render(id.to_str().unwrap_or_default());
        for (name, value) in &others {
            if name != header::CONTENT_LENGTH && name != header::CONTENT_TYPE {
                response.headers_mut().insert(name.clone(), value.clone());
            }
        }
        code
    });
    log(&id, &method, endpoint, &response, took, (code, is_expected));
    finish(&mut response, id);
    response
}

fn log(
    id: &HeaderValue,
    method: &Method,
    endpoint: &str,
    response: &Response,
    took: Duration,
    (code, is_expected): (Option<Code>, bool),
) {
    let (id, status) = (id.to_str().unwrap_or_default(), response.status().as_u16());
    let (ms, code) = (took.as_secs_f64() * 1e3, code.map_or("", Code::name));
    if status >= 500 && !is_expected {
        tracing::error!(request_id = id, %method, endpoint, status, ms, code, "request");
    } else if status >= 400 || took > SLOW {
        tracing::info!(request_id = id, %method, endpoint, status, ms, code, "request");
    } else {
        tracing::debug!(request_id = id, %method, endpoint, status, ms, code, "request");
    }
}

/// The headers of every response.
fn finish(response: &mut Response<Body>, id: HeaderValue) {
    let is_page =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|v| v.as_bytes().starts_with(b"text/html"));
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_page {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use tower::ServiceExt;

    #[tokio::test]
    async fn a_handler_that_panics_is_a_problem_and_is_counted() {
        let app = App::new(Config { workers: 1, ..Config::default() }, None).unwrap();
        let broken = async || -> Html<&'static str> { panic!("a bug") };
        let router = Router::new()
            .route("/broken", get(broken))
            .layer(from_fn_with_state(Arc::clone(&app), around))
            .with_state(Arc::clone(&app));
        let request =
            Request::builder().uri("/broken").header("host", "localhost").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers()[header::CONTENT_TYPE], crate::problem::MEDIA_TYPE);
        assert_eq!(app.metrics.panics.get(), 1);
    }
}
