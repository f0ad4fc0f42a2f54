//! Constant folding of shape arithmetic: a number whose record is a literal becomes that literal, and numbers of one
//! recorded expression become one value.
//!
//! Records are taken at their word: have `derive` infer them anew where they are in doubt.
use super::error::PassError;
use super::purity::is_pure;
use super::rewrite::{New, Rewriter, with_graph};
use rustc_hash::FxHashMap;
use sizewise_ir::{ExprRef, Graph, Meta, Output, Program, Sym, ValueId};
use sizewise_kernels::Operators;

pub(super) fn run(program: &Program, _: &Operators) -> Result<Program, PassError> {
    Ok(with_graph(program, folded(&program.graph)))
}

/// The literal that is recorded of a number.
fn literal(meta: &Meta) -> Option<New> {
    match meta {
        Meta::SymInt(Sym::Literal(value)) => Some(New::Int(*value)),
        Meta::SymFloat(Sym::Literal(value)) => Some(New::Float(*value)),
        Meta::SymBool(Sym::Literal(value)) => Some(New::Bool(*value)),
        _ => None,
    }
}

fn expression(meta: &Meta) -> Option<(ExprRef, u8)> {
    match meta {
        Meta::SymInt(Sym::Expr(e)) => Some((*e, 0)),
        Meta::SymFloat(Sym::Expr(e)) => Some((*e, 1)),
        Meta::SymBool(Sym::Expr(e)) => Some((*e, 2)),
        _ => None,
    }
}

fn folded(graph: &Graph) -> Graph {
    let mut rewriter = Rewriter::new(graph);
    let mut known: FxHashMap<(ExprRef, u8), ValueId> = FxHashMap::default();
    // What the graph returns stays a value: the signature says that it is one.
    let mut returned = vec![false; graph.value_count()];
    graph.outputs().iter().for_each(|output| output.for_each_value(&mut |id| returned[id.index()] = true));
    for node in graph.nodes() {
        let single = match node.outputs.as_slice() {
            [Output::Value(id)] if is_pure(node) && !returned[id.index()] => Some(*id),
            _ => None,
        };
        if let Some(id) = single {
            let meta = graph.meta(id);
            let same =
                expression(meta).and_then(|key| known.get(&key)).and_then(|first| rewriter.now(*first));
            if let Some(new) = literal(meta).or(same) {
                rewriter.replace(id, new);
                continue;
            }
        }
        rewriter.keep(node, &mut |inner| folded(&inner.graph));
        for id in node.output_values() {
            if let Some(key) = expression(graph.meta(id)) {
                known.entry(key).or_insert(id);
            }
        }
    }
    rewriter.finish()
}
