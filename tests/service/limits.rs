//! Limits hold.
use crate::service::client::{BYTES, JSON, example, form, get, post, post_lines, request, send, with_limits};
use axum::body::{Body, Bytes};
use futures_util::stream::{self, StreamExt};
use sizewise::service::Lane;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// A question that keeps a worker busy for a while.
const HARD: &str = r#"{"symbols":{"x":{"min":2},"y":{"min":2},"z":{"min":2},"w":{"min":2}},
    "goal":"Ne(x**4 + y**4 + z**4, w**4)"}"#;

/// A body that announces no length.
fn unannounced(chunks: usize, size: usize) -> Body {
    let chunk = Bytes::from(vec![b' '; size]);
    Body::from_stream(stream::iter((0..chunks).map(move |_| Ok::<_, std::io::Error>(chunk.clone()))))
}

#[tokio::test]
async fn bodies_that_are_too_large_are_refused() {
    let app = with_limits(|limits| {
        limits.body = 1000;
        limits.line = 100;
    });
    let large = "x".repeat(2000);
    for (path, headers, body) in [
        ("/v1/check", BYTES, Body::from(large.clone())),
        ("/v1/check", BYTES, unannounced(20, 100)),
        ("/v1/entail", JSON, Body::from(large.clone())),
        ("/v1/entail", JSON, unannounced(3, 100)),
        ("/v1/envs", JSON, Body::from(large.clone())),
    ] {
        let answer = send(&app, request("POST", path, &[headers], body)).await;
        assert_eq!(answer.problem(), (413, "too-large".to_string()), "{path}");
    }
    // A length that is announced is enough; nothing is read.
    let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let announced = request("POST", "/v1/check", &[BYTES, ("content-length", "1001")], never);
    assert_eq!(send(&app, announced).await.problem(), (413, "too-large".to_string()));
}

#[tokio::test]
async fn a_batch_ends_at_its_limits_and_says_so() {
    let app = with_limits(|limits| {
        limits.line = 100;
        limits.queries = 3;
    });
    let goal = "{\"goal\":\"2 > 1\"}\n";
    let lines = post_lines(&app, "/v1/entail", goal.repeat(5)).await.lines();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[3]["error"]["code"], "too-large");
    let lines = post_lines(&app, "/v1/entail", format!("{goal}{}\n{goal}", "x".repeat(200))).await.lines();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["verdict"], &lines[1]["error"]["code"]), (&"implied".into(), &"too-large".into()));
    let endless = post_lines(&app, "/v1/entail", unannounced(100, 100)).await.lines();
    assert_eq!(endless[0]["error"]["code"], "too-large");
}

#[tokio::test]
async fn programs_that_unpack_to_too_much_are_refused() {
    let app = with_limits(|limits| limits.unpacked = 1000);
    for (program, code) in [(example("bert.pt2"), "unpacked-too-large"), (bomb(), "unpacked-too-large")] {
        let answer = send(&app, request("POST", "/v1/check", &[BYTES], program)).await;
        assert_eq!(answer.problem(), (413, code.to_string()));
    }
    let app = with_limits(|_| {});
    let answer = send(&app, request("POST", "/v1/check", &[BYTES], bomb())).await;
    assert_eq!(answer.status.as_u16(), 413, "{}", answer.text);
}

/// An archive of which a few kilobytes unpack to many megabytes.
fn bomb() -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, text) in [("a/archive_format", "pt2"), ("a/archive_version", "0")] {
        archive.start_file(name, options).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.start_file("a/models/model.json", options).unwrap();
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..64 {
        archive.write_all(&zeros).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[tokio::test]
async fn programs_of_too_many_nodes_are_refused() {
    let app = with_limits(|limits| limits.nodes = 2);
    let answer = send(&app, request("POST", "/v1/check", &[BYTES], example("area.pt2"))).await;
    assert_eq!(answer.problem(), (413, "too-many-nodes".to_string()));
}

#[tokio::test]
async fn a_full_queue_says_come_back() {
    // One at work, none waiting.
    let app = with_limits(|limits| limits.queue = 0);
    let places: Vec<_> = (0..2).map(|_| app.workers.admit(Lane::Short, None).ok().unwrap()).collect();
    let answer = post(&app, "/v1/entail", "{\"goal\":\"2 > 1\"}").await;
    assert_eq!(answer.problem(), (429, "busy".to_string()));
    assert_eq!(answer.header("retry-after"), "1");
    drop(places);
    assert_eq!(post(&app, "/v1/entail", "{\"goal\":\"2 > 1\"}").await.status, 200);
}

#[tokio::test]
async fn there_are_only_so_many_batches() {
    let app = with_limits(|limits| limits.batches = 0);
    let answer = post_lines(&app, "/v1/entail", "{\"goal\":\"2 > 1\"}").await;
    assert_eq!(answer.problem(), (429, "busy".to_string()));
}

#[tokio::test]
async fn time_runs_out() {
    let app = with_limits(|limits| limits.deadline = Duration::from_nanos(1));
    assert_eq!(post(&app, "/v1/entail", HARD).await.problem(), (504, "deadline".to_string()));
    // A request can lower the limit, and not raise it.
    let answer = post(&app, "/v1/entail?timeout_ms=60000", HARD).await;
    assert_eq!(answer.problem(), (504, "deadline".to_string()));
    let app = with_limits(|_| {});
    assert_eq!(post(&app, "/v1/entail?timeout_ms=1", HARD).await.problem(), (504, "deadline".to_string()));
}

#[tokio::test]
async fn a_budget_runs_out_and_is_counted() {
    let app = with_limits(|_| {});
    let answer = post(&app, "/v1/entail?budget=1", HARD).await.json();
    assert_eq!(answer["verdict"], "unknown");
    let text = get(&app, "/metrics").await.text;
    assert!(text.contains("sizewise_budget_exhausted_total{command=\"entail\"} 1"), "{text}");
}

#[tokio::test]
async fn slow_bodies_are_given_up() {
    let app = with_limits(|limits| limits.patience = Duration::from_millis(20));
    let slow = || {
        Body::from_stream(
            stream::iter([Ok(Bytes::from("{"))]).chain(stream::pending::<Result<Bytes, std::io::Error>>()),
        )
    };
    let answer = post(&app, "/v1/entail", slow()).await;
    assert_eq!(answer.problem(), (408, "slow-body".to_string()));
    let lines = post_lines(&app, "/v1/entail", slow()).await.lines();
    assert_eq!(lines[0]["error"]["code"], "slow-body");
}

#[tokio::test]
async fn bodies_that_break_off() {
    let app = with_limits(|_| {});
    let broken = || {
        let off = std::io::Error::other("gone");
        Body::from_stream(stream::iter([Ok(Bytes::from("{\"goal\":\"2 > 1\"}\n")), Err(off)]))
    };
    assert_eq!(post(&app, "/v1/entail", broken()).await.problem(), (400, "broken-body".to_string()));
    let lines = post_lines(&app, "/v1/entail", broken()).await.lines();
    assert_eq!(
        (&lines[0]["verdict"], &lines[1]["error"]["code"]),
        (&"implied".into(), &"broken-body".into())
    );
}

#[tokio::test]
async fn short_memory_refuses_new_work() {
    let app = with_limits(|limits| limits.memory = 1);
    app.watch_memory();
    for answer in [
        post(&app, "/v1/entail", "{\"goal\":\"2 > 1\"}").await,
        post(&app, "/v1/envs", "{}").await,
        send(&app, form("/v1/check", &[("program", None, &example("area.pt2"))])).await,
    ] {
        assert_eq!(answer.problem(), (503, "memory".to_string()));
    }
    assert_eq!(get(&app, "/readyz").await.status, 503);
    // Bodies that are held at once.
    let app = with_limits(|limits| limits.bodies = 1024);
    let answer = send(&app, request("POST", "/v1/check", &[BYTES], vec![0; 1 << 20])).await;
    assert_eq!(answer.problem(), (503, "memory".to_string()));
}

#[tokio::test]
async fn deep_json_is_no_danger() {
    let app = with_limits(|_| {});
    let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    assert_eq!(post(&app, "/v1/entail", deep.clone()).await.problem(), (400, "not-json".to_string()));
    let program = send(&app, request("POST", "/v1/check", &[BYTES], format!("{{\"a\":{deep}}}"))).await;
    assert_eq!(program.problem().0, 422);
    let nested = format!("{{\"goal\":\"{}1{}\"}}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(post(&app, "/v1/entail", nested).await.problem(), (422, "invalid".to_string()));
    let app = Arc::clone(&app);
    assert_eq!(post(&app, "/v1/entail", "{\"goal\":\"2 > 1\"}").await.status, 200);
}
