//! Calls: that what is called exists, and that it is given and gives what it should.
use super::arguments::{describe, fits};
use super::graphs::{Callee, Checks, ScopedGraph, callee};
use super::rule::{Profile, Rule};
use sizewise_ir::Node;
use sizewise_ir::Wrapper;
use sizewise_ir::schema::{OperatorName, Schema, SchemaTable, Tags};

/// Functions of `operator` that programs call on numbers.
const OPERATOR_FUNCTIONS: &[&str] = &[
    "getitem", "add", "mul", "sub", "truediv", "ge", "le", "gt", "lt", "eq", "ne", "floordiv", "mod", "and_",
    "or_", "not_", "pow", "neg", "pos", "abs", "lshift", "rshift",
];
/// Functions of `math` that programs call on numbers.
const MATH_FUNCTIONS: &[&str] = &["ceil", "floor", "trunc"];
/// Functions of torch that programs call on symbols or for their effect on tracing.
const TORCH_FUNCTIONS: &[&str] = &[
    "torch.sym_int",
    "torch.sym_float",
    "torch.sym_ite",
    "torch.sym_max",
    "torch.sym_min",
    "torch.sym_not",
    "torch.sym_sqrt",
    "torch._sym_sqrt",
    "torch.sym_sum",
    "torch._C._set_grad_enabled",
    "torch.amp.autocast_mode._enter_autocast",
    "torch.amp.autocast_mode._exit_autocast",
    "torch.fx.experimental.symbolic_shapes.cast_symbool_to_symint_guardless",
    "torch._functorch.predispatch._add_batch_dim",
    "torch._functorch.predispatch._remove_batch_dim",
    "torch._functorch.predispatch._vmap_increment_nesting",
    "torch._functorch.predispatch._vmap_decrement_nesting",
    "torch._functorch.predispatch.lazy_load_decompositions",
];

/// Checks every call.
pub(super) fn check(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        match callee(node) {
            Callee::Op { name, wrapper } => operator(checks, graph, node, name, wrapper),
            Callee::HigherOrder(name) => higher_order(checks, graph, node, name),
            Callee::Function(module, function) => python_function(checks, graph, node, module, function),
            Callee::Extension => {
                let message = format!("`{}` is of an extension that is not known here", node.target);
                checks.report(Rule::OperatorDeclared, graph, node, message);
            }
        }
        if !node.subgraphs().is_empty() && node.target.higher_order().is_none() {
            let message = format!("`{}` is given a graph and is no higher-order operator", node.target);
            checks.report(Rule::SubgraphArguments, graph, node, message);
        }
    });
}

fn higher_order(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, name: &str) {
    let entry = OperatorName { namespace: "higher_order", name, overload: "default" };
    let known = SchemaTable::global().find_name(entry);
    if !known.is_some_and(|overload| overload.tags().contains(Tags::HIGHER_ORDER)) {
        let message = format!("no higher-order operator is called `{name}`");
        checks.report(Rule::HigherOrderKnown, graph, node, message);
    }
}

/// Whether programs may call a Python function.
pub(super) fn is_function_on_numbers(module: &str, function: &str) -> bool {
    match module {
        "_operator" => OPERATOR_FUNCTIONS.contains(&function),
        "math" => MATH_FUNCTIONS.contains(&function),
        "" | "builtins" => function == "round",
        _ => TORCH_FUNCTIONS
            .iter()
            .any(|name| name.strip_suffix(function).and_then(|rest| rest.strip_suffix('.')) == Some(module)),
    }
}

fn python_function(
    checks: &mut Checks<'_>,
    graph: &ScopedGraph<'_>,
    node: &Node,
    module: &str,
    function: &str,
) {
    if is_function_on_numbers(module, function) {
        return;
    }
    if checks.profile < Profile::Edge {
        let message = format!("`{}` is no operator and no function that the IR allows", node.target);
        checks.report(Rule::CallTarget, graph, node, message);
    } else if function != "alloc" {
        let message = format!("`{}` is called; of Python's functions only `alloc` may be", node.target);
        checks.report(Rule::EdgeFunction, graph, node, message);
    }
}

/// Whether a namespace is one of ExecuTorch's own libraries, which verifiers know by name.
pub fn is_edge_own(namespace: &str) -> bool {
    matches!(namespace, "dim_order_ops" | "executorch_prim")
}

fn operator(
    checks: &mut Checks<'_>,
    graph: &ScopedGraph<'_>,
    node: &Node,
    name: OperatorName<'_>,
    wrapper: Option<Wrapper>,
) {
    if wrapper.is_some() && checks.profile < Profile::Edge {
        let message = format!("`{name}` is wrapped by ExecuTorch, which only the Edge dialect allows");
        checks.report(Rule::CallTarget, graph, node, message);
    }
    let Some(schema) = checks.schema(name) else {
        if !(checks.profile >= Profile::Edge && is_edge_own(name.namespace)) {
            let message = format!("nothing is known of the operator `{name}`; declare it");
            checks.report(Rule::OperatorDeclared, graph, node, message);
        }
        return;
    };
    arguments(checks, graph, node, schema);
    if node.outputs.len() != schema.returns.len() {
        let (found, wanted) = (node.outputs.len(), schema.returns.len());
        let message = format!("`{name}` gives {wanted} results, the node {found}");
        checks.report(Rule::OperatorResults, graph, node, message);
    }
}

fn arguments(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, schema: &Schema) {
    let op = schema.qualified();
    let mut given = vec![false; schema.args.len()];
    for (place, (parameter, input)) in node.matched(schema).enumerate() {
        let Some(index) = parameter else {
            let message = if input.name.is_empty() {
                format!(
                    "`{op}` takes {} arguments by position, and is given another at {place}",
                    schema.positional().len()
                )
            } else {
                format!("`{op}` has no argument `{}`", input.name)
            };
            checks.report(Rule::OperatorArguments, graph, node, message);
            continue;
        };
        let spec = &schema.args[index];
        if std::mem::replace(&mut given[index], true) {
            let message = format!("`{op}` is given `{}` twice", spec.name);
            checks.report(Rule::OperatorArguments, graph, node, message);
        }
        let ty = &spec.ty;
        if !fits(ty, &input.arg) {
            let message =
                format!("`{op}` takes `{}` as {ty}, but is given {}", spec.name, describe(&input.arg));
            checks.report(Rule::OperatorArguments, graph, node, message);
        }
    }
    for (spec, given) in schema.args.iter().zip(given) {
        if spec.is_required() && !given {
            let message = format!("`{op}` is not given `{}`", spec.name);
            checks.report(Rule::OperatorArguments, graph, node, message);
        }
    }
}
