//! Outlines: the names a program's graphs use and make, before they are resolved.
//!
//! A [`Program`](super::Program) is well formed by construction, so what breaks the rules of structure never becomes
//! one. An outline holds such a program all the same, so that a verifier can name everything that is wrong with it.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;

/// The names of a program.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    /// The computation.
    pub graph: GraphOutline,
    /// What the inputs and outputs are; `None` when the text has no signature.
    pub signature: Option<SignatureOutline>,
    /// The modules of the original program and the values that go in and out of each.
    pub modules: Vec<ModuleOutline>,
    /// Major and minor version of the schema; `None` for text, which has none.
    pub schema_version: Option<(i64, i64)>,
    /// What the archive keeps of the module's state; `None` when there is no archive.
    pub state: Option<State>,
}

/// The names of a graph.
#[derive(Debug, Clone, Default)]
pub struct GraphOutline {
    /// Inputs, calls and outputs in the order in which they stand.
    pub steps: Vec<OutlineStep>,
    /// The values of which metadata is recorded, and of which kind; names may repeat.
    pub recorded: Vec<(String, ValueKind)>,
    /// What the graph returns: names, and `None` for what is no single value.
    pub returns: Vec<Option<String>>,
}

/// A node of a graph as it is written.
#[derive(Debug, Clone)]
pub struct OutlineStep {
    /// The node's name.
    pub name: String,
    /// Whether the document gives the name, or it is taken from an output.
    pub named: bool,
    /// What it does.
    pub kind: StepKind,
    /// The names it uses.
    pub uses: Vec<String>,
    /// The values it makes.
    pub makes: Vec<(String, ValueKind)>,
    /// The graphs it is given, by name.
    pub subgraphs: Vec<(String, GraphOutline)>,
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Takes an input.
    Input,
    /// Calls an operator or fetches a graph.
    Call,
    /// Calls a method of a value, as plain FX may.
    MethodCall,
    /// Calls a module, as plain FX may.
    ModuleCall,
    /// Fetches an attribute that is no graph, as plain FX may.
    Attribute,
    /// Returns.
    Output,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A tensor.
    Tensor,
    /// An integer.
    SymInt,
    /// A float.
    SymFloat,
    /// A truth value.
    SymBool,
    /// An object of a custom class.
    CustomObj,
    /// Something that text does not tell.
    Unknown,
}

impl ValueKind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::Tensor => "tensor",
            ValueKind::SymInt => "SymInt",
            ValueKind::SymFloat => "SymFloat",
            ValueKind::SymBool => "SymBool",
            ValueKind::CustomObj => "custom object",
            ValueKind::Unknown => "value",
        }
    }
}

/// The names of a signature.
#[derive(Debug, Clone, Default)]
pub struct SignatureOutline {
    /// One for each input.
    pub inputs: Vec<InputOutline>,
    /// One for each output.
    pub outputs: Vec<OutputOutline>,
}

/// What a signature says of an input.
#[derive(Debug, Clone)]
pub struct InputOutline {
    /// What the input is.
    pub kind: InputKind,
    /// The name of the graph's input; `None` when the signature has a constant there.
    pub name: Option<String>,
    /// The qualified name of what is lifted.
    pub target: Option<String>,
}

/// The kinds of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// The user passes it.
    User,
    /// A parameter.
    Parameter,
    /// A buffer.
    Buffer {
        /// Whether it is part of the module's state.
        persistent: bool,
    },
    /// A constant tensor.
    TensorConstant,
    /// A custom object.
    CustomObj,
    /// A token that orders effects.
    Token,
    /// A constant that the user passes.
    Constant,
}

/// What a signature says of an output.
#[derive(Debug, Clone)]
pub struct OutputOutline {
    /// What the output is.
    pub kind: OutputKind,
    /// The name of the graph's value; `None` for a constant.
    pub name: Option<String>,
    /// The qualified name of what is changed, or the name of the input.
    pub target: Option<String>,
}

/// The kinds of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// The user gets it.
    User,
    /// The loss.
    Loss,
    /// A buffer's new value.
    BufferMutation,
    /// A parameter's new value.
    ParameterMutation,
    /// A parameter's gradient.
    GradientToParameter,
    /// A user input's gradient.
    GradientToUserInput,
    /// A user input's new value.
    UserInputMutation,
    /// A token.
    Token,
}

/// A module of the original program.
#[derive(Debug, Clone)]
pub struct ModuleOutline {
    /// Its qualified name.
    pub fqn: String,
    /// The graph's values that go in and come out.
    pub values: Vec<String>,
}

/// What an archive keeps of the module's state.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The entries among the weights, and whether each is a parameter.
    pub weights: IndexMap<String, bool, FxBuildHasher>,
    /// The entries among the constants.
    pub constants: IndexSet<String, FxBuildHasher>,
}
