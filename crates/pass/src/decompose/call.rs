//! The call that is decomposed: its arguments by name, with the schema's defaults.
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::schema::{DefaultValue, Schema, Type};
use sizewise_ir::{Argument, Dtype, Operand, ValueId};

/// A call with its arguments.
#[derive(Debug)]
pub struct Call<'s> {
    pub schema: &'s Schema,
    given: Vec<(String, Argument)>,
}

/// An argument, or a tensor, that a decomposition does not take.
pub fn refused(message: impl Into<String>) -> TraceError {
    TraceError::Malformed(message.into())
}

/// A default as an argument.
fn argument(default: &DefaultValue) -> Argument {
    match default {
        DefaultValue::None | DefaultValue::Name(_) => Argument::None,
        DefaultValue::Bool(value) => Argument::Bool(*value),
        DefaultValue::Int(value) => Argument::Int(*value),
        DefaultValue::Float(value) => Argument::Float(*value),
        DefaultValue::Str(text) => Argument::Str(text.as_str().into()),
        DefaultValue::List(items) => {
            let int = |item: &DefaultValue| match item {
                DefaultValue::Int(value) => Some(*value),
                _ => None,
            };
            items.iter().map(int).collect::<Option<Vec<i64>>>().map_or(Argument::None, Argument::Ints)
        }
    }
}

impl<'s> Call<'s> {
    pub fn new(schema: &'s Schema, given: Vec<(String, Argument)>) -> Call<'s> {
        Call { schema, given }
    }

    /// The argument of this name; what the schema says where it is not passed, and `None` where there is none.
    pub fn argument(&self, name: &str) -> Argument {
        let passed = self.given.iter().find(|(known, _)| known == name);
        if let Some((_, argument)) = passed {
            return match argument {
                Argument::OptionalTensor(Some(id)) => Argument::Tensor(*id),
                Argument::OptionalTensor(None) => Argument::None,
                other => other.clone(),
            };
        }
        let spec = self.schema.args.iter().find(|spec| spec.name == name);
        spec.and_then(|spec| spec.default.as_ref()).map_or(Argument::None, argument)
    }

    /// Whether there is a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.schema.args.iter().any(|spec| spec.name == name)
    }

    /// The tensors among the arguments, one each.
    pub fn tensors(&self) -> Vec<Proxy> {
        let alone = self.given.iter().filter_map(|(_, argument)| match argument {
            Argument::Tensor(id) | Argument::OptionalTensor(Some(id)) => Some(Proxy::tensor(*id)),
            _ => None,
        });
        alone.collect()
    }

    pub fn tensor(&self, name: &str) -> Result<Proxy, TraceError> {
        self.optional_tensor(name).ok_or_else(|| refused(format!("`{name}` is no tensor")))
    }

    pub fn optional_tensor(&self, name: &str) -> Option<Proxy> {
        match self.argument(name) {
            Argument::Tensor(id) => Some(Proxy::tensor(id)),
            _ => None,
        }
    }

    pub fn tensor_list(&self, name: &str) -> Result<Vec<Proxy>, TraceError> {
        match self.argument(name) {
            Argument::Tensors(ids) => Ok(ids.into_iter().map(Proxy::tensor).collect()),
            _ => Err(refused(format!("`{name}` is no list of tensors"))),
        }
    }

    pub fn size(&self, name: &str) -> Result<Operand<i64>, TraceError> {
        match self.argument(name) {
            Argument::Int(value) => Ok(Operand::Literal(value)),
            Argument::SymInt(operand) => Ok(operand),
            _ => Err(refused(format!("`{name}` is no integer"))),
        }
    }

    pub fn int(&self, name: &str) -> Result<i64, TraceError> {
        match self.size(name)? {
            Operand::Literal(value) => Ok(value),
            Operand::Value(_) => Err(refused(format!("`{name}` is symbolic"))),
        }
    }

    pub fn float(&self, name: &str) -> Result<f64, TraceError> {
        match self.argument(name) {
            Argument::Int(value) => Ok(value as f64),
            Argument::Float(value) | Argument::SymFloat(Operand::Literal(value)) => Ok(value),
            Argument::Bool(value) => Ok(f64::from(u8::from(value))),
            _ => Err(refused(format!("`{name}` is no number that is written out"))),
        }
    }

    pub fn truth(&self, name: &str) -> Result<bool, TraceError> {
        match self.argument(name) {
            Argument::Bool(value) | Argument::SymBool(Operand::Literal(value)) => Ok(value),
            Argument::Int(value) => Ok(value != 0),
            _ => Err(refused(format!("`{name}` is no truth value"))),
        }
    }

    /// A list of sizes; a single one where the schema has it broadcast. `None` where it is not given.
    pub fn optional_sizes(&self, name: &str) -> Option<Vec<Operand<i64>>> {
        match self.argument(name) {
            Argument::Ints(list) => Some(list.into_iter().map(Operand::Literal).collect()),
            Argument::SymInts(list) => Some(list),
            Argument::Int(value) => Some(vec![Operand::Literal(value)]),
            Argument::SymInt(operand) => Some(vec![operand]),
            // An empty list is written without the kind of its elements.
            Argument::List(list) if list.is_empty() => Some(Vec::new()),
            Argument::Tensors(list) if list.is_empty() => Some(Vec::new()),
            _ => None,
        }
    }

    pub fn sizes(&self, name: &str) -> Result<Vec<Operand<i64>>, TraceError> {
        self.optional_sizes(name).ok_or_else(|| refused(format!("`{name}` is no list of integers")))
    }

    /// A list of integers that are written out, if it is given.
    pub fn optional_ints(&self, name: &str) -> Result<Option<Vec<i64>>, TraceError> {
        let Some(list) = self.optional_sizes(name) else { return Ok(None) };
        let literal = |operand: &Operand<i64>| match operand {
            Operand::Literal(value) => Ok(*value),
            Operand::Value(_) => Err(refused(format!("`{name}` is symbolic"))),
        };
        list.iter().map(literal).collect::<Result<_, _>>().map(Some)
    }

    pub fn ints(&self, name: &str) -> Result<Vec<i64>, TraceError> {
        self.optional_ints(name)?.ok_or_else(|| refused(format!("`{name}` is no list of integers")))
    }

    /// Numbers that are written out, if they are given.
    pub fn optional_floats(&self, name: &str) -> Result<Option<Vec<f64>>, TraceError> {
        match self.argument(name) {
            Argument::Floats(list) => Ok(Some(list)),
            Argument::Ints(list) => Ok(Some(list.into_iter().map(|value| value as f64).collect())),
            Argument::Float(value) => Ok(Some(vec![value])),
            Argument::SymFloats(_) => Err(refused(format!("`{name}` is symbolic"))),
            _ => Ok(None),
        }
    }

    pub fn text(&self, name: &str) -> Result<String, TraceError> {
        match self.argument(name) {
            Argument::Str(text) => Ok(text.to_string()),
            _ => Err(refused(format!("`{name}` is no text"))),
        }
    }

    pub fn dtype(&self, name: &str) -> Option<Dtype> {
        match self.argument(name) {
            Argument::Dtype(dtype) => Some(dtype),
            _ => None,
        }
    }
}

/// An argument as the schema's type wants it: an integer in the place of a float is a float.
pub fn fitted(argument: Argument, ty: &Type) -> Argument {
    match (ty.strip_optional().0, argument) {
        (Type::Float { .. }, Argument::Int(value)) => Argument::Float(value as f64),
        (Type::List(element, _), Argument::Tensors(ids)) if matches!(**element, Type::Optional(_)) => {
            Argument::OptionalTensors(ids.into_iter().map(Some).collect::<Vec<Option<ValueId>>>())
        }
        (_, argument) => argument,
    }
}
