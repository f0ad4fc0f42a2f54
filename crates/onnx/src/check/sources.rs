//! What the elements of values are made of: the elements of inputs, or sizes and constants alone.
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_onnx_model::read::message::NodeProto;
use sizewise_onnx_model::read::{Model, domain_of, graphs_of};
use sizewise_onnx_model::shape::{Counts, RunTime, operator};
use sizewise_onnx_model::walk::{WalkStep, inputs};

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
    pub fn of_condition(&self, step: WalkStep<'m>, left: &RunTime) -> Decides {
        if !left.is_position() {
            return self.of_input(step, left.input);
        }
        let mut values = vec![step.input(left.input)];
        self.counts(step.input(0), &mut values);
        self.of(values)
    }

    /// What decides the elements of an input.
    pub fn of_input(&self, step: WalkStep<'m>, input: usize) -> Decides {
        self.of(vec![step.input(input)])
    }

    /// Adds the values that decide how many items a sequence has.
    fn counts(&self, sequence: &'m str, values: &mut Vec<&'m str>) {
        let (mut seen, mut rest) = (FxHashSet::from_iter([sequence]), vec![sequence]);
        while let Some(name) = rest.pop() {
            let node = self.nodes.get(name);
            let input = |at: usize| node.and_then(|node| node.input.get(at)).map(String::as_str);
            // A graph within makes one item of each.
            let is_mapped = node.is_some_and(|node| node.op_type == "SequenceMap");
            let op = node.and_then(|node| operator(domain_of(node), &node.op_type));
            match op.map_or(Counts::Open, |op| op.counts) {
                Counts::Node => {}
                Counts::Elements(at) => values.extend(input(at)),
                Counts::Items => rest.extend(input(0).filter(|name| seen.insert(name))),
                Counts::Open if is_mapped => rest.extend(input(0).filter(|name| seen.insert(name))),
                Counts::Open => values.push(name),
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
            let op = operator(domain_of(node), &node.op_type);
            let has = |at: usize| node.input.get(at).is_some_and(|input| !input.is_empty());
            is_drawn |= op.is_some_and(|op| op.draws_given(has));
            let output = node.output.iter().position(|output| output == name);
            let inputs = node.input.iter().enumerate();
            let read = inputs.filter(|(at, _)| op.is_none_or(|op| op.depends(output, *at)));
            rest.extend(read.map(|(_, input)| input.as_str()).filter(|name| seen.insert(name)));
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
