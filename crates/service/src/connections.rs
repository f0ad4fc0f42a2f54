//! Connections: how many may be open or idle, and which are closed to make room for others.
use super::app::App;
use super::metrics::Metrics;
use axum::Router;
use axum::body::Body;
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::io::Write;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

/// The most bytes of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// How long a closing connection may take to finish its last response.
const LINGER: Duration = Duration::from_millis(50);
/// Open files reserved for everything but connections.
const RESERVED_FILES: usize = 64;
/// The response to a connection for which there is no room.
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// All connections.
pub struct Connections {
    known: Mutex<Known>,
    /// The most open connections.
    most: usize,
    /// The most idle connections.
    most_idle: usize,
    /// How long a client may take to send the head of a request.
    head: Duration,
    metrics: Arc<Metrics>,
    stopping: watch::Sender<bool>,
}

#[derive(Default)]
struct Known {
    count: usize,
    /// The idle connections, in the order in which they became idle.
    idle: BTreeMap<u64, Arc<Connection>>,
    next: u64,
}

/// One connection.
struct Connection {
    /// Its key among the idle connections.
    idle: Mutex<Option<u64>>,
    /// Whether it was told to close and is no longer counted.
    gone: AtomicBool,
    close: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs while these are locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    /// No connections yet. `files` is the number of files that the process may open.
    pub fn new(app: &App, files: usize) -> Arc<Connections> {
        let limits = &app.config.limits;
        let most = limits.connections.min(files.saturating_sub(RESERVED_FILES)).max(1);
        Arc::new(Connections {
            known: Mutex::default(),
            most,
            most_idle: limits.idle.min(most),
            head: limits.head,
            metrics: Arc::clone(&app.metrics),
            stopping: watch::Sender::new(false),
        })
    }

    /// A new connection, if there is room for it or an idle one can make room.
    fn open(&self) -> Option<Arc<Connection>> {
        let connection = Arc::new(Connection {
            idle: Mutex::default(),
            gone: AtomicBool::new(false),
            close: Notify::new(),
        });
        let mut known = lock(&self.known);
        if known.count >= self.most && !self.close_idle(&mut known) {
            self.metrics.closed.with_label_values(&["refused"]).inc();
            return None;
        }
        known.count += 1;
        self.rest(&mut known, &connection);
        Some(connection)
    }

    /// Closes the connection that has been idle longest; false if none is.
    fn close_idle(&self, known: &mut Known) -> bool {
        let Some((_, oldest)) = known.idle.pop_first() else { return false };
        *lock(&oldest.idle) = None;
        oldest.gone.store(true, Ordering::Relaxed);
        oldest.close.notify_one();
        known.count -= 1;
        self.metrics.closed.with_label_values(&["idle"]).inc();
        true
    }

    /// Counts a connection as idle, and closes the oldest idle one if there are too many.
    fn rest(&self, known: &mut Known, connection: &Arc<Connection>) {
        if !connection.gone.load(Ordering::Relaxed) {
            known.next += 1;
            known.idle.insert(known.next, Arc::clone(connection));
            *lock(&connection.idle) = Some(known.next);
        }
        if known.idle.len() > self.most_idle {
            self.close_idle(known);
        }
        self.show(known);
    }

    /// Counts a connection as busy.
    fn wake(&self, connection: &Connection) {
        let mut known = lock(&self.known);
        if let Some(place) = lock(&connection.idle).take() {
            known.idle.remove(&place);
        }
        self.show(&known);
    }

    /// Forgets a connection.
    fn end(&self, connection: &Connection) {
        let mut known = lock(&self.known);
        if let Some(place) = lock(&connection.idle).take() {
            known.idle.remove(&place);
        }
        if !connection.gone.swap(true, Ordering::Relaxed) {
            known.count -= 1;
        }
        self.show(&known);
    }

    fn show(&self, known: &Known) {
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.metrics.connections.set(number(known.count));
        self.metrics.idle.set(number(known.idle.len()));
    }

    /// Closes every connection after its current response.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

/// Accepts connections for ever; each holds a clone of `alive`.
pub async fn accept(
    connections: &Arc<Connections>,
    listener: &TcpListener,
    router: &Router,
    alive: &mpsc::Sender<()>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match connections.open() {
                Some(connection) => {
                    let serving = serve(Arc::clone(connections), connection, stream, router.clone());
                    let alive = alive.clone();
                    tokio::spawn(async move {
                        serving.await;
                        drop(alive);
                    });
                }
                None => refuse(stream),
            },
            Err(error) => {
                // Too many open files, most likely.
                tracing::warn!(%error, "no connection was accepted");
                connections.close_idle(&mut lock(&connections.known));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

fn refuse(stream: TcpStream) {
    // Whether it arrives or not: there is no time for more.
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(REFUSAL);
    }
}

/// Frees the place of a connection when it ends.
struct Guard {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.connections.end(&self.connection);
    }
}

async fn serve(
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    stream: TcpStream,
    router: Router,
) {
    let _guard = Guard { connections: Arc::clone(&connections), connection: Arc::clone(&connection) };
    let mut stopping = connections.stopping.subscribe();
    // Answers are small: they are not to wait for more.
    let _ = stream.set_nodelay(true);
    let busy = Arc::new(AtomicBool::new(false));
    let inner = TowerToHyperService::new(router);
    let service = {
        let (connections, connection, busy) =
            (Arc::clone(&connections), Arc::clone(&connection), Arc::clone(&busy));
        service_fn(move |request: Request<Incoming>| {
            let in_progress = InProgress::new(&connections, &connection, &busy);
            let answer = inner.call(request);
            async move {
                let response: Response<Body> = answer.await?;
                Ok::<_, std::convert::Infallible>(
                    response.map(|body| Answer { body, _in_progress: in_progress }),
                )
            }
        })
    };
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(connections.head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = pin!(serving);
    tokio::select! {
        // A client that leaves is no error of ours.
        _ = serving.as_mut() => return,
        () = connection.close.notified() => {}
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
    serving.as_mut().graceful_shutdown();
    loop {
        tokio::select! {
            _ = serving.as_mut() => break,
            () = tokio::time::sleep(LINGER) => if !busy.load(Ordering::Relaxed) { break },
        }
    }
}

/// A request in progress: from its head to the end of the response.
struct InProgress {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
    busy: Arc<AtomicBool>,
}

impl InProgress {
    fn new(
        connections: &Arc<Connections>,
        connection: &Arc<Connection>,
        busy: &Arc<AtomicBool>,
    ) -> InProgress {
        busy.store(true, Ordering::Relaxed);
        connections.wake(connection);
        InProgress {
            connections: Arc::clone(connections),
            connection: Arc::clone(connection),
            busy: Arc::clone(busy),
        }
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.busy.store(false, Ordering::Relaxed);
        self.connections.rest(&mut lock(&self.connections.known), &self.connection);
    }
}

/// The body of a response, which keeps the request in progress.
struct Answer {
    body: Body,
    _in_progress: InProgress,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
