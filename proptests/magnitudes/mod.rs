//! Laws of queries over integers up to 2^300 and over all doubles, against enumeration by an oracle that follows
//! Python.
use crate::campaign;
pub mod tree;

use campaign::{config, count};
use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use sizewise::expr::{Func, Int, Value, evaluate_call};
use sizewise::query;
use sizewise::solve::Budget;
use tree::{Condition, INTEGERS, Number, SYMBOLS};

/// Symbols with their ranges, assumptions and a goal.
#[derive(Clone, Debug)]
struct Query {
    ranges: Vec<(BigInt, u32)>,
    given: Vec<Condition>,
    goal: Condition,
}

fn queries() -> impl Strategy<Value = Query> {
    let range = (prop_oneof![(-3..5i64).prop_map(BigInt::from), tree::integer(300)], 0..7u32);
    let given = prop::collection::vec(tree::condition(false), 0..3);
    (prop::collection::vec(range, INTEGERS), given, tree::condition(false))
        .prop_map(|(ranges, given, goal)| Query { ranges, given, goal })
}

impl Query {
    fn request(&self) -> query::Fields {
        let number = |v: &BigInt| serde_json::from_str::<Json>(&v.to_string()).expect("a number");
        let range =
            |(low, length): &(BigInt, u32)| json!({"min": number(low), "max": number(&(low + length))});
        let symbols: serde_json::Map<String, Json> =
            SYMBOLS.iter().zip(&self.ranges).map(|(name, r)| (name.to_string(), range(r))).collect();
        let given: Vec<String> = self.given.iter().map(Condition::text).collect();
        let request = json!({"symbols": symbols, "given": given, "goal": self.goal.text()});
        request.as_object().expect("an object").clone()
    }

    /// Every assignment that satisfies the assumptions and leaves nothing without a value, with the truth of the goal
    /// there.
    fn models(&self) -> Vec<(Vec<BigInt>, bool)> {
        let mut points: Vec<Vec<BigInt>> = vec![Vec::new()];
        for (low, length) in &self.ranges {
            let longer = |p: Vec<BigInt>| (0..=*length).map(move |i| [p.clone(), vec![low + i]].concat());
            points = points.into_iter().flat_map(longer).collect();
        }
        count(points.len());
        let numbers = |p: &Vec<BigInt>| p.iter().cloned().map(Number::Int).collect::<Vec<Number>>();
        points
            .into_iter()
            .filter_map(|p| truth(&self.given, &self.goal, &numbers(&p)).map(|t| (p, t)))
            .collect()
    }
}

/// The truth of a goal where the assumptions hold and everything has a value.
fn truth(given: &[Condition], goal: &Condition, point: &[Number]) -> Option<bool> {
    let goal = goal.value(point).ok();
    let given = given.iter().map(|c| c.value(point).ok()).collect::<Option<Vec<bool>>>()?;
    goal.filter(|_| given.into_iter().all(|holds| holds))
}

/// Values of all symbols, of which the last is a double that may be any.
fn points() -> impl Strategy<Value = Vec<Vec<Number>>> {
    let integer = || prop_oneof![(-5..9i64).prop_map(BigInt::from), tree::integer(70)].prop_map(Number::Int);
    let double = prop_oneof![(-9..9i32).prop_map(|n| f64::from(n) / 2.0), tree::double()]
        .prop_filter("finite", |x| x.is_finite())
        .prop_map(Number::Float);
    let point = (integer(), integer(), double).prop_map(|(a, b, c)| vec![a, b, c]);
    prop::collection::vec(point, 60)
}

/// What a question is answered.
fn answered(request: &Json) -> Json {
    let request = request.as_object().expect("an object");
    let mut question =
        query::entail::Question::read(request).unwrap_or_else(|r| panic!("{r:?} of {request:?}"));
    // The rules of the e-graph, and little beside: what is open is not to be searched for long.
    let budget = Budget { iterations: Budget::default().iterations, ..Budget::small() };
    let settled = question.decide(&budget);
    question.reply(&settled).into()
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn verdicts_at_every_magnitude_agree_with_enumeration(query in queries()) {
        let request = query.request();
        let mut question = match query::entail::Question::read(&request) {
            Ok(question) => question,
            Err(refusal) => return Err(TestCaseError::fail(format!("{refusal:?} of {request:?}"))),
        };
        let settled = question.decide(&Budget::default());
        let answer = question.reply(&settled);
        let models = query.models();
        let what = || format!("{} of {}", Json::from(answer.clone()), Json::from(request.clone()));
        match answer["verdict"].as_str() {
            Some("implied") => {
                prop_assert!(!models.is_empty(), "implied where nothing is allowed: {}", what());
                let failing = models.iter().find(|(_, goal)| !goal);
                prop_assert!(failing.is_none(), "{} fails at {failing:?}", what());
            }
            Some("refuted") => {
                let witness: Option<Vec<BigInt>> =
                    SYMBOLS[..INTEGERS].iter().map(|s| answer["witness"][*s].to_string().parse().ok()).collect();
                let fails = models.iter().any(|(p, goal)| !goal && Some(p) == witness.as_ref());
                prop_assert!(fails, "the witness of {} does not replay", what());
            }
            Some("inconsistent") => prop_assert!(models.is_empty(), "{} though {:?}", what(), models.first()),
            _ => {}
        }
    }

    /// Where there is too much to enumerate, rules and ranges decide.
    #[test]
    fn what_is_proved_of_doubles_and_of_all_integers_holds_wherever_it_is_tried(
        given in prop::collection::vec(tree::condition(true), 0..3), goal in tree::condition(true), points in points(),
    ) {
        let texts: Vec<String> = given.iter().map(Condition::text).collect();
        let unbounded: serde_json::Map<String, Json> =
            SYMBOLS.iter().map(|name| (name.to_string(), json!({}))).collect();
        let request = json!({"symbols": unbounded, "given": texts, "goal": goal.text()});
        let answer = answered(&request);
        count(points.len());
        let tried = points.iter().find_map(|p| Some((p, truth(&given, &goal, p)?)));
        let failing = points.iter().find(|p| truth(&given, &goal, p) == Some(false));
        match answer["verdict"].as_str() {
            Some("implied") => prop_assert!(failing.is_none(), "{request} is {answer}, and fails at {failing:?}"),
            Some("inconsistent") => prop_assert!(tried.is_none(), "{request} is {answer}, though {tried:?}"),
            _ => {}
        }
    }

    #[test]
    fn conversions_and_quotients_round_to_the_nearest_double(
        n in tree::integer(1100), d in tree::integer(1100), near in -1..2i64,
    ) {
        count(2);
        let d = if d == BigInt::from(0) { BigInt::from(1) } else { d };
        // Products of the divisor have quotients near integers.
        for (n, d) in [(n.clone(), d.clone()), (&n * &d + near, d), (n, BigInt::from(1))] {
            let exact = tree::nearest(&BigRational::new(n.clone(), d.clone()));
            let expected = exact.is_finite().then_some(exact);
            let int = |v: &BigInt| Value::Int(Int::from_big(v.clone()));
            let found = evaluate_call(Func::IntTrueDiv, &[int(&n), int(&d)]).ok().map(|v| v.as_f64());
            prop_assert_eq!(found, expected, "{} / {}", n, d);
            if d == BigInt::from(1) {
                let found = evaluate_call(Func::ToFloat, &[int(&n)]).ok().map(|v| v.as_f64());
                prop_assert_eq!(found, expected, "float({})", n);
            }
        }
    }
}
