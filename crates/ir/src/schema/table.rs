//! The operator schemas that come with the crate, found by name.
//!
//! The table is text, one overload a line, sorted; loading it finds the lines and nothing more. A schema is parsed
//! when it is first asked for, and kept.
use super::{OperatorName, Schema, SchemaError};
use memchr::{memchr, memchr_iter};
use std::sync::OnceLock;

/// Written by `scripts/generate_schemas.py`, which describes the lines.
static TEXT: &str = include_str!("../../data/schemas.txt");

static TABLE: OnceLock<SchemaTable> = OnceLock::new();

/// What is known of an overload beside its schema: a set of tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags(u32);

impl Tags {
    /// In the core ATen operator set.
    pub const CORE: Tags = Tags(1);
    /// Each element of the result depends on the matching elements of the operands.
    pub const POINTWISE: Tags = Tags(1 << 1);
    /// Combines elements along dimensions.
    pub const REDUCTION: Tags = Tags(1 << 2);
    /// The shape of a result depends on values.
    pub const DYNAMIC_OUTPUT_SHAPE: Tags = Tags(1 << 3);
    /// A result that is no tensor depends on values.
    pub const DATA_DEPENDENT_OUTPUT: Tags = Tags(1 << 4);
    /// Draws random numbers.
    pub const NONDETERMINISTIC_SEEDED: Tags = Tags(1 << 5);
    /// The copying form of a view.
    pub const VIEW_COPY: Tags = Tags(1 << 6);
    /// Whether a result is a view depends on the arguments.
    pub const MAYBE_ALIASING: Tags = Tags(1 << 7);
    /// A result may share memory with an argument.
    pub const VIEW: Tags = Tags(1 << 8);
    /// Made of other operators below autograd's level (CompositeImplicitAutograd); decomposes by itself.
    pub const COMPOSITE_IMPLICIT: Tags = Tags(1 << 9);
    /// Made of other operators, with a derivative of its own (CompositeExplicitAutograd).
    pub const COMPOSITE_EXPLICIT: Tags = Tags(1 << 10);
    /// Decomposed on the way to the core operator set.
    pub const CORE_DECOMPOSITION: Tags = Tags(1 << 11);
    /// Known to TorchScript only; no exported program calls it.
    pub const TORCHSCRIPT_ONLY: Tags = Tags(1 << 12);
    /// A higher-order operator: it takes graphs and has no schema.
    pub const HIGHER_ORDER: Tags = Tags(1 << 13);
    /// Writes an argument.
    pub const MUTABLE: Tags = Tags(1 << 14);
    /// Writes its first argument, by name and in kind (`add_`).
    pub const INPLACE: Tags = Tags(1 << 15);
    /// Changes the sizes or strides of its first argument.
    pub const INPLACE_VIEW: Tags = Tags(1 << 16);

    /// Letter in the table, tag, name.
    const ALL: [(u8, Tags, &'static str); 17] = [
        (b'c', Tags::CORE, "core"),
        (b'p', Tags::POINTWISE, "pointwise"),
        (b'r', Tags::REDUCTION, "reduction"),
        (b'd', Tags::DYNAMIC_OUTPUT_SHAPE, "dynamic_output_shape"),
        (b'D', Tags::DATA_DEPENDENT_OUTPUT, "data_dependent_output"),
        (b's', Tags::NONDETERMINISTIC_SEEDED, "nondeterministic_seeded"),
        (b'V', Tags::VIEW_COPY, "view_copy"),
        (b'a', Tags::MAYBE_ALIASING, "maybe_aliasing_or_mutating"),
        (b'v', Tags::VIEW, "view"),
        (b'C', Tags::COMPOSITE_IMPLICIT, "composite_implicit"),
        (b'E', Tags::COMPOSITE_EXPLICIT, "composite_explicit"),
        (b'k', Tags::CORE_DECOMPOSITION, "core_decomposition"),
        (b't', Tags::TORCHSCRIPT_ONLY, "torchscript_only"),
        (b'h', Tags::HIGHER_ORDER, "higher_order"),
        (b'm', Tags::MUTABLE, "mutable"),
        (b'i', Tags::INPLACE, "inplace"),
        (b'w', Tags::INPLACE_VIEW, "inplace_view"),
    ];

    /// Whether every tag of `other` is in this set.
    pub fn contains(self, other: Tags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of the tags, such as `core` and `pointwise`, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Tags::ALL.into_iter().filter(move |(_, tag, _)| self.contains(*tag)).map(|(_, _, name)| name)
    }

    fn from_letters(letters: &str) -> Tags {
        let known = |letter| Tags::ALL.iter().find(|entry| entry.0 == letter).map_or(0, |entry| entry.1.0);
        Tags(letters.bytes().fold(0, |bits, letter| bits | known(letter)))
    }
}

/// One operator overload of the table.
#[derive(Debug)]
pub struct Overload {
    name: OperatorName<'static>,
    letters: &'static str,
    text: &'static str,
    schema: OnceLock<Result<Box<Schema>, Box<SchemaError>>>,
}

impl Overload {
    /// Namespace, operator and overload.
    pub fn name(&self) -> OperatorName<'static> {
        self.name
    }

    /// What is known of it beside its schema.
    pub fn tags(&self) -> Tags {
        Tags::from_letters(self.letters)
    }

    /// The tag letters of its line.
    #[cfg(test)]
    pub(super) fn letters(&self) -> &'static str {
        self.letters
    }

    /// The text of the schema as the registry prints it, with its namespace.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// The schema, parsed on first use.
    ///
    /// # Errors
    /// For higher-order operators, which have none, and for a few TorchScript builtins with a variable number of
    /// arguments.
    pub fn schema(&self) -> Result<&Schema, &SchemaError> {
        let parsed = self.schema.get_or_init(|| Schema::parse(self.text).map(Box::new).map_err(Box::new));
        parsed.as_deref().map_err(|error| &**error)
    }

    /// Reads `LETTERS NAMESPACE::NAME[.OVERLOAD](…`; `None` for comments.
    fn from_line(line: &'static str) -> Option<Overload> {
        let (letters, text) = split(line, b' ').filter(|(letters, _)| *letters != "#")?;
        let full_name = split(text, b'(').map_or(text, |(name, _)| name);
        let (namespace, rest) = split(full_name, b':')?;
        let rest = rest.strip_prefix(':')?;
        let (name, overload) = split(rest, b'.').unwrap_or((rest, "default"));
        let name = OperatorName { namespace, name, overload };
        Some(Overload { name, letters, text, schema: OnceLock::new() })
    }

    /// Where the overload stands in the table: `default`, which the text leaves out, before all others.
    fn key(name: OperatorName<'_>) -> (&str, &str, &str) {
        let overload = if name.overload == "default" { "" } else { name.overload };
        (name.namespace, name.name, overload)
    }
}

/// What stands before and behind the first of a byte. The whole table is searched at the start of every run, for
/// which the methods of strings take three times as long.
fn split(text: &'static str, at: u8) -> Option<(&'static str, &'static str)> {
    let place = memchr(at, text.as_bytes())?;
    Some((&text[..place], &text[place + 1..]))
}

/// The lines of a text.
struct Lines(&'static str);

impl Iterator for Lines {
    type Item = &'static str;

    fn next(&mut self) -> Option<&'static str> {
        if self.0.is_empty() {
            return None;
        }
        let (line, rest) = split(self.0, b'\n').unwrap_or((self.0, ""));
        self.0 = rest;
        Some(line)
    }
}

/// The overloads of `aten`, `prims` and the higher-order operators.
#[derive(Debug)]
pub struct SchemaTable {
    overloads: Vec<Overload>,
}

impl SchemaTable {
    /// The table that comes with the crate, indexed on first use.
    pub fn global() -> &'static SchemaTable {
        TABLE.get_or_init(|| {
            let mut overloads = Vec::with_capacity(memchr_iter(b'\n', TEXT.as_bytes()).count());
            overloads.extend(Lines(TEXT).filter_map(Overload::from_line));
            SchemaTable { overloads }
        })
    }

    /// The overload called `target`: `torch.ops.aten.add.Tensor`, `aten.add.Tensor` or `aten::add.Tensor`. Without an
    /// overload (`aten.relu`) it is the default one.
    pub fn find(&self, target: &str) -> Option<&Overload> {
        self.find_name(OperatorName::split(target)?)
    }

    /// The overload of this name.
    pub fn find_name(&self, name: OperatorName<'_>) -> Option<&Overload> {
        let key = Overload::key(name);
        let index = self.overloads.binary_search_by(|entry| Overload::key(entry.name).cmp(&key)).ok()?;
        self.overloads.get(index)
    }

    /// The schema of `target`, named as for [`SchemaTable::find`]; `None` where the table has none.
    pub fn get(&self, target: &str) -> Option<&Schema> {
        self.find(target)?.schema().ok()
    }

    /// All overloads of one operator, such as `add` of `aten`, the default one first.
    pub fn overloads_of(&self, namespace: &str, name: &str) -> &[Overload] {
        let key = |entry: &Overload| (entry.name.namespace, entry.name.name);
        let start = self.overloads.partition_point(|entry| key(entry) < (namespace, name));
        let count = self.overloads[start..].partition_point(|entry| key(entry) == (namespace, name));
        &self.overloads[start..start + count]
    }

    /// All overloads, sorted by namespace, operator and overload.
    pub fn overloads(&self) -> &[Overload] {
        &self.overloads
    }
}
