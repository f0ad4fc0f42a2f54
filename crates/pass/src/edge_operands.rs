//! Operands as the Edge dialect has them: views become copies, numbers in the place of tensors are lifted to buffers,
//! sizes there become tensors by `aten.scalar_tensor`, and operands of some operators are cast to the dtype in which
//! they meet.
//!
//! Source: ExecuTorch, `exir/passes/` (`replace_broken_ops_with_function_ops_pass.py`, `scalar_to_tensor_pass.py`,
//! `sym_to_tensor_pass.py`, `remove_mixed_type_operators.py`), torch,
//! `_export/passes/replace_view_ops_with_view_copy_ops_pass.py`.
use super::edge_numbers::{Number, Written, meeting, numbers};
use super::edge_promotion::promoted;
use super::error::PassError;
use super::rewrite::{New, Rewriter, with_graph};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_ir::schema::{OperatorName, Schema, SchemaTable};
use sizewise_ir::{
    Argument, Device, Dtype, Graph, Input, InputSpec, Layout, Meta, Node, Operand, Output, PassedAs, Program,
    Sizes, Sym, Target, TensorMeta, ValueId,
};
use sizewise_kernels::{Operators, ResultType};
use std::sync::Arc;

/// What is recorded of a contiguous tensor without dimensions on the CPU.
pub(super) fn zero_dimensional(dtype: Dtype) -> Meta {
    Meta::Tensor(Box::new(TensorMeta {
        dtype,
        sizes: Sizes::new(),
        strides: Sizes::new(),
        storage_offset: Sym::Literal(0),
        requires_grad: false,
        device: Device::cpu(),
        layout: Layout::Strided,
    }))
}

/// The schema of what a node calls.
fn schema<'o>(node: &Node, operators: &'o Operators) -> Option<&'o Schema> {
    node.target.op()?;
    let op = node.target.to_string();
    operators.find(&op).map(|(schema, _)| schema).or_else(|| SchemaTable::global().get(&op))
}

/// The operator that copies where another gives a view of its argument.
fn copying(name: OperatorName<'_>, schema: &Schema) -> Option<Result<Target, String>> {
    if name.namespace != "aten" {
        return None;
    }
    let copy = match (name.name, name.overload) {
        ("_unsafe_view", "default") => "aten.view_copy.default".to_owned(),
        (op, overload) if schema.is_view() => format!("aten.{op}_copy.{overload}"),
        _ => return None,
    };
    let known = SchemaTable::global().get(&copy).is_some();
    Some(if known {
        Ok(Target::parse(&format!("torch.ops.{copy}")))
    } else {
        Err(format!("there is no `{copy}`"))
    })
}

/// The rewriting of one program.
struct Rewriting<'o> {
    operators: &'o Operators,
    /// What each number was lifted to, by the index of the node that is given it and the place there.
    lifted: FxHashMap<(usize, usize), (ValueId, Dtype)>,
    /// What cannot be brought into the form of the Edge dialect, with its node.
    left: Vec<String>,
}

/// A number that becomes a buffer, and the argument that it is: the index of its node and its place there.
struct Lifted {
    argument: (usize, usize),
    number: Written,
    dtype: Dtype,
}

/// The numbers that nodes of the program's own graph are given for tensors.
fn lifted(program: &Program, operators: &Operators) -> Vec<Lifted> {
    let mut lifted = Vec::new();
    for (index, node) in program.graph.nodes().iter().enumerate() {
        let Some(schema) = schema(node, operators) else { continue };
        let meeting = meeting(&program.graph, node, schema);
        for (place, number) in numbers(node, schema) {
            if let Number::Literal(number) = number {
                let dtype = number.dtype(meeting);
                lifted.push(Lifted { argument: (index, place), number, dtype });
            }
        }
    }
    lifted
}

/// Names of new buffers, as ExecuTorch has them: no buffer has them yet.
fn buffer_names(program: &Program, count: usize) -> Vec<Arc<str>> {
    let buffers: FxHashSet<&str> = program
        .signature
        .inputs
        .iter()
        .filter_map(|input| match input {
            InputSpec::Buffer { fqn, .. } => Some(&**fqn),
            _ => None,
        })
        .collect();
    let names = (buffers.len()..).map(|number| format!("_lifted_tensor_constant{number}"));
    let free = |name: &String| !buffers.contains(&**name) && program.graph.find(name).is_none();
    names.filter(free).take(count).map(Arc::from).collect()
}

/// The program with operands as the Edge dialect has them. What is recorded of values is to be inferred anew.
pub(super) fn rewritten(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    let is_user = |input: &InputSpec| input.is_user_input();
    let place = program.signature.inputs.iter().position(is_user).unwrap_or(program.signature.inputs.len());
    let lifted = lifted(program, operators);
    let names = buffer_names(program, lifted.len());
    let metas = lifted.iter().map(|lifted| zero_dimensional(lifted.dtype));
    let added = names.iter().cloned().zip(metas).collect();
    let (mut rewriter, values) = Rewriter::with_inputs(&program.graph, place, added);
    let mut signature = program.signature.clone();
    for input in &mut signature.inputs {
        move_input(input, &rewriter);
    }
    let tensors = lifted.iter().zip(&values).map(|(lifted, value)| (lifted.argument, (*value, lifted.dtype)));
    let mut rewriting = Rewriting { operators, lifted: tensors.collect(), left: Vec::new() };
    for (index, node) in program.graph.nodes().iter().enumerate() {
        rewriting.node(&mut rewriter, node, Some(index));
    }
    let graph = rewriting.finish(rewriter)?;
    let mut made = with_graph(program, graph);
    for ((value, fqn), lifted) in values.iter().zip(names).zip(&lifted).rev() {
        made.scalars.insert(fqn.clone(), lifted.number.constant());
        signature.inputs.insert(place, InputSpec::Buffer { value: *value, fqn, persistent: true });
    }
    made.signature = signature;
    Ok(made)
}

/// The program without those lifted numbers that nothing reads any more.
pub(super) fn without_unread(program: &Program) -> Program {
    let mut read = vec![false; program.graph.value_count()];
    let mut mark = |id: ValueId| read[id.index()] = true;
    program.graph.outputs().iter().for_each(|output| output.for_each_value(&mut mark));
    for node in program.graph.nodes() {
        node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut mark));
    }
    let unread = |input: &InputSpec| match input {
        InputSpec::Buffer { value, fqn, .. } if program.scalars.contains_key(fqn) && !read[value.index()] => {
            Some(*value)
        }
        _ => None,
    };
    let gone: Vec<ValueId> = program.signature.inputs.iter().filter_map(unread).collect();
    if gone.is_empty() {
        return program.clone();
    }
    let mut rewriter = Rewriter::without_inputs(&program.graph, &gone);
    for node in program.graph.nodes() {
        rewriter.keep(node, &mut |inner| inner.graph.clone());
    }
    let mut signature = program.signature.clone();
    signature.inputs.retain(|input| unread(input).is_none());
    for input in &mut signature.inputs {
        move_input(input, &rewriter);
    }
    let mut made = with_graph(program, rewriter.finish());
    made.scalars.retain(|fqn, _| {
        signature
            .inputs
            .iter()
            .any(|input| matches!(input, InputSpec::Buffer { fqn: kept, .. } if kept == fqn))
    });
    made.signature = signature;
    made
}

/// Has an input of the signature name its value in the new graph.
fn move_input(input: &mut InputSpec, rewriter: &Rewriter<'_>) {
    let value = match input {
        InputSpec::User { value: Some(value) }
        | InputSpec::Parameter { value, .. }
        | InputSpec::Buffer { value, .. }
        | InputSpec::TensorConstant { value, .. }
        | InputSpec::CustomObj { value, .. } => value,
        InputSpec::User { value: None } | InputSpec::Token { .. } | InputSpec::Constant { .. } => return,
    };
    if let Some(New::Value(new)) = rewriter.now(*value) {
        *value = new;
    }
}

impl Rewriting<'_> {
    fn finish(self, rewriter: Rewriter<'_>) -> Result<Graph, PassError> {
        if self.left.is_empty() { Ok(rewriter.finish()) } else { Err(PassError::left("edge", self.left)) }
    }

    /// Rewrites one node: that of an index in the program's own graph, or one of a graph that a node calls, out of which
    /// no numbers are lifted.
    fn node(&mut self, rewriter: &mut Rewriter<'_>, node: &Node, index: Option<usize>) {
        let Some(schema) = schema(node, self.operators) else {
            rewriter.keep(node, &mut |inner| self.inner(&inner.graph));
            return;
        };
        let mut node = node.clone();
        let name = schema.qualified();
        match copying(name, schema) {
            Some(Ok(target)) => node.target = target,
            Some(Err(message)) => {
                self.left.push(format!("`{}`: `{name}` gives a view, and {message}", node.name))
            }
            None => {}
        }
        let mut inputs: Vec<Input> = node
            .inputs
            .iter()
            .map(|input| Input { arg: rewriter.argument(&input.arg), ..input.clone() })
            .collect();
        // What the operands are, by their places: their dtypes decide on casts.
        let mut made = Vec::new();
        let meeting = meeting(rewriter.old, &node, schema);
        for (place, number) in numbers(&node, schema) {
            let tensor = match number {
                Number::Literal(_) => {
                    let lifted = index.and_then(|index| self.lifted.get(&(index, place)).copied());
                    if lifted.is_none() {
                        let message = format!(
                            "`{}`: `{name}` takes a tensor and is given a number, \
                             which is not lifted out of a graph that a node calls",
                            node.name
                        );
                        self.left.push(message);
                    }
                    lifted
                }
                Number::Value(id) => scalar_tensor(rewriter, &node, id, meeting),
            };
            if let Some((value, dtype)) = tensor {
                inputs[place].arg = Argument::Tensor(value);
                made.push((place, dtype));
            }
        }
        cast_numbers(rewriter, &node, meeting, (&mut inputs, &mut made));
        cast(rewriter, &node, schema, (&mut inputs, &made));
        rewriter.keep_given(&node, inputs, &mut |_, meta| meta.clone());
    }

    fn inner(&mut self, graph: &Graph) -> Graph {
        let mut rewriter = Rewriter::new(graph);
        for node in graph.nodes() {
            self.node(&mut rewriter, node, None);
        }
        rewriter.finish()
    }
}

/// A node that comes from the same place as another.
fn beside(node: &Node, name: Arc<str>, target: &str, inputs: Vec<Input>) -> Node {
    let provenance = node.provenance.clone();
    Node { provenance, ..Node::new(name, Target::parse(target), inputs, Vec::<Output>::new()) }
}

/// A number of the graph as a tensor.
fn scalar_tensor(
    rewriter: &mut Rewriter<'_>,
    node: &Node,
    id: ValueId,
    meeting: Option<Dtype>,
) -> Option<(ValueId, Dtype)> {
    let now = match rewriter.now(id) {
        Some(New::Value(value)) => value,
        _ => return None,
    };
    let wide = |dtype, wide| if meeting == Some(wide) { wide } else { dtype };
    let (argument, dtype) = match rewriter.old.meta(id) {
        Meta::SymInt(_) => (Argument::SymInt(Operand::Value(now)), wide(Dtype::Int32, Dtype::Int64)),
        Meta::SymFloat(_) => (Argument::SymFloat(Operand::Value(now)), wide(Dtype::Float32, Dtype::Float64)),
        Meta::SymBool(_) => (Argument::SymBool(Operand::Value(now)), Dtype::Bool),
        _ => return None,
    };
    let inputs = vec![
        Input { name: "s".into(), arg: argument, passed_as: PassedAs::Positional },
        Input { name: "dtype".into(), arg: Argument::Dtype(dtype), passed_as: PassedAs::Keyword },
    ];
    let value = rewriter.add("scalar_tensor", zero_dimensional(dtype), |name| {
        beside(node, name, "torch.ops.aten.scalar_tensor.default", inputs)
    })?;
    Some((value, dtype))
}

fn add_cast(
    rewriter: &mut Rewriter<'_>,
    node: &Node,
    (value, recorded): (ValueId, Meta),
    dtype: Dtype,
) -> Option<ValueId> {
    let mut meta = recorded;
    if let Meta::Tensor(tensor) = &mut meta {
        tensor.dtype = dtype;
        tensor.requires_grad = false;
    }
    let inputs = vec![
        Input { name: "self".into(), arg: Argument::Tensor(value), passed_as: PassedAs::Positional },
        Input { name: "dtype".into(), arg: Argument::Dtype(dtype), passed_as: PassedAs::Keyword },
    ];
    rewriter.add("_to_copy", meta, |name| beside(node, name, "torch.ops.aten._to_copy.default", inputs))
}

/// Casts tensors that numbers became to the dtype in which the operands met before. A tensor without dimensions counts
/// for more than a number: the operands may meet in another dtype now.
fn cast_numbers(
    rewriter: &mut Rewriter<'_>,
    node: &Node,
    meeting: Option<Dtype>,
    (inputs, made): (&mut [Input], &mut [(usize, Dtype)]),
) {
    let now = ResultType::default();
    let now = operands(rewriter.old, node, made)
        .iter()
        .fold(now, |now, &(_, dtype, rank)| now.with_dtype(dtype, rank));
    let Some(meeting) = meeting.filter(|meeting| now.dtype() != Ok(*meeting)) else { return };
    for (place, dtype) in made.iter_mut().filter(|(_, dtype)| *dtype != meeting) {
        let Argument::Tensor(value) = inputs[*place].arg else { continue };
        if let Some(cast) = add_cast(rewriter, node, (value, zero_dimensional(meeting)), meeting) {
            inputs[*place].arg = Argument::Tensor(cast);
            *dtype = meeting;
        }
    }
}

/// The tensors that a node is given, with `made` in the place of numbers: places, dtypes and ranks.
fn operands(graph: &Graph, node: &Node, made: &[(usize, Dtype)]) -> Vec<(usize, Dtype, usize)> {
    let operand =
        |(place, input): (usize, &Input)| match (made.iter().find(|made| made.0 == place), &input.arg) {
            (Some((_, dtype)), _) => Some((place, *dtype, 0)),
            (None, Argument::Tensor(id)) => {
                let meta = graph.meta(*id).tensor()?;
                Some((place, meta.dtype, meta.sizes.len()))
            }
            _ => None,
        };
    node.inputs.iter().enumerate().filter_map(operand).collect()
}

/// Casts operands to the dtype in which they meet, where ExecuTorch does.
fn cast(
    rewriter: &mut Rewriter<'_>,
    node: &Node,
    schema: &Schema,
    (inputs, made): (&mut [Input], &[(usize, Dtype)]),
) {
    let old = rewriter.old;
    let operands = operands(old, node, made);
    let kinds: Vec<(Dtype, usize)> = operands.iter().map(|(_, dtype, rank)| (*dtype, *rank)).collect();
    let Some(dtype) = promoted(node, schema, &kinds) else { return };
    for (place, _, _) in operands.iter().filter(|operand| operand.1 != dtype) {
        let Argument::Tensor(value) = inputs[*place].arg else { continue };
        let recorded = match &node.inputs[*place].arg {
            Argument::Tensor(id) => old.meta(*id).clone(),
            _ => zero_dimensional(dtype),
        };
        if let Some(cast) = add_cast(rewriter, node, (value, recorded), dtype) {
            inputs[*place].arg = Argument::Tensor(cast);
        }
    }
}
