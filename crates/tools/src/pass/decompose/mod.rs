//! Operators that are not of the core ATen set become calls of those that are. Each operator's meaning is a line of
//! `formulas.rs` or a function; shapes are inferred by the fake kernels as the calls are made, so that what is recorded
//! holds for all sizes. Graphs within are decomposed too. What has no decomposition is named.
//!
//! Source: torch 2.15, `torch/_decomp/decompositions.py`, `torch/_refs` and the composite kernels of
//! `aten/src/ATen/native`; the forms are those that `run_decompositions()` leaves.
mod attention;
mod builder;
mod call;
mod choices;
mod convolutions;
mod creation;
mod distances;
mod einsum;
mod elementwise;
mod formula;
mod formulas;
mod losses;
mod normalization;
mod padding;
mod pieces;
mod products;
mod recurrent;
mod reductions;
mod sampling;
mod series;
mod table;
mod turning;
mod views;

use super::error::PassError;
use super::rewrite::{Rewriter, rename_results, with_graph};
use super::tracer::{Edit, OldCall, Proxy, TraceError, Tracer, retrace_graphs};
use super::{dead_code, derive};
use crate::verify::is_core_or_excepted;
use builder::Builder;
use sizewise_ir::{Argument, Dialect, Graph, GraphInput, Node, Program, Target};
use sizewise_kernels::Operators;
pub use table::operators as decomposed_operators;

const NAME: &str = "decompose";

/// What a decomposition gives: the values that stand for the operator's results.
type Made = Result<Vec<Proxy>, TraceError>;

/// A program of core ATen operators: the others are replaced by what they mean.
///
/// # Errors
/// When the program is of another dialect than ATen, or operators are left that have no decomposition:
/// [`PassError::Left`] names them.
pub fn decompose(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    if program.dialect != Dialect::Aten {
        let message = format!(
            "the program is of the {} dialect; only ATen programs are decomposed (see `functionalize`)",
            program.dialect
        );
        return Err(PassError::failed(NAME, message));
    }
    if let Some(name) = reads_memory(&program.graph) {
        let message = format!(
            "{name} reads memory as its operand lies there, and decompositions may lay the operand out otherwise"
        );
        return Err(PassError::failed(NAME, message));
    }
    let source = with_graph(program, with_numbers_read(&program.graph));
    let mut left = Vec::new();
    let traced = retrace_graphs(&source, operators, &mut |tracer, step| edited(tracer, step, &mut left))
        .map_err(|error| PassError::failed(NAME, error.to_string()))?;
    if !left.is_empty() {
        return Err(PassError::left(NAME, left));
    }
    let mut made = traced.program;
    let outputs: Vec<Argument> = {
        let pairs = made.graph.outputs().iter().zip(&made.signature.outputs);
        pairs.filter(|(_, spec)| spec.is_user_output()).map(|(argument, _)| argument.clone()).collect()
    };
    rename_results(&mut made, &outputs);
    let clean = dead_code::run(&made, operators)?;
    // Strides of what follows an operator whose decomposition lies otherwise in memory.
    match derive::run(&clean, operators) {
        Err(error) if derive::run(program, operators).is_ok() => {
            let message =
                format!("a decomposition lies otherwise in memory than its operator's result: {error}");
            Err(PassError::failed(NAME, message))
        }
        derived => Ok(derived.unwrap_or(clean)),
    }
}

/// A node that takes elements by their distances in memory from what an operator made.
fn reads_memory(graph: &Graph) -> Option<&str> {
    let given =
        |id| graph.inputs().iter().any(|input| matches!(input, GraphInput::Value(known) if *known == id));
    let of_made = |node: &Node| {
        let mut made = false;
        node.inputs.iter().take(1).for_each(|input| input.arg.for_each_value(&mut |id| made |= !given(id)));
        made
    };
    let by_distance =
        |node: &Node| matches!(node.target.op(), Some(("aten", op, _)) if op.starts_with("as_strided"));
    graph.nodes().iter().find(|node| by_distance(node) && of_made(node)).map(|node| &*node.name)
}

/// Numbers are read from tensors by the core operator, whose symbols are the same.
fn with_numbers_read(graph: &Graph) -> Graph {
    let mut rewriter = Rewriter::new(graph);
    for node in graph.nodes() {
        let mut node = node.clone();
        if node.target.op() == Some(("aten", "item", "default")) {
            node.target = Target::parse("torch.ops.aten._local_scalar_dense.default");
        }
        rewriter.keep(&node, &mut |inner| with_numbers_read(&inner.graph));
    }
    rewriter.finish()
}

/// What becomes of a call.
fn edited(tracer: &mut Tracer<'_>, step: &OldCall<'_>, left: &mut Vec<String>) -> Result<Edit, TraceError> {
    let Some((namespace, _, _)) = step.node.target.op() else { return Ok(Edit::Repeat) };
    if namespace != "aten" {
        return Ok(Edit::Repeat);
    }
    let op = step.node.target.to_string();
    if op == "aten.sym_size.int" {
        return size_read(tracer, step);
    }
    if table::find(&op).is_none() {
        if !is_core_or_excepted(&op) {
            left.push(format!(
                "`{}`: `{op}` is not of the core set, and there is no decomposition",
                step.node.name
            ));
        }
        return Ok(Edit::Repeat);
    }
    let replaced = Builder::new(tracer, table::find).replaced(step, &op);
    Ok(match replaced {
        Ok(results) => Edit::Replace(results),
        Err(error) => {
            left.push(format!("`{}`: `{op}`: {error}", step.node.name));
            Edit::Repeat
        }
    })
}

/// Repeats the reading of a size, which decompositions use too.
fn size_read(tracer: &mut Tracer<'_>, step: &OldCall<'_>) -> Result<Edit, TraceError> {
    let made = tracer.repeat(step)?;
    let at = |index: usize| step.inputs.get(index).map(|input| &input.arg);
    if let (Some(Argument::Tensor(id)), Some(Argument::Int(dim)), Some(size)) = (at(0), at(1), made.first())
        && let Ok(dim) = usize::try_from(*dim)
    {
        tracer.note_size_read(Proxy::tensor(*id), dim, *size);
    }
    Ok(Edit::Replace(made))
}
