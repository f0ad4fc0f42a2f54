//! Doubles: what operations come to, as Python has it, and how tight their ranges are.
use num_bigint::BigInt;
use num_rational::BigRational;
use sizewise::check::Checker;
use sizewise::expr::{EvalError, Func, Int, Value, evaluate_call};
use sizewise::kernels::Operators;
use sizewise::range::transfer::{self, Abstract};
use sizewise::range::{Domain, FloatRange, ValueRange};
use sizewise::report::Outcome;
use sizewise::solve::Budget;

fn power(base: i64, exponent: usize) -> BigInt {
    num_traits::pow(BigInt::from(base), exponent)
}

fn integer(value: BigInt) -> Value {
    Value::Int(Int::from_big(value))
}

#[test]
fn integers_are_divided_with_one_rounding() {
    let one = || BigInt::from(1);
    let table = [
        (one(), BigInt::from(3), 1.0 / 3.0),
        (-one(), BigInt::from(3), -1.0 / 3.0),
        (power(2, 60) + 1, power(2, 7), 9007199254740992.0),
        (power(10, 400), power(10, 390), 1e10),
        (power(10, 400), 3 * power(10, 300), 3.333333333333333e99),
        // Subnormal numbers, where fewer digits remain.
        (one(), power(10, 320), 1e-320),
        (BigInt::from(3), power(10, 323), 3e-323),
        (BigInt::from(5), power(10, 324), 5e-324),
        (BigInt::from(2), power(10, 324), 0.0),
        (one(), power(10, 400), 0.0),
        (BigInt::from(-7), power(10, 322), -7e-322),
        (power(2, 1074) * 3 + 1, power(2, 2147), 3e-323),
        (one(), power(2, 1074), 5e-324),
        (one(), power(2, 1075), 0.0),
        (power(2, 60) + 1, power(2, 1135), 5e-324),
        (BigInt::from(3), power(2, 1075), 1e-323),
        (BigInt::from(5), power(2, 1075), 1e-323),
        (one(), power(2, 1076), 0.0),
        // Halves go to the even neighbour.
        (power(2, 53) + 1, one(), 9007199254740992.0),
        (power(2, 53) + 3, one(), 9007199254740996.0),
        (power(2, 54) + 2, one(), 18014398509481984.0),
        (power(2, 53) + 1, power(2, 53), 1.0),
        (power(2, 1023), one(), 2f64.powi(1023)),
        // A quotient whose 53 bits end above the subnormal numbers.
        (
            BigInt::from(17592186044418i64),
            power(2, 980) * 3,
            17592186044418.0 / 3.0 / 2f64.powi(490) / 2f64.powi(490),
        ),
    ];
    for (a, b, expected) in table {
        let what = format!("{a} / {b}");
        assert_eq!(
            evaluate_call(Func::IntTrueDiv, &[integer(a), integer(b)]),
            Ok(Value::Float(expected)),
            "{what}"
        );
    }
    let by_zero = evaluate_call(Func::IntTrueDiv, &[integer(one()), integer(BigInt::ZERO)]);
    assert_eq!(by_zero, Err(EvalError::ZeroDivisor));
    // Python raises `OverflowError`.
    let too_large = evaluate_call(Func::IntTrueDiv, &[integer(power(10, 400)), integer(one())]);
    assert_eq!(too_large, Err(EvalError::Domain));
    assert_eq!(evaluate_call(Func::ToFloat, &[integer(power(10, 400))]), Err(EvalError::Domain));
}

fn ratio(n: i64, d: i64) -> Value {
    Value::Ratio(BigRational::new(n.into(), d.into()))
}

#[test]
fn ratios_are_rounded_exactly() {
    // n/d, truncated, down, up, to the nearest with halves to even.
    let table = [
        ((7, 2), [3, 3, 4, 4]),
        ((5, 2), [2, 2, 3, 2]),
        ((-7, 2), [-3, -4, -3, -4]),
        ((-5, 2), [-2, -3, -2, -2]),
        ((1, 3), [0, 0, 1, 0]),
        ((2, 3), [0, 0, 1, 1]),
        ((-1, 3), [0, -1, 0, 0]),
        ((-2, 3), [0, -1, 0, -1]),
        ((9, 2), [4, 4, 5, 4]),
        ((10, 3), [3, 3, 4, 3]),
        ((11, 3), [3, 3, 4, 4]),
    ];
    for ((n, d), expected) in table {
        for (func, expected) in [Func::Trunc, Func::Floor, Func::Ceil, Func::Round].into_iter().zip(expected)
        {
            let value = evaluate_call(func, &[ratio(n, d)]);
            assert_eq!(value, Ok(Value::Int(Int::from(expected))), "{func:?} {n}/{d}");
        }
    }
}

#[test]
fn decimals_are_rounded_as_python_does() {
    let table: [(f64, i64, f64); 16] = [
        (2.675, 2, 2.67),
        (1250.0, -2, 1200.0),
        (1350.0, -2, 1400.0),
        (0.5, 0, 0.0),
        (1.5, 0, 2.0),
        (-0.4, 0, -0.0),
        (1e300, -300, 1e300),
        (123.456, 401, 123.456),
        (123.456, -401, 0.0),
        (5e-324, 323, 0.0),
        (1e22, 3, 1e22),
        (-2.5, 0, -2.0),
        (0.15, 1, 0.1),
        (0.25, 1, 0.2),
        (99.99, 1, 100.0),
        (1e-5, 4, 0.0),
    ];
    for (x, k, expected) in table {
        let value = evaluate_call(Func::RoundDecimal, &[Value::Float(x), Value::Int(Int::from(k))]);
        let Ok(Value::Float(value)) = value else { panic!("round({x}, {k})") };
        assert_eq!(value.to_bits(), expected.to_bits(), "round({x}, {k}) is {value}");
    }
}

#[test]
fn strides_are_dense_or_not() {
    // Sizes, then strides.
    let table: [(&[i64], bool); 11] = [
        (&[4, 1], true),
        (&[4, 2], false),
        (&[1, 7], true),
        (&[0, 7], true),
        (&[2, 3, 3, 1], true),
        (&[2, 3, 1, 2], true),
        (&[2, 3, 4, 1], false),
        (&[2, 1, 1, 9], true),
        (&[1, 1, 5, 9], true),
        (&[2, 3, 4, 12, 4, 1], true),
        (&[2, 3, 4, 12, 4, 2], false),
    ];
    for (operands, dense) in table {
        let values: Vec<Value> = operands.iter().map(|v| Value::Int(Int::from(*v))).collect();
        let expected = Ok(Value::Int(Int::from(i64::from(dense))));
        assert_eq!(evaluate_call(Func::DenseIndicator, &values), expected, "{operands:?}");
    }
}

#[test]
fn numbers_of_all_kinds_are_compared() {
    let int = |v: i64| Value::Int(Int::from(v));
    let table = [
        (ratio(1, 2), int(1), true),
        (int(1), ratio(1, 2), false),
        (ratio(1, 3), ratio(1, 2), true),
        (ratio(1, 2), Value::Float(0.75), true),
        (Value::Float(0.75), ratio(1, 2), false),
        (Value::Bool(false), ratio(1, 2), true),
        (int(2), Value::Float(2.5), true),
    ];
    for (a, b, less) in table {
        let what = format!("{a:?} < {b:?}");
        assert_eq!(evaluate_call(Func::FloatLt, &[a.clone(), b.clone()]), Ok(Value::Bool(less)), "{what}");
        assert_eq!(evaluate_call(Func::FloatLe, &[a.clone(), b.clone()]), Ok(Value::Bool(less)), "{what}");
        let least = if less { a } else { b };
        assert_eq!(evaluate_call(Func::Min, &[least.clone(), least.clone()]), Ok(least), "{what}");
    }
    let nan = evaluate_call(Func::FloatLt, &[Value::Float(f64::NAN), int(1)]);
    assert_eq!(nan, Ok(Value::Bool(false)), "no comparison with NaN holds");
}

/// Within four units in the last place of each end.
fn assert_near(range: &FloatRange, (lo, hi): (f64, f64), what: &str) {
    let steps = |x: f64, step: fn(f64) -> f64| (0..4).fold(x, |x, _| step(x));
    let tight = steps(lo, f64::next_down) <= range.lo && range.lo <= lo && hi <= range.hi;
    assert!(tight && range.hi <= steps(hi, f64::next_up), "{what}: [{:?}, {:?}]", range.lo, range.hi);
}

#[test]
fn functions_of_doubles_have_tight_ranges() {
    use std::f64::consts::PI;
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    // The function, its range on [0.25, 0.75], and its range on all doubles.
    type Ends = (f64, f64);
    let table: [(Func, Ends, Ends); 13] = [
        (Func::Sqrt, (0.5, 0.75f64.sqrt()), (0.0, f64::INFINITY)),
        (Func::Exp, (0.25f64.exp(), 0.75f64.exp()), (0.0, f64::INFINITY)),
        (Func::Log, (0.25f64.ln(), 0.75f64.ln()), all),
        (Func::Log2, (-2.0, 0.75f64.log2()), all),
        (Func::Sinh, (0.25f64.sinh(), 0.75f64.sinh()), all),
        (Func::Tanh, (0.25f64.tanh(), 0.75f64.tanh()), (-1.0, 1.0)),
        (Func::Asin, (0.25f64.asin(), 0.75f64.asin()), (-PI / 2.0, PI / 2.0)),
        (Func::Acos, (0.75f64.acos(), 0.25f64.acos()), (0.0, PI)),
        (Func::Atan, (0.25f64.atan(), 0.75f64.atan()), (-PI / 2.0, PI / 2.0)),
        (Func::Asinh, (0.25f64.asinh(), 0.75f64.asinh()), all),
        (Func::Cosh, (0.25f64.cosh(), 0.75f64.cosh()), (1.0, f64::INFINITY)),
        (Func::Sin, (-1.0, 1.0), (-1.0, 1.0)),
        (Func::Cos, (-1.0, 1.0), (-1.0, 1.0)),
    ];
    let range = |func: Func, lo: f64, hi: f64| {
        let operand = Abstract::Float(FloatRange::new(lo, hi).expect("not empty"));
        match transfer::call(func, &[operand]) {
            Some(Abstract::Float(range)) => range,
            other => panic!("{func:?}: {other:?}"),
        }
    };
    for (func, inner, outer) in table {
        assert_near(&range(func, 0.25, 0.75), inner, &format!("{func:?} of [0.25, 0.75]"));
        assert_near(&range(func, f64::NEG_INFINITY, f64::INFINITY), outer, &format!("{func:?} of all"));
    }
    // Around 0 the even function has its least value inside.
    assert_near(&range(Func::Cosh, -0.5, 0.25), (1.0, 0.5f64.cosh()), "cosh");
}

#[test]
fn operations_on_doubles_have_tight_ranges() {
    let float = |lo: f64, hi: f64| Abstract::Float(FloatRange::new(lo, hi).expect("not empty"));
    let int = |lo: i64, hi: i64| Abstract::Int(Domain::from(ValueRange::new(lo, hi).expect("not empty")));
    let table = [
        (Func::FloatAdd, float(1.0, 2.0), float(10.0, 20.0), (11.0, 22.0)),
        (Func::FloatMul, float(-1.0, 2.0), float(10.0, 20.0), (-20.0, 40.0)),
        (Func::FloatMul, float(-3.0, -2.0), float(-5.0, 4.0), (-12.0, 15.0)),
        (Func::FloatTrueDiv, float(1.0, 2.0), float(4.0, 8.0), (0.125, 0.5)),
        (Func::FloatTrueDiv, float(-1.0, 2.0), float(-8.0, -4.0), (-0.5, 0.25)),
        (Func::IntTrueDiv, int(1, 2), int(4, 8), (0.125, 0.5)),
        (Func::IntTrueDiv, int(-3, 2), int(-8, -4), (-0.5, 0.75)),
        (Func::FloatPow, float(2.0, 3.0), float(2.0, 2.0), (4.0, 9.0)),
        (Func::Min, float(1.0, 5.0), float(2.0, 3.0), (1.0, 3.0)),
        (Func::Max, float(1.0, 5.0), float(2.0, 3.0), (2.0, 5.0)),
        (Func::Max, float(1.0, 5.0), int(2, 3), (2.0, 5.0)),
        (Func::RoundDecimal, float(1.26, 2.74), int(1, 1), (1.3, 2.7)),
    ];
    for (func, a, b, expected) in table {
        let what = format!("{func:?} of {a:?} and {b:?}");
        match transfer::call(func, &[a, b]) {
            Some(Abstract::Float(range)) => assert_near(&range, expected, &what),
            other => panic!("{what}: {other:?}"),
        }
    }
    let unary = [
        (Func::Abs, float(-3.0, 2.0), (0.0, 3.0)),
        (Func::Abs, float(-3.0, -2.0), (2.0, 3.0)),
        (Func::TruncToFloat, float(-1.5, 2.5), (-1.0, 2.0)),
        (Func::ToFloat, int(2, 3), (2.0, 3.0)),
    ];
    for (func, a, expected) in unary {
        let what = format!("{func:?} of {a:?}");
        match transfer::call(func, &[a]) {
            Some(Abstract::Float(range)) => assert_near(&range, expected, &what),
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn doubles_are_rounded_to_tight_ranges_of_integers() {
    let float = |lo: f64, hi: f64| Abstract::Float(FloatRange::new(lo, hi).expect("not empty"));
    let table = [
        (Func::Floor, float(-1.5, 2.5), (-2, 2)),
        (Func::Ceil, float(-1.5, 2.5), (-1, 3)),
        (Func::Trunc, float(-1.5, 2.5), (-1, 2)),
        (Func::Round, float(-1.5, 2.5), (-2, 2)),
        (Func::Round, float(0.6, 3.5), (1, 4)),
    ];
    for (func, a, (lo, hi)) in table {
        let expected = Abstract::Int(ValueRange::new(lo, hi).expect("not empty").into());
        assert_eq!(transfer::call(func, std::slice::from_ref(&a)), Some(expected), "{func:?} of {a:?}");
    }
    let int = Abstract::Int(Domain::point(4));
    assert_eq!(transfer::call(Func::Floor, std::slice::from_ref(&int)), Some(int));
    assert_eq!(transfer::call(Func::DenseIndicator, &[]), Some(Abstract::Int(Domain::unit())));
}

#[test]
fn ranges_of_doubles_decide_comparisons() {
    const TWO_53: f64 = (1i64 << 53) as f64;
    let float = |lo: f64, hi: f64| Abstract::Float(FloatRange::new(lo, hi).expect("not empty"));
    let maybe_nan = |lo: f64, hi: f64| Abstract::Float(FloatRange { lo, hi, nan: true });
    let int = |lo: i64, hi: i64| Abstract::Int(Domain::from(ValueRange::new(lo, hi).expect("not empty")));
    let unbounded = || Abstract::Int(Domain::all());
    let table = [
        (Func::FloatLt, float(1.0, 2.0), float(3.0, 4.0), Some(true)),
        (Func::FloatLt, float(1.0, 2.0), float(2.0, 4.0), None),
        (Func::FloatLt, float(2.0, 3.0), float(1.0, 2.0), Some(false)),
        (Func::FloatLe, float(1.0, 2.0), float(2.0, 4.0), Some(true)),
        (Func::FloatLe, float(2.0, 3.0), float(1.0, 2.0), None),
        (Func::FloatLe, float(2.5, 3.0), float(1.0, 2.0), Some(false)),
        (Func::FloatEq, float(1.0, 2.0), float(3.0, 4.0), Some(false)),
        (Func::FloatEq, float(3.0, 4.0), float(1.0, 2.0), Some(false)),
        (Func::FloatEq, float(1.0, 2.0), float(2.0, 4.0), None),
        (Func::FloatEq, float(2.0, 2.0), float(2.0, 2.0), Some(true)),
        // Integers count by value, also beyond 2^53, and beside NaN no comparison holds.
        (Func::FloatLe, int(1 << 53 | 1, 1 << 53 | 1), float(TWO_53, TWO_53), Some(false)),
        (Func::FloatEq, int(1 << 53 | 1, 1 << 53 | 1), float(TWO_53, TWO_53), Some(false)),
        (Func::FloatEq, int(1 << 53, 1 << 53), float(TWO_53, TWO_53), Some(true)),
        (Func::FloatLt, unbounded(), float(f64::INFINITY, f64::INFINITY), Some(true)),
        (Func::FloatLe, float(f64::INFINITY, f64::INFINITY), unbounded(), Some(false)),
        (Func::FloatLt, unbounded(), float(f64::MAX, f64::MAX), None),
        (Func::FloatLt, maybe_nan(1.0, 2.0), float(3.0, 4.0), None),
        (Func::FloatLt, maybe_nan(4.0, 5.0), float(3.0, 4.0), Some(false)),
        (Func::FloatEq, maybe_nan(2.0, 2.0), float(2.0, 2.0), None),
    ];
    for (func, a, b, expected) in table {
        let expected = Abstract::Int(Domain::of_truth(expected));
        let what = format!("{func:?} of {a:?} and {b:?}");
        assert_eq!(transfer::call(func, &[a, b]), Some(expected), "{what}");
    }
}

#[test]
fn guards_on_doubles_are_read_as_integers_for_sizes_that_exist() {
    // The program's guards say `trunc(0.5*float(s69)) == 1`, its recorded sizes `s69//2 == 1`.
    let program = include_bytes!("data/programs/guards_of_doubles.pt2");
    let checker = Checker::read("guards_of_doubles", program).expect("a program");
    let report = checker.check(None, &Operators::new(), &Budget::default()).expect("a report");
    assert_eq!(report.verdict, Outcome::Ok, "{:?}", report.guards);
    // That a guard with a rounding bounds its size follows for all sizes. It is a floor division only while doubles
    // are exact, but nothing uses the value whose recorded size says so.
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
}
