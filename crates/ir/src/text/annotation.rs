//! Annotations of values: `f32[s0, 3]`, `Sym(u0 >= 3)`; in full `f32[s0, 3][3, 1]cuda:0 offset=4 requires_grad`.

use super::Detail;
use super::show::{constant_text, expr_text, float_text, sym_text};
use crate::{Constant, Device, Dtype, ExprTable, Layout, Meta, Size, Sizes, Sym, TensorMeta};
use sizewise_expr::escape::{abridged, quoted, visible};
use sizewise_expr::{Expr, Pool, print, read};

/// What is recorded of a value; `None` where nothing is.
pub(super) fn write(meta: &Meta, exprs: &ExprTable, detail: Detail) -> Option<String> {
    Some(match meta {
        Meta::Tensor(meta) => tensor(meta, exprs, detail),
        Meta::SymInt(sym) => format!("Sym({})", sym_text(sym, exprs)),
        Meta::SymFloat(Sym::Literal(value)) => format!("Sym({})", float_text(*value)),
        Meta::SymFloat(sym) => format!("Sym({})", sym_text(sym, exprs)),
        Meta::SymBool(Sym::Literal(value)) => format!("Sym({})", super::show::bool_text(*value)),
        Meta::SymBool(sym) => format!("Sym({})", sym_text(sym, exprs)),
        Meta::CustomObj(class) => format!("Object({})", visible(class)),
        Meta::Token => "Token()".to_owned(),
        Meta::Unknown => return None,
    })
}

/// As [`write`], between double quotes.
pub(super) fn write_quoted(meta: &Meta, exprs: &ExprTable, detail: Detail) -> Option<String> {
    write(meta, exprs, detail).map(|text| quoted(&text, '"'))
}

/// An input that is a constant.
pub(super) fn write_constant(constant: &Constant) -> String {
    format!("Constant({})", constant_text(constant))
}

/// What a reader assumes of a tensor that is written without strides: a contiguous one.
fn contiguous(sizes: &[String]) -> Option<Vec<String>> {
    let mut pool = Pool::new();
    let sizes: Vec<Expr> = sizes
        .iter()
        .map(|size| read::closed(&mut pool, size).ok().map(|read| read.expr))
        .collect::<Option<_>>()?;
    let mut strides = Vec::with_capacity(sizes.len());
    let mut stride = pool.int(1);
    for size in sizes.iter().rev() {
        strides.push(print::try_expression(&pool, stride).ok()?);
        // A contiguous tensor without elements has the strides of one with a single element there.
        let factor = pool.as_int(*size).filter(|size| size.to_i64() == Some(0)).map(|_| pool.int(1));
        stride = pool.mul(stride, factor.unwrap_or(*size));
    }
    strides.reverse();
    Some(strides)
}

fn tensor(meta: &TensorMeta, exprs: &ExprTable, detail: Detail) -> String {
    let texts = |sizes: &Sizes| sizes.iter().map(|size| sym_text(size, exprs)).collect::<Vec<_>>();
    let sizes = texts(&meta.sizes);
    let mut text = format!("{}[{}]", meta.dtype.short_name(), sizes.join(", "));
    if detail == Detail::Short {
        return text;
    }
    let strides = texts(&meta.strides);
    if contiguous(&sizes).as_ref() != Some(&strides) {
        text.push_str(&format!("[{}]", strides.join(", ")));
    }
    if meta.device != Device::cpu() {
        text.push_str(&meta.device.to_string());
    }
    if meta.storage_offset != Sym::Literal(0) {
        text.push_str(&format!(" offset={}", sym_text(&meta.storage_offset, exprs).replace(' ', "")));
    }
    if meta.layout != Layout::Strided {
        text.push_str(&format!(" layout={}", meta.layout));
    }
    if meta.requires_grad {
        text.push_str(" requires_grad");
    }
    text
}

/// What an annotation says.
pub(super) enum Annotated {
    /// Of a value.
    Value(Meta),
    /// That an input is a constant; its text.
    Constant(String),
}

/// Reads an annotation.
pub(super) fn parse(text: &str, exprs: &mut ExprTable) -> Result<Annotated, String> {
    let inner = |head: &str| text.strip_prefix(head)?.strip_suffix(')');
    if let Some(expr) = inner("Sym(") {
        return sym(expr, exprs).map(Annotated::Value);
    }
    if let Some(constant) = inner("Constant(") {
        return Ok(Annotated::Constant(constant.to_owned()));
    }
    if let Some(class) = inner("Object(") {
        return Ok(Annotated::Value(Meta::CustomObj(class.into())));
    }
    if text == "Token()" {
        return Ok(Annotated::Value(Meta::Token));
    }
    parse_tensor(text, exprs).map(|meta| Annotated::Value(Meta::Tensor(Box::new(meta))))
}

fn sym(text: &str, exprs: &mut ExprTable) -> Result<Meta, String> {
    match text {
        "True" => return Ok(Meta::SymBool(Sym::Literal(true))),
        "False" => return Ok(Meta::SymBool(Sym::Literal(false))),
        _ => {}
    }
    if let Ok(value) = text.parse::<i64>() {
        return Ok(Meta::SymInt(Sym::Literal(value)));
    }
    if let Some(value) = super::scan::python_float(text) {
        return Ok(Meta::SymFloat(Sym::Literal(value)));
    }
    let mut pool = Pool::new();
    let read = read::closed(&mut pool, text)
        .map_err(|error| format!("`{}` cannot be read: {error}", abridged(text)))?;
    let expr = exprs.intern(text, None);
    Ok(match pool.sort(read.expr) {
        sizewise_expr::Sort::Int => Meta::SymInt(Sym::Expr(expr)),
        sizewise_expr::Sort::Float => Meta::SymFloat(Sym::Expr(expr)),
        sizewise_expr::Sort::Bool => Meta::SymBool(Sym::Expr(expr)),
    })
}

fn size(text: &str, exprs: &mut ExprTable) -> Result<Size, String> {
    if let Ok(value) = text.parse::<i64>() {
        return Ok(Sym::Literal(value));
    }
    read::closed(&mut Pool::new(), text)
        .map_err(|error| format!("the size `{}` cannot be read: {error}", abridged(text)))?;
    Ok(Sym::Expr(exprs.intern(text, None)))
}

/// The inside of a bracket at the start of `text`, and what follows.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some((&text[1..at], &text[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

fn sizes(text: &str, exprs: &mut ExprTable) -> Result<Sizes, String> {
    let parts = super::scan::split_top(text, ',');
    parts
        .iter()
        .map(|(_, part)| part.trim())
        .filter(|part| !part.is_empty())
        .map(|part| size(part, exprs))
        .collect()
}

fn parse_tensor(text: &str, exprs: &mut ExprTable) -> Result<TensorMeta, String> {
    let expected = || format!("`{text}` is no annotation; expected one such as f32[s0, 3] or Sym(s0)");
    let at = text.find('[').ok_or_else(expected)?;
    let (dtype, rest) = text.split_at(at);
    let dtype = Dtype::from_short_name(dtype).ok_or_else(|| format!("no dtype is called `{dtype}`"))?;
    let (inside, mut rest) = bracketed(rest).ok_or_else(expected)?;
    let size_list = sizes(inside, exprs)?;
    let strides = if rest.starts_with('[') {
        let (inside, after) = bracketed(rest).ok_or_else(expected)?;
        rest = after;
        sizes(inside, exprs)?
    } else {
        let texts: Vec<String> = size_list.iter().map(|size| sym_text(size, exprs)).collect();
        let texts = contiguous(&texts).ok_or_else(expected)?;
        texts.iter().map(|stride| size(stride, exprs)).collect::<Result<_, _>>()?
    };
    let mut meta = TensorMeta {
        dtype,
        sizes: size_list,
        strides,
        storage_offset: Sym::Literal(0),
        requires_grad: false,
        device: Device::cpu(),
        layout: Layout::Strided,
    };
    let mut words = rest.split(' ');
    if let Some(device) = words.next().filter(|word| !word.is_empty()) {
        meta.device = Device::from_name(device).ok_or_else(|| format!("no device is called `{device}`"))?;
    }
    for word in words.filter(|word| !word.is_empty()) {
        if let Some(offset) = word.strip_prefix("offset=") {
            meta.storage_offset = size(&expr_text(offset), exprs)?;
        } else if let Some(layout) = word.strip_prefix("layout=").and_then(Layout::from_name) {
            meta.layout = layout;
        } else if word == "requires_grad" {
            meta.requires_grad = true;
        } else {
            return Err(expected());
        }
    }
    Ok(meta)
}
