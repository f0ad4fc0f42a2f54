//! What an answer leaves unread of the body of its request. The next request of the connection comes after it: it is
//! read away where that is soon done, and else the answer says that the connection closes.
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The most bytes that are read away.
const MOST: u64 = 1 << 20;
/// How long the rest of a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(1);

/// The body of a request, for whoever answers it.
struct Lent(Arc<Mutex<Body>>);

fn lock(body: &Mutex<Body>) -> MutexGuard<'_, Body> {
    body.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *lock(&self.0)).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).size_hint()
    }
}

/// What may be left of the body of a request.
pub struct Rest {
    body: Arc<Mutex<Body>>,
    /// Whether the client sends the body only once it is asked to.
    is_held_back: bool,
}

impl Rest {
    /// A request, and what will be left of its body.
    pub fn of(request: Request) -> (Request, Rest) {
        let is_held_back = request.headers().contains_key(header::EXPECT);
        let (head, body) = request.into_parts();
        let body = Arc::new(Mutex::new(body));
        let lent = Body::new(Lent(Arc::clone(&body)));
        (Request::from_parts(head, lent), Rest { body, is_held_back })
    }

    /// Reads away what is left. False where the connection cannot be used further.
    pub async fn read(self) -> bool {
        if Arc::strong_count(&self.body) > 1 {
            // Whoever answers still reads it.
            return true;
        }
        let (deadline, mut left) = (Instant::now() + PATIENCE, MOST);
        loop {
            if lock(&self.body).is_end_stream() {
                return true;
            }
            if self.is_held_back || lock(&self.body).size_hint().lower() > left {
                return false;
            }
            let frame = poll_fn(|context| Pin::new(&mut *lock(&self.body)).poll_frame(context));
            match timeout_at(deadline, frame).await {
                Ok(None) => return true,
                Ok(Some(Ok(frame))) => {
                    let read = frame.data_ref().map_or(0, |bytes| bytes.len() as u64);
                    let Some(less) = left.checked_sub(read) else { return false };
                    left = less;
                }
                Ok(Some(Err(_))) | Err(_) => return false,
            }
        }
    }
}
