//! Random numbers of every magnitude as they are written, with what Python makes of them: the oracle of the laws.
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use proptest::prelude::*;
use std::cmp::Ordering;

/// The names of the symbols: integers, and then a double.
pub const SYMBOLS: [&str; 3] = ["s0", "s1", "zf0"];
/// How many of them are integers.
pub const INTEGERS: usize = 2;

/// A number of Python.
#[derive(Clone, Debug)]
pub enum Number {
    Int(BigInt),
    Float(f64),
}

/// An expression as it was written; the first kind of text is an integer's, the second one a double's or, for a
/// minimum, either's.
#[derive(Clone, Debug)]
pub enum Tree {
    Int(BigInt),
    Float(f64),
    Symbol(usize),
    Call(&'static str, Vec<Tree>),
    Where(Box<Condition>, Box<Tree>, Box<Tree>),
}

/// A condition as it was written.
#[derive(Clone, Debug)]
pub enum Condition {
    Compare(&'static str, Tree, Tree),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// Why there is no value: Python raises an error.
#[derive(Debug)]
pub struct Raised;

type Value<T> = Result<T, Raised>;

fn finite(x: f64) -> Value<f64> {
    if x.is_finite() { Ok(x) } else { Err(Raised) }
}

impl Number {
    /// `float(x)`.
    fn float(&self) -> Value<f64> {
        match self {
            Number::Float(x) => Ok(*x),
            Number::Int(v) => finite(nearest(&BigRational::from_integer(v.clone()))),
        }
    }

    fn int(&self) -> Value<&BigInt> {
        match self {
            Number::Int(v) => Ok(v),
            Number::Float(_) => Err(Raised),
        }
    }

    /// The exact value of what is neither infinite nor NaN.
    fn exact(&self) -> Option<BigRational> {
        match self {
            Number::Int(v) => Some(BigRational::from_integer(v.clone())),
            Number::Float(x) => BigRational::from_float(*x),
        }
    }

    /// Python compares by value, whatever the types.
    fn compare(&self, other: &Number) -> Option<Ordering> {
        match (self.exact(), other.exact()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => {
                let sign = |n: &Number| match n {
                    Number::Float(x) if x.is_infinite() => *x,
                    Number::Float(x) if x.is_nan() => f64::NAN,
                    _ => 0.0,
                };
                sign(self).partial_cmp(&sign(other))
            }
        }
    }
}

/// The double nearest to a ratio, halves to even, found by bisection among all doubles; infinite from `2^1024 -
/// 2^970` on.
pub fn nearest(ratio: &BigRational) -> f64 {
    let magnitude = ratio.abs();
    // Positive doubles are ordered as their bits are.
    let (mut low, mut high) = (0u64, f64::INFINITY.to_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let exact = BigRational::from_float(f64::from_bits(middle)).expect("a finite double");
        if exact <= magnitude { low = middle } else { high = middle }
    }
    let exact = |bits: u64| match BigRational::from_float(f64::from_bits(bits)) {
        Some(exact) => exact,
        None => BigRational::from_integer(BigInt::from(1) << 1024),
    };
    let (below, above) = (&magnitude - exact(low), exact(high) - &magnitude);
    let up = above < below || (above == below && low % 2 == 1);
    let rounded = f64::from_bits(if up { high } else { low });
    if ratio.is_negative() { -rounded } else { rounded }
}

/// A real number rounded to an integer by `trunc`, `floor`, `ceil` or, to nearest and halves to even, `round`.
fn whole(name: &str, x: &BigRational) -> BigInt {
    let twice = (x * BigInt::from(2)).floor().to_integer();
    match name {
        "FloorToInt" => x.floor().to_integer(),
        "CeilToInt" => x.ceil().to_integer(),
        "TruncToInt" => x.trunc().to_integer(),
        _ => {
            let is_half = BigRational::from_integer(twice.clone()) == x * BigInt::from(2) && twice.is_odd();
            let up: BigInt = (&twice + 1i32).div_floor(&BigInt::from(2));
            if is_half && up.is_odd() { up - 1 } else { up }
        }
    }
}

impl Tree {
    /// What Python makes of it, every operand being evaluated.
    pub fn value(&self, at: &[Number]) -> Value<Number> {
        let (name, args) = match self {
            Tree::Int(v) => return Ok(Number::Int(v.clone())),
            Tree::Float(x) => return Ok(Number::Float(*x)),
            Tree::Symbol(i) => return Ok(at[*i].clone()),
            Tree::Call(name, args) => (*name, args),
            Tree::Where(condition, then, other) => {
                let (then, other) = (then.value(at)?, other.value(at)?);
                return Ok(if condition.value(at)? { then } else { other });
            }
        };
        let args = args.iter().map(|a| a.value(at)).collect::<Value<Vec<Number>>>()?;
        match args.as_slice() {
            [a] => unary(name, a),
            [a, b] => binary(name, a, b),
            _ => Err(Raised),
        }
    }

    pub fn text(&self) -> String {
        match self {
            Tree::Int(v) => v.to_string(),
            Tree::Float(x) if x.is_infinite() => if *x > 0.0 { "1e999" } else { "(-1e999)" }.to_string(),
            Tree::Float(x) => format!("{x:?}"),
            Tree::Symbol(i) => SYMBOLS[*i].to_string(),
            Tree::Where(c, a, b) => format!("Where({}, {}, {})", c.text(), a.text(), b.text()),
            Tree::Call(name, args) => {
                let args: Vec<String> = args.iter().map(Tree::text).collect();
                match (name.chars().next().is_some_and(char::is_alphabetic), args.as_slice()) {
                    (false, [a]) => format!("({name}{a})"),
                    (false, [a, b]) => format!("({a} {name} {b})"),
                    _ => format!("{name}({})", args.join(", ")),
                }
            }
        }
    }
}

fn unary(name: &str, a: &Number) -> Value<Number> {
    Ok(match (name, a) {
        ("-", Number::Int(v)) => Number::Int(-v),
        ("-", Number::Float(x)) => Number::Float(-x),
        ("Abs", Number::Int(v)) => Number::Int(v.abs()),
        ("Abs", Number::Float(x)) => Number::Float(x.abs()),
        ("ToFloat", a) => Number::Float(a.float()?),
        ("TruncToFloat", a) => Number::Float(finite(a.float()?)?.trunc()),
        ("OpaqueUnaryFn_sqrt", a) => {
            let x = a.float()?;
            if x < 0.0 {
                return Err(Raised);
            }
            Number::Float(x.sqrt())
        }
        (name, a) => Number::Int(whole(name, &a.exact().ok_or(Raised)?)),
    })
}

fn binary(name: &str, a: &Number, b: &Number) -> Value<Number> {
    let both_ints = matches!((a, b), (Number::Int(_), Number::Int(_)));
    Ok(match name {
        "+" | "-" | "*" if both_ints => {
            let (a, b) = (a.int()?, b.int()?);
            Number::Int(if name == "+" {
                a + b
            } else if name == "-" {
                a - b
            } else {
                a * b
            })
        }
        "+" => Number::Float(a.float()? + b.float()?),
        "-" => Number::Float(a.float()? - b.float()?),
        "*" => Number::Float(a.float()? * b.float()?),
        "//" | "Mod" => {
            let (a, b) = (a.int()?, b.int()?);
            if b.is_zero() {
                return Err(Raised);
            }
            Number::Int(if name == "//" { a.div_floor(b) } else { a.mod_floor(b) })
        }
        "BitwiseFn_bitwise_and" => Number::Int(a.int()? & b.int()?),
        "BitwiseFn_bitwise_or" => Number::Int(a.int()? | b.int()?),
        "BitwiseFn_bitwise_xor" => Number::Int(a.int()? ^ b.int()?),
        "IntTrueDiv" if both_ints => {
            let (a, b) = (a.int()?, b.int()?);
            if b.is_zero() {
                return Err(Raised);
            }
            Number::Float(finite(nearest(&BigRational::new(a.clone(), b.clone())))?)
        }
        "FloatTrueDiv" | "IntTrueDiv" => {
            let (a, b) = (a.float()?, b.float()?);
            if b == 0.0 {
                return Err(Raised);
            }
            Number::Float(a / b)
        }
        "**" if both_ints && !b.int()?.is_negative() => {
            let exponent = b.int()?.to_u32().filter(|k| *k < 8).ok_or(Raised)?;
            Number::Int(a.int()?.pow(exponent))
        }
        "FloatPow" | "**" => {
            let (a, b) = (a.float()?, b.float()?);
            let power = a.powf(b);
            let overflows = power.is_infinite() && a.is_finite() && b.is_finite();
            if overflows || (power.is_nan() && !a.is_nan() && !b.is_nan()) {
                return Err(Raised);
            }
            Number::Float(power)
        }
        "round" if both_ints => {
            let digits = b.int()?.to_i32().ok_or(Raised)?;
            let unit = BigInt::from(10).pow(digits.min(0).unsigned_abs());
            Number::Int(whole("round", &BigRational::new(a.int()?.clone(), unit.clone())) * unit)
        }
        "round" | "RoundDecimal" => {
            let digits = b.int()?.to_i32().ok_or(Raised)?;
            match BigRational::from_float(a.float()?) {
                None => Number::Float(a.float()?),
                Some(x) => {
                    let unit = BigRational::from_integer(BigInt::from(10)).pow(digits);
                    Number::Float(finite(nearest(
                        &(BigRational::from_integer(whole("round", &(x * &unit))) / unit),
                    ))?)
                }
            }
        }
        "Min" | "Max" => {
            let order = a.compare(b).ok_or(Raised)?;
            let first = if name == "Min" { order.is_le() } else { order.is_ge() };
            if first { a.clone() } else { b.clone() }
        }
        _ => return Err(Raised),
    })
}

impl Condition {
    pub fn value(&self, at: &[Number]) -> Value<bool> {
        let all = |parts: &[Condition]| parts.iter().map(|p| p.value(at)).collect::<Value<Vec<bool>>>();
        Ok(match self {
            Condition::Compare(op, a, b) => {
                let order = a.value(at)?.compare(&b.value(at)?);
                match *op {
                    "==" => order == Some(Ordering::Equal),
                    "!=" => order != Some(Ordering::Equal),
                    "<" => order == Some(Ordering::Less),
                    "<=" => order.is_some_and(Ordering::is_le),
                    ">" => order == Some(Ordering::Greater),
                    _ => order.is_some_and(Ordering::is_ge),
                }
            }
            Condition::Not(a) => !a.value(at)?,
            Condition::All(parts) => all(parts)?.into_iter().all(|p| p),
            Condition::Any(parts) => all(parts)?.into_iter().any(|p| p),
        })
    }

    pub fn text(&self) -> String {
        let joined = |name: &str, parts: &[Condition]| {
            format!("{name}({})", parts.iter().map(Condition::text).collect::<Vec<_>>().join(", "))
        };
        match self {
            Condition::Compare(op, a, b) => format!("({} {op} {})", a.text(), b.text()),
            Condition::Not(a) => format!("Not({})", a.text()),
            Condition::All(parts) => joined("And", parts),
            Condition::Any(parts) => joined("Or", parts),
        }
    }
}

/// An integer whose length in bits is drawn evenly up to `bits`.
pub fn integer(bits: u32) -> impl Strategy<Value = BigInt> {
    (0..=bits, any::<u64>(), -2..3i64, any::<bool>()).prop_map(|(bits, digits, near, negative)| {
        // Near a power of two as often as anywhere.
        let v = match digits % 2 {
            0 => (BigInt::from(1) << bits) + near,
            _ => (BigInt::from(digits) << bits) >> 64u32,
        };
        if negative { -v } else { v }
    })
}

/// A double: any bits, a small one, or one that is remarkable.
pub fn double() -> impl Strategy<Value = f64> {
    let remarkable = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        0.1,
        1e-6,
        1e-20,
        1e20,
        f64::from_bits(1),
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::INFINITY,
        9007199254740992.0,
        9007199254740993.0,
    ];
    let signed = |x: f64, negative: bool| if negative { -x } else { x };
    prop_oneof![
        3 => (prop::sample::select(remarkable.to_vec()), any::<bool>()).prop_map(move |(x, n)| signed(x, n)),
        2 => (-40..40i64, 0..5u32).prop_map(|(n, k)| n as f64 / f64::from(1u32 << k)),
        2 => (-1074..1024i32, any::<bool>()).prop_map(move |(k, n)| signed(2f64.powi(k.max(-1000)) * 2f64.powi(k.min(-1000) + 1000), n)),
        1 => any::<u64>().prop_map(|bits| Some(f64::from_bits(bits)).filter(|x| !x.is_nan()).unwrap_or(1.0)),
    ]
}

/// An expression; of the second sort it is a double. With `doubles` there is a symbol that is one, and choices
/// between doubles.
fn trees(doubles: bool) -> (BoxedStrategy<Tree>, BoxedStrategy<Tree>) {
    let symbol = || (0..INTEGERS).prop_map(Tree::Symbol);
    let int_leaf = prop_oneof![4 => symbol(), 2 => (-5..9i64).prop_map(|v| Tree::Int(v.into())), 1 => integer(300).prop_map(Tree::Int)];
    let float_leaf = prop_oneof![3 => symbol().prop_map(|s| Tree::Call("ToFloat", vec![s])), 3 => double().prop_map(Tree::Float)];
    let float_leaf = match doubles {
        true => prop_oneof![1 => float_leaf, 1 => Just(Tree::Symbol(INTEGERS))].boxed(),
        false => float_leaf.boxed(),
    };
    let (mut ints, mut floats) = (int_leaf.boxed(), float_leaf);
    for _ in 0..2 {
        let (i, f) = (ints.clone(), floats.clone());
        let call1 = |names: &[&'static str], a: BoxedStrategy<Tree>| {
            (prop::sample::select(names.to_vec()), a).prop_map(|(n, a)| Tree::Call(n, vec![a])).boxed()
        };
        let call2 = |names: &[&'static str], a: BoxedStrategy<Tree>, b: BoxedStrategy<Tree>| {
            (prop::sample::select(names.to_vec()), a, b)
                .prop_map(|(n, a, b)| Tree::Call(n, vec![a, b]))
                .boxed()
        };
        let digits =
            (-310..330i64).prop_map(|k| Tree::Int((if k % 3 == 0 { k } else { k % 5 }).into())).boxed();
        let exponent =
            prop::sample::select(vec![-1.0, 0.5, 2.0, -0.5, 3.0, 0.0]).prop_map(Tree::Float).boxed();
        let either = prop_oneof![i.clone(), f.clone()].boxed();
        let power = prop::sample::select(vec![0i64, 1, 2, 3]).prop_map(|k| Tree::Int(k.into())).boxed();
        let mixed = prop_oneof![
            call2(&["Min", "Max"], f.clone(), i.clone()),
            call2(&["Min", "Max"], i.clone(), f.clone()),
            choice(i.clone(), f.clone(), i.clone()),
        ]
        .boxed();
        let of_mixed = prop_oneof![
            3 => call2(&["+", "-", "*", "IntTrueDiv"], mixed.clone(), either.clone()),
            1 => call2(&["+", "-", "*", "IntTrueDiv"], i.clone(), mixed.clone()),
            1 => call2(&["+", "-", "*", "IntTrueDiv"], mixed.clone(), mixed.clone()),
            1 => call2(&["round"], mixed.clone(), digits.clone()),
            1 => call2(&["**"], mixed.clone(), power),
            1 => call1(&["-", "Abs"], mixed),
        ]
        .boxed();
        ints = prop_oneof![
            3 => i.clone(),
            4 => call2(&["+", "-", "*", "//", "Mod", "Min", "Max"], i.clone(), i.clone()),
            1 => call1(&["-", "Abs"], i.clone()),
            2 => call1(&["TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt"], f.clone()),
        ]
        .boxed();
        floats = prop_oneof![
            3 => f.clone(),
            4 => call2(&["+", "-", "*", "FloatTrueDiv"], f.clone(), f.clone()),
            2 => call2(&["IntTrueDiv"], i.clone(), i.clone()),
            1 => call1(&["ToFloat"], i),
            1 => call1(&["-", "Abs", "TruncToFloat", "OpaqueUnaryFn_sqrt"], f.clone()),
            1 => call2(&["Min", "Max"], f.clone(), either),
            1 => call2(&["RoundDecimal"], f.clone(), digits),
            1 => call2(&["FloatPow"], f.clone(), exponent),
            2 => of_mixed,
            if doubles { 2 } else { 0 } => choice(ints.clone(), f.clone(), f),
        ]
        .boxed();
    }
    (ints, floats)
}

/// An integer expression of two integers.
pub fn integers() -> BoxedStrategy<Tree> {
    trees(false).0
}

/// One of two numbers.
fn choice(
    ints: BoxedStrategy<Tree>,
    then: BoxedStrategy<Tree>,
    other: BoxedStrategy<Tree>,
) -> BoxedStrategy<Tree> {
    let condition = (prop::sample::select(vec!["==", ">", "<="]), ints, -5..9i64)
        .prop_map(|(op, a, b)| Box::new(Condition::Compare(op, a, Tree::Int(b.into()))));
    (condition, then, other).prop_map(|(c, a, b)| Tree::Where(c, Box::new(a), Box::new(b))).boxed()
}

/// A comparison of an integer where it is a minimum or maximum with a double, or what is computed from it, with the
/// double next to the integer.
fn beside_the_nearest() -> BoxedStrategy<Condition> {
    let mixed = (prop::sample::select(vec!["Min", "Max"]), double(), 0..INTEGERS);
    let op = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let operand = prop_oneof![
        1 => double().prop_map(Tree::Float),
        1 => (-5..9i64).prop_map(|v| Tree::Int(v.into())),
        1 => (0..INTEGERS).prop_map(Tree::Symbol),
    ];
    let then =
        prop::option::of((prop::sample::select(vec!["+", "-", "*", "FloatTrueDiv", "IntTrueDiv"]), operand));
    (mixed, op, then)
        .prop_map(|((name, x, i), op, then)| {
            let sides = [
                Tree::Call(name, vec![Tree::Float(x), Tree::Symbol(i)]),
                Tree::Call("ToFloat", vec![Tree::Symbol(i)]),
            ];
            let [a, b] = sides.map(|side| match &then {
                Some((name, y)) => Tree::Call(name, vec![side, y.clone()]),
                None => side,
            });
            Condition::Compare(op, a, b)
        })
        .boxed()
}

/// A condition on integers, doubles, or both; see [`trees`].
pub fn condition(doubles: bool) -> BoxedStrategy<Condition> {
    let (ints, floats) = trees(doubles);
    let op = || prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let compare = |a: BoxedStrategy<Tree>, b: BoxedStrategy<Tree>| {
        (op(), a, b).prop_map(|(op, a, b)| Condition::Compare(op, a, b)).boxed()
    };
    let plain = prop_oneof![
        2 => compare(ints.clone(), ints.clone()),
        4 => compare(floats.clone(), floats.clone()),
        2 => compare(ints, floats),
        1 => beside_the_nearest(),
    ];
    plain
        .prop_recursive(1, 3, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|c| Condition::Not(Box::new(c))),
                prop::collection::vec(inner.clone(), 2).prop_map(Condition::All),
                prop::collection::vec(inner, 2).prop_map(Condition::Any),
            ]
        })
        .boxed()
}
