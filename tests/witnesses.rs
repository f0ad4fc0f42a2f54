//! An assignment that an answer gives satisfies everything that was assumed, and what an answer names suffices for it.
use serde_json::{Value as Json, json};
use sizewise::cli::answer_line;
use sizewise::query::{Ask, Capacity, Environment};
use sizewise::solve::Budget;

/// Facts about symbols `f0`, `f1`, … that have to do with nothing else.
fn fillers(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("f{i} % 8 == 0")).collect()
}

fn query(symbols: &Json, given: &[&str], more: usize, goal: (&str, &str)) -> Json {
    let mut symbols = symbols.clone();
    for i in 0..more {
        symbols[format!("f{i}")] = json!({"min": 2});
    }
    let given: Vec<String> = given.iter().map(|text| text.to_string()).chain(fillers(more)).collect();
    json!({"symbols": symbols, "given": given, goal.0: goal.1})
}

fn ask(command: &str, query: &Json) -> Json {
    let answer = answer_line(command, query.to_string().as_bytes()).expect("an answer");
    serde_json::from_str(&answer).expect("an answer is JSON")
}

/// Whether conditions hold where the symbols have these values: they are asked about with every symbol fixed.
fn holds(at: &Json, conditions: &[String]) -> bool {
    let fixed: serde_json::Map<String, Json> = at
        .as_object()
        .expect("an assignment")
        .iter()
        .map(|(name, v)| (name.clone(), json!({"min": v, "max": v})))
        .collect();
    conditions.iter().all(|c| ask("entail", &json!({"symbols": fixed, "goal": c}))["verdict"] == "implied")
}

fn given(query: &Json) -> Vec<String> {
    let given = query["given"].as_array().expect("facts");
    given.iter().map(|text| text.as_str().expect("a text").to_string()).collect()
}

const HALVED: &str = "TruncToInt(ToFloat(h)*0.5) == oh";

fn halved() -> Json {
    json!({"h": {"min": 2}, "oh": {"min": 2}})
}

#[test]
fn a_witness_satisfies_the_facts_about_other_symbols() {
    let small =
        json!({"h": {"min": 2}, "oh": {"min": 2}, "p": {"min": 1, "max": 99}, "q": {"min": 3, "max": 99}});
    for more in [1, 4, 11, 12, 13, 24] {
        for (symbols, facts) in [
            (halved(), &[HALVED][..]),
            (halved(), &[HALVED, "h % 3 == 1", "oh > 40"]),
            (halved(), &["TruncToInt(ToFloat(h)*0.3) == oh", "h + oh >= 100"]),
            (small.clone(), &["p & 12 == 4", "q | 3 == 11", "p ^ q > 5"]),
            (small.clone(), &["IntTrueDiv(p, q) > 2.5", "p % 7 == 3"]),
            (small.clone(), &["ToFloat(p)*0.7 >= ToFloat(q)", HALVED, "p // q == 2"]),
        ] {
            let query = query(&symbols, facts, more, ("goal", "f0 >= 100"));
            let answer = ask("entail", &query);
            assert_eq!(answer["verdict"], "refuted", "{query}: {answer}");
            assert!(holds(&answer["witness"], &given(&query)), "{query}: {answer}");
            let bounds = ask("bounds", &self::query(&symbols, facts, more, ("expr", "f0")));
            assert_eq!((&bounds["min"], &bounds["exact"]), (&json!(8), &json!(true)), "{query}: {bounds}");
            assert!(holds(&bounds["min_at"], &given(&query)), "{query}: {bounds}");
        }
    }
}

#[test]
fn facts_on_doubles_or_bits_about_other_symbols_change_nothing() {
    for (facts, goal, verdict) in [
        (&["x % 8 == 0"][..], "x >= 8", "implied"),
        (&["x % 8 == 0"], "x >= 9", "refuted"),
        (&["x % 8 == 0", "x < 8"], "x >= 9", "inconsistent"),
        (&["x*x <= 30"], "x <= 5", "implied"),
        (&["x & 3 == 1"], "x != 4", "implied"),
    ] {
        for more in [0, 1, 4, 10, 20] {
            for beside in [&[][..], &[HALVED], &["h & 5 == 4"], &[HALVED, "h % 8 == 0"]] {
                let mut symbols = halved();
                symbols["x"] = json!({"min": 1, "max": 1000});
                let all = [facts, beside].concat();
                let answer = ask("entail", &query(&symbols, &all, more, ("goal", goal)));
                assert_eq!(answer["verdict"], verdict, "{all:?} and {more} more => {goal}: {answer}");
            }
        }
    }
}

#[test]
fn nothing_is_refuted_where_other_facts_contradict_each_other() {
    let cubes = json!({"x": {"min": 1}, "y": {"min": 1}, "z": {"min": 1}, "w": {"min": 0, "max": 5}});
    // Eight pigeons in seven holes.
    let (mut pigeons, mut holes) = (json!({"w": {"min": 0, "max": 5}}), Vec::new());
    let name = |i: usize, j: usize| format!("p{i}_{j}");
    for i in 0..8 {
        (0..7).for_each(|j| pigeons[name(i, j)] = json!({"min": 0, "max": 1}));
        holes.push(format!("{} >= 1", (0..7).map(|j| name(i, j)).collect::<Vec<_>>().join(" + ")));
    }
    for j in 0..7 {
        holes.extend(
            (0..8).flat_map(|i| (0..i).map(move |k| format!("{} + {} <= 1", name(i, j), name(k, j)))),
        );
    }
    let holes: Vec<&str> = holes.iter().map(String::as_str).collect();
    for (symbols, facts) in [(&cubes, &["x**3 + y**3 == z**3"][..]), (&pigeons, &holes)] {
        for goal in ["w >= 3", "w <= 5", "Eq(0, 1)"] {
            let answer = ask("entail", &query(symbols, facts, 16, ("goal", goal)));
            let verdict = answer["verdict"].as_str().expect("a verdict");
            assert!(["inconsistent", "unknown"].contains(&verdict), "{goal}: {answer}");
        }
        let bounds = ask("bounds", &query(symbols, facts, 16, ("expr", "w")));
        assert_eq!((&bounds["exact"], &bounds["min_at"]), (&json!(false), &Json::Null), "{bounds}");
    }
}

#[test]
fn a_session_forgets_no_fact_and_no_range() {
    let mut session = Environment::new(Capacity { facts: 1_000, bytes: 1 << 20, nodes: 1 << 20 });
    let object = |json: Json| json.as_object().expect("an object").clone();
    let add = |session: &mut Environment, facts: Json| session.add(&object(facts)).expect("facts");
    let ask = |session: &mut Environment, goal: &str| {
        let goal = object(json!({"goal": goal}));
        Json::from(session.ask(Ask::Entail, &goal, &Budget::default()).expect("an answer"))
    };
    let symbols =
        json!({"a": {"min": 0, "max": 8}, "w": {"min": 0, "max": 5}, "u": {"min": 0}, "v": {"min": 0}});
    add(&mut session, json!({"symbols": symbols}));
    add(
        &mut session,
        json!({"symbols": query(&json!({}), &[], 12, ("goal", ""))["symbols"], "given": fillers(12)}),
    );
    add(&mut session, json!({"given": ["a > 4"]}));
    let mut facts = [vec!["a > 4".to_string()], fillers(12)].concat();
    assert!(holds(&ask(&mut session, "w >= 3")["witness"], &facts));
    // What says nothing, what has no symbols, and what is not known before it is computed.
    for idle in ["a >= a", "2.0**0.5 < 1.5", "OpaqueUnaryFn_sqrt(2.0) < 1.5"] {
        add(&mut session, json!({"given": [idle]}));
        let answer = ask(&mut session, "w >= 3");
        assert!(holds(&answer["witness"], &facts), "after {idle}: {answer}");
    }
    // A range that is narrowed after a question about two symbols that nothing is assumed of.
    assert_eq!(ask(&mut session, "u + v <= 9")["verdict"], "refuted");
    add(&mut session, json!({"symbols": {"u": {"min": 0, "max": 4}, "v": {"min": 0, "max": 5}}}));
    assert_eq!(ask(&mut session, "u + v <= 9")["verdict"], "implied");
    add(&mut session, json!({"given": [HALVED, "h >= 9"]}));
    facts.extend([HALVED.to_string(), "h >= 9".to_string()]);
    for goal in ["w >= 3", "oh >= 9", "u + h >= 12"] {
        let answer = ask(&mut session, goal);
        assert_eq!(answer["verdict"], "refuted", "{answer}");
        assert!(holds(&answer["witness"], &facts), "{goal}: {answer}");
    }
}

#[test]
fn bounds_by_which_doubles_became_integers_are_named() {
    for (symbols, goal, because) in [
        (
            json!({"s0": {"min": 0, "max": 100}, "s1": {"min": 1, "max": 100}}),
            "TruncToInt(IntTrueDiv(s0*s1, 4)) == s0*s1//4",
            &["0 <= s0", "1 <= s1", "s0 <= 100", "s1 <= 100"][..],
        ),
        (
            json!({"n": {"min": 0, "max": 1i64 << 48}}),
            "FloorToInt(IntTrueDiv(n, 7)) == n//7",
            &["0 <= n", "n <= 281474976710656"],
        ),
        (
            json!({"n": {"min": 0, "max": 1i64 << 40}, "m": {"min": 5}}),
            "TruncToInt(ToFloat(n)*0.5) == n//2",
            &["0 <= n", "n <= 1099511627776"],
        ),
        (json!({"n": {"min": 0, "max": 1i64 << 40}}), "n - n == 0", &[]),
    ] {
        let answer = ask("entail", &json!({"symbols": symbols, "goal": goal}));
        assert_eq!(answer["verdict"], "implied", "{goal}: {answer}");
        assert_eq!(answer["because"], json!(because), "{goal}");
        // They suffice.
        let mut free = symbols.clone();
        free.as_object_mut().expect("symbols").values_mut().for_each(|range| *range = json!({}));
        let alone = ask("entail", &json!({"symbols": free, "given": because, "goal": goal}));
        assert_eq!(alone["verdict"], "implied", "{goal}: {alone}");
    }
}

#[test]
fn conjunctions_of_what_follows_follow() {
    let symbols = json!({"i": {}, "j": {}, "m": {}, "n": {}});
    let facts = ["0 <= i", "i < m", "0 <= j", "j < n"];
    let parts = ["0 <= i*n + j", "i*n + j < m*n"];
    for goal in [parts[0].to_string(), parts[1].to_string(), format!("And({}, {})", parts[0], parts[1])] {
        let answer = ask("entail", &query(&symbols, &facts, 0, ("goal", &goal)));
        assert_eq!(answer["verdict"], "implied", "{goal}: {answer}");
    }
    let wrong = format!("And({}, {}, i*n + j != 7)", parts[0], parts[1]);
    let answer = ask("entail", &query(&symbols, &facts, 0, ("goal", &wrong)));
    assert_eq!(answer["verdict"], "refuted", "{answer}");
}
