//! Attributes, and arguments as inputs and attributes of nodes.

use super::types::{BOOL, DOUBLE, INT64};
use crate::OnnxError;
use sizewise_ir::{Argument, Constant, Functions, Graph, Operand, ValueId};
use sizewise_onnx_model::read::message::kind::{FLOAT, GRAPH, INT, INTS, TENSOR, TEXT, TEXTS};
use sizewise_onnx_model::read::message::{AttributeProto, GraphProto, TensorProto};

fn attribute(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: name.to_owned(), kind, ..AttributeProto::default() }
}

pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: value, ..attribute(name, INT) }
}

pub(super) fn float(name: &str, value: f64) -> AttributeProto {
    AttributeProto { f: value as f32, ..attribute(name, FLOAT) }
}

pub(super) fn ints(name: &str, values: Vec<i64>) -> AttributeProto {
    AttributeProto { ints: values, ..attribute(name, INTS) }
}

pub(super) fn string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: value.as_bytes().to_vec().into(), ..attribute(name, TEXT) }
}

pub(super) fn strings(name: &str, values: &[String]) -> AttributeProto {
    let strings = values.iter().map(|value| value.as_bytes().to_vec().into()).collect();
    AttributeProto { strings, ..attribute(name, TEXTS) }
}

pub(super) fn graph(name: &str, value: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(Box::new(value)), ..attribute(name, GRAPH) }
}

pub(super) fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(Box::new(value)), ..attribute(name, TENSOR) }
}

fn doubles(values: &[f64], dims: Vec<i64>) -> TensorProto {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    TensorProto { dims, data_type: DOUBLE, raw_data: raw.into(), ..TensorProto::default() }
}

fn length(count: usize) -> Vec<i64> {
    vec![i64::try_from(count).unwrap_or(i64::MAX)]
}

/// A literal as a tensor without dimensions; `None` for `None` and strings.
pub(super) fn scalar(constant: &Constant) -> Option<TensorProto> {
    let (data_type, raw) = match constant {
        Constant::Int(value) => (INT64, value.to_le_bytes().to_vec()),
        Constant::Float(value) => (DOUBLE, value.to_le_bytes().to_vec()),
        Constant::Bool(value) => (BOOL, vec![u8::from(*value)]),
        Constant::None | Constant::Str(_) => return None,
    };
    Some(TensorProto { data_type, raw_data: raw.into(), ..TensorProto::default() })
}

/// The literal that an argument is, if it is a number.
pub(super) fn literal(argument: &Argument) -> Option<Constant> {
    match argument {
        Argument::Int(value) | Argument::SymInt(Operand::Literal(value)) => Some(Constant::Int(*value)),
        Argument::Float(value) | Argument::SymFloat(Operand::Literal(value)) => Some(Constant::Float(*value)),
        Argument::Bool(value) | Argument::SymBool(Operand::Literal(value)) => Some(Constant::Bool(*value)),
        _ => None,
    }
}

/// What a node is called with.
pub(super) struct Arguments<'b, 'p> {
    graph: &'p Graph,
    functions: &'b Functions<'p>,
    /// The names of values; empty for absent elements of lists.
    pub inputs: Vec<String>,
    /// The parameter of each input.
    pub parameters: Vec<String>,
    pub attributes: Vec<AttributeProto>,
}

impl<'b, 'p> Arguments<'b, 'p> {
    pub fn new(graph: &'p Graph, functions: &'b Functions<'p>) -> Arguments<'b, 'p> {
        Arguments { graph, functions, inputs: Vec::new(), parameters: Vec::new(), attributes: Vec::new() }
    }

    fn input(&mut self, parameter: &str, value: Option<ValueId>) {
        self.inputs.push(value.map_or_else(String::new, |value| self.graph.name(value).to_string()));
        self.parameters.push(parameter.to_owned());
    }

    fn element(&mut self, parameter: &str, index: usize, value: Option<ValueId>) {
        self.input(&format!("{parameter}[{index}]"), value);
    }

    /// The literals of a list, with `blank` where an input stands.
    fn elements<T: Copy>(&mut self, parameter: &str, list: &[Operand<T>], blank: T) -> Vec<T> {
        let mut literals = Vec::with_capacity(list.len());
        for (index, operand) in list.iter().enumerate() {
            literals.push(match operand {
                Operand::Value(value) => {
                    self.element(parameter, index, Some(*value));
                    blank
                }
                Operand::Literal(value) => *value,
            });
        }
        literals
    }

    /// Adds what a list or a map of arguments holds, one by one; `false` for other arguments.
    fn add_parts(&mut self, parameter: &str, argument: &Argument) -> Result<bool, OnnxError> {
        match argument {
            Argument::Tensors(values) => {
                for (index, value) in values.iter().enumerate() {
                    self.element(parameter, index, Some(*value));
                }
            }
            Argument::OptionalTensors(values) => {
                for (index, value) in values.iter().enumerate() {
                    self.element(parameter, index, *value);
                }
            }
            Argument::NestedTensors(lists) => {
                for (index, list) in lists.iter().enumerate() {
                    for (inner, value) in list.iter().enumerate() {
                        self.element(&format!("{parameter}[{index}]"), inner, Some(*value));
                    }
                }
            }
            Argument::Map(map) => {
                for (key, value) in map.iter() {
                    self.add(&format!("{parameter}.{key}"), value)?;
                }
            }
            Argument::List(items) => {
                for (index, value) in items.iter().enumerate() {
                    self.add(&format!("{parameter}[{index}]"), value)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Adds the argument for a parameter.
    ///
    /// # Errors
    /// When it has no form here.
    pub fn add(&mut self, parameter: &str, argument: &Argument) -> Result<(), OnnxError> {
        if let Some(value) = argument.value() {
            self.input(parameter, Some(value));
            return Ok(());
        }
        if self.add_parts(parameter, argument)? {
            return Ok(());
        }
        let attribute = match argument {
            Argument::None | Argument::OptionalTensor(None) => return Ok(()),
            Argument::Int(value) => int(parameter, *value),
            Argument::Ints(list) => ints(parameter, list.clone()),
            Argument::Float(value) => tensor(parameter, doubles(&[*value], Vec::new())),
            Argument::Floats(list) => tensor(parameter, doubles(list, length(list.len()))),
            Argument::Str(text) => string(parameter, text),
            Argument::Strs(list) => {
                strings(parameter, &list.iter().map(ToString::to_string).collect::<Vec<_>>())
            }
            Argument::Bool(value) => int(parameter, (*value).into()),
            Argument::Bools(list) => ints(parameter, list.iter().map(|value| (*value).into()).collect()),
            Argument::Complex(real, imaginary) => tensor(parameter, doubles(&[*real, *imaginary], length(2))),
            Argument::SymInts(list) => {
                let list = self.elements(parameter, list, 0);
                ints(parameter, list)
            }
            Argument::SymFloats(list) => {
                let list = self.elements(parameter, list, 0.0);
                tensor(parameter, doubles(&list, length(list.len())))
            }
            Argument::SymBools(list) => {
                let list = self.elements(parameter, list, false);
                ints(parameter, list.into_iter().map(i64::from).collect())
            }
            Argument::Dtype(dtype) => string(parameter, dtype.name()),
            Argument::MemoryFormat(format) => string(parameter, &format.to_string()),
            Argument::Layout(layout) => string(parameter, &layout.to_string()),
            Argument::Device(device) => string(parameter, &device.to_string()),
            Argument::Operator(target) => string(parameter, target),
            Argument::IntLists(lists) => {
                let rows: Vec<String> = lists.iter().map(|list| format!("{list:?}")).collect();
                strings(parameter, &rows)
            }
            Argument::FloatLists(lists) => {
                let rows: Vec<String> = lists.iter().map(|list| format!("{list:?}")).collect();
                strings(parameter, &rows)
            }
            Argument::Graph(subgraph) => {
                let name = self.functions.of(subgraph).map_or("", |function| &function.name);
                string(parameter, name)
            }
            other => match literal(other) {
                Some(constant) => return self.add(parameter, &plain(&constant)),
                None => return Ok(()),
            },
        };
        self.attributes.push(attribute);
        Ok(())
    }
}

/// A literal without the mark of a symbolic parameter.
fn plain(constant: &Constant) -> Argument {
    match constant {
        Constant::None => Argument::None,
        Constant::Int(value) => Argument::Int(*value),
        Constant::Float(value) => Argument::Float(*value),
        Constant::Bool(value) => Argument::Bool(*value),
        Constant::Str(text) => Argument::Str(text.clone()),
    }
}
