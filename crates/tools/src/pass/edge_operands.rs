//! Operands as the Edge dialect has them: views become copies, numbers in the place of tensors are lifted to buffers,
//! sizes there become tensors by `aten.scalar_tensor`, and operands of some operators are cast to the dtype in which
//! they meet.
//!
//! Source: ExecuTorch, `exir/passes/` (`replace_broken_ops_with_function_ops_pass.py`, `scalar_to_tensor_pass.py`,
//! `sym_to_tensor_pass.py`, `remove_mixed_type_operators.py`), torch,
//! `_export/passes/replace_view_ops_with_view_copy_ops_pass.py`.
use super::edge_promotion::promoted;
use super::error::PassError;
use super::rewrite::{New, Rewriter, with_graph};
use sizewise_ir::schema::{OperatorName, Schema, SchemaTable, Type};
use sizewise_ir::{
    Argument, Constant, Device, Dtype, Graph, Input, InputSpec, Layout, Meta, Node, Operand, Output,
    PassedAs, Program, Sizes, Sym, Target, TensorMeta, ValueId,
};
use sizewise_kernels::Operators;
use std::sync::Arc;

/// A number that stands where an operator takes a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    /// One that is written out.
    Literal(Written),
    /// One that the graph computes.
    Value(ValueId),
}

/// A number that is written out.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Written {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Written {
    /// The dtype of `torch.tensor` of it.
    fn dtype(self) -> Dtype {
        match self {
            Written::Int(_) => Dtype::Int64,
            Written::Float(_) => Dtype::Float32,
            Written::Bool(_) => Dtype::Bool,
        }
    }

    fn constant(self) -> Constant {
        match self {
            Written::Int(value) => Constant::Int(value),
            Written::Float(value) => Constant::Float(value),
            Written::Bool(value) => Constant::Bool(value),
        }
    }
}

fn number(argument: &Argument) -> Option<Number> {
    let literal = |constant| Some(Number::Literal(constant));
    match argument {
        Argument::Int(v) | Argument::SymInt(Operand::Literal(v)) => literal(Written::Int(*v)),
        Argument::Float(v) | Argument::SymFloat(Operand::Literal(v)) => literal(Written::Float(*v)),
        Argument::Bool(v) | Argument::SymBool(Operand::Literal(v)) => literal(Written::Bool(*v)),
        Argument::SymInt(Operand::Value(id))
        | Argument::SymFloat(Operand::Value(id))
        | Argument::SymBool(Operand::Value(id)) => Some(Number::Value(*id)),
        _ => None,
    }
}

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

/// The places of a node's arguments that are numbers where the schema has a tensor.
fn numbers(node: &Node, schema: &Schema) -> Vec<(usize, Number)> {
    let matched = node.matched(schema).enumerate();
    let numbers = matched.filter_map(|(place, (parameter, input))| {
        (schema.args.get(parameter?)?.ty == Type::Tensor).then_some(())?;
        Some((place, number(&input.arg)?))
    });
    numbers.collect()
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
    /// What cannot be brought into the form of the Edge dialect, with its node.
    left: Vec<String>,
}

/// The program with operands as the Edge dialect has them. What is recorded of values is to be inferred anew.
pub(super) fn rewritten(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    let mut rewriting = Rewriting { operators, left: Vec::new() };
    let is_user = |input: &InputSpec| input.is_user_input();
    let place = program.signature.inputs.iter().position(is_user).unwrap_or(program.signature.inputs.len());
    let mut lifted: Vec<(Arc<str>, Written)> = Vec::new();
    let is_buffer = |input: &&InputSpec| matches!(input, InputSpec::Buffer { .. });
    let buffers = program.signature.inputs.iter().filter(is_buffer).count();
    for node in program.graph.nodes() {
        let Some(schema) = schema(node, operators) else { continue };
        for (_, number) in numbers(node, schema) {
            if let Number::Literal(constant) = number {
                let name = format!("_lifted_tensor_constant{}", buffers + lifted.len());
                lifted.push((name.into(), constant));
            }
        }
    }
    let added =
        lifted.iter().map(|(name, constant)| (name.clone(), zero_dimensional(constant.dtype()))).collect();
    let (mut rewriter, constants) = Rewriter::with_inputs(&program.graph, place, added);
    let mut signature = program.signature.clone();
    for input in &mut signature.inputs {
        move_input(input, &rewriter);
    }
    for node in program.graph.nodes() {
        rewriting.node(&mut rewriter, node, Some(&mut constants.iter().copied()));
    }
    let graph = rewriting.finish(rewriter)?;
    let mut made = with_graph(program, graph);
    for (value, (_, constant)) in constants.iter().zip(&lifted).rev() {
        let fqn = made.graph.name(*value).clone();
        made.scalars.insert(fqn.clone(), constant.constant());
        signature.inputs.insert(place, InputSpec::Buffer { value: *value, fqn, persistent: true });
    }
    made.signature = signature;
    Ok(made)
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

    /// Rewrites one node; `constants` are the values that were lifted for the numbers of the nodes, in order, or
    /// nothing in a graph that a node calls.
    fn node(
        &mut self,
        rewriter: &mut Rewriter<'_>,
        node: &Node,
        mut constants: Option<&mut dyn Iterator<Item = ValueId>>,
    ) {
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
        for (place, number) in numbers(&node, schema) {
            let tensor = match number {
                Number::Literal(constant) => {
                    match constants.as_mut().and_then(|constants| constants.next()) {
                        Some(value) => Some((value, constant.dtype())),
                        None => {
                            let message = format!(
                                "`{}`: `{name}` takes a tensor and is given a number, \
                                 which is not lifted out of a graph that a node calls",
                                node.name
                            );
                            self.left.push(message);
                            None
                        }
                    }
                }
                Number::Value(id) => scalar_tensor(rewriter, &node, id),
            };
            if let Some((value, dtype)) = tensor {
                inputs[place].arg = Argument::Tensor(value);
                made.push((place, dtype));
            }
        }
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
fn scalar_tensor(rewriter: &mut Rewriter<'_>, node: &Node, id: ValueId) -> Option<(ValueId, Dtype)> {
    let now = match rewriter.now(id) {
        Some(New::Value(value)) => value,
        _ => return None,
    };
    let (argument, dtype) = match rewriter.old.meta(id) {
        Meta::SymInt(_) => (Argument::SymInt(Operand::Value(now)), Dtype::Int32),
        Meta::SymFloat(_) => (Argument::SymFloat(Operand::Value(now)), Dtype::Float32),
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

/// Casts operands to the dtype in which they meet, where ExecuTorch does.
fn cast(
    rewriter: &mut Rewriter<'_>,
    node: &Node,
    schema: &Schema,
    (inputs, made): (&mut [Input], &[(usize, Dtype)]),
) {
    let old = rewriter.old;
    let operands: Vec<(usize, Dtype, usize)> = node
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(place, input)| match (made.iter().find(|made| made.0 == place), &input.arg) {
            (Some((_, dtype)), _) => Some((place, *dtype, 0)),
            (None, Argument::Tensor(id)) => {
                let meta = old.meta(*id).tensor()?;
                Some((place, meta.dtype, meta.sizes.len()))
            }
            _ => None,
        })
        .collect();
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
