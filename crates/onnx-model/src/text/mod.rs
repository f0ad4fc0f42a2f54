//! ONNX's text form, as `onnx.parser` reads it and `onnx.printer` writes it.
//!
//! A model is its fields in angle brackets, its graph, and its functions:
//!
//! ```text
//! <ir_version: 8, opset_import: ["" : 17]>
//! doubled (float[N, 4] x) => (float[N, 4] y) {
//!     y = Add(x, x)
//! }
//! ```
mod graph;
mod lexer;
mod literal;
mod print;
#[cfg(test)]
mod tests;
mod types;

pub use print::print;

use crate::read::message::ModelProto;
use lexer::{Lexer, Token};

/// Why a text is no model, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What was expected. No full stop at the end.
    pub message: String,
}

/// The greatest nesting of graphs and types.
const MAX_DEPTH: usize = 32;
/// The longest text.
const MAX_BYTES: usize = 256 << 20;

/// Whether a file looks like the text of a model: its fields in angle brackets come first, behind comments.
pub fn is_text(bytes: &[u8]) -> bool {
    let mut rest = bytes.trim_ascii_start();
    while rest.starts_with(b"#") {
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        rest = rest[end..].trim_ascii_start();
    }
    let head = &rest[..rest.len().min(1_024)];
    rest.starts_with(b"<") && head.windows(10).any(|word| word == b"ir_version" || word == b"opset_impo")
}

/// Reads the text of a model.
///
/// # Errors
/// When it is none, with the place.
pub fn parse(text: &str) -> Result<ModelProto, TextError> {
    if text.len() > MAX_BYTES {
        let message = format!("the text is longer than {MAX_BYTES} bytes");
        return Err(TextError { line: 1, column: 1, message });
    }
    let mut parser = Parser { lexer: Lexer::new(text)?, depth: 0 };
    let model = parser.model()?;
    match parser.token() {
        Token::End => Ok(model),
        other => Err(parser.expected("the end of the text", other)),
    }
}

type Parsed<T> = Result<T, TextError>;

/// Reads the parts of a model.
struct Parser<'t> {
    lexer: Lexer<'t>,
    depth: usize,
}

impl Parser<'_> {
    fn token(&self) -> &Token {
        &self.lexer.token
    }

    fn expected(&self, what: &str, got: &Token) -> TextError {
        self.lexer.error(format!("expected {what}, got {}", got.shown()))
    }

    fn is(&self, sign: char) -> bool {
        *self.token() == Token::Sign(sign)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.token(), Token::Name(found) if found == name)
    }

    /// Takes a sign, if it comes next.
    fn takes(&mut self, sign: char) -> Parsed<bool> {
        let found = self.is(sign);
        if found {
            self.lexer.advance()?;
        }
        Ok(found)
    }

    fn sign(&mut self, sign: char) -> Parsed<()> {
        if self.takes(sign)? { Ok(()) } else { Err(self.expected(&format!("`{sign}`"), self.token())) }
    }

    fn arrow(&mut self) -> Parsed<()> {
        if *self.token() != Token::Arrow {
            return Err(self.expected("`=>`", self.token()));
        }
        self.lexer.advance().map(drop)
    }

    /// A name, in quotes if it is no identifier.
    fn name(&mut self, what: &str) -> Parsed<String> {
        match self.optional_name()? {
            Some(name) => Ok(name),
            None => Err(self.expected(what, self.token())),
        }
    }

    /// A name, if one comes next.
    fn optional_name(&mut self) -> Parsed<Option<String>> {
        if !matches!(self.token(), Token::Name(_) | Token::Text(_)) {
            return Ok(None);
        }
        match self.lexer.advance()? {
            Token::Name(name) | Token::Text(name) => Ok(Some(name)),
            _ => Ok(None),
        }
    }

    fn text(&mut self, what: &str) -> Parsed<String> {
        if !matches!(self.token(), Token::Text(_)) {
            return Err(self.expected(what, self.token()));
        }
        self.name(what)
    }

    fn int(&mut self, what: &str) -> Parsed<i64> {
        let Token::Int(value) = *self.token() else { return Err(self.expected(what, self.token())) };
        let value = i64::try_from(value).map_err(|_| self.lexer.error("this integer is too large"))?;
        self.lexer.advance()?;
        Ok(value)
    }

    /// Items between commas up to a sign, which is taken.
    fn list<T>(&mut self, end: char, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.takes(end)? {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(end)? {
                return Ok(items);
            }
            self.sign(',')?;
        }
    }

    /// Reads something one level further down.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.lexer.error(format!("this is nested more than {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}
