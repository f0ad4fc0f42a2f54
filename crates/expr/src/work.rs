//! Counted work on expressions, so that reasoning that rewrites them can be stopped at the same place on every machine.
use super::cancel::is_cancelled;
use super::pool::Pool;

/// The limit that was in force before another one; see [`Pool::limit_work`].
#[derive(Debug)]
#[must_use = "the limit before has to come back into force"]
pub struct WorkLimit(u64);

impl Pool {
    /// Adds to the work counted.
    pub fn charge(&self, work: usize) {
        self.stored.meter.add(work as u64);
    }

    /// Counts work without adding to the limited work, because constants bound it anyway.
    pub fn note_work(&self, work: usize) {
        self.stored.meter.add_beside(work as u64);
    }

    /// The work counted so far: terms and operands that were written, copied or visited, terms of sums whose
    /// bounds were computed again, and cached assignments that were tried.
    pub fn work(&self) -> u64 {
        self.stored.meter.work().saturating_add(self.stored.meter.beside())
    }

    /// Limits the work from here on. A limit that is already in force is not exceeded. Nothing stops by
    /// itself: long-running reasoning polls [`Pool::is_spent`].
    pub fn limit_work(&mut self, allowance: u64) -> WorkLimit {
        let before = self.stored.meter.limit();
        let limit = before.min(self.stored.meter.work().saturating_add(allowance));
        self.stored.meter.set_limit(limit);
        WorkLimit(before)
    }

    /// Puts the limit before into force again.
    pub fn restore_work(&mut self, before: WorkLimit) {
        self.stored.meter.set_limit(before.0);
    }

    /// Whether the work has reached the limit, or was cancelled.
    pub fn is_spent(&self) -> bool {
        self.stored.meter.work() >= self.stored.meter.limit() || is_cancelled()
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
