//! Recorded queries: every verdict is the recorded one, nearly all are decided, and the command says why.
use assert_cmd::Command;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

fn recorded(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/queries/{name}.jsonl"));
    let text = std::fs::read_to_string(path).expect("the queries are part of the source tree");
    text.lines().map(|line| serde_json::from_str(line).expect("a query is JSON")).collect()
}

fn entail(options: &[&str], queries: &[Value]) -> Vec<Value> {
    let asked =
        |q: &Value| json!({"id": q["id"], "symbols": q["symbols"], "given": q["given"], "goal": q["goal"]});
    let input: String = queries.iter().map(|q| format!("{}\n", asked(q))).collect();
    let output = Command::cargo_bin("sizewise")
        .expect("the program is built")
        .arg("entail")
        .args(options)
        .write_stdin(input)
        .output()
        .expect("the program runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("answers are text");
    text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect()
}

/// The share of queries that are decided, in percent; fails on a wrong verdict.
fn decided(name: &str) -> usize {
    let queries = recorded(name);
    let answers = entail(&[], &queries);
    assert_eq!(answers.len(), queries.len());
    let by_id: HashMap<&str, &Value> =
        answers.iter().map(|a| (a["id"].as_str().expect("an id"), a)).collect();
    let mut open = 0;
    for q in &queries {
        let verdict = &by_id[q["id"].as_str().expect("an id")]["verdict"];
        if verdict == "unknown" {
            open += 1;
        } else if q["verdict"].is_string() {
            assert_eq!(*verdict, q["verdict"], "{q}");
        }
    }
    100 * (queries.len() - open) / queries.len()
}

#[test]
fn nearly_all_queries_are_decided_and_rightly() {
    for name in ["classics", "torch", "jax", "tvm"] {
        assert!(decided(name) >= 99, "{name}");
    }
    assert!(decided("hard") >= 90);
}

fn question(given: &[&str], goal: &str) -> Value {
    json!({"id": "q", "symbols": {"a": {"min": 0}, "b": {"min": 0}, "c": {"min": 0}}, "given": given, "goal": goal})
}

#[test]
fn because_names_what_is_needed() {
    let q = question(&["a <= b", "c >= 9", "b <= 7", "Eq(Mod(c, 2), 0)"], "a <= 7");
    let answer = &entail(&[], &[q])[0];
    assert_eq!(answer["because"], json!(["a <= b", "b <= 7"]));
}

/// The steps of a proof: their depths, rules, and what they say.
fn proof(given: &[&str], goal: &str) -> Vec<(u64, String, String)> {
    let answers = entail(&["--proof"], &[question(given, goal)]);
    let steps = answers[0]["proof"].as_array().unwrap_or_else(|| panic!("{answers:?}")).clone();
    let text = |step: &Value, key: &str| step[key].as_str().expect("text").to_owned();
    let step =
        |step: &Value| (step["depth"].as_u64().expect("a depth"), text(step, "rule"), text(step, "says"));
    steps.iter().map(step).collect()
}

/// The numbers in brackets.
fn numbers(text: &str) -> Vec<u64> {
    text.split('[').skip(1).filter_map(|rest| rest.split(']').next()?.parse().ok()).collect()
}

#[test]
fn each_line_of_a_proof_follows_from_lines_above_it() {
    let table: [(&[&str], &str, &[&str]); 8] = [
        (&[], "Eq(a + b, b + a)", &["negated-goal", "contradiction"]),
        (&["a + b <= 5", "c - b <= 1"], "a + c <= 6", &["premise", "negated-goal", "combine"]),
        (&["And(a >= 8, b >= 2)"], "a // 8 >= 1", &["premise", "negated-goal", "definition", "combine"]),
        (&["Or(a >= 8, b >= 9)"], "a + b >= 8", &["premise", "split", "case", "combine"]),
        (&["b >= 3"], "a*b >= 3*a", &["premise", "multiply", "combine"]),
        (&[], "Ne(a**2, 4*b + 2)", &["negated-goal", "modulo"]),
        (&["a <= 2", "b <= 1", "c <= 0"], "Ne(a ^ b, 5)", &["premise", "negated-goal", "enumerate"]),
        (&["b >= 1", "Eq(Mod(a, b), 0)"], "Eq((a // b)*b, a)", &["definition", "premise"]),
    ];
    for (given, goal, rules) in table {
        let steps = proof(given, goal);
        for rule in rules {
            assert!(steps.iter().any(|(_, found, _)| found == rule), "{rule}: {steps:?}");
        }
        // The facts that are known, with the depths of their cases.
        let mut known: Vec<(u64, u64)> = Vec::new();
        for (depth, rule, says) in &steps {
            known.retain(|(_, within)| {
                within <= depth && !(rule == "case" && says.contains(" of ") && within == depth)
            });
            let says =
                says.rsplit_once(" of ").filter(|_| rule == "case").map_or(says.as_str(), |(_, rest)| rest);
            let says = says
                .split_once(": [")
                .filter(|_| rule == "case")
                .map_or(says.to_owned(), |(_, rest)| format!("[{rest}"));
            let added = says.starts_with('[') && rule != "contradiction";
            let all = numbers(&says);
            let from = &all[usize::from(added)..];
            assert!(from.iter().all(|n| known.iter().any(|(m, _)| m == n)), "{rule}: {says} in {steps:?}");
            known.extend(all.first().filter(|_| added).map(|n| (*n, *depth)));
        }
        let (_, last, says) = steps.last().expect("an end");
        let ends = ["contradiction", "modulo", "enumerate"].contains(&last.as_str());
        assert!(ends || says.contains("] false"), "{steps:?}");
    }
}

#[test]
fn there_is_no_proof_where_there_is_nothing_to_prove_or_no_certificate() {
    let refuted = entail(&["--proof"], &[question(&[], "a <= 5")]);
    assert_eq!(refuted[0]["proof"], Value::Null);
    // Cosines are beyond certificates: the rung is named.
    let given = ["OpaqueUnaryFn_cos(ToFloat(a)) <= 0.5", "a >= 3"];
    let says = "decided by range; no proof was found in steps that can be checked one by one";
    assert_eq!(proof(&given, "a >= 2"), [(0, "uncertified".to_owned(), says.to_owned())]);
}

#[test]
fn obligations_are_written_and_rungs_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let answers = entail(&["--emit-smt2", path, "--explain"], &[question(&["a*b <= 5"], "a*b*c <= 5*c")]);
    let text = std::fs::read_to_string(folder.path().join("q.smt2")).expect("the file is there");
    assert!(text.contains("(check-sat)") && text.contains("(set-info :status unsat)"), "{text}");
    assert!(answers[0]["explain"].as_array().is_some_and(|rungs| !rungs.is_empty()));
}

#[test]
fn what_stays_open_says_which_budget_ran_out_and_a_larger_one_goes_further() {
    // The least solution has 16 digits.
    let cubes = json!({"id": "q", "symbols": {}, "given": [], "goal": "Ne(x**3 + y**3 + z**3, 33)"});
    for (options, assignments, rlimit) in [
        (&[][..], "budget: 60000 assignments", "25000"),
        (&["--budget", "2"], "budget: 120000 assignments", "50000"),
    ] {
        let answer = &entail(options, std::slice::from_ref(&cubes))[0];
        assert_eq!(answer["verdict"], "unknown");
        let reason = answer["reason"].as_str().expect("a reason");
        assert!(reason.contains(assignments), "{reason}");
        assert!(!cfg!(feature = "smt") || reason.contains(&format!("budget: rlimit {rlimit}")), "{reason}");
    }
}

/// Facts of which none is needed, beside those that are.
const BESIDE: [&str; 3] = ["a <= 5000", "z**2 <= 90", "Ne(b, 77)"];

#[test]
fn rules_show_what_linear_reasoning_alone_and_z3_leave_open() {
    let symbols = json!({"a": {}, "b": {}, "c": {}, "d": {}, "z": {"min": 3}});
    // Facts, a goal, and those of the facts that it needs.
    type Case = (&'static [&'static str], &'static str, &'static [&'static str]);
    let table: [Case; 3] = [
        (&["d >= 1"], "Eq(ModularIndexing(a, c, d)*c + a % c, a % (c*d))", &["d >= 1"]),
        (&["c >= 1"], "Eq(Max(a//c, b//c), Max(a, b)//c)", &["c >= 1"]),
        (&["c >= 1", "d >= 1"], "Eq(Min(a//c, b//c)//d, Min(a//(c*d), b//(c*d)))", &["d >= 1"]),
    ];
    for (facts, goal, because) in table {
        let given: Vec<&str> = BESIDE.iter().chain(facts).copied().collect();
        let q = json!({"id": "q", "symbols": symbols, "given": given, "goal": goal});
        let answer = &entail(&[], &[q])[0];
        assert_eq!(answer["verdict"], "implied", "{answer}");
        assert!(answer["decided_by"] == "egraph" || answer["decided_by"] == "linear", "{answer}");
        assert_eq!(answer["because"], json!(because), "{goal}");
    }
}

#[test]
fn every_command_that_reasons_explains_itself_and_takes_a_budget() {
    let asked = [
        ("entail", "goal", json!("Eq(a % 2, 0)")),
        ("simplify", "expr", json!("a//2 + (a + 1)//2")),
        ("bounds", "expr", json!("a//2 + (a + 1)//2")),
        ("minimize", "guards", json!(["a < 20", "a > 2"])),
    ];
    let call = json!({"id": 1, "op": "aten.add.Tensor", "symbols": {"s0": {"min": 2, "hint": 5}, "s1": {"min": 2, "hint": 5}},
        "args": [{"tensor": {"shape": ["s0"], "dtype": "float32"}}, {"tensor": {"shape": ["s1"], "dtype": "float32"}}]});
    let answer = |options: &[&str]| -> Value {
        let mut program = Command::cargo_bin("sizewise").expect("the program is built");
        let output = program.arg("infer").args(options).write_stdin(format!("{call}\n")).output();
        serde_json::from_slice(&output.expect("the program runs").stdout).expect("an answer is JSON")
    };
    let (plain, explained) = (answer(&[]), answer(&["--explain"]));
    assert_eq!(plain["guards"], json!(["Eq(s0, s1)"]), "{plain}");
    assert!(plain["explain"].is_null());
    let guard = explained["explain"]
        .as_array()
        .expect("steps")
        .iter()
        .find(|s| s["rung"] == "hint")
        .expect("a guard");
    assert!(
        guard["outcome"].as_str().is_some_and(|says| says.starts_with("Eq(s0, s1) holds at the hints")),
        "{guard}"
    );
    for (command, field, what) in asked {
        let line = json!({"id": 1, "symbols": {"a": {"min": 0, "max": 9}}, field: what});
        let run = |options: &[&str]| -> Value {
            let mut program = Command::cargo_bin("sizewise").expect("the program is built");
            let output = program.arg(command).args(options).write_stdin(format!("{line}\n")).output();
            serde_json::from_slice(&output.expect("the program runs").stdout).expect("an answer is JSON")
        };
        assert!(run(&["--explain", "--budget", "3"])["explain"].is_array(), "{command}");
        assert!(run(&[])["explain"].is_null(), "{command}");
    }
}

/// Questions that grow without end when they are multiplied out, substituted and split: each names the budget that
/// ran out.
#[test]
fn what_grows_beyond_every_bound_is_stopped_by_counted_work() {
    let queries = recorded("adversarial");
    assert!(queries.len() >= 8);
    let answers = entail(&[], &queries);
    for (query, answer) in queries.iter().zip(&answers) {
        let id = &query["id"];
        assert_ne!(answer["verdict"], "error", "{id}");
        if answer["verdict"] == "unknown" {
            let reason = answer["reason"].as_str().expect("a reason");
            assert!(
                reason.contains("budget") || reason.contains("no assignment that satisfies"),
                "{id}: {reason}"
            );
        }
    }
    // The same work comes to the same answer.
    for (query, answer) in queries.iter().zip(&answers).step_by(4) {
        let again = &entail(&[], std::slice::from_ref(query))[0];
        assert_eq!(again["verdict"], answer["verdict"], "{}", query["id"]);
        assert_eq!(again["reason"], answer["reason"], "{}", query["id"]);
    }
}

#[test]
fn a_check_writes_its_questions_for_other_solvers() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::cargo_bin("sizewise")
        .expect("the program is built")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"))
        .args(["check", "area.pt2", "--spec", "area.json", "--emit-smt2"])
        .arg(folder.path())
        .output()
        .expect("it runs");
    assert!(!output.stdout.is_empty());
    let first = std::fs::read_to_string(folder.path().join("0001.smt2")).expect("a question");
    assert!(first.starts_with("; expected: unsat\n"), "{first}");
    assert!(first.contains("(check-sat)"));
}

/// The answers of a command to requests, one a line.
fn answers_of(command: &str, requests: &[Value]) -> Vec<Value> {
    let input: String = requests.iter().map(|q| format!("{q}\n")).collect();
    let mut program = Command::cargo_bin("sizewise").expect("the program is built");
    let output = program.arg(command).write_stdin(input).output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("answers are text");
    text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect()
}

#[test]
fn simplified_forms_have_no_more_operators_than_what_was_written() {
    let symbols = json!({"s4": {"min": 2}, "s9": {"min": 2}});
    for (written, simple) in [
        ("(s4+s9)**3", "(s4 + s9)**3"),
        ("(2*s4 + s9 + 1)**3", "(2*s4 + s9 + 1)**3"),
        ("Max((s4 - s9)**2, 0)", "(s4 - s9)**2"),
        ("Mod((s4 + s9)**3, 7)", "Mod((s4 + s9)**3, 7)"),
        ("((s4 + s9)*(s4 + 3)*(s9 + 5) + s4)**2", "((s4 + s9)*(s4 + 3)*(s9 + 5) + s4)**2"),
    ] {
        let found = &answers_of("simplify", &[json!({"id": 1, "symbols": symbols, "expr": written})])[0];
        assert_eq!(found["expr"], simple, "{written}");
    }
}

#[test]
fn guards_that_leave_one_value_become_an_equation() {
    let symbols = json!({"s": {"min": 2}});
    for guards in [["Eq(Mod(s, 16), 0)", "s <= 16"], ["Mod(s, 16) < 1", "s < 32"]] {
        let answer = &answers_of("minimize", &[json!({"id": 1, "symbols": symbols, "guards": guards})])[0];
        assert_eq!(answer["guards"], json!(["Eq(s, 16)"]), "{answer}");
        for (dropped, guard) in answer["dropped"].as_array().expect("a list").iter().zip(guards) {
            assert_eq!(*dropped, json!({"because": ["Eq(s, 16)"], "guard": guard}));
        }
    }
}

#[test]
fn many_guards_on_undeclared_doubles_are_minimized() {
    let guards: Vec<String> = (0..13).map(|i| format!("Eq(zf{i}, 2.0)")).collect();
    let answer = &answers_of("minimize", &[json!({"id": 1, "symbols": {}, "guards": guards})])[0];
    assert_eq!(answer["guards"], json!(guards));
}

#[test]
fn a_power_without_a_value_is_no_proof() {
    for (given, goal, verdicts) in [
        (json!([]), "FloatPow(0.0, -1.0) > 0.0", ["unknown", "inconsistent"]),
        (json!(["FloatPow(ToFloat(s), -1.0) > 0.0"]), "s >= 1", ["implied", "implied"]),
        (json!([]), "s >= 1", ["refuted", "refuted"]),
    ] {
        let q = json!({"id": 1, "symbols": {"s": {"min": 0, "max": 10}}, "given": given, "goal": goal});
        let answer = &entail(&[], &[q])[0];
        assert!(verdicts.iter().any(|v| answer["verdict"] == *v), "{answer}");
    }
}

#[test]
fn premises_of_a_dropped_guard_are_the_kept_ones_as_they_are_kept() {
    let question = json!({"id": 1, "symbols": {"c": {}}, "guards": ["Ne(c//2, 0)", "5*c > 4"]});
    let answer = &answers_of("minimize", &[question])[0];
    // Each guard alone allows what the other refuses: `Ne(c//2, 0)` allows -1.
    assert_eq!(answer["guards"], json!(["2 <= c"]), "{answer}");
    assert_eq!(answer["dropped"], json!([{"because": ["2 <= c"], "guard": "5*c > 4"}]));
}

#[test]
fn the_least_value_of_a_choice_between_an_integer_and_a_double_is_no_rounded_one() {
    let choice = "Where(c <= 2, 9007199254740995, 0.5)";
    let answer = &answers_of("bounds", &[json!({"id": 1, "symbols": {"c": {"max": 2}}, "expr": choice})])[0];
    let least = answer["min"].as_i64();
    assert!(least.is_none_or(|least| least <= 9_007_199_254_740_995), "{answer}");
    assert_eq!(answer["max"].to_string(), "9007199254740995", "{answer}");
}

/// At the first integer that is no double, and at the one after it.
#[test]
fn arithmetic_on_a_choice_between_an_integer_and_a_double_is_that_of_python() {
    for (goal, at_first, at_next) in [
        ("Eq(Max(-0.5, s) + 1, ToFloat(s) + 1.0)", "refuted", "refuted"),
        ("Eq(Max(-0.5, s) + 1, s + 1)", "implied", "implied"),
        ("Eq(-Max(-0.5, s), -s)", "implied", "implied"),
        ("Eq(Where(s > 0, s, 0.5)*3, 3*s)", "implied", "implied"),
        ("Eq(Max(0.5, s) + Max(0.5, s), 2*s)", "implied", "implied"),
        ("Eq(Max(-0.5, s) + 1.0, s + 1)", "refuted", "refuted"),
        ("Eq(Max(-0.5, s)**2, s*s)", "implied", "implied"),
        ("Eq(round(Max(-0.5, s), 1), s)", "implied", "implied"),
        ("Eq(Max(-0.5, s)*1.0, s)", "refuted", "implied"),
    ] {
        for (s, expected) in [(9_007_199_254_740_993i64, at_first), (9_007_199_254_740_994, at_next)] {
            let question = json!({"id": 1, "symbols": {"s": {"min": s, "max": s}}, "goal": goal});
            let answer = &answers_of("entail", &[question])[0];
            assert_eq!(answer["verdict"], expected, "{goal} at {s}: {answer}");
        }
    }
}
