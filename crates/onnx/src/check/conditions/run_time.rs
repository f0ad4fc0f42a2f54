//! The conditions that the values of inputs decide when the model runs.
use super::Check;
use crate::check::findings::LeftToRunTime;
use crate::check::run_time::sentences;
use crate::read::Model;
use crate::read::message::NodeProto;
use crate::walk::inputs;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::Expr;

/// Of more conditions, it is not said which inputs decide them.
const MAX_TRACED: usize = 200;

impl Check<'_> {
    /// Notes the conditions that the values of inputs decide.
    pub(super) fn run_time(&mut self) {
        let pool = &self.walk.env.pool;
        let shown = |e: Expr| {
            sizewise_expr::text::print::python(pool, e, &|symbol| self.symbolic.shown_name(pool, symbol))
        };
        let sources = Sources::new(self.model);
        let mut found = Vec::new();
        for (step, clause, sentence) in sentences(&self.walk, shown) {
            let condition = self.condition(step, sentence, clause.to_owned());
            let value = self.walk.run_time.iter().find(|(at, left)| *at == step && left.clause == clause);
            let value = value.and_then(|(_, left)| Some(self.walk.steps.get(step)?.input(left.input)));
            let inputs = match value {
                Some(value) if found.len() < MAX_TRACED => sources.of(value),
                _ => Vec::new(),
            };
            found.push(LeftToRunTime { condition, inputs });
        }
        self.report.run_time = found;
    }
}

/// What values of the main graph are made of.
struct Sources<'m> {
    nodes: FxHashMap<&'m str, &'m NodeProto>,
    inputs: Vec<String>,
}

impl<'m> Sources<'m> {
    fn new(model: &'m Model) -> Sources<'m> {
        let made = |node: &'m NodeProto| node.output.iter().map(move |name| (name.as_str(), node));
        let nodes = model.graph.node.iter().flat_map(made).collect();
        Sources { nodes, inputs: inputs(model).into_iter().map(|input| input.name).collect() }
    }

    /// The inputs of the model on whose elements those of a value depend, in the model's order.
    fn of(&self, value: &'m str) -> Vec<String> {
        let (mut seen, mut rest) = (FxHashSet::from_iter([value]), vec![value]);
        while let Some(name) = rest.pop() {
            // Sizes depend on no element.
            let node = self.nodes.get(name).filter(|node| !matches!(node.op_type.as_str(), "Shape" | "Size"));
            rest.extend(
                node.iter().flat_map(|node| &node.input).map(String::as_str).filter(|name| seen.insert(name)),
            );
        }
        self.inputs.iter().filter(|name| seen.contains(name.as_str())).cloned().collect()
    }
}
