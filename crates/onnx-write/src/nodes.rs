//! The nodes and outputs of a body, written one after the other.
use super::attribute::{self, Arguments};
use super::body::Body;
use super::items::{Item, made, returned, value_inputs};
use super::live::live;
use super::types::scalar_info;
use super::value::Val;
use super::{metadata, ops};
use crate::OnnxError;
use rustc_hash::FxHashSet;
use sizewise_ir::text::node_lines;
use sizewise_ir::{Node, TargetKind, ValueId, Wrapper};
use sizewise_onnx_model::read::message::{NodeProto, ValueInfoProto};

impl Body<'_, '_> {
    /// Writes the nodes and the outputs.
    pub fn write(&mut self) -> Result<(), OnnxError> {
        let live = live(self.graph);
        let lines = node_lines(self.graph);
        for ((node, live), line) in self.graph.nodes().iter().zip(live).zip(lines) {
            if !live || self.is_region_mark(node) {
                continue;
            }
            let begin = self.nodes.len();
            match self.control_flow(node)? {
                Some(node) => self.nodes.push(node),
                None => self.operator(node)?,
            }
            let entries = metadata::of(node, line);
            for written in &mut self.nodes[begin..] {
                written.metadata_props.clone_from(&entries);
            }
        }
        self.end()?;
        for (_, name, value) in self.graph.values() {
            if let Some(ty) = self.types.of(name, &value.meta)? {
                self.infos.push(ValueInfoProto {
                    name: name.to_string(),
                    r#type: Some(ty),
                    ..ValueInfoProto::default()
                });
            }
        }
        let made: FxHashSet<&str> =
            self.nodes.iter().flat_map(|node| &node.output).map(String::as_str).collect();
        let inputs: FxHashSet<&str> =
            value_inputs(self.graph).into_iter().map(|id| &**self.graph.name(id)).collect();
        // What is left out has no type.
        self.infos.retain(|info| made.contains(info.name.as_str()) || inputs.contains(info.name.as_str()));
        let mut used = FxHashSet::default();
        names_used(&self.nodes, &mut used);
        let kept = |node: &NodeProto| node.output.iter().any(|name| used.contains(name));
        let fixed: Vec<NodeProto> = std::mem::take(&mut self.fixed).into_iter().filter(kept).collect();
        self.nodes.splice(0..0, fixed);
        Ok(())
    }

    /// Whether a node begins or ends an autocast region, and is no call.
    fn is_region_mark(&mut self, node: &Node) -> bool {
        match node.target.python().map(|(_, function)| function) {
            Some("_enter_autocast") => {
                let inner = self.regions.entered(node).unwrap_or_default();
                self.entered.push(std::mem::replace(&mut self.regions, inner));
                true
            }
            Some("_exit_autocast") => {
                self.regions = self.entered.pop().unwrap_or_default();
                true
            }
            _ => false,
        }
    }

    /// An operator that is no control flow: by standard operators, else by its own name.
    fn operator(&mut self, node: &Node) -> Result<(), OnnxError> {
        self.autocast(node);
        let begin = self.nodes.len();
        let made: Vec<Option<ValueId>> = made(node);
        match ops::standard(self, node) {
            Some(values) if values.len() >= made.len() => {
                for (id, value) in made.into_iter().zip(values) {
                    if let (Some(id), Some(value)) = (id, value) {
                        self.bind(id, value, begin);
                    }
                }
            }
            _ => {
                self.roll_back(begin);
                self.named(node)?;
            }
        }
        self.cast_operands.clear();
        Ok(())
    }

    /// Gives a result the name and the dtype that the graph's value has.
    fn bind(&mut self, id: ValueId, value: Val, begin: usize) {
        let wanted = self.value(id).map_or(value.dtype, |known| known.dtype);
        let value = self.cast(&value, wanted);
        let name = self.graph.name(id).to_string();
        let new = &mut self.nodes[begin..];
        if !new.iter().any(|node| node.output.contains(&value.name)) {
            let mut copy = self.node("", "Identity", &name);
            (copy.input, copy.output) = (vec![value.name], vec![name]);
            self.nodes.push(copy);
            return;
        }
        for node in new {
            let names = node.output.iter_mut().chain(&mut node.input);
            for known in names.filter(|known| **known == value.name) {
                known.clone_from(&name);
            }
            if node.name == value.name {
                node.name.clone_from(&name);
            }
        }
    }

    /// An operator by its own name, in the domain of its namespace.
    fn named(&mut self, node: &Node) -> Result<(), OnnxError> {
        let (domain, op) = match node.target.kind() {
            TargetKind::Op { namespace, op, overload } => (namespace.to_string(), format!("{op}.{overload}")),
            TargetKind::HigherOrder(name) => ("higher_order".to_owned(), name.to_string()),
            TargetKind::Extension { namespace, op } => (namespace.to_string(), op.to_string()),
            TargetKind::Python { .. } => match node.target.wrapped() {
                Some(wrapped) => {
                    let dialect = match wrapped.wrapper {
                        Wrapper::Edge => "edge",
                        Wrapper::Backend => "backend",
                    };
                    let name = wrapped.name;
                    (format!("{dialect}.{}", name.namespace), format!("{}.{}", name.name, name.overload))
                }
                None => ("python".to_owned(), node.target.to_string()),
            },
        };
        self.left.insert(node.target.to_string());
        let mut written = self.node(&domain, &op, &node.name);
        let mut arguments = Arguments::new(self.graph, self.functions);
        for (index, input) in node.inputs.iter().enumerate() {
            let parameter =
                if input.name.is_empty() { format!("arg{index}") } else { input.name.to_string() };
            arguments.add(&parameter, &input.arg)?;
        }
        if !arguments.parameters.is_empty() {
            arguments.attributes.push(attribute::strings("input_names", &arguments.parameters));
        }
        (written.input, written.attribute) = (arguments.inputs, arguments.attributes);
        for (id, cast) in &self.cast_operands {
            let plain = self.graph.name(*id);
            for input in written.input.iter_mut().filter(|input| ***input == **plain) {
                input.clone_from(&cast.name);
            }
        }
        let names = made(node)
            .into_iter()
            .map(|id| id.map_or_else(String::new, |id| self.graph.name(id).to_string()));
        written.output = names.collect();
        self.nodes.push(written);
        Ok(())
    }

    /// The outputs, each by a name of its own.
    fn end(&mut self) -> Result<(), OnnxError> {
        let mut seen: FxHashSet<String> =
            value_inputs(self.graph).into_iter().map(|id| self.graph.name(id).to_string()).collect();
        for item in returned(self.graph) {
            let info = match &item {
                Item::Value(id) => {
                    let name = self.graph.name(*id).to_string();
                    let mut output = name.clone();
                    if !seen.insert(name.clone()) {
                        output = self.fresh(&format!("{name}_output"));
                        let mut copy = self.node("", "Identity", &output);
                        (copy.input, copy.output) = (vec![name], vec![output.clone()]);
                        self.nodes.push(copy);
                    }
                    let info = self.types.info(self.graph.name(*id), self.graph.meta(*id))?;
                    ValueInfoProto { name: output, ..info }
                }
                Item::Literal(constant) => {
                    let Some(value) = attribute::scalar(constant) else { continue };
                    let number = value.data_type;
                    let fixed = self.fixed(value);
                    let output = self.fresh("output");
                    let mut node = self.node("", "Identity", &output);
                    (node.input, node.output) = (vec![fixed], vec![output.clone()]);
                    self.nodes.push(node);
                    scalar_info(&output, number)
                }
                Item::Nothing => continue,
            };
            self.outputs.push((item, info));
        }
        Ok(())
    }
}

/// The names that nodes take, those of the graphs within too. Graphs nest no deeper than the document they were read
/// from.
fn names_used(nodes: &[NodeProto], used: &mut FxHashSet<String>) {
    for node in nodes {
        used.extend(node.input.iter().cloned());
        for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            names_used(&graph.node, used);
            used.extend(graph.output.iter().map(|info| info.name.clone()));
        }
    }
}
