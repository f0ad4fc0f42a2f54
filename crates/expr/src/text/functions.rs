//! The functions that expression text names.
use super::lexer::Op;
use crate::node::Func;

/// The meaning of a name in front of `(`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Function {
    /// Quotient rounded down; a divisor.
    FloorDiv,
    /// Quotient rounded up; a divisor.
    CeilDiv,
    /// Remainder with the divisor's sign.
    Mod,
    /// `(base // divisor) % modulus`.
    ModularIndexing,
    /// Least or greatest operand.
    Extremum(Func),
    /// `|a|`.
    Abs,
    /// `c, p, q`: `p if c else q`.
    Where,
    /// Pairs of value and condition; the first condition that holds decides.
    Piecewise,
    /// A pair of value and condition.
    Pair,
    /// A comparison by its Python operator.
    Compare(Op),
    /// All operands hold.
    And,
    /// Any operand holds.
    Or,
    /// Negation.
    Not,
    /// An odd number of operands hold.
    Xor,
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Power; a negative constant exponent makes a ratio.
    Pow,
    /// Power, without a value for negative exponents.
    PowByNatural,
    /// `a * 2**b`.
    LeftShift,
    /// `a // 2**b`.
    RightShift,
    /// Bitwise operation.
    Bitwise(Func),
    /// Integer to double.
    ToFloat,
    /// Quotient as a double; of integers, or (`float` set) of doubles.
    TrueDiv {
        /// Whether the operands are made doubles first.
        float: bool,
    },
    /// Power of doubles.
    FloatPow,
    /// Number to integer.
    Rounding(Func),
    /// Python's `round`: to an integer, or to a number of decimals.
    Round,
    /// Rounding to a number of decimals.
    RoundDecimal,
    /// Truncation that stays a double.
    TruncToFloat,
    /// A function of one double.
    Real(Func),
    /// Sizes and strides that cover memory densely.
    DenseIndicator,
    /// The value itself.
    Identity,
    /// As a truth value.
    Truth,
    /// `Symbol('s0', integer=True)`.
    Symbol,
    /// `Integer(2)`.
    Integer,
    /// `Rational(1, 2)`.
    Rational,
    /// `Float('2.5', precision=53)`, and Python's `float(x)`.
    Float,
    /// `Infinity()` under its various names.
    Infinity {
        /// Whether it is the negative one.
        negative: bool,
    },
}

/// The largest number of operands of any function.
const MANY: usize = usize::MAX;

/// The function of a name as sympy, torch and Python write it (dots included), with the least and the greatest
/// number of operands it takes.
pub(super) fn lookup(name: &str) -> Option<(Function, usize, usize)> {
    use Function::*;
    let bare = match name.rsplit_once('.') {
        None => name,
        Some(("math", "pow")) => "FloatPow",
        Some(("math" | "torch" | "operator" | "_operator" | "builtins" | "sympy", bare)) => bare,
        Some(_) => return None,
    };
    Some(match bare {
        "Symbol" => (Symbol, 1, 1),
        "Integer" => (Integer, 1, 1),
        "FloorDiv" | "CleanDiv" | "floordiv" => (FloorDiv, 2, 2),
        "CeilDiv" => (CeilDiv, 2, 2),
        "Mod" | "PythonMod" | "mod" => (Mod, 2, 2),
        "ModularIndexing" => (ModularIndexing, 3, 3),
        "Min" | "min" | "sym_min" => (Extremum(Func::Min), 1, MANY),
        "Max" | "max" | "sym_max" => (Extremum(Func::Max), 1, MANY),
        "Abs" | "abs" | "fabs" => (Abs, 1, 1),
        "Where" | "ITE" | "sym_ite" => (Where, 3, 3),
        "Piecewise" => (Piecewise, 1, MANY),
        "ExprCondPair" => (Pair, 2, 2),
        "Eq" | "Equality" | "eq" => (Compare(Op::Equal), 2, 2),
        "Ne" | "Unequality" | "ne" => (Compare(Op::NotEqual), 2, 2),
        "Lt" | "StrictLessThan" | "lt" => (Compare(Op::Less), 2, MANY),
        "Le" | "LessThan" | "le" => (Compare(Op::LessEqual), 2, MANY),
        "Gt" | "StrictGreaterThan" | "gt" => (Compare(Op::Greater), 2, MANY),
        "Ge" | "GreaterThan" | "ge" => (Compare(Op::GreaterEqual), 2, MANY),
        "And" => (And, 0, MANY),
        "Or" => (Or, 0, MANY),
        "Not" | "sym_not" | "not_" => (Not, 1, 1),
        "Xor" => (Xor, 0, MANY),
        "Add" | "add" | "sym_sum" => (Add, 0, MANY),
        "Mul" | "mul" => (Mul, 0, MANY),
        "Pow" | "pow" => (Pow, 2, 2),
        "PowByNatural" => (PowByNatural, 2, 2),
        "LShift" | "lshift" => (LeftShift, 2, 2),
        "RShift" | "rshift" => (RightShift, 2, 2),
        "BitwiseFn_bitwise_and" | "bitwise_and" | "and_" => (Bitwise(Func::BitAnd), 2, 2),
        "BitwiseFn_bitwise_or" | "bitwise_or" | "or_" => (Bitwise(Func::BitOr), 2, 2),
        "BitwiseFn_bitwise_xor" | "bitwise_xor" | "xor" => (Bitwise(Func::BitXor), 2, 2),
        "ToFloat" | "sym_float" => (ToFloat, 1, 1),
        "IntTrueDiv" | "truediv" => (TrueDiv { float: false }, 2, 2),
        "FloatTrueDiv" => (TrueDiv { float: true }, 2, 2),
        "FloatPow" => (FloatPow, 2, 2),
        "TruncToInt" | "trunc" | "int" | "sym_int" => (Rounding(Func::Trunc), 1, 1),
        "FloorToInt" | "floor" => (Rounding(Func::Floor), 1, 1),
        "CeilToInt" | "ceil" | "ceiling" => (Rounding(Func::Ceil), 1, 1),
        "RoundToInt" => (Rounding(Func::Round), 1, 1),
        "round" => (Round, 1, 2),
        "RoundDecimal" => (RoundDecimal, 2, 2),
        "TruncToFloat" => (TruncToFloat, 1, 1),
        "IsNonOverlappingAndDenseIndicator" => (DenseIndicator, 0, MANY),
        "Identity" => (Identity, 1, 1),
        "bool" => (Truth, 1, 1),
        "Rational" => (Rational, 1, 2),
        "Float" | "float" => (Float, 1, 1),
        "IntInfinity" | "Infinity" => (Infinity { negative: false }, 0, 0),
        "NegativeIntInfinity" | "NegativeInfinity" => (Infinity { negative: true }, 0, 0),
        _ => {
            let real = ["OpaqueUnaryFn_", "_sym_", "sym_"].iter().find_map(|p| bare.strip_prefix(p));
            (Real(real_function(real.unwrap_or(bare))?), 1, 1)
        }
    })
}

/// Whether a name means something in expressions, so that it is better not that of a symbol: a function or a number.
pub fn has_meaning(name: &str) -> bool {
    lookup(name).is_some()
        || matches!(name, "true" | "false" | "oo" | "int_oo" | "zoo" | "nan" | "inf" | "pi")
}

fn real_function(name: &str) -> Option<Func> {
    REAL_FUNCTIONS.iter().find(|(n, _)| *n == name).map(|(_, func)| *func)
}

/// The functions of one double by the names of Python's `math`.
pub(super) const REAL_FUNCTIONS: [(&str, Func); 14] = [
    ("sqrt", Func::Sqrt),
    ("cos", Func::Cos),
    ("cosh", Func::Cosh),
    ("sin", Func::Sin),
    ("sinh", Func::Sinh),
    ("tan", Func::Tan),
    ("tanh", Func::Tanh),
    ("asin", Func::Asin),
    ("acos", Func::Acos),
    ("atan", Func::Atan),
    ("asinh", Func::Asinh),
    ("exp", Func::Exp),
    ("log", Func::Log),
    ("log2", Func::Log2),
];
