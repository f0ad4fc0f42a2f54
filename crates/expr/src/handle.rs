//! Handles of expressions and symbols.
use std::fmt;

/// A handle to an expression of a [`Pool`](crate::Pool); equal handles of one pool are the same expression.
///
/// Integers of up to 63 bits are kept in the handle itself (lowest bit set), so arithmetic on concrete sizes never
/// touches the pool. Any other handle is an index (lowest bit clear). The order of handles is the order of
/// construction: a child is always smaller than its parent, and it has no meaning beyond that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(u64);

impl Expr {
    /// The integer 0.
    pub const ZERO: Expr = Expr::small(0);
    /// The integer 1.
    pub const ONE: Expr = Expr::small(1);

    const fn small(value: i64) -> Expr {
        Expr(((value << 1) | 1) as u64)
    }

    /// The handle of an integer that fits in 63 bits.
    pub const fn inline(value: i64) -> Option<Expr> {
        if value >= -(1 << 62) && value < 1 << 62 { Some(Expr::small(value)) } else { None }
    }

    /// The integer of a handle that carries one (every integer of up to 63 bits does).
    pub const fn as_inline(self) -> Option<i64> {
        if self.0 & 1 == 1 { Some((self.0 as i64) >> 1) } else { None }
    }

    /// The truth value of a handle that is `True` or `False`: these two are the same handles in every pool.
    pub const fn as_literal_bool(self) -> Option<bool> {
        match self.0 {
            0 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }

    /// The handle of the expression at this position in the pool.
    pub(super) const fn at(position: usize) -> Expr {
        Expr((position as u64) << 1)
    }

    /// The position in the pool of a handle that carries no integer.
    pub(super) fn index(self) -> Option<usize> {
        if self.0 & 1 == 0 { Some((self.0 >> 1) as usize) } else { None }
    }

    /// A number that identifies the expression within its pool, for use as a table index or in other data structures.
    pub fn id(self) -> u64 {
        self.0
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Expr {
        Expr::small(i64::from(value))
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_inline() {
            Some(v) => write!(f, "{v}"),
            None => write!(f, "#{}", self.0 >> 1),
        }
    }
}

/// A free variable of a [`Pool`](crate::Pool).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub u32);
