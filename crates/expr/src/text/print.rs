//! Writing expressions.
//!
//! [`expression`] writes what torch and sympy write (`Eq(Mod(s0, 8), 0)`), [`python`] what a user writes in a
//! program (`x.shape[0] % 8 == 0`). Terms are ordered by degree and name, never by handle. Comparisons are
//! written with positive terms on both sides and the constant on the right.
use super::printer::{Printer, Style};
use crate::node::{Func, Node};
use crate::{Expr, Pool, Symbol};
use smallvec::SmallVec;

/// The texts of all subexpressions of one expression together take at most this many bytes.
const MAX_BYTES: usize = 1 << 24;
/// Initial capacity for the texts of a small expression and its subexpressions.
const FIRST_BYTES: usize = 64;

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

/// Like [`expression`], with an error for a text that is too large.
pub fn try_expression(pool: &Pool, e: Expr) -> Result<String, TooLong> {
    render(pool, e, Style::Sympy, &|symbol| pool.symbol_name(symbol))
}

/// The text of `e` as Python code, with symbols named by `names`: a name is an identifier or something that binds as
/// tightly (`x.shape[0]`). Of an expression too large for that, a remark in angle brackets.
pub fn python<N: AsRef<str>>(pool: &Pool, e: Expr, names: &dyn Fn(Symbol) -> N) -> String {
    render(pool, e, Style::Python, names).unwrap_or_else(|error| format!("<{error}>"))
}

fn render<N: AsRef<str>>(
    pool: &Pool,
    e: Expr,
    style: Style,
    names: &dyn Fn(Symbol) -> N,
) -> Result<String, TooLong> {
    let write_name = |symbol: Symbol, text: &mut String| text.push_str(names(symbol).as_ref());
    Printer {
        pool,
        style,
        names: &write_name,
        text: String::with_capacity(FIRST_BYTES),
        written: SmallVec::new(),
    }
    .print(e)
}

impl Printer<'_> {
    fn print(mut self, e: Expr) -> Result<String, TooLong> {
        // Children before parents: no recursion, and a shared subexpression is written once.
        let parts = self.pool.closure(&[e], |part, visit| for_each_operand(self.pool, part, visit));
        let mut bytes = 0;
        for &part in &parts {
            let piece = self.node(part);
            bytes += piece.range().len();
            if bytes > MAX_BYTES {
                return Err(TooLong { nodes: self.pool.reachable(&[e]).len() });
            }
            self.written.push((part, piece));
        }
        let all = self.piece(e).range();
        self.text.truncate(all.end);
        Ok(if all.start == 0 { self.text } else { self.text.split_off(all.start) })
    }
}

/// Calls `visit` with each expression whose text is part of the text of `e`. A polynomial that is compared
/// with zero is not one of them, because its terms are written on two sides.
fn for_each_operand(pool: &Pool, e: Expr, visit: &mut dyn FnMut(Expr)) {
    match pool.as_call(e) {
        Some((Func::IsZero | Func::NotPositive, &[p])) if matches!(pool.node(p), Some(Node::Sum { .. })) => {
            pool.for_each_child(p, visit);
        }
        Some((Func::Not, &[a])) if pool.as_func(a, Func::IsZero).is_some() => {
            for_each_operand(pool, a, visit)
        }
        _ => pool.for_each_child(e, visit),
    }
}
