//! Common subexpressions: calls of one operator with equal arguments are made once.
//!
//! In a graph that writes tensors only arithmetic on numbers is shared, as equal tensors need not stay equal there.
use super::error::PassError;
use super::purity::{is_arithmetic, is_repeatable, writes};
use super::rewrite::{Rewriter, with_graph};
use rustc_hash::FxHashMap;
use sizewise_ir::{Graph, Program, ValueId};
use sizewise_kernels::Operators;

pub(super) fn run(program: &Program, _: &Operators) -> Result<Program, PassError> {
    Ok(with_graph(program, shared(&program.graph)))
}

fn shared(graph: &Graph) -> Graph {
    let functional = !writes(graph);
    let mut known: FxHashMap<String, Vec<ValueId>> = FxHashMap::default();
    let mut rewriter = Rewriter::new(graph);
    for node in graph.nodes() {
        let shareable =
            node.subgraphs().is_empty() && if functional { is_repeatable(node) } else { is_arithmetic(node) };
        if shareable {
            // Without graphs among them, arguments say all there is to them in their debug form.
            let inputs: Vec<_> =
                node.inputs.iter().map(|input| (&input.name, rewriter.argument(&input.arg))).collect();
            let key = format!("{} {inputs:?}", node.target);
            let made: Vec<ValueId> = node.output_values().collect();
            match known.get(&key) {
                Some(before) if before.len() == made.len() => {
                    for (&old, &first) in made.iter().zip(before) {
                        if let Some(new) = rewriter.now(first) {
                            rewriter.replace(old, new);
                        }
                    }
                    continue;
                }
                _ => drop(known.insert(key, made)),
            }
        }
        rewriter.keep(node, &mut |inner| shared(&inner.graph));
    }
    rewriter.finish()
}
