//! How long the service takes to answer, request in and answer out, without a network between: questions, whole
//! checks, and what it has answered before.
use axum::body::Body;
use axum::http::Request;
use criterion::{Criterion, criterion_group, criterion_main};
use http_body_util::BodyExt;
use sizewise::service::{App, Config, router};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use tower::ServiceExt;

fn request(path: &str, kind: &str, body: Vec<u8>) -> Request<Body> {
    let request = Request::builder().method("POST").uri(path).header("content-type", kind);
    request.body(Body::from(body)).expect("a request")
}

async fn answer(app: &Arc<App>, request: Request<Body>) -> usize {
    let response = router(Arc::clone(app)).oneshot(request).await.expect("an answer");
    assert!(response.status().is_success(), "{}", response.status());
    response.into_body().collect().await.expect("a body").to_bytes().len()
}

fn round_trips(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    // An application may want the runtime that it is made in.
    let _inside = runtime.enter();
    let app = App::new(Config { workers: 2, ..Config::default() }, None).expect("a service");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/bert.pt2");
    let program = std::fs::read(program).expect("a program");
    let mut group = criterion.benchmark_group("service");
    group.sample_size(30);
    let mut count = 0_u64;
    group.bench_function("entail", |b| {
        b.iter(|| {
            // Another question each time: answers are kept.
            count += 1;
            let body = format!(
                r#"{{"symbols":{{"s0":{{"min":2,"max":null}}}},"given":["Eq(Mod(s0, 8), 0)"],"goal":"Eq(8*(s0//8) + {count}, s0 + {count})"}}"#
            );
            runtime.block_on(answer(&app, request("/v1/entail", "application/json", black_box(body.into_bytes()))))
        });
    });
    group.bench_function("entail, known", |b| {
        let body = r#"{"symbols":{"s0":{"min":2,"max":null}},"given":[],"goal":"2 <= s0"}"#;
        b.iter(|| runtime.block_on(answer(&app, request("/v1/entail", "application/json", body.into()))));
    });
    group.bench_function("check", |b| {
        b.iter(|| {
            runtime.block_on(answer(&app, request("/v1/check", "application/octet-stream", program.clone())))
        });
    });
    group.finish();
}

criterion_group!(benches, round_trips);
criterion_main!(benches);
