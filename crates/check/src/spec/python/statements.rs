//! The statements of a text: those that make a spec are read, others are skipped.
//!
//! A spec may stand in a script that builds and exports a model. Nothing is run, so a statement that is not understood
//! takes the value from the names that it may change; where the spec needs one of them, that statement is the error.
use super::dims::PyValue;
use super::read::{MAX_DEPTH, MAX_ENTRIES, PythonReader, Result, SPEC};
use super::token::{TextPlace, Token};
use super::variables::{CLASSES, FUNCTIONS};

/// A text has at most this many assignments and expressions.
const MAX_STATEMENTS: usize = 1_000;
/// The words that begin a statement with a block.
const BLOCKS: [&str; 14] = [
    "async", "class", "def", "elif", "else", "except", "finally", "for", "if", "match", "try", "while",
    "with", "case",
];

/// That a text has more than one spec.
fn second() -> String {
    format!("a second `{SPEC}`; the text has one spec")
}

impl PythonReader<'_> {
    /// Reads all statements and returns where the text ends.
    pub(super) fn statements(&mut self) -> Result<TextPlace> {
        let mut read = 0;
        loop {
            let start = self.place();
            match self.token() {
                Token::End => return Ok(start),
                Token::Newline => self.advance(),
                Token::Name(word) if word == "import" || word == "from" => self.import(),
                Token::Name(word) if BLOCKS.contains(&word.as_str()) && self.has_block() => self.skip_block(),
                _ => {
                    read += 1;
                    if read > MAX_STATEMENTS {
                        return Err(start.error(format!("more than {MAX_STATEMENTS} statements")));
                    }
                    self.read_or_skip()?;
                }
            }
        }
    }

    /// Reads a statement, or skips one that may not matter.
    fn read_or_skip(&mut self) -> Result<()> {
        let (start, place) = (self.at, self.place());
        let is_spec = match self.token() {
            Token::Name(name) => name == SPEC,
            Token::Op("(" | "[" | "{") => true,
            _ => false,
        };
        let Err(wrong) = self.statement() else { return Ok(()) };
        let is_assigned =
            self.tokens_from(start).take_while(|token| !ends(token)).any(|token| *token == Token::Op("="));
        (self.at, self.depth) = (start, 0);
        if self.read_argument()? {
            self.skip_changes(&format!("line {} changes it, which is not read", place.line), Some(&wrong));
            return Ok(());
        }
        if is_spec && (is_assigned || !matches!(self.token(), Token::Name(_))) {
            return Err(wrong);
        }
        self.skip_changes(&format!("line {} changes it, which is not read", place.line), Some(&wrong));
        self.wrong.get_or_insert(wrong);
        Ok(())
    }

    /// Reads `dynamic_shapes=...` among the arguments of a call, such as `torch.export.export(...)`. Whether there is
    /// such an argument; the place stays where it is.
    fn read_argument(&mut self) -> Result<bool> {
        let start = self.at;
        let (mut open, mut found, mut is_lambda) = (Vec::new(), None, false);
        for (at, token) in self.tokens_from(start).take_while(|token| !ends(token)).enumerate() {
            match token {
                Token::Op("(" | "[" | "{") => open.push(start + at),
                Token::Op(")" | "]" | "}") => drop(open.pop()),
                Token::Name(name) if name == "lambda" => is_lambda = true,
                Token::Name(name)
                    if name == SPEC
                        && !open.is_empty()
                        && self.tokens_from(start + at + 1).next() == Some(&Token::Op("=")) =>
                {
                    if found.is_some() {
                        return Err(self.place_of(start + at).error(second()));
                    }
                    found = Some(start + at);
                }
                _ => {}
            }
        }
        let Some(at) = found else { return Ok(false) };
        // Lines end within no bracket, so that what follows one without an end seems to be its argument.
        if let Some(&first) = open.first() {
            return Err(self.place_of(first).error("this bracket is never closed".to_owned()));
        }
        self.at = at + 2;
        // `dynamic_shapes=dynamic_shapes` passes what was assigned above.
        let is_same = matches!(self.token(), Token::Name(name) if name == SPEC);
        let place = self.place_of(at);
        if is_lambda && !is_same {
            return Err(place.error(format!("a `{SPEC}` within a lambda is not read")));
        }
        let value = if is_same {
            self.advance();
            None
        } else {
            Some(self.expression()?)
        };
        // A part of an expression is not what the call gets.
        if !self.is(",") && !self.is(")") {
            return Err(self.expected("`,` or `)` (the text is parsed and not run)"));
        }
        (self.at, self.depth) = (start, 0);
        if let Some(value) = value {
            if self.names.contains_key(SPEC) {
                return Err(place.error(second()));
            }
            self.names.insert(SPEC.to_owned(), value);
            self.is_passed = true;
        }
        Ok(true)
    }

    /// An assignment or an expression.
    fn statement(&mut self) -> Result<()> {
        let start = self.place();
        let names = self.targets();
        if let Some([name]) = names.as_deref()
            && let Some(path) = self.alias()
        {
            self.forget(name);
            self.aliases.insert(name.clone(), path);
            return Ok(());
        }
        let value = self.value()?;
        // A name may stand for something as deep as the text nests.
        if value.size(MAX_ENTRIES + 1) > MAX_ENTRIES {
            return Err(start.error(format!("the spec has more than {MAX_ENTRIES} entries")));
        }
        if value.depth() > MAX_DEPTH {
            return Err(start.error(format!("nested more than {MAX_DEPTH} deep")));
        }
        match self.token() {
            Token::Newline | Token::End => self.assign(names, value, start),
            Token::Name(_) => {
                Err(self.expected("the end of the line; the text is parsed and not run, so it"))
            }
            _ => Err(self.expected("the end of the line")),
        }
    }

    fn assign(&mut self, names: Option<Vec<String>>, value: PyValue, start: TextPlace) -> Result<()> {
        let Some(names) = names else {
            if self.spec.is_some() {
                return Err(start.error("a second expression; the text has one spec"));
            }
            self.spec = Some(value);
            return Ok(());
        };
        let values = match (&value, names.len()) {
            (_, 1) => vec![value],
            (PyValue::List(items) | PyValue::Tuple(items), n) if items.len() == n => items.to_vec(),
            (other, n) => return Err(start.error(format!("{n} names for {}", other.kind()))),
        };
        for (name, value) in names.into_iter().zip(values) {
            if let PyValue::Formula(formula) = &value
                && let Some((number, _)) = formula.variable
            {
                self.variables[number].assigned.get_or_insert_with(|| name.clone());
            }
            if name == SPEC && self.is_passed {
                return Err(start.error(second()));
            }
            self.forget(&name);
            self.names.insert(name, value);
        }
        Ok(())
    }

    /// Takes its meaning from a name.
    fn forget(&mut self, name: &str) {
        self.names.remove(name);
        self.aliases.remove(name);
        self.unread.remove(name);
    }

    /// What `torch.export.Dim`, or a part of it, stands for, if that is all that is assigned.
    fn alias(&mut self) -> Option<Vec<String>> {
        let start = self.at;
        let mut path = Vec::new();
        while let Token::Name(name) = self.token() {
            path.push(name.clone());
            self.advance();
            if !self.take(".") {
                break;
            }
        }
        let path = self.full(path);
        let is_known = |last: &String| {
            let last = last.as_str();
            ["Dim", "dims", "export", "torch", "dynamic_spec"].contains(&last)
                || CLASSES.contains(&last)
                || FUNCTIONS.contains(&last)
        };
        let known = path.last().is_some_and(is_known);
        if known && matches!(self.token(), Token::Newline | Token::End) {
            return Some(path);
        }
        self.at = start;
        None
    }

    /// A dotted name with what its first part stands for.
    pub(super) fn full(&self, path: Vec<String>) -> Vec<String> {
        match path.first().and_then(|first| self.aliases.get(first)) {
            Some(known) => known.iter().chain(&path[1..]).cloned().collect(),
            None => path,
        }
    }

    /// `import torch.export as te`, `from torch.export import Dim as D`: the new names. Without one, `Dim` is the one of
    /// torch.export.
    fn import(&mut self) {
        let mut module: Vec<String> = Vec::new();
        let mut path: Vec<String> = Vec::new();
        let is_from = matches!(self.token(), Token::Name(word) if word == "from");
        self.advance();
        while !matches!(self.token(), Token::Newline | Token::End) {
            match self.token().clone() {
                Token::Name(word) if word == "import" && is_from => module = std::mem::take(&mut path),
                Token::Name(word) if word == "as" => {
                    self.advance();
                    let Token::Name(name) = self.token().clone() else { continue };
                    let full: Vec<String> = module.iter().chain(&path).cloned().collect();
                    self.forget(&name);
                    self.aliases.insert(name, full);
                    path.clear();
                }
                Token::Name(word) => path.push(word),
                Token::Op(",") => self.imported(&module, std::mem::take(&mut path)),
                _ => {}
            }
            self.advance();
        }
        self.imported(&module, path);
    }

    /// A name that a module other than torch's has: `from nets import Point`. Those of torch are known by themselves.
    fn imported(&mut self, module: &[String], path: Vec<String>) {
        let ([first, ..], [name]) = (module, path.as_slice()) else { return };
        if first != "torch" && !["Dim", "dims", "dict"].contains(&name.as_str()) {
            self.forget(name);
            self.aliases.insert(name.clone(), module.iter().cloned().chain(path.iter().cloned()).collect());
        }
    }

    /// The names of `a, b = ...` or `a: int = ...`, with the `=`; nothing is taken where no assignment begins.
    fn targets(&mut self) -> Option<Vec<String>> {
        let start = self.at;
        let mut names = Vec::new();
        while let Token::Name(name) = self.token() {
            names.push(name.clone());
            self.advance();
            if names.len() == 1 && self.is(":") {
                while !ends(self.token()) && !self.is("=") {
                    self.advance();
                }
            }
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

    /// Whether the statement has a colon outside of brackets: `if` may be a part of an expression.
    fn has_block(&self) -> bool {
        let mut depth = 0_usize;
        self.tokens_from(self.at).take_while(|token| !ends(token)).any(|token| {
            match token {
                Token::Op("(" | "[" | "{") => depth += 1,
                Token::Op(")" | "]" | "}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *token == Token::Op(":")
        })
    }

    /// Skips a statement with its block. What stands in a function or a class is its own; what else a block may change
    /// has no value that is known.
    fn skip_block(&mut self) {
        let head = self.place();
        let word = match self.token() {
            Token::Name(word) => word.clone(),
            _ => String::new(),
        };
        let is_own = ["async", "class", "def"].contains(&word.as_str());
        let why = format!("line {} may change it, which is not read", head.line);
        self.note_block(&word, head);
        self.skip_changes(&why, None);
        loop {
            if !ends(self.token()) && self.place().column > head.column {
                self.note_block(&word, head);
            }
            match self.token() {
                Token::Newline => self.advance(),
                Token::End => return,
                _ if self.place().column <= head.column => return,
                _ if is_own => self.skip_line(),
                _ => self.skip_changes(&why, None),
            }
        }
    }

    /// Notes the spec in the next line of a block, where it has one.
    fn note_block(&mut self, word: &str, head: TextPlace) {
        let line = || self.tokens_from(self.at).take_while(|token| !ends(token));
        let is_given = |(name, next): (&Token, &Token)| {
            matches!(name, Token::Name(name) if name == SPEC) && *next == Token::Op("=")
        };
        let found = line().zip(line().skip(1)).position(is_given);
        // What may change a spec is another matter.
        if let Some(at) = found.filter(|_| !self.names.contains_key(SPEC)) {
            let message = format!(
                "the `{SPEC}` within the `{word}` of line {} is not read: move it out of the block, to the beginning of a \
                 line",
                head.line
            );
            let wrong = self.place_of(self.at + at).error(message);
            self.in_block.get_or_insert(wrong);
        }
    }

    fn skip_line(&mut self) {
        while !ends(self.token()) {
            self.advance();
        }
    }

    /// Skips a statement. The names before a `=` outside of brackets, those that `for`, `as`, `def` and `class` bind,
    /// and the first one where a part of it is named, have no known value from here on: `wrong` says why, or `why`.
    fn skip_changes(&mut self, why: &str, wrong: Option<&super::token::Wrong>) {
        let (start, mut depth, mut targets, mut names) = (self.at, 0_usize, Vec::new(), Vec::new());
        let mut binds = false;
        while !ends(self.token()) {
            match self.token() {
                Token::Op("(" | "[" | "{") => depth += 1,
                Token::Op(")" | "]" | "}") => depth = depth.saturating_sub(1),
                Token::Op("=" | ":=") if depth == 0 => targets.append(&mut names),
                Token::Name(word) => match word.as_str() {
                    "for" | "as" | "def" | "class" if depth == 0 => binds = true,
                    "in" => binds = false,
                    _ if binds && depth == 0 => targets.push((word.clone(), self.place())),
                    _ => names.push((word.clone(), self.place())),
                },
                Token::Op(":" | "->") if depth == 0 => binds = false,
                _ => {}
            }
            self.advance();
        }
        let mut first = self.tokens_from(start);
        let parts = (first.next().cloned(), first.next().cloned());
        drop(first);
        if let (Some(Token::Name(name)), Some(Token::Op("." | "["))) = parts
            && self.names.contains_key(&name)
        {
            targets.push((name, self.place_of(start)));
        }
        for (name, place) in targets {
            let wrong =
                wrong.cloned().unwrap_or_else(|| place.error(format!("`{name}` has no known value: {why}")));
            self.forget(&name);
            self.unread.insert(name, wrong);
        }
    }
}

fn ends(token: &Token) -> bool {
    matches!(token, Token::Newline | Token::End)
}
