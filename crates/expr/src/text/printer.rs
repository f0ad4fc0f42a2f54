//! The state of writing an expression: texts of subexpressions, and how tightly they bind.
use crate::{Expr, Pool, Symbol};
use smallvec::SmallVec;
use std::ops::Range;

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

/// A text that has been written, and the precedence of its loosest operator. Both are needed to put it into
/// another text.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    start: usize,
    end: usize,
    pub(super) binding: Binding,
}

impl Piece {
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// The state of writing one expression: the texts of subexpressions, one after the other, and at the end the
/// text that is being assembled from them.
pub(super) struct Printer<'a> {
    pub(super) pool: &'a Pool,
    pub(super) style: Style,
    pub(super) names: &'a dyn Fn(Symbol, &mut String),
    pub(super) text: String,
    /// Where the texts of subexpressions are, in the order of handles.
    pub(super) written: SmallVec<[(Expr, Piece); 8]>,
}

impl Printer<'_> {
    /// The text of a subexpression that has been written already; that of an integer is written now.
    pub(super) fn piece(&mut self, e: Expr) -> Piece {
        match self.written.binary_search_by_key(&e, |(part, _)| *part) {
            Ok(found) => self.written[found].1,
            Err(_) => self.piece_of(|printer| match e.as_inline() {
                Some(value) => printer.number(value),
                None => printer.atom("?"),
            }),
        }
    }

    /// The text that `write` appends.
    pub(super) fn piece_of(&mut self, write: impl FnOnce(&mut Self) -> Binding) -> Piece {
        let start = self.text.len();
        let binding = write(self);
        Piece { start, end: self.text.len(), binding }
    }

    /// The characters of a text that has been written.
    pub(super) fn shown(&self, piece: Piece) -> &str {
        &self.text[piece.range()]
    }

    /// Appends a text that has been written.
    pub(super) fn push(&mut self, piece: Piece) {
        self.text.extend_from_within(piece.range());
    }

    /// Appends a text that has been written, in brackets unless it binds at least as tightly as `least`.
    pub(super) fn push_at_least(&mut self, least: Binding, piece: Piece) {
        self.push_bare(piece.binding >= least, piece);
    }

    /// Appends a text that has been written, in brackets unless it may stand `bare`.
    pub(super) fn push_bare(&mut self, bare: bool, piece: Piece) {
        if bare {
            self.push(piece);
        } else {
            self.text.push('(');
            self.push(piece);
            self.text.push(')');
        }
    }

    /// Appends something that needs no brackets anywhere.
    pub(super) fn atom(&mut self, text: &str) -> Binding {
        self.text.push_str(text);
        Binding::Atom
    }

    /// Appends a number, which a minus sign makes looser.
    pub(super) fn number(&mut self, value: i64) -> Binding {
        self.text.push_str(itoa::Buffer::new().format(value));
        if value < 0 { Binding::Unary } else { Binding::Atom }
    }
}
