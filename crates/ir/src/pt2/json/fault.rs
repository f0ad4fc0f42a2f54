//! What is wrong with a document, and where: the place and the path are found from where the reader stopped.

use std::fmt;

use serde::de::{Error, Expected, IgnoredAny, Unexpected};

use super::UNKNOWN_TAG;
use super::escaped::decoded;
use crate::error::{Place, ReadError, ReadErrorKind};

/// What is wrong with a document. It is boxed so that results stay small.
#[derive(Debug)]
pub(in crate::pt2) struct Fault(Box<Wrong>);

#[derive(Debug)]
enum Wrong {
    /// The text is not JSON.
    NoJson,
    TooDeep,
    /// The last key or value that was begun is wrong.
    Value(String),
    /// The object or list that ends here is wrong as a whole.
    Whole(String),
}

impl Fault {
    #[cold]
    pub(super) fn no_json() -> Fault {
        Fault(Box::new(Wrong::NoJson))
    }

    #[cold]
    pub(super) fn too_deep() -> Fault {
        Fault(Box::new(Wrong::TooDeep))
    }

    /// The error for a document, of which the reader stopped at this byte.
    pub(super) fn error(self, text: &str, stopped: usize) -> ReadError {
        let mut walk = Walk::new(text);
        walk.go_to(stopped);
        if matches!(*self.0, Wrong::Whole(_)) {
            walk.leave();
        }
        let json_path = Some(walk.path(true)).filter(|path| !path.is_empty());
        let mut line_column = line_column(text, walk.begun);
        let (kind, message) = match *self.0 {
            Wrong::TooDeep => {
                let message = "nested too deeply; programs nest at most 127 objects and lists";
                (ReadErrorKind::LimitExceeded, message.to_owned())
            }
            Wrong::Value(message) | Wrong::Whole(message) if message.starts_with(UNKNOWN_TAG) => {
                (ReadErrorKind::UnknownTag, message)
            }
            Wrong::Value(message) | Wrong::Whole(message) => (ReadErrorKind::Schema, message),
            // serde_json says why.
            Wrong::NoJson => {
                let mut message = "not JSON".to_owned();
                if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
                    line_column = (error.line(), error.column());
                    let error = error.to_string();
                    let why = error.rsplit_once(" at line ").map_or(&*error, |(why, _)| why);
                    message = format!("{message}: {why}");
                }
                (ReadErrorKind::Syntax, message)
            }
        };
        let place = Place { json_path, line_column: Some(line_column), ..Place::default() };
        ReadError { kind, place: Box::new(place), message }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Wrong::NoJson => f.write_str("not JSON"),
            Wrong::TooDeep => f.write_str("nested too deeply"),
            Wrong::Value(message) | Wrong::Whole(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Fault {
        Fault(Box::new(Wrong::Value(message.to_string())))
    }

    #[cold]
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        match found {
            Unexpected::Unit => Fault::custom(format!("invalid type: null, expected {expected}")),
            _ => Fault::custom(format!("invalid type: {found}, expected {expected}")),
        }
    }

    #[cold]
    fn invalid_length(length: usize, expected: &dyn Expected) -> Fault {
        Fault(Box::new(Wrong::Whole(format!("invalid length {length}, expected {expected}"))))
    }

    #[cold]
    fn missing_field(field: &'static str) -> Fault {
        Fault(Box::new(Wrong::Whole(format!("missing field `{field}`"))))
    }
}

/// Line and column of a byte, from 1. Columns are counted in bytes, as serde_json does.
fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
    (line, column)
}

/// Goes through a document, as far as it is JSON, to say by which path something is reached.
pub(super) struct Walk<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Level<'a>>,
    /// Where the last key or value begins that was met.
    begun: usize,
}

/// An object or a list that has begun and not ended.
struct Level<'a> {
    begun: usize,
    list: bool,
    /// The elements of a list that have begun.
    elements: usize,
    /// The last key of an object, as it is written.
    key: &'a str,
    /// Whether its value follows.
    colon: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(text: &'a str) -> Walk<'a> {
        Walk { text, at: 0, open: Vec::new(), begun: 0 }
    }

    /// Goes on to this byte.
    pub(super) fn go_to(&mut self, stop: usize) {
        let bytes = self.text.as_bytes();
        while self.at < stop.min(bytes.len()) {
            let start = self.at;
            self.at += 1;
            match bytes[start] {
                b' ' | b'\n' | b'\r' | b'\t' => {}
                b',' | b':' => {
                    if let Some(level) = self.open.last_mut() {
                        level.colon = bytes[start] == b':';
                    }
                }
                b'}' | b']' => self.leave(),
                bracket @ (b'{' | b'[') => {
                    self.begin(start);
                    let list = bracket == b'[';
                    self.open.push(Level { begun: start, list, elements: 0, key: "", colon: false });
                }
                b'"' => {
                    while let Some(&byte) = bytes.get(self.at).filter(|&&byte| byte != b'"') {
                        self.at += if byte == b'\\' { 2 } else { 1 };
                    }
                    self.begin(start);
                    if let Some(level) = self.open.last_mut().filter(|level| !level.colon) {
                        level.key = self.text.get(start + 1..self.at).unwrap_or_default();
                    }
                    self.at += 1;
                }
                _ => {
                    let end = |byte: &u8| b" \n\r\t,:[]{}\"".contains(byte);
                    self.at += bytes[self.at..].iter().position(end).unwrap_or(bytes.len() - self.at);
                    self.begin(start);
                }
            }
        }
    }

    /// A key or a value begins.
    fn begin(&mut self, at: usize) {
        self.begun = at;
        if let Some(level) = self.open.last_mut() {
            level.elements += 1;
        }
    }

    /// Goes back to the beginning of the innermost object or list.
    fn leave(&mut self) {
        if let Some(level) = self.open.pop() {
            self.begun = level.begun;
        }
    }

    /// The path to what was met last, such as `graph.nodes[3].target`; without `indices` it is `graph.nodes[].target`.
    pub(super) fn path(&self, indices: bool) -> String {
        let mut path = String::new();
        for level in &self.open {
            match level.elements.checked_sub(1) {
                Some(index) if level.list && indices => path.push_str(&format!("[{index}]")),
                Some(_) if level.list => path.push_str("[]"),
                Some(_) if level.colon => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&decoded(level.key).unwrap_or_else(|| level.key.to_owned()));
                }
                _ => {}
            }
        }
        path
    }
}
