//! The arguments of number theory, each by itself.
use super::super::reduce::Reduced;
use super::{Lemma, divisors, equations, finite, powers, residues, squares};
use sizewise_expr::{Expr, Int, Pool, Value, print, read};

/// A problem of conditions that are not reduced: the argument sees them as they are written.
fn problem(pool: &mut Pool, conditions: &[&str]) -> Reduced {
    let conditions: Vec<Expr> = conditions
        .iter()
        .map(|text| read::closed(pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr)
        .collect();
    Reduced::as_written(pool, &conditions)
}

type Argument = fn(&mut Pool, &mut Reduced, &mut u32) -> Option<Lemma>;

/// What an argument says: `closed`, or the values of an expression, or nothing.
fn said(argument: Argument, conditions: &[&str]) -> String {
    let mut pool = Pool::new();
    let mut problem = problem(&mut pool, conditions);
    match argument(&mut pool, &mut problem, &mut 100_000) {
        None => "-".to_string(),
        Some(Lemma::Closed) => "closed".to_string(),
        Some(Lemma::Values(e, values)) => {
            let values: Vec<String> = values.iter().map(Int::to_string).collect();
            format!("{} in {}", print::expression(&pool, e), values.join(" "))
        }
    }
}

fn assert_says(argument: Argument, table: &[(&[&str], &str)]) {
    let found: Vec<(&[&str], String)> = table.iter().map(|(c, _)| (*c, said(argument, c))).collect();
    let wanted: Vec<(&[&str], String)> =
        table.iter().map(|(c, expected)| (*c, expected.to_string())).collect();
    assert_eq!(found, wanted);
}

#[test]
fn powers_need_rational_roots() {
    let argument: Argument = |pool, problem, _| powers::refute(pool, problem);
    let table: [(&[&str], &str); 14] = [
        (&["Eq(x**2, 61*y**2)", "y >= 1"], "closed"),
        (&["Eq(x**2, 64*y**2)", "y >= 1"], "-"),
        (&["Eq(4*x**2, 9*y**2)", "y >= 1"], "-"),
        (&["Eq(4*x**2, 3*y**2)", "y >= 1"], "closed"),
        (&["Eq(3*x**2, 4*y**2)", "y >= 1"], "closed"),
        // Both may be 0.
        (&["Eq(x**2, 61*y**2)"], "-"),
        (&["Eq(x**2, 61*y**2)", "y <= -1"], "closed"),
        // Of opposite signs, which an even power has not.
        (&["Eq(x**3, -8*y**3)", "y >= 1"], "-"),
        (&["Eq(x**3, -9*y**3)", "y >= 1"], "closed"),
        // The exponents share 2, or nothing.
        (&["Eq(x**4, 9*y**2)", "y >= 1"], "-"),
        (&["Eq(x**4, 8*y**2)", "y >= 1"], "closed"),
        (&["Eq(x**4, 9*y**3)", "y >= 1"], "-"),
        (&["Eq(x**2, 61*y**2 + 1)", "y >= 1"], "-"),
        (&["x**2 <= 61*y**2", "y >= 1"], "-"),
    ];
    for (conditions, expected) in table {
        assert_eq!(said(argument, conditions), expected, "{conditions:?}");
    }
}

#[test]
fn squares_are_not_negative() {
    let argument: Argument = |pool, problem, _| squares::refute(pool, problem);
    let table: [(&[&str], bool); 13] = [
        (&["x**2 + y**2 - x*y + 1 <= 0"], true),
        (&["x**2 + y**2 - x*y <= 0"], false),
        (&["Eq(x**2 - 2*x*y + y**2, -3)"], true),
        (&["Eq(2*x*y - x**2 - y**2, 3)"], true),
        (&["x**2 - 2*x*y + y**2 <= -3"], true),
        // Not the other way round.
        (&["x**2 - 2*x*y + y**2 >= 3"], false),
        (&["x**2 + 4*x + 5 <= 0"], true),
        (&["x**2 + 4*x + 4 <= 0"], false),
        (&["x**2 + y <= -1"], false),
        (&["x**2 - y**2 <= -1"], false),
        (&["x*y <= -1"], false),
        (&["x**3 + y**2 <= -1"], false),
        (&["x + y <= -1"], false),
    ];
    for (conditions, closed) in table {
        let found = said(argument, conditions);
        assert_eq!(found, if closed { "closed" } else { "-" }, "{conditions:?}");
    }
    // Six unknowns, not seven.
    let sum = |count: usize| {
        let squares: String = (0..count).map(|i| format!("s{i}**2 - s{i}*s0 + ")).collect();
        said(argument, &[&format!("{squares} {count}*s0**2 + 1 <= 0")])
    };
    assert_ne!(sum(6), "-");
    assert_eq!(sum(7), "-");
}

/// Bounds of symbols.
fn within(names: &[&str], low: i64, high: i64) -> Vec<String> {
    names.iter().flat_map(|n| [format!("{n} >= {low}"), format!("{n} <= {high}")]).collect()
}

fn said_within(argument: Argument, names: &[&str], (low, high): (i64, i64), conditions: &[&str]) -> String {
    let mut all = within(names, low, high);
    all.extend(conditions.iter().map(|c| c.to_string()));
    said(argument, &all.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn the_pigeonhole_principle_excludes_solutions() {
    let argument: Argument = |pool, problem, _| finite::cliques(pool, problem);
    let said = |range, conditions: &[&str]| said_within(argument, &["x", "y", "z", "w"], range, conditions);
    let three = ["Ne(x, y)", "Ne(y, z)", "Ne(x, z)"];
    assert_eq!(said((4, 5), &three), "closed");
    assert_eq!(said((4, 6), &three), "-");
    // A triangle lacks an edge.
    assert_eq!(said((4, 5), &three[..2]), "-");
    assert_eq!(said((4, 5), &["Ne(x, y)", "Ne(y, z)", "Ne(z, w)", "Ne(x, w)"]), "-");
    // Not the same as to be different: x == -y, a distance, a multiple.
    for other in ["Ne(x, -z)", "Ne(x, z + 1)", "Ne(2*x, z)", "Ne(x*w, z)", "x <= z"] {
        assert_eq!(said((4, 5), &["Ne(x, y)", "Ne(y, z)", other]), "-", "{other}");
    }
    let four = ["Ne(x, y)", "Ne(y, z)", "Ne(x, z)", "Ne(x, w)", "Ne(y, w)", "Ne(z, w)"];
    assert_eq!(said((-1, 1), &four), "closed");
    assert_eq!(said((-1, 2), &four), "-");
    // The clique is found although other nodes have more neighbours.
    let star = ["Ne(w, x)", "Ne(w, y)", "Ne(w, z)", "Ne(w, u)", "Ne(w, v)", "Ne(x, u)"];
    let names = ["x", "y", "z", "w", "u", "v"];
    let said = said_within(argument, &names, (4, 5), &star);
    assert_eq!(said, "closed");
    // Those with the most neighbours are looked at first: here each of three has three of its own besides.
    let mut crowd: Vec<String> = three.iter().map(|c| c.to_string()).collect();
    for (hub, from) in [("x", 0), ("y", 3), ("z", 6)] {
        crowd.extend((from..from + 3).map(|i| format!("Ne({hub}, p{i})")));
    }
    let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
    let names = ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "x", "y", "z"];
    let found = said_within(argument, &names, (4, 5), &crowd);
    assert_eq!(found, "closed");
    // Expressions with 4096 values are counted, and with one more not.
    let many = |range: (i64, i64)| said_within(argument, &["x", "y", "z"], range, &three);
    assert_eq!(many((1, 4096)), "-");
}

#[test]
fn all_assignments_of_symbols_with_few_values_are_tried() {
    let argument: Argument = finite::enumerate;
    let said = |range, conditions: &[&str]| said_within(argument, &["x", "y"], range, conditions);
    let closed = "closed";
    assert_eq!(said((0, 9), &["Eq(x*x + y*y, 7)"]), closed);
    assert_eq!(said((0, 9), &["Eq(x*x + y*y, 8)"]), "-");
    assert_eq!(said((-9, 9), &["Eq(Mod(x*y, 4), 3)", "Eq(Mod(x, 4), Mod(y, 4))", "x < 0", "y < x"]), closed);
    // Conditions on other symbols are left alone.
    assert_eq!(said((0, 9), &["Eq(x*x + y*y, 7)", "z > x"]), closed);
    assert_eq!(said((0, 9), &["Eq(x*x + y*z, 7)", "z > x"]), "-");
    // 64 values, and one more.
    assert_eq!(said((0, 63), &["Eq(Mod(x*x + y*y, 8), 3)"]), closed);
    assert_eq!(said((0, 64), &["Eq(Mod(x*x + y*y, 8), 3)"]), "-");
    // What the code cannot compute is no contradiction.
    assert_eq!(said((0, 9), &["Eq(x*x + (y & 3), 100)"]), "-");
    // The steps run out.
    let mut pool = Pool::new();
    let conditions = ["x >= 0", "x <= 9", "y >= 0", "y <= 9", "Eq(x*x + y*y, 7)"];
    let mut problem = problem(&mut pool, &conditions);
    let mut left = 1_000;
    assert!(finite::enumerate(&mut pool, &mut problem, &mut left).is_some());
    let mut enough = 1_000 - left;
    assert!(finite::enumerate(&mut pool, &mut problem, &mut enough).is_some());
    let mut less = 999 - left;
    assert!(finite::enumerate(&mut pool, &mut problem, &mut less).is_none());
    assert_eq!(1_000 - left, STEPS_OF_THE_ENUMERATION);
}

/// Recorded: fewer are better.
const STEPS_OF_THE_ENUMERATION: u32 = 12;

#[test]
fn divisors_of_a_constant_are_few() {
    assert_says(
        divisors::values,
        &[
            (&["Eq(x*y, 6)"], "x in -1 1 -2 2 -3 3 -6 6"),
            (&["Eq(x*y, 6)", "x >= 0"], "x in 1 2 3 6"),
            (&["Eq(x*y, 6)", "y >= 2"], "x in 1 2 3"),
            (&["Eq(x*y, 6)", "x >= 4", "x <= 5"], "x in "),
            (&["Eq(2*x*y, 12)", "x >= 0"], "x in 1 2 3 6"),
            (&["Eq(x**2*y, 12)", "x >= 0"], "x in 1 2"),
            (&["Eq(x*y + 3*x, 10)", "x >= 0"], "x in 1 2 5 10"),
            (&["Eq(x*y + 3*x*z, 10)", "x >= 0"], "x in 1 2 5 10"),
            // (2*x + 3)*(2*y + 5) == 2*7 + 15.
            (&["Eq(2*x*y + 5*x + 3*y, 7)"], "x in -2 -1 -16 13"),
            (&["Eq(2*x*y + 5*x + 3*y, 7)", "x >= 0"], "x in 13"),
            (&["Eq(x*y + x + y, 5)", "x >= 0"], "x in 0 1 2 5"),
            (&["Eq(x*y - x, 5)", "x >= 0"], "x in 1 5"),
            (&["Eq(3*x*y + y, 8)"], "y in -1 2 -4 8"),
            // Nothing is left that divides: 0 == x*y, a third unknown, a square beside.
            (&["Eq(x*y, 0)"], "-"),
            (&["Eq(x*y + z, 5)"], "-"),
            (&["Eq(x**2*y + x*y**2 + y, x + 5)"], "-"),
            (&["Eq(x**2 + x*y + y, 5)"], "-"),
            (&["Eq(x + y, 6)"], "-"),
            (&["x*y <= 6"], "-"),
            // Of two equations, the one that leaves fewer.
            (&["Eq(x*y, 720)", "Eq(z*w, 6)"], "z in -1 1 -2 2 -3 3 -6 6"),
            (&["Eq(x*y, 6)", "Eq(z*w, 720)"], "x in -1 1 -2 2 -3 3 -6 6"),
        ],
    );
    let count = |n: &str| {
        let said = said(divisors::values, &[&format!("Eq(x*y, {n})"), "x >= 0", "y >= 0"]);
        said.matches(' ').count().saturating_sub(1)
    };
    // 2^5*3^3*5*7 has 96 divisors, 2^6*3^3*5*7 has 112.
    assert_eq!((count("30240"), count("60480")), (96, 0));
}

/// The values of `x` and `y` in the proposals, as far as they fit in 64 bits.
fn proposed(conditions: &[&str]) -> Vec<(i64, i64)> {
    let mut pool = Pool::new();
    let (x, y) = (pool.symbol("x"), pool.symbol("y"));
    let (x, y) = (pool.as_symbol(x).expect("a symbol"), pool.as_symbol(y).expect("a symbol"));
    let mut problem = problem(&mut pool, conditions);
    let found = equations::solutions(&pool, &mut problem);
    for values in &found {
        for c in &problem.conditions {
            let at = |s| values.get(&s).cloned().map(Value::Int);
            assert_eq!(pool.eval(*c, at), Ok(Value::Bool(true)), "{values:?} of {conditions:?}");
        }
    }
    found.iter().filter_map(|values| Some((values[&x].to_i64()?, values[&y].to_i64()?))).collect()
}

#[test]
fn solutions_of_equations_in_two_unknowns_are_proposed() {
    let sorted = |mut found: Vec<(i64, i64)>| {
        found.sort_unstable();
        found.dedup();
        found
    };
    // All that there are.
    let circle = sorted(proposed(&["Eq(x**2 + y**2, 25)"]));
    let wanted: Vec<(i64, i64)> =
        (-5..=5).flat_map(|x| (-5..=5).map(move |y| (x, y))).filter(|(x, y)| x * x + y * y == 25).collect();
    assert_eq!(circle, wanted);
    assert_eq!(sorted(proposed(&["Eq(x**2 + y**2, 25)", "x >= 1", "y >= 1"])), [(3, 4), (4, 3)]);
    assert_eq!(
        sorted(proposed(&["Eq(x*y + x + y, 11)", "x >= 0", "y >= 0"])),
        [(0, 11), (1, 5), (2, 3), (3, 2), (5, 1), (11, 0)]
    );
    assert_eq!(
        sorted(proposed(&["Eq(x**2 + x, y)", "y >= 0", "y <= 30", "x >= 0"])),
        [(0, 0), (1, 2), (2, 6), (3, 12), (4, 20), (5, 30)]
    );
    let conic = |(x, y): (i64, i64)| 2 * x * x - 3 * x * y + y * y + 2 * x - y == 3;
    let wanted: Vec<(i64, i64)> =
        (-9..=9).flat_map(|x| (-90..=90).map(move |y| (x, y))).filter(|at| conic(*at)).collect();
    let found = sorted(proposed(&["Eq(2*x**2 - 3*x*y + y**2 + 2*x - y, 3)", "x >= -9", "x <= 9"]));
    assert_eq!((found.len() > 1, found), (true, wanted));
    assert_eq!(sorted(proposed(&["Eq(x**2 + y**2, 3)"])), []);
    // Pell's equation, far beyond the small values.
    assert_eq!(proposed(&["Eq(x**2 - 61*y**2, 1)", "x >= 2", "y >= 1"])[0], (1_766_319_049, 226_153_980));
    assert_eq!(proposed(&["Eq(x**2 - 2*y**2, 1)", "x >= 1000", "y >= 1"])[0], (3_363, 2_378));
    assert_eq!(proposed(&["Eq(x**2 - 2*y**2, 9)", "x >= 3000", "y >= 1"])[0], (10_089, 7_134));
    assert_eq!(proposed(&["Eq(3*x**2 - 2*y**2, 1)", "x >= 500", "y >= 1"])[0], (881, 1_079));
    assert_eq!(proposed(&["Eq(x**2 - 2*y**2, 1)", "x <= -1000", "y >= 1"])[0], (-3_363, 2_378));
    assert_eq!(proposed(&["Eq(x**2 - 2*y**2, 1)", "x >= 1000", "y <= -1"])[0], (3_363, -2_378));
    assert_eq!(proposed(&["Eq(2*y**2 - x**2, -1)", "x <= -1000", "y <= -1"])[0], (-3_363, -2_378));
    // Forty are enough.
    assert_eq!(proposed(&["Eq(x**2 - 2*y**2, 1)", "x <= 100000000", "x >= -100000000"]).len(), 40);
    assert_eq!(proposed(&["Eq(y, x**2)"]).len(), 40);
    // A square under the root has no such fractions, and a third unknown or power no such equation.
    assert_eq!(sorted(proposed(&["Eq(x**2 - 4*y**2, 9)", "x >= 0", "y >= 0"])), [(3, 0), (5, 2)]);
    for other in ["Eq(x**2 - 2*y**2 + z, 1)", "Eq(x**3 - 2*y**2, 1)", "Eq(x - y, 1)", "x**2 - 2*y**2 <= 1"] {
        assert_eq!(proposed(&[other]), [], "{other}");
    }
}

#[test]
fn residues_exclude_what_has_no_solution_modulo_something() {
    let argument: Argument = |pool, problem, steps| residues::refute(pool, &problem.unexpanded, steps);
    assert_says(
        argument,
        &[
            (&["Eq(Mod(x**2, 4), 2)"], "closed"),
            (&["Eq(Mod(x**2, 4), 1)"], "-"),
            (&["Eq(Mod(x**3 + y**3 + z**3, 9), 4)"], "closed"),
            (&["Eq(x**2 - 2*y**2, 5)"], "closed"),
            (&["Eq(x**2 - 2*y**2, 7)"], "-"),
            (&["Eq(x**2 + y**2, 4*z + 3)"], "closed"),
            (&["Eq(x**2 + y**2, 4*z + 1)"], "-"),
            (&["Eq(x**2 - 7*y**2, 3)"], "closed"),
            // Part by part.
            (&["Ne(Mod(x**5 - x, 30), 0)"], "closed"),
            (&["Ne(Mod(x**5 - x, 60), 0)"], "-"),
            // Alternatives and conjunctions.
            (
                &["Eq(x**2 - 3*y, 1)", "Or(Eq(Mod(x, 3), 0), And(Eq(Mod(x, 3), 1), Eq(Mod(x, 3), 2)))"],
                "closed",
            ),
            (&["Eq(x**2 - 3*y, 1)", "Or(Eq(Mod(x, 3), 0), Eq(Mod(x, 3), 2))"], "-"),
            (&["Eq(Mod(x*x, 3), 2)", "Or(y > 0, z > 0)"], "closed"),
            (&["Or(Eq(Mod(x*x, 3), 2), y > 0)"], "-"),
            (&["Or(Eq(Mod(x*x, 3), 2), Eq(Mod(x*x, 4), 3))"], "closed"),
            (
                &["Eq(Mod(x**2, 4), 1)", "Or(Eq(Mod(x, 4), 0), And(Eq(Mod(x, 4), 2), Eq(Mod(x**2, 8), 4)))"],
                "closed",
            ),
            (&["And(Eq(Mod(x*x, 3), 1), Eq(Mod(x, 3), 0))"], "closed"),
            (&["And(Eq(Mod(x*x, 3), 1), Eq(Mod(x, 3), 2))"], "-"),
            (&["Mod(x*x, 4) > 1"], "closed"),
            (&["Mod(x*x, 4) > 0"], "-"),
            (&["Mod(x*x, 5) + Mod(x, 5) <= 1", "Mod(x, 5) >= 1"], "closed"),
            (&["Mod(x*x, 5) + Mod(x, 5) <= 2", "Mod(x, 5) >= 1"], "-"),
            (&["Eq(Mod(x, 6), 1)", "Eq(Mod(x, 4), 2)"], "closed"),
            (&["Eq(Mod(x, 6), 1)", "Eq(Mod(x, 4), 3)"], "-"),
            // What residues know nothing of is anything.
            (&["Eq(Mod(x//2, 4), Mod(y, 4) + 7)"], "closed"),
            (&["Eq(Mod(Min(x, y)**2, 4), 2)"], "closed"),
            (&["Eq(Mod(Where(x > y, x, z)**2, 3), 2)"], "closed"),
            (&["Eq(x**2, 2*y + z)"], "-"),
            (&["x**2 <= 5"], "-"),
            (&["Eq(2*x, 2*y + 1)"], "-"),
            // A finer modulus than the one that is asked about.
            (&["Eq(Mod(x*y, 3), 0)", "Ne(Mod(x, 3), 0)", "Ne(Mod(y, 3), 0)"], "closed"),
            (&["Eq(Mod(x, 2), 1)", "Eq(Mod(y, 2), 1)", "Eq(x**2 + y**2, z**2)"], "closed"),
            (&["Eq(x**2 + y**2, 3*z**2)", "Ne(Mod(z, 3), 0)"], "closed"),
        ],
    );
}

#[test]
fn residues_take_no_more_steps_than_allowed() {
    let mut pool = Pool::new();
    let problem = problem(&mut pool, &["Eq(Mod(x**3 + y**3 + z**3, 9), 4)"]);
    let mut cost = |allowed: u32| {
        let mut left = allowed;
        let closed = residues::refute(&mut pool, &problem.unexpanded, &mut left).is_some();
        (closed, allowed - left)
    };
    let (closed, steps) = cost(100_000);
    assert!(closed);
    assert_eq!(cost(steps), (true, steps));
    assert!(!cost(steps - 1).0);
    assert_eq!(steps, STEPS_OF_THE_CUBES);
}

/// Recorded: fewer are better.
const STEPS_OF_THE_CUBES: u32 = 819;
