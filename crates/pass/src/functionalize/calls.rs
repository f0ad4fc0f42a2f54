//! The walk over a graph's nodes: what each call reads, writes and gives.
use super::aliases::TensorId;
use super::emitter::{Made, Results};
use super::frame::{Done, Frame, Functionalizer, Slot, left};
use super::functional::{self, Functional, Returned};
use super::silent;
use super::step::ViewStep;
use crate::error::PassError;
use crate::rewrite::New;
use sizewise_ir::schema::{Schema, SchemaTable, Tags};
use sizewise_ir::{Argument, Input, Node, Operand, Output, PassedAs, TargetKind, ValueId};
use sizewise_kernels::sharing;
use std::rc::Rc;

impl Functionalizer<'_, '_> {
    /// Takes over a node.
    pub fn node(&mut self, frame: &mut Frame<'_>, node: &Node) -> Done {
        match node.target.kind() {
            TargetKind::HigherOrder(_) => return self.higher_order(frame, node),
            TargetKind::Op { .. } => {}
            _ => return self.plain(frame, node),
        }
        let op = node.target.to_string();
        let operators = self.emitter.shapes.operators;
        let Some(schema) = functional::schema(&op, operators) else {
            return match silent::out(self, frame, node)? {
                Some(()) => Ok(()),
                None => Err(left(node, "its schema is not known")),
            };
        };
        let named = with_names(node, schema);
        let node = named.as_ref().unwrap_or(node);
        if let Some(done) = silent::call(self, frame, node, schema)? {
            return Ok(done);
        }
        if schema.args.iter().any(|argument| argument.is_written()) {
            return self.writing(frame, node, schema);
        }
        match (0..schema.returns.len()).find_map(|at| schema.aliased_arg(at)) {
            Some((argument, _)) => self.viewing(frame, node, schema, argument),
            None => self.plain(frame, node),
        }
    }

    /// A call that neither writes nor shares memory.
    pub fn plain(&mut self, frame: &mut Frame<'_>, node: &Node) -> Done {
        let inputs = self.arguments(frame, node)?;
        let pairs = self.emitter.keep(frame.graph, node, inputs, frame.own_names)?;
        self.define(frame, pairs);
        Ok(())
    }

    /// A call whose results share the memory of an argument, or may.
    fn viewing(&mut self, frame: &mut Frame<'_>, node: &Node, schema: &Schema, argument: usize) -> Done {
        let name = &schema.args[argument].name;
        let viewed = node.inputs.iter().position(|input| *input.name == **name);
        let viewed = viewed.and_then(|at| Some((at, node.inputs[at].arg.value()?)));
        let Some((viewed, of)) = viewed.and_then(|(at, id)| Some((at, frame.tensor(id)?))) else {
            return Err(left(node, "what it views is not one tensor"));
        };
        let Some(old) = node.inputs[viewed].arg.value() else { return Ok(()) };
        let before = frame.graph.meta(old).clone();
        let inputs = self.arguments(frame, node)?;
        let pairs = self.emitter.keep(frame.graph, node, inputs.clone(), frame.own_names)?;
        let after = node.output_values().next().map(|id| frame.graph.meta(id));
        let tensors = self
            .emitter
            .recorded_tensor(&before)
            .zip(after.and_then(|after| self.emitter.recorded_tensor(after)));
        let shares = tensors.map_or(sharing::Shares::Seen, |(before, after)| {
            sharing::of(node, &before, &after, &mut self.emitter.shapes.env)
        });
        if shares == sharing::Shares::Nothing {
            self.define(frame, pairs);
            return Ok(());
        }
        let made = |(old, _): &(ValueId, ValueId)| Made {
            base: frame.graph.name(*old).clone(),
            expected: frame.graph.meta(*old).clone(),
        };
        let step = Rc::new(ViewStep {
            op: node.target.to_string(),
            inputs,
            viewed,
            before,
            results: pairs.iter().map(made).collect(),
            list: matches!(node.outputs.as_slice(), [Output::List(_)]),
            identity: shares == sharing::Shares::All,
            provenance: node.provenance.clone(),
        });
        for (item, (old, new)) in pairs.into_iter().enumerate() {
            let tensor = self.aliases.viewed(of, &step, item, Some(new));
            frame.set(old, Slot::Tensor(tensor));
        }
        Ok(())
    }

    /// The tensors of an argument; `None` where one is no tensor of the graph.
    fn tensors(frame: &Frame<'_>, argument: &Argument) -> Option<Vec<TensorId>> {
        let mut ids = Vec::new();
        argument.for_each_value(&mut |id| ids.push(id));
        ids.into_iter().map(|id| frame.tensor(id)).collect()
    }

    /// Lets the results that are written arguments be these.
    fn returned(&mut self, frame: &mut Frame<'_>, node: &Node, schema: &Schema) {
        for (index, output) in node.outputs.iter().enumerate() {
            let Some((argument, true)) = schema.aliased_arg(index) else { continue };
            let Some(argument) = node.argument(&schema.args[argument].name) else { continue };
            let tensors = Self::tensors(frame, argument).unwrap_or_default();
            for (value, tensor) in output.values().zip(tensors) {
                frame.set(value, Slot::Tensor(tensor));
            }
        }
    }

    /// A call that writes arguments.
    fn writing(&mut self, frame: &mut Frame<'_>, node: &Node, schema: &Schema) -> Done {
        let tags = SchemaTable::global().find(&node.target.to_string()).map(|overload| overload.tags());
        // These change what autograd records of a tensor, and nothing else.
        if matches!(&*schema.name, "detach_" | "requires_grad_" | "retain_grad") {
            self.returned(frame, node, schema);
            return Ok(());
        }
        if tags.is_some_and(|tags| tags.contains(Tags::INPLACE_VIEW)) {
            return self.changing_view(frame, node, schema);
        }
        let Some(form) = functional::of(schema) else {
            return Err(left(node, "no functional form is known"));
        };
        if self.reads_what_it_writes(frame, node, schema) {
            return Err(left(node, "it writes tensors that share memory, one after the other"));
        }
        self.functional(frame, node, schema, &form)?;
        self.returned(frame, node, schema);
        Ok(())
    }

    /// Whether a call writes a tensor whose memory it uses again later: in another place of its lists, which eager goes
    /// through one by one, or for another argument that it writes. The functional form reads all arguments before it
    /// gives anything.
    fn reads_what_it_writes(&self, frame: &Frame<'_>, node: &Node, schema: &Schema) -> bool {
        // The argument, the place in its list, and the memory.
        let mut uses: Vec<(usize, Option<usize>, usize)> = Vec::new();
        for (at, spec) in schema.args.iter().enumerate() {
            let Some(argument) = node.argument(&spec.name) else { continue };
            let listed = matches!(argument, Argument::Tensors(_) | Argument::OptionalTensors(_));
            for (place, tensor) in Self::tensors(frame, argument).unwrap_or_default().into_iter().enumerate()
            {
                uses.push((at, listed.then_some(place), self.aliases.memory(tensor)));
            }
        }
        let written = uses.iter().filter(|(at, ..)| schema.args[*at].is_written());
        let mut clashes = written.flat_map(|write| uses.iter().map(move |other| (write, other)));
        clashes.any(|((at, place, memory), (other_at, other_place, other_memory))| {
            let again = match (place, other_place) {
                (Some(place), Some(other)) => place != other,
                (Some(place), None) => *place > 0 || uses.iter().any(|(a, p, _)| a == at && *p > Some(0)),
                (None, _) => at != other_at && schema.args[*other_at].is_written(),
            };
            memory == other_memory && again
        })
    }

    /// A call that changes the sizes or strides of a tensor: from then on the tensor is another view.
    fn changing_view(&mut self, frame: &mut Frame<'_>, node: &Node, schema: &Schema) -> Done {
        let tensor = node.inputs.first().and_then(|input| input.arg.value()).and_then(|id| frame.tensor(id));
        let (Some(tensor), Some(view)) = (tensor, functional::view_of(schema)) else {
            return Err(left(node, "no functional form is known"));
        };
        if self.inputs.iter().flatten().any(|input| *input == tensor) {
            return Err(left(node, "it changes the sizes or strides of an input"));
        }
        let Some(result) = node.output_values().next() else { return Err(left(node, "it gives nothing")) };
        let value = self.aliases.value(tensor, &mut self.emitter)?;
        let before = self.emitter.meta(value).clone();
        let inputs = self.arguments(frame, node)?;
        let made = Made { base: view.name.as_str().into(), expected: frame.graph.meta(result).clone() };
        let step = Rc::new(ViewStep {
            op: view.qualified().to_string(),
            inputs: inputs.clone(),
            viewed: 0,
            before,
            results: vec![made.clone()],
            list: false,
            identity: false,
            provenance: node.provenance.clone(),
        });
        let results = Results::Values(vec![made]);
        let ids = self.emitter.call(&step.op, inputs, results, &node.provenance)?;
        let other = self.aliases.viewed(tensor, &step, 0, ids.first().copied());
        self.aliases.becomes(tensor, other);
        frame.set(result, Slot::Tensor(tensor));
        Ok(())
    }

    /// Calls the functional form, and writes what it gives for the arguments that the call writes.
    pub fn functional(
        &mut self,
        frame: &mut Frame<'_>,
        node: &Node,
        schema: &Schema,
        form: &Functional,
    ) -> Done {
        let given = self.arguments(frame, node)?;
        let mut inputs = Vec::with_capacity(form.arguments.len());
        for (spec, &at) in form.schema.args.iter().zip(&form.arguments) {
            let from = &schema.args[at];
            let arg = match given.iter().find(|input| *input.name == *from.name) {
                Some(input) => Some(input.arg.clone()),
                None if spec.is_required() => from.default.as_ref().and_then(functional::default),
                None => continue,
            };
            let Some(arg) = arg else { return Err(left(node, "a default has no form as an argument")) };
            let all = inputs.len()
                == form.schema.args.iter().position(|other| other.name == spec.name).unwrap_or(0);
            let passed_as = if spec.kw_only || !all { PassedAs::Keyword } else { PassedAs::Positional };
            inputs.push(Input { name: spec.name.as_str().into(), arg, passed_as });
        }
        let mut made = Vec::new();
        let mut list = false;
        for returned in &form.returned {
            let ids: Vec<ValueId> = match returned {
                Returned::Result(index) => {
                    node.outputs.get(*index).map(|output| output.values().collect()).unwrap_or_default()
                }
                Returned::Written(argument) => {
                    let mut ids = Vec::new();
                    let argument = node.argument(&schema.args[*argument].name);
                    if let Some(argument) = argument {
                        list |= matches!(argument, Argument::Tensors(_));
                        argument.for_each_value(&mut |id| ids.push(id));
                    }
                    ids
                }
            };
            if !list && ids.len() != 1 {
                return Err(left(node, "a tensor that it writes is not given"));
            }
            made.extend(ids.into_iter().map(|id| Made {
                base: form.schema.name.as_str().into(),
                expected: frame.graph.meta(id).clone(),
            }));
        }
        if list && form.returned.len() > 1 {
            return Err(left(node, "it writes several lists"));
        }
        let results = if list { Results::List(made) } else { Results::Values(made) };
        let ids = self.emitter.call(&form.op, inputs, results, &node.provenance)?;
        let mut ids = ids.into_iter();
        for returned in &form.returned {
            match returned {
                Returned::Result(index) => {
                    let old = node.outputs.get(*index).and_then(|output| output.values().next());
                    if let (Some(old), Some(new)) = (old, ids.next()) {
                        self.define(frame, vec![(old, new)]);
                    }
                }
                Returned::Written(argument) => {
                    let Some(argument) = node.argument(&schema.args[*argument].name) else { continue };
                    let Some(tensors) = Self::tensors(frame, argument) else {
                        return Err(left(node, "what it writes is no tensor of the graph"));
                    };
                    for (tensor, new) in tensors.into_iter().zip(ids.by_ref()) {
                        self.write(tensor, new, node)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What the graph returns.
    pub fn outputs(&mut self, frame: &Frame<'_>) -> Result<Vec<Argument>, PassError> {
        frame.graph.outputs().iter().map(|output| self.argument(frame, output)).collect()
    }
}

/// The node with the names of its arguments, where positions stand without; `None` where nothing is to be named.
fn with_names(node: &Node, schema: &Schema) -> Option<Node> {
    if node.inputs.iter().all(|input| !input.name.is_empty()) {
        return None;
    }
    let mut named = node.clone();
    for (input, spec) in named.inputs.iter_mut().zip(&schema.args) {
        if input.name.is_empty() {
            input.name = spec.name.as_str().into();
        }
    }
    Some(named)
}

/// A number as the new graph has it.
pub fn number(argument: &Argument) -> Option<New> {
    Some(match argument {
        Argument::Int(value) | Argument::SymInt(Operand::Literal(value)) => New::Int(*value),
        Argument::Float(value) | Argument::SymFloat(Operand::Literal(value)) => New::Float(*value),
        Argument::Bool(value) | Argument::SymBool(Operand::Literal(value)) => New::Bool(*value),
        other => New::Value(other.value()?),
    })
}
