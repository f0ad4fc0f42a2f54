//! `sizewise serve`: the engine as an HTTP service.
use super::failure::{Failure, Result};
use crate::service::{self, Config, Limits, StartError};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Options of `serve`.
#[derive(Args, Debug)]
pub struct ServeOptions {
    /// The address to listen on; for a name, all its addresses. Other interfaces than loopback require --tokens.
    #[arg(long, default_value = "127.0.0.1:8077", value_name = "HOST:PORT", value_parser = host_and_port)]
    pub listen: String,
    /// A host name that requests may use if there are no --tokens, besides localhost and --listen; may be repeated.
    #[arg(long, value_name = "NAME", value_parser = host)]
    pub allow_host: Vec<String>,
    /// A file with the SHA-256 hash of a bearer token on each line; reloaded on SIGHUP.
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Threads for short work, and as many again for long work; by default one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// The multiple of the default work budget that a question may use.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub budget: u32,
    /// The most seconds for an answer.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub deadline: u64,
    /// The most seconds for a request body to arrive, or for a batch to pause.
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub patience: u64,
    /// The most seconds for accepted work once the service is told to stop.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub drain: u64,
    /// The most MiB of a request body.
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_body: u32,
    /// The most MiB of a program's JSON when decompressed.
    #[arg(long, default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub max_unpacked: u32,
    /// The most nodes of a program.
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    pub max_nodes: usize,
    /// The most questions of a batch.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub max_queries: u64,
    /// The most requests that wait for a worker, short and long ones each; further ones are answered with 429.
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub queue: u32,
    /// Milliseconds after which work counts as long, and moves to the workers for long work.
    #[arg(
        long, default_value_t = 20, value_name = "MILLISECONDS",
        value_parser = clap::value_parser!(u64).range(1..=60_000)
    )]
    pub short: u64,
    /// The most environments.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub max_envs: usize,
    /// The most environments with one token.
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub max_token_envs: usize,
    /// The most connections.
    #[arg(long, default_value_t = 4096, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,
    /// The most idle connections; beyond that, the one idle longest is closed.
    #[arg(long, default_value_t = 1024, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_idle: u32,
    /// The most seconds for the head of a request to arrive.
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub head_time: u64,
    /// Seconds without use after which an environment expires.
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    pub env_idle: u64,
    /// MiB of resident memory above which new work is refused; 0 for no limit.
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    pub memory: u64,
    /// What to log: error, warn, info or debug (every request); or `target=level` pairs separated by commas.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub log: String,
}

/// An address or a name with a port.
fn host_and_port(text: &str) -> std::result::Result<String, String> {
    let (host, port) = text.rsplit_once(':').ok_or("there is no port; expected HOST:PORT")?;
    port.parse::<u16>().map_err(|_| format!("`{port}` is no port; expected HOST:PORT"))?;
    let bracketed = host.starts_with('[') && host.ends_with(']');
    if host.is_empty() || (host.contains(':') && !bracketed) {
        return Err(format!("`{host}` is no host; an IPv6 address is written [::1]:{port}"));
    }
    Ok(text.to_string())
}

/// A name or an address, without scheme and port.
fn host(text: &str) -> std::result::Result<String, String> {
    let is_address = text.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>().is_ok();
    let in_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match is_address || (!text.is_empty() && text.chars().all(in_name)) {
        true => Ok(text.to_string()),
        false => Err("expected a name or an address without scheme and port".to_string()),
    }
}

/// `mi_option_purge_delay`, which the bindings leave out.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has the program's allocator give free memory back to the system at once. Otherwise a thread gives it back when it
/// allocates the next time: after a burst of large programs, threads that wait would keep what the programs took.
fn give_memory_back() {
    // SAFETY: this sets one number, under a lock or atomically, that later calls of the allocator read.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
}

/// Serves until the process is told to stop.
pub fn run(options: &ServeOptions) -> Result<ExitCode> {
    give_memory_back();
    service::run(config(options)).map_err(|error| match error {
        StartError::Usage(_) => Failure::usage(error),
        StartError::System(_) => Failure::program(error),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn config(options: &ServeOptions) -> Config {
    let usual = Config::default();
    Config {
        listen: options.listen.clone(),
        hosts: options.allow_host.clone(),
        tokens: options.tokens.clone(),
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
            short: Duration::from_millis(options.short),
            budget: options.budget,
            deadline: Duration::from_secs(options.deadline),
            patience: Duration::from_secs(options.patience),
            envs: options.max_envs,
            token_envs: options.max_token_envs,
            connections: options.max_connections as usize,
            idle: options.max_idle as usize,
            head: Duration::from_secs(options.head_time),
            env_idle: Duration::from_secs(options.env_idle),
            memory: options.memory << 20,
            ..usual.limits
        },
    }
}
