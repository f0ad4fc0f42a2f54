//! Reading traces: lines of JSON, each an event.
use flate2::bufread::MultiGzDecoder;
use serde_json::Value as Json;
use std::io::{self, BufRead, BufReader, Read};

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 64 << 20;

/// What gzipped files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TraceError {
    /// The line of the trace, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
}

/// Where an event stands: its environment and its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub env: u64,
    pub i: i64,
}

/// What happened.
#[derive(Debug)]
pub(super) enum Event {
    Fact(Fact),
    Question(Question),
    Guards(Guards),
    /// The end of the program, with the error it ended in.
    Ended {
        error: Option<String>,
    },
}

/// Something that is known from now on.
#[derive(Debug)]
pub(super) enum Fact {
    /// A symbol with its range and the size in the example.
    Symbol { name: String, range: Range, hint: Option<Hint> },
    /// An equality of a symbol and an expression.
    Equal { symbol: String, to: String },
}

/// The value of a symbol in the example.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hint {
    Int(i64),
    Float(f64),
}

/// The least and the greatest value, where there are such.
pub(super) type Range = (Option<i64>, Option<i64>);

/// A condition that torch asked for.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub expr: String,
    /// How torch settled it: `static`, `guard`, `deferred`, `error`, …
    pub how: String,
    /// What torch recorded for it, which is known afterwards.
    pub recorded: Option<String>,
    /// The line of the user's code.
    pub at: Option<String>,
}

/// The guards of an environment at its end.
#[derive(Debug)]
pub(super) struct Guards {
    pub recorded: Vec<String>,
    pub ranges: Vec<(String, Range)>,
}

/// The events of a trace.
pub(super) struct Events<'r> {
    input: Box<dyn BufRead + 'r>,
    line: u64,
    program: String,
}

impl<'r> Events<'r> {
    /// Reads the first line, which names the program.
    pub fn open(mut input: impl BufRead + 'r) -> Result<Events<'r>, TraceError> {
        let first = |message: String| TraceError { line: 1, message };
        let begins = input.fill_buf().map_err(|error| first(error.to_string()))?;
        let zipped = begins.starts_with(&GZIP);
        let input: Box<dyn BufRead + 'r> =
            if zipped { Box::new(BufReader::new(MultiGzDecoder::new(input))) } else { Box::new(input) };
        let mut events = Events { input, line: 0, program: String::new() };
        let expected =
            "expected a ShapeEnv trace, whose first line is {\"e\": \"program\", \"format\": 1, …}";
        let Some(head) = events.json()? else { return Err(first(format!("an empty file; {expected}"))) };
        if head["e"] != "program" {
            return Err(first(expected.to_owned()));
        }
        if head["format"] != 1 {
            return Err(first(format!("format {} of traces is not known; expected 1", head["format"])));
        }
        let text = |key: &str| head[key].as_str().unwrap_or("?").to_owned();
        events.program = format!("{} ({}, torch {})", text("program"), text("mode"), text("torch"));
        Ok(events)
    }

    /// The program, how it was traced, and the version of torch.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The next event that matters here.
    pub fn next(&mut self) -> Result<Option<(Number, Event)>, TraceError> {
        while let Some(line) = self.json()? {
            let Some(kind) = line["e"].as_str() else {
                return Err(self.wrong("an event without its kind, `e`"));
            };
            let number =
                Number { env: line["env"].as_u64().unwrap_or(0), i: line["i"].as_i64().unwrap_or(-1) };
            if let Some(event) = event(kind, &line) {
                return Ok(Some((number, event)));
            }
        }
        Ok(None)
    }

    /// An error at the line read last.
    pub fn wrong(&self, message: &str) -> TraceError {
        TraceError { line: self.line, message: message.to_owned() }
    }

    /// A failure of reading at the line read last.
    fn unreadable(&self, error: &io::Error) -> TraceError {
        self.wrong(&error.to_string())
    }

    /// The next line that is not blank.
    pub fn json(&mut self) -> Result<Option<Json>, TraceError> {
        loop {
            self.line += 1;
            let mut text = Vec::new();
            let read = self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut text);
            match read {
                Err(error) => return Err(self.unreadable(&error)),
                Ok(0) => return Ok(None),
                Ok(length) if length as u64 == MAX_LINE => {
                    return Err(self.wrong(&format!("longer than {MAX_LINE} bytes")));
                }
                Ok(_) if text.trim_ascii().is_empty() => {}
                Ok(_) => {
                    let line: Json = serde_json::from_slice(&text).map_err(|error| {
                        self.wrong(&format!(
                            "not JSON at column {}: the trace is damaged or cut off",
                            error.column()
                        ))
                    })?;
                    return if line.is_object() {
                        Ok(Some(line))
                    } else {
                        Err(self.wrong("not a JSON object"))
                    };
                }
            }
        }
    }
}

/// An event by its kind; none where it says nothing that the replay needs.
fn event(kind: &str, line: &Json) -> Option<Event> {
    let text = |key: &str| line[key].as_str().map(str::to_owned);
    Some(match kind {
        "symbol" | "unbacked" | "range" => {
            let (name, range) = (text("symbol")?, range(&line["range"])?);
            let hint = &line["hint"];
            let hint = hint.as_i64().map(Hint::Int).or_else(|| hint.as_f64().map(Hint::Float));
            Event::Fact(Fact::Symbol { name, range, hint })
        }
        "replace" => Event::Fact(Fact::Equal { symbol: text("symbol")?, to: text("to")? }),
        "eval" | "assert" | "static" => {
            let (expr, how) = (text("expr")?, text("how").unwrap_or_else(|| kind.to_owned()));
            let deferred = match line["result"].as_bool() {
                Some(false) => format!("Not({expr})"),
                _ => expr.clone(),
            };
            let recorded = match how.as_str() {
                "guard" => Some(text("guard").unwrap_or(deferred)),
                "deferred" => Some(deferred),
                _ => None,
            };
            Event::Question(Question { expr, how, recorded, at: text("at") })
        }
        "guards" => {
            let recorded = line["recorded"].as_array()?.iter().filter_map(|g| g.as_str().map(str::to_owned));
            let ranges = line["ranges"].as_object().into_iter().flatten();
            let ranges = ranges.filter_map(|(name, bounds)| Some((name.clone(), range(bounds)?)));
            Event::Guards(Guards { recorded: recorded.collect(), ranges: ranges.collect() })
        }
        "end" => Event::Ended { error: line["error"][1].as_str().map(str::to_owned) },
        _ => return None,
    })
}

/// `[min, max]`, of which either may be `null`. A bound that is no integer of 64 bits is none.
fn range(bounds: &Json) -> Option<Range> {
    let [min, max] = bounds.as_array()?.as_slice() else { return None };
    Some((min.as_i64(), max.as_i64()))
}
