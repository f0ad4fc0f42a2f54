//! What a model costs at all sizes that it takes: floating point operations, and bytes.
//!
//! Each node of the main graph is a step, in the order of the graph. What a node makes is a new storage, unless its result
//! is its input under other sizes. Weights and what `Constant` nodes hold are given.
use super::examples::{Walked, walked_for_shapes};
use super::outline::{module, origin};
use super::symbolic::{SizeSymbol, Symbolic, hint_in};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_cost::sizing::Buffer;
use sizewise_cost::{Cost, Given, Limits, Place, Share, StorageId, Tally};
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_kernels::Cx;
use sizewise_onnx_model::read::message::{GraphProto, NodeProto};
use sizewise_onnx_model::read::{Model, attribute, domain_of, graphs_of};
use sizewise_onnx_model::shape::{Call, Dtype, Known, Tensor, Value, Work, operator};
use sizewise_onnx_model::walk::Walk;
use std::cell::RefCell;

/// The greatest nesting of graphs.
const MAX_DEPTH: usize = 64;
/// The version of a domain that a model does not import.
const NO_IMPORT: i64 = 1;

/// What a model costs.
pub fn cost(model: &Model) -> Cost {
    let Walked { symbolic, walk, .. } = walked_for_shapes(model);
    followed(model, &symbolic, walk).0
}

/// What a model costs that was walked, and the memory that it makes.
pub(super) fn followed(model: &Model, symbolic: &Symbolic, mut walk: Walk) -> (Cost, Vec<Buffer>) {
    let values = std::mem::take(&mut walk.values);
    let limits = limits(symbolic, &mut walk);
    let tally = Tally::new(std::mem::take(&mut walk.env));
    let known = symbolic.symbols.iter().map(|(symbol, _)| *symbol).collect();
    let has_graphs = model.graph.node.iter().any(|node| graphs_of(node).next().is_some());
    let numbers = model.all_values().filter(|_| has_graphs).map(|(name, number)| (name.as_str(), number));
    let numbers = numbers.collect();
    let (storages, made) = (FxHashMap::default(), Vec::new());
    let mut steps = Steps { model, values, numbers, storages, made, known, tally };
    steps.given();
    (0..model.graph.node.len()).for_each(|at| steps.node(at));
    let shown = model.links.results().filter_map(|number| steps.storages.get(&number?).copied());
    let shown: Vec<StorageId> = shown.collect();
    steps.tally.shown(&shown);
    let buffer = |(name, id): &(&str, StorageId)| Some(Buffer::new((*name).into(), steps.tally.life(*id)?));
    let buffers = steps.made.iter().filter_map(buffer).collect();
    let source = |(input, dim): &(String, usize)| format!("{input}.shape[{dim}]");
    let symbols =
        symbolic.symbols.iter().filter_map(|(symbol, named)| Some((*symbol, source(named.source.as_ref()?))));
    let symbols = symbols.collect();
    let mut places = Vec::new();
    for (input, sizes) in &limits.inputs {
        let of = sizes.iter().enumerate().map(|(dim, &size)| (steps.tally.env.pool.as_symbol(size), dim));
        places.extend(of.filter_map(|(symbol, dim)| Some((symbol?, source(&(input.clone(), dim))))));
    }
    (steps.tally.finish(&shown, symbols, places, limits), buffers)
}

/// What the model asks of the sizes of its inputs.
fn limits(symbolic: &Symbolic, walk: &mut Walk) -> Limits {
    let known = symbolic.sizes.iter().filter(|(input, _)| input.shape.is_some());
    let inputs = known.map(|(input, sizes)| (input.name.clone(), sizes.clone())).collect();
    let mut conditions: Vec<Expr> = walk.env.guards().iter().map(|guard| guard.condition).collect();
    conditions.extend(symbolic.ranges(&mut walk.env.pool));
    let hint = |(symbol, _): &(_, SizeSymbol)| Some((*symbol, Int::from(hint_in(&walk.env, *symbol)?)));
    let example = symbolic.symbols.iter().filter_map(hint).collect();
    Limits { inputs, conditions, example }
}

/// The nodes, one after the other.
struct Steps<'m> {
    model: &'m Model,
    /// The values of the main graph by number.
    values: Vec<Option<Value>>,
    /// The values by name, where nodes have graphs that may use them.
    numbers: FxHashMap<&'m str, usize>,
    /// The storages of values.
    storages: FxHashMap<usize, StorageId>,
    /// What is made, by the value that shows it first.
    made: Vec<(&'m str, StorageId)>,
    /// The symbols that sizes of inputs are.
    known: FxHashSet<Symbol>,
    tally: Tally,
}

impl<'m> Steps<'m> {
    /// The bytes of a value; `None` where they are not known.
    fn bytes(&mut self, number: usize) -> Option<Expr> {
        let tensor = self.values.get(number)?.as_ref()?.tensor()?;
        // Several elements of these share a byte, or each has a length of its own.
        if is_packed(tensor.dtype) {
            return None;
        }
        let pool = &mut self.tally.env.pool;
        let size = pool.int(tensor.dtype.bytes());
        Some(tensor.shape.as_ref()?.iter().fold(size, |bytes, &size| pool.mul(bytes, size)))
    }

    /// Inputs and weights.
    fn given(&mut self) {
        let model = self.model;
        let before: Vec<usize> = model.links.before().collect();
        for (at, number) in before.into_iter().enumerate() {
            let given = if at < model.graph.input.len() { Given::Input } else { Given::Parameter };
            if self.storages.contains_key(&number) {
                continue;
            }
            let bytes = self.bytes(number).unwrap_or_else(|| {
                let name = model
                    .all_values()
                    .find(|(_, known)| *known == number)
                    .map_or("", |(name, _)| name.as_str());
                self.tally.inexact(format!("the bytes of `{name}` are not known"));
                Expr::ZERO
            });
            let storage = self.tally.given(given, bytes);
            self.storages.insert(number, storage);
        }
    }

    fn node(&mut self, at: usize) {
        let node = &self.model.graph.node[at];
        let (domain, name) = (domain_of(node), node.op_type.as_str());
        let op = operator(domain, name);
        let is_constant = op.is_some_and(|op| op.fills) && node.input.is_empty();
        let inputs: Vec<Option<usize>> = self.model.links.inputs(at, node.input.len()).collect();
        let mut touched: Vec<StorageId> =
            inputs.iter().filter_map(|number| self.storages.get(&(*number)?).copied()).collect();
        if graphs_of(node).next().is_some() || self.model.function(domain, name).is_some() {
            self.tally.inexact(format!("`{name}` runs graphs, which are not followed"));
            used(node, MAX_DEPTH, &mut |name| {
                let number = self.numbers.get(name);
                touched.extend(number.and_then(|number| self.storages.get(number)).copied());
            });
        }
        let mut made = Expr::ZERO;
        for (place, output) in node.output.iter().enumerate().filter(|(_, output)| !output.is_empty()) {
            let number = self.model.links.outputs(at) + place;
            let first =
                inputs.first().copied().flatten().and_then(|number| self.storages.get(&number).copied());
            let shared = first.filter(|_| place == 0 && op.is_some_and(|op| op.is_view));
            let bytes = self.bytes(number).unwrap_or_else(|| {
                self.tally.inexact(format!("the bytes of `{output}` are not known"));
                Expr::ZERO
            });
            if self.tally.env.pool.free_symbols(&[bytes]).iter().any(|symbol| !self.known.contains(symbol)) {
                self.tally.inexact(format!("data decide the size of `{output}`"));
            }
            let storage = match shared {
                Some(storage) => storage,
                None if is_constant => self.tally.given(Given::Parameter, bytes),
                None => {
                    made = self.tally.env.pool.add(made, bytes);
                    let storage = self.tally.made(bytes);
                    self.made.push((output, storage));
                    storage
                }
            };
            touched.push(storage);
            self.storages.insert(number, storage);
        }
        let flops = self.flops(at, node, &inputs).unwrap_or_else(|| {
            self.tally.inexact(format!("what `{name}` multiplies is not known"));
            Expr::ZERO
        });
        let (origin, module) = (origin(node), module(node).unwrap_or_default());
        let line = origin.location().map(|line| line.to_string()).unwrap_or_default();
        let place = Place { op: name, module: &module, line: &line };
        self.tally.step(&place, &touched, Share { flops, bytes: made });
    }

    /// The floating point operations of a node.
    fn flops(&mut self, at: usize, node: &'m NodeProto, inputs: &[Option<usize>]) -> Option<Expr> {
        let (domain, op) = (domain_of(node), node.op_type.as_str());
        // Those of graphs within are not counted, which was said.
        if graphs_of(node).next().is_some() || self.model.function(domain, op).is_some() {
            return Some(Expr::ZERO);
        }
        let products = match operator(domain, op)?.work {
            Work::Open => return None,
            Work::Nothing => return Some(Expr::ZERO),
            Work::Products(products) => products,
        };
        let pool = &mut self.tally.env.pool;
        let attributes: Vec<_> = node
            .attribute
            .iter()
            .filter_map(|own| Some((own.name.as_str(), attribute(pool, own, false)?)))
            .collect();
        let values = &self.values;
        let inputs: Vec<Option<&Value>> =
            inputs.iter().map(|number| values.get((*number)?)?.as_ref()).collect();
        let start = self.model.links.outputs(at);
        let results: Vec<Option<&Tensor>> =
            (start..start + node.output.len()).map(|number| values.get(number)?.as_ref()?.tensor()).collect();
        let version = self.model.imports.get(domain).copied().unwrap_or(NO_IMPORT);
        let outputs: Vec<bool> = node.output.iter().map(|name| !name.is_empty()).collect();
        let doubts = RefCell::default();
        let call = Call {
            domain,
            op,
            version,
            attributes: &attributes,
            inputs: &inputs,
            outputs: &outputs,
            is_run: false,
            found_at_load: &|_, _| Known::Maybe,
            doubts: &doubts,
        };
        let mut env = std::mem::take(&mut self.tally.env);
        let mut cx = Cx::new(&mut env);
        let flops = products(&mut cx, &call, &results).map(|products| {
            let two = cx.int(2);
            cx.mul(two, products)
        });
        self.tally.env = env;
        flops
    }
}

/// Whether elements of a type share bytes, or have no size.
fn is_packed(dtype: Dtype) -> bool {
    use Dtype::{F4E2M1, F6E2M3, F6E3M2, I2, I4, Str, U2, U4};
    matches!(dtype, Str | U2 | I2 | U4 | I4 | F4E2M1 | F6E2M3 | F6E3M2)
}

/// The values that a node uses, also those that graphs within it do.
fn used<'n>(node: &'n NodeProto, depth: usize, each: &mut dyn FnMut(&'n str)) {
    node.input.iter().for_each(|name| each(name));
    if depth == 0 {
        return;
    }
    let within = |graph: &'n GraphProto, each: &mut dyn FnMut(&'n str)| {
        graph.node.iter().for_each(|node| used(node, depth - 1, each));
        graph.output.iter().for_each(|output| each(&output.name));
    };
    graphs_of(node).for_each(|graph| within(graph, each));
}
