//! Calls that ExecuTorch leaves out on the way to the Edge dialect: slices of everything, casts and copies that change
//! nothing, and empty operands of concatenations.
//!
//! Source: ExecuTorch, `exir/passes/remove_noop_pass.py` and `exir/passes/prune_empty_tensors_pass.py`.
use super::rewrite::{Rewriter, with_graph};
use sizewise_ir::{Argument, Graph, Input, Meta, Node, Output, Program, Sym, TensorMeta, ValueId};

/// The program without them.
pub(super) fn removed(program: &Program) -> Program {
    with_graph(program, without(&program.graph))
}

fn without(graph: &Graph) -> Graph {
    let mut rewriter = Rewriter::new(graph);
    for node in graph.nodes() {
        if let Some((result, operand)) = passes_through(graph, node)
            && let Some(now) = rewriter.now(operand)
        {
            rewriter.replace(result, now);
            continue;
        }
        if let Some(pruned) = without_empty_operands(graph, node) {
            rewriter.keep(&pruned, &mut |inner| without(&inner.graph));
            continue;
        }
        rewriter.keep(node, &mut |inner| without(&inner.graph));
    }
    rewriter.finish()
}

/// The result and the operand of a call whose result is its operand.
fn passes_through(graph: &Graph, node: &Node) -> Option<(ValueId, ValueId)> {
    let op = node.target.op()?;
    let ([Output::Value(result)], Some(Argument::Tensor(operand))) =
        (node.outputs.as_slice(), node.inputs.first().map(|input| &input.arg))
    else {
        return None;
    };
    let (Meta::Tensor(new), Meta::Tensor(old)) = (graph.meta(*result), graph.meta(*operand)) else {
        return None;
    };
    let same = match op {
        ("aten", "slice_copy", "Tensor") => is_static(new) && is_static(old) && new.sizes == old.sizes,
        ("aten", "_to_copy", "default") => {
            new.dtype == old.dtype
                && new.device == old.device
                && new.sizes == old.sizes
                && new.strides == old.strides
        }
        _ => false,
    };
    same.then_some((*result, *operand))
}

fn is_static(meta: &TensorMeta) -> bool {
    meta.sizes.iter().all(|size| matches!(size, Sym::Literal(_)))
}

/// A concatenation without its operands that have no element, if there are others.
fn without_empty_operands(graph: &Graph, node: &Node) -> Option<Node> {
    let op = node.target.op()?;
    if op != ("aten", "cat", "default") {
        return None;
    }
    let Some(Input { arg: Argument::Tensors(operands), .. }) = node.inputs.first() else { return None };
    let is_empty = |value: &ValueId| {
        let meta = graph.meta(*value).tensor();
        meta.is_some_and(|meta| meta.sizes.contains(&Sym::Literal(0)))
    };
    let kept: Vec<ValueId> = operands.iter().filter(|value| !is_empty(value)).copied().collect();
    if kept.is_empty() || kept.len() == operands.len() {
        return None;
    }
    let mut node = node.clone();
    node.inputs[0].arg = Argument::Tensors(kept);
    Some(node)
}
