//! The values of functions.
use super::{Func, Int, Pool, Value, evaluate_call};
use num_bigint::BigInt;
use num_rational::BigRational;

fn ratio(n: i64, d: i64) -> Value {
    Value::Ratio(BigRational::new(n.into(), d.into()))
}

fn int(v: i64) -> Value {
    Value::Int(Int::from(v))
}

#[test]
fn numbers_of_any_kind_are_compared_by_their_values() {
    let rising = [
        vec![Value::Float(f64::NEG_INFINITY)],
        vec![int(-3), Value::Float(-3.0)],
        vec![ratio(-5, 2), Value::Float(-2.5)],
        vec![int(0), Value::Bool(false), Value::Float(0.0), Value::Float(-0.0)],
        vec![ratio(1, 3)],
        vec![ratio(1, 2), Value::Float(0.5)],
        vec![int(1), Value::Bool(true), Value::Float(1.0)],
        vec![int(1 << 40), Value::Float((1u64 << 40) as f64)],
        vec![Value::Float(f64::INFINITY)],
    ];
    for (i, group) in rising.iter().enumerate() {
        for (j, other) in rising.iter().enumerate() {
            for (a, b) in group.iter().flat_map(|a| other.iter().map(move |b| (a.clone(), b.clone()))) {
                for (func, expected) in
                    [(Func::FloatEq, i == j), (Func::FloatLt, i < j), (Func::FloatLe, i <= j)]
                {
                    let found = evaluate_call(func, &[a.clone(), b.clone()]);
                    assert_eq!(found, Ok(Value::Bool(expected)), "{func:?} of {a:?} and {b:?}");
                }
            }
        }
    }
    // No comparison with NaN holds, and the result of Python's `min` depends on the order.
    for func in [Func::FloatEq, Func::FloatLt, Func::FloatLe] {
        let nan = Value::Float(f64::NAN);
        assert_eq!(evaluate_call(func, &[nan.clone(), int(1)]), Ok(Value::Bool(false)), "{func:?}");
        assert_eq!(evaluate_call(func, &[nan.clone(), nan]), Ok(Value::Bool(false)), "{func:?}");
    }
    assert!(evaluate_call(Func::Min, &[Value::Float(f64::NAN), int(1)]).is_err());
}

/// `n * 2^k`.
fn scaled(n: i64, k: u32) -> BigInt {
    BigInt::from(n) << k
}

#[test]
fn quotients_are_rounded_once_up_to_the_ends_of_the_doubles() {
    let least = f64::from_bits(1);
    let table = [
        (BigInt::from(1), BigInt::from(3), 1.0 / 3.0),
        (BigInt::from(-7), BigInt::from(2), -3.5),
        // The greatest double, what rounds to it, and what does not.
        (scaled((1 << 53) - 1, 971), BigInt::from(1), f64::MAX),
        (scaled((1 << 54) - 1, 970) - 1, BigInt::from(1), f64::MAX),
        (scaled((1 << 54) - 1, 970), BigInt::from(1), f64::INFINITY),
        (scaled(1, 1024), BigInt::from(1), f64::INFINITY),
        (scaled(1, 1023), BigInt::from(1), 2f64.powi(1023)),
        (scaled(-1, 2000), BigInt::from(1), f64::NEG_INFINITY),
        // The least double, halves to even.
        (BigInt::from(1), scaled(1, 1074), least),
        (BigInt::from(1), scaled(1, 1075), 0.0),
        (BigInt::from(3), scaled(1, 1076), least),
        (BigInt::from(3), scaled(1, 1075), 2.0 * least),
        (BigInt::from(5), scaled(1, 1075), 2.0 * least),
        (BigInt::from(7), scaled(1, 1075), 4.0 * least),
        (scaled(1, 60) + 1, scaled(1, 1135), least),
        (BigInt::from(1), scaled(1, 1076), 0.0),
        (BigInt::from(1), scaled(1, 4000), 0.0),
        ((BigInt::from(1) << 53) + 1, scaled(1, 1074), (1u64 << 53) as f64 * least),
    ];
    for (n, d, expected) in table {
        let value = Value::Ratio(BigRational::new_raw(n.clone(), d.clone()));
        assert_eq!(value.as_f64(), expected, "{n} / {d}");
    }
}

#[test]
fn dense_sizes_and_strides_cover_memory_without_gaps() {
    let dense = |sizes: &[i64], strides: &[i64]| {
        let values: Vec<Value> = sizes.iter().chain(strides).map(|v| int(*v)).collect();
        evaluate_call(Func::DenseIndicator, &values) == Ok(int(1))
    };
    let table: [(&[i64], &[i64], bool); 12] = [
        (&[5], &[1], true),
        (&[5], &[2], false),
        (&[2], &[2], false),
        (&[1], &[7], true),
        (&[0], &[7], true),
        (&[2, 3], &[3, 1], true),
        (&[2, 3], &[1, 2], true),
        (&[2, 3], &[4, 1], false),
        (&[2, 1], &[1, 9], true),
        (&[1, 3], &[9, 1], true),
        (&[2, 3, 4], &[12, 4, 1], true),
        (&[2, 3, 4], &[12, 4, 2], false),
    ];
    for (sizes, strides, expected) in table {
        assert_eq!(dense(sizes, strides), expected, "{sizes:?} {strides:?}");
    }
}

#[test]
fn rounding_in_decimal_goes_to_even_halves() {
    let table = [
        (2.5, 0, 2.0),
        (3.5, 0, 4.0),
        (-2.5, 0, -2.0),
        (2.675, 2, 2.67),
        (1234.5678, -2, 1200.0),
        (1250.0, -2, 1200.0),
        (1350.0, -2, 1400.0),
        (1.5, 400, 1.5),
        (1.5, 401, 1.5),
        (f64::INFINITY, 3, f64::INFINITY),
        (1e300, -400, 0.0),
        (1e300, -401, 0.0),
        (0.1, 20, 0.1),
    ];
    for (x, k, expected) in table {
        let found = evaluate_call(Func::RoundDecimal, &[Value::Float(x), int(k)]);
        assert_eq!(found, Ok(Value::Float(expected)), "round({x}, {k})");
    }
    // `round(1.7976931348623157e308, -308)` raises an error.
    assert!(evaluate_call(Func::RoundDecimal, &[Value::Float(f64::MAX), int(-308)]).is_err());
}

#[test]
fn what_may_be_an_integer_is_computed_with_as_one_where_it_is() {
    // `s` is the first integer that is no double. Python gives these.
    let table = [
        ("Max(-0.5, s) + 1", "9007199254740994"),
        ("-Max(-0.5, s)", "-9007199254740993"),
        ("Where(s > 0, s, 0.5)*3", "27021597764222979"),
        ("Max(0.5, s) + Max(0.5, s)", "18014398509481986"),
        ("Max(-0.5, s) + 1.0", "9007199254740992.0"),
        ("Max(-0.5, s)**2", "81129638414606699710187514626049"),
        ("Max(-0.5, s)**-1", "1.1102230246251565e-16"),
        ("Max(-0.5, s)/3", "3002399751580331.0"),
        ("round(Max(-0.5, s), -1)", "9007199254740990"),
        ("round(Max(-0.5, s), 1)", "9007199254740993"),
        ("Abs(Min(0.5, -s)) - 1", "9007199254740992"),
        ("Max(-0.5, -s) + 1", "0.5"),
        // Of equal numbers, the first one is taken.
        ("Max(9007199254740992.0, s - 1) + 1", "9007199254740992.0"),
        ("Max(s - 1, 9007199254740992.0) + 1", "9007199254740993"),
    ];
    for (text, expected) in table {
        let mut pool = Pool::new();
        let e = crate::read::closed(&mut pool, text).expect("an expression").expr;
        let value = pool.eval(e, |_| Some(Value::Int(Int::from((1i64 << 53) + 1))));
        let shown = match value.expect("a value") {
            Value::Float(x) => format!("{x:?}"),
            value => value.as_int().expect("an integer").to_string(),
        };
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn powers_of_doubles_are_refused_where_python_raises() {
    use super::EvalError::{Domain, TooLarge, ZeroDivisor};
    let infinite = f64::INFINITY;
    let table = [
        (2.0, 3.0, Ok(8.0)),
        (0.0, 2.0, Ok(0.0)),
        (0.0, 0.0, Ok(1.0)),
        (0.0, -1.0, Err(ZeroDivisor)),
        (-0.0, -1.0, Err(ZeroDivisor)),
        (2.0, -1.0, Ok(0.5)),
        (-8.0, 1.0 / 3.0, Err(Domain)),
        (1e200, 2.0, Err(TooLarge)),
        (infinite, 2.0, Ok(infinite)),
        (2.0, infinite, Ok(infinite)),
        (infinite, -1.0, Ok(0.0)),
    ];
    for (x, y, expected) in table {
        let power = evaluate_call(Func::FloatPow, &[Value::Float(x), Value::Float(y)]);
        assert_eq!(power, expected.map(Value::Float), "{x} ** {y}");
    }
}
