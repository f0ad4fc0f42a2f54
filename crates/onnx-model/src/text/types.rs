//! Types: `float[N, 4]`, `seq(int64[?])`, `map(int64, float)`.
use super::lexer::Token;
use super::{Parsed, Parser};
use crate::read::message::{
    Dimension, DimensionProto, ElementType, MapType, ShapeProto, TensorType, TypeProto, TypeValue,
};

/// The names of the element types, with their numbers in `TensorProto.DataType`.
pub(super) const ELEMENT_TYPES: &[(&str, i32)] = &[
    ("float", 1),
    ("uint8", 2),
    ("int8", 3),
    ("uint16", 4),
    ("int16", 5),
    ("int32", 6),
    ("int64", 7),
    ("string", 8),
    ("bool", 9),
    ("float16", 10),
    ("double", 11),
    ("uint32", 12),
    ("uint64", 13),
    ("complex64", 14),
    ("complex128", 15),
    ("bfloat16", 16),
    ("float8e4m3fn", 17),
    ("float8e4m3fnuz", 18),
    ("float8e5m2", 19),
    ("float8e5m2fnuz", 20),
    ("uint4", 21),
    ("int4", 22),
    ("float4e2m1", 23),
    ("float8e8m0", 24),
    ("uint2", 25),
    ("int2", 26),
];

/// The number of an element type.
pub(super) fn element_type(name: &str) -> Option<i32> {
    ELEMENT_TYPES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

impl Parser<'_> {
    /// The element type that comes next, if one does.
    pub(super) fn next_element_type(&self) -> Option<i32> {
        match self.token() {
            Token::Name(name) => element_type(name),
            _ => None,
        }
    }

    fn element(&mut self) -> Parsed<i32> {
        match self.next_element_type() {
            Some(number) => self.lexer.advance().map(|_| number),
            None => Err(self.expected("an element type such as `float`", self.token())),
        }
    }

    /// Whether a type comes next.
    pub(super) fn is_type(&self) -> bool {
        let compound = ["seq", "map", "optional", "sparse_tensor"];
        self.next_element_type().is_some() || compound.iter().any(|name| self.is_name(name))
    }

    /// A type.
    pub(super) fn value_type(&mut self) -> Parsed<TypeProto> {
        self.deeper(Self::value_type_here)
    }

    fn value_type_here(&mut self) -> Parsed<TypeProto> {
        let Token::Name(name) = self.token().clone() else {
            return Err(self.expected("a type", self.token()));
        };
        let value = match name.as_str() {
            "seq" | "optional" | "sparse_tensor" => {
                self.lexer.advance()?;
                self.sign('(')?;
                let inner = self.value_type()?;
                self.sign(')')?;
                match (name.as_str(), inner.value) {
                    ("sparse_tensor", Some(TypeValue::Tensor(tensor))) => TypeValue::Sparse(tensor),
                    ("sparse_tensor", _) => {
                        return Err(self.lexer.error("a sparse tensor is one of tensors"));
                    }
                    (kind, value) => {
                        let element = ElementType {
                            elem_type: Some(Box::new(TypeProto { value, ..TypeProto::default() })),
                        };
                        match kind {
                            "seq" => TypeValue::Sequence(Box::new(element)),
                            _ => TypeValue::Optional(Box::new(element)),
                        }
                    }
                }
            }
            "map" => {
                self.lexer.advance()?;
                self.sign('(')?;
                let key_type = self.element()?;
                self.sign(',')?;
                let value_type = Some(Box::new(self.value_type()?));
                self.sign(')')?;
                TypeValue::Map(Box::new(MapType { key_type, value_type }))
            }
            _ => {
                let elem_type = self.element()?;
                TypeValue::Tensor(TensorType { elem_type, shape: self.shape()? })
            }
        };
        Ok(value.into())
    }

    /// The sizes behind an element type: none for a scalar, `[]` for an unknown rank.
    fn shape(&mut self) -> Parsed<Option<ShapeProto>> {
        if !self.takes('[')? {
            return Ok(Some(ShapeProto { dim: Vec::new() }));
        }
        if self.takes(']')? {
            return Ok(None);
        }
        let dim = self.list(']', |parser| {
            let value = match parser.token() {
                Token::Int(_) => Some(Dimension::Size(parser.int("a size")?)),
                Token::Sign('?') => {
                    parser.lexer.advance()?;
                    None
                }
                _ => Some(Dimension::Name(parser.name("a size, a name or `?`")?)),
            };
            Ok(DimensionProto { value })
        })?;
        Ok(Some(ShapeProto { dim }))
    }
}
