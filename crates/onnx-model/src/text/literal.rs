//! Values in texts: attributes, and the elements of tensors.
use super::lexer::Token;
use super::{Parsed, Parser};
use crate::read::message::kind::{FLOAT, FLOATS, GRAPH, INT, INTS, TENSOR, TEXT, TEXTS, TYPE};
use crate::read::message::{
    AttributeProto, Dimension, EXTERNAL, StringStringEntryProto, TensorProto, TypeProto, TypeValue,
};

/// The names of the kinds of attributes, with their numbers in `AttributeProto.AttributeType`.
pub(super) const KINDS: &[(&str, i32)] = &[
    ("float", 1),
    ("int", 2),
    ("string", 3),
    ("tensor", 4),
    ("graph", 5),
    ("floats", 6),
    ("ints", 7),
    ("strings", 8),
    ("tensors", 9),
    ("graphs", 10),
    ("sparse_tensor", 11),
    ("sparse_tensors", 12),
    ("type_proto", 13),
    ("type_protos", 14),
];

impl Parser<'_> {
    /// Attributes in angle brackets, if they come next.
    pub(super) fn attributes(&mut self) -> Parsed<Vec<AttributeProto>> {
        if !self.takes('<')? {
            return Ok(Vec::new());
        }
        self.list('>', |parser| {
            let name = parser.name("the name of an attribute")?;
            parser.attribute(name)
        })
    }

    /// What stands behind the name of an attribute: its kind, if that is said, and its value.
    pub(super) fn attribute(&mut self, name: String) -> Parsed<AttributeProto> {
        let mut attribute = AttributeProto { name, ..AttributeProto::default() };
        if self.takes(':')? {
            let kind = self.name("the kind of an attribute")?;
            let known = KINDS.iter().find(|(known, _)| *known == kind);
            attribute.kind =
                known.ok_or_else(|| self.lexer.error(format!("`{kind}` is no kind of attribute")))?.1;
        }
        self.sign('=')?;
        if !self.is('[') {
            self.single(&mut attribute)?;
            return Ok(attribute);
        }
        self.lexer.advance()?;
        let element = match attribute.kind {
            FLOATS => FLOAT,
            INTS => INT,
            TEXTS => TEXT,
            0 => 0,
            _ => return Err(self.lexer.error("an attribute of this kind is not written as a list")),
        };
        let items = self.list(']', |parser| {
            let mut item = AttributeProto { kind: element, ..AttributeProto::default() };
            parser.single(&mut item)?;
            Ok(item)
        })?;
        self.gather(&mut attribute, items)?;
        Ok(attribute)
    }

    /// Makes a list of single values: of integers and floats, floats.
    fn gather(&self, attribute: &mut AttributeProto, items: Vec<AttributeProto>) -> Parsed<()> {
        let all = |kinds: &[i32]| !items.is_empty() && items.iter().all(|item| kinds.contains(&item.kind));
        if attribute.kind == 0 {
            attribute.kind = match () {
                () if all(&[INT]) => INTS,
                () if all(&[INT, FLOAT]) => FLOATS,
                () if all(&[TEXT]) => TEXTS,
                () => {
                    return Err(self.lexer.error("the kind of this list has to be said: `name: ints = []`"));
                }
            };
        }
        for item in items {
            match (attribute.kind, item.kind) {
                (INTS, INT) => attribute.ints.push(item.i),
                (FLOATS, INT) => attribute.floats.push(item.i as f32),
                (FLOATS, FLOAT) => attribute.floats.push(item.f),
                (TEXTS, TEXT) => attribute.strings.push(item.s),
                _ => return Err(self.lexer.error("an item of this list is of another kind")),
            }
        }
        Ok(())
    }

    /// A single value; the kind is the one expected, 0 for any.
    fn single(&mut self, attribute: &mut AttributeProto) -> Parsed<()> {
        let expected = attribute.kind;
        match self.token().clone() {
            Token::Sign('@') => {
                self.lexer.advance()?;
                attribute.ref_attr_name = self.name("the name of an attribute")?;
                return Ok(());
            }
            Token::Int(value) if expected == FLOAT => {
                self.lexer.advance()?;
                (attribute.kind, attribute.f) = (FLOAT, value as f32);
            }
            Token::Int(_) => (attribute.kind, attribute.i) = (INT, self.int("an integer")?),
            Token::Float(value) => {
                self.lexer.advance()?;
                (attribute.kind, attribute.f) = (FLOAT, value as f32);
            }
            Token::Text(text) => {
                self.lexer.advance()?;
                (attribute.kind, attribute.s) = (TEXT, text.into());
            }
            Token::Name(_) if self.is_type() => self.typed(attribute)?,
            Token::Name(name) if special(&name).is_some() => {
                self.lexer.advance()?;
                (attribute.kind, attribute.f) = (FLOAT, special(&name).unwrap_or_default() as f32);
            }
            Token::Name(_) => {
                let graph = self.deeper(Self::graph)?;
                (attribute.kind, attribute.g) = (GRAPH, Some(Box::new(graph)));
            }
            other => return Err(self.expected("the value of an attribute", &other)),
        }
        if expected != 0 && expected != attribute.kind {
            return Err(self.lexer.error(format!("the value of `{}` is of another kind", attribute.name)));
        }
        Ok(())
    }

    /// A type, or a tensor: `float[2] {1, 2}`.
    fn typed(&mut self, attribute: &mut AttributeProto) -> Parsed<()> {
        let found = self.value_type()?;
        if self.is('{') || self.is('=') || matches!(self.token(), Token::Name(_) | Token::Text(_)) {
            let name = self.optional_name()?.unwrap_or_default();
            self.takes('=')?;
            (attribute.kind, attribute.t) = (TENSOR, Some(Box::new(self.tensor(name, &found)?)));
        } else {
            (attribute.kind, attribute.tp) = (TYPE, Some(found));
        }
        Ok(())
    }

    /// The elements of a tensor of a type, or where they are.
    pub(super) fn tensor(&mut self, name: String, of: &TypeProto) -> Parsed<TensorProto> {
        let Some(TypeValue::Tensor(kind)) = &of.value else {
            return Err(self.lexer.error("only the elements of tensors are written"));
        };
        let sizes = kind.shape.iter().flat_map(|shape| &shape.dim).map(|dim| match dim.value {
            Some(Dimension::Size(size)) => Some(size),
            _ => None,
        });
        let dims: Option<Vec<i64>> = sizes.collect();
        let dims = dims.filter(|_| kind.shape.is_some());
        let dims = dims.ok_or_else(|| self.lexer.error("the sizes of a tensor with elements are numbers"))?;
        let mut tensor = TensorProto { name, dims, data_type: kind.elem_type, ..TensorProto::default() };
        if self.takes('[')? {
            tensor.data_location = EXTERNAL;
            tensor.external_data = self.entries(']')?;
        } else if self.takes('{')? {
            self.list('}', |parser| parser.element_of(&mut tensor))?;
        }
        Ok(tensor)
    }

    fn element_of(&mut self, tensor: &mut TensorProto) -> Parsed<()> {
        const FLOATING: &[i32] = &[1, 11, 14, 15];
        if tensor.data_type == 8 {
            let text = self.text("a text in quotes")?;
            tensor.string_data.push(text.into());
            return Ok(());
        }
        let number = match self.token().clone() {
            Token::Int(value) if !FLOATING.contains(&tensor.data_type) => {
                let fits = match tensor.data_type {
                    7 => i64::try_from(value).map(|value| tensor.int64_data.push(value)).is_ok(),
                    12 | 13 => u64::try_from(value).map(|value| tensor.uint64_data.push(value)).is_ok(),
                    _ => i32::try_from(value).map(|value| tensor.int32_data.push(value)).is_ok(),
                };
                if !fits {
                    return Err(self.lexer.error("this element does not fit the type"));
                }
                return self.lexer.advance().map(drop);
            }
            Token::Int(value) => Some(value as f64),
            Token::Float(value) => Some(value),
            Token::Name(name) => special(&name),
            _ => None,
        };
        match number.filter(|_| FLOATING.contains(&tensor.data_type)) {
            Some(value) if matches!(tensor.data_type, 1 | 14) => tensor.float_data.push(value as f32),
            Some(value) => tensor.double_data.push(value),
            None => return Err(self.expected("an element of the tensor's type", self.token())),
        }
        self.lexer.advance().map(drop)
    }

    /// Pairs of texts, up to a sign.
    pub(super) fn entries(&mut self, end: char) -> Parsed<Vec<StringStringEntryProto>> {
        self.list(end, |parser| {
            let key = parser.text("a text in quotes")?;
            parser.sign(':')?;
            let value = parser.text("a text in quotes")?;
            Ok(StringStringEntryProto { key, value })
        })
    }
}

/// The numbers that are written as words.
fn special(name: &str) -> Option<f64> {
    match name.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}
