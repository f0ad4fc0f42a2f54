//! From ATen to ExecuTorch's Edge dialect: operands take its form, operators are wrapped, and those that take a memory
//! format become the ones that take an order of dimensions. What cannot be brought into the dialect is named; the Edge
//! verifier says afterwards what is left of dtypes that an operator does not take, numbers as inputs and operators
//! outside the core set.
//!
//! Source: ExecuTorch, `exir/program/_program.py` (`to_edge`), `exir/passes/memory_format_ops_pass.py` and
//! `exir/passes/remove_graph_asserts_pass.py`.
use super::error::PassError;
use super::rewrite::{Rewriter, with_graph};
use super::{dead_code, derive, edge_noops, edge_operands};
use sizewise_ir::{
    Argument, Dialect, ExprTable, Graph, Hint, Input, MemoryFormat, Meta, Node, PassedAs, Program, Sym,
    Target, TensorMeta,
};
use sizewise_kernels::Operators;
use sizewise_verify::{edge_operator_stays, is_edge_own};

const NAME: &str = "edge";

/// The Edge form of a program of the ATen dialect.
///
/// # Errors
/// When the program is of another dialect, an order of dimensions cannot be told, or something cannot be brought into
/// the dialect: [`PassError::Left`] names it.
pub fn lower_to_edge(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    if program.dialect != Dialect::Aten {
        let message =
            format!("the program is of the {} dialect; only ATen programs are lowered", program.dialect);
        return Err(PassError::failed(NAME, message));
    }
    let source = with_graph(program, without_assertions(&program.graph));
    let rewritten = edge_operands::rewritten(&source, operators)?;
    let derived = derive::run(&rewritten, operators)?;
    let cleaned = dead_code::run(&edge_noops::removed(&derived), operators)?;
    let cleaned = edge_operands::without_unread(&cleaned);
    same_dtypes(program, &cleaned)?;
    let graph = lowered(&cleaned.graph, &cleaned.exprs)?;
    let mut program = with_graph(&cleaned, graph);
    program.dialect = Dialect::Edge;
    Ok(program)
}

/// Without assertions of dtype and device, as ExecuTorch does: the Edge dialect fixes both.
fn without_assertions(graph: &Graph) -> Graph {
    let mut rewriter = Rewriter::new(graph);
    for node in graph.nodes() {
        if node.target.op() != Some(("aten", "_assert_tensor_metadata", "default")) {
            rewriter.keep(node, &mut |inner| without_assertions(&inner.graph));
        }
    }
    rewriter.finish()
}

/// Refuses a program with values that changed their dtypes: a number that became a tensor counts more in promotion.
fn same_dtypes(before: &Program, after: &Program) -> Result<(), PassError> {
    let mut left = Vec::new();
    for (_, name, new) in after.graph.values() {
        let old = before.graph.find(name).and_then(|id| before.graph.meta(id).tensor());
        if let (Some(old), Meta::Tensor(new)) = (old, &new.meta)
            && old.dtype != new.dtype
        {
            left.push(format!(
                "`{name}` is {} and would become {}, as numbers become tensors",
                old.dtype, new.dtype
            ));
        }
    }
    if left.is_empty() { Ok(()) } else { Err(PassError::left("edge", left)) }
}

fn lowered(graph: &Graph, exprs: &ExprTable) -> Result<Graph, PassError> {
    let mut rewriter = Rewriter::new(graph);
    for node in graph.nodes() {
        let mut inner_error = None;
        let renamed = renamed(graph, node, exprs)?;
        rewriter.keep(&renamed, &mut |inner| match lowered(&inner.graph, exprs) {
            Ok(graph) => graph,
            Err(error) => {
                inner_error = Some(error);
                inner.graph.clone()
            }
        });
        if let Some(error) = inner_error {
            return Err(error);
        }
    }
    Ok(rewriter.finish())
}

/// The operator that takes an order of dimensions where another takes a memory format.
fn with_dim_order(name: (&str, &str, &str)) -> Option<&'static str> {
    Some(match name {
        ("aten", "_to_copy", "default") => "_to_dim_order_copy",
        ("aten", "clone", "default") => "_clone_dim_order",
        ("aten", "empty", "memory_format") => "_empty_dim_order",
        _ => return None,
    })
}

fn renamed(graph: &Graph, node: &Node, exprs: &ExprTable) -> Result<Node, PassError> {
    let Some(name @ (namespace, op, overload)) = node.target.op() else { return Ok(node.clone()) };
    if edge_operator_stays(namespace, op, overload) || is_edge_own(namespace) {
        return Ok(node.clone());
    }
    let wrapped = |path: String| Target::parse(&format!("executorch.exir.dialects.edge._ops.{path}"));
    let mut lowered = node.clone();
    match with_dim_order(name) {
        Some(op) => {
            lowered.target = wrapped(format!("dim_order_ops.{op}.default"));
            lowered.inputs.retain(|input| &*input.name != "memory_format");
            let result = node.output_values().next().map(|id| graph.meta(id));
            if let Some(Meta::Tensor(tensor)) = result {
                let format = match node.argument("memory_format") {
                    Some(Argument::MemoryFormat(format)) => Some(*format),
                    _ => None,
                };
                let Some(order) = dim_order(tensor, format, exprs) else {
                    let message =
                        format!("`{}`: the order of its dimensions in memory cannot be told", node.name);
                    return Err(PassError::failed(NAME, message));
                };
                lowered.inputs.push(Input {
                    name: "dim_order".into(),
                    arg: Argument::Ints(order),
                    passed_as: PassedAs::Keyword,
                });
            }
        }
        None => lowered.target = wrapped(format!("{namespace}.{op}.{overload}")),
    }
    Ok(lowered)
}

/// The dimensions from the outermost in memory to the innermost.
fn dim_order(tensor: &TensorMeta, format: Option<MemoryFormat>, exprs: &ExprTable) -> Option<Vec<i64>> {
    let rank = i64::try_from(tensor.sizes.len()).ok()?;
    match format.map(|format| format.to_string()).as_deref() {
        Some("contiguous_format") => return Some((0..rank).collect()),
        Some("channels_last") if rank == 4 => return Some(vec![0, 2, 3, 1]),
        Some("channels_last_3d") if rank == 5 => return Some(vec![0, 2, 3, 4, 1]),
        _ => {}
    }
    // Otherwise the result says itself: larger strides are further out, and equal ones stay in order.
    let known = |size: &Sym<i64>| match size {
        Sym::Literal(value) => Some(*value),
        Sym::Expr(e) => match exprs.get(*e)?.hint {
            Some(Hint::Int(value)) => Some(value),
            _ => None,
        },
    };
    let strides: Vec<i64> = tensor.strides.iter().map(known).collect::<Option<_>>()?;
    let mut order: Vec<i64> = (0..rank).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(strides.get(usize::try_from(dim).unwrap_or(0)).copied()));
    Some(order)
}
