//! Tracing a program anew: its calls are repeated, and calls are put before, behind or in place of them.
use super::{Given, Kind, Proxy, TraceError, Traced, Tracer};
use crate::names::Names;
use crate::rewrite::{New, argument_with, with_graph};
use rustc_hash::FxHashMap;
use sizewise_check::propagate::recorded;
use sizewise_check::records::Records;
use sizewise_check::spec::Contract;
use sizewise_ir::{
    Argument, Graph, GraphBuilder, GraphInput, Input, Meta, Node, Output, Program, Subgraph, ValueId,
};
use sizewise_kernels::{Operators, Value};
use std::sync::Arc;

/// The program that is traced anew, and what its values are in the new one.
pub(super) struct Over {
    pub(super) program: Program,
    /// The recorded values, by number.
    pub(super) old: Vec<Value>,
    pub(super) now: Vec<Option<Proxy>>,
    /// How many guards the program's contract has.
    pub(super) guards: usize,
    /// Whether what is recorded of a result stays where its sizes and dtype do.
    pub(super) keeps_records: bool,
    /// Whether its calls are put into another graph, under new names.
    pub(super) inlined: bool,
    /// The sizes that calls of the graph read, by tensor and dimension.
    pub(super) sizes_read: FxHashMap<(ValueId, usize), Proxy>,
}

/// A call of the program that is traced anew.
#[derive(Debug, Clone)]
pub struct OldCall<'p> {
    /// The call as it was.
    pub node: &'p Node,
    /// Its arguments in the new program.
    pub inputs: Vec<Input>,
}

impl OldCall<'_> {
    /// The argument for a parameter in the new program, if it is passed.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.inputs.iter().find(|input| &*input.name == name).map(|input| &input.arg)
    }
}

/// Traces a program anew. `edit` is asked about each call, front to back, and may record others: those before it
/// returns `None` stand in front of the call, which is repeated as it was; what it returns otherwise stands for the
/// call's results, and the call is repeated only by [`Tracer::repeat`]. Where operands have other shapes than before,
/// shapes are inferred; graphs within are kept. New calls have the source lines of the call that they are recorded for.
///
/// ```
/// use sizewise_kernels::Operators;
/// use sizewise_ir::text;
/// use sizewise_pass::retrace;
///
/// let program = text::read(
///     "class M(torch.nn.Module):
///     def forward(self, x: \"f32[s0, 3]\"):
///         y: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)
///         z: \"f32[s0, 3]\" = torch.ops.aten.exp.default(y)
///         return (z,)
/// ",
/// )?;
/// let operators = Operators::new();
/// // Behind every relu its negative, and the transposed of that instead of it.
/// let traced = retrace(&program, &operators, |tracer, step| {
///     if step.node.target.to_string() != "aten.relu.default" {
///         return Ok(None);
///     }
///     let made = tracer.repeat(step)?;
///     let minus = tracer.call("aten.neg.default", [("self", made[0].into())])?;
///     tracer.call("aten.t.default", [("self", minus[0].into())]).map(Some)
/// })?;
/// let graph = traced.program.graph;
/// let targets: Vec<String> = graph.nodes().iter().map(|node| node.target.to_string()).collect();
/// assert_eq!(targets, ["aten.relu.default", "aten.neg.default", "aten.t.default", "aten.exp.default"]);
/// let z = text::write_readable(&sizewise_ir::Program { graph, ..program.clone() }, text::Detail::Short);
/// assert!(z.contains("z: \"f32[3, s0]\""), "{z}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the program's contract cannot be read, `edit` fails, or an operator refuses operands that have changed.
pub fn retrace<'o>(
    program: &Program,
    operators: &'o Operators,
    mut edit: impl FnMut(&mut Tracer<'o>, &OldCall<'_>) -> Result<Option<Vec<Proxy>>, TraceError>,
) -> Result<Traced, TraceError> {
    retrace_edits(program, operators, &mut |tracer, step| {
        Ok(edit(tracer, step)?.map_or(Edit::Repeat, Edit::Replace))
    })
}

/// What becomes of a call.
pub(crate) enum Edit {
    Repeat,
    Replace(Vec<Proxy>),
    /// Nothing that is kept uses its results.
    LeaveOut,
}

/// What decides what becomes of a call.
pub(super) type Editor<'e, 'o> = dyn FnMut(&mut Tracer<'o>, &OldCall<'_>) -> Result<Edit, TraceError> + 'e;

/// As [`retrace`], with calls that are left out.
pub(crate) fn retrace_edits<'o>(
    program: &Program,
    operators: &'o Operators,
    edit: &mut Editor<'_, 'o>,
) -> Result<Traced, TraceError> {
    let mut tracer = Tracer::over(program, operators)?;
    for node in program.graph.nodes() {
        let step = tracer.step(node);
        tracer.origin = node.provenance.clone();
        match edit(&mut tracer, &step)? {
            Edit::Repeat => drop(tracer.repeat(&step)?),
            Edit::Replace(results) => tracer.stand_for(node, &results)?,
            Edit::LeaveOut => {}
        }
    }
    tracer.finish_over()
}

/// As [`retrace_edits`], in the graphs within too. Calls that stand for others have the dtypes and sizes of their
/// results. The calls of autocast regions are put in the place of the region: what stands for them has to cast their
/// operands ([`Tracer::regions`]).
pub(crate) fn retrace_graphs<'o>(
    program: &Program,
    operators: &'o Operators,
    edit: &mut Editor<'_, 'o>,
) -> Result<Traced, TraceError> {
    let contract = Contract::load(program).map_err(|error| TraceError::Malformed(error.to_string()))?;
    let mut records = contract.assumed().records.clone();
    let mut tracer = Tracer::over(program, operators)?;
    if let Some(over) = &mut tracer.over {
        over.keeps_records = true;
    }
    tracer.edit_nodes(&program.graph, &mut records, edit)?;
    tracer.finish_over()
}

impl<'o> Tracer<'o> {
    pub(super) fn edit_nodes(
        &mut self,
        graph: &Graph,
        records: &mut Records<'_>,
        edit: &mut Editor<'_, 'o>,
    ) -> Result<(), TraceError> {
        for node in graph.nodes() {
            self.origin = node.provenance.clone();
            if self.at_region(node, records, edit)? {
                continue;
            }
            let mut step = self.step(node);
            for input in &mut step.inputs {
                input.arg = self.with_inner(&input.arg, records, edit)?;
            }
            match edit(self, &step)? {
                Edit::Repeat => drop(self.repeat(&step)?),
                Edit::Replace(results) => self.stand_for(node, &results)?,
                Edit::LeaveOut => {}
            }
        }
        Ok(())
    }

    /// An argument with its graphs edited.
    fn with_inner(
        &mut self,
        argument: &Argument,
        records: &mut Records<'_>,
        edit: &mut Editor<'_, 'o>,
    ) -> Result<Argument, TraceError> {
        Ok(match argument {
            Argument::Graph(inner) => {
                let graph = self.inner_graph(&inner.graph, records, edit)?;
                Argument::Graph(Arc::new(Subgraph { name: inner.name.clone(), graph }))
            }
            Argument::List(items) => {
                let items = items.iter().map(|item| self.with_inner(item, records, edit));
                Argument::List(items.collect::<Result<_, _>>()?)
            }
            other => other.clone(),
        })
    }

    fn inner_graph(
        &mut self,
        graph: &Graph,
        records: &mut Records<'_>,
        edit: &mut Editor<'_, 'o>,
    ) -> Result<Graph, TraceError> {
        let Some(outer) = self.over.take() else {
            return Err(TraceError::Malformed("no program is traced anew".to_owned()));
        };
        let builder = std::mem::take(&mut self.builder);
        let values = std::mem::take(&mut self.values);
        let names = std::mem::replace(&mut self.names, Names::of(graph));
        let made = self.traced_graph(graph, &outer, records, edit);
        (self.builder, self.values, self.names, self.over) = (builder, values, names, Some(outer));
        made
    }

    fn traced_graph(
        &mut self,
        graph: &Graph,
        outer: &Over,
        records: &mut Records<'_>,
        edit: &mut Editor<'_, 'o>,
    ) -> Result<Graph, TraceError> {
        let mut old = Vec::with_capacity(graph.value_count());
        for (_, _, value) in graph.values() {
            let value = recorded::value(records, &mut self.env, &value.meta);
            old.push(value.map_err(|error| TraceError::Malformed(error.to_string()))?);
        }
        let mut now = vec![None; graph.value_count()];
        for input in graph.inputs() {
            match input {
                GraphInput::Value(id) => {
                    let meta = graph.meta(*id).clone();
                    let kind = Kind::of(&meta).unwrap_or(Kind::Tensor);
                    let value = self.builder.input(graph.name(*id).clone(), meta)?;
                    self.values.push(old[id.index()].clone());
                    now[id.index()] = Some(Proxy { value, kind });
                }
                GraphInput::Constant(constant) => self.builder.constant_input(constant.clone()),
            }
        }
        let program = Program { graph: graph.clone(), ..outer.program.clone() };
        let (guards, keeps_records, sizes_read) = (outer.guards, true, FxHashMap::default());
        self.over = Some(Over { program, old, now, guards, keeps_records, inlined: false, sizes_read });
        self.edit_nodes(graph, records, edit)?;
        let outputs = graph.outputs().iter().map(|output| self.argument_now(output)).collect();
        Ok(std::mem::take(&mut self.builder).finish(outputs, graph.single_tensor_return()))
    }

    /// A tracer over a program, which has its inputs and no call yet.
    fn over(program: &Program, operators: &'o Operators) -> Result<Tracer<'o>, TraceError> {
        let malformed = |message: String| TraceError::Malformed(message);
        let contract = Contract::load(program).map_err(|error| malformed(error.to_string()))?;
        let assumptions = contract.assumed();
        let (mut env, mut records) = (assumptions.env.clone(), assumptions.records.clone());
        let mut old = Vec::with_capacity(program.graph.value_count());
        for (_, _, value) in program.graph.values() {
            let value = recorded::value(&mut records, &mut env, &value.meta);
            old.push(value.map_err(|error| malformed(error.to_string()))?);
        }
        let mut tracer = Tracer::new(operators);
        let guards = env.guards().len();
        tracer.env = env;
        tracer.exprs = program.exprs.clone();
        tracer.builder = GraphBuilder::with_capacity(program.graph.value_count());
        tracer.names = Names::of(&program.graph);
        let mut now = vec![None; program.graph.value_count()];
        for (input, spec) in program.graph.inputs().iter().zip(&program.signature.inputs) {
            match input {
                GraphInput::Value(id) => {
                    let (name, meta) = (program.graph.name(*id).clone(), program.graph.meta(*id).clone());
                    let kind = Kind::of(&meta);
                    let value = tracer.builder.input(name.clone(), meta)?;
                    tracer.values.push(old[id.index()].clone());
                    now[id.index()] = Some(Proxy { value, kind: kind.unwrap_or(Kind::Tensor) });
                    tracer.inputs.push(Given { name, spec: spec.clone(), kind });
                }
                GraphInput::Constant(constant) => tracer.builder.constant_input(constant.clone()),
            }
        }
        let (keeps_records, sizes_read) = (false, FxHashMap::default());
        tracer.over = Some(Over {
            program: program.clone(),
            old,
            now,
            guards,
            keeps_records,
            inlined: false,
            sizes_read,
        });
        Ok(tracer)
    }

    /// What a value of the program that is traced anew is now; `None` where there is no such program, or nothing makes
    /// it any more.
    pub fn now(&self, old: ValueId) -> Option<Proxy> {
        self.over.as_ref()?.now.get(old.index()).copied().flatten()
    }

    /// An argument of the program that is traced anew in terms of the new one.
    pub(crate) fn argument_now(&self, argument: &Argument) -> Argument {
        argument_with(argument, &|id| self.now(id).map(|proxy| New::Value(proxy.value)))
    }

    fn step<'p>(&self, node: &'p Node) -> OldCall<'p> {
        let input = |input: &Input| Input { arg: self.argument_now(&input.arg), ..input.clone() };
        OldCall { node, inputs: node.inputs.iter().map(input).collect() }
    }

    /// Repeats a call of the program that is traced anew, under its name. What it gives comes back, one proxy a value.
    ///
    /// # Errors
    /// When an operand has another shape than before and the operator refuses it, or holds a graph; when the call is
    /// there already.
    pub fn repeat(&mut self, step: &OldCall<'_>) -> Result<Vec<Proxy>, TraceError> {
        let node = step.node;
        let Some(over) = &self.over else {
            return Err(TraceError::Malformed("no program is traced anew".to_owned()));
        };
        let ids: Vec<ValueId> = node.output_values().collect();
        let graph = &over.program.graph;
        let kept = ids.iter().map(|id| (over.old[id.index()].clone(), graph.meta(*id).clone()));
        let mut made: Vec<(Value, Meta)> = kept.collect();
        let names: Vec<Arc<str>> = ids.iter().map(|&id| graph.name(id).clone()).collect();
        if self.is_changed(node) {
            let count = made.len();
            match self.inferred_alike(step, &made) {
                Some(alike) => made = alike,
                None if self.over.as_ref().is_some_and(|over| over.keeps_records) => {}
                None => made = self.inferred(step, count)?,
            }
        }
        let inlined = self.over.as_ref().is_some_and(|over| over.inlined);
        let mut proxies = Vec::with_capacity(made.len());
        for (name, (value, meta)) in names.into_iter().zip(made) {
            let name = if inlined { self.fresh(&name) } else { name };
            let kind = Kind::of(&meta).unwrap_or(Kind::Tensor);
            let id = self.builder.output_of_next_node(name, meta)?;
            self.values.push(value);
            proxies.push(Proxy { value: id, kind });
        }
        let mut fresh = proxies.iter().map(|proxy| proxy.value);
        let output = |output: &Output| match output {
            Output::Value(_) => fresh.next().map_or(Output::None, Output::Value),
            Output::List(list) => Output::List(list.iter().map(|id| id.and_then(|_| fresh.next())).collect()),
            other => other.clone(),
        };
        let outputs = node.outputs.iter().map(output).collect();
        let name = if inlined { self.fresh(&node.name) } else { node.name.clone() };
        self.builder.node(Node { name, inputs: step.inputs.clone(), outputs, ..node.clone() })?;
        self.stand_for(node, &proxies)?;
        Ok(proxies)
    }

    /// Whether an operand is other than it was recorded.
    fn is_changed(&self, node: &Node) -> bool {
        let Some(over) = &self.over else { return false };
        let mut changed = false;
        for input in &node.inputs {
            input.arg.for_each_value(&mut |id| {
                let now = over.now.get(id.index()).copied().flatten();
                changed |=
                    now.is_none_or(|now| self.values.get(now.value.index()) != over.old.get(id.index()));
            });
        }
        changed
    }

    /// What a call gives for operands that have changed.
    fn inferred(&mut self, step: &OldCall<'_>, count: usize) -> Result<Vec<(Value, Meta)>, TraceError> {
        let target = step.node.target.clone();
        if target.higher_order().is_some() {
            let message = format!("an operand of `{}` has another shape than before", step.node.name);
            return Err(TraceError::Malformed(message));
        }
        let given: Vec<(&str, Argument)> =
            step.inputs.iter().map(|input| (&*input.name, input.arg.clone())).collect();
        let mut made = Vec::with_capacity(count);
        for value in self.infer(&target, &given)? {
            let parts = match value {
                Value::Tensors(list) => list.into_iter().flatten().map(Value::Tensor).collect(),
                other => vec![other],
            };
            for part in parts {
                if let Some((meta, _)) = self.meta(&part) {
                    made.push((part, meta));
                }
            }
        }
        if made.len() != count {
            let message = format!("`{}` gives {} results now and {count} before", step.node.name, made.len());
            return Err(TraceError::Malformed(message));
        }
        Ok(made)
    }

    /// What a call gives for operands that lie otherwise in memory, where sizes and dtypes are those that were recorded
    /// and nothing depends on data.
    fn inferred_alike(
        &mut self,
        step: &OldCall<'_>,
        recorded: &[(Value, Meta)],
    ) -> Option<Vec<(Value, Meta)>> {
        if !self.over.as_ref()?.keeps_records {
            return None;
        }
        let data = self.env.unbacked().len();
        let made = self.inferred(step, recorded.len()).ok()?;
        let alike = |(new, old): (&Value, &Value)| match (new, old) {
            (Value::Tensor(new), Value::Tensor(old)) => new.dtype == old.dtype && new.sizes == old.sizes,
            (new, old) => new == old,
        };
        let same = made.iter().zip(recorded).all(|((new, _), (old, _))| alike((new, old)));
        (same && self.env.unbacked().len() == data).then_some(made)
    }

    /// Has values stand for what a call of the program gave.
    pub(super) fn stand_for(&mut self, node: &Node, results: &[Proxy]) -> Result<(), TraceError> {
        let ids: Vec<ValueId> = node.output_values().collect();
        if ids.len() != results.len() {
            let message =
                format!("`{}` gives {} results, {} stand for them", node.name, ids.len(), results.len());
            return Err(TraceError::Malformed(message));
        }
        if let Some(over) = &mut self.over {
            for (id, &proxy) in ids.into_iter().zip(results) {
                over.now[id.index()] = Some(proxy);
            }
        }
        Ok(())
    }

    fn finish_over(mut self) -> Result<Traced, TraceError> {
        let Some(over) = self.over.take() else {
            return Err(TraceError::Malformed("no program is traced anew".to_owned()));
        };
        let now =
            |id: ValueId| over.now.get(id.index()).copied().flatten().map(|proxy| New::Value(proxy.value));
        let graph = &over.program.graph;
        let outputs = graph.outputs().iter().map(|output| argument_with(output, &now)).collect();
        let single = graph.single_tensor_return();
        let writes = self.writes;
        let builder = std::mem::take(&mut self.builder);
        let exprs = std::mem::take(&mut self.exprs);
        let mut traced = self.finish(&[]);
        traced.guards.drain(..over.guards.min(traced.guards.len()));
        let mut program = with_graph(&over.program, builder.finish(outputs, single));
        program.exprs = exprs;
        if writes {
            program.dialect = sizewise_ir::Dialect::Training;
        }
        traced.program = program;
        Ok(traced)
    }
}

impl Kind {
    fn of(meta: &Meta) -> Option<Kind> {
        match meta {
            Meta::Tensor(_) => Some(Kind::Tensor),
            Meta::SymInt(_) => Some(Kind::Int),
            Meta::SymFloat(_) => Some(Kind::Float),
            Meta::SymBool(_) => Some(Kind::Bool),
            Meta::CustomObj(_) | Meta::Token | Meta::Unknown => None,
        }
    }
}
