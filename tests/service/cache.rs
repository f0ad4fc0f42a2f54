//! Answers that are given again from memory, and figures of what was built.
use crate::service::client::{get, post_lines};
use serde_json::Value;
use sizewise::service::App;
use std::sync::Arc;

/// Questions with every verdict and of several rungs.
const QUESTIONS: &[&str] = &[
    r#"{"id":0,"symbols":{"s0":{"min":2}},"given":["Eq(Mod(s0, 8), 0)"],"goal":"Eq(8*(s0//8), s0)"}"#,
    r#"{"id":1,"symbols":{"s0":{"min":2,"max":9}},"goal":"s0*s0 <= 81"}"#,
    r#"{"id":2,"symbols":{"s0":{"min":2}},"goal":"s0 > 7"}"#,
    r#"{"id":3,"symbols":{"s0":{"min":2}},"given":["s0 < 2"],"goal":"s0 > 7"}"#,
    r#"{"id":4,"symbols":{"a":{"min":0},"b":{"min":0}},"given":["a + 2*b <= 10","a >= b + 4"],"goal":"b <= 2"}"#,
    r#"{"id":5,"symbols":{"a":{"min":1},"b":{"min":1}},"goal":"Eq((a*b)//b, a)"}"#,
    r#"{"id":6,"goal":"Eq((x + 1)*(x - 1), x*x - 1)"}"#,
];

#[tokio::test]
async fn what_was_built_is_shown() {
    let text = get(&crate::service::client::service(), "/metrics").await.text;
    let line = text.lines().find(|line| line.starts_with("sizewise_build_info{")).unwrap();
    for part in
        [concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), "features=\"smt,service\"", "os=", "arch="]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(line.ends_with("} 1"), "{line}");
}

async fn ask_all(app: &Arc<App>) -> Vec<Value> {
    post_lines(app, "/v1/entail", QUESTIONS.join("\n")).await.lines()
}

async fn figure(app: &Arc<App>, name: &str) -> u64 {
    let text = get(app, "/metrics").await.text;
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn a_question_that_was_answered_is_answered_from_memory() {
    let app = crate::service::client::service();
    let first = ask_all(&app).await;
    assert_eq!(figure(&app, "sizewise_cache_hits_total").await, 0);
    assert_eq!(figure(&app, "sizewise_cache_misses_total").await, QUESTIONS.len() as u64);
    // The same texts, times of deciding included.
    assert_eq!(ask_all(&app).await, first);
    assert_eq!(figure(&app, "sizewise_cache_hits_total").await, QUESTIONS.len() as u64);
}
