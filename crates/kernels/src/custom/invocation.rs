//! Calls of other operators in declarations: `aten.cat.default(xs, dim)`.
use super::formula::Formula;
use super::names::Names;
use super::table::{Piece, Result};
use crate::registry::Registry;
use sizewise_expr::Sort;
use sizewise_expr::escape::clipped;
use sizewise_ir::schema::{Schema, SchemaTable};

/// A call of an operator of the crate with arguments of the declared one.
#[derive(Debug)]
pub(super) struct Invocation {
    pub op: Box<str>,
    pub schema: &'static Schema,
    pub positional: Vec<Given>,
    pub keywords: Vec<(Box<str>, Given)>,
    pub line: u32,
}

/// An argument of such a call.
#[derive(Debug)]
pub(super) enum Given {
    /// An argument of the declared operator, whatever its type.
    Argument(Box<str>),
    Number(Formula, Sort),
    None,
    List(Vec<Given>),
}

impl Invocation {
    /// Reads a call.
    pub fn new(piece: Piece, names: &Names) -> Result<Invocation> {
        let call = piece.text.strip_suffix(')').and_then(|text| text.split_once('('));
        let Some((op, inside)) = call else {
            let message = "expected the call of an operator, such as `aten.cat.default(xs, dim)`";
            return Err(piece.error(0, message));
        };
        let op = op.trim();
        let Some(overload) = SchemaTable::global().find(op) else {
            return Err(piece.error(0, format!("no operator `{}` is known", clipped(op))));
        };
        let name = overload.name().to_string();
        let schema = overload.schema().ok().filter(|_| Registry::builtin().resolve(&name).is_some());
        let Some(schema) = schema else {
            return Err(piece.error(0, format!("there is no fake kernel for `{name}`")));
        };
        let mut invocation = Invocation {
            op: name.into(),
            schema,
            positional: Vec::new(),
            keywords: Vec::new(),
            line: piece.line(),
        };
        let inside = piece.part(inside);
        for part in split(inside.text) {
            let part = inside.part(part);
            match keyword(part.text) {
                Some((name, value)) => {
                    if schema.arg_index(name).is_none() {
                        let message = format!("{} has no argument `{}`", invocation.op, clipped(name));
                        return Err(part.error(0, message));
                    }
                    invocation.keywords.push((name.into(), Given::new(part.part(value), names, 0)?));
                }
                None if invocation.keywords.is_empty() => {
                    invocation.positional.push(Given::new(part, names, 0)?);
                }
                None => return Err(part.error(0, "expected an argument by name after one by name")),
            }
        }
        if invocation.positional.len() > schema.args.len() {
            let message = format!("{} takes {} arguments at most", invocation.op, schema.args.len());
            return Err(piece.error(0, message));
        }
        Ok(invocation)
    }
}

impl Given {
    fn new(piece: Piece, names: &Names, depth: u32) -> Result<Given> {
        if names.get(piece.text).is_some() {
            return Ok(Given::Argument(piece.text.into()));
        }
        if piece.text == "None" {
            return Ok(Given::None);
        }
        let list = piece.text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        if let Some(inside) = list.filter(|_| depth < 2) {
            let inside = piece.part(inside);
            let items = split(inside.text).into_iter();
            let items = items.map(|item| Given::new(inside.part(item), names, depth + 1));
            return Ok(Given::List(items.collect::<Result<_>>()?));
        }
        let (formula, sort) = Formula::of_any_sort(piece, names)?;
        Ok(Given::Number(formula, sort))
    }
}

/// `name = value`.
fn keyword(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (word && !value.starts_with('=')).then_some((name, value))
}

/// The parts of a text between the commas that stand in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}
