//! Counted work on expressions, so that reasoning that rewrites them can be stopped at the same place on every machine.
use super::cancel::is_cancelled;
use super::pool::Pool;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the terms and operands that a pool writes, copies and visits, up to a limit.
///
/// Work is limited by one thread that borrows the pool mutably, so counting needs no atomic addition. What
/// threads that share a pool count together does not matter.
#[derive(Debug)]
pub(super) struct Meter {
    work: AtomicU64,
    limit: u64,
    /// Other work, bounded by constants, so that no limit has to count it.
    beside: AtomicU64,
}

impl Meter {
    fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    fn beside(&self) -> u64 {
        self.beside.load(Ordering::Relaxed)
    }
}

impl Clone for Meter {
    fn clone(&self) -> Meter {
        Meter { work: AtomicU64::new(self.work()), limit: self.limit, beside: AtomicU64::new(self.beside()) }
    }
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { work: AtomicU64::new(0), limit: u64::MAX, beside: AtomicU64::new(0) }
    }
}

/// The limit that was in force before another one; see [`Pool::limit_work`].
#[derive(Debug)]
#[must_use = "the limit before has to come back into force"]
pub struct WorkLimit(u64);

impl Pool {
    /// Adds to the work counted.
    pub fn charge(&self, work: usize) {
        self.meter.work.store(self.meter.work().saturating_add(work as u64), Ordering::Relaxed);
    }

    /// Counts work without adding to the limited work, because constants bound it anyway.
    pub fn note_work(&self, work: usize) {
        self.meter.beside.store(self.meter.beside().saturating_add(work as u64), Ordering::Relaxed);
    }

    /// The work counted so far: terms and operands that were written, copied or visited, terms of sums whose
    /// bounds were computed again, and cached assignments that were tried.
    pub fn work(&self) -> u64 {
        self.meter.work().saturating_add(self.meter.beside())
    }

    /// Limits the work from here on. A limit that is already in force is not exceeded. Nothing stops by
    /// itself: long-running reasoning polls [`Pool::is_spent`].
    pub fn limit_work(&mut self, allowance: u64) -> WorkLimit {
        let before = self.meter.limit;
        self.meter.limit = before.min(self.meter.work().saturating_add(allowance));
        WorkLimit(before)
    }

    /// Puts the limit before into force again.
    pub fn restore_work(&mut self, before: WorkLimit) {
        self.meter.limit = before.0;
    }

    /// Whether the work has reached the limit, or was cancelled.
    pub fn is_spent(&self) -> bool {
        self.meter.work() >= self.meter.limit || is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_limit_never_exceeds_the_outer_one() {
        let mut pool = Pool::new();
        let all = pool.limit_work(100);
        let outer = pool.limit_work(1_000);
        pool.charge(100);
        assert!(pool.is_spent());
        pool.restore_work(outer);
        assert!(pool.is_spent());
        pool.restore_work(all);
        assert!(!pool.is_spent());
    }
}
