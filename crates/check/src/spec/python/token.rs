//! The tokens of Python that a spec is made of.
use sizewise_expr::Int;
use sizewise_expr::escape::clipped;

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
    /// What no spec has: why it is not read.
    Unread(String),
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
            Token::Unread(why) => why.clone(),
            Token::Newline => "the end of the line".to_owned(),
            Token::End => "the end".to_owned(),
        }
    }
}

/// Where a token begins: line and column, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TextPlace {
    pub line: usize,
    pub column: usize,
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub place: TextPlace,
    pub message: String,
}

impl TextPlace {
    /// What is wrong here.
    pub(super) fn error(self, message: impl Into<String>) -> Wrong {
        Wrong { place: self, message: message.into() }
    }
}

/// The operators, longer ones first.
const OPERATORS: [&str; 33] = [
    "**", "//", "==", "!=", "<=", ">=", "<<", ">>", "->", ":=", "(", ")", "[", "]", "{", "}", ",", ":", "=",
    ".", "+", "-", "*", "/", "%", "<", ">", "&", "|", "^", "~", "@", ";",
];
/// The most digits of an integer.
const MAX_DIGITS: usize = 40;

/// Splits a text into tokens. Lines within brackets are joined, as Python joins them. What no spec has becomes
/// [`Token::Unread`]: it may stand in statements that do not matter.
pub(super) fn tokens(text: &str) -> Vec<(Token, TextPlace)> {
    let mut scan = Scan { rest: text, place: TextPlace { line: 1, column: 1 }, depth: 0, found: Vec::new() };
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
            '"' | '\'' => scan.string(c),
            c if c.is_ascii_digit() => scan.integer(),
            c if c == '_' || c.is_alphabetic() => scan.name(),
            _ => scan.operator(),
        }
    }
    let place = scan.place;
    scan.depth = 0;
    scan.end_line(place);
    scan.found.push((Token::End, place));
    scan.found
}

struct Scan<'t> {
    rest: &'t str,
    place: TextPlace,
    /// How many brackets are open.
    depth: usize,
    found: Vec<(Token, TextPlace)>,
}

impl Scan<'_> {
    fn skip(&mut self, bytes: usize) {
        for c in self.rest[..bytes].chars() {
            match c {
                '\n' => self.place = TextPlace { line: self.place.line + 1, column: 1 },
                _ => self.place.column += 1,
            }
        }
        self.rest = &self.rest[bytes..];
    }

    /// A statement ends, unless a bracket is open or none has begun.
    fn end_line(&mut self, place: TextPlace) {
        if self.depth == 0 && self.found.last().is_some_and(|(token, _)| *token != Token::Newline) {
            self.found.push((Token::Newline, place));
        }
    }

    /// Adds a token that is `length` bytes long.
    fn add(&mut self, token: Token, length: usize) {
        self.found.push((token, self.place));
        self.skip(length);
    }

    fn string(&mut self, quote: char) {
        let triple = quote.to_string().repeat(3);
        let mark = if self.rest.starts_with(&triple) { triple.as_str() } else { &triple[..1] };
        let inside = &self.rest[mark.len()..];
        let line = inside.find('\n').unwrap_or(inside.len());
        let reach = if mark.len() == 3 { inside } else { &inside[..line] };
        let Some(end) = end_of_string(reach, mark) else {
            let (message, left) = match mark.len() {
                3 => ("the string does not end", inside.len()),
                _ => ("the string does not end on its line", line),
            };
            return self.add(Token::Unread(message.to_owned()), mark.len() + left);
        };
        let body = &inside[..end];
        let token = if body.contains('\\') {
            Token::Unread("a string with `\\` is not read here: write the characters themselves".to_owned())
        } else {
            Token::Text(body.to_owned())
        };
        self.add(token, end + 2 * mark.len());
    }

    fn integer(&mut self) {
        let word = |c: char| c == '_' || c == '.' || c.is_alphanumeric();
        let length = self.rest.find(|c| !word(c)).unwrap_or(self.rest.len());
        let digits = self.rest[..length].replace('_', "");
        let token = if !digits.bytes().all(|b| b.is_ascii_digit()) {
            Token::Unread(format!("expected an integer, found `{}`", clipped(&digits)))
        } else {
            let value = digits.parse().ok().filter(|_| digits.len() <= MAX_DIGITS);
            value.map_or_else(|| Token::Unread("the number is too large for a size".to_owned()), Token::Int)
        };
        self.add(token, length);
    }

    fn name(&mut self) {
        let length = self.rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(self.rest.len());
        let name = &self.rest[..length];
        match self.rest[length..].chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let why = format!("strings with the prefix `{}` are not read here", clipped(name));
                self.add(Token::Unread(why), length);
                self.string(quote);
                self.found.pop();
            }
            _ => self.add(Token::Name(name.to_owned()), length),
        }
    }

    fn operator(&mut self) {
        let Some(op) = OPERATORS.into_iter().find(|op| self.rest.starts_with(op)) else {
            let found = self.rest.chars().next().unwrap_or_default();
            return self.add(Token::Unread(format!("unexpected character {found:?}")), found.len_utf8());
        };
        match op {
            "(" | "[" | "{" => self.depth += 1,
            ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        // Statements on one line are statements.
        let token = if op == ";" { Token::Newline } else { Token::Op(op) };
        self.add(token, op.len());
    }
}

/// Where the mark stands that ends a string. A backslash keeps what follows it from ending the string.
fn end_of_string(text: &str, mark: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = !escaped && text[at..].starts_with(mark);
        escaped = !escaped && c == '\\';
        ends.then_some(at)
    })
}
