//! Follows a program step by step: which tensors each node takes and gives, and in which storages they lie.
use super::storages::{StorageId, Storages, bytes};
use super::{Cost, Limits, Lived, Share};
use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use sizewise_check::propagate::{arguments, flat, recorded};
use sizewise_check::records::{RecordedError, Records};
use sizewise_check::spec::ContractError;
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_ir::schema::Schema;
use sizewise_ir::{Argument, Graph, GraphInput, InputSpec, Node, Program, TargetKind, ValueId};
use sizewise_kernels::sharing::{self, Shares};
use sizewise_kernels::{Cx, KernelError, Operators, Tensor, Value, Values, bind, flops};
use std::sync::Arc;

/// The greatest nesting of graphs.
const MAX_DEPTH: usize = 64;

/// A value of a graph, and where it lies if it is a tensor.
#[derive(Clone)]
pub struct Slot {
    value: Value,
    storage: Option<StorageId>,
}

/// Why an operator is not counted.
fn reason(op: &str, error: KernelError) -> String {
    match error {
        KernelError::Unsupported(reason) => reason,
        KernelError::Invalid { message, .. } | KernelError::DataDependent { message, .. } => {
            format!("{op}: {message}")
        }
    }
}

/// What a call came to.
struct Called {
    flops: Expr,
    results: Values,
}

/// The values of one graph.
struct Frame<'g> {
    graph: &'g Graph,
    slots: Vec<Option<Slot>>,
}

impl Frame<'_> {
    fn value(&self, id: ValueId) -> Value {
        self.slots.get(id.index()).and_then(Option::as_ref).map_or(Value::Opaque, |slot| slot.value.clone())
    }

    fn storage(&self, id: ValueId) -> Option<StorageId> {
        self.slots.get(id.index())?.as_ref()?.storage
    }

    /// The storages of the tensors of an argument.
    fn storages(&self, argument: &Argument) -> Vec<StorageId> {
        let mut found = Vec::new();
        argument.for_each_value(&mut |id| found.extend(self.storage(id)));
        found
    }
}

/// The bytes of what a program is given, by kind.
#[derive(Clone, Copy)]
struct Given {
    inputs: Expr,
    parameters: Expr,
    buffers: Expr,
    constants: Expr,
}

/// A run.
pub struct Walk<'p> {
    operators: &'p Operators,
    env: ShapeEnv,
    records: Records<'p>,
    storages: Storages,
    /// What shows a storage first.
    made: Vec<(StorageId, &'p Node, ValueId)>,
    /// How many steps there were.
    steps: usize,
    depth: usize,
    /// How many `cond`s were followed.
    conds: usize,
    /// Whether the graphs of `cond` are followed, one after the other.
    follows_branches: bool,
    given: Given,
    flops: Expr,
    reasons: Vec<String>,
    by_op: IndexMap<String, Share>,
    by_module: IndexMap<String, Share>,
    by_line: IndexMap<String, Share>,
}

impl<'p> Walk<'p> {
    pub fn new(operators: &'p Operators, env: ShapeEnv, records: Records<'p>) -> Walk<'p> {
        let zero = Expr::ZERO;
        Walk {
            operators,
            env,
            records,
            storages: Storages::default(),
            made: Vec::new(),
            steps: 0,
            depth: 0,
            conds: 0,
            follows_branches: false,
            given: Given { inputs: zero, parameters: zero, buffers: zero, constants: zero },
            flops: zero,
            reasons: Vec::new(),
            by_op: IndexMap::new(),
            by_module: IndexMap::new(),
            by_line: IndexMap::new(),
        }
    }

    /// The same, with the graphs of `cond` followed: one after the other, though one of them runs. What they give is
    /// copied to the results of the node.
    pub fn with_branches(self) -> Walk<'p> {
        Walk { follows_branches: true, ..self }
    }

    /// The values of a program's inputs, each in a storage of its own.
    pub fn inputs(&mut self, program: &Program) -> Result<Vec<Slot>, ContractError> {
        let values = recorded::inputs(program, &mut self.records, &mut self.env)?;
        let mut slots = Vec::with_capacity(values.len());
        for (spec, value) in program.signature.inputs.iter().zip(values) {
            let storage = if let Value::Tensor(tensor) = &value {
                let bytes = bytes(&mut self.env, tensor);
                let total = match spec {
                    InputSpec::Parameter { .. } => &mut self.given.parameters,
                    InputSpec::Buffer { .. } => &mut self.given.buffers,
                    InputSpec::TensorConstant { .. } => &mut self.given.constants,
                    _ => &mut self.given.inputs,
                };
                *total = self.env.pool.add(*total, bytes);
                Some(self.storages.given())
            } else {
                None
            };
            slots.push(Slot { value, storage });
        }
        Ok(slots)
    }

    /// Follows a graph on values for its inputs: the values of its outputs, where they are values of the graph.
    pub fn graph(&mut self, graph: &'p Graph, inputs: Vec<Slot>) -> Result<Vec<Option<Slot>>, RecordedError> {
        let mut frame = Frame { graph, slots: vec![None; graph.value_count()] };
        for (input, slot) in graph.inputs().iter().zip(inputs) {
            if let GraphInput::Value(id) = input {
                frame.slots[id.index()] = Some(slot);
            }
        }
        for node in graph.nodes() {
            self.node(&mut frame, node)?;
        }
        let mut outputs = Vec::new();
        for output in graph.outputs() {
            let before = outputs.len();
            output.for_each_value(&mut |id| outputs.push(frame.slots.get(id.index()).cloned().flatten()));
            if outputs.len() == before {
                outputs.push(None);
            }
        }
        Ok(outputs)
    }

    fn node(&mut self, frame: &mut Frame<'p>, node: &'p Node) -> Result<(), RecordedError> {
        if let TargetKind::HigherOrder(name) = node.target.kind() {
            if node.target.is_wrapper() && self.depth < MAX_DEPTH && self.wrapped(frame, node)? {
                return Ok(());
            }
            if !self.branched(frame, node, name)? {
                self.inexact(format!("`{name}` calls graphs, which are not followed"));
            }
        }
        let step = self.steps;
        self.steps += 1;
        for input in &node.inputs {
            for storage in frame.storages(&input.arg) {
                self.storages.touched(storage, step);
            }
        }
        let mut recorded = Values::new();
        for id in node.output_values() {
            recorded.push(recorded::value(&mut self.records, &mut self.env, frame.graph.meta(id))?);
        }
        let Called { flops, results: derived } = self.call(frame, node, &recorded);
        let mut made = Expr::ZERO;
        for (at, (id, value)) in node.output_values().zip(recorded).enumerate() {
            let value = self.laid_out(node, value, derived.get(at));
            let storage = match &value {
                Value::Tensor(tensor) => Some(match self.shared(frame, node, at, tensor) {
                    Some(known) => known,
                    None => {
                        let bytes = self.new_bytes(node, tensor);
                        made = self.env.pool.add(made, bytes);
                        let storage = self.storages.made(bytes, step);
                        self.made.push((storage, node, id));
                        storage
                    }
                }),
                _ => None,
            };
            storage.into_iter().for_each(|storage| self.storages.touched(storage, step));
            frame.slots[id.index()] = Some(Slot { value, storage });
        }
        self.flops = self.env.pool.add(self.flops, flops);
        self.share(node, Share { flops, bytes: made });
        Ok(())
    }

    /// Follows the graph of a node that runs it on its operands, in the node's place. False if it is not such a node.
    fn wrapped(&mut self, frame: &mut Frame<'p>, node: &'p Node) -> Result<bool, RecordedError> {
        let Some(at) = node.inputs.iter().position(|input| matches!(input.arg, Argument::Graph(_))) else {
            return Ok(false);
        };
        let Argument::Graph(inner) = &node.inputs[at].arg else { return Ok(false) };
        let operands: Vec<Slot> = node.inputs[at + 1..]
            .iter()
            .map(|input| {
                let storage = frame.storages(&input.arg).first().copied();
                Slot { value: self.argument(frame, &input.arg), storage }
            })
            .collect();
        if operands.len() != inner.graph.inputs().len() {
            return Ok(false);
        }
        self.depth += 1;
        let outputs = self.graph(&inner.graph, operands);
        self.depth -= 1;
        for (id, slot) in node.output_values().zip(outputs?) {
            frame.slots[id.index()] = slot;
        }
        Ok(true)
    }

    /// Follows the graphs of a `cond`, of which a run takes one. What they give is in use until the step of the node itself,
    /// which comes next. False if it is not such a node, or they are not to be followed.
    fn branched(&mut self, frame: &Frame<'p>, node: &'p Node, name: &str) -> Result<bool, RecordedError> {
        let graphs = node.subgraphs();
        let is_cond = name == "cond" && graphs.len() == 2 && node.inputs.len() > 3;
        if !self.follows_branches || !is_cond || self.depth >= MAX_DEPTH {
            return Ok(false);
        }
        let mut operands = Vec::new();
        for input in &node.inputs[3..] {
            input.arg.for_each_value(&mut |id| {
                operands.push(Slot { value: frame.value(id), storage: frame.storage(id) });
            });
        }
        if graphs.iter().any(|graph| graph.graph.inputs().len() != operands.len()) {
            return Ok(false);
        }
        if matches!(self.argument(frame, &node.inputs[0].arg), Value::Bool(_)) {
            self.inexact(format!(
                "what the graphs of `{}` make counts at all sizes, though one chooses",
                node.name
            ));
        }
        let mut given = Vec::new();
        let (around, cond) = (self.storages.branches.clone(), self.conds);
        self.conds += 1;
        self.depth += 1;
        for (at, graph) in graphs.into_iter().enumerate() {
            self.storages.branches = around.within(cond, at);
            let outputs = self.graph(&graph.graph, operands.clone())?;
            given.extend(outputs.into_iter().flatten().filter_map(|slot| slot.storage));
        }
        self.depth -= 1;
        self.storages.branches = around;
        if !given.is_empty() {
            self.inexact(format!("the results of `{}` are counted beside those of its graphs", node.name));
        }
        given.into_iter().for_each(|storage| self.storages.touched(storage, self.steps));
        Ok(true)
    }

    fn argument(&mut self, frame: &Frame, argument: &Argument) -> Value {
        arguments::value(&mut self.env, argument, &|id| frame.value(id))
    }

    /// A recorded value, laid out in memory as its kernel does: what is recorded of strides is that of the trace, in which
    /// another kernel may have run. Where the two differ, it is not sure which views are copies.
    fn laid_out(&mut self, node: &Node, recorded: Value, derived: Option<&Value>) -> Value {
        match (&recorded, derived) {
            (Value::Tensor(tensor), Some(Value::Tensor(made))) if tensor.sizes == made.sizes => {
                if tensor.strides != made.strides && !sharing::lies_alike(tensor, made, &mut self.env) {
                    self.inexact(format!("the strides of `{}` differ from the recorded ones", node.name));
                }
                let (strides, offset) = (made.strides.clone(), made.offset);
                Tensor { strides, offset, ..(**tensor).clone() }.into()
            }
            _ => recorded,
        }
    }

    /// The bytes of a new storage for a tensor.
    fn new_bytes(&mut self, node: &Node, tensor: &Arc<Tensor>) -> Expr {
        let bytes = bytes(&mut self.env, tensor);
        let symbols = self.env.pool.free_symbols(&[bytes]);
        if symbols.iter().any(|&symbol| self.env.symbol(symbol).is_none()) {
            self.inexact(format!("data decide the size of `{}`", node.name));
        }
        bytes
    }

    /// The storage that result `at` shares, if it does.
    fn shared(&mut self, frame: &Frame, node: &Node, at: usize, result: &Tensor) -> Option<StorageId> {
        let schema = self.schema(node)?;
        let of_argument =
            |name: &str| Some(frame.storages(node.argument(name)?)).filter(|found| !found.is_empty());
        if sharing::is_input_itself(node, schema) {
            return of_argument("input")?.first().copied();
        }
        let name = match schema.aliased_arg(at.min(schema.returns.len().saturating_sub(1))) {
            Some((argument, true)) => {
                let found = of_argument(&schema.args[argument].name)?;
                return found.get(at).or(found.first()).copied();
            }
            Some((argument, false)) => schema.args[argument].name.clone(),
            None if sharing::may_view_unsaid(schema) => schema.args.first()?.name.clone(),
            None => return None,
        };
        let argument = node.argument(&name)?;
        let found = frame.storages(argument);
        // Of a list, each result is a view of its own element.
        let Some(of) = argument.value() else { return found.get(at).copied() };
        let Value::Tensor(before) = frame.value(of) else { return found.first().copied() };
        let shares = sharing::of(node, &before, result, &mut self.env);
        (shares != Shares::Nothing).then(|| found.first().copied()).flatten()
    }

    fn schema(&self, node: &Node) -> Option<&'p Schema> {
        let (namespace, op, overload) = node.target.op()?;
        Some(self.operators.find(&[namespace, op, overload].join("."))?.0)
    }

    /// What a node computes, and what its kernel makes of its arguments.
    fn call(&mut self, frame: &Frame, node: &Node, recorded: &[Value]) -> Called {
        let nothing = Called { flops: Expr::ZERO, results: Values::new() };
        let Some((namespace, op, overload)) = node.target.op() else { return nothing };
        let op = [namespace, op, overload].join(".");
        let Some((schema, kernel)) = self.operators.find(&op) else {
            self.inexact(format!("`{op}` is not known"));
            return nothing;
        };
        let (mut positional, mut keywords) = (Vec::new(), Vec::new());
        for input in &node.inputs {
            let value = self.argument(frame, &input.arg);
            match &*input.name {
                "" => positional.push(value),
                name => keywords.push((name, value)),
            }
        }
        let args = match bind(&mut self.env.pool, schema, positional, keywords) {
            Ok(args) => args,
            Err(error) => {
                self.inexact(error.to_string());
                return nothing;
            }
        };
        let mut cx = Cx::on(&mut self.env, self.operators.backend());
        // What the kernel refuses, torch may have cast before.
        let results = kernel.call(&mut cx, &args).map(flat).unwrap_or_default();
        let shown = if results.is_empty() { recorded } else { &results };
        match flops(&mut cx, &op, &args, shown) {
            Ok(flops) => Called { flops, results },
            Err(error) => {
                self.inexact(reason(&op, error));
                nothing
            }
        }
    }

    fn inexact(&mut self, reason: String) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// Adds what a node costs to what its operator, module and line cost.
    fn share(&mut self, node: &Node, share: Share) {
        if share == Share::default() {
            return;
        }
        let module = node.provenance.module().unwrap_or("").to_owned();
        let line = node.provenance.location().map(|location| location.to_string()).unwrap_or_default();
        let pool = &mut self.env.pool;
        for (of, key) in [
            (&mut self.by_op, node.target.to_string()),
            (&mut self.by_module, module),
            (&mut self.by_line, line),
        ] {
            let total = of.entry(key).or_default();
            total.flops = pool.add(total.flops, share.flops);
            total.bytes = pool.add(total.bytes, share.bytes);
        }
    }

    /// What was made, when the graph has been followed to these outputs.
    pub fn lived(&self, outputs: &[Option<Slot>]) -> Vec<Lived<'p>> {
        let shown: FxHashSet<StorageId> = outputs.iter().flatten().filter_map(|slot| slot.storage).collect();
        let lived = |&(storage, node, value): &(StorageId, &'p Node, ValueId)| {
            let mut life = self.storages.life(storage)?;
            if shown.contains(&storage) {
                life.to = self.steps.saturating_sub(1);
            }
            Some(Lived { node, value, life })
        };
        self.made.iter().filter_map(lived).collect()
    }

    /// The figures, when the graph has been followed to these outputs.
    pub fn finish(mut self, outputs: &[Option<Slot>]) -> Cost {
        let shown: Vec<StorageId> = outputs.iter().flatten().filter_map(|slot| slot.storage).collect();
        let last = self.steps.saturating_sub(1);
        shown.iter().for_each(|&storage| self.storages.touched(storage, last));
        let output_bytes = self.storages.sum(&mut self.env, shown.into_iter());
        let activation_bytes = self.storages.total(&mut self.env);
        let peak_bytes = self.storages.peak(&mut self.env, self.steps.max(1));
        let Given { inputs, parameters, buffers, constants } = self.given;
        Cost {
            env: self.env,
            symbols: Vec::new(),
            places: Vec::new(),
            limits: Limits::default(),
            flops: self.flops,
            activation_bytes,
            peak_bytes,
            input_bytes: inputs,
            parameter_bytes: parameters,
            buffer_bytes: buffers,
            constant_bytes: constants,
            output_bytes,
            reasons: self.reasons,
            by_op: self.by_op,
            by_module: self.by_module,
            by_line: self.by_line,
        }
    }
}
