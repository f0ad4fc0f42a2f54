//! The work of requests: started in the short lane, restarted in the long one if it takes too long there, cancelled at
//! its deadline. A panic ends the work, not the thread.
use super::auth::Holder;
use super::config::Limits;
use super::lanes::Lane;
use super::problem::{Code, Problem};
use super::threads::Threads;
use prometheus::IntCounter;
use sizewise_expr::CancelToken;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// Requests of more bytes are long work from the start.
const SHORT_BYTES: usize = 64 << 10;

/// Work panicked: a bug in the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bug;

/// The result of some work, or that it panicked.
///
/// # Errors
/// When the work panics.
pub fn or_bug<T>(work: impl FnOnce() -> T) -> Result<T, Bug> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Bug)
}

/// A piece of work: its owner, its size and its deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Job {
    /// The holder of the token of the request.
    pub holder: Option<Holder>,
    /// The length of the request in bytes.
    pub bytes: usize,
    /// How long it may take; the service's own limit applies if it is shorter.
    pub deadline: Option<Duration>,
}

impl Job {
    /// The lane to start in.
    fn lane(&self) -> Lane {
        if self.bytes > SHORT_BYTES { Lane::Long } else { Lane::Short }
    }
}

/// Cancels the work when dropped: nobody waits for the result.
struct Waiting(CancelToken);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The outcome of work that can be restarted.
enum Ended<T, W> {
    /// It has a result.
    Done(T),
    /// It was cancelled: the work, to be restarted.
    Cancelled(W),
    /// It panicked.
    Panicked,
}

/// A permit for one task to wait or run in a lane.
pub struct Place {
    permit: OwnedSemaphorePermit,
    lane: Lane,
    holder: Option<Holder>,
    /// Whether the task is a turn of a batch.
    is_batch: bool,
}

/// The workers.
pub struct Workers {
    threads: Arc<Threads>,
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    /// The most single requests with one token that may wait in a lane.
    share: usize,
    deadline: Duration,
    counts: Counts,
}

/// Counts of the outcomes of work.
#[derive(Clone)]
pub struct Counts {
    /// Work moved to the long lane.
    pub moved: IntCounter,
    /// Work that missed its deadline.
    pub late: IntCounter,
}

impl Workers {
    /// Starts `threads` workers for each lane, each lane with its own queue.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(threads: usize, limits: &Limits, counts: Counts) -> std::io::Result<Workers> {
        let Limits { queue, deadline, short, .. } = *limits;
        let threads = threads.max(1);
        let places = || Arc::new(Semaphore::new(threads + queue));
        Ok(Workers {
            short: places(),
            long: places(),
            share: queue.div_ceil(2).max(1),
            threads: Threads::start(threads, short)?,
            deadline,
            counts,
        })
    }

    fn places(&self, lane: Lane) -> Arc<Semaphore> {
        Arc::clone(match lane {
            Lane::Short => &self.short,
            Lane::Long => &self.long,
        })
    }

    /// A place in a lane, if one is free.
    ///
    /// # Errors
    /// [`Code::Busy`] when the queue is full, or half full of requests with this token.
    pub fn admit(&self, lane: Lane, holder: Option<Holder>) -> Result<Place, Problem> {
        let busy = |why: &str| Problem::new(Code::Busy, why).retry_after(1);
        if holder.is_some() && self.threads.waiting(lane, |queue| queue.singles_of(holder)) >= self.share {
            return Err(busy("too many requests with this token are waiting"));
        }
        let permit = self.places(lane).try_acquire_owned().map_err(|_| busy("the queue is full"))?;
        Ok(Place { permit, lane, holder, is_batch: false })
    }

    /// A place for a turn of a batch, as soon as one is free.
    ///
    /// # Errors
    /// When the queue is closed.
    pub async fn admit_later(&self, lane: Lane, holder: Option<Holder>) -> Result<Place, Problem> {
        let permit = self.places(lane).acquire_owned().await;
        let permit = permit.map_err(|_| Problem::new(Code::Draining, "the queue is closed"))?;
        Ok(Place { permit, lane, holder, is_batch: true })
    }

    /// The number of tasks of a lane that run, and that wait.
    pub fn load(&self, lane: Lane) -> (usize, usize) {
        self.threads.load(lane)
    }

    /// The time limit of work with this deadline.
    fn limit(&self, deadline: Option<Duration>) -> Duration {
        deadline.map_or(self.deadline, |asked| asked.min(self.deadline))
    }

    /// Runs work on a worker, and waits for the result. The work may be cancelled and restarted, so it must have no
    /// side effects.
    ///
    /// # Errors
    /// [`Code::Deadline`] when it takes too long, [`Code::Internal`] when it panics, [`Code::Busy`] when too much is
    /// waiting.
    pub async fn run<T, W>(&self, job: Job, mut work: W) -> Result<T, Problem>
    where
        T: Send + 'static,
        W: FnMut() -> T + Send + 'static,
    {
        let limit = self.limit(job.deadline);
        let until = Instant::now() + limit;
        let mut lane = job.lane();
        loop {
            let place = self.admit(lane, job.holder)?;
            let attempt = self.put(place, move |threads, token| {
                let mut work = work;
                let result = threads.watched(lane, Some(token.clone()), || {
                    catch_unwind(AssertUnwindSafe(|| token.during(&mut work)))
                });
                match result {
                    Err(_) => Ended::Panicked,
                    Ok(_) if token.is_cancelled() => Ended::Cancelled(work),
                    Ok(result) => Ended::Done(result),
                }
            });
            work = match timeout_at(until, attempt).await {
                Ok(Some(Ended::Done(result))) => return Ok(result),
                Ok(Some(Ended::Cancelled(again))) => again,
                Ok(Some(Ended::Panicked) | None) => return Err(bug()),
                Err(_) => return Err(self.too_late(limit)),
            };
            lane = Lane::Long;
            self.counts.moved.inc();
        }
    }

    /// Runs work that cannot be restarted, and waits for the result. It is not cancelled once it has started.
    ///
    /// # Errors
    /// As [`Workers::run`].
    pub async fn run_once<T: Send + 'static>(
        &self,
        job: Job,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let lane = job.lane();
        let place = self.admit(lane, job.holder)?;
        let attempt = self.put(place, move |threads, _| threads.watched(lane, None, || or_bug(work)));
        self.settle(self.limit(job.deadline), attempt).await
    }

    /// Runs a turn of a batch, and waits for the result. A turn notices by itself that it is cancelled, and leaves the
    /// rest.
    ///
    /// # Errors
    /// [`Code::Deadline`] when it takes too long, [`Code::Internal`] when it panics.
    pub async fn turn<T: Send + 'static>(
        &self,
        place: Place,
        deadline: Option<Duration>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let lane = place.lane;
        let attempt = self.put(place, move |threads, token| {
            threads.watched(lane, Some(token.clone()), || or_bug(|| token.during(work)))
        });
        self.settle(self.limit(deadline), attempt).await
    }

    async fn settle<T>(
        &self,
        limit: Duration,
        attempt: impl Future<Output = Option<Result<T, Bug>>>,
    ) -> Result<T, Problem> {
        match timeout(limit, attempt).await {
            Ok(Some(Ok(result))) => Ok(result),
            Ok(Some(Err(Bug)) | None) => Err(bug()),
            Err(_) => Err(self.too_late(limit)),
        }
    }

    /// Runs work that is cancelled when nobody waits for it any more; `None` if the worker panicked.
    async fn put<R: Send + 'static>(
        &self,
        place: Place,
        work: impl FnOnce(&Threads, &CancelToken) -> R + Send + 'static,
    ) -> Option<R> {
        let token = CancelToken::new();
        let _waiting = Waiting(token.clone());
        let (done, result) = oneshot::channel();
        let Place { permit, lane, holder, is_batch } = place;
        let threads = Arc::clone(&self.threads);
        let task = move || {
            let result = (!token.is_cancelled()).then(|| work(&threads, &token));
            // The place is free before the result arrives. If nobody waits, the result is dropped.
            drop(permit);
            let _ = result.map(|result| done.send(result));
        };
        self.threads.push(lane, |queue| queue.push(holder, is_batch, Box::new(task)));
        result.await.ok()
    }

    fn too_late(&self, limit: Duration) -> Problem {
        self.counts.late.inc();
        let mut problem = Problem::new(Code::Deadline, format!("no answer within {} ms", limit.as_millis()));
        problem.is_asked_for = limit < self.deadline;
        problem
    }
}

fn bug() -> Problem {
    Problem::new(Code::Internal, "internal error in the engine")
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.threads.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::is_cancelled;
    use std::sync::mpsc;

    fn workers() -> Workers {
        let counter = || IntCounter::new("name", "help").unwrap();
        let counts = Counts { moved: counter(), late: counter() };
        let limits = Limits { queue: 4, ..Limits::default() };
        Workers::start(1, &limits, counts).unwrap()
    }

    /// Work of the long lane.
    fn long() -> Job {
        Job { bytes: SHORT_BYTES + 1, ..Job::default() }
    }

    fn moved_and_late(workers: &Workers) -> (u64, u64) {
        (workers.counts.moved.get(), workers.counts.late.get())
    }

    async fn works(workers: &Workers) -> bool {
        let (short, long) = (workers.run(Job::default(), || 7).await, workers.run(long(), || 8).await);
        short.ok() == Some(7) && long.ok() == Some(8)
    }

    #[tokio::test]
    async fn a_panic_ends_the_work_and_not_the_worker() {
        let workers = workers();
        for _ in 0..3 {
            let result: Result<(), Problem> = workers.run(Job::default(), || panic!("a bug")).await;
            assert_eq!(result.unwrap_err().code, Code::Internal);
            let result: Result<(), Problem> = workers.run_once(Job::default(), || panic!("a bug")).await;
            assert_eq!(result.unwrap_err().code, Code::Internal);
        }
        assert!(works(&workers).await);
    }

    #[tokio::test]
    async fn long_work_is_begun_anew_where_it_holds_up_nobody() {
        let workers = workers();
        let mut begun = 0;
        let work = move || {
            begun += 1;
            while begun == 1 && !is_cancelled() {
                std::thread::yield_now();
            }
            (begun, std::thread::current().name().map(str::to_string))
        };
        let (begun, thread) = workers.run(Job::default(), work).await.unwrap();
        assert_eq!((begun, moved_and_late(&workers)), (2, (1, 0)));
        assert!(thread.unwrap().starts_with("long"));
    }

    #[tokio::test]
    async fn work_is_cancelled_at_its_deadline() {
        let workers = workers();
        let (ended, wait) = mpsc::channel();
        let job = Job { deadline: Some(Duration::from_millis(200)), ..long() };
        let work = move || {
            while !is_cancelled() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        };
        let result = workers.run(job, work).await;
        assert_eq!((result.unwrap_err().code, moved_and_late(&workers)), (Code::Deadline, (0, 1)));
        assert!(wait.recv().is_ok());
        assert!(works(&workers).await);
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_not_begun() {
        let workers = workers();
        let (hold, held) = mpsc::channel::<()>();
        let (begun, began) = mpsc::channel::<()>();
        let first = workers.run_once(long(), move || held.recv().is_ok());
        let second = workers.run_once(long(), move || begun.send(()).is_ok());
        let both = async { tokio::join!(first, second) };
        // Both wait, or run, until this one gives up on them.
        assert!(timeout(Duration::from_millis(5), both).await.is_err());
        drop(hold);
        assert!(works(&workers).await);
        assert!(began.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_worker_that_does_not_end_cancelled_work_is_replaced() {
        let workers = workers();
        for bytes in [0, SHORT_BYTES + 1] {
            let (hold, held) = mpsc::channel::<()>();
            let held = std::sync::Mutex::new(held);
            let job = Job { bytes, deadline: Some(Duration::from_millis(1)), ..Job::default() };
            let result = workers.run(job, move || held.lock().unwrap().recv().is_ok()).await;
            assert_eq!(result.unwrap_err().code, Code::Deadline);
            // The only worker of the lane is held still.
            assert!(works(&workers).await);
            drop(hold);
            assert!(works(&workers).await);
        }
    }

    #[tokio::test]
    async fn one_token_cannot_fill_a_queue() {
        let workers = workers();
        let (one, other) = (Some(Holder([1; 32])), Some(Holder([2; 32])));
        let (hold, held) = mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let wait = move || held.lock().unwrap().recv().is_ok();
        let job = |holder| Job { holder, ..long() };
        let mut first = Box::pin(workers.run_once(job(None), wait));
        assert!(timeout(Duration::from_millis(5), &mut first).await.is_err());
        let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(workers.run_once(job(one), || ()))).collect();
        for one in &mut waiting {
            assert!(timeout(Duration::from_millis(1), one).await.is_err());
        }
        assert_eq!(workers.run(job(one), || ()).await.unwrap_err().code, Code::Busy);
        assert!(workers.admit(Lane::Long, other).is_ok());
        assert!(workers.admit(Lane::Long, None).is_ok());
        drop(hold);
        assert!(first.await.is_ok());
        for one in waiting {
            assert!(one.await.is_ok());
        }
    }
}
