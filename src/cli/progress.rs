//! A progress line on the terminal, for work that takes longer than one waits without asking.
use crate::check::{Progress, Watch};
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(125);
/// Goes to the beginning of the line and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// The line; it is cleared at the end.
struct Line {
    started: Instant,
    /// When it was drawn last.
    drawn: Mutex<Option<Instant>>,
}

impl Line {
    fn show(&self, progress: &Progress) {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let due = match *drawn {
            None => self.started.elapsed() >= PATIENCE,
            Some(drawn) => drawn.elapsed() >= INTERVAL,
        };
        if due {
            *drawn = Some(Instant::now());
            let (phase, seconds) = (progress.phase, self.started.elapsed().as_secs());
            // A line that cannot be written is not missed.
            let _ = write!(
                std::io::stderr(),
                "{CLEAR}{phase}  {}/{}  {seconds} s",
                progress.done,
                progress.total
            );
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.drawn.get_mut().is_ok_and(|drawn| drawn.is_some()) {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

/// A watch that draws on standard error, where that is a terminal.
pub fn on_terminal() -> Option<Watch> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let line = Line { started: Instant::now(), drawn: Mutex::new(None) };
    Some(Box::new(move |progress: Progress| line.show(&progress)))
}
