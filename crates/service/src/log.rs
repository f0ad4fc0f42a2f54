//! Structured logs: JSON lines on standard error, written by a thread of their own, so that no request waits for them.
use sizewise_expr::escape::json_text;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Events that wait to be written; more are lost.
const WAITING: usize = 1 << 16;
/// How long the last events may take.
const LAST_EVENTS: Duration = Duration::from_secs(1);

enum Message {
    Event(Vec<u8>),
    /// Everything before is to be written; then this is answered.
    Flush(SyncSender<()>),
}

/// Hands events, which come whole, to the thread that writes.
#[derive(Clone)]
struct Queue(SyncSender<Message>);

impl Write for Queue {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let _ = self.0.try_send(Message::Event(event.to_vec()));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes events with invisible characters escaped. A standard error that is closed is no reason to stop.
fn write(messages: &Receiver<Message>) {
    for message in messages {
        match message {
            Message::Event(event) => {
                let text = json_text(String::from_utf8_lossy(&event).into_owned());
                let _ = io::stderr().write_all(text.as_bytes());
            }
            Message::Flush(done) => drop(done.send(())),
        }
    }
}

/// When this is dropped, events that wait are written.
pub struct Guard(SyncSender<Message>);

impl Drop for Guard {
    fn drop(&mut self) {
        let (done, written) = sync_channel(1);
        if self.0.try_send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(LAST_EVENTS);
        }
    }
}

/// Begins to log.
///
/// # Errors
/// When the filter cannot be read, or no thread can be started.
pub fn start(filter: &str) -> Result<Guard, String> {
    let targets: Targets = filter.parse().map_err(|error| format!("--log {filter}: {error}"))?;
    let (queue, messages) = sync_channel(WAITING);
    let thread = std::thread::Builder::new().name("log".to_string());
    thread.spawn(move || write(&messages)).map_err(|error| format!("no thread for the log: {error}"))?;
    let writer = Queue(queue.clone());
    let events = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
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
    Ok(Guard(queue))
}
