//! Laws of graphs of several operators: what is derived with symbols is what is derived with numbers, checks and
//! guard sets speak true of them, what is written is read back the same in every form, and passes keep what a program
//! does.
use crate::campaign;
mod draw;

use campaign::{config, count};
use draw::{Drawn, EXAMPLE, draw, replay, steps};
use proptest::prelude::*;
use sizewise::check::{Checker, Evaluator, Shapes};
use sizewise::expr::text::read;
use sizewise::expr::{Int, Pool, Symbol, Value};
use sizewise::ir::Program;
use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::ir::text::{self, Detail};
use sizewise::kernels::Operators;
use sizewise::pass::{Pass, Pipeline};
use sizewise::report::guard_code::GuardSet;
use sizewise::report::{GuardVerdict, Outcome};
use sizewise::solve::Budget;
use sizewise::spec::{Contract, Shape};
use std::sync::LazyLock;

static OPERATORS: LazyLock<Operators> = LazyLock::new(Operators::new);

type Point = [i64; 3];

/// Sizes at which a graph is looked at, small ones and neighbours of the example above all.
fn points() -> impl Strategy<Value = Vec<Point>> {
    let size = |example: i64| prop_oneof![2 => 0..10_i64, 1 => 0..=100_i64, 1 => Just(example)];
    let point = (size(EXAMPLE[0]), size(EXAMPLE[1]), size(EXAMPLE[2])).prop_map(|(a, b, c)| [a, b, c]);
    prop::collection::vec(point, 12)
}

/// The inputs' shapes at a point.
fn inputs([a, b, c]: Point) -> Shapes {
    let shape = |sizes: &[i64]| Shape::Tensor(sizes.iter().map(|&size| Int::from(size)).collect());
    [
        ("x", shape(&[a, b])),
        ("y", shape(&[b, 3])),
        ("z", shape(&[a, 1])),
        ("image", shape(&[2, 4, c, b])),
        ("index", shape(&[c])),
    ]
    .map(|(name, shape)| (name.into(), shape))
    .into_iter()
    .collect()
}

/// An expression as it is at a point, where it is defined.
fn at(text: &str, point: Point) -> Option<Value> {
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, text).expect("a printed expression").expr;
    pool.eval(e, |symbol| value_of(&pool, symbol, point)).ok()
}

fn value_of(pool: &Pool, symbol: Symbol, point: Point) -> Option<Value> {
    let index: usize = pool.symbol_name(symbol).strip_prefix('s')?.parse().ok()?;
    Some(Value::Int(Int::from(*point.get(index)?)))
}

/// A shape such as `f32[s0, 2*s1]` as it is at a point.
fn shape_at(shape: &str, point: Point) -> Option<String> {
    let (dtype, sizes) = shape.strip_suffix(']').and_then(|s| s.split_once('[')).expect("a shape");
    let mut written: Vec<String> = Vec::new();
    let mut pool = Pool::new();
    // The sizes are read together as the arguments of one call, whose commas inside parentheses are no separators.
    for text in separated(sizes) {
        let e = read::closed(&mut pool, text).expect("a printed size").expr;
        written.push(pool.eval(e, |symbol| value_of(&pool, symbol, point)).ok()?.as_int()?.to_string());
    }
    Some(format!("{dtype}[{}]", written.join(", ")))
}

/// The parts of a list, separated by commas outside parentheses.
fn separated(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (i, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    if !list.trim().is_empty() {
        parts.push(list[start..].trim());
    }
    parts
}

/// Whether every guard of a graph holds at a point.
fn allowed(drawn: &Drawn, point: Point) -> bool {
    drawn.guards.iter().all(|guard| at(guard, point) == Some(Value::Bool(true)))
}

/// What numbers make of the graph, if it is what the symbols say.
fn agrees(drawn: &Drawn, point: Point) -> Result<(), String> {
    let shown: Vec<&String> = drawn.shapes.iter().filter(|shape| shape.contains('[')).collect();
    let found = replay(&OPERATORS, &drawn.taken, point)
        .map_err(|step| format!("at {point:?} step {step} of {:?} is refused", drawn.taken))?;
    let expected: Option<Vec<String>> = shown.iter().map(|shape| shape_at(shape, point)).collect();
    let expected = expected.ok_or_else(|| format!("{shown:?} are undefined at {point:?}"))?;
    (expected == found)
        .then_some(())
        .ok_or_else(|| format!("at {point:?} {found:?}, by the symbols {expected:?}, from {:?}", drawn.taken))
}

/// Whether a guard set takes the shapes of a point.
fn takes(set: &GuardSet, point: Point) -> bool {
    set.conditions
        .iter()
        .all(|&c| set.pool.eval(c, |s| value_of(&set.pool, s, point)) == Ok(Value::Bool(true)))
}

fn sizes(program: &Program, point: Point) -> Option<Vec<Option<Vec<Option<i64>>>>> {
    let evaluator = Evaluator::new(Contract::load(program).expect("a contract"), &OPERATORS);
    let evaluation = evaluator.evaluate(&inputs(point)).ok()?;
    let number = |e: &sizewise::expr::Expr| evaluation.env.pool.as_int(*e).and_then(|size| size.to_i64());
    Some(evaluation.outputs.iter().map(|o| o.as_ref().map(|s| s.iter().map(number).collect())).collect())
}

proptest! {
    #![proptest_config(config(96))]

    /// Where the guards hold, and strides are as at the example, the operators take the numbers, and make of them
    /// what the symbols say.
    #[test]
    fn guards_suffice_for_shapes_derived_with_symbols(steps in steps(50), points in points()) {
        let drawn = draw(&OPERATORS, &steps);
        prop_assert!(allowed(&drawn, EXAMPLE), "the guards {:?} are false at the example", drawn.guards);
        for &point in points.iter().chain([&EXAMPLE]) {
            if allowed(&drawn, point) {
                count(drawn.shapes.len());
                if let Err(message) = agrees(&drawn, point) {
                    return Err(TestCaseError::fail(format!("{message}; guards {:?}", drawn.guards)));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(24))]

    /// A program whose contract is ok serves what the contract allows; a violation's inputs are refused or come out
    /// in other shapes; and what the guard set takes is served.
    #[test]
    fn checks_and_guard_sets_speak_true(steps in steps(30), points in points()) {
        let drawn = draw(&OPERATORS, &steps);
        let archive = pt2::write(&drawn.program).expect("an archive");
        let checker = Checker::read("drawn", &archive).expect("a program");
        let report = checker.check(None, &OPERATORS, &Budget { rlimit: 200_000, ..Budget::small() }).expect("a report");
        let session = checker.session(&OPERATORS).expect("a session");
        let set = session.guard_set();
        for &point in points.iter().chain([&EXAMPLE]) {
            if report.verdict == Outcome::Ok {
                count(1);
                prop_assert_eq!(agrees(&drawn, point), Ok(()), "ok, yet");
            }
            if let Ok(set) = &set && takes(set, point) {
                count(1);
                prop_assert_eq!(agrees(&drawn, point), Ok(()), "taken by {:?}, yet", set.conditions);
            }
        }
        for guard in report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated) {
            let Some(shapes) = &guard.inputs else { continue };
            let size = |input: &str, dim: usize| shapes.get(input).and_then(|s| s.get(dim)).and_then(|v| v.as_i64());
            let (Some(a), Some(b), Some(c)) = (size("x", 0), size("x", 1), size("index", 0)) else { continue };
            // Counts of elements beyond 64 bits are nothing that a run on numbers notices.
            if [a, b, c].iter().all(|v| *v < 1 << 20) {
                count(1);
                prop_assert!(agrees(&drawn, [a, b, c]).is_err(), "{} is violated by {:?}, which is served", guard.expr, [a, b, c]);
            }
        }
    }

    #[test]
    fn archives_are_read_back_the_same(steps in steps(30)) {
        let program = draw(&OPERATORS, &steps).program;
        let archive = pt2::write(&program).expect("an archive");
        let again = pt2::read(&archive, &ReadOptions::default()).expect("a program");
        count(1);
        prop_assert_eq!(pt2::write(&again).expect("an archive"), archive);
        prop_assert_eq!(format!("{:?}", program.graph), format!("{:?}", again.graph));
    }

    #[test]
    fn text_is_read_back_the_same(steps in steps(30)) {
        let program = draw(&OPERATORS, &steps).program;
        for write in [text::write_readable, text::write_fx] {
            let written = write(&program, Detail::Full);
            let again = text::read(&written).map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
            count(1);
            prop_assert_eq!(write(&again, Detail::Full), written);
        }
    }

    #[test]
    fn passes_keep_what_a_program_does(steps in steps(30), points in points()) {
        let program = draw(&OPERATORS, &steps).program;
        let passes = ["cse", "fold", "derive", "assert", "dce"].into_iter().filter_map(Pass::find);
        let pipeline = passes.fold(Pipeline::new(), Pipeline::then);
        let after = pipeline.run(&program, &OPERATORS).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for &point in &points[..4] {
            let before = sizes(&program, point);
            if before.is_some() {
                count(1);
                prop_assert_eq!(sizes(&after, point), before);
            }
        }
    }
}
