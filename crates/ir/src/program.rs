//! A whole exported program.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use super::asked::Asked;
use super::constant::Constant;
use super::graph::{Graph, GraphInput};
use super::meta::ExprTable;
use super::outline::ValueKind;
use super::pytree::TreeSpec;
use super::signature::{InputSpec, Signature};

/// What operators a program may call and what else it promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// As `torch.export.export` gives it: any ATen operator, mutation allowed.
    Training,
    /// Functional ATen operators, as `run_decompositions` gives it.
    Aten,
    /// ExecuTorch's Edge dialect.
    Edge,
}

impl Dialect {
    /// The dialect of a verifier's name as programs record it.
    pub fn from_verifier(name: &str) -> Option<Dialect> {
        match name {
            "TRAINING" => Some(Dialect::Training),
            "" | "ATEN" => Some(Dialect::Aten),
            "EDGE" => Some(Dialect::Edge),
            _ => None,
        }
    }

    /// The name in reports: `training`, `aten`, `edge`.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Training => "training",
            Dialect::Aten => "aten",
            Dialect::Edge => "edge",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Inclusive bounds; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// The smallest value.
    pub min: Option<i64>,
    /// The largest value.
    pub max: Option<i64>,
}

impl Bounds {
    /// Whether no value is within: the minimum is above the maximum.
    pub fn is_empty(&self) -> bool {
        matches!((self.min, self.max), (Some(min), Some(max)) if min > max)
    }
}

/// A module of the original program and how it is called.
#[derive(Debug, Clone)]
pub struct ModuleCall {
    /// The module's qualified name; empty for the whole program.
    pub fqn: Arc<str>,
    /// How it is called, if recorded.
    pub signature: Option<ModuleSignature>,
}

/// How a module is called.
#[derive(Debug, Clone)]
pub struct ModuleSignature {
    /// The structure of the arguments: a tuple of the positional ones and a dictionary of the others.
    pub in_spec: TreeSpec,
    /// The structure of the result.
    pub out_spec: TreeSpec,
    /// The values that go in, in the order of the structure's leaves.
    pub inputs: Vec<CallValue>,
    /// The values that come out.
    pub outputs: Vec<CallValue>,
    /// The names of the arguments, positional ones first; those of `*args` are `args_0`, `args_1`, ..
    pub forward_arg_names: Option<Vec<Arc<str>>>,
}

/// What goes into a call of a module or comes out.
#[derive(Debug, Clone, PartialEq)]
pub enum CallValue {
    /// A value of the graph, by the name that the program gives; a verifier checks that there is one.
    Named {
        /// The name.
        name: Arc<str>,
        /// What it is said to be.
        kind: ValueKind,
    },
    /// An object of a custom class.
    Object {
        /// The value's name.
        name: Arc<str>,
        /// The class.
        class: Arc<str>,
    },
    /// A constant.
    Constant(Constant),
    /// Something else, which is not kept.
    Other,
}

/// An exported program, well formed: each value is made once, before it is used, and the signature
/// fits the graph.
#[derive(Debug, Clone)]
pub struct Program {
    /// The computation.
    pub graph: Graph,
    /// What the graph's inputs and outputs are.
    pub signature: Signature,
    /// The expressions that values refer to.
    pub exprs: ExprTable,
    /// Bounds of symbols, and of expressions as sympy prints them (`2*s80`).
    pub range_constraints: IndexMap<Arc<str>, Bounds>,
    /// Conditions on the inputs, Python expressions over `L['x'].size()[0]`.
    pub guards_code: Vec<Arc<str>>,
    /// Where torch asked for conditions on the inputs; empty where that is not known.
    pub asked: Vec<Asked>,
    /// The dialect the program was checked against; the strictest one if several are recorded.
    pub dialect: Dialect,
    /// The torch version that wrote the program.
    pub torch_version: Arc<str>,
    /// Major and minor version of the schema.
    pub schema_version: (i64, i64),
    /// Versions of the operator sets.
    pub opset_version: IndexMap<Arc<str>, i64>,
    /// The modules of the original program, the whole program first.
    pub module_calls: Vec<ModuleCall>,
    /// The values of 0-dimensional tensors that passes have lifted to buffers, by qualified name.
    pub scalars: IndexMap<Arc<str>, Constant>,
    /// The user's annotations and other metadata, by key.
    pub metadata: IndexMap<Arc<str>, Arc<str>>,
    /// What is odd about the program but does not keep it from being read, for people.
    pub warnings: Vec<String>,
}

impl Program {
    /// The constant that the user has to pass for this input of the graph, if it was burned in.
    pub fn burned_in(&self, index: usize) -> Option<&Constant> {
        match (self.signature.inputs.get(index)?, self.graph.inputs().get(index)) {
            (InputSpec::Constant { value, .. }, _) => Some(value),
            (InputSpec::User { .. }, Some(GraphInput::Constant(value))) => Some(value),
            _ => None,
        }
    }

    /// How the whole program is called, if recorded.
    pub fn call_signature(&self) -> Option<&ModuleSignature> {
        self.module_calls.iter().find(|call| call.fqn.is_empty())?.signature.as_ref()
    }
}
