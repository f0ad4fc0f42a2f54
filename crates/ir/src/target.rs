//! What nodes call: overloads of operators, higher-order operators and functions of Python.
use super::schema::OperatorName;
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
