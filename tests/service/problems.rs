//! Every problem: its status, its code, its place.
use crate::service::client::{
    BYTES, JSON, LINES, example, form, get, post, request, send, service, with_tokens,
};
use axum::body::Body;
use serde_json::json;
use sha2::{Digest, Sha256};

/// What is asked, and the problem with it.
type Case =
    (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str, u16, &'static str);

const CASES: &[Case] = &[
    ("GET", "/nothing", &[], "", 404, "not-found"),
    ("GET", "/v1/entail", &[], "", 405, "method-not-allowed"),
    ("PUT", "/v1/check", &[BYTES], "", 405, "method-not-allowed"),
    ("POST", "/v1/entail", &[], "{}", 415, "unsupported-media-type"),
    ("POST", "/v1/entail", &[("content-type", "text/plain")], "{}", 415, "unsupported-media-type"),
    ("POST", "/v1/entail", &[JSON, ("content-encoding", "gzip")], "{}", 415, "unsupported-media-type"),
    ("POST", "/v1/check", &[JSON], "{}", 415, "unsupported-media-type"),
    ("POST", "/v1/eval", &[BYTES], "{}", 415, "unsupported-media-type"),
    ("POST", "/v1/sizes", &[BYTES], "{}", 415, "unsupported-media-type"),
    ("POST", "/v1/envs", &[LINES], "{}", 415, "unsupported-media-type"),
    ("POST", "/v1/entail", &[JSON], "", 400, "not-json"),
    ("POST", "/v1/entail", &[JSON], "{\"goal\":", 400, "not-json"),
    ("POST", "/v1/entail", &[JSON], "[]", 422, "invalid"),
    ("POST", "/v1/entail", &[JSON], "{}", 422, "invalid"),
    ("POST", "/v1/entail", &[JSON], "{\"goal\":\"s0 +\"}", 422, "invalid"),
    ("POST", "/v1/entail", &[JSON], "{\"goal\":\"1\",\"symbols\":{\"s0\":5}}", 422, "invalid"),
    ("POST", "/v1/entail", &[JSON], "{\"goal\":\"1\",\"given\":\"s0\"}", 422, "invalid"),
    ("POST", "/v1/entail", &[JSON], "{\"goal\":\"1\",\"givn\":[]}", 422, "invalid"),
    ("POST", "/v1/entail", &[JSON], "{\"goal\":\"1\",\"symbols\":{\"s0\":{\"mn\":2}}}", 422, "invalid"),
    ("POST", "/v1/infer", &[JSON], "{\"op\":\"aten.relu.default\",\"arg\":[]}", 422, "invalid"),
    ("POST", "/v1/envs", &[JSON], "{\"goal\":\"1\"}", 422, "invalid"),
    ("POST", "/v1/simplify", &[JSON], "{\"expr\":1}", 422, "invalid"),
    ("POST", "/v1/bounds", &[JSON], "{\"expr\":null}", 422, "invalid"),
    ("POST", "/v1/minimize", &[JSON], "{\"guards\":[1]}", 422, "invalid"),
    ("POST", "/v1/infer", &[JSON], "{\"op\":1}", 422, "invalid"),
    ("POST", "/v1/infer", &[JSON], "{\"op\":\"aten.relu.default\",\"args\":[1]}", 422, "invalid"),
    ("POST", "/v1/infer", &[JSON], "{\"op\":\"aten.relu.default\",\"symbols\":{\"s0\":1}}", 422, "invalid"),
    ("POST", "/v1/entail?budget=0", &[JSON], "{\"goal\":\"1\"}", 422, "invalid-parameter"),
    ("POST", "/v1/entail?budget=101", &[JSON], "{\"goal\":\"1\"}", 422, "invalid-parameter"),
    ("POST", "/v1/entail?budget=x", &[JSON], "{\"goal\":\"1\"}", 422, "invalid-parameter"),
    ("POST", "/v1/entail?bugdet=1", &[JSON], "{\"goal\":\"1\"}", 422, "invalid-parameter"),
    ("POST", "/v1/bounds?timeout_ms=0", &[JSON], "{\"expr\":\"1\"}", 422, "invalid-parameter"),
    ("POST", "/v1/check?backend=tpu", &[BYTES], "x", 422, "invalid-parameter"),
    ("POST", "/v1/eval?backend=CPU", &[BYTES], "x", 422, "invalid-parameter"),
    ("POST", "/v1/infer?backend=", &[JSON], "{\"op\":\"aten.relu.default\"}", 422, "invalid-parameter"),
    ("POST", "/v1/simplify?backend=any", &[JSON], "{\"expr\":\"1\"}", 422, "invalid-parameter"),
    ("POST", "/v1/check?format=pdf", &[BYTES], "x", 422, "invalid-parameter"),
    ("POST", "/v1/check", &[BYTES], "", 422, "unreadable-program"),
    ("POST", "/v1/check", &[BYTES], "no program", 422, "unreadable-program"),
    ("POST", "/v1/check", &[BYTES], "PK\u{3}\u{4}", 422, "unreadable-program"),
    ("POST", "/v1/check", &[BYTES], "{}", 422, "unreadable-program"),
    ("POST", "/v1/check", &[("content-type", "multipart/form-data")], "x", 400, "broken-body"),
    ("POST", "/v1/check", &[("content-type", "multipart/form-data; boundary=b")], "x", 400, "broken-body"),
    ("GET", "/v1/envs/none", &[], "", 404, "unknown-env"),
    ("DELETE", "/v1/envs/none", &[], "", 404, "unknown-env"),
    ("POST", "/v1/envs/none/facts", &[JSON], "{}", 404, "unknown-env"),
    ("POST", "/v1/envs/none/entail", &[JSON], "{\"goal\":\"1\"}", 404, "unknown-env"),
    ("POST", "/v1/envs", &[JSON], "{\"given\":[\"s0 +\"]}", 422, "invalid"),
    ("POST", "/v1/entail", &[JSON, ("sec-fetch-site", "cross-site")], "{\"goal\":\"1\"}", 403, "cross-site"),
    ("POST", "/v1/entail", &[JSON, ("origin", "http://evil.example")], "{\"goal\":\"1\"}", 403, "cross-site"),
    ("POST", "/v1/entail", &[JSON, ("host", "evil.example")], "{\"goal\":\"1\"}", 403, "unknown-host"),
];

#[tokio::test]
async fn every_wrong_request_has_its_code() {
    let app = service();
    for (method, path, headers, body, status, code) in CASES {
        let answer = send(&app, request(method, path, headers, *body)).await;
        assert_eq!(answer.problem(), (*status, code.to_string()), "{method} {path} {body}");
    }
}

#[tokio::test]
async fn problems_name_the_place() {
    let app = service();
    for (body, place) in [
        ("{\"goal\":\"s0 +\"}", json!({"field": "goal"})),
        ("{\"goal\":\"1\",\"given\":[\"1\",\"s0 +\"]}", json!({"field": "given[1]"})),
        ("{\"goal\":\"1\",\"symbols\":{\"s0\":{\"min\":\"x\"}}}", json!({"field": "symbols.s0"})),
        ("{\"goal\":\n 1", json!({"line": 2, "column": 2})),
    ] {
        let answer = post(&app, "/v1/entail", body).await.json();
        assert_eq!(answer["place"], place, "{answer}");
    }
    let broken = example("area.pt2");
    let answer =
        send(&app, request("POST", "/v1/check", &[BYTES], broken[..broken.len() / 2].to_vec())).await;
    assert_eq!(answer.problem(), (422, "unreadable-program".to_string()));
    let json = br#"{"graph_module": 3, "schema_version": {"major": 8, "minor": 8}}"#;
    let answer = send(&app, request("POST", "/v1/check", &[BYTES], json.to_vec())).await.json();
    assert!(answer["place"].is_object(), "{answer}");
}

#[tokio::test]
async fn forms_with_other_parts_are_refused() {
    let app = service();
    let (program, by_data) = (example("area.pt2"), example("masked.pt2"));
    for (path, parts, code) in [
        ("/v1/check", vec![("spec", None, &b"{}"[..])], "invalid"),
        ("/v1/check", vec![("program", None, &program[..]), ("other", None, &b"x"[..])], "invalid"),
        ("/v1/check", vec![("program", None, &program[..]), ("program", None, &program[..])], "invalid"),
        ("/v1/check", vec![("program", None, &program[..]), ("spec", None, &b"{"[..])], "invalid-spec"),
        ("/v1/check", vec![("program", None, &program[..]), ("spec", None, &b"7"[..])], "invalid-spec"),
        ("/v1/eval", vec![("program", None, &program[..])], "invalid"),
        ("/v1/eval", vec![("program", None, &program[..]), ("request", None, &b"[]"[..])], "invalid"),
        (
            "/v1/eval",
            vec![("program", None, &program[..]), ("request", None, &br#"{"shapes":{"q":[1]}}"#[..])],
            "invalid",
        ),
        ("/v1/sizes", vec![("program", None, &program[..])], "invalid"),
        (
            "/v1/sizes",
            vec![("program", None, &program[..]), ("request", None, &br#"{"ask":"plan","align":3}"#[..])],
            "invalid",
        ),
        (
            "/v1/sizes",
            vec![("program", None, &program[..]), ("request", None, &br#"{"ask":"fit","memory":-5}"#[..])],
            "invalid",
        ),
        (
            "/v1/sizes",
            vec![
                ("program", None, &program[..]),
                ("request", None, &br#"{"ask":"plan"}"#[..]),
                ("spec", None, &br#"{"z": [null]}"#[..]),
            ],
            "invalid-spec",
        ),
        (
            "/v1/sizes",
            vec![("program", None, &by_data[..]), ("request", None, &br#"{"ask":"fit","memory":1}"#[..])],
            "undecided",
        ),
        (
            "/v1/eval",
            vec![("program", None, &b"no program"[..]), ("request", None, &b"{}"[..])],
            "unreadable-program",
        ),
    ] {
        let answer = send(&app, form(path, &parts)).await;
        assert_eq!(answer.problem(), (422, code.to_string()), "{path} {}", answer.text);
    }
}

#[tokio::test]
async fn a_spec_that_does_not_fit_is_a_report() {
    let app = service();
    let (program, spec) = (example("area.pt2"), br#"{"nobody": [null]}"#);
    let answer = send(&app, form("/v1/check", &[("program", None, &program), ("spec", None, spec)])).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["verdict"]), (200, &json!("invalid")));
}

#[tokio::test]
async fn the_clients_own_id_comes_back_if_it_is_harmless() {
    let app = service();
    for (given, kept) in [("abc-1.2_3", true), ("a b", false), ("", false), (&"x".repeat(65), false)] {
        let answer = send(&app, request("GET", "/nothing", &[("x-request-id", given)], Body::empty())).await;
        assert_eq!(answer.header("x-request-id") == given, kept, "{given:?}");
        assert!(!answer.header("x-request-id").is_empty());
    }
}

#[tokio::test]
async fn only_known_tokens_are_served() {
    let hash: String = Sha256::digest("secret").iter().map(|b| format!("{b:02x}")).collect();
    let app = with_tokens(&hash);
    let goal = "{\"goal\":\"1\"}";
    for (token, status) in [("Bearer secret", 200), ("Bearer wrong", 401), ("secret", 401), ("", 401)] {
        let request = request("POST", "/v1/entail", &[JSON, ("authorization", token)], goal);
        assert_eq!(send(&app, request).await.status.as_u16(), status, "{token:?}");
    }
    let refused = post(&app, "/v1/entail", goal).await;
    assert_eq!(refused.problem(), (401, "unauthorized".to_string()));
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    assert_eq!(get(&app, "/metrics").await.status, 401);
    for path in ["/", "/docs", "/openapi.json", "/healthz", "/readyz"] {
        assert_eq!(get(&app, path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_documentation_explains_every_code() {
    let app = service();
    let docs = get(&app, "/docs").await.text;
    for code in sizewise::service::problem::Code::ALL {
        assert!(docs.contains(&format!("id=\"{}\"", code.name())), "{}", code.name());
    }
}
