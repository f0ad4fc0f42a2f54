//! Answers that this process has given before, kept in memory.
use super::config::Limits;
use super::metrics::Metrics;
use super::text::Text;
use sha2::{Digest, Sha256};
use std::sync::Arc;

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

/// The cache.
pub struct Cache {
    memory: moka::sync::Cache<Key, Text>,
    metrics: Arc<Metrics>,
}

/// The memory that an entry takes beside its text, in bytes.
const OVERHEAD: u32 = 128;

impl Cache {
    /// An empty cache.
    pub fn new(limits: &Limits, metrics: Arc<Metrics>) -> Cache {
        let weight =
            |_: &Key, text: &Text| u32::try_from(text.len()).unwrap_or(u32::MAX).saturating_add(OVERHEAD);
        let memory = moka::sync::Cache::builder().weigher(weight).max_capacity(limits.cached).build();
        Cache { memory, metrics }
    }

    /// The text of an answer that this process has found before.
    pub fn recall(&self, key: &Key) -> Option<Text> {
        let found = self.memory.get(key);
        if found.is_some() {
            self.metrics.hits.inc();
        }
        found
    }

    /// Keeps the text of an answer.
    pub fn remember(&self, key: Key, text: Text) {
        self.memory.insert(key, text);
    }

    /// Forgets all answers, to make room.
    pub fn forget(&self) {
        self.memory.invalidate_all();
    }
}
