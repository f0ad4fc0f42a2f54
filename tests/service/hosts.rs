//! Host names of a service without tokens: a page of another site cannot pass for one of this machine.
use crate::service::client::{JSON, config, request, send, service, with_tokens};
use axum::body::Body;
use sha2::{Digest, Sha256};
use sizewise::service::{App, Config};

const GOAL: &str = "{\"goal\":\"2 > 1\"}";

#[tokio::test]
async fn only_names_of_this_machine_are_answered() {
    let app = service();
    for (host, origin, status) in [
        ("localhost:8077", "", 200),
        ("127.0.0.1:8077", "http://127.0.0.1:8077", 200),
        ("[::1]:8077", "http://localhost:8077", 200),
        ("", "", 200),
        ("evil.example:8077", "http://evil.example:8077", 403),
        ("evil.example", "", 403),
        ("localhost", "http://evil.example", 403),
        ("localhost", "https://localhost.evil.example", 403),
        ("localhost", "null", 403),
        ("localhost", "file://", 403),
    ] {
        let mut headers = vec![JSON];
        headers
            .extend([("host", host), ("origin", origin)].into_iter().filter(|(_, value)| !value.is_empty()));
        let answer = send(&app, request("POST", "/v1/entail", &headers, GOAL)).await;
        assert_eq!(answer.status, status, "{host} {origin}: {}", answer.text);
        if status == 403 {
            let (code, header) = match origin {
                "" | "http://evil.example:8077" => ("unknown-host", "Host"),
                _ => ("cross-site", "Origin"),
            };
            assert_eq!(answer.problem(), (403, code.to_string()), "{host} {origin}");
            assert_eq!(answer.json()["place"]["header"], header, "{host} {origin}");
        }
    }
}

#[tokio::test]
async fn every_path_minds_the_host() {
    let app = service();
    for path in ["/", "/docs", "/healthz", "/readyz", "/metrics", "/v1/envs/none", "/nothing"] {
        for (path, host) in
            [(path.to_string(), "evil.example"), (format!("http://evil.example{path}"), "localhost")]
        {
            let answer = send(&app, request("GET", &path, &[("host", host)], Body::empty())).await;
            assert_eq!(answer.problem(), (403, "unknown-host".to_string()), "{path}");
        }
    }
}

#[tokio::test]
async fn other_names_can_be_allowed() {
    let hosts = vec!["shapes.example.org".to_string()];
    let app = App::new(Config { hosts, listen: "engine:8077".to_string(), ..config() }, None).unwrap();
    for (host, status) in [("shapes.example.org:443", 200), ("engine:8077", 200), ("example.org", 403)] {
        let headers = [JSON, ("host", host), ("origin", &format!("https://{host}"))];
        assert_eq!(send(&app, request("POST", "/v1/entail", &headers, GOAL)).await.status, status, "{host}");
    }
}

#[tokio::test]
async fn tokens_protect_under_any_name() {
    let hash: String = Sha256::digest("secret").iter().map(|b| format!("{b:02x}")).collect();
    let app = with_tokens(&hash);
    let headers = [JSON, ("host", "shapes.example.org"), ("authorization", "Bearer secret")];
    assert_eq!(send(&app, request("POST", "/v1/entail", &headers, GOAL)).await.status, 200);
}
