//! From what a text says to a program: names become values, calls that are taken apart get their results.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::annotation::{Annotated, parse};
use super::names::parameters;
use super::raw::{Document, Raw, RawGraph, RawKind, RawNode, RawValue, Spot};
use super::scan::{SourceText, Values};
use crate::error::{ReadError, ReadErrorKind, ReadResult};
use crate::schema::{Schema, SchemaTable, Type};
use crate::{
    Argument, Constant, Dialect, ExprTable, Graph, GraphBuilder, GraphInput, Input, InputSpec, Meta, Node,
    Output, OutputSpec, PassedAs, Program, Signature, Subgraph, Target, ValueId,
};

mod arguments;

/// What a name stands for.
enum Known {
    Value(ValueId),
    Graph(Arc<Subgraph>),
    /// A call with several results, or a list among them.
    Several,
}

/// Builds the program.
pub(super) fn program(document: &Document, text: &str) -> ReadResult<Program> {
    let mut lowering = Lowering {
        source: SourceText::new(text),
        exprs: ExprTable::default(),
        fx: document.fx,
        wrapped: false,
        mutable: false,
        results: 0,
    };
    let graph = lowering.graph(&document.graph)?;
    let signature = lowering.signature(document, &graph)?;
    let ranges = document.ranges.iter().map(|range| (range.key.as_str().into(), range.bounds));
    let dialect = match (lowering.wrapped, lowering.mutable) {
        (true, _) => Dialect::Edge,
        (_, true) => Dialect::Training,
        _ => Dialect::Aten,
    };
    Ok(Program {
        graph,
        signature,
        exprs: lowering.exprs,
        range_constraints: ranges.collect(),
        guards_code: Vec::new(),
        asked: Vec::new(),
        dialect,
        torch_version: "".into(),
        schema_version: (8, 0),
        opset_version: Default::default(),
        module_calls: Vec::new(),
        scalars: Default::default(),
        metadata: Default::default(),
        warnings: Vec::new(),
    })
}

struct Lowering<'t> {
    source: SourceText<'t>,
    exprs: ExprTable,
    fx: bool,
    wrapped: bool,
    mutable: bool,
    results: usize,
}

/// A graph under construction.
struct LoweredGraph<'d> {
    builder: GraphBuilder,
    names: FxHashMap<&'d str, Known>,
    /// The elements that are taken of each call or list: index and node.
    items: FxHashMap<&'d str, Vec<(usize, &'d RawNode)>>,
    used: FxHashSet<&'d str>,
    annotated: bool,
}

/// `getitem(base, index)` as base and index.
fn item(node: &RawNode) -> Option<(&str, usize)> {
    let RawKind::Call { target, args, .. } = &node.kind else { return None };
    if !matches!(target.as_str(), "_operator.getitem" | "operator.getitem") {
        return None;
    }
    match args.as_slice() {
        [Raw { kind: RawValue::Ref(base), .. }, Raw { kind: RawValue::Int(index), .. }] => {
            usize::try_from(*index)
                .ok()
                .filter(|index| *index < MAX_RESULTS)
                .map(|index| (base.as_str(), index))
        }
        _ => None,
    }
}

/// The most results that a call has.
const MAX_RESULTS: usize = 1 << 16;
/// The most results that all calls have together, absent ones counted.
const MAX_ALL_RESULTS: usize = 1 << 24;

/// Collects the names that a value refers to.
pub(super) fn references<'d>(raw: &'d Raw, names: &mut FxHashSet<&'d str>) {
    match &raw.kind {
        RawValue::Ref(name) => drop(names.insert(name)),
        RawValue::List(items) | RawValue::Tuple(items) => {
            items.iter().for_each(|item| references(item, names))
        }
        RawValue::Dict(entries) => entries.iter().for_each(|(_, value)| references(value, names)),
        _ => {}
    }
}

impl<'d> LoweredGraph<'d> {
    fn new(raw: &'d RawGraph) -> LoweredGraph<'d> {
        // What may be taken apart: calls without an annotation, as only single values have one.
        let mut several: FxHashSet<&str> = FxHashSet::default();
        let mut items: FxHashMap<&str, Vec<(usize, &RawNode)>> = FxHashMap::default();
        let mut used = FxHashSet::default();
        for node in &raw.nodes {
            match (&node.kind, item(node)) {
                (_, Some((base, index))) if several.contains(base) => {
                    items.entry(base).or_default().push((index, node));
                }
                (RawKind::Call { args, kwargs, .. } | RawKind::Foreign { args, kwargs, .. }, _) => {
                    let values = args.iter().chain(kwargs.iter().map(|(_, value)| value));
                    values.for_each(|value| references(value, &mut used));
                }
                (RawKind::Output(value), _) => references(value, &mut used),
                _ => {}
            }
            if matches!(node.kind, RawKind::Call { .. }) && node.annotation.is_none() {
                several.insert(&node.name);
            }
        }
        let annotated = raw.nodes.iter().any(|node| node.annotation.is_some());
        let builder = GraphBuilder::with_capacity(raw.nodes.len());
        LoweredGraph { builder, names: FxHashMap::default(), items, used, annotated }
    }
}

fn normal_target(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("torch.op.") {
        return format!("torch.ops.{rest}");
    }
    for module in ["math", "_operator", "operator"] {
        if let Some(function) = text.strip_prefix(module).and_then(|rest| rest.strip_prefix('_')) {
            return format!("{module}.{function}");
        }
    }
    text.to_owned()
}

fn schema_of(target: &Target) -> Option<&'static Schema> {
    SchemaTable::global().find_name(target.operator_name()?)?.schema().ok()
}

impl Lowering<'_> {
    fn error<T>(&self, spot: Spot, message: impl Into<String>) -> ReadResult<T> {
        Err(self.source.error_at(ReadErrorKind::Graph, spot, message.into()))
    }

    /// An error of the builder, at the node it is about.
    fn place(&self, node: &RawNode, error: ReadError) -> ReadError {
        let placed = self.source.error_at(error.kind, node.spot, error.message);
        placed.at_node(&node.name)
    }

    fn graph(&mut self, raw: &RawGraph) -> ReadResult<Graph> {
        let mut scope = LoweredGraph::new(raw);
        let fx = self.fx;
        let mut calls = false;
        for (at, node) in raw.nodes.iter().enumerate() {
            match &node.kind {
                RawKind::Placeholder if calls => {
                    let message = format!("the input `{}` stands behind other nodes", node.name);
                    return self.error(node.spot, message);
                }
                RawKind::Placeholder => self.input(&mut scope, node)?,
                RawKind::GetAttr(target) => {
                    calls = true;
                    let Some(inner) = raw.subgraphs.iter().find(|graph| graph.name == *target) else {
                        let message = format!("`{target}` is fetched, but the text has no such submodule");
                        return self.error(node.spot, message);
                    };
                    let graph = self.graph(inner)?;
                    let subgraph = Subgraph { name: inner.name.as_str().into(), graph };
                    scope.names.insert(&node.name, Known::Graph(Arc::new(subgraph)));
                }
                RawKind::Call { target, args, kwargs } => {
                    calls = true;
                    let is_item = item(node).is_some_and(|(base, _)| scope.items.contains_key(base));
                    if !is_item {
                        self.call(&mut scope, node, target, args, kwargs)?;
                    }
                }
                RawKind::Foreign { op, target, .. } => {
                    let message = format!("`{op}` of `{target}`: exported graphs call functions only");
                    return self.error(node.spot, message);
                }
                RawKind::Output(value) => {
                    if let Some(behind) = raw.nodes.get(at + 1) {
                        return self.error(behind.spot, "nothing stands behind `return`");
                    }
                    let (items, single) = match &value.kind {
                        RawValue::List(items) | RawValue::Tuple(items) => (items.as_slice(), false),
                        RawValue::None => (&[][..], false),
                        _ => (std::slice::from_ref(value), true),
                    };
                    // What is returned is written as in Python.
                    self.fx = false;
                    let outputs = items.iter().map(|item| self.argument(&scope, item, None));
                    let outputs = outputs.collect::<ReadResult<Vec<Argument>>>()?;
                    self.fx = fx;
                    return Ok(scope.builder.finish(outputs, single));
                }
            }
        }
        let spot = raw.nodes.last().map_or(Spot::default(), |node| node.spot);
        self.error(spot, "the graph ends without `return`")
    }

    fn meta(&mut self, node: &RawNode) -> ReadResult<Annotated> {
        let Some(text) = &node.annotation else { return Ok(Annotated::Value(Meta::Unknown)) };
        match parse(text, &mut self.exprs) {
            Ok(annotated) => Ok(annotated),
            Err(message) => {
                let line = self.source.line(node.spot.line);
                let column = line.find(text.as_str()).unwrap_or(node.spot.column);
                let spot = Spot { line: node.spot.line, column };
                Err(self.source.error_at(ReadErrorKind::Expression, spot, message))
            }
        }
    }

    fn input<'d>(&mut self, scope: &mut LoweredGraph<'d>, node: &'d RawNode) -> ReadResult<()> {
        match self.meta(node)? {
            Annotated::Value(meta) => {
                let value = scope.builder.input(node.name.as_str().into(), meta);
                let value = value.map_err(|error| self.place(node, error))?;
                scope.names.insert(&node.name, Known::Value(value));
            }
            Annotated::Constant(text) => {
                let raw = Values { fx: false }.read(&text, node.spot);
                let constant = match raw.kind {
                    RawValue::None => Constant::None,
                    RawValue::Int(value) => Constant::Int(value),
                    RawValue::Float(value) => Constant::Float(value),
                    RawValue::Bool(value) => Constant::Bool(value),
                    RawValue::Str(text) => Constant::Str(text.into()),
                    _ => return self.error(node.spot, format!("`{text}` is no constant")),
                };
                scope.builder.constant_input(constant);
            }
        }
        Ok(())
    }

    fn call<'d>(
        &mut self,
        scope: &mut LoweredGraph<'d>,
        node: &'d RawNode,
        target: &str,
        args: &[Raw],
        kwargs: &[(String, Raw)],
    ) -> ReadResult<()> {
        let target = Target::parse(&normal_target(target));
        let schema = schema_of(&target);
        self.wrapped |= target.wrapped().is_some();
        self.mutable |= schema.is_some_and(|schema| schema.mutable);
        let args = self.joined(args, schema);
        let mut inputs = Vec::with_capacity(args.len() + kwargs.len());
        for (index, raw) in args.iter().enumerate() {
            let (name, ty) = match (schema, target.python()) {
                (Some(schema), _) => match schema.positional().get(index) {
                    Some(spec) => (spec.name.as_str(), Some(&spec.ty)),
                    None => {
                        let count = schema.positional().len();
                        let message = format!("`{target}` takes at most {count} arguments by position");
                        return self.error(raw.spot, message);
                    }
                },
                (None, Some((module, function))) => {
                    let names = parameters(module, function);
                    (names[index.min(names.len() - 1)], None)
                }
                (None, None) => ("", None),
            };
            let arg = self.argument(scope, raw, ty)?;
            inputs.push(Input { name: name.into(), arg, passed_as: PassedAs::Positional });
        }
        for (name, raw) in kwargs {
            let spec = schema.and_then(|schema| schema.args.get(schema.arg_index(name)?));
            let device = (spec.is_none() && name == "device").then_some(&Type::Device);
            let arg = self.argument(scope, raw, spec.map(|spec| &spec.ty).or(device))?;
            inputs.push(Input { name: name.as_str().into(), arg, passed_as: PassedAs::Keyword });
        }
        let outputs = self.outputs(scope, node, &target, schema)?;
        let higher_order = target.higher_order().is_some();
        let single = matches!(outputs.as_slice(), [Output::Value(value)]
            if matches!(scope.names.get(node.name.as_str()), Some(Known::Value(own)) if own == value));
        let mut lowered = Node::new(node.name.as_str().into(), target, inputs, outputs);
        lowered.hop_single_tensor = higher_order.then_some(single);
        scope.builder.node(lowered).map_err(|error| self.place(node, error))
    }

    fn make<'d>(&mut self, scope: &mut LoweredGraph<'d>, node: &'d RawNode) -> ReadResult<ValueId> {
        let meta = match self.meta(node)? {
            Annotated::Value(meta) => meta,
            Annotated::Constant(_) => return self.error(node.spot, "only inputs are constants"),
        };
        let value = scope.builder.output_of_next_node(node.name.as_str().into(), meta);
        let value = value.map_err(|error| self.place(node, error))?;
        scope.names.insert(&node.name, Known::Value(value));
        Ok(value)
    }

    /// The values of a list, from the elements that are taken of it.
    fn list<'d>(
        &mut self,
        scope: &mut LoweredGraph<'d>,
        items: &[(usize, &'d RawNode)],
    ) -> ReadResult<Vec<Option<ValueId>>> {
        let length = items.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
        let mut values = vec![None; length];
        for (index, node) in items {
            values[*index] = Some(self.make(scope, node)?);
        }
        Ok(values)
    }

    fn outputs<'d>(
        &mut self,
        scope: &mut LoweredGraph<'d>,
        node: &'d RawNode,
        target: &Target,
        schema: Option<&Schema>,
    ) -> ReadResult<Vec<Output>> {
        let returns = schema.map_or(0, |schema| schema.returns.len());
        if let Some(items) = scope.items.get(node.name.as_str()).cloned() {
            self.results += items.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
            if self.results > MAX_ALL_RESULTS {
                let message = format!("more than {MAX_ALL_RESULTS} results of calls");
                return Err(self.source.error_at(ReadErrorKind::LimitExceeded, node.spot, message));
            }
            scope.names.insert(&node.name, Known::Several);
            let one_list = match schema.map(|schema| schema.returns.as_slice()) {
                Some([only]) => only.ty.as_list().is_some(),
                _ => false,
            };
            if one_list {
                return Ok(vec![Output::List(self.list(scope, &items)?)]);
            }
            let length = items.iter().map(|(index, _)| index + 1).max().unwrap_or(0).max(returns);
            let mut outputs = vec![Output::None; length];
            for (index, item) in items {
                outputs[index] = match scope.items.get(item.name.as_str()).cloned() {
                    Some(inner) if item.annotation.is_none() => {
                        scope.names.insert(&item.name, Known::Several);
                        Output::List(self.list(scope, &inner)?)
                    }
                    _ => Output::Value(self.make(scope, item)?),
                };
            }
            return Ok(outputs);
        }
        let used = scope.used.contains(node.name.as_str());
        let nothing = match schema {
            Some(schema) => schema.returns.is_empty(),
            None => target.python().is_none() || scope.annotated,
        };
        if node.annotation.is_none() && !used && (nothing || scope.annotated) {
            return Ok(vec![Output::None; returns]);
        }
        Ok(vec![Output::Value(self.make(scope, node)?)])
    }

    fn signature(&self, document: &Document, graph: &Graph) -> ReadResult<Signature> {
        if !document.has_signature {
            let inputs = document.graph.nodes.iter().zip(graph.inputs()).map(|(node, input)| match input {
                GraphInput::Value(value) => InputSpec::User { value: Some(*value) },
                GraphInput::Constant(constant) => {
                    InputSpec::Constant { name: node.name.as_str().into(), value: constant.clone() }
                }
            });
            let outputs = graph.outputs().iter().map(|_| OutputSpec::User);
            return Ok(Signature { inputs: inputs.collect(), outputs: outputs.collect() });
        }
        let wrong = |line: usize, message: String| {
            Err(self.source.error_at(ReadErrorKind::Signature, Spot { line, column: 4 }, message))
        };
        let counts = [
            ("inputs", document.inputs.len(), graph.inputs().len()),
            ("outputs", document.outputs.len(), graph.outputs().len()),
        ];
        for (what, found, expected) in counts {
            if found != expected {
                let line = self.source.lines().saturating_sub(1);
                return wrong(line, format!("the signature has {found} {what} but the graph {expected}"));
            }
        }
        let mut signature = Signature::default();
        for ((line, input), node) in document.inputs.iter().zip(graph.inputs()).zip(&document.graph.nodes) {
            if line.name != node.name {
                let message =
                    format!("the signature names `{}` where the graph has `{}`", line.name, node.name);
                return wrong(line.line, message);
            }
            let fqn: Arc<str> = line.target.as_deref().unwrap_or_default().into();
            let spec = match (line.kind.as_str(), input) {
                ("USER_INPUT", GraphInput::Value(value)) => InputSpec::User { value: Some(*value) },
                ("USER_INPUT", GraphInput::Constant(constant)) => {
                    InputSpec::Constant { name: line.name.as_str().into(), value: constant.clone() }
                }
                ("PARAMETER", GraphInput::Value(value)) => InputSpec::Parameter { value: *value, fqn },
                ("BUFFER", GraphInput::Value(value)) => {
                    InputSpec::Buffer { value: *value, fqn, persistent: line.persistent }
                }
                ("CONSTANT_TENSOR", GraphInput::Value(value)) => {
                    InputSpec::TensorConstant { value: *value, fqn }
                }
                ("CUSTOM_OBJ", GraphInput::Value(value)) => InputSpec::CustomObj { value: *value, fqn },
                ("TOKEN", GraphInput::Value(_)) => InputSpec::Token { name: line.name.as_str().into() },
                (kind, _) => return wrong(line.line, format!("`{kind}` is no kind of input here")),
            };
            signature.inputs.push(spec);
        }
        for (line, output) in document.outputs.iter().zip(graph.outputs()) {
            let name = output.value().map(|value| graph.name(value).to_string()).unwrap_or_default();
            if line.name != name {
                let message = format!("the signature names `{}` where the graph has `{name}`", line.name);
                return wrong(line.line, message);
            }
            let target: Arc<str> = line.target.as_deref().unwrap_or_default().into();
            signature.outputs.push(match line.kind.as_str() {
                "USER_OUTPUT" => OutputSpec::User,
                "LOSS_OUTPUT" => OutputSpec::Loss,
                "BUFFER_MUTATION" => OutputSpec::BufferMutation { fqn: target },
                "PARAMETER_MUTATION" => OutputSpec::ParameterMutation { fqn: target },
                "GRADIENT_TO_PARAMETER" => OutputSpec::GradientToParameter { fqn: target },
                "GRADIENT_TO_USER_INPUT" => OutputSpec::GradientToUserInput { input: target },
                "USER_INPUT_MUTATION" => OutputSpec::UserInputMutation { input: target },
                "TOKEN" => OutputSpec::Token { name: name.into() },
                kind => return wrong(line.line, format!("`{kind}` is no kind of output")),
            });
        }
        Ok(signature)
    }
}
