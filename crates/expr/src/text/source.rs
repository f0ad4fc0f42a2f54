//! Where a value of guard code comes from: `L['x'].size()[0]`.
use std::fmt;

/// One step from an input to a part of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SourceStep {
    /// `['k']`.
    Key(String),
    /// `[0]`, negative from the end.
    Index(i64),
    /// Any other key of a dictionary, as Python writes it: `[True]`, `[(1, 'a')]`. Members of enumerations
    /// are `Color.RED`.
    Literal(String),
    /// `.name`.
    Attribute(String),
}

/// The property of a tensor that is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Property {
    /// `.size()[d]` or `.shape[d]`; a negative `d` counts from the last dimension.
    Size(i64),
    /// `.stride()[d]`; a negative `d` counts from the last dimension.
    Stride(i64),
    /// `.storage_offset()`.
    StorageOffset,
}

/// An input, the steps to one of its leaves, and the property that is read: `L['d']['k'][0].size()[1]` has
/// root `d`, steps `['k']`, `[0]` and the size of dimension 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourcePath {
    /// The name of the input (`x` of `L['x']`, or of plain `x.shape[0]`).
    pub root: String,
    /// The way to the leaf.
    pub steps: Vec<SourceStep>,
    /// The property of the leaf; `None` if it is a number itself.
    pub property: Option<Property>,
}

/// The key that begins a text and ends at the bracket that closes its subscript, and its length.
pub(super) fn key(text: &str) -> Option<(SourceStep, usize)> {
    literal(text).map(|text| (SourceStep::Literal(key_text(text)), text.len()))
}

/// The text before the bracket that closes a subscript.
fn literal(text: &str) -> Option<&str> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            (c, Some(open)) => quote = (c != open).then_some(open),
            ('\'' | '"', None) => quote = Some(c),
            (']', None) if depth == 0 => return Some(&text[..at]),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// A key as specs and programs write it: a member of an enumeration without its value.
fn key_text(text: &str) -> String {
    let text = text.trim();
    let member = text.strip_prefix('<').and_then(|text| text.split_once(':'));
    member.map_or(text, |(name, _)| name).to_owned()
}

impl fmt::Display for SourcePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L[{:?}]", self.root)?;
        for step in &self.steps {
            match step {
                SourceStep::Key(key) => write!(f, "[{key:?}]")?,
                SourceStep::Index(index) => write!(f, "[{index}]")?,
                SourceStep::Literal(key) => write!(f, "[{key}]")?,
                SourceStep::Attribute(name) => write!(f, ".{name}")?,
            }
        }
        match self.property {
            Some(Property::Size(d)) => write!(f, ".size()[{d}]"),
            Some(Property::Stride(d)) => write!(f, ".stride()[{d}]"),
            Some(Property::StorageOffset) => write!(f, ".storage_offset()"),
            None => Ok(()),
        }
    }
}
