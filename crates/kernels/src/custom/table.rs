//! TOML values together with where they stand.
use super::error::DeclarationError;
use sizewise_ir::keys;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) type Result<T> = std::result::Result<T, DeclarationError>;

/// The text of a file.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub file: &'t str,
    pub text: &'t str,
}

impl Source<'_> {
    /// An error at an offset in bytes.
    pub fn error(&self, offset: usize, message: impl Into<String>) -> DeclarationError {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        DeclarationError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            message: message.into(),
        }
    }

    /// The line of an offset, from 1.
    pub fn line(&self, offset: usize) -> u32 {
        self.error(offset, String::new()).line as u32
    }
}

/// A piece of text and where it begins in the file.
#[derive(Clone, Copy)]
pub(super) struct Piece<'t> {
    pub source: Source<'t>,
    pub text: &'t str,
    at: usize,
    /// The text stands in the file as it is, so that offsets in it are offsets in the file.
    literal: bool,
}

impl<'t> Piece<'t> {
    /// An error at an offset into the piece.
    pub fn error(&self, offset: usize, message: impl Into<String>) -> DeclarationError {
        self.source.error(if self.literal { self.at + offset } else { self.at }, message)
    }

    /// The line on which the piece begins.
    pub fn line(&self) -> u32 {
        self.source.line(self.at)
    }

    /// A part of the piece, which has to be a slice of its text, without the spaces around it.
    pub fn part(&self, text: &'t str) -> Piece<'t> {
        let trimmed = text.trim();
        let within = (trimmed.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let offset = within.filter(|&at| at <= self.text.len()).unwrap_or(0);
        Piece { text: trimmed, at: if self.literal { self.at + offset } else { self.at }, ..*self }
    }
}

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Item<'t> {
    pub source: Source<'t>,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Item<'t> {
    fn span(&self) -> Range<usize> {
        self.value.span()
    }

    pub fn error(&self, message: impl Into<String>) -> DeclarationError {
        self.source.error(self.span().start, message)
    }

    fn expected(&self, what: &str) -> DeclarationError {
        self.error(format!("expected {what}, found a value of type {}", self.value.get_ref().type_str()))
    }

    /// A text, or the digits of an integer.
    pub fn piece(&self, what: &str) -> Result<Piece<'t>> {
        let span = self.span();
        let text = match self.value.get_ref() {
            DeValue::String(text) => &**text,
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return Err(self.expected(what)),
        };
        let raw = self.source.text.get(span.clone()).unwrap_or_default();
        // What was written between quotes differs from what it means only where there are escapes.
        let shift = raw.find(text).filter(|&at| at <= 3);
        let (at, literal) = (span.start + shift.unwrap_or(0), shift.is_some());
        Ok(Piece { source: self.source, text, at, literal })
    }

    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// The members of a list.
    pub fn list(&self, what: &str) -> Result<Vec<Item<'t>>> {
        match self.value.get_ref() {
            DeValue::Array(items) => {
                Ok(items.iter().map(|value| Item { source: self.source, value }).collect())
            }
            _ => Err(self.expected(what)),
        }
    }

    /// The entries of a table, which may have the given keys only.
    pub fn table(&self, what: &str, keys: &[&str]) -> Result<Entries<'t>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Entries::new(self.source, table, self.span().start, Some(keys)),
            _ => Err(self.expected(what)),
        }
    }

    /// The entries of a table with keys of the user's choice.
    pub fn named(&self, what: &str) -> Result<Entries<'t>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Entries::new(self.source, table, self.span().start, None),
            _ => Err(self.expected(what)),
        }
    }

    /// `true`.
    pub fn truth(&self, what: &str) -> Result<bool> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected(what))
    }
}

/// The entries of a table.
pub(super) struct Entries<'t> {
    source: Source<'t>,
    table: &'t DeTable<'t>,
    at: usize,
}

impl<'t> Entries<'t> {
    /// The entries of a table that may have the given keys only.
    pub fn new(
        source: Source<'t>,
        table: &'t DeTable<'t>,
        at: usize,
        known: Option<&[&str]>,
    ) -> Result<Entries<'t>> {
        for (key, _) in table {
            if let Some(known) = known
                && !known.contains(&&**key.get_ref())
            {
                let near = keys::nearest(key.get_ref(), known.iter().copied());
                let near = near.filter(|_| known.len() > 1).map(|near| format!("; the nearest is `{near}`"));
                let near = near.unwrap_or_default();
                let message = format!("unknown key `{}`{near}; expected {}", key.get_ref(), listed(known));
                return Err(source.error(key.span().start, message));
            }
        }
        Ok(Entries { source, table, at })
    }

    pub fn get(&self, key: &str) -> Option<Item<'t>> {
        let (_, value) = self.table.iter().find(|(name, _)| &**name.get_ref() == key)?;
        Some(Item { source: self.source, value })
    }

    /// The keys with their places, and the values.
    pub fn iter(&self) -> impl Iterator<Item = (&'t str, usize, Item<'t>)> {
        let source = self.source;
        self.table
            .iter()
            .map(move |(key, value)| (&**key.get_ref(), key.span().start, Item { source, value }))
    }

    /// The line on which the table begins.
    pub fn line(&self) -> u32 {
        self.source.line(self.at)
    }

    pub fn error(&self, message: impl Into<String>) -> DeclarationError {
        self.source.error(self.at, message)
    }
}

/// `a`, `b` or `c`.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => format!("`{only}`"),
        [first @ .., last] => format!("`{}` or `{last}`", first.join("`, `")),
    }
}
