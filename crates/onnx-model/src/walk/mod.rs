//! Walks a model's graph with the shape functions: the same code for symbolic and for concrete sizes.
mod calls;
mod clauses;
mod control;
mod inputs;
mod large;
mod load;
mod loading;
mod loops;
mod repeats;
mod scan;
mod scope;
mod stated;
mod types;
mod unmade;
mod untracked;

pub use inputs::{Given, Input, declared, filling, inputs, value};
pub use untracked::NOT_FOLLOWED;

use crate::read::message::{GraphProto, NodeProto};
use crate::read::{Loaded, Model, attribute, domain_of, graphs_of, sparse as sparse_tensor, tensor};
use crate::shape::schema::signature;
use crate::shape::{
    Attribute, Call, Dtype, FoundAtLoad, Known, RunTime, Value, operator, unsupported_version,
};
use control::is_control;
use large::Degrees;
use load::{mark_controlled, mark_declared};
use repeats::{Asked, Repeats};
use scope::{Frame, WalkScope};

use rustc_hash::FxHashMap;
use sizewise_env::{Clause, OpClause, Origin, ShapeEnv};
use sizewise_expr::Expr;
use sizewise_kernels::{Backend, KernelError};
use std::cell::{Cell, RefCell};

/// The most nodes that a walk visits, those of loops each time.
const MAX_VISITS: usize = 100_000;
/// The version of `ai.onnx` that onnxruntime takes where a model imports none.
const NEWEST: i64 = 26;
/// The greatest nesting of graphs and function calls.
const MAX_DEPTH: usize = 64;

/// A node that was visited.
#[derive(Debug, Clone, Copy)]
pub struct WalkStep<'m>(&'m NodeProto);

impl WalkStep<'_> {
    /// Its name, or that of its first output.
    pub fn node(&self) -> &str {
        match (self.0.name.as_str(), self.0.output.first()) {
            ("", Some(output)) => output,
            (name, _) => name,
        }
    }

    /// The name of an input; empty where it is left out.
    pub fn input(&self, at: usize) -> &str {
        self.0.input.get(at).map_or("", String::as_str)
    }

    /// How many inputs it has.
    pub fn count(&self) -> usize {
        self.0.input.len()
    }

    /// Whether it has graphs within.
    pub fn has_graphs(&self) -> bool {
        graphs_of(self.0).next().is_some()
    }

    /// Its operator, with the domain in front unless it is `ai.onnx`.
    pub fn op(&self) -> String {
        match domain_of(self.0) {
            "" => self.0.op_type.clone(),
            domain => format!("{domain}::{}", self.0.op_type),
        }
    }
}

/// The conditions of operators that have graphs within.
pub fn conditions() -> impl Iterator<Item = &'static OpClause> {
    clauses::CLAUSES.iter().copied().flatten().copied()
}

/// Whether a condition decides which way a node takes, and requires nothing, as its operator says.
pub fn is_way(clause: Clause) -> bool {
    clause == control::WAY.into() || crate::shape::is_way(clause)
}

/// A node that refuses its inputs.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The number of the step.
    pub step: usize,
    /// Why.
    pub error: KernelError,
}

/// The branches that were taken at nodes of the model, by the address of the node; `None` where a node took both.
pub type Branches = FxHashMap<usize, Option<bool>>;

/// A walk.
pub struct Walk<'m> {
    model: &'m Model,
    /// The environment that keeps conditions.
    pub env: ShapeEnv,
    /// The nodes visited; the origin of a guard is an index here.
    pub steps: Vec<WalkStep<'m>>,
    /// Nodes that refuse their inputs. When evaluating, the first ends the walk.
    pub failures: Vec<Failure>,
    /// Nodes whose results are not known, with the reason.
    pub unknown: Vec<(usize, String)>,
    /// The first node without a shape function, with the message.
    pub unsupported: Option<(usize, String)>,
    /// Conditions on the elements of inputs that nothing but data decides, with the step.
    pub run_time: Vec<(usize, RunTime)>,
    /// Integers that are computed from sizes, with the step and the type that has to hold them.
    pub integers: Vec<(usize, Expr, Dtype)>,
    /// The values of the main graph by number.
    pub values: Vec<Option<Value>>,
    /// The branches that were taken.
    pub taken: Branches,
    /// The branches to take where nothing else decides which.
    pub follows: Branches,
    /// What is inferred when the model loads, if this walk is to find that.
    finding: Option<Loaded>,
    /// The ranks that the model states of values of the main graph, once that was asked.
    stated: Option<FxHashMap<&'m str, usize>>,
    /// Whether the walk ends at the first failure.
    stops: bool,
    /// Whether values are kept for all nodes of the main graph.
    keeps: bool,
    /// Whether the elements of inputs are any, so that data may choose a branch or a round.
    pub takes_any_data: bool,
    /// Whether conditions that are left to run time are noted.
    pub notes_run_time: bool,
    /// The calls that may repeat.
    repeats: Repeats<'m>,
    /// The steps of the nodes of control flow in which the walk is.
    controls: Vec<usize>,
    /// The degrees of sizes.
    degrees: Degrees,
    /// How many nodes were visited, those of attempts that were taken back included.
    pub visits: usize,
    /// How many may be.
    pub most_visits: usize,
}

/// The walk has ended early.
struct Ended;

impl<'m> Walk<'m> {
    /// A walk under an environment. With `stops` it ends at the first node that refuses its inputs.
    pub fn new(model: &'m Model, mut env: ShapeEnv, stops: bool) -> Walk<'m> {
        // Sizes that data decide get names that are not yet known.
        for name in model.numbered_names() {
            env.pool.symbol(name);
        }
        let (steps, failures, unknown) = (Vec::new(), Vec::new(), Vec::new());
        let values = Vec::new();
        let (taken, follows) = (Branches::default(), Branches::default());
        Walk {
            model,
            env,
            steps,
            failures,
            unknown,
            unsupported: None,
            run_time: Vec::new(),
            integers: Vec::new(),
            values,
            taken,
            follows,
            finding: None,
            stated: None,
            stops,
            keeps: !stops,
            takes_any_data: true,
            notes_run_time: !stops,
            repeats: Repeats::default(),
            controls: Vec::new(),
            degrees: Degrees::default(),
            visits: 0,
            most_visits: MAX_VISITS,
        }
    }

    /// The values of the outputs for values of the inputs, in the order of the model; `None` where the walk ended
    /// before.
    pub fn run(&mut self, inputs: Vec<(String, Value)>) -> Option<Vec<Value>> {
        let model = self.model;
        let core = model.imports.get("").copied();
        let frame = Frame { imports: &model.imports, core, given: Vec::new(), depth: 0 };
        let mut values: Vec<Option<Value>> = vec![None; model.links.count()];
        let before: Vec<usize> = model.links.before().collect();
        let (of_inputs, others) = before.split_at(model.graph.input.len());
        let weights = model.graph.initializer.iter().zip(&model.needed().initializers);
        for ((message, &is_needed), &number) in weights.zip(others) {
            let value = tensor(&mut self.env.pool, message, is_needed).map_or(Value::Unknown, Value::from);
            values[number] = Some(value);
        }
        let sparse = model.graph.sparse_initializer.iter().filter(|message| message.values.is_some());
        for (message, &number) in sparse.zip(&others[model.graph.initializer.len()..]) {
            values[number] =
                Some(sparse_tensor(&mut self.env.pool, message).map_or(Value::Unknown, Value::from));
        }
        let mut by_name: FxHashMap<String, Value> = inputs.into_iter().collect();
        for (input, &number) in model.graph.input.iter().zip(of_inputs) {
            if let Some(mut value) = by_name.remove(&input.name) {
                mark_declared(&mut value, input, true);
                values[number] = Some(value);
            }
        }
        let mut scope = WalkScope::Main(model, values);
        let done = self.nodes(&model.graph.node, &mut scope, &frame).is_ok();
        let WalkScope::Main(_, values) = scope else { return None };
        let found = |number: Option<usize>| values.get(number?)?.clone();
        let results = model.links.results().map(|number| found(number).unwrap_or(Value::Unknown));
        let results = done.then(|| results.collect());
        // Those of which the file states the sizes are compared with it.
        if self.keeps || !model.graph.value_info.is_empty() {
            self.values = values;
        }
        results
    }

    /// Walks the nodes of a graph within another.
    fn graph(
        &mut self,
        graph: &'m GraphProto,
        inputs: Vec<Value>,
        outer: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Result<Vec<Value>, Ended> {
        let mut values: FxHashMap<&str, Value> = FxHashMap::default();
        for message in &graph.initializer {
            let value = tensor(&mut self.env.pool, message, true).map_or(Value::Unknown, Value::from);
            values.insert(&message.name, value);
        }
        for message in &graph.sparse_initializer {
            let Some(name) = message.values.as_ref().map(|values| values.name.as_str()) else { continue };
            let value = sparse_tensor(&mut self.env.pool, message).map_or(Value::Unknown, Value::from);
            values.insert(name, value);
        }
        for (input, mut value) in graph.input.iter().zip(inputs) {
            mark_declared(&mut value, input, false);
            values.insert(&input.name, value);
        }
        let step = self.controls.last().copied().unwrap_or_default();
        let mut scope = WalkScope::Within(values, Some(outer));
        self.nodes(&graph.node, &mut scope, &frame.within())?;
        let found = |name: &str| scope.get(name).cloned().unwrap_or(Value::Unknown);
        let results: Vec<Value> = graph.output.iter().map(|output| found(&output.name)).collect();
        self.expect_declared_types(step, graph, &results)?;
        Ok(results)
    }

    fn nodes<'s>(
        &mut self,
        nodes: &'m [NodeProto],
        scope: &mut WalkScope<'s>,
        frame: &Frame<'m>,
    ) -> Result<(), Ended>
    where
        'm: 's,
    {
        for (at, node) in nodes.iter().enumerate() {
            // Of graphs within, all elements are followed.
            let is_needed = frame.depth > 0 || self.model.needed().nodes.get(at).is_none_or(|&needed| needed);
            let results = self.node((at, node), is_needed, scope, frame)?.into_iter();
            scope.keep(at, node, results.map(|value| if is_needed { value } else { value.of_no_elements() }));
        }
        Ok(())
    }

    /// Notes a failure; what the node would make is not known.
    fn failed(&mut self, step: usize, error: KernelError) -> Result<(), Ended> {
        match &error {
            KernelError::Invalid { .. } => {
                self.failures.push(Failure { step, error });
                if self.stops {
                    return Err(Ended);
                }
            }
            KernelError::Unsupported(message) | KernelError::DataDependent { message, .. } => {
                if matches!(error, KernelError::Unsupported(_)) {
                    self.unsupported.get_or_insert((step, message.clone()));
                }
                self.unknown.push((step, message.clone()));
            }
        }
        Ok(())
    }

    /// The results of a node, given with its position in its graph; `is_needed` says whether their elements are.
    fn node(
        &mut self,
        (at, node): (usize, &'m NodeProto),
        is_needed: bool,
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Result<Vec<Value>, Ended> {
        let (domain, op) = scope.operator(at, node);
        let step = self.steps.len();
        self.steps.push(WalkStep(node));
        self.env.set_origin(Origin(u32::try_from(step).unwrap_or(u32::MAX)));
        let unknown = || vec![Value::Unknown; node.output.len()];
        self.visits += 1;
        if self.visits > self.most_visits || frame.depth > MAX_DEPTH {
            let message = "there are too many nodes to visit".to_owned();
            self.unsupported.get_or_insert((step, message.clone()));
            self.unknown.push((step, message));
            return if self.visits > self.most_visits { Err(Ended) } else { Ok(unknown()) };
        }
        let newest = if step == 0 { self.version("", frame) } else { None };
        if let Some(error) = newest.and_then(|version| unsupported_version(version, self.model.backend)) {
            self.failed(step, error)?;
        }
        let inputs = scope.inputs(at, node);
        if let Some(at) = self.model.function(domain, op) {
            return self.function(at, node, &inputs, frame);
        }
        if is_control(domain, op) {
            self.controls.push(step);
            let walked = self.control(node, &inputs, scope, frame);
            self.controls.pop();
            let mut values = walked?;
            mark_controlled(op, &mut values);
            if frame.depth == 0 {
                self.mark_stated(node, &mut values);
            }
            return Ok(values);
        }
        let Some(version) = self.version(domain, frame) else {
            let message = "the model does not import the operators of ai.onnx";
            self.failed(step, KernelError::invalid(signature::S0, message))?;
            return Ok(unknown());
        };
        // What is not known stays so. The first to say it is where that begins: an input, or weights that are not read.
        let is_known = !inputs.iter().flatten().any(|value| matches!(value, Value::Unknown));
        if !is_known && self.unknown.is_empty() && self.failures.is_empty() {
            self.unknown.push((step, "nothing is known of one of its inputs".to_owned()));
        }
        let outputs = scope.asked_outputs(at, node);
        let (inputs, outputs) = (&inputs, &outputs);
        let is_filler = operator(domain, op).is_some_and(|op| op.fills);
        let operator = if frame.depth == 0 { self.model.links.operator(at) } else { 0 };
        let asked = Asked { node, operator, version, inputs, outputs };
        let may_repeat = frame.depth == 0 && is_known && !is_filler;
        let hash = if may_repeat { self.repeatable(&asked) } else { None };
        if let Some(made) = hash.and_then(|hash| self.made_before(hash, &asked)) {
            return Ok(made);
        }
        let attributes = &self.attributes(node, is_needed || !is_filler, frame);
        // What is found by the names of values is not the same for equal calls.
        let (is_run, is_asked, doubts) = (!self.keeps, Cell::new(false), RefCell::default());
        let (model, is_found) = (self.model, is_run && frame.depth == 0);
        let found_at_load: FoundAtLoad = &|at, dim| {
            is_asked.set(true);
            if is_found { loading::found_at_load(model, node, at, dim) } else { Known::Maybe }
        };
        let doubts = &doubts;
        let call = Call { domain, op, version, attributes, inputs, outputs, is_run, found_at_load, doubts };
        let Some(hash) = hash else { return self.called(&call, is_known) };
        let before = self.known();
        let made = self.called(&call, is_known)?;
        if !is_asked.get() {
            self.keep_for_repeats(hash, &asked, before, &made);
        }
        Ok(made)
    }

    /// The backend that runs the model.
    pub fn backend(&self) -> sizewise_kernels::Backend {
        self.model.backend
    }

    /// The version of a domain: that which the function imports, else the model. onnxruntime has its own domains, which
    /// have one version, without an import.
    fn version(&self, domain: &str, frame: &Frame) -> Option<i64> {
        if domain.is_empty() {
            return frame.core.or_else(|| (self.model.backend == Backend::Cpu).then_some(NEWEST));
        }
        let imported = frame.imports.get(domain).or_else(|| self.model.imports.get(domain));
        Some(imported.copied().unwrap_or(1))
    }

    /// The attributes of a node, tensors without elements unless those are needed. Within a function some stand for those
    /// of its call.
    fn attributes<'n>(
        &mut self,
        node: &'n NodeProto,
        is_needed: bool,
        frame: &Frame,
    ) -> Vec<(&'n str, Attribute)> {
        let mut found = Vec::with_capacity(node.attribute.len());
        for own in &node.attribute {
            let message =
                if own.ref_attr_name.is_empty() { Some(own) } else { frame.given(&own.ref_attr_name) };
            let value = message.and_then(|message| attribute(&mut self.env.pool, message, is_needed));
            found.extend(value.map(|value| (own.name.as_str(), value)));
        }
        found
    }

    /// A call of one of the model's functions.
    fn function(
        &mut self,
        at: usize,
        node: &'m NodeProto,
        inputs: &[Option<&Value>],
        frame: &Frame<'m>,
    ) -> Result<Vec<Value>, Ended> {
        let function = &self.model.functions[at];
        let given = function.message.input.iter().zip(inputs);
        let values = given.filter_map(|(name, value)| Some((name.as_str(), value.cloned()?)));
        let mut scope = WalkScope::Within(values.collect(), None);
        // Attributes of the call may stand for those of an outer one; what it does not give, the function may.
        let own = node.attribute.iter().filter_map(|own| match own.ref_attr_name.as_str() {
            "" => Some((own.name.as_str(), own)),
            name => frame.given(name).map(|message| (own.name.as_str(), message)),
        });
        let defaults = function.message.attribute_proto.iter();
        let missing = defaults.filter(|default| !node.attribute.iter().any(|own| own.name == default.name));
        let missing = missing.map(|default| (default.name.as_str(), default));
        let given = own.chain(missing).collect();
        let core = function.imports.get("").or_else(|| self.model.imports.get("")).copied();
        let inner = Frame { imports: &function.imports, core, given, depth: frame.depth + 1 };
        self.nodes(&function.message.node, &mut scope, &inner)?;
        let results = function.message.output.iter().take(node.output.len());
        Ok(results.map(|name| scope.get(name).cloned().unwrap_or(Value::Unknown)).collect())
    }
}
