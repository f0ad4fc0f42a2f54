//! How functions on numbers are written: as operators, and with which names of parameters.

/// How an operator of Python is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// Before its operand.
    Prefix(&'static str),
    /// Between its operands.
    Infix(&'static str),
}

/// The functions of `operator` that generated Python writes as operators.
const OPERATORS: &[(&str, Notation)] = &[
    ("eq", Notation::Infix("==")),
    ("ne", Notation::Infix("!=")),
    ("lt", Notation::Infix("<")),
    ("gt", Notation::Infix(">")),
    ("le", Notation::Infix("<=")),
    ("ge", Notation::Infix(">=")),
    ("pos", Notation::Prefix("+")),
    ("neg", Notation::Prefix("-")),
    ("invert", Notation::Prefix("~")),
    ("add", Notation::Infix("+")),
    ("sub", Notation::Infix("-")),
    ("mul", Notation::Infix("*")),
    ("floordiv", Notation::Infix("//")),
    ("truediv", Notation::Infix("/")),
    ("mod", Notation::Infix("%")),
    ("pow", Notation::Infix("**")),
    ("lshift", Notation::Infix("<<")),
    ("rshift", Notation::Infix(">>")),
    ("and_", Notation::Infix("&")),
    ("or_", Notation::Infix("|")),
    ("xor", Notation::Infix("^")),
];

/// How a function of `operator` is written.
pub(super) fn notation(function: &str) -> Option<Notation> {
    OPERATORS.iter().find(|entry| entry.0 == function).map(|entry| entry.1)
}

/// The function that an infix operator stands for.
pub(super) fn infix(symbol: &str) -> Option<&'static str> {
    OPERATORS
        .iter()
        .find(|entry| matches!(entry.1, Notation::Infix(known) if known == symbol))
        .map(|entry| entry.0)
}

/// The function that a prefix operator stands for.
pub(super) fn prefix(symbol: &str) -> Option<&'static str> {
    OPERATORS
        .iter()
        .find(|entry| matches!(entry.1, Notation::Prefix(known) if known == symbol))
        .map(|entry| entry.0)
}

/// The names of a Python function's parameters, as programs record them; the last repeats.
pub(super) fn parameters(module: &str, function: &str) -> &'static [&'static str] {
    match (module, function) {
        ("torch", "sym_ite") => &["b", "t", "f"],
        ("_operator" | "torch", _) => &["a", "b"],
        ("math", _) => &["x"],
        _ => &[""],
    }
}
