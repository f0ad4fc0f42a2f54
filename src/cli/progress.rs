//! A progress line on the terminal, for work that takes longer than one waits without asking.
use crate::check::{Progress, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work that is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often the line is drawn, a second.
const RATE: u8 = 8;

/// A watch that draws on standard error, where that is a terminal.
pub fn on_terminal() -> Option<Watch> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let started = Instant::now();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(RATE))
        .with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {pos}/{len}  {elapsed}") {
        bar.set_style(style);
    }
    Some(Box::new(move |progress: Progress| {
        if started.elapsed() < PATIENCE {
            return;
        }
        bar.set_message(progress.phase);
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    }))
}

/// A bar on standard error that counts programs, where that is a terminal.
pub fn of_many(count: usize) -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let target = ProgressDrawTarget::stderr_with_hz(RATE);
    let bar = ProgressBar::with_draw_target(Some(count as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} programs  {elapsed}, {eta} left") {
        bar.set_style(style);
    }
    Some(bar)
}
