//! Expressions: operators by how tightly they bind. Those between dimensions are in `read`, those between the variables of a
//! ShapesSpec and what is computed of them in `formula`.
use super::dims::PyValue;
use super::formula::{combined, compared, is_formula, no_truth, operand};
use super::read::{PythonReader, Result};
use super::token::Token;

/// How tightly binary operators bind, loosest first: those of one line bind alike.
const LEVELS: [&[&str]; 6] =
    [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "%", "/", "@"]];
/// The operators that compare.
const COMPARISONS: [&str; 6] = ["<=", ">=", "==", "!=", "<", ">"];
/// The level of `+`.
const SUMS: usize = 4;

impl PythonReader<'_> {
    /// An expression: a dimension and what is computed from it, a formula over variables, or what stands in brackets.
    pub(super) fn expression(&mut self) -> Result<PyValue> {
        let place = self.place();
        if self.is_word("not") {
            self.advance();
            let value = self.expression()?;
            return Err(match is_formula(&value) {
                true => no_truth(place, "write torch.sym_not(...)"),
                false => place.error("expected a value, found `not`"),
            });
        }
        let left = self.comparison()?;
        for (word, instead) in [("and", "write (...) & (...)"), ("or", "write (...) | (...)"), ("if", "")] {
            if self.is_word(word) && is_formula(&left) {
                let instead = if instead.is_empty() { "write torch.sym_ite(...)" } else { instead };
                return Err(no_truth(self.place(), instead));
            }
        }
        Ok(left)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Name(name) if name == word)
    }

    /// The operator at the place, if it is one of these and `left` can stand before it.
    fn operator(&self, left: &PyValue, ops: &[&'static str]) -> Option<&'static str> {
        let found = ops.iter().copied().find(|op| self.is(op))?;
        operand(left).map(|_| found)
    }

    fn comparison(&mut self) -> Result<PyValue> {
        let left = self.binary(0)?;
        let place = self.place();
        let Some(op) = self.operator(&left, &COMPARISONS) else { return Ok(left) };
        self.advance();
        let right = self.binary(0)?;
        let compared = compared(op, &left, &right, place)?;
        match self.operator(&right, &COMPARISONS) {
            Some(_) if is_formula(&compared) => Err(no_truth(self.place(), "write (a < b) & (b < c)")),
            Some(_) => Err(self.expected("the end of the comparison")),
            None => Ok(compared),
        }
    }

    /// Operands with binary operators between them that bind at least as tightly as those of a level. Below sums it is a
    /// formula, or nothing but the operand.
    fn binary(&mut self, level: usize) -> Result<PyValue> {
        if level == SUMS {
            return self.sum();
        }
        let mut left = self.binary(level + 1)?;
        loop {
            let place = self.place();
            let Some(op) = self.operator(&left, LEVELS[level]) else { return Ok(left) };
            self.advance();
            let right = self.binary(level + 1)?;
            left = combined(op, &left, &right, place)?;
        }
    }

    /// The operator of a product at the place, other than `*` between what is no formula.
    pub(super) fn factor_operator(&self, left: &PyValue) -> Option<&'static str> {
        self.operator(left, LEVELS[SUMS + 1])
    }
}
