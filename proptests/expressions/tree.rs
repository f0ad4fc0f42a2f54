//! Random expressions as they are written: the oracle of the laws, evaluated node by node over big integers without
//! any rewriting.
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, Zero};
use proptest::prelude::*;
use sizewise::expr::{Expr, Func, Pool};

/// The names of the symbols.
pub const SYMBOLS: [&str; 4] = ["s0", "s1", "s2", "u0"];

/// An integer expression as it was written.
#[derive(Clone, Debug)]
pub enum Tree {
    Int(i128),
    Symbol(usize),
    Binary(Op, Box<Tree>, Box<Tree>),
    Neg(Box<Tree>),
    Abs(Box<Tree>),
    Power(Box<Tree>, u32),
    If(Box<Condition>, Box<Tree>, Box<Tree>),
}

/// An operator on two integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
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
pub enum Condition {
    Compare(&'static str, Tree, Tree),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Same(Box<Condition>, Box<Condition>),
}

impl Tree {
    /// The value, or `None` when a divisor anywhere in the tree is zero or a power grows out of hand.
    pub fn value(&self, at: &[BigInt; 4]) -> Option<BigInt> {
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

    pub fn build(&self, pool: &mut Pool) -> Expr {
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

    pub fn text(&self) -> String {
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
    pub fn value(&self, at: &[BigInt; 4]) -> Option<bool> {
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

    pub fn build(&self, pool: &mut Pool) -> Expr {
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

    pub fn text(&self) -> String {
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

pub fn tree() -> BoxedStrategy<Tree> {
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

pub fn condition() -> impl Strategy<Value = Condition> {
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
pub fn assignment() -> impl Strategy<Value = [BigInt; 4]> {
    let value = prop_oneof![
        6 => (-12i128..=12).prop_map(BigInt::from),
        2 => (-1000i128..=1000).prop_map(BigInt::from),
        1 => any::<i128>().prop_map(BigInt::from),
    ];
    prop::array::uniform4(value)
}
