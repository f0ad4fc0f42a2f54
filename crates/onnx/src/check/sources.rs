//! What the elements of values are made of: the elements of inputs, or sizes and constants alone.
use crate::read::message::NodeProto;
use crate::read::{Model, graphs_of};
use crate::shape::{RunTime, is_drawn_at_random};
use crate::walk::{Step, inputs};
use rustc_hash::{FxHashMap, FxHashSet};

/// Why a condition stays open that speaks of numbers which are computed from sizes and not followed.
pub const SIZES_DECIDE: &str = "sizes decide it, through numbers that are not followed";

/// Why a condition stays open that speaks of numbers which are drawn at random.
pub const CHANCE_DECIDES: &str = "numbers that are drawn at random decide it";

/// What decides the elements of values.
pub(super) enum Decides {
    /// The elements of these inputs of the model, in its order.
    Inputs(Vec<String>),
    /// Numbers that are drawn at random, and no input.
    Chance,
    /// Sizes and constants alone.
    Sizes,
    /// This is not known: the value is one within a function of the model.
    Unknown,
}

/// Whether an output of a node depends on the elements of its input in this place.
fn is_read(node: &NodeProto, output: &str, input: usize) -> bool {
    const MASK: usize = 7;
    match (node.domain.as_str(), node.op_type.as_str()) {
        // The second output counts what the mask leaves.
        ("com.microsoft", "EmbedLayerNormalization")
            if node.output.get(1).is_some_and(|second| second == output) =>
        {
            input == MASK
        }
        _ => true,
    }
}

/// What values of a model are made of.
pub(super) struct Sources<'m> {
    /// The node that makes a value. What a graph within a node is given is made by that node.
    nodes: FxHashMap<&'m str, &'m NodeProto>,
    constants: FxHashSet<&'m str>,
    inputs: Vec<String>,
}

impl<'m> Sources<'m> {
    pub fn new(model: &'m Model) -> Sources<'m> {
        let mut sources = Sources {
            nodes: FxHashMap::default(),
            constants: FxHashSet::default(),
            inputs: inputs(model).into_iter().map(|input| input.name).collect(),
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

    /// What decides a condition on elements that a node leaves to run time.
    pub fn of_condition(&self, step: Step<'m>, left: &RunTime) -> Decides {
        let mut values = vec![step.input(left.input)];
        if left.is_position() {
            self.counts(step.input(0), &mut values);
        }
        self.of(values)
    }

    /// Adds the values that decide how many items a sequence has.
    fn counts(&self, sequence: &'m str, values: &mut Vec<&'m str>) {
        let (mut seen, mut rest) = (FxHashSet::from_iter([sequence]), vec![sequence]);
        while let Some(name) = rest.pop() {
            let node = self.nodes.get(name);
            let input = |at: usize| node.and_then(|node| node.input.get(at)).map(String::as_str);
            match node.map_or("", |node| node.op_type.as_str()) {
                "SequenceConstruct" | "SequenceEmpty" => {}
                "SplitToSequence" => values.extend(input(1)),
                "Identity" | "SequenceErase" | "SequenceInsert" | "SequenceMap" => {
                    rest.extend(input(0).filter(|name| seen.insert(name)));
                }
                _ => values.push(name),
            }
        }
    }

    /// What decides the elements of values.
    fn of(&self, mut rest: Vec<&'m str>) -> Decides {
        let mut seen: FxHashSet<&str> = rest.iter().copied().collect();
        let (mut is_traced, mut is_drawn) = (true, false);
        while let Some(name) = rest.pop() {
            let Some(node) = self.nodes.get(name) else {
                let is_input = self.inputs.iter().any(|input| input == name);
                is_traced &= is_input || self.constants.contains(name) || name.is_empty();
                continue;
            };
            let op = node.op_type.as_str();
            is_drawn |= is_drawn_at_random(op, node.input.get(2).is_some_and(|mode| !mode.is_empty()));
            // Sizes depend on no element, nor do numbers that are drawn for an input's shape.
            if matches!(op, "Shape" | "Size" | "RandomNormalLike" | "RandomUniformLike") {
                continue;
            }
            let inputs = node.input.iter().enumerate().filter(|(at, _)| is_read(node, name, *at));
            rest.extend(inputs.map(|(_, input)| input.as_str()).filter(|name| seen.insert(name)));
            let made = graphs_of(node).flat_map(|graph| graph.output.iter());
            rest.extend(made.map(|output| output.name.as_str()).filter(|name| seen.insert(name)));
        }
        let inputs: Vec<String> =
            self.inputs.iter().filter(|name| seen.contains(name.as_str())).cloned().collect();
        match (inputs.is_empty(), is_drawn) {
            (false, _) => Decides::Inputs(inputs),
            (true, true) => Decides::Chance,
            (true, false) if is_traced => Decides::Sizes,
            (true, false) => Decides::Unknown,
        }
    }
}
