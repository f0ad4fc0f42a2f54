//! How the service is set up: where it listens and what it accepts.
use std::path::PathBuf;
use std::time::Duration;

/// What a client may ask for. A request can lower some of these, and raise none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// Bytes of all bodies that are held at once.
    pub bodies: usize,
    /// Bytes of a program's JSON when unpacked.
    pub unpacked: u64,
    /// Nodes of a program.
    pub nodes: usize,
    /// Bytes of one query.
    pub line: usize,
    /// Queries of one batch.
    pub queries: u64,
    /// Requests that wait for a worker of a lane; more are told to come back.
    pub queue: usize,
    /// How long work may take in the short lane before it is begun anew in the long one.
    pub short: Duration,
    /// Batches at once.
    pub batches: usize,
    /// Connections at once.
    pub connections: usize,
    /// Connections at once without a request in progress; of more, the one that has been idle longest is closed.
    pub idle: usize,
    /// How long a connection may take to send the head of a request, from when it could begin.
    pub head: Duration,
    /// How many times the usual work a question may take.
    pub budget: u32,
    /// How long a question may take before its answer is given up.
    pub deadline: Duration,
    /// How long a body may take to arrive, or a batch may pause.
    pub patience: Duration,
    /// Environments at once.
    pub envs: usize,
    /// Environments at once of one token.
    pub token_envs: usize,
    /// Symbols and facts of one environment.
    pub env_facts: usize,
    /// How long an environment lives without being used.
    pub env_idle: Duration,
    /// Resident bytes of the process above which new work is refused; 0 for no limit.
    pub memory: u64,
    /// Bytes of answers kept in memory.
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

/// The whole set-up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen: an address or a name, with a port.
    pub listen: String,
    /// Names under which the service may be asked where it is not protected by tokens, beside those of loopback.
    pub hosts: Vec<String>,
    /// The file of the hashes of tokens; required to listen elsewhere than on loopback.
    pub tokens: Option<PathBuf>,
    /// Threads that answer questions; as many again work on what takes long.
    pub workers: usize,
    /// How long accepted work may take after the signal to stop.
    pub drain: Duration,
    /// The least level of what is logged, as `tracing` filters are written.
    pub log: String,
    /// What clients may ask for.
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
