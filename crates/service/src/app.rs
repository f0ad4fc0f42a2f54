//! What all requests share.
use super::auth::{Holder, Tokens};
use super::cache::Cache;
use super::config::Config;
use super::envs::Envs;
use super::hosts::Hosts;
use super::lanes::Lane;
use super::metrics::{Metrics, resident_bytes};
use super::problem::{Code, Problem};
use super::work::Workers;
use axum::http::{HeaderValue, header};
use sizewise_check::query::Capacity;
use sizewise_kernels::Operators;
use sizewise_solve::Budget;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{Notify, Semaphore};

/// Nodes of the expressions of one environment.
const ENV_NODES: usize = 1 << 20;
/// Bytes of the facts of one environment.
const ENV_BYTES: usize = 4 << 20;

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It was told to do what it does not do.
    #[error("{0}")]
    Usage(String),
    /// The system.
    #[error("{0}")]
    System(String),
}

/// The state of the service.
pub struct App {
    /// How it is set up.
    pub config: Config,
    /// Figures.
    pub metrics: Arc<Metrics>,
    /// The threads that answer.
    pub workers: Workers,
    /// Answers given before.
    pub cache: Cache,
    /// Environments.
    pub envs: Envs,
    /// The known tokens; without, nobody needs one.
    tokens: Option<RwLock<Tokens>>,
    /// The hosts that requests may name, where there are no tokens.
    pub hosts: Option<Hosts>,
    /// The operators.
    pub operators: Operators,
    /// The whole budget of one question.
    pub budget: Budget,
    /// KiB of bodies that may still be taken in.
    pub bodies: Arc<Semaphore>,
    /// Batches that may still begin.
    pub batches: Arc<Semaphore>,
    draining: AtomicBool,
    in_flight: AtomicUsize,
    idle: Notify,
    /// Resident bytes, as last seen.
    resident: AtomicU64,
}

impl App {
    /// The state at the start.
    ///
    /// # Errors
    /// When the threads cannot be had.
    pub fn new(config: Config, tokens: Option<Tokens>) -> Result<Arc<App>, StartError> {
        let limits = &config.limits;
        let metrics = Metrics::new().map_err(|error| StartError::System(error.to_string()))?;
        let metrics = Arc::new(metrics);
        let cache = Cache::new(limits, Arc::clone(&metrics));
        let workers = Workers::start(config.workers, limits, metrics.work.clone())
            .map_err(|error| StartError::System(format!("no threads: {error}")))?;
        let room = Capacity { facts: limits.env_facts, bytes: ENV_BYTES, nodes: ENV_NODES };
        Ok(Arc::new(App {
            envs: Envs::new(limits, room, metrics.envs_refused.clone()),
            budget: Budget::default().times(limits.budget),
            bodies: Arc::new(Semaphore::new(limits.bodies.div_ceil(1024))),
            batches: Arc::new(Semaphore::new(limits.batches)),
            cache,
            operators: Operators::new(),
            draining: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            idle: Notify::new(),
            resident: AtomicU64::new(0),
            metrics,
            workers,
            hosts: tokens.is_none().then(|| Hosts::new(&config)),
            tokens: tokens.map(RwLock::new),
            config,
        }))
    }

    /// Who makes a request, by its `Authorization` header.
    ///
    /// # Errors
    /// [`Code::Unauthorized`] when tokens are required and this is none of them.
    pub fn holder(&self, authorization: Option<&[u8]>) -> Result<Option<Holder>, Problem> {
        let Some(tokens) = &self.tokens else { return Ok(None) };
        let holder = tokens.read().unwrap_or_else(PoisonError::into_inner).holder(authorization);
        if holder.is_some() {
            return Ok(holder);
        }
        Err(Problem::new(Code::Unauthorized, "no bearer token, or one that is not known")
            .at("header", "Authorization")
            .expecting("Authorization: Bearer <token>")
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
    }

    /// Reads the file of tokens again; one that cannot be used changes nothing. What a token that is gone has asked
    /// before is still answered.
    pub fn reload_tokens(&self) {
        let (Some(tokens), Some(path)) = (&self.tokens, &self.config.tokens) else {
            tracing::info!("there is no file of tokens to read again");
            return;
        };
        match Tokens::load(path) {
            Ok(new) => {
                tracing::info!(tokens = new.count(), "the file of tokens was read again");
                *tokens.write().unwrap_or_else(PoisonError::into_inner) = new;
            }
            Err(error) => tracing::error!(error, "the tokens stay as they were"),
        }
    }

    /// Takes no new work from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.idle.notify_waiters();
    }

    /// Whether no new work is taken.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Accepts a piece of work: as long as the guard lives, the service does not stop.
    pub fn accept(self: &Arc<Self>) -> Accepted {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        Accepted(Arc::clone(self))
    }

    /// The pieces of work accepted and not done.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Waits until everything accepted is done.
    pub async fn until_idle(&self) {
        loop {
            let woken = self.idle.notified();
            if self.in_flight() == 0 {
                return;
            }
            woken.await;
        }
    }

    /// Sees how much memory is in use, and makes room if it is too much.
    pub fn watch_memory(&self) {
        if let Some(bytes) = resident_bytes() {
            self.resident.store(bytes, Ordering::Relaxed);
            self.metrics.resident.set(i64::try_from(bytes).unwrap_or(i64::MAX));
            let limit = self.config.limits.memory;
            if limit > 0 && bytes > limit {
                tracing::warn!(
                    bytes,
                    limit,
                    "memory is short; new work is refused and cached answers are dropped"
                );
                self.cache.forget();
            }
        }
    }

    /// Whether there is memory for new work.
    ///
    /// # Errors
    /// [`Code::Memory`] when there is not.
    pub fn has_memory(&self) -> Result<(), Problem> {
        let (used, limit) = (self.resident.load(Ordering::Relaxed), self.config.limits.memory);
        if limit > 0 && used > limit {
            let detail = format!("{used} bytes are in use; {limit} are allowed");
            return Err(Problem::new(Code::Memory, detail).retry_after(2));
        }
        Ok(())
    }

    /// Brings the figures that are looked up, rather than counted, up to date.
    pub fn refresh_metrics(&self) {
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        for lane in Lane::ALL {
            let (running, queued) = self.workers.load(lane);
            self.metrics.running.with_label_values(&[lane.name()]).set(number(running));
            self.metrics.queued.with_label_values(&[lane.name()]).set(number(queued));
        }
        self.metrics.in_flight.set(number(self.in_flight()));
        self.metrics.envs.set(number(self.envs.expire()));
        self.watch_memory();
    }
}

/// A piece of work that was accepted.
pub struct Accepted(Arc<App>);

impl Drop for Accepted {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
