//! The configuration: where the service listens and what it accepts.
use std::path::PathBuf;
use std::time::Duration;

/// Limits on what clients may ask for. A request can lower some of them, and raise none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most bytes of a request body.
    pub body: usize,
    /// The most bytes of all request bodies in memory.
    pub bodies: usize,
    /// The most bytes of a program's JSON when decompressed.
    pub unpacked: u64,
    /// The most nodes of a program.
    pub nodes: usize,
    /// The most bytes of a question.
    pub line: usize,
    /// The most questions of a batch.
    pub queries: u64,
    /// The most requests that wait for a worker of a lane; further ones are answered with 429.
    pub queue: usize,
    /// How long work may take in the short lane before it is restarted in the long one.
    pub short: Duration,
    /// The most concurrent batches.
    pub batches: usize,
    /// The most concurrent connections.
    pub connections: usize,
    /// The most idle connections; beyond that, the one that has been idle longest is closed.
    pub idle: usize,
    /// How long a client may take to send the head of a request.
    pub head: Duration,
    /// The multiple of the default work budget that a question may use.
    pub budget: u32,
    /// How long a question may take.
    pub deadline: Duration,
    /// How long a body may take to arrive, or a batch may pause.
    pub patience: Duration,
    /// The most environments.
    pub envs: usize,
    /// The most environments with one token.
    pub token_envs: usize,
    /// The most symbols and facts of an environment.
    pub env_facts: usize,
    /// How long an environment lives without use.
    pub env_idle: Duration,
    /// The resident memory in bytes above which new work is refused; 0 for no limit.
    pub memory: u64,
    /// The most bytes of cached answers.
    pub cached: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 64 << 20,
            bodies: 512 << 20,
            unpacked: 64 << 20,
            nodes: 200_000,
            line: 1 << 20,
            queries: 1_000_000,
            queue: 256,
            short: Duration::from_millis(20),
            batches: 64,
            connections: 4096,
            idle: 1024,
            head: Duration::from_secs(20),
            budget: 1,
            deadline: Duration::from_secs(60),
            patience: Duration::from_secs(30),
            envs: 1000,
            token_envs: 100,
            env_facts: 10_000,
            env_idle: Duration::from_secs(900),
            memory: 4 << 30,
            cached: 128 << 20,
        }
    }
}

/// The configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen: an address or a name, with a port.
    pub listen: String,
    /// Host names that requests may use if there are no tokens, besides those of loopback.
    pub hosts: Vec<String>,
    /// The file with hashes of tokens; required to listen on other interfaces than loopback.
    pub tokens: Option<PathBuf>,
    /// Threads for short work; as many again do long work.
    pub workers: usize,
    /// How long accepted work may take after the signal to stop.
    pub drain: Duration,
    /// What is logged: a level, or `target=level` pairs separated by commas.
    pub log: String,
    /// The limits.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: "127.0.0.1:8077".to_string(),
            hosts: Vec::new(),
            tokens: None,
            workers: std::thread::available_parallelism().map_or(2, usize::from),
            drain: Duration::from_secs(60),
            log: "info".to_string(),
            limits: Limits::default(),
        }
    }
}
