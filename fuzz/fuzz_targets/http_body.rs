//! A request to the service: the first byte says where it goes and what it says that it is, the second how its body
//! is cut into pieces. No body may be answered with an error of the service's own.
#![no_main]
use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::stream;
use http_body_util::BodyExt;
use libfuzzer_sys::fuzz_target;
use sizewise::service::{App, Config, router};
use std::convert::Infallible;
use std::sync::{Arc, LazyLock};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";
const BYTES: &str = "application/octet-stream";
const FORM: &str = "multipart/form-data; boundary=part";
const PLACES: [(&str, &str); 14] = [
    ("/v1/entail", JSON),
    ("/v1/entail", LINES),
    ("/v1/entail?budget=1&explain=true", JSON),
    ("/v1/simplify", JSON),
    ("/v1/simplify", LINES),
    ("/v1/minimize", JSON),
    ("/v1/bounds", JSON),
    ("/v1/infer", JSON),
    ("/v1/infer", LINES),
    ("/v1/check", BYTES),
    ("/v1/check", FORM),
    ("/v1/eval", FORM),
    ("/v1/envs", JSON),
    ("/v1/check?name=%00", JSON),
];

static SERVICE: LazyLock<(Runtime, Arc<App>)> = LazyLock::new(|| {
    let mut config = Config { workers: 1, ..Config::default() };
    config.limits.envs = 16;
    // The sanitizer's own memory is not the service's.
    config.limits.memory = 0;
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let app = runtime.block_on(async { App::new(config, None) }).expect("a service");
    (runtime, app)
});

fuzz_target!(|data: &[u8]| {
    let [place, cut, body @ ..] = data else { return };
    let (path, media) = PLACES[usize::from(*place) % PLACES.len()];
    let size = if *cut == 0 { body.len().max(1) } else { usize::from(*cut) * 16 };
    let pieces: Vec<Result<Vec<u8>, Infallible>> = body.chunks(size).map(|piece| Ok(piece.to_vec())).collect();
    let request = Request::post(path)
        .header("content-type", media)
        .body(Body::from_stream(stream::iter(pieces)))
        .expect("a request");
    let (runtime, app) = &*SERVICE;
    let (status, answer) = runtime.block_on(async {
        let response = router(Arc::clone(app)).oneshot(request).await.expect("an answer");
        let status = response.status();
        (status, response.into_body().collect().await.map(|body| body.to_bytes()))
    });
    assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "{path}: {answer:?}");
    let answer = answer.expect("a whole answer");
    assert!(std::str::from_utf8(&answer).is_ok(), "{path}: the answer is no text");
});
