//! The notation of the tables of operator calls.
//!
//! A tensor is `f32[2,3]`, with strides if it is not contiguous: `f32[2,3](1,2)`. A size may be a symbol with its
//! hint, `s0:6`, where it stands first, and `s0` or an expression of such symbols afterwards. Lists of tensors are
//! `{f32[2], None}`. Numbers, `True`, `False`, `None`, `[1,2]`, `'text'`, complex numbers `(1.0+2.0j)`, dtypes
//! (`f32`), `layout.strided`, `device.cpu` and `format.channels_last` are arguments too; `name=value` gives one by
//! name.
use sizewise::env::{ShapeEnv, SymbolInfo};
use sizewise::expr::{Expr, Int, Value as Number, text};
use sizewise::ir::dtype::{Device, Dtype, Layout, MemoryFormat};
use sizewise::kernels::{Cx, Sizes, Tensor, Value, Values};
use sizewise::range::ValueRange;
use std::sync::Arc;

/// A call that was read.
pub struct Call<'t> {
    /// The overload.
    pub op: &'t str,
    /// The arguments by position.
    pub positional: Vec<Value>,
    /// The arguments by name.
    pub keywords: Vec<(&'t str, Value)>,
}

/// The parts between commas that no bracket encloses.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start, mut parts) = (0i32, false, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// Reads `op(arguments)`.
pub fn read_call<'t>(env: &mut ShapeEnv, text: &'t str) -> Result<Call<'t>, String> {
    let inner = text.trim().strip_suffix(')').and_then(|t| t.split_once('('));
    let (op, arguments) = inner.ok_or("expected `operator(arguments)`")?;
    let (mut positional, mut keywords) = (Vec::new(), Vec::new());
    for part in parts(arguments) {
        let named =
            part.split_once('=').filter(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        match named {
            Some((name, value)) => keywords.push((name, read_value(env, value)?)),
            None => positional.push(read_value(env, part)?),
        }
    }
    Ok(Call { op, positional, keywords })
}

fn dtype(name: &str) -> Option<Dtype> {
    Dtype::from_short_name(name)
}

fn read_int(env: &mut ShapeEnv, text: &str) -> Result<Expr, String> {
    if let Some((name, hint)) = text.split_once(':') {
        let hint: Int = hint.trim().parse().map_err(|_| format!("`{hint}` is no hint"))?;
        let range = ValueRange::between_options(Some(Int::from(0)), None).expect("a range");
        let info = SymbolInfo { hint: Some(Number::Int(hint)), source: None };
        return Ok(env.declare(name.trim(), range, info));
    }
    match text::read::expression(&mut env.pool, text, &mut |_| None) {
        Ok(read) => Ok(read.expr),
        Err(error) => Err(format!("`{text}`: {error}")),
    }
}

fn read_ints(env: &mut ShapeEnv, text: &str) -> Result<Vec<Expr>, String> {
    parts(text).into_iter().map(|part| read_int(env, part)).collect()
}

fn read_tensor(env: &mut ShapeEnv, text: &str) -> Result<Tensor, String> {
    let unread = || format!("`{text}` is no tensor");
    let (name, rest) = text.split_once('[').ok_or_else(unread)?;
    let dtype = dtype(name).ok_or_else(|| format!("`{name}` is no dtype"))?;
    let (sizes, strides) = rest.split_once(']').ok_or_else(unread)?;
    let sizes: Sizes = read_ints(env, sizes)?.into();
    let strides: Sizes = match strides.strip_prefix('(').and_then(|s| s.strip_suffix(')')) {
        Some(strides) => read_ints(env, strides)?.into(),
        None if strides.is_empty() => Cx::new(env).contiguous_strides(&sizes),
        None => return Err(unread()),
    };
    Ok(Tensor {
        sizes,
        strides,
        offset: Expr::ZERO,
        dtype,
        device: Device::cpu(),
        layout: Layout::Strided,
        wrapped: false,
        span: None,
    })
}

fn is_float(text: &str) -> bool {
    matches!(text, "inf" | "-inf" | "nan") || (text.parse::<f64>().is_ok() && text.parse::<i64>().is_err())
}

fn read_number(env: &mut ShapeEnv, text: &str) -> Result<Value, String> {
    Ok(match text {
        "True" => Value::Bool(env.pool.bool(true)),
        "False" => Value::Bool(env.pool.bool(false)),
        _ if is_float(text) => Value::Float(env.pool.float(text.parse().map_err(|_| text.to_string())?)),
        _ => Value::Int(read_int(env, text)?),
    })
}

fn read_list(env: &mut ShapeEnv, text: &str) -> Result<Value, String> {
    let items = parts(text).into_iter().map(|part| read_number(env, part)).collect::<Result<Vec<_>, _>>()?;
    let all = |pick: fn(&Value) -> Option<Expr>| items.iter().map(pick).collect::<Option<Vec<Expr>>>();
    if let Some(ints) = all(|v| if let Value::Int(e) = v { Some(*e) } else { None }) {
        return Ok(Value::Ints(ints));
    }
    if let Some(floats) = all(|v| if let Value::Float(e) = v { Some(*e) } else { None }) {
        return Ok(Value::Floats(floats));
    }
    if let Some(bools) = all(|v| if let Value::Bool(e) = v { Some(*e) } else { None }) {
        return Ok(Value::Bools(bools));
    }
    Ok(Value::Scalars(items))
}

fn read_value(env: &mut ShapeEnv, text: &str) -> Result<Value, String> {
    let text = text.trim();
    let within = |open: char, close: char| text.strip_prefix(open).and_then(|t| t.strip_suffix(close));
    if text == "None" {
        return Ok(Value::None);
    }
    if let Some(quoted) = within('\'', '\'') {
        return Ok(Value::Str(quoted.into()));
    }
    if let Some(items) = within('[', ']') {
        return read_list(env, items);
    }
    if let Some(items) = within('{', '}') {
        let tensors = parts(items).into_iter().map(|part| match part {
            "None" => Ok(None),
            _ => read_tensor(env, part).map(|t| Some(Arc::new(t))),
        });
        return Ok(Value::Tensors(tensors.collect::<Result<_, String>>()?));
    }
    if let Some(number) = text.strip_prefix('(').and_then(|t| t.strip_suffix("j)")) {
        let split =
            number.rfind(['+', '-']).filter(|&at| at > 0).ok_or("a complex number is `(1.0+2.0j)`")?;
        let part = |text: &str| text.parse::<f64>().map_err(|_| format!("`{text}` is no number"));
        return Ok(Value::Complex(part(&number[..split])?, part(&number[split..])?));
    }
    if let Some((kind, name)) = text.split_once('.').filter(|(kind, _)| kind.parse::<i64>().is_err()) {
        let known = match kind {
            "layout" => Layout::from_name(name).map(Value::Layout),
            "device" => Device::from_name(name).map(Value::Device),
            "format" => MemoryFormat::from_name(name).map(Value::MemoryFormat),
            _ => None,
        };
        if let Some(value) = known {
            return Ok(value);
        }
    }
    if let Some(dtype) = dtype(text) {
        return Ok(Value::Dtype(dtype));
    }
    if text.ends_with([']', ')']) && text.split('[').next().is_some_and(|name| dtype(name).is_some()) {
        return Ok(read_tensor(env, text)?.into());
    }
    read_number(env, text)
}

fn print_sizes(env: &ShapeEnv, sizes: &[Expr]) -> String {
    let sizes: Vec<String> = sizes.iter().map(|&e| text::print::expression(&env.pool, e)).collect();
    sizes.join(", ")
}

fn print_tensor(env: &mut ShapeEnv, tensor: &Tensor) -> String {
    let mut shown = format!("{}[{}]", tensor.dtype.short_name(), print_sizes(env, &tensor.sizes));
    if tensor.layout != Layout::Strided {
        return format!("{} {shown}", tensor.layout.name());
    }
    let usual = Cx::new(env).contiguous_strides(&tensor.sizes);
    if usual != tensor.strides {
        shown.push_str(&format!("({})", print_sizes(env, &tensor.strides)));
    }
    shown
}

fn print_value(env: &mut ShapeEnv, value: &Value) -> String {
    match value {
        Value::None | Value::Opaque => "None".into(),
        Value::Tensor(tensor) => print_tensor(env, tensor),
        Value::Tensors(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| item.as_ref().map_or_else(|| "None".into(), |t| print_tensor(env, t)))
                .collect();
            format!("{{{}}}", items.join(", "))
        }
        Value::Int(e) | Value::Float(e) | Value::Bool(e) => text::print::expression(&env.pool, *e),
        Value::Ints(items) | Value::Floats(items) | Value::Bools(items) => {
            format!("[{}]", print_sizes(env, items))
        }
        Value::Dtype(dtype) => dtype.short_name().into(),
        Value::Str(text) => format!("'{text}'"),
        Value::Layout(layout) => format!("layout.{}", layout.name()),
        Value::Device(device) => format!("device.{}", device.kind),
        other => format!("{other:?}"),
    }
}

/// A call, in the notation of the tables.
pub fn print_call(env: &mut ShapeEnv, op: &str, positional: &[Value], keywords: &[(&str, Value)]) -> String {
    let mut shown: Vec<String> = positional.iter().map(|value| print_value(env, value)).collect();
    shown.extend(keywords.iter().map(|(name, value)| format!("{name}={}", print_value(env, value))));
    format!("{op}({})", shown.join(", "))
}

/// The results of a call, in the notation of the tables.
pub fn print_results(env: &mut ShapeEnv, values: &Values) -> String {
    if values.is_empty() {
        return "none".into();
    }
    let shown: Vec<String> = values.iter().map(|value| print_value(env, value)).collect();
    shown.join(", ")
}
