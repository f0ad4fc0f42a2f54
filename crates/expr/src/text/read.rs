//! Reading expressions: Python's expression grammar with sympy's and torch's functions.
//!
//! Precedence, loosest first: `p if c else q`, `or`, `and`, `not`, comparisons (chained), `|`, `^`, `&`, `<<`
//! `>>`, `+` `-`, `*` `/` `//` `%`, unary `-` `+` `~`, `**` (to the right).
use super::known::KnownCalls;
use super::lexer::{Brackets, Lexer, Op, Token, clipped};
use super::read_operators::infix;
use super::source::SourcePath;
use crate::node::{Node, Sort};
use crate::{Expr, Int, Pool, Symbol};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// Texts longer than this many bytes are refused.
const MAX_TEXT: usize = 1 << 18;
/// Brackets, calls and prefix operators nest at most this deep.
const MAX_DEPTH: u32 = 200;
/// Constants and coefficients beyond this many bits are refused.
const MAX_BITS: u64 = 1 << 17;
/// One text may add this many nodes to the pool.
pub(super) const MAX_NEW_NODES: usize = 1 << 19;

/// The result of reading a text.
#[derive(Clone, PartialEq, Debug)]
pub struct Read {
    /// The expression.
    pub expr: Expr,
    /// Every divisor in the text (of `//`, `%`, `/` and the functions that divide) that is not a nonzero
    /// constant, each once, in order of appearance. If one of them is zero, the text has no value, although
    /// canonical construction may have cancelled the division.
    pub divisors: Vec<Expr>,
    /// Operations on doubles, and powers, that may have no value (a square root, say) and that canonical
    /// construction has dropped, in order of appearance. If one of them has no value, the text has none.
    pub dropped: Vec<Expr>,
    /// The assumptions about symbols in the text, in order of appearance.
    pub assumptions: Vec<Assumption>,
}

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

/// Why a text is no expression, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ReadError {
    /// Offset in bytes.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The error message: what was expected.
    pub message: String,
}

/// The meaning of `/` between integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// [`Dialect::Python`] for a text that names a source (`L['x']`) or a function of a Python module, else
    /// [`Dialect::Sympy`].
    #[default]
    Auto,
    /// An exact ratio: `s0/2` is half of `s0`.
    Sympy,
    /// A quotient rounded to a double.
    Python,
    /// As [`Dialect::Python`], and a plain name is a source too: there are no symbols.
    Formula,
}

/// Reads an expression in [`Dialect::Auto`]. `sources` says which expression a source such as `L['x'].size()[0]` is;
/// where it knows none the text is refused.
pub fn expression(
    pool: &mut Pool,
    text: &str,
    sources: &mut dyn FnMut(&SourcePath) -> Option<Expr>,
) -> Result<Read, ReadError> {
    expression_in(pool, text, Dialect::Auto, sources)
}

/// Reads an expression that names no sources.
pub fn closed(pool: &mut Pool, text: &str) -> Result<Read, ReadError> {
    expression(pool, text, &mut |_| None)
}

/// Reads an expression in a dialect of the caller's choice; see [`expression`].
pub fn expression_in(
    pool: &mut Pool,
    text: &str,
    dialect: Dialect,
    sources: &mut dyn FnMut(&SourcePath) -> Option<Expr>,
) -> Result<Read, ReadError> {
    read(pool, text, dialect, sources, None)
}

/// Reads an expression; `known` has the calls read before. The divisors and symbols in such a call are not
/// recorded, so a reader with `known` makes no remarks.
pub(super) fn read<'a>(
    pool: &mut Pool,
    text: &'a str,
    dialect: Dialect,
    sources: &mut dyn FnMut(&SourcePath) -> Option<Expr>,
    known: Option<&mut KnownCalls<'a>>,
) -> Result<Read, ReadError> {
    let mut lexer = Lexer::new(text);
    if text.len() > MAX_TEXT {
        return Err(lexer.error(0, format!("the text is longer than {MAX_TEXT} bytes")));
    }
    let python = match dialect {
        Dialect::Auto => names_python(text),
        chosen => chosen != Dialect::Sympy,
    };
    let (token, at) = lexer.next()?;
    let max_nodes = pool.len() + MAX_NEW_NODES;
    let remarks = known.is_none();
    let mut reader = Reader {
        lexer,
        token,
        at,
        pool,
        sources,
        python,
        // Where `/` is Python's, the text of a call alone does not determine its meaning.
        known: known.filter(|_| !python),
        names_are_sources: dialect == Dialect::Formula,
        brackets: None,
        remarks,
        depth: 0,
        max_nodes,
        divisors: IndexSet::default(),
        partial: IndexSet::default(),
        assumptions: IndexMap::default(),
    };
    let operand = reader.operand(Level::Conditional)?;
    if reader.token != Token::End {
        return Err(reader.expected("an operator or the end"));
    }
    let expr = reader.number(operand, 0)?;
    let dropped = reader.dropped(expr);
    Ok(Read {
        expr,
        dropped,
        divisors: reader.divisors.into_iter().collect(),
        assumptions: reader.assumptions.into_values().collect(),
    })
}

/// Whether a text names a source or a function of a Python module.
fn names_python(text: &str) -> bool {
    const MARKS: [&str; 7] =
        ["L[", ".size()", ".shape[", ".stride()", ".storage_offset()", "math.", "torch."];
    let has = |b| text.as_bytes().contains(&b);
    (has(b'[') || has(b'.')) && MARKS.iter().any(|mark| text.contains(mark))
}

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

    /// Reads an operand that takes in operators of `least` level and above.
    pub(super) fn operand(&mut self, least: Level) -> Result<Operand<'a>, ReadError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(self.at, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let result = self.operators(least);
        self.depth -= 1;
        result
    }

    fn operators(&mut self, least: Level) -> Result<Operand<'a>, ReadError> {
        let start = self.at;
        let left = self.prefixed(least)?;
        if infix(self.token).is_none() { Ok(left) } else { self.joined(left, least, start) }
    }

    /// Applies the operators after an operand. (This and the other parts of reading an operand are functions
    /// of their own, so that recursion takes little stack.)
    fn joined(
        &mut self,
        mut left: Operand<'a>,
        least: Level,
        start: usize,
    ) -> Result<Operand<'a>, ReadError> {
        while let Some((level, op)) = infix(self.token) {
            if level < least {
                break;
            }
            left = match level {
                Level::Conditional => self.conditional(left, start)?,
                Level::Comparison => self.comparisons(left, start)?,
                Level::Power => {
                    self.advance()?;
                    let at = self.at;
                    let right = self.operand(Level::Unary)?;
                    let (base, exponent) = (self.number(left, start)?, self.number(right, at)?);
                    self.power(base, exponent, start)?
                }
                _ => {
                    let first = self.number(left, start)?;
                    self.run(level, op, first, start)?
                }
            };
        }
        Ok(left)
    }

    /// An operand with the prefix operators before it.
    fn prefixed(&mut self, least: Level) -> Result<Operand<'a>, ReadError> {
        match self.token {
            Token::Name("not") if least <= Level::Not => self.negated(),
            Token::Op(op @ (Op::Minus | Op::Plus | Op::Tilde)) if least <= Level::Unary => self.signed(op),
            _ => self.atom(),
        }
    }

    /// `not` with its operand.
    fn negated(&mut self) -> Result<Operand<'a>, ReadError> {
        let at = self.at;
        self.advance()?;
        let operand = self.operand(Level::Not)?;
        let operand = self.number(operand, at)?;
        Ok(Operand::Expr(self.pool.not(operand)))
    }

    /// `-`, `+` or `~` with its operand.
    fn signed(&mut self, op: Op) -> Result<Operand<'a>, ReadError> {
        let at = self.at;
        self.advance()?;
        let operand = self.operand(Level::Unary)?;
        if let (Operand::Infinity { negative }, Op::Minus | Op::Plus) = (&operand, op) {
            return Ok(Operand::Infinity { negative: *negative != (op == Op::Minus) });
        }
        let operand = self.number(operand, at)?;
        Ok(Operand::Expr(match op {
            Op::Minus => self.pool.neg(operand),
            Op::Tilde if self.pool.sort(operand) == Sort::Bool => self.pool.not(operand),
            Op::Tilde => {
                // In two's complement ~n is -n - 1.
                let negated = self.pool.neg(operand);
                self.pool.sub(negated, Expr::ONE)
            }
            _ => operand,
        }))
    }

    /// A number, name, call, source, or something in brackets.
    fn atom(&mut self) -> Result<Operand<'a>, ReadError> {
        let at = self.at;
        match self.token {
            Token::Int(digits) => self.integer(digits),
            Token::Float(digits) => {
                self.advance()?;
                Ok(Operand::Expr(self.float(digits, at)?))
            }
            Token::Text(_) => Err(self.expected("an operand")),
            Token::Name(name) => self.name(name),
            Token::Op(Op::Open) => {
                self.advance()?;
                self.bracketed(Op::Close)
            }
            Token::Op(Op::OpenIndex) => {
                self.advance()?;
                self.bracketed(Op::CloseIndex)
            }
            _ => Err(self.expected("an operand")),
        }
    }

    /// The integer that comes next.
    fn integer(&mut self, digits: &str) -> Result<Operand<'a>, ReadError> {
        let at = self.at;
        self.advance()?;
        let value = if digits.len() as u64 > MAX_BITS / 4 { None } else { digits.parse::<Int>().ok() };
        let value = value.ok_or_else(|| self.error(at, "number too large".to_owned()))?;
        Ok(Operand::Expr(self.pool.int(value)))
    }

    /// The contents of brackets, of which the first has been read: one operand, or a list.
    fn bracketed(&mut self, close: Op) -> Result<Operand<'a>, ReadError> {
        let mut items = Vec::new();
        let mut list = close == Op::CloseIndex;
        while self.token != Token::Op(close) {
            items.push(self.operand(Level::Conditional)?);
            if !self.take(Op::Comma)? {
                break;
            }
            list = true;
        }
        if items.is_empty() && !list {
            return Err(self.expected("an operand"));
        }
        self.require(close)?;
        match items.pop() {
            Some(only) if !list => Ok(only),
            last => {
                items.extend(last);
                Ok(Operand::Tuple(items))
            }
        }
    }

    /// The double that digits stand for.
    pub(super) fn float(&mut self, digits: &str, at: usize) -> Result<Expr, ReadError> {
        match digits.parse::<f64>() {
            Ok(value) => Ok(self.pool.float(value)),
            Err(_) => Err(self.error(at, format!("expected a number, found '{}'", clipped(digits)))),
        }
    }

    /// Operators of one level from left to right, `first` being read and `op` next.
    fn run(
        &mut self,
        level: Level,
        op: Option<Op>,
        first: Expr,
        start: usize,
    ) -> Result<Operand<'a>, ReadError> {
        // Runs of one associative operator are combined together, which keeps long ones from taking quadratic time.
        let (mut op, mut operands) = (op, SmallVec::<[Expr; 4]>::from_slice(&[first]));
        loop {
            self.advance()?;
            let at = self.at;
            let right = self.operand(level.tighter())?;
            let right = self.number(right, at)?;
            match op {
                Some(Op::Minus) => {
                    let negated = self.pool.neg(right);
                    operands.push(negated);
                }
                Some(op @ (Op::Divide | Op::FloorDiv | Op::Percent | Op::LeftShift | Op::RightShift)) => {
                    let left = self.combined(level, &operands, start)?;
                    operands.clear();
                    operands.push(self.divide_or_shift(op, left, right, at)?);
                }
                _ => operands.push(right),
            }
            match infix(self.token) {
                Some((next, name)) if next == level => op = name,
                _ => return Ok(Operand::Expr(self.combined(level, &operands, start)?)),
            }
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
