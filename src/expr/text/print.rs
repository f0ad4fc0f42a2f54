//! Writing expressions.
//!
//! [`expression`] writes what torch and sympy write (`Eq(Mod(s0, 8), 0)`), [`python`] what a user writes in a program
//! (`x.shape[0] % 8 == 0`). Terms are ordered by degree and name, never by handle, and comparisons are written with positive terms
//! on both sides and the constant on the right.
use super::print_parts::{Binding, Piece, Style};
use crate::expr::{Expr, Pool, Symbol};
use rustc_hash::FxHashMap;
use std::fmt;

/// The texts of all subexpressions of one expression together take at most this many bytes.
const MAX_BYTES: usize = 1 << 24;

/// The text of an expression would be too long, as shared subexpressions are written each time they occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an expression of {nodes} nodes is too large to write down")]
pub struct TooLong {
    /// The number of different subexpressions.
    pub nodes: usize,
}

/// The text of `e` in sympy's manner; of an expression too large for that, a remark in angle brackets that says so.
///
/// [`super::read::expression`] reads the text back to the same handle, unless `e` is a product too large to be
/// multiplied out.
pub fn expression(pool: &Pool, e: Expr) -> String {
    try_expression(pool, e).unwrap_or_else(|error| format!("<{error}>"))
}

/// As [`expression`], with an error for what is too large.
pub fn try_expression(pool: &Pool, e: Expr) -> Result<String, TooLong> {
    render(pool, e, Style::Sympy, &|symbol| pool.symbol_name(symbol).to_owned())
}

/// The text of `e` as Python code, with symbols named by `names`: a name is an identifier or something that binds as
/// tightly (`x.shape[0]`). Of an expression too large for that, a remark in angle brackets.
pub fn python(pool: &Pool, e: Expr, names: &dyn Fn(Symbol) -> String) -> String {
    render(pool, e, Style::Python, names).unwrap_or_else(|error| format!("<{error}>"))
}

/// As [`expression`], with symbols named by `names`.
pub fn renamed(pool: &Pool, e: Expr, names: &dyn Fn(Symbol) -> String) -> String {
    render(pool, e, Style::Sympy, names).unwrap_or_else(|error| format!("<{error}>"))
}

/// Shows an expression in sympy's manner.
pub struct Shown<'a>(pub &'a Pool, pub Expr);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&expression(self.0, self.1))
    }
}

fn render(pool: &Pool, e: Expr, style: Style, names: &dyn Fn(Symbol) -> String) -> Result<String, TooLong> {
    let mut printer = Printer { pool, style, names, pieces: FxHashMap::default() };
    // Children before parents: no recursion, and a shared subexpression is written once.
    let parts = pool.reachable(&[e]);
    let mut bytes = 0;
    for &part in &parts {
        let piece = printer.node_piece(part);
        bytes += piece.text.len();
        if bytes > MAX_BYTES {
            return Err(TooLong { nodes: parts.len() });
        }
        printer.pieces.insert(part, piece);
    }
    Ok(printer.piece(e).text)
}

/// The state of writing one expression.
pub(super) struct Printer<'a> {
    pub(super) pool: &'a Pool,
    pub(super) style: Style,
    pub(super) names: &'a dyn Fn(Symbol) -> String,
    pieces: FxHashMap<Expr, Piece>,
}

impl Printer<'_> {
    /// The text of a subexpression that has been written already, or of an integer.
    pub(super) fn piece(&self, e: Expr) -> Piece {
        match (self.pieces.get(&e), e.as_inline()) {
            (Some(piece), _) => piece.clone(),
            (None, Some(value)) => Piece::number(value.to_string()),
            (None, None) => Piece::atom("?".to_owned()),
        }
    }

    /// The text of a subexpression, in brackets unless it binds at least as tightly as `least`.
    pub(super) fn at_least(&self, least: Binding, e: Expr) -> String {
        self.piece(e).at_least(least)
    }
}
