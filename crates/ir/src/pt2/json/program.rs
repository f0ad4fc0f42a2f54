//! Programs, signatures and module calls of the schema.

use serde::Deserialize;

use super::{
    Argument, ConstantValue, CustomObjArgument, Graph, Int, Limit, Ordered, TensorArgument, Text, union,
};

/// A whole exported program.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct ExportedProgram<'a> {
    #[serde(borrow)]
    pub graph_module: GraphModule<'a>,
    #[serde(borrow)]
    pub opset_version: Ordered<'a, Int>,
    #[serde(borrow)]
    pub range_constraints: Ordered<'a, RangeConstraint>,
    pub schema_version: SchemaVersion,
    #[serde(borrow, default)]
    pub verifiers: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub torch_version: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub guards_code: Vec<Text<'a>>,
    /// Of live programs: where torch asked for conditions.
    #[serde(borrow, default)]
    pub asked: Vec<Asked<'a>>,
    /// Of programs before torch 2.3: pairs of dimensions of inputs that are equal.
    #[serde(borrow, default)]
    pub equality_constraints: Vec<(InputDim<'a>, InputDim<'a>)>,
}

/// A condition that torch recorded, with the line that asked for it.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct Asked<'a> {
    #[serde(borrow)]
    pub condition: Text<'a>,
    #[serde(borrow)]
    pub stack_trace: Text<'a>,
    #[serde(borrow)]
    pub cause: Text<'a>,
}

/// A dimension of an input, by the input's name.
pub(in crate::pt2) type InputDim<'a> = (Text<'a>, Int);

/// The version alone, to tell a document of another version from a malformed one.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct VersionOnly {
    pub schema_version: SchemaVersion,
}

/// Whether there is a graph, to tell other documents from malformed ones.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct ModuleOnly {
    pub graph_module: Option<serde::de::IgnoredAny>,
}

/// The version of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(in crate::pt2) struct SchemaVersion {
    pub major: Int,
    pub minor: Int,
}

/// The bounds of a symbol or an expression; null is unbounded.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(in crate::pt2) struct RangeConstraint {
    #[serde(deserialize_with = "Option::deserialize")]
    pub min_val: Option<Limit>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub max_val: Option<Limit>,
}

/// A graph with its signature.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct GraphModule<'a> {
    #[serde(borrow)]
    pub graph: Graph<'a>,
    #[serde(borrow)]
    pub signature: GraphSignature<'a>,
    #[serde(borrow)]
    pub module_call_graph: Vec<ModuleCallEntry<'a>>,
    #[serde(borrow, default)]
    pub metadata: Ordered<'a, Text<'a>>,
    #[serde(borrow, default)]
    pub treespec_namedtuple_fields: Ordered<'a, NamedTupleDef<'a>>,
}

/// The fields of a named tuple type.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct NamedTupleDef<'a> {
    #[serde(borrow)]
    pub field_names: Vec<Text<'a>>,
}

/// What each input and output of the graph is.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct GraphSignature<'a> {
    #[serde(borrow)]
    pub input_specs: Vec<InputSpec<'a>>,
    #[serde(borrow)]
    pub output_specs: Vec<OutputSpec<'a>>,
}

macro_rules! specs {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),+ })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        pub(in crate::pt2) struct $name<'a> { $(pub $field: $ty,)+ }
    )+};
}

specs! {
    /// A user's input or output.
    UserSpec { arg: Argument<'a> }
    /// A lifted parameter.
    ParameterSpec { arg: TensorArgument<'a>, parameter_name: Text<'a> }
    /// A lifted buffer.
    BufferSpec { arg: TensorArgument<'a>, buffer_name: Text<'a>, persistent: bool }
    /// A lifted constant.
    TensorConstantSpec { arg: TensorArgument<'a>, tensor_constant_name: Text<'a> }
    /// A lifted object.
    CustomObjSpec { arg: CustomObjArgument<'a>, custom_obj_name: Text<'a> }
    /// A token that orders effects, or a tensor by itself.
    PlainSpec { arg: TensorArgument<'a> }
    /// A constant that was passed as an input.
    ConstantInputSpec { name: Text<'a>, value: ConstantValue<'a> }
    /// A buffer's new value.
    BufferMutationSpec { arg: TensorArgument<'a>, buffer_name: Text<'a> }
    /// A parameter's new value or gradient.
    ParameterOutputSpec { arg: TensorArgument<'a>, parameter_name: Text<'a> }
    /// A user input's new value or gradient.
    UserInputOutputSpec { arg: TensorArgument<'a>, user_input_name: Text<'a> }
}

union! {
    /// What an input of the graph is.
    InputSpec['a] {
        user_input => User(UserSpec<'a>),
        parameter => Parameter(ParameterSpec<'a>),
        buffer => Buffer(BufferSpec<'a>),
        tensor_constant => TensorConstant(TensorConstantSpec<'a>),
        custom_obj => CustomObj(CustomObjSpec<'a>),
        token => Token(PlainSpec<'a>),
        constant_input => Constant(ConstantInputSpec<'a>),
    }
}

union! {
    /// What an output of the graph is.
    OutputSpec['a] {
        user_output => User(UserSpec<'a>),
        loss_output => Loss(PlainSpec<'a>),
        buffer_mutation => BufferMutation(BufferMutationSpec<'a>),
        parameter_mutation => ParameterMutation(ParameterOutputSpec<'a>),
        gradient_to_parameter => GradientToParameter(ParameterOutputSpec<'a>),
        gradient_to_user_input => GradientToUserInput(UserInputOutputSpec<'a>),
        user_input_mutation => UserInputMutation(UserInputOutputSpec<'a>),
        token => Token(PlainSpec<'a>),
    }
}

/// A module of the original program; the first entry, with the empty name, is the whole.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct ModuleCallEntry<'a> {
    #[serde(borrow)]
    pub fqn: Text<'a>,
    #[serde(borrow, default)]
    pub signature: Option<ModuleCallSignature<'a>>,
}

/// How a module is called. Its `inputs` and `outputs` repeat names of the graph; older files may lack them.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct ModuleCallSignature<'a> {
    #[serde(borrow, default)]
    pub inputs: Vec<Argument<'a>>,
    #[serde(borrow, default)]
    pub outputs: Vec<Argument<'a>>,
    #[serde(borrow)]
    pub in_spec: Text<'a>,
    #[serde(borrow)]
    pub out_spec: Text<'a>,
    #[serde(borrow, default)]
    pub forward_arg_names: Option<Vec<Text<'a>>>,
}
