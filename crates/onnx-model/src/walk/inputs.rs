//! The inputs of a model, as it declares them, and values for them.
use crate::read::Model;
use crate::read::message::{Dimension, TypeProto, TypeValue};
use crate::shape::{Dtype, Element, Sequence, Tensor, Value};
use rustc_hash::FxHashSet;
use sizewise_expr::{Expr, Pool};

/// A size as a model declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A number.
    Size(i64),
    /// A name; equal names are equal sizes.
    Name(String),
    /// Nothing is said: also the name `?`, and negative numbers, as numbers or as names.
    Open,
}

/// An input or an output as a model declares it.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its element type; that of its tensors if it is a sequence.
    pub dtype: Option<Dtype>,
    /// Its sizes; `None` if their number is not said.
    pub shape: Option<Vec<Given>>,
    /// Whether it is a tensor.
    pub is_tensor: bool,
    /// Whether it is a sequence of tensors.
    pub is_sequence: bool,
    /// What it holds if it is an optional value.
    pub held: Option<Box<Input>>,
}

/// Whether the name of a size stands for one: `?` and negative numbers do not.
fn says_something(name: &str) -> bool {
    let digits = name.strip_prefix('-');
    let is_negative = digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    !name.is_empty() && name != "?" && !is_negative
}

/// What a type says of a value.
pub fn declared(name: &str, message: Option<&TypeProto>) -> Input {
    let name = name.to_owned();
    let mut input =
        Input { name, dtype: None, shape: None, is_tensor: false, is_sequence: false, held: None };
    match message.and_then(|message| message.value.as_ref()) {
        Some(TypeValue::Tensor(tensor)) => {
            input.is_tensor = true;
            input.dtype = Dtype::from_number(i64::from(tensor.elem_type));
            let size = |dim: &crate::read::message::DimensionProto| match &dim.value {
                Some(Dimension::Size(size)) if *size >= 0 => Given::Size(*size),
                Some(Dimension::Name(name)) if says_something(name) => Given::Name(name.clone()),
                _ => Given::Open,
            };
            input.shape = tensor.shape.as_ref().map(|shape| shape.dim.iter().map(size).collect());
        }
        Some(TypeValue::Sequence(element)) => {
            input.is_sequence = true;
            input.dtype = declared("", element.elem_type.as_deref()).dtype;
        }
        Some(TypeValue::Optional(element)) => {
            input.held = Some(Box::new(declared(&input.name, element.elem_type.as_deref())));
        }
        _ => {}
    }
    input
}

/// The inputs that a caller has to give: those without an initializer.
pub fn inputs(model: &Model) -> Vec<Input> {
    let initialized: FxHashSet<&str> =
        model.graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let own = model.graph.input.iter().filter(|input| !initialized.contains(input.name.as_str()));
    own.map(|input| declared(&input.name, input.r#type.as_ref())).collect()
}

/// The value of an input of these sizes, of which no element is known.
pub fn value(input: &Input, shape: Vec<Expr>) -> Value {
    let dtype = input.dtype.unwrap_or(Dtype::F32);
    match (input.is_tensor, input.is_sequence) {
        (true, _) => Tensor::new(dtype, shape).into(),
        (_, true) => Value::Sequence(Sequence::open(dtype, None)),
        _ => Value::Unknown,
    }
}

/// What every element is where no values are given: 1, 0.5, true, "a".
pub fn filling(pool: &Pool, dtype: Dtype) -> Option<Element> {
    match dtype {
        Dtype::Bool => Some(Element::Bool(pool.bool(true))),
        Dtype::Str => Some(Element::Text("a".into())),
        _ if dtype.is_integer() => Some(Element::Int(Expr::ONE)),
        _ if dtype.is_float() => Some(Element::Float(0.5)),
        _ => None,
    }
}
