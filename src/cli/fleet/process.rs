//! Workers that are processes: what ends one, such as exhausted memory, ends the check of one program only.
use super::paths::Program;
use super::worker::{self, Entry, Job};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The MiB of memory of a worker, if nothing else is said.
const MEMORY: u64 = 8192;
/// The option that makes a worker of the program.
const WORKER: &str = "--worker";

/// A process that checks programs, one after another.
pub struct Process {
    child: Child,
    // Taken away to end the process.
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a worker: this program with these arguments, the first of which is its command. `None` if that cannot be
    /// started.
    pub fn start(arguments: &[OsString]) -> Option<Process> {
        let (name, rest) = arguments.split_first()?;
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.arg(name).arg(WORKER).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let requests = child.stdin.take();
        let replies = BufReader::new(child.stdout.take()?);
        Some(Process { child, requests, replies })
    }

    /// What the worker finds.
    ///
    /// # Errors
    /// How the worker ended.
    pub fn check(&mut self, program: &Program) -> Result<Vec<Entry>, String> {
        match self.ask(program) {
            Ok(entries) => Ok(entries),
            Err(error) => {
                // A worker that still waits ends where its requests do.
                self.requests = None;
                let ended = self.child.wait().map_or_else(|_| error.to_string(), |status| status.to_string());
                Err(format!("the process that checked it ended: {ended}"))
            }
        }
    }

    fn ask(&mut self, program: &Program) -> io::Result<Vec<Entry>> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        send(requests, program)?;
        receive(&mut self.replies)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A worker ends where its requests do.
        self.requests = None;
        let _ = self.child.wait();
    }
}

/// Answers the requests of standard input, as a worker.
///
/// # Errors
/// When they cannot be read or answered.
pub fn serve(job: &Job) -> io::Result<()> {
    limit_memory(job.options.memory.unwrap_or(MEMORY));
    let (mut requests, mut replies) = (io::stdin().lock(), io::stdout().lock());
    while let Some(program) = receive::<Program>(&mut requests)? {
        send(&mut replies, &worker::check(job, &program))?;
    }
    Ok(())
}

/// Lets this process take as many MiB of memory beside what it has. What exceeds them ends it, and the check of one
/// program with it.
fn limit_memory(mib: u64) {
    if mib == 0 {
        return;
    }
    let known = getrlimit(Resource::Data);
    let most = mib.saturating_mul(1 << 20).saturating_add(taken());
    let current = Some(known.current.map_or(most, |current| current.min(most)));
    // Where there is no such limit, only that of the system holds.
    let _ = setrlimit(Resource::Data, Rlimit { current, ..known });
}

/// The bytes that the limit counts already: stacks, and what the allocator keeps.
fn taken() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

/// Writes a message, which is a line of JSON.
fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads a message; `None` at the end.
fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    match from.read_until(b'\n', &mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_slice(&line)?)),
    }
}
