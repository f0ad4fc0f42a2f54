//! The interpreter of graphs.
use super::arguments;
use super::calls::Calls;
use super::compare::is_as_recorded;
use super::hop::complete_dual;
use super::recorded;
use super::results::{distribute, flat, retype};
use super::step::{Comparison, Derived, Failure, FailureKind, Mismatch, Named, Scope, Step};
use super::uses::{Hidden, Uses};
use crate::records::{RecordedError, Records};
use rustc_hash::FxHashSet;
use sizewise_env::{Origin, ShapeEnv};
use sizewise_expr::{Expr, Symbol, is_cancelled};
use sizewise_ir::schema::Schema;
use sizewise_ir::{Argument, Constant, Graph, GraphInput, Node, Program, Subgraph, TargetKind, ValueId};
use sizewise_kernels::autocast::Regions;
use sizewise_kernels::{Cx, FakeKernel, KernelError, Operators, Value, Values, bind};
use smallvec::SmallVec;
use std::sync::Arc;

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Compare every value with the record, and go on with the record after a failure.
    Verify,
    /// Stop at the first failure; look at the record only where an operator is not supported.
    Evaluate,
}

/// A run that stopped.
#[derive(Clone, Debug)]
pub enum Stop {
    /// A step failed.
    Failed(Box<Failure>),
    /// The program's records cannot be read.
    Unreadable(RecordedError),
}

impl From<RecordedError> for Stop {
    fn from(error: RecordedError) -> Stop {
        Stop::Unreadable(error)
    }
}

/// The most graphs within graphs.
const MAX_DEPTH: usize = 64;

/// Runs a program on fake tensors.
pub struct Interpreter<'p> {
    /// The program.
    pub program: &'p Program,
    /// Symbols, facts, guards and runtime assertions.
    pub env: ShapeEnv,
    /// The program's records.
    pub records: Records<'p>,
    /// The steps so far, by [`Origin`].
    pub steps: Vec<Step<'p>>,
    /// Sizes derived in another way than recorded.
    pub comparisons: Vec<Comparison>,
    /// Values recorded wrongly.
    pub mismatches: Vec<Mismatch>,
    /// Those that nothing uses.
    pub unused_mismatches: Vec<Mismatch>,
    /// Steps whose operator has no kernel, with the reason.
    pub unsupported: Vec<(Origin, String)>,
    /// Steps that gave no result; at most one when evaluating.
    pub failures: Vec<Failure>,
    /// Records that could not be read.
    pub unreadable: Vec<String>,
    /// How many elements values have, each count once: those that sizes leave open, and those beyond 64 bits.
    pub element_counts: Vec<(Origin, Expr)>,
    /// The symbols of data-decided sizes that only the record names.
    pub named: Vec<Named>,
    /// What is derived of each value beside what is recorded, if it was asked for by putting a list here.
    pub derived: Option<Vec<Derived>>,
    pub(super) counted: FxHashSet<Expr>,
    pub(super) mode: Mode,
    pub(super) operators: &'p Operators,
    pub(super) origin: Origin,
    pub(super) compared: FxHashSet<Expr>,
    /// The autocast regions around the step.
    pub(super) autocast: Regions,
    /// The regions around those that `_enter_autocast` has begun.
    pub(super) entered: Vec<Regions>,
    /// Only the record tells the dtypes of the step's results.
    pub(super) dtypes_as_recorded: bool,
    pub(super) scope: Scope,
    pub(super) calls: Calls<'p>,
    pub(super) uses: Uses,
    /// The step rests on what an unsupported operator hides.
    pub(super) hidden: bool,
}

/// The values of one graph.
pub(super) struct Frame<'p> {
    pub graph: &'p Graph,
    /// The index of the node at hand.
    pub at: usize,
    values: Vec<Value>,
    hidden: Hidden,
}

impl Frame<'_> {
    /// A value; `Opaque` where there is none yet.
    pub(super) fn value(&self, id: ValueId) -> &Value {
        self.values.get(id.index()).unwrap_or(&Value::Opaque)
    }

    fn set(&mut self, id: ValueId, value: Value) {
        if let Some(slot) = self.values.get_mut(id.index()) {
            *slot = value;
        }
    }
}

impl<'p> Interpreter<'p> {
    /// An interpreter of `program` over an environment that knows its symbols.
    pub fn new(
        program: &'p Program,
        env: ShapeEnv,
        records: Records<'p>,
        operators: &'p Operators,
        mode: Mode,
    ) -> Self {
        Interpreter {
            program,
            env,
            records,
            steps: Vec::with_capacity(program.graph.nodes().len()),
            comparisons: Vec::new(),
            mismatches: Vec::new(),
            unused_mismatches: Vec::new(),
            unsupported: Vec::new(),
            failures: Vec::new(),
            unreadable: Vec::new(),
            element_counts: Vec::new(),
            named: Vec::new(),
            derived: None,
            counted: FxHashSet::default(),
            mode,
            operators,
            origin: Origin::default(),
            compared: FxHashSet::default(),
            autocast: Regions::default(),
            entered: Vec::new(),
            dtypes_as_recorded: false,
            scope: Scope::default(),
            calls: Calls::default(),
            uses: Uses::default(),
            hidden: false,
        }
    }

    /// Runs the program: the value of each of the graph's outputs. `inputs` has one value for each of the graph's inputs;
    /// constants are taken from the graph.
    ///
    /// # Errors
    /// When evaluating, the first failure; else only records that cannot be read.
    pub fn run(&mut self, inputs: Vec<Value>) -> Result<Vec<Value>, Stop> {
        let program = self.program;
        self.run_graph(&program.graph, inputs)
    }

    /// Runs a graph on values for its inputs.
    pub(super) fn run_graph(&mut self, graph: &'p Graph, inputs: Vec<Value>) -> Result<Vec<Value>, Stop> {
        let hidden = Hidden::within(self.hidden);
        let mut frame = Frame { graph, values: vec![Value::Opaque; graph.value_count()], at: 0, hidden };
        for (input, value) in graph.inputs().iter().zip(inputs) {
            if let GraphInput::Value(id) = input {
                frame.set(*id, self.calls.share(value));
            }
        }
        for (at, node) in graph.nodes().iter().enumerate() {
            if is_cancelled() {
                return Err(self.failure(FailureKind::Malformed, "cancelled".to_string(), None, None));
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
            return Err(self.failure(FailureKind::Malformed, message, None, None));
        }
        let origin = self.origin;
        let caller = usize::try_from(origin.0).ok().and_then(|at| self.steps.get(at));
        let inner = self.scope.inner(&subgraph.name, caller);
        let outer = std::mem::replace(&mut self.scope, inner);
        let hidden = self.hidden;
        let (autocast, entered) = (self.autocast.clone(), std::mem::take(&mut self.entered));
        let result = self.run_graph(&subgraph.graph, inputs);
        (self.autocast, self.entered) = (autocast, entered);
        self.scope = outer;
        self.hidden = hidden;
        self.origin = origin;
        self.env.set_origin(origin);
        result
    }

    /// The value of an argument of a node in `frame`.
    pub(super) fn argument(&mut self, frame: &Frame, argument: &Argument) -> Value {
        arguments::value(&mut self.env, argument, &|id| frame.value(id).clone())
    }

    fn run_node(&mut self, frame: &mut Frame<'p>, node: &'p Node) -> Result<(), Stop> {
        self.begin_step(node);
        self.begin_call(frame, node);
        self.hidden = frame.hidden.reaches(node);
        if self.hidden {
            frame.hidden.add(node);
        }
        let (revision, comparing) = (self.env.revision(), self.comparing());
        if let Some((results, taken, notes)) = self.calls.known(revision) {
            self.env.repeat_notes(notes);
            let known = (&mut self.records, &mut self.env);
            if taken && is_as_recorded(comparing, known, frame.graph, node, results) {
                for (id, value) in distribute(node, results) {
                    frame.set(id, value.clone());
                }
                return Ok(());
            }
            let results = results.clone();
            return self.take(frame, node, &results, self.env.unbacked().len());
        }
        let (unbacked, noted) = (self.env.unbacked().len(), self.env.begin_notes());
        match self.call(frame, node) {
            Ok(returns) => {
                let mut results = flat(returns);
                if std::mem::take(&mut self.dtypes_as_recorded) {
                    self.calls.forget();
                    retype(frame.graph, node, &mut results);
                }
                let known = (&mut self.records, &mut self.env);
                let as_recorded = known.1.unbacked().len() == unbacked
                    && is_as_recorded(comparing, known, frame.graph, node, &results);
                if self.env.revision() == revision {
                    self.calls.keep(revision, &mut results, as_recorded, self.env.notes_since(noted));
                }
                if !as_recorded {
                    return self.take(frame, node, &results, unbacked);
                }
                for (id, value) in distribute(node, &results) {
                    self.count_elements(value)?;
                    let value = self.calls.share(value.clone());
                    frame.set(id, value);
                }
                Ok(())
            }
            Err(CallError::Unsupported(reason)) => {
                self.unsupported.push((self.origin, reason));
                frame.hidden.add(node);
                self.trust_record(frame, node)
            }
            // What is wrong with an operand that is not known may be wrong with the record only.
            Err(CallError::Stop(Stop::Failed(failure))) if self.hidden && failure.condition.is_none() => {
                let reason =
                    format!("an operand comes from a node that is not looked into: {}", failure.message);
                self.unsupported.push((self.origin, reason));
                self.trust_record(frame, node)
            }
            Err(CallError::Stop(Stop::Failed(failure))) if self.mode == Mode::Verify => {
                self.failures.push(*failure);
                self.trust_record(frame, node)
            }
            Err(CallError::Stop(stop)) => Err(stop),
        }
    }

    /// Gives the outputs of a node the results of its call, brought together with what the program records of them.
    fn take(
        &mut self,
        frame: &mut Frame<'p>,
        node: &'p Node,
        results: &[Value],
        unbacked: usize,
    ) -> Result<(), Stop> {
        let made = distribute(node, results).map(|(id, value)| (id, value.clone()));
        let made = if self.mode == Mode::Verify {
            let fresh: Vec<Symbol> = self.env.unbacked()[unbacked..].to_vec();
            let made = made.collect();
            self.reconcile(frame.graph, &fresh, made)
        } else {
            made.collect()
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
            let value = recorded::value(&mut self.records, &mut self.env, frame.graph.meta(id))?;
            if let Value::Tensor(t) = &value {
                for &size in &t.sizes {
                    for symbol in self.records.undeclared(&self.env, size) {
                        self.records.declare_unbacked(&mut self.env, symbol);
                    }
                }
            }
            frame.set(id, value);
        }
        Ok(())
    }

    /// Makes the call of a node the one at hand.
    fn begin_call(&mut self, frame: &Frame<'p>, node: &'p Node) {
        let mut regions = Vec::new();
        self.write_regions(&mut regions);
        self.calls.begin(frame, node, self.operators, &regions);
    }

    fn begin_step(&mut self, node: &'p Node) {
        self.dtypes_as_recorded = false;
        self.origin = Origin(u32::try_from(self.steps.len()).unwrap_or(u32::MAX));
        self.env.set_origin(self.origin);
        self.steps.push(Step::new(node, self.scope.clone()));
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

    /// Calls a function of Python: one that begins or ends something around other calls, or one on numbers.
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
            &mut Cx::on(&mut self.env, self.operators.backend()),
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
        let mut args = match bind(&mut self.env.pool, schema, positional, keywords) {
            Ok(args) => args,
            Err(error) => {
                return Err(self.failure(FailureKind::Malformed, error.to_string(), None, None).into());
            }
        };
        if self.autocast.enabled().next().is_some() {
            self.autocast(&schema.qualified().to_string(), &mut args)?;
        }
        let result = kernel.call(&mut Cx::on(&mut self.env, self.operators.backend()), &args);
        self.returned(result)
    }

    pub(super) fn returned<T>(&mut self, result: Result<T, KernelError>) -> Result<T, CallError> {
        result.map_err(|error| match error {
            KernelError::Unsupported(reason) => CallError::Unsupported(reason),
            KernelError::Invalid { clause, message, condition } => {
                self.failure(FailureKind::Invalid, message, Some(clause), condition).into()
            }
            KernelError::DataDependent { condition, message } => {
                self.failure(FailureKind::DataDependent, message, None, Some(condition)).into()
            }
        })
    }

    /// A failure of the step at hand.
    pub(super) fn failure(
        &self,
        kind: FailureKind,
        message: String,
        clause: Option<&'static str>,
        condition: Option<Expr>,
    ) -> Stop {
        Stop::Failed(Box::new(Failure { origin: self.origin, kind, message, clause, condition }))
    }
}

/// Why a call gave nothing.
pub(super) enum CallError {
    /// No kernel.
    Unsupported(String),
    /// A failure.
    Stop(Stop),
}

impl From<Stop> for CallError {
    fn from(stop: Stop) -> CallError {
        CallError::Stop(stop)
    }
}

fn no_kernel(op: &str) -> CallError {
    CallError::Unsupported(format!("there is no fake kernel for `{op}`"))
}

/// A constant input as a value.
pub fn constant_value(env: &mut ShapeEnv, constant: &Constant) -> Value {
    match constant {
        Constant::None => Value::None,
        Constant::Int(v) => Value::Int(env.pool.int(*v)),
        Constant::Float(v) => Value::Float(env.pool.float(*v)),
        Constant::Str(s) => Value::Str(s.clone()),
        Constant::Bool(b) => Value::Bool(env.pool.bool(*b)),
    }
}
