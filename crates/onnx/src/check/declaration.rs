//! What a model declares of its inputs and outputs, anew.
use serde_json::{Value as Json, json};
use sizewise_onnx_model::read::message::{
    Dimension, DimensionProto, GraphProto, ShapeProto, TypeValue, ValueInfoProto,
};
use sizewise_onnx_model::shape::Dtype;
use sizewise_onnx_model::walk::{Given, declared};

/// A part of a declaration, as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declared {
    /// The element type.
    Type(Dtype),
    /// Another number of dimensions, with their sizes: as for [`Declared::Size`].
    Shape(Vec<Option<String>>),
    /// The size of a dimension: a number, a name or an expression over names. `None` leaves it open.
    Size(usize, Option<String>),
}

/// A declaration of an input or an output that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The name of the input or the output.
    pub value: String,
    /// Whether it is an output.
    pub is_output: bool,
    /// What it is to be.
    pub declared: Declared,
}

impl Declared {
    /// The place of the part: `y.shape[0]`.
    pub fn place(&self, value: &str) -> String {
        match self {
            Declared::Type(_) => value.to_owned(),
            Declared::Shape(_) => format!("{value}.shape"),
            Declared::Size(dim, _) => format!("{value}.shape[{dim}]"),
        }
    }

    /// Declares a value so.
    pub(crate) fn write(&self, value: &mut ValueInfoProto) {
        let Some(TypeValue::Tensor(tensor)) = value.r#type.as_mut().and_then(|t| t.value.as_mut()) else {
            return;
        };
        match self {
            Declared::Type(dtype) => tensor.elem_type = dtype.number(),
            Declared::Shape(sizes) => {
                let dim = |size: &Option<String>| DimensionProto { value: size.as_deref().map(written_size) };
                tensor.shape = Some(ShapeProto { dim: sizes.iter().map(dim).collect() });
            }
            Declared::Size(dim, text) => {
                let dim = tensor.shape.as_mut().and_then(|shape| shape.dim.get_mut(*dim));
                dim.into_iter().for_each(|dim| dim.value = text.as_deref().map(written_size));
            }
        }
    }
}

/// The size that a text is: a number or a name.
pub(crate) fn written_size(text: &str) -> Dimension {
    match text.parse() {
        Ok(number) => Dimension::Size(number),
        Err(_) => Dimension::Name(text.to_owned()),
    }
}

/// A size as JSON: a number, a name, or null where it is left open.
fn size_json(text: Option<&str>) -> Json {
    match text.map(written_size) {
        Some(Dimension::Size(number)) => number.into(),
        Some(Dimension::Name(name)) => name.into(),
        None => Json::Null,
    }
}

/// Reads what [`size_json`] writes.
fn size_of_json(json: &Json) -> Option<Option<String>> {
    Some(match json {
        Json::Null => None,
        Json::Number(number) => Some(number.as_i64()?.to_string()),
        size => Some(size.as_str()?.to_owned()),
    })
}

/// The name of an element type that exported programs have for it, or that of ONNX where torch has none.
pub(crate) fn full_name(dtype: Dtype) -> &'static str {
    sizewise_ir::Dtype::from_short_name(dtype.name()).map_or(dtype.name(), sizewise_ir::Dtype::name)
}

impl Declaration {
    /// The declaration as a line for people: `declare x.shape[0] as batch`.
    pub fn line(&self) -> String {
        let place = self.declared.place(&self.value);
        match &self.declared {
            Declared::Type(dtype) => format!("declare {place} as {}", full_name(*dtype)),
            Declared::Shape(sizes) => {
                let sizes: Vec<&str> = sizes.iter().map(|size| size.as_deref().unwrap_or("?")).collect();
                format!("declare {place} as [{}]", sizes.join(", "))
            }
            Declared::Size(_, Some(text)) => format!("declare {place} as {text}"),
            Declared::Size(_, None) => format!("leave {place} open"),
        }
    }

    /// The same for programs: `{"value": "x", "dim": 0, "size": "batch"}`.
    pub fn json(&self) -> Json {
        let kind = if self.is_output { "output" } else { "input" };
        let mut json = json!({ kind: self.value });
        match &self.declared {
            Declared::Type(dtype) => json["dtype"] = full_name(*dtype).into(),
            Declared::Shape(sizes) => {
                json["shape"] = sizes.iter().map(|size| size_json(size.as_deref())).collect()
            }
            Declared::Size(dim, text) => {
                json["dim"] = (*dim).into();
                json["size"] = size_json(text.as_deref());
            }
        }
        json
    }

    /// Reads what [`Declaration::json`] writes.
    pub fn of_json(json: &Json) -> Option<Declaration> {
        let (is_output, value) = match (json.get("input"), json.get("output")) {
            (Some(input), None) => (false, input.as_str()?),
            (None, Some(output)) => (true, output.as_str()?),
            _ => return None,
        };
        let declared = match (json.get("dtype"), json.get("shape"), json.get("dim")) {
            (Some(dtype), None, None) => {
                let is_it = |known: &&Dtype| dtype == full_name(**known);
                Declared::Type(*Dtype::ALL.iter().find(is_it)?)
            }
            (None, Some(shape), None) => {
                Declared::Shape(shape.as_array()?.iter().map(size_of_json).collect::<Option<_>>()?)
            }
            (None, None, Some(dim)) => {
                Declared::Size(usize::try_from(dim.as_u64()?).ok()?, size_of_json(json.get("size")?)?)
            }
            _ => return None,
        };
        Some(Declaration { value: value.to_owned(), is_output, declared })
    }

    /// Whether it declares a size as a number.
    pub fn is_number(&self) -> bool {
        matches!(&self.declared, Declared::Size(_, Some(text)) if text.parse::<i64>().is_ok())
    }
}

/// How the declarations of one graph differ from those of another with the same inputs and outputs.
pub(super) fn differences(before: &GraphProto, after: &GraphProto) -> Vec<Declaration> {
    let inputs = before.input.iter().zip(&after.input).map(|pair| (false, pair));
    let outputs = before.output.iter().zip(&after.output).map(|pair| (true, pair));
    let mut found = Vec::new();
    for (is_output, (old, new)) in inputs.chain(outputs) {
        let of = |declared| Declaration { value: new.name.clone(), is_output, declared };
        let was = declared(&old.name, old.r#type.as_ref());
        let is = declared(&new.name, new.r#type.as_ref());
        found.extend(is.dtype.filter(|dtype| was.dtype != Some(*dtype)).map(Declared::Type).map(of));
        let Some(sizes) = &is.shape else { continue };
        let old = was.shape.as_deref().unwrap_or_default();
        let text = |size: &Given| match size {
            Given::Size(number) => Some(number.to_string()),
            Given::Name(name) => Some(name.clone()),
            Given::Open => None,
        };
        if old.len() != sizes.len() {
            found.push(of(Declared::Shape(sizes.iter().map(text).collect())));
            continue;
        }
        for (dim, (old, new)) in old.iter().zip(sizes).enumerate() {
            found.extend((old != new).then(|| of(Declared::Size(dim, text(new)))));
        }
    }
    found
}
