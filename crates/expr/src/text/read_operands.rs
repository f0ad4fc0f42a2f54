//! Operands: numbers, names, brackets, and what prefix and infix operators make of them.
use super::lexer::{Op, Token};
use super::read_error::ReadError;
use super::read_operators::infix;
use super::reader::{Level, MAX_BITS, Operand, Reader};
use crate::escape::clipped;
use crate::node::Sort;
use crate::{Expr, Int};
use smallvec::SmallVec;

/// Brackets, calls and prefix operators nest at most this deep.
const MAX_DEPTH: u32 = 200;

impl<'a> Reader<'a, '_> {
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
}
