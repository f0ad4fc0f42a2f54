//! The values of a spec in Python: dimensions, sizes computed from them, hints, numbers and containers.
use super::token::{TextPlace, Wrong};
use serde_json::{Map, Value as Json, json};
use sizewise_expr::Int;
use sizewise_expr::escape::python_string;
use std::rc::Rc;

/// Integers have at most this many bits.
pub(super) const MAX_BITS: u64 = 128;
/// A value of the text. Values that a name stands for are shared.
#[derive(Clone, Debug)]
pub(super) enum PyValue {
    /// `None`.
    None,
    /// An integer.
    Int(Int),
    /// A string.
    Text(Rc<str>),
    /// `factor*root + offset` of a dimension; the dimension itself is `1*root + 0`.
    Dim { root: Rc<DimCall>, factor: Int, offset: Int },
    /// A sum of several dimensions, each times its factor, and a number.
    Sum { terms: Rc<Terms>, offset: Int },
    /// `Dim.AUTO` and the like, with a range.
    Hint { word: &'static str, min: Option<Int>, max: Option<Int> },
    /// A list.
    List(Rc<Vec<PyValue>>),
    /// A tuple.
    Tuple(Rc<Vec<PyValue>>),
    /// A dictionary.
    Dict(Rc<Vec<(String, PyValue)>>),
    /// `True` or `False`.
    Bool(bool),
    /// A variable of a ShapesSpec, or what is computed of some.
    Formula(Rc<Formula>),
    /// A part of a ShapesSpec.
    Part(Rc<ShapesPart>),
}

/// Dimensions with their factors.
type Terms = Vec<(Rc<DimCall>, Int)>;

/// A sum has at most this many dimensions.
const MAX_SUMMANDS: usize = 8;

/// `Dim("batch", min=2, max=64)`.
#[derive(Debug)]
pub(super) struct DimCall {
    pub name: String,
    pub min: Option<Int>,
    pub max: Option<Int>,
}

/// Stands on both sides of a variable's number in the text of a formula.
pub(super) const MARK: char = '\u{1}';

/// What a formula is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `SymInt`.
    Int,
    /// `SymFloat`.
    Float,
    /// `SymBool`.
    Bool,
}

/// How tightly operators bind, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Binding {
    Comparison,
    Or,
    Xor,
    And,
    Sum,
    Product,
    Sign,
    Power,
    Atom,
}

/// A size computed from variables, or a condition on them.
#[derive(Debug)]
pub(super) struct Formula {
    /// The formula as the reader of expressions takes it; variables are numbers between marks.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// How tightly its loosest operator binds.
    pub binding: Binding,
    /// The variable, if it is nothing else, and what torch calls its class.
    pub variable: Option<(usize, &'static str)>,
}

impl Formula {
    /// What torch calls its class.
    pub fn class(&self) -> &'static str {
        match (self.variable, self.kind) {
            (Some((_, class)), _) => class,
            (None, Kind::Int) => "SymInt",
            (None, Kind::Float) => "SymFloat",
            (None, Kind::Bool) => "SymBool",
        }
    }
}

/// `ShapeVar("b", min=2)`.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    /// The name that it is given, if it is.
    pub name: Option<String>,
    /// The name that it is assigned to first.
    pub assigned: Option<String>,
    pub min: Option<Int>,
    pub max: Option<Int>,
    pub hint: Option<Int>,
    pub is_size: bool,
}

/// A part of a ShapesSpec.
#[derive(Clone, Debug)]
pub(super) enum ShapesPart {
    Tensor(Vec<PyValue>),
    Dict(Vec<(String, PyValue)>),
    Object(Vec<(String, PyValue)>),
    Seq(Vec<PyValue>),
    Params(Vec<(String, PyValue)>),
    Shapes { params: Vec<(String, PyValue)>, assumptions: Vec<Rc<Formula>> },
}

impl ShapesPart {
    /// What torch calls its class.
    pub fn class(&self) -> &'static str {
        match self {
            ShapesPart::Tensor(_) => "TensorSpec",
            ShapesPart::Dict(_) => "DictSpec",
            ShapesPart::Object(_) => "ObjectSpec",
            ShapesPart::Seq(_) => "SeqSpec",
            ShapesPart::Params(_) => "ParamsSpec",
            ShapesPart::Shapes { .. } => "ShapesSpec",
        }
    }

    /// The values that it holds.
    pub fn values(&self) -> Vec<&PyValue> {
        match self {
            ShapesPart::Tensor(items) | ShapesPart::Seq(items) => items.iter().collect(),
            ShapesPart::Dict(fields) | ShapesPart::Object(fields) | ShapesPart::Params(fields) => {
                fields.iter().map(|(_, value)| value).collect()
            }
            ShapesPart::Shapes { params, .. } => params.iter().map(|(_, value)| value).collect(),
        }
    }
}

impl PyValue {
    /// What the value is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            PyValue::None => "None",
            PyValue::Int(_) => "an integer",
            PyValue::Text(_) => "a string",
            PyValue::Dim { .. } => "a dimension",
            PyValue::Sum { .. } => "a sum of dimensions",
            PyValue::Hint { .. } => "a hint such as Dim.AUTO",
            PyValue::List(_) | PyValue::Tuple(_) => "a list or tuple",
            PyValue::Dict(_) => "a dictionary",
            PyValue::Bool(_) => "a truth value",
            PyValue::Formula(formula) if formula.variable.is_some() => "a variable",
            PyValue::Formula(formula) if formula.kind == Kind::Bool => "a condition",
            PyValue::Formula(_) => "an expression",
            PyValue::Part(part) => part.class(),
        }
    }

    /// What Python calls the value's class.
    pub(super) fn class(&self) -> &'static str {
        match self {
            PyValue::None => "NoneType",
            PyValue::Int(_) => "int",
            PyValue::Bool(_) => "bool",
            PyValue::Text(_) => "str",
            PyValue::Dim { .. } | PyValue::Sum { .. } => "Dim",
            PyValue::Hint { .. } => "_DimHint",
            PyValue::List(_) => "list",
            PyValue::Tuple(_) => "tuple",
            PyValue::Dict(_) => "dict",
            PyValue::Formula(formula) => formula.class(),
            PyValue::Part(part) => part.class(),
        }
    }

    /// What torch says that it got: the class, and the value where that is a literal.
    pub(super) fn got(&self) -> String {
        let shown = match self {
            PyValue::Int(value) => value.to_string(),
            PyValue::Bool(true) => "True".to_owned(),
            PyValue::Bool(false) => "False".to_owned(),
            PyValue::None => "None".to_owned(),
            PyValue::Text(text) => python_string(text),
            _ => return self.class().to_owned(),
        };
        format!("{}: {shown}", self.class())
    }

    /// The dimensions of a sum with their factors, and the number; of an integer there are none.
    fn terms(&self) -> Option<(Terms, Int)> {
        match self {
            PyValue::Int(value) => Some((Vec::new(), value.clone())),
            PyValue::Dim { root, factor, offset } => {
                Some((vec![(root.clone(), factor.clone())], offset.clone()))
            }
            PyValue::Sum { terms, offset } => Some((terms.to_vec(), offset.clone())),
            _ => None,
        }
    }

    /// How many entries the value has when it is written out, at most about `limit`.
    pub(super) fn size(&self, limit: usize) -> usize {
        let mut total = 1;
        let mut add = |value: &PyValue| {
            if total < limit {
                total += value.size(limit - total);
            }
        };
        match self {
            PyValue::List(items) | PyValue::Tuple(items) => items.iter().for_each(&mut add),
            PyValue::Dict(items) => items.iter().for_each(|(_, value)| add(value)),
            PyValue::Part(part) => part.values().into_iter().for_each(&mut add),
            _ => {}
        }
        total
    }

    /// How deep containers nest.
    pub(super) fn depth(&self) -> usize {
        match self {
            PyValue::List(items) | PyValue::Tuple(items) => {
                1 + items.iter().map(PyValue::depth).max().unwrap_or(0)
            }
            PyValue::Dict(items) => 1 + items.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            PyValue::Part(part) => 1 + part.values().into_iter().map(PyValue::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn named(root: &DimCall) -> Json {
        json!({"dim": root.name, "min": bound(&root.min), "max": bound(&root.max)})
    }

    /// The value as the JSON of a spec has it.
    pub(super) fn to_json(&self) -> Json {
        match self {
            PyValue::None => Json::Null,
            PyValue::Int(value) => number(value),
            PyValue::Text(text) => Json::from(&**text),
            PyValue::Bool(value) => Json::from(*value),
            // Specs with such are assembled apart.
            PyValue::Formula(_) | PyValue::Part(_) => Json::Null,
            PyValue::Dim { root, factor, offset } => {
                let named = PyValue::named(root);
                if *factor == Int::ONE && offset.is_zero() {
                    return named;
                }
                json!({"derived": linear(&root.name, factor, offset), "root": named})
            }
            PyValue::Sum { terms, offset } => {
                let one = |(root, factor): &(Rc<DimCall>, Int)| linear(&root.name, factor, &Int::ZERO);
                let sum = terms.iter().map(one).collect::<Vec<_>>().join(" + ");
                let roots = terms.iter().map(|(root, _)| PyValue::named(root));
                json!({"derived": linear(&sum, &Int::ONE, offset), "roots": roots.collect::<Vec<Json>>()})
            }
            PyValue::Hint { word, min: None, max: None } => Json::from(*word),
            PyValue::Hint { word, min, max } => {
                json!({"hint": word, "min": bound(min), "max": bound(max)})
            }
            PyValue::List(items) | PyValue::Tuple(items) => {
                Json::Array(items.iter().map(PyValue::to_json).collect())
            }
            PyValue::Dict(items) => {
                let fields = items.iter().map(|(key, value)| (key.clone(), value.to_json()));
                Json::Object(fields.collect::<Map<String, Json>>())
            }
        }
    }
}

/// `2*batch + 1`.
fn linear(root: &str, factor: &Int, offset: &Int) -> String {
    let scaled = if *factor == Int::ONE { root.to_owned() } else { format!("{factor}*{root}") };
    match offset {
        zero if zero.is_zero() => scaled,
        less if less.is_negative() => format!("{scaled} - {}", less.abs()),
        more => format!("{scaled} + {more}"),
    }
}

fn bound(end: &Option<Int>) -> Json {
    end.as_ref().map_or(Json::Null, number)
}

/// A number as JSON; one that 64 bits do not hold stays for the reader of specs to refuse.
fn number(value: &Int) -> Json {
    value.to_i64().map_or_else(|| Json::from(value.to_string()), Json::from)
}

/// A dimension.
pub(super) fn dimension(name: String, min: Option<Int>, max: Option<Int>) -> PyValue {
    PyValue::Dim { root: Rc::new(DimCall { name, min, max }), factor: Int::ONE, offset: Int::ZERO }
}

fn bounded(value: Int, place: TextPlace) -> Result<Int, Wrong> {
    if value.bits() <= MAX_BITS { Ok(value) } else { Err(place.error("the number is too large for a size")) }
}

/// `left + right`, or `left - right`.
pub(super) fn added(left: PyValue, right: PyValue, minus: bool, place: TextPlace) -> Result<PyValue, Wrong> {
    let signed = |value: &Int| if minus { -value } else { value.clone() };
    match (left, right) {
        (PyValue::Int(a), PyValue::Int(b)) => bounded(&a + &signed(&b), place).map(PyValue::Int),
        (PyValue::Dim { root, factor, offset }, PyValue::Int(b)) => {
            Ok(PyValue::Dim { root, factor, offset: bounded(&offset + &signed(&b), place)? })
        }
        (PyValue::Int(a), PyValue::Dim { root, factor, offset }) if !minus => {
            Ok(PyValue::Dim { root, factor, offset: bounded(&offset + &a, place)? })
        }
        (left, right) if !minus && left.terms().is_some() && right.terms().is_some() => {
            summed(&left, &right, place)
        }
        (PyValue::Sum { terms, offset }, PyValue::Int(b)) => {
            Ok(PyValue::Sum { terms, offset: bounded(&offset + &signed(&b), place)? })
        }
        (left, right) => Err(place.error(format!(
            "{} and {} do not add up to a derived dimension: that is `a*dim + b`, or a sum of such for an ONNX model",
            left.kind(),
            right.kind()
        ))),
    }
}

/// The sum of two values of which each is of dimensions, or a number beside one.
fn summed(left: &PyValue, right: &PyValue, place: TextPlace) -> Result<PyValue, Wrong> {
    let (Some((mut terms, a)), Some((others, b))) = (left.terms(), right.terms()) else {
        return Err(place.error("no sum of dimensions"));
    };
    for (root, factor) in others {
        match terms.iter_mut().find(|(known, _)| known.name == root.name) {
            Some((_, known)) => *known = bounded(&*known + &factor, place)?,
            None => terms.push((root, factor)),
        }
    }
    if terms.len() > MAX_SUMMANDS {
        return Err(place.error(format!("a sum of more than {MAX_SUMMANDS} dimensions")));
    }
    let offset = bounded(&a + &b, place)?;
    Ok(match terms.as_slice() {
        [(root, factor)] => PyValue::Dim { root: root.clone(), factor: factor.clone(), offset },
        _ => PyValue::Sum { terms: Rc::new(terms), offset },
    })
}

/// `left * right`.
pub(super) fn multiplied(left: PyValue, right: PyValue, place: TextPlace) -> Result<PyValue, Wrong> {
    match (left, right) {
        (PyValue::Int(a), PyValue::Int(b)) => bounded(&a * &b, place).map(PyValue::Int),
        (PyValue::Dim { root, factor, offset }, PyValue::Int(by))
        | (PyValue::Int(by), PyValue::Dim { root, factor, offset }) => {
            if !by.is_positive() {
                return Err(
                    place.error(format!("a dimension times {by}: torch derives sizes by positive factors"))
                );
            }
            Ok(PyValue::Dim {
                root,
                factor: bounded(&factor * &by, place)?,
                offset: bounded(&offset * &by, place)?,
            })
        }
        (PyValue::Sum { terms, offset }, PyValue::Int(by))
        | (PyValue::Int(by), PyValue::Sum { terms, offset })
            if by.is_positive() =>
        {
            let one = |(root, factor): &(Rc<DimCall>, Int)| Ok((root.clone(), bounded(factor * &by, place)?));
            let terms = terms.iter().map(one).collect::<Result<Vec<_>, Wrong>>()?;
            Ok(PyValue::Sum { terms: Rc::new(terms), offset: bounded(&offset * &by, place)? })
        }
        (left, right) => Err(place.error(format!(
            "{} times {} is no derived dimension: torch derives `a*dim + b` of one dimension",
            left.kind(),
            right.kind()
        ))),
    }
}
