//! Models, graphs, nodes and functions.
use super::lexer::Token;
use super::{Parsed, Parser};
use crate::read::message::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    ValueInfoProto,
};

impl Parser<'_> {
    /// A model: its fields, its graph and its functions.
    pub(super) fn model(&mut self) -> Parsed<ModelProto> {
        let mut model = ModelProto::default();
        self.sign('<')?;
        self.list('>', |parser| parser.model_field(&mut model))?;
        model.graph = Some(self.graph()?);
        while *self.token() != Token::End {
            let function = self.function()?;
            model.functions.push(function);
        }
        Ok(model)
    }

    fn model_field(&mut self, model: &mut ModelProto) -> Parsed<()> {
        let field = self.name("a field such as `ir_version`")?;
        self.sign(':')?;
        match field.as_str() {
            "ir_version" => model.ir_version = self.int("a version")?,
            "opset_import" => model.opset_import = self.imports()?,
            "producer_name" => model.producer_name = self.text("a text in quotes")?,
            "producer_version" | "domain" | "doc_string" => drop(self.text("a text in quotes")?),
            "model_version" => drop(self.int("a version")?),
            "metadata_props" => {
                self.sign('[')?;
                model.metadata_props = self.entries(']')?;
            }
            _ => return Err(self.lexer.error(format!("a model has no field `{field}`"))),
        }
        Ok(())
    }

    fn imports(&mut self) -> Parsed<Vec<OperatorSetIdProto>> {
        self.sign('[')?;
        self.list(']', |parser| {
            let domain = parser.text("a domain in quotes")?;
            parser.sign(':')?;
            Ok(OperatorSetIdProto { domain, version: parser.int("a version")? })
        })
    }

    /// A graph.
    pub(super) fn graph(&mut self) -> Parsed<GraphProto> {
        let mut graph = GraphProto { name: self.name("the name of a graph")?, ..GraphProto::default() };
        self.sign('(')?;
        let inputs = self.list(')', Self::value_or_tensor)?;
        for (input, tensor) in inputs {
            graph.input.push(input);
            graph.initializer.extend(tensor);
        }
        self.arrow()?;
        self.sign('(')?;
        graph.output = self.list(')', Self::value)?;
        if self.takes('<')? {
            for (value, tensor) in self.list('>', Self::value_or_tensor)? {
                match tensor {
                    Some(tensor) => graph.initializer.push(tensor),
                    None => graph.value_info.push(value),
                }
            }
        }
        graph.node = self.nodes()?;
        Ok(graph)
    }

    /// A value with its type, if that is said.
    fn value(&mut self) -> Parsed<ValueInfoProto> {
        let r#type = if self.is_type() { Some(self.value_type()?) } else { None };
        Ok(ValueInfoProto { name: self.name("the name of a value")?, r#type, ..ValueInfoProto::default() })
    }

    /// A value, and its elements if they are given.
    fn value_or_tensor(&mut self) -> Parsed<(ValueInfoProto, Option<TensorProto>)> {
        let value = self.value()?;
        if !self.takes('=')? {
            return Ok((value, None));
        }
        let Some(known) = value.r#type.clone() else {
            return Err(self.lexer.error(format!("the type of `{}` has to be said", value.name)));
        };
        let tensor = self.tensor(value.name.clone(), &known)?;
        Ok((value, Some(tensor)))
    }

    fn nodes(&mut self) -> Parsed<Vec<NodeProto>> {
        self.sign('{')?;
        let mut nodes = Vec::new();
        while !self.takes('}')? {
            nodes.push(self.node()?);
        }
        Ok(nodes)
    }

    /// A node: `[name] y, z = domain.Op:overload <attributes> (a, b)`, attributes before or behind the inputs.
    fn node(&mut self) -> Parsed<NodeProto> {
        let mut node = NodeProto::default();
        if self.takes('[')? {
            node.name = self.optional_name()?.unwrap_or_default();
            self.sign(']')?;
        }
        node.output = self.names('=')?;
        node.op_type = self.name("an operator")?;
        while self.takes('.')? {
            if !node.domain.is_empty() {
                node.domain.push('.');
            }
            let next = self.name("an operator")?;
            node.domain.push_str(&std::mem::replace(&mut node.op_type, next));
        }
        if self.takes(':')? {
            node.overload = self.name("an overload")?;
        }
        node.attribute = self.attributes()?;
        self.sign('(')?;
        node.input = self.names(')')?;
        if node.attribute.is_empty() {
            node.attribute = self.attributes()?;
        }
        Ok(node)
    }

    /// Names between commas up to a sign. One that is left out is an empty name; nothing behind the last comma is none.
    fn names(&mut self, end: char) -> Parsed<Vec<String>> {
        let mut names = Vec::new();
        while !self.takes(end)? {
            let name = self.optional_name()?.unwrap_or_default();
            names.push(name);
            if !self.is(end) {
                self.sign(',')?;
            }
        }
        Ok(names)
    }

    fn function(&mut self) -> Parsed<FunctionProto> {
        let mut function = FunctionProto::default();
        if self.takes('<')? {
            self.list('>', |parser| parser.function_field(&mut function))?;
        }
        function.name = self.name("the name of a function")?;
        if self.takes('<')? {
            for (name, value) in self.list('>', Self::formal_attribute)? {
                match value {
                    Some(value) => function.attribute_proto.push(value),
                    None => function.attribute.push(name),
                }
            }
        }
        self.sign('(')?;
        let inputs = self.list(')', Self::value)?;
        self.arrow()?;
        self.sign('(')?;
        let outputs = self.list(')', Self::value)?;
        function.input = inputs.iter().map(|value| value.name.clone()).collect();
        function.output = outputs.iter().map(|value| value.name.clone()).collect();
        let typed = inputs.into_iter().chain(outputs).filter(|value| value.r#type.is_some());
        function.value_info = typed.collect();
        if self.takes('<')? {
            let values = self.list('>', Self::value)?;
            function.value_info.extend(values);
        }
        function.node = self.nodes()?;
        Ok(function)
    }

    fn function_field(&mut self, function: &mut FunctionProto) -> Parsed<()> {
        let field = self.name("a field such as `domain`")?;
        self.sign(':')?;
        match field.as_str() {
            "domain" => function.domain = self.text("a text in quotes")?,
            "overload" => function.overload = self.text("a text in quotes")?,
            "doc_string" => drop(self.text("a text in quotes")?),
            "opset_import" => function.opset_import = self.imports()?,
            _ => return Err(self.lexer.error(format!("a function has no field `{field}`"))),
        }
        Ok(())
    }

    /// An attribute that a function takes, with its default if it has one.
    fn formal_attribute(&mut self) -> Parsed<(String, Option<AttributeProto>)> {
        let name = self.name("the name of an attribute")?;
        let value = match self.is(':') || self.is('=') {
            true => Some(self.attribute(name.clone())?),
            false => None,
        };
        Ok((name, value))
    }
}
