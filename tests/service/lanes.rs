//! Long work: it holds up nobody else, ends at its deadline, and leaves nothing behind.
use crate::service::client::{LINES, example, form, get, post, request, send, with_limits};
use serde_json::json;
use sizewise::check::{CheckError, Checker};
use sizewise::expr::CancelToken;
use sizewise::kernels::Operators;
use sizewise::service::{App, Lane};
use sizewise::solve::Budget;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Questions that, with the budget of [`patient`], take minutes.
const ENDLESS: &[(&str, &str)] = &[
    (
        "/v1/entail",
        concat!(
            r#"{"symbols":{"x":{"min":2},"y":{"min":2},"z":{"min":2},"w":{"min":2}},"#,
            r#""goal":"Ne(x**4 + y**4 + z**4, w**4)"}"#
        ),
    ),
    (
        "/v1/bounds",
        concat!(
            r#"{"symbols":{"x":{"min":2},"y":{"min":2},"z":{"min":2},"w":{"min":2}},"#,
            r#""given":["Eq(x**4 + y**4 + z**4, w**4)"],"expr":"x + y"}"#
        ),
    ),
    (
        "/v1/minimize",
        concat!(
            r#"{"symbols":{"x":{"min":2},"y":{"min":2},"z":{"min":2},"w":{"min":2}},"#,
            r#""guards":["x >= 3","Ne(x**4 + y**4 + z**4, w**4)","Ne(x**4 + y**4, w**4 + z**4 + 1)"]}"#
        ),
    ),
];

/// A service with a thousand times the default budget, two workers for each lane and no room for more.
fn patient() -> Arc<App> {
    with_limits(|limits| {
        limits.budget = 1000;
        limits.queue = 0;
        limits.short = Duration::from_millis(500);
    })
}

/// Waits until no work runs. What does not end when it is cancelled would take minutes.
async fn until_free(app: &App) {
    let start = Instant::now();
    while Lane::ALL.iter().any(|lane| app.workers.load(*lane) != (0, 0)) {
        assert!(start.elapsed() < Duration::from_secs(60), "work goes on after its deadline");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn figure(app: &Arc<App>, name: &str) -> u64 {
    let text = get(app, "/metrics").await.text;
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn a_question_is_cancelled_at_its_deadline() {
    let app = patient();
    for (path, body) in ENDLESS {
        let answer = post(&app, &format!("{path}?timeout_ms=700"), *body).await;
        assert_eq!(answer.problem(), (504, "deadline".to_string()), "{path}");
        until_free(&app).await;
    }
    assert_eq!(figure(&app, "sizewise_work_late_total").await, ENDLESS.len() as u64);
    assert_eq!(figure(&app, "sizewise_panics_total").await, 0);
    // Nothing of it was kept.
    assert_eq!(figure(&app, "sizewise_queries_total").await, 0);
    assert_eq!(post(&app, "/v1/entail", "{\"goal\":\"2 > 1\"}").await.status, 200);
}

#[tokio::test]
async fn work_that_was_moved_is_answered_as_ever() {
    let app = with_limits(|limits| limits.short = Duration::from_millis(20));
    let (path, body) = ENDLESS[0];
    // With the usual budget it ends, though later than the short lane allows.
    let answer = post(&app, path, body).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["verdict"]), (200, &json!("unknown")));
    assert_eq!(figure(&app, "sizewise_work_moved_total").await, 1);
    assert_eq!(figure(&app, "sizewise_queries_total{command=\"entail\"}").await, 1);
    assert_eq!(post(&app, path, body).await.header("sizewise-cache"), "hit");
}

#[tokio::test]
async fn cheap_questions_are_answered_while_all_long_workers_are_busy() {
    let app = patient();
    let places: Vec<_> = (0..2).map(|_| app.workers.admit(Lane::Long, None).ok().unwrap()).collect();
    let (path, body) = ENDLESS[0];
    assert_eq!(post(&app, path, body).await.problem(), (429, "busy".to_string()));
    for i in 0..50 {
        let goal = json!({"symbols": {"s0": {"min": 2}}, "goal": format!("s0 + {i} > {i}")});
        assert_eq!(post(&app, "/v1/entail", goal.to_string()).await.json()["verdict"], "implied");
    }
    let area = form("/v1/check", &[("program", None, &example("area.pt2"))]);
    let checked = send(&app, area).await.status.as_u16();
    assert!(checked == 200 || checked == 429, "{checked}");
    drop(places);
}

#[test]
fn a_cancelled_check_says_nothing() {
    let checker = Checker::read("area.pt2", &example("area.pt2")).unwrap();
    let (operators, budget) = (Operators::new(), Budget::default());
    let token = CancelToken::new();
    assert!(token.during(|| checker.check(None, &operators, &budget)).is_ok());
    token.cancel();
    let cancelled = token.during(|| checker.check(None, &operators, &budget));
    assert!(matches!(cancelled, Err(CheckError::Cancelled)));
    assert!(checker.check(None, &operators, &budget).is_ok());
}

#[tokio::test]
async fn an_environment_is_none_the_worse_for_a_cancelled_question() {
    let app = patient();
    let facts = concat!(
        r#"{"symbols":{"x":{"min":2},"y":{"min":2},"z":{"min":2},"w":{"min":2}},"#,
        r#""given":["x >= 5"]}"#
    );
    let made = post(&app, "/v1/envs", facts).await.json();
    let path = format!("/v1/envs/{}", made["env"].as_str().unwrap());
    let endless = r#"{"goal":"Ne(x**4 + y**4 + z**4, w**4)"}"#;
    let answer = post(&app, &format!("{path}/entail?timeout_ms=700"), endless).await;
    assert_eq!(answer.problem(), (504, "deadline".to_string()));
    until_free(&app).await;
    for (goal, verdict) in [("x >= 4", "implied"), ("x*y >= 10", "implied"), ("x >= 6", "refuted")] {
        let answer = post(&app, &format!("{path}/entail"), json!({"goal": goal}).to_string()).await;
        assert_eq!(answer.json()["verdict"], verdict, "{goal}: {}", answer.text);
    }
    assert_eq!(get(&app, &path).await.json()["given"], json!(["x >= 5"]));
}

#[tokio::test]
async fn a_batch_gets_past_a_line_that_takes_long() {
    let app = with_limits(|limits| limits.short = Duration::from_millis(20));
    let (path, hard) = ENDLESS[0];
    let mut lines: Vec<String> = (0..20).map(|i| format!("{{\"id\":{i},\"goal\":\"{i} >= 0\"}}")).collect();
    lines[9] = hard.replacen('{', "{\"id\":9,", 1);
    let answers = send(&app, request("POST", path, &[LINES], lines.join("\n"))).await.lines();
    for (i, answer) in answers.iter().enumerate() {
        let verdict = if i == 9 { "unknown" } else { "implied" };
        assert_eq!((&answer["id"], &answer["verdict"]), (&json!(i), &json!(verdict)));
    }
    assert_eq!(answers.len(), 20);
    assert_eq!(figure(&app, "sizewise_queries_total{command=\"entail\"}").await, 20);
}
