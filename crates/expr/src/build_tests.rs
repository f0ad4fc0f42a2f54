//! The results of construction, as statements about handles.
use super::{Expr, Func, Int, Monomial, Pool, Sort, read};

/// The expression of a text. `zf0` and `zf1` are doubles.
fn of(pool: &mut Pool, text: &str) -> Expr {
    read::closed(pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr
}

/// One expression for each function, built from parts that are no constants.
const CALLS: [&str; 31] = [
    "s0 // s1",
    "Mod(s0, s1)",
    "s0 / 3",
    "Min(s0, s1)",
    "Max(s0, s1)",
    "Abs(s0)",
    "2**s0",
    "Where(s0 > 3, s0, s1)",
    "s0 & s1",
    "s0 | s1",
    "s0 ^ s1",
    "Eq(s0, s1)",
    "s0 <= s1",
    "Ne(s0, s1)",
    "Eq(zf0, zf1)",
    "zf0 < zf1",
    "zf0 <= zf1",
    "And(s0 > 3, s1 > 3)",
    "Or(s0 > 3, s1 > 3)",
    "ToFloat(s0)",
    "IntTrueDiv(s0, s1)",
    "TruncToInt(zf0)",
    "FloorToInt(zf0)",
    "CeilToInt(zf0)",
    "RoundToInt(zf0)",
    "zf0 + zf1",
    "zf0*zf1",
    "FloatTrueDiv(zf0, zf1)",
    "Min(zf0, zf1)",
    "Abs(zf0)",
    "zf0**zf1",
];

#[test]
fn a_call_is_built_again_from_its_function_and_operands() {
    let mut pool = Pool::new();
    for text in CALLS {
        let e = of(&mut pool, text);
        let (func, args) = pool.as_call(e).map(|(f, args)| (f, args.to_vec())).expect("a call");
        assert_eq!(pool.call(func, &args), e, "{text}");
    }
}

#[test]
fn a_call_of_any_operands_is_as_canonical_as_the_operation() {
    let mut pool = Pool::new();
    // The older of two operands comes first.
    of(&mut pool, "zf0 + zf1");
    let table = [
        (Func::FloorDiv, "4*s0 + 3", "2", "2*s0 + 1"),
        (Func::Mod, "4*s0 + 3", "2", "1"),
        (Func::Ratio, "4*s0", "2", "2*s0"),
        (Func::Min, "s0", "s0 + 1", "s0"),
        (Func::Max, "s0", "s0 + 1", "s0 + 1"),
        (Func::Pow, "s0", "2", "s0*s0"),
        (Func::BitAnd, "12", "10", "8"),
        (Func::BitOr, "12", "10", "14"),
        (Func::BitXor, "12", "10", "6"),
        (Func::FloatEq, "zf1", "zf0", "Eq(zf0, zf1)"),
        (Func::FloatLt, "1.5", "2.5", "True"),
        (Func::FloatLe, "2.5", "1.5", "False"),
        (Func::FloatAdd, "zf1", "zf0", "zf0 + zf1"),
        (Func::FloatMul, "zf1", "zf0", "zf0*zf1"),
        (Func::IntTrueDiv, "6", "4", "1.5"),
        (Func::And, "s0 > 3", "True", "s0 > 3"),
        (Func::Or, "s0 > 3", "True", "True"),
    ];
    for (func, a, b, expected) in table {
        let args = [of(&mut pool, a), of(&mut pool, b)];
        assert_eq!(pool.call(func, &args), of(&mut pool, expected), "{func:?} of {a} and {b}");
    }
    let table = [
        (Func::Abs, "-s0", "Abs(s0)"),
        (Func::IsZero, "2*s0 - 2*s1", "Eq(s0, s1)"),
        (Func::IsZero, "-s0 + s1", "Eq(s0, s1)"),
        (Func::NotPositive, "2*s0 - 5", "s0 <= 2"),
        (Func::Not, "s0 <= 2", "s0 > 2"),
        (Func::ToFloat, "7", "7.0"),
        (Func::Trunc, "-1.5", "-1"),
        (Func::Floor, "-1.5", "-2"),
        (Func::Ceil, "-1.5", "-1"),
        (Func::Round, "2.5", "2"),
    ];
    for (func, a, expected) in table {
        let args = [of(&mut pool, a)];
        assert_eq!(pool.call(func, &args), of(&mut pool, expected), "{func:?} of {a}");
    }
    let (condition, p, q) = (pool.bool(true), of(&mut pool, "s0"), of(&mut pool, "s1"));
    assert_eq!(pool.call(Func::Ite, &[condition, p, q]), p);
}

#[test]
fn a_ratio_by_zero_stays_a_call() {
    let mut pool = Pool::new();
    let s0 = of(&mut pool, "s0");
    let ratio = pool.call(Func::Ratio, &[s0, Expr::ZERO]);
    assert_eq!(pool.as_func(ratio, Func::Ratio), Some(&[s0, Expr::ZERO][..]));
}

#[test]
fn sums_and_products_of_doubles_do_not_depend_on_the_order() {
    let mut pool = Pool::new();
    let (a, b) = (of(&mut pool, "zf0"), of(&mut pool, "zf1"));
    assert_eq!(pool.add(a, b), pool.add(b, a));
    assert_eq!(pool.mul(a, b), pool.mul(b, a));
    let sum = pool.add(b, a);
    assert_eq!(pool.as_func(sum, Func::FloatAdd), Some(&[a, b][..]));
}

#[test]
fn powers_with_a_double_are_doubles() {
    let mut pool = Pool::new();
    for text in ["zf0**2", "s0**zf0", "zf0**zf1", "2**zf0", "s0**0.5"] {
        let e = of(&mut pool, text);
        assert_eq!(pool.sort(e), Sort::Float, "{text}");
    }
    for text in ["s0**2", "2**s0", "s0**s1"] {
        let e = of(&mut pool, text);
        assert_eq!(pool.sort(e), Sort::Int, "{text}");
    }
}

/// `Max` of sixteen unrelated operands and two that differ by a constant.
#[test]
fn operands_of_an_extremum_are_compared_up_to_the_sixteenth() {
    let operands = |count: usize| {
        let mut pool = Pool::new();
        let mut operands: Vec<Expr> = (0..count).map(|i| pool.symbol(&format!("s{i}"))).collect();
        let last = operands[count - 1];
        operands.push(pool.add(last, Expr::ONE));
        let max = pool.extremum(Func::Max, &operands);
        pool.as_func(max, Func::Max).map_or(1, <[Expr]>::len)
    };
    assert_eq!(operands(14), 14);
    assert_eq!(operands(15), 15);
    // Beyond, they are kept side by side; constants are compared with everything all the same.
    assert_eq!(operands(16), 17);
    let mut pool = Pool::new();
    let mut all: Vec<Expr> = (0..20).map(|i| pool.symbol(&format!("s{i}"))).collect();
    all.extend([Expr::from(3), Expr::from(7)]);
    let max = pool.extremum(Func::Max, &all);
    assert_eq!(pool.as_func(max, Func::Max).map(<[Expr]>::len), Some(21));
}

fn quotient(pool: &mut Pool, a: &str, b: &str) -> Option<Expr> {
    let (a, b) = (of(pool, a), of(pool, b));
    let quotient = pool.exact_division(&pool.poly(a), &pool.poly(b))?;
    Some(pool.from_poly(&quotient))
}

#[test]
fn polynomials_are_divided_where_nothing_is_left() {
    let table = [
        ("s0*s1 + s1", "s1", Some("s0 + 1")),
        ("s0*s0 - s1*s1", "s0 - s1", Some("s0 + s1")),
        ("s0*s0 - s1*s1", "s0 + s1", Some("s0 - s1")),
        ("6*s0*s1 - 4*s1", "2*s1", Some("3*s0 - 2")),
        ("6*s0*s1 - 4*s1", "3*s1", None),
        ("s0*s1 + 1", "s1", None),
        ("s0**3 - 1", "s0 - 1", Some("s0**2 + s0 + 1")),
        ("s0**2*s1 + s0*s1**2", "s0 + s1", Some("s0*s1")),
        ("s0**2*s1 + s0*s1**2 + s1**3", "s0 + s1", None),
        ("s0*s1*s2 + s0*s2**2 - 2*s1*s2 - 2*s2**2", "s1 + s2", Some("s0*s2 - 2*s2")),
        ("12*s0 + 8", "4", Some("3*s0 + 2")),
        ("12*s0 + 6", "4", None),
    ];
    let mut pool = Pool::new();
    for (a, b, expected) in table {
        let expected = expected.map(|text| of(&mut pool, text));
        assert_eq!(quotient(&mut pool, a, b), expected, "({a}) / ({b})");
    }
    // Every product of two of these is divided by both.
    let factors =
        ["s0", "s1", "s0 + 1", "s0 - s1", "s0 + s1 + 1", "2*s0*s1 - 3", "s0*s1 + s2**2", "s2 - 2*s0"];
    for a in factors {
        for b in factors {
            let (x, y) = (of(&mut pool, a), of(&mut pool, b));
            let product = pool.mul_poly(&pool.poly(x), &pool.poly(y));
            let found = pool.exact_division(&product, &pool.poly(y)).map(|q| pool.from_poly(&q));
            assert_eq!(found, Some(x), "({a})*({b})");
        }
    }
}

#[test]
fn polynomials_of_more_than_forty_terms_are_not_divided() {
    let mut pool = Pool::new();
    let y = pool.symbol("y");
    let sums: Vec<Expr> = (1..=41)
        .scan(Expr::ZERO, |sum, i| {
            let x = pool.symbol(&format!("x{i}"));
            *sum = pool.add(*sum, x);
            Some(*sum)
        })
        .collect();
    let mut divided = |a: Expr, b: Expr| pool.exact_division(&pool.poly(a), &pool.poly(b)).is_some();
    assert!(divided(sums[39], sums[39]) && !divided(sums[40], sums[40]));
    let mut times_y = |e: Expr| {
        let product = pool.mul_poly(&pool.poly(e), &pool.poly(y));
        pool.from_poly(&product)
    };
    let (forty, more) = (times_y(sums[39]), times_y(sums[40]));
    let divided = |pool: &mut Pool, a: Expr| pool.exact_division(&pool.poly(a), &pool.poly(y)).is_some();
    assert!(divided(&mut pool, forty) && !divided(&mut pool, more));
}

type Powers<'a> = &'a [(Expr, u32)];

#[test]
fn monomials_are_divided_power_by_power() {
    let mut pool = Pool::new();
    let (x, y, z) = (pool.symbol("x"), pool.symbol("y"), pool.symbol("z"));
    let table: [(Powers, Powers, Option<Powers>); 7] = [
        (&[(x, 2), (y, 1)], &[(x, 1)], Some(&[(x, 1), (y, 1)])),
        (&[(x, 2), (y, 1)], &[(x, 2), (y, 1)], Some(&[])),
        (&[(x, 2), (y, 1)], &[], Some(&[(x, 2), (y, 1)])),
        (&[(x, 2), (y, 1)], &[(x, 3)], None),
        (&[(x, 2), (y, 1)], &[(z, 1)], None),
        (&[(x, 2), (y, 1)], &[(x, 1), (z, 1)], None),
        (&[(x, 1), (y, 3), (z, 1)], &[(y, 2), (z, 1)], Some(&[(x, 1), (y, 1)])),
    ];
    for (a, b, expected) in table {
        let expected: Option<Monomial> = expected.map(|e| e.iter().copied().collect());
        assert_eq!(super::build_div::divide_monomial(a, b), expected, "{a:?} / {b:?}");
    }
}

#[test]
fn scaled_sums_of_polynomials_have_the_values_of_their_parts() {
    let mut pool = Pool::new();
    let texts =
        ["0", "5", "s0", "s0 + s1", "s1 - 3", "2*s0 - s1 + 1", "s0*s1 - s2", "-s0 - s2", "s2*s2 + 4*s1"];
    for a in texts {
        for b in texts {
            for factor in [-2i64, -1, 0, 1, 3] {
                let (x, y) = (of(&mut pool, a), of(&mut pool, b));
                let sum = pool.poly(x).add_scaled(&pool.poly(y), &Int::from(factor));
                assert!(sum.terms.windows(2).all(|pair| pair[0].0 < pair[1].0), "{a} + {factor}*({b})");
                assert!(sum.terms.iter().all(|(_, c)| !c.is_zero()), "{a} + {factor}*({b})");
                let scale = pool.int(factor);
                let scaled = pool.mul(scale, y);
                assert_eq!(pool.from_poly(&sum), pool.add(x, scaled), "{a} + {factor}*({b})");
            }
        }
    }
}

#[test]
fn names_as_torch_gives_them_to_floats_are_doubles() {
    let mut pool = Pool::new();
    for (name, sort) in [
        ("zf0", Sort::Float),
        ("zuf12", Sort::Float),
        ("zf", Sort::Int),
        ("zuf", Sort::Int),
        ("zfx", Sort::Int),
        ("zf1x", Sort::Int),
        ("s0", Sort::Int),
        ("u0", Sort::Int),
        ("xzf0", Sort::Int),
    ] {
        let e = pool.symbol(name);
        assert_eq!(pool.sort(e), sort, "{name}");
    }
}

#[test]
fn a_ratio_of_a_ratio_is_one_ratio() {
    let table = [
        ("(s0/3)/2", "s0/6"),
        ("(4*s0/3)/2", "2*s0/3"),
        ("(s0/3)*(s1/2)", "s0*s1/6"),
        ("s0/3 + s0/2", "5*s0/6"),
        ("(6*s0)/(-4)", "-3*s0/2"),
    ];
    let mut pool = Pool::new();
    for (text, expected) in table {
        assert_eq!(of(&mut pool, text), of(&mut pool, expected), "{text}");
    }
    let (s0, two, three) = (pool.symbol("s0"), Int::from(2), Int::from(3));
    let third = pool.ratio(s0, &three);
    assert_eq!(pool.ratio(third, &two), pool.ratio(s0, &Int::from(6)));
    assert_eq!(pool.ratio(s0, &Int::ONE), s0);
}

#[test]
fn bitwise_operations_of_truth_values_are_logical() {
    let mut pool = Pool::new();
    let (p, q) = (of(&mut pool, "s0 > 3"), of(&mut pool, "s1 > 3"));
    assert_eq!(pool.bitwise(Func::BitAnd, p, q), pool.and(&[p, q]));
    assert_eq!(pool.bitwise(Func::BitOr, p, q), pool.or(&[p, q]));
    let xor = pool.bitwise(Func::BitXor, p, q);
    let equal = pool.eq(p, q);
    assert_eq!(xor, pool.not(equal));
}

#[test]
fn products_of_up_to_400_terms_are_multiplied_out() {
    let mut pool = Pool::new();
    let mut sum = |prefix: &str, count: usize| {
        (0..count).fold(Expr::ZERO, |sum, i| {
            let e = pool.symbol(&format!("{prefix}{i}"));
            pool.add(sum, e)
        })
    };
    let (twenty, more, other) = (sum("a", 20), sum("b", 21), sum("c", 20));
    let mut terms = |x: Expr, y: Expr| pool.mul_poly(&pool.poly(x), &pool.poly(y)).terms.len();
    assert_eq!((terms(twenty, other), terms(more, other)), (400, 1));
}

#[test]
fn a_sum_of_many_is_that_of_one_after_the_other() {
    let mut pool = Pool::new();
    let table: [&[&str]; 6] = [
        &[],
        &["s0", "2*s1 + 3", "-s0", "s0*s1", "-3"],
        &["s0", "-s0"],
        &["s0/2", "s0/2", "s1"],
        &["s0", "zf0", "0.5", "s1/3"],
        &["s0 > 3", "s0", "1"],
    ];
    for texts in table {
        let items: Vec<Expr> = texts.iter().map(|text| of(&mut pool, text)).collect();
        let one_by_one = items.iter().fold(Expr::ZERO, |total, &e| pool.add(total, e));
        assert_eq!(pool.sum(items), one_by_one, "{texts:?}");
    }
}

#[test]
fn products_of_monomials_and_constants_are_those_of_their_polynomials() {
    let mut pool = Pool::new();
    let texts = [
        "0",
        "1",
        "-3",
        "170141183460469231731687303715884105728",
        "s0",
        "s0**2*s1",
        "s1*(s0//3)",
        "2*s0",
        "s0 - s1 + 4",
    ];
    for a in texts {
        for b in texts {
            let (x, y) = (of(&mut pool, a), of(&mut pool, b));
            let product = pool.mul_poly(&pool.poly(x), &pool.poly(y));
            assert_eq!(pool.mul(x, y), pool.from_poly(&product), "{a} times {b}");
        }
    }
}
