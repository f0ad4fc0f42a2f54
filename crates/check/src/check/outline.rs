//! A program's graph with recorded shapes, for HTML pages.
use crate::report::{GraphView, NodeView, ValueView};
use serde_json::Value as Json;
use sizewise_expr::{Pool, print, read};
use sizewise_ir::{ExprTable, Graph, GraphInput, Meta, Program, Size, Sym, ValueId};

/// Graphs nested deeper are left out.
const MAX_DEPTH: usize = 16;

/// The graph of a program.
pub fn outline(program: &Program) -> GraphView {
    let mut writer = Writer { exprs: &program.exprs, pool: Pool::new() };
    let mut view = GraphView::default();
    for (spec, input) in program.signature.inputs.iter().zip(program.graph.inputs()) {
        if let (true, GraphInput::Value(id)) = (spec.is_user_input(), input) {
            view.inputs.push(writer.value(&program.graph, *id));
        }
    }
    writer.nodes(&program.graph, 0, &mut view.nodes);
    for (spec, output) in program.signature.outputs.iter().zip(program.graph.outputs()) {
        if spec.is_user_output() {
            output.for_each_value(&mut |id| view.outputs.push(program.graph.name(id).to_string()));
        }
    }
    view
}

struct Writer<'p> {
    exprs: &'p ExprTable,
    pool: Pool,
}

impl Writer<'_> {
    fn nodes(&mut self, graph: &Graph, depth: usize, out: &mut Vec<NodeView>) {
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
            out.push(NodeView {
                name: node.name.to_string(),
                op: node.target.to_string(),
                depth,
                uses,
                values: node.output_values().map(|id| self.value(graph, id)).collect(),
                location: location.map(|l| l.to_string()),
                code: location.map(|l| l.code.to_string()).filter(|code| !code.is_empty()),
                module: node.provenance.module().filter(|path| !path.is_empty()).map(str::to_string),
            });
            if depth < MAX_DEPTH {
                for input in &node.inputs {
                    if let sizewise_ir::Argument::Graph(inner) = &input.arg {
                        self.nodes(&inner.graph, depth + 1, out);
                    }
                }
            }
        }
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
