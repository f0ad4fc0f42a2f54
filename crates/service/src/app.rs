//! The state that all requests share.
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
use sizewise_solve::Budget;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{Notify, Semaphore, watch};

/// The most expression nodes of an environment.
const ENV_NODES: usize = 1 << 20;
/// The most bytes of facts of an environment.
const ENV_BYTES: usize = 4 << 20;

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An option is wrong.
    #[error("{0}")]
    Usage(String),
    /// The operating system refuses something.
    #[error("{0}")]
    System(String),
}

/// The state of the service.
pub struct App {
    /// The configuration.
    pub config: Config,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The worker threads.
    pub workers: Workers,
    /// The cached answers.
    pub cache: Cache,
    /// Environments.
    pub envs: Envs,
    /// The known tokens; `None` if requests need no token.
    tokens: Option<RwLock<Tokens>>,
    /// The hosts that requests may name, if they need no token.
    pub hosts: Option<Hosts>,
    /// The budget of a question.
    pub budget: Budget,
    /// The KiB of request bodies that may still be read.
    pub bodies: Arc<Semaphore>,
    /// The batches that may still start.
    pub batches: Arc<Semaphore>,
    draining: AtomicBool,
    /// Whether accepted work is given up.
    cut: watch::Sender<bool>,
    in_flight: AtomicUsize,
    idle: Notify,
    /// Resident bytes, as last measured.
    resident: AtomicU64,
}

impl App {
    /// The initial state.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn new(config: Config, tokens: Option<Tokens>) -> Result<Arc<App>, StartError> {
        let limits = &config.limits;
        let metrics = Metrics::new().map_err(|error| StartError::System(error.to_string()))?;
        let metrics = Arc::new(metrics);
        let cache = Cache::new(limits, Arc::clone(&metrics));
        let workers = Workers::start(config.workers, limits, metrics.work.clone())
            .map_err(|error| StartError::System(format!("cannot start threads: {error}")))?;
        let room = Capacity { facts: limits.env_facts, bytes: ENV_BYTES, nodes: ENV_NODES };
        Ok(Arc::new(App {
            envs: Envs::new(limits, room, metrics.envs_refused.clone()),
            budget: Budget::default().times(limits.budget),
            bodies: Arc::new(Semaphore::new(limits.bodies.div_ceil(1024))),
            batches: Arc::new(Semaphore::new(limits.batches)),
            cache,
            draining: AtomicBool::new(false),
            cut: watch::Sender::new(false),
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

    /// The holder of the token in an `Authorization` header.
    ///
    /// # Errors
    /// [`Code::Unauthorized`] when a token is required and this one is not known.
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

    /// Reads the token file again; an invalid file changes nothing. Requests that were accepted with a removed token
    /// are still answered.
    pub fn reload_tokens(&self) {
        let (Some(tokens), Some(path)) = (&self.tokens, &self.config.tokens) else {
            tracing::info!("there is no token file to reload");
            return;
        };
        match Tokens::load(path) {
            Ok(new) => {
                let count = new.count();
                *tokens.write().unwrap_or_else(PoisonError::into_inner) = new;
                // Logged once it is so: whoever revokes a token relies on it.
                tracing::info!(tokens = count, "the token file was reloaded");
            }
            Err(error) => {
                tracing::error!(error, "the token file cannot be reloaded; the tokens are unchanged")
            }
        }
    }

    /// Accepts no new work from now on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.idle.notify_waiters();
    }

    /// Whether no new work is accepted.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Gives up accepted work: its requests are answered without its results.
    pub fn cut_off(&self) {
        self.cut.send_replace(true);
    }

    /// Waits until accepted work is given up.
    pub async fn until_cut_off(&self) {
        // The sender lives as long as this.
        let _ = self.cut.subscribe().wait_for(|cut| *cut).await;
    }

    /// Accepts a piece of work: the service does not stop while the guard lives.
    pub fn accept(self: &Arc<Self>) -> Accepted {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        Accepted(Arc::clone(self))
    }

    /// The number of accepted pieces of work that are not finished.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Waits until all accepted work is finished.
    pub async fn until_idle(&self) {
        loop {
            let woken = self.idle.notified();
            if self.in_flight() == 0 {
                return;
            }
            woken.await;
        }
    }

    /// Measures memory, and drops cached answers if too much is in use.
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

    /// Checks that there is memory for new work.
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

    /// Updates the metrics that are measured rather than counted.
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

/// An accepted piece of work.
pub struct Accepted(Arc<App>);

impl Drop for Accepted {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
