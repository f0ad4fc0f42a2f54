//! JSON lines: one object a line in, one answer a line out, in input order.
use super::files;
use crate::escape::json_text;
use crate::query::{self, Fields, Refusal};
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The longest line accepted, in bytes.
const MAX_LINE: u64 = 64 << 20;
/// How many lines a batch of several threads takes at once.
const BATCH: usize = 512;

/// Answers one request: the fields of the answer beside its `id`.
pub type Answer<'a> = &'a (dyn Fn(&Fields) -> Result<Fields, Refusal> + Sync);

/// The exit status where a line could not be answered.
const UNANSWERED: u8 = 3;

/// The text of an answer, and whether it is one and no error.
pub(super) type Reply = (String, bool);

/// Says on a terminal what is waited for: nothing else would show.
fn tell_what_is_read() {
    if io::stdin().is_terminal() {
        files::complain("reading JSON lines from the terminal, one request a line; Ctrl-D ends (see --help)");
    }
}

/// Answers every line of standard input on standard output with `jobs` threads. The exit status says whether every line
/// was answered.
pub fn run(jobs: u16, answer: Answer) -> ExitCode {
    tell_what_is_read();
    match stream(usize::from(jobs), answer) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(UNANSWERED),
        // Whoever reads the answers has gone: nothing is left to do.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            files::complain(&error.to_string());
            ExitCode::from(3)
        }
    }
}

fn stream(jobs: usize, answer: Answer) -> io::Result<bool> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let limit = if jobs > 1 { BATCH * jobs } else { 1 };
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut all_answered = true;
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if read as u64 == MAX_LINE && !line.ends_with(b"\n") {
            skip_line(&mut input)?;
            line.clear();
            line.extend_from_slice(b"\"too long\"");
        }
        if read > 0 {
            lines.push(line);
        }
        let waiting = input.buffer().is_empty();
        if read == 0 || lines.len() >= limit || waiting {
            for (text, answered) in answer_all(jobs, answer, &lines) {
                all_answered &= answered;
                output.write_all(text.as_bytes())?;
                output.write_all(b"\n")?;
            }
            lines.clear();
            if waiting || read == 0 {
                output.flush()?;
            }
        }
        if read == 0 {
            return Ok(all_answered);
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        match buffer.iter().position(|&b| b == b'\n') {
            Some(end) => {
                input.consume(end + 1);
                return Ok(());
            }
            None => {
                let length = buffer.len();
                input.consume(length);
            }
        }
    }
}

fn answer_all(jobs: usize, answer: Answer, lines: &[Vec<u8>]) -> Vec<Reply> {
    if jobs <= 1 || lines.len() <= 1 {
        return lines.iter().filter_map(|line| answer_line(answer, line)).collect();
    }
    // Lines take very different times: a thread takes the next one when it is done with its last.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(line) = lines.get(at) else { return answers };
            answers.push((at, answer_line(answer, line)));
        }
    };
    let mut answers = std::thread::scope(|scope| {
        let thread = || std::thread::Builder::new().stack_size(crate::STACK_BYTES);
        let started = (1..jobs.min(lines.len())).map_while(|_| thread().spawn_scoped(scope, work).ok());
        let workers: Vec<_> = started.collect();
        // This thread is one of them: it is there even where no other can be started.
        let own = work();
        // A thread that ends in a bug of ours ends the program: no line goes unanswered in silence.
        let joined = |worker: std::thread::ScopedJoinHandle<'_, Vec<_>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(joined).chain(own).collect::<Vec<_>>()
    });
    answers.sort_unstable_by_key(|(at, _)| *at);
    answers.into_iter().filter_map(|(_, answer)| answer).collect()
}

/// The answer to one line; none to a blank one.
pub(super) fn answer_line(answer: Answer, line: &[u8]) -> Option<Reply> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let (id, result) = match query::parse_line(line) {
        Ok(request) => (request.get("id").cloned(), answer(&request)),
        Err(refusal) => (None, Err(refusal)),
    };
    let answered = result.as_ref().map_or_else(Refusal::is_answer, |_| true);
    let text = serde_json::to_string(&query::reply(id, result)).ok()?;
    Some((json_text(text), answered))
}
