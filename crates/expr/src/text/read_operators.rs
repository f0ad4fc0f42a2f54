//! The operators of expression text.
use super::lexer::{Op, Token};
use super::read_error::ReadError;
use super::reader::{Level, Operand, Reader};
use crate::node::Sort;
use crate::{Expr, Func, Pool};
use smallvec::SmallVec;

impl<'a> Reader<'a, '_> {
    /// `left if c else q`.
    pub(super) fn conditional(&mut self, left: Operand<'a>, start: usize) -> Result<Operand<'a>, ReadError> {
        self.advance()?;
        let at = self.at;
        let condition = self.operand(Level::Or)?;
        let condition = self.number(condition, at)?;
        if self.token != Token::Name("else") {
            return Err(self.expected("`else`"));
        }
        self.advance()?;
        let at = self.at;
        let otherwise = self.operand(Level::Conditional)?;
        let (left, otherwise) = (self.number(left, start)?, self.number(otherwise, at)?);
        Ok(Operand::Expr(self.conditional_of(condition, left, otherwise)))
    }

    /// `p if c else q` of expressions.
    pub(super) fn conditional_of(&mut self, c: Expr, p: Expr, q: Expr) -> Expr {
        let c = self.pool.truth(c);
        self.pool.ite(c, p, q)
    }

    /// A chain `a < b <= c`, which holds when each of its links does.
    pub(super) fn comparisons(&mut self, left: Operand<'a>, start: usize) -> Result<Operand<'a>, ReadError> {
        let (mut left, mut at) = (left, start);
        let mut links = SmallVec::<[Expr; 2]>::new();
        while let Some((Level::Comparison, Some(op))) = infix(self.token) {
            self.advance()?;
            let right_at = self.at;
            let right = self.operand(Level::Comparison.tighter())?;
            links.push(self.compare(op, left, at, right.clone(), right_at)?);
            (left, at) = (right, right_at);
        }
        let all = match links.as_slice() {
            [only] => *only,
            links => self.pool.and(links),
        };
        Ok(Operand::Expr(all))
    }

    /// The result of a run of operands of one level.
    pub(super) fn combined(&mut self, level: Level, operands: &[Expr], at: usize) -> Result<Expr, ReadError> {
        if let [only] = operands {
            return self.checked(*only, at);
        }
        let combined = match level {
            Level::Or => self.pool.or(operands),
            Level::And => self.pool.and(operands),
            Level::Sum => return self.sum(operands, at),
            Level::Product => return self.folded(operands, at, Pool::mul),
            Level::BitOr => self.bitwise(Func::BitOr, operands, at)?,
            Level::BitXor => self.bitwise(Func::BitXor, operands, at)?,
            _ => self.bitwise(Func::BitAnd, operands, at)?,
        };
        self.checked(combined, at)
    }

    /// Refuses doubles where an operator is defined for integers alone.
    fn integers(&self, op: &str, operands: &[Expr], at: usize) -> Result<(), ReadError> {
        match operands.iter().any(|&e| self.pool.sort(e) == Sort::Float) {
            true => Err(self.error(at, format!("{op} takes integers, found a double"))),
            false => Ok(()),
        }
    }

    /// The remainder of integers; that of doubles has no counterpart among expressions.
    pub(super) fn remainder(&mut self, a: Expr, b: Expr, at: usize) -> Result<Expr, ReadError> {
        self.integers("a remainder", &[a, b], at)?;
        self.divisor(b);
        Ok(self.pool.modulo(a, b))
    }

    /// `a // b` of integers, or of a double and a number. What may be either has no counterpart among expressions: the
    /// quotient of integers is exact, and that of doubles is rounded.
    pub(super) fn whole_quotient(
        &mut self,
        by: fn(&mut Pool, Expr, Expr) -> Expr,
        a: Expr,
        b: Expr,
        at: usize,
    ) -> Result<Expr, ReadError> {
        let is_either = self.pool.may_be_integer(a) || self.pool.may_be_integer(b);
        if is_either && self.pool.may_count(a) && self.pool.may_count(b) {
            let message =
                "a quotient rounded to an integer takes integers or doubles, found what may be either";
            return Err(self.error(at, message.to_owned()));
        }
        self.divisor(b);
        Ok(by(self.pool, a, b))
    }

    pub(super) fn bitwise(&mut self, func: Func, operands: &[Expr], at: usize) -> Result<Expr, ReadError> {
        self.integers("a bitwise operator", operands, at)?;
        let all_truths = operands.iter().all(|&e| self.pool.sort(e) == Sort::Bool);
        Ok(match func {
            Func::BitAnd if all_truths => self.pool.and(operands),
            Func::BitOr if all_truths => self.pool.or(operands),
            _ => {
                let first = operands.first().copied().unwrap_or(Expr::ZERO);
                operands.iter().skip(1).fold(first, |left, &right| self.pool.bitwise(func, left, right))
            }
        })
    }

    /// The sum of operands: of integers at once, else as [`Self::folded`].
    pub(super) fn sum(&mut self, operands: &[Expr], at: usize) -> Result<Expr, ReadError> {
        if operands.iter().any(|&e| self.pool.is_inexact(e)) {
            return self.folded(operands, at, Pool::add);
        }
        let sum = self.pool.sum(operands.iter().copied());
        self.checked(sum, at)
    }

    /// Sum or product: of integers in a balanced tree, of doubles from left to right, as they do not associate.
    pub(super) fn folded(
        &mut self,
        operands: &[Expr],
        at: usize,
        combine: fn(&mut Pool, Expr, Expr) -> Expr,
    ) -> Result<Expr, ReadError> {
        if operands.iter().any(|&e| self.pool.sort(e) == Sort::Float) {
            let first = operands.first().copied().unwrap_or(Expr::ZERO);
            let rest = operands.get(1..).unwrap_or_default();
            return Ok(rest.iter().fold(first, |left, &right| combine(self.pool, left, right)));
        }
        let mut round: SmallVec<[Expr; 4]> = operands.into();
        while round.len() > 1 {
            let mut next = SmallVec::with_capacity(round.len().div_ceil(2));
            for pair in round.chunks(2) {
                next.push(match *pair {
                    [a, b] => {
                        let both = combine(self.pool, a, b);
                        self.checked(both, at)?
                    }
                    _ => pair[0],
                });
            }
            round = next;
        }
        Ok(round[0])
    }

    /// `left op right` of the operators that do not associate.
    pub(super) fn divide_or_shift(
        &mut self,
        op: Op,
        left: Expr,
        right: Expr,
        at: usize,
    ) -> Result<Expr, ReadError> {
        let result = match op {
            Op::FloorDiv => self.whole_quotient(Pool::floor_div, left, right, at)?,
            Op::Percent => self.remainder(left, right, at)?,
            Op::LeftShift => self.shifted(left, right, at, Pool::mul)?,
            Op::RightShift => self.shifted(left, right, at, Pool::floor_div)?,
            _ => self.quotient(left, right, at)?,
        };
        self.checked(result, at)
    }

    /// A shift: multiplication or division by a power of two. A negative count has no value, even if
    /// construction drops the power.
    pub(super) fn shifted(
        &mut self,
        e: Expr,
        count: Expr,
        at: usize,
        by: fn(&mut Pool, Expr, Expr) -> Expr,
    ) -> Result<Expr, ReadError> {
        self.integers("a shift", &[e, count], at)?;
        let power = self.pool.pow(Expr::from(2), count);
        self.operation(power);
        Ok(by(self.pool, e, power))
    }

    /// `left / right` in the dialect of the text.
    fn quotient(&mut self, left: Expr, right: Expr, at: usize) -> Result<Expr, ReadError> {
        let float = self.pool.sort(left) == Sort::Float || self.pool.sort(right) == Sort::Float;
        let constant = self.pool.as_int(right);
        self.divisor(right);
        match constant {
            _ if self.python || float => Ok(self.pool.true_div(left, right)),
            Some(d) if d.is_zero() => Ok(self.pool.true_div(left, right)),
            Some(d) => Ok(self.pool.ratio(left, &d)),
            None => Err(self.error(
                at,
                "a ratio with a variable divisor is not supported: write a//b, or IntTrueDiv(a, b) for a double"
                    .to_owned(),
            )),
        }
    }

    /// `base ** exponent`.
    pub(super) fn power(&mut self, base: Expr, exponent: Expr, at: usize) -> Result<Operand<'a>, ReadError> {
        let float = self.pool.is_inexact(exponent) || self.pool.sort(base) == Sort::Float;
        if let (false, Some(k)) = (float, self.pool.as_int(exponent))
            && k.is_negative()
        {
            // srepr writes a ratio as a product with a negative power.
            let positive = self.pool.int(-k);
            let divisor = self.pool.pow(base, positive);
            return Ok(Operand::Expr(self.quotient(Expr::ONE, divisor, at)?));
        }
        let power = self.pool.pow(base, exponent);
        Ok(Operand::Expr(self.checked(power, at)?))
    }
}

/// The level of an infix operator, and the operator where it is no word.
pub(super) fn infix(token: Token<'_>) -> Option<(Level, Option<Op>)> {
    let op = match token {
        Token::Op(op) => op,
        Token::Name("if") => return Some((Level::Conditional, None)),
        Token::Name("or") => return Some((Level::Or, None)),
        Token::Name("and") => return Some((Level::And, None)),
        _ => return None,
    };
    let level = match op {
        Op::Equal | Op::NotEqual | Op::Differs => Level::Comparison,
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => Level::Comparison,
        Op::Bar => Level::BitOr,
        Op::Caret => Level::BitXor,
        Op::Ampersand => Level::BitAnd,
        Op::LeftShift | Op::RightShift => Level::Shift,
        Op::Plus | Op::Minus => Level::Sum,
        Op::Times | Op::Divide | Op::FloorDiv | Op::Percent => Level::Product,
        Op::Power => Level::Power,
        _ => return None,
    };
    Some((level, Some(op)))
}
