//! What a replay came to, for a person to read.
use super::environment::{Answered, ReplayEnv};
use super::event::Question;
use indexmap::IndexMap;
use sizewise_solve::Means;
use std::fmt;
use std::time::Duration;

/// The most entries of each list.
const MAX_LISTED: usize = 20;
/// The most characters of an expression that are shown.
const MAX_SHOWN: usize = 200;
/// Questions that take longer than this are listed as slow.
const SLOW: Duration = Duration::from_millis(1);

/// A question with what is said of it.
#[derive(Clone, Debug)]
struct Entry {
    expr: String,
    at: Option<String>,
    says: String,
    /// How often it was asked.
    times: usize,
}

impl Entry {
    fn new(question: &Question, says: String) -> Entry {
        Entry { expr: question.expr.clone(), at: question.at.clone(), says, times: 1 }
    }

    fn is_of(&self, question: &Question) -> bool {
        self.expr == question.expr && self.at == question.at
    }
}

/// What a replay came to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    program: String,
    /// Questions by what settled them: the store, ranges, reasoning, nothing.
    by_means: [usize; 4],
    /// Guards that torch recorded, and of those, how many follow from the facts before.
    guards: (usize, usize),
    /// Errors because an answer depends on data, and how many of the answers follow.
    errors: (usize, usize),
    /// The final guards, and how many of them are not redundant.
    final_guards: (usize, usize),
    needless: Vec<Entry>,
    avoided: Vec<Entry>,
    slow: Vec<(Duration, Entry)>,
    times: Vec<Duration>,
    failed: Option<String>,
}

impl Summary {
    pub(super) fn new(program: &str) -> Summary {
        Summary { program: program.to_owned(), ..Summary::default() }
    }

    /// How many questions were asked.
    pub fn questions(&self) -> usize {
        self.by_means.iter().sum()
    }

    /// How many questions were settled by some means, or by none ([`Means::Open`]).
    pub fn settled_by(&self, means: Means) -> usize {
        self.by_means[means as usize]
    }

    /// How many guards torch recorded for single questions, and how many of them follow from the facts before.
    pub fn needless_guards(&self) -> (usize, usize) {
        self.guards
    }

    /// How many questions ended in an error, and how many of those the facts answer.
    pub fn avoidable_errors(&self) -> (usize, usize) {
        self.errors
    }

    pub(super) fn asked(&mut self, question: &Question, answered: &Answered) {
        self.by_means[answered.means as usize] += 1;
        self.times.push(answered.time);
        if answered.time > SLOW {
            let says = format!("{:.1} ms", answered.time.as_secs_f64() * 1e3);
            self.slow.push((answered.time, Entry::new(question, says)));
            self.slow.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
            self.slow.truncate(MAX_LISTED);
        }
        let count = match question {
            q if q.is_guard() => &mut self.guards,
            q if q.is_error() => &mut self.errors,
            _ => return,
        };
        count.0 += 1;
        count.1 += usize::from(answered.answer.is_some());
    }

    /// Notes why torch need not have recorded a guard, or stopped.
    pub(super) fn explain(&mut self, question: &Question, answered: &Answered, environment: &mut ReplayEnv) {
        let list = match question {
            q if q.is_guard() => &mut self.needless,
            q if q.is_error() => &mut self.avoided,
            _ => return,
        };
        let Some(answer) = answered.answer else { return };
        if let Some(entry) = list.iter_mut().find(|entry| entry.is_of(question)) {
            entry.times += 1;
        } else if list.len() < MAX_LISTED {
            let says = match environment.reasons(question, answer) {
                None => format!("always {answer}"),
                Some(reasons) if reasons.is_empty() => format!("always {answer}, whatever the sizes are"),
                Some(reasons) => format!("always {answer}, from {}", reasons.join(", ")),
            };
            list.push(Entry::new(question, says));
        }
    }

    pub(super) fn guards(&mut self, recorded: usize, kept: usize) {
        self.final_guards.0 += recorded;
        self.final_guards.1 += kept;
    }

    pub(super) fn ended(&mut self, error: Option<String>) {
        self.failed = error;
    }
}

/// The beginning of a text that is long.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_SHOWN {
        return text.to_owned();
    }
    text.chars().take(MAX_SHOWN).chain(['…']).collect()
}

/// A list of `all` questions, of which some are listed, by the lines of the program where they were asked.
fn list(f: &mut fmt::Formatter<'_>, title: &str, entries: &[Entry], all: usize) -> fmt::Result {
    if entries.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}:")?;
    let mut by_line: IndexMap<Option<&str>, Vec<&Entry>> = IndexMap::new();
    for entry in entries {
        by_line.entry(entry.at.as_deref()).or_default().push(entry);
    }
    for (line, entries) in by_line {
        writeln!(f, "  {}", line.unwrap_or("in code that the trace does not name"))?;
        for Entry { expr, says, times, .. } in entries {
            let times = if *times > 1 { format!(" ({times} times)") } else { String::new() };
            writeln!(f, "    {}{times}\n        {}", shortened(expr), shortened(says))?;
        }
    }
    let listed: usize = entries.iter().map(|entry| entry.times).sum();
    if all > listed {
        writeln!(f, "  and {} more", all - listed)?;
    }
    Ok(())
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.program)?;
        if let Some(error) = &self.failed {
            writeln!(f, "  failed: {}", error.lines().next().unwrap_or_default())?;
        }
        let [store, ranges, reasoning, open] = self.by_means;
        writeln!(
            f,
            "  {} questions: {store} answered by the store, {ranges} by value ranges,",
            self.questions()
        )?;
        writeln!(f, "  {reasoning} by further reasoning, {open} not settled by the facts")?;
        let mut times = self.times.clone();
        times.sort_unstable();
        if let Some(slowest) = times.last() {
            let micros = |time: &Duration| time.as_secs_f64() * 1e6;
            let at = |percent: usize| micros(&times[(times.len() - 1) * percent / 100]);
            writeln!(
                f,
                "  time a question: median {:.1} us, 99th percentile {:.1} us, longest {:.1} us",
                at(50),
                at(99),
                micros(slowest)
            )?;
        }
        let (recorded, needless) = self.guards;
        writeln!(f, "  {recorded} guards recorded, of which {needless} follow from what was known before")?;
        let (before, kept) = self.final_guards;
        if before > 0 {
            writeln!(f, "  {before} guards at the end; {kept} say the same")?;
        }
        let (errors, avoided) = self.errors;
        if errors > 0 {
            writeln!(
                f,
                "  {errors} data-dependent errors, of which {avoided} need not be: the facts answer"
            )?;
        }
        list(f, "Guards that need not be recorded", &self.needless, needless)?;
        list(f, "Errors that need not be", &self.avoided, avoided)?;
        let slow: Vec<Entry> = self.slow.iter().map(|(_, entry)| entry.clone()).collect();
        list(f, "Slow questions", &slow, slow.len())
    }
}
