//! Dead code: calls without an effect whose results nothing uses.
//!
//! A call that is left out can no longer refuse its operands: the program may serve more inputs than before.
use super::error::PassError;
use super::purity::is_pure;
use super::rewrite::{Rewriter, with_graph};
use sizewise_ir::{Graph, Program, ValueId};
use sizewise_kernels::Operators;

pub(super) fn run(program: &Program, _: &Operators) -> Result<Program, PassError> {
    Ok(with_graph(program, without_dead_code(&program.graph)))
}

fn without_dead_code(graph: &Graph) -> Graph {
    let mut used = vec![false; graph.value_count()];
    let mut mark = |id: ValueId| used[id.index()] = true;
    graph.outputs().iter().for_each(|output| output.for_each_value(&mut mark));
    let mut live = vec![true; graph.nodes().len()];
    for (index, node) in graph.nodes().iter().enumerate().rev() {
        live[index] = !is_pure(node) || node.output_values().any(|id| used[id.index()]);
        if live[index] {
            node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut |id| used[id.index()] = true));
        }
    }
    let mut rewriter = Rewriter::new(graph);
    for (node, live) in graph.nodes().iter().zip(live) {
        if live {
            rewriter.keep(node, &mut |inner| without_dead_code(&inner.graph));
        }
    }
    rewriter.finish()
}
