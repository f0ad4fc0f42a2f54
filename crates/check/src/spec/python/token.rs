//! The tokens of Python that a spec is made of.
use sizewise_expr::Int;

/// One token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// An identifier or a keyword.
    Name(String),
    /// An integer.
    Int(Int),
    /// A string.
    Text(String),
    /// An operator or a bracket: `(`, `**`.
    Op(&'static str),
    /// The end of a statement.
    Newline,
    /// The end of the text.
    End,
}

impl Token {
    /// The token as a message names it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Name(name) => format!("`{}`", clipped(name)),
            Token::Int(value) => format!("`{}`", clipped(&value.to_string())),
            Token::Text(text) => format!("the string \"{}\"", clipped(text)),
            Token::Op(op) => format!("`{op}`"),
            Token::Newline => "the end of the line".to_owned(),
            Token::End => "the end".to_owned(),
        }
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Where a token begins: line and column, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub line: usize,
    pub column: usize,
}

/// What is wrong with a text, and where.
#[derive(Debug)]
pub(super) struct Wrong {
    pub place: Place,
    pub message: String,
}

impl Place {
    /// What is wrong here.
    pub(super) fn error(self, message: impl Into<String>) -> Wrong {
        Wrong { place: self, message: message.into() }
    }
}

/// The operators, longer ones first.
const OPERATORS: [&str; 19] =
    ["**", "//", "==", "->", ":=", "(", ")", "[", "]", "{", "}", ",", ":", "=", ".", "+", "-", "*", ";"];
/// The most digits of an integer.
const MAX_DIGITS: usize = 40;

/// Splits a text into tokens. Lines within brackets are joined, as Python joins them.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Place)>, Wrong> {
    let mut scan = Scan { rest: text, place: Place { line: 1, column: 1 }, depth: 0, found: Vec::new() };
    while let Some(c) = scan.rest.chars().next() {
        let place = scan.place;
        match c {
            '\n' => {
                scan.skip(1);
                scan.end_line(place);
            }
            c if c.is_whitespace() || c == '\u{feff}' => scan.skip(c.len_utf8()),
            '\\' if scan.rest[1..].trim_start_matches([' ', '\t', '\r']).starts_with('\n') => {
                let length = scan.rest.find('\n').map_or(1, |at| at + 1);
                scan.skip(length);
            }
            '#' => {
                let length = scan.rest.find('\n').unwrap_or(scan.rest.len());
                scan.skip(length);
            }
            '"' | '\'' => scan.string(c)?,
            c if c.is_ascii_digit() => scan.integer()?,
            c if c == '_' || c.is_alphabetic() => scan.name()?,
            _ => scan.operator()?,
        }
    }
    let place = scan.place;
    scan.depth = 0;
    scan.end_line(place);
    scan.found.push((Token::End, place));
    Ok(scan.found)
}

struct Scan<'t> {
    rest: &'t str,
    place: Place,
    /// How many brackets are open.
    depth: usize,
    found: Vec<(Token, Place)>,
}

impl Scan<'_> {
    fn skip(&mut self, bytes: usize) {
        for c in self.rest[..bytes].chars() {
            match c {
                '\n' => self.place = Place { line: self.place.line + 1, column: 1 },
                _ => self.place.column += 1,
            }
        }
        self.rest = &self.rest[bytes..];
    }

    /// A statement ends, unless a bracket is open or none has begun.
    fn end_line(&mut self, place: Place) {
        if self.depth == 0 && self.found.last().is_some_and(|(token, _)| *token != Token::Newline) {
            self.found.push((Token::Newline, place));
        }
    }

    fn string(&mut self, quote: char) -> Result<(), Wrong> {
        let place = self.place;
        let (body, length) = if self.rest.starts_with(&quote.to_string().repeat(3)) {
            let inside = &self.rest[3..];
            let end = inside.find(&quote.to_string().repeat(3));
            let end = end.ok_or_else(|| place.error("the string does not end"))?;
            (&inside[..end], end + 6)
        } else {
            let inside = &self.rest[1..];
            match inside.find([quote, '\n']) {
                Some(end) if inside[end..].starts_with(quote) => (&inside[..end], end + 2),
                _ => return Err(place.error("the string does not end on its line")),
            }
        };
        if body.contains('\\') {
            return Err(place.error("a string with `\\` is not read here: write the characters themselves"));
        }
        self.found.push((Token::Text(body.to_owned()), place));
        self.skip(length);
        Ok(())
    }

    fn integer(&mut self) -> Result<(), Wrong> {
        let place = self.place;
        let word = |c: char| c == '_' || c == '.' || c.is_alphanumeric();
        let length = self.rest.find(|c| !word(c)).unwrap_or(self.rest.len());
        let digits = self.rest[..length].replace('_', "");
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(place.error(format!("expected an integer, found `{}`", clipped(&digits))));
        }
        let value = digits.parse().ok().filter(|_| digits.len() <= MAX_DIGITS);
        let value = value.ok_or_else(|| place.error("the number is too large for a size"))?;
        self.found.push((Token::Int(value), place));
        self.skip(length);
        Ok(())
    }

    fn name(&mut self) -> Result<(), Wrong> {
        let place = self.place;
        let length = self.rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(self.rest.len());
        let name = &self.rest[..length];
        if self.rest[length..].starts_with(['"', '\'']) {
            return Err(place.error(format!("strings with the prefix `{}` are not read here", clipped(name))));
        }
        self.found.push((Token::Name(name.to_owned()), place));
        self.skip(length);
        Ok(())
    }

    fn operator(&mut self) -> Result<(), Wrong> {
        let place = self.place;
        let Some(op) = OPERATORS.into_iter().find(|op| self.rest.starts_with(op)) else {
            let found = self.rest.chars().next().unwrap_or_default();
            return Err(place.error(format!("unexpected character {found:?}")));
        };
        match op {
            "(" | "[" | "{" => self.depth += 1,
            ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        // Statements on one line are statements.
        let token = if op == ";" { Token::Newline } else { Token::Op(op) };
        self.found.push((token, place));
        self.skip(op.len());
        Ok(())
    }
}
