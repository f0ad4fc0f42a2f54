//! Operator arguments and results as JSON: `{"tensor": {…}}`, `{"ints": […]}` and so on. Public for those who
//! read recorded calls.
use super::Refusal;
use super::refusal::only;
use crate::report::int_json;
use serde_json::{Map, Value as Json, json};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Pool, text};
use sizewise_ir::dtype::{Device, Dtype, Layout, MemoryFormat};
use sizewise_kernels::{Cx, Sizes, Tensor, Value};
use std::sync::Arc;

/// The most dimensions of a tensor: torch's own kernels stop at 64. Strides grow with each, and there are
/// operators with a result for each.
const MAX_RANK: usize = 128;

/// The fields of a tensor.
const TENSOR_FIELDS: &[&str] = &["shape", "dtype", "stride", "storage_offset", "device", "layout"];

type Result<T> = std::result::Result<T, Refusal>;

fn expected(what: &str, got: &Json) -> Refusal {
    let mut shown = got.to_string();
    if shown.len() > 80 {
        let end = (0..=77).rev().find(|&i| shown.is_char_boundary(i)).unwrap_or(0);
        shown.truncate(end);
        shown.push_str("...");
    }
    Refusal::invalid(format!("expected {what}, got {shown}"))
}

/// An integer, as a number or an expression's text.
pub fn read_int(env: &mut ShapeEnv, json: &Json) -> Result<Expr> {
    match json {
        Json::Number(n) => match n.as_i64() {
            Some(v) => Ok(env.pool.int(v)),
            None => match n.to_string().parse::<Int>() {
                Ok(v) => Ok(env.pool.int(v)),
                Err(_) => Err(expected("an integer", json)),
            },
        },
        Json::Bool(b) => Ok(Expr::from(i32::from(*b))),
        Json::String(s) => read_expression(&mut env.pool, s),
        _ => Err(expected("an integer or an expression", json)),
    }
}

/// An expression from its text.
pub fn read_expression(pool: &mut Pool, source: &str) -> Result<Expr> {
    match text::read::expression(pool, source, &mut |_| None) {
        Ok(read) => Ok(read.expr),
        Err(error) => Err(Refusal::invalid(format!("in the expression `{source}`: {error}"))),
    }
}

fn read_float(env: &mut ShapeEnv, json: &Json) -> Result<Expr> {
    let value = match json {
        Json::Number(n) => n.as_f64(),
        Json::String(s) => match s.as_str() {
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            "nan" => Some(f64::NAN),
            other => return read_expression(&mut env.pool, other),
        },
        _ => None,
    };
    value.map(|v| env.pool.float(v)).ok_or_else(|| expected("a float", json))
}

fn read_list<T>(json: &Json, mut read: impl FnMut(&Json) -> Result<T>) -> Result<Vec<T>> {
    match json {
        Json::Array(items) => items.iter().map(&mut read).collect(),
        _ => Err(expected("a list", json)),
    }
}

fn read_str<'j>(json: &'j Json, what: &str) -> Result<&'j str> {
    json.as_str().ok_or_else(|| expected(what, json))
}

fn read_name<T>(json: &Json, what: &str, find: impl Fn(&str) -> Option<T>) -> Result<T> {
    json.as_str().and_then(find).ok_or_else(|| expected(what, json))
}

fn read_tensor(env: &mut ShapeEnv, json: &Json) -> Result<Tensor> {
    let fields = json.as_object().ok_or_else(|| expected("a tensor object", json))?;
    only(fields, TENSOR_FIELDS)?;
    let shape = fields.get("shape").ok_or_else(|| expected("a tensor with a `shape`", json))?;
    if shape.as_array().is_some_and(|sizes| sizes.len() > MAX_RANK) {
        return Err(Refusal::invalid(format!("a tensor of more than {MAX_RANK} dimensions is not read")));
    }
    let sizes: Sizes = read_list(shape, |d| read_int(env, d))?.into();
    for &size in &sizes {
        if env.pool.as_int(size).is_some_and(|v| v.is_negative()) {
            return Err(expected("sizes of 0 or more", shape));
        }
    }
    let field = |name: &str| fields.get(name).filter(|v| !v.is_null());
    let dtype = match field("dtype") {
        Some(d) => read_name(d, "a dtype", Dtype::from_name)?,
        None => return Err(expected("a tensor with a `dtype`", json)),
    };
    let device =
        field("device").map_or(Ok(Device::cpu()), |d| read_name(d, "a device", Device::from_name))?;
    let layout =
        field("layout").map_or(Ok(Layout::Strided), |l| read_name(l, "a layout", Layout::from_name))?;
    let strides: Sizes = match field("stride") {
        Some(s) => read_list(s, |d| read_int(env, d))?.into(),
        None => Cx::new(env).contiguous_strides(&sizes),
    };
    if strides.len() != sizes.len() {
        return Err(expected("as many strides as sizes", json));
    }
    let offset = field("storage_offset").map_or(Ok(Expr::ZERO), |o| read_int(env, o))?;
    Ok(Tensor { sizes, strides, offset, dtype, device, layout, wrapped: false, span: None })
}

/// One argument.
pub fn read_value(env: &mut ShapeEnv, json: &Json) -> Result<Value> {
    let object = json.as_object().filter(|o| o.len() == 1);
    let Some((kind, content)) = object.and_then(|o| o.iter().next()) else {
        return Err(expected("an argument: an object with one key such as `tensor` or `int`", json));
    };
    Ok(match kind.as_str() {
        "tensor" => Value::Tensor(Arc::new(read_tensor(env, content)?)),
        "tensors" => Value::Tensors(read_list(content, |t| {
            Ok(if t.is_null() { None } else { Some(Arc::new(read_tensor(env, t)?)) })
        })?),
        "int" | "symint" => Value::Int(read_int(env, content)?),
        "ints" => Value::Ints(read_list(content, |i| read_int(env, i))?),
        "float" | "symfloat" => Value::Float(read_float(env, content)?),
        "floats" => Value::Floats(read_list(content, |f| read_float(env, f))?),
        "bool" | "symbool" => Value::Bool(read_bool(env, content)?),
        "bools" => Value::Bools(read_list(content, |b| read_bool(env, b))?),
        "str" => Value::Str(read_str(content, "a string")?.into()),
        "none" => Value::None,
        "dtype" => Value::Dtype(read_name(content, "a dtype", Dtype::from_name)?),
        "layout" => Value::Layout(read_name(content, "a layout", Layout::from_name)?),
        "device" => Value::Device(read_name(content, "a device", Device::from_name)?),
        "memory_format" => {
            Value::MemoryFormat(read_name(content, "a memory format", MemoryFormat::from_name)?)
        }
        "complex" => {
            let parts = read_list(content, |f| read_float(env, f))?;
            let part = |i: usize| parts.get(i).and_then(|&e| env.pool.as_float(e));
            match (part(0), part(1)) {
                (Some(re), Some(im)) if parts.len() == 2 => Value::Complex(re, im),
                _ => return Err(expected("[real, imaginary]", content)),
            }
        }
        "scalars" => Value::Scalars(read_list(content, |s| read_scalar(env, s))?),
        _ => return Err(expected("a known kind of argument", json)),
    })
}

fn read_bool(env: &mut ShapeEnv, json: &Json) -> Result<Expr> {
    match json {
        Json::Bool(b) => Ok(env.pool.bool(*b)),
        Json::String(s) => {
            let e = read_expression(&mut env.pool, s)?;
            Ok(env.pool.truth(e))
        }
        _ => Err(expected("a bool", json)),
    }
}

fn read_scalar(env: &mut ShapeEnv, json: &Json) -> Result<Value> {
    match json {
        Json::Bool(b) => Ok(Value::Bool(env.pool.bool(*b))),
        Json::Number(n) if n.is_i64() => Ok(Value::Int(read_int(env, json)?)),
        Json::Object(_) => read_value(env, json),
        _ => Ok(Value::Float(read_float(env, json)?)),
    }
}

/// An integer or its text.
pub fn write_int(pool: &Pool, e: Expr) -> Json {
    match pool.as_int(e) {
        Some(v) => int_json(&v),
        None => text::print::expression(pool, e).into(),
    }
}

fn write_float(pool: &Pool, e: Expr) -> Json {
    match pool.as_float(e) {
        Some(v) if v.is_nan() => "nan".into(),
        Some(v) if v == f64::INFINITY => "inf".into(),
        Some(v) if v == f64::NEG_INFINITY => "-inf".into(),
        Some(v) => v.into(),
        None => text::print::expression(pool, e).into(),
    }
}

fn write_bool(pool: &Pool, e: Expr) -> Json {
    pool.as_bool(e).map_or_else(|| text::print::expression(pool, e).into(), Json::from)
}

fn write_list(items: &[Expr], write: impl Fn(Expr) -> Json) -> Json {
    items.iter().map(|&e| write(e)).collect()
}

/// A tensor.
pub fn write_tensor(pool: &Pool, tensor: &Tensor) -> Json {
    let mut fields = Map::new();
    fields.insert("shape".into(), write_list(&tensor.sizes, |e| write_int(pool, e)));
    fields.insert("dtype".into(), tensor.dtype.name().into());
    if tensor.layout == Layout::Strided {
        fields.insert("stride".into(), write_list(&tensor.strides, |e| write_int(pool, e)));
        if tensor.offset != Expr::ZERO {
            fields.insert("storage_offset".into(), write_int(pool, tensor.offset));
        }
    }
    fields.insert("device".into(), tensor.device.to_string().into());
    fields.insert("layout".into(), tensor.layout.name().into());
    Json::Object(fields)
}

/// One result.
pub fn write_value(pool: &Pool, value: &Value) -> Json {
    match value {
        Value::None | Value::Opaque => json!({"none": true}),
        Value::Tensor(t) => json!({"tensor": write_tensor(pool, t)}),
        Value::Tensors(items) => {
            let items: Vec<Json> =
                items.iter().map(|t| t.as_ref().map_or(Json::Null, |t| write_tensor(pool, t))).collect();
            json!({ "tensors": items })
        }
        Value::Int(e) if pool.as_int(*e).is_none() => json!({"symint": write_int(pool, *e)}),
        Value::Int(e) => json!({"int": write_int(pool, *e)}),
        Value::Ints(items) => json!({"ints": write_list(items, |e| write_int(pool, e))}),
        Value::Float(e) if pool.as_float(*e).is_none() => json!({"symfloat": write_float(pool, *e)}),
        Value::Float(e) => json!({"float": write_float(pool, *e)}),
        Value::Floats(items) => json!({"floats": write_list(items, |e| write_float(pool, e))}),
        Value::Bool(e) if pool.as_bool(*e).is_none() => json!({"symbool": write_bool(pool, *e)}),
        Value::Bool(e) => json!({"bool": write_bool(pool, *e)}),
        Value::Bools(items) => json!({"bools": write_list(items, |e| write_bool(pool, e))}),
        Value::Str(s) => json!({"str": &**s}),
        Value::Complex(re, im) => json!({"complex": [re, im]}),
        Value::Scalars(items) => {
            let items: Vec<Json> = items.iter().map(|v| write_value(pool, v)).collect();
            json!({ "scalars": items })
        }
        Value::Dtype(d) => json!({"dtype": d.name()}),
        Value::Layout(l) => json!({"layout": l.name()}),
        Value::Device(d) => json!({"device": d.to_string()}),
        Value::MemoryFormat(f) => json!({"memory_format": f.name()}),
    }
}
