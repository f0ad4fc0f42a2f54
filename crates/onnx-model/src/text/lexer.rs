//! The tokens of ONNX's text form.
use super::TextError;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name.
    Name(String),
    /// A text in quotes, unescaped.
    Text(String),
    /// An integer.
    Int(i128),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A sign; `=>` is `'>'` behind `'='` and has a token of its own.
    Sign(char),
    /// `=>`.
    Arrow,
    /// The end of the text.
    End,
}

impl Token {
    /// What messages call it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Name(name) => format!("`{name}`"),
            Token::Text(text) => format!("the text {text:?}"),
            Token::Int(value) => format!("`{value}`"),
            Token::Float(value) => format!("`{value}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Arrow => "`=>`".to_owned(),
            Token::End => "the end".to_owned(),
        }
    }
}

/// Reads tokens, with one token of lookahead.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// Where the token at hand begins.
    start: usize,
    /// The token at hand.
    pub(super) token: Token,
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Result<Lexer<'t>, TextError> {
        let mut lexer = Lexer { text, at: 0, start: 0, token: Token::End };
        lexer.advance()?;
        Ok(lexer)
    }

    /// An error at the token at hand.
    pub(super) fn error(&self, message: impl Into<String>) -> TextError {
        let before = &self.text[..self.start];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        TextError { line, column, message: message.into() }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Takes the token at hand and reads the next one.
    pub(super) fn advance(&mut self) -> Result<Token, TextError> {
        self.skip_blanks();
        self.start = self.at;
        let rest = self.rest();
        let mut chars = rest.chars();
        let next = match chars.next() {
            None => Token::End,
            Some('"') => Token::Text(self.quoted()?),
            Some(c) if starts_name(c) => {
                let length = rest.find(|c: char| !starts_name(c) && !c.is_ascii_digit());
                self.at += length.unwrap_or(rest.len());
                Token::Name(self.text[self.start..self.at].to_owned())
            }
            Some(c) if c.is_ascii_digit() || "+-.".contains(c) => self.number()?,
            Some('=') if chars.next() == Some('>') => {
                self.at += 2;
                Token::Arrow
            }
            Some(c) => {
                self.at += c.len_utf8();
                Token::Sign(c)
            }
        };
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// A text in quotes, in which a backslash stands before what is meant as it is.
    fn quoted(&mut self) -> Result<String, TextError> {
        let mut found = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(found);
                }
                '\\' => found.extend(chars.next().map(|(_, c)| c)),
                c => found.push(c),
            }
        }
        Err(self.error("this text in quotes does not end"))
    }

    fn number(&mut self) -> Result<Token, TextError> {
        let rest = self.rest();
        let signed = usize::from(rest.starts_with(['+', '-']));
        let unsigned = &rest[signed..];
        if unsigned.starts_with(starts_name) {
            // `-inf` and `-nan`.
            let length = unsigned.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(unsigned.len());
            self.at += signed + length;
            return self.float();
        }
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut length = digits(unsigned);
        let mut is_float = false;
        if unsigned[length..].starts_with('.') {
            is_float = true;
            length += 1 + digits(&unsigned[length + 1..]);
        }
        // A dot alone stands between a domain and an operator, which may begin with an E.
        if unsigned[..length] != *"." && unsigned[length..].starts_with(['e', 'E']) {
            let exponent = &unsigned[length + 1..];
            let sign = usize::from(exponent.starts_with(['+', '-']));
            is_float = true;
            length += 1 + sign + digits(&exponent[sign..]);
        }
        if length == 0 {
            // A sign by itself: a dot between a domain and an operator.
            self.at += 1;
            return Ok(Token::Sign(rest.chars().next().unwrap_or('.')));
        }
        if unsigned[..length] == *"." {
            self.at += signed + 1;
            return Ok(Token::Sign('.'));
        }
        self.at += signed + length;
        if is_float {
            return self.float();
        }
        let text = &self.text[self.start..self.at];
        text.parse().map(Token::Int).map_err(|_| self.error("this integer is too large"))
    }

    fn float(&self) -> Result<Token, TextError> {
        let text = &self.text[self.start..self.at];
        text.parse().map(Token::Float).map_err(|_| self.error("expected a number"))
    }
}
