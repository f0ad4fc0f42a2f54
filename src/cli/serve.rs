//! `sizewise serve`: the engine as an HTTP service.
use super::files;
use crate::service::{self, CacheAt, Config, Limits, StartError};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Options of `serve`.
#[derive(Args, Debug)]
pub struct ServeOptions {
    /// Where to listen. Elsewhere than on loopback, --tokens is required.
    #[arg(long, default_value = "127.0.0.1:8077", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// A file with the SHA-256 hash of a bearer token on each line.
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Where verdicts are kept beside memory: a file, or redis://HOST:PORT to share them.
    #[arg(long, value_name = "FILE|redis://…")]
    pub cache: Option<String>,
    /// Threads that answer; by default one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// How many times the usual amount of work a question may take.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub budget: u32,
    /// Seconds that an answer may take.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub deadline: u64,
    /// Seconds that a body may take to arrive, or a batch may pause.
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub patience: u64,
    /// Seconds that accepted work may take once the service is told to stop.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub drain: u64,
    /// MiB of a request's body.
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_body: u32,
    /// MiB of a program's JSON when unpacked.
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub max_unpacked: u32,
    /// Nodes of a program.
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    pub max_nodes: usize,
    /// Queries of a batch.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub max_queries: u64,
    /// Requests that wait for a worker; more are answered with 429.
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub queue: u32,
    /// Environments at once.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub max_envs: usize,
    /// Seconds that an environment lives without being used.
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    pub env_idle: u64,
    /// MiB of resident memory above which new work is refused; 0 for no limit.
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    pub memory: u64,
    /// What to log: error, warn, info or debug (every request); or as `tracing` filters are written.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub log: String,
}

/// Serves until the process is told to stop.
pub fn run(options: &ServeOptions) -> ExitCode {
    match service::run(config(options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            files::complain(&error.to_string());
            ExitCode::from(match error {
                StartError::Usage(_) => 2,
                StartError::Cache(_) | StartError::System(_) => 3,
            })
        }
    }
}

fn config(options: &ServeOptions) -> Config {
    let usual = Config::default();
    Config {
        listen: options.listen,
        tokens: options.tokens.clone(),
        cache: options.cache.as_deref().map_or(CacheAt::Memory, CacheAt::parse),
        workers: options.workers.map_or(usual.workers, usize::from),
        drain: Duration::from_secs(options.drain),
        log: options.log.clone(),
        limits: Limits {
            body: (options.max_body as usize) << 20,
            bodies: usual.limits.bodies.max((options.max_body as usize) << 21),
            unpacked: u64::from(options.max_unpacked) << 20,
            nodes: options.max_nodes,
            queries: options.max_queries,
            queue: options.queue as usize,
            budget: options.budget,
            deadline: Duration::from_secs(options.deadline),
            patience: Duration::from_secs(options.patience),
            envs: options.max_envs,
            env_idle: Duration::from_secs(options.env_idle),
            memory: options.memory << 20,
            ..usual.limits
        },
    }
}
