//! Certificates: what is proved has one that the checker accepts, and the checker accepts nothing that is not a proof.
use assert_cmd::Command;
use serde_json::{Value, json};
use sizewise::certificate::check_text;
use std::path::Path;

fn sizewise(arguments: &[&str], input: String) -> (String, Option<i32>) {
    let mut program = Command::cargo_bin("sizewise").expect("the program is built");
    let output = program.args(arguments).write_stdin(input).output().expect("it runs");
    (String::from_utf8(output.stdout).expect("text"), output.status.code())
}

fn certified(questions: &[Value]) -> Vec<Value> {
    let lines: String = questions.iter().map(|q| format!("{q}\n")).collect();
    let (answers, _) = sizewise(&["entail", "--certificate"], lines);
    answers.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect()
}

#[test]
fn answers_that_are_proved_have_certificates() {
    let any = json!({});
    let at_least = |least: i64| json!({"s": {"min": least}, "t": {"min": least}});
    let questions = [
        (&any, &["s % 8 == 0", "s >= 2"][..], "s >= 8"),
        (&any, &["Eq(Mod(s, 14), 2)", "Eq(Mod(s, 26), 6)"], "Eq(Mod(s, 182), 58)"),
        (&any, &["Eq(Mod(s, 37), 0)", "Eq(Mod(s, 32), 0)"], "Eq(Mod(s, 1184), 0)"),
        (&any, &["s % 2 == 0", "s % 2 == 1"], "False"),
        (&any, &["s % 2**63 == 0", "t % 2**63 == 0"], "(s + t)//2**63 == s//2**63 + t//2**63"),
        (&any, &[], "Mod(s*(s + 1), 2) == 0"),
        (&any, &[], "Ne(Mod(s**2 + t**2, 4), 3)"),
        (&any, &[], "(s & 7) == s % 8"),
        (&any, &[], "(s & -8) == 8*(s//8)"),
        (&any, &[], "(s & t) + (s | t) == s + t"),
        (&any, &["t != 0"], "(s//t)*t + s % t == s"),
        (&any, &[], "Min(s, t) + Max(s, t) == s + t"),
        (&any, &["s >= 0"], "s >> 3 == s//8"),
        (&at_least(2), &[], "s*t > 1"),
        (&at_least(2), &[], "Ne(Mod(s, s*t), 0)"),
        (&at_least(1), &[], "Mod(s, s + 4) >= 1"),
        (&at_least(1), &[], "s//t <= s"),
        (&at_least(1), &["s % t == 0", "t % u == 0", "u > 0"], "s % u == 0"),
        (&any, &["s != -1"], "64*(s + 1) % (32*(s + 1)) == 0"),
        (&any, &["t != 0"], "(s + (-s) % t) % t == 0"),
    ];
    let asked: Vec<Value> = questions
        .iter()
        .map(|(symbols, given, goal)| json!({"symbols": symbols, "given": given, "goal": goal}))
        .collect();
    for (question, answer) in asked.iter().zip(certified(&asked)) {
        let text = answer["certificate"].as_str().unwrap_or_else(|| panic!("{question}: {answer}"));
        let checked = check_text(text).unwrap_or_else(|problem| panic!("{question}: {problem}\n{text}"));
        assert!(checked.outside.is_empty(), "{question}");
    }
}

#[test]
fn what_is_not_proved_has_none() {
    let open = [json!({"given": [], "goal": "s >= 8"}), json!({"given": ["s > 2"], "goal": "s > 3"})];
    assert!(certified(&open).iter().all(|answer| answer["certificate"].is_null()));
}

#[test]
fn recorded_answers_are_certified() {
    for (name, least) in [("classics", 98), ("torch", 96), ("jax", 98), ("tvm", 96)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/queries/{name}.jsonl"));
        let text = std::fs::read_to_string(path).expect("the queries are part of the source tree");
        let questions =
            text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a query is JSON"));
        let questions: Vec<Value> = questions
            .map(|q| json!({"symbols": q["symbols"], "given": q["given"], "goal": q["goal"]}))
            .collect();
        let (mut proved, mut accepted) = (0, 0);
        for answer in certified(&questions) {
            if !["implied", "inconsistent"].contains(&answer["verdict"].as_str().unwrap_or_default()) {
                continue;
            }
            proved += 1;
            if let Some(text) = answer["certificate"].as_str() {
                assert!(check_text(text).is_ok(), "{text}");
                accepted += 1;
            }
        }
        assert!(100 * accepted >= least * proved, "{name}: {accepted} of {proved}");
    }
}

#[test]
fn conditions_of_a_program_are_certified() {
    let folder = tempfile::tempdir().expect("a folder");
    // Of an earlier run.
    for number in 1..=20 {
        std::fs::write(folder.path().join(format!("{number:04}.certificate")), "stale").expect("a file");
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut program = Command::cargo_bin("sizewise").expect("the program is built");
    let arguments = ["check", "area.pt2", "--spec", "area.json", "--certificate"];
    program.current_dir(examples).args(arguments).arg(folder.path()).output().expect("it runs");
    for file in std::fs::read_dir(folder.path()).expect("a folder") {
        let text = std::fs::read_to_string(file.expect("an entry").path()).expect("a text");
        assert_ne!(text, "stale");
    }
    let first = folder.path().join("0001.certificate");
    let (said, status) = sizewise(&["certify", first.to_str().expect("a path")], String::new());
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("1 accepted, 0 rejected"), "{said}");
}

/// A certificate of `x >= 0, y >= 3 |- GOAL` with a proof.
fn certificate(goal: &str, definitions: &str, proof: &str) -> String {
    format!(
        "(certificate 1 (symbols x y) (premises (>= x 0) (>= y 3)) (defined) (goal {goal}) \
         (definitions {definitions}) (proof {proof}))"
    )
}

#[test]
fn right_proofs_are_accepted() {
    for (goal, definitions, proof) in [
        ("(>= (+ x y) 3)", "", "(combine (1 0) (1 1) (1 2))"),
        ("(>= (* x y) (* 3 x))", "", "(multiply 0 1) (combine (1 3) (1 2))"),
        ("(>= (* x x) 0)", "", "(square x) (combine (1 3) (1 2))"),
        ("(!= (* 2 x) 3)", "", "(contradiction 2)"),
        ("(!= (- (* x x) (* 4 y)) 2)", "", "(modulo 4 2)"),
        ("(<= (// x 2) x)", "(q (// x 2))", "(combine (2 2) (1 3) (1 0))"),
        ("(or (<= x 4) (>= x 5))", "", "(combine (1 2) (1 3))"),
        ("(>= (+ x y) 3)", "", "(cut x 7 ((combine (1 0) (1 1) (1 2))) ((combine (1 0) (1 1) (1 2))))"),
        ("(>= (+ x y) 3)", "", "(let z (+ x y)) (combine (1 0) (1 1) (1 2))"),
    ] {
        let text = certificate(goal, definitions, proof);
        assert!(check_text(&text).is_ok(), "{:?}: {text}", check_text(&text));
    }
}

#[test]
fn what_is_no_proof_is_rejected() {
    for (goal, definitions, proof, says) in [
        ("(>= x 1)", "", "(combine (1 0) (1 2))", "no contradiction"),
        ("(>= (+ x y) 3)", "", "(combine (-1 0))", "a negative or unknown number of times"),
        ("(>= (+ x y) 3)", "", "(combine (x 0))", "a negative or unknown number of times"),
        ("(>= (+ x y) 3)", "", "(combine (1 9))", "no fact 9"),
        ("(>= (+ x y) 3)", "", "(combine (1 -1))", "a fact has a number"),
        ("(>= (+ x y) 3)", "", "(multiply 0 x)", "a fact has a number"),
        ("(!= x 0)", "", "(multiply 0 2)", "no inequality"),
        ("(>= (+ x y) 3)", "", "(contradiction 0)", "a fact that may be true"),
        ("(>= (+ x y) 3)", "", "(contradiction 0) (combine (1 0) (1 1) (1 2))", "a fact that may be true"),
        ("(>= (+ x y) 3)", "", "(combine (01 0) (1 1) (1 2))", "zeros that it does not need"),
        ("(>= (+ x y) +3)", "", "(combine (1 0) (1 1) (1 2))", "zeros that it does not need"),
        ("(>= (+ x y) 3)", "", "(combine (1 -0) (1 1) (1 2))", "a fact has a number"),
        ("(>= (float x) #0)", "", "(contradiction 0)", "no double"),
        ("(>= (float x) #+3ff000000000000)", "", "(contradiction 0)", "no double"),
        ("(>= (+ x y) 3)", "", "(combine (1 0) (1 1) (1 2)) (square x)", "after the end"),
        ("(>= (+ x y) 3)", "", "(guess)", "no rule `guess`"),
        ("(>= (+ x y) 3)", "", "guess", "a step is a list"),
        ("(>= x (// x y))", "", "(contradiction 0)", "no definition of `(// x y)`"),
        (
            "(>= x (max (* 2 x y) (- y 3)))",
            "",
            "(contradiction 0)",
            "no definition of `(max (* 2 x y) (- y 3))`",
        ),
        ("(>= x (// (- 1 (* x x)) 2))", "", "(contradiction 0)", "no definition of `(// (- 1 (* x x)) 2)`"),
        ("(>= x z)", "", "(contradiction 0)", "no symbol `z`"),
        ("(>= x q)", "(q (// x 2))", "(contradiction 0)", "no symbol `q`"),
        ("(>= x 1)", "(x (// y 2))", "(contradiction 0)", "no new name"),
        ("(>= x 1)", "(q (// x 2)) (r (// x 2))", "(contradiction 0)", "defined twice"),
        ("(>= x 1)", "(q (+ x 2))", "(contradiction 0)", "what needs none"),
        ("(>= x 1)", "(q (// q 2))", "(contradiction 0)", "no name `q`"),
        ("(+ x 1)", "", "(contradiction 0)", "no formula"),
        ("(>= x (true))", "", "(contradiction 0)", "another kind"),
        ("(>= x)", "", "(contradiction 0)", "of 1 operands"),
        ("(>= x (sin y))", "", "(contradiction 0)", "no operation `sin`"),
        ("(= x 1)", "", "(split 2 ((contradiction 0)))", "2 cases, not 1"),
        ("(>= x 1)", "", "(split 0)", "without cases"),
        ("(>= x 1)", "", "(cut x 7 ())", "four parts"),
        ("(>= x 1)", "", "(equal 0 1)", "not opposite"),
        ("(!= (* x y) 0)", "", "(divide 2 y 0 1)", "no factor"),
        ("(!= (* x y) 0)", "", "(divide 2 y 0 0)", "may be zero"),
        ("(!= (* x y) 0)", "", "(divide 2 y 1 3)", "no factor"),
        ("(!= (* x x) 1)", "", "(modulo 4 2)", "there is a solution modulo 4"),
        ("(!= (* x x) 1)", "", "(modulo 1 2)", "a modulus from 2"),
        ("(>= x 1)", "", "(modulo 4 0)", "no equation"),
        ("(>= x 1)", "", "(enumerate 1 (x 0 2))", "not computed"),
        ("(>= x 1)", "", "(enumerate 2 (x 0 2))", "1 assignments, not what is said"),
        ("(>= x 1)", "", "(enumerate 4 (x 1 2))", "without a bound"),
        ("(>= x 1)", "", "(let x y)", "no new name"),
        ("(>= x 1)", "", "(square x y)", "2 operands of a step that takes one"),
        ("(!= (* 2 x) 3)", "", "(contradiction 2 2)", "2 operands of a step that takes one"),
    ] {
        let text = certificate(goal, definitions, proof);
        let problem = check_text(&text).expect_err(&text);
        assert!(problem.contains(says), "{problem}, not {says}: {text}");
    }
}

/// A power of C: 0.0 to minus infinity is infinity, and not without a value.
#[test]
fn infinite_exponents_have_a_value() {
    let text = "(certificate 1 (symbols x) (premises (>= x 0) (<= x 0)) \
                (defined (float** (float x) #fff0000000000000)) (goal (false)) (definitions) (proof (enumerate 1 (x 0 1))))";
    let problem = check_text(text).expect_err(text);
    assert!(problem.contains("the claim is false at x = 0"), "{problem}");
}

#[test]
fn damaged_texts_are_rejected() {
    let whole = certificate("(>= (+ x y) 3)", "", "(combine (1 0) (1 1) (1 2))");
    assert!(check_text(&whole).is_ok());
    for (damaged, says) in [
        (whole.replace("certificate 1", "certificate 2"), "another version"),
        (whole.replacen("(defined)", "", 1), "expected `(goal …)`"),
        (whole.replace("(goal (>= (+ x y) 3))", "(goal)"), "one goal"),
        (format!("{whole})"), "a parenthesis too many"),
        (whole[..whole.len() - 1].to_owned(), "a parenthesis is missing"),
        (format!("{whole}{whole}"), "2 certificates"),
        ("(".repeat(100_000), "nested too deeply"),
        (whole.replace("(symbols x y)", "(symbols x y x)"), "no new name"),
        (whole.replace("(symbols x y)", "(symbols x y 7)"), "no new name"),
        (whole.replace(" 3)", &format!(" {})", "1".repeat(5_000))), "an integer of more than 4000 digits"),
        // A remark ends with its line.
        (whole.replace("(>= y 3)", "; \u{2028} (>= y 3)\n"), "there is no fact 2"),
        (whole.replace("(>= y 3)", "; \r (>= y 3)\n"), "there is no fact 2"),
        (whole.replace("(combine (1 0)", "(combine ((** x 300) 0)"), "too large"),
    ] {
        let problem = check_text(&damaged).expect_err("a damaged text");
        assert!(problem.contains(says), "{problem}, not {says}");
    }
}

#[test]
fn the_command_counts_and_says_what_is_wrong() {
    let right = certificate("(>= (+ x y) 3)", "", "(combine (1 0) (1 1) (1 2))");
    let believed = certificate("(>= (+ x y) 3)", "", "(outside z3)");
    let wrong = certificate("(>= x 1)", "", "(combine (1 0) (1 2))");
    for (text, says, expected) in [
        (right.clone(), "1 accepted, 0 rejected, 1 steps, 0 by other solvers", 0),
        (believed, "1 accepted, 0 rejected, 1 steps, 1 by other solvers", 4),
        (format!("{right}\n{wrong}"), "1 accepted, 1 rejected", 1),
        (format!("{right} (uncertified linear)"), "1 answers without a certificate", 4),
        (json!({"verdict": "implied", "certificate": right}).to_string(), "1 accepted", 0),
        (json!({"verdict": "implied", "certificate": null}).to_string(), "1 answers without", 4),
        (json!({"verdict": "implied", "certificate": wrong}).to_string(), "1 rejected", 1),
    ] {
        let (said, status) = sizewise(&["certify", "-"], text.clone());
        assert!(said.contains(says), "{said}: {text}");
        assert_eq!(status, Some(expected), "{text}");
    }
    // What has no certificates is no file of them.
    for text in ["", "; a remark", "# Certificates"] {
        let (said, status) = sizewise(&["certify", "-"], text.to_owned());
        assert_eq!((said.as_str(), status), ("", Some(3)), "{text}");
    }
}

#[test]
fn facts_that_would_fill_the_memory_are_refused() {
    let names: Vec<String> = (0..60).map(|i| format!("s{i}")).collect();
    let names = names.join(" ");
    let long = |count: usize| {
        let squares = format!("(square (+ {names})) ").repeat(count);
        format!(
            "(certificate 1 (symbols {names}) (premises) (defined) (goal (false)) (definitions) (proof {squares}))"
        )
    };
    let says = |count: usize| check_text(&long(count)).expect_err("no contradiction");
    assert!(says(20).contains("no contradiction is reached"), "{}", says(20));
    assert!(says(2_000).contains("more work than is allowed"), "{}", says(2_000));
}

/// The lines that `certify --steps` prints of a proof.
fn printed(text: String) -> Vec<String> {
    let (said, _) = sizewise(&["certify", "--steps", "-"], text);
    said.lines().filter_map(|line| line.strip_prefix("    ")).map(str::to_owned).collect()
}

#[test]
fn the_command_prints_what_each_line_is_from() {
    // A goal, definitions, a proof, and its lines without those of the premises.
    let table: [(&str, &str, &str, &[&str]); 11] = [
        (
            "(>= (+ x y) 3)",
            "",
            "(cut x 7 ((combine (1 0) (1 1) (1 2))) ((combine (1 0) (1 1) (1 2))))",
            &[
                "negated-goal   [2] -x - y + 2 >= 0, assuming that this is false: x + y >= 3",
                "cut            cases x <= 7 and x > 7",
                "  case           1 of 2: [3] -x + 7 >= 0",
                "  combine        [4] false, from [0] + [1] + [2]: -1 >= 0",
                "  case           2 of 2: [3] x - 8 >= 0",
                "  combine        [4] false, from [0] + [1] + [2]: -1 >= 0",
            ],
        ),
        (
            "(>= (* x y) (* 3 x))",
            "",
            "(multiply 0 1) (combine (1 3) (1 2))",
            &[
                "negated-goal   [2] 3*x - x*y - 1 >= 0, assuming that this is false: x*y >= 3*x",
                "multiply       [3] -3*x + x*y >= 0, from [0]*[1]",
                "combine        [4] false, from [3] + [2]: -1 >= 0",
            ],
        ),
        (
            "(<= (// x 2) x)",
            "(q (// x 2))",
            "(combine (2 2) (1 3) (1 0))",
            &[
                "definition     q is x // 2",
                "negated-goal   [2] -x + q - 1 >= 0, assuming that this is false: x // 2 <= x",
                "definition     [3] x - 2*q >= 0, as q is x // 2",
                "combine        [5] false, from 2*[2] + [3] + [0]: -2 >= 0",
            ],
        ),
        // What is divided by a common divisor, or rounded, is said as it was before.
        (
            "(>= (* 2 (// x y)) (- 1))",
            "(q (// x y))",
            "(combine (2 2) (1 1)) (outside z3)",
            &[
                "definition     q is x // y",
                "negated-goal   [2] -q - 1 >= 0, assuming that this is false: 2*(x // y) >= -1",
                "combine        [5] y - 2*q - 5 >= 0, from 2*[2] + [1]",
                "outside        z3 finds a contradiction, which nothing checks",
            ],
        ),
        (
            "(!= (- (* x x) (* 4 y)) 2)",
            "",
            "(modulo 4 2)",
            &[
                "negated-goal   [2] x**2 - 4*y - 2 == 0, assuming that this is false: x*x - 4*y != 2",
                "modulo         no residues modulo 4 solve [2]",
            ],
        ),
        (
            "(!= (* 2 x) 3)",
            "",
            "(contradiction 2)",
            &[
                "negated-goal   [2] false, assuming that this is false: 2*x != 3",
                "contradiction  [2] is false",
            ],
        ),
        // Of several ranges, the one that is empty.
        (
            "(or (>= x -1) (>= y 5))",
            "",
            "(enumerate 0 (x 0 2) (y 1 3))",
            &[
                "negated-goal   [2] -x - 2 >= 0, assuming that this is false: x >= -1 or y >= 5",
                "enumerate      there is no assignment with 0 <= x <= -2 by [0] and [2]",
            ],
        ),
        (
            "(or (>= x 2) (>= y 5) (>= (+ x y) 3))",
            "",
            "(enumerate 4 (x 0 2) (y 1 3))",
            &[
                "negated-goal   [2] -x + 1 >= 0, assuming that this is false: x >= 2 or y >= 5 or x + y >= 3",
                "negated-goal   [3] -y + 4 >= 0, assuming that this is false: x >= 2 or y >= 5 or x + y >= 3",
                "enumerate      at each assignment with 0 <= x <= 1 by [0] and [2], 3 <= y <= 4 by [1] and [3] (4 in all) \
                 a premise fails, the goal holds, or an operation has no value",
            ],
        ),
        // What no step uses is not said, but to another solver all is known.
        (
            "(>= (* x (- y 1)) 0)",
            "",
            "(let z (- y 3)) (combine (1 1) (1 3)) (combine (-1 3)) (square (- x y)) (outside z3)",
            &[
                "negated-goal   not (x*(y - 1) >= 0)",
                "let            [3] -y + z + 3 == 0, from z as a new name for y - 3",
                "combine        [4] z >= 0, from [1] + [3]",
                "combine        [5] y - z - 3 == 0, from -[3]",
                "square         [6] -2*x*y + x**2 + y**2 >= 0, from (x - y)**2",
                "outside        z3 finds a contradiction, which nothing checks",
            ],
        ),
        (
            "(< (* x y) y)",
            "",
            "(combine (1 2) (1 0) (1 0)) (combine (1 2)) (divide 4 (- x 1) 1 3) (outside z3)",
            &[
                "negated-goal   [2] x*y - y >= 0, assuming that this is false: x*y < y",
                "combine        [3] 2*x + x*y - y >= 0, from [2] + [0] + [0]",
                "combine        [4] x*y - y >= 0, from [2]",
                "divide         [5] x - 1 >= 0, from [4] as (y)*(x - 1), and [1]: y >= 3",
                "outside        z3 finds a contradiction, which nothing checks",
            ],
        ),
        (
            "(= x 1)",
            "",
            "(split 2 ((combine (2 3) (1 1) (1 1)) (outside z3)) ((equal 0 3) (combine (x 4)) (outside z3)))",
            &[
                "negated-goal   [2] x - 1 != 0, assuming that this is false: x == 1",
                "split          cases of [2]",
                "  case           1 of 2: [3] x - 2 >= 0",
                "  combine        [4] x + y - 5 >= 0, from 2*[3] + [1] + [1]: 2*x + 2*y - 10 >= 0",
                "  outside        z3 finds a contradiction, which nothing checks",
                "  case           2 of 2: [3] -x >= 0",
                "  equal          [4] x == 0, from [0] and [3]",
                "  combine        [5] x**2 == 0, from x*[4]",
                "  outside        z3 finds a contradiction, which nothing checks",
            ],
        ),
    ];
    for (goal, definitions, proof, lines) in table {
        let found = printed(certificate(goal, definitions, proof));
        let (premises, found): (Vec<String>, Vec<String>) =
            found.into_iter().partition(|line| line.starts_with("premise"));
        let known = [
            "premise        [0] x >= 0",
            "premise        [1] y - 3 >= 0, as y >= 3",
            "premise        y >= 3",
            "premise        x >= 0",
        ];
        assert!(premises.iter().all(|line| known.contains(&line.as_str())), "{goal}: {premises:?}");
        assert_eq!(found, lines, "{goal}");
    }
}

/// The checker is to be read in one sitting: the limit is on its lines without remarks and blank ones.
#[test]
fn the_checker_is_small_and_depends_on_integers_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/certificate");
    let files = std::fs::read_dir(folder.join("src")).expect("a folder");
    let texts = files.map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("text"));
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines: usize = texts.map(|text| text.lines().filter(is_code).count()).sum();
    assert!(lines < 1_500, "{lines}");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let used = manifest.split("[dependencies]").nth(1).expect("dependencies");
    assert!(used.lines().all(|line| line.is_empty() || line.starts_with("num-")), "{used}");
}
