//! The threads that answer questions: few, with deep stacks, behind a queue with a bound. A panic ends the question, not the thread.
use super::problem::{Code, Problem};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Thrown through the engine where work that nobody waits for is given up.
struct GivenUp;

/// Says to the work of a request that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Whether that is so.
    pub fn is_true(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends the work at hand if nobody waits for it. To be called on a worker's thread only.
    pub fn stop_if_true(&self) {
        if self.is_true() {
            // No message is printed, and nothing is counted as a bug: the worker takes it up.
            std::panic::resume_unwind(Box::new(GivenUp));
        }
    }
}

/// A bug of the engine's that some work came upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bug;

/// The result of some work, or that it came upon a bug. To be called on a worker's thread only.
///
/// # Errors
/// When the work panics.
pub fn or_bug<T>(work: impl FnOnce() -> T) -> Result<T, Bug> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        if panic.is::<GivenUp>() {
            std::panic::resume_unwind(panic);
        }
        Bug
    })
}

/// Sets the sign when the one who waits is gone.
struct Waiting(Abandoned);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Of so many jobs taken, one is a turn of a batch, if any waits; the others are single questions.
const BATCH_EVERY: u32 = 4;

#[derive(Default)]
struct Queue {
    /// Single questions, for which somebody waits.
    single: VecDeque<Job>,
    /// Turns of batches.
    batch: VecDeque<Job>,
    taken: u32,
    closed: bool,
}

impl Queue {
    fn take(&mut self) -> Option<Job> {
        self.taken = self.taken.wrapping_add(1);
        let (first, second) = match self.taken % BATCH_EVERY {
            0 => (&mut self.batch, &mut self.single),
            _ => (&mut self.single, &mut self.batch),
        };
        first.pop_front().or_else(|| second.pop_front())
    }
}

struct Shared {
    queue: Mutex<Queue>,
    woken: Condvar,
    running: AtomicUsize,
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        // Jobs do not run while the queue is locked, so it is whole even then.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            match queue.take() {
                Some(job) => return Some(job),
                None if queue.closed => return None,
                None => queue = self.woken.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// The workers.
pub struct Workers {
    shared: Arc<Shared>,
    admitted: Arc<Semaphore>,
    deadline: Duration,
}

/// The right to have one piece of work done or queued.
pub struct Place {
    permit: OwnedSemaphorePermit,
    /// Whether it is a turn of a batch.
    batch: bool,
}

impl Workers {
    /// Starts `threads` workers behind a queue for `queue` pieces of work.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(threads: usize, queue: usize, deadline: Duration) -> std::io::Result<Workers> {
        let shared =
            Arc::new(Shared { queue: Mutex::default(), woken: Condvar::new(), running: AtomicUsize::new(0) });
        for n in 0..threads.max(1) {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name(format!("worker-{n}")).stack_size(crate::STACK_BYTES).spawn(
                move || {
                    while let Some(job) = shared.next() {
                        shared.running.fetch_add(1, Ordering::Relaxed);
                        // Jobs catch their own panics; this keeps the thread whatever happens.
                        let _ = catch_unwind(AssertUnwindSafe(job));
                        shared.running.fetch_sub(1, Ordering::Relaxed);
                    }
                },
            )?;
        }
        let places = threads.max(1) + queue;
        Ok(Workers { shared, admitted: Arc::new(Semaphore::new(places)), deadline })
    }

    /// A place in the queue, if there is one.
    ///
    /// # Errors
    /// [`Code::Busy`] when the queue is full.
    pub fn admit(&self) -> Result<Place, Problem> {
        Arc::clone(&self.admitted)
            .try_acquire_owned()
            .map(|permit| Place { permit, batch: false })
            .map_err(|_| Problem::new(Code::Busy, "the queue is full").retry_after(1))
    }

    /// A place in the queue for a turn of a batch, as soon as there is one.
    ///
    /// # Errors
    /// When there will be none any more.
    pub async fn admit_later(&self) -> Result<Place, Problem> {
        let permit = Arc::clone(&self.admitted).acquire_owned().await;
        permit
            .map(|permit| Place { permit, batch: true })
            .map_err(|_| Problem::new(Code::Draining, "the queue is closed"))
    }

    /// The pieces of work that run, and those that wait.
    pub fn load(&self) -> (usize, usize) {
        let queue = self.shared.lock();
        (self.shared.running.load(Ordering::Relaxed), queue.single.len() + queue.batch.len())
    }

    /// Has a worker do something, and waits for the result.
    ///
    /// # Errors
    /// [`Code::Deadline`] when it takes too long, [`Code::Internal`] when it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        place: Place,
        deadline: Option<Duration>,
        work: impl FnOnce(&Abandoned) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let abandoned = Abandoned::default();
        let _waiting = Waiting(abandoned.clone());
        let (done, result) = oneshot::channel();
        let (permit, batch) = (place.permit, place.batch);
        let job: Job = Box::new(move || {
            let _permit = permit;
            if !abandoned.is_true() {
                let result = catch_unwind(AssertUnwindSafe(|| work(&abandoned)));
                // Whoever has gone does not want the result.
                let _ = done.send(result.map_err(|panic| panic.is::<GivenUp>()));
            }
        });
        {
            let mut queue = self.shared.lock();
            let lane = if batch { &mut queue.batch } else { &mut queue.single };
            lane.push_back(job);
        }
        self.shared.woken.notify_one();
        let deadline = deadline.map_or(self.deadline, |asked| asked.min(self.deadline));
        match tokio::time::timeout(deadline, result).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(false)) | Err(_)) => {
                Err(Problem::new(Code::Internal, "the engine came upon a bug of its own"))
            }
            Ok(Ok(Err(true))) | Err(_) => {
                let limit = deadline.as_millis();
                Err(Problem::new(Code::Deadline, format!("no answer within {limit} ms")))
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.woken.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers() -> Workers {
        Workers::start(1, 4, Duration::from_secs(60)).unwrap()
    }

    #[tokio::test]
    async fn a_panic_ends_the_work_and_not_the_worker() {
        let workers = workers();
        for _ in 0..3 {
            let place = workers.admit().unwrap();
            let result: Result<(), Problem> = workers.run(place, None, |_| panic!("a bug")).await;
            assert_eq!(result.unwrap_err().code, Code::Internal);
        }
        let place = workers.admit().unwrap();
        assert_eq!(workers.run(place, None, |_| 7).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_given_up() {
        let workers = workers();
        let (started, wait) = std::sync::mpsc::channel();
        let place = workers.admit().unwrap();
        let result: Result<(), Problem> = workers
            .run(place, Some(Duration::from_millis(1)), move |abandoned| {
                while !abandoned.is_true() {
                    std::thread::yield_now();
                }
                let result = or_bug(|| abandoned.stop_if_true());
                started.send(result.is_ok()).unwrap();
            })
            .await;
        assert_eq!(result.unwrap_err().code, Code::Deadline);
        // It was unwound: it did not get to send anything.
        assert!(wait.recv().is_err());
        let place = workers.admit().unwrap();
        assert_eq!(workers.run(place, None, |_| 7).await.unwrap(), 7);
    }

    #[test]
    fn single_questions_go_before_batches_and_do_not_starve_them() {
        let mut queue = Queue::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        for i in 0..6 {
            let (a, b) = (Arc::clone(&order), Arc::clone(&order));
            queue.single.push_back(Box::new(move || a.lock().unwrap().push(format!("s{i}"))));
            queue.batch.push_back(Box::new(move || b.lock().unwrap().push(format!("b{i}"))));
        }
        while let Some(job) = queue.take() {
            job();
        }
        assert_eq!(order.lock().unwrap().join(" "), "s0 s1 s2 b0 s3 s4 s5 b1 b2 b3 b4 b5");
    }
}
