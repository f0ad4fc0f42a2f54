//! Graphs, nodes, values and arguments as the schema has them.

use std::sync::Arc;

use super::WriteError;
use super::emit::{Json, array, float, object, optional, string, tagged};
use crate::{
    Argument, Constant, Device, ExprTable, Graph, GraphInput, Hint, Meta, Node, Operand, Output, PassedAs,
    Sym, TensorMeta, ValueId,
};

type Written = Result<Json, WriteError>;

/// Writes one graph.
pub(super) struct GraphWriter<'g> {
    pub graph: &'g Graph,
    pub exprs: &'g ExprTable,
}

fn as_none() -> Json {
    tagged("as_none", "true".to_owned())
}

/// A constant that stands for a value.
pub(super) fn constant(constant: &Constant) -> Json {
    match constant {
        Constant::None => as_none(),
        Constant::Int(value) => tagged("as_int", value.to_string()),
        Constant::Float(value) => tagged("as_float", float(*value)),
        Constant::Str(text) => tagged("as_string", string(text)),
        Constant::Bool(value) => tagged("as_bool", value.to_string()),
    }
}

fn device(device: &Device) -> Json {
    let index = device.index.map_or_else(|| "null".to_owned(), |index| index.to_string());
    object([("type", string(&device.kind)), ("index", index)])
}

fn named(name: &str) -> Json {
    object([("name", string(name))])
}

impl GraphWriter<'_> {
    fn expr(&self, expr: crate::ExprRef) -> Json {
        let Some(known) = self.exprs.get(expr) else { return "null".to_owned() };
        let hint = match known.hint {
            None => "null".to_owned(),
            Some(Hint::Int(value)) => tagged("as_int", value.to_string()),
            Some(Hint::Bool(value)) => tagged("as_bool", value.to_string()),
            Some(Hint::Float(value)) => tagged("as_float", float(value)),
        };
        tagged("as_expr", object([("expr_str", string(&known.text)), ("hint", hint)]))
    }

    fn sym<T: Copy>(&self, sym: &Sym<T>, tag: &str, literal: impl Fn(T) -> Json) -> Json {
        match sym {
            Sym::Literal(value) => tagged(tag, literal(*value)),
            Sym::Expr(expr) => self.expr(*expr),
        }
    }

    fn size(&self, size: &Sym<i64>) -> Json {
        self.sym(size, "as_int", |value| value.to_string())
    }

    pub fn tensor_meta(&self, name: &str, meta: &TensorMeta) -> Written {
        let Some(dtype) = meta.dtype.export_number() else {
            return Err(WriteError::new(format!("`{name}`"), format!("the format has no {}", meta.dtype)));
        };
        Ok(object([
            ("dtype", dtype.to_string()),
            ("sizes", array(meta.sizes.iter().map(|size| self.size(size)))),
            ("requires_grad", meta.requires_grad.to_string()),
            ("device", device(&meta.device)),
            ("strides", array(meta.strides.iter().map(|size| self.size(size)))),
            ("storage_offset", self.size(&meta.storage_offset)),
            ("layout", meta.layout.export_number().to_string()),
        ]))
    }

    /// A value as an argument, an input or an output.
    pub fn value(&self, value: ValueId) -> Json {
        let name = self.graph.name(value);
        let reference = |tag: &str| tagged(tag, tagged("as_name", string(name)));
        match self.graph.meta(value) {
            Meta::SymInt(_) => reference("as_sym_int"),
            Meta::SymFloat(_) => reference("as_sym_float"),
            Meta::SymBool(_) => reference("as_sym_bool"),
            Meta::CustomObj(class) => {
                let object = object([("name", string(name)), ("class_fqn", string(class))]);
                tagged("as_custom_obj", object)
            }
            Meta::Tensor(_) | Meta::Token | Meta::Unknown => tagged("as_tensor", named(name)),
        }
    }

    fn operand<T: Copy>(&self, operand: &Operand<T>, tag: &str, literal: &dyn Fn(T) -> Json) -> Json {
        match operand {
            Operand::Value(value) => tagged("as_name", string(self.graph.name(*value))),
            Operand::Literal(value) => tagged(tag, literal(*value)),
        }
    }

    fn optional_tensor(&self, value: &Option<ValueId>) -> Json {
        value.map_or_else(as_none, |value| tagged("as_tensor", named(self.graph.name(value))))
    }

    /// An argument of a node, or an output of the graph.
    pub fn argument(&self, argument: &Argument) -> Written {
        let int = |value: i64| value.to_string();
        let truth = |value: bool| value.to_string();
        let ints = |list: &[i64]| array(list.iter().map(i64::to_string));
        let floats = |list: &[f64]| array(list.iter().map(|value| float(*value)));
        let tensor = |value: &ValueId| named(self.graph.name(*value));
        Ok(match argument {
            Argument::None => as_none(),
            Argument::Tensor(value) => tagged("as_tensor", tensor(value)),
            Argument::Tensors(list) => tagged("as_tensors", array(list.iter().map(tensor))),
            Argument::OptionalTensor(value) => tagged("as_optional_tensor", self.optional_tensor(value)),
            Argument::OptionalTensors(list) => {
                tagged("as_optional_tensors", array(list.iter().map(|value| self.optional_tensor(value))))
            }
            Argument::NestedTensors(lists) => {
                let lists = lists.iter().map(|list| array(list.iter().map(tensor)));
                tagged("as_nested_tensors", array(lists))
            }
            Argument::Int(value) => tagged("as_int", value.to_string()),
            Argument::Ints(list) => tagged("as_ints", ints(list)),
            Argument::IntLists(lists) => tagged("as_int_lists", array(lists.iter().map(|list| ints(list)))),
            Argument::Float(value) => tagged("as_float", float(*value)),
            Argument::Floats(list) => tagged("as_floats", floats(list)),
            Argument::FloatLists(lists) => {
                tagged("as_float_lists", array(lists.iter().map(|list| floats(list))))
            }
            Argument::Str(text) => tagged("as_string", string(text)),
            Argument::Strs(list) => tagged("as_strings", array(list.iter().map(|text| string(text)))),
            Argument::Bool(value) => tagged("as_bool", value.to_string()),
            Argument::Bools(list) => tagged("as_bools", array(list.iter().map(bool::to_string))),
            Argument::Complex(real, imag) => {
                tagged("as_complex", object([("real", float(*real)), ("imag", float(*imag))]))
            }
            Argument::SymInt(item) => tagged("as_sym_int", self.operand(item, "as_int", &int)),
            Argument::SymInts(list) => {
                let items = list.iter().map(|item| self.operand(item, "as_int", &int));
                tagged("as_sym_ints", array(items))
            }
            Argument::SymFloat(item) => tagged("as_sym_float", self.operand(item, "as_float", &float)),
            Argument::SymFloats(list) => {
                let items = list.iter().map(|item| self.operand(item, "as_float", &float));
                tagged("as_sym_floats", array(items))
            }
            Argument::SymBool(item) => tagged("as_sym_bool", self.operand(item, "as_bool", &truth)),
            Argument::SymBools(list) => {
                let items = list.iter().map(|item| self.operand(item, "as_bool", &truth));
                tagged("as_sym_bools", array(items))
            }
            Argument::Dtype(dtype) => match dtype.export_number() {
                Some(number) => tagged("as_scalar_type", number.to_string()),
                None => return Err(WriteError::new("an argument", format!("the format has no {dtype}"))),
            },
            Argument::MemoryFormat(format) => tagged("as_memory_format", format.export_number().to_string()),
            Argument::Layout(layout) => tagged("as_layout", layout.export_number().to_string()),
            Argument::Device(kind) => tagged("as_device", device(kind)),
            Argument::Graph(subgraph) => {
                let inner = GraphWriter { graph: &subgraph.graph, exprs: self.exprs }.write()?;
                tagged("as_graph", object([("name", string(&subgraph.name)), ("graph", inner)]))
            }
            Argument::CustomObj(value) => self.value(*value),
            Argument::Operator(text) => tagged("as_operator", string(text)),
            Argument::List(_) => {
                return Err(WriteError::new("an argument", "the format has no list of different things"));
            }
            Argument::Map(map) => {
                let mut entries = Vec::with_capacity(map.len());
                for (key, value) in map.iter() {
                    entries.push((Arc::clone(key), self.argument(value)?));
                }
                tagged("as_string_to_argument", object(entries))
            }
        })
    }

    fn output(&self, output: &Output) -> Json {
        match output {
            Output::Value(value) => self.value(*value),
            Output::List(values) if values.iter().all(Option::is_some) => {
                let names = values.iter().flatten().map(|value| named(self.graph.name(*value)));
                tagged("as_tensors", array(names))
            }
            Output::List(values) => {
                tagged("as_optional_tensors", array(values.iter().map(|value| self.optional_tensor(value))))
            }
            Output::None => as_none(),
            Output::Constant(value) => constant(value),
        }
    }

    fn node(&self, node: &Node) -> Written {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for input in &node.inputs {
            let kind = match input.passed_as {
                PassedAs::Unknown => "0",
                PassedAs::Positional => "1",
                PassedAs::Keyword => "2",
            };
            let arg = self.argument(&input.arg).map_err(|error| {
                WriteError::new(format!("node `{}`: {}", node.name, error.place), error.message)
            })?;
            inputs.push(object([("name", string(&input.name)), ("arg", arg), ("kind", kind.to_owned())]));
        }
        let origin = &node.provenance;
        let metadata = [
            ("stack_trace", &origin.stack_trace),
            ("nn_module_stack", &origin.nn_module_stack),
            ("source_fn_stack", &origin.source_fn_stack),
            ("torch_fn", &origin.torch_fn),
            ("custom", &origin.custom),
        ];
        let metadata =
            metadata.into_iter().filter_map(|(key, text)| text.as_ref().map(|text| (key, string(text))));
        let single = node.hop_single_tensor.map_or_else(|| "null".to_owned(), |single| single.to_string());
        Ok(object([
            ("target", string(&node.target.qualified_name())),
            ("inputs", array(inputs)),
            ("outputs", array(node.outputs.iter().map(|output| self.output(output)))),
            ("metadata", object(metadata)),
            ("is_hop_single_tensor_return", single),
            ("name", optional(Some(&node.name))),
        ]))
    }

    /// The graph.
    pub fn write(&self) -> Written {
        let [mut tensors, mut ints, mut bools, mut floats, mut objects] = [const { Vec::new() }; 5];
        for (id, name, value) in self.graph.values() {
            let name = Arc::clone(name);
            match &value.meta {
                Meta::Tensor(meta) => {
                    let meta = self.tensor_meta(&name, meta)?;
                    tensors.push((name, meta));
                }
                Meta::SymInt(sym) => ints.push((name, self.size(sym))),
                Meta::SymFloat(sym) => floats.push((name, self.sym(sym, "as_float", float))),
                Meta::SymBool(sym) => bools.push((name, self.sym(sym, "as_bool", |value| value.to_string()))),
                Meta::CustomObj(class) => {
                    objects.push((
                        Arc::clone(&name),
                        object([("name", string(&name)), ("class_fqn", string(class))]),
                    ));
                }
                Meta::Token => {}
                Meta::Unknown => {
                    let name = self.graph.name(id);
                    return Err(WriteError::new(format!("`{name}`"), "nothing is recorded of it"));
                }
            }
        }
        let inputs = self.graph.inputs().iter().map(|input| match input {
            GraphInput::Value(value) => self.value(*value),
            GraphInput::Constant(value) => constant(value),
        });
        let outputs = self.graph.outputs().iter().map(|output| self.argument(output));
        let nodes = self.graph.nodes().iter().map(|node| self.node(node));
        Ok(object([
            ("inputs", array(inputs)),
            ("outputs", array(outputs.collect::<Result<Vec<_>, _>>()?)),
            ("nodes", array(nodes.collect::<Result<Vec<_>, _>>()?)),
            ("tensor_values", object(tensors)),
            ("sym_int_values", object(ints)),
            ("sym_bool_values", object(bools)),
            ("is_single_tensor_return", self.graph.single_tensor_return().to_string()),
            ("custom_obj_values", object(objects)),
            ("sym_float_values", object(floats)),
        ]))
    }
}
