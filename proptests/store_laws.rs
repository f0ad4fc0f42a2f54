//! Laws of the store of facts, with the exact evaluator as the oracle: what it answers is so wherever the facts hold,
//! whatever was asked before, and a branch that was left has taught nothing.
use crate::campaign;
use crate::expressions::tree::{Condition, Op, SYMBOLS, Tree, condition};

use campaign::{config, count};
use num_bigint::BigInt;
use proptest::prelude::*;
use sizewise::env::{ShapeEnv, SymbolInfo};
use sizewise::expr::{Expr, Pool, Value};
use sizewise::range::ValueRange;
use sizewise::solve::{self, Budget, Facts, Verdict};

/// Sizes from 0 to here are tried.
const MOST: i64 = 4;

/// Facts as programs have them: equations between sizes, multiples, orders, bounds; and any others.
fn fact() -> impl Strategy<Value = Condition> {
    let simple = (0..7u8, 0..4usize, 0..4usize, 1..4i128, -2..3i128).prop_map(|(kind, i, j, k, c)| {
        let (a, b) = (Tree::Symbol(i), Tree::Symbol(j));
        let of = |op, a, b| Tree::Binary(op, Box::new(a), Box::new(b));
        let (constant, factor) = (Tree::Int(c), Tree::Int(k));
        match kind {
            0 => Condition::Compare("==", a, b),
            1 => Condition::Compare("==", a, of(Op::Add, of(Op::Mul, factor, b), constant)),
            2 => Condition::Compare("==", of(Op::Mod, a, Tree::Int(k + 1)), Tree::Int(c.max(0))),
            3 => Condition::Compare("==", of(Op::FloorDiv, a, Tree::Int(k + 1)), b),
            4 => Condition::Compare("<=", a, b),
            5 => Condition::Compare("!=", of(Op::Mul, a, b), Tree::Int(k * (c + 2))),
            _ => Condition::Compare(">=", a, factor),
        }
    });
    prop_oneof![6 => simple, 1 => condition()]
}

/// Builds an expression that has no value for some sizes: a division by what may be 0, or a shift by what may be
/// negative.
fn partial() -> impl Strategy<Value = (u8, Tree, Tree)> {
    let sum = |c: std::ops::Range<i128>| {
        let pair = (0..4usize, c);
        pair.prop_map(|(i, c)| Tree::Binary(Op::Add, Box::new(Tree::Symbol(i)), Box::new(Tree::Int(c))))
    };
    (0..3u8, sum(-9..10), sum(-3..3))
}

fn built(pool: &mut Pool, (kind, a, b): &(u8, Tree, Tree)) -> Expr {
    let (a, b) = (a.build(pool), b.build(pool));
    match kind {
        0 => pool.floor_div(a, b),
        1 => pool.modulo(a, b),
        _ => {
            let two = pool.int(2);
            let power = pool.pow(two, b);
            pool.floor_div(a, power)
        }
    }
}

/// The assignments of sizes from 0 to [`MOST`] at which conditions hold.
fn allowed(facts: &[Condition]) -> Vec<[BigInt; 4]> {
    let side = MOST + 1;
    let points = (0..side.pow(4)).map(|n| [n, n / side, n / side.pow(2), n / side.pow(3)].map(|v| v % side));
    let points = points.map(|point| point.map(BigInt::from));
    points.filter(|at| facts.iter().all(|fact| fact.value(at) == Some(true))).collect()
}

fn texts(conditions: &[Condition]) -> String {
    conditions.iter().map(Condition::text).collect::<Vec<_>>().join("; ")
}

fn declare(pool: &mut Pool, facts: &mut Facts) {
    for name in SYMBOLS {
        let e = pool.symbol(name);
        let range = ValueRange::new(0, MOST).expect("not empty");
        facts.declare(pool, pool.as_symbol(e).expect("a symbol"), range);
    }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn what_the_store_answers_is_so_wherever_the_facts_hold(
        steps in prop::collection::vec((fact(), prop::collection::vec(fact(), 1..4)), 1..5),
    ) {
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        declare(&mut pool, &mut facts);
        let mut known: Vec<Condition> = Vec::new();
        let mut asked: Vec<Condition> = Vec::new();
        for (fact, questions) in steps {
            let condition = fact.build(&mut pool);
            facts.assume(&mut pool, condition);
            known.push(fact);
            let points = allowed(&known);
            asked.extend(questions);
            // Earlier questions are asked again: more may follow now.
            for question in &asked {
                let goal = question.build(&mut pool);
                let answers = [
                    solve::known(&mut pool, &mut facts, goal),
                    solve::quickly(&mut pool, &mut facts, goal),
                    solve::implies(&mut pool, &mut facts, goal, &Budget::small()).then_some(true),
                ];
                for answer in answers.into_iter().flatten() {
                    for at in &points {
                        count(1);
                        prop_assert!(
                            question.value(at).is_none_or(|value| value == answer),
                            "{} => {} is answered {answer}, not so at {at:?}",
                            texts(&known), question.text()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn questions_about_expressions_leave_the_facts_as_they_were(
        known in prop::collection::vec(fact(), 0..4),
        expressions in prop::collection::vec(partial(), 1..4),
        questions in prop::collection::vec(fact(), 1..5),
    ) {
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        declare(&mut pool, &mut facts);
        for fact in &known {
            let condition = fact.build(&mut pool);
            facts.assume(&mut pool, condition);
        }
        let points = allowed(&known);
        let budget = Budget::small();
        for parts in &expressions {
            let e = built(&mut pool, parts);
            solve::bounds(&mut pool, &mut facts, e, &budget);
            solve::greatest(&mut pool, &mut facts, e, &budget);
            solve::simplify(&mut pool, &mut facts, e, &budget);
        }
        for question in &questions {
            let goal = question.build(&mut pool);
            let answer = solve::decide(&mut pool, &mut facts, goal, &budget).verdict;
            let text = || {
                format!("{} => {} after {expressions:?}", texts(&known), question.text())
            };
            count(1);
            match answer {
                Verdict::Inconsistent { .. } => {
                    // Of the question itself, divisors are not 0.
                    let allowed = points.iter().find(|at| question.value(at).is_some());
                    prop_assert!(allowed.is_none(), "{} is inconsistent, not so at {allowed:?}", text());
                }
                Verdict::Implied { .. } => {
                    let broken = points.iter().find(|at| question.value(at) == Some(false));
                    prop_assert!(broken.is_none(), "{}, not so at {broken:?}", text());
                }
                Verdict::Refuted { .. } | Verdict::Unknown { .. } => {}
            }
        }
    }

    #[test]
    fn questions_asked_before_take_no_answer_away(
        known in prop::collection::vec(fact(), 1..5),
        questions in prop::collection::vec(fact(), 2..7),
    ) {
        let session = |asked: &[Condition], last: &Condition| {
            let (mut pool, mut facts) = (Pool::new(), Facts::new());
            declare(&mut pool, &mut facts);
            for fact in &known {
                let condition = fact.build(&mut pool);
                facts.assume(&mut pool, condition);
            }
            let mut answer = false;
            for question in asked.iter().chain([last]) {
                let goal = question.build(&mut pool);
                answer = solve::implies(&mut pool, &mut facts, goal, &Budget::small());
            }
            answer
        };
        let (last, before) = questions.split_last().expect("two questions");
        count(1);
        prop_assert!(
            !session(&[], last) || session(before, last),
            "{} => {}, after {}", texts(&known), last.text(), texts(before)
        );
    }

    #[test]
    fn a_branch_that_was_left_has_taught_nothing(
        known in prop::collection::vec(fact(), 0..4),
        supposed in prop::collection::vec(fact(), 1..4),
        questions in prop::collection::vec(fact(), 1..6),
    ) {
        let mut environment = environment();
        let built = |environment: &mut ShapeEnv, all: &[Condition]| -> Vec<Expr> {
            all.iter().map(|condition| condition.build(&mut environment.pool)).collect()
        };
        for condition in built(&mut environment, &known) {
            environment.assume(condition);
        }
        let goals = built(&mut environment, &questions);
        let branches = built(&mut environment, &supposed);
        let ask = |environment: &mut ShapeEnv| -> Vec<Option<bool>> {
            goals.iter().map(|&goal| environment.statically(goal)).collect()
        };
        let mut untouched = environment.clone();
        let mut left = Vec::new();
        for &branch in &branches {
            left.push(environment.enter(Some(branch)));
            ask(&mut environment);
        }
        while let Some(outside) = left.pop() {
            environment.leave(outside);
        }
        count(1);
        prop_assert_eq!(ask(&mut environment), ask(&mut untouched));
    }

    #[test]
    fn verdicts_alone_are_so_wherever_the_facts_hold(
        at in prop::array::uniform4(0..=MOST),
        steps in prop::collection::vec((fact(), prop::collection::vec(fact(), 1..4)), 1..5),
    ) {
        check_verdicts(at, &steps)?;
    }

    #[test]
    fn verdicts_of_long_environments_are_so_wherever_the_facts_hold(
        at in prop::array::uniform4(0..=MOST),
        steps in prop::collection::vec((fact(), prop::collection::vec(fact(), 0..2)), 20..60),
    ) {
        // Facts of one example, as an exporter meets them; more than are looked at together.
        let values = at.map(BigInt::from);
        let holding = |(fact, _): &(Condition, Vec<Condition>)| fact.value(&values) == Some(true);
        let steps: Vec<_> = steps.into_iter().filter(holding).collect();
        check_verdicts(at, &steps)?;
    }

    #[test]
    fn any_sequence_of_branches_equals_starting_afresh(
        steps in prop::collection::vec((0..4u8, fact()), 1..14),
        questions in prop::collection::vec(fact(), 1..6),
    ) {
        check_branches(&steps, &questions, false)?;
    }

    #[test]
    fn any_long_sequence_of_branches_equals_starting_afresh(
        at in prop::array::uniform4(0..=MOST),
        steps in prop::collection::vec((mostly_facts(), fact()), 40..120),
        questions in prop::collection::vec(fact(), 1..6),
    ) {
        // Facts of one example, more than are looked at together.
        let values = at.map(BigInt::from);
        let holding = |(kind, fact): &(u8, Condition)| *kind > ENTER || fact.value(&values) == Some(true);
        let steps: Vec<_> = steps.into_iter().filter(holding).collect();
        check_branches(&steps, &questions, true)?;
    }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn what_followed_before_an_environment_was_compacted_follows_after_it(
        steps in prop::collection::vec((some_compact(), fact()), 1..16),
        questions in prop::collection::vec(fact(), 1..6),
    ) {
        let facts = steps.iter().filter(|(kind, _)| *kind == ASSUME);
        let known: Vec<Condition> = facts.map(|(_, fact)| fact.clone()).collect();
        let points = allowed(&known);
        // Of facts that contradict each other, anything may be answered.
        prop_assume!(!points.is_empty());
        let (mut whole, mut compacted) = (environment(), environment());
        let mut asked: (Vec<Expr>, Vec<Expr>) = (Vec::new(), Vec::new());
        for (kind, condition) in &steps {
            let (in_whole, in_compacted) = (condition.build(&mut whole.pool), condition.build(&mut compacted.pool));
            match *kind {
                ASSUME => {
                    whole.assume(in_whole);
                    compacted.assume(in_compacted);
                }
                COMPACT => asked.1 = compacted.compact(asked.1),
                _ => {
                    asked.0.push(in_whole);
                    asked.1.push(in_compacted);
                    let answers = [whole.statically(in_whole), compacted.statically(in_compacted)];
                    prop_assert!(still_follows(answers), "{}: {answers:?}", condition.text());
                }
            }
        }
        asked.1 = compacted.compact(asked.1);
        for (in_whole, in_compacted) in asked.0.into_iter().zip(asked.1) {
            count(1);
            prop_assert_eq!(whole.text(in_whole), compacted.text(in_compacted));
            let answers = [whole.statically(in_whole), compacted.statically(in_compacted)];
            prop_assert!(still_follows(answers), "{}: {answers:?}", compacted.text(in_compacted));
        }
        for question in questions {
            let (in_whole, in_compacted) = (question.build(&mut whole.pool), question.build(&mut compacted.pool));
            let answers = [whole.statically(in_whole), compacted.statically(in_compacted)];
            prop_assert!(still_follows(answers), "{} => {}: {answers:?}", texts(&known), question.text());
            let answers = [whole.statically_known(in_whole), compacted.statically_known(in_compacted)];
            prop_assert!(still_follows(answers), "{} => {}: {answers:?}", texts(&known), question.text());
            for at in &points {
                count(1);
                let so = answers[1].is_none_or(|answer| question.value(at).is_none_or(|value| value == answer));
                prop_assert!(so, "{} => {}, not so at {at:?}", texts(&known), question.text());
            }
        }
    }

    #[test]
    fn however_many_questions_are_asked_what_is_kept_is_in_proportion_to_the_facts(
        known in prop::collection::vec(fact(), 1..5),
        rounds in prop::collection::vec(prop::collection::vec(fact(), 8), 2..6),
    ) {
        let mut asked = environment();
        let mut untouched = asked.clone();
        for fact in &known {
            let condition = fact.build(&mut asked.pool);
            asked.assume(condition);
            untouched.assume(condition);
        }
        let mut untouched = untouched.with_own_pool();
        let () = untouched.compact(());
        // Symbols stay; those that reasoning makes on the way have the same few names again and again.
        let size = |environment: &ShapeEnv| environment.pool.len() - environment.pool.symbol_count();
        let least = size(&untouched);
        for questions in rounds {
            for question in questions {
                let goal = question.build(&mut asked.pool);
                asked.statically_known(goal);
                count(1);
            }
            let () = asked.compact(());
            prop_assert!(size(&asked) <= 3 * least, "{}", texts(&known));
        }
    }
}

/// Steps of an environment; any other number asks a question.
const ASSUME: u8 = 0;
const ENTER: u8 = 1;
const LEAVE: u8 = 2;
const ASK: u8 = 3;
const COMPACT: u8 = 4;

/// Kinds of steps of which many are taken.
fn mostly_facts() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(ASSUME), 1 => Just(ENTER), 1 => Just(LEAVE), 2 => Just(ASK)]
}

/// Whether the second answer is the first, or there was none: facts that are told at once may say more to each other
/// than those that were told one by one, with questions between.
fn still_follows([before, after]: [Option<bool>; 2]) -> bool {
    before.is_none() || before == after
}

/// Kinds of steps without branches.
fn some_compact() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(ASSUME), 3 => Just(ASK), 1 => Just(COMPACT)]
}

/// Takes steps in one environment, and in another those that are not of a branch that is left: both answer alike, and
/// so does full reasoning where it is asked for, too.
fn check_branches(
    steps: &[(u8, Condition)],
    questions: &[Condition],
    fully: bool,
) -> Result<(), TestCaseError> {
    let mut environment = environment();
    let pool = &mut environment.pool;
    let steps: Vec<(u8, Expr)> = steps.iter().map(|(kind, c)| (*kind, c.build(pool))).collect();
    let goals: Vec<Expr> = questions.iter().map(|c| c.build(pool)).collect();
    let mut fresh = environment.clone();
    let mut kept: Vec<(u8, Expr)> = Vec::new();
    let mut begins = Vec::new();
    for &(kind, condition) in &steps {
        match kind {
            LEAVE => kept.truncate(begins.pop().unwrap_or(kept.len())),
            _ => {
                begins.extend((kind == ENTER).then_some(kept.len()));
                kept.push((kind, condition));
            }
        }
    }
    take(&mut environment, &steps);
    take(&mut fresh, &kept);
    for (goal, question) in goals.into_iter().zip(questions) {
        count(1);
        prop_assert_eq!(environment.statically(goal), fresh.statically(goal), "{}", question.text());
        if fully {
            let answers = [&mut environment, &mut fresh].map(|one| one.statically_known(goal));
            prop_assert_eq!(answers[0], answers[1], "{}", question.text());
        }
    }
    Ok(())
}

/// Takes steps, the last of which may be inside branches.
fn take(environment: &mut ShapeEnv, steps: &[(u8, Expr)]) {
    let mut outside = Vec::new();
    for &(kind, condition) in steps {
        match kind {
            ASSUME => environment.assume(condition),
            ENTER => outside.push(environment.enter(Some(condition))),
            LEAVE => {
                if let Some(before) = outside.pop() {
                    environment.leave(before);
                }
            }
            _ => {
                environment.statically(condition);
            }
        }
    }
}

/// The sizes, declared in an environment, with hints from 0 on.
fn environment() -> ShapeEnv {
    let mut environment = ShapeEnv::new();
    for (i, name) in SYMBOLS.iter().enumerate() {
        let info = SymbolInfo { hint: Some(Value::Int((i as i64).into())), source: None };
        environment.declare(name, ValueRange::new(0, MOST).expect("not empty"), info);
    }
    environment
}

/// Adds facts one by one, and asks for verdicts in between, with these sizes as the example: each answer is so wherever
/// the facts hold.
fn check_verdicts(at: [i64; 4], steps: &[(Condition, Vec<Condition>)]) -> Result<(), TestCaseError> {
    let (mut pool, mut facts) = (Pool::new(), Facts::for_verdicts());
    declare(&mut pool, &mut facts);
    for (name, value) in SYMBOLS.iter().zip(at) {
        let e = pool.symbol(name);
        facts.hint(pool.as_symbol(e).expect("a symbol"), value.into());
    }
    let mut known: Vec<Condition> = Vec::new();
    for (fact, questions) in steps {
        let condition = fact.build(&mut pool);
        facts.assume(&mut pool, condition);
        known.push(fact.clone());
        let points = allowed(&known);
        for question in questions {
            let goal = question.build(&mut pool);
            let Some(answer) = solve::settle(&mut pool, &mut facts, goal, &Budget::small()).0 else {
                continue;
            };
            for point in &points {
                count(1);
                prop_assert!(
                    question.value(point).is_none_or(|value| value == answer),
                    "{} => {} is answered {answer}, not so at {point:?}",
                    texts(&known),
                    question.text()
                );
            }
        }
    }
    Ok(())
}
