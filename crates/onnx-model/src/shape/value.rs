//! Values of ONNX graphs: element types, shapes, and what is known of the elements.
use super::dtype::Dtype;
use super::known::{AtLoad, Known};
use sizewise_expr::Expr;
use sizewise_kernels::Span;
use std::borrow::Cow;
use std::sync::Arc;

/// The most elements of a tensor that are followed one by one.
pub const MAX_ELEMENTS: usize = 4_096;

/// One element of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// An integer.
    Int(Expr),
    /// A truth value, as a condition.
    Bool(Expr),
    /// A floating-point number.
    Float(f64),
    /// The floating-point number nearest to the quotient of an integer and a positive number, where the type holds the
    /// integer exactly.
    Quotient(Expr, i64),
    /// A string.
    Text(Arc<str>),
    /// Not known.
    Open,
}

/// What is known of a tensor's elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Each of them, row by row.
    List(Arc<[Element]>),
    /// All are this one.
    Fill(Element),
}

/// What decides the elements of a value, beside those that are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// They are the same in every run: those of an initializer that no input replaces.
    Constant,
    /// Sizes alone decide them, not data.
    Sizes,
    /// Data may decide them.
    #[default]
    Data,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The type of its elements.
    pub dtype: Dtype,
    /// The sizes of its dimensions; `None` if their number is not known.
    pub shape: Option<Vec<Expr>>,
    /// Its elements, if something is known of them.
    pub elements: Option<Elements>,
    /// What decides the elements that are not followed.
    pub origin: Origin,
    /// What onnxruntime knows of it when it loads the model.
    pub at_load: AtLoad,
    /// For the places of elements in another tensor what is known of them.
    pub places: Option<Arc<Places>>,
    /// Where integers lie that are not followed one by one: all of them, or those at each place of the last axis.
    pub spans: Option<Arc<[Option<Span>]>>,
}

/// The places of elements in a tensor, such as those that are not 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// The sizes of that tensor; an index is less than its size.
    pub sizes: Vec<Expr>,
    /// Whether a place is a row, and not a column.
    pub in_rows: bool,
}

/// A list of values of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// The element type of its tensors.
    pub dtype: Dtype,
    /// Its values, if their number is a number that is known.
    pub items: Option<Vec<Tensor>>,
    /// The number of its values where they are not followed, if sizes decide it.
    pub count: Option<Expr>,
    /// What decides the elements of values that are not followed.
    pub origin: Origin,
}

impl Sequence {
    /// A sequence of these values.
    pub fn of(dtype: Dtype, items: Vec<Tensor>) -> Sequence {
        Sequence { dtype, items: Some(items), count: None, origin: Origin::Data }
    }

    /// A sequence of values that are not followed.
    pub fn open(dtype: Dtype, count: Option<Expr>) -> Sequence {
        Sequence { dtype, items: None, count, origin: Origin::Data }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// A list of tensors.
    Sequence(Sequence),
    /// An optional value: what it holds, or `None` if it holds nothing; the text is its type.
    Optional(Option<Box<Value>>, Arc<str>),
    /// A value of another type, by its name: `map(i64,f32)`.
    Other(Arc<str>),
    /// A value of which nothing is known, not even its type.
    Unknown,
}

impl Element {
    /// The element as an integer expression.
    pub fn int(&self) -> Option<Expr> {
        match self {
            Element::Int(e) => Some(*e),
            _ => None,
        }
    }

    /// The element as a number, if it is a literal one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Element::Int(e) => e.as_inline().map(|value| value as f64),
            Element::Bool(e) => e.as_literal_bool().map(|value| f64::from(u8::from(value))),
            Element::Float(value) => Some(*value),
            _ => None,
        }
    }
}

impl Origin {
    /// Sizes alone, or data.
    pub fn of_sizes(are_sizes: bool) -> Origin {
        if are_sizes { Origin::Sizes } else { Origin::Data }
    }
}

impl Value {
    /// The value where nothing asks for its elements.
    pub fn of_no_elements(self) -> Value {
        match self {
            Value::Tensor(tensor) => {
                let origin = if tensor.origin == Origin::Sizes { Origin::Data } else { tensor.origin };
                Tensor { elements: None, spans: None, places: None, origin, ..tensor }.into()
            }
            other => other,
        }
    }
}

impl Tensor {
    /// A tensor of which nothing but its shape is known.
    pub fn new(dtype: Dtype, shape: Vec<Expr>) -> Tensor {
        Tensor { shape: Some(shape), ..Tensor::unranked(dtype) }
    }

    /// A tensor of unknown rank.
    pub fn unranked(dtype: Dtype) -> Tensor {
        Tensor {
            dtype,
            shape: None,
            elements: None,
            origin: Origin::Data,
            at_load: AtLoad::default(),
            places: None,
            spans: None,
        }
    }

    /// A tensor of these integers, with one dimension.
    pub fn of_ints(dtype: Dtype, items: Vec<Expr>) -> Tensor {
        let shape = vec![Expr::from(i32::try_from(items.len()).unwrap_or(i32::MAX))];
        Tensor::new(dtype, shape).with(items.into_iter().map(Element::Int).collect::<Arc<[_]>>())
    }

    /// The tensor with these elements.
    pub fn with(mut self, elements: impl Into<Arc<[Element]>>) -> Tensor {
        self.elements = Some(Elements::List(elements.into()));
        self
    }

    /// The tensor with all elements being this one.
    pub fn filled(mut self, element: Element) -> Tensor {
        self.elements = Some(Elements::Fill(element));
        self
    }

    /// The tensor as an input of a call by itself: a constant, or declared with its rank alone.
    pub fn of_call(mut self, is_constant: bool) -> Tensor {
        self.origin = if is_constant { Origin::Constant } else { Origin::Data };
        self.at_load = if is_constant { AtLoad::IN_FILE } else { AtLoad::OPEN };
        self
    }

    /// Whether onnxruntime is sure to know all its sizes as numbers when it loads the model.
    pub fn is_sized_at_load(&self) -> bool {
        let sizes = self.shape.as_ref().map(|shape| 0..shape.len());
        sizes.is_some_and(|mut dims| dims.all(|dim| self.at_load.size(dim) == Known::Yes))
    }

    /// The tensor where it is not the same in every run.
    pub fn forget_constant(&mut self) {
        if self.origin == Origin::Constant {
            self.origin = Origin::Data;
        }
    }

    /// The number of elements, if it is a number.
    pub fn count(&self) -> Option<u64> {
        let sizes = || self.shape.iter().flatten().map(|size| u64::try_from(size.as_inline()?).ok());
        self.shape.as_ref()?;
        let is_empty = sizes().try_fold(false, |is_empty, size| Some(is_empty || size? == 0))?;
        if is_empty { Some(0) } else { sizes().try_fold(1u64, |count, size| count.checked_mul(size?)) }
    }

    /// Where all elements lie, if that is known of all in the same way.
    pub fn span(&self) -> Option<&Span> {
        match self.spans.as_deref() {
            Some([span]) => span.as_ref(),
            _ => None,
        }
    }

    /// The elements one by one, if they are followed and not too many.
    pub fn list(&self) -> Option<Cow<'_, [Element]>> {
        let count = usize::try_from(self.count()?).ok().filter(|&count| count <= MAX_ELEMENTS)?;
        match self.elements.as_ref()? {
            Elements::List(list) => (list.len() == count).then_some(Cow::Borrowed(&**list)),
            Elements::Fill(element) => Some(vec![element.clone(); count].into()),
        }
    }

    /// As [`Tensor::list`] for a tensor that has so many elements where its sizes are no numbers.
    pub fn list_of(&self, count: usize) -> Option<Cow<'_, [Element]>> {
        match self.elements.as_ref() {
            Some(Elements::Fill(element)) if count <= MAX_ELEMENTS => {
                Some(vec![element.clone(); count].into())
            }
            _ => self.list(),
        }
    }

    /// The elements as integers, if all are known.
    pub fn ints(&self) -> Option<Vec<Expr>> {
        self.list()?.iter().map(Element::int).collect()
    }

    /// The elements as literal numbers, if all are.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.list()?.iter().map(Element::number).collect()
    }

    /// Whether an element is a quotient of sizes.
    pub fn has_quotients(&self) -> bool {
        let is_quotient = |element: &Element| matches!(element, Element::Quotient(..));
        match &self.elements {
            Some(Elements::Fill(element)) => is_quotient(element),
            Some(Elements::List(list)) => list.iter().any(is_quotient),
            None => false,
        }
    }

    /// The integers that are known of it: its elements as far as they are followed, and the ends between which others
    /// lie.
    pub fn known_integers(&self) -> impl Iterator<Item = Expr> {
        let elements = match &self.elements {
            Some(Elements::Fill(element)) => std::slice::from_ref(element),
            Some(Elements::List(list)) => list,
            None => &[],
        };
        let ends = self.spans.iter().flat_map(|spans| spans.iter().flatten());
        let ends = ends.flat_map(|span| [span.least, span.most]);
        let whole = |element: &Element| match element {
            Element::Int(e) | Element::Quotient(e, _) => Some(*e),
            _ => None,
        };
        elements.iter().filter_map(whole).chain(ends)
    }

    /// The only element, or what all elements are.
    pub fn single(&self) -> Option<Element> {
        match self.elements.as_ref()? {
            Elements::Fill(element) => Some(element.clone()),
            Elements::List(list) => list.first().cloned(),
        }
    }
}

impl Value {
    /// The tensor that it is, if it is one.
    pub fn tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// As [`Tensor::is_sized_at_load`], of a tensor.
    pub fn is_sized_at_load(&self) -> bool {
        self.tensor().is_some_and(Tensor::is_sized_at_load)
    }

    /// Whether onnxruntime is sure to know the rank of a tensor when it loads the model.
    pub fn is_ranked_at_load(&self) -> bool {
        self.tensor().is_some_and(|tensor| tensor.at_load.rank == Known::Yes)
    }

    /// Whether another value has the same type.
    pub fn has_type_of(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Tensor(a), Value::Tensor(b)) => a.dtype == b.dtype,
            (Value::Tensor(_), _) | (_, Value::Tensor(_)) => false,
            _ => self.type_name() == other.type_name(),
        }
    }

    /// Its type as the schemas write it: `f32`, `seq(i64)`.
    pub fn type_name(&self) -> Cow<'static, str> {
        match self {
            Value::Tensor(tensor) => tensor.dtype.name().into(),
            Value::Sequence(sequence) => format!("seq({})", sequence.dtype.name()).into(),
            Value::Optional(_, kind) => format!("opt({kind})").into(),
            Value::Other(name) => name.to_string().into(),
            Value::Unknown => "?".into(),
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}
