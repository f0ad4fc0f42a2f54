//! The count of work on expressions.
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the terms and operands that a pool writes, copies and visits, up to a limit.
///
/// Work is limited by one thread at a time, so counting needs no atomic addition. Threads work on branches of a pool,
/// which count for themselves.
#[derive(Debug)]
pub(super) struct Meter {
    work: AtomicU64,
    limit: AtomicU64,
    /// Other work, bounded by constants, so that no limit has to count it.
    beside: AtomicU64,
}

impl Meter {
    pub(super) fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn beside(&self) -> u64 {
        self.beside.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, work: u64) {
        self.work.store(self.work().saturating_add(work), Ordering::Relaxed);
    }

    pub(super) fn add_beside(&self, work: u64) {
        self.beside.store(self.beside().saturating_add(work), Ordering::Relaxed);
    }

    pub(super) fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }
}

impl Clone for Meter {
    fn clone(&self) -> Meter {
        Meter {
            work: AtomicU64::new(self.work()),
            limit: AtomicU64::new(self.limit()),
            beside: AtomicU64::new(self.beside()),
        }
    }
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { work: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX), beside: AtomicU64::new(0) }
    }
}
