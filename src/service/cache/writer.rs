//! Writes entries to a store behind the requests' back, many at once. What does not fit is dropped: the cache may forget.
use super::{Key, Store};
use crate::service::metrics::Metrics;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Entries that may wait.
const WAITING: usize = 16_384;
/// Entries written at once.
const AT_ONCE: usize = 2_048;
/// How long the first entry waits for others.
const GATHERING: Duration = Duration::from_millis(20);

enum Message {
    Put(Key, Vec<u8>),
    Flush(SyncSender<()>),
}

/// The thread that writes.
pub(super) struct Writer {
    messages: SyncSender<Message>,
    metrics: Arc<Metrics>,
}

impl Writer {
    /// Starts the thread.
    pub fn start(store: Arc<dyn Store>, metrics: Arc<Metrics>) -> std::io::Result<Writer> {
        let (messages, inbox) = sync_channel(WAITING);
        let figures = Arc::clone(&metrics);
        std::thread::Builder::new()
            .name("cache-writer".to_string())
            .spawn(move || write_all(&*store, &inbox, &figures))?;
        Ok(Writer { messages, metrics })
    }

    /// Has an entry written soon.
    pub fn put(&self, key: Key, value: Vec<u8>) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.messages.try_send(Message::Put(key, value))
        {
            self.metrics.unwritten.inc();
        }
    }

    /// Waits until what was put so far is written.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.messages.send(Message::Flush(done)).is_ok() {
            // The thread answers, or is gone: then there is nothing to wait for.
            let _ = wait.recv_timeout(Duration::from_secs(10));
        }
    }
}

fn write_all(store: &dyn Store, inbox: &Receiver<Message>, metrics: &Metrics) {
    while let Ok(first) = inbox.recv() {
        let (mut entries, mut waiting) = (Vec::new(), Vec::new());
        let mut take = |message: Message, entries: &mut Vec<(Key, Vec<u8>)>| match message {
            Message::Put(key, value) => entries.push((key, value)),
            Message::Flush(done) => waiting.push(done),
        };
        take(first, &mut entries);
        if !entries.is_empty() {
            std::thread::sleep(GATHERING);
        }
        while entries.len() < AT_ONCE
            && let Ok(message) = inbox.try_recv()
        {
            take(message, &mut entries);
        }
        if !entries.is_empty()
            && let Err(error) = store.put(&entries)
        {
            tracing::debug!(%error, "entries of the cache were not written");
            metrics.unwritten.inc_by(entries.len() as u64);
        }
        for done in waiting {
            let _ = done.try_send(());
        }
    }
}
