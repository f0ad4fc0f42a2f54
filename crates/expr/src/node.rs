//! The nodes of expressions.
use super::handle::{Expr, Symbol};
use super::int::Int;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// The operands of a call.
pub type Args = SmallVec<[Expr; 2]>;

/// The kind of value that an expression has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Sort {
    /// An integer (or, below [`Func::Ratio`], an exact rational).
    Int,
    /// An IEEE double. As in Python, a minimum, maximum or conditional of integers and doubles may have an
    /// integer as its value.
    Float,
    /// A truth value.
    Bool,
}

/// A double that compares and hashes by its bits, so that nodes can be stored once.
#[derive(Clone, Copy, Debug)]
pub struct F64(pub f64);

impl PartialEq for F64 {
    fn eq(&self, other: &F64) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for F64 {}
impl Hash for F64 {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// One expression node. Children are handles into the same pool and always older than their parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// An integer constant (small ones live in the handle and are never stored).
    Int(Int),
    /// A double constant.
    Float(F64),
    /// `True` or `False`.
    Bool(bool),
    /// A free variable.
    Symbol(Symbol),
    /// `constant + Σ coefficient · monomial`: terms sorted by handle, coefficients nonzero, at least one
    /// term, and not just one monomial with coefficient 1.
    Sum {
        /// The part without a monomial.
        constant: Int,
        /// Monomials (atoms or products) with their coefficients.
        terms: Box<[(Expr, Int)]>,
    },
    /// `Π atom^power`: factors sorted by handle, powers at least 1, and not just one atom to the power 1.
    Product(Box<[(Expr, u32)]>),
    /// Any other operation.
    Call(Func, Args),
}

/// A node whose operands are borrowed, to look it up in a pool before anything is copied.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NodeRef<'a> {
    Int(&'a Int),
    Float(F64),
    Bool(bool),
    Symbol(Symbol),
    Sum { constant: &'a Int, terms: &'a [(Expr, Int)] },
    Product(&'a [(Expr, u32)]),
    Call(Func, &'a [Expr]),
}

impl Node {
    pub(super) fn borrowed(&self) -> NodeRef<'_> {
        match self {
            Node::Int(value) => NodeRef::Int(value),
            Node::Float(value) => NodeRef::Float(*value),
            Node::Bool(value) => NodeRef::Bool(*value),
            Node::Symbol(symbol) => NodeRef::Symbol(*symbol),
            Node::Sum { constant, terms } => NodeRef::Sum { constant, terms },
            Node::Product(factors) => NodeRef::Product(factors),
            Node::Call(func, args) => NodeRef::Call(*func, args),
        }
    }

    /// Whether it is a bitwise operation, or asks whether strides are dense.
    pub(super) fn has_bits(&self) -> bool {
        matches!(self, Node::Call(Func::BitAnd | Func::BitOr | Func::BitXor | Func::DenseIndicator, _))
    }
}

impl NodeRef<'_> {
    pub(super) fn to_node(self) -> Node {
        match self {
            NodeRef::Int(value) => Node::Int(value.clone()),
            NodeRef::Float(value) => Node::Float(value),
            NodeRef::Bool(value) => Node::Bool(value),
            NodeRef::Symbol(symbol) => Node::Symbol(symbol),
            NodeRef::Sum { constant, terms } => Node::Sum { constant: constant.clone(), terms: terms.into() },
            NodeRef::Product(factors) => Node::Product(factors.into()),
            NodeRef::Call(func, args) => Node::Call(func, Args::from_slice(args)),
        }
    }
}

/// The operations other than sums and products.
///
/// Integer ones are total over all integers except where a zero divisor makes them undefined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Func {
    /// `a // b`, rounded towards minus infinity.
    FloorDiv,
    /// `a % b`, with the sign of `b`.
    Mod,
    /// `a / d` as an exact rational; `d` is an integer constant above 1.
    Ratio,
    /// The least of the operands.
    Min,
    /// The greatest of the operands.
    Max,
    /// `|a|`.
    Abs,
    /// `a ** n` for an exponent that is no literal; undefined for negative `n`.
    Pow,
    /// `p if c else q`.
    Ite,
    /// Bitwise and of infinite two's complement integers.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// 1 when strides (the second half of the operands) lay out the sizes (the first half) without gap or
    /// overlap, else 0.
    DenseIndicator,
    /// Double to integer, towards zero.
    Trunc,
    /// Double to integer, downwards.
    Floor,
    /// Double to integer, upwards.
    Ceil,
    /// Double to integer, to nearest, halves to even.
    Round,
    /// Integer to nearest double.
    ToFloat,
    /// Quotient of integers, or of what may be integers or doubles, correctly rounded to a double.
    IntTrueDiv,
    /// Quotient of doubles.
    FloatTrueDiv,
    /// Power of doubles, or of integers where both operands turn out to be such (see [`Pool::may_be_integer`](super::Pool)).
    FloatPow,
    /// Sum of two doubles, or of two integers.
    FloatAdd,
    /// Product of two doubles, or of two integers.
    FloatMul,
    /// Python's `round(x, k)`.
    RoundDecimal,
    /// Truncation that stays a double.
    TruncToFloat,
    /// Square root of a double.
    Sqrt,
    /// Cosine.
    Cos,
    /// Hyperbolic cosine.
    Cosh,
    /// Sine.
    Sin,
    /// Hyperbolic sine.
    Sinh,
    /// Tangent.
    Tan,
    /// Hyperbolic tangent.
    Tanh,
    /// Arc sine.
    Asin,
    /// Arc cosine.
    Acos,
    /// Arc tangent.
    Atan,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Natural exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Binary logarithm.
    Log2,
    /// `p == 0` for an integer polynomial `p` in lowest terms with positive leading coefficient.
    IsZero,
    /// `p <= 0` for an integer polynomial `p` whose coefficients have no common divisor.
    NotPositive,
    /// `a == b` of doubles.
    FloatEq,
    /// `a < b` of doubles.
    FloatLt,
    /// `a <= b` of doubles.
    FloatLe,
    /// Negation; only above `IsZero`, float comparisons and boolean symbols, as it is pushed inwards.
    Not,
    /// All of the operands.
    And,
    /// Any of the operands.
    Or,
}

impl Func {
    /// The sort of a call, given the sorts of its value operands (all but the first one for [`Func::Ite`]).
    /// It is a double if one of them is.
    pub fn sort(self, operand: Sort) -> Sort {
        use Func::*;
        match self {
            FloorDiv | Mod | Ratio | Pow | BitAnd | BitOr | BitXor | DenseIndicator | Trunc | Floor
            | Ceil | Round => Sort::Int,
            Min | Max | Abs | Ite => operand,
            ToFloat | IntTrueDiv | FloatTrueDiv | FloatPow | FloatAdd | FloatMul | RoundDecimal
            | TruncToFloat | Sqrt | Cos | Cosh | Sin | Sinh | Tan | Tanh | Asin | Acos | Atan | Asinh
            | Exp | Log | Log2 => Sort::Float,
            IsZero | NotPositive | FloatEq | FloatLt | FloatLe | Not | And | Or => Sort::Bool,
        }
    }

    /// Whether a call has no value for some operands of the right sort: it divides by zero, or an operand is
    /// outside of its domain.
    pub fn is_partial(self) -> bool {
        use Func::*;
        let rounds = matches!(self, ToFloat | RoundDecimal | TruncToFloat | Trunc | Floor | Ceil | Round);
        let divides = matches!(self, FloorDiv | Mod | IntTrueDiv | FloatTrueDiv | Pow | FloatPow);
        rounds || divides || self.real_function().is_some()
    }

    /// The function of one double that this is, if it is one.
    pub fn real_function(self) -> Option<fn(f64) -> f64> {
        use Func::*;
        Some(match self {
            Sqrt => f64::sqrt,
            Cos => f64::cos,
            Cosh => f64::cosh,
            Sin => f64::sin,
            Sinh => f64::sinh,
            Tan => f64::tan,
            Tanh => f64::tanh,
            Asin => f64::asin,
            Acos => f64::acos,
            Atan => f64::atan,
            Asinh => f64::asinh,
            Exp => f64::exp,
            Log => f64::ln,
            Log2 => f64::log2,
            _ => return None,
        })
    }
}
