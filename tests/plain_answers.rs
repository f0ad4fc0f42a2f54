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
const SMALL: Symbols = &[("x", Some(1), Some(100_000)), ("y", Some(1), Some(100_000))];

#[rustfmt::skip]
const QUESTIONS: &[(Symbols, &[&str], &str, &str)] = &[
    // Masks are remainders, and common bits are at most what they are common to.
    (ANY, &[], "(x & 7) == x % 8", "implied"),
    (ANY, &[], "(x & -8) == 8*(x//8)", "implied"),
    (ANY, &[], "((x + 15) & -16) % 16 == 0", "implied"),
    (ANY, &["(x & 15) == 0"], "x % 16 == 0", "implied"),
    (ANY, &[], "(x & y) + (x | y) == x + y", "implied"),
    (ANY, &[], "((x ^ 5) ^ 5) == x", "implied"),
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
    // Divisors that are sizes.
    (DIVIDED, &[], "Min(-(x//c), -(y//c)) == -(Max(x, y)//c)", "implied"),
    (DIVIDED, &[], "Min(x//c, y, z//c) == Min(Min(x, z)//c, y)", "implied"),
    (DIVIDED, &[], "Max(x//c, y, z//c) == Max(Max(x, z)//c, y)", "implied"),
    (DIVIDED, &[], "Min((x + c)//c, y//c + 1) == Min(x, y)//c + 1", "implied"),
    (DIVIDED, &[], "Min(x//c, y//c) == Max(x, y)//c", "refuted"),
    (ANY, &["i < 0"], "Min(x//i, y//i) == Max(x, y)//i", "implied"),
    // Conjunctions of what is implied.
    (ANY, &["0 <= i", "i < x", "0 <= j", "j < y"], "And(0 <= i*y + j, i*y + j < x*y)", "implied"),
    (SMALL, &[], "And(IntTrueDiv(x*y, y) == ToFloat(x), x % y <= y, 2*(x//2) <= x)", "implied"),
    (ANY, &["Eq(TruncToInt(ToFloat(i)*0.5), j)"], "And(x % y <= Max(y, 0), (x & 7) == x % 8)", "implied"),
    // Constants past 128 bits.
    (SMALL, &[], "((x//9)*y*(2**127 - 1)) % (x + y) < 5", "refuted"),
];

fn ask(symbols: Symbols, given: &[&str], goal: &str) -> Json {
    let symbols: serde_json::Map<String, Json> = symbols
        .iter()
        .map(|(name, min, max)| ((*name).to_owned(), json!({"min": min, "max": max})))
        .collect();
    let request = json!({"symbols": symbols, "given": given, "goal": goal});
    let answer = answer_line("entail", request.to_string().as_bytes()).expect("an answer");
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
