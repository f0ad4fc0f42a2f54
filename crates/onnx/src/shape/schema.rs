//! The schemas of operators: what a call has to look like before its shapes matter.
use super::dtype::Dtype;
use super::value::Value;
use super::{Kernel, kernel};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The schemas as text; its first line says where they come from.
const TEXT: &str = include_str!("../../data/schemas.txt");

/// How often a formal parameter stands in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurs {
    /// Once.
    Once,
    /// Once or not at all.
    Optional,
    /// Any number of times, with one type.
    Variadic,
    /// Any number of times, with types that may differ.
    Mixed,
}

/// The types that an input or an output may have.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    /// Their names, with commas between.
    names: &'static str,
    /// A bit for each element type of tensors.
    tensors: u32,
}

const _: () = assert!(Dtype::ALL.len() <= u32::BITS as usize);

impl Types {
    fn new(names: &'static str) -> Types {
        let bits = names.split(',').filter_map(Dtype::from_name).map(|dtype| 1 << dtype as u32);
        Types { names, tensors: bits.fold(0, |all, bit: u32| all | bit) }
    }

    /// Whether a value has one of them.
    pub fn allow(self, value: &Value) -> bool {
        match value {
            Value::Tensor(tensor) => self.allow_tensor(tensor.dtype),
            other => self.allow_name(&other.type_name()),
        }
    }

    /// Whether a tensor of this element type has one of them.
    pub fn allow_tensor(self, dtype: Dtype) -> bool {
        self.tensors & (1 << dtype as u32) != 0
    }

    /// Whether a type of this name is one of them.
    pub fn allow_name(self, name: &str) -> bool {
        self.names.split(',').any(|allowed| allowed == name)
    }

    /// The element type of tensors if they allow nothing else.
    pub fn only(self) -> Option<Dtype> {
        Dtype::from_name(self.names)
    }
}

/// An input or an output.
#[derive(Clone, Debug)]
pub struct Formal {
    /// Its name.
    pub name: &'static str,
    /// The types that it may have.
    pub types: Types,
    /// The number of its type constraint: what shares it has one type. None where the schema says one type.
    pub constraint: Option<usize>,
    /// How often it stands in a call.
    pub occurs: Occurs,
}

/// Inputs or outputs.
#[derive(Clone, Debug)]
pub struct Side {
    /// The least number of them.
    pub least: usize,
    /// The greatest number of them, if there is one.
    pub most: Option<usize>,
    /// The formal parameters.
    pub formals: Vec<Formal>,
}

/// A version of an operator.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The first version of its domain that has it.
    pub since: i64,
    /// Its inputs.
    pub inputs: Side,
    /// Its outputs.
    pub outputs: Side,
    /// The kernel of the operator, if there is one.
    pub(super) kernel: Option<Kernel>,
    /// Its attributes: name, kind (a letter), whether it has to be given.
    pub attributes: Vec<(&'static str, char, bool)>,
    /// Whether the version only says that the operator is gone.
    pub deprecated: bool,
}

impl Side {
    /// The formal parameter at a position.
    pub fn formal(&self, at: usize) -> Option<&Formal> {
        let last = self.formals.last().filter(|f| matches!(f.occurs, Occurs::Variadic | Occurs::Mixed));
        self.formals.get(at).or(last)
    }

    /// Whether there may be so many.
    pub fn takes(&self, count: usize) -> bool {
        count >= self.least && self.most.is_none_or(|most| count <= most)
    }
}

/// The lines of each operator, oldest version first.
fn index() -> &'static FxHashMap<(&'static str, &'static str), Vec<&'static str>> {
    static INDEX: OnceLock<FxHashMap<(&str, &str), Vec<&str>>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index: FxHashMap<(&str, &str), Vec<&str>> = FxHashMap::default();
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.splitn(3, '|');
            if let (Some(domain), Some(op), Some(rest)) = (parts.next(), parts.next(), parts.next()) {
                index.entry((domain, op)).or_default().push(rest);
            }
        }
        index
    })
}

fn type_sets() -> &'static FxHashMap<&'static str, &'static str> {
    static SETS: OnceLock<FxHashMap<&str, &str>> = OnceLock::new();
    SETS.get_or_init(|| {
        TEXT.lines()
            .skip(1)
            .take_while(|line| line.starts_with('#'))
            .filter_map(|line| line.split_once(' '))
            .collect()
    })
}

/// Whether any version of the operator exists.
pub fn is_known(domain: &str, op: &str) -> bool {
    index().contains_key(&(domain, op))
}

/// The operators, as domain and name.
pub fn operators() -> impl Iterator<Item = (&'static str, &'static str)> {
    index().keys().copied()
}

/// The schema of an operator in a version of its domain.
pub fn find(domain: &str, op: &str, version: i64) -> Option<&'static Schema> {
    type Operators = FxHashMap<&'static str, OnceLock<Vec<Schema>>>;
    static READ: OnceLock<FxHashMap<&'static str, Operators>> = OnceLock::new();
    let read = READ.get_or_init(|| {
        let mut read: FxHashMap<&str, Operators> = FxHashMap::default();
        for (domain, op) in operators() {
            read.entry(domain).or_default().insert(op, OnceLock::new());
        }
        read
    });
    let versions = read.get(domain)?.get(op)?;
    // Schemas are read when they are first needed.
    let versions = versions.get_or_init(|| {
        let lines = index().get(&(domain, op)).map(Vec::as_slice).unwrap_or_default();
        let kernel = kernel(domain, op);
        lines.iter().filter_map(|line| schema(line, kernel)).collect()
    });
    versions.iter().rev().find(|schema| schema.since <= version)
}

fn schema(line: &'static str, kernel: Option<Kernel>) -> Option<Schema> {
    let mut parts = line.split('|');
    let since = parts.next()?.parse().ok()?;
    let (inputs, outputs) = (parts.next()?, parts.next()?);
    let constraints = parts.next()?.split_whitespace().filter_map(|bound| {
        let (name, set) = bound.split_once('=')?;
        Some((name, *type_sets().get(set)?))
    });
    let constraints: Vec<(&str, &str)> = constraints.collect();
    let attributes = parts.next()?.split_whitespace().filter_map(|attribute| {
        let (name, kind) = attribute.rsplit_once(':')?;
        Some((name, kind.chars().next()?, kind.ends_with('!')))
    });
    let attributes = attributes.collect();
    let (inputs, outputs) = (side(inputs, &constraints)?, side(outputs, &constraints)?);
    let deprecated = parts.next() == Some("deprecated");
    Some(Schema { since, inputs, outputs, kernel, attributes, deprecated })
}

fn side(text: &'static str, constraints: &[(&str, &'static str)]) -> Option<Side> {
    let mut words = text.split_whitespace();
    let (least, most) = words.next()?.split_once("..")?;
    let formals = words.filter_map(|word| {
        let (name, kind) = word.split_once(':')?;
        let (kind, occurs) = match kind.as_bytes().last()? {
            b'?' => (&kind[..kind.len() - 1], Occurs::Optional),
            b'*' => (&kind[..kind.len() - 1], Occurs::Variadic),
            b'+' => (&kind[..kind.len() - 1], Occurs::Mixed),
            _ => (kind, Occurs::Once),
        };
        let constraint = constraints.iter().position(|(name, _)| *name == kind);
        let types = Types::new(constraint.map_or(kind, |at| constraints[at].1));
        Some(Formal { name, types, constraint, occurs })
    });
    Some(Side { least: least.parse().ok()?, most: most.parse().ok(), formals: formals.collect() })
}
