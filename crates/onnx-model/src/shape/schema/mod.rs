//! The schemas of operators: what a call has to look like before its shapes matter.
mod text;

use super::dtype::Dtype;
use super::value::Value;
use sizewise_env::{Clauses, clauses};
use std::sync::OnceLock;
pub use text::operators;

clauses! { signature "schema" {
    S0 "The model's version of the domain has the operator."
    S1 "The numbers of inputs and outputs are those of the schema, and no required one is left out."
    S2 "The types of inputs and outputs are those of the schema, and agree where it says so."
    S3 "The attributes are those of the schema, with its types, and no required one is missing."
    S4 "onnxruntime's CPU provider has a kernel of the operator for these element types."
    S5 "onnxruntime loads models of this version of `ai.onnx`."
    S6 "The number of bytes of each result fits into 64 bits."
} }

/// The conditions on any call.
pub(crate) const CLAUSES: Clauses = &[signature::ALL];

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
    /// Its attributes: name, kind (a letter), whether it has to be given.
    pub attributes: Vec<(&'static str, char, bool)>,
    /// Whether the version only says that the operator is gone.
    pub deprecated: bool,
    /// The kernels of onnxruntime's CPU provider, by the types for which they are. `None` if they are for all types, or if it
    /// has none for any version.
    pub cpu: Option<Vec<CpuTypes>>,
}

/// Types for which onnxruntime's CPU provider runs an operator.
#[derive(Clone, Debug)]
pub struct CpuTypes {
    /// Type constraints by number, with the types that they may be.
    pub types: Vec<(usize, Types)>,
    /// The first and the last version of the domain for which it does, where a body stands for the kernel in some versions;
    /// the types are then all that it runs.
    pub versions: Option<(i64, i64)>,
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

/// A version of an operator.
struct Version {
    since: i64,
    /// What its line says behind that.
    line: &'static str,
    /// Read when it is first needed.
    schema: OnceLock<Option<Schema>>,
}

/// Whether any version of the operator exists.
pub fn is_known(domain: &str, op: &str) -> bool {
    text::number(domain, op).is_some()
}

/// The schema of an operator in a version of its domain.
pub fn find(domain: &str, op: &str, version: i64) -> Option<&'static Schema> {
    static READ: [OnceLock<Vec<Version>>; text::MOST_OPERATORS] =
        [const { OnceLock::new() }; text::MOST_OPERATORS];
    let number = text::number(domain, op)?;
    let versions = READ[number].get_or_init(|| {
        let versions = text::versions(number, domain, op).filter_map(|line| {
            let (since, line) = line.split_once('|')?;
            Some(Version { since: since.parse().ok()?, line, schema: OnceLock::new() })
        });
        versions.collect()
    });
    let found = versions.iter().rev().find(|one| one.since <= version)?;
    let read = || schema(found.since, found.line);
    found.schema.get_or_init(read).as_ref()
}

/// What tells the element type of the first result of an operator.
#[derive(Clone, Copy)]
pub enum Told {
    /// Nothing that is looked at.
    Not,
    /// The operator.
    Is(Dtype),
    /// The type of this input.
    Like(usize),
    /// The number in this attribute.
    By(&'static str),
}

/// What tells the element type of the first result of an operator: the schema, or the attribute `to` of casts.
pub fn told(domain: &str, op: &str, version: i64) -> Told {
    let Some(schema) = find(domain, op, version) else { return Told::Not };
    let Some(result) = schema.outputs.formal(0) else { return Told::Not };
    if let Some(dtype) = result.types.only() {
        return Told::Is(dtype);
    }
    let has_same = |input: &Formal| input.constraint == result.constraint && input.occurs != Occurs::Mixed;
    let input = result.constraint.and_then(|_| schema.inputs.formals.iter().position(has_same));
    let casts = schema
        .attributes
        .iter()
        .any(|(name, kind, is_needed)| (*name, *kind, *is_needed) == ("to", 'i', true));
    match input {
        Some(input) => Told::Like(input),
        None if casts => Told::By("to"),
        None => Told::Not,
    }
}

fn schema(since: i64, line: &'static str) -> Option<Schema> {
    let mut parts = line.split('|');
    let (inputs, outputs) = (parts.next()?, parts.next()?);
    let bound = |text: &'static str| {
        let (name, number) = text.split_once('=')?;
        Some((name, Types::new(text::set(number.strip_prefix('#')?.parse().ok()?)?)))
    };
    let constraints: Vec<(&str, Types)> = parts.next()?.split_whitespace().filter_map(bound).collect();
    let attributes = parts.next()?.split_whitespace().filter_map(|attribute| {
        let (name, kind) = attribute.rsplit_once(':')?;
        Some((name, kind.chars().next()?, kind.ends_with('!')))
    });
    let attributes = attributes.collect();
    let (inputs, outputs) = (side(inputs, &constraints)?, side(outputs, &constraints)?);
    let deprecated = parts.next() == Some("deprecated");
    let limited = |text: &'static str| {
        let (name, types) = bound(text)?;
        Some((constraints.iter().position(|(known, _)| *known == name)?, types))
    };
    let of_kernel = |text: &'static str| {
        let (types, versions) = text.split_once('@').unwrap_or((text, ""));
        let versions = versions.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        CpuTypes { types: types.split(',').filter_map(limited).collect(), versions }
    };
    let cpu = parts.next().map(|text| match text {
        "none" => Vec::new(),
        kernels => kernels.split(';').map(of_kernel).collect(),
    });
    Some(Schema { since, inputs, outputs, attributes, deprecated, cpu })
}

fn side(text: &'static str, constraints: &[(&str, Types)]) -> Option<Side> {
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
        let types = constraint.map_or_else(|| Types::new(kind), |at| constraints[at].1);
        Some(Formal { name, types, constraint, occurs })
    });
    Some(Side { least: least.parse().ok()?, most: most.parse().ok(), formals: formals.collect() })
}
