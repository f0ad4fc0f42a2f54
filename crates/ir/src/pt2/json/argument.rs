//! Values and arguments of the schema.

use serde::Deserialize;

use super::{
    Double, Graph, Int, LayoutNumber, MemoryFormatNumber, Nothing, Ordered, ScalarType, Text, union,
};

/// A symbolic expression in text form.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct SymExpr<'a> {
    #[serde(borrow)]
    pub expr_str: Text<'a>,
    #[serde(default)]
    pub hint: Option<SymExprHint>,
}

union! {
    /// What an expression was when the program was traced.
    SymExprHint[] {
        as_int => Int(Int),
        as_bool => Bool(bool),
        as_float => Float(Double),
    }
}

union! {
    /// A size, a stride or another integer.
    SymInt['a] { as_expr => Expr(SymExpr<'a>), as_int => Int(Int), }
}

union! {
    /// A float.
    SymFloat['a] { as_expr => Expr(SymExpr<'a>), as_float => Float(Double), }
}

union! {
    /// A truth value.
    SymBool['a] { as_expr => Expr(SymExpr<'a>), as_bool => Bool(bool), }
}

union! {
    /// An integer argument: a value of the graph or a literal.
    SymIntArgument['a] { as_name => Name(Text<'a>), as_int => Int(Int), }
}

union! {
    /// A float argument: a value of the graph or a literal.
    SymFloatArgument['a] { as_name => Name(Text<'a>), as_float => Float(Double), }
}

union! {
    /// A bool argument: a value of the graph or a literal.
    SymBoolArgument['a] { as_name => Name(Text<'a>), as_bool => Bool(bool), }
}

/// A reference to a tensor; tokens have the same form.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct TensorArgument<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
}

union! {
    /// A tensor or nothing.
    OptionalTensorArgument['a] { as_tensor => Tensor(TensorArgument<'a>), as_none => None(Nothing), }
}

/// A device.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct Device<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(default)]
    pub index: Option<Int>,
}

/// A subgraph, handed to a higher-order operator.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct GraphArgument<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub graph: Box<Graph<'a>>,
}

/// A reference to an object of a custom class.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct CustomObjArgument<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub class_fqn: Text<'a>,
}

/// A complex number.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(in crate::pt2) struct ComplexValue {
    pub real: Double,
    pub imag: Double,
}

union! {
    /// Anything an operator takes or gives.
    Argument['a] {
        as_none => None(Nothing),
        as_tensor => Tensor(TensorArgument<'a>),
        as_tensors => Tensors(Vec<TensorArgument<'a>>),
        as_int => Int(Int),
        as_ints => Ints(Vec<Int>),
        as_float => Float(Double),
        as_floats => Floats(Vec<Double>),
        as_string => Str(Text<'a>),
        as_strings => Strs(Vec<Text<'a>>),
        as_sym_int => SymInt(SymIntArgument<'a>),
        as_sym_ints => SymInts(Vec<SymIntArgument<'a>>),
        as_scalar_type => ScalarType(ScalarType),
        as_memory_format => MemoryFormat(MemoryFormatNumber),
        as_layout => Layout(LayoutNumber),
        as_device => Device(Device<'a>),
        as_bool => Bool(bool),
        as_bools => Bools(Vec<bool>),
        as_sym_bool => SymBool(SymBoolArgument<'a>),
        as_sym_bools => SymBools(Vec<SymBoolArgument<'a>>),
        as_graph => Graph(GraphArgument<'a>),
        as_optional_tensors => OptionalTensors(Vec<OptionalTensorArgument<'a>>),
        as_custom_obj => CustomObj(CustomObjArgument<'a>),
        as_operator => Operator(Text<'a>),
        as_sym_float => SymFloat(SymFloatArgument<'a>),
        as_sym_floats => SymFloats(Vec<SymFloatArgument<'a>>),
        as_optional_tensor => OptionalTensor(OptionalTensorArgument<'a>),
        as_complex => Complex(ComplexValue),
        as_nested_tensors => NestedTensors(Vec<Vec<TensorArgument<'a>>>),
        as_int_lists => IntLists(Vec<Vec<Int>>),
        as_string_to_argument => Map(Ordered<'a, Argument<'a>>),
        as_float_lists => FloatLists(Vec<Vec<Double>>),
    }
}

union! {
    /// A constant given for an input.
    ConstantValue['a] {
        as_none => None(Nothing),
        as_int => Int(Int),
        as_float => Float(Double),
        as_string => Str(Text<'a>),
        as_bool => Bool(bool),
    }
}
