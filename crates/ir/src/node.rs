//! Nodes of a graph: calls of operators.

use std::fmt;
use std::sync::Arc;

/// Higher-order operators that run one graph on the operands behind it.
const WRAPPERS: &[&str] = &[
    "wrap",
    "wrap_with_set_grad_enabled",
    "wrap_with_autocast",
    "wrap_activation_checkpoint",
    "tag_activation_checkpoint",
    "hints_wrapper",
    "strict_mode",
    "invoke_subgraph",
    "run_const_graph",
];

use super::argument::{Argument, Subgraph};
use super::graph::ValueId;
use super::provenance::Provenance;
use super::schema::{OperatorName, Schema};

/// What a node calls. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target(Arc<TargetKind>);

/// The kinds of target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// An overload of a registered operator: `torch.ops.aten.add.Tensor`.
    Op {
        /// The library: `aten`.
        namespace: Box<str>,
        /// The operator: `add`.
        op: Box<str>,
        /// The overload: `Tensor`, or `default`.
        overload: Box<str>,
    },
    /// A higher-order operator, by its name: `cond`.
    HigherOrder(Box<str>),
    /// A function of Python on numbers or of torch on symbols: module and function.
    Python {
        /// `_operator`, `math`, `torch`, `builtins` or any other.
        module: Box<str>,
        /// `floordiv`, `trunc`, `sym_max`.
        function: Box<str>,
    },
    /// An operator that a serialization extension writes: `#ns:op`.
    Extension {
        /// The extension.
        namespace: Box<str>,
        /// Its operator.
        op: Box<str>,
    },
}

impl Target {
    /// Reads a target as programs write it. Python's `operator` module is taken for `_operator`. A text
    /// of another form is a Python function without a module.
    pub fn parse(text: &str) -> Target {
        Target(Arc::new(Self::parse_kind(text)))
    }

    fn parse_kind(text: &str) -> TargetKind {
        if let Some((namespace, op)) = text.strip_prefix('#').and_then(|rest| rest.split_once(':')) {
            return TargetKind::Extension { namespace: namespace.into(), op: op.into() };
        }
        if let Some(path) = text.strip_prefix("torch.ops.") {
            if let Some(name) = path.strip_prefix("higher_order.") {
                return TargetKind::HigherOrder(name.into());
            }
            let mut parts = path.splitn(3, '.');
            if let (Some(namespace), Some(op)) = (parts.next(), parts.next()) {
                let overload = parts.next().unwrap_or("default");
                return TargetKind::Op {
                    namespace: namespace.into(),
                    op: op.into(),
                    overload: overload.into(),
                };
            }
        }
        let (module, function) = text.rsplit_once('.').unwrap_or(("", text));
        let module = if module == "operator" { "_operator" } else { module };
        TargetKind::Python { module: module.into(), function: function.into() }
    }

    /// The target by parts.
    pub fn kind(&self) -> &TargetKind {
        &self.0
    }

    /// Namespace, operator and overload, when it is an operator's overload.
    pub fn op(&self) -> Option<(&str, &str, &str)> {
        match self.kind() {
            TargetKind::Op { namespace, op, overload } => Some((namespace, op, overload)),
            _ => None,
        }
    }

    /// The name, when it is a higher-order operator.
    pub fn higher_order(&self) -> Option<&str> {
        match self.kind() {
            TargetKind::HigherOrder(name) => Some(name),
            _ => None,
        }
    }

    /// Whether it is a higher-order operator that runs one graph on the operands behind it.
    pub fn is_wrapper(&self) -> bool {
        self.higher_order().is_some_and(|name| WRAPPERS.contains(&name))
    }

    /// Module and function, when it is a Python function.
    pub fn python(&self) -> Option<(&str, &str)> {
        match self.kind() {
            TargetKind::Python { module, function } => Some((module, function)),
            _ => None,
        }
    }

    /// The operator that ExecuTorch wraps as one of its Edge or backend dialect:
    /// `executorch.exir.dialects.edge._ops.aten.add.Tensor`, also with `ops` for `_ops`, as it is serialized.
    pub fn wrapped(&self) -> Option<WrappedOp<'_>> {
        let TargetKind::Python { module, function } = self.kind() else { return None };
        let path = module.strip_prefix("executorch.exir.dialects.")?;
        let (wrapper, path) = path.split_once('.')?;
        let wrapper = match wrapper {
            "edge" => Wrapper::Edge,
            "backend" => Wrapper::Backend,
            _ => return None,
        };
        let path = path.strip_prefix("ops.").or_else(|| path.strip_prefix("_ops."))?;
        let (namespace, op) = path.split_once('.')?;
        Some(WrappedOp { wrapper, name: OperatorName { namespace, name: op, overload: function } })
    }

    /// The operator's name, wrapped or not.
    pub fn operator_name(&self) -> Option<OperatorName<'_>> {
        match (self.wrapped(), self.op()) {
            (Some(wrapped), _) => Some(wrapped.name),
            (None, Some((namespace, name, overload))) => Some(OperatorName { namespace, name, overload }),
            (None, None) => None,
        }
    }

    /// The target as programs write it: `torch.ops.aten.add.Tensor`.
    pub fn qualified_name(&self) -> String {
        match self.kind() {
            TargetKind::Op { .. } | TargetKind::HigherOrder(_) => format!("torch.ops.{self}"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Target {
    /// The short form: `aten.add.Tensor`, `higher_order.cond`, `_operator.floordiv`, `#ns:op`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            TargetKind::Op { namespace, op, overload } => write!(f, "{namespace}.{op}.{overload}"),
            TargetKind::HigherOrder(name) => write!(f, "higher_order.{name}"),
            TargetKind::Python { module, function } if module.is_empty() => f.write_str(function),
            TargetKind::Python { module, function } => write!(f, "{module}.{function}"),
            TargetKind::Extension { namespace, op } => write!(f, "#{namespace}:{op}"),
        }
    }
}

/// An operator of one of ExecuTorch's dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrappedOp<'a> {
    /// The dialect.
    pub wrapper: Wrapper,
    /// The operator within.
    pub name: OperatorName<'a>,
}

/// The dialects of ExecuTorch that wrap operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapper {
    /// The Edge dialect.
    Edge,
    /// Operators of a backend.
    Backend,
}

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PassedAs {
    /// Not recorded.
    Unknown,
    /// By position.
    Positional,
    /// By name.
    Keyword,
}

/// An argument of a node.
#[derive(Debug, Clone)]
pub struct Input {
    /// The parameter; empty for higher-order operators.
    pub name: Arc<str>,
    /// What is passed.
    pub arg: Argument,
    /// How it is passed.
    pub passed_as: PassedAs,
}

/// What a node gives. A node that returns nothing has no outputs, one that returns a tuple several.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// One value.
    Value(ValueId),
    /// A list of values in one return; `None` where an element is absent.
    List(Vec<Option<ValueId>>),
    /// No value: Python's `None`.
    None,
    /// A constant, from a higher-order operator.
    Constant(Constant),
}

/// A constant that is passed or returned where a value might be.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// Python's `None`.
    None,
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// A truth value.
    Bool(bool),
}

impl Constant {
    /// The constant as JSON; doubles that JSON lacks are strings, as Python writes them.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Constant::None => serde_json::Value::Null,
            Constant::Int(value) => (*value).into(),
            Constant::Float(value) if value.is_finite() => (*value).into(),
            Constant::Float(_) => self.to_string().into(),
            Constant::Str(text) => (**text).into(),
            Constant::Bool(value) => (*value).into(),
        }
    }
}

/// A call of an operator.
#[derive(Debug, Clone)]
pub struct Node {
    /// The node's name, unique in its graph.
    pub name: Arc<str>,
    /// What is called.
    pub target: Target,
    /// The arguments, in the order of the call.
    pub inputs: Vec<Input>,
    /// What comes out.
    pub outputs: Vec<Output>,
    /// Of a higher-order operator: whether it returns one tensor rather than a tuple of one.
    pub hop_single_tensor: Option<bool>,
    /// Where the node comes from.
    pub provenance: Provenance,
}

impl Node {
    /// The argument for this parameter, if it is passed.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.inputs.iter().find(|input| &*input.name == name).map(|input| &input.arg)
    }

    /// The arguments, each with the parameter of the schema that it is for: by name, or by position where it has
    /// none. The parameter is `None` where the schema has none for it.
    pub fn matched<'n>(&'n self, schema: &Schema) -> impl Iterator<Item = (Option<usize>, &'n Input)> {
        let mut unnamed = 0;
        self.inputs.iter().map(move |input| {
            let parameter = schema.parameter(&input.name, unnamed);
            unnamed += usize::from(input.name.is_empty());
            (parameter, input)
        })
    }

    /// Whether an argument is this value or holds it.
    pub fn uses(&self, value: ValueId) -> bool {
        let mut used = false;
        self.inputs.iter().for_each(|input| input.arg.for_each_value(&mut |id| used |= id == value));
        used
    }

    /// The graphs among the arguments, in order, but not those within them.
    pub fn subgraphs(&self) -> Vec<&Arc<Subgraph>> {
        let mut graphs = Vec::new();
        for input in &self.inputs {
            input.arg.for_each_graph(&mut |graph| graphs.push(graph));
        }
        graphs
    }

    /// Every value the node makes, in order.
    pub fn output_values(&self) -> impl Iterator<Item = ValueId> {
        self.outputs.iter().flat_map(Output::values)
    }
}

impl Output {
    /// The values of this output, in order.
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        let (one, many) = match self {
            Output::Value(value) => (Some(*value), &[] as &[_]),
            Output::List(values) => (None, values.as_slice()),
            Output::None | Output::Constant(_) => (None, &[] as &[_]),
        };
        one.into_iter().chain(many.iter().copied().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_read_as_programs_write_them() {
        for (text, short) in [
            ("torch.ops.aten.add.Tensor", "aten.add.Tensor"),
            ("torch.ops.aten.relu", "aten.relu.default"),
            ("torch.ops.higher_order.cond", "higher_order.cond"),
            ("_operator.floordiv", "_operator.floordiv"),
            ("operator.floordiv", "_operator.floordiv"),
            ("math.trunc", "math.trunc"),
            ("torch.sym_max", "torch.sym_max"),
            ("torch._functorch.predispatch._add_batch_dim", "torch._functorch.predispatch._add_batch_dim"),
            ("#ns:op", "#ns:op"),
            ("round", "round"),
            ("", ""),
            ("torch.ops.aten", "torch.ops.aten"),
        ] {
            assert_eq!(Target::parse(text).to_string(), short, "{text}");
        }
        assert_eq!(Target::parse("torch.ops.aten.add.Tensor").op(), Some(("aten", "add", "Tensor")));
        assert_eq!(Target::parse("torch.ops.higher_order.scan").higher_order(), Some("scan"));
        assert_eq!(Target::parse("math.trunc").python(), Some(("math", "trunc")));
        assert_eq!(Target::parse("torch.ops.aten.relu").qualified_name(), "torch.ops.aten.relu.default");
    }
}
