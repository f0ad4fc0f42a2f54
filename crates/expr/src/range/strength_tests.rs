//! Precision, measured by enumeration: how many results are the least domain that holds every value, and how
//! far the others are from it.
//!
//! Soundness alone would allow a function to answer "any integer". These tables record how precise the
//! functions are: a result is *loose* when enumeration gives a smaller one. A figure may fall, and is then
//! recorded again. It must never rise.
use super::backward;
use super::transfer::{self, Abstract};
use super::{Bound, Congruence, Domain, ValueRange};
use crate::{Func, Int};

/// Values of more magnitude than this are beyond the end of a window.
const NEAR: i64 = 14;
const FAR: i64 = 22;

/// Small ranges, also open ones.
fn ranges() -> Vec<ValueRange> {
    let ends = [-4, -2, -1, 0, 1, 2, 3, 5];
    let lows = ends.iter().map(|v| Bound::from(*v)).chain([Bound::NegInf]);
    let highs = || ends.iter().map(|v| Bound::from(*v)).chain([Bound::PosInf]);
    lows.flat_map(|lo| highs().map(move |hi| (lo.clone(), hi)))
        .filter_map(|(lo, hi)| ValueRange::new(lo, hi))
        .collect()
}

/// Small ranges met with residue classes.
fn classes() -> Vec<Domain> {
    let range = |lo: i64, hi: i64| ValueRange::new(lo, hi).expect("not empty");
    let ranges = [
        ValueRange::all(),
        ValueRange::nonnegative(),
        ValueRange::at_least(Int::from(2)),
        ValueRange::at_most(Int::from(-1)),
        range(-4, 6),
        range(1, 9),
    ];
    let classes = [(1, 0), (2, 0), (2, 1), (3, 2), (4, 0), (6, 2)];
    let pairs =
        ranges.iter().flat_map(|r| classes.iter().map(move |(m, c)| (r.clone(), Congruence::new(*m, *c))));
    pairs
        .filter_map(|(range, class)| Domain::new(range, class))
        .chain([Domain::point(3), Domain::point(-4)])
        .collect()
}

/// The members of a domain up to a magnitude.
fn members(domain: &Domain, limit: i64) -> Vec<i64> {
    (-limit..=limit).filter(|v| domain.contains(&Int::from(*v))).collect()
}

/// The domain of a set of integers, from its members in two windows: an end that the larger window moves is infinite.
struct Exact {
    lo: Option<i128>,
    hi: Option<i128>,
    modulus: i128,
}

fn exact(near: &[i128], far: &[i128]) -> Option<Exact> {
    let (least, greatest) = (*far.iter().min()?, *far.iter().max()?);
    let modulus = far.iter().fold(0, |m: i128, v| num_integer::Integer::gcd(&m, &(v - least)));
    Some(Exact {
        lo: (near.iter().min() == Some(&least)).then_some(least),
        hi: (near.iter().max() == Some(&greatest)).then_some(greatest),
        modulus,
    })
}

/// Numbers of loose results.
#[derive(Debug, Default, PartialEq)]
struct Loose {
    /// No value exists, but the domain is not empty.
    empty: u32,
    /// A lower or an upper end that is not the least or the greatest value.
    ends: u32,
    /// A residue class that is too large.
    classes: u32,
}

impl Loose {
    fn add(&mut self, result: &Option<Domain>, exact: &Option<Exact>) {
        match (result, exact) {
            (None, _) => {}
            (Some(_), None) => self.empty += 1,
            (Some(domain), Some(exact)) => {
                let end = |v: Option<i128>| v.map(Int::from);
                self.ends += u32::from(domain.range.lower() != end(exact.lo));
                self.ends += u32::from(domain.range.upper() != end(exact.hi));
                self.classes += u32::from(*domain.congruence.modulus() != Int::from(exact.modulus));
            }
        }
    }
}

/// Fails with every figure that is another than the stated one.
fn assert_stated(found: &[(String, Loose, [u32; 3])]) {
    let differs = |(name, loose, stated): &(String, Loose, [u32; 3])| {
        let [empty, ends, classes] = *stated;
        (*loose != Loose { empty, ends, classes }).then(|| format!("{name}: {loose:?}, stated {stated:?}"))
    };
    let wrong: Vec<String> = found.iter().filter_map(differs).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn apply(func: Func, x: i64, y: i64) -> Option<i128> {
    let (a, b) = (i128::from(x), i128::from(y));
    Some(match func {
        Func::FloorDiv if b != 0 => num_integer::Integer::div_floor(&a, &b),
        Func::Mod if b != 0 => num_integer::Integer::mod_floor(&a, &b),
        Func::Min => a.min(b),
        Func::Max => a.max(b),
        Func::BitAnd => a & b,
        Func::BitOr => a | b,
        Func::BitXor => a ^ b,
        Func::Pow if (0..=6).contains(&b) => a.pow(b as u32),
        _ => return None,
    })
}

fn loose_binary(func: Func, operands: &[Domain]) -> Loose {
    let windows: Vec<_> = operands.iter().map(|d| (members(d, NEAR), members(d, FAR))).collect();
    let mut loose = Loose::default();
    let values = |xs: &[i64], ys: &[i64]| -> Vec<i128> {
        xs.iter().flat_map(|x| ys.iter().filter_map(|y| apply(func, *x, *y))).collect()
    };
    for (a, (near_a, far_a)) in operands.iter().zip(&windows) {
        for (b, (near_b, far_b)) in operands.iter().zip(&windows) {
            // Powers grow out of the windows.
            if func == Func::Pow && (b.range.lo.is_negative() || b.range.hi > Bound::from(3)) {
                continue;
            }
            let result = match transfer::call(func, &[Abstract::Int(a.clone()), Abstract::Int(b.clone())]) {
                Some(Abstract::Int(domain)) => Some(domain),
                _ => None,
            };
            loose.add(&result, &exact(&values(near_a, near_b), &values(far_a, far_b)));
        }
    }
    loose
}

#[test]
fn binary_operations_are_as_tight_as_stated() {
    let by_range: Vec<Domain> = ranges().into_iter().map(Domain::from).collect();
    let by_class = classes();
    let table = [
        (Func::FloorDiv, [0, 0, 36], [0, 234, 8]),
        (Func::Mod, [0, 115, 60], [0, 184, 28]),
        (Func::Min, [0, 0, 0], [0, 0, 40]),
        (Func::Max, [0, 0, 0], [0, 0, 18]),
        (Func::BitAnd, [0, 191, 266], [0, 70, 708]),
        (Func::BitOr, [0, 448, 260], [0, 142, 204]),
        (Func::BitXor, [0, 1120, 21], [0, 235, 10]),
        (Func::Pow, [0, 122, 6], [0, 0, 13]),
    ];
    let mut found = Vec::new();
    for (func, of_ranges, of_classes) in table {
        found.push((format!("{func:?} of ranges"), loose_binary(func, &by_range), of_ranges));
        found.push((format!("{func:?} of classes"), loose_binary(func, &by_class), of_classes));
    }
    assert_stated(&found);
}

/// Operations of one operand, and on two of which one is a number.
#[test]
fn unary_operations_are_as_tight_as_stated() {
    type Concrete = fn(i128) -> i128;
    type Abstraction = fn(&Domain) -> Option<Domain>;
    let table: [(&str, Concrete, Abstraction, [u32; 3]); 8] = [
        ("abs", i128::abs, transfer::abs, [0, 4, 0]),
        ("neg", |x| -x, |d| transfer::sum(&Int::ZERO, [(d, &Int::from(-1))]), [0, 0, 0]),
        ("square", |x| x * x, |d| transfer::pow_literal(d, 2), [0, 0, 11]),
        ("cube", |x| x * x * x, |d| transfer::pow_literal(d, 3), [0, 0, 16]),
        ("one", |_| 1, |d| transfer::pow_literal(d, 0), [0, 0, 0]),
        ("7 - 3x", |x| 7 - 3 * x, |d| transfer::sum(&Int::from(7), [(d, &Int::from(-3))]), [0, 0, 0]),
        ("x // 4", |x| x.div_euclid(4), |d| transfer::floor_div(d, &Domain::point(4)), [0, 0, 1]),
        ("x % 4", |x| x.rem_euclid(4), |d| transfer::modulo(d, &Domain::point(4)), [0, 1, 1]),
    ];
    let operands: Vec<Domain> = ranges().into_iter().map(Domain::from).chain(classes()).collect();
    let mut found = Vec::new();
    for (name, concrete, abstraction, stated) in table {
        let mut loose = Loose::default();
        for a in &operands {
            let values =
                |limit| members(a, limit).into_iter().map(|x| concrete(i128::from(x))).collect::<Vec<_>>();
            loose.add(&abstraction(a), &exact(&values(NEAR), &values(FAR)));
        }
        found.push((name.to_string(), loose, stated));
    }
    assert_stated(&found);
}

#[test]
fn sums_and_products_are_as_tight_as_stated() {
    let operands: Vec<Domain> = ranges().into_iter().map(Domain::from).chain(classes()).collect();
    let windows: Vec<_> = operands.iter().map(|d| (members(d, NEAR), members(d, FAR))).collect();
    let (mut sums, mut products, mut joins, mut meets) =
        (Loose::default(), Loose::default(), Loose::default(), Loose::default());
    let pairs = |xs: &[i64], ys: &[i64], f: fn(i64, i64) -> i64| -> Vec<i128> {
        xs.iter().flat_map(|x| ys.iter().map(move |y| i128::from(f(*x, *y)))).collect()
    };
    for (a, (near_a, far_a)) in operands.iter().zip(&windows) {
        for (b, (near_b, far_b)) in operands.iter().zip(&windows) {
            let both = |f| exact(&pairs(near_a, near_b, f), &pairs(far_a, far_b, f));
            sums.add(
                &transfer::sum(&Int::from(3), [(a, &Int::from(-2)), (b, &Int::ONE)]),
                &both(|x, y| 3 - 2 * x + y),
            );
            products.add(&transfer::product([(a, 1), (b, 2)]), &both(|x, y| x * y * y));
            let either =
                |xs: &[i64], ys: &[i64]| xs.iter().chain(ys).map(|v| i128::from(*v)).collect::<Vec<_>>();
            joins.add(&Some(a.join(b)), &exact(&either(near_a, near_b), &either(far_a, far_b)));
            let common = |xs: &[i64], ys: &[i64]| {
                xs.iter().filter(|v| ys.contains(v)).map(|v| i128::from(*v)).collect::<Vec<_>>()
            };
            meets.add(&a.meet(b), &exact(&common(near_a, near_b), &common(far_a, far_b)));
        }
    }
    assert_stated(&[
        ("sums".to_string(), sums, [0, 0, 0]),
        ("products".to_string(), products, [0, 0, 135]),
        ("joins".to_string(), joins, [0, 0, 0]),
        ("meets".to_string(), meets, [0, 0, 0]),
    ]);
}

/// Compares the tightened domain of an operand with the operands of all solutions.
#[test]
fn running_backwards_is_as_tight_as_stated() {
    let targets: Vec<Domain> = [(0, 3), (2, 2), (-3, -1), (1, 6)]
        .into_iter()
        .map(|(lo, hi)| ValueRange::new(lo, hi).expect("not empty").into())
        .chain([
            Domain::at_least(Int::from(2)),
            Domain::at_most(Int::from(-1)),
            Domain::at_most(Int::from(1)),
        ])
        .chain([Domain::new(ValueRange::all(), Congruence::new(3, 1)).expect("not empty")])
        .collect();
    let operands: Vec<Domain> =
        ranges().into_iter().step_by(2).map(Domain::from).chain(classes().into_iter().step_by(3)).collect();
    let windows: Vec<_> = operands.iter().map(|d| (members(d, NEAR), members(d, FAR))).collect();
    type Backwards = fn(&Domain, &Domain, &Domain) -> Option<Domain>;
    type Concrete = fn(i128, i128) -> Option<i128>;
    let divides = |a: i128, b: i128| (b != 0).then(|| num_integer::Integer::div_floor(&a, &b));
    let reduces = |a: i128, b: i128| (b != 0).then(|| num_integer::Integer::mod_floor(&a, &b));
    // The operand that is narrowed comes first.
    let table: [(&str, Backwards, Concrete, [u32; 3]); 8] = [
        (
            "summand",
            |t, x, y| backward::summand(t, y, &Int::from(-2)).and_then(|d| d.meet(x)),
            |x, y| Some(y - 2 * x),
            [5, 130, 7],
        ),
        (
            "factor",
            |t, x, y| backward::factor(t, y, 1).and_then(|d| d.meet(x)),
            |x, y| Some(x * y),
            [215, 1049, 502],
        ),
        (
            "squared",
            |t, x, y| backward::factor(t, y, 2).and_then(|d| d.meet(x)),
            |x, y| Some(x * x * y),
            [784, 1042, 1132],
        ),
        (
            "cubed",
            |t, x, y| backward::factor(t, y, 3).and_then(|d| d.meet(x)),
            |x, y| Some(x * x * x * y),
            [312, 1053, 1181],
        ),
        ("dividend", |t, x, y| backward::dividend(t, y).and_then(|d| d.meet(x)), divides, [316, 1765, 527]),
        (
            "divisor",
            |t, x, y| backward::divisor(t, y, x).and_then(|d| d.meet(x)),
            |x, y| if x == 0 { None } else { Some(num_integer::Integer::div_floor(&y, &x)) },
            [1770, 4013, 960],
        ),
        (
            "reduced",
            |t, x, y| backward::reduced(t, x, y).and_then(|d| d.meet(x)),
            reduces,
            [3479, 1801, 1293],
        ),
        (
            "modulus",
            |t, x, y| backward::modulus(t, y, x).and_then(|d| d.meet(x)),
            |x, y| if x == 0 { None } else { Some(num_integer::Integer::mod_floor(&y, &x)) },
            [3444, 4156, 1113],
        ),
    ];
    let mut found = Vec::new();
    for (name, backwards, concrete, stated) in table {
        let mut loose = Loose::default();
        for target in &targets {
            for (x, (near_x, far_x)) in operands.iter().zip(&windows) {
                for (y, (near_y, far_y)) in operands.iter().zip(&windows) {
                    let solves = |v: i64, others: &[i64]| {
                        others.iter().any(|w| {
                            concrete(i128::from(v), i128::from(*w))
                                .is_some_and(|r| target.contains(&Int::from(r)))
                        })
                    };
                    let kept = |xs: &[i64], ys: &[i64]| {
                        xs.iter().filter(|v| solves(**v, ys)).map(|v| i128::from(*v)).collect::<Vec<_>>()
                    };
                    let known = backwards(target, x, y);
                    loose.add(&known, &exact(&kept(near_x, near_y), &kept(far_x, far_y)));
                }
            }
        }
        found.push((name.to_string(), loose, stated));
    }
    let mut loose = Loose::default();
    for target in &targets {
        for (x, (near, far)) in operands.iter().zip(&windows) {
            let kept = |xs: &[i64]| {
                let solves = |v: &&i64| target.contains(&Int::from(v.abs()));
                xs.iter().filter(solves).map(|v| i128::from(*v)).collect::<Vec<_>>()
            };
            loose.add(&backward::signed(target, x).and_then(|d| d.meet(x)), &exact(&kept(near), &kept(far)));
        }
    }
    found.push(("abs".to_string(), loose, [7, 26, 28]));
    assert_stated(&found);
}
