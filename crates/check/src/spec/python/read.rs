//! Reading a spec in the form of Python.
use super::dims::{MAX_BITS, Value, added, multiplied};
use super::token::{Place, Token, Wrong, tokens};
use crate::spec::SpecError;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_expr::Int;
use sizewise_expr::escape::excerpt;
use sizewise_ir::keys;
use std::rc::Rc;

pub(super) type Result<T> = std::result::Result<T, Wrong>;

/// Brackets nest at most this deep.
const MAX_DEPTH: usize = 64;
/// A spec has at most this many entries, names written out.
const MAX_ENTRIES: usize = 200_000;
/// A text has at most this many assignments and expressions, and a dictionary this many keys.
const MAX_STATEMENTS: usize = 1_000;
const MAX_KEYS: usize = 10_000;
/// The name that a spec is assigned to.
const SPEC: &str = "dynamic_shapes";

/// Reads a spec.
///
/// # Errors
/// The first place that is no such text, and what was expected there.
pub(in crate::spec) fn read(text: &str) -> std::result::Result<Json, SpecError> {
    read_tokens(text).map_err(|Wrong { place: Place { line, column }, message }| SpecError {
        path: format!("line {line}, column {column}"),
        message,
        excerpt: excerpt(text, line, column),
    })
}

fn read_tokens(text: &str) -> Result<Json> {
    let tokens = tokens(text)?;
    let mut reader =
        Reader { tokens: &tokens, at: 0, depth: 0, statements: 0, names: FxHashMap::default(), spec: None };
    let end = reader.statements()?;
    let Some(spec) = reader.names.remove(SPEC).or(reader.spec) else {
        let near = keys::similar(SPEC, reader.names.keys().map(String::as_str));
        let near = near.map(|near| format!("; `{near}` is assigned")).unwrap_or_default();
        let message = "or a dictionary, list or tuple that mirrors the inputs";
        return Err(end.error(format!("expected `{SPEC} = ...`, {message}{near}")));
    };
    if spec.size(MAX_ENTRIES + 1) > MAX_ENTRIES {
        return Err(end.error(format!("the spec has more than {MAX_ENTRIES} entries")));
    }
    match spec {
        Value::List(_) | Value::Dict(_) | Value::None => Ok(spec.to_json()),
        other => Err(end.error(format!(
            "expected a dictionary, list or tuple that mirrors the inputs, found {}",
            other.kind()
        ))),
    }
}

pub(super) struct Reader<'t> {
    tokens: &'t [(Token, Place)],
    at: usize,
    depth: usize,
    statements: usize,
    pub(super) names: FxHashMap<String, Value>,
    /// The expression that stands as a statement of its own.
    spec: Option<Value>,
}

impl Reader<'_> {
    pub(super) fn token(&self) -> &Token {
        &self.tokens[self.at].0
    }

    pub(super) fn place(&self) -> Place {
        self.tokens[self.at].1
    }

    pub(super) fn advance(&mut self) {
        // The last token is the end, which nothing goes beyond.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn is(&self, op: &str) -> bool {
        matches!(self.token(), Token::Op(found) if *found == op)
    }

    pub(super) fn take(&mut self, op: &str) -> bool {
        let found = self.is(op);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn require(&mut self, op: &str) -> Result<()> {
        if self.take(op) { Ok(()) } else { Err(self.expected(&format!("`{op}`"))) }
    }

    pub(super) fn expected(&self, what: &str) -> Wrong {
        self.place().error(format!("expected {what}, found {}", self.token().shown()))
    }

    /// Reads all statements and returns where the text ends.
    fn statements(&mut self) -> Result<Place> {
        loop {
            match self.token() {
                Token::End => return Ok(self.place()),
                Token::Newline => self.advance(),
                Token::Name(word) if word == "import" || word == "from" => self.skip_import(),
                _ => self.statement()?,
            }
        }
    }

    /// What is imported has a meaning of its own here: `Dim` is the one of torch.export.
    fn skip_import(&mut self) {
        while !matches!(self.token(), Token::Newline | Token::End) {
            self.advance();
        }
    }

    /// An assignment or an expression.
    fn statement(&mut self) -> Result<()> {
        let start = self.place();
        self.statements += 1;
        if self.statements > MAX_STATEMENTS {
            return Err(start.error(format!("more than {MAX_STATEMENTS} statements")));
        }
        let names = self.targets();
        let value = self.value()?;
        // A name may stand for something as deep as the text nests.
        if value.size(MAX_ENTRIES + 1) > MAX_ENTRIES {
            return Err(start.error(format!("the spec has more than {MAX_ENTRIES} entries")));
        }
        if value.depth() > MAX_DEPTH {
            return Err(start.error(format!("nested more than {MAX_DEPTH} deep")));
        }
        match names {
            Some(names) if names.len() == 1 => {
                self.names.insert(names[0].clone(), value);
            }
            Some(names) => {
                let items = match &value {
                    Value::List(items) if items.len() == names.len() => items,
                    other => {
                        let message = format!("{} names for {}", names.len(), other.kind());
                        return Err(start.error(message));
                    }
                };
                self.names.extend(names.into_iter().zip(items.iter().cloned()));
            }
            None if self.spec.is_some() => {
                return Err(start.error("a second expression; the text has one spec"));
            }
            None => self.spec = Some(value),
        }
        match self.token() {
            Token::Newline | Token::End => Ok(()),
            Token::Name(_) => {
                Err(self.expected("the end of the line; the text is parsed and not run, so it"))
            }
            _ => Err(self.expected("the end of the line")),
        }
    }

    /// The names of `a, b = ...`, with the `=`; nothing is taken where no assignment begins.
    fn targets(&mut self) -> Option<Vec<String>> {
        let start = self.at;
        let mut names = Vec::new();
        while let Token::Name(name) = self.token() {
            names.push(name.clone());
            self.advance();
            if self.take("=") {
                return Some(names);
            }
            if !self.take(",") {
                break;
            }
        }
        self.at = start;
        None
    }

    /// An expression, or several with commas between: a tuple.
    fn value(&mut self) -> Result<Value> {
        let first = self.sum()?;
        if !self.is(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take(",") {
            if matches!(self.token(), Token::Newline | Token::End) {
                break;
            }
            items.push(self.sum()?);
        }
        Ok(Value::List(Rc::new(items)))
    }

    pub(super) fn sum(&mut self) -> Result<Value> {
        if self.depth >= MAX_DEPTH {
            return Err(self.place().error(format!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let mut left = self.product()?;
        loop {
            let place = self.place();
            left = if self.take("+") {
                let right = self.product()?;
                added(left, right, false, place)?
            } else if self.take("-") {
                let right = self.product()?;
                added(left, right, true, place)?
            } else {
                self.depth -= 1;
                return Ok(left);
            };
        }
    }

    fn product(&mut self) -> Result<Value> {
        let mut left = self.signed()?;
        loop {
            let place = self.place();
            if !self.take("*") {
                return Ok(left);
            }
            let right = self.signed()?;
            left = multiplied(left, right, place)?;
        }
    }

    /// An operand with its sign, and its power.
    fn signed(&mut self) -> Result<Value> {
        let place = self.place();
        if self.take("-") {
            let value = self.atom()?;
            return multiplied(Value::Int(Int::from(-1)), value, place);
        }
        let base = self.atom()?;
        let place = self.place();
        if !self.take("**") {
            return Ok(base);
        }
        match (base, self.atom()?) {
            (Value::Int(base), Value::Int(exponent)) => {
                let exponent = exponent.to_i64().and_then(|e| u32::try_from(e).ok());
                let power = exponent.and_then(|exponent| base.pow(exponent, MAX_BITS));
                power.map(Value::Int).ok_or_else(|| place.error("the number is too large for a size"))
            }
            (base, _) => {
                Err(place.error(format!("a power of {}; only integers have powers here", base.kind())))
            }
        }
    }

    fn atom(&mut self) -> Result<Value> {
        let place = self.place();
        let token = self.token().clone();
        match token {
            Token::Int(value) => {
                self.advance();
                Ok(Value::Int(value))
            }
            Token::Text(text) => {
                self.advance();
                Ok(Value::Text(text.into()))
            }
            Token::Op("(") => {
                self.advance();
                self.items(")", true)
            }
            Token::Op("[") => {
                self.advance();
                self.items("]", false)
            }
            Token::Op("{") => {
                self.advance();
                self.dictionary()
            }
            Token::Name(name) => {
                self.advance();
                self.named(&name, place)
            }
            _ => Err(self.expected("a value")),
        }
    }

    /// What stands in brackets, of which the first is taken: a list or tuple, or the one value of `(value)`.
    fn items(&mut self, close: &str, round: bool) -> Result<Value> {
        let mut items = Vec::new();
        let mut commas = false;
        while !self.is(close) {
            items.push(self.sum()?);
            if let Token::Name(word) = self.token()
                && word == "for"
            {
                return Err(self.place().error("the text is parsed and not run: write the list out"));
            }
            if !self.take(",") {
                break;
            }
            commas = true;
        }
        self.require(close)?;
        match items.pop() {
            Some(only) if round && !commas => Ok(only),
            Some(last) => {
                items.push(last);
                Ok(Value::List(Rc::new(items)))
            }
            None => Ok(Value::List(Rc::new(items))),
        }
    }

    fn dictionary(&mut self) -> Result<Value> {
        let mut items = Entries::default();
        while !self.is("}") {
            let place = self.place();
            let key = match self.sum()? {
                Value::Text(text) => text.to_string(),
                Value::Int(index) => index.to_string(),
                other => {
                    return Err(place.error(format!(
                        "expected a parameter's name or a dimension's number, found {}",
                        other.kind()
                    )));
                }
            };
            self.require(":")?;
            let value = self.sum()?;
            items.add(key, value, place)?;
            if !self.take(",") {
                break;
            }
        }
        self.require("}")?;
        Ok(items.dictionary())
    }
}

/// The entries of a dictionary, with the places of their keys.
#[derive(Default)]
pub(super) struct Entries {
    items: Vec<(String, Value)>,
    places: FxHashMap<String, Place>,
}

impl Entries {
    /// Adds an entry whose key stands at `place`.
    pub(super) fn add(&mut self, key: String, value: Value, place: Place) -> Result<()> {
        if self.items.len() >= MAX_KEYS {
            return Err(place.error(format!("more than {MAX_KEYS} keys")));
        }
        if let Some(first) = self.places.insert(key.clone(), place) {
            let (line, column) = (first.line, first.column);
            return Err(
                place.error(format!("the key `{key}` is given twice; first in line {line}, column {column}"))
            );
        }
        self.items.push((key, value));
        Ok(())
    }

    /// The dictionary.
    pub(super) fn dictionary(self) -> Value {
        Value::Dict(Rc::new(self.items))
    }
}
