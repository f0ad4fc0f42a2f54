//! One connection, many requests: whatever is refused, the next request is answered, or the answer says that it will
//! not be. And what becomes of connections and their requests when the service stops.
use crate::service::process::{Process, begin, status};
use rustix::process::Signal;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const GOAL: &str = "{\"goal\":\"Eq(s0 + 1, s0 + 1)\",\"symbols\":{}}";
const JSON: &str = "Content-Type: application/json\r\n";
/// A question that takes longer than any test.
const HARD: &str = r#"{"symbols":{"x":{"min":2},"y":{"min":2},"z":{"min":2},"w":{"min":2}},
    "goal":"Ne(x**4 + y**4 + z**4, w**4)"}"#;

/// An answer as it came: its head, in lower case, and its body.
struct Raw {
    status: u16,
    head: String,
    body: String,
}

impl Raw {
    /// Reads one answer with a length; `None` where the connection has ended.
    fn read(stream: &mut TcpStream) -> Option<Raw> {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("a head in ASCII").to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
        stream.read_exact(&mut body).ok()?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Some(Raw { status, head, body: String::from_utf8(body).expect("text") })
    }

    fn closes(&self) -> bool {
        self.head.contains("connection: close")
    }

    fn code(&self) -> Value {
        serde_json::from_str::<Value>(&self.body).map(|problem| problem["code"].clone()).unwrap_or_default()
    }
}

fn head(path: &str, headers: &str, length: usize) -> String {
    format!("POST {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n")
}

/// A service that takes the token `one`.
fn with_token() -> (tempfile::TempDir, Process) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.txt");
    let hash: String = Sha256::digest("one").iter().map(|b| format!("{b:02x}")).collect();
    std::fs::write(&file, hash).unwrap();
    let process = Process::start(&["--listen", "127.0.0.1:0", "--tokens", file.to_str().unwrap()]);
    (folder, process)
}

#[test]
fn a_connection_serves_on_after_requests_that_are_refused() {
    let open = Process::start(&["--listen", "127.0.0.1:0"]);
    let (_folder, closed) = with_token();
    let host = "Host: localhost\r\n";
    let token = format!("{host}Authorization: Bearer one\r\n{JSON}");
    for (process, path, headers, refused) in [
        (&closed, "/v1/entail", format!("{host}{JSON}"), 401),
        (&open, "/v1/entail", format!("{host}{JSON}Origin: http://evil.example\r\n"), 403),
        (&open, "/v1/entail", format!("Host: evil.example\r\n{JSON}"), 403),
        (&open, "/v1/nothing", format!("{host}{JSON}"), 404),
        (&open, "/v1/envs/none/entail", format!("{host}{JSON}"), 404),
        (&open, "/metrics", format!("{host}{JSON}"), 405),
        (&open, "/v1/entail", format!("{host}Content-Type: text/plain\r\n"), 415),
        (&open, "/v1/entail?budget=0", format!("{host}{JSON}"), 422),
        (&open, "/v1/entail", JSON.to_string(), 400),
    ] {
        let mut stream = process.connect();
        let follow = head(
            "/v1/entail",
            if refused == 401 { &token } else { "Host: localhost\r\nContent-Type: application/json\r\n" },
            GOAL.len(),
        );
        for round in 0..100 {
            // Head and body come apart, as many clients send them.
            stream.write_all(head(path, &headers, GOAL.len()).as_bytes()).unwrap();
            if round % 2 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            stream.write_all(GOAL.as_bytes()).unwrap();
            let answer = Raw::read(&mut stream)
                .unwrap_or_else(|| panic!("{path} {refused}: nothing in round {round}"));
            assert_eq!((answer.status, answer.closes()), (refused, false), "{path}: {}", answer.body);
            stream.write_all(format!("{follow}{GOAL}").as_bytes()).unwrap();
            assert_eq!(
                Raw::read(&mut stream).map(|answer| answer.status),
                Some(200),
                "{path} {refused}: round {round}"
            );
        }
    }
}

#[test]
fn answers_that_close_the_connection_say_so() {
    let process = Process::start(&["--listen", "127.0.0.1:0", "--max-body", "1"]);
    let host = "Host: localhost\r\n";
    for (headers, length, sent, refused) in [
        // More than is read away, announced or not there.
        (format!("{host}{JSON}"), 1usize << 40, 0, 413),
        (format!("{host}Content-Type: text/plain\r\n"), 1 << 30, 0, 415),
        (format!("{host}Content-Type: text/plain\r\n"), 100, 50, 415),
        // Nobody has asked for the body.
        (format!("{host}Content-Type: text/plain\r\nExpect: 100-continue\r\n"), 100, 0, 415),
    ] {
        let mut stream = process.connect();
        stream.write_all(head("/v1/entail", &headers, length).as_bytes()).unwrap();
        stream.write_all(&vec![b' '; sent]).unwrap();
        let answer = Raw::read(&mut stream).expect("an answer");
        assert_eq!((answer.status, answer.closes()), (refused, true), "{length}: {}", answer.head);
        assert!(Raw::read(&mut stream).is_none(), "{length}");
    }
}

#[test]
fn a_request_names_one_host() {
    let (_folder, process) = with_token();
    let token = "Authorization: Bearer one\r\n";
    for (version, hosts, status) in [
        ("1.1", "", 400),
        ("1.1", "Host: a\r\nHost: a\r\n", 400),
        ("1.1", "Host: a\r\nHost: b\r\n", 400),
        ("1.1", "Host: a\r\n", 200),
        ("1.1", "Host:\r\n", 200),
        ("1.0", "", 200),
        ("1.0", "Host: a\r\nHost: b\r\n", 400),
    ] {
        let mut stream = process.connect();
        stream.write_all(format!("GET /metrics HTTP/{version}\r\n{hosts}{token}\r\n").as_bytes()).unwrap();
        let answer = Raw::read(&mut stream).expect("an answer");
        assert_eq!(answer.status, status, "{version} {hosts}: {}", answer.body);
        assert!(status == 200 || answer.code() == "no-host", "{}", answer.body);
    }
}

/// Sends a question that the service cannot answer soon.
fn ask_hard(process: &Process, path: &str) -> TcpStream {
    let mut stream = process.connect();
    let headers = format!("Host: localhost\r\n{JSON}");
    stream.write_all(format!("{}{HARD}", head(path, &headers, HARD.len())).as_bytes()).unwrap();
    stream
}

#[test]
fn what_a_client_gives_too_little_time_is_no_error_in_the_log() {
    let mut process = Process::start(&["--listen", "127.0.0.1:0", "--deadline", "1", "--budget", "1000"]);
    for (path, level) in [("/v1/entail?timeout_ms=1", "INFO"), ("/v1/entail", "ERROR")] {
        assert_eq!(status(&mut ask_hard(&process, path)), 504, "{path}");
        let line = process.logged("request");
        assert_eq!((line["status"].as_u64(), line["level"].as_str()), (Some(504), Some(level)), "{line}");
    }
}

#[test]
fn accepted_requests_are_answered_before_the_time_for_stopping_ends() {
    let limits = ["--budget", "1000", "--patience", "60"];
    let mut process = Process::start(&[&["--listen", "127.0.0.1:0", "--drain", "1"], &limits[..]].concat());
    // At work, waiting for a worker, waiting for its body, and a batch.
    let mut asked: Vec<TcpStream> = (0..3).map(|_| ask_hard(&process, "/v1/entail")).collect();
    asked.push(begin(&process));
    let mut batch = process.connect();
    let lines = "POST /v1/entail HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n\
                 Transfer-Encoding: chunked\r\n\r\n";
    batch.write_all(lines.as_bytes()).unwrap();
    assert_eq!(status(&mut batch), 200);
    std::thread::sleep(Duration::from_millis(100));
    let stop = Instant::now();
    process.signal(Signal::TERM);
    process.logged("stopping");
    for (place, stream) in asked.iter_mut().enumerate() {
        let answer = Raw::read(stream).unwrap_or_else(|| panic!("request {place} is not answered"));
        assert_eq!((answer.status, answer.code(), answer.closes()), (503, "draining".into(), true));
    }
    let mut rest = String::new();
    batch.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\"draining\"") && rest.ends_with("0\r\n\r\n"), "{rest}");
    let (_, status) = process.end();
    assert_eq!(status, Some(0));
    // The time of the signal, of the last answers and of a busy machine.
    assert!(stop.elapsed() < Duration::from_secs(4), "{:?}", stop.elapsed());
}
