//! Reading a spec in the form of Python.
use super::dims::{MAX_BITS, Value, added, dimension, multiplied};
use super::token::{Place, Token, tokens};
use crate::spec::SpecError;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_expr::Int;
use std::rc::Rc;

type Result<T> = std::result::Result<T, SpecError>;

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
pub(in crate::spec) fn read(text: &str) -> Result<Json> {
    let tokens = tokens(text)?;
    let mut reader =
        Reader { tokens: &tokens, at: 0, depth: 0, statements: 0, names: FxHashMap::default(), spec: None };
    let end = reader.statements()?;
    let missing = || {
        end.error(format!("expected `{SPEC} = ...`, or a dictionary, list or tuple that mirrors the inputs"))
    };
    let spec = reader.names.remove(SPEC).or(reader.spec).ok_or_else(missing)?;
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

struct Reader<'t> {
    tokens: &'t [(Token, Place)],
    at: usize,
    depth: usize,
    statements: usize,
    names: FxHashMap<String, Value>,
    /// The expression that stands as a statement of its own.
    spec: Option<Value>,
}

impl Reader<'_> {
    fn token(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn place(&self) -> Place {
        self.tokens[self.at].1
    }

    fn advance(&mut self) {
        // The last token is the end, which nothing goes beyond.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn is(&self, op: &str) -> bool {
        matches!(self.token(), Token::Op(found) if *found == op)
    }

    fn take(&mut self, op: &str) -> bool {
        let found = self.is(op);
        if found {
            self.advance();
        }
        found
    }

    fn require(&mut self, op: &str) -> Result<()> {
        if self.take(op) { Ok(()) } else { Err(self.expected(&format!("`{op}`"))) }
    }

    fn expected(&self, what: &str) -> SpecError {
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

    fn sum(&mut self) -> Result<Value> {
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
        let mut items: Vec<(String, Value)> = Vec::new();
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
            self.entry(&mut items, key, value, place)?;
            if !self.take(",") {
                break;
            }
        }
        self.require("}")?;
        Ok(Value::Dict(Rc::new(items)))
    }

    fn entry(&self, items: &mut Vec<(String, Value)>, key: String, value: Value, place: Place) -> Result<()> {
        if items.len() >= MAX_KEYS {
            return Err(place.error(format!("more than {MAX_KEYS} keys")));
        }
        if items.iter().any(|(known, _)| *known == key) {
            return Err(place.error(format!("the key `{key}` is given twice")));
        }
        items.push((key, value));
        Ok(())
    }

    /// What begins with a name: a constant, an assigned name, `Dim(...)`, `torch.export.Dim.AUTO`.
    fn named(&mut self, name: &str, place: Place) -> Result<Value> {
        if let Some(value) = self.names.get(name) {
            return Ok(value.clone());
        }
        let mut path = vec![name.to_owned()];
        while self.take(".") {
            let Token::Name(part) = self.token().clone() else { return Err(self.expected("a name")) };
            self.advance();
            path.push(part);
        }
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let known = match parts.as_slice() {
            ["torch", "export", rest @ ..] | ["export", rest @ ..] => rest,
            all => all,
        };
        match known {
            ["None"] => Ok(Value::None),
            ["Dim", word @ ("AUTO" | "DYNAMIC" | "STATIC")] => self.hint(word),
            ["Dim"] => self.dim(place),
            ["dims"] => self.dims(place),
            ["dict"] => self.dict(),
            _ => Err(place.error(format!(
                "`{}` is not assigned above; known are Dim, dims, dict and None",
                path.join(".")
            ))),
        }
    }

    /// `Dim.AUTO`, perhaps with `(min=2, max=64)`.
    fn hint(&mut self, word: &str) -> Result<Value> {
        let word = ["AUTO", "DYNAMIC", "STATIC"].into_iter().find(|known| *known == word).unwrap_or("AUTO");
        let (min, max) = if self.take("(") { self.ends()? } else { (None, None) };
        Ok(Value::Hint { word, min, max })
    }

    /// `Dim("batch", min=2, max=64)`, the name read before.
    fn dim(&mut self, place: Place) -> Result<Value> {
        self.require("(")?;
        let name = self.dim_name()?;
        let (min, max) = if self.take(",") {
            self.ends()?
        } else {
            self.require(")")?;
            (None, None)
        };
        let _ = place;
        Ok(dimension(name, min, max))
    }

    /// `dims("batch", "seq", min=2)`: several dimensions in one range.
    fn dims(&mut self, place: Place) -> Result<Value> {
        self.require("(")?;
        let mut names = Vec::new();
        let mut range = (None, None);
        loop {
            if let Token::Name(_) = self.token() {
                range = self.ends()?;
                break;
            }
            names.push(self.dim_name()?);
            if !self.take(",") {
                self.require(")")?;
                break;
            }
            if self.take(")") {
                break;
            }
        }
        if names.is_empty() {
            return Err(place.error("expected the names of dimensions: dims(\"batch\", \"seq\")"));
        }
        let (min, max) = range;
        let dimensions = names.into_iter().map(|name| dimension(name, min.clone(), max.clone()));
        Ok(Value::List(Rc::new(dimensions.collect())))
    }

    fn dim_name(&mut self) -> Result<String> {
        let Token::Text(name) = self.token().clone() else {
            return Err(self.expected("a dimension's name, such as \"batch\""));
        };
        self.advance();
        Ok(name)
    }

    /// `min=2, max=64)`, in any order.
    fn ends(&mut self) -> Result<(Option<Int>, Option<Int>)> {
        let mut ends: [Option<Option<Int>>; 2] = [None, None];
        while !self.is(")") {
            let place = self.place();
            let end = match self.token() {
                Token::Name(word) if word == "min" => 0,
                Token::Name(word) if word == "max" => 1,
                _ => return Err(self.expected("`min=` or `max=`")),
            };
            self.advance();
            self.require("=")?;
            let at = self.place();
            let value = match self.sum()? {
                Value::Int(value) => Some(value),
                Value::None => None,
                other => return Err(at.error(format!("expected an integer or None, found {}", other.kind()))),
            };
            if ends[end].replace(value).is_some() {
                return Err(place.error("the same end is given twice"));
            }
            if !self.take(",") {
                break;
            }
        }
        self.require(")")?;
        let [min, max] = ends;
        Ok((min.flatten(), max.flatten()))
    }

    /// `dict(x=..., y=...)`.
    fn dict(&mut self) -> Result<Value> {
        self.require("(")?;
        let mut items: Vec<(String, Value)> = Vec::new();
        while !self.is(")") {
            let place = self.place();
            let Token::Name(key) = self.token().clone() else { return Err(self.expected("`name=value`")) };
            self.advance();
            self.require("=")?;
            let value = self.sum()?;
            self.entry(&mut items, key, value, place)?;
            if !self.take(",") {
                break;
            }
        }
        self.require(")")?;
        Ok(Value::Dict(Rc::new(items)))
    }
}
