//! Answers that this process has given before, kept in memory. The least recently used ones make room for new ones.
use super::config::Limits;
use super::metrics::Metrics;
use super::text::Text;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    entries: Mutex<Entries>,
    /// The most bytes.
    capacity: u64,
    metrics: Arc<Metrics>,
}

/// The memory that an entry takes beside its text, in bytes.
const OVERHEAD: u64 = 256;

#[derive(Default)]
struct Entries {
    texts: HashMap<Key, (u64, Text)>,
    /// The keys by the time of their last use, a counter.
    used: BTreeMap<u64, Key>,
    clock: u64,
    bytes: u64,
}

fn weight(text: &Text) -> u64 {
    text.len() as u64 + OVERHEAD
}

impl Entries {
    fn recall(&mut self, key: &Key) -> Option<Text> {
        let (used, text) = self.texts.get_mut(key)?;
        self.used.remove(used);
        self.clock += 1;
        *used = self.clock;
        self.used.insert(self.clock, *key);
        Some(text.clone())
    }

    fn remember(&mut self, key: Key, text: Text, capacity: u64) {
        self.clock += 1;
        self.bytes += weight(&text);
        self.used.insert(self.clock, key);
        if let Some((used, old)) = self.texts.insert(key, (self.clock, text)) {
            self.used.remove(&used);
            self.bytes -= weight(&old);
        }
        while self.bytes > capacity {
            let Some((_, oldest)) = self.used.pop_first() else { return };
            if let Some((_, text)) = self.texts.remove(&oldest) {
                self.bytes -= weight(&text);
            }
        }
    }
}

impl Cache {
    /// An empty cache.
    pub fn new(limits: &Limits, metrics: Arc<Metrics>) -> Cache {
        Cache { entries: Mutex::default(), capacity: limits.cached, metrics }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // Nothing that can panic runs under the lock.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text of an answer that this process has found before.
    pub fn recall(&self, key: &Key) -> Option<Text> {
        let found = self.lock().recall(key);
        if found.is_some() {
            self.metrics.hits.inc();
        }
        found
    }

    /// Keeps the text of an answer.
    pub fn remember(&self, key: Key, text: Text) {
        self.lock().remember(key, text, self.capacity);
    }

    /// Forgets all answers, to make room.
    pub fn forget(&self) {
        *self.lock() = Entries::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_check::query::Fields;

    #[test]
    fn the_least_recently_used_answers_make_room() {
        let text = Text::answer(Fields::new());
        let capacity = 2 * weight(&text);
        let mut entries = Entries::default();
        let known = |entries: &Entries| {
            let is_there = |n: &u8| entries.texts.contains_key(&[*n; 32]);
            (1..=4).filter(is_there).collect::<Vec<u8>>()
        };
        for (key, recalled, left) in
            [(1, 1, vec![1]), (2, 1, vec![1, 2]), (3, 3, vec![1, 3]), (1, 3, vec![1, 3]), (4, 4, vec![3, 4])]
        {
            entries.remember([key; 32], text.clone(), capacity);
            assert!(entries.recall(&[recalled; 32]).is_some());
            assert_eq!(known(&entries), left, "after {key}");
            assert_eq!((entries.used.len(), entries.bytes), (left.len(), left.len() as u64 * weight(&text)));
        }
        entries.remember([5; 32], text, 0);
        assert_eq!((entries.texts.len(), entries.used.len(), entries.bytes), (0, 0, 0));
    }
}
