//! Limits, from both sides, and budgets that run out.
use super::{Answer, Budget, Facts, Rung, Trace, Verdict, decide};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol, read};

fn of(pool: &mut Pool, text: &str) -> Expr {
    read::closed(pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr
}

fn symbol(pool: &mut Pool, name: &str) -> Symbol {
    let e = pool.symbol(name);
    pool.as_symbol(e).expect("a symbol")
}

#[test]
fn more_than_twelve_assumptions_are_divided_into_components() {
    let mut pool = Pool::new();
    let mut facts = Facts::new();
    for i in 0..12 {
        assert!(!facts.is_divided());
        let fact = of(&mut pool, &format!("s{i} > {i}"));
        facts.assume(&mut pool, fact);
    }
    assert!(!facts.is_divided());
    let fact = of(&mut pool, "s12 > 12");
    facts.assume(&mut pool, fact);
    assert!(facts.is_divided());
}

#[test]
fn what_follows_from_many_facts_needs_all_of_them_to_be_satisfiable() {
    // Nothing in the budget finds out whether some of the facts, of which the goal says nothing, can hold.
    let settled = |hard: &str| {
        let mut pool = Pool::new();
        let mut facts = Facts::new();
        for i in 0..13 {
            let fact = of(&mut pool, &format!("s{i} > {i}"));
            facts.assume(&mut pool, fact);
        }
        let fact = of(&mut pool, hard);
        facts.assume(&mut pool, fact);
        let goal = of(&mut pool, "s3 > 2");
        let budget = Budget {
            points: 50,
            branches: 2,
            work: 500,
            terms: 3_000,
            iterations: 0,
            rlimit: 0,
            classes: true,
        };
        decide(&mut pool, &mut facts, goal, &budget)
    };
    assert!(settled("u0 > 5").verdict.is_implied());
    let Answer { verdict: Verdict::Unknown { reason }, .. } = settled("Eq(u0**3 + u1**3 + u2**3, 42)") else {
        panic!("sums of three cubes are not settled so cheaply")
    };
    assert_eq!(reason, "the goal follows, but no assignment that satisfies the other facts was found");
}

#[test]
fn a_fact_that_is_added_to_many_counts_from_then_on() {
    let mut pool = Pool::new();
    let mut facts = Facts::new();
    for i in 0..13 {
        let fact = of(&mut pool, &format!("s{i} > {i}"));
        facts.assume(&mut pool, fact);
    }
    let mut implied = |facts: &mut Facts, fact: Option<&str>, goal: &str| {
        if let Some(fact) = fact {
            let fact = of(&mut pool, fact);
            facts.assume(&mut pool, fact);
        }
        let goal = of(&mut pool, goal);
        decide(&mut pool, facts, goal, &Budget::small()).verdict.is_implied()
    };
    for fact in ["s4 < 90", "s4 < 91", "s4 < 92"] {
        assert!(implied(&mut facts, Some(fact), "s4 < 92"));
    }
    // About one component, and about two together, of which either or both learn.
    assert!(implied(&mut facts, None, "s3 > 3") && !implied(&mut facts, None, "s3 > 4"));
    assert!(implied(&mut facts, Some("s3 > 4"), "s3 > 4"));
    assert!(implied(&mut facts, None, "s3 + s4 > 9") && !implied(&mut facts, None, "s3 + s4 > 10"));
    assert!(implied(&mut facts, Some("s3 > 5"), "s3 + s4 > 10"));
    assert!(implied(&mut facts, Some("s4 > 5"), "s3 + s4 > 11"));
    assert!(!implied(&mut facts, None, "s3 + s4 > 12"));
    assert!(implied(&mut facts, Some("s3 > s4 + 1"), "s3 + s4 > 13"));
    assert!(implied(&mut facts, None, "s3 + s5 > 12") && !implied(&mut facts, None, "s3 + s5 > 14"));
}

/// Work without an e-graph, search or case splits.
const RELAXED: Budget =
    Budget { points: 0, branches: 0, work: 1, terms: 0, iterations: 0, rlimit: 0, classes: true };

/// Whether the linear relaxation shows what ranges do not.
fn relaxed(given: &[String], goal: &str) -> bool {
    let mut pool = Pool::new();
    let mut facts = Facts::new().whole();
    for fact in given {
        let fact = of(&mut pool, fact);
        facts.assume(&mut pool, fact);
    }
    let goal = of(&mut pool, goal);
    decide(&mut pool, &mut facts, goal, &RELAXED).verdict.is_implied()
}

#[test]
fn up_to_40_facts_and_four_alternatives_are_relaxed() {
    let rising = |count: usize| (0..count).map(|i| format!("s{i} <= s{}", i + 1)).collect::<Vec<_>>();
    assert!(relaxed(&rising(3), "s0 <= s3"));
    // With a link that is no difference of two symbols, as chains of differences are followed whatever their length.
    let linked = |count: usize| {
        let middle = ["2*s0 <= p + q", "p <= s1", "q <= s1"].map(str::to_string);
        let rest = (1..count - 2).map(|i| format!("s{i} <= s{}", i + 1));
        let given: Vec<String> = middle.into_iter().chain(rest).collect();
        assert_eq!(given.len(), count);
        relaxed(&given, &format!("s0 <= s{}", count - 2))
    };
    assert!(linked(40) && !linked(41));
    assert!(relaxed(&rising(1_000), "s0 <= s1000") && !relaxed(&rising(1_000), "s0 < s1000"));
    let all = |count: usize| (1..=count).map(|i| format!("s0 <= s{i}")).collect::<Vec<_>>().join(", ");
    assert!(relaxed(&rising(8), &format!("And({})", all(4))));
    assert!(!relaxed(&rising(8), &format!("And({})", all(5))));
    // 48 rows: 20 facts and the negated goal, a fact for each quotient and its definition.
    let quotients = |count: usize| {
        let mut given = rising(20);
        given.extend((0..count).map(|i| format!("t{i}//2 <= u{i}")));
        relaxed(&given, "s0 <= s20")
    };
    assert_eq!([0, 13, 14, 15, 16].map(quotients), [true, true, true, false, false]);
}

#[test]
fn boxes_of_up_to_20000_points_are_searched_to_the_end() {
    use super::models::Search;
    let search = |high: i64, points: u32| {
        let mut pool = Pool::new();
        let mut facts = Facts::new();
        let s = symbol(&mut pool, "s");
        facts.declare(&mut pool, s, ValueRange::between(Int::from(0), Int::from(high)));
        let never = of(&mut pool, "Eq(Mod(s*s, 7), 3)");
        let (found, left) = facts.models.search(&pool, &[never], points);
        (matches!(found, Search::None), left)
    };
    assert!(search(19_999, 1_000_000).0);
    assert!(!search(20_000, 100_000).0);
    // The box is searched if as many assignments are left as it has.
    let (closed, left) = search(999, 5_000);
    assert!(closed);
    let spent = 5_000 - left;
    assert!(search(999, spent + 1_000).0 && !search(999, spent + 999).0);
}

#[test]
fn constants_of_questions_are_kept_up_to_48() {
    use super::search::Constants;
    let list = |from: i128, count: i128| (from..from + count).collect::<Vec<_>>();
    let mut constants = Constants { values: list(0, 40), steps: list(0, 40) };
    constants.merge(Constants { values: list(20, 40), steps: list(100, 4) });
    assert_eq!(constants.values, [list(20, 40), list(0, 8)].concat());
    assert_eq!(constants.steps, [list(100, 4), list(0, 40)].concat());
}

#[test]
fn doubles_elsewhere_do_not_make_a_goal_of_integers_dearer() {
    let work = |doubles: bool| {
        let mut pool = Pool::new();
        let mut facts = Facts::new();
        let fact = of(&mut pool, "s > 3");
        facts.assume(&mut pool, fact);
        if doubles {
            of(&mut pool, "zf0 + 0.5 < 2.5");
        }
        let goal = of(&mut pool, "s > 2");
        let (parts, before) = (pool.reachable(&[goal]).len() as u64, pool.work());
        assert!(decide(&mut pool, &mut facts, goal, &Budget::small()).verdict.is_implied());
        (pool.work() - before, parts)
    };
    let ((plain, parts), (beside, _)) = (work(false), work(true));
    // The goal is looked through once.
    assert_eq!(beside, plain + parts);
}

#[test]
fn a_trace_keeps_two_thousand_attempts() {
    let mut trace = Trace::on();
    for i in 0..Trace::MAX + 5 {
        trace.note(Rung::Range, || i.to_string());
        assert_eq!(trace.attempts().map(<[_]>::len), Some((i + 1).min(2_000)));
    }
    let mut off = Trace::off();
    off.note(Rung::Range, || panic!("nobody wants to know"));
    assert_eq!(off.attempts(), None);
}

const ALL: Budget =
    Budget { points: 100, branches: 40, work: 1_000, terms: 2_000, iterations: 4, rlimit: 60, classes: true };

#[test]
fn budgets_are_multiplied_and_divided_in_every_unit_but_rounds() {
    let twice = Budget {
        points: 200,
        branches: 80,
        work: 2_000,
        terms: 4_000,
        iterations: 5,
        rlimit: 120,
        classes: true,
    };
    assert_eq!(ALL.times(2), twice);
    assert_eq!(ALL.times(8).iterations, 7);
    assert_eq!(ALL.times(0).iterations, 4);
    assert_eq!(Budget { iterations: 0, ..ALL }.times(8).iterations, 0);
    let quarter =
        Budget { points: 25, branches: 10, work: 250, terms: 500, iterations: 4, rlimit: 15, classes: true };
    assert_eq!(ALL.percent(25), quarter);
    assert_eq!(ALL.shared(4), quarter);
    assert_eq!((ALL.percent(100), ALL.percent(300), ALL.shared(1), ALL.shared(0)), (ALL, ALL, ALL, ALL));
}

#[test]
fn a_symbol_declared_again_drops_the_assignments_outside() {
    let mut pool = Pool::new();
    let mut facts = Facts::new();
    let s = symbol(&mut pool, "s");
    facts.declare(&mut pool, s, ValueRange::between(Int::from(2), Int::from(90)));
    let fact = of(&mut pool, "Eq(Mod(s, 3), 1)");
    facts.assume(&mut pool, fact);
    super::prepare(&mut pool, &mut facts, &Budget::small());
    let values = |facts: &Facts| -> Vec<i128> {
        let mut values: Vec<i128> = facts.models.points().1.into_iter().map(|p| p[0]).collect();
        values.sort_unstable();
        values
    };
    let before = values(&facts);
    assert!(before.len() > 2 && before.iter().all(|v| v % 3 == 1), "{before:?}");
    let (low, high) = (before[1], before[before.len() - 2]);
    facts.declare(&mut pool, s, ValueRange::between(Int::from(low), Int::from(high)));
    assert_eq!(values(&facts), before[1..before.len() - 1]);
}

#[test]
fn a_symbol_declared_later_has_a_value_in_the_assignments_at_hand() {
    let mut pool = Pool::new();
    let mut facts = Facts::new();
    let s = symbol(&mut pool, "s");
    facts.declare(&mut pool, s, ValueRange::between(Int::from(2), Int::from(90)));
    super::prepare(&mut pool, &mut facts, &Budget::small());
    let ranges = [
        (Some(3), Some(9), 3),
        (Some(-7), None, -7),
        (None, Some(-3), -3),
        (None, Some(5), 0),
        (None, None, 0),
    ];
    for (i, (low, high, value)) in ranges.into_iter().enumerate() {
        let t = symbol(&mut pool, &format!("t{i}"));
        let range = ValueRange::between_options(low.map(Int::from), high.map(Int::from)).expect("not empty");
        facts.declare(&mut pool, t, range);
        let (symbols, points) = facts.models.points();
        assert!(!points.is_empty());
        let slot = symbols.iter().position(|s| *s == t).expect("a slot");
        assert!(points.iter().all(|p| p[slot] == value), "{low:?} {high:?}");
    }
}

#[test]
fn a_quick_look_settles_what_ranges_and_their_contradictions_do() {
    let mut pool = Pool::new();
    let mut facts = Facts::new();
    for fact in ["s > 3", "s < t", "Eq(Mod(u, 4), 1)"] {
        let fact = of(&mut pool, fact);
        facts.assume(&mut pool, fact);
    }
    let table = [
        ("s > 2", Some(true)),
        ("s < 3", Some(false)),
        ("s > 4", None),
        ("t > 4", Some(true)),
        ("t < 5", Some(false)),
        ("Eq(Mod(u, 2), 1)", Some(true)),
        ("Eq(Mod(u, 2), 0)", Some(false)),
        ("Eq(u, 9)", None),
        ("v > 3", None),
        ("True", Some(true)),
    ];
    for (goal, expected) in table {
        let e = of(&mut pool, goal);
        assert_eq!(super::quickly(&mut pool, &mut facts, e), expected, "{goal}");
        // With a known possibility, it does the same.
        if let Some(holds) = expected {
            assert_eq!(super::quickly_knowing(&mut pool, &mut facts, e, |_| Some(holds)), expected, "{goal}");
        }
    }
}

#[test]
fn what_deciding_takes_is_counted() {
    let mut pool = Pool::new();
    let mut facts = Facts::new();
    for (name, low, high) in [("s", 2, 90), ("t", 2, 90)] {
        let s = symbol(&mut pool, name);
        facts.declare(&mut pool, s, ValueRange::between(Int::from(low), Int::from(high)));
    }
    assert_eq!(facts.work(), super::Work::default());
    let goal = of(&mut pool, "Ne(s*s - 7*t*t, 5)");
    assert!(decide(&mut pool, &mut facts, goal, &Budget::small()).verdict.is_implied());
    let work = facts.work();
    assert!(work.points > 0 && work.steps > 0 && work.variations > 0, "{work:?}");
    // Asked again, it is looked up.
    assert!(decide(&mut pool, &mut facts, goal, &Budget::small()).verdict.is_implied());
    let again = facts.work().since(work);
    assert_eq!((again.points, again.steps, again.branches), (0, 0, 0));
}

#[test]
fn all_questions_of_minimizing_have_one_allowance() {
    // Each question about these is within its budget; together they used to take half a minute.
    let guards = [
        "x1 < Max(x0*x0, x0)",
        "x2 <= Min(x1, x0)*x1",
        "Eq(x3, x2 + x0)",
        "x4 > Mod(x3*x3 + x1, 2305843009213693951)",
        "Eq(x5, 1009*x4)",
        "x6 > x5*x5 - x3",
        "x7 <= Mod(x6*x6 + x5, 1009)",
        "x8 > Mod(x7*x7 + x6, 97)",
        "x8 <= 10**30",
    ];
    let mut pool = Pool::new();
    let guards: Vec<Expr> = guards.iter().map(|text| of(&mut pool, text)).collect();
    let ranges = [(symbol(&mut pool, "x0"), ValueRange::between((-5).into(), 100.into()))];
    let smaller = super::minimize(&mut pool, &ranges, &guards, &Budget::default());
    assert!(!smaller.kept.is_empty());
    assert!(pool.work() < 6_000_000, "{}", pool.work());
}
