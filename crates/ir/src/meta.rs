//! What a program records of its values: symbolic sizes and tensor metadata.

use std::hash::Hash;
use std::sync::Arc;

use indexmap::IndexSet;
use smallvec::SmallVec;

use super::dtype::{Device, Dtype, Layout};

/// A reference to an expression of a program's [`ExprTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprRef(u32);

impl ExprRef {
    /// The expression at a place.
    pub(super) fn nth(index: usize) -> ExprRef {
        ExprRef(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The place in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The value that an expression had when the program was traced.
#[derive(Debug, Clone, Copy)]
pub enum Hint {
    /// Of an integer.
    Int(i64),
    /// Of a truth value.
    Bool(bool),
    /// Of a float.
    Float(f64),
}

impl Hint {
    /// A form in which equal hints are equal, NaN included.
    fn key(self) -> (u8, u64) {
        match self {
            Hint::Int(value) => (0, value.cast_unsigned()),
            Hint::Bool(value) => (1, value.into()),
            Hint::Float(value) => (2, value.to_bits()),
        }
    }
}

impl PartialEq for Hint {
    fn eq(&self, other: &Hint) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Hint {}

impl Hash for Hint {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// A symbolic expression as the program writes it: sympy's `srepr` or `str` form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SymText {
    /// The expression.
    pub text: Arc<str>,
    /// Its value at the traced example; `None` when it depends on data.
    pub hint: Option<Hint>,
}

/// The distinct expressions of a program, subgraphs included. Programs repeat few expressions many
/// times, so values refer to them by [`ExprRef`].
#[derive(Debug, Clone, Default)]
pub struct ExprTable {
    texts: IndexSet<SymText, rustc_hash::FxBuildHasher>,
}

impl ExprTable {
    /// Adds an expression, or finds it.
    pub fn intern(&mut self, text: &str, hint: Option<Hint>) -> ExprRef {
        let (index, _) = match self.texts.get_index_of(&Borrowed { text, hint }) {
            Some(index) => (index, false),
            None => self.texts.insert_full(SymText { text: text.into(), hint }),
        };
        ExprRef::nth(index)
    }

    /// The expression behind a reference; `None` when it is of another table.
    pub fn get(&self, expr: ExprRef) -> Option<&SymText> {
        self.texts.get_index(expr.index())
    }

    /// All expressions, in order of first appearance.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SymText> {
        self.texts.iter()
    }

    /// The table that has these expressions alone, in this order.
    pub(super) fn reordered(&self, order: &[ExprRef]) -> ExprTable {
        ExprTable { texts: order.iter().filter_map(|expr| self.get(*expr)).cloned().collect() }
    }

    /// How many expressions there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is no expression.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// A lookup key for [`SymText`] without an allocation; hashes as the derived `Hash` does.
#[derive(Hash)]
struct Borrowed<'a> {
    text: &'a str,
    hint: Option<Hint>,
}

impl indexmap::Equivalent<SymText> for Borrowed<'_> {
    fn equivalent(&self, key: &SymText) -> bool {
        *self.text == *key.text && self.hint == key.hint
    }
}

/// A literal or an expression over the program's symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sym<T> {
    /// Known.
    Literal(T),
    /// An expression.
    Expr(ExprRef),
}

/// A size, a stride or a storage offset, in elements.
pub type Size = Sym<i64>;

/// Sizes or strides of a tensor.
pub type Sizes = SmallVec<[Size; 4]>;

/// What is recorded of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorMeta {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes, outermost dimension first.
    pub sizes: Sizes,
    /// Strides, in elements; as many as sizes when the layout is strided.
    pub strides: Sizes,
    /// Offset of the first element in the storage, in elements.
    pub storage_offset: Size,
    /// Whether gradients are recorded.
    pub requires_grad: bool,
    /// Where it lives.
    pub device: Device,
    /// How it keeps its elements.
    pub layout: Layout,
}

/// What is recorded of a value of a graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Meta {
    /// A tensor.
    Tensor(Box<TensorMeta>),
    /// An integer.
    SymInt(Sym<i64>),
    /// A float.
    SymFloat(Sym<f64>),
    /// A truth value.
    SymBool(Sym<bool>),
    /// An object of the class with this qualified name.
    CustomObj(Arc<str>),
    /// A token that orders effects.
    Token,
    /// Nothing is recorded.
    Unknown,
}

impl Meta {
    /// The metadata of a tensor, if it is one.
    pub fn tensor(&self) -> Option<&TensorMeta> {
        match self {
            Meta::Tensor(meta) => Some(meta),
            _ => None,
        }
    }

    /// Calls `f` with each expression in it, in the order of the fields.
    pub(super) fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut ExprRef)) {
        fn of<T>(sym: &mut Sym<T>, f: &mut dyn FnMut(&mut ExprRef)) {
            if let Sym::Expr(expr) = sym {
                f(expr);
            }
        }
        match self {
            Meta::Tensor(meta) => {
                let meta = &mut **meta;
                let sizes = meta.sizes.iter_mut().chain(&mut meta.strides);
                sizes.chain(std::iter::once(&mut meta.storage_offset)).for_each(|size| of(size, f));
            }
            Meta::SymInt(value) => of(value, f),
            Meta::SymFloat(value) => of(value, f),
            Meta::SymBool(value) => of(value, f),
            Meta::CustomObj(_) | Meta::Token | Meta::Unknown => {}
        }
    }

    /// What the value is, in a word: `tensor`, `SymInt`.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Meta::Tensor(_) => "tensor",
            Meta::SymInt(_) => "SymInt",
            Meta::SymFloat(_) => "SymFloat",
            Meta::SymBool(_) => "SymBool",
            Meta::CustomObj(_) => "custom object",
            Meta::Token => "token",
            Meta::Unknown => "value",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_expressions_share_a_reference() {
        let mut table = ExprTable::default();
        let a = table.intern("s0 + 1", Some(Hint::Int(4)));
        let b = table.intern("s0", None);
        assert_eq!(table.intern("s0 + 1", Some(Hint::Int(4))), a);
        assert_ne!(table.intern("s0 + 1", None), a);
        assert_ne!(a, b);
        assert_eq!(table.len(), 3);
        assert_eq!(&*table.get(b).unwrap().text, "s0");
    }

    #[test]
    fn a_hint_that_is_no_number_equals_itself() {
        assert_eq!(Hint::Float(f64::NAN), Hint::Float(f64::NAN));
        assert_ne!(Hint::Int(1), Hint::Bool(true));
    }
}
