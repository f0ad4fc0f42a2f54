//! Stopping: what was accepted is finished, nothing new is taken.
use crate::service::client::{LINES, get, post, request, send, service};
use axum::body::{Body, Bytes};
use futures_util::stream::poll_fn;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;

#[tokio::test]
async fn new_work_is_refused() {
    let app = service();
    app.drain();
    let answer = post(&app, "/v1/entail", "{\"goal\":\"2 > 1\"}").await;
    assert_eq!(answer.problem(), (503, "draining".to_string()));
    assert_eq!((answer.header("connection"), answer.header("retry-after")), ("close", "5"));
    assert_eq!(get(&app, "/readyz").await.status, 503);
    assert_eq!(get(&app, "/readyz").await.json()["status"], "draining");
    assert_eq!(get(&app, "/healthz").await.status, 200);
    assert_eq!(get(&app, "/metrics").await.status, 200);
    app.until_idle().await;
}

#[tokio::test]
async fn a_batch_that_has_begun_is_finished() {
    let app = service();
    let (lines, mut body) = mpsc::channel::<Result<Bytes, std::io::Error>>(8);
    let asked = tokio::spawn({
        let app = Arc::clone(&app);
        async move {
            let body = Body::from_stream(poll_fn(move |context| body.poll_recv(context)));
            send(&app, request("POST", "/v1/entail", &[LINES], body)).await.lines()
        }
    });
    lines.send(Ok(Bytes::from("{\"id\":1,\"goal\":\"2 > 1\"}\n"))).await.unwrap();
    while app.in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    app.drain();
    lines.send(Ok(Bytes::from("{\"id\":2,\"goal\":\"2 > 1\"}\n"))).await.unwrap();
    drop(lines);
    let answers: Vec<Value> = asked.await.unwrap();
    assert_eq!(
        answers.iter().map(|a| a["verdict"].as_str().unwrap()).collect::<Vec<_>>(),
        ["implied", "implied"]
    );
    app.until_idle().await;
    assert_eq!(app.in_flight(), 0);
}

#[tokio::test]
async fn answers_come_while_the_batch_goes_on() {
    use http_body_util::BodyExt;
    use tower::ServiceExt;
    let app = service();
    let (lines, mut body) = mpsc::channel::<Result<Bytes, std::io::Error>>(8);
    let body = Body::from_stream(poll_fn(move |context| body.poll_recv(context)));
    let request = request("POST", "/v1/entail", &[LINES], body);
    let mut answers = sizewise::service::router(Arc::clone(&app)).oneshot(request).await.unwrap().into_body();
    for id in 0..3 {
        lines.send(Ok(Bytes::from(format!("{{\"id\":{id},\"goal\":\"2 > 1\"}}\n")))).await.unwrap();
        let frame = answers.frame().await.unwrap().unwrap().into_data().unwrap();
        let answer: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(answer["id"], id);
    }
    drop(lines);
    assert!(answers.frame().await.is_none());
}
