//! The process: it listens, serves connections, and stops without dropping what it accepted.
use super::app::{App, StartError};
use super::auth::Tokens;
use super::config::Config;
use super::{log, router};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

/// How long a client may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// The most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// How long connections may take to end once everything is answered.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How often idle environments and memory are looked after.
const CARE: Duration = Duration::from_secs(1);
/// Threads that move bytes; the workers do the rest.
const IO_THREADS: usize = 2;

/// Serves until the process is told to stop.
///
/// # Errors
/// When it cannot start.
pub fn run(config: Config) -> Result<(), StartError> {
    let tokens = tokens(&config)?;
    let _log = log::start(&config.log).map_err(StartError::Usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(IO_THREADS)
        .enable_all()
        .build()
        .map_err(|error| StartError::System(error.to_string()))?;
    let app = App::new(config, tokens)?;
    let result = runtime.block_on(serve(Arc::clone(&app)));
    app.cache.flush();
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// The tokens of the file; there is one if the service is to be reached from elsewhere.
fn tokens(config: &Config) -> Result<Option<Tokens>, StartError> {
    let Some(path) = &config.tokens else {
        if config.listen.ip().is_loopback() {
            return Ok(None);
        }
        let message = format!(
            "to listen on {}, give --tokens FILE with hashes of bearer tokens; only loopback is served without",
            config.listen
        );
        return Err(StartError::Usage(message));
    };
    let failed = |error: String| StartError::Usage(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Tokens::parse(&text).map(Some).map_err(|error| failed(error.to_string()))
}

async fn serve(app: Arc<App>) -> Result<(), StartError> {
    let system = |error: std::io::Error| StartError::System(error.to_string());
    let listener = TcpListener::bind(app.config.listen)
        .await
        .map_err(|error| StartError::System(format!("{}: {error}", app.config.listen)))?;
    let address = listener.local_addr().map_err(system)?;
    let (mut term, mut int) =
        (signal(SignalKind::terminate()).map_err(system)?, signal(SignalKind::interrupt()).map_err(system)?);
    let (cache, _) = app.cache.state();
    tracing::info!(%address, workers = app.config.workers, cache, "listening");
    let care = tokio::spawn(care(Arc::clone(&app)));
    let router = router(Arc::clone(&app));
    let connections = Connections {
        graceful: GracefulShutdown::new(),
        free: Arc::new(Semaphore::new(app.config.limits.connections)),
    };
    tokio::select! {
        () = accept(&app, &listener, &router, &connections) => {}
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    tracing::info!(in_flight = app.in_flight(), "stopping: what was accepted is finished");
    app.drain();
    // Whoever comes now is told so, as long as there is anything to finish.
    tokio::select! {
        () = accept(&app, &listener, &router, &connections) => {}
        () = app.until_idle() => {}
        () = tokio::time::sleep(app.config.drain) => {
            tracing::warn!(in_flight = app.in_flight(), "the time to finish is over");
        }
    }
    drop(listener);
    // An answer that takes no end is cut off.
    let _ = tokio::time::timeout(LAST_WORDS, connections.graceful.shutdown()).await;
    care.abort();
    tracing::info!("stopped");
    Ok(())
}

/// Looks after environments, memory and the cache's store.
async fn care(app: Arc<App>) {
    let mut ticks = tokio::time::interval(CARE);
    loop {
        ticks.tick().await;
        app.envs.expire();
        app.watch_memory();
        let cache = Arc::clone(&app.cache);
        // The store may take its time.
        let _ = tokio::task::spawn_blocking(move || cache.probe()).await;
    }
}

/// What all connections share.
struct Connections {
    graceful: GracefulShutdown,
    free: Arc<Semaphore>,
}

async fn accept(app: &Arc<App>, listener: &TcpListener, router: &Router, connections: &Connections) {
    loop {
        let Ok(permit) = Arc::clone(&connections.free).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => connection(app, stream, router, connections, permit),
            Err(error) => {
                // Too many open files, most likely: some may be closed by then.
                tracing::warn!(%error, "no connection was accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn connection(
    app: &Arc<App>,
    stream: TcpStream,
    router: &Router,
    connections: &Connections,
    permit: tokio::sync::OwnedSemaphorePermit,
) {
    // Answers are small: they are not to wait for more.
    let _ = stream.set_nodelay(true);
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
    let watched = connections.graceful.watch(serving);
    let app = Arc::clone(app);
    app.metrics.connections.inc();
    tokio::spawn(async move {
        // A client that leaves is no error of ours.
        let _ = watched.await;
        app.metrics.connections.dec();
        drop(permit);
    });
}
