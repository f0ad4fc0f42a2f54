//! Soundness by enumeration: every concrete result lies in the abstract one, for every node kind.
use super::backward;
use super::transfer::{self, Abstract};
use super::{Bound, Congruence, Domain, FloatRange, ValueRange};
use crate::{Func, Int, Value, evaluate_call};

/// Ranges with ends in -4..=4 or infinite.
fn ranges() -> Vec<ValueRange> {
    let ends: Vec<Bound> = (-4..=4).map(Bound::from).collect();
    let los = ends.iter().cloned().chain([Bound::NegInf]);
    let pairs =
        los.flat_map(|lo| ends.iter().cloned().chain([Bound::PosInf]).map(move |hi| (lo.clone(), hi)));
    pairs.filter_map(|(lo, hi)| ValueRange::new(lo, hi)).collect()
}

/// Some ranges met with some residue classes.
fn domains() -> Vec<Domain> {
    let range = |lo: i64, hi: i64| ValueRange::new(lo, hi).expect("not empty");
    let ranges = [
        ValueRange::all(),
        ValueRange::nonnegative(),
        ValueRange::at_least(Int::from(2)),
        ValueRange::at_most(Int::from(-1)),
        ValueRange::at_most(Int::from(3)),
        range(-4, 4),
        range(-3, -1),
        range(0, 5),
        range(-2, 7),
        range(2, 6),
        range(0, 0),
        range(4, 4),
        range(-3, -3),
    ];
    let classes = [(1, 0), (2, 0), (2, 1), (3, 2), (4, 0), (4, 3), (6, 2)];
    let mut all = Vec::new();
    for range in &ranges {
        for (m, r) in classes {
            all.extend(Domain::new(range.clone(), Congruence::new(m, r)));
        }
    }
    all
}

/// The members of a domain that are near 0.
fn members(domain: &Domain) -> Vec<i64> {
    (-9..=9).filter(|v| domain.contains(&Int::from(*v))).collect()
}

fn value(v: i64) -> Value {
    Value::Int(Int::from(v))
}

fn assert_holds(result: &Option<Abstract>, concrete: &Value, what: impl Fn() -> String) {
    let holds = match (result, concrete) {
        (Some(Abstract::Int(domain)), Value::Float(_) | Value::Ratio(_)) => {
            let x = concrete.as_f64();
            FloatRange::around_integers(&domain.range).contains(x)
        }
        (Some(Abstract::Int(domain)), value) => value.as_int().is_some_and(|v| domain.contains(&v)),
        (Some(Abstract::Float(range)), value) => range.contains(value.as_f64()),
        (None, _) => false,
    };
    assert!(holds, "{concrete:?} is not in {result:?} of {}", what());
}

const BINARY: [Func; 16] = [
    Func::FloorDiv,
    Func::Mod,
    Func::Min,
    Func::Max,
    Func::Pow,
    Func::BitAnd,
    Func::BitOr,
    Func::BitXor,
    Func::IntTrueDiv,
    Func::FloatTrueDiv,
    Func::FloatAdd,
    Func::FloatMul,
    Func::FloatPow,
    Func::FloatEq,
    Func::FloatLt,
    Func::FloatLe,
];

fn takes_doubles(func: Func) -> bool {
    use Func::*;
    matches!(func, FloatTrueDiv | FloatAdd | FloatMul | FloatPow | FloatEq | FloatLt | FloatLe)
}

fn assert_binary_is_sound(func: Func, a: &Domain, b: &Domain) {
    let operand = |d: &Domain| match takes_doubles(func) {
        true => Abstract::Float(FloatRange::from_integers(&d.range).expect("small integers")),
        false => Abstract::Int(d.clone()),
    };
    let concrete = |v: i64| if takes_doubles(func) { Value::Float(v as f64) } else { value(v) };
    let result = transfer::call(func, &[operand(a), operand(b)]);
    let right = members(b);
    for x in members(a) {
        for &y in &right {
            if let Ok(v) = evaluate_call(func, &[concrete(x), concrete(y)]) {
                assert_holds(&result, &v, || format!("{func:?}({x} in {a:?}, {y} in {b:?})"));
            }
        }
    }
}

#[test]
fn binary_operations_hold_every_value_of_small_ranges() {
    let ranges = ranges();
    for func in BINARY {
        for a in &ranges {
            for b in &ranges {
                assert_binary_is_sound(func, &a.clone().into(), &b.clone().into());
            }
        }
    }
}

#[test]
fn binary_operations_hold_every_value_of_small_residue_classes() {
    let domains = domains();
    for func in BINARY.into_iter().filter(|f| !takes_doubles(*f)) {
        for a in &domains {
            for b in &domains {
                assert_binary_is_sound(func, a, b);
            }
        }
    }
}

#[test]
fn unary_operations_hold_every_value() {
    let all: Vec<Domain> = ranges().into_iter().map(Domain::from).chain(domains()).collect();
    for a in &all {
        for func in [Func::Abs, Func::IsZero, Func::NotPositive, Func::ToFloat] {
            let result = transfer::call(func, &[Abstract::Int(a.clone())]);
            for x in members(a) {
                let v = evaluate_call(func, &[value(x)]).expect("defined everywhere");
                assert_holds(&result, &v, || format!("{func:?}({x} in {a:?})"));
            }
        }
        for d in [1, 2, 3, 7] {
            let result =
                transfer::call(Func::Ratio, &[Abstract::Int(a.clone()), Abstract::Int(Domain::point(d))]);
            for x in members(a) {
                let v = evaluate_call(Func::Ratio, &[value(x), value(d)]).expect("defined");
                assert_holds(&result, &v, || format!("{x}/{d}, {a:?}"));
            }
        }
        for n in 0..6u32 {
            let result = transfer::pow_literal(a, n);
            for x in members(a) {
                let power = Int::from(x).pow(n, 64).expect("small");
                assert!(
                    result.as_ref().is_some_and(|d| d.contains(&power)),
                    "{x}**{n} in {result:?} of {a:?}"
                );
            }
        }
    }
}

#[test]
fn sums_and_products_hold_every_value() {
    let all: Vec<Domain> = ranges().into_iter().map(Domain::from).chain(domains()).collect();
    for a in &all {
        for b in &all {
            let total = transfer::sum(&Int::from(3), [(a, &Int::from(-2)), (b, &Int::ONE)]).expect("defined");
            let product = transfer::product([(a, 1), (b, 1)]).expect("defined");
            let powers = transfer::product([(a, 2), (b, 3)]).expect("defined");
            let (meet, join) = (a.meet(b), a.join(b));
            let right = members(b);
            for x in members(a) {
                assert!(join.contains(&Int::from(x)));
                assert_eq!(
                    right.contains(&x),
                    meet.as_ref().is_some_and(|m| m.contains(&Int::from(x))),
                    "{a:?} {b:?}"
                );
                for &y in &right {
                    assert!(
                        total.contains(&Int::from(3 - 2 * x + y)),
                        "3 - 2*{x} + {y}: {a:?} {b:?} {total:?}"
                    );
                    assert!(product.contains(&Int::from(x * y)), "{x}*{y}: {a:?} {b:?} {product:?}");
                    assert!(
                        powers.contains(&Int::from(x * x * y * y * y)),
                        "{x}, {y}: {a:?} {b:?} {powers:?}"
                    );
                    assert!(join.contains(&Int::from(y)));
                }
            }
        }
    }
}

#[test]
fn domains_are_reduced() {
    for domain in domains() {
        for end in [&domain.range.lo, &domain.range.hi] {
            assert!(end.finite().is_none_or(|v| domain.contains(v)), "{domain:?}");
        }
        assert_eq!(domain.as_point().is_some(), domain.congruence.modulus().is_zero(), "{domain:?}");
    }
}

#[test]
fn residue_classes_meet_exactly() {
    let classes: Vec<Congruence> =
        (0..7).flat_map(|m| (0..7.max(m)).map(move |r| Congruence::new(m, r - 2))).collect();
    for a in &classes {
        for b in &classes {
            let meet = a.meet(b);
            for v in -60..60 {
                let v = Int::from(v);
                let both = a.contains(&v) && b.contains(&v);
                assert_eq!(
                    both,
                    meet.as_ref().is_some_and(|m| m.contains(&v)),
                    "{v} in {a:?} and {b:?}: {meet:?}"
                );
            }
        }
        for c in [-6, -3, -2, -1, 1, 2, 3, 4, 6] {
            let solutions = a.unscale(&Int::from(c));
            for x in -40..40 {
                let solves = a.contains(&Int::from(c * x));
                let found = solutions.as_ref().is_some_and(|s| s.contains(&Int::from(x)));
                assert_eq!(solves, found, "{c}*{x} in {a:?}: {solutions:?}");
            }
        }
    }
}

const REAL: [Func; 14] = [
    Func::Sqrt,
    Func::Cos,
    Func::Cosh,
    Func::Sin,
    Func::Sinh,
    Func::Tan,
    Func::Tanh,
    Func::Asin,
    Func::Acos,
    Func::Atan,
    Func::Asinh,
    Func::Exp,
    Func::Log,
    Func::Log2,
];

/// Doubles with something to watch: zeros, halves, the ends of the integers, the least and the greatest, infinities.
const DOUBLES: [f64; 19] = [
    f64::NEG_INFINITY,
    -f64::MAX,
    -1e17,
    -3.0,
    -1.5,
    -1.0,
    -0.5,
    -0.0,
    0.0,
    5e-324,
    0.1,
    0.5,
    1.0,
    2.5,
    3.5,
    9007199254740993.0,
    1e300,
    f64::MAX,
    f64::INFINITY,
];

fn float_ranges() -> Vec<FloatRange> {
    let pairs = DOUBLES.iter().flat_map(|lo| DOUBLES.iter().map(move |hi| (*lo, *hi)));
    pairs.filter_map(|(lo, hi)| FloatRange::new(lo, hi)).collect()
}

#[test]
fn operations_on_doubles_hold_every_value() {
    let ranges = float_ranges();
    for a in &ranges {
        let inside = || DOUBLES.iter().copied().filter(|x| a.contains(*x));
        let roundings = [Func::Trunc, Func::Floor, Func::Ceil, Func::Round, Func::TruncToFloat, Func::Abs];
        for func in REAL.into_iter().chain(roundings) {
            let result = transfer::call(func, &[Abstract::Float(*a)]);
            for x in inside() {
                if let Ok(v) = evaluate_call(func, &[Value::Float(x)]) {
                    assert_holds(&result, &v, || format!("{func:?}({x:?} in {a:?})"));
                }
            }
        }
        for k in [-2, 0, 1, 3] {
            let result =
                transfer::call(Func::RoundDecimal, &[Abstract::Float(*a), Abstract::Int(Domain::point(k))]);
            for x in inside() {
                if let Ok(v) = evaluate_call(Func::RoundDecimal, &[Value::Float(x), value(k)]) {
                    assert_holds(&result, &v, || format!("round({x:?} in {a:?}, {k})"));
                }
            }
        }
        for b in &ranges {
            for func in BINARY.into_iter().filter(|f| takes_doubles(*f) || matches!(f, Func::Min | Func::Max))
            {
                let result = transfer::call(func, &[Abstract::Float(*a), Abstract::Float(*b)]);
                for x in inside() {
                    for &y in DOUBLES.iter().filter(|y| b.contains(**y)) {
                        if let Ok(v) = evaluate_call(func, &[Value::Float(x), Value::Float(y)]) {
                            assert_holds(&result, &v, || format!("{func:?}({x:?} in {a:?}, {y:?} in {b:?})"));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn truth_values_follow_kleene() {
    let truths = [None, Some(false), Some(true)];
    for a in truths {
        for b in truths {
            for func in [Func::And, Func::Or] {
                let result = transfer::connective(func, [a, b]);
                for x in [false, true].into_iter().filter(|x| a.is_none_or(|a| a == *x)) {
                    for y in [false, true].into_iter().filter(|y| b.is_none_or(|b| b == *y)) {
                        let exact = if func == Func::And { x && y } else { x || y };
                        assert!(
                            result.is_none_or(|r| r == exact),
                            "{func:?}({a:?}, {b:?}) is {result:?}, not {exact}"
                        );
                    }
                }
            }
        }
    }
}

/// Asserts that `narrowed` keeps every `x` of `before` for which some other operands give a value in the target.
fn assert_keeps(narrowed: &Option<Domain>, before: &Domain, solves: impl Fn(i64) -> bool, what: &str) {
    for x in members(before) {
        let kept = narrowed.as_ref().is_some_and(|d| d.contains(&Int::from(x)));
        assert!(kept || !solves(x), "{what}: {x} of {before:?} is lost in {narrowed:?}");
    }
}

#[test]
fn running_backwards_loses_no_solution() {
    let targets: Vec<Domain> = domains().into_iter().step_by(2).collect();
    let operands: Vec<Domain> = domains();
    for target in &targets {
        let hits = |v: Option<Int>| v.is_some_and(|v| target.contains(&v));
        for a in &operands {
            for b in &operands {
                let (left, right) = (members(a), members(b));
                let quotient = |x: i64, y: i64| hits(Int::from(x).floor_div(&Int::from(y)));
                let remainder = |x: i64, y: i64| hits(Int::from(x).modulo(&Int::from(y)));
                let what = format!("{a:?} op {b:?} in {target:?}");
                let sum = backward::summand(
                    target,
                    &transfer::sum(&Int::ONE, [(b, &Int::from(3))]).expect("ok"),
                    &Int::from(-2),
                );
                assert_keeps(
                    &sum,
                    a,
                    |x| right.iter().any(|y| hits(Some(Int::from(1 + 3 * y - 2 * x)))),
                    &what,
                );
                for power in 1..4u32 {
                    let root = backward::factor(target, b, power);
                    assert_keeps(
                        &root,
                        a,
                        |x| right.iter().any(|y| hits(Some(Int::from(x.pow(power) * y)))),
                        &what,
                    );
                }
                let dividend = backward::dividend(target, b);
                assert_keeps(&dividend, a, |x| right.iter().any(|y| quotient(x, *y)), &what);
                let divisor = backward::divisor(target, a, b);
                assert_keeps(&divisor, b, |y| left.iter().any(|x| quotient(*x, y)), &what);
                let reduced = backward::reduced(target, a, b);
                assert_keeps(&reduced, a, |x| right.iter().any(|y| remainder(x, *y)), &what);
                let modulus = backward::modulus(target, a, b);
                assert_keeps(&modulus, b, |y| left.iter().any(|x| remainder(*x, y)), &what);
            }
            assert_keeps(&backward::signed(target, a), a, |x| hits(Some(Int::from(x.abs()))), "abs");
            for end in [-3, 0, 4] {
                assert_keeps(&a.without(&Int::from(end)), a, |x| x != end, "without");
            }
        }
    }
}
