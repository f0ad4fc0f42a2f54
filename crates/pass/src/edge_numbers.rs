//! Numbers where an operator takes a tensor.
use sizewise_ir::schema::{Schema, Type};
use sizewise_ir::{Argument, Constant, Dtype, Graph, Meta, Node, Operand, ValueId};
use sizewise_kernels::{Category, ResultType};

/// A number that stands where an operator takes a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// One that is written out.
    Literal(Written),
    /// One that the graph computes.
    Value(ValueId),
}

/// A number that is written out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Written {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Written {
    /// The dtype of the tensor that it becomes: that of `torch.tensor` of it, unless operands meet in `float64` and
    /// `float32` does not hold the number.
    pub(super) fn dtype(self, meeting: Option<Dtype>) -> Dtype {
        match self {
            Written::Int(_) => Dtype::Int64,
            Written::Float(value) if meeting == Some(Dtype::Float64) && f64::from(value as f32) != value => {
                Dtype::Float64
            }
            Written::Float(_) => Dtype::Float32,
            Written::Bool(_) => Dtype::Bool,
        }
    }

    fn category(self) -> Category {
        match self {
            Written::Int(_) => Category::Int,
            Written::Float(_) => Category::Float,
            Written::Bool(_) => Category::Bool,
        }
    }

    pub(super) fn constant(self) -> Constant {
        match self {
            Written::Int(value) => Constant::Int(value),
            Written::Float(value) => Constant::Float(value),
            Written::Bool(value) => Constant::Bool(value),
        }
    }
}

fn number(argument: &Argument) -> Option<Number> {
    let literal = |constant| Some(Number::Literal(constant));
    match argument {
        Argument::Int(v) | Argument::SymInt(Operand::Literal(v)) => literal(Written::Int(*v)),
        Argument::Float(v) | Argument::SymFloat(Operand::Literal(v)) => literal(Written::Float(*v)),
        Argument::Bool(v) | Argument::SymBool(Operand::Literal(v)) => literal(Written::Bool(*v)),
        Argument::SymInt(Operand::Value(id))
        | Argument::SymFloat(Operand::Value(id))
        | Argument::SymBool(Operand::Value(id)) => Some(Number::Value(*id)),
        _ => None,
    }
}

/// The places of a node's arguments that are numbers where the schema has a tensor.
pub(super) fn numbers(node: &Node, schema: &Schema) -> Vec<(usize, Number)> {
    let matched = node.matched(schema).enumerate();
    let numbers = matched.filter_map(|(place, (parameter, input))| {
        (schema.args.get(parameter?)?.ty == Type::Tensor).then_some(())?;
        Some((place, number(&input.arg)?))
    });
    numbers.collect()
}

/// The dtype in which tensors and numbers meet that a node is given for tensors; numbers count least, as in Python.
/// `None` where torch knows no such dtype.
pub(super) fn meeting(graph: &Graph, node: &Node, schema: &Schema) -> Option<Dtype> {
    let mut met = ResultType::default();
    for input in &node.inputs {
        if let Argument::Tensor(id) = input.arg
            && let Some(meta) = graph.meta(id).tensor()
        {
            met = met.with_dtype(meta.dtype, meta.sizes.len());
        }
    }
    for (_, number) in numbers(node, schema) {
        met = met.with_category(match number {
            Number::Literal(written) => written.category(),
            Number::Value(id) => match graph.meta(id) {
                Meta::SymFloat(_) => Category::Float,
                Meta::SymBool(_) => Category::Bool,
                _ => Category::Int,
            },
        });
    }
    met.dtype().ok()
}
