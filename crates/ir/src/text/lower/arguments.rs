//! Arguments: from written values to those of the IR, by what the schema asks for and what the values are.

use super::{Known, LoweredGraph, Lowering};
use crate::error::ReadResult;
use crate::schema::{Schema, Type};
use crate::text::raw::{Raw, RawValue};
use crate::{Argument, Device, Dtype, Layout, MemoryFormat, Meta, Operand, ValueId};

/// What an element of a list is.
enum Element {
    Tensor(ValueId),
    Nothing,
    Int(Operand<i64>),
    Float(Operand<f64>),
    Bool(Operand<bool>),
    Str(String),
    List(Argument),
    /// A graph, or a list that holds one.
    Graph,
}

fn is_str(ty: &Type) -> bool {
    *ty.strip_optional().0 == Type::Str
}

impl Lowering<'_> {
    /// Puts strings of FX together again that were taken apart at their commas: a string takes what it must for the
    /// values behind it to be values.
    pub(super) fn joined(&self, args: &[Raw], schema: Option<&Schema>) -> Vec<Raw> {
        let Some(schema) = schema else { return args.to_vec() };
        let specs = schema.positional();
        let mut joined = Vec::with_capacity(args.len());
        let mut at = 0;
        while at < args.len() {
            let spec = specs.get(joined.len());
            let quoted = matches!(args[at].kind, RawValue::Str(_));
            if !spec.is_some_and(|spec| is_str(&spec.ty)) || quoted {
                joined.push(args[at].clone());
                at += 1;
                continue;
            }
            let behind = &specs[joined.len() + 1..];
            let readable = |rest: &[Raw]| {
                rest.len() <= behind.len()
                    && rest
                        .iter()
                        .zip(behind)
                        .all(|(raw, spec)| is_str(&spec.ty) || !matches!(raw.kind, RawValue::Bare))
            };
            let end = (at + 1..=args.len()).find(|end| readable(&args[*end..])).unwrap_or(args.len());
            let (first, last) = (&args[at], &args[end - 1]);
            let line = self.source.line(first.spot.line);
            let text = line.get(first.spot.column..last.spot.column + last.text.len());
            let text = text.unwrap_or(&first.text).to_owned();
            let kind = if end == at + 1 { first.kind.clone() } else { RawValue::Bare };
            joined.push(Raw { kind, text, spot: first.spot });
            at = end;
        }
        joined
    }

    fn value(&self, scope: &LoweredGraph<'_>, raw: &Raw, name: &str) -> ReadResult<Argument> {
        match scope.names.get(name) {
            Some(Known::Value(value)) => Ok(match scope.builder.meta(*value) {
                Some(Meta::SymInt(_)) => Argument::SymInt(Operand::Value(*value)),
                Some(Meta::SymFloat(_)) => Argument::SymFloat(Operand::Value(*value)),
                Some(Meta::SymBool(_)) => Argument::SymBool(Operand::Value(*value)),
                Some(Meta::CustomObj(_)) => Argument::CustomObj(*value),
                _ => Argument::Tensor(*value),
            }),
            Some(Known::Graph(graph)) => Ok(Argument::Graph(graph.clone())),
            Some(Known::Several) => {
                self.error(raw.spot, format!("`{name}` has several results; one of them is expected"))
            }
            None => self.error(raw.spot, format!("`{name}` is used but nothing makes it before")),
        }
    }

    /// An argument of a call, or what a graph returns.
    pub(super) fn argument(
        &self,
        scope: &LoweredGraph<'_>,
        raw: &Raw,
        ty: Option<&Type>,
    ) -> ReadResult<Argument> {
        let (inner, optional) = ty.map_or((None, true), |ty| {
            let (inner, optional) = ty.strip_optional();
            (Some(inner), optional)
        });
        if self.fx && inner == Some(&Type::Str) && !matches!(raw.kind, RawValue::Str(_) | RawValue::Ref(_)) {
            let none = optional && matches!(raw.kind, RawValue::None);
            return Ok(if none { Argument::None } else { Argument::Str(raw.text.as_str().into()) });
        }
        Ok(match &raw.kind {
            RawValue::Ref(name) => self.value(scope, raw, name)?,
            RawValue::Int(value) => Argument::Int(*value),
            RawValue::Float(value) => Argument::Float(*value),
            RawValue::Complex(real, imag) => Argument::Complex(*real, *imag),
            RawValue::Bool(value) => Argument::Bool(*value),
            RawValue::None => Argument::None,
            RawValue::Str(text) => Argument::Str(text.as_str().into()),
            RawValue::Name(name) => self.named(raw, name)?,
            RawValue::Device(device) => self.device(raw, device)?,
            RawValue::List(items) | RawValue::Tuple(items) => self.list_argument(scope, raw, items, inner)?,
            RawValue::Dict(entries) => {
                let mut map = indexmap::IndexMap::with_capacity(entries.len());
                for (key, value) in entries {
                    map.insert(key.as_str().into(), self.argument(scope, value, None)?);
                }
                Argument::Map(Box::new(map))
            }
            RawValue::Bare if inner == Some(&Type::Device) => self.device(raw, &raw.text)?,
            RawValue::Bare if self.fx && (inner.is_none() || matches!(inner, Some(Type::Other(_)))) => {
                Argument::Str(raw.text.as_str().into())
            }
            RawValue::Bare => {
                let text: String = raw.text.chars().take(60).collect();
                return self.error(raw.spot, format!("`{text}` is no value"));
            }
        })
    }

    fn device(&self, raw: &Raw, text: &str) -> ReadResult<Argument> {
        match Device::from_name(text) {
            Some(device) => Ok(Argument::Device(device)),
            None => self.error(raw.spot, format!("no device is called `{text}`")),
        }
    }

    fn named(&self, raw: &Raw, name: &str) -> ReadResult<Argument> {
        if name.starts_with("torch.") {
            if let Some(dtype) = Dtype::from_name(name) {
                return Ok(Argument::Dtype(dtype));
            }
            if let Some(layout) = Layout::from_name(name) {
                return Ok(Argument::Layout(layout));
            }
            if let Some(format) = MemoryFormat::from_name(name) {
                return Ok(Argument::MemoryFormat(format));
            }
        }
        if name.matches('.').count() >= 2 {
            return Ok(Argument::Operator(name.into()));
        }
        self.error(raw.spot, format!("`{name}` is no dtype, layout, memory format or operator"))
    }

    fn element(&self, scope: &LoweredGraph<'_>, raw: &Raw) -> ReadResult<Element> {
        Ok(match self.argument(scope, raw, None)? {
            Argument::Tensor(value) => Element::Tensor(value),
            Argument::None => Element::Nothing,
            Argument::Int(value) => Element::Int(Operand::Literal(value)),
            Argument::SymInt(operand) => Element::Int(operand),
            Argument::Float(value) => Element::Float(Operand::Literal(value)),
            Argument::SymFloat(operand) => Element::Float(operand),
            Argument::Bool(value) => Element::Bool(Operand::Literal(value)),
            Argument::SymBool(operand) => Element::Bool(operand),
            Argument::Str(text) => Element::Str(text.to_string()),
            list @ (Argument::Ints(_) | Argument::Floats(_) | Argument::Tensors(_)) => Element::List(list),
            Argument::Graph(_) => Element::Graph,
            Argument::List(_) => Element::Graph,
            _ => return self.error(raw.spot, "a list holds tensors, numbers, strings or lists of these"),
        })
    }

    fn list_argument(
        &self,
        scope: &LoweredGraph<'_>,
        raw: &Raw,
        items: &[Raw],
        ty: Option<&Type>,
    ) -> ReadResult<Argument> {
        let elements = items.iter().map(|item| self.element(scope, item)).collect::<ReadResult<Vec<_>>>()?;
        if elements.is_empty() {
            let element = ty.and_then(Type::as_list).map(|(element, _)| element.strip_optional().0);
            return Ok(match element {
                Some(Type::Int { .. }) => Argument::Ints(Vec::new()),
                Some(Type::Float { .. }) => Argument::Floats(Vec::new()),
                Some(Type::Bool { .. }) => Argument::Bools(Vec::new()),
                Some(Type::Str) => Argument::Strs(Vec::new()),
                _ => Argument::Tensors(Vec::new()),
            });
        }
        if elements.iter().any(|element| matches!(element, Element::Graph)) {
            // Only higher-order operators take lists of graphs, among other things.
            let items = items.iter().map(|item| self.argument(scope, item, None));
            return Ok(Argument::List(items.collect::<ReadResult<Vec<_>>>()?));
        }
        let list = of_numbers(&elements).or_else(|| of_others(&elements));
        match list {
            Some(list) => Ok(list),
            None => self.error(raw.spot, "the elements of a list are of one kind"),
        }
    }
}

/// Every element, if `take` takes them all.
fn every<T>(elements: &[Element], take: impl Fn(&Element) -> Option<T>) -> Option<Vec<T>> {
    elements.iter().map(take).collect()
}

fn literals<T: Copy>(operands: &[Operand<T>]) -> Option<Vec<T>> {
    let literal = |operand: &Operand<T>| match operand {
        Operand::Literal(value) => Some(*value),
        Operand::Value(_) => None,
    };
    operands.iter().map(literal).collect()
}

fn of_numbers(elements: &[Element]) -> Option<Argument> {
    let int = |element: &Element| match element {
        Element::Int(operand) => Some(*operand),
        _ => None,
    };
    let float = |element: &Element| match element {
        Element::Float(operand) => Some(*operand),
        Element::Int(Operand::Literal(value)) => Some(Operand::Literal(*value as f64)),
        _ => None,
    };
    let truth = |element: &Element| match element {
        Element::Bool(operand) => Some(*operand),
        _ => None,
    };
    if let Some(list) = every(elements, int) {
        return Some(literals(&list).map_or(Argument::SymInts(list), Argument::Ints));
    }
    if let Some(list) = every(elements, truth) {
        return Some(literals(&list).map_or(Argument::SymBools(list), Argument::Bools));
    }
    let list = every(elements, float)?;
    Some(literals(&list).map_or(Argument::SymFloats(list), Argument::Floats))
}

fn of_others(elements: &[Element]) -> Option<Argument> {
    let tensor = |element: &Element| match element {
        Element::Tensor(value) => Some(*value),
        _ => None,
    };
    let optional = |element: &Element| match element {
        Element::Tensor(value) => Some(Some(*value)),
        Element::Nothing => Some(None),
        _ => None,
    };
    let text = |element: &Element| match element {
        Element::Str(text) => Some(text.as_str().into()),
        _ => None,
    };
    let ints = |element: &Element| match element {
        Element::List(Argument::Ints(list)) => Some(list.clone()),
        _ => None,
    };
    let floats = |element: &Element| match element {
        Element::List(Argument::Floats(list)) => Some(list.clone()),
        _ => None,
    };
    let tensors = |element: &Element| match element {
        Element::List(Argument::Tensors(list)) => Some(list.clone()),
        _ => None,
    };
    every(elements, tensor)
        .map(Argument::Tensors)
        .or_else(|| every(elements, optional).map(Argument::OptionalTensors))
        .or_else(|| every(elements, text).map(Argument::Strs))
        .or_else(|| every(elements, ints).map(Argument::IntLists))
        .or_else(|| every(elements, floats).map(Argument::FloatLists))
        .or_else(|| every(elements, tensors).map(Argument::NestedTensors))
}
