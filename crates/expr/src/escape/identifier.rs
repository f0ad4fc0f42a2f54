//! Names that code may hold.
use std::collections::{HashMap, HashSet};

/// The longest name that is kept, and how much of a longer one an identifier made of it keeps, in characters.
const MAX_NAME: usize = 200;
const KEPT: usize = 40;

/// Python's keywords, soft ones too.
const PYTHON_KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return", "try", "type", "while", "with",
    "yield",
];

/// Whether a text is an identifier in each of Python, C and Rust, apart from keywords. It has to be ASCII,
/// because Python normalizes other letters.
pub fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && text.len() <= MAX_NAME
        && text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

/// Whether Python keeps a word to itself.
pub fn is_python_keyword(text: &str) -> bool {
    PYTHON_KEYWORDS.contains(&text)
}

/// Identifiers for names: a name that may stand keeps it, another one gets an identifier that no name has.
#[derive(Debug)]
pub struct Identifiers {
    may_stand: fn(&str) -> bool,
    taken: HashSet<String>,
    made: HashMap<String, String>,
    order: Vec<String>,
}

impl Identifiers {
    /// Identifiers for these names, which are all there are; `may_stand` says which of them are fit.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>, may_stand: fn(&str) -> bool) -> Identifiers {
        let taken = names.map(str::to_owned).collect();
        Identifiers { may_stand, taken, made: HashMap::new(), order: Vec::new() }
    }

    /// The identifier for a name; always the same for one name.
    pub fn of(&mut self, name: &str) -> String {
        if (self.may_stand)(name) {
            return name.to_owned();
        }
        if let Some(made) = self.made.get(name) {
            return made.clone();
        }
        let mut base: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .filter({
                let mut last = '\0';
                move |&c| std::mem::replace(&mut last, c) != '_' || c != '_'
            })
            .take(KEPT)
            .collect();
        base = base.trim_matches('_').to_owned();
        if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
            base.insert_str(0, "x_");
        }
        let mut number = 1;
        let made = loop {
            let made = format!("{}_{number}", base.trim_end_matches('_'));
            if !self.taken.contains(&made) {
                break made;
            }
            number += 1;
        };
        self.taken.insert(made.clone());
        self.made.insert(name.to_owned(), made.clone());
        self.order.push(name.to_owned());
        made
    }

    /// The names that were changed, with their identifiers.
    pub fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.order.iter().map(|name| (name.as_str(), self.made[name].as_str()))
    }
}
