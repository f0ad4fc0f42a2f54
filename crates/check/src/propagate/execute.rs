//! Runs graphs node by node, and compares each result with the recorded value.
use super::arguments;
use super::compare::is_as_recorded;
use super::frame::Frame;
use super::hop::complete_dual;
use super::interpreter::{CallError, Interpreter, Mode, Stop};
use super::recorded;
use super::results::{distribute, flat, retype};
use super::run::Run;
use super::step::{Entry, Step};
use crate::spec::Assumptions;
use sizewise_env::Origin;
use sizewise_expr::{Expr, Symbol, is_cancelled};
use sizewise_ir::schema::Schema;
use sizewise_ir::{Argument, Graph, GraphInput, Node, Program, Subgraph, TargetKind};
use sizewise_kernels::{Args, Cx, FakeKernel, Operators, Value, Values, bind};
use smallvec::SmallVec;
use std::sync::Arc;

/// The greatest nesting of graphs.
const MAX_DEPTH: usize = 64;

/// Runs a program on its symbolic inputs.
///
/// # Errors
/// When its records cannot be read.
pub fn propagate<'p>(
    program: &'p Program,
    assumptions: &Assumptions<'p>,
    operators: &'p Operators,
) -> Result<Run<'p>, Stop> {
    propagate_with(program, assumptions, operators, false)
}

/// [`propagate`] with the sizes that the program computes, whatever it records of values inside it: only its outputs are
/// compared.
///
/// # Errors
/// As [`propagate`].
pub fn propagate_as_computed<'p>(
    program: &'p Program,
    assumptions: &Assumptions<'p>,
    operators: &'p Operators,
) -> Result<Run<'p>, Stop> {
    propagate_with(program, assumptions, operators, true)
}

fn propagate_with<'p>(
    program: &'p Program,
    assumptions: &Assumptions<'p>,
    operators: &'p Operators,
    as_computed: bool,
) -> Result<Run<'p>, Stop> {
    let (mut env, mut records) = (assumptions.env.clone(), assumptions.records.clone());
    let inputs = recorded::assumed_inputs(program, &assumptions.inputs, &mut records, &mut env)?;
    let mut interpreter = Interpreter::new(program, env, records, operators, Mode::Verify);
    interpreter.as_computed = as_computed;
    let results = interpreter.propagate(inputs)?;
    if as_computed {
        interpreter.compare_outputs(&results);
    }
    Ok(interpreter.run.finished(results, |symbol| assumptions.env.symbol(symbol).is_some()))
}

impl<'p> Interpreter<'p> {
    /// Runs the program: the value of each of the graph's outputs. `inputs` has one value for each of the
    /// graph's inputs; constants are taken from the graph.
    ///
    /// # Errors
    /// When evaluating, the first failure; else only records that cannot be read.
    pub fn propagate(&mut self, inputs: Vec<Value>) -> Result<Vec<Value>, Stop> {
        let program = self.program;
        self.run_graph(&program.graph, inputs)
    }

    /// Runs a graph on values for its inputs.
    pub(super) fn run_graph(&mut self, graph: &'p Graph, inputs: Vec<Value>) -> Result<Vec<Value>, Stop> {
        let mut frame = Frame::new(graph, self.untrusted);
        for (input, value) in graph.inputs().iter().zip(inputs) {
            if let GraphInput::Value(id) = input {
                frame.set(*id, self.calls.share(value));
            }
        }
        for (at, node) in graph.nodes().iter().enumerate() {
            if is_cancelled() {
                return Err(self.malformed("cancelled"));
            }
            frame.at = at;
            self.run_node(&mut frame, node)?;
        }
        let outputs = graph.outputs().iter().map(|argument| self.argument(&frame, argument)).collect();
        Ok(outputs)
    }

    /// Runs a graph that a higher-order operator calls.
    pub(super) fn run_subgraph(
        &mut self,
        subgraph: &'p Subgraph,
        inputs: Vec<Value>,
    ) -> Result<Vec<Value>, Stop> {
        if self.scope.depth >= MAX_DEPTH {
            let message = format!("graphs are nested more than {MAX_DEPTH} deep");
            return Err(self.malformed(message));
        }
        let origin = self.origin;
        let caller = usize::try_from(origin.0).ok().and_then(|at| self.run.steps.get(at));
        let inner = self.scope.inner(&subgraph.name, caller);
        let outer = std::mem::replace(&mut self.scope, inner);
        let untrusted = self.untrusted;
        let (autocast, entered) = (self.autocast.clone(), std::mem::take(&mut self.entered));
        let result = self.run_graph(&subgraph.graph, inputs);
        (self.autocast, self.entered) = (autocast, entered);
        self.scope = outer;
        self.untrusted = untrusted;
        self.origin = origin;
        self.run.env.set_origin(origin);
        result
    }

    /// Runs a graph that the current step calls where `condition` holds; where data want it if there is none.
    pub(super) fn run_subgraph_where(
        &mut self,
        condition: Option<Expr>,
        subgraph: &'p Subgraph,
        inputs: Vec<Value>,
    ) -> Result<Vec<Value>, Stop> {
        let inside = self.scope.entered(Entry { by: self.origin, graph: subgraph.name.clone(), condition });
        let outside = std::mem::replace(&mut self.scope, inside);
        let result = self.run_subgraph(subgraph, inputs);
        self.scope = outside;
        result
    }

    /// The value of an argument of a node in `frame`.
    pub(super) fn argument(&mut self, frame: &Frame, argument: &Argument) -> Value {
        arguments::value(&mut self.run.env, argument, &|id| frame.value(id).clone())
    }

    fn run_node(&mut self, frame: &mut Frame<'p>, node: &'p Node) -> Result<(), Stop> {
        self.begin_step(node);
        self.begin_call(frame, node);
        self.untrusted = frame.untrusted.is_used_by(node);
        if self.untrusted {
            frame.untrusted.add(node);
        }
        let (revision, comparing) = (self.run.env.revision(), self.comparing());
        if let Some((results, taken, notes)) = self.calls.lookup(revision) {
            self.run.env.repeat_notes(notes);
            let known = (&mut self.records, &mut self.run.env);
            if taken && is_as_recorded(comparing, known, frame.graph, node, results) {
                for (id, value) in distribute(node, results) {
                    frame.set(id, value.clone());
                }
                return Ok(());
            }
            let results = results.clone();
            return self.set_results(frame, node, &results, self.run.env.unbacked().len());
        }
        let (unbacked, noted) = (self.run.env.unbacked().len(), self.run.env.begin_notes());
        match self.call(frame, node) {
            Ok(returns) => {
                let mut results = flat(returns);
                if std::mem::take(&mut self.dtypes_as_recorded) {
                    self.calls.discard();
                    retype(frame.graph, node, &mut results);
                }
                let known = (&mut self.records, &mut self.run.env);
                let as_recorded = known.1.unbacked().len() == unbacked
                    && is_as_recorded(comparing, known, frame.graph, node, &results);
                if self.run.env.revision() == revision {
                    self.calls.store(revision, &mut results, as_recorded, self.run.env.notes_since(noted));
                }
                if !as_recorded {
                    return self.set_results(frame, node, &results, unbacked);
                }
                for (id, value) in distribute(node, &results) {
                    self.count_elements(value)?;
                    let value = self.calls.share(value.clone());
                    frame.set(id, value);
                }
                Ok(())
            }
            Err(CallError::Unsupported(reason)) => {
                self.run.unsupported.push((self.origin, reason));
                frame.untrusted.add(node);
                // What is not known may write its operands.
                self.integers_written = true;
                self.trust_record(frame, node)
            }
            // The recorded operand may be wrong, rather than the program.
            Err(CallError::Stop(Stop::Failed(failure))) if self.untrusted && failure.condition.is_none() => {
                let reason = format!("an operand comes from a node that is not checked: {}", failure.message);
                self.run.unsupported.push((self.origin, reason));
                self.trust_record(frame, node)
            }
            Err(CallError::Stop(Stop::Failed(failure))) if self.mode == Mode::Verify => {
                self.run.failures.push(*failure);
                self.trust_record(frame, node)
            }
            Err(CallError::Stop(stop)) => Err(stop),
        }
    }

    /// Gives the outputs of a node the results of its call, compared with the recorded values.
    fn set_results(
        &mut self,
        frame: &mut Frame<'p>,
        node: &'p Node,
        results: &[Value],
        unbacked: usize,
    ) -> Result<(), Stop> {
        let made = distribute(node, results).map(|(id, value)| (id, value.clone()));
        let made = if self.mode == Mode::Verify {
            let fresh: Vec<Symbol> = self.run.env.unbacked()[unbacked..].to_vec();
            let made = made.collect();
            self.reconcile(frame.graph, &fresh, made)
        } else {
            let made: Vec<_> = made.collect();
            self.note_beside_record(frame.graph, &made);
            made
        };
        for (id, value) in made {
            self.count_elements(&value)?;
            frame.set(id, self.calls.share(value));
        }
        Ok(())
    }

    /// Gives the outputs of a node the values that the program records.
    fn trust_record(&mut self, frame: &mut Frame, node: &Node) -> Result<(), Stop> {
        for id in node.output_values().collect::<Vec<_>>() {
            let value = recorded::value(&mut self.records, &mut self.run.env, frame.graph.meta(id))?;
            if let Value::Tensor(t) = &value {
                for &size in &t.sizes {
                    for symbol in self.records.undeclared(&self.run.env, size) {
                        self.records.declare_unbacked(&mut self.run.env, symbol);
                    }
                }
            }
            frame.set(id, value);
        }
        Ok(())
    }

    /// Begins the call of a node.
    fn begin_call(&mut self, frame: &Frame<'p>, node: &'p Node) {
        let mut regions = Vec::new();
        self.write_regions(&mut regions);
        self.calls.begin(frame, node, self.operators, &regions);
    }

    fn begin_step(&mut self, node: &'p Node) {
        self.dtypes_as_recorded = false;
        self.origin = Origin(u32::try_from(self.run.steps.len()).unwrap_or(u32::MAX));
        self.run.env.set_origin(self.origin);
        self.run.steps_mut().push(Step::new(node, self.scope.clone()));
    }

    /// Calls what a node calls.
    fn call(&mut self, frame: &Frame, node: &'p Node) -> Result<Values, CallError> {
        match node.target.kind() {
            TargetKind::HigherOrder(name) => self.call_higher_order(frame, node, name).map(Values::from_vec),
            TargetKind::Python { module, function } => self.call_python(frame, node, module, function),
            TargetKind::Op { .. } | TargetKind::Extension { .. } => {
                let callee = self.calls.callee(&node.target, self.operators);
                let Some((schema, kernel)) = callee.kernel else {
                    return Err(no_kernel(&callee.op));
                };
                let unpacks_dual = &*callee.op == "aten._unpack_dual.default";
                let arguments = node.inputs.iter().map(|i| (&*i.name, self.argument(frame, &i.arg)));
                let arguments: SmallVec<[_; 8]> = arguments.collect();
                let mut returns = self.call_kernel(schema, kernel, arguments)?;
                if unpacks_dual {
                    complete_dual(node, &mut returns);
                }
                Ok(returns)
            }
        }
    }

    /// Calls a Python function: one that enters or exits a region, or one on numbers.
    fn call_python(
        &mut self,
        frame: &Frame,
        node: &'p Node,
        module: &str,
        function: &str,
    ) -> Result<Values, CallError> {
        let args: Values = node.inputs.iter().map(|i| self.argument(frame, &i.arg)).collect();
        let result = match module {
            "torch._functorch.predispatch" => {
                self.call_vmap(frame, function, &args).or_else(|| self.call_dual(node, function, &args))
            }
            "torch.amp.autocast_mode" => self.call_autocast(function, &args),
            _ => None,
        };
        if let Some(result) = result {
            return result.map(Values::from_vec);
        }
        let op = self.calls.callee(&node.target, self.operators).op.clone();
        let result = sizewise_kernels::python_function(
            &mut Cx::on(&mut self.run.env, self.operators.backend()),
            &op,
            &args,
        );
        self.returned(result)
    }

    /// Calls an operator's overload with arguments by name; unnamed ones are positional.
    pub(super) fn call_operator(
        &mut self,
        op: &str,
        arguments: Vec<(Arc<str>, Value)>,
    ) -> Result<Vec<Value>, CallError> {
        let (schema, kernel) = self.operators.find(op).ok_or_else(|| no_kernel(op))?;
        self.call_kernel(schema, kernel, arguments).map(Values::into_vec)
    }

    fn call_kernel<N: AsRef<str>>(
        &mut self,
        schema: &Schema,
        kernel: &dyn FakeKernel,
        arguments: impl IntoIterator<Item = (N, Value)>,
    ) -> Result<Values, CallError> {
        let (mut positional, mut keywords) = (SmallVec::<[_; 4]>::new(), SmallVec::<[_; 8]>::new());
        for (name, value) in arguments {
            if name.as_ref().is_empty() {
                positional.push(value);
            } else {
                keywords.push((name, value));
            }
        }
        let mut args = match bind(&mut self.run.env.pool, schema, positional, keywords) {
            Ok(args) => args,
            Err(error) => return Err(self.malformed(error.to_string())),
        };
        if self.autocast.enabled().next().is_some() {
            self.autocast(&schema.qualified().to_string(), &mut args)?;
        }
        if self.integers_written {
            args.values_mut().iter_mut().for_each(Value::forget_span);
        }
        let mut cx = Cx::on(&mut self.run.env, self.operators.backend());
        let mut result = kernel.call(&mut cx, &args);
        if let Ok(results) = &mut result {
            cx.follow_spans(&args, results);
        }
        self.integers_written |= writes_integers(&args);
        self.returned(result)
    }
}

/// Whether a call writes integers in place, or gives a view of integers as floats that can be written later.
fn writes_integers(args: &Args) -> bool {
    let schema = args.schema;
    let reads_bits = schema.name == "view" && schema.overload == "dtype";
    if !schema.mutable && !reads_bits {
        return false;
    }
    let integers = |value: &Value| match value {
        Value::Tensor(tensor) => tensor.dtype.is_integral(),
        Value::Tensors(list) => list.iter().flatten().any(|tensor| tensor.dtype.is_integral()),
        _ => false,
    };
    let seen = |written: bool| written || !schema.mutable;
    schema.args.iter().zip(args.values()).any(|(arg, value)| seen(arg.is_written()) && integers(value))
}

fn no_kernel(op: &str) -> CallError {
    CallError::Unsupported(format!("there is no fake kernel for `{op}`"))
}
