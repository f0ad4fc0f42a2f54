//! Graphs: resolves names to values and refuses those that are not made yet, made twice or never.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::json::{self, Argument as Json, Double, Escaped, Int};
use super::{Last, Shared};
use crate::builder::GraphBuilder;
use crate::constant::Constant;
use crate::dtype::Device;
use crate::error::{ReadError, ReadErrorKind, ReadResult};
use crate::graph::{Argument, Operand, Subgraph};
use crate::graph::{Graph, ValueId};
use crate::graph::{Input, Node, Output, PassedAs};
use crate::meta::{Hint, Meta, Sizes, Sym, TensorMeta};
use crate::provenance::Provenance;
use crate::schema::SchemaTable;
use crate::target::Target;

/// What a document records of a value.
pub(super) enum Recorded<'d> {
    Tensor(&'d json::TensorMeta<'d>),
    SymInt(&'d json::SymInt<'d>),
    SymFloat(&'d json::SymFloat<'d>),
    SymBool(&'d json::SymBool<'d>),
    CustomObj(&'d json::CustomObjArgument<'d>),
}

/// Builds a graph. `tokens` are inputs of which nothing is recorded.
pub(super) fn convert<'t>(
    graph: &json::Graph<'t>,
    shared: &mut Shared<'t>,
    tokens: &FxHashSet<String>,
) -> ReadResult<Graph> {
    let capacity = graph.tensor_values.0.len() + graph.sym_int_values.0.len() + graph.sym_bool_values.0.len();
    let mut recorded = FxHashMap::default();
    recorded.reserve(capacity);
    let mut scope = ConvertedGraph {
        builder: GraphBuilder::with_capacity(capacity),
        recorded,
        awaited: None,
        pending: &graph.nodes,
        shared,
        last: Default::default(),
    };
    scope.record(&graph.tensor_values, Recorded::Tensor)?;
    scope.record(&graph.sym_int_values, Recorded::SymInt)?;
    scope.record(&graph.sym_float_values, Recorded::SymFloat)?;
    scope.record(&graph.sym_bool_values, Recorded::SymBool)?;
    scope.record(&graph.custom_obj_values, Recorded::CustomObj)?;

    for (index, input) in graph.inputs.iter().enumerate() {
        scope.input(input, tokens).map_err(|error| error.under(|| format!("inputs[{index}]")))?;
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        scope.pending = &graph.nodes[index..];
        let name = node_name(node, index);
        scope
            .node(node, Arc::clone(&name))
            .map_err(|error| error.at_node(&name).under(|| format!("nodes[{index}]")))?;
    }
    scope.pending = &[];
    let mut outputs = Vec::with_capacity(graph.outputs.len());
    for (index, output) in graph.outputs.iter().enumerate() {
        outputs.push(scope.argument(output).map_err(|error| error.under(|| format!("outputs[{index}]")))?);
    }
    Ok(scope.builder.finish(outputs, graph.is_single_tensor_return))
}

/// The name of a node; older programs leave it to the first output.
pub(super) fn node_name(node: &json::Node<'_>, index: usize) -> Arc<str> {
    match node.name.as_deref().or_else(|| output_names(&node.outputs).next()) {
        Some(name) => name.into(),
        None => format!("node_{index}").into(),
    }
}

/// The names of the values that a node's outputs define.
fn output_names<'a>(outputs: &'a [Json<'_>]) -> impl Iterator<Item = &'a str> {
    outputs.iter().flat_map(|output| {
        let (one, many): (Option<&str>, &[json::TensorArgument<'_>]) = match output {
            Json::Tensor(tensor) | Json::OptionalTensor(json::OptionalTensorArgument::Tensor(tensor)) => {
                (Some(&tensor.name), &[])
            }
            Json::SymInt(json::SymIntArgument::Name(name))
            | Json::SymFloat(json::SymFloatArgument::Name(name))
            | Json::SymBool(json::SymBoolArgument::Name(name)) => (Some(name), &[]),
            Json::CustomObj(object) => (Some(&object.name), &[]),
            Json::Tensors(tensors) => (None, tensors),
            _ => (None, &[]),
        };
        one.into_iter().chain(many.iter().map(|tensor| &*tensor.name))
    })
}

fn graph_error(message: String) -> ReadError {
    ReadError::new(ReadErrorKind::Graph, message)
}

/// A graph under construction.
pub(super) struct ConvertedGraph<'s, 'd, 't> {
    builder: GraphBuilder,
    /// What is recorded of the values that are not made yet.
    recorded: FxHashMap<&'d str, Recorded<'d>>,
    /// What the values made so far are said to be, while what is recorded of them is still to come.
    awaited: Option<Vec<&'static str>>,
    /// The nodes from the one being built on.
    pending: &'d [json::Node<'d>],
    shared: &'s mut Shared<'t>,
    /// The texts of the last node's provenance.
    last: [Last<'t>; 5],
}

impl<'s, 'd, 't> ConvertedGraph<'s, 'd, 't> {
    /// A graph whose values are made before it is known what is recorded of them.
    pub(super) fn awaiting(shared: &'s mut Shared<'t>) -> ConvertedGraph<'s, 'd, 't> {
        ConvertedGraph {
            builder: GraphBuilder::default(),
            recorded: FxHashMap::default(),
            awaited: Some(Vec::new()),
            pending: &[],
            shared,
            last: Default::default(),
        }
    }

    /// Takes what is recorded of a value that was made before; `None` where something is odd.
    pub(super) fn fill(&mut self, name: &str, recorded: &Recorded<'_>) -> Option<()> {
        let value = self.builder.find(name)?;
        let meta = self.meta(recorded).ok()?;
        let kind = self.awaited.as_ref()?.get(value.index())?;
        let first = matches!(self.builder.meta(value)?, Meta::Unknown);
        (first && meta.kind_name() == *kind).then(|| self.builder.record(value, meta))
    }

    /// The graph, of which nothing more is to come.
    pub(super) fn into_builder(self) -> GraphBuilder {
        self.builder
    }

    fn record<V>(
        &mut self,
        values: &'d json::Ordered<'d, V>,
        wrap: impl Fn(&'d V) -> Recorded<'d>,
    ) -> ReadResult<()> {
        for (name, value) in &values.0 {
            if self.recorded.insert(name, wrap(value)).is_some() {
                return Err(graph_error(format!("the value `{}` is recorded twice", &**name)));
            }
        }
        Ok(())
    }

    /// Takes what is recorded of the value that is made now, of the kind its maker says it is.
    fn take_meta(&mut self, name: &str, kind: &'static str) -> ReadResult<Meta> {
        if let Some(kinds) = &mut self.awaited {
            kinds.push(kind);
            return Ok(Meta::Unknown);
        }
        let Some(recorded) = self.recorded.remove(name) else {
            let what =
                if self.builder.find(name).is_some() { "is made twice" } else { "has no recorded metadata" };
            return Err(graph_error(format!("the value `{name}` {what}")));
        };
        let meta = self.meta(&recorded)?;
        if meta.kind_name() != kind {
            let found = meta.kind_name();
            return Err(graph_error(format!(
                "the value `{name}` is made as a {kind} but recorded as a {found}"
            )));
        }
        Ok(meta)
    }

    /// What is recorded of a value.
    fn meta(&mut self, recorded: &Recorded<'_>) -> ReadResult<Meta> {
        Ok(match recorded {
            Recorded::Tensor(meta) => Meta::Tensor(Box::new(self.tensor_meta(meta)?)),
            Recorded::SymInt(json::SymInt::Int(Int(value))) => Meta::SymInt(Sym::Literal(*value)),
            Recorded::SymInt(json::SymInt::Expr(expr)) => Meta::SymInt(self.expr(expr)),
            Recorded::SymFloat(json::SymFloat::Float(Double(value))) => Meta::SymFloat(Sym::Literal(*value)),
            Recorded::SymFloat(json::SymFloat::Expr(expr)) => Meta::SymFloat(self.expr(expr)),
            Recorded::SymBool(json::SymBool::Bool(value)) => Meta::SymBool(Sym::Literal(*value)),
            Recorded::SymBool(json::SymBool::Expr(expr)) => Meta::SymBool(self.expr(expr)),
            Recorded::CustomObj(object) => Meta::CustomObj(self.shared.text(&object.class_fqn)),
        })
    }

    fn tensor_meta(&mut self, meta: &json::TensorMeta<'_>) -> ReadResult<TensorMeta> {
        Ok(TensorMeta {
            dtype: meta.dtype.0,
            sizes: self.sizes(&meta.sizes),
            strides: self.sizes(&meta.strides),
            storage_offset: self.size(&meta.storage_offset),
            requires_grad: meta.requires_grad,
            device: self.device(&meta.device)?,
            layout: meta.layout.0,
        })
    }

    fn sizes(&mut self, sizes: &[json::SymInt<'_>]) -> Sizes {
        sizes.iter().map(|size| self.size(size)).collect()
    }

    fn size(&mut self, size: &json::SymInt<'_>) -> Sym<i64> {
        match size {
            json::SymInt::Int(Int(value)) => Sym::Literal(*value),
            json::SymInt::Expr(expr) => self.expr(expr),
        }
    }

    fn expr<T>(&mut self, expr: &json::SymExpr<'_>) -> Sym<T> {
        let hint = expr.hint.as_ref().map(|hint| match *hint {
            json::SymExprHint::Int(Int(value)) => Hint::Int(value),
            json::SymExprHint::Bool(value) => Hint::Bool(value),
            json::SymExprHint::Float(Double(value)) => Hint::Float(value),
        });
        Sym::Expr(self.shared.exprs.intern(&expr.expr_str, hint))
    }

    fn device(&mut self, device: &json::Device<'_>) -> ReadResult<Device> {
        let index = match device.index {
            None | Some(Int(-1)) => None,
            Some(Int(index)) => Some(u16::try_from(index).map_err(|_| {
                ReadError::new(ReadErrorKind::Schema, format!("{index} is no index of a device"))
            })?),
        };
        Ok(Device { kind: self.shared.text(&device.kind), index })
    }

    pub(super) fn input(&mut self, input: &Json<'t>, tokens: &FxHashSet<String>) -> ReadResult<()> {
        let (name, kind): (&str, &'static str) = match input {
            Json::Tensor(tensor) => (&tensor.name, "tensor"),
            Json::SymInt(json::SymIntArgument::Name(name)) => (name, "SymInt"),
            Json::SymFloat(json::SymFloatArgument::Name(name)) => (name, "SymFloat"),
            Json::SymBool(json::SymBoolArgument::Name(name)) => (name, "SymBool"),
            Json::CustomObj(object) => (&object.name, "custom object"),
            other => {
                let constant = self.constant(other).ok_or_else(|| {
                    graph_error("an input of a graph is a value or a constant, nothing else".to_owned())
                })?;
                self.builder.constant_input(constant);
                return Ok(());
            }
        };
        let unrecorded_token =
            self.awaited.is_none() && tokens.contains(name) && !self.recorded.contains_key(name);
        let meta = if unrecorded_token { Meta::Token } else { self.take_meta(name, kind)? };
        self.builder.input(name.into(), meta).map(drop)
    }

    /// A constant where a value may stand.
    fn constant(&mut self, argument: &Json<'_>) -> Option<Constant> {
        Some(match argument {
            Json::None(_) | Json::OptionalTensor(json::OptionalTensorArgument::None(_)) => Constant::None,
            Json::Int(Int(value)) | Json::SymInt(json::SymIntArgument::Int(Int(value))) => {
                Constant::Int(*value)
            }
            Json::Float(Double(value)) | Json::SymFloat(json::SymFloatArgument::Float(Double(value))) => {
                Constant::Float(*value)
            }
            Json::Bool(value) | Json::SymBool(json::SymBoolArgument::Bool(value)) => Constant::Bool(*value),
            Json::Str(text) => Constant::Str(self.shared.text(text)),
            _ => return None,
        })
    }

    pub(super) fn node(&mut self, node: &json::Node<'t>, name: Arc<str>) -> ReadResult<()> {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for (index, input) in node.inputs.iter().enumerate() {
            let arg =
                self.argument(&input.arg).map_err(|error| error.under(|| format!("inputs[{index}].arg")))?;
            let passed_as = match input.kind {
                None | Some(json::ArgumentKind::Unknown) => PassedAs::Unknown,
                Some(json::ArgumentKind::Positional) => PassedAs::Positional,
                Some(json::ArgumentKind::Keyword) => PassedAs::Keyword,
            };
            inputs.push(Input { name: self.shared.text(&input.name), arg, passed_as });
        }
        let mut outputs = Vec::with_capacity(node.outputs.len());
        for (index, output) in node.outputs.iter().enumerate() {
            let output =
                self.output(output, &name).map_err(|error| error.under(|| format!("outputs[{index}]")))?;
            outputs.push(output);
        }
        let mut share = |text: &Option<Escaped<'t>>, last: &mut Last<'t>| {
            text.as_ref().map(|text| self.shared.written(text, last))
        };
        let [trace, modules, function, functions, custom] = &mut self.last;
        let provenance = Provenance {
            stack_trace: share(&node.metadata.stack_trace, trace),
            nn_module_stack: share(&node.metadata.nn_module_stack, modules),
            torch_fn: share(&node.metadata.torch_fn, function),
            source_fn_stack: share(&node.metadata.source_fn_stack, functions),
            custom: share(&node.metadata.custom, custom),
        };
        let target = self.shared.target(&node.target);
        if inputs.iter().any(|input| input.name.is_empty()) {
            self.name_positional(&target, &mut inputs);
        }
        let hop_single_tensor = node.is_hop_single_tensor_return;
        self.builder.node(Node { name, target, inputs, outputs, hop_single_tensor, provenance })
    }

    /// Gives arguments without a name that of the parameter at their position, where the operator's schema is known:
    /// torch leaves the names out of calls of operators that ExecuTorch wraps.
    fn name_positional(&mut self, target: &Target, inputs: &mut [Input]) {
        let name = target.operator_name();
        let Some(schema) = name.and_then(|name| SchemaTable::global().find_name(name)?.schema().ok()) else {
            return;
        };
        // More arguments than parameters stay as they are: the verifier says so.
        if inputs.iter().filter(|input| input.name.is_empty()).count() > schema.positional().len() {
            return;
        }
        let unnamed = inputs.iter_mut().filter(|input| input.name.is_empty());
        for (input, parameter) in unnamed.zip(schema.positional()) {
            input.name = self.shared.text(&parameter.name);
        }
    }

    fn output(&mut self, output: &Json<'_>, node: &Arc<str>) -> ReadResult<Output> {
        let mut list =
            |values: &mut dyn Iterator<Item = Option<(&str, &'static str)>>| -> ReadResult<Output> {
                let values = values.map(|value| match value {
                    Some((name, kind)) => self.make(name, kind, node).map(Some),
                    None => Ok(None),
                });
                Ok(Output::List(values.collect::<ReadResult<_>>()?))
            };
        let (name, kind): (&str, &'static str) = match output {
            Json::Tensor(tensor) | Json::OptionalTensor(json::OptionalTensorArgument::Tensor(tensor)) => {
                (&tensor.name, "tensor")
            }
            Json::SymInt(json::SymIntArgument::Name(name)) => (name, "SymInt"),
            Json::SymFloat(json::SymFloatArgument::Name(name)) => (name, "SymFloat"),
            Json::SymBool(json::SymBoolArgument::Name(name)) => (name, "SymBool"),
            Json::CustomObj(object) => (&object.name, "custom object"),
            Json::Tensors(tensors) => {
                return list(&mut tensors.iter().map(|tensor| Some((&*tensor.name, "tensor"))));
            }
            Json::OptionalTensors(tensors) => {
                return list(&mut tensors.iter().map(|tensor| match tensor {
                    json::OptionalTensorArgument::Tensor(tensor) => Some((&*tensor.name, "tensor")),
                    json::OptionalTensorArgument::None(_) => None,
                }));
            }
            other => {
                return match self.constant(other) {
                    Some(Constant::None) => Ok(Output::None),
                    Some(constant) => Ok(Output::Constant(constant)),
                    None => {
                        Err(graph_error("a node gives tensors, numbers or objects, nothing else".to_owned()))
                    }
                };
            }
        };
        self.make(name, kind, node).map(Output::Value)
    }

    fn make(&mut self, name: &str, kind: &'static str, node: &Arc<str>) -> ReadResult<ValueId> {
        let meta = self.take_meta(name, kind)?;
        let name = if **node == *name { Arc::clone(node) } else { Arc::from(name) };
        self.builder.output_of_next_node(name, meta)
    }

    /// The value of this name, which must be made already.
    fn find(&self, name: &str) -> ReadResult<ValueId> {
        self.builder.find(name).ok_or_else(|| {
            let made_later =
                self.pending.iter().flat_map(|node| output_names(&node.outputs)).any(|made| made == name);
            graph_error(if made_later {
                format!("`{name}` is used before it is made, or the graph is cyclic")
            } else {
                format!("`{name}` is used but nothing makes it")
            })
        })
    }

    fn tensors(&self, tensors: &[json::TensorArgument<'_>]) -> ReadResult<Vec<ValueId>> {
        tensors.iter().map(|tensor| self.find(&tensor.name)).collect()
    }

    fn optional(&self, tensor: &json::OptionalTensorArgument<'_>) -> ReadResult<Option<ValueId>> {
        match tensor {
            json::OptionalTensorArgument::Tensor(tensor) => self.find(&tensor.name).map(Some),
            json::OptionalTensorArgument::None(_) => Ok(None),
        }
    }

    fn sym_int(&self, operand: &json::SymIntArgument<'_>) -> ReadResult<Operand<i64>> {
        Ok(match operand {
            json::SymIntArgument::Name(name) => Operand::Value(self.find(name)?),
            json::SymIntArgument::Int(Int(value)) => Operand::Literal(*value),
        })
    }

    fn sym_float(&self, operand: &json::SymFloatArgument<'_>) -> ReadResult<Operand<f64>> {
        Ok(match operand {
            json::SymFloatArgument::Name(name) => Operand::Value(self.find(name)?),
            json::SymFloatArgument::Float(Double(value)) => Operand::Literal(*value),
        })
    }

    fn sym_bool(&self, operand: &json::SymBoolArgument<'_>) -> ReadResult<Operand<bool>> {
        Ok(match operand {
            json::SymBoolArgument::Name(name) => Operand::Value(self.find(name)?),
            json::SymBoolArgument::Bool(value) => Operand::Literal(*value),
        })
    }

    pub(super) fn argument(&mut self, argument: &Json<'t>) -> ReadResult<Argument> {
        let ints = |list: &Vec<Int>| list.iter().map(|Int(value)| *value).collect::<Vec<i64>>();
        let floats = |list: &Vec<Double>| list.iter().map(|Double(value)| *value).collect::<Vec<f64>>();
        Ok(match argument {
            Json::None(_) => Argument::None,
            Json::Tensor(tensor) => Argument::Tensor(self.find(&tensor.name)?),
            Json::Tensors(tensors) => Argument::Tensors(self.tensors(tensors)?),
            Json::OptionalTensor(tensor) => Argument::OptionalTensor(self.optional(tensor)?),
            Json::OptionalTensors(tensors) => {
                Argument::OptionalTensors(all(tensors, |tensor| self.optional(tensor))?)
            }
            Json::NestedTensors(lists) => Argument::NestedTensors(all(lists, |list| self.tensors(list))?),
            Json::Int(Int(value)) => Argument::Int(*value),
            Json::Ints(list) => Argument::Ints(ints(list)),
            Json::IntLists(lists) => Argument::IntLists(lists.iter().map(ints).collect()),
            Json::Float(Double(value)) => Argument::Float(*value),
            Json::Floats(list) => Argument::Floats(floats(list)),
            Json::FloatLists(lists) => Argument::FloatLists(lists.iter().map(floats).collect()),
            Json::Str(text) => Argument::Str(self.shared.text(text)),
            Json::Strs(list) => Argument::Strs(list.iter().map(|text| self.shared.text(text)).collect()),
            Json::Bool(value) => Argument::Bool(*value),
            Json::Bools(list) => Argument::Bools(list.clone()),
            Json::Complex(value) => Argument::Complex(value.real.0, value.imag.0),
            Json::SymInt(operand) => Argument::SymInt(self.sym_int(operand)?),
            Json::SymInts(list) => Argument::SymInts(all(list, |operand| self.sym_int(operand))?),
            Json::SymFloat(operand) => Argument::SymFloat(self.sym_float(operand)?),
            Json::SymFloats(list) => Argument::SymFloats(all(list, |operand| self.sym_float(operand))?),
            Json::SymBool(operand) => Argument::SymBool(self.sym_bool(operand)?),
            Json::SymBools(list) => Argument::SymBools(all(list, |operand| self.sym_bool(operand))?),
            Json::ScalarType(number) => Argument::Dtype(number.0),
            Json::MemoryFormat(number) => Argument::MemoryFormat(number.0),
            Json::Layout(number) => Argument::Layout(number.0),
            Json::Device(device) => Argument::Device(self.device(device)?),
            Json::Graph(subgraph) => {
                let graph = convert(&subgraph.graph, self.shared, &FxHashSet::default());
                let graph = graph.map_err(|error| error.under(|| "as_graph.graph".to_owned()))?;
                Argument::Graph(Arc::new(Subgraph { name: self.shared.text(&subgraph.name), graph }))
            }
            Json::CustomObj(object) => Argument::CustomObj(self.find(&object.name)?),
            Json::Operator(text) => Argument::Operator(self.shared.text(text)),
            Json::Map(map) => {
                let mut table = indexmap::IndexMap::with_capacity(map.0.len());
                for (key, value) in &map.0 {
                    let value = self.argument(value)?;
                    if table.insert(self.shared.text(key), value).is_some() {
                        return Err(graph_error(format!("the key `{}` is given twice", &**key)));
                    }
                }
                Argument::Map(Box::new(table))
            }
        })
    }
}

fn all<T, U>(list: &[T], convert: impl FnMut(&T) -> ReadResult<U>) -> ReadResult<Vec<U>> {
    list.iter().map(convert).collect()
}
