//! A program's graph with recorded shapes, for HTML pages.
use crate::report::{CodeLine, GraphView, InnerGraph, NodeView, ValueView};
use serde_json::Value as Json;
use sizewise_expr::{Pool, print, read};
use sizewise_ir::{Argument, ExprTable, Graph, GraphInput, Meta, Program, Size, Sym, ValueId};

/// Graphs nested deeper are left out.
const MAX_DEPTH: usize = 16;

/// The graph of a program.
pub fn outline(program: &Program) -> GraphView {
    let mut writer = OutlineWriter { exprs: &program.exprs, pool: Pool::new() };
    let mut view = GraphView::default();
    for (spec, input) in program.signature.inputs.iter().zip(program.graph.inputs()) {
        let GraphInput::Value(id) = input else { continue };
        let list = if spec.is_user_input() { &mut view.inputs } else { &mut view.state };
        list.push(writer.value(&program.graph, *id));
    }
    writer.nodes(&program.graph, 0, &mut view);
    for (spec, output) in program.signature.outputs.iter().zip(program.graph.outputs()) {
        if spec.is_user_output() {
            output.for_each_value(&mut |id| view.outputs.push(program.graph.name(id).to_string()));
        }
    }
    view
}

/// Whether a path is that of a module within the program. What torch puts where it knows none is no path.
fn is_module(path: &str) -> bool {
    !path.is_empty() && path != "_empty_nn_module_stack_from_metadata_hook"
}

struct OutlineWriter<'p> {
    exprs: &'p ExprTable,
    pool: Pool,
}

impl OutlineWriter<'_> {
    fn nodes(&mut self, graph: &Graph, depth: usize, view: &mut GraphView) {
        for node in graph.nodes() {
            let mut uses = Vec::new();
            for input in &node.inputs {
                input.arg.for_each_value(&mut |id| {
                    let name = graph.name(id).to_string();
                    if !uses.contains(&name) {
                        uses.push(name);
                    }
                });
            }
            let location = node.provenance.location();
            view.nodes.push(NodeView {
                name: node.name.to_string(),
                op: node.target.to_string(),
                depth,
                uses,
                values: node.output_values().map(|id| self.value(graph, id)).collect(),
                location: location.map(|l| l.to_string()),
                code: location.map(|l| l.code.to_string()).filter(|code| !code.is_empty()),
                module: node.provenance.module().filter(|path| is_module(path)).map(str::to_string),
                place: location.as_ref().map(CodeLine::of),
            });
            let caller = view.nodes.len() - 1;
            for input in node.inputs.iter().filter(|_| depth < MAX_DEPTH) {
                if let Argument::Graph(inner) = &input.arg {
                    self.inner(&inner.name, &inner.graph, caller, depth + 1, view);
                }
            }
        }
    }

    fn inner(&mut self, name: &str, graph: &Graph, caller: usize, depth: usize, view: &mut GraphView) {
        let inputs = graph.inputs().iter().filter_map(|input| match input {
            GraphInput::Value(id) => Some(self.value(graph, *id)),
            _ => None,
        });
        let inputs = inputs.collect();
        let mut outputs = Vec::new();
        for output in graph.outputs() {
            output.for_each_value(&mut |id| outputs.push(graph.name(id).to_string()));
        }
        let (at, start) = (view.inner.len(), view.nodes.len());
        view.inner.push(InnerGraph { name: name.to_owned(), caller, nodes: start..start, inputs, outputs });
        self.nodes(graph, depth, view);
        view.inner[at].nodes.end = view.nodes.len();
    }

    fn value(&mut self, graph: &Graph, id: ValueId) -> ValueView {
        let meta = graph.meta(id);
        let (kind, sizes, value) = match meta {
            Meta::Tensor(tensor) => {
                let sizes = tensor.sizes.iter().map(|size| self.size(*size)).collect();
                (tensor.dtype.name().to_string(), Some(sizes), None)
            }
            Meta::SymInt(value) => (meta.kind_name().to_string(), None, Some(self.size(*value))),
            other => (other.kind_name().to_string(), None, None),
        };
        ValueView { name: graph.name(id).to_string(), kind, sizes, value }
    }

    fn size(&mut self, size: Size) -> Json {
        match size {
            Sym::Literal(value) => value.into(),
            Sym::Expr(expr) => {
                let text = self.exprs.get(expr).map_or("?", |known| &known.text);
                match read::closed(&mut self.pool, text) {
                    Ok(read) if print::try_expression(&self.pool, read.expr).is_ok() => {
                        print::python(&self.pool, read.expr, &|symbol| self.pool.symbol_name(symbol))
                    }
                    _ => text.to_string(),
                }
                .into()
            }
        }
    }
}
