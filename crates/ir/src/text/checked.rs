//! Names fit to be written: a text form holds identifiers and no others, whatever a program calls its values, graphs
//! and operators.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use crate::graph::Renaming;
use crate::{Graph, InputSpec, OutputSpec, Program, Target, TargetKind};
use sizewise_expr::escape::{self, Identifiers, is_hidden, is_identifier, is_python_keyword};

use super::names::notation;
use super::scan::is_name;

/// What reads the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextReader {
    /// People, and this crate.
    Text,
    /// Python, which runs it.
    Python,
}

/// The library under which operators stand whose names cannot be written.
const RENAMED: &str = "renamed";

/// Names that the text of Python needs for something else.
const PYTHON_NAMES: &[&str] =
    &["self", "torch", "math", "operator", "device", "inf", "nan", "getattr", "builtins"];

/// Operators whose names begin and end with two underscores.
const DOUBLE_UNDERSCORES: &[&str] = &[
    "__and__",
    "__or__",
    "__xor__",
    "__lshift__",
    "__rshift__",
    "__iand__",
    "__ior__",
    "__ixor__",
    "__ilshift__",
    "__irshift__",
];

fn text_name(name: &str) -> bool {
    is_name(name) && !name.contains(is_hidden)
}

fn python_name(name: &str) -> bool {
    is_identifier(name)
        && !is_python_keyword(name)
        && !PYTHON_NAMES.contains(&name)
        && !name.starts_with("__")
}

/// Whether a target is names with dots between them, the first few characters of an extension's aside.
fn text_target(target: &Target) -> bool {
    let name = target.to_string();
    let name = name.strip_prefix('#').unwrap_or(&name);
    let word = |c: char| (c == '_' || c.is_alphanumeric()) && !is_hidden(c);
    name.split(['.', ':']).all(|part| part.chars().all(word))
}

/// Whether running a call of a target is running an operator: no other function of Python is reached through one.
fn python_target(target: &Target) -> bool {
    let plain = |name: &str| is_identifier(name) && !name.starts_with("__");
    match target.kind() {
        TargetKind::Op { namespace, op, overload } => {
            plain(namespace) && (plain(op) || DOUBLE_UNDERSCORES.contains(&&**op)) && plain(overload)
        }
        TargetKind::HigherOrder(name) => plain(name),
        TargetKind::Python { module, function } => match &**module {
            "_operator" => {
                notation(function).is_some()
                    || matches!(&**function, "getitem" | "not_" | "truth" | "abs" | "index")
            }
            "math" => plain(function),
            "torch" => plain(function) && function.trim_start_matches('_').starts_with("sym_"),
            "torch._functorch.predispatch" => plain(function),
            "torch._C" => matches!(&**function, "_set_grad_enabled"),
            "torch.amp.autocast_mode" => matches!(&**function, "_enter_autocast" | "_exit_autocast"),
            "torch.fx.experimental.symbolic_shapes" => {
                matches!(&**function, "cast_symbool_to_symint_guardless" | "sym_eq")
            }
            "builtins" | "" => {
                matches!(
                    &**function,
                    "round" | "max" | "min" | "abs" | "int" | "float" | "bool" | "pow" | "len"
                )
            }
            _ => false,
        },
        TargetKind::Extension { .. } => false,
    }
}

/// Whether a parameter's name may stand before an argument.
pub(super) fn is_parameter(name: &str, reader: TextReader) -> bool {
    match reader {
        TextReader::Text => text_name(name),
        TextReader::Python => is_identifier(name) && !is_python_keyword(name),
    }
}

/// The name of a parameter as the key of a dictionary of FX.
pub(super) fn parameter_text(name: &str) -> Cow<'_, str> {
    if text_name(name) { Cow::Borrowed(name) } else { Cow::Owned(escape::python_string(name)) }
}

/// A program whose names can be written, and comments that say which names are not those of the program given.
pub(super) struct Checked<'p> {
    pub program: Cow<'p, Program>,
    renamed: Vec<String>,
}

impl Checked<'_> {
    /// The comments, with this before each.
    pub fn comments(&self, indent: &str) -> String {
        let mut text = String::new();
        for line in &self.renamed {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{indent}# {line}");
        }
        text
    }
}

struct Names {
    names: Identifiers,
    targets: Identifiers,
    may_stand: fn(&Target) -> bool,
}

impl Renaming for Names {
    fn name(&mut self, name: &Arc<str>) -> Arc<str> {
        self.names.of(name).into()
    }

    fn target(&mut self, target: &Target) -> Target {
        if (self.may_stand)(target) {
            return target.clone();
        }
        Target::parse(&format!("torch.ops.{RENAMED}.{}.default", self.targets.of(&target.qualified_name())))
    }
}

/// All names and targets of a graph and of those within.
fn gather<'g>(graph: &'g Graph, names: &mut Vec<&'g str>, targets: &mut Vec<Target>) {
    names.extend(graph.values().map(|(_, name, _)| &**name));
    for node in graph.nodes() {
        names.push(&node.name);
        targets.push(node.target.clone());
        for input in &node.inputs {
            input.arg.for_each_operator(&mut |text| targets.push(Target::parse(text)));
        }
        for inner in node.subgraphs() {
            names.push(&inner.name);
            gather(&inner.graph, names, targets);
        }
    }
}

/// The program itself where its names can be written, else a copy with others in their place.
pub(super) fn checked(program: &Program, reader: TextReader) -> Checked<'_> {
    let name_fits: fn(&str) -> bool = match reader {
        TextReader::Text => text_name,
        TextReader::Python => python_name,
    };
    let target_fits: fn(&Target) -> bool = match reader {
        TextReader::Text => text_target,
        TextReader::Python => python_target,
    };
    let (mut names, mut targets) = (Vec::new(), Vec::new());
    gather(&program.graph, &mut names, &mut targets);
    for input in &program.signature.inputs {
        if let InputSpec::Constant { name, .. } | InputSpec::Token { name } = input {
            names.push(name);
        }
    }
    if names.iter().all(|name| name_fits(name)) && targets.iter().all(target_fits) {
        return Checked { program: Cow::Borrowed(program), renamed: Vec::new() };
    }
    let known = targets.iter().filter_map(|target| target.op()).map(|(_, op, _)| op);
    let mut renaming = Names {
        names: Identifiers::new(names.iter().copied(), name_fits),
        targets: Identifiers::new(known, |_| false),
        may_stand: target_fits,
    };
    let mut copy = program.clone();
    copy.graph = program.graph.renamed(&mut renaming);
    for input in &mut copy.signature.inputs {
        if let InputSpec::Constant { name, .. } | InputSpec::Token { name } = input {
            *name = renaming.name(name);
        }
    }
    for output in &mut copy.signature.outputs {
        if let OutputSpec::GradientToUserInput { input } | OutputSpec::UserInputMutation { input } = output {
            *input = renaming.name(input);
        }
    }
    let line =
        |(name, made): (&str, &str)| format!("{made}: {}", escape::python_string(&escape::abridged(name)));
    let mut renamed: Vec<String> = renaming.names.renamed().map(line).collect();
    renamed.extend(renaming.targets.renamed().map(|pair| format!("torch.ops.{RENAMED}.{}", line(pair))));
    Checked { program: Cow::Owned(copy), renamed }
}
