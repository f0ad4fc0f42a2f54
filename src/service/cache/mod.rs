//! Answers that were given before. Memory keeps the texts of answers that this process has found; a store outside (a file, or a Redis that
//! replicas share) keeps verdicts with what is needed to check them again, and none of them is believed unchecked.
mod disk;
mod entry;
mod redis;
mod writer;

use super::ask::Text;
use super::config::{CacheAt, Limits};
use super::metrics::Metrics;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use entry::Entry;

/// The hash of a question.
pub type Key = [u8; 32];

/// The hash of a question's parts.
pub fn key(parts: &[&[u8]]) -> Key {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A place outside the process. Its methods block.
pub(super) trait Store: Send + Sync {
    /// What is kept under each key.
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;
    /// Keeps entries.
    fn put(&self, entries: &[(Key, Vec<u8>)]) -> Result<(), StoreError>;
    /// What it is, for `/readyz`.
    fn name(&self) -> &'static str;
}

/// Why a store does not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It may answer later.
    #[error("{0}")]
    Away(String),
    /// It is damaged, and was set aside.
    #[error("damaged: {0}")]
    Damaged(String),
}

/// A cache that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cache {place}: {message}")]
pub struct CacheError {
    /// The file or the address.
    pub place: String,
    /// Why.
    pub message: String,
}

/// The cache.
pub struct Cache {
    memory: moka::sync::Cache<Key, Text>,
    outside: Option<Outside>,
    metrics: Arc<Metrics>,
}

struct Outside {
    store: Arc<dyn Store>,
    writer: writer::Writer,
    up: Arc<AtomicBool>,
}

/// What an entry of the map costs beside its text.
const OVERHEAD: u32 = 128;

impl Cache {
    /// Opens the cache. A damaged file is set aside with a warning; a Redis that does not answer is tried again later.
    ///
    /// # Errors
    /// When a file cannot be used, for other reasons than damage, or an address is none.
    pub fn open(at: &CacheAt, limits: &Limits, metrics: Arc<Metrics>) -> Result<Cache, CacheError> {
        let weight =
            |_: &Key, text: &Text| u32::try_from(text.len()).unwrap_or(u32::MAX).saturating_add(OVERHEAD);
        let memory = moka::sync::Cache::builder().weigher(weight).max_capacity(limits.cached).build();
        let store: Option<Arc<dyn Store>> = match at {
            CacheAt::Memory => None,
            CacheAt::Disk(path) => Some(Arc::new(disk::Disk::open(path, limits.cache_file)?)),
            CacheAt::Redis(address) => Some(Arc::new(redis::Redis::open(address)?)),
        };
        let outside = match store {
            None => None,
            Some(store) => {
                let up = Arc::new(AtomicBool::new(true));
                let place = match at {
                    CacheAt::Disk(path) => path.display().to_string(),
                    _ => "cache".to_string(),
                };
                let writer = writer::Writer::start(Arc::clone(&store), Arc::clone(&metrics))
                    .map_err(|error| CacheError { place: place.clone(), message: error.to_string() })?;
                metrics.show_store().map_err(|error| CacheError { place, message: error.to_string() })?;
                Some(Outside { store, writer, up })
            }
        };
        Ok(Cache { memory, outside, metrics })
    }

    /// The text of an answer that this process has found before.
    pub fn recall(&self, key: &Key) -> Option<Text> {
        let found = self.memory.get(key);
        if found.is_some() {
            self.metrics.hits.with_label_values(&["memory"]).inc();
        }
        found
    }

    /// Keeps the text of an answer in memory.
    pub fn remember(&self, key: Key, text: Text) {
        self.memory.insert(key, text);
    }

    /// Forgets what is in memory, to make room.
    pub fn forget(&self) {
        self.memory.invalidate_all();
    }

    /// Whether there is a store outside.
    pub fn has_store(&self) -> bool {
        self.outside.is_some()
    }

    /// The entries under keys; none where there is none, or where the store does not answer. Entries that are damaged are left out.
    pub fn look_up(&self, keys: &[Key]) -> Vec<Option<Entry>> {
        let nothing = || keys.iter().map(|_| None).collect();
        let Some(outside) = self.outside.as_ref().filter(|_| !keys.is_empty()) else { return nothing() };
        match outside.store.get(keys) {
            Ok(found) => {
                self.note(outside, true, "");
                let entry = |bytes: Option<Vec<u8>>| {
                    let entry = Entry::read(&bytes?);
                    if entry.is_none() {
                        self.metrics.rejected.with_label_values(&["checksum"]).inc();
                    }
                    entry
                };
                found.into_iter().map(entry).collect()
            }
            Err(error) => {
                self.note(outside, false, &error.to_string());
                nothing()
            }
        }
    }

    /// Has an entry written to the store, soon.
    pub fn keep(&self, key: Key, entry: &Entry) {
        if let Some(outside) = &self.outside {
            outside.writer.put(key, entry.write());
        }
    }

    /// What the cache is, and whether all of it answers: `memory`, `disk`, `redis`.
    pub fn state(&self) -> (&'static str, bool) {
        match &self.outside {
            None => ("memory", true),
            Some(outside) => {
                (outside.store.name(), self.metrics.store_up.get() == 1 && outside.up.load(Ordering::Relaxed))
            }
        }
    }

    /// Asks the store whether it is there.
    pub fn probe(&self) {
        if self.outside.is_some() {
            self.look_up(&[[0; 32]]);
        }
    }

    /// Writes what is waiting to be written.
    pub fn flush(&self) {
        if let Some(outside) = &self.outside {
            outside.writer.flush();
        }
    }

    fn note(&self, outside: &Outside, up: bool, why: &str) {
        self.metrics.store_up.set(i64::from(up));
        if outside.up.swap(up, Ordering::Relaxed) != up {
            match up {
                true => tracing::info!(store = outside.store.name(), "the cache's store answers again"),
                false => {
                    tracing::warn!(
                        store = outside.store.name(),
                        why,
                        "the cache's store does not answer; memory is left"
                    );
                }
            }
        }
    }
}
