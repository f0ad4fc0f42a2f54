//! Laws of 13 to 40 facts in independent components: what an answer gives is held against an oracle that follows Python.
//!
//! Each component has two symbols and an assignment around which its facts are drawn, so that most hold together; some
//! contradict each other.
use crate::campaign;
use crate::magnitudes::tree::{self, Condition, Number, Tree};

use campaign::{config, count};
use num_bigint::BigInt;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use sizewise::query::{self, Ask, Capacity, Environment, Fields};
use sizewise::solve::Budget;

/// Facts without symbols, and some that say nothing: all hold.
const IDLE: [&str; 5] =
    ["3 >= 2", "c0 >= c0", "0.5 < 0.75", "OpaqueUnaryFn_sqrt(2.0) < 1.5", "Ne(c1, c1 + 1)"];

/// Two symbols with ranges, and facts about them.
#[derive(Clone, Debug)]
struct Group {
    ranges: [(BigInt, BigInt); 2],
    facts: Vec<Condition>,
}

/// A condition on two symbols, by their numbers.
#[derive(Clone, Debug)]
struct Fact {
    on: [usize; 2],
    condition: Condition,
}

/// Ranges, facts and a goal.
#[derive(Clone, Debug)]
struct Question {
    groups: Vec<Group>,
    /// The facts in the order in which they are given; none stands for one of [`IDLE`].
    facts: Vec<Option<Fact>>,
    goal: Fact,
    /// An expression of the symbols of the goal.
    expr: Tree,
}

fn symbol(i: usize) -> Tree {
    Tree::Symbol(i)
}

fn compare(op: &'static str, a: Tree, b: Tree) -> Condition {
    Condition::Compare(op, a, b)
}

/// An integer expression that rounds, masks, divides or multiplies.
fn quantity() -> BoxedStrategy<Tree> {
    let scale = prop_oneof![
        prop::sample::select(vec![0.5, 0.25, 0.3, 0.7, 1.5, 2.0, 1e-3]),
        (-1074..1024i32).prop_map(|k| 2f64.powi(k.max(-1000)) * 2f64.powi(k.min(-1000) + 1000)),
    ];
    let scaled = (prop::sample::select(vec!["TruncToInt", "FloorToInt", "CeilToInt"]), 0..2usize, scale)
        .prop_map(|(name, i, x)| {
            let product = Tree::Call("*", vec![Tree::Call("ToFloat", vec![symbol(i)]), Tree::Float(x)]);
            Tree::Call(name, vec![product])
        });
    let call = |names: Vec<&'static str>, last: std::ops::Range<i64>| {
        (prop::sample::select(names), 0..2usize, last)
            .prop_map(|(name, i, k)| Tree::Call(name, vec![symbol(i), Tree::Int(k.into())]))
    };
    let sum = (-5..6i64, -5..6i64).prop_map(|(k, l)| {
        let [a, b] = [(0, k), (1, l)].map(|(i, k)| Tree::Call("*", vec![symbol(i), Tree::Int(k.into())]));
        Tree::Call("+", vec![a, b])
    });
    prop_oneof![
        2 => scaled,
        2 => call(vec!["Mod", "//"], 2..9),
        2 => call(vec!["BitwiseFn_bitwise_and", "BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor"], 1..16),
        2 => sum,
        1 => Just(Tree::Call("*", vec![symbol(0), symbol(1)])),
        1 => tree::integers(),
    ]
    .boxed()
}

/// Facts that no integers from 1 on satisfy.
fn contradiction() -> impl Strategy<Value = Condition> {
    let product = |i: usize, n: usize| (1..n).fold(symbol(i), |p, _| Tree::Call("*", vec![p, symbol(i)]));
    let times = |k: i64, e: Tree| Tree::Call("*", vec![Tree::Int(k.into()), e]);
    let float = |i: usize| Tree::Call("ToFloat", vec![symbol(i)]);
    let plus = |a: Tree, b: Tree| Tree::Call("+", vec![a, b]);
    prop::sample::select(vec![
        compare("==", plus(times(2, symbol(0)), times(4, symbol(1))), Tree::Int(BigInt::from(7))),
        compare("==", plus(product(0, 2), Tree::Int(1.into())), times(3, symbol(1))),
        compare("==", product(0, 3), times(2, product(1, 3))),
        compare("!=", float(0), float(0)),
        compare("<", Tree::Call("BitwiseFn_bitwise_or", vec![symbol(0), symbol(1)]), symbol(1)),
    ])
}

fn group() -> impl Strategy<Value = Group> {
    let range = || {
        let low = prop_oneof![
            4 => (1..9i64).prop_map(BigInt::from),
            2 => (-9..1i64).prop_map(BigInt::from),
            1 => tree::integer(300),
        ];
        (low, 0..6u32, 0..6u32).prop_map(|(low, length, at)| (low, length, at % (length + 1)))
    };
    let fact = prop_oneof![
        3 => (prop::sample::select(vec!["==", "==", ">=", "<="]), quantity()).prop_map(|(op, e)| (op, Some(e), None)),
        2 => tree::condition(false).prop_map(|c| ("", None, Some(c))),
    ];
    let lie = prop::option::weighted(0.03, contradiction());
    ([range(), range()], prop::collection::vec(fact, 1..4), lie).prop_map(|(ranges, drawn, lie)| {
        let hidden: Vec<Number> = ranges.iter().map(|(low, _, at)| Number::Int(low + at)).collect();
        let mut facts = Vec::new();
        for (op, quantity, condition) in drawn {
            // What the facts say is so at the hidden assignment.
            if let Some(e) = quantity {
                if let Ok(Number::Int(v)) = e.value(&hidden) {
                    facts.push(compare(op, e, Tree::Int(v)));
                }
            } else if let Some(c) = condition {
                match c.value(&hidden) {
                    Ok(true) => facts.push(c),
                    Ok(false) => facts.push(Condition::Not(Box::new(c))),
                    Err(_) => {}
                }
            }
        }
        facts.extend(lie);
        Group { ranges: ranges.map(|(low, length, _)| (low.clone(), low + length)), facts }
    })
}

fn questions() -> impl Strategy<Value = Question> {
    let goal = prop_oneof![
        2 => (prop::sample::select(vec!["==", "!=", ">=", "<"]), quantity(), quantity())
            .prop_map(|(op, a, b)| compare(op, a, b)),
        2 => (prop::sample::select(vec!["<=", ">="]), 0..2usize, -9..9i64)
            .prop_map(|(op, i, k)| compare(op, symbol(i), Tree::Int(k.into()))),
        1 => tree::condition(false),
    ];
    let order = prop::collection::vec(any::<u32>(), 80);
    (prop::collection::vec(group(), 6..16), goal, quantity(), order, 0..4usize, any::<bool>()).prop_map(
        |(groups, condition, expr, order, idle, across)| {
            let all = groups.iter().enumerate().flat_map(|(i, group)| {
                let fact = move |c: &Condition| Some(Fact { on: [2 * i, 2 * i + 1], condition: c.clone() });
                group.facts.iter().map(fact)
            });
            let mut facts: Vec<Option<Fact>> = all.chain((0..idle).map(|_| None)).collect();
            // Ranges as facts make up for those that are missing.
            for i in 0.. {
                if facts.len() >= 13 {
                    break;
                }
                let (low, _) = groups[i % groups.len()].ranges[0].clone();
                let on = [2 * (i % groups.len()), 2 * (i % groups.len()) + 1];
                facts.push(Some(Fact { on, condition: compare(">=", symbol(0), Tree::Int(low)) }));
            }
            facts.truncate(40);
            let mut keyed: Vec<_> = order.iter().zip(facts).collect();
            keyed.sort_by_key(|(key, _)| **key);
            let facts = keyed.into_iter().map(|(_, fact)| fact).collect();
            let on = if across { [0, 3] } else { [0, 1] };
            Question { groups, facts, goal: Fact { on, condition }, expr }
        },
    )
}

fn number(v: &BigInt) -> Json {
    serde_json::from_str(&v.to_string()).expect("a number")
}

fn renamed(text: &str, on: [usize; 2]) -> String {
    text.replace("s0", &format!("c{}", on[0])).replace("s1", &format!("c{}", on[1]))
}

impl Fact {
    fn text(&self) -> String {
        renamed(&self.condition.text(), self.on)
    }

    /// The truth where everything has a value.
    fn value(&self, point: &[BigInt]) -> Option<bool> {
        self.condition.value(&self.on.map(|i| Number::Int(point[i].clone()))).ok()
    }
}

impl Question {
    fn ranges(&self) -> Vec<(BigInt, BigInt)> {
        self.groups.iter().flat_map(|g| g.ranges.clone()).collect()
    }

    fn symbols(&self) -> Json {
        let range = |(i, (low, high)): (usize, (BigInt, BigInt))| {
            (format!("c{i}"), json!({"min": number(&low), "max": number(&high)}))
        };
        Json::Object(self.ranges().into_iter().enumerate().map(range).collect())
    }

    /// The texts of the facts.
    fn texts(&self) -> Vec<String> {
        let text = |(i, fact): (usize, &Option<Fact>)| match fact {
            Some(fact) => fact.text(),
            None => IDLE[i % IDLE.len()].to_string(),
        };
        self.facts.iter().enumerate().map(text).collect()
    }

    /// Why an assignment does not satisfy the first facts within the ranges, and makes `goal`, if given, false.
    fn breaks(&self, known: usize, goal: Option<&Fact>, at: &Json) -> Option<String> {
        let value = |i: usize| at[format!("c{i}")].to_string().parse::<BigInt>().ok();
        let Some(point) = (0..2 * self.groups.len()).map(value).collect::<Option<Vec<BigInt>>>() else {
            return Some(format!("{at} leaves a symbol out"));
        };
        count(1);
        let out = self.ranges().iter().zip(&point).position(|((low, high), v)| v < low || v > high);
        if let Some(i) = out {
            return Some(format!("c{i} is out of range in {at}"));
        }
        let facts = self.facts[..known].iter().flatten();
        if let Some(broken) = facts.filter(|f| f.value(&point) != Some(true)).map(Fact::text).next() {
            return Some(format!("{broken} does not hold at {at}"));
        }
        let holds = goal.is_some_and(|goal| goal.value(&point) != Some(false));
        holds.then(|| format!("the goal is not false at {at}"))
    }

    /// The value of the expression at an assignment.
    fn value_at(&self, at: &Json) -> Option<BigInt> {
        let value = |i: usize| at[format!("c{i}")].to_string().parse().ok().map(Number::Int);
        let point = self.goal.on.map(value).into_iter().collect::<Option<Vec<Number>>>()?;
        match self.expr.value(&point) {
            Ok(Number::Int(v)) => Some(v),
            _ => None,
        }
    }

    /// The assignments of a group, `others` being more values of each symbol, at which what `holds` says is so.
    fn points(&self, group: usize, others: &[i64], holds: impl Fn(&[BigInt]) -> bool) -> Vec<[BigInt; 2]> {
        let values = |i: usize| {
            let (low, high) = &self.groups[group].ranges[i];
            let near = num_iter(low, high)
                .chain(others.iter().map(move |k| if *k < 0 { low + k } else { high + k }));
            near.collect::<Vec<BigInt>>()
        };
        let mut point = vec![BigInt::default(); 2 * self.groups.len()];
        let mut found = Vec::new();
        for a in values(0) {
            for b in values(1) {
                (point[2 * group], point[2 * group + 1]) = (a.clone(), b.clone());
                count(1);
                if holds(&point) {
                    found.push([a.clone(), b]);
                }
            }
        }
        found
    }

    /// The assignments of a group that its facts allow, of the first ones.
    fn models(&self, group: usize, known: usize) -> Vec<[BigInt; 2]> {
        let facts: Vec<&Fact> =
            self.facts[..known].iter().flatten().filter(|f| f.on[0] == 2 * group).collect();
        self.points(group, &[], |point| facts.iter().all(|f| f.value(point) == Some(true)))
    }

    /// The groups of the goal.
    fn asked(&self) -> Vec<usize> {
        let mut groups = self.goal.on.map(|i| i / 2).to_vec();
        groups.dedup();
        groups
    }

    /// Truths of the goal at assignments of its groups.
    fn truths(&self, models: &[Vec<[BigInt; 2]>]) -> (bool, bool) {
        let (mut holds, mut fails) = (false, false);
        let mut point = vec![BigInt::default(); 2 * self.groups.len()];
        let groups = self.asked();
        let (first, last) = (groups[0], groups[groups.len() - 1]);
        for a in &models[0] {
            for b in &models[models.len() - 1] {
                (point[2 * first], point[2 * first + 1]) = (a[0].clone(), a[1].clone());
                if last != first {
                    (point[2 * last], point[2 * last + 1]) = (b[0].clone(), b[1].clone());
                }
                count(1);
                match self.goal.value(&point) {
                    Some(true) => holds = true,
                    Some(false) => fails = true,
                    None => {}
                }
                if last == first {
                    break;
                }
            }
        }
        (holds, fails)
    }

    /// Whether the premises that an answer names allow an assignment near the ranges, or far away, at which the goal is
    /// false; without a goal, whether every group has one that they allow.
    fn leaves_open(&self, because: &[Json], goal: bool) -> bool {
        const FAR: [i64; 8] = [-3, -2, -1, 1, 2, 3, -(1 << 60), 7 * (1 << 55) - 1];
        let named = |text: &str| because.iter().any(|b| b.as_str() == Some(text));
        let divides = self.names_divisors(because);
        let ranges = self.ranges();
        let within = |i: usize, v: &BigInt| {
            let (low, high) = &ranges[i];
            (v >= low || !named(&format!("{low} <= c{i}")))
                && (v <= high || !named(&format!("c{i} <= {high}")))
        };
        let allowed = |group: usize| {
            let facts: Vec<&Fact> = self.facts.iter().flatten().filter(|f| f.on[0] == 2 * group).collect();
            self.points(group, &FAR, |point| {
                [2 * group, 2 * group + 1].iter().all(|&i| within(i, &point[i]))
                    && facts.iter().all(|f| match f.value(point) {
                        Some(holds) => holds || !named(&f.text()),
                        None => !divides && !named(&f.text()),
                    })
            })
        };
        if goal {
            self.truths(&self.asked().into_iter().map(allowed).collect::<Vec<_>>()).1
        } else {
            (0..self.groups.len()).all(|group| !allowed(group).is_empty())
        }
    }

    /// Whether premises say that divisors, which are those of facts or of the goal, are not 0.
    fn names_divisors(&self, because: &[Json]) -> bool {
        let texts = self.texts();
        let is_fact = |b: &str| texts.iter().any(|text| b == text);
        because.iter().filter_map(Json::as_str).any(|b| b.starts_with("Ne(") && !is_fact(b))
    }

    /// Why an answer under the first facts is wrong.
    fn wrong(&self, known: usize, answer: &Json) -> Option<String> {
        let empty = (0..self.groups.len()).any(|group| self.models(group, known).is_empty());
        let models: Vec<_> = self.asked().into_iter().map(|group| self.models(group, known)).collect();
        let (holds, fails) = self.truths(&models);
        let because = answer["because"].as_array().cloned().unwrap_or_default();
        // Divisors that are 0 wherever the goal is asked about, which is no matter of the facts.
        let divides = self.names_divisors(&because);
        match answer["verdict"].as_str() {
            Some("refuted") => self.breaks(known, Some(&self.goal), &answer["witness"]),
            Some("implied") if empty => Some("implied by facts that contradict each other".to_string()),
            Some("implied") if fails => Some("the goal fails".to_string()),
            Some("implied") => {
                self.leaves_open(&because, true).then(|| "because does not suffice".to_string())
            }
            Some("inconsistent") if !empty && (holds || fails) => Some("the facts can hold".to_string()),
            Some("inconsistent") if empty && !divides => {
                self.leaves_open(&because, false).then(|| "because does not suffice".to_string())
            }
            _ => None,
        }
    }

    /// Why bounds under the first facts are wrong.
    fn wrong_bounds(&self, known: usize, answer: &Json) -> Option<String> {
        for (end, at) in [("min", "min_at"), ("max", "max_at")] {
            if answer[at].is_null() {
                continue;
            }
            let broken = self.breaks(known, None, &answer[at]);
            let attained = self.value_at(&answer[at]).map(|v| v.to_string()) == Some(answer[end].to_string());
            let broken =
                broken.or_else(|| (!attained).then(|| format!("{end} is not the value at {}", answer[at])));
            if broken.is_some() {
                return broken;
            }
        }
        let is_missing = answer["min_at"].is_null() || answer["max_at"].is_null();
        (answer["exact"] == true && is_missing).then(|| "exact bounds of a box are taken".to_string())
    }
}

fn num_iter(low: &BigInt, high: &BigInt) -> impl Iterator<Item = BigInt> + use<> {
    let (mut next, high) = (low.clone(), high.clone());
    std::iter::from_fn(move || {
        (next <= high).then(|| {
            let v = next.clone();
            next += 1;
            v
        })
    })
}

fn object(json: Json) -> Fields {
    json.as_object().expect("an object").clone()
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn answers_under_facts_in_components_replay_and_their_premises_suffice(q in questions()) {
        let request = json!({"symbols": q.symbols(), "given": q.texts(), "goal": q.goal.text()});
        let mut question = query::entail::Question::read(&object(request.clone()))
            .map_err(|refusal| TestCaseError::fail(format!("{refusal:?} of {request}")))?;
        let settled = question.decide(&Budget::default());
        let answer: Json = question.reply(&settled).into();
        let wrong = q.wrong(q.facts.len(), &answer);
        prop_assert!(wrong.is_none(), "{wrong:?}: {request} is {answer}");
        let request = json!({"symbols": q.symbols(), "given": q.texts(), "expr": renamed(&q.expr.text(), q.goal.on)});
        let trace = &mut sizewise::solve::Trace::off();
        let answer: Json = query::bounds::answer(&object(request.clone()), &Budget::default(), trace)
            .map_err(|refusal| TestCaseError::fail(format!("{refusal:?} of {request}")))?
            .into();
        let wrong = q.wrong_bounds(q.facts.len(), &answer);
        prop_assert!(wrong.is_none(), "{wrong:?}: {request} is {answer}");
    }

    #[test]
    fn answers_of_a_session_replay_and_their_premises_suffice(
        q in questions(), asks in prop::collection::vec(any::<bool>(), 40),
    ) {
        let budget = Budget { rlimit: 0, points: 5_000, branches: 60, work: 100_000, ..Budget::default() };
        let mut session = Environment::new(Capacity { facts: 1_000, bytes: 1 << 20, nodes: 1 << 20 });
        let refused = |r: query::Refusal| TestCaseError::fail(format!("{r:?}"));
        session.add(&object(json!({"symbols": q.symbols()}))).map_err(refused)?;
        for (i, text) in q.texts().into_iter().enumerate() {
            session.add(&object(json!({"given": [text]}))).map_err(refused)?;
            let known = i + 1;
            if asks.get(i) == Some(&false) && known < q.facts.len() {
                continue;
            }
            let what = || format!("{} {:?} => {}", q.symbols(), &q.texts()[..known], q.goal.text());
            let goal = object(json!({"goal": q.goal.text()}));
            let answer: Json = session.ask(Ask::Entail, &goal, &budget).map_err(refused)?.into();
            let wrong = q.wrong(known, &answer);
            prop_assert!(wrong.is_none(), "{wrong:?}: {} is {answer}", what());
            let expr = object(json!({"expr": renamed(&q.expr.text(), q.goal.on)}));
            let answer: Json = session.ask(Ask::Bounds, &expr, &budget).map_err(refused)?.into();
            let wrong = q.wrong_bounds(known, &answer);
            prop_assert!(wrong.is_none(), "{wrong:?}: {} of {} is {answer}", q.expr.text(), what());
        }
    }
}
