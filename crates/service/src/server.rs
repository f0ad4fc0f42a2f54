//! The process: it listens, serves connections, and stops without dropping what it accepted.
use super::app::{App, StartError};
use super::auth::Tokens;
use super::config::Config;
use super::connections::{self, Connections};
use super::{listen, log, router};
use futures_util::future::join_all;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// How long connections may take to close after the last response.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The end of the time for stopping, in which what is not finished is answered without its results.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// The least time for that.
const LEAST: Duration = Duration::from_millis(200);
/// How often idle environments and memory are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Threads for sockets; the workers do the rest.
const IO_THREADS: usize = 2;

/// Serves until the process is told to stop.
///
/// # Errors
/// When it cannot start.
pub fn run(config: Config) -> Result<(), StartError> {
    let addresses = listen::resolve(&config.listen)?;
    let tokens = tokens(&config, &addresses)?;
    let _log = log::start(&config.log).map_err(StartError::Usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(IO_THREADS)
        .enable_all()
        .build()
        .map_err(|error| StartError::System(error.to_string()))?;
    let app = App::new(config, tokens)?;
    let result = runtime.block_on(serve(Arc::clone(&app), &addresses));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// The tokens of the file; a file is required unless only loopback is served.
fn tokens(config: &Config, addresses: &[SocketAddr]) -> Result<Option<Tokens>, StartError> {
    if let Some(path) = &config.tokens {
        return Tokens::load(path).map(Some).map_err(StartError::Usage);
    }
    if addresses.iter().all(|address| address.ip().is_loopback()) {
        return Ok(None);
    }
    let message = format!(
        "to listen on {}, give --tokens FILE with hashes of bearer tokens; only loopback is served without",
        config.listen
    );
    Err(StartError::Usage(message))
}

/// Raises the number of files that the process may open to the most that the system allows.
fn raise_open_files() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Where it cannot be raised, there are fewer connections.
    let current = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

async fn serve(app: Arc<App>, addresses: &[SocketAddr]) -> Result<(), StartError> {
    let signal = |kind| signal(kind).map_err(|error| StartError::System(error.to_string()));
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let hangups = signal(SignalKind::hangup())?;
    let listeners = listen::bind(addresses).await?;
    for listener in &listeners {
        let address = listener.local_addr().map_err(|error| StartError::System(error.to_string()))?;
        tracing::info!(%address, workers = app.config.workers, "listening");
    }
    let background =
        [tokio::spawn(housekeeping(Arc::clone(&app))), tokio::spawn(reload(Arc::clone(&app), hangups))];
    let router = router(Arc::clone(&app));
    let connections = Connections::new(&app, raise_open_files());
    let (alive, mut ended) = mpsc::channel(1);
    let accepting =
        || join_all(listeners.iter().map(|l| connections::accept(&connections, l, &router, &alive)));
    tokio::select! {
        _ = accepting() => {}
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    tracing::info!(in_flight = app.in_flight(), "stopping: accepted work is finished first");
    app.drain();
    let (begun, drain) = (Instant::now(), app.config.drain);
    let finish = drain.saturating_sub(LAST_ANSWERS.min(drain / 4));
    // Whoever comes now is told so, as long as there is anything to finish.
    let is_idle = tokio::select! {
        _ = accepting() => true,
        () = app.until_idle() => true,
        () = sleep(finish) => false,
    };
    let end = begun + drain.max(finish + LEAST);
    if !is_idle {
        tracing::warn!(in_flight = app.in_flight(), "time is short: what is not finished is given up");
        app.cut_off();
        tokio::select! {
            _ = accepting() => {}
            () = app.until_idle() => {}
            () = sleep_until(end) => {}
        }
    }
    drop((listeners, alive));
    connections.stop();
    // An answer that takes no end is cut off.
    let close = (Instant::now() + CLOSE_TIMEOUT).min(end.max(Instant::now() + LEAST));
    let _ = timeout_at(close, ended.recv()).await;
    background.iter().for_each(JoinHandle::abort);
    tracing::info!("stopped");
    Ok(())
}

/// Reads the tokens again at each SIGHUP.
async fn reload(app: Arc<App>, mut hangups: Signal) {
    while hangups.recv().await.is_some() {
        let app = Arc::clone(&app);
        // Files may take their time.
        let _ = tokio::task::spawn_blocking(move || app.reload_tokens()).await;
    }
}

/// Deletes expired environments and measures memory.
async fn housekeeping(app: Arc<App>) {
    let mut ticks = tokio::time::interval(CHECK_INTERVAL);
    loop {
        ticks.tick().await;
        app.envs.expire();
        app.watch_memory();
    }
}
