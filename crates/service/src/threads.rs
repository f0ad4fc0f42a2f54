//! The worker threads of the lanes, and the thread that watches them.
//!
//! Work that does not check whether it was cancelled cannot be interrupted. If it goes on long after its cancellation,
//! a new worker replaces the one that runs it, which ends together with the work.
use super::lanes::{Lane, Queue, Task};
use sizewise_expr::CancelToken;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long work may go on after its cancellation, or after its time in the short lane, before the worker is replaced.
const STUCK: Duration = Duration::from_millis(100);
/// How often running work is checked.
const TICK: Duration = Duration::from_millis(5);
/// The nice value of threads that do long work.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// The work that runs on a thread.
struct Running {
    lane: Lane,
    since: Instant,
    /// Cancels the work; `None` if it cannot be restarted.
    token: Option<CancelToken>,
    /// When its cancellation was first noticed.
    cancelled: Option<Instant>,
    #[cfg(target_os = "linux")]
    thread: rustix::process::Pid,
    replaced: bool,
}

impl Running {
    /// Whether the worker must be replaced; cancels work that takes longer than `short` in the short lane.
    fn is_stuck(&mut self, short: Duration) -> bool {
        let over = self.lane == Lane::Short && self.since.elapsed() >= short;
        if let Some(token) = self.token.as_ref().filter(|_| over) {
            token.cancel();
        }
        let cancelled = self.token.as_ref().is_some_and(CancelToken::is_cancelled);
        if self.cancelled.is_none() && (cancelled || over) {
            self.cancelled = Some(Instant::now());
        }
        !self.replaced && self.cancelled.is_some_and(|at| at.elapsed() >= STUCK)
    }
}

#[derive(Default)]
struct Watched {
    running: HashMap<u64, Running>,
    /// Additional threads, which replace others.
    extra: usize,
    closed: bool,
    /// Whether the watching thread sleeps until there is work.
    asleep: bool,
}

#[derive(Default)]
struct State {
    queue: Mutex<(Queue, bool)>,
    woken: Condvar,
    running: AtomicUsize,
}

/// The threads and their shared state.
pub(super) struct Threads {
    short: State,
    long: State,
    watched: Mutex<Watched>,
    watch: Condvar,
    /// The most additional threads.
    most: usize,
    /// How long work may hold a worker of the short lane.
    limit: Duration,
    count: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs while these are locked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    /// Starts `threads` threads for each lane, and the one that watches; `limit` is the time limit of the short lane.
    pub fn start(threads: usize, limit: Duration) -> std::io::Result<Arc<Threads>> {
        let shared = Arc::new(Threads {
            short: State::default(),
            long: State::default(),
            watched: Mutex::default(),
            watch: Condvar::new(),
            most: 4 * threads,
            limit,
            count: AtomicU64::new(0),
        });
        for lane in Lane::ALL {
            for _ in 0..threads {
                shared.spawn(lane)?;
            }
        }
        let watch = Arc::clone(&shared);
        std::thread::Builder::new().name("watch".to_string()).spawn(move || watch.watch_over())?;
        Ok(shared)
    }

    fn state(&self, lane: Lane) -> &State {
        match lane {
            Lane::Short => &self.short,
            Lane::Long => &self.long,
        }
    }

    /// Puts a task into the queue of a lane.
    pub fn push(&self, lane: Lane, push: impl FnOnce(&mut Queue)) {
        let state = self.state(lane);
        push(&mut lock(&state.queue).0);
        state.woken.notify_one();
    }

    /// Looks at the queue of a lane.
    pub fn waiting<T>(&self, lane: Lane, look: impl FnOnce(&Queue) -> T) -> T {
        look(&lock(&self.state(lane).queue).0)
    }

    /// The number of tasks of a lane that run, and that wait.
    pub fn load(&self, lane: Lane) -> (usize, usize) {
        (self.state(lane).running.load(Ordering::Relaxed), self.waiting(lane, Queue::len))
    }

    /// Ends the threads once the queues are empty.
    pub fn close(&self) {
        for lane in Lane::ALL {
            lock(&self.state(lane).queue).1 = true;
            self.state(lane).woken.notify_all();
        }
        lock(&self.watched).closed = true;
        self.watch.notify_all();
    }

    fn spawn(self: &Arc<Self>, lane: Lane) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        let name = format!("{}-{}", lane.name(), self.count.fetch_add(1, Ordering::Relaxed));
        let thread = std::thread::Builder::new().name(name).stack_size(sizewise_expr::STACK_BYTES);
        thread.spawn(move || shared.work(lane)).map(drop)
    }

    fn work(self: &Arc<Self>, lane: Lane) {
        #[cfg(target_os = "linux")]
        if lane == Lane::Long {
            lower(rustix::thread::gettid());
        }
        let state = self.state(lane);
        while let Some(task) = self.next(lane) {
            state.running.fetch_add(1, Ordering::Relaxed);
            // Tasks catch their own panics; this keeps the thread whatever happens.
            let _ = catch_unwind(AssertUnwindSafe(task));
            state.running.fetch_sub(1, Ordering::Relaxed);
            if REPLACED.take() {
                return;
            }
        }
    }

    fn next(&self, lane: Lane) -> Option<Task> {
        let state = self.state(lane);
        let mut queue = lock(&state.queue);
        loop {
            match queue.0.take() {
                Some(task) => return Some(task),
                None if queue.1 => return None,
                None => queue = state.woken.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Runs work of a task while it is watched. To be called by tasks only.
    pub fn watched<T>(&self, lane: Lane, token: Option<CancelToken>, work: impl FnOnce() -> T) -> T {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut watched = lock(&self.watched);
        let running = Running {
            lane,
            since: Instant::now(),
            token,
            cancelled: None,
            #[cfg(target_os = "linux")]
            thread: rustix::thread::gettid(),
            replaced: false,
        };
        watched.running.insert(number, running);
        if std::mem::take(&mut watched.asleep) {
            self.watch.notify_one();
        }
        drop(watched);
        let _end = End { threads: self, number };
        work()
    }

    /// Cancels work that takes too long for its lane, and replaces workers whose cancelled work goes on.
    fn watch_over(self: Arc<Self>) {
        let mut watched = lock(&self.watched);
        while !watched.closed {
            let spare = self.most.saturating_sub(watched.extra);
            let stuck: Vec<&mut Running> =
                watched.running.values_mut().filter_map(|r| r.is_stuck(self.limit).then_some(r)).collect();
            let mut replaced = 0;
            for running in stuck.into_iter().take(spare) {
                // Where no thread can be had, it is tried again.
                if self.spawn(running.lane).is_ok() {
                    running.replaced = true;
                    replaced += 1;
                    #[cfg(target_os = "linux")]
                    lower(running.thread);
                    tracing::warn!(
                        lane = running.lane.name(),
                        "work goes on after its cancellation; another worker replaces this one"
                    );
                }
            }
            watched.extra += replaced;
            watched.asleep = watched.running.is_empty();
            watched = match watched.asleep {
                true => self.watch.wait(watched).unwrap_or_else(PoisonError::into_inner),
                false => self.watch.wait_timeout(watched, TICK).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }
}

thread_local! {
    /// Whether another worker has replaced this thread.
    static REPLACED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Removes work from the list, after a panic too.
struct End<'a> {
    threads: &'a Threads,
    number: u64,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut watched = lock(&self.threads.watched);
        let replaced = watched.running.remove(&self.number).is_some_and(|running| running.replaced);
        if replaced {
            watched.extra -= 1;
            REPLACED.set(true);
        }
    }
}

/// Lowers the priority of a thread; an unprivileged process cannot raise it again.
#[cfg(target_os = "linux")]
fn lower(thread: rustix::process::Pid) {
    // Where it is not allowed, all threads are equal.
    let _ = rustix::process::setpriority_process(Some(thread), NICE);
}
