//! The text of one node, given the texts of its operands.
use super::functions::REAL_FUNCTIONS;
use super::print_order::{degree, natural_order, reading_class, reading_order, subject};
use super::printer::{Binding, Piece, Printer, Style};
use crate::node::Node;
use crate::{Expr, Func, Int};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cmp::Reverse;

/// The magnitude of `coefficient` times `monomial`, negated or not.
#[derive(Clone, Copy)]
pub(super) struct PrintedTerm<'a> {
    pub(super) monomial: Expr,
    pub(super) coefficient: &'a Int,
    pub(super) negative: bool,
}

/// A term with what it is sorted by: its degree, the class of its text ([`reading_class`]), and its text.
type Ranked<'a> = (Reverse<u64>, u8, Piece, PrintedTerm<'a>);

/// The terms of a sum, or of one side of a comparison.
pub(super) type Terms<'a> = SmallVec<[PrintedTerm<'a>; 4]>;

impl<'a> Printer<'a> {
    /// The text of a node whose operands have been written.
    pub(super) fn node(&mut self, e: Expr) -> Piece {
        let pool = self.pool;
        match pool.node(e) {
            None => self.piece(e),
            Some(Node::Int(value)) => self.piece_of(|p| p.integer(value, value.is_negative())),
            Some(Node::Float(value)) => self.piece_of(|p| p.float(value.0)),
            Some(Node::Bool(true)) => self.piece_of(|p| p.atom("True")),
            Some(Node::Bool(false)) => self.piece_of(|p| p.atom("False")),
            Some(Node::Symbol(symbol)) => self.piece_of(|p| {
                (p.names)(*symbol, &mut p.text);
                Binding::Atom
            }),
            Some(Node::Sum { constant, terms }) => {
                let signed = terms.iter().map(|(monomial, coefficient)| PrintedTerm {
                    monomial: *monomial,
                    coefficient,
                    negative: coefficient.is_negative(),
                });
                let terms: Terms<'_> = signed.collect();
                self.piece_of(|p| p.linear(&terms, constant, constant.is_negative()))
            }
            Some(Node::Product(factors)) => self.product(factors),
            Some(Node::Call(func, args)) => self.call(e, *func, args),
        }
    }

    /// Appends the magnitude of an integer, with a minus sign in front if it is to be `negative`.
    pub(super) fn integer(&mut self, value: &Int, negative: bool) -> Binding {
        if negative {
            self.text.push('-');
        }
        match value {
            Int::Small(v) => self.text.push_str(itoa::Buffer::new().format(v.unsigned_abs())),
            Int::Big(_) => self.text.push_str(&value.abs().to_string()),
        }
        if negative { Binding::Unary } else { Binding::Atom }
    }

    /// Appends a double as a literal that reads back to the same bits; infinity as one beyond the range of doubles.
    pub(super) fn float(&mut self, value: f64) -> Binding {
        let start = self.text.len();
        match value {
            f64::INFINITY => self.text.push_str("1e999"),
            f64::NEG_INFINITY => self.text.push_str("-1e999"),
            v if v.is_nan() => self.text.push_str("nan"),
            v => self.text.push_str(&format!("{v:?}")),
        }
        if self.text[start..].starts_with('-') { Binding::Unary } else { Binding::Atom }
    }

    fn product(&mut self, factors: &[(Expr, u32)]) -> Piece {
        let mut pieces: SmallVec<[Piece; 4]> = SmallVec::with_capacity(factors.len());
        for &(atom, power) in factors {
            let base = self.piece(atom);
            pieces.push(match power {
                1 => self.enclosed(Binding::Unary, base),
                _ => self.piece_of(|p| {
                    p.push_at_least(Binding::Atom, base);
                    p.text.push_str("**");
                    p.number(i64::from(power));
                    Binding::Power
                }),
            });
        }
        self.sort(&mut pieces);
        // A single factor has a power: else it would be no product.
        let binding = if let [_] = factors { Binding::Power } else { Binding::Product };
        self.piece_of(|p| {
            p.join(&pieces, "*");
            binding
        })
    }

    /// Sorts texts of operands whose order is free.
    fn sort(&self, pieces: &mut [Piece]) {
        pieces.sort_by(|&a, &b| reading_order(self.shown(a), self.shown(b)));
    }

    /// The text of a subexpression, in brackets unless it binds at least as tightly as `least`.
    fn enclosed(&mut self, least: Binding, piece: Piece) -> Piece {
        match piece.binding >= least {
            true => piece,
            false => self.piece_of(|p| {
                p.push_at_least(least, piece);
                Binding::Atom
            }),
        }
    }

    fn join(&mut self, pieces: &[Piece], separator: &str) {
        for (i, &piece) in pieces.iter().enumerate() {
            if i > 0 {
                self.text.push_str(separator);
            }
            self.push(piece);
        }
    }

    /// Appends a sum: by degree, then by name, a positive term first if there is one, and the constant last.
    /// The constant's magnitude is written, with a minus sign if it is `negative`.
    pub(super) fn linear(&mut self, terms: &[PrintedTerm<'_>], constant: &Int, negative: bool) -> Binding {
        if terms.is_empty() {
            return self.integer(constant, negative);
        }
        let mut terms: SmallVec<[Ranked<'_>; 4]> = terms
            .iter()
            .map(|&term| {
                let piece = self.piece(term.monomial);
                (Reverse(degree(self.pool, term.monomial)), reading_class(self.shown(piece)), piece, term)
            })
            .collect();
        terms.sort_by(|(d, c, p, _), (e, b, q, _)| {
            (d, c).cmp(&(e, b)).then_with(|| natural_order(self.shown(*p), self.shown(*q)))
        });
        let first = terms.iter().position(|(.., term)| !term.negative);
        if let Some(first) = first {
            terms[..=first].rotate_right(1);
        }
        let constant_first = first.is_none() && !constant.is_zero() && !negative;
        if constant_first {
            self.integer(constant, false);
        }
        let single = terms.len() == 1 && constant.is_zero();
        let binding = match terms.first() {
            Some((.., piece, term)) if single && !term.negative && is_unit(term.coefficient) => piece.binding,
            _ if single => Binding::Product,
            _ => Binding::Sum,
        };
        for (i, (.., piece, term)) in terms.iter().enumerate() {
            self.push_term(*piece, term, i == 0 && !constant_first);
        }
        if !constant_first && !constant.is_zero() {
            self.text.push_str(if negative { " - " } else { " + " });
            self.integer(constant, false);
        }
        binding
    }

    /// Appends a term to a sum.
    fn push_term(&mut self, piece: Piece, term: &PrintedTerm<'_>, first: bool) {
        self.text.push_str(match (first, term.negative) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        });
        if is_unit(term.coefficient) {
            // A leading minus binds more tightly than a quotient does.
            let least = if first && term.negative { Binding::Product } else { Binding::Quotient };
            self.push_at_least(least, piece);
        } else {
            self.integer(term.coefficient, false);
            self.text.push('*');
            self.push_at_least(Binding::Product, piece);
        }
    }

    /// Sums, products and comparisons of doubles; `a` and `b` are the pieces of the operands.
    fn call_on_doubles(&mut self, func: Func, args: &[Expr], a: Piece, b: Piece) -> Piece {
        match func {
            Func::FloatAdd => {
                let (a, b) = self.number_last(args, a, b);
                // A constant stands last.
                match args.iter().find_map(|&e| self.pool.as_float(e)) {
                    Some(v) if v.is_sign_negative() && !v.is_nan() => self.piece_of(|p| {
                        p.push_at_least(Binding::Sum, a);
                        p.text.push_str(" - ");
                        p.float(-v);
                        Binding::Sum
                    }),
                    _ => match args.iter().find_map(|&e| self.pool.as_int(e)) {
                        Some(v) if v.is_negative() => self.piece_of(|p| {
                            p.push_at_least(Binding::Sum, a);
                            p.text.push_str(" - ");
                            p.integer(&v, false);
                            Binding::Sum
                        }),
                        _ => self.infix(" + ", Binding::Sum, a, b),
                    },
                }
            }
            Func::FloatMul => {
                let (a, b) = self.number_last(args, a, b);
                let constant = args.iter().any(|&e| self.pool.is_constant(e));
                let (a, b) = if constant { (b, a) } else { (a, b) };
                self.infix("*", Binding::Product, a, b)
            }
            Func::FloatEq => {
                let (a, b) = self.number_last(args, a, b);
                self.float_equation("Eq(", " == ", a, b)
            }
            Func::FloatLt => self.infix(" < ", Binding::Comparison, a, b),
            _ => self.infix(" <= ", Binding::Comparison, a, b),
        }
    }

    fn call(&mut self, e: Expr, func: Func, args: &[Expr]) -> Piece {
        let sympy = self.style == Style::Sympy;
        match (func, args) {
            (Func::IsZero, &[p]) => return self.equation(p, true),
            (Func::NotPositive, &[p]) => return self.inequality(p),
            (Func::Not, &[a]) => return self.negation(a),
            _ => {}
        }
        let mut pieces: SmallVec<[Piece; 4]> = args.iter().map(|&a| self.piece(a)).collect();
        match (func, pieces.as_slice()) {
            (Func::And | Func::Or, _) => self.connective(func, &pieces),
            (Func::FloorDiv, &[a, b]) if sympy => self.piece_of(|p| {
                p.text.push('(');
                p.push_at_least(Binding::Atom, a);
                p.text.push_str("//");
                p.push_at_least(Binding::Atom, b);
                p.atom(")")
            }),
            (Func::FloorDiv, &[a, b]) => self.quotient(" // ", a, b),
            (Func::Mod, &[a, b]) if !sympy => self.quotient(" % ", a, b),
            (Func::Ratio, &[a, b]) => self.quotient("/", a, b),
            (Func::IntTrueDiv | Func::FloatTrueDiv, &[a, b]) if !sympy => self.quotient(" / ", a, b),
            (Func::Min | Func::Max, _) => {
                // Which one of equal numbers is taken matters if one is an integer and the other one a double.
                if !self.pool.may_be_integer(e) {
                    self.sort(&mut pieces);
                }
                let name = match (func, sympy) {
                    (Func::Min, true) => "Min",
                    (Func::Min, false) => "min",
                    (_, true) => "Max",
                    (_, false) => "max",
                };
                self.named("", name, &pieces)
            }
            (Func::Pow, _)
                if args.get(1).and_then(|&n| self.pool.as_int(n)).is_some_and(|k| k.is_negative()) =>
            {
                self.named("", "PowByNatural", &pieces)
            }
            (Func::Pow, &[a, n]) => self.power(a, n),
            (Func::FloatPow, &[a, n]) if !sympy || self.pool.may_be_integer(e) => self.power(a, n),
            (Func::Ite, &[c, p, q]) if !sympy => self.piece_of(|printer| {
                printer.push_at_least(Binding::Or, p);
                printer.text.push_str(" if ");
                printer.push_at_least(Binding::Or, c);
                printer.text.push_str(" else ");
                printer.push_at_least(Binding::Conditional, q);
                Binding::Conditional
            }),
            (Func::BitAnd | Func::BitOr | Func::BitXor, &[a, b]) => {
                let (a, b) = self.number_last(args, a, b);
                match func {
                    _ if sympy => self.named("", &call_name(func, true).1, &[a, b]),
                    Func::BitAnd => self.infix(" & ", Binding::BitAnd, a, b),
                    Func::BitOr => self.infix(" | ", Binding::BitOr, a, b),
                    _ => self.infix(" ^ ", Binding::BitXor, a, b),
                }
            }
            (Func::FloatAdd | Func::FloatMul | Func::FloatEq | Func::FloatLt | Func::FloatLe, &[a, b]) => {
                self.call_on_doubles(func, args, a, b)
            }
            (Func::RoundDecimal, _) if self.pool.may_be_integer(e) => self.named("", "round", &pieces),
            (Func::TruncToFloat, _) if !sympy => self.piece_of(|p| {
                p.text.push_str("float(math.trunc(");
                p.join(&pieces, ", ");
                p.atom("))")
            }),
            _ => {
                let (prefix, name) = call_name(func, sympy);
                self.named(prefix, &name, &pieces)
            }
        }
    }

    /// A call of a function by its name.
    fn named(&mut self, prefix: &str, name: &str, args: &[Piece]) -> Piece {
        self.piece_of(|p| {
            p.text.push_str(prefix);
            p.text.push_str(name);
            p.text.push('(');
            p.join(args, ", ");
            p.atom(")")
        })
    }

    /// The texts of two operands whose order is free, a constant last.
    pub(super) fn number_last(&self, args: &[Expr], a: Piece, b: Piece) -> (Piece, Piece) {
        let constant = |i: usize| args.get(i).is_some_and(|&e| self.pool.is_constant(e));
        let order = constant(0).cmp(&constant(1));
        let order = order.then_with(|| reading_order(self.shown(a), self.shown(b)));
        if order.is_gt() { (b, a) } else { (a, b) }
    }

    /// A binary operator that associates to the left.
    fn infix(&mut self, op: &str, binding: Binding, a: Piece, b: Piece) -> Piece {
        let left = if binding == Binding::Comparison { Binding::BitOr } else { binding };
        self.piece_of(|p| {
            p.push_at_least(left, a);
            p.text.push_str(op);
            p.push_bare(b.binding > binding, b);
            binding
        })
    }

    /// A quotient or remainder; a dividend that is a sum, product or quotient is put in brackets.
    fn quotient(&mut self, op: &str, a: Piece, b: Piece) -> Piece {
        self.piece_of(|p| {
            p.push_at_least(Binding::Unary, a);
            p.text.push_str(op);
            p.push_at_least(Binding::Unary, b);
            Binding::Quotient
        })
    }

    fn power(&mut self, a: Piece, n: Piece) -> Piece {
        self.piece_of(|p| {
            p.push_at_least(Binding::Atom, a);
            p.text.push_str("**");
            p.push_at_least(Binding::Unary, n);
            Binding::Power
        })
    }

    fn connective(&mut self, func: Func, args: &[Piece]) -> Piece {
        let (op, binding, least) = match (self.style, func) {
            (Style::Sympy, Func::And) => (" & ", Binding::BitAnd, Binding::Unary),
            (Style::Sympy, _) => (" | ", Binding::BitOr, Binding::Unary),
            (Style::Python, Func::And) => (" and ", Binding::And, Binding::Not),
            (Style::Python, _) => (" or ", Binding::Or, Binding::Not),
        };
        let mut pieces: SmallVec<[Piece; 4]> = args.iter().map(|&a| self.enclosed(least, a)).collect();
        pieces.sort_by(|&a, &b| {
            let (a, b) = (self.shown(a), self.shown(b));
            natural_order(subject(a), subject(b)).then_with(|| a.cmp(b))
        });
        self.piece_of(|p| {
            p.join(&pieces, op);
            binding
        })
    }
}

/// Whether a coefficient is 1 or -1.
pub(super) fn is_unit(c: &Int) -> bool {
    matches!(c, Int::Small(1 | -1))
}

/// The name of a function that is written as a call, and what stands before it.
fn call_name(func: Func, sympy: bool) -> (&'static str, Cow<'static, str>) {
    if let Some((name, _)) = REAL_FUNCTIONS.iter().find(|(_, f)| *f == func) {
        return (if sympy { "OpaqueUnaryFn_" } else { "math." }, Cow::Borrowed(name));
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
        _ => return ("", Cow::Owned(format!("{func:?}"))),
    };
    ("", Cow::Borrowed(if sympy { in_sympy } else { in_python }))
}
