//! Laws of programs: what is written is read back the same, in every form, and passes keep what a program does.
use proptest::prelude::*;
use sizewise::check::{Evaluator, Shapes};
use sizewise::expr::Int;
use sizewise::fake::Operators;
use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::ir::text::{self, Detail};
use sizewise::ir::{Argument, Dtype, Program};
use sizewise::pass::{Pass, Pipeline, Proxy, Tracer};
use sizewise::spec::{Contract, Shape};

/// A call of one of the operators below on tensors made before.
#[derive(Debug, Clone)]
struct Step {
    op: usize,
    first: usize,
    second: usize,
    number: i64,
    fraction: f64,
}

fn step() -> impl Strategy<Value = Step> {
    (
        0..9_usize,
        any::<usize>(),
        any::<usize>(),
        -3..4_i64,
        prop_oneof![Just(0.5), Just(-1e30), Just(f64::INFINITY)],
    )
        .prop_map(|(op, first, second, number, fraction)| Step { op, first, second, number, fraction })
}

/// The program that the steps make of two matrices, those that an operator rejects being left out.
fn program(steps: &[Step]) -> Program {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, Some(100), 6).expect("a size");
    tracer.size("s1", 2, None, 4).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "s1"]).expect("an input");
    let y = tracer.tensor("y", Dtype::Int64, &["s0", "1"]).expect("an input");
    let mut tensors: Vec<Proxy> = vec![x, y];
    let mut numbers: Vec<Proxy> = Vec::new();
    for step in steps {
        let a = tensors[step.first % tensors.len()];
        let b = tensors[step.second % tensors.len()];
        let number = Argument::Int(step.number);
        let made = match step.op {
            0 => tracer.call("aten.neg.default", [("self", a.into())]),
            1 => tracer.call("aten.add.Tensor", [("self", a.into()), ("other", b.into()), ("alpha", number)]),
            2 => tracer
                .call("aten.mul.Scalar", [("self", a.into()), ("other", Argument::Float(step.fraction))]),
            3 => {
                let pair = match (Argument::from(a), Argument::from(b)) {
                    (Argument::Tensor(a), Argument::Tensor(b)) => vec![a, b],
                    _ => continue,
                };
                tracer.call("aten.cat.default", [("tensors", Argument::Tensors(pair)), ("dim", number)])
            }
            4 => tracer.call("aten.view.default", [("self", a.into()), ("size", Argument::Ints(vec![-1]))]),
            5 => {
                let dims = Argument::Ints(vec![step.number]);
                tracer.call("aten.sum.dim_IntList", [("self", a.into()), ("dim", dims)])
            }
            6 => tracer.call("aten.sym_size.int", [("self", a.into()), ("dim", number)]),
            7 => tracer.call("aten.unsqueeze.default", [("self", a.into()), ("dim", number)]),
            _ => match numbers.as_slice() {
                [] => continue,
                known => {
                    let n = known[step.second % known.len()];
                    tracer.call("_operator.mul", [("a", n.into()), ("b", number)])
                }
            },
        };
        let Ok(made) = made else { continue };
        for proxy in made {
            let list = if matches!(Argument::from(proxy), Argument::Tensor(_)) {
                &mut tensors
            } else {
                &mut numbers
            };
            list.push(proxy);
        }
    }
    let last = tensors[tensors.len() - 1];
    tracer.finish(&[last, x]).program
}

fn sizes(program: &Program, x: [i64; 2]) -> Option<Vec<Option<Vec<Option<i64>>>>> {
    let operators = Operators::new();
    let evaluator = Evaluator::new(Contract::load(program).expect("a contract"), &operators);
    let shape = |sizes: &[i64]| Shape::Tensor(sizes.iter().map(|&size| Int::from(size)).collect());
    let given: Shapes = [("x".into(), shape(&x)), ("y".into(), shape(&[x[0], 1]))].into_iter().collect();
    let evaluation = evaluator.evaluate(&given).ok()?;
    let number = |e: &sizewise::expr::Expr| evaluation.env.pool.as_int(*e).and_then(|size| size.to_i64());
    Some(evaluation.outputs.iter().map(|o| o.as_ref().map(|s| s.iter().map(number).collect())).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn archives_are_read_back_the_same(steps in prop::collection::vec(step(), 0..12)) {
        let program = program(&steps);
        let archive = pt2::write(&program).expect("an archive");
        let again = pt2::read(&archive, &ReadOptions::default()).expect("a program");
        prop_assert_eq!(pt2::write(&again).expect("an archive"), archive);
        prop_assert_eq!(format!("{:?}", program.graph), format!("{:?}", again.graph));
    }

    #[test]
    fn text_is_read_back_the_same(steps in prop::collection::vec(step(), 0..12)) {
        let program = program(&steps);
        for write in [text::write_readable, text::write_fx] {
            let written = write(&program, Detail::Full);
            let again = text::read(&written).map_err(|error| TestCaseError::fail(format!("{error}\n{written}")))?;
            prop_assert_eq!(write(&again, Detail::Full), written);
        }
    }

    #[test]
    fn passes_keep_what_a_program_does(steps in prop::collection::vec(step(), 0..12), a in 2..9_i64, b in 2..9_i64) {
        let program = program(&steps);
        let before = sizes(&program, [a, b]);
        let passes = ["cse", "fold", "derive", "assert", "dce"].into_iter().filter_map(Pass::find);
        let pipeline = passes.fold(Pipeline::new(), Pipeline::then);
        let after = pipeline.run(&program, &Operators::new()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if before.is_some() {
            prop_assert_eq!(sizes(&after, [a, b]), before);
        }
    }
}
