//! The values of a spec in Python: dimensions, sizes computed from them, hints, numbers and containers.
use super::token::{Place, Wrong};
use serde_json::{Map, Value as Json, json};
use sizewise_expr::Int;
use sizewise_expr::escape::python_string;
use std::rc::Rc;

/// Integers have at most this many bits.
pub(super) const MAX_BITS: u64 = 128;
/// A value of the text. Values that a name stands for are shared.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// `None`.
    None,
    /// An integer.
    Int(Int),
    /// A string.
    Text(Rc<str>),
    /// `factor*root + offset` of a dimension; the dimension itself is `1*root + 0`.
    Dim { root: Rc<Named>, factor: Int, offset: Int },
    /// A sum of several dimensions, each times its factor, and a number.
    Sum { terms: Rc<Terms>, offset: Int },
    /// `Dim.AUTO` and the like, with a range.
    Hint { word: &'static str, min: Option<Int>, max: Option<Int> },
    /// A list.
    List(Rc<Vec<Value>>),
    /// A tuple.
    Tuple(Rc<Vec<Value>>),
    /// A dictionary.
    Dict(Rc<Vec<(String, Value)>>),
    /// `True` or `False`.
    Bool(bool),
    /// A variable of a ShapesSpec, or what is computed of some.
    Formula(Rc<Formula>),
    /// A part of a ShapesSpec.
    Part(Rc<Part>),
}

/// Dimensions with their factors.
type Terms = Vec<(Rc<Named>, Int)>;

/// A sum has at most this many dimensions.
const MAX_SUMMANDS: usize = 8;

/// `Dim("batch", min=2, max=64)`.
#[derive(Debug)]
pub(super) struct Named {
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
pub(super) enum Part {
    Tensor(Vec<Value>),
    Dict(Vec<(String, Value)>),
    Object(Vec<(String, Value)>),
    Seq(Vec<Value>),
    Params(Vec<(String, Value)>),
    Shapes { params: Vec<(String, Value)>, assumptions: Vec<Rc<Formula>> },
}

impl Part {
    /// What torch calls its class.
    pub fn class(&self) -> &'static str {
        match self {
            Part::Tensor(_) => "TensorSpec",
            Part::Dict(_) => "DictSpec",
            Part::Object(_) => "ObjectSpec",
            Part::Seq(_) => "SeqSpec",
            Part::Params(_) => "ParamsSpec",
            Part::Shapes { .. } => "ShapesSpec",
        }
    }

    /// The values that it holds.
    pub fn values(&self) -> Vec<&Value> {
        match self {
            Part::Tensor(items) | Part::Seq(items) => items.iter().collect(),
            Part::Dict(fields) | Part::Object(fields) | Part::Params(fields) => {
                fields.iter().map(|(_, value)| value).collect()
            }
            Part::Shapes { params, .. } => params.iter().map(|(_, value)| value).collect(),
        }
    }
}

impl Value {
    /// What the value is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Int(_) => "an integer",
            Value::Text(_) => "a string",
            Value::Dim { .. } => "a dimension",
            Value::Sum { .. } => "a sum of dimensions",
            Value::Hint { .. } => "a hint such as Dim.AUTO",
            Value::List(_) | Value::Tuple(_) => "a list or tuple",
            Value::Dict(_) => "a dictionary",
            Value::Bool(_) => "a truth value",
            Value::Formula(formula) if formula.variable.is_some() => "a variable",
            Value::Formula(formula) if formula.kind == Kind::Bool => "a condition",
            Value::Formula(_) => "an expression",
            Value::Part(part) => part.class(),
        }
    }

    /// What Python calls the value's class.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Value::None => "NoneType",
            Value::Int(_) => "int",
            Value::Bool(_) => "bool",
            Value::Text(_) => "str",
            Value::Dim { .. } | Value::Sum { .. } => "Dim",
            Value::Hint { .. } => "_DimHint",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::Formula(formula) => formula.class(),
            Value::Part(part) => part.class(),
        }
    }

    /// What torch says that it got: the class, and the value where that is a literal.
    pub(super) fn got(&self) -> String {
        let shown = match self {
            Value::Int(value) => value.to_string(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::None => "None".to_owned(),
            Value::Text(text) => python_string(text),
            _ => return self.class().to_owned(),
        };
        format!("{}: {shown}", self.class())
    }

    /// The dimensions of a sum with their factors, and the number; of an integer there are none.
    fn terms(&self) -> Option<(Terms, Int)> {
        match self {
            Value::Int(value) => Some((Vec::new(), value.clone())),
            Value::Dim { root, factor, offset } => {
                Some((vec![(root.clone(), factor.clone())], offset.clone()))
            }
            Value::Sum { terms, offset } => Some((terms.to_vec(), offset.clone())),
            _ => None,
        }
    }

    /// How many entries the value has when it is written out, at most about `limit`.
    pub(super) fn size(&self, limit: usize) -> usize {
        let mut total = 1;
        let mut add = |value: &Value| {
            if total < limit {
                total += value.size(limit - total);
            }
        };
        match self {
            Value::List(items) | Value::Tuple(items) => items.iter().for_each(&mut add),
            Value::Dict(items) => items.iter().for_each(|(_, value)| add(value)),
            Value::Part(part) => part.values().into_iter().for_each(&mut add),
            _ => {}
        }
        total
    }

    /// How deep containers nest.
    pub(super) fn depth(&self) -> usize {
        match self {
            Value::List(items) | Value::Tuple(items) => 1 + items.iter().map(Value::depth).max().unwrap_or(0),
            Value::Dict(items) => 1 + items.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            Value::Part(part) => 1 + part.values().into_iter().map(Value::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn named(root: &Named) -> Json {
        json!({"dim": root.name, "min": bound(&root.min), "max": bound(&root.max)})
    }

    /// The value as the JSON of a spec has it.
    pub(super) fn to_json(&self) -> Json {
        match self {
            Value::None => Json::Null,
            Value::Int(value) => number(value),
            Value::Text(text) => Json::from(&**text),
            Value::Bool(value) => Json::from(*value),
            // Specs with such are assembled apart.
            Value::Formula(_) | Value::Part(_) => Json::Null,
            Value::Dim { root, factor, offset } => {
                let named = Value::named(root);
                if *factor == Int::ONE && offset.is_zero() {
                    return named;
                }
                json!({"derived": linear(&root.name, factor, offset), "root": named})
            }
            Value::Sum { terms, offset } => {
                let one = |(root, factor): &(Rc<Named>, Int)| linear(&root.name, factor, &Int::ZERO);
                let sum = terms.iter().map(one).collect::<Vec<_>>().join(" + ");
                let roots = terms.iter().map(|(root, _)| Value::named(root));
                json!({"derived": linear(&sum, &Int::ONE, offset), "roots": roots.collect::<Vec<Json>>()})
            }
            Value::Hint { word, min: None, max: None } => Json::from(*word),
            Value::Hint { word, min, max } => json!({"hint": word, "min": bound(min), "max": bound(max)}),
            Value::List(items) | Value::Tuple(items) => {
                Json::Array(items.iter().map(Value::to_json).collect())
            }
            Value::Dict(items) => {
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
pub(super) fn dimension(name: String, min: Option<Int>, max: Option<Int>) -> Value {
    Value::Dim { root: Rc::new(Named { name, min, max }), factor: Int::ONE, offset: Int::ZERO }
}

fn bounded(value: Int, place: Place) -> Result<Int, Wrong> {
    if value.bits() <= MAX_BITS { Ok(value) } else { Err(place.error("the number is too large for a size")) }
}

/// `left + right`, or `left - right`.
pub(super) fn added(left: Value, right: Value, minus: bool, place: Place) -> Result<Value, Wrong> {
    let signed = |value: &Int| if minus { -value } else { value.clone() };
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => bounded(&a + &signed(&b), place).map(Value::Int),
        (Value::Dim { root, factor, offset }, Value::Int(b)) => {
            Ok(Value::Dim { root, factor, offset: bounded(&offset + &signed(&b), place)? })
        }
        (Value::Int(a), Value::Dim { root, factor, offset }) if !minus => {
            Ok(Value::Dim { root, factor, offset: bounded(&offset + &a, place)? })
        }
        (left, right) if !minus && left.terms().is_some() && right.terms().is_some() => {
            summed(&left, &right, place)
        }
        (Value::Sum { terms, offset }, Value::Int(b)) => {
            Ok(Value::Sum { terms, offset: bounded(&offset + &signed(&b), place)? })
        }
        (left, right) => Err(place.error(format!(
            "{} and {} do not add up to a derived dimension: that is `a*dim + b`, or a sum of such for an ONNX model",
            left.kind(),
            right.kind()
        ))),
    }
}

/// The sum of two values of which each is of dimensions, or a number beside one.
fn summed(left: &Value, right: &Value, place: Place) -> Result<Value, Wrong> {
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
        [(root, factor)] => Value::Dim { root: root.clone(), factor: factor.clone(), offset },
        _ => Value::Sum { terms: Rc::new(terms), offset },
    })
}

/// `left * right`.
pub(super) fn multiplied(left: Value, right: Value, place: Place) -> Result<Value, Wrong> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => bounded(&a * &b, place).map(Value::Int),
        (Value::Dim { root, factor, offset }, Value::Int(by))
        | (Value::Int(by), Value::Dim { root, factor, offset }) => {
            if !by.is_positive() {
                return Err(
                    place.error(format!("a dimension times {by}: torch derives sizes by positive factors"))
                );
            }
            Ok(Value::Dim {
                root,
                factor: bounded(&factor * &by, place)?,
                offset: bounded(&offset * &by, place)?,
            })
        }
        (Value::Sum { terms, offset }, Value::Int(by)) | (Value::Int(by), Value::Sum { terms, offset })
            if by.is_positive() =>
        {
            let one = |(root, factor): &(Rc<Named>, Int)| Ok((root.clone(), bounded(factor * &by, place)?));
            let terms = terms.iter().map(one).collect::<Result<Vec<_>, Wrong>>()?;
            Ok(Value::Sum { terms: Rc::new(terms), offset: bounded(&offset * &by, place)? })
        }
        (left, right) => Err(place.error(format!(
            "{} times {} is no derived dimension: torch derives `a*dim + b` of one dimension",
            left.kind(),
            right.kind()
        ))),
    }
}
