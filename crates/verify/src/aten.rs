//! ATen: functional operators with fake kernels, contiguous state, new values like the old; and the core operator set.
use super::graphs::{Callee, Checks, ScopedGraph, callee, tags};
use super::rule::Rule;
use sizewise_ir::schema::{OperatorName, SchemaTable, Tags};
use sizewise_ir::{InputSpec, Meta, OutputSpec, Sym, TensorMeta, ValueId};
use std::sync::Arc;

/// Operators that ExecuTorch allows although they are not of the core set, beside those that stay unwrapped.
const CORE_EXCEPTIONS: &[(&str, &str)] = &[
    ("mkldnn_rnn_layer", "default"),
    ("_upsample_bilinear2d_aa", "default"),
    ("quantize_per_tensor", "default"),
    ("dequantize", "self"),
    ("max", "default"),
    ("min", "default"),
    ("full_like", "default"),
];
/// Operators that stay as they are in the Edge dialect: assertions, and those that yield or constrain symbols.
const UNWRAPPED: &[(&str, &str)] = &[
    ("_assert_scalar", "default"),
    ("_assert_async", "msg"),
    ("scalar_tensor", "default"),
    ("sym_stride", "int"),
    ("sym_size", "int"),
    ("sym_numel", "default"),
    ("_local_scalar_dense", "default"),
    ("sym_constrain_range", "default"),
    ("sym_constrain_range_for_size", "default"),
];
/// The overload with the tag `core` that the crate's table leaves out because it writes an argument.
const CORE_MUTABLE: (&str, &str) = ("atan2", "out");

/// Whether an ATen operator may stand in an Edge program without its wrapper.
pub(super) fn stays_unwrapped(name: OperatorName<'_>) -> bool {
    name.namespace == "aten" && UNWRAPPED.contains(&(name.name, name.overload))
}

/// Whether an operator stands in Edge programs under its own name.
pub fn edge_operator_stays(namespace: &str, name: &str, overload: &str) -> bool {
    stays_unwrapped(OperatorName { namespace, name, overload })
}

/// Whether an operator is of the core ATen set, or stands in core programs all the same: the exceptions of ExecuTorch's
/// verifier, and assertions.
pub fn is_core_or_excepted(op: &str) -> bool {
    let Some(found) = SchemaTable::global().find(op) else { return false };
    let (name, tags) = (found.name(), found.tags());
    let overload = (name.name, name.overload);
    tags.contains(Tags::CORE)
        || tags.contains(Tags::VIEW_COPY)
        || CORE_EXCEPTIONS.contains(&overload)
        || UNWRAPPED.contains(&overload)
        || overload == ("_assert_tensor_metadata", "default")
}

/// Checks what the ATen dialect asks for.
pub(super) fn check(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        let Callee::Op { name, .. } = callee(node) else { return };
        if let Some(how) = writes(checks, name) {
            checks.report(Rule::Functional, graph, node, format!("`{name}` {how}"));
        } else if let Some(schema) = checks.schema(name) {
            let op = name.to_string();
            let declared = checks.operators.declared(&op).is_some();
            if !declared && !checks.operators.has_kernel(&op) {
                let message = format!("there is no fake kernel for `{}` here", schema.qualified());
                checks.report(Rule::FakeKernel, graph, node, message);
            }
        }
    });
    let graph = checks.graphs[0].clone();
    contiguous(checks, &graph);
    mutations(checks, &graph);
}

/// How an operator writes an argument. ATen operators without a schema here are told by their names, which say so.
fn writes(checks: &Checks<'_>, name: OperatorName<'_>) -> Option<String> {
    if let Some(schema) = checks.schema(name) {
        let written = schema.args.iter().find(|argument| argument.is_written())?;
        return Some(format!("writes its argument `{}`", written.name));
    }
    let aten = name.namespace == "aten";
    let in_place = name.name.ends_with('_') && !name.name.ends_with("__");
    let out = name.overload == "out" || name.overload.ends_with("_out");
    (aten && (in_place || out)).then(|| "writes an argument, as its name says".to_owned())
}

/// The strides of a contiguous tensor of known sizes, and whether these are they. Dimensions of one element have any
/// stride.
fn is_contiguous(meta: &TensorMeta) -> Option<bool> {
    let literal = |size: &Sym<i64>| match size {
        Sym::Literal(value) => Some(*value),
        Sym::Expr(_) => None,
    };
    let sizes: Vec<i64> = meta.sizes.iter().map(literal).collect::<Option<_>>()?;
    let strides: Vec<i64> = meta.strides.iter().map(literal).collect::<Option<_>>()?;
    if sizes.contains(&0) {
        return Some(true);
    }
    let mut expected: i64 = 1;
    for (size, stride) in sizes.iter().zip(&strides).rev() {
        if *size != 1 {
            if *stride != expected {
                return Some(false);
            }
            expected = expected.checked_mul(*size)?;
        }
    }
    Some(true)
}

fn contiguous(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>) {
    for input in &checks.program.signature.inputs {
        let (what, value, fqn) = match input {
            InputSpec::Parameter { value, fqn } => ("parameter", value, fqn),
            InputSpec::Buffer { value, fqn, .. } => ("buffer", value, fqn),
            InputSpec::TensorConstant { value, fqn } => ("constant", value, fqn),
            _ => continue,
        };
        let Meta::Tensor(meta) = graph.graph.meta(*value) else { continue };
        if is_contiguous(meta) == Some(false) {
            let name = Arc::clone(graph.graph.name(*value));
            let message = format!("the {what} `{fqn}` is not contiguous");
            checks.report_at(Rule::ContiguousState, "", &name, message);
        }
    }
}

/// The input that an output changes.
fn changed(checks: &Checks<'_>, output: &OutputSpec) -> Option<(ValueId, Arc<str>)> {
    let graph = &checks.program.graph;
    checks.program.signature.inputs.iter().find_map(|input| match (output, input) {
        (OutputSpec::BufferMutation { fqn: changed }, InputSpec::Buffer { value, fqn, .. })
        | (OutputSpec::ParameterMutation { fqn: changed }, InputSpec::Parameter { value, fqn })
            if changed == fqn =>
        {
            Some((*value, Arc::clone(fqn)))
        }
        (OutputSpec::UserInputMutation { input: changed }, InputSpec::User { value: Some(value) })
            if changed == graph.name(*value) =>
        {
            Some((*value, Arc::clone(changed)))
        }
        _ => None,
    })
}

fn mutations(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>) {
    for (output, argument) in checks.program.signature.outputs.iter().zip(graph.graph.outputs()) {
        let Some((old, name)) = changed(checks, output) else { continue };
        let Some(new) = argument.value() else { continue };
        let (Meta::Tensor(old), Meta::Tensor(new)) = (graph.graph.meta(old), graph.graph.meta(new)) else {
            continue;
        };
        let differs =
            |a: &Sym<i64>, b: &Sym<i64>| matches!((a, b), (Sym::Literal(a), Sym::Literal(b)) if a != b);
        let message = if old.dtype != new.dtype {
            format!("`{name}` is {}, its new value {}", old.dtype, new.dtype)
        } else if old.sizes.len() != new.sizes.len()
            || old.sizes.iter().zip(&new.sizes).any(|(a, b)| differs(a, b))
        {
            format!("`{name}` and its new value differ in their sizes")
        } else {
            continue;
        };
        checks.report_at(Rule::MutationMetadata, "", "output", message);
    }
}

/// Checks that ATen operators are of the core set.
pub(super) fn check_core(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        let Callee::Op { name, .. } = callee(node) else { return };
        let overload = (name.name, name.overload);
        let excepted = CORE_EXCEPTIONS.contains(&overload) || UNWRAPPED.contains(&overload);
        let asked = checks.is_core_exception(name) || checks.is_preserved(name);
        if name.namespace != "aten" || excepted || overload == CORE_MUTABLE || asked {
            return;
        }
        let tags = tags(name).unwrap_or_default();
        if !tags.contains(Tags::CORE) && !tags.contains(Tags::VIEW_COPY) {
            let message = format!("`{name}` is not of the core ATen operator set");
            checks.report(Rule::CoreOperator, graph, node, message);
        }
    });
}
