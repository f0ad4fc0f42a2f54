//! Cancelling work from another thread.
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Cancels the work that is done [under it](CancelToken::during), from any thread.
///
/// Cancelled work ends early and is undecided: long-running reasoning acts as if its budget were spent
/// ([`Pool::is_spent`](super::Pool::is_spent)), and a check ends with an error. The result depends on the
/// moment of cancellation. So the caller that cancels has to discard it, together with everything that was
/// computed meanwhile.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels; there is no way back.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Does some work, on this thread, that the token cancels. Within it, no other token does.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(self.clone()));
        let _restore = Restore(before);
        work()
    }

    /// The token of the work that this thread is doing; to be handed on to threads that help with it.
    pub fn current() -> Option<CancelToken> {
        CURRENT.with_borrow(Clone::clone)
    }
}

/// Puts a token back, after a panic too.
struct Restore(Option<CancelToken>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Whether the work that this thread is doing was cancelled.
pub fn is_cancelled() -> bool {
    CURRENT.with_borrow(|token| token.as_ref().is_some_and(CancelToken::is_cancelled))
}

#[cfg(test)]
mod tests {
    use super::super::Pool;
    use super::*;

    #[test]
    fn a_token_cancels_what_is_done_under_it_and_nothing_else() {
        let (token, other) = (CancelToken::new(), CancelToken::new());
        let pool = Pool::new();
        token.during(|| {
            assert!(!pool.is_spent());
            token.cancel();
            assert!(pool.is_spent() && is_cancelled());
            other.during(|| assert!(!is_cancelled()));
            assert!(is_cancelled());
        });
        assert!(!is_cancelled() && CancelToken::current().is_none());
        assert!(!pool.is_spent());
    }

    #[test]
    fn a_panic_leaves_no_token_behind() {
        let token = CancelToken::new();
        token.cancel();
        let panicked = std::panic::catch_unwind(|| token.during(|| std::panic::resume_unwind(Box::new(()))));
        assert!(panicked.is_err() && !is_cancelled());
    }

    #[test]
    fn other_threads_do_not_share_it_unless_it_is_handed_on() {
        let token = CancelToken::new();
        token.cancel();
        token.during(|| {
            let current = CancelToken::current();
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(!is_cancelled()));
                scope.spawn(|| current.map(|token| token.during(|| assert!(is_cancelled()))));
            });
        });
    }
}
