//! Work on many things by several threads, with the results in order or as they come.
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, PoisonError};

/// How many results wait for an earlier one before the threads wait too: results are held in memory.
const WINDOW: usize = 64;

/// How far the results are given out, for threads that wait for it.
#[derive(Default)]
struct Given {
    count: Mutex<usize>,
    more: Condvar,
    is_over: AtomicBool,
}

impl Given {
    fn add(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.more.notify_all();
    }

    /// Ends all work.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        self.more.notify_all();
    }

    /// Waits until the thing at `at` may be worked on; `false` if nothing more is wanted.
    fn wait(&self, at: usize) -> bool {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let far = |count: &mut usize| at >= *count + WINDOW && !self.is_over.load(Ordering::Relaxed);
        drop(self.more.wait_while(count, far).unwrap_or_else(PoisonError::into_inner));
        !self.is_over.load(Ordering::Relaxed)
    }
}

/// Works on `count` things with `jobs` threads, and gives each result to `sink`: in order, or as it comes. Each thread works
/// with what `start` gives it.
///
/// # Errors
/// Those of `sink`, which ends the work.
pub fn each<T: Send, W: FnMut(usize) -> T>(
    count: usize,
    jobs: usize,
    is_ordered: bool,
    start: impl Fn() -> W + Sync,
    mut sink: impl FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    let (next, given) = (AtomicUsize::new(0), Given::default());
    std::thread::scope(|scope| {
        let (done, results) = channel();
        let (start, next, given) = (&start, &next, &given);
        for started in 0..jobs.clamp(1, count.max(1)) {
            let done = done.clone();
            let run = move || {
                let mut work = start();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count || !given.wait(at) || done.send((at, work(at))).is_err() {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().stack_size(crate::STACK_BYTES);
            // Fewer threads do the same work.
            match thread.spawn_scoped(scope, run) {
                Err(error) if started == 0 => return Err(error),
                Err(_) => break,
                Ok(_) => {}
            }
        }
        drop(done);
        let (mut waiting, mut turn) = (BTreeMap::new(), 0);
        for (at, result) in results {
            waiting.insert(at, result);
            while let Some(result) =
                if is_ordered { waiting.remove(&turn) } else { waiting.pop_first().map(|(_, result)| result) }
            {
                turn += 1;
                if let Err(error) = sink(result) {
                    given.end();
                    return Err(error);
                }
                given.add();
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{WINDOW, each};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn results_come_in_order_and_few_wait_for_a_slow_one() {
        let most = AtomicUsize::new(0);
        let work = |at: usize| {
            most.fetch_max(at, Ordering::Relaxed);
            if at == 0 {
                std::thread::sleep(Duration::from_millis(50));
                assert!(most.load(Ordering::Relaxed) < WINDOW);
            }
            at
        };
        let mut seen = Vec::new();
        let sink = |at| {
            seen.push(at);
            Ok(())
        };
        each(5 * WINDOW, 3, true, || work, sink).expect("all results");
        assert_eq!(seen, (0..5 * WINDOW).collect::<Vec<_>>());
    }

    #[test]
    fn without_order_every_result_comes_once() {
        let mut seen = Vec::new();
        let sink = |at| {
            seen.push(at);
            Ok(())
        };
        each(1000, 4, false, || |at| at, sink).expect("all results");
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_sink_that_fails_ends_the_work() {
        let worked = AtomicUsize::new(0);
        let work = |at| {
            worked.fetch_add(1, Ordering::Relaxed);
            at
        };
        let failed = each(100_000, 2, true, || work, |_| Err(std::io::Error::other("full")));
        assert_eq!(failed.map_err(|error| error.to_string()), Err("full".to_owned()));
        assert!(worked.load(Ordering::Relaxed) <= 2 * WINDOW + 2);
    }
}
