//! The schema of exported programs as a Rust user would write it: plain serde structs with owned strings and lists,
//! every field.
//!
//! The names and fields are those of the schema of torch 2.15 (`torch/_export/serde/schema.py`); unions are enums
//! with one key.
use serde::Deserialize;
use std::collections::HashMap;

/// A whole program.
#[derive(Debug, Deserialize)]
pub struct ExportedProgram {
    pub graph_module: GraphModule,
    pub opset_version: HashMap<String, i64>,
    pub range_constraints: HashMap<String, RangeConstraint>,
    pub schema_version: SchemaVersion,
    #[serde(default)]
    pub verifiers: Vec<String>,
    #[serde(default)]
    pub torch_version: String,
    #[serde(default)]
    pub guards_code: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct SchemaVersion {
    pub major: i64,
    pub minor: i64,
}

#[derive(Debug, Deserialize)]
pub struct RangeConstraint {
    pub min_val: Option<i64>,
    pub max_val: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct GraphModule {
    pub graph: Graph,
    pub signature: GraphSignature,
    pub module_call_graph: Vec<ModuleCallEntry>,
    #[serde(default)]
    pub metadata: HashMap<String, String>,
    #[serde(default)]
    pub treespec_namedtuple_fields: HashMap<String, NamedTupleDef>,
}

#[derive(Debug, Deserialize)]
pub struct NamedTupleDef {
    pub field_names: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Graph {
    pub inputs: Vec<Argument>,
    pub outputs: Vec<Argument>,
    pub nodes: Vec<Node>,
    pub tensor_values: HashMap<String, TensorMeta>,
    pub sym_int_values: HashMap<String, SymInt>,
    pub sym_bool_values: HashMap<String, SymBool>,
    #[serde(default)]
    pub is_single_tensor_return: bool,
    #[serde(default)]
    pub custom_obj_values: HashMap<String, CustomObjArgument>,
    #[serde(default)]
    pub sym_float_values: HashMap<String, SymFloat>,
}

#[derive(Debug, Deserialize)]
pub struct Node {
    pub target: String,
    pub inputs: Vec<NamedArgument>,
    pub outputs: Vec<Argument>,
    pub metadata: HashMap<String, String>,
    #[serde(default)]
    pub is_hop_single_tensor_return: Option<bool>,
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct NamedArgument {
    pub name: String,
    pub arg: Argument,
    #[serde(default)]
    pub kind: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct TensorMeta {
    pub dtype: i64,
    pub sizes: Vec<SymInt>,
    pub requires_grad: bool,
    pub device: Device,
    pub strides: Vec<SymInt>,
    pub storage_offset: SymInt,
    pub layout: i64,
}

#[derive(Debug, Deserialize)]
pub struct Device {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub index: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct SymExpr {
    pub expr_str: String,
    #[serde(default)]
    pub hint: Option<SymExprHint>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymExprHint {
    AsInt(i64),
    AsBool(bool),
    AsFloat(Float),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymInt {
    AsExpr(SymExpr),
    AsInt(i64),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymFloat {
    AsExpr(SymExpr),
    AsFloat(Float),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymBool {
    AsExpr(SymExpr),
    AsBool(bool),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymIntArgument {
    AsName(String),
    AsInt(i64),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymFloatArgument {
    AsName(String),
    AsFloat(Float),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymBoolArgument {
    AsName(String),
    AsBool(bool),
}

/// A number, or the name of one that JSON cannot write: "Infinity".
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Float {
    Number(f64),
    Name(String),
}

#[derive(Debug, Deserialize)]
pub struct TensorArgument {
    pub name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionalTensorArgument {
    AsTensor(TensorArgument),
    AsNone(bool),
}

#[derive(Debug, Deserialize)]
pub struct GraphArgument {
    pub name: String,
    pub graph: Box<Graph>,
}

#[derive(Debug, Deserialize)]
pub struct CustomObjArgument {
    pub name: String,
    pub class_fqn: String,
}

#[derive(Debug, Deserialize)]
pub struct ComplexValue {
    pub real: Float,
    pub imag: Float,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    AsNone(bool),
    AsTensor(TensorArgument),
    AsTensors(Vec<TensorArgument>),
    AsInt(i64),
    AsInts(Vec<i64>),
    AsFloat(Float),
    AsFloats(Vec<Float>),
    AsString(String),
    AsStrings(Vec<String>),
    AsSymInt(SymIntArgument),
    AsSymInts(Vec<SymIntArgument>),
    AsScalarType(i64),
    AsMemoryFormat(i64),
    AsLayout(i64),
    AsDevice(Device),
    AsBool(bool),
    AsBools(Vec<bool>),
    AsSymBool(SymBoolArgument),
    AsSymBools(Vec<SymBoolArgument>),
    AsGraph(GraphArgument),
    AsOptionalTensors(Vec<OptionalTensorArgument>),
    AsCustomObj(CustomObjArgument),
    AsOperator(String),
    AsSymFloat(SymFloatArgument),
    AsSymFloats(Vec<SymFloatArgument>),
    AsOptionalTensor(OptionalTensorArgument),
    AsComplex(ComplexValue),
    AsNestedTensors(Vec<Vec<TensorArgument>>),
    AsIntLists(Vec<Vec<i64>>),
    AsStringToArgument(HashMap<String, Argument>),
    AsFloatLists(Vec<Vec<Float>>),
}

#[derive(Debug, Deserialize)]
pub struct GraphSignature {
    pub input_specs: Vec<InputSpec>,
    pub output_specs: Vec<OutputSpec>,
}

#[derive(Debug, Deserialize)]
pub struct UserSpec {
    pub arg: Argument,
}

#[derive(Debug, Deserialize)]
pub struct PlainSpec {
    pub arg: TensorArgument,
}

#[derive(Debug, Deserialize)]
pub struct ParameterSpec {
    pub arg: TensorArgument,
    pub parameter_name: String,
}

#[derive(Debug, Deserialize)]
pub struct BufferSpec {
    pub arg: TensorArgument,
    pub buffer_name: String,
    pub persistent: bool,
}

#[derive(Debug, Deserialize)]
pub struct TensorConstantSpec {
    pub arg: TensorArgument,
    pub tensor_constant_name: String,
}

#[derive(Debug, Deserialize)]
pub struct CustomObjSpec {
    pub arg: CustomObjArgument,
    pub custom_obj_name: String,
}

#[derive(Debug, Deserialize)]
pub struct ConstantInputSpec {
    pub name: String,
    pub value: ConstantValue,
}

#[derive(Debug, Deserialize)]
pub struct BufferMutationSpec {
    pub arg: TensorArgument,
    pub buffer_name: String,
}

#[derive(Debug, Deserialize)]
pub struct UserInputOutputSpec {
    pub arg: TensorArgument,
    pub user_input_name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstantValue {
    AsNone(bool),
    AsInt(i64),
    AsFloat(Float),
    AsString(String),
    AsBool(bool),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSpec {
    UserInput(UserSpec),
    Parameter(ParameterSpec),
    Buffer(BufferSpec),
    TensorConstant(TensorConstantSpec),
    CustomObj(CustomObjSpec),
    Token(PlainSpec),
    ConstantInput(ConstantInputSpec),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSpec {
    UserOutput(UserSpec),
    LossOutput(PlainSpec),
    BufferMutation(BufferMutationSpec),
    ParameterMutation(ParameterSpec),
    GradientToParameter(ParameterSpec),
    GradientToUserInput(UserInputOutputSpec),
    UserInputMutation(UserInputOutputSpec),
    Token(PlainSpec),
}

#[derive(Debug, Deserialize)]
pub struct ModuleCallEntry {
    pub fqn: String,
    #[serde(default)]
    pub signature: Option<ModuleCallSignature>,
}

#[derive(Debug, Deserialize)]
pub struct ModuleCallSignature {
    pub inputs: Vec<Argument>,
    pub outputs: Vec<Argument>,
    pub in_spec: String,
    pub out_spec: String,
    #[serde(default)]
    pub forward_arg_names: Option<Vec<String>>,
}
