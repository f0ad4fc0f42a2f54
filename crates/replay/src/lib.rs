//! Replays what torch asked its `ShapeEnv` while it exported or compiled a program.
//!
//! A trace is a recording, one event a line: symbols with their ranges, guards, runtime assertions, and questions. The
//! replay keeps the same facts, adds each when it happened, and answers every question from the facts before it. So it
//! shows which guards were needless, and which data-dependent errors could have been avoided.
mod environment;
mod event;
mod summary;

pub use environment::Settings;
pub use event::TraceError;
pub use sizewise_solve::Means;
pub use summary::Summary;

use environment::ReplayEnv;
use event::{Event, Events, Question};
use indexmap::IndexMap;
use serde_json::{Value as Json, json};
use sizewise_ir::{Asked, AskedBy, Provenance, Traced};
use std::io::BufRead;
use std::ops::ControlFlow;

/// The most environments of one trace.
const MAX_ENVIRONMENTS: usize = 10_000;

/// The most conditions of one trace whose lines are kept.
const MAX_ASKED: usize = 4096;

/// The conditions on inputs that a trace recorded, plain or gzipped, with the lines that asked for them, of each
/// environment.
///
/// # Errors
/// When the file cannot be read or is no trace, with the line.
pub fn asked(input: impl BufRead) -> Result<Vec<Traced>, TraceError> {
    let mut events = Events::open(input)?;
    let mut found: IndexMap<u64, Traced> = IndexMap::new();
    let mut count = 0;
    while let Some(line) = events.json()? {
        let text = |key: &str| line[key].as_str();
        let read = |condition: &str, trace: &str, by: &str| {
            let provenance = Provenance { stack_trace: Some(trace.into()), ..Provenance::default() };
            Some(Asked { condition: condition.into(), provenance, by: AskedBy::from_name(by)? })
        };
        let env = line["env"].as_u64().unwrap_or(0);
        if line["e"] == "symbol"
            && count < MAX_ASKED
            && let (Some(source), Some(size)) = (text("source"), line["hint"].as_i64())
        {
            found.entry(env).or_default().sizes.push((source.into(), size));
            count += 1;
        }
        if line["e"] == "asked"
            && count < MAX_ASKED
            && let (Some(condition), Some(trace), Some(by)) =
                (text("condition"), text("stack_trace"), text("cause"))
        {
            found.entry(env).or_default().asked.extend(read(condition, trace, by));
            count += 1;
        }
    }
    Ok(found.into_values().filter(|traced| !traced.asked.is_empty()).collect())
}

/// Replays a trace, plain or gzipped; `answer` takes the answer to each question as it is found, and may end the
/// replay.
///
/// A question is answered by `{"env", "i", "answer": true, false or null, "time_ns"}`: what follows from the facts, or
/// `null` where neither does. The final guards of an environment are answered by `{"env", "i", "guards": […]}`: an
/// equivalent set without redundant members.
///
/// # Errors
/// When the file cannot be read or is no trace, with the line.
pub fn replay(
    input: impl BufRead,
    settings: &Settings,
    answer: &mut dyn FnMut(&Json) -> ControlFlow<()>,
) -> Result<Summary, TraceError> {
    let mut events = Events::open(input)?;
    let mut environments: IndexMap<u64, ReplayEnv> = IndexMap::new();
    let mut summary = Summary::new(events.program());
    while let Some((number, event)) = events.next()? {
        if let Event::Ended { error } = event {
            summary.ended(error);
            continue;
        }
        if !environments.contains_key(&number.env) && environments.len() >= MAX_ENVIRONMENTS {
            return Err(events.wrong(&format!("more than {MAX_ENVIRONMENTS} environments")));
        }
        let environment = environments.entry(number.env).or_insert_with(|| ReplayEnv::new(settings));
        let reply = match event {
            Event::Ended { .. } => continue,
            Event::Fact(fact) => {
                environment.learn(&fact);
                continue;
            }
            Event::Question(question) => {
                let answered = environment.ask(&question);
                summary.asked(&question, &answered);
                if settings.explains {
                    summary.explain(&question, &answered, environment);
                }
                environment.record(&question);
                json!({"env": number.env, "i": number.i, "answer": answered.answer,
                    "time_ns": u64::try_from(answered.time.as_nanos()).unwrap_or(u64::MAX)})
            }
            Event::Guards(guards) => {
                let kept = environment.minimal(&guards);
                summary.guards(guards.recorded.len(), kept.len());
                json!({"env": number.env, "i": number.i, "guards": kept})
            }
        };
        if answer(&reply).is_break() {
            break;
        }
    }
    Ok(summary)
}

impl Question {
    /// Whether torch recorded a guard for want of an answer.
    fn is_guard(&self) -> bool {
        self.how == "guard"
    }

    /// Whether torch gave up, because the answer depends on data.
    fn is_error(&self) -> bool {
        self.how == "error"
    }
}
