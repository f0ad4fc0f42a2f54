//! Arguments and results of operators.
use super::tensor::Tensor;
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype, Layout, MemoryFormat};
use smallvec::SmallVec;
use std::sync::Arc;

/// The results of an operator.
pub type Values = SmallVec<[Value; 1]>;

/// One argument or result.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Absent.
    None,
    /// A tensor.
    Tensor(Arc<Tensor>),
    /// A list of tensors, some of which may be absent.
    Tensors(Vec<Option<Arc<Tensor>>>),
    /// An integer.
    Int(Expr),
    /// A list of integers.
    Ints(Vec<Expr>),
    /// A double.
    Float(Expr),
    /// A list of doubles.
    Floats(Vec<Expr>),
    /// A truth value.
    Bool(Expr),
    /// A list of truth values.
    Bools(Vec<Expr>),
    /// A text.
    Str(Arc<str>),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A list of numbers of mixed kinds.
    Scalars(Vec<Value>),
    /// A dtype.
    Dtype(Dtype),
    /// A layout.
    Layout(Layout),
    /// A device.
    Device(Device),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// Something that no shape depends on: a generator, a custom object, a graph.
    Opaque,
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(Arc::new(tensor))
    }
}

/// Tensors as one list.
pub(super) fn list(tensors: impl IntoIterator<Item = Tensor>) -> Value {
    Value::Tensors(tensors.into_iter().map(|t| Some(Arc::new(t))).collect())
}

impl Value {
    /// Forgets where the elements of tensors lie.
    pub fn forget_span(&mut self) {
        let forget = |tensor: &mut Arc<Tensor>| {
            if tensor.span.is_some() {
                Arc::make_mut(tensor).span = None;
            }
        };
        match self {
            Value::Tensor(tensor) => forget(tensor),
            Value::Tensors(list) => list.iter_mut().flatten().for_each(forget),
            _ => {}
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Tensor(_) => "a tensor",
            Value::Tensors(_) => "a list of tensors",
            Value::Int(_) => "an int",
            Value::Ints(_) => "a list of ints",
            Value::Float(_) => "a float",
            Value::Floats(_) => "a list of floats",
            Value::Bool(_) => "a bool",
            Value::Bools(_) => "a list of bools",
            Value::Str(_) => "a string",
            Value::Complex(..) => "a complex number",
            Value::Scalars(_) => "a list of numbers",
            Value::Dtype(_) => "a dtype",
            Value::Layout(_) => "a layout",
            Value::Device(_) => "a device",
            Value::MemoryFormat(_) => "a memory format",
            Value::Opaque => "an opaque object",
        }
    }
}

/// A number given where the schema says `Scalar`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(Expr),
    /// A double.
    Float(Expr),
    /// A truth value.
    Bool(Expr),
    /// A complex number.
    Complex(f64, f64),
}
