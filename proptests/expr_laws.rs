//! Laws of expressions, checked on random ones: canonical construction keeps values, text reads back to the same
//! handle, substitution commutes with evaluation.
//!
//! The oracle is a plain syntax tree evaluated node by node over big integers, without any rewriting.
#[path = "campaign/mod.rs"]
mod campaign;

use campaign::{config, count};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};
use proptest::prelude::*;
use sizewise::expr::read::{self, Dialect};
use sizewise::expr::{Expr, Func, Int, Pool, Symbol, Value, print};

const SYMBOLS: [&str; 4] = ["s0", "s1", "s2", "u0"];

/// An integer expression as it was written.
#[derive(Clone, Debug)]
enum Tree {
    Int(i128),
    Symbol(usize),
    Binary(Op, Box<Tree>, Box<Tree>),
    Neg(Box<Tree>),
    Abs(Box<Tree>),
    Power(Box<Tree>, u32),
    If(Box<Condition>, Box<Tree>, Box<Tree>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Add,
    Sub,
    Mul,
    FloorDiv,
    Mod,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// A truth value as it was written.
#[derive(Clone, Debug)]
enum Condition {
    Compare(&'static str, Tree, Tree),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Same(Box<Condition>, Box<Condition>),
}

impl Tree {
    /// The value, or `None` when a divisor anywhere in the tree is zero or a power grows out of hand.
    fn value(&self, at: &[BigInt; 4]) -> Option<BigInt> {
        Some(match self {
            Tree::Int(v) => BigInt::from(*v),
            Tree::Symbol(i) => at[*i].clone(),
            Tree::Neg(a) => -a.value(at)?,
            Tree::Abs(a) => a.value(at)?.abs(),
            Tree::Power(a, n) => num_traits::pow(a.value(at)?, *n as usize),
            Tree::If(c, p, q) => {
                let (c, p, q) = (c.value(at)?, p.value(at)?, q.value(at)?);
                if c { p } else { q }
            }
            Tree::Binary(op, a, b) => {
                let (a, b) = (a.value(at)?, b.value(at)?);
                match op {
                    Op::Add => a + b,
                    Op::Sub => a - b,
                    Op::Mul => a * b,
                    Op::FloorDiv | Op::Mod if b.is_zero() => return None,
                    Op::FloorDiv => Integer::div_floor(&a, &b),
                    Op::Mod => a.mod_floor(&b),
                    Op::Min => a.min(b),
                    Op::Max => a.max(b),
                    Op::And => a & b,
                    Op::Or => a | b,
                    Op::Xor => a ^ b,
                }
            }
        })
    }

    fn build(&self, pool: &mut Pool) -> Expr {
        match self {
            Tree::Int(v) => pool.int(*v),
            Tree::Symbol(i) => pool.symbol(SYMBOLS[*i]),
            Tree::Neg(a) => {
                let a = a.build(pool);
                pool.neg(a)
            }
            Tree::Abs(a) => {
                let a = a.build(pool);
                pool.abs(a)
            }
            Tree::Power(a, n) => {
                let a = a.build(pool);
                let n = pool.int(i64::from(*n));
                pool.pow(a, n)
            }
            Tree::If(c, p, q) => {
                let (c, p, q) = (c.build(pool), p.build(pool), q.build(pool));
                pool.ite(c, p, q)
            }
            Tree::Binary(op, a, b) => {
                let (a, b) = (a.build(pool), b.build(pool));
                match op {
                    Op::Add => pool.add(a, b),
                    Op::Sub => pool.sub(a, b),
                    Op::Mul => pool.mul(a, b),
                    Op::FloorDiv => pool.floor_div(a, b),
                    Op::Mod => pool.modulo(a, b),
                    Op::Min => pool.min(a, b),
                    Op::Max => pool.max(a, b),
                    Op::And => pool.bitwise(Func::BitAnd, a, b),
                    Op::Or => pool.bitwise(Func::BitOr, a, b),
                    Op::Xor => pool.bitwise(Func::BitXor, a, b),
                }
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Tree::Int(v) => v.to_string(),
            Tree::Symbol(i) => SYMBOLS[*i].to_owned(),
            Tree::Neg(a) => format!("-({})", a.text()),
            Tree::Abs(a) => format!("Abs({})", a.text()),
            Tree::Power(a, n) => format!("({})**{n}", a.text()),
            Tree::If(c, p, q) => format!("({} if {} else {})", p.text(), c.text(), q.text()),
            Tree::Binary(op, a, b) => {
                let (a, b) = (a.text(), b.text());
                match op {
                    Op::Add => format!("({a}) + ({b})"),
                    Op::Sub => format!("({a}) - ({b})"),
                    Op::Mul => format!("({a})*({b})"),
                    Op::FloorDiv => format!("({a})//({b})"),
                    Op::Mod => format!("({a}) % ({b})"),
                    Op::Min => format!("Min({a}, {b})"),
                    Op::Max => format!("Max({a}, {b})"),
                    Op::And => format!("({a}) & ({b})"),
                    Op::Or => format!("({a}) | ({b})"),
                    Op::Xor => format!("({a}) ^ ({b})"),
                }
            }
        }
    }
}

impl Condition {
    fn value(&self, at: &[BigInt; 4]) -> Option<bool> {
        Some(match self {
            Condition::Compare(op, a, b) => {
                let order = a.value(at)?.cmp(&b.value(at)?);
                match *op {
                    "==" => order.is_eq(),
                    "!=" => order.is_ne(),
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                }
            }
            Condition::Not(a) => !a.value(at)?,
            Condition::And(a, b) => a.value(at)? & b.value(at)?,
            Condition::Or(a, b) => a.value(at)? | b.value(at)?,
            Condition::Same(a, b) => a.value(at)? == b.value(at)?,
        })
    }

    fn build(&self, pool: &mut Pool) -> Expr {
        match self {
            Condition::Compare(op, a, b) => {
                let (a, b) = (a.build(pool), b.build(pool));
                match *op {
                    "==" => pool.eq(a, b),
                    "!=" => pool.ne(a, b),
                    "<" => pool.lt(a, b),
                    "<=" => pool.le(a, b),
                    ">" => pool.gt(a, b),
                    _ => pool.ge(a, b),
                }
            }
            Condition::Not(a) => {
                let a = a.build(pool);
                pool.not(a)
            }
            Condition::And(a, b) => {
                let both = [a.build(pool), b.build(pool)];
                pool.and(&both)
            }
            Condition::Or(a, b) => {
                let both = [a.build(pool), b.build(pool)];
                pool.or(&both)
            }
            Condition::Same(a, b) => {
                let (a, b) = (a.build(pool), b.build(pool));
                pool.eq(a, b)
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Condition::Compare("==", a, b) => format!("Eq({}, {})", a.text(), b.text()),
            Condition::Compare(op, a, b) => format!("({}) {op} ({})", a.text(), b.text()),
            Condition::Not(a) => format!("not ({})", a.text()),
            Condition::And(a, b) => format!("({}) and ({})", a.text(), b.text()),
            Condition::Or(a, b) => format!("({}) | ({})", a.text(), b.text()),
            Condition::Same(a, b) => format!("({}) == ({})", a.text(), b.text()),
        }
    }
}

fn constant() -> impl Strategy<Value = i128> {
    prop_oneof![
        8 => -6i128..=6,
        3 => prop::sample::select(vec![8i128, -8, 12, 16, 24, 7, 100, -49]),
        1 => prop::sample::select(vec![
            i128::from(i64::MAX),
            i128::from(i64::MIN),
            1 << 62,
            -(1 << 62) - 1,
            (1 << 64) + 1,
            i128::MAX,
        ]),
    ]
}

fn tree() -> BoxedStrategy<Tree> {
    let leaf = prop_oneof![
        2 => constant().prop_map(Tree::Int),
        5 => (0..SYMBOLS.len()).prop_map(Tree::Symbol),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let op = prop::sample::select(vec![
            Op::Add,
            Op::Add,
            Op::Add,
            Op::Sub,
            Op::Sub,
            Op::Mul,
            Op::Mul,
            Op::Mul,
            Op::FloorDiv,
            Op::FloorDiv,
            Op::FloorDiv,
            Op::FloorDiv,
            Op::Mod,
            Op::Mod,
            Op::Mod,
            Op::Min,
            Op::Max,
            Op::And,
            Op::Or,
            Op::Xor,
        ]);
        let divisor = prop_oneof![(1i128..=12).prop_map(Tree::Int), inner.clone()];
        prop_oneof![
            8 => (op, inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| Tree::Binary(op, Box::new(a), Box::new(b))),
            // Constant divisors are what most programs have.
            4 => (prop::bool::ANY, inner.clone(), divisor).prop_map(|(div, a, b)| {
                Tree::Binary(if div { Op::FloorDiv } else { Op::Mod }, Box::new(a), Box::new(b))
            }),
            1 => inner.clone().prop_map(|a| Tree::Neg(Box::new(a))),
            1 => inner.clone().prop_map(|a| Tree::Abs(Box::new(a))),
            1 => (inner.clone(), 0u32..4).prop_map(|(a, n)| Tree::Power(Box::new(a), n)),
            1 => (comparison(inner.clone()), inner.clone(), inner)
                .prop_map(|(c, p, q)| Tree::If(Box::new(c), Box::new(p), Box::new(q))),
        ]
    })
    .boxed()
}

fn comparison(inner: impl Strategy<Value = Tree> + Clone + 'static) -> BoxedStrategy<Condition> {
    (prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]), inner.clone(), inner)
        .prop_map(|(op, a, b)| Condition::Compare(op, a, b))
        .boxed()
}

fn condition() -> impl Strategy<Value = Condition> {
    comparison(tree()).prop_recursive(3, 8, 2, |inner| {
        let pair = (inner.clone(), inner.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b)));
        prop_oneof![
            inner.prop_map(|a| Condition::Not(Box::new(a))),
            pair.clone().prop_map(|(a, b)| Condition::And(a, b)),
            pair.clone().prop_map(|(a, b)| Condition::Or(a, b)),
            pair.prop_map(|(a, b)| Condition::Same(a, b)),
        ]
    })
}

/// Values of the symbols: mostly small, some beyond 64 bits.
fn assignment() -> impl Strategy<Value = [BigInt; 4]> {
    let value = prop_oneof![
        6 => (-12i128..=12).prop_map(BigInt::from),
        2 => (-1000i128..=1000).prop_map(BigInt::from),
        1 => any::<i128>().prop_map(BigInt::from),
    ];
    prop::array::uniform4(value)
}

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
