//! Laws of queries over integers up to 2^300 and over all doubles, against enumeration by an oracle that follows Python.
#[path = "../campaign/mod.rs"]
mod campaign;
mod tree;

use campaign::{config, count};
use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use sizewise::decide::Budget;
use sizewise::expr::{Func, Int, Value, evaluate_call};
use sizewise::query;
use tree::{Condition, SYMBOLS};

/// Symbols with their ranges, assumptions and a goal.
#[derive(Clone, Debug)]
struct Query {
    ranges: Vec<(BigInt, u32)>,
    given: Vec<Condition>,
    goal: Condition,
}

fn queries() -> impl Strategy<Value = Query> {
    let range = (prop_oneof![(-3..5i64).prop_map(BigInt::from), tree::integer(300)], 0..7u32);
    let given = prop::collection::vec(tree::condition(), 0..3);
    (prop::collection::vec(range, SYMBOLS.len()), given, tree::condition())
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

    /// Every assignment that satisfies the assumptions and leaves nothing without a value, with the truth of the goal there.
    fn models(&self) -> Vec<(Vec<BigInt>, bool)> {
        let mut points: Vec<Vec<BigInt>> = vec![Vec::new()];
        for (low, length) in &self.ranges {
            let longer = |p: Vec<BigInt>| (0..=*length).map(move |i| [p.clone(), vec![low + i]].concat());
            points = points.into_iter().flat_map(longer).collect();
        }
        count(points.len());
        let truth = |point: &Vec<BigInt>| {
            let goal = self.goal.value(point).ok();
            let given = self.given.iter().map(|c| c.value(point).ok()).collect::<Option<Vec<bool>>>()?;
            goal.filter(|_| given.into_iter().all(|holds| holds))
        };
        points.into_iter().filter_map(|p| truth(&p).map(|t| (p, t))).collect()
    }
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
                prop_assert!(!models.is_empty(), "implied where nothing is admitted: {}", what());
                let failing = models.iter().find(|(_, goal)| !goal);
                prop_assert!(failing.is_none(), "{} fails at {failing:?}", what());
            }
            Some("refuted") => {
                let witness: Option<Vec<BigInt>> =
                    SYMBOLS.iter().map(|s| answer["witness"][*s].to_string().parse().ok()).collect();
                let fails = models.iter().any(|(p, goal)| !goal && Some(p) == witness.as_ref());
                prop_assert!(fails, "the witness of {} does not replay", what());
            }
            Some("inconsistent") => prop_assert!(models.is_empty(), "{} though {:?}", what(), models.first()),
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
