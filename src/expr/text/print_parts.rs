//! The text of one node, given the texts of its operands.
use super::functions::REAL_FUNCTIONS;
use super::print::Printer;
use crate::expr::node::Node;
use crate::expr::{Expr, Func, Int, Pool};
use std::cmp::Ordering;

/// Whose manner an expression is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// `Eq(Mod(s0, 8), 0)`.
    Sympy,
    /// `s0 % 8 == 0`.
    Python,
}

/// How tightly the loosest operator of a text binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Binding {
    Conditional,
    Or,
    And,
    Not,
    Comparison,
    BitOr,
    BitXor,
    BitAnd,
    Sum,
    /// A quotient or remainder: like a product, but not to be multiplied without brackets.
    Quotient,
    Product,
    Unary,
    Power,
    Atom,
}

/// A text with what is to be known to put it into another.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) binding: Binding,
}

impl Piece {
    pub(super) fn atom(text: String) -> Piece {
        Piece { text, binding: Binding::Atom }
    }

    /// A number, which a minus sign makes looser.
    pub(super) fn number(text: String) -> Piece {
        let binding = if text.starts_with('-') { Binding::Unary } else { Binding::Atom };
        Piece { text, binding }
    }

    pub(super) fn at_least(self, least: Binding) -> String {
        if self.binding >= least { self.text } else { format!("({})", self.text) }
    }
}

/// Terms with their coefficients, and a constant.
struct Linear {
    terms: Vec<(Expr, Int)>,
    constant: Int,
}

impl Printer<'_> {
    /// The text of a node whose operands have been written.
    pub(super) fn node_piece(&self, e: Expr) -> Piece {
        match self.pool.node(e) {
            None => self.piece(e),
            Some(Node::Int(value)) => Piece::number(value.to_string()),
            Some(Node::Float(value)) => Piece::number(float_text(value.0)),
            Some(Node::Bool(true)) => Piece::atom("True".to_owned()),
            Some(Node::Bool(false)) => Piece::atom("False".to_owned()),
            Some(Node::Symbol(symbol)) => Piece::atom((self.names)(*symbol)),
            Some(Node::Sum { constant, terms }) => {
                self.linear(Linear { terms: terms.to_vec(), constant: constant.clone() })
            }
            Some(Node::Product(factors)) => self.product(factors),
            Some(Node::Call(func, args)) => self.call(*func, args),
        }
    }

    fn product(&self, factors: &[(Expr, u32)]) -> Piece {
        let mut texts: Vec<String> = factors
            .iter()
            .map(|&(atom, power)| match power {
                1 => self.at_least(Binding::Unary, atom),
                _ => format!("{}**{power}", self.at_least(Binding::Atom, atom)),
            })
            .collect();
        texts.sort_by(|a, b| reading_order(a, b));
        // A single factor has a power: else it would be no product.
        let binding = if let [_] = factors { Binding::Power } else { Binding::Product };
        Piece { text: texts.join("*"), binding }
    }

    /// A sum: by degree, then by name; a positive term first where there is one; the constant last.
    fn linear(&self, sum: Linear) -> Piece {
        let mut terms: Vec<(u64, Piece, Int)> =
            sum.terms.into_iter().map(|(m, c)| (degree(self.pool, m), self.piece(m), c)).collect();
        terms.sort_by(|(d, p, _), (e, q, _)| e.cmp(d).then_with(|| reading_order(&p.text, &q.text)));
        match terms.iter().position(|(_, _, c)| c.is_positive()) {
            Some(first) => terms[..=first].rotate_right(1),
            None if sum.constant.is_positive() => {
                let mut text = sum.constant.to_string();
                for (_, piece, c) in terms {
                    push_term(&mut text, piece, &c);
                }
                return Piece { text, binding: Binding::Sum };
            }
            None => {}
        }
        if terms.is_empty() {
            return Piece::number(sum.constant.to_string());
        }
        let single = terms.len() == 1 && sum.constant.is_zero();
        let binding = match (single, terms.first()) {
            (true, Some((_, piece, c))) if c.is_one() => piece.binding,
            (true, _) => Binding::Product,
            _ => Binding::Sum,
        };
        let mut text = String::new();
        for (_, piece, c) in terms {
            push_term(&mut text, piece, &c);
        }
        if !sum.constant.is_zero() {
            text.push_str(if sum.constant.is_negative() { " - " } else { " + " });
            text.push_str(&sum.constant.abs().to_string());
        }
        Piece { text, binding }
    }

    fn call(&self, func: Func, args: &[Expr]) -> Piece {
        let sympy = self.style == Style::Sympy;
        let named = |name: &str| Piece::atom(format!("{name}({})", self.list(args)));
        match (func, args) {
            (Func::IsZero, &[p]) => self.equation(p, true),
            (Func::NotPositive, &[p]) => self.inequality(p),
            (Func::Not, &[a]) => self.negation(a),
            (Func::And | Func::Or, _) => self.connective(func, args),
            (Func::FloorDiv, &[a, b]) if sympy => Piece::atom(format!(
                "({}//{})",
                self.at_least(Binding::Atom, a),
                self.at_least(Binding::Atom, b)
            )),
            (Func::FloorDiv, &[a, b]) => self.quotient(" // ", a, b),
            (Func::Mod, &[a, b]) if !sympy => self.quotient(" % ", a, b),
            (Func::Ratio, &[a, b]) => self.quotient("/", a, b),
            (Func::IntTrueDiv | Func::FloatTrueDiv, &[a, b]) if !sympy => self.quotient(" / ", a, b),
            (Func::Min | Func::Max, _) => {
                let mut texts: Vec<String> = args.iter().map(|&a| self.piece(a).text).collect();
                texts.sort_by(|a, b| reading_order(a, b));
                let name = match (func, sympy) {
                    (Func::Min, true) => "Min",
                    (Func::Min, false) => "min",
                    (_, true) => "Max",
                    (_, false) => "max",
                };
                Piece::atom(format!("{name}({})", texts.join(", ")))
            }
            (Func::Pow, &[_, n]) if self.pool.as_int(n).is_some_and(|k| k.is_negative()) => {
                named("PowByNatural")
            }
            (Func::Pow, &[a, n]) => self.power(a, n),
            (Func::FloatPow, &[a, n]) if !sympy => self.power(a, n),
            (Func::Ite, &[c, p, q]) if !sympy => Piece {
                text: format!(
                    "{} if {} else {}",
                    self.at_least(Binding::Or, p),
                    self.at_least(Binding::Or, c),
                    self.at_least(Binding::Conditional, q)
                ),
                binding: Binding::Conditional,
            },
            (Func::BitAnd | Func::BitOr | Func::BitXor, &[a, b]) => {
                let (a, b) = self.number_last(a, b);
                match func {
                    _ if sympy => Piece::atom(format!("{}({})", call_name(func, true), self.list(&[a, b]))),
                    Func::BitAnd => self.infix(" & ", Binding::BitAnd, a, b),
                    Func::BitOr => self.infix(" | ", Binding::BitOr, a, b),
                    _ => self.infix(" ^ ", Binding::BitXor, a, b),
                }
            }
            (Func::FloatAdd, &[a, b]) => {
                let (a, b) = self.number_last(a, b);
                match self.pool.as_float(b) {
                    Some(v) if v.is_sign_negative() && !v.is_nan() => Piece {
                        text: format!("{} - {}", self.at_least(Binding::Sum, a), float_text(-v)),
                        binding: Binding::Sum,
                    },
                    _ => self.infix(" + ", Binding::Sum, a, b),
                }
            }
            (Func::FloatMul, &[a, b]) => {
                let (a, b) = self.number_last(a, b);
                let (a, b) = if self.pool.is_constant(b) { (b, a) } else { (a, b) };
                self.infix("*", Binding::Product, a, b)
            }
            (Func::FloatEq, &[a, b]) => {
                let (a, b) = self.number_last(a, b);
                self.comparison("==", self.piece(a), self.piece(b))
            }
            (Func::FloatLt, &[a, b]) => self.infix(" < ", Binding::Comparison, a, b),
            (Func::FloatLe, &[a, b]) => self.infix(" <= ", Binding::Comparison, a, b),
            (Func::TruncToFloat, _) if !sympy => {
                Piece::atom(format!("float(math.trunc({}))", self.list(args)))
            }
            _ => named(&call_name(func, sympy)),
        }
    }

    fn list(&self, args: &[Expr]) -> String {
        args.iter().map(|&a| self.piece(a).text).collect::<Vec<_>>().join(", ")
    }

    /// Two operands whose order is free, a constant last.
    fn number_last(&self, a: Expr, b: Expr) -> (Expr, Expr) {
        let key = |e: Expr| (self.pool.is_constant(e), self.piece(e).text);
        let ((p, x), (q, y)) = (key(a), key(b));
        if p.cmp(&q).then_with(|| reading_order(&x, &y)).is_gt() { (b, a) } else { (a, b) }
    }

    /// A binary operator that associates to the left.
    fn infix(&self, op: &str, binding: Binding, a: Expr, b: Expr) -> Piece {
        let left = if binding == Binding::Comparison { Binding::BitOr } else { binding };
        let (left, right) = (self.piece(a).at_least(left), self.piece(b));
        let right = if right.binding > binding { right.text } else { format!("({})", right.text) };
        Piece { text: format!("{left}{op}{right}"), binding }
    }

    /// A quotient or remainder; what is divided stands in brackets when it is a sum, product or quotient.
    fn quotient(&self, op: &str, a: Expr, b: Expr) -> Piece {
        let text = format!("{}{op}{}", self.at_least(Binding::Unary, a), self.at_least(Binding::Unary, b));
        Piece { text, binding: Binding::Quotient }
    }

    fn power(&self, a: Expr, n: Expr) -> Piece {
        let text = format!("{}**{}", self.at_least(Binding::Atom, a), self.at_least(Binding::Unary, n));
        Piece { text, binding: Binding::Power }
    }

    fn connective(&self, func: Func, args: &[Expr]) -> Piece {
        let (op, binding, least) = match (self.style, func) {
            (Style::Sympy, Func::And) => (" & ", Binding::BitAnd, Binding::Unary),
            (Style::Sympy, _) => (" | ", Binding::BitOr, Binding::Unary),
            (Style::Python, Func::And) => (" and ", Binding::And, Binding::Not),
            (Style::Python, _) => (" or ", Binding::Or, Binding::Not),
        };
        let mut texts: Vec<String> = args.iter().map(|&a| self.at_least(least, a)).collect();
        texts.sort_by(|a, b| natural_order(subject(a), subject(b)).then_with(|| a.cmp(b)));
        Piece { text: texts.join(op), binding }
    }

    fn negation(&self, a: Expr) -> Piece {
        match (self.pool.as_call(a), self.style) {
            (Some((Func::IsZero, &[p])), _) => self.equation(p, false),
            (Some((Func::FloatEq, &[a, b])), _) => {
                let (a, b) = self.number_last(a, b);
                self.comparison("!=", self.piece(a), self.piece(b))
            }
            (_, Style::Sympy) => {
                Piece { text: format!("~{}", self.at_least(Binding::Atom, a)), binding: Binding::Unary }
            }
            (_, Style::Python) => {
                Piece { text: format!("not {}", self.at_least(Binding::Not, a)), binding: Binding::Not }
            }
        }
    }

    fn comparison(&self, op: &str, a: Piece, b: Piece) -> Piece {
        let function = match op {
            "==" => "Eq",
            "!=" => "Ne",
            _ => "",
        };
        if self.style == Style::Sympy && !function.is_empty() {
            return Piece::atom(format!("{function}({}, {})", a.text, b.text));
        }
        let text = format!("{} {op} {}", a.at_least(Binding::BitOr), b.at_least(Binding::BitOr));
        Piece { text, binding: Binding::Comparison }
    }

    /// `p == 0` or `p != 0`.
    fn equation(&self, p: Expr, equal: bool) -> Piece {
        let Sides { left, right, constant, .. } = self.sides(p, true);
        let left = self.linear(Linear { terms: left, constant: Int::ZERO });
        let right = self.linear(Linear { terms: right, constant });
        self.comparison(if equal { "==" } else { "!=" }, left, right)
    }

    /// `p <= 0`.
    fn inequality(&self, p: Expr) -> Piece {
        let Sides { left, right, constant, swapped } = self.sides(p, false);
        // One constant step between variable sides is what a strict comparison says.
        let step = Int::from(if swapped { 1 } else { -1 });
        let strict = !right.is_empty() && constant == step;
        let constant = if strict { Int::ZERO } else { constant };
        let op = match (swapped, strict) {
            (false, false) => "<=",
            (false, true) => "<",
            (true, false) => ">=",
            (true, true) => ">",
        };
        let left = self.linear(Linear { terms: left, constant: Int::ZERO });
        let right = self.linear(Linear { terms: right, constant });
        self.comparison(op, left, right)
    }

    /// The sides on which the terms of a comparison of `p` with zero are written; an equation is rather solved for a symbol, an
    /// inequality rather without a negative constant.
    fn sides(&self, p: Expr, solved: bool) -> Sides {
        let poly = self.pool.poly(p);
        let (mut positive, mut negative) = (Vec::new(), Vec::new());
        for (monomial, c) in poly.terms {
            if c.is_positive() { positive.push((monomial, c)) } else { negative.push((monomial, -c)) }
        }
        let straight = Sides { left: positive, right: negative, constant: -&poly.constant, swapped: false };
        let swapped = Sides {
            left: straight.right.clone(),
            right: straight.left.clone(),
            constant: poly.constant,
            swapped: true,
        };
        match (straight.left.is_empty(), straight.right.is_empty()) {
            (true, _) => swapped,
            (_, true) => straight,
            _ if self.compare_sides(&swapped, &straight, solved).is_lt() => swapped,
            _ => straight,
        }
    }

    /// Which of two ways to write a comparison is the better (lesser) one: a plain symbol on the left and no negative constant on the
    /// right (which of them first, `solved` says), else the longer side on the left, else the names in order.
    fn compare_sides(&self, a: &Sides, b: &Sides, solved: bool) -> Ordering {
        let rank = |sides: &Sides| {
            let plain = |side: &[(Expr, Int)]| match side {
                [(m, c)] => c.is_one() && self.pool.as_symbol(*m).is_some(),
                _ => false,
            };
            let text = self.linear(Linear { terms: sides.left.clone(), constant: Int::ZERO }).text;
            let length = if plain(&sides.left) { 0 } else { text.len() };
            // A negative step of one becomes a strict comparison.
            let negative = sides.constant.is_negative() && sides.constant != Int::from(-1);
            let compound = !plain(&sides.left);
            let (first, second) = if solved { (compound, negative) } else { (negative, compound) };
            (first, second, std::cmp::Reverse(length), text)
        };
        let ((p, q, r, text_a), (x, y, z, text_b)) = (rank(a), rank(b));
        (p, q, r).cmp(&(x, y, z)).then_with(|| reading_order(&text_a, &text_b))
    }
}

/// A comparison of `left` with `right + constant`, all coefficients positive: `left - right - constant` is the polynomial that is
/// compared with zero, or its negative when `swapped`.
struct Sides {
    left: Vec<(Expr, Int)>,
    right: Vec<(Expr, Int)>,
    constant: Int,
    swapped: bool,
}

/// Appends `c * piece` to a sum.
fn push_term(text: &mut String, piece: Piece, c: &Int) {
    let first = text.is_empty();
    text.push_str(match (first, c.is_negative()) {
        (true, true) => "-",
        (true, false) => "",
        (false, true) => " - ",
        (false, false) => " + ",
    });
    let magnitude = c.abs();
    if magnitude.is_one() {
        // A leading minus binds more tightly than a quotient does.
        let least = if first && c.is_negative() { Binding::Product } else { Binding::Quotient };
        text.push_str(&piece.at_least(least));
    } else {
        text.push_str(&format!("{magnitude}*{}", piece.at_least(Binding::Product)));
    }
}

/// The number of factors of a monomial.
fn degree(pool: &Pool, monomial: Expr) -> u64 {
    match pool.node(monomial) {
        Some(Node::Product(factors)) => factors.iter().map(|(_, power)| u64::from(*power)).sum(),
        _ => 1,
    }
}

/// The order of operands of an operation that has none: numbers, names, calls, what begins with a bracket; each by
/// name.
fn reading_order(a: &str, b: &str) -> Ordering {
    let class = |text: &str| match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'-') => 0,
        Some(b'(') => 3,
        _ if text.contains('(') => 2,
        _ => 1,
    };
    class(a).cmp(&class(b)).then_with(|| natural_order(a, b))
}

/// What a condition begins to speak of: `s0 >= 2` of `(s0 >= 2)`, `s0, 2)` of `Ne(s0, 2)`. Conditions on one symbol stand
/// together when they are sorted by it.
fn subject(condition: &str) -> &str {
    let mut rest = condition;
    while let Some(shorter) =
        ["(", "~", "not ", "Eq(", "Ne(", "Mod("].iter().find_map(|p| rest.strip_prefix(p))
    {
        rest = shorter;
    }
    rest
}

/// The order of texts in which runs of digits compare as numbers, so that `s2` comes before `s10`.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (a_bytes, b_bytes) = (a.as_bytes(), b.as_bytes());
    let (mut i, mut j) = (0, 0);
    while i < a_bytes.len() && j < b_bytes.len() {
        let (x, y) = (digits_at(a_bytes, i), digits_at(b_bytes, j));
        if x > i && y > j {
            let (p, q) = (a[i..x].trim_start_matches('0'), b[j..y].trim_start_matches('0'));
            match p.len().cmp(&q.len()).then_with(|| p.cmp(q)) {
                Ordering::Equal => (i, j) = (x, y),
                order => return order,
            }
        } else if a_bytes[i] == b_bytes[j] {
            (i, j) = (i + 1, j + 1);
        } else {
            return a_bytes[i].cmp(&b_bytes[j]);
        }
    }
    (a_bytes.len() - i).cmp(&(b_bytes.len() - j)).then_with(|| a.cmp(b))
}

/// The end of the run of digits that begins at `start`.
fn digits_at(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |n| start + n)
}

/// A double as a literal that reads back to the same bits; infinity as one beyond the range of doubles.
fn float_text(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "1e999" } else { "-1e999" }.to_owned();
    }
    if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }
}

/// The name of a function that is written as a call.
fn call_name(func: Func, sympy: bool) -> String {
    if let Some((name, _)) = REAL_FUNCTIONS.iter().find(|(_, f)| *f == func) {
        return if sympy { format!("OpaqueUnaryFn_{name}") } else { format!("math.{name}") };
    }
    let (in_sympy, in_python) = match func {
        Func::Mod => ("Mod", "Mod"),
        Func::Abs => ("Abs", "abs"),
        Func::Ite => ("Where", "Where"),
        Func::BitAnd => ("BitwiseFn_bitwise_and", "BitwiseFn_bitwise_and"),
        Func::BitOr => ("BitwiseFn_bitwise_or", "BitwiseFn_bitwise_or"),
        Func::BitXor => ("BitwiseFn_bitwise_xor", "BitwiseFn_bitwise_xor"),
        Func::DenseIndicator => ("IsNonOverlappingAndDenseIndicator", "IsNonOverlappingAndDenseIndicator"),
        Func::Trunc => ("TruncToInt", "math.trunc"),
        Func::Floor => ("FloorToInt", "math.floor"),
        Func::Ceil => ("CeilToInt", "math.ceil"),
        Func::Round => ("RoundToInt", "round"),
        Func::ToFloat => ("ToFloat", "float"),
        Func::IntTrueDiv => ("IntTrueDiv", "IntTrueDiv"),
        Func::FloatTrueDiv => ("FloatTrueDiv", "FloatTrueDiv"),
        Func::FloatPow => ("FloatPow", "FloatPow"),
        Func::RoundDecimal => ("RoundDecimal", "round"),
        Func::TruncToFloat => ("TruncToFloat", "TruncToFloat"),
        // What remains is written by operators.
        _ => return format!("{func:?}"),
    };
    if sympy { in_sympy } else { in_python }.to_owned()
}
