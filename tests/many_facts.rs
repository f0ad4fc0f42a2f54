//! Facts that are too many to be looked at together, doubles as fractions, and numbers beyond machine words.
use sizewise::expr::{Expr, Int, Pool, Symbol, read};
use sizewise::range::transfer::{self, Abstract};
use sizewise::range::{Congruence, Domain, ValueRange};
use sizewise::solve::{self, Budget, Facts, Verdict};

/// So many groups of two symbols that have nothing to do with each other.
const GROUPS: usize = 60;

struct Questions {
    pool: Pool,
    facts: Facts,
}

impl Questions {
    fn new(more: &[&str]) -> Questions {
        let mut questions = Questions { pool: Pool::new(), facts: Facts::new() };
        for i in 0..GROUPS {
            for name in [format!("a{i}"), format!("b{i}")] {
                let e = questions.pool.symbol(&name);
                let symbol: Symbol = questions.pool.as_symbol(e).expect("a symbol");
                questions.facts.declare(&mut questions.pool, symbol, ValueRange::nonnegative());
            }
            questions.assume(&format!("a{i} <= b{i}"));
            questions.assume(&format!("b{i} <= {}", i + 10));
        }
        more.iter().for_each(|text| questions.assume(text));
        questions
    }

    fn read(&mut self, text: &str) -> Expr {
        read::closed(&mut self.pool, text).expect("an expression").expr
    }

    fn assume(&mut self, text: &str) {
        let fact = self.read(text);
        self.facts.assume(&mut self.pool, fact);
    }

    fn decide(&mut self, goal: &str) -> Verdict {
        let goal = self.read(goal);
        solve::decide(&mut self.pool, &mut self.facts, goal, &Budget::small()).verdict
    }

    fn implies(&mut self, goal: &str) -> bool {
        let goal = self.read(goal);
        solve::implies(&mut self.pool, &mut self.facts, goal, &Budget::small())
    }
}

#[test]
fn goals_are_decided_by_the_facts_that_concern_them() {
    let mut questions = Questions::new(&[]);
    for (goal, implied) in [
        ("a3 <= 13", true),
        ("a3 <= 12", false),
        ("a3 + a7 <= 30", true),
        ("a3 + a7 <= 29", false),
        ("Eq(a1, 4) | Ne(a1, 4)", true),
        ("Max(a5, b5) <= 15", true),
        ("a0*b0 <= 100", true),
        ("a0*b0 <= 99", false),
    ] {
        let verdict = questions.decide(goal);
        assert_eq!(verdict.is_implied(), implied, "{goal}: {verdict:?}");
        assert_eq!(matches!(verdict, Verdict::Refuted { .. }), !implied, "{goal}: {verdict:?}");
        if let Verdict::Refuted { witness } = verdict {
            // It has a value for every symbol.
            assert_eq!(witness.len(), 2 * GROUPS, "{goal}");
        }
    }
}

#[test]
fn what_follows_from_many_facts_follows_without_a_witness_too() {
    for more in [&[][..], &["c0 >= 4", "2*c0 <= 11", "d0 >= -3", "d0 <= -2"], &["a9 + b9 >= 99"]] {
        let mut questions = Questions::new(more);
        for goal in [
            "a3 <= 13",
            "a3 <= 12",
            "a3 <= b3",
            "b3 <= 13",
            "b3 <= 12",
            "a3 + a7 <= 30",
            "a3 + a7 <= 29",
            "c0 >= 4",
            "c0 >= 5",
            "c0 <= 5",
            "c0 <= 4",
            "d0 < 0",
            "d0 < -2",
            "e0 >= 0",
            "e0 + e1 >= 0",
            "Ne(2*e0, 3)",
            "Eq(e0, 0)",
            "Ne(2*e0 + 4*e1, 7)",
            "Eq(a3, a3)",
        ] {
            let verdict = questions.decide(goal);
            // Asked before anything else, and after other questions.
            let mut fresh = Questions::new(more);
            for asked in [&mut fresh, &mut questions] {
                let implied = asked.implies(goal);
                assert_eq!(implied, verdict.is_implied(), "{goal} under {more:?}: {verdict:?}");
            }
        }
    }
}

#[test]
fn groups_that_hold_at_the_ends_of_ranges_are_part_of_every_witness() {
    let mut questions = Questions::new(&["c0 >= 4", "d0 <= -2", "e0 <= 7", "Eq(f0 % 3, 1)"]);
    let Verdict::Refuted { witness } = questions.decide("a3 <= 12") else { panic!("it does not follow") };
    let values: Vec<(Symbol, Int)> = witness;
    for &condition in questions.facts.conditions() {
        let value = |s: Symbol| {
            values.iter().find(|(t, _)| *t == s).map(|(_, v)| sizewise::expr::Value::Int(v.clone()))
        };
        let holds = questions.pool.eval(condition, value).map(|v| v.as_bool());
        assert_eq!(holds, Ok(true), "{condition:?}");
    }
}

#[test]
fn one_contradiction_is_found_among_many_facts() {
    let mut questions = Questions::new(&["a9 + b9 >= 19", "a9 <= 8", "b9 <= 10"]);
    assert!(matches!(questions.decide("a3 <= 13"), Verdict::Inconsistent { .. }));
}

#[test]
fn nothing_is_implied_while_a_group_has_no_known_assignment() {
    let hard = "Eq(u0**3 + u1**3 + u2**3 + u0*u1*u2*u3, 1000000007)";
    let mut questions = Questions::new(&[hard, "u0 >= 1000", "u1 >= 1001", "u2 <= -1002", "Ne(u3, 0)"]);
    match questions.decide("a3 <= 13") {
        Verdict::Unknown { reason } => assert!(reason.contains("the other facts"), "{reason}"),
        // Whoever finds an assignment may say so.
        verdict => assert!(verdict.is_implied(), "{verdict:?}"),
    }
}

fn verdict(given: &[&str], goal: &str) -> Verdict {
    let mut questions = Questions { pool: Pool::new(), facts: Facts::new() };
    for name in ["s0", "s1"] {
        let e = questions.pool.symbol(name);
        let symbol = questions.pool.as_symbol(e).expect("a symbol");
        questions.facts.declare(&mut questions.pool, symbol, ValueRange::new(0, 1000).expect("not empty"));
    }
    given.iter().for_each(|text| questions.assume(text));
    questions.decide(goal)
}

#[test]
fn doubles_are_compared_as_fractions() {
    for (given, goal, implied) in [
        (&["s0 <= 2*s1"][..], "0.25*s0 <= 0.5*s1", true),
        (&["s0 <= 2*s1"], "0.5*s1 >= 0.25*s0", true),
        (&["s0 <= 2*s1"], "0.5*s0 <= 0.25*s1", false),
        (&["s0 <= s1"], "0.125*s0 < 0.125*s1 + 0.5", true),
        (&["s0 <= s1"], "0.125*s0 < 0.125*s1", false),
        (&["Eq(s0, 4*s1)"], "Eq(0.25*s0, 1.0*s1)", true),
        (&["Eq(s0, 4*s1)"], "Eq(0.5*s0, 1.0*s1)", false),
        (&[], "FloorToInt(0.5*s0) <= s0", true),
        (&[], "CeilToInt(0.5*s0) <= s0", true),
        (&[], "Eq(FloorToInt(0.25*s0), s0//4)", true),
        (&[], "Eq(TruncToInt(0.25*s0), s0//4)", true),
        (&[], "Eq(CeilToInt(0.25*s0), s0//4)", false),
        (&[], "Eq(CeilToInt(0.25*s0), (s0 + 3)//4)", true),
        (&["s0 >= 5"], "0.5*s0 - 0.25*s0 > 1.0", true),
        (&["s0 >= 4"], "0.5*s0 - 0.25*s0 > 1.0", false),
    ] {
        let verdict = verdict(given, goal);
        assert_eq!(verdict.is_implied(), implied, "{given:?} imply {goal}: {verdict:?}");
        assert_eq!(
            matches!(verdict, Verdict::Refuted { .. }),
            !implied,
            "{given:?} imply {goal}: {verdict:?}"
        );
    }
}

#[test]
fn powers_of_0_and_1_stay_there_whatever_the_exponent() {
    let int = |lo: i64, hi: i64| Abstract::Int(ValueRange::new(lo, hi).expect("not empty").into());
    let exponent = || Abstract::Int(Domain::at_least(Int::from(0)));
    let table =
        [(int(0, 1), int(0, 1)), (int(1, 1), int(1, 1)), (int(-1, 1), int(-1, 1)), (int(-1, 0), int(-1, 1))];
    for (base, power) in table {
        assert_eq!(
            transfer::call(sizewise::expr::Func::Pow, &[base.clone(), exponent()]),
            Some(power),
            "{base:?}"
        );
    }
}

#[test]
fn of_classes_whose_common_modulus_is_too_large_the_finer_is_kept() {
    let power = |base: i64, n: u32| Int::from(base).pow(n, 4096).expect("small enough");
    let (fine, coarse) = (Congruence::new(power(3, 1200), 5), Congruence::new(power(2, 1500), 5));
    assert_eq!(fine.meet(&coarse), Some(fine.clone()));
    assert_eq!(coarse.meet(&fine), Some(fine.clone()));
    let small = Congruence::new(power(2, 20), 5);
    let both = small.meet(&Congruence::new(power(3, 20), 5)).expect("not empty");
    assert_eq!(both, Congruence::new(&power(2, 20) * &power(3, 20), 5));
}

#[test]
fn facts_that_come_between_questions_teach_as_those_that_were_there_before() {
    // A chain that grows at its end, is tied to another group in between, and gets its only bound last.
    let mut all: Vec<String> = Vec::new();
    for i in 0..40 {
        all.push(format!("c{i} + 1 <= c{}", i + 1));
        if i == 20 {
            all.push("a3 <= c0".to_owned());
        }
    }
    all.push("c40 <= 60".to_owned());
    let goals = ["c0 <= 20", "c0 <= 19", "c5 <= 25", "a3 <= 13", "a3 <= c40 - 40", "c39 <= 59", "c39 <= 58"];
    let mut between = Questions::new(&[]);
    for (i, fact) in all.iter().enumerate() {
        between.assume(fact);
        if i % 6 == 0 || i + 1 == all.len() {
            let known: Vec<&str> = all[..=i].iter().map(String::as_str).collect();
            let mut before = Questions::new(&known);
            for goal in goals {
                let (one, other) = (between.decide(goal), before.decide(goal));
                let same = std::mem::discriminant(&one) == std::mem::discriminant(&other);
                assert!(same, "{goal} after {fact}: {one:?} and {other:?}");
            }
        }
    }
    for (goal, implied) in goals.into_iter().zip([true, false, true, true, true, true, false]) {
        assert_eq!(between.decide(goal).is_implied(), implied, "{goal}");
    }
}
