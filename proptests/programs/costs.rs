//! Laws of what programs cost, and of the lines that make their values.
use super::{allowed, budget, load, numbers, placeholders, programs, shown};
use crate::campaign::{Tally, config};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sizewise::check::{Shapes, outline};
use sizewise::cost::{Cost, Sizes, cost};
use sizewise::expr::{Evaluator, Expr, Int, Value};
use sizewise::kernels::Operators;
use sizewise::report::Annotations;
use sizewise::spec::Shape;

/// The sizes of tensors among shapes, one of them changed by chance.
fn sizes(shapes: &Shapes, numbers: &[u8]) -> Sizes {
    let mut sizes = Sizes::new();
    for (name, shape) in shapes {
        if let Shape::Tensor(list) = shape {
            sizes.insert(name.to_string(), list.iter().filter_map(Int::to_i64).collect());
        }
    }
    let (input, dim, by) = (usize::from(numbers[20]), usize::from(numbers[21]), i64::from(numbers[22]));
    if numbers[23].is_multiple_of(2)
        && let Some((_, list)) =
            sizes.get_index_mut(input % shapes.len().max(1)).filter(|(_, list)| !list.is_empty())
    {
        let dim = dim % list.len();
        list[dim] += by % 7;
    }
    sizes
}

/// The sum of what parts cost at the sizes that figures are known for.
fn sum(cost: &Cost, parts: impl Iterator<Item = Expr>, at: &[(sizewise::expr::Symbol, Int)]) -> Option<Int> {
    let value =
        |symbol| at.iter().find(|(known, _)| *known == symbol).map(|(_, size)| Value::Int(size.clone()));
    let mut known = Evaluator::new(&cost.env.pool, value);
    parts.map(|e| known.int(e).ok()).try_fold(Int::ZERO, |sum, part| Some(&sum + &part?))
}

#[test]
fn costs_are_those_of_their_parts_and_are_refused_only_where_the_program_is() {
    let (operators, tally, mut failures) = (Operators::new(), Tally::new("costs at sizes"), Vec::new());
    for path in programs() {
        let (name, bytes) = load(&path);
        let checker = sizewise::Checker::read(&name, &bytes).expect("a program");
        let report = checker.check(None, &operators, &budget()).expect("a report");
        let Ok(cost) = cost(checker.program(), &operators) else { continue };
        let (evaluator, names) = (checker.evaluator(&operators).expect("inputs"), placeholders(&checker));
        let outcome = TestRunner::new(config(8)).run(&numbers(), |numbers| {
            let Some((_, shapes)) = allowed(&report, &names, &numbers) else { return Ok(()) };
            let sizes = sizes(&shapes, &numbers);
            let tensor = |list: &Vec<i64>| Shape::Tensor(list.iter().map(|&size| Int::from(size)).collect());
            let given: Shapes =
                sizes.iter().map(|(name, list)| (name.as_str().into(), tensor(list))).collect();
            match cost.at(&sizes) {
                Ok(numbers) => {
                    prop_assert!(numbers.peak_bytes <= numbers.activation_bytes, "{name}, {}", shown(&given));
                    let at: Vec<_> = cost
                        .symbols
                        .iter()
                        .filter_map(|(symbol, source)| {
                            let (input, dim) = source.strip_suffix(']')?.rsplit_once(".shape[")?;
                            Some((*symbol, Int::from(*sizes.get(input)?.get(dim.parse::<usize>().ok()?)?)))
                        })
                        .collect();
                    for parts in [&cost.by_op, &cost.by_module, &cost.by_line] {
                        let flops = sum(&cost, parts.values().map(|share| share.flops), &at);
                        prop_assert!(
                            flops.is_none_or(|flops| flops == numbers.flops),
                            "{name}, {}",
                            shown(&given)
                        );
                        let bytes = sum(&cost, parts.values().map(|share| share.bytes), &at);
                        prop_assert!(bytes.is_none_or(|bytes| bytes == numbers.activation_bytes));
                    }
                }
                // What is not given, or decided by data, is said otherwise.
                Err(why) if why.contains("the program needs") || why.contains(", not ") => {
                    let accepted = evaluator.evaluate(&given).is_ok();
                    prop_assert!(!accepted, "{name} serves {}, of which is said: {why}", shown(&given));
                }
                Err(_) => return Ok(()),
            }
            tally.add(1);
            Ok(())
        });
        if let Err(error) = outcome {
            failures.push(format!("{name}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{} programs:\n{}", failures.len(), failures.join("\n"));
    assert!(tally.count() > 500, "only {} evaluations", tally.count());
}

#[test]
fn each_node_is_on_one_line() {
    let (operators, tally) = (Operators::new(), Tally::new("lines of nodes"));
    for path in programs() {
        let (name, bytes) = load(&path);
        let checker = sizewise::Checker::read(&name, &bytes).expect("a program");
        let report = checker.check(None, &operators, &budget()).expect("a report");
        let graph = outline(checker.program());
        let found = Annotations::new(&report, &graph);
        let placed = found.files.iter().flat_map(|file| file.lines.values()).flat_map(|line| &line.made);
        let mut made: Vec<&str> = placed.chain(&found.unplaced).map(|made| made.node.as_str()).collect();
        let mut nodes: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
        made.sort_unstable();
        nodes.sort_unstable();
        assert_eq!(made, nodes, "{name}");
        tally.add(made.len() as u64);
    }
    assert!(tally.count() > 500);
}
