//! Types of values: element types by number, dimensions by number or name.

use rustc_hash::FxHashMap;

use crate::OnnxError;
use sizewise_ir::text::expression_text;
use sizewise_ir::{Dtype, ExprRef, ExprTable, Meta, Sym};
use sizewise_onnx_model::read::message::{
    Dimension, DimensionProto, ShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};

/// The numbers of `TensorProto.DataType`.
pub(super) const INT64: i32 = 7;
pub(super) const STRING: i32 = 8;
pub(super) const BOOL: i32 = 9;
pub(super) const DOUBLE: i32 = 11;

/// A dtype's number in `TensorProto.DataType`; `None` where ONNX has none.
pub(super) fn element_type(dtype: Dtype) -> Option<i32> {
    Some(match dtype.name() {
        "float32" => 1,
        "uint8" => 2,
        "int8" => 3,
        "uint16" => 4,
        "int16" => 5,
        "int32" => 6,
        "int64" => INT64,
        "bool" => BOOL,
        "float16" => 10,
        "float64" => DOUBLE,
        "uint32" => 12,
        "uint64" => 13,
        "complex64" => 14,
        "complex128" => 15,
        "bfloat16" => 16,
        "float8_e4m3fn" => 17,
        "float8_e4m3fnuz" => 18,
        "float8_e5m2" => 19,
        "float8_e5m2fnuz" => 20,
        "float8_e8m0fnu" => 24,
        _ => return None,
    })
}

/// Gives values their types; the text of each expression is worked out once.
pub(super) struct Types<'p> {
    exprs: &'p ExprTable,
    names: FxHashMap<ExprRef, String>,
}

impl<'p> Types<'p> {
    pub fn new(exprs: &'p ExprTable) -> Types<'p> {
        Types { exprs, names: FxHashMap::default() }
    }

    fn dimension(&mut self, size: &Sym<i64>) -> DimensionProto {
        let value = match size {
            Sym::Literal(size) => Dimension::Size(*size),
            Sym::Expr(expr) => {
                let exprs = self.exprs;
                let name = self.names.entry(*expr).or_insert_with(|| {
                    exprs.get(*expr).map_or_else(String::new, |known| expression_text(&known.text))
                });
                Dimension::Name(name.clone())
            }
        };
        DimensionProto { value: Some(value) }
    }

    /// The type of a value; `None` where nothing is recorded of it.
    ///
    /// # Errors
    /// When ONNX has no such dtype.
    pub fn of(&mut self, name: &str, meta: &Meta) -> Result<Option<TypeProto>, OnnxError> {
        let (number, dim) = match meta {
            Meta::Tensor(tensor) => {
                let Some(number) = element_type(tensor.dtype) else {
                    return Err(OnnxError::new(
                        format!("`{name}`"),
                        format!("ONNX has no element type {}", tensor.dtype),
                    ));
                };
                (number, tensor.sizes.iter().map(|size| self.dimension(size)).collect())
            }
            Meta::SymInt(_) => (INT64, Vec::new()),
            Meta::SymFloat(_) => (DOUBLE, Vec::new()),
            Meta::SymBool(_) => (BOOL, Vec::new()),
            // ONNX has no objects; a string stands for one.
            Meta::CustomObj(_) | Meta::Token => (STRING, Vec::new()),
            Meta::Unknown => return Ok(None),
        };
        let denotation = match meta {
            Meta::CustomObj(class) => class.to_string(),
            _ => String::new(),
        };
        Ok(Some(TypeProto { denotation, ..tensor(number, dim) }))
    }

    /// A value with its type.
    ///
    /// # Errors
    /// When it has none that ONNX knows.
    pub fn info(&mut self, name: &str, meta: &Meta) -> Result<ValueInfoProto, OnnxError> {
        let Some(ty) = self.of(name, meta)? else {
            return Err(OnnxError::new(format!("`{name}`"), "nothing is recorded of it"));
        };
        Ok(ValueInfoProto { name: name.to_owned(), r#type: Some(ty), ..ValueInfoProto::default() })
    }
}

/// The type of a tensor with elements of this type.
fn tensor(elem_type: i32, dim: Vec<DimensionProto>) -> TypeProto {
    let tensor = TensorType { elem_type, shape: Some(ShapeProto { dim }) };
    TypeProto { value: Some(TypeValue::Tensor(tensor)), ..TypeProto::default() }
}

/// The type of a number without dimensions.
pub(super) fn scalar_info(name: &str, number: i32) -> ValueInfoProto {
    let ty = tensor(number, Vec::new());
    ValueInfoProto { name: name.to_owned(), r#type: Some(ty), ..ValueInfoProto::default() }
}
