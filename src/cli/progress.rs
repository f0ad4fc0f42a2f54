//! A progress line on the terminal, for work that takes longer than one waits without asking.
use crate::check::{Progress, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often the line is drawn, a second.
const RATE: u8 = 8;

/// The line of this process. The work that it tells of may never be dropped, so it is taken away by name.
static LINE: OnceLock<ProgressBar> = OnceLock::new();

/// Whether standard error is a terminal that can take a line away again.
fn is_terminal() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A watch that draws on standard error, where that is a terminal.
pub fn on_terminal() -> Option<Watch> {
    if !is_terminal() {
        return None;
    }
    let started = Instant::now();
    let bar = LINE.get_or_init(|| {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(RATE));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
            bar.set_style(style);
        }
        bar
    });
    Some(Box::new(move |progress: Progress| {
        if started.elapsed() < PATIENCE || bar.is_finished() {
            return;
        }
        // What cannot be counted is only named.
        bar.set_message(match progress.total {
            0 => progress.phase.to_owned(),
            total => format!("{} {} of {total}", progress.phase, (progress.done + 1).min(total)),
        });
        bar.tick();
    }))
}

/// Takes the line away, before anything else is written.
pub fn clear() {
    LINE.get().into_iter().for_each(ProgressBar::finish_and_clear);
}

/// A bar on standard error that counts programs, where that is a terminal.
pub fn of_many(count: usize) -> Option<ProgressBar> {
    if !is_terminal() {
        return None;
    }
    let target = ProgressDrawTarget::stderr_with_hz(RATE);
    let bar = ProgressBar::with_draw_target(Some(count as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} programs  {elapsed}, {eta} left") {
        bar.set_style(style);
    }
    Some(bar)
}
