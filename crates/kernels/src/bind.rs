//! Matching the arguments of a call against the operator's schema.
use super::args::Args;
use super::span::Span;
use super::tensor::Tensor;
use super::value::Value;
use sizewise_expr::{Expr, Pool};
use sizewise_ir::dtype::{Device, Dtype, Layout, MemoryFormat};
use sizewise_ir::schema::{ArgSpec, DefaultValue, Schema, Type};
use smallvec::SmallVec;
use std::sync::Arc;

/// Why arguments do not fit a schema.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BindError {
    /// More positional arguments than the schema has.
    #[error("{op} takes {limit} positional arguments, {given} were given")]
    TooMany {
        /// The operator.
        op: String,
        /// How many the schema has.
        limit: usize,
        /// How many were given.
        given: usize,
    },
    /// A required argument is missing.
    #[error("{op} misses its argument `{name}`")]
    Missing {
        /// The operator.
        op: String,
        /// The argument.
        name: String,
    },
    /// A keyword that the schema does not have, or an argument given twice.
    #[error("{op} has no argument `{name}` left to give")]
    Unexpected {
        /// The operator.
        op: String,
        /// The argument.
        name: String,
    },
    /// A value of the wrong type.
    #[error("{op}: `{name}` is to be {wanted}, not {found}")]
    Type {
        /// The operator.
        op: String,
        /// The argument.
        name: String,
        /// The type that the schema says.
        wanted: String,
        /// The kind of value given.
        found: &'static str,
    },
}

/// Matches positional and keyword arguments against a schema: fills in defaults and converts what torch converts (an
/// int for a float, one int for a fixed-length list, a number for a tensor).
///
/// # Errors
/// When the arguments do not fit; see [`BindError`].
pub fn bind<'a>(
    pool: &mut Pool,
    schema: &'a Schema,
    positional: impl IntoIterator<Item = Value>,
    keywords: impl IntoIterator<Item = (impl AsRef<str>, Value)>,
) -> Result<Args<'a>, BindError> {
    let op = || schema.qualified().to_string();
    let mut slots: SmallVec<[Option<Value>; 8]> = SmallVec::new();
    for (given, value) in positional.into_iter().enumerate() {
        if given >= schema.args.len() {
            return Err(BindError::TooMany { op: op(), limit: schema.args.len(), given: given + 1 });
        }
        slots.push(Some(value));
    }
    slots.resize(schema.args.len(), None);
    for (name, value) in keywords {
        let name = name.as_ref();
        match schema.args.iter().position(|arg| arg.name == name) {
            Some(at) if slots[at].is_none() => slots[at] = Some(value),
            _ => return Err(BindError::Unexpected { op: op(), name: name.to_string() }),
        }
    }
    let mut values = SmallVec::with_capacity(schema.args.len());
    for (arg, slot) in schema.args.iter().zip(slots) {
        values.push(match slot {
            Some(value) => {
                let found = value.kind();
                convert(pool, &arg.ty, value).ok_or_else(|| BindError::Type {
                    op: op(),
                    name: arg.name.clone(),
                    wanted: type_name(&arg.ty),
                    found,
                })?
            }
            None => {
                default(pool, arg).ok_or_else(|| BindError::Missing { op: op(), name: arg.name.clone() })?
            }
        });
    }
    Ok(Args { schema, values })
}

/// What a schema type is called in messages.
fn type_name(ty: &Type) -> String {
    ty.to_string()
}

/// The value as the type wants it, or `None` when it does not fit.
fn convert(pool: &mut Pool, ty: &Type, value: Value) -> Option<Value> {
    Some(match (ty, value) {
        (Type::Optional(_), Value::None) => Value::None,
        (Type::Optional(inner), value) => convert(pool, inner, value)?,
        // torch takes None for an undefined tensor, which kernels that do not look at it let pass; those that do
        // refuse it.
        (Type::Tensor, value @ (Value::Tensor(_) | Value::None)) => value,
        (Type::Tensor, value) => Value::Tensor(Arc::new(wrapped_number(&value)?)),
        (Type::Int { .. }, Value::Bool(e)) => Value::Int(pool.as_integer(e)),
        (Type::Int { .. }, value @ Value::Int(_)) => value,
        (Type::Float { .. }, Value::Float(e) | Value::Int(e) | Value::Bool(e)) => {
            Value::Float(pool.to_float(e))
        }
        (Type::Bool { .. }, value @ Value::Bool(_)) => value,
        (Type::Bool { .. }, Value::Int(e)) => Value::Bool(pool.truth(e)),
        (Type::Str, value @ Value::Str(_)) => value,
        (Type::Complex, value @ Value::Complex(..)) => value,
        (Type::Scalar, value @ (Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Complex(..))) => {
            value
        }
        (Type::ScalarType, value @ Value::Dtype(_)) => value,
        (Type::ScalarType, Value::Int(e)) => Value::Dtype(super::c10::dtype_of(e.as_inline()?)?),
        // Enumerations stand in schemas of TorchScript by their numbers; that of layouts begins with the ordinary one.
        (Type::MemoryFormat, Value::Int(e)) => {
            let named = super::c10::memory_format_of(e.as_inline()?);
            Value::MemoryFormat(named.unwrap_or(MemoryFormat::Contiguous))
        }
        (Type::Layout, Value::Int(Expr::ZERO)) => Value::Layout(Layout::Strided),
        (Type::Layout, value @ Value::Layout(_)) => value,
        (Type::Device, value @ Value::Device(_)) => value,
        (Type::MemoryFormat, value @ Value::MemoryFormat(_)) => value,
        (Type::Generator | Type::Other(_), Value::None) => Value::None,
        (Type::Generator | Type::Other(_) | Type::Dict(_) | Type::Tuple(_), value) => value,
        (Type::List(element, length), value) => list(pool, element, *length, value)?,
        _ => return None,
    })
}

fn list(pool: &mut Pool, element: &Type, length: Option<u32>, value: Value) -> Option<Value> {
    let (inner, optional) = element.strip_optional();
    match (inner, value) {
        (Type::Tensor, Value::Tensors(items)) => {
            (optional || items.iter().all(Option::is_some)).then_some(Value::Tensors(items))
        }
        // A lone tensor stands for a list of one, as torch's operators accept it.
        (Type::Tensor, Value::Tensor(t)) => Some(Value::Tensors(vec![Some(t)])),
        (Type::Tensor, value) => is_empty_list(&value).then(|| Value::Tensors(Vec::new())),
        (Type::Int { .. }, Value::Ints(items)) => Some(Value::Ints(items)),
        (Type::Int { .. }, Value::Bools(items)) => {
            Some(Value::Ints(items.into_iter().map(|e| pool.as_integer(e)).collect()))
        }
        (Type::Int { .. }, Value::Int(e)) => length.map(|n| Value::Ints(vec![e; n as usize])),
        (Type::Int { .. }, value) => is_empty_list(&value).then(|| Value::Ints(Vec::new())),
        (Type::Float { .. }, Value::Floats(items) | Value::Ints(items)) => {
            Some(Value::Floats(items.into_iter().map(|e| pool.to_float(e)).collect()))
        }
        (Type::Float { .. }, Value::Scalars(items)) => {
            let mut floats = Vec::with_capacity(items.len());
            for item in items {
                let (Value::Int(e) | Value::Float(e) | Value::Bool(e)) = item else { return None };
                floats.push(pool.to_float(e));
            }
            Some(Value::Floats(floats))
        }
        (Type::Float { .. }, Value::Float(e) | Value::Int(e)) => {
            let e = pool.to_float(e);
            length.map(|n| Value::Floats(vec![e; n as usize]))
        }
        (Type::Float { .. }, value) => is_empty_list(&value).then(|| Value::Floats(Vec::new())),
        (Type::Bool { .. }, Value::Bools(items)) => Some(Value::Bools(items)),
        (Type::Bool { .. }, Value::Bool(e)) => length.map(|n| Value::Bools(vec![e; n as usize])),
        (Type::Bool { .. }, value) => is_empty_list(&value).then(|| Value::Bools(Vec::new())),
        (Type::Scalar, Value::Scalars(items)) => Some(Value::Scalars(items)),
        (Type::Scalar, Value::Ints(items)) => {
            Some(Value::Scalars(items.into_iter().map(Value::Int).collect()))
        }
        (Type::Scalar, Value::Floats(items)) => {
            Some(Value::Scalars(items.into_iter().map(Value::Float).collect()))
        }
        (Type::Scalar, Value::Bools(items)) => {
            Some(Value::Scalars(items.into_iter().map(Value::Bool).collect()))
        }
        (Type::Scalar, value) => is_empty_list(&value).then(|| Value::Scalars(Vec::new())),
        (_, value) => Some(value),
    }
}

fn is_empty_list(value: &Value) -> bool {
    match value {
        Value::Tensors(items) => items.is_empty(),
        Value::Ints(items) | Value::Floats(items) | Value::Bools(items) => items.is_empty(),
        Value::Scalars(items) => items.is_empty(),
        _ => false,
    }
}

/// A Python number as a 0-dimensional tensor that takes part in type promotion by its category only.
fn wrapped_number(value: &Value) -> Option<Tensor> {
    let span = if let Value::Int(value) = value { Some(Span::single(*value)) } else { None };
    let dtype = match value {
        Value::Int(_) => Dtype::Int64,
        Value::Float(_) => Dtype::Float64,
        Value::Bool(_) => Dtype::Bool,
        Value::Complex(..) => Dtype::Complex128,
        _ => return None,
    };
    Some(Tensor {
        sizes: SmallVec::new(),
        strides: SmallVec::new(),
        offset: Expr::ZERO,
        dtype,
        device: Device::cpu(),
        layout: Layout::Strided,
        wrapped: true,
        span,
    })
}

fn default(pool: &mut Pool, arg: &ArgSpec) -> Option<Value> {
    match &arg.default {
        Some(value) => default_value(pool, &arg.ty, value),
        // An optional argument that a call leaves out is None even where the schema writes no default.
        None => matches!(arg.ty, Type::Optional(_) | Type::Generator).then_some(Value::None),
    }
}

fn default_value(pool: &mut Pool, ty: &Type, value: &DefaultValue) -> Option<Value> {
    Some(match value {
        DefaultValue::None => Value::None,
        DefaultValue::Bool(b) => {
            let e = pool.bool(*b);
            return convert(pool, ty, Value::Bool(e));
        }
        DefaultValue::Int(v) => {
            let e = pool.int(*v);
            return convert(pool, ty, Value::Int(e));
        }
        DefaultValue::Float(v) => Value::Float(pool.float(*v)),
        DefaultValue::Str(s) => Value::Str(s.as_str().into()),
        DefaultValue::List(items) => {
            let element = ty.as_list().map(|(element, _)| element.clone())?;
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                values.push(default_value(pool, &element, item)?);
            }
            return convert(pool, ty, gather(values));
        }
        DefaultValue::Name(name) => match ty.strip_optional().0 {
            Type::ScalarType => Value::Dtype(Dtype::from_name(name)?),
            Type::Layout => Value::Layout(Layout::from_name(name)?),
            Type::MemoryFormat => Value::MemoryFormat(MemoryFormat::from_name(name)?),
            Type::Device => Value::Device(Device::from_name(name)?),
            _ => return None,
        },
    })
}

/// A list of single values as one list value of their kind.
fn gather(values: Vec<Value>) -> Value {
    let expr = |v: &Value| match v {
        Value::Int(e) | Value::Float(e) | Value::Bool(e) => Some(*e),
        _ => None,
    };
    let all = |f: fn(&Value) -> bool| !values.is_empty() && values.iter().all(f);
    if all(|v| matches!(v, Value::Float(_))) {
        return Value::Floats(values.iter().filter_map(expr).collect());
    }
    if all(|v| matches!(v, Value::Bool(_))) {
        return Value::Bools(values.iter().filter_map(expr).collect());
    }
    if values.iter().all(|v| matches!(v, Value::Int(_))) {
        return Value::Ints(values.iter().filter_map(expr).collect());
    }
    Value::Scalars(values)
}
