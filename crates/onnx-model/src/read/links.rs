//! The values of a graph by number, and which nodes use them.
use super::message::{GraphProto, NodeProto, ValueInfoProto};
use super::scope::{NameScope, captured, names_before, place};
use super::{ReadError, domain_of, graphs_of, wrong};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

/// The number of a value that is left out, or that the graph does not have.
const NONE: u32 = u32::MAX;

/// The values that a list of nodes uses and makes, by number: first those that are there before, then the outputs of
/// each node.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// How many values there are.
    count: usize,
    /// The numbers of the inputs, initializers and sparse initializers; those of equal names are equal.
    before: Vec<u32>,
    /// The numbers of the outputs of the graph.
    results: Vec<u32>,
    /// The nodes, in their order.
    nodes: Vec<Link>,
    /// The numbers of the inputs of all nodes.
    used: Vec<u32>,
    /// What nodes call, each once.
    operators: Vec<Operator>,
}

/// What is known of a node.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// Where the numbers of its inputs begin.
    used: u32,
    /// The number of its first output.
    made: u32,
    /// The number of its operator.
    operator: u32,
    /// Whether each of its outputs has a name.
    asks_for_all: bool,
    /// Whether it has graphs within.
    has_graphs: bool,
}

/// An operator, or a function that the model brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Its domain; empty for `ai.onnx`.
    pub domain: String,
    /// Its name.
    pub name: String,
}

/// A node that makes what another one uses.
pub(super) type Use = (usize, usize);

/// The numbers of operators by name: one for each domain.
type Numbers<'n> = FxHashMap<&'n str, SmallVec<[u32; 1]>>;

/// The numbers of values by name.
type Made<'n> = FxHashMap<&'n str, u32>;

impl Links {
    /// The links of nodes. `known` has the values that are there before, `results` those that have to be there at the
    /// end. Where a node uses what a later one makes, also who makes what each node uses.
    ///
    /// # Errors
    /// When a value is made more than once, or an input or a result by nothing.
    pub(super) fn of(
        list: &[NodeProto],
        known: &NameScope,
        results: &[ValueInfoProto],
    ) -> Result<(Links, Option<Vec<Use>>), ReadError> {
        let mut links = Links { count: known.count(), before: known.numbers(), ..Links::default() };
        links.nodes.reserve(list.len());
        links.used.reserve(2 * list.len());
        let mut made: Made = Made::with_capacity_and_hasher(links.count + list.len(), FxBuildHasher);
        made.extend(known.own());
        // Inputs that no node before makes: the node, and where the number of the input is.
        let mut late: Vec<(usize, usize)> = Vec::new();
        let mut late_within: Vec<&str> = Vec::new();
        let mut numbers: Numbers = Numbers::default();
        for (at, node) in list.iter().enumerate() {
            let operator = links.number_of_operator(node, &mut numbers);
            let (used, made_first) = (links.used.len() as u32, links.count as u32);
            let asks_for_all = node.output.iter().all(|name| !name.is_empty());
            let has_graphs = graphs_of(node).next().is_some();
            links.nodes.push(Link { used, made: made_first, operator, asks_for_all, has_graphs });
            for name in &node.input {
                let number = match made.get(name.as_str()) {
                    _ if name.is_empty() => NONE,
                    Some(&number) => number,
                    None if known.is_outside(name) => NONE,
                    None => {
                        late.push((at, links.used.len()));
                        NONE
                    }
                };
                links.used.push(number);
            }
            if has_graphs {
                late_within.extend(captured(node).into_iter().filter(|name| !made.contains_key(name)));
            }
            for output in &node.output {
                let number = links.count as u32;
                links.count += 1;
                if !output.is_empty() && (known.is_outside(output) || made.insert(output, number).is_some()) {
                    return Err(wrong(place(node), format!("`{output}` is made more than once")));
                }
            }
        }
        for &(at, used) in &late {
            let name = &list[at].input[used - links.nodes[at].used as usize];
            let Some(&number) = made.get(name.as_str()) else {
                return Err(wrong(place(&list[at]), format!("its input `{name}` is made by nothing")));
            };
            links.used[used] = number;
        }
        for output in results {
            let number = made.get(output.name.as_str()).copied();
            if number.is_none() && !known.is_outside(&output.name) {
                return Err(wrong(format!("output `{}`", output.name), "nothing makes it"));
            }
            links.results.push(number.unwrap_or(NONE));
        }
        // What graphs within name may be their own.
        let is_late = !late.is_empty() || late_within.iter().any(|name| made.contains_key(name));
        let uses = is_late.then(|| links.uses(list, &made));
        Ok((links, uses))
    }

    /// The number of what a node calls, a new one if it is the first to call that.
    fn number_of_operator<'n>(&mut self, node: &'n NodeProto, numbers: &mut Numbers<'n>) -> u32 {
        let domain = domain_of(node);
        let of_name = numbers.entry(node.op_type.as_str()).or_default();
        // Comparing empty texts by their bytes is slow.
        let has_domain = |own: &str| if domain.is_empty() { own.is_empty() } else { own == domain };
        let known = of_name.iter().find(|&&number| has_domain(&self.operators[number as usize].domain));
        if let Some(&number) = known {
            return number;
        }
        let number = self.operators.len() as u32;
        self.operators.push(Operator { domain: domain.to_owned(), name: node.op_type.clone() });
        of_name.push(number);
        number
    }

    /// Who makes what each node uses.
    fn uses(&self, list: &[NodeProto], made: &Made) -> Vec<Use> {
        let before = self.count - list.iter().map(|node| node.output.len()).sum::<usize>();
        // Who makes the values that are not there before.
        let mut makers: Vec<usize> = Vec::with_capacity(self.count - before);
        list.iter().enumerate().for_each(|(at, node)| makers.extend(node.output.iter().map(|_| at)));
        let maker = |number: usize| makers.get(number.checked_sub(before)?).copied();
        let mut uses = Vec::with_capacity(self.used.len());
        for (at, node) in list.iter().enumerate() {
            let numbers = self.inputs(at, node.input.len()).flatten();
            uses.extend(numbers.filter_map(maker).map(|maker| (maker, at)));
        }
        for at in self.with_graphs() {
            let numbers = captured(&list[at]).into_iter().filter_map(|name| Some(*made.get(name)? as usize));
            uses.extend(numbers.filter_map(maker).map(|maker| (maker, at)));
        }
        uses
    }

    /// Puts the nodes in another order; values keep their numbers.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.nodes = order.iter().map(|&at| self.nodes[at]).collect();
    }

    /// The nodes that have graphs within.
    pub(super) fn with_graphs(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|&at| self.has_graphs(at))
    }

    /// Whether a node has graphs within.
    pub(super) fn has_graphs(&self, node: usize) -> bool {
        self.nodes[node].has_graphs
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The numbers of a graph's inputs, initializers and sparse initializers with values, in this order.
    pub fn before(&self) -> impl Iterator<Item = usize> {
        self.before.iter().map(|&number| number as usize)
    }

    /// The numbers of a graph's outputs; `None` for those that a graph around it has.
    pub fn results(&self) -> impl Iterator<Item = Option<usize>> {
        self.results.iter().copied().map(some)
    }

    /// The numbers of the inputs of a node, which has so many; `None` for those that are left out.
    pub fn inputs(&self, node: usize, count: usize) -> impl Iterator<Item = Option<usize>> {
        let begin = self.nodes[node].used as usize;
        self.used[begin..begin + count].iter().copied().map(some)
    }

    /// The number of an input of a node, which has so many; `None` where it is left out.
    pub fn input(&self, node: usize, count: usize, at: usize) -> Option<usize> {
        let begin = self.nodes[node].used as usize;
        self.used[begin..begin + count].get(at).copied().and_then(some)
    }

    /// What nodes call, each once.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// What a node calls, by its position in [`Links::operators`].
    pub fn operator(&self, node: usize) -> usize {
        self.nodes[node].operator as usize
    }

    /// Whether each output of a node has a name.
    pub fn asks_for_all(&self, node: usize) -> bool {
        self.nodes[node].asks_for_all
    }

    /// The number of the first output of a node; the others follow it.
    pub fn outputs(&self, node: usize) -> usize {
        self.nodes[node].made as usize
    }
}

fn some(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

/// The values of the main graph by name; graphs within it name them.
pub(super) fn by_name(graph: &GraphProto, links: &Links) -> FxHashMap<String, usize> {
    let outputs = graph.node.iter().enumerate().flat_map(|(at, node)| {
        node.output.iter().enumerate().map(move |(output, name)| (name.as_str(), links.outputs(at) + output))
    });
    let before = names_before(graph).zip(links.before());
    let all = before.chain(outputs).filter(|(name, _)| !name.is_empty());
    all.map(|(name, number)| (name.to_owned(), number)).collect()
}

#[cfg(test)]
mod tests {
    use crate::read::Model;
    use crate::read::message::NodeProto;

    fn model(nodes: &str) -> Model {
        let head = "<ir_version: 8, opset_import: [\"\" : 17]>\ng (bool c, float[n] x) => (float[n] y)";
        Model::read(format!("{head}\n<float[1] w = {{1}}>\n{{ {nodes} }}").into_bytes()).expect(nodes)
    }

    #[test]
    fn nodes_come_after_those_that_make_what_they_and_their_graphs_use() {
        let branches = "then_branch = t () => (float[n] p) { p = Add(x, k) }, \
                        else_branch = e () => (float[n] q) { k2 = Neg(x) q = Neg(k2) }";
        for (nodes, order) in [
            ("a = Neg(x)\ny = Mul(a, w)".to_owned(), "a y"),
            ("y = Mul(a, w)\na = Neg(x)".to_owned(), "a y"),
            (format!("y = If<{branches}>(c)\nk = Neg(x)"), "k y"),
        ] {
            let model = model(&nodes);
            let made: Vec<&str> = model.graph.node.iter().map(|node| node.output[0].as_str()).collect();
            assert_eq!(made.join(" "), order, "{nodes}");
        }
    }

    #[test]
    fn inputs_have_the_numbers_of_the_outputs_that_they_name() {
        let nodes = "y = Sum(b, , a2, w, x)\na, a2 = TopK(x, w)\nb = Clip(a, , w)";
        let model = model(nodes);
        let name =
            |number: usize| model.all_values().find(|(_, own)| *own == number).map(|(name, _)| name.as_str());
        for (at, node) in model.graph.node.iter().enumerate() {
            let numbers = model.links.inputs(at, node.input.len());
            let named: Vec<&str> = numbers.map(|number| number.and_then(name).unwrap_or_default()).collect();
            let NodeProto { input, .. } = node;
            assert_eq!(named, *input, "{}", node.op_type);
            let operator = &model.links.operators()[model.links.operator(at)];
            assert_eq!((operator.domain.as_str(), &operator.name), ("", &node.op_type));
        }
        assert_eq!(
            model.links.results().map(|number| number.and_then(name)).collect::<Vec<_>>(),
            [Some("y")]
        );
        assert!(
            ["c", "x", "w", "a", "a2", "b", "y"]
                .iter()
                .all(|value| name(model.number(value).unwrap()) == Some(*value))
        );
    }
}
