//! What the inputs and outputs of a program's graph are.

use std::sync::Arc;

use super::constant::Constant;
use super::graph::ValueId;

/// What an input of the graph is.
#[derive(Debug, Clone, PartialEq)]
pub enum InputSpec {
    /// The user passes it. `None` when the graph's input is a constant.
    User {
        /// The graph's value.
        value: Option<ValueId>,
    },
    /// A parameter of the module, lifted.
    Parameter {
        /// The graph's value.
        value: ValueId,
        /// The parameter's qualified name.
        fqn: Arc<str>,
    },
    /// A buffer of the module, lifted.
    Buffer {
        /// The graph's value.
        value: ValueId,
        /// The buffer's qualified name.
        fqn: Arc<str>,
        /// Whether it is part of the module's state.
        persistent: bool,
    },
    /// A constant tensor, lifted.
    TensorConstant {
        /// The graph's value.
        value: ValueId,
        /// The constant's qualified name.
        fqn: Arc<str>,
    },
    /// A custom object, lifted.
    CustomObj {
        /// The graph's value.
        value: ValueId,
        /// The object's qualified name.
        fqn: Arc<str>,
    },
    /// A token that orders effects.
    Token {
        /// The token's name.
        name: Arc<str>,
    },
    /// The user passes it, and only this constant.
    Constant {
        /// The input's name.
        name: Arc<str>,
        /// The constant that was passed when the program was traced.
        value: Constant,
    },
}

impl InputSpec {
    /// Whether the user passes this input.
    pub fn is_user_input(&self) -> bool {
        matches!(self, InputSpec::User { .. } | InputSpec::Constant { .. })
    }
}

/// What an output of the graph is.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputSpec {
    /// The user gets it; it may be a constant.
    User,
    /// The loss, in a training program.
    Loss,
    /// A buffer's new value.
    BufferMutation {
        /// The buffer's qualified name.
        fqn: Arc<str>,
    },
    /// A parameter's new value.
    ParameterMutation {
        /// The parameter's qualified name.
        fqn: Arc<str>,
    },
    /// A parameter's gradient.
    GradientToParameter {
        /// The parameter's qualified name.
        fqn: Arc<str>,
    },
    /// A user input's gradient.
    GradientToUserInput {
        /// The placeholder's name.
        input: Arc<str>,
    },
    /// A user input's new value.
    UserInputMutation {
        /// The placeholder's name.
        input: Arc<str>,
    },
    /// A token that orders effects.
    Token {
        /// The token's name.
        name: Arc<str>,
    },
}

impl OutputSpec {
    /// Whether the user gets this output as part of the result.
    pub fn is_user_output(&self) -> bool {
        matches!(self, OutputSpec::User | OutputSpec::Loss)
    }
}

/// What each input and output of the graph is, in the graph's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Signature {
    /// One for each input of the graph.
    pub inputs: Vec<InputSpec>,
    /// One for each output of the graph.
    pub outputs: Vec<OutputSpec>,
}
