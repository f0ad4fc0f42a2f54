//! Every rewrite rule applies: an e-graph with this rule alone, which is told its conditions, finds both sides equal.
//! A rule that is proved and never found would go unnoticed.
use sizewise::egraph::{Bindings, Graph, Limits, Rule, RuleSet};
use sizewise::expr::{Expr, Int, Pool, Sort, Value, read};

/// What is put in place of a rule's variables: the integer or the truth value of variable `i`.
struct Operands {
    name: &'static str,
    integer: fn(usize) -> String,
    truth: fn(usize) -> String,
}

const OPERANDS: [Operands; 4] = [
    Operands { name: "symbols", integer: |i| format!("s{i}"), truth: |i| format!("s{i} <= u{i}") },
    Operands {
        name: "sums",
        integer: |i| format!("s{i} + {}*u{i}", i + 2),
        truth: |i| format!("s{i} + 3*u{i} <= 7"),
    },
    Operands { name: "products", integer: |i| format!("s{i}*u{i}"), truth: |i| format!("Eq(s{i}*u{i}, 12)") },
    Operands {
        name: "quotients",
        integer: |i| if i % 2 == 0 { format!("s{i}//(u{i} + 5)") } else { format!("Max(s{i}, u{i})") },
        truth: |i| format!("Mod(s{i}, 7) < u{i}"),
    },
];

/// The rule by itself.
fn alone(rule: &Rule) -> RuleSet {
    let (_, text) = RuleSet::builtin_files().iter().find(|(file, _)| *file == rule.file).expect("its file");
    let lines: Vec<&str> = text.lines().collect();
    let blank = |i: &usize| lines.get(*i).is_none_or(|line| line.trim().is_empty());
    let start = (0..rule.line).rev().find(blank).map_or(0, |i| i + 1);
    let end = (rule.line..=lines.len()).find(blank).unwrap_or(lines.len());
    RuleSet::parse(&lines[start..end].join("\n"), &rule.file).expect("a rule")
}

/// What becomes of both sides.
#[derive(Debug, PartialEq)]
enum Sides {
    /// They are one expression as they are written.
    Same,
    /// The rule finds them equal.
    Found,
    NotFound,
}

fn apply(rule: &Rule, operands: &Operands, told: bool) -> Sides {
    let mut pool = Pool::new();
    let constant = |i: usize| {
        rule.conditions.iter().any(|c| {
            let mut seen = false;
            c.operands.iter().for_each(|p| p.for_each_variable(&mut |v| seen |= v == i));
            c.name == "const" && seen
        })
    };
    let bindings: Bindings = rule
        .sorts
        .iter()
        .enumerate()
        .map(|(i, sort)| {
            let text = match sort {
                _ if constant(i) => "6".to_string(),
                Sort::Bool => (operands.truth)(i),
                _ => (operands.integer)(i),
            };
            Some(read::closed(&mut pool, &text).expect("an operand").expr)
        })
        .collect();
    let mut instance = |p: &sizewise::egraph::Pattern| p.instantiate(&mut pool, &bindings).expect("a term");
    let (left, right) = (instance(&rule.left), instance(&rule.right));
    let facts: Vec<Expr> =
        rule.conditions.iter().filter_map(|c| c.requirement()).map(&mut instance).collect();
    if left == right {
        return Sides::Same;
    }
    let mut graph = Graph::new();
    for fact in facts.into_iter().filter(|_| told) {
        graph.assume(&mut pool, fact);
    }
    graph.add(&mut pool, left);
    graph.add(&mut pool, right);
    graph.saturate(&mut pool, &alone(rule), &Limits::default(), None);
    let equal = pool.eq(left, right);
    let is_found = graph.members(left).contains(&right)
        || graph.normal(&mut pool, left) == graph.normal(&mut pool, right)
        || graph.truth(&mut pool, equal) == Some(true);
    if is_found { Sides::Found } else { Sides::NotFound }
}

/// Rules whose factors are not seen once sums are multiplied out.
const NOT_OF_SUMS: [&str; 7] = [
    "div-cancel",
    "div-split-multiple",
    "ite-scale",
    "mod-drop-multiple",
    "mod-scale",
    "multiple-above",
    "multiple-below",
];
/// Rules whose factors are not seen in sums, nor in products that are one with another factor.
const OF_NEITHER: [&str; 17] = [
    "abs-scale",
    "div-drop-low-part",
    "div-exact-factor",
    "eq-cancel",
    "le-cancel",
    "le-cancel-negative",
    "le-divide",
    "le-product-sign",
    "lt-cancel",
    "lt-cancel-negative",
    "max-common-factor",
    "max-scale",
    "max-scale-negative",
    "min-common-factor",
    "min-scale",
    "mod-drop-product",
    "product-zero",
];

#[test]
fn every_rule_finds_its_two_sides_equal() {
    let mut wrong = Vec::new();
    for rule in RuleSet::simplifying().rules() {
        for operands in &OPERANDS {
            let name = rule.name.as_str();
            let excused = match operands.name {
                "sums" => NOT_OF_SUMS.contains(&name) || OF_NEITHER.contains(&name),
                "products" => OF_NEITHER.contains(&name),
                _ => false,
            };
            let sides = apply(rule, operands, true);
            if (sides == Sides::NotFound) != excused {
                wrong.push(format!("{name} of {}: {sides:?}", operands.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_rule_whose_condition_is_not_known_does_not_apply() {
    for rule in RuleSet::simplifying().rules() {
        if rule.conditions.iter().any(|c| c.requirement().is_some()) {
            assert_ne!(apply(rule, &OPERANDS[0], false), Sides::Found, "{}", rule.name);
        }
    }
}

#[test]
fn proofs_use_all_rules_but_those_for_small_forms() {
    let names =
        |rules: &RuleSet| rules.rules().iter().map(|r| (r.file.clone(), r.name.clone())).collect::<Vec<_>>();
    let for_proofs: Vec<_> = names(RuleSet::simplifying())
        .into_iter()
        .filter(|(file, _)| file != "simplification.rules")
        .collect();
    assert!(!for_proofs.is_empty() && for_proofs.len() < RuleSet::simplifying().rules().len());
    assert_eq!(names(RuleSet::builtin()), for_proofs);
}

#[test]
fn every_operation_of_rules_has_its_value() {
    let table = [
        ("(+ ?a ?b)", "9"),
        ("(- ?a ?b)", "5"),
        ("(- ?a)", "-7"),
        ("(* ?a ?b)", "14"),
        ("(// ?a ?b)", "3"),
        ("(% ?a ?b)", "1"),
        ("(min ?a ?b)", "2"),
        ("(max ?a ?b)", "7"),
        ("(abs (- ?b ?a))", "5"),
        ("(ite (< ?a ?b) 3 4)", "4"),
        ("(ite (<= ?a ?a) 3 4)", "3"),
        ("(ite (< ?a ?a) 3 4)", "4"),
        ("(ite (>= ?a ?b) 3 4)", "3"),
        ("(ite (>= ?a ?a) 3 4)", "3"),
        ("(ite (>= ?b ?a) 3 4)", "4"),
        ("(ite (> ?a ?b) 3 4)", "3"),
        ("(ite (> ?a ?a) 3 4)", "4"),
        ("(ite (> ?b ?a) 3 4)", "4"),
        ("(ite (== ?a ?a) 3 4)", "3"),
        ("(ite (!= ?a ?a) 3 4)", "4"),
        ("(ite (and (< ?b ?a) (< ?a ?b)) 3 4)", "4"),
        ("(ite (or (< ?b ?a) (< ?a ?b)) 3 4)", "3"),
        ("(ite (not (< ?b ?a)) 3 4)", "4"),
    ];
    for (term, expected) in table {
        let text = format!("# both variables\nvalue: (+ (* 0 ?a) (* 0 ?b) {term}) => (+ ?a ?b)");
        let rules = RuleSet::parse(&text, "f").expect("a rule");
        let rule = &rules.rules()[0];
        let values = [Value::Int(Int::from(7)), Value::Int(Int::from(2))];
        let expected: Int = expected.parse().expect("an integer");
        assert_eq!(rule.left.evaluate(&values), Ok(Value::Int(expected)), "{term}");
        // In place of the variables, the same.
        let mut pool = Pool::new();
        let bindings: Bindings = [7, 2].into_iter().map(|v| Some(pool.int(v))).collect();
        let instance = rule.left.instantiate(&mut pool, &bindings).expect("a term");
        assert_eq!(rule.left.evaluate(&values).ok(), pool.constant_value(instance), "{term}");
    }
}
