//! Expressions from trees: a function is applied to operands that are expressions already, as reading its text would.
use super::lexer::{Lexer, Token};
use super::read::MAX_NEW_NODES;
use super::read_error::ReadError;
use super::reader::{Operand, Reader};
use crate::{Expr, Pool};
use indexmap::{IndexMap, IndexSet};

/// An operand, or what a function gives.
#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    /// An expression.
    Expr(Expr),
    /// `oo`, which only comparisons, minima and maxima know.
    Infinity {
        /// `-oo`.
        negative: bool,
    },
    /// Several operands: a branch of a `Piecewise`.
    Tuple(Vec<Part>),
}

/// The result of applying a function, with what it requires of its operands.
#[derive(Clone, PartialEq, Debug)]
pub struct Applied {
    /// The value.
    pub part: Part,
    /// Divisors of this function that may be zero; see [`Read::divisors`](super::read::Read::divisors).
    pub divisors: Vec<Expr>,
    /// Operations other than integer divisions that may have no value. Those that are no part of the whole
    /// expression are [`Read::dropped`](super::read::Read::dropped).
    pub partial: Vec<Expr>,
}

/// Applies the function `name`, as sympy, torch and Python write it, to operands; `/` is an exact ratio.
///
/// # Errors
/// When there is no such function, or it does not take these operands.
pub fn apply(pool: &mut Pool, name: &str, operands: &[Part]) -> Result<Applied, ReadError> {
    let max_nodes = pool.len() + MAX_NEW_NODES;
    let mut reader = Reader {
        lexer: Lexer::new(""),
        token: Token::End,
        at: 0,
        pool,
        sources: &mut |_| None,
        python: false,
        names_are_sources: false,
        known: None,
        brackets: None,
        remarks: true,
        depth: 0,
        max_nodes,
        divisors: IndexSet::default(),
        partial: IndexSet::default(),
        assumptions: IndexMap::default(),
    };
    let operands = operands.iter().map(operand).collect();
    let part = part(reader.applied(name, operands)?);
    let (divisors, partial) = (reader.divisors.into_iter(), reader.partial.into_iter());
    Ok(Applied { part, divisors: divisors.collect(), partial: partial.collect() })
}

fn operand(part: &Part) -> Operand<'static> {
    match part {
        Part::Expr(e) => Operand::Expr(*e),
        Part::Infinity { negative } => Operand::Infinity { negative: *negative },
        Part::Tuple(parts) => Operand::Tuple(parts.iter().map(operand).collect()),
    }
}

fn part(operand: Operand<'_>) -> Part {
    match operand {
        Operand::Expr(e) => Part::Expr(e),
        Operand::Infinity { negative } => Part::Infinity { negative },
        Operand::Tuple(operands) => Part::Tuple(operands.into_iter().map(part).collect()),
        // No function gives a text.
        Operand::Text(_) => Part::Tuple(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::read::closed;

    /// Applies functions from the inside out.
    fn apply_all(pool: &mut Pool, name: &str, operands: &[Part]) -> Part {
        apply(pool, name, operands).expect("applies").part
    }

    #[test]
    fn a_tree_is_the_expression_of_its_text() {
        let pool = &mut Pool::new();
        let (s, t) = (Part::Expr(pool.symbol("s0")), Part::Expr(pool.symbol("s1")));
        let two = Part::Expr(Expr::from(2));
        let sum = apply_all(pool, "Add", &[s.clone(), t.clone(), two.clone()]);
        let half = apply_all(pool, "FloorDiv", &[sum.clone(), two.clone()]);
        let infinity = apply_all(pool, "IntInfinity", &[]);
        let holds = apply_all(pool, "StrictLessThan", &[half.clone(), infinity.clone()]);
        let inverse = apply_all(pool, "Pow", &[two.clone(), Part::Expr(Expr::from(-1))]);
        let quotient = apply_all(pool, "Mul", &[inverse, s.clone()]);
        let condition = apply_all(pool, "Eq", &[s.clone(), t.clone()]);
        let first = apply_all(pool, "ExprCondPair", &[half.clone(), condition]);
        let last = apply_all(pool, "ExprCondPair", &[s.clone(), Part::Expr(pool.bool(true))]);
        let cases = [
            (sum, "s0 + s1 + 2"),
            (half, "(s0 + s1 + 2)//2"),
            (holds, "True"),
            (quotient, "s0/2"),
            (apply_all(pool, "Max", &[s.clone(), two.clone(), s]), "Max(2, s0)"),
            (apply_all(pool, "Piecewise", &[first, last]), "Where(Eq(s0, s1), (s0 + s1 + 2)//2, s0)"),
        ];
        for (tree, text) in cases {
            let read = closed(pool, text).expect(text).expr;
            assert_eq!(tree, Part::Expr(read), "{text}");
        }
    }

    #[test]
    fn what_a_function_requires_is_told() {
        let pool = &mut Pool::new();
        let s = Part::Expr(pool.symbol("s0"));
        let applied = apply(pool, "FloorDiv", &[s.clone(), s.clone()]).expect("applies");
        assert_eq!(applied.part, Part::Expr(Expr::ONE));
        assert_eq!(applied.divisors.len(), 1);
        let root = apply(pool, "sqrt", std::slice::from_ref(&s)).expect("applies");
        assert_eq!(root.partial.len(), 1);
    }

    #[test]
    fn unknown_functions_and_wrong_operands_are_errors() {
        let pool = &mut Pool::new();
        let s = Part::Expr(pool.symbol("s0"));
        for (name, operands) in [("Frob", 1), ("FloorDiv", 1), ("Symbol", 1), ("Add", 0)] {
            let operands = vec![s.clone(); operands];
            let refused = apply(pool, name, &operands).is_err();
            assert_eq!(refused, name != "Add", "{name}");
        }
        assert!(apply(pool, "Add", &[s, Part::Infinity { negative: false }]).is_err());
    }
}
