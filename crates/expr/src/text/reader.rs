//! The state of reading an expression, and what every part of the grammar asks of it.
use super::lexer::{Brackets, Lexer, Op, Token};
use super::read_error::ReadError;
use super::source::SourcePath;
use crate::node::Node;
use crate::{Expr, Pool, Symbol};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Constants and coefficients beyond this many bits are refused.
pub(super) const MAX_BITS: u64 = 1 << 17;

/// The assumptions of `Symbol('s0', positive=True, integer=True)`; those of all occurrences together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumption {
    /// The symbol.
    pub symbol: Symbol,
    /// `integer=True` was written.
    pub integer: bool,
    /// `positive=True` was written.
    pub positive: bool,
    /// `nonnegative=True` was written.
    pub nonnegative: bool,
}

/// Calls that were read into one pool, by their texts.
#[derive(Clone, Default, Debug)]
pub struct KnownCalls<'a>(pub(super) FxHashMap<&'a str, Expr>);

/// How tightly an operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    Conditional,
    Or,
    And,
    Not,
    Comparison,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Unary,
    Power,
}

impl Level {
    /// The level of a right operand that must not take in another operator of this level.
    pub(super) fn tighter(self) -> Level {
        use Level::*;
        match self {
            Conditional => Or,
            Or => And,
            And => Not,
            Not => Comparison,
            Comparison => BitOr,
            BitOr => BitXor,
            BitXor => BitAnd,
            BitAnd => Shift,
            Shift => Sum,
            Sum => Product,
            Product => Unary,
            Unary | Power => Power,
        }
    }
}

/// The meaning of a part of the text.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Operand<'a> {
    /// An expression.
    Expr(Expr),
    /// `oo`, `int_oo` or `math.inf`, which only comparisons, minima and maxima know.
    Infinity {
        /// `-oo`.
        negative: bool,
    },
    /// A string as an argument, escapes as written.
    Text(&'a str),
    /// Several operands in brackets.
    Tuple(Vec<Operand<'a>>),
}

/// The state of reading one text.
pub(super) struct Reader<'a, 's> {
    pub(super) lexer: Lexer<'a>,
    pub(super) token: Token<'a>,
    pub(super) at: usize,
    pub(super) pool: &'s mut Pool,
    pub(super) sources: &'s mut dyn FnMut(&SourcePath) -> Option<Expr>,
    pub(super) python: bool,
    pub(super) names_are_sources: bool,
    pub(super) known: Option<&'s mut KnownCalls<'a>>,
    /// Where the brackets of the text close, once that is known.
    pub(super) brackets: Option<Brackets>,
    /// Whether divisors and assumptions are asked for.
    pub(super) remarks: bool,
    pub(super) depth: u32,
    pub(super) max_nodes: usize,
    pub(super) divisors: IndexSet<Expr, FxBuildHasher>,
    /// Operations other than integer divisions that may have no value.
    pub(super) partial: IndexSet<Expr, FxBuildHasher>,
    pub(super) assumptions: IndexMap<Symbol, Assumption, FxBuildHasher>,
}

impl<'a> Reader<'a, '_> {
    /// Goes on to the next token.
    pub(super) fn advance(&mut self) -> Result<(), ReadError> {
        (self.token, self.at) = self.lexer.next()?;
        Ok(())
    }

    /// Takes the operator `op` if it comes next.
    pub(super) fn take(&mut self, op: Op) -> Result<bool, ReadError> {
        let found = self.token == Token::Op(op);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Takes the operator `op`, which must come next.
    pub(super) fn require(&mut self, op: Op) -> Result<(), ReadError> {
        if self.take(op)? { Ok(()) } else { Err(self.expected(&format!("`{}`", op.text()))) }
    }

    /// The error of a token that is not what was expected.
    pub(super) fn expected(&self, what: &str) -> ReadError {
        self.error(self.at, format!("expected {what}, found {}", self.token.shown()))
    }

    pub(super) fn error(&self, at: usize, message: String) -> ReadError {
        self.lexer.error(at, message)
    }

    /// The expression an operand is.
    pub(super) fn number(&mut self, operand: Operand<'_>, at: usize) -> Result<Expr, ReadError> {
        match operand {
            Operand::Expr(e) => Ok(e),
            Operand::Infinity { .. } => {
                Err(self.error(at, "infinity has a meaning only in comparisons, Min and Max".to_owned()))
            }
            Operand::Text(_) => Err(self.error(at, "expected a number, found a string".to_owned())),
            Operand::Tuple(_) => Err(self.error(at, "expected a number, found a list".to_owned())),
        }
    }

    /// `e`, unless it or the pool has grown beyond the limit for one text.
    pub(super) fn checked(&mut self, e: Expr, at: usize) -> Result<Expr, ReadError> {
        self.operation(e);
        if self.pool.len() > self.max_nodes {
            return Err(self.error(at, "the expression is too large when multiplied out".to_owned()));
        }
        let fits = match self.pool.node(e) {
            Some(Node::Int(v)) => v.bits() <= MAX_BITS,
            Some(Node::Sum { constant, terms }) => {
                constant.bits() <= MAX_BITS && terms.iter().all(|(_, c)| c.bits() <= MAX_BITS)
            }
            _ => true,
        };
        if fits { Ok(e) } else { Err(self.error(at, "number too large".to_owned())) }
    }

    /// The text that is read.
    pub(super) fn text(&self) -> &'a str {
        self.lexer.text()
    }
}
