//! Questions whose answer is plain to a person: bits, powers, doubles, conjunctions.
#![cfg(feature = "cli")]
use serde_json::{Value as Json, json};
use sizewise::cli::answer_line;

/// The symbols that a question may use.
type Symbols = &'static [(&'static str, Option<i64>, Option<i64>)];

const ANY: Symbols = &[("x", None, None), ("y", None, None), ("i", None, None), ("j", None, None)];
const NATURAL: Symbols =
    &[("x", Some(0), None), ("y", Some(0), None), ("n", Some(0), None), ("m", Some(0), None)];
const POSITIVE: Symbols = &[("n", Some(1), None), ("m", Some(1), None)];
const DIVIDED: Symbols = &[("x", None, None), ("y", None, None), ("z", None, None), ("c", Some(1), None)];
const EXPONENT: Symbols = &[("n", Some(0), Some(62))];
/// All of these are doubles.
const EXACT: Symbols = &[("n", Some(0), Some(1 << 53))];
const PAIRS: Symbols = &[("n", Some(2), Some(2048)), ("m", Some(2), Some(2048))];
/// Sizes that divide, and others.
const DIVISORS: Symbols =
    &[("n", Some(0), None), ("r", Some(0), None), ("m", Some(1), None), ("k", Some(1), None)];
const SMALL: Symbols = &[("x", Some(1), Some(100_000)), ("y", Some(1), Some(100_000))];

#[rustfmt::skip]
const QUESTIONS: &[(Symbols, &[&str], &str, &str)] = &[
    // Masks are remainders, and common bits are at most what they are common to.
    (ANY, &[], "(x & 7) == x % 8", "implied"),
    (ANY, &[], "(x & 1) == x % 2", "implied"),
    (ANY, &[], "(x & -8) == 8*(x//8)", "implied"),
    (ANY, &[], "((x + 15) & -16) >= x", "implied"),
    (ANY, &[], "((x + 15) & -16) % 16 == 0", "implied"),
    (ANY, &["(x & 15) == 0"], "x % 16 == 0", "implied"),
    (ANY, &[], "(x & y) + (x | y) == x + y", "implied"),
    (ANY, &[], "((x ^ 5) ^ 5) == x", "implied"),
    (ANY, &[], "(x ^ -1) == -x - 1", "implied"),
    (EXPONENT, &[], "(2**n & (2**n - 1)) == 0", "implied"),
    (NATURAL, &[], "(2**n & (2**n - 1)) == 0", "implied"),
    (NATURAL, &[], "(x & (2**n - 1)) < 2**n", "implied"),
    (NATURAL, &[], "((x + 2**n - 1) & -2**n) >= x", "implied"),
    (NATURAL, &[], "(x & -2**n) % 2**n == 0", "implied"),
    (NATURAL, &[], "(x & (2**n - 1)) == x", "refuted"),
    (NATURAL, &[], "(x & y) <= Min(x, y)", "implied"),
    (NATURAL, &[], "(x | y) >= Max(x, y)", "implied"),
    (ANY, &["x < 0", "y < 0"], "(x & y) <= Min(x, y)", "implied"),
    (ANY, &["x >= 0"], "(x & y) <= x", "implied"),
    (ANY, &["x >= 0"], "(x & y) <= y", "refuted"),
    (ANY, &[], "(x | y) >= Max(x, y)", "refuted"),
    // Powers of a number.
    (NATURAL, &[], "2**n > n", "implied"),
    (NATURAL, &[], "2**n > 2*n", "refuted"),
    (POSITIVE, &[], "2**n % 2 == 0", "implied"),
    (NATURAL, &[], "2**n % 2 == 0", "refuted"),
    (POSITIVE, &[], "6**n % 30 == 6", "implied"),
    (NATURAL, &[], "(10**n) % 9 == 1", "implied"),
    (NATURAL, &[], "2**n * 2**m == 2**(n + m)", "implied"),
    (NATURAL, &[], "2**(n + 3) == 8*2**n", "implied"),
    (NATURAL, &["2**n == 2**m"], "n == m", "implied"),
    (NATURAL, &["2**n <= 2**m"], "n <= m", "implied"),
    (NATURAL, &["2**n < 2**m"], "n < m", "implied"),
    (NATURAL, &["4**n == 2**m"], "n == m", "refuted"),
    // Powers of sizes.
    (ANY, &["x**3 == y**3"], "x == y", "implied"),
    (ANY, &["x**3 <= y**3"], "x <= y", "implied"),
    (ANY, &["y**3 <= x**3"], "y <= x", "implied"),
    (ANY, &["x**5 < y**5"], "x < y", "implied"),
    (ANY, &["x**2 == y**2"], "x == y", "refuted"),
    (NATURAL, &["x**2 == y**2"], "x == y", "implied"),
    (NATURAL, &["x**4 <= y**2"], "x**2 <= y", "implied"),
    (ANY, &["x**4 <= y**2"], "x**2 <= y", "refuted"),
    // Doubles.
    (ANY, &[], "ToFloat(x) <= ToFloat(x)", "implied"),
    (ANY, &["x < y"], "ToFloat(x) <= ToFloat(y)", "implied"),
    (ANY, &["x < y"], "ToFloat(x) < ToFloat(y)", "refuted"),
    (ANY, &["TruncToInt(ToFloat(x)) != x"], "x >= 0", "refuted"),
    (SMALL, &["x <= y"], "IntTrueDiv(x, y) <= 1.0", "implied"),
    (SMALL, &[], "IntTrueDiv(x*y, y) == ToFloat(x)", "implied"),
    (ANY, &["ToFloat(x) > ToFloat(x)"], "x > 3", "inconsistent"),
    (ANY, &["ToFloat(x) != ToFloat(x)"], "x > 3", "inconsistent"),
    (SMALL, &[], "IntTrueDiv(x, x) == 1.0", "implied"),
    (SMALL, &[], "IntTrueDiv(x, y) <= ToFloat(x)", "implied"),
    (SMALL, &[], "ToFloat(x)*0.7 <= ToFloat(x)", "implied"),
    (SMALL, &[], "FloorToInt(ToFloat(x)*0.1) == x//10", "implied"),
    (EXACT, &[], "TruncToInt(ToFloat(n)) == n", "implied"),
    (PAIRS, &[], "FloorToInt(IntTrueDiv(n, m)*ToFloat(m)) == n", "refuted"),
    // Divisors that are sizes.
    (DIVIDED, &[], "Min(-(x//c), -(y//c)) == -(Max(x, y)//c)", "implied"),
    (DIVIDED, &[], "Min(x//c, y, z//c) == Min(Min(x, z)//c, y)", "implied"),
    (DIVIDED, &[], "Max(x//c, y, z//c) == Max(Max(x, z)//c, y)", "implied"),
    (DIVIDED, &[], "Min((x + c)//c, y//c + 1) == Min(x, y)//c + 1", "implied"),
    (DIVIDED, &[], "Min(x//c, y//c) == Max(x, y)//c", "refuted"),
    (ANY, &["i < 0"], "Min(x//i, y//i) == Max(x, y)//i", "implied"),
    (DIVISORS, &["n % m == 0"], "(n//m)*m == n", "implied"),
    (DIVISORS, &["n % m == 0", "r % m == 0"], "(n + r) % m == 0", "implied"),
    (DIVISORS, &["n % m == 0", "m % k == 0"], "n % k == 0", "implied"),
    (DIVISORS, &["n % (m*k) == 0"], "(n//m) % k == 0", "implied"),
    (DIVISORS, &["n % m == 0", "(n//m) % k == 0"], "n % (m*k) == 0", "implied"),
    (DIVISORS, &["n % m == 0", "r % k == 0"], "(n*r) % (m*k) == 0", "implied"),
    (DIVISORS, &["n % m == 0", "r % m == 0", "n < r"], "n + m <= r", "implied"),
    (DIVISORS, &["n % m == 0", "r < m"], "(n + r) % m == r", "implied"),
    (DIVISORS, &["n % m == 0", "n > m"], "n >= 2*m", "implied"),
    (DIVISORS, &["n % m == r % m"], "(n - r) % m == 0", "implied"),
    (DIVISORS, &["n % m == 0", "r % m == 0"], "Max(n, r) % m == 0", "implied"),
    (DIVISORS, &["n % m == 0"], "((n + m - 1)//m)*m == n", "implied"),
    (DIVISORS, &["n % m == 0", "n % k == 0"], "n % (m*k) == 0", "refuted"),
    (DIVISORS, &["(n*r) % m == 0"], "Or(n % m == 0, r % m == 0)", "refuted"),
    // Conjunctions of what is implied.
    (ANY, &["0 <= i", "i < x", "0 <= j", "j < y"], "And(0 <= i*y + j, i*y + j < x*y)", "implied"),
    (SMALL, &[], "And(IntTrueDiv(x*y, y) == ToFloat(x), x % y <= y, 2*(x//2) <= x)", "implied"),
    (ANY, &["Eq(TruncToInt(ToFloat(i)*0.5), j)"], "And(x % y <= Max(y, 0), (x & 7) == x % 8)", "implied"),
    // Constants past 128 bits.
    (SMALL, &[], "((x//9)*y*(2**127 - 1)) % (x + y) < 5", "refuted"),
    (DIVIDED, &["z <= 2**127 + 1", "((x + y)//c)*c + z < x"], "z + y < (x + y) % c", "implied"),
    (DIVIDED, &["z <= 2**127 + 1", "z + y < (x + y) % c"], "((x + y)//c)*c + z < x", "implied"),
    (SMALL, &[], "Eq(Mod(100, 5)//(x & 5), Min(y*y, x**2, Abs(y)))", "refuted"),
];

fn ask(symbols: Symbols, given: &[&str], goal: &str) -> Json {
    answer("entail", symbols, json!({"given": given, "goal": goal}))
}

/// The answer to a request about these symbols.
fn answer(command: &str, symbols: Symbols, mut request: Json) -> Json {
    let symbols: serde_json::Map<String, Json> = symbols
        .iter()
        .map(|(name, min, max)| ((*name).to_owned(), json!({"min": min, "max": max})))
        .collect();
    request["symbols"] = Json::Object(symbols);
    let answer = answer_line(command, request.to_string().as_bytes()).expect("an answer");
    serde_json::from_str(&answer).expect("JSON")
}

/// Asks each question, rewritten.
fn check(rewritten: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    for (symbols, given, goal, verdict) in QUESTIONS {
        let given: Vec<String> = given.iter().map(|fact| rewritten(fact)).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let goal = rewritten(goal);
        let answer = ask(symbols, &given, &goal);
        if answer["verdict"] != *verdict {
            wrong.push(format!("{given:?} => {goal}: {} instead of {verdict}", answer["verdict"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn plain_questions_are_decided() {
    check(str::to_owned);
}

#[test]
fn names_of_symbols_decide_nothing() {
    // `x` and `y` change places, in the order of the letters and of the declarations.
    check(|text| text.replace('x', "\u{1}").replace('y', "x").replace('\u{1}', "y").replace("May", "Max"));
}

#[test]
fn roundings_of_doubles_are_simplified_to_integers_where_they_are_decided_as_such() {
    const SYMBOLS: Symbols = &[("s", Some(0), Some(8)), ("t", Some(1), Some(8)), ("u", None, None)];
    for (written, simple) in [
        ("RoundToInt(ToFloat(s))", "s"),
        ("TruncToInt(ToFloat(s)) + 1", "s + 1"),
        ("TruncToInt(ToFloat(s)*0.5)", "(s//2)"),
        ("FloorToInt(IntTrueDiv(s, t))", "(s//t)"),
        ("Eq(TruncToInt(ToFloat(s)), 3)", "Eq(s, 3)"),
        // Large integers are rounded.
        ("TruncToInt(ToFloat(u))", "TruncToInt(ToFloat(u))"),
    ] {
        let found = answer("simplify", SYMBOLS, json!({"expr": written}));
        assert_eq!(found["expr"], simple, "{written}");
    }
}

#[test]
fn bounds_are_exact_whatever_is_known_of_other_symbols() {
    const SYMBOLS: Symbols = &[("s", Some(-4), Some(8)), ("t", None, None)];
    for fact in ["t <= 2**127 + 5", "t >= 2**127 - 5", "t*(2**127 + 1) <= 2**130"] {
        let found = answer("bounds", SYMBOLS, json!({"given": [fact], "expr": "Abs(s)"}));
        assert_eq!(
            (&found["min"], &found["max"], &found["exact"]),
            (&json!(0), &json!(8), &json!(true)),
            "{fact}"
        );
        assert_eq!((&found["min_at"]["s"], &found["max_at"]["s"]), (&json!(0), &json!(8)), "{fact}");
    }
}

#[test]
fn one_fact_on_doubles_costs_no_answer_whatever_stands_beside_it() {
    let halves = "TruncToInt(ToFloat(x)*0.5) == y";
    for beside in [1, 2, 4, 10, 11, 12, 20] {
        let facts: Vec<String> = (0..beside).map(|i| format!("s{i} % 8 == 0")).collect();
        let names: Vec<String> = (0..beside).map(|i| format!("s{i}")).collect();
        let mut symbols = json!({"x": {"min": 2, "max": 4096}, "y": {}});
        names.iter().for_each(|name| symbols[name] = json!({"min": 1}));
        let given: Vec<&str> = std::iter::once(halves).chain(facts.iter().map(String::as_str)).collect();
        for (goal, verdict) in [("s0 >= 8", "implied"), ("s0 >= 9", "refuted"), ("2*y <= x", "implied")] {
            let request = json!({"symbols": symbols, "given": given, "goal": goal}).to_string();
            let found: Json =
                serde_json::from_str(&answer_line("entail", request.as_bytes()).expect("an answer"))
                    .expect("JSON");
            assert_eq!(found["verdict"], verdict, "{goal} with {beside} facts beside");
        }
    }
}

#[test]
fn a_symbol_that_nothing_mentions_changes_no_answer() {
    for (goal, verdict) in [
        ("TruncToInt(1e-10*ToFloat(y) - ToFloat(y)) <= 3", "implied"),
        ("TruncToInt(1e-10*ToFloat(y) - ToFloat(y)) <= 1", "refuted"),
    ] {
        for other in [json!({}), json!({"min": 0}), json!({"min": 0, "max": 319}), json!({"max": -5})] {
            let request =
                json!({"symbols": {"x": other, "y": {"min": -3, "max": 13}}, "given": [], "goal": goal});
            let found = answer_line("entail", request.to_string().as_bytes()).expect("an answer");
            let found: Json = serde_json::from_str(&found).expect("JSON");
            assert_eq!(found["verdict"], verdict, "{goal} beside x in {other}");
        }
    }
}

#[test]
fn hard_facts_about_other_symbols_cost_no_answer() {
    const SYMBOLS: Symbols =
        &[("a", Some(101), None), ("b", Some(0), None), ("u", Some(2), None), ("v", Some(2), None)];
    for (goal, verdict) in [
        ("Ne(a**2 - 2*b**2, 5)", "implied"),
        ("Ne(2*a**2 - 61*b**2, -7)", "implied"),
        ("Ne(Mod(a**4, 13), 7)", "implied"),
        ("Ne(a**2 - 29*b**2, 1)", "refuted"),
        ("Ne(2*a**2 - 5*b**2, 3)", "refuted"),
    ] {
        for (beside, follows) in [
            (&["Eq(u*v, 716539)", "u <= v"][..], "u*u <= 716539"),
            (&["u*v % (4*u) == 0"], "u*v % u == 0"),
            (&["Ne(u, 2)"], "u >= 3"),
        ] {
            for goal in
                [goal.to_owned(), format!("And({goal}, {follows})"), format!("And({follows}, {goal})")]
            {
                assert_eq!(ask(SYMBOLS, beside, &goal)["verdict"], verdict, "{beside:?} => {goal}");
            }
        }
    }
}
