//! The way into the engine: the GIL is released, Ctrl-C cancels, and a panic becomes `sizewise.InternalError`.
use crate::errors::{Kind, raise};
use pyo3::prelude::*;
use sizewise::STACK_BYTES;
use sizewise::expr::CancelToken;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often signals are looked for.
const SIGNALS_EVERY: Duration = Duration::from_millis(20);

/// How long work that is cancelled is waited for.
const PATIENCE: Duration = Duration::from_millis(100);

/// Why there is no result.
pub enum Stopped {
    /// A signal handler raised this.
    Interrupted(PyErr),
    /// The engine panicked with this message.
    Panicked(String),
}

impl Stopped {
    /// The exception.
    pub fn into_error(self, py: Python<'_>) -> PyErr {
        match self {
            Stopped::Interrupted(error) => error,
            Stopped::Panicked(message) => bug(py, &message),
        }
    }
}

/// The exception for a panic.
pub fn bug(py: Python<'_>, message: &str) -> PyErr {
    raise(py, Kind::Internal, format!("a bug in sizewise, please report it with the input: {message}"))
}

/// The message of a panic.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_string())
}

/// Runs work that may take long on a thread with a large stack; signals cancel it.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> Result<T, Stopped> {
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        let (done, wait) = channel();
        let its_token = token.clone();
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            let _ = done.send(quietly(|| its_token.during(work)));
        });
        worker.map_err(|error| Stopped::Panicked(format!("no thread can be started: {error}")))?;
        result(py, &token, &wait, None)
    })
}

/// As [`run`], for work that owns what it uses. If it does not notice soon that it is cancelled, it is left alone.
pub fn run_owned<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stopped> {
    let token = CancelToken::new();
    let (done, wait) = channel();
    let its_token = token.clone();
    let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Nobody waits any more after an interrupt.
        let _ = done.send(quietly(|| its_token.during(work)));
    });
    worker.map_err(|error| Stopped::Panicked(format!("no thread can be started: {error}")))?;
    result(py, &token, &wait, Some(PATIENCE))
}

/// Waits for the result of a worker, and looks for signals meanwhile. One that is cancelled is waited for as long as
/// `patience` lasts.
fn result<T: Send>(
    py: Python<'_>,
    token: &CancelToken,
    wait: &Receiver<std::thread::Result<T>>,
    patience: Option<Duration>,
) -> Result<T, Stopped> {
    let mut interrupted: Option<(PyErr, Instant)> = None;
    loop {
        // The channel end is used by this thread alone, but `detach` asks for what may be sent.
        let wait = AssertSend(wait);
        let received = py.detach(move || wait.receive());
        match (received, interrupted.take()) {
            (Err(RecvTimeoutError::Timeout), None) => {
                if let Err(error) = py.check_signals() {
                    token.cancel();
                    interrupted = Some((error, Instant::now()));
                }
            }
            (Err(RecvTimeoutError::Timeout), Some((error, since))) => {
                if patience.is_some_and(|patience| since.elapsed() > patience) {
                    return Err(Stopped::Interrupted(error));
                }
                interrupted = Some((error, since));
            }
            (_, Some((error, _))) => return Err(Stopped::Interrupted(error)),
            (Ok(result), None) => {
                return result.map_err(|panic| Stopped::Panicked(panic_message(&*panic)));
            }
            (Err(RecvTimeoutError::Disconnected), None) => {
                return Err(Stopped::Panicked("the worker is gone".to_string()));
            }
        }
    }
}

struct AssertSend<'a, T>(&'a Receiver<T>);

// SAFETY: `detach` runs its closure on the calling thread.
unsafe impl<T> Send for AssertSend<'_, T> {}

impl<T> AssertSend<'_, T> {
    fn receive(self) -> Result<T, RecvTimeoutError> {
        self.0.recv_timeout(SIGNALS_EVERY)
    }
}

/// Runs work; a panic is returned and not printed.
pub fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    silence();
    QUIET.with(|quiet| {
        let before = quiet.replace(true);
        let result = catch_unwind(AssertUnwindSafe(work));
        quiet.set(before);
        result
    })
}

thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Installs a panic hook that prints nothing where a panic is returned.
fn silence() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.with(std::cell::Cell::get) {
                before(panic);
            }
        }));
    });
}
