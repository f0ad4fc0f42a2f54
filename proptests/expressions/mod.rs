//! Laws of expressions, checked on random ones: canonical construction keeps values, text reads back to the same
//! handle, substitution commutes with evaluation.
//!
//! The oracle is a plain syntax tree evaluated node by node over big integers, without any rewriting.
use crate::campaign;
pub(crate) mod tree;

use campaign::{config, count};
use num_bigint::BigInt;
use num_traits::{One, Zero};
use proptest::prelude::*;
use sizewise::expr::read::{self, Dialect};
use sizewise::expr::{Expr, Int, Pool, Symbol, Value, print};
use tree::{Op, SYMBOLS, Tree, assignment, condition, tree};

fn assigned<'a>(pool: &'a Pool, at: &'a [BigInt; 4]) -> impl Fn(Symbol) -> Option<Value> + 'a {
    move |symbol| {
        let i = SYMBOLS.iter().position(|name| *name == pool.symbol_name(symbol))?;
        Some(Value::Int(Int::from_big(at[i].clone())))
    }
}

fn value_at(pool: &Pool, e: Expr, at: &[BigInt; 4]) -> Result<Value, String> {
    pool.eval(e, assigned(pool, at)).map_err(|error| error.to_string())
}

fn int(value: BigInt) -> Result<Value, String> {
    Ok(Value::Int(Int::from_big(value)))
}

/// A pool in which symbols have been made in an order of the test's choice, which decides the order of handles.
fn pool_with(order: u8) -> Pool {
    let mut pool = Pool::new();
    for i in 0..SYMBOLS.len() {
        pool.symbol(SYMBOLS[(i + usize::from(order)) % SYMBOLS.len()]);
    }
    pool
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn canonical_construction_keeps_values(
        tree in tree(),
        order in 0u8..4,
        points in prop::collection::vec(assignment(), 6),
    ) {
        let mut pool = pool_with(order);
        let e = tree.build(&mut pool);
        for at in &points {
            if let Some(expected) = tree.value(at) {
                count(1);
                prop_assert_eq!(
                    value_at(&pool, e, at), int(expected),
                    "{} became {} at {:?}", tree.text(), print::expression(&pool, e), at
                );
            }
        }
    }

    #[test]
    fn conditions_keep_their_truth(
        condition in condition(),
        order in 0u8..4,
        points in prop::collection::vec(assignment(), 6),
    ) {
        let mut pool = pool_with(order);
        let e = condition.build(&mut pool);
        let negated = pool.not(e);
        prop_assert_eq!(pool.not(negated), e);
        for at in &points {
            if let Some(expected) = condition.value(at) {
                count(2);
                let shown = print::expression(&pool, e);
                prop_assert_eq!(value_at(&pool, e, at), Ok(Value::Bool(expected)), "{} became {}", condition.text(), shown);
                prop_assert_eq!(value_at(&pool, negated, at), Ok(Value::Bool(!expected)));
            }
        }
    }

    #[test]
    fn text_is_read_to_what_was_built(
        tree in tree(),
        condition in condition(),
        order in 0u8..4,
        points in prop::collection::vec(assignment(), 4),
    ) {
        let mut pool = pool_with(order);
        let (e, c) = (tree.build(&mut pool), condition.build(&mut pool));
        let read = read::closed(&mut pool, &tree.text()).expect("integers read");
        prop_assert_eq!(read.expr, e, "{}", tree.text());
        // The text has a value exactly where none of its divisors is zero.
        for at in &points {
            count(1);
            let zero = read.divisors.iter().any(|&d| value_at(&pool, d, at) == int(BigInt::zero()));
            prop_assert_eq!(zero, tree.value(at).is_none(), "{}", tree.text());
        }
        let read = read::closed(&mut pool, &condition.text()).expect("conditions read");
        prop_assert_eq!(read.expr, c, "{}", condition.text());
    }

    #[test]
    fn written_text_reads_back_to_the_same_handle(tree in tree(), condition in condition(), order in 0u8..4) {
        let mut pool = pool_with(order);
        for e in [tree.build(&mut pool), condition.build(&mut pool)] {
            count(2);
            let sympy = print::expression(&pool, e);
            let again = read::closed(&mut pool, &sympy).map(|r| r.expr);
            prop_assert_eq!(again, Ok(e), "{}", sympy);
            let python = print::python(&pool, e, &|s| pool.symbol_name(s).to_owned());
            let again = read::expression_in(&mut pool, &python, Dialect::Python, &mut |_| None).map(|r| r.expr);
            prop_assert_eq!(again, Ok(e), "{}", python);
        }
    }

    #[test]
    fn substitution_commutes_with_evaluation(
        tree in tree(),
        condition in condition(),
        replacement in tree(),
        replaced in 0usize..4,
        points in prop::collection::vec(assignment(), 4),
    ) {
        let mut pool = pool_with(0);
        let (e, c) = (tree.build(&mut pool), condition.build(&mut pool));
        let new = replacement.build(&mut pool);
        let symbol = pool.find_symbol(SYMBOLS[replaced]);
        let (e, c) = (
            pool.substitute_symbols(e, |s| (Some(s) == symbol).then_some(new)),
            pool.substitute_symbols(c, |s| (Some(s) == symbol).then_some(new)),
        );
        for at in &points {
            let Some(inner) = replacement.value(at) else { continue };
            if inner.bits() > 4000 {
                continue;
            }
            let mut moved = at.clone();
            moved[replaced] = inner;
            if let Some(expected) = tree.value(&moved) {
                count(1);
                prop_assert_eq!(value_at(&pool, e, at), int(expected), "{}", tree.text());
            }
            if let Some(expected) = condition.value(&moved) {
                count(1);
                prop_assert_eq!(value_at(&pool, c, at), Ok(Value::Bool(expected)), "{}", condition.text());
            }
        }
    }

    #[test]
    fn substituting_all_symbols_gives_the_value(tree in tree(), at in assignment()) {
        let mut pool = pool_with(0);
        let e = tree.build(&mut pool);
        let values: Vec<Expr> = at.iter().map(|v| pool.int(Int::from_big(v.clone()))).collect();
        let names: Vec<Option<Symbol>> = SYMBOLS.iter().map(|name| pool.find_symbol(name)).collect();
        let constant = pool.substitute_symbols(e, |s| {
            names.iter().position(|name| *name == Some(s)).map(|i| values[i])
        });
        if let Some(expected) = tree.value(&at) {
            count(1);
            prop_assert_eq!(pool.as_int(constant), Some(Int::from_big(expected)), "{}", tree.text());
        }
    }

    #[test]
    fn a_comparison_its_mirror_image_and_its_double_negation_are_one_handle(a in tree(), b in tree()) {
        let mut pool = pool_with(0);
        let (a, b) = (a.build(&mut pool), b.build(&mut pool));
        count(7);
        prop_assert_eq!(pool.lt(a, b), pool.gt(b, a));
        prop_assert_eq!(pool.le(a, b), pool.ge(b, a));
        prop_assert_eq!(pool.eq(a, b), pool.eq(b, a));
        let below = pool.lt(a, b);
        prop_assert_eq!(pool.not(below), pool.ge(a, b));
        let sum = pool.add(a, b);
        prop_assert_eq!(pool.sub(sum, b), a);
        prop_assert_eq!(pool.add(b, a), sum);
        prop_assert_eq!(pool.mul(a, b), pool.mul(b, a));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+*/%&|~^<>=!()\\[\\],.'a-cLx0-9 ]{0,40}") {
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        count(1);
        if let Err(error) = read::expression(&mut pool, &text, &mut |_| Some(x)) {
            prop_assert!(error.offset <= text.len());
        }
    }

    #[test]
    fn any_sequence_of_words_is_read_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "s0", "s1", "2", "0", "(", ")", ",", "+", "-", "*", "//", "%", "/", "**", "<", "==", "and", "or", "not", "if", "else",
        "Max(", "Mod(", "FloorDiv(", "Symbol('u0', integer=True)", "L['x'].size()[0]", "int_oo", "oo", "2.5", "1e400", "&", "~",
        "floor(", "Piecewise(", "True", "round(", "OpaqueUnaryFn_log(", "IntTrueDiv(", "[", "]", "<<", ">>", "^", "Rational(",
    ]), 0..14)) {
        let text = words.join(" ");
        count(1);
        let mut pool = Pool::new();
        let x = pool.symbol("x");
        if let Ok(read) = read::expression(&mut pool, &text, &mut |_| Some(x)) {
            let written = print::expression(&pool, read.expr);
            let again = read::closed(&mut pool, &written).map(|r| r.expr);
            prop_assert_eq!(again, Ok(read.expr), "{} is written {}", text, written);
            let _ = pool.eval(read.expr, |_| Some(Value::Int(Int::from(3))));
        }
    }
}

#[test]
fn the_oracle_floors_as_python_does() {
    let quotient = |a: i128, b: i128| {
        let tree = Tree::Binary(Op::FloorDiv, Box::new(Tree::Int(a)), Box::new(Tree::Int(b)));
        tree.value(&std::array::from_fn(|_| BigInt::one()))
    };
    assert_eq!(quotient(-7, 2), Some(BigInt::from(-4)));
    assert_eq!(quotient(7, -2), Some(BigInt::from(-4)));
    assert_eq!(quotient(7, 0), None);
}
