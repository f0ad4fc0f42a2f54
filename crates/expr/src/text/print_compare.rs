//! The text of a comparison: positive terms on both sides, the constant on the right.
use super::print_order::reading_order;
use super::print_parts::{PrintedTerm, Terms, is_unit};
use super::printer::{Binding, Piece, Printer, Style};
use crate::node::Node;
use crate::{Expr, Func, Int, Pool};
use std::borrow::Cow;
use std::cmp::Ordering;

impl Printer<'_> {
    pub(super) fn negation(&mut self, a: Expr) -> Piece {
        match self.pool.as_call(a) {
            Some((Func::IsZero, &[p])) => return self.equation(p, false),
            Some((Func::FloatEq, args @ &[a, b])) => {
                let (a, b) = (self.piece(a), self.piece(b));
                let (a, b) = self.number_last(args, a, b);
                return self.float_equation("Ne(", " != ", a, b);
            }
            _ => {}
        }
        let a = self.piece(a);
        let (sign, least, binding) = match self.style {
            Style::Sympy => ("~", Binding::Atom, Binding::Unary),
            Style::Python => ("not ", Binding::Not, Binding::Not),
        };
        self.piece_of(|p| {
            p.text.push_str(sign);
            p.push_at_least(least, a);
            binding
        })
    }

    /// An equation of doubles.
    pub(super) fn float_equation(&mut self, function: &str, op: &str, a: Piece, b: Piece) -> Piece {
        let push = |piece: Piece| {
            move |p: &mut Self| {
                p.push(piece);
                piece.binding
            }
        };
        self.equated(function, op, push(a), push(b))
    }

    /// `Eq(a, b)`, or `a == b` in Python.
    fn equated(
        &mut self,
        function: &str,
        op: &str,
        a: impl FnOnce(&mut Self) -> Binding,
        b: impl FnOnce(&mut Self) -> Binding,
    ) -> Piece {
        if self.style == Style::Python {
            return self.compared(op, a, b);
        }
        self.piece_of(|p| {
            p.text.push_str(function);
            a(p);
            p.text.push_str(", ");
            b(p);
            p.atom(")")
        })
    }

    /// `a op b`, the sides in brackets where they bind loosely.
    fn compared(
        &mut self,
        op: &str,
        a: impl FnOnce(&mut Self) -> Binding,
        b: impl FnOnce(&mut Self) -> Binding,
    ) -> Piece {
        let enclose = |p: &mut Self, side: Piece| {
            if side.binding < Binding::BitOr {
                p.text.insert(side.range().start, '(');
                p.text.push(')');
            }
        };
        self.piece_of(|p| {
            let left = p.piece_of(a);
            enclose(p, left);
            p.text.push_str(op);
            let right = p.piece_of(b);
            enclose(p, right);
            Binding::Comparison
        })
    }

    /// `p == 0` or `p != 0`.
    pub(super) fn equation(&mut self, p: Expr, equal: bool) -> Piece {
        let poly = Compared::new(self.pool, p);
        let Sides { left, right, constant, negative, .. } = self.sides(&poly, true);
        let (function, op) = if equal { ("Eq(", " == ") } else { ("Ne(", " != ") };
        self.equated(
            function,
            op,
            |p| p.linear(&left, &Int::ZERO, false),
            |p| p.linear(&right, constant, negative),
        )
    }

    /// `p <= 0`.
    pub(super) fn inequality(&mut self, p: Expr) -> Piece {
        let poly = Compared::new(self.pool, p);
        let Sides { left, right, constant, negative, swapped } = self.sides(&poly, false);
        // One constant step between variable sides is what a strict comparison says.
        let strict = !right.is_empty() && is_unit(constant) && negative != swapped;
        let (constant, negative) = if strict { (&Int::ZERO, false) } else { (constant, negative) };
        let op = match (swapped, strict) {
            (false, false) => " <= ",
            (false, true) => " < ",
            (true, false) => " >= ",
            (true, true) => " > ",
        };
        self.compared(op, |p| p.linear(&left, &Int::ZERO, false), |p| p.linear(&right, constant, negative))
    }

    /// The sides on which the terms of a polynomial that is compared with zero are written. An equation is
    /// preferably solved for a symbol; an inequality preferably has no negative constant.
    fn sides<'p>(&mut self, p: &'p Compared<'_>, solved: bool) -> Sides<'p> {
        let (positive, negative) = (p.side(false), p.side(true));
        let swapped = match (positive.is_empty(), negative.is_empty()) {
            (true, _) => true,
            (_, true) => false,
            _ => self.better_swapped(p, &positive, &negative, solved),
        };
        let (left, right) = if swapped { (negative, positive) } else { (positive, negative) };
        // `left <= right - constant` or, swapped, `left >= right + constant`.
        let negative = if swapped { p.constant.is_negative() } else { p.constant.is_positive() };
        Sides { left, right, constant: &p.constant, negative, swapped }
    }

    /// Whether the negative terms of a comparison are written on the left. Preferred are a plain symbol on
    /// the left and no negative constant on the right (`solved` says which of them comes first), then the
    /// longer side on the left, then the names in order.
    fn better_swapped(
        &mut self,
        p: &Compared<'_>,
        positive: &[PrintedTerm<'_>],
        negative: &[PrintedTerm<'_>],
        solved: bool,
    ) -> bool {
        let pool = self.pool;
        let rank = |left: &[PrintedTerm<'_>], negative: bool| {
            let plain = match left {
                [only] => is_unit(only.coefficient) && pool.as_symbol(only.monomial).is_some(),
                _ => false,
            };
            // A negative step of one becomes a strict comparison.
            let negative = negative && !is_unit(&p.constant);
            if solved { (!plain, negative) } else { (negative, !plain) }
        };
        let straight = rank(positive, p.constant.is_positive());
        let swapped = rank(negative, p.constant.is_negative());
        if straight != swapped {
            return swapped < straight;
        }
        let end = self.text.len();
        let a = self.piece_of(|p| p.linear(negative, &Int::ZERO, false));
        let b = self.piece_of(|p| p.linear(positive, &Int::ZERO, false));
        let (text_a, text_b) = (self.shown(a), self.shown(b));
        let plain = if solved { !straight.0 } else { !straight.1 };
        let by_length = if plain { Ordering::Equal } else { text_b.len().cmp(&text_a.len()) };
        let swapped = by_length.then_with(|| reading_order(text_a, text_b)).is_lt();
        self.text.truncate(end);
        swapped
    }
}

/// A polynomial that is compared with zero.
struct Compared<'a> {
    constant: Int,
    terms: Cow<'a, [(Expr, Int)]>,
}

impl<'a> Compared<'a> {
    fn new(pool: &'a Pool, p: Expr) -> Compared<'a> {
        match pool.node(p) {
            Some(Node::Sum { constant, terms }) => {
                pool.charge(terms.len());
                Compared { constant: constant.clone(), terms: Cow::Borrowed(terms) }
            }
            _ => {
                let poly = pool.poly(p);
                Compared { constant: poly.constant, terms: Cow::Owned(poly.terms.into_vec()) }
            }
        }
    }

    /// The magnitudes of the terms whose coefficients are negative, or of those whose are positive.
    fn side(&self, negative: bool) -> Terms<'_> {
        let side = self.terms.iter().filter(|(_, c)| c.is_negative() == negative);
        side.map(|(monomial, coefficient)| PrintedTerm { monomial: *monomial, coefficient, negative: false })
            .collect()
    }
}

/// A comparison of `left` with `right` and a constant, where all terms are positive. The polynomial that is
/// compared with zero, or its negative when `swapped`, is `left - right` plus or minus the constant's
/// magnitude.
struct Sides<'a> {
    left: Terms<'a>,
    right: Terms<'a>,
    constant: &'a Int,
    /// Whether the constant is written with a minus sign.
    negative: bool,
    swapped: bool,
}
