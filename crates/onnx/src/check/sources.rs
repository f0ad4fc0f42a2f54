//! What the elements of values are made of: the elements of inputs, or sizes and constants alone.
use crate::read::message::NodeProto;
use crate::read::{Model, graphs_of, names_within};
use crate::walk::inputs;
use rustc_hash::{FxHashMap, FxHashSet};

/// Why a condition stays open that speaks of numbers which are computed from sizes and not followed.
pub const SIZES_DECIDE: &str = "sizes decide it, through numbers that are not followed";

/// What decides the elements of a value.
pub(super) enum Decides {
    /// The elements of these inputs of the model, in its order; of none where numbers are drawn at random.
    Inputs(Vec<String>),
    /// Sizes and constants alone.
    Sizes,
    /// This is not known: the value is one within a function of the model.
    Unknown,
}

/// What values of a model are made of.
pub(super) struct Sources<'m> {
    /// The node that makes a value. What a graph within a node is given is made by that node.
    nodes: FxHashMap<&'m str, &'m NodeProto>,
    constants: FxHashSet<&'m str>,
    inputs: Vec<String>,
    /// The inputs that are no tensors.
    others: FxHashSet<String>,
}

impl<'m> Sources<'m> {
    pub fn new(model: &'m Model) -> Sources<'m> {
        let given = inputs(model);
        let mut sources = Sources {
            nodes: FxHashMap::default(),
            constants: FxHashSet::default(),
            others: given.iter().filter(|input| !input.is_tensor).map(|input| input.name.clone()).collect(),
            inputs: given.into_iter().map(|input| input.name).collect(),
        };
        let mut open = vec![&model.graph];
        while let Some(graph) = open.pop() {
            sources.constants.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
            let sparse = graph.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
            sources.constants.extend(sparse.map(|values| values.name.as_str()));
            for node in &graph.node {
                sources.nodes.extend(node.output.iter().map(|name| (name.as_str(), node)));
                for within in graphs_of(node) {
                    sources.nodes.extend(within.input.iter().map(|input| (input.name.as_str(), node)));
                    open.push(within);
                }
            }
        }
        sources
    }

    /// Whether sizes and constants alone decide a condition on the elements of a value; `first` is the first input of the
    /// node that has the condition, which may be a sequence.
    pub fn are_sizes(&self, value: &'m str, first: &'m str) -> bool {
        matches!(self.of(value), Decides::Sizes) && self.sequences(first).is_empty()
    }

    /// The inputs of the model that are no tensors and of which a value is made: their lengths are data.
    pub fn sequences(&self, value: &'m str) -> Vec<String> {
        let Decides::Inputs(mut inputs) = self.of(value) else { return Vec::new() };
        inputs.retain(|input| self.others.contains(input));
        inputs
    }

    /// What decides the elements of a value.
    pub fn of(&self, value: &'m str) -> Decides {
        let (mut seen, mut rest) = (FxHashSet::from_iter([value]), vec![value]);
        let (mut is_traced, mut is_drawn) = (true, false);
        while let Some(name) = rest.pop() {
            let Some(node) = self.nodes.get(name) else {
                let is_input = self.inputs.iter().any(|input| input == name);
                is_traced &= is_input || self.constants.contains(name) || name.is_empty();
                continue;
            };
            let op = node.op_type.as_str();
            is_drawn |= op.starts_with("Random") || matches!(op, "Bernoulli" | "Dropout" | "Multinomial");
            // Sizes depend on no element.
            if matches!(op, "Shape" | "Size") {
                continue;
            }
            rest.extend(node.input.iter().map(String::as_str).filter(|name| seen.insert(name)));
            names_within(node, &mut |name| {
                if seen.insert(name) {
                    rest.push(name);
                }
            });
        }
        let inputs: Vec<String> =
            self.inputs.iter().filter(|name| seen.contains(name.as_str())).cloned().collect();
        match inputs.is_empty() && !is_drawn {
            true if is_traced => Decides::Sizes,
            true => Decides::Unknown,
            false => Decides::Inputs(inputs),
        }
    }
}
