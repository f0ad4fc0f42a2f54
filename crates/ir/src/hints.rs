//! The values of a program's symbols at the example it was traced with.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::meta::Hint;
use sizewise_expr::{Expr, Int, Node, Pool, Symbol, Value};

/// Values of symbols, in order of discovery.
pub type SymbolHints = IndexMap<Symbol, Value, FxBuildHasher>;

/// Finds the values of symbols from expressions and their values: from those that are a symbol, then, as a
/// derived dimension may be recorded where its root is not, from those with one unknown symbol that
/// is in them linearly (`2*s0 + 1` is 9, so `s0` is 4). Expressions that contradict a value found
/// earlier are ignored.
pub fn symbol_hints(pool: &Pool, expressions: &[(Expr, Hint)]) -> SymbolHints {
    let mut hints = SymbolHints::default();
    let mut rest: Vec<(Expr, Int)> = Vec::new();
    for &(expr, hint) in expressions {
        match (pool.as_symbol(expr), hint) {
            (Some(symbol), hint) => {
                let value = match hint {
                    Hint::Int(value) => Value::Int(value.into()),
                    Hint::Float(value) => Value::Float(value),
                    Hint::Bool(value) => Value::Bool(value),
                };
                hints.entry(symbol).or_insert(value);
            }
            (None, Hint::Int(value)) => rest.push((expr, value.into())),
            (None, _) => {}
        }
    }
    // Each round finds a symbol or is the last.
    loop {
        let before = hints.len();
        rest.retain(|(expr, value)| match solve(pool, *expr, value, &hints) {
            Solution::Found(symbol, value) => {
                hints.insert(symbol, Value::Int(value));
                false
            }
            Solution::Never => false,
            Solution::NotYet => true,
        });
        if hints.len() == before || rest.is_empty() {
            return hints;
        }
    }
}

enum Solution {
    /// The symbol has this value.
    Found(Symbol, Int),
    /// More than one symbol is unknown.
    NotYet,
    /// The expression is of another form, has no unknown or no integer solution.
    Never,
}

/// Solves `expr == value` for its only unknown symbol.
fn solve(pool: &Pool, expr: Expr, value: &Int, hints: &SymbolHints) -> Solution {
    let Some(Node::Sum { constant, terms }) = pool.node(expr) else { return Solution::Never };
    let mut rest = value - constant;
    let mut unknown = None;
    for (monomial, coefficient) in terms {
        let Some(symbol) = pool.as_symbol(*monomial) else { return Solution::Never };
        match hints.get(&symbol) {
            Some(Value::Int(value)) => rest = &rest - &(coefficient * value),
            Some(_) => return Solution::Never,
            None if unknown.is_some() => return Solution::NotYet,
            None => unknown = Some((symbol, coefficient)),
        }
    }
    match unknown {
        Some((symbol, coefficient)) if rest.is_multiple_of(coefficient) => {
            match rest.floor_div(coefficient) {
                Some(value) => Solution::Found(symbol, value),
                None => Solution::Never,
            }
        }
        _ => Solution::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::read;

    #[test]
    fn symbols_are_found_alone_or_in_a_linear_expression() {
        type Values = &'static [(&'static str, i64)];
        let cases: [(Values, Values); 9] = [
            (&[("s0", 4)], &[("s0", 4)]),
            (&[("2*s0 + 1", 9)], &[("s0", 4)]),
            (&[("s0 + s1", 9), ("s0", 4)], &[("s0", 4), ("s1", 5)]),
            (&[("s0 + s1 + s2", 9), ("s0 + s1", 4), ("3*s1", 9)], &[("s1", 3), ("s0", 1), ("s2", 5)]),
            (&[("s0", 4), ("s0", 5)], &[("s0", 4)]),
            (&[("2*s0", 9)], &[]),
            (&[("s0*s1", 8), ("s0", 4)], &[("s0", 4)]),
            (&[("s0//2", 3)], &[]),
            (&[("s0 + s1", 3)], &[]),
        ];
        for (recorded, expected) in cases {
            let mut pool = Pool::new();
            let entries: Vec<(Expr, Hint)> = recorded
                .iter()
                .map(|&(text, value)| (read::closed(&mut pool, text).expect(text).expr, Hint::Int(value)))
                .collect();
            let hints = symbol_hints(&pool, &entries);
            let found: Vec<(String, i64)> = hints
                .iter()
                .map(|(&symbol, value)| {
                    (
                        pool.symbol_name(symbol).to_owned(),
                        value.as_int().and_then(|int| int.to_i64()).expect("an int"),
                    )
                })
                .collect();
            let expected: Vec<(String, i64)> =
                expected.iter().map(|&(name, value)| (name.into(), value)).collect();
            assert_eq!(found, expected, "{recorded:?}");
        }
    }
}
