//! Structured logs: JSON lines on standard error, written by a thread of their own, so that no request waits for them.
use sizewise_expr::escape::json_text;
use std::io::{self, Write};
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Writes events, which come one by one and whole, with invisible characters escaped.
struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        self.0.write_all(json_text(String::from_utf8_lossy(event).into_owned()).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Begins to log. Events that wait are written when the guard is dropped.
///
/// # Errors
/// When the filter cannot be read.
pub fn start(filter: &str) -> Result<WorkerGuard, String> {
    let targets: Targets = filter.parse().map_err(|error| format!("--log {filter}: {error}"))?;
    let (writer, guard) = tracing_appender::non_blocking(Plain(std::io::stderr()));
    let events = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(LevelFilter::TRACE)
        .with_writer(writer)
        .finish();
    // A program that embeds the service may log already.
    let _ = events.with(targets).try_init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(place, message, "panic");
    }));
    Ok(guard)
}
