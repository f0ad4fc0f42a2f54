//! Edge: wrapped operators with the dtypes that have kernels, and tensors in and out.
use super::arguments::describe;
use super::aten::stays_unwrapped;
use super::edge_dtypes::{Mismatch, Takes, result_names, takes};
use super::graphs::{Callee, Checks, ScopedGraph, callee};
use super::rule::{Profile, Rule};
use sizewise_ir::Wrapper;
use sizewise_ir::schema::{OperatorName, Schema};
use sizewise_ir::{Argument, Constant, Dtype, GraphInput, Meta, Node, Output, ValueId};

/// ATen operators that operators of `dim_order_ops` stand for.
const DIM_ORDER_ATEN: &[(&str, &str)] =
    &[("_to_copy", "default"), ("empty", "memory_format"), ("clone", "default")];

/// Checks what the Edge dialect asks for.
pub(super) fn check(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        let Callee::Op { name, wrapper } = callee(node) else { return };
        match wrapper {
            Some(Wrapper::Edge) => {
                dim_order(checks, graph, node, name);
                if let Some(schema) = checks.schema(name) {
                    tensors(checks, graph, node, schema);
                    dtypes(checks, graph, node, schema);
                }
            }
            Some(Wrapper::Backend) if checks.profile != Profile::Backend => {
                let message = format!("`{name}` is an operator of a backend");
                checks.report(Rule::BackendOperator, graph, node, message);
            }
            Some(Wrapper::Backend) => {}
            None if stays_unwrapped(name) || checks.is_core_exception(name) => {}
            None if checks.profile == Profile::Backend && name.namespace == "executorch_prim" => {}
            None => {
                let message = format!("`{name}` is no Edge operator; it is not wrapped");
                checks.report(Rule::EdgeOperator, graph, node, message);
            }
        }
    });
    scalars(checks);
}

fn dim_order(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, name: OperatorName<'_>) {
    let by_format = name.namespace == "aten" && DIM_ORDER_ATEN.contains(&(name.name, name.overload));
    let message = if checks.options.dim_order && by_format {
        format!(
            "`{name}` gives a memory format; where dimension orders are used `dim_order_ops` has one for it"
        )
    } else if !checks.options.dim_order && name.namespace == "dim_order_ops" {
        format!("`{name}` gives a dimension order; memory formats are asked for")
    } else {
        return;
    };
    checks.report(Rule::DimOrder, graph, node, message);
}

/// The dtypes of the tensors that a call takes and gives, by the names of the schema. A list counts with its first
/// tensor.
fn tensor_dtypes(graph: &ScopedGraph<'_>, node: &Node, schema: &Schema) -> Vec<(String, Dtype)> {
    let dtype = |value: ValueId| graph.graph.meta(value).tensor().map(|meta| meta.dtype);
    let mut dtypes = Vec::new();
    let mut matched: Vec<_> = node.matched(schema).collect();
    matched.sort_by_key(|(parameter, _)| *parameter);
    for (parameter, input) in matched {
        let Some(spec) = parameter.and_then(|index| schema.args.get(index)) else { continue };
        let found = match (&input.arg, takes(&spec.ty)) {
            (_, None) => None,
            (Argument::Tensor(value) | Argument::OptionalTensor(Some(value)), _) => dtype(*value),
            (Argument::Tensors(values), Some(Takes::List)) => values.first().and_then(|value| dtype(*value)),
            (Argument::OptionalTensors(values), Some(Takes::List)) => {
                values.first().copied().flatten().and_then(dtype)
            }
            _ => None,
        };
        dtypes.extend(found.map(|found| (spec.name.clone(), found)));
    }
    for (index, name) in result_names(schema) {
        let found = match node.outputs.get(index) {
            Some(Output::Value(value)) => dtype(*value),
            Some(Output::List(values)) => values.first().copied().flatten().and_then(dtype),
            Some(Output::None | Output::Constant(_)) | None => None,
        };
        dtypes.extend(found.map(|found| (name, found)));
    }
    dtypes
}

/// Refuses numbers where the schema has a tensor: torch would make tensors of them, the runtime does not.
fn tensors(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, schema: &Schema) {
    for (parameter, input) in node.matched(schema) {
        let Some(spec) = parameter.and_then(|index| schema.args.get(index)) else { continue };
        let number =
            input.arg.is_number() && matches!(takes(&spec.ty), Some(Takes::Tensor | Takes::Optional));
        if number {
            let (op, given) = (schema.qualified(), describe(&input.arg));
            let message = format!(
                "`{op}` takes `{}` as a tensor, but is given {given}; lift it to a constant",
                spec.name
            );
            checks.report(Rule::EdgeTensor, graph, node, message);
        }
    }
}

fn dtypes(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, schema: &Schema) {
    let table = checks.options.edge_dtypes.of(schema);
    let dtypes = tensor_dtypes(graph, node, schema);
    let Err(mismatch) = table.check(&dtypes) else { return };
    let op = schema.qualified();
    let message = match mismatch {
        Mismatch::UnknownTensor(name) => format!("`{op}` has no combination of dtypes for `{name}`"),
        Mismatch::Dtype { tensor, found, allowed } => {
            let allowed: Vec<&str> = allowed.iter().map(|dtype| dtype.name()).collect();
            format!("`{op}` takes or gives `{tensor}` as {}, not as {found}", allowed.join(", "))
        }
        Mismatch::Joint => {
            let found: Vec<String> = dtypes.iter().map(|(name, dtype)| format!("{name} {dtype}")).collect();
            format!("`{op}` has no combination {}", found.join(", "))
        }
    };
    checks.report(Rule::EdgeDtype, graph, node, message);
}

fn is_scalar(meta: &Meta) -> bool {
    matches!(meta, Meta::SymInt(_) | Meta::SymFloat(_) | Meta::SymBool(_))
}

fn scalars(checks: &mut Checks<'_>) {
    let graph = &checks.program.graph;
    for (index, input) in graph.inputs().iter().enumerate() {
        let (scalar, name) = match input {
            GraphInput::Value(value) => (is_scalar(graph.meta(*value)), graph.name(*value).to_string()),
            GraphInput::Constant(constant) => {
                let scalar = matches!(constant, Constant::Int(_) | Constant::Float(_) | Constant::Bool(_));
                (scalar, format!("input {index}"))
            }
        };
        if scalar {
            let message = format!("`{name}` is a number; Edge programs take tensors");
            checks.report_at(Rule::ScalarInput, "", &name, message);
        }
    }
    for (index, output) in graph.outputs().iter().enumerate() {
        let scalar = match output.value() {
            Some(value) => is_scalar(graph.meta(value)),
            None => matches!(
                output,
                Argument::Int(_)
                    | Argument::Float(_)
                    | Argument::Bool(_)
                    | Argument::SymInt(_)
                    | Argument::SymFloat(_)
                    | Argument::SymBool(_)
            ),
        };
        if scalar {
            let message = format!("output {index} is a number; Edge programs give tensors");
            checks.report_at(Rule::ScalarOutput, "", "output", message);
        }
    }
}
