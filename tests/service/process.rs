//! The service as a process: where it listens, its connections, signals and logs.
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Nothing that is waited for here takes long; what does not come at all fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running service.
pub struct Process {
    child: Child,
    address: String,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Process {
    pub fn start(options: &[&str]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sizewise"));
        command.args(["serve", "--workers", "1"]).args(options).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in log.lines() {
                let line = line.unwrap();
                let json = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if sender.send(json).is_err() {
                    return;
                }
            }
        });
        let mut process = Process { child, address: String::new(), lines, seen: Vec::new() };
        let line = process.logged("listening");
        process.address = line["address"].as_str().unwrap().to_string();
        process
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The next line of the log with a message that begins so.
    pub fn logged(&mut self, message: &str) -> Value {
        loop {
            let line = self
                .lines
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("no `{message}`: {:?}", self.seen));
            self.seen.push(line.clone());
            if line["message"].as_str().is_some_and(|text| text.starts_with(message)) {
                return line;
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The status of the answer to a request on a connection of its own.
    fn status(&self, method: &str, path: &str, headers: &str, body: &str) -> u16 {
        let mut stream = self.connect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        status(&mut stream)
    }

    fn get(&self, path: &str) -> u16 {
        self.status("GET", path, "", "")
    }

    /// What the process has logged since it was started, and its exit status, once it has ended.
    pub fn end(mut self) -> (Vec<Value>, Option<i32>) {
        let status = self.child.wait().unwrap().code();
        let mut lines = std::mem::take(&mut self.seen);
        lines.extend(self.lines.iter());
        (lines, status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the head of an answer, or what there is of it, and returns the status; 0 where there is none.
pub fn status(stream: &mut TcpStream) -> u16 {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// Whether the service has closed a connection; waits until it does or says something.
fn is_closed(stream: &mut TcpStream) -> bool {
    !matches!(stream.read(&mut [0]), Ok(1..))
}

/// Begins a request whose body does not end, and waits until it is taken up.
pub fn begin(process: &Process) -> TcpStream {
    let mut stream = process.connect();
    let head = "POST /v1/entail HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 16\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(status(&mut stream), 100);
    stream
}

/// Ends it.
fn finish(stream: &mut TcpStream) -> u16 {
    stream.write_all(b"{\"goal\":\"2 > 1\"}").unwrap();
    status(stream)
}

#[test]
fn names_are_listened_on() {
    let process = Process::start(&["--listen", "localhost:0"]);
    assert_eq!(process.get("/healthz"), 200);
    assert_eq!(
        process.status("POST", "/v1/entail", "Content-Type: application/json\r\n", "{\"goal\":\"2 > 1\"}"),
        200
    );
}

#[test]
fn tokens_are_read_again_at_a_hangup() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.txt");
    let hash = |token: &str| Sha256::digest(token).iter().map(|b| format!("{b:02x}")).collect::<String>();
    std::fs::write(&file, hash("one")).unwrap();
    let mut process = Process::start(&["--listen", "127.0.0.1:0", "--tokens", file.to_str().unwrap()]);
    let asked = |process: &Process, token: &str| {
        process.status("GET", "/metrics", &format!("Authorization: Bearer {token}\r\n"), "")
    };
    assert_eq!((asked(&process, "one"), asked(&process, "two")), (200, 401));
    std::fs::write(&file, hash("two")).unwrap();
    process.signal(Signal::HUP);
    assert_eq!(process.logged("the token file was reloaded")["tokens"], 1);
    assert_eq!((asked(&process, "one"), asked(&process, "two")), (401, 200));
    // Files that cannot be used change nothing.
    for (text, says) in [("my secret\n", "line 1"), ("", "no hash")] {
        std::fs::write(&file, text).unwrap();
        process.signal(Signal::HUP);
        let line = process.logged("the token file cannot be reloaded");
        assert_eq!(line["level"], "ERROR");
        let error = line["error"].as_str().unwrap();
        assert!(error.contains(says) && error.contains("tokens.txt") && !error.contains("secret"), "{error}");
        assert_eq!((asked(&process, "one"), asked(&process, "two")), (401, 200));
    }
    std::fs::remove_file(&file).unwrap();
    process.signal(Signal::HUP);
    process.logged("the token file cannot be reloaded");
    assert_eq!(asked(&process, "two"), 200);
}

#[test]
fn a_hangup_without_tokens_is_harmless() {
    let mut process = Process::start(&["--listen", "127.0.0.1:0"]);
    process.signal(Signal::HUP);
    process.logged("there is no token file");
    assert_eq!(process.get("/healthz"), 200);
}

#[test]
fn draining_is_no_error_in_the_log() {
    let mut process = Process::start(&["--listen", "127.0.0.1:0"]);
    let mut begun = begin(&process);
    process.signal(Signal::TERM);
    process.logged("stopping");
    assert_eq!((process.get("/readyz"), process.get("/healthz"), process.get("/v1/envs/x")), (503, 200, 503));
    assert_eq!(finish(&mut begun), 200);
    let (lines, status) = process.end();
    assert_eq!(status, Some(0));
    let refused: Vec<&Value> = lines.iter().filter(|line| line["status"] == 503).collect();
    assert_eq!(refused.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line["level"] == "INFO"), "{lines:?}");
}

#[test]
fn the_connection_that_has_been_idle_longest_makes_room() {
    let process = Process::start(&["--listen", "127.0.0.1:0", "--max-idle", "2"]);
    let mut idle: Vec<TcpStream> = (0..2).map(|_| process.connect()).collect();
    // Half a head is no request.
    idle[0].write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let mut third = process.connect();
    assert!(is_closed(&mut idle[0]));
    third.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(status(&mut third), 200);
}

#[test]
fn connections_with_requests_in_progress_are_kept_and_others_refused() {
    let process = Process::start(&["--listen", "127.0.0.1:0", "--max-connections", "2"]);
    let (mut one, mut two) = (begin(&process), begin(&process));
    assert_eq!(status(&mut process.connect()), 503);
    assert_eq!(finish(&mut one), 200);
    // It is idle now, or will be in a moment, and makes room.
    assert!((0..1000).any(|_| process.get("/healthz") == 200));
    assert_eq!(finish(&mut two), 200);
}

#[test]
fn heads_that_do_not_arrive_are_not_waited_for() {
    let process = Process::start(&["--listen", "127.0.0.1:0", "--head-time", "1"]);
    let (mut silent, mut slow) = (process.connect(), process.connect());
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").unwrap();
    assert!(is_closed(&mut silent));
    assert!(matches!(status(&mut slow), 0 | 408));
    assert_eq!(process.get("/healthz"), 200);
}
