//! Laws of sizes that only data decides: is there, for every size that is allowed, some data that passes?
mod choices;

use crate::campaign;

use campaign::{config, count};
use proptest::prelude::*;
use sizewise::check::{Checker, Shapes};
use sizewise::expr::{Evaluator, Expr, Int, Pool, Symbol, Value, read};
use sizewise::ir::pt2::write_json;
use sizewise::ir::{Argument, Bounds, Dtype, Program};
use sizewise::kernels::Operators;
use sizewise::pass::{Proxy, Tracer};
use sizewise::range::ValueRange;
use sizewise::report::guard_code::Language;
use sizewise::report::{ConditionKind, GuardReport, GuardVerdict, Outcome, Report};
use sizewise::solve::{Budget, Facts, Feasibility, feasible};
use sizewise::spec::Shape;

/// The sizes of inputs, and those that data decides.
const SIZES: [&str; 2] = ["s0", "s1"];
const DATA: [&str; 2] = ["u0", "u1"];
/// Data is sought within this distance of 0: conditions are made of small numbers.
const WINDOW: i64 = 40;

/// A number made of sizes and data: the names count through [`SIZES`], then [`DATA`].
#[derive(Clone, Debug)]
enum Term {
    Name(usize),
    Constant(i64),
    Call(&'static str, Box<Term>, Box<Term>),
}

/// A comparison of two numbers.
#[derive(Clone, Debug)]
struct Comparison(&'static str, Term, Term);

fn term(names: std::ops::Range<usize>) -> BoxedStrategy<Term> {
    let name = move || names.clone().prop_map(Term::Name);
    let constant = |from: i64, to: i64| (from..to).prop_map(Term::Constant);
    let call = |op, a: BoxedStrategy<Term>, b: BoxedStrategy<Term>| {
        (a, b).prop_map(move |(a, b)| Term::Call(op, Box::new(a), Box::new(b))).boxed()
    };
    let multiple = call("mul", constant(2, 4).boxed(), name().boxed());
    prop_oneof![
        4 => name(),
        2 => constant(-3, 9),
        2 => call("add", name().boxed(), name().boxed()),
        2 => call("add", multiple, constant(-2, 4).boxed()),
        1 => call("mul", name().boxed(), name().boxed()),
        1 => call("floordiv", name().boxed(), constant(2, 5).boxed()),
        1 => call("mod", name().boxed(), constant(2, 5).boxed()),
    ]
    .boxed()
}

fn comparison() -> impl Strategy<Value = Comparison> {
    let all = 0..SIZES.len() + DATA.len();
    let op = prop::sample::select(vec!["eq", "ne", "le", "ge", "lt", "gt"]);
    (op, term(SIZES.len()..all.end), term(all)).prop_map(|(op, a, b)| Comparison(op, a, b))
}

fn symbol(op: &str) -> &'static str {
    let table = [
        ("add", "+"),
        ("mul", "*"),
        ("floordiv", "//"),
        ("mod", "%"),
        ("eq", "=="),
        ("ne", "!="),
        ("le", "<="),
        ("ge", ">="),
        ("lt", "<"),
        ("gt", ">"),
    ];
    table.iter().find(|(name, _)| *name == op).expect("an operator").1
}

impl Term {
    fn text(&self) -> String {
        match self {
            Term::Name(i) => [&SIZES[..], &DATA[..]].concat()[*i].to_string(),
            Term::Constant(v) => format!("({v})"),
            Term::Call(op, a, b) => format!("({} {} {})", a.text(), symbol(op), b.text()),
        }
    }

    /// The number at values of the names. What is divided by is a constant above 1.
    fn at(&self, values: &[i64]) -> i64 {
        match self {
            Term::Name(i) => values[*i],
            Term::Constant(v) => *v,
            Term::Call(op, a, b) => {
                let (a, b) = (a.at(values), b.at(values));
                match *op {
                    "add" => a + b,
                    "mul" => a * b,
                    "floordiv" => a.div_euclid(b),
                    _ => a.rem_euclid(b),
                }
            }
        }
    }

    /// The term as calls of a program in which `names` are numbers.
    fn call(&self, tracer: &mut Tracer, names: &[Proxy]) -> Argument {
        match self {
            Term::Name(i) => names[*i].into(),
            Term::Constant(v) => Argument::Int(*v),
            Term::Call(op, a, b) => {
                let given = [("a", a.call(tracer, names)), ("b", b.call(tracer, names))];
                tracer.call(&format!("_operator.{op}"), given).expect("a number")[0].into()
            }
        }
    }
}

impl Comparison {
    fn text(&self) -> String {
        format!("{} {} {}", self.1.text(), symbol(self.0), self.2.text())
    }

    fn holds(&self, values: &[i64]) -> bool {
        let (a, b) = (self.1.at(values), self.2.at(values));
        match self.0 {
            "eq" => a == b,
            "ne" => a != b,
            "le" => a <= b,
            "ge" => a >= b,
            "lt" => a < b,
            _ => a > b,
        }
    }

    /// The range that the comparison leaves a number of the data, as torch records it: of a comparison with a constant.
    fn range_of(&self, name: usize) -> Option<Bounds> {
        let (op, limit) = match (&self.1, &self.2) {
            (Term::Name(i), Term::Constant(limit)) if *i == name => (self.0, *limit),
            _ => return None,
        };
        let (min, max) = match op {
            "eq" => (Some(limit), Some(limit)),
            "le" => (None, Some(limit)),
            "ge" => (Some(limit), None),
            "lt" => (None, Some(limit - 1)),
            "gt" => (Some(limit + 1), None),
            _ => return None,
        };
        Some(Bounds { min, max })
    }
}

/// Ranges of the sizes and conditions on sizes and data.
#[derive(Clone, Debug)]
struct Question {
    ranges: Vec<(i64, i64)>,
    conditions: Vec<Comparison>,
    /// Which numbers of the data count elements of as many as the size at the same place; the others may be any.
    counts: [bool; 2],
}

fn condition_of(pool: &mut Pool, text: &str) -> Expr {
    let read = read::closed(pool, text).unwrap_or_else(|error| panic!("`{text}`: {error}"));
    pool.truth(read.expr)
}

fn questions(counts: bool) -> impl Strategy<Value = Question> {
    let range = (0..7i64, 0..5i64).prop_map(|(low, length)| (low, low + length));
    let ranges = prop::collection::vec(range, SIZES.len());
    (ranges, prop::collection::vec(comparison(), 1..5), [any::<bool>(), any::<bool>()]).prop_map(
        move |(ranges, conditions, counted)| Question {
            ranges,
            conditions,
            counts: counted.map(|counted| counts && counted),
        },
    )
}

impl Question {
    fn sizes(&self) -> Vec<[i64; 2]> {
        let [(a, b), (c, d)] = self.ranges[..] else { return Vec::new() };
        (a..=b).flat_map(|x| (c..=d).map(move |y| [x, y])).collect()
    }

    /// The range of a number of the data that a program records which asserts the conditions.
    fn recorded(&self, name: usize) -> Bounds {
        let ranges = self.conditions.iter().filter_map(|condition| condition.range_of(name));
        ranges.fold(Bounds::default(), |known, range| Bounds {
            min: known.min.max(range.min),
            max: [known.max, range.max].into_iter().flatten().min(),
        })
    }

    fn holds(&self, values: &[i64]) -> bool {
        self.conditions.iter().all(|condition| condition.holds(values))
    }

    /// Whether some data of the window satisfies the conditions at given sizes.
    fn passes(&self, [s0, s1]: [i64; 2]) -> bool {
        count(1);
        // 0, -1, 1, -2, 2 and so on.
        let near = || (0..=2 * WINDOW).map(|v| if v % 2 == 0 { v / 2 } else { -(v + 1) / 2 });
        let may_be = |at: usize, u: i64, size: i64| !self.counts[at] || (0..=size).contains(&u);
        near()
            .filter(|&u0| may_be(0, u0, s0))
            .any(|u0| near().filter(|&u1| may_be(1, u1, s1)).any(|u1| self.holds(&[s0, s1, u0, u1])))
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_choice_is_there_where_enumeration_finds_one(question in questions(false)) {
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        for (name, &(low, high)) in SIZES.iter().zip(&question.ranges) {
            let e = pool.symbol(name);
            let symbol = pool.as_symbol(e).expect("a symbol");
            facts.declare(&mut pool, symbol, ValueRange::between(low.into(), high.into()));
        }
        let chosen: Vec<Symbol> = DATA.iter().map(|name| {
            let e = pool.symbol(name);
            pool.as_symbol(e).expect("a symbol")
        }).collect();
        let conditions: Vec<Expr> =
            question.conditions.iter().map(|condition| condition_of(&mut pool, &condition.text())).collect();
        let found = feasible(&mut pool, &mut facts, &chosen, &conditions, &Budget::default());
        match &found {
            Feasibility::Always => {
                // What is found may lie beyond the window only where sizes do not bound it.
                for sizes in question.sizes() {
                    prop_assert!(
                        question.passes(sizes) || reaches_far(&question),
                        "no data at {sizes:?} for {question:?}"
                    );
                }
            }
            Feasibility::Never { witness, condition, .. } => {
                let at = |name: &str| {
                    let symbol = pool.find_symbol(name)?;
                    witness.iter().find(|(s, _)| *s == symbol)?.1.to_i64()
                };
                let sizes = [at("s0").expect("a value"), at("s1").expect("a value")];
                prop_assert!(question.sizes().contains(&sizes), "{sizes:?} is not allowed by {question:?}");
                prop_assert!(!question.passes(sizes), "data at {sizes:?} for {question:?}");
                let false_there = pool.eval(*condition, |s| {
                    witness.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(v.clone()))
                });
                prop_assert_eq!(false_there, Ok(Value::Bool(false)), "what {:?} needs", question);
            }
            Feasibility::Open(_) => {}
        }
    }
}

/// Whether the conditions may need data beyond the window: products, multiples and quotients are not followed.
fn reaches_far(question: &Question) -> bool {
    question.conditions.iter().any(|Comparison(_, a, b)| scales(a) || scales(b))
}

fn scales(term: &Term) -> bool {
    match term {
        Term::Call(op, a, b) => matches!(*op, "mul" | "floordiv") || scales(a) || scales(b),
        Term::Name(_) | Term::Constant(_) => false,
    }
}

/// A program that takes `x: f32[s0, s1]` and two numbers that data decides (what a tensor holds, or how many of its
/// elements are not zero), asserts the comparisons, and records the ranges that they leave the numbers; none where
/// one of them is false for all data.
fn program(operators: &Operators, question: &Question) -> Option<Program> {
    let mut tracer = Tracer::new(operators);
    for (name, &(low, high)) in SIZES.iter().zip(&question.ranges) {
        tracer.size(name, low, Some(high), high).expect("a size");
    }
    let x = tracer.tensor("x", Dtype::Float32, &SIZES).expect("an input");
    let mut names = Vec::new();
    for dim in 0..2 {
        let given = [("self", x.into()), ("dim", Argument::Int(dim))];
        names.push(tracer.call("aten.sym_size.int", given).expect("a size")[0]);
    }
    for (at, name) in DATA.iter().enumerate() {
        let sizes = if question.counts[at] { &SIZES[at..=at] } else { &[] };
        let data = tracer.tensor(&format!("{name}_data"), Dtype::Int64, sizes).expect("an input");
        let made = match question.counts[at] {
            true => {
                let found =
                    tracer.call("aten.nonzero.default", [("self", data.into())]).expect("positions")[0];
                let given = [("self", found.into()), ("dim", Argument::Int(0))];
                tracer.call("aten.sym_size.int", given).expect("a size")
            }
            false => tracer.call("aten.item.default", [("self", data.into())]).expect("a number"),
        };
        names.push(made[0]);
    }
    for Comparison(op, a, b) in &question.conditions {
        let given = [("a", a.call(&mut tracer, &names)), ("b", b.call(&mut tracer, &names))];
        let Some(&holds) = tracer.call(&format!("_operator.{op}"), given).ok()?.first() else { continue };
        let message = Argument::Str("a condition".into());
        tracer.call("aten._assert_scalar.default", [("self", holds.into()), ("assert_msg", message)]).ok()?;
    }
    let mut program = tracer.finish(&[x]).program;
    for (at, name) in DATA.iter().enumerate() {
        program.range_constraints.insert((*name).into(), question.recorded(SIZES.len() + at));
    }
    Some(program)
}

/// The inputs of [`program`] at given sizes.
fn shapes(question: &Question, sizes: [i64; 2]) -> Shapes {
    let shape = Shape::Tensor(sizes.map(Int::from).to_vec());
    let counted = (0..2).filter(|&at| question.counts[at]);
    let data = counted
        .map(|at| (format!("{}_data", DATA[at]).as_str().into(), Shape::Tensor(vec![Int::from(sizes[at])])));
    [("x".into(), shape)].into_iter().chain(data).collect()
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn a_program_is_ok_only_where_some_data_passes(question in questions(true)) {
        let operators = Operators::new();
        let Some(program) = program(&operators, &question) else { return Ok(()) };
        let json = write_json(&program).expect("JSON");
        let checker = Checker::read("drawn", json.as_bytes()).expect("a program");
        let report = checker.check(None, &operators, &Budget::default()).expect("a report");
        let evaluator = checker.evaluator(&operators).expect("an evaluator");
        for sizes in question.sizes() {
            let passes = question.passes(sizes);
            prop_assert!(
                passes || report.verdict != Outcome::Ok || reaches_far(&question),
                "ok, and no data passes at {sizes:?}: {question:?}"
            );
            let accepted = evaluator.evaluate(&shapes(&question, sizes));
            prop_assert!(
                !passes || accepted.is_ok(),
                "{sizes:?} are refused, and data passes: {accepted:?} of {question:?}",
                accepted = accepted.as_ref().err()
            );
        }
        for guard in report.guards.iter().filter(|g| g.kind == ConditionKind::Runtime) {
            if guard.verdict == GuardVerdict::Violated {
                let inputs = guard.inputs.as_ref().expect("inputs");
                let sizes = [inputs["x"][0].as_i64(), inputs["x"][1].as_i64()].map(|v| v.expect("a size"));
                prop_assert!(!question.passes(sizes), "data passes at {sizes:?}: {question:?}");
            }
        }
    }

    /// What a report says that data need of sizes is needed: where it is false, no data passes.
    #[test]
    fn no_condition_is_claimed_that_data_do_not_need(question in questions(true)) {
        let operators = Operators::new();
        let Some(program) = program(&operators, &question) else { return Ok(()) };
        let json = write_json(&program).expect("JSON");
        let checker = Checker::read("drawn", json.as_bytes()).expect("a program");
        let report = checker.check(None, &operators, &Budget::default()).expect("a report");
        let claimed = |guard: &&GuardReport| {
            guard.kind == ConditionKind::Runtime && guard.verdict == GuardVerdict::Violated
        };
        for guard in report.guards.iter().filter(claimed) {
            let mut pool = Pool::new();
            let condition = read::closed(&mut pool, &guard.expr).expect("a condition").expr;
            for sizes in question.sizes() {
                count(1);
                let value = |s: Symbol| {
                    let at = SIZES.iter().position(|name| *name == pool.symbol_name(s))?;
                    Some(Value::Int(Int::from(sizes[at])))
                };
                let is_false = pool.eval(condition, value) == Ok(Value::Bool(false));
                prop_assert!(
                    !is_false || !question.passes(sizes),
                    "`{}` is claimed, and data passes at {sizes:?}: {question:?}",
                    guard.expr
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(config(150))]

    /// A guard set takes the sizes at which some data passes, those of 0 and 1 too, and none that are refused.
    #[test]
    fn a_guard_set_takes_what_is_served(question in questions(true)) {
        let operators = Operators::new();
        let Some(program) = program(&operators, &question) else { return Ok(()) };
        let json = write_json(&program).expect("JSON");
        let checker = Checker::read("drawn", json.as_bytes()).expect("a program");
        let evaluator = checker.evaluator(&operators).expect("an evaluator");
        let Ok(set) = checker.session(&operators).expect("a session").guard_set() else { return Ok(()) };
        let near = [0, 1, 2, 3, 5].into_iter().flat_map(|s0| [0, 1, 2, 4].map(|s1| [s0, s1]));
        for sizes in near.chain(question.sizes()) {
            let value = |s: Symbol| {
                let at = SIZES.iter().position(|name| *name == set.pool.symbol_name(s))?;
                Some(Value::Int(Int::from(sizes[at])))
            };
            let taken = set.conditions.iter().all(|&c| set.pool.eval(c, value) == Ok(Value::Bool(true)));
            let served = evaluator.evaluate(&shapes(&question, sizes));
            count(1);
            if taken {
                prop_assert!(
                    served.is_ok() || !question.passes(sizes),
                    "{sizes:?} are taken, and refused: {:?} of {question:?}", served.err()
                );
            } else if served.is_ok() {
                prop_assert!(
                    !question.passes(sizes),
                    "{sizes:?} are served, and not taken by {:?} of {question:?}",
                    set.emit(Language::Json)
                );
            }
        }
    }
}

/// What a report says that the program demands of sizes and of data.
fn listed(pool: &mut Pool, report: &Report) -> Vec<Expr> {
    let guards = report.guards.iter().filter(|guard| guard.kind != ConditionKind::Runtime);
    let texts = guards.map(|guard| &guard.shown).chain(report.runtime_asserts.iter().map(|a| &a.expr));
    let named = |text: &String| text.replace("x.shape[0]", SIZES[0]).replace("x.shape[1]", SIZES[1]);
    texts.map(|text| condition_of(pool, &named(text))).collect()
}

proptest! {
    #![proptest_config(config(150))]

    /// Nothing that is asserted is lost, also where the program records it as the range of a number.
    #[test]
    fn what_is_listed_is_what_is_asserted(question in questions(false)) {
        let operators = Operators::new();
        let Some(program) = program(&operators, &question) else { return Ok(()) };
        let json = write_json(&program).expect("JSON");
        let checker = Checker::read("drawn", json.as_bytes()).expect("a program");
        let report = checker.check(None, &operators, &Budget::default()).expect("a report");
        let mut pool = Pool::new();
        let listed = listed(&mut pool, &report);
        let names: Vec<Option<Symbol>> =
            SIZES.iter().chain(&DATA).map(|name| pool.find_symbol(name)).collect();
        for [s0, s1] in question.sizes().into_iter().step_by(3) {
            for (u0, u1) in (-6..12).flat_map(|u0| (-6..12).map(move |u1| (u0, u1))) {
                count(1);
                let values = [s0, s1, u0, u1];
                let value = |s: Symbol| {
                    let at = names.iter().position(|name| *name == Some(s))?;
                    Some(Value::Int(Int::from(values[at])))
                };
                let mut evaluator = Evaluator::new(&pool, value);
                let all_listed = listed.iter().all(|&c| evaluator.truth(c) == Ok(true));
                prop_assert_eq!(
                    question.holds(&values), all_listed,
                    "asserted and listed at {:?}: {:?} lists {:?}, {:?}",
                    values, question, report.runtime_asserts, report.guards
                );
            }
        }
    }
}
