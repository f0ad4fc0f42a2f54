//! Reading expressions: Python's expression grammar with sympy's and torch's functions.
//!
//! Precedence, loosest first: `p if c else q`, `or`, `and`, `not`, comparisons (chained), `|`, `^`, `&`, `<<`
//! `>>`, `+` `-`, `*` `/` `//` `%`, unary `-` `+` `~`, `**` (to the right).
use super::lexer::{Lexer, Op, Token};
pub use super::read_error::ReadError;
pub use super::reader::Assumption;
use super::reader::{KnownCalls, Level, Reader};
use super::source::SourcePath;
use crate::{Expr, Pool};
use indexmap::{IndexMap, IndexSet};

/// Texts longer than this many bytes are refused.
const MAX_TEXT: usize = 1 << 18;
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
        let is_assignment = matches!(reader.token, Token::Op(Op::Assign));
        return Err(reader.expected(if is_assignment { "`==`" } else { "an operator or the end" }));
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
