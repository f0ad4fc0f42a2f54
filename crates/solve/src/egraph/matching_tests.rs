//! Where left sides of rules match, and what their variables are then.
use super::classes::Classes;
use super::form::Form;
use super::matching::Matcher;
use super::pattern::Bindings;
use super::rule_file;
use sizewise_expr::{Expr, Pool, print, read};

fn of(pool: &mut Pool, text: &str) -> Expr {
    read::closed(pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr
}

/// The matches of a rule's left side with an expression, under some equalities. `known` are variables with
/// values.
fn ways(left: &str, text: &str, equal: &[(&str, &str)], known: &[(usize, &str)], steps: u32) -> Vec<String> {
    let rule = rule_file::parse(&format!("# .\nr: {left} => {left}\n"), "test").expect("a rule").remove(0);
    let (mut pool, mut classes) = (Pool::new(), Classes::default());
    let e = of(&mut pool, text);
    classes.add(&pool, e, |_| ());
    for (a, b) in equal {
        let (a, b) = (of(&mut pool, a), of(&mut pool, b));
        classes.add(&pool, a, |_| ());
        classes.add(&pool, b, |_| ());
        classes.union(a, b);
    }
    classes.rebuild();
    let mut bindings: Bindings = std::iter::repeat_n(None, rule.variables.len()).collect();
    for (i, value) in known {
        bindings[*i] = Some(of(&mut pool, value));
    }
    let mut matcher = Matcher { pool: &mut pool, classes: &classes, steps };
    let found = matcher.partly(&rule.form, e, &bindings);
    let shown = |pool: &Pool, e: &Option<Expr>| e.map_or("?".into(), |e| print::expression(pool, e));
    let mut ways: Vec<String> = found
        .iter()
        .map(|(bindings, rest)| {
            let values: Vec<String> = rule
                .variables
                .iter()
                .zip(bindings)
                .map(|(v, e)| format!("{v}={}", shown(&pool, e)))
                .collect();
            let rest: Vec<String> = rest.iter().map(|e| print::expression(&pool, *e)).collect();
            format!("{}{}{}", values.join(" "), if rest.is_empty() { "" } else { " | " }, rest.join(" "))
        })
        .collect();
    ways.sort();
    ways.dedup();
    ways
}

const PLENTY: u32 = 10_000;

fn assert_ways(table: &[(&str, &str, &[&str])]) {
    let found: Vec<_> = table.iter().map(|(l, t, _)| (*l, *t, ways(l, t, &[], &[], PLENTY))).collect();
    let shown = |ways: &[&str]| ways.iter().map(|w| w.to_string()).collect::<Vec<_>>();
    let wanted: Vec<_> = table.iter().map(|(l, t, ways)| (*l, *t, shown(ways))).collect();
    assert_eq!(found, wanted);
}

#[test]
fn calls_match_operand_by_operand() {
    assert_ways(&[
        ("(// ?a ?b)", "x//y", &["a=x b=y"]),
        ("(// ?a ?b)", "Mod(x, y)", &[]),
        ("(// ?a ?a)", "x//y", &[]),
        ("(// (+ ?a ?b) ?b)", "(x + z)//y", &[]),
        ("(// (+ ?a ?b) ?b)", "(x*z + y)//(y*z)", &[]),
        ("(// (* ?a ?c) (* ?b ?c))", "(x*z)//(y*z + z)", &[]),
        ("(// (% ?a ?b) ?b)", "Mod(x, y)//y", &["a=x b=y"]),
        ("(// (% ?a ?b) ?b)", "Mod(x, z)//y", &[]),
        ("(abs (- ?a ?b))", "Abs(x - y)", &["a=-y b=-x", "a=x b=y"]),
        ("(ite ?c ?a ?b)", "Where(x > 0, y, z)", &["c=x >= 1 a=y b=z"]),
        ("(ite ?c ?a ?a)", "Where(x > 0, y, z)", &[]),
    ]);
}

#[test]
fn operands_in_any_order_leave_the_others_over() {
    assert_ways(&[
        ("(min ?a ?b)", "Min(x, y)", &["a=x b=y", "a=y b=x"]),
        ("(min ?a ?b)", "Min(x, y, z)", &["a=x b=Min(y, z)", "a=y b=Min(x, z)", "a=z b=Min(x, y)"]),
        ("(min (// ?a ?b) ?c)", "Min(x//y, z)", &["a=x b=y c=z"]),
        ("(min (// ?a ?b) (% ?a ?b))", "Min(x//y, Mod(x, y), z)", &["a=x b=y | z"]),
        ("(min (// ?a ?b) (% ?a ?b))", "Min(x//y, Mod(y, x), z)", &[]),
        ("(max ?a ?b)", "Min(x, y)", &[]),
        ("(and ?p (not ?p))", "And(x > 0, Or(x <= 0, y > 0))", &[]),
        (
            "(or (and ?p ?q) ?r)",
            "Or(And(x > 0, y > 0), z > 0)",
            &["p=x >= 1 q=y >= 1 r=z >= 1", "p=y >= 1 q=x >= 1 r=z >= 1"],
        ),
    ]);
}

#[test]
fn up_to_twelve_operands_and_terms_are_matched() {
    let min = |count: usize| {
        let operands: Vec<String> = (1..count).map(|i| format!("s{i}")).collect();
        let text = format!("Min(x//y, {})", operands.join(", "));
        ways("(min (// ?a ?b) ?c)", &text, &[], &[], PLENTY).len()
    };
    assert_eq!((min(2), min(12), min(13)), (1, 1, 0));
    let sum = |count: usize| {
        let terms: Vec<String> = (1..count).map(|i| format!("s{i}")).collect();
        ways("(+ (// ?a ?b) ?c)", &format!("x//y + {}", terms.join(" + ")), &[], &[], PLENTY).len()
    };
    assert_eq!((sum(2), sum(12), sum(13)), (1, 1, 0));
}

#[test]
fn at_most_24_ways_are_found_and_no_step_too_many_is_taken() {
    let operands: Vec<String> = (0..6).map(|i| format!("s{i}//t{i}")).collect();
    let text = format!("Min({})", operands.join(", "));
    let found = ways("(min (// ?a ?b) (// ?c ?d))", &text, &[], &[], PLENTY);
    assert_eq!(found.len(), 24);
    assert_eq!(ways("(// ?a ?b)", "x//y", &[], &[], 0), [""; 0]);
    assert_eq!(ways("(// ?a ?b)", "x//y", &[], &[], 1), ["a=x b=y"]);
}

#[test]
fn sums_take_terms_apart() {
    assert_ways(&[
        ("(+ (% ?a ?b) ?c)", "Mod(x, y) + z + 3", &["a=x b=y c=z + 3"]),
        ("(+ (% ?a ?b) (* ?b (// ?a ?b)))", "Mod(x, y) + y*(x//y)", &["a=x b=y"]),
        ("(+ (% ?a ?b) (* ?b (// ?a ?b)))", "Mod(x, y) + y*(z//y)", &[]),
        ("(+ (% ?a ?b) (* ?b (// ?a ?b)))", "Mod(x, y) + 2*y*(x//y)", &[]),
        ("(- ?a (* ?b (// ?a ?b)))", "x - y*(x//y)", &["a=x b=y"]),
        // A second call is built of what the first one says, not looked for.
        ("(* (// ?a ?b) (% ?a ?b))", "(x//y)*Mod(x, y)", &["a=x b=y"]),
        ("(* (// ?a ?b) (% ?a ?b))", "(x//y)*Mod(y, x)", &[]),
        ("(* (// ?a ?b) (// ?b ?c))", "(x//y)*(y//z)", &[]),
        ("(* ?b (// ?a ?b))", "y*(x//y)", &["b=y a=x"]),
        ("(* ?b (// ?a ?b))", "2*y*(x//y)", &[]),
        ("(* ?c (// ?a ?b))", "3*z*(x//y)", &["c=3*z a=x b=y"]),
        // One of two open factors would be a guess.
        ("(* (* ?c ?d) (abs ?a))", "y*z*Abs(x)", &[]),
        (
            "(== (* ?a ?c) 0)",
            "Eq(x*y, 0)",
            &["a=-x c=y", "a=-y c=x", "a=x c=-y", "a=x c=y", "a=y c=-x", "a=y c=x"],
        ),
        (
            "(== (* ?a ?c) 0)",
            "Eq(x*y + x*z, 0)",
            &["a=-y - z c=x", "a=x c=-y - z", "a=x c=y + z", "a=y + z c=x"],
        ),
        ("(== (* ?a ?c) 0)", "Eq(x*y + z, 0)", &[]),
        ("(<= (* ?a ?c) ?k)", "x*y <= 7", &["a=x c=y k=7", "a=y c=x k=7"]),
        ("(<= (* 2 ?a) ?b)", "2*x <= y", &["a=x b=y"]),
        ("(<= (* 2 ?a) ?b)", "3*x <= y", &[]),
        ("(== ?a ?b)", "Eq(x, y)", &["a=-x b=-y", "a=-y b=-x", "a=x b=y", "a=y b=x"]),
        ("(< ?a ?b)", "x < y", &["a=-y b=-x", "a=x b=y"]),
    ]);
}

#[test]
fn negations_match_complements() {
    assert_ways(&[
        ("(not (<= ?a 0))", "x > 0", &["a=x"]),
        ("(not (<= ?a 0))", "x <= 0", &["a=1 - x"]),
        ("(not (== ?a 0))", "Ne(x, 0)", &["a=-x", "a=x"]),
        ("(not (== ?a 0))", "Eq(x, 0)", &[]),
        ("(not (and ?p ?q))", "Or(x > 0, y > 0)", &["p=x <= 0 q=y <= 0", "p=y <= 0 q=x <= 0"]),
        ("(not ?p)", "Eq(x, 0)", &["p=Ne(x, 0)"]),
        ("(not ?p)", "Ne(x, 0)", &["p=Eq(x, 0)"]),
    ]);
}

#[test]
fn what_is_equal_matches_in_place_of_an_operand() {
    // x is y//z, so the quotient of x by w is one of quotients.
    let left = "(// (// ?a ?b) ?c)";
    assert_eq!(ways(left, "x//w", &[], &[], PLENTY), [""; 0]);
    assert_eq!(ways(left, "x//w", &[("x", "y//z")], &[], PLENTY), ["a=y b=z c=w"]);
    // Everything that is 5 says nothing about a 5 at this place.
    assert_eq!(ways(left, "x//w", &[("x", "5"), ("y//z", "5")], &[], PLENTY), [""; 0]);
    // A bound variable matches every expression that is equal to its value.
    assert_eq!(ways("(// ?a ?b)", "x//w", &[], &[(0, "y")], PLENTY), [""; 0]);
    assert_eq!(ways("(// ?a ?b)", "x//w", &[("x", "y")], &[(0, "y")], PLENTY), ["a=y b=w"]);
    assert_eq!(ways("(// ?a ?a)", "x//w", &[("x", "w")], &[], PLENTY), ["a=w"]);
    // Of a class, six members.
    let names: Vec<String> = (0..7).map(|i| format!("s{i}")).collect();
    let mut equal: Vec<(&str, &str)> = names.iter().map(|n| ("x", n.as_str())).collect();
    equal.push(("x", "y//z"));
    assert_eq!(ways(left, "x//w", &equal, &[], PLENTY), [""; 0]);
    equal.drain(..2);
    assert_eq!(ways(left, "x//w", &equal, &[], PLENTY), [""; 0]);
    let few = [("x", "s0"), ("x", "s1"), ("x", "s2"), ("x", "s3"), ("x", "y//z")];
    assert_eq!(ways(left, "x//w", &few, &[], PLENTY), ["a=y b=z c=w"]);
}

#[test]
fn what_must_be_below_a_root_is_known_before_matching() {
    use super::classes::bit;
    use sizewise_expr::Func;
    let needs = |left: &str| {
        let rule =
            rule_file::parse(&format!("# .\nr: {left} => {left}\n"), "test").expect("a rule").remove(0);
        (rule.form.trigger(), rule.form.needs())
    };
    let table: [(&str, Option<Func>, &[Func]); 6] = [
        ("(// ?a ?b)", Some(Func::FloorDiv), &[]),
        ("(// (% ?a ?b) ?b)", Some(Func::FloorDiv), &[Func::Mod]),
        ("(// (% (min ?a ?c) ?b) ?b)", Some(Func::FloorDiv), &[Func::Mod, Func::Min]),
        ("(== (+ (% ?a ?b) (abs ?c)) 0)", Some(Func::IsZero), &[Func::Mod, Func::Abs]),
        ("(+ (% ?a ?b) (abs ?c))", Some(Func::Mod), &[Func::Mod, Func::Abs]),
        ("(and ?p (not (or ?q ?p)))", Some(Func::And), &[]),
    ];
    for (left, trigger, below) in table {
        assert_eq!(needs(left), (trigger, below.iter().fold(0, |set, f| set | bit(*f))), "{left}");
    }
    let funcs = [Func::FloorDiv, Func::Mod, Func::Min, Func::Max, Func::Abs, Func::Ite, Func::Not];
    for (i, f) in funcs.iter().enumerate() {
        assert_eq!(bit(*f).count_ones(), 1);
        assert!(funcs[..i].iter().all(|g| bit(*g) != bit(*f)));
    }
}

#[test]
fn terms_of_patterns_are_collected() {
    let linear = |left: &str| {
        let rule =
            rule_file::parse(&format!("# .\nr: {left} => {left}\n"), "test").expect("a rule").remove(0);
        let Form::Compare(_, linear) = &rule.form else { panic!("a comparison") };
        let mut terms: Vec<String> = linear
            .terms
            .iter()
            .map(|t| format!("{}{:?}{}", t.coefficient, t.variables, "()".repeat(t.calls.len())))
            .collect();
        terms.sort();
        format!("{} {}", linear.constant, terms.join(" "))
    };
    let table = [
        ("(<= (+ ?a ?b) ?a)", "0 1[1]"),
        ("(<= (+ ?a 3) (+ ?b 1))", "2 -1[1] 1[0]"),
        ("(< (+ ?a 3) (+ ?b 1))", "3 -1[1] 1[0]"),
        ("(<= (* 2 ?a) (* -3 ?a))", "0 5[0]"),
        ("(<= (+ ?a ?a ?a) 4)", "-4 3[0]"),
        ("(<= (* (+ ?a 1) (+ ?a 2)) 0)", "2 1[0, 0] 3[0]"),
        ("(<= (- (* ?a ?b) (* ?b ?a)) 1)", "-1 "),
        ("(<= (- ?a) (abs ?b))", "0 -1[0] -1[]()"),
        ("(<= (+ (abs ?b) (abs ?b)) ?a)", "0 -1[1] 2[]()"),
        ("(<= (+ (abs ?b) (abs ?a)) ?a)", "0 -1[1] 1[]() 1[]()"),
        ("(== (* ?a (abs ?b)) (* (abs ?b) ?c))", "0 -1[2]() 1[0]()"),
        ("(>= ?a 5)", "5 -1[0]"),
        ("(> ?a 5)", "6 -1[0]"),
    ];
    let found = table.map(|(left, _)| (left, linear(left)));
    assert_eq!(found, table.map(|(left, expected)| (left, expected.to_string())));
}
