//! Double arithmetic that is exact, and where it is not.
use super::super::{Budget, Facts, Verdict, decide};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Int, Pool, Value, text};

/// Whether the goal follows for every `s` from 0 to `2^bits`.
fn implied(bits: u32, goal: &str) -> bool {
    let mut pool = Pool::new();
    let mut facts = Facts::new();
    let s = pool.symbol("s");
    let s = pool.as_symbol(s).expect("a symbol");
    let top = Int::from(2).pow(bits, 128).expect("a power");
    facts.declare(&mut pool, s, ValueRange::between(Int::from(0), top));
    let goal = text::read::expression(&mut pool, goal, &mut |_| None).expect("a goal").expr;
    matches!(decide(&mut pool, &mut facts, goal, &Budget::default()).verdict, Verdict::Implied { .. })
}

#[test]
fn arithmetic_that_needs_no_rounding_is_that_of_integers() {
    let table = [
        "Eq(TruncToInt(2.5*ToFloat(s)), (5*s)//2)",
        "Eq(TruncToInt(1.25*ToFloat(s)), (5*s)//4)",
        "Eq(FloorToInt(0.5*ToFloat(s) - 3.0), (s - 6)//2)",
        "Eq(CeilToInt(FloatTrueDiv(0.5*ToFloat(s) - 0.0, 0.25)), 2*s)",
        "Eq(CeilToInt(IntTrueDiv(s, 3)), (s + 2)//3)",
        "Eq(TruncToInt(FloatTrueDiv(ToFloat(s), 7.0)), s//7)",
        "ToFloat(s) < ToFloat(s) + 0.5",
        "FloorToInt(0.1*ToFloat(s)) == s//10",
        "TruncToInt(ToFloat(3*s)*0.1) == 3*s//10",
        "CeilToInt(ToFloat(s)*0.6) == (3*s + 4)//5",
        "IntTrueDiv(s + 1, s + 1) == 1.0",
        "IntTrueDiv(s, s + 7) <= 1.0",
        "ToFloat(s)*0.7 <= ToFloat(s)",
    ];
    for goal in table {
        assert!(implied(40, goal), "{goal}");
    }
    // The last integer up to which each one is a double.
    assert!(implied(53, "TruncToInt(ToFloat(s)) == s") && !implied(54, "TruncToInt(ToFloat(s)) == s"));
}

#[test]
fn rounding_keeps_the_order() {
    for goal in [
        "ToFloat(s) <= ToFloat(s)",
        "Not(ToFloat(s) < ToFloat(s))",
        "ToFloat(s) <= ToFloat(s + 1)",
        "Not(ToFloat(s + 1) < ToFloat(s))",
        "IntTrueDiv(s, 3) <= ToFloat(s)",
        "IntTrueDiv(s, s + 1) <= 1.0",
        "ToFloat(s)*1.5 >= 0.0",
    ] {
        assert!(implied(120, goal), "{goal}");
    }
    // Two integers may be rounded to one double, and one past another integer.
    for goal in [
        "ToFloat(s) < ToFloat(s + 1)",
        "IntTrueDiv(s, s + 1) < 1.0",
        "ToFloat(s) <= s",
        "Eq(Max(-0.5, s), ToFloat(s))",
        "Min(-0.5, -s) >= -ToFloat(s + 1)",
        "Where(s >= 0, s, 0.5) <= ToFloat(s)",
        "Abs(Max(-0.5, s)) >= ToFloat(s)",
        "Max(-0.5, s)*1.5 <= IntTrueDiv(3*s, 2)",
        "Max(-0.5, s) + 1.0 <= ToFloat(s + 1)",
        "Eq(Max(-0.5, s) + 1, ToFloat(s) + 1.0)",
        "Where(s >= 0, s, 0.5)*3 <= ToFloat(s)*3.0",
        "Eq(Max(-0.5, s)/3, ToFloat(s)/3.0)",
    ] {
        assert!(!implied(120, goal), "{goal}");
    }
}

#[test]
fn what_is_replaced_has_the_same_value() {
    let expressions = [
        "TruncToInt(2.5*ToFloat(s) - 7.0)",
        "FloorToInt(FloatTrueDiv(ToFloat(s - 1000), 7.0))",
        "CeilToInt(IntTrueDiv(s - 5000, 12))",
        "TruncToInt(IntTrueDiv(100 - s, 3))",
        "CeilToInt(FloatTrueDiv(0.75*ToFloat(s) - 0.5, 0.125))",
        "FloorToInt(FloatTrueDiv(ToFloat(s), ToFloat(s + 1)))",
        "TruncToInt(1.25*ToFloat(s)) + TruncToInt(0.1*ToFloat(s))",
        "ToFloat(s) <= 0.5*ToFloat(s + 3)",
    ];
    let top = Int::from(2).pow(46, 128).expect("a power");
    for text in expressions {
        let mut pool = Pool::new();
        let mut facts = Facts::new();
        let s = pool.symbol("s");
        let s = pool.as_symbol(s).expect("a symbol");
        facts.declare(&mut pool, s, ValueRange::between(Int::from(0), top.clone()));
        let e = text::read::expression(&mut pool, text, &mut |_| None).expect("an expression").expr;
        let table = facts.table(&pool);
        let replaced = super::exact(&mut pool, table, e);
        assert_ne!(replaced, e, "{text}");
        // All small sizes, and odd ones near every power of two.
        let large = (0..46).flat_map(|k| [(1i64 << k) - 1, (1 << k) + 1, 3 * (1 << k) / 2]);
        for v in (0..3000).chain(large).filter(|&v| v <= 1 << 46) {
            let at = |_| Some(Value::Int(Int::from(v)));
            let (before, after) =
                (pool.eval(e, at).expect("a value"), pool.eval(replaced, at).expect("a value"));
            assert_eq!(before, after, "{text} at {v}");
        }
    }
}

#[test]
fn exponents_are_those_of_doubles() {
    let mut pool = Pool::new();
    let mut table = sizewise_expr::range::DomainTable::new();
    let mut reading = super::Reading::new(&mut pool, &mut table);
    let one = sizewise_expr::Expr::ONE;
    for (exponent, is_double) in [(-1074, true), (-1075, false), (971, true), (972, false)] {
        assert_eq!(reading.double(one, exponent).is_some(), is_double, "2^{exponent}");
    }
    // Numerators of 53 bits, and of one more.
    let (fits, not) = (reading.pool.int((1i64 << 53) - 1), reading.pool.int((1i64 << 53) + 1));
    assert!(reading.double(fits, 0).is_some() && reading.double(not, 0).is_none());
}

#[test]
fn constants_of_every_magnitude_are_what_they_are() {
    let least = f64::from_bits(1);
    let table = [0.0, 1.0, -0.75, 1e-6, -1e-300, 1e300, least, -least, f64::MIN_POSITIVE, f64::MAX, f64::MIN];
    for value in table {
        let mut pool = Pool::new();
        let mut domains = sizewise_expr::range::DomainTable::new();
        let mut reading = super::Reading::new(&mut pool, &mut domains);
        let exact = reading.constant(value).expect("a finite constant");
        let numerator = reading.pool.as_int(exact.numerator).expect("a constant").to_big();
        let power = num_rational::BigRational::from_integer(2.into()).pow(exact.exponent);
        let expected = num_rational::BigRational::from_float(value).expect("finite");
        assert_eq!(num_rational::BigRational::from_integer(numerator) * power, expected, "{value:e}");
    }
}

#[test]
fn thresholds_of_every_magnitude_decide_as_they_should() {
    let table = [
        ("ToFloat(s) < 1e-300", false),
        ("ToFloat(s) >= 5e-324", false),
        ("ToFloat(s) + 1.0 >= 1e-20", true),
        ("0.5*ToFloat(s) - 8.0 <= 1e-6", false),
        ("ToFloat(s) <= 1e300", true),
        ("ToFloat(s)*1e-300 <= 1e-280", true),
        ("1.0 / (ToFloat(s) + 1.0) > 5e-324", true),
        ("Eq(s, ToFloat(s))", true),
        ("Max(s, 2.5) >= 2.5", true),
        ("RoundToInt(0.5*ToFloat(2*s)) == s", true),
    ];
    for (goal, holds) in table {
        assert_eq!(implied(20, goal), holds, "{goal}");
    }
}

#[test]
fn beyond_53_bits_rounding_shows() {
    assert!(!implied(60, "Eq(TruncToInt(2.5*ToFloat(s)), (5*s)//2)"));
    assert!(!implied(60, "Eq(TruncToInt(IntTrueDiv(s, 3)), s//3)"));
    // The double next to 7/10 is further from it than half of what the next ones are from each other: 90 times it is less than 63.
    assert!(!implied(40, "Eq(FloorToInt(0.7*ToFloat(s)), 7*s//10)"));
    assert!(!implied(60, "Eq(CeilToInt(0.1*ToFloat(s)), (s + 9)//10)"));
}
