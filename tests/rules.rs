//! Every rewrite rule is proved: by enumeration over small integers with the exact evaluator, and by Z3 for all
//! integers.
use sizewise::egraph::{Rule, RuleSet};
use sizewise::expr::{Int, Sort, Value};

#[cfg(feature = "smt")]
mod smt;

/// A rule counts as tested when at least this many assignments satisfy its conditions with a defined left side; all
/// of them, where only truth values vary.
const FEWEST: usize = 20;

/// The values that a variable takes: fewer the more variables there are.
fn values(sort: Sort, variables: usize) -> Vec<Value> {
    let reach: i64 = match variables {
        1 => 60,
        0..=2 => 12,
        3 => 9,
        4 => 5,
        5 => 3,
        _ => 2,
    };
    match sort {
        Sort::Bool => vec![Value::Bool(false), Value::Bool(true)],
        _ => (-reach..=reach).map(|v| Value::Int(Int::from(v))).collect(),
    }
}

/// How many assignments satisfy the conditions of a rule, or the first at which it is wrong.
fn enumerate(rule: &Rule) -> Result<usize, String> {
    let choices: Vec<Vec<Value>> = rule.sorts.iter().map(|s| values(*s, rule.sorts.len())).collect();
    let mut index = vec![0; choices.len()];
    let mut satisfied = 0;
    loop {
        let assignment: Vec<Value> = index.iter().zip(&choices).map(|(i, c)| c[*i].clone()).collect();
        let holds = rule.conditions.iter().all(|c| c.evaluate(&assignment));
        if let (true, Ok(left)) = (holds, rule.left.evaluate(&assignment)) {
            satisfied += 1;
            let right = rule.right.evaluate(&assignment);
            if right.as_ref() != Ok(&left) {
                return Err(format!("{}: {left:?} is not {right:?} at {assignment:?}", rule.name));
            }
        }
        let mut place = 0;
        loop {
            if place == index.len() {
                return Ok(satisfied);
            }
            index[place] += 1;
            if index[place] < choices[place].len() {
                break;
            }
            index[place] = 0;
            place += 1;
        }
    }
}

#[test]
fn every_builtin_file_is_read() {
    for (file, text) in RuleSet::builtin_files() {
        if let Err(error) = RuleSet::parse(text, file) {
            panic!("{error}");
        }
    }
    assert!(RuleSet::simplifying().rules().len() >= 60);
}

#[test]
fn names_are_unique_over_all_files() {
    let mut names: Vec<&str> = RuleSet::simplifying().rules().iter().map(|r| r.name.as_str()).collect();
    names.sort_unstable();
    for pair in names.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
}

#[test]
fn every_rule_holds_on_small_integers() {
    for rule in RuleSet::simplifying().rules() {
        match enumerate(rule) {
            Ok(satisfied) if satisfied >= FEWEST => {}
            Ok(1..) if rule.sorts.iter().all(|s| *s == Sort::Bool) => {}
            Ok(satisfied) => panic!("{}: only {satisfied} assignments satisfy the conditions", rule.name),
            Err(wrong) => panic!("{wrong}"),
        }
    }
}

/// Rules that others got wrong, or that hold only under a condition that is left out here.
const WRONG: [&str; 10] = [
    "(* (// ?a ?b) ?b) => ?a",
    "(// (* ?a ?b) ?c) => (* ?a (// ?b ?c))",
    "(// (// ?a ?b) ?c) => (// ?a (* ?b ?c))",
    "(% ?a ?b) => ?a if lt ?a ?b",
    "(// (+ ?a ?c) ?b) => (+ (// ?a ?b) (// ?c ?b))",
    "(== (* ?a ?c) 0) => (== ?a 0)",
    "(<= (* ?a ?c) 0) => (<= ?a 0) if nonzero ?c",
    "(<= ?c (// ?a ?b)) => (<= (* ?b ?c) ?a)",
    "(max (* ?a ?c) (* ?b ?c)) => (* ?c (max ?a ?b))",
    "(+ ?a ?b) => (// (* (+ ?a ?b) ?a) ?a)",
];

#[test]
fn a_wrong_rule_is_caught() {
    for text in WRONG {
        let set = RuleSet::parse(&format!("# wrong\nwrong: {text}"), "wrong.rules").unwrap();
        assert!(enumerate(&set.rules()[0]).is_err(), "{text} passed");
    }
}

#[test]
fn a_rule_that_never_applies_is_caught() {
    let text = "# nothing is both\nvacuous: (+ ?a 1) => ?a if positive ?a, negative ?a";
    let set = RuleSet::parse(text, "vacuous.rules").unwrap();
    assert_eq!(enumerate(&set.rules()[0]), Ok(0));
}

#[test]
fn a_rule_file_error_names_the_place() {
    let cases = [
        ("x: (+ ?a 0) => ?a", "f:1:1: expected a comment with the equation above the rule `x`"),
        ("# e\nx (+ ?a 0) => ?a", "f:2:3: expected `:`, found `(`"),
        ("# e\nx: ?a => ?a", "f:2:4: expected an operation as the left side"),
        ("# e\nx: (foo ?a) => ?a", "f:2:5: expected an operation, found `foo`"),
        ("# e\nx: (// ?a) => ?a", "f:2:5: expected 2 operands of `//`, found 1"),
        ("# e\nx: (+ ?a) => ?a", "f:2:5: expected 2 to 8 operands of `+`, found 1"),
        ("# e\nx: (+ ?a 0 => ?a", "f:2:12: expected a term, found `=>`"),
        ("# e\nx: (+ ?a 0", "f:2:11: expected `)`, found the end of the rule"),
        ("# e\nx: (+ ?a 0) -> ?a", "f:2:13: expected `=>`, found `->`"),
        ("# e\nx: (+ ?a zero) => ?a", "f:2:10: expected a term, found `zero`"),
        ("# e\nx: (+ ?a 0) => ?b", "f:2:16: expected a variable of the left side, found `?b`"),
        ("# e\nx: (+ ?a 0) => (<= ?a 0)", "f:2:16: expected an integer, found a truth value"),
        ("# e\nx: (and ?a (<= ?a 0)) => ?a", "f:2:16: expected an integer, but `?a` is a truth value"),
        ("# e\nx: (+ ?a 0) => ?a when ?a", "f:2:19: expected `if`, found `when`"),
        ("# e\nx: (+ ?a 0) => ?a if nonzero", "f:2:23: expected a term, found the end of the rule"),
        ("# e\nx: (+ ?a 0) => ?a if nonzero ?a positive ?a", "f:2:33: expected `,`, found `positive`"),
        ("# e\nx: (+ ?a 0) => ?a if holds ?a", "f:2:28: expected a truth value, but `?a` is an integer"),
        (
            "# e\nx: (+ ?a 0) => ?a\n# e\nx: (* ?a 1) => ?a",
            "f:4:1: the name `x` is taken by the rule in line 2",
        ),
        ("# e\nx_y: (+ ?a 0) => ?a", "f:2:1: expected a name of letters, digits and `-`, found `x_y`"),
    ];
    for (text, message) in cases {
        match RuleSet::parse(text, "f") {
            Ok(_) => panic!("{text} was read"),
            Err(error) => assert_eq!(error.to_string(), message, "{text}"),
        }
    }
    let unknown = RuleSet::parse("# e\nx: (+ ?a 0) => ?a if prime ?a", "f").unwrap_err().to_string();
    assert!(unknown.starts_with("f:2:22: expected a condition (nonzero, positive,"), "{unknown}");
    assert!(unknown.ends_with("found `prime`"), "{unknown}");
    let deep = format!("# e\nx: {}?a{} => ?a", "(- ".repeat(40), ")".repeat(40));
    let deep = RuleSet::parse(&deep, "f").unwrap_err().to_string();
    assert!(deep.ends_with("expected terms nested at most 32 deep"), "{deep}");
}

#[test]
fn a_rule_says_what_it_is() {
    let text = "# The header.\n\n# a//b == 0 for 0 <= a < b.\n# enumeration only: to show how\nsmall: (// ?a ?b) => 0\n  if nonneg ?a,\n  lt ?a ?b\n";
    let set = RuleSet::parse(text, "f").unwrap();
    let rule = set.find("small").unwrap();
    assert_eq!(rule.equation, "a//b == 0 for 0 <= a < b.");
    assert_eq!(rule.enumeration_only.as_deref(), Some("to show how"));
    assert_eq!((rule.line, rule.conditions.len()), (5, 2));
    assert_eq!(rule.variables, ["a", "b"]);
}
