//! Environments: facts added as a trace goes, questions in between.
use crate::service::client::{
    Answer, JSON, LINES, config, get, post, request, send, service, with_limits, with_tokens,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sizewise::service::{App, Limits, Tokens};
use std::sync::Arc;
use std::time::Duration;

async fn make(app: &Arc<App>, facts: &str) -> String {
    let answer = post(app, "/v1/envs", facts.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = answer.json()["env"].as_str().unwrap().to_string();
    assert_eq!(answer.header("location"), format!("/v1/envs/{id}"));
    id
}

async fn ask(app: &Arc<App>, id: &str, what: &str, body: &str) -> Answer {
    post(app, &format!("/v1/envs/{id}/{what}"), body.to_string()).await
}

#[tokio::test]
async fn facts_are_added_and_questions_answered() {
    let app = service();
    let id = make(&app, r#"{"symbols":{"s0":{"min":2,"max":100}}}"#).await;
    let verdict = async |goal: &str| {
        ask(&app, &id, "entail", &json!({"goal": goal}).to_string()).await.json()["verdict"].clone()
    };
    assert_eq!(verdict("s0 >= 5").await, "refuted");
    let added = ask(&app, &id, "facts", r#"{"given":["s0 >= 5"],"symbols":{"s1":{"min":0}}}"#).await;
    assert_eq!(added.json(), json!({"symbols": 2, "facts": 1}));
    assert_eq!(verdict("s0 >= 5").await, "implied");
    assert_eq!(verdict("s0 + s1 >= 5").await, "implied");
    assert_eq!(verdict("s1 >= 1").await, "refuted");
    let bounds = ask(&app, &id, "bounds", r#"{"id":9,"expr":"2*s0"}"#).await.json();
    assert_eq!((&bounds["id"], &bounds["min"], &bounds["max"]), (&json!(9), &json!(10), &json!(200)));
    let simple = ask(&app, &id, "simplify", r#"{"expr":"Max(s0, 3)"}"#).await.json();
    assert_eq!(simple["expr"], "s0");
    let shown = get(&app, &format!("/v1/envs/{id}")).await.json();
    assert_eq!(shown["given"], json!(["s0 >= 5"]));
    assert_eq!(shown["symbols"]["s0"], json!({"min": 2, "max": 100}));
}

#[tokio::test]
async fn what_a_question_assumes_is_forgotten() {
    let app = service();
    let id = make(&app, r#"{"symbols":{"s0":{"min":0},"s1":{"min":0}}}"#).await;
    let goal = r#"{"goal":"s0 >= 7","given":["s0 >= 8"]}"#;
    assert_eq!(ask(&app, &id, "entail", goal).await.json()["verdict"], "implied");
    assert_eq!(ask(&app, &id, "entail", r#"{"goal":"s0 >= 7"}"#).await.json()["verdict"], "refuted");
    // A goal that divides by s1 says nothing about s1 afterwards.
    assert_eq!(
        ask(&app, &id, "entail", r#"{"goal":"Eq((s0*s1)//s1, s0)"}"#).await.json()["verdict"],
        "implied"
    );
    assert_eq!(ask(&app, &id, "entail", r#"{"goal":"s1 >= 1"}"#).await.json()["verdict"], "refuted");
    // A symbol that is not declared is free in this question.
    assert_eq!(ask(&app, &id, "entail", r#"{"goal":"new >= 0"}"#).await.json()["verdict"], "refuted");
    let witness = ask(&app, &id, "entail", r#"{"goal":"s1 >= 1"}"#).await.json()["witness"].clone();
    assert!(witness.get("new").is_none(), "{witness}");
}

#[tokio::test]
async fn facts_that_cannot_be_read_change_nothing() {
    let app = service();
    let id = make(&app, r#"{"symbols":{"s0":{"min":2}}}"#).await;
    let answer = ask(&app, &id, "facts", r#"{"given":["s0 >= 5","s0 +"]}"#).await;
    assert_eq!(answer.problem(), (422, "invalid".to_string()));
    assert_eq!(get(&app, &format!("/v1/envs/{id}")).await.json()["given"], json!([]));
}

#[tokio::test]
async fn contradictions_are_said() {
    let app = service();
    let id = make(&app, r#"{"symbols":{"s0":{"min":2}}}"#).await;
    ask(&app, &id, "facts", r#"{"symbols":{"s0":{"min":5,"max":3}}}"#).await;
    assert_eq!(ask(&app, &id, "entail", r#"{"goal":"s0 > 1"}"#).await.json()["verdict"], "inconsistent");
    let id = make(&app, r#"{"symbols":{"s0":{"min":2}},"given":["s0 < 2"]}"#).await;
    let answer = ask(&app, &id, "entail", r#"{"goal":"s0 > 1"}"#).await.json();
    assert_eq!(answer["verdict"], "inconsistent");
}

#[tokio::test]
async fn batches_are_answered_in_order() {
    let app = service();
    let id = make(&app, r#"{"symbols":{"s0":{"min":2}}}"#).await;
    let body: String = (0..100).map(|i| format!("{{\"id\":{i},\"goal\":\"s0 > {i}\"}}\n")).collect();
    let lines = send(&app, request("POST", &format!("/v1/envs/{id}/entail"), &[LINES], body)).await.lines();
    assert_eq!(lines.len(), 100);
    for (i, line) in lines.iter().enumerate() {
        let expected = if i < 2 { "implied" } else { "refuted" };
        assert_eq!((&line["id"], &line["verdict"]), (&json!(i), &json!(expected)));
    }
}

#[tokio::test]
async fn an_environment_goes_when_deleted_or_idle() {
    let app = service();
    let id = make(&app, "{}").await;
    let path = format!("/v1/envs/{id}");
    assert_eq!(send(&app, request("DELETE", &path, &[], "")).await.status, 204);
    assert_eq!(get(&app, &path).await.problem(), (404, "unknown-env".to_string()));
    let app = with_limits(|limits| limits.env_idle = Duration::ZERO);
    let id = make(&app, "{}").await;
    assert_eq!(get(&app, &format!("/v1/envs/{id}")).await.problem(), (404, "unknown-env".to_string()));
    assert_eq!(app.envs.expire(), 0);
}

#[tokio::test]
async fn there_is_room_for_so_much() {
    let app = with_limits(|limits| {
        limits.envs = 1;
        limits.env_facts = 2;
    });
    let id = make(&app, r#"{"symbols":{"s0":{}}}"#).await;
    assert_eq!(post(&app, "/v1/envs", "{}").await.problem(), (429, "too-many-envs".to_string()));
    let answer = ask(&app, &id, "facts", r#"{"given":["s0 > 1","s0 > 2"]}"#).await;
    assert_eq!(answer.problem(), (413, "env-full".to_string()));
    assert_eq!(ask(&app, &id, "facts", r#"{"given":["s0 > 1"]}"#).await.status, 200);
}

fn hash(token: &str) -> String {
    Sha256::digest(token).iter().map(|b| format!("{b:02x}")).collect()
}

#[tokio::test]
async fn one_token_cannot_take_all_environments() {
    let mut setup = config();
    setup.limits = Limits { envs: 3, token_envs: 2, ..setup.limits };
    let tokens = Tokens::parse(&format!("{}\n{}\n", hash("one"), hash("two"))).unwrap();
    let app = App::new(setup, Some(tokens)).unwrap();
    let (one, two) = (("authorization", "Bearer one"), ("authorization", "Bearer two"));
    let make = async |token| send(&app, request("POST", "/v1/envs", &[JSON, token], "{}")).await;
    let first = make(one).await.json()["env"].as_str().unwrap().to_string();
    assert_eq!(make(one).await.status, 201);
    let refused = make(one).await;
    assert_eq!(refused.problem(), (429, "too-many-envs".to_string()));
    assert_eq!((refused.header("retry-after"), &refused.json()["place"]["of"]), ("30", &json!("token")));
    assert!(
        refused.json()["detail"].as_str().unwrap().starts_with("there are 2 environments with this token")
    );
    assert_eq!(make(two).await.status, 201);
    let refused = make(two).await;
    assert_eq!((refused.problem().0, &refused.json()["place"]["of"]), (429, &json!("all")));
    // Whoever deletes one can make another.
    assert_eq!(send(&app, request("DELETE", &format!("/v1/envs/{first}"), &[one], "")).await.status, 204);
    assert_eq!(make(one).await.status, 201);
    let text = send(&app, request("GET", "/metrics", &[one], "")).await.text;
    for line in [
        "sizewise_envs 3",
        "sizewise_envs_refused_total{of=\"token\"} 1",
        "sizewise_envs_refused_total{of=\"all\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}: {text}");
    }
}

#[tokio::test]
async fn without_tokens_all_environments_are_anybodys() {
    let app = with_limits(|limits| limits.token_envs = 1);
    make(&app, "{}").await;
    make(&app, "{}").await;
}

#[tokio::test]
async fn an_environment_is_its_makers_own() {
    let app = with_tokens(&format!("{}\n{}\n", hash("one"), hash("two")));
    let one = ("authorization", "Bearer one");
    let made: Value = send(&app, request("POST", "/v1/envs", &[JSON, one], "{}")).await.json();
    let path = format!("/v1/envs/{}", made["env"].as_str().unwrap());
    assert_eq!(send(&app, request("GET", &path, &[one], "")).await.status, 200);
    let two = send(&app, request("GET", &path, &[("authorization", "Bearer two")], "")).await;
    assert_eq!(two.problem(), (404, "unknown-env".to_string()));
}

#[tokio::test]
async fn many_questions_do_not_make_an_environment_grow_for_ever() {
    let app = service();
    let id = make(&app, r#"{"symbols":{"s0":{"min":2}},"given":["s0 >= 5"]}"#).await;
    // Each question leaves expressions behind; after some the facts are made anew, and hold as before.
    let long = |i: usize| {
        (0..400).map(|j| format!("{}*s0**{}", i + j + 7, 2 + j % 40)).collect::<Vec<_>>().join(" + ")
    };
    let body: String =
        (0..120).map(|i| format!("{{\"id\":{i},\"goal\":\"{} >= 0\"}}\n", long(400 * i))).collect();
    let lines = send(&app, request("POST", &format!("/v1/envs/{id}/entail"), &[LINES], body)).await.lines();
    assert!(
        lines.iter().all(|line| line["verdict"] == "implied"),
        "{:?}",
        lines.iter().find(|l| l["verdict"] != "implied")
    );
    assert_eq!(ask(&app, &id, "entail", r#"{"goal":"s0 >= 5"}"#).await.json()["verdict"], "implied");
}
