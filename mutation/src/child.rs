//! Runs a test program with bounded time and memory.
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Address space of a test program, in bytes.
const MEMORY: u64 = 6 << 30;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Passed,
    Failed,
    /// Stopped for its time, of the processor or by the clock.
    TimedOut,
}

pub struct Ran {
    pub end: End,
    /// Seconds of the processor, of the program and what it started.
    pub seconds: f64,
}

/// Runs a command with its output in `output`; `seconds` bound each process's time of the processor.
pub fn run(command: &mut Command, output: &Path, seconds: u64) -> Result<Ran, String> {
    let fail = |e: std::io::Error| format!("{:?}: {e}", command.get_program());
    let file = std::fs::File::create(output).map_err(fail)?;
    let error = file.try_clone().map_err(fail)?;
    command.stdin(Stdio::null()).stdout(file).stderr(error).process_group(0);
    // SAFETY: only system calls that are allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let bound = |what, soft: u64, hard: u64| {
                libc::setrlimit(what, &libc::rlimit { rlim_cur: soft, rlim_max: hard });
            };
            bound(libc::RLIMIT_CPU, seconds, seconds + 1);
            bound(libc::RLIMIT_AS, MEMORY, MEMORY);
            bound(libc::RLIMIT_CORE, 0, 0);
            Ok(())
        });
    }
    let child = command.spawn().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
    let pid = child.id() as libc::pid_t;
    // A wait for something that never comes takes no processor; others on the machine slow us down.
    let latest = Instant::now() + Duration::from_secs(30 + 20 * seconds);
    let mut pause = Duration::from_micros(500);
    loop {
        let (mut status, mut usage) = (0, unsafe { std::mem::zeroed::<libc::rusage>() });
        // SAFETY: the child is ours and is waited for here alone.
        let done = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) };
        if done == pid {
            // SAFETY: what the test started and left behind ends with it.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
            let status = std::process::ExitStatus::from_raw(status);
            let end = match (status.success(), status.signal()) {
                (true, _) => End::Passed,
                (_, Some(libc::SIGXCPU | libc::SIGKILL)) => End::TimedOut,
                _ => End::Failed,
            };
            return Ok(Ran { end, seconds: time(usage.ru_utime) + time(usage.ru_stime) });
        }
        if Instant::now() > latest {
            // SAFETY: the process group is the child's own.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(8));
    }
}
