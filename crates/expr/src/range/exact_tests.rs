//! Where results are exact: no larger range would do, and no smaller one either.
use super::{Bound, Congruence, Domain, DomainTable, FloatRange, ValueRange, backward};
use crate::{Expr, Func, Int, Pool, read};

fn between(lo: i64, hi: i64) -> Domain {
    ValueRange::new(lo, hi).expect("not empty").into()
}

/// The least domain with these members, as far as a range says it.
fn hull(members: impl Iterator<Item = i64> + Clone) -> Option<(i64, i64)> {
    Some((members.clone().min()?, members.max()?))
}

#[test]
fn dividends_of_a_remainder_are_known_to_their_ends() {
    for d in [1i64, 2, 3, 5] {
        for (least, most) in (-1..=d).flat_map(|l| (l..=d).map(move |h| (l, h))) {
            for (lo, hi) in (-7..=7).flat_map(|l| (l..=8).map(move |h| (l, h))) {
                let solutions = (lo..=hi).filter(|a: &i64| (least..=most).contains(&a.rem_euclid(d)));
                let found = backward::reduced(&between(least, most), &between(lo, hi), &Domain::point(d));
                let ends = found.map(|f| (f.range.lo, f.range.hi));
                let wanted = hull(solutions).map(|(l, h)| (Bound::from(l), Bound::from(h)));
                assert_eq!(ends, wanted, "a in {lo}..={hi} with a % {d} in {least}..={most}");
            }
        }
    }
}

#[test]
fn a_dividend_of_several_divisors_keeps_the_class_that_they_share() {
    let odd = Domain::new(ValueRange::all(), Congruence::new(2, 1)).expect("not empty");
    let even =
        Domain::new(ValueRange::new(2, 12).expect("not empty"), Congruence::new(2, 0)).expect("not empty");
    let found = backward::reduced(&odd, &Domain::all(), &even).expect("not empty");
    assert_eq!(found.congruence, Congruence::new(2, 1));
    // A nonnegative dividend is at least its remainder.
    let found = backward::reduced(&between(5, 6), &between(0, 90), &between(7, 9)).expect("not empty");
    assert_eq!(found.range, ValueRange::new(5, 90).expect("not empty"));
    let found = backward::reduced(&between(5, 6), &between(-1, 90), &between(7, 9)).expect("not empty");
    assert_eq!(found.range, ValueRange::new(-1, 90).expect("not empty"));
    let found = backward::reduced(&between(5, 6), &between(0, 90), &between(-9, 9)).expect("not empty");
    assert_eq!(found.range, ValueRange::new(0, 90).expect("not empty"));
}

/// Ends of ranges of doubles.
const ENDS: [f64; 9] = [f64::NEG_INFINITY, -2.0, -0.5, -0.0, 0.0, 1.0, 3.0, 1e200, f64::INFINITY];

fn float_ranges() -> Vec<FloatRange> {
    let pairs = ENDS.iter().flat_map(|lo| ENDS.iter().map(move |hi| (*lo, *hi)));
    let plain = pairs.filter_map(|(lo, hi)| FloatRange::new(lo, hi));
    plain.flat_map(|range| [range, FloatRange { nan: true, ..range }]).collect()
}

/// Ends, 0 and some numbers between them, and NaN.
fn samples(range: &FloatRange) -> Vec<f64> {
    let between = ENDS.iter().copied().chain([2.0, -1.0, f64::NAN]);
    between.filter(|x| range.contains(*x)).collect()
}

#[test]
fn sums_and_products_of_doubles_are_exact_at_their_ends_and_about_nan() {
    type Operation = (fn(&FloatRange, &FloatRange) -> FloatRange, fn(f64, f64) -> f64);
    let table: [(&str, Operation); 2] =
        [("+", (FloatRange::add, |a, b| a + b)), ("*", (FloatRange::mul, |a, b| a * b))];
    let ranges = float_ranges();
    for (name, (abstractly, concretely)) in table {
        for a in &ranges {
            for b in &ranges {
                let values: Vec<f64> = samples(a)
                    .into_iter()
                    .flat_map(|x| samples(b).into_iter().map(move |y| concretely(x, y)))
                    .collect();
                let found = abstractly(a, b);
                assert_eq!(found.nan, values.iter().any(|v| v.is_nan()), "{a:?} {name} {b:?}");
                assert!(values.iter().all(|v| found.contains(*v)), "{a:?} {name} {b:?}");
                // An end is a value, or stands for those next to a corner that has none.
                let numbers = || values.iter().copied().filter(|v| !v.is_nan());
                let reached = |end: f64| {
                    numbers().any(|v| v == end) || (found.nan && (end == 0.0 || end.is_infinite()))
                };
                assert!(reached(found.lo) && reached(found.hi), "{a:?} {name} {b:?}: {found:?}");
            }
        }
    }
}

#[test]
fn zero_times_infinity_stands_for_zero_in_the_ends() {
    let infinite = f64::INFINITY;
    let range = |lo: f64, hi: f64, nan: bool| FloatRange { lo, hi, nan };
    let table = [
        ((0.0, 0.0), (-infinite, infinite), range(0.0, 0.0, true)),
        ((0.0, 0.0), (infinite, infinite), range(0.0, 0.0, true)),
        ((0.0, 2.0), (infinite, infinite), range(0.0, infinite, true)),
        ((-2.0, 0.0), (infinite, infinite), range(-infinite, 0.0, true)),
        ((1.0, 2.0), (infinite, infinite), range(infinite, infinite, false)),
    ];
    for ((a, b), (c, d), expected) in table {
        let (x, y) = (range(a, b, false), range(c, d, false));
        assert_eq!((x.mul(&y), y.mul(&x)), (expected, expected), "{x:?} * {y:?}");
    }
}

#[test]
fn powers_and_quotients_of_doubles_may_be_nan_where_an_operand_is_or_infinities_meet() {
    let range = |lo: f64, hi: f64, nan: bool| FloatRange { lo, hi, nan };
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let (x, y) = (range(1.0, 2.0, a), range(1.0, 3.0, b));
        assert_eq!(x.pow(&y).nan, a || b, "{x:?} ** {y:?}");
        assert_eq!(x.div(&y).map(|q| q.nan), Some(a || b), "{x:?} / {y:?}");
        assert_eq!(x.extremum(&y, Func::Min).nan, a || b);
        assert_eq!(x.join(&y).nan, a || b);
        assert_eq!(x.meet(&y).map(|m| m.nan), Some(a && b));
    }
    let (finite, up, down) =
        (range(1.0, 2.0, false), range(1.0, f64::INFINITY, false), range(f64::NEG_INFINITY, -1.0, false));
    for (a, b, nan) in [(finite, up, false), (up, finite, false), (up, up, true), (down, up, true)] {
        assert_eq!(a.div(&b).map(|q| q.nan), Some(nan), "{a:?} / {b:?}");
    }
    assert_eq!(finite.div(&FloatRange::point(0.0)), None);
    assert!(finite.div(&range(0.0, 0.0, true)).is_some());
    // A power of something positive stays near the powers of the ends.
    let power = range(2.0, 3.0, false).pow(&range(2.0, 3.0, false));
    assert!(power.lo <= 4.0 && power.lo > 3.99 && power.hi >= 27.0 && power.hi < 27.01, "{power:?}");
    assert_eq!(range(-1.0, 2.0, false).pow(&finite), FloatRange::all());
    assert_eq!(range(0.0, 2.0, false).pow(&range(-1.0, 2.0, false)), FloatRange::all());
    assert_ne!(range(0.0, 2.0, false).pow(&range(0.0, 2.0, false)), FloatRange::all());
}

/// A table in which this many symbols are 0.
fn zeros(pool: &mut Pool, table: &mut DomainTable, count: usize) -> Vec<Expr> {
    let zeros: Vec<Expr> = (0..count).map(|i| pool.symbol(&format!("z{i}"))).collect();
    for &z in &zeros {
        table.set(pool, z, Domain::point(0)).expect("consistent");
    }
    zeros
}

#[test]
fn numerators_and_divisors_of_up_to_24_terms_are_compared() {
    let quotient = |count: usize| {
        let (mut pool, mut table) = (Pool::new(), DomainTable::new());
        let mut terms = zeros(&mut pool, &mut table, count);
        let [x, three, one] = [("x", 10, 99), ("three", 3, 3), ("one", 1, 1)].map(|(name, lo, hi)| {
            let e = pool.symbol(name);
            table.set(&pool, e, between(lo, hi)).expect("consistent");
            e
        });
        // (x + three + z0 + z1 + …) // (x + one), of which nothing can be split off.
        terms.extend([x, three]);
        let a = terms.into_iter().fold(Expr::ZERO, |sum, e| pool.add(sum, e));
        let b = pool.add(x, one);
        let (quotient, remainder) = (pool.floor_div(a, b), pool.modulo(a, b));
        (format!("{:?}", table.domain(&pool, quotient)), format!("{:?}", table.domain(&pool, remainder)))
    };
    assert_eq!(quotient(20), ("{1}".to_string(), "{2}".to_string()));
    assert_ne!(quotient(21).0, "{1}");
}

#[test]
fn sums_of_up_to_24_terms_are_looked_at_with_their_structure() {
    let rest = |count: usize| {
        let (mut pool, mut table) = (Pool::new(), DomainTable::new());
        let mut terms = zeros(&mut pool, &mut table, count);
        let a = pool.symbol("a");
        let four = Expr::from(4);
        let (quotient, minus) = (pool.floor_div(a, four), Expr::from(-4));
        terms.extend([a, pool.mul(minus, quotient)]);
        let sum = terms.into_iter().fold(Expr::ZERO, |sum, e| pool.add(sum, e));
        format!("{:?}", table.domain(&pool, sum))
    };
    assert_eq!(rest(22), "[0, 3]");
    assert_ne!(rest(23), "[0, 3]");
}

#[test]
fn bounding_a_sum_again_and_again_is_bounded() {
    // Minima within minima: each operand in the place of each, and so on.
    let (mut pool, mut table) = (Pool::new(), DomainTable::new());
    let mut symbol = |i: usize| {
        let e = pool.symbol(&format!("s{i}"));
        table.set(&pool, e, between(i as i64, 3 * i as i64 + 9)).expect("consistent");
        e
    };
    let symbols: Vec<Expr> = (0..12).map(&mut symbol).collect();
    let mut sum = Expr::ZERO;
    for i in 0..10 {
        let min = pool.extremum(Func::Min, &[symbols[i], symbols[i + 1], symbols[i + 2]]);
        let three = Expr::from(3);
        let (scaled, own) = (pool.mul(three, min), pool.sub(min, symbols[i]));
        let half = pool.floor_div(own, three);
        sum = pool.add(sum, scaled);
        sum = pool.sub(sum, half);
    }
    let parts: Vec<Expr> = pool.reachable(&[sum]).into_iter().filter(|e| *e != sum).collect();
    for part in parts {
        table.domain(&pool, part);
    }
    let before = pool.work();
    table.domain(&pool, sum);
    // 48 polynomials of up to 24 terms.
    let work = pool.work() - before;
    assert!((200..=48 * 24 + 100).contains(&work), "{work}");
    assert_eq!(work, WORK_OF_THE_SUM);
}

/// Terms bounded for the sum above, recorded: less is better.
const WORK_OF_THE_SUM: u64 = 1065;

#[test]
fn facts_about_a_multiple_of_a_sum_bound_the_sum() {
    let table = [
        ("2*a - 4*b", 6, 14, "6*a - 12*b + 1", "[19, 43] (1 mod 6)"),
        ("2*a - 4*b", 6, 14, "3*a - 6*b", "[-inf, inf] (0 mod 3)"),
        ("a - 2*b", 3, 7, "3*a - 6*b", "[9, 21] (0 mod 3)"),
        ("a - 2*b", 3, 7, "-a + 2*b + 1", "[-6, -2]"),
        ("a - 2*b", 3, 7, "a - 2*b + 5", "[8, 12]"),
        ("a - 2*b", 3, 7, "a - 3*b", "[-inf, inf]"),
        ("2*a - 4*b + 1", 7, 15, "a - 2*b", "[-inf, inf]"),
        ("a - 2*b", 3, 7, "a + 2*b", "[-inf, inf]"),
    ];
    for (fact, lo, hi, text, expected) in table {
        let (mut pool, mut table) = (Pool::new(), DomainTable::new());
        let fact = read::closed(&mut pool, fact).expect("an expression").expr;
        let e = read::closed(&mut pool, text).expect("an expression").expr;
        table.set(&pool, fact, between(lo, hi)).expect("consistent");
        assert_eq!(format!("{:?}", table.domain(&pool, e)), expected, "{text}");
    }
}

#[test]
fn powers_of_classes_hold_those_of_their_members() {
    for modulus in 0..=12i64 {
        for residue in 0..modulus.max(6) {
            let class = Congruence::new(modulus, residue);
            for n in 0..=4u32 {
                let power = class.pow(n);
                let values: Vec<i64> = (-30..=30).map(|t| (residue + modulus * t).pow(n)).collect();
                assert!(values.iter().all(|v| power.contains(&Int::from(*v))), "{class:?} ** {n}");
                // (r + m*t)^2 - r^2 is (m*t)^2 + 2*m*r*t.
                let apart = [0, modulus, num_integer::gcd(modulus * modulus, 2 * modulus * residue)];
                if let Some(apart) = apart.get(n as usize).filter(|_| !class.is_any()) {
                    assert_eq!(power, Congruence::new(*apart, residue.pow(n)), "{class:?} ** {n}");
                }
            }
        }
    }
}

#[test]
fn ends_of_too_many_bits_move_outwards() {
    let power = |k: u32| Int::from(2).pow(k, 10_000).expect("a power");
    // 2^2047 has 2048 bits.
    let (fits, limit, huge) = (&power(2048) - &Int::ONE, power(2047), power(2048));
    let range = |lo: &Int, hi: &Int| ValueRange::between(lo.clone(), hi.clone());
    let table = [
        (range(&-&fits, &fits), range(&-&fits, &fits)),
        (range(&-&huge, &fits), ValueRange::at_most(fits.clone())),
        (range(&fits, &huge), ValueRange::at_least(fits.clone())),
        (range(&huge, &power(3000)), ValueRange::at_least(limit.clone())),
        (range(&-power(3000), &-&huge), ValueRange::at_most(-limit)),
    ];
    for (range, widened) in table {
        assert_eq!(range.widened(), widened);
    }
}

#[test]
fn polynomials_of_up_to_eight_variables_and_24_terms_are_bounded_by_monotonicity() {
    use super::monotone::monotone;
    let bounded = |variables: usize, products: usize| {
        let mut pool = Pool::new();
        let symbols: Vec<Expr> = (0..variables).map(|i| pool.symbol(&format!("s{i}"))).collect();
        let pairs = symbols.iter().enumerate().flat_map(|(i, x)| symbols[i..].iter().map(move |y| (*x, *y)));
        let mut sum = symbols.iter().fold(Expr::ZERO, |sum, s| pool.add(sum, *s));
        for (x, y) in pairs.take(products) {
            let product = pool.mul(x, y);
            sum = pool.sub(sum, product);
        }
        let poly = pool.poly(sum);
        assert_eq!(poly.terms.len(), variables + products);
        monotone(&pool, &poly, &|_| between(2, 3)).is_some()
    };
    assert!(bounded(8, 1) && !bounded(9, 1));
    assert!(bounded(8, 16) && !bounded(8, 17));
    // No variable occurs twice.
    assert!(!bounded(3, 0));
}
