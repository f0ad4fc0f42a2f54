//! Reading request bodies: media types, sizes and time limits.
use super::app::App;
use super::problem::{Code, Problem};
use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use bytes::BytesMut;
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

/// Smaller bodies do not count towards the limit on bodies in memory.
const SMALL: usize = 64 << 10;

/// The media types of bodies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Media {
    /// One JSON object.
    Json,
    /// JSON objects, one a line.
    Lines,
    /// Bytes.
    Bytes,
    /// A multipart form.
    Form,
}

impl Media {
    fn of(essence: &str) -> Option<Media> {
        Some(match essence {
            "application/json" => Media::Json,
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Media::Lines,
            "application/octet-stream" | "application/zip" => Media::Bytes,
            "multipart/form-data" => Media::Form,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Media::Json => "application/json",
            Media::Lines => "application/x-ndjson",
            Media::Bytes => "application/octet-stream",
            Media::Form => "multipart/form-data",
        }
    }
}

/// The media type of a body, if it is one of `taken`.
///
/// # Errors
/// [`Code::UnsupportedMediaType`].
pub fn media(headers: &HeaderMap, taken: &[Media]) -> Result<Media, Problem> {
    let expected = || taken.iter().map(|m| m.name()).collect::<Vec<_>>().join(" or ");
    let problem = |detail: String| Problem::new(Code::UnsupportedMediaType, detail).expecting(expected());
    if let Some(coding) = headers.get(header::CONTENT_ENCODING)
        && coding != HeaderValue::from_static("identity")
    {
        return Err(
            problem("compressed bodies are not accepted".to_string()).at("header", "Content-Encoding")
        );
    }
    let given = headers.get(header::CONTENT_TYPE).map(|v| v.to_str().unwrap_or("?"));
    let Some(given) = given else {
        return Err(problem("there is no Content-Type".to_string()).at("header", "Content-Type"));
    };
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match Media::of(&essence).filter(|media| taken.contains(media)) {
        Some(media) => Ok(media),
        None => Err(problem(format!("`{essence}` is not accepted here")).at("header", "Content-Type")),
    }
}

/// A body in memory, and the permit for it.
pub struct Held<'a> {
    /// The bytes.
    pub bytes: Bytes,
    _permit: Option<SemaphorePermit<'a>>,
}

/// Reads a whole body of at most `most` bytes.
///
/// # Errors
/// [`Code::TooLarge`], [`Code::SlowBody`], [`Code::BrokenBody`], or [`Code::Memory`] when too many bodies are in
/// memory.
pub async fn whole<'a>(
    app: &'a App,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Held<'a>, Problem> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(too_large(most));
    }
    let deadline = Instant::now() + app.config.limits.patience;
    let mut stream = body.into_data_stream();
    // Most bodies come in one piece.
    let first = piece(&mut stream, deadline).await?.unwrap_or_default();
    if announced == Some(first.len()) && first.len() <= most.min(SMALL) {
        return Ok(Held { bytes: first, _permit: None });
    }
    let mut permit: Option<SemaphorePermit<'a>> = None;
    let mut bytes = first.to_vec();
    loop {
        if bytes.len() > most {
            return Err(too_large(most));
        }
        if bytes.len() > SMALL && permit.is_none() {
            let likely = announced.unwrap_or(most).max(bytes.len());
            let kib = u32::try_from(likely.div_ceil(1024)).unwrap_or(u32::MAX);
            permit = Some(app.bodies.try_acquire_many(kib).map_err(|_| {
                Problem::new(Code::Memory, "too many large request bodies are in memory").retry_after(1)
            })?);
        }
        match piece(&mut stream, deadline).await? {
            Some(more) => bytes.extend_from_slice(&more),
            None => return Ok(Held { bytes: bytes.into(), _permit: permit }),
        }
    }
}

async fn piece(stream: &mut BodyDataStream, deadline: Instant) -> Result<Option<Bytes>, Problem> {
    match timeout_at(deadline, stream.next()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
        Ok(Some(Err(error))) => {
            Err(Problem::new(Code::BrokenBody, format!("the body is incomplete: {error}")))
        }
        Err(_) => Err(Problem::new(Code::SlowBody, "the body did not arrive in time")),
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("the body is larger than {most} bytes; `sizewise serve --max-body MIB` allows more, and `sizewise check` has no such limit"))
        .expecting(format!("at most {most} bytes"))
}

/// The lines of a body, as they arrive.
pub struct Lines {
    stream: BodyDataStream,
    buffer: BytesMut,
    /// The length of the prefix of the buffer that has no line end.
    searched: usize,
    /// Complete lines that were not returned yet.
    ready: VecDeque<Bytes>,
    /// Set once no more lines come; the reason, or `None` at the regular end.
    ended: Option<Option<Broken>>,
    longest: usize,
    patience: Duration,
}

/// Why there are no more lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// A line is longer than allowed.
    TooLong,
    /// No line arrives in time.
    Slow,
    /// The body is incomplete.
    Off(String),
}

impl Lines {
    /// The lines of a body, each of at most `longest` bytes.
    pub fn new(body: Body, longest: usize, patience: Duration) -> Lines {
        Lines {
            stream: body.into_data_stream(),
            buffer: BytesMut::new(),
            searched: 0,
            ready: VecDeque::new(),
            ended: None,
            longest,
            patience,
        }
    }

    /// The lines that have arrived since the last call, at most `most`; waits for the first one. Empty at the end of
    /// the body. Skips blank lines. Cancel safe.
    ///
    /// # Errors
    /// When the body cannot be read further; all earlier lines were returned before.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Bytes>, Broken> {
        while self.ready.len() < most && self.ended.is_none() {
            // What is there already is taken along; for more, one waits only with empty hands.
            let waiting = self.ready.is_empty();
            let wait = if waiting { self.patience } else { Duration::ZERO };
            match timeout(wait, self.stream.next()).await {
                Ok(Some(Ok(bytes))) => {
                    self.buffer.extend_from_slice(&bytes);
                    self.split();
                }
                Ok(Some(Err(error))) => self.ended = Some(Some(Broken::Off(error.to_string()))),
                Ok(None) => {
                    let last = self.buffer.split().freeze();
                    self.take(last);
                    self.ended.get_or_insert(None);
                }
                Err(_) if waiting => self.ended = Some(Some(Broken::Slow)),
                Err(_) => break,
            }
        }
        if self.ready.is_empty()
            && let Some(Some(broken)) = &self.ended
        {
            return Err(broken.clone());
        }
        let most = most.min(self.ready.len());
        Ok(self.ready.drain(..most).collect())
    }

    fn split(&mut self) {
        while let Some(end) = self.buffer[self.searched..].iter().position(|&b| b == b'\n') {
            let line = self.buffer.split_to(self.searched + end + 1).freeze();
            self.searched = 0;
            self.take(line);
        }
        self.searched = self.buffer.len();
        if self.searched > self.longest {
            self.ended = Some(Some(Broken::TooLong));
        }
    }

    fn take(&mut self, line: Bytes) {
        if self.ended.is_some() {
            return;
        }
        if line.len() > self.longest + 1 {
            self.ended = Some(Some(Broken::TooLong));
        } else if !line.iter().all(u8::is_ascii_whitespace) {
            self.ready.push_back(line);
        }
    }
}
