//! The domains that a table derives from facts, as statements about expressions.
use super::{
    Bound, Bounds, Congruence, Domain, DomainTable, FactSubject, FloatRange, ValueRange, is_idempotent,
    is_learned_at_once, truth,
};
use crate::text::read;
use crate::{Expr, Int, Pool};

fn parse(pool: &mut Pool, text: &str) -> Expr {
    read::closed(pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr
}

/// A table under facts given as conditions, each assumed until nothing changes.
fn assumed(pool: &mut Pool, facts: &[&str]) -> DomainTable {
    let mut table = DomainTable::new();
    let conditions: Vec<Expr> = facts.iter().map(|fact| parse(pool, fact)).collect();
    for _ in 0..8 {
        let changed = conditions.iter().map(|c| table.assume(pool, *c).expect("the facts are consistent"));
        if !changed.fold(false, |any, changed| any | changed) {
            break;
        }
    }
    table
}

fn assert_ranges(cases: &[(&[&str], &str, &str)]) {
    for (facts, text, expected) in cases {
        let mut pool = Pool::new();
        let mut table = assumed(&mut pool, facts);
        let e = parse(&mut pool, text);
        assert_eq!(format!("{:?}", table.domain(&pool, e)), *expected, "{text} under {facts:?}");
    }
}

#[test]
fn expressions_have_the_bounds_their_operands_leave() {
    assert_ranges(&[
        (&["s0 >= 2", "s0 <= 5"], "s0", "[2, 5]"),
        (&["s0 >= 2", "s0 <= 5"], "3*s0 - 1", "[5, 14] (2 mod 3)"),
        (&["s0 >= 2", "s0 <= 5"], "s0//2", "[1, 2]"),
        (&["s0 >= 2", "s0 <= 5"], "-s0 // 2", "[-3, -1]"),
        (&["s0 >= 2", "s0 <= 5"], "s0 % 8", "[2, 5]"),
        (&["s0 >= 9", "s0 <= 13"], "s0 % 8", "[1, 5]"),
        (&["s0 >= 2"], "s0 % 8", "[0, 7]"),
        (&["s0 >= 2", "s1 >= 3", "s1 <= 4"], "s0 % s1", "[0, 3]"),
        (&[], "s0*s0", "[0, inf]"),
        (&["s0 >= 0", "s1 >= 0"], "s0*s1", "[0, inf]"),
        (&["Eq(s0, 0)"], "s0*s1", "{0}"),
        (&["s0 >= -3", "s0 <= 2"], "Abs(s0)", "[0, 3]"),
        (&["s0 >= 2", "s0 <= 5", "s1 >= 4"], "Max(s0, s1)", "[4, inf]"),
        (&["s0 >= 2", "s0 <= 5", "s1 >= 4"], "Min(s0, s1)", "[2, 5]"),
        (&["s0 >= 2", "s0 <= 5"], "Where(s1 > 3, s0, 9)", "[2, 9]"),
        (&["s0 >= 2", "s0 <= 5", "s1 > 3"], "Where(s1 > 3, s0, 9)", "[2, 5]"),
    ]);
}

#[test]
fn operands_that_depend_on_each_other_are_not_counted_twice() {
    assert_ranges(&[
        // Quotients and remainders.
        (&["s0 >= 0"], "s0 - 4*(s0//4)", "[0, 3]"),
        (&[], "(s0 + 3)//8 - s0//8", "[0, 1]"),
        (&["s0 >= 8"], "s0 - s0 % 8", "[8, inf]"),
        (&["s1 >= 1", "s1 <= 6"], "s0 - s1*(s0//s1)", "[0, 5]"),
        (&["s0 >= 0", "s1 >= 1"], "s0 - s1*(s0//s1)", "[0, inf]"),
        (&["s0 >= 3", "s0 <= 10", "s1 >= 1"], "s1*(s0//s1)", "[0, 10]"),
        // Minima and maxima.
        (&[], "Max(s0, s1) - s0", "[0, inf]"),
        (&[], "Min(s0, s1) - s1", "[-inf, 0]"),
        (&["s1 >= 2", "s1 <= 5"], "Max(s0, s0 + s1) - s0", "[2, 5]"),
        (&["s0 >= 1", "s1 >= 1"], "s0 + s1 - 1 - Max(0, s1 - s0)", "[1, inf]"),
        (&[], "Max(Min(s0, s1) + s2, Min(s0, s1) + s3) - Min(s0, s1) - Max(s2, s3)", "{0}"),
        (&[], "Max(3*s0, 3*s1) - 3*Max(s0, s1)", "{0}"),
        (&["s0 >= 3"], "Where(s1 > 3, s0, s0 + 2) - s0", "[0, 2]"),
        // Numerator and divisor.
        (&["s0 >= 1"], "(s0 + 9)//(s0 + 4)", "[1, 2]"),
        (&["s0 >= 1"], "(s0 + 7)//(-s0 - 4)", "{-2}"),
        (&["s0 >= 1"], "(s0 + 3) % (s0 + 4)", "[4, inf]"),
        (&["s0 >= 1"], "(-s0 - 3) % (-s0 - 4)", "[-inf, -4]"),
        // Monotone polynomials.
        (&["s0 >= 2", "s0 <= 50"], "s0*s0 - s0", "[2, 2450]"),
        (&["s0 >= 2", "s1 >= 2"], "s0*s1 - s0 - s1", "[0, inf]"),
        (&["s0 >= 1", "s0 <= 9", "s1 >= 1", "s1 <= 9"], "s0*s1 - s0", "[0, 72]"),
    ]);
}

#[test]
fn residues_are_carried_along() {
    assert_ranges(&[
        (&["Eq(s0 % 8, 0)"], "s0 // 4", "[-inf, inf] (0 mod 2)"),
        (&["Eq(s0 % 8, 3)"], "s0 % 4", "{3}"),
        (&["Eq(s0 % 2, 1)"], "s0*s0", "[1, inf] (1 mod 4)"),
        (&["Eq(s0 % 3, 2)", "Eq(s0 % 4, 1)", "s0 >= 0"], "s0", "[5, inf] (5 mod 12)"),
        (&["Eq(s0, 8*s1)"], "s0", "[-inf, inf] (0 mod 8)"),
        (&["Eq(s0, 8*s1)", "s0 >= 1"], "s0", "[8, inf] (0 mod 8)"),
        (&["Eq(s0 % 4, 2)", "s0 > 6", "s0 < 14"], "s0", "{10}"),
    ]);
}

#[test]
fn conditions_tighten_what_they_are_built_of() {
    assert_ranges(&[
        (&["3*s0 + 2*s1 <= 20", "s0 >= 0", "s1 >= 4"], "s0", "[0, 4]"),
        (&["s0 // 4 >= 3"], "s0", "[12, inf]"),
        (&["s0 // 4 <= -1"], "s0", "[-inf, -1]"),
        (&["s0 // s1 >= 3", "s0 >= 0", "s0 <= 10", "s1 >= 0"], "s1", "[1, 3]"),
        (&["s0*s1 <= 100", "s0 >= 5", "s1 >= 2"], "s0", "[5, 50]"),
        (&["s0*s1 >= 1", "s0 >= 0", "s1 >= 0"], "s1", "[1, inf]"),
        (&["s0*s0 <= 30"], "s0", "[-5, 5]"),
        (&["Eq(s0 % s1, 0)", "s0 >= 1", "s0 <= 6", "s1 >= 1"], "s1", "[1, 6]"),
        (&["s0 % 8 <= 3", "s0 >= 5", "s0 <= 23"], "s0", "[8, 19]"),
        (&["Max(s0, s1) <= 7"], "s1", "[-inf, 7]"),
        (&["Max(s0, s1) >= 7", "s0 <= 3"], "s1", "[7, inf]"),
        (&["Abs(s0) <= 4"], "s0", "[-4, 4]"),
        (&["Abs(s0) >= 4", "s0 >= -2"], "s0", "[4, inf]"),
        (&["Ne(s0, 0)", "s0 >= 0"], "s0", "[1, inf]"),
        (&["Ne(s0, 5)", "s0 <= 5"], "s0", "[-inf, 4]"),
        (&["And(s0 >= 3, s1 >= 4)"], "s0 + s1", "[7, inf]"),
        (&["Or(s0 <= 3, Eq(s0, 7))", "s0 >= 0"], "s0", "[0, 7]"),
        (&["Or(s0 <= 3, s1 <= 3)", "s0 >= 5"], "s1", "[-inf, 3]"),
        (&["Where(s0 > 3, s1, 1) >= 2"], "s0", "[4, inf]"),
    ]);
}

#[test]
fn conditions_are_decided() {
    let cases: [(&[&str], &str, Option<bool>); 10] = [
        (&["s0 >= 2"], "Eq(s0, 1)", Some(false)),
        (&["s0 >= 2"], "s0*s1*s0 + 1 > 0", None),
        (&["Eq(s0 % 8, 0)"], "Eq(s0 % 4, 0)", Some(true)),
        (&["Eq(s0 % 8, 0)"], "Eq(s0, 20)", Some(false)),
        (&["s0 - s1 <= -5"], "s1 - s0 >= 3", Some(true)),
        (&["s0 < s1"], "s1 > s0", Some(true)),
        (&["s0 < s1"], "Eq(s0, s1)", Some(false)),
        (&["s0 >= 2"], "Or(s0 > 1, s1 > 4)", Some(true)),
        (&["s0 >= 2"], "And(s0 < 1, s1 > 4)", Some(false)),
        (&["s0 >= 2"], "s0 > s1", None),
    ];
    for (facts, text, expected) in cases {
        let mut pool = Pool::new();
        let mut table = assumed(&mut pool, facts);
        let goal = parse(&mut pool, text);
        assert_eq!(table.decide(&pool, goal), expected, "{text} under {facts:?}");
    }
}

#[test]
fn contradictions_are_data() {
    let cases: [&[&str]; 7] = [
        &["s0 >= 3", "s0 <= 2"],
        &["Eq(s0 % 8, 0)", "Eq(s0 % 4, 1)"],
        &["s0*s0 <= -1"],
        &["Eq(2*s0, 4*s1 + 2*s2)", "Eq(s0 % 2, 1)", "Eq(s2 % 2, 0)"],
        &["Max(s0, s1) <= 2", "s0 + s1 >= 5"],
        &["Or(s0 >= 4, s0 <= 1)", "s0 >= 2", "s0 <= 3"],
        &["Eq(s0 // 4, 2)", "s0 >= 12"],
    ];
    for facts in cases {
        let mut pool = Pool::new();
        let mut table = DomainTable::new();
        let conditions: Vec<Expr> = facts.iter().map(|fact| parse(&mut pool, fact)).collect();
        let mark = table.mark();
        let refused = (0..4).any(|_| conditions.iter().any(|c| table.assume(&pool, *c).is_err()));
        assert!(refused, "{facts:?}");
        assert!(table.contradiction().is_some(), "{facts:?}");
        table.undo(mark);
        assert_eq!(table.contradiction(), None, "{facts:?}");
    }
}

#[test]
fn facts_about_any_expression_count() {
    let mut pool = Pool::new();
    let (sum, goal) = (parse(&mut pool, "s0*s1"), parse(&mut pool, "s0*s1 + 2"));
    let mut table = DomainTable::new();
    assert_eq!(table.set(&pool, sum, Domain::at_least(Int::from(7))), Ok(true));
    assert_eq!(table.set(&pool, sum, Domain::at_least(Int::from(5))), Ok(false));
    assert_eq!(table.domain(&pool, goal).range, ValueRange::at_least(Int::from(9)));
    assert!(table.set(&pool, sum, Domain::at_most(Int::from(6))).is_err());

    let mut bounds = Bounds::new(&pool, |e| (e == sum).then(|| Congruence::multiples_of(4).into()));
    assert_eq!(bounds.domain(goal).congruence, Congruence::new(4, 2));
    assert_eq!(bounds.decide(goal), None);
    assert_eq!(bounds.contradiction(), None);
}

#[test]
fn undoing_restores_what_was_known() {
    let mut pool = Pool::new();
    let (s0, twice) = (parse(&mut pool, "s0"), parse(&mut pool, "2*s0"));
    let mut table = assumed(&mut pool, &["s0 >= 2"]);
    let outer = table.mark();
    let below = parse(&mut pool, "s0 <= 9");
    assert_eq!(table.assume(&pool, below), Ok(true));
    let inner = table.mark();
    let point = parse(&mut pool, "Eq(s0, 4)");
    assert_eq!(table.assume(&pool, point), Ok(true));
    assert_eq!(table.domain(&pool, twice), Domain::point(8));
    table.undo(inner);
    assert_eq!(table.domain(&pool, s0).range.hi, Bound::from(9));
    table.undo(outer);
    assert_eq!(
        table.domain(&pool, twice),
        Domain::new(ValueRange::at_least(Int::from(4)), Congruence::new(2, 0)).expect("not empty")
    );
}

#[test]
fn doubles_have_ranges_too() {
    let mut pool = Pool::new();
    let (scale, floor) = (parse(&mut pool, "zf0"), parse(&mut pool, "FloorToInt(zf0 * ToFloat(s0))"));
    let mut table = assumed(&mut pool, &["s0 >= 2", "s0 <= 10"]);
    assert!(table.domain(&pool, floor).is_all());
    assert_eq!(table.set_float(&pool, scale, FloatRange::new(1.5, 2.0).expect("not empty")), Ok(true));
    assert_eq!(table.domain(&pool, floor).range, ValueRange::between(Int::from(3), Int::from(20)));
    assert_eq!(table.float_range(&pool, scale), FloatRange::new(1.5, 2.0).expect("not empty"));
    let positive = parse(&mut pool, "zf0 > 1.0");
    assert_eq!(table.decide(&pool, positive), Some(true));
}

#[test]
fn undefined_expressions_are_no_contradiction() {
    let mut pool = Pool::new();
    let quotient = parse(&mut pool, "s0 // s1");
    let mut table = assumed(&mut pool, &["Eq(s1, 0)"]);
    assert!(table.domain(&pool, quotient).is_all());
    assert_eq!(table.contradiction(), None);
}

#[test]
fn deep_and_growing_expressions_stay_bounded() {
    let mut pool = Pool::new();
    let s0 = parse(&mut pool, "s0");
    let three = pool.int(3);
    let mut e = s0;
    // Squared and divided 200 times over: 2^200 bits if nothing stopped it.
    for _ in 0..200 {
        let square = pool.mul(e, e);
        e = pool.floor_div(square, three);
    }
    let mut table = DomainTable::new();
    table
        .set(
            &pool,
            s0,
            Domain::new(ValueRange::between(Int::from(100), Int::from(200)), Congruence::new(9, 1))
                .expect("not empty"),
        )
        .expect("consistent");
    assert_eq!(table.domain(&pool, e).range.hi, Bound::PosInf);
    assert!(table.domain(&pool, e).range.lo > Bound::from(1));
    let mut chain = s0;
    for _ in 0..20_000 {
        let next = pool.modulo(chain, s0);
        chain = pool.add(next, three);
    }
    assert!(table.domain(&pool, chain).range.lo >= Bound::from(3));
    let condition = pool.le(chain, three);
    assert!(table.assume(&pool, condition).is_ok());
}

#[test]
fn comparisons_of_plain_sums_teach_all_they_can_at_once() {
    for (condition, once) in [
        ("s0 >= 3", true),
        ("Ne(s0, 3)", true),
        ("Eq(4*s0, 12)", true),
        ("7*s0 <= 40", true),
        ("s0 + s1 <= 9", true),
        ("s0 > s1 + s2", true),
        ("2*s0 <= s1", false),
        ("Eq(s0, s1)", false),
        ("s0*s1 <= 9", false),
        ("s0 // 2 <= 9", false),
        ("(s0 <= 3) | (s0 >= 8)", false),
    ] {
        for facts in [
            &["s0 >= 2", "s1 >= 1", "s2 >= 0"][..],
            &["s0 >= 2", "s0 <= 5", "s1 >= 0", "s1 <= 4", "s2 >= 0", "s2 <= 3"],
            &["s0 >= 2", "s0 <= 8", "Eq(s0 % 4, 0)", "s1 >= 0", "s1 <= 4", "s2 >= 0", "s2 <= 3"],
        ] {
            let mut pool = Pool::new();
            let mut table = assumed(&mut pool, facts);
            let e = parse(&mut pool, condition);
            assert_eq!(is_idempotent(&pool, e), once, "{condition}");
            let possible = table.assume(&pool, e).is_ok();
            assert!(!once || !possible || table.assume(&pool, e) == Ok(false), "{condition} under {facts:?}");
        }
    }
}

#[test]
fn what_is_learned_is_told_by_what_it_is_about() {
    let mut pool = Pool::new();
    let mut table = assumed(&mut pool, &["s0 >= 2", "s0 <= 5", "s1 >= 0"]);
    for (condition, told) in [
        ("s1 <= s0", &["s1 <= s0", "s0 - s1", "s1"][..]),
        ("s1 <= 9", &[]),
        ("s1 <= s0 + 7", &[]),
        ("s1 <= 4", &["s1 <= 4", "s1"]),
        ("2*s1 <= 2*s0 - 2", &["s1 <= s0 - 1", "s0 - s1"]),
    ] {
        let e = parse(&mut pool, condition);
        let mut learned = Vec::new();
        table.assume_recording(&pool, e, &mut learned).expect("the facts are consistent");
        for part in told {
            let part = parse(&mut pool, part);
            assert!(learned.contains(&FactSubject::of(&pool, part)), "{condition} is about {part:?}");
        }
        for other in ["s0", "s1", "s0 - s1"].iter().filter(|other| !told.contains(other)) {
            let part = parse(&mut pool, other);
            assert!(!learned.contains(&FactSubject::of(&pool, part)), "{condition} says nothing of {other}");
        }
    }
}

#[test]
fn sums_share_their_subject_with_their_multiples_alone() {
    let mut pool = Pool::new();
    let mut subject = |text: &str| {
        let e = parse(&mut pool, text);
        FactSubject::of(&pool, e)
    };
    assert_eq!(subject("s0 - s1"), subject("2*s1 - 2*s0 + 7"));
    for (a, b) in [("s0", "s1"), ("s0", "2*s0"), ("s0 + s1", "s0 + s2"), ("s0*s1", "s0"), ("s0", "s0 <= 3")] {
        assert_ne!(subject(a), subject(b), "{a}, {b}");
    }
}

#[test]
fn a_comparison_is_decided_alike_whether_or_not_parts_of_it_are_known() {
    let sizes = ["s0 >= 2", "s0 <= 5"];
    for text in
        ["s0 >= 2", "s0 >= 3", "s0 >= 6", "Eq(s0, 3)", "Eq(s0, 6)", "Ne(2*s0, 7)", "3*s0 <= 15", "3*s0 > 15"]
    {
        let mut pool = Pool::new();
        let (mut bare, mut computed) = (assumed(&mut pool, &sizes), assumed(&mut pool, &sizes));
        let e = parse(&mut pool, text);
        let domain = computed.domain(&pool, e);
        assert_eq!(bare.decide(&pool, e), truth(&domain), "{text}");
        assert_eq!(computed.decide(&pool, e), truth(&domain), "{text}");
        // A fact about the comparison itself counts.
        if truth(&domain).is_none() {
            bare.assume(&pool, e).expect("the facts are consistent");
            assert_eq!(bare.decide(&pool, e), Some(true), "{text}");
            let not = pool.not(e);
            assert_eq!(bare.decide(&pool, not), Some(false), "{text}");
        }
    }
}

#[test]
fn what_is_learned_at_once_teaches_nothing_when_it_is_assumed_again() {
    let domains = |low: i32| -> Vec<Domain> {
        let ranges =
            (low..=4).flat_map(|lo| [None, Some(lo), Some(lo + 1), Some(6)].map(|hi| (Some(lo), hi)));
        let ranges = ranges.chain([(None, Some(low + 3)), (None, None)]);
        let ranges =
            ranges.filter_map(|(lo, hi)| ValueRange::between_options(lo.map(Int::from), hi.map(Int::from)));
        let classes = [(1, 0), (2, 1), (6, 2), (4, 3)];
        let all = ranges.flat_map(|range| {
            let congruences = classes.map(|(m, r)| Congruence::new(Int::from(m), Int::from(r)));
            congruences.into_iter().map(|c| (range.clone(), c)).collect::<Vec<_>>()
        });
        all.filter_map(|(range, congruence)| Domain::new(range, congruence)).collect()
    };
    let (first, second) = (domains(-2), domains(-1));
    for text in ["Eq(s0, s1)", "Eq(s0 + s1, 3)", "Eq(s0, s1 + 2)", "Eq(s0 % 4, 0)", "Eq(s0 % 5, 0)"] {
        let mut pool = Pool::new();
        let (condition, a, b) = (parse(&mut pool, text), parse(&mut pool, "s0"), parse(&mut pool, "s1"));
        assert!(is_learned_at_once(&pool, condition), "{text}");
        for (x, y) in first.iter().flat_map(|x| second.iter().map(move |y| (x, y))) {
            let mut table = DomainTable::new();
            table.set(&pool, a, x.clone()).expect("a domain");
            table.set(&pool, b, y.clone()).expect("a domain");
            if table.assume(&pool, condition).is_ok() {
                assert_eq!(table.assume(&pool, condition), Ok(false), "{text} where {x:?}, {y:?}");
            }
        }
    }
}
