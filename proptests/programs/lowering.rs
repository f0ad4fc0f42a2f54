//! Laws of lowering to the Edge dialect: numbers become tensors, and every call still is given what it was given.
use super::campaign::config;
use proptest::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise::ir::{Argument, Constant, Dtype, InputSpec, Node, Operand, Program, ValueId};
use sizewise::kernels::Operators;
use sizewise::pass::{PassError, Tracer, lower_to_edge};

const INPUTS: [(&str, Dtype, &[&str]); 6] = [
    ("x", Dtype::Float32, &["3"]),
    ("d", Dtype::Float64, &["3"]),
    ("k", Dtype::Int64, &["3"]),
    ("j", Dtype::Int32, &[]),
    ("h", Dtype::Float16, &[]),
    ("b", Dtype::Bool, &["3"]),
];

/// Operators, with what they call the tensors that numbers can stand for.
const OPERATORS: [(&str, [&str; 2]); 5] = [
    ("aten.add.Tensor", ["self", "other"]),
    ("aten.mul.Tensor", ["self", "other"]),
    ("aten.sub.Tensor", ["self", "other"]),
    ("aten.div.Tensor", ["self", "other"]),
    ("aten.where.self", ["self", "other"]),
];

/// What stands for a tensor.
#[derive(Clone, Debug)]
enum Taken {
    /// One of the tensors before, counted round.
    Before(usize),
    Int(i64),
    Float(f64),
    Bool(bool),
}

fn taken() -> impl Strategy<Value = Taken> {
    prop_oneof![
        4 => any::<prop::sample::Index>().prop_map(|index| Taken::Before(index.index(1 << 10))),
        2 => prop::sample::select(vec![2, 3, 7, (1 << 24) + 1]).prop_map(Taken::Int),
        2 => prop::sample::select(vec![2.0, 3.0, 0.1, 1e300]).prop_map(Taken::Float),
        1 => any::<bool>().prop_map(Taken::Bool),
    ]
}

/// Calls: the operator, what it takes, and whether its result is returned.
fn calls() -> impl Strategy<Value = Vec<(usize, [Taken; 2], bool)>> {
    prop::collection::vec((0..OPERATORS.len(), [taken(), taken()], any::<bool>()), 1..9)
}

/// A program of such calls; those that the operators refuse are left out.
fn program(calls: &[(usize, [Taken; 2], bool)], operators: &Operators) -> Program {
    let mut tracer = Tracer::new(operators);
    let mut made = Vec::new();
    for (name, dtype, sizes) in INPUTS {
        made.push(tracer.tensor(name, dtype, sizes).expect("an input"));
    }
    let condition = *made.last().expect("inputs");
    let mut returned = Vec::new();
    for (operator, taken, is_returned) in calls {
        let (target, names) = OPERATORS[*operator];
        let mut given: Vec<(&str, Argument)> = Vec::new();
        if target == "aten.where.self" {
            given.push(("condition", condition.into()));
        }
        given.extend(names.into_iter().zip(taken).map(|(name, taken)| {
            let argument = match taken {
                Taken::Before(index) => made[index % made.len()].into(),
                Taken::Int(value) => Argument::Int(*value),
                Taken::Float(value) => Argument::Float(*value),
                Taken::Bool(value) => Argument::Bool(*value),
            };
            (name, argument)
        }));
        if let Ok(results) = tracer.call(target, given) {
            made.push(results[0]);
            returned.extend(is_returned.then_some(results[0]));
        }
    }
    returned.push(*made.last().expect("inputs"));
    let mut program = tracer.finish(&returned).program;
    program.dialect = sizewise::ir::Dialect::Aten;
    program
}

/// What values are computed of, each distinct term by its number.
struct Terms<'p> {
    program: &'p Program,
    of: FxHashMap<ValueId, usize>,
}

impl<'p> Terms<'p> {
    /// Reads a program; equal terms of several programs have one number if they share `known`.
    fn of(program: &'p Program, known: &mut Vec<String>) -> Terms<'p> {
        let mut terms = Terms { program, of: FxHashMap::default() };
        let mut intern = |text: String| {
            known.iter().position(|term| *term == text).unwrap_or_else(|| {
                known.push(text);
                known.len() - 1
            })
        };
        for input in &program.signature.inputs {
            let (value, text) = match input {
                InputSpec::Buffer { value, fqn, .. } => {
                    (*value, program.scalars.get(fqn).map_or_else(|| fqn.to_string(), number))
                }
                InputSpec::User { value: Some(value) } => (*value, program.graph.name(*value).to_string()),
                other => panic!("no such input is drawn: {other:?}"),
            };
            terms.of.insert(value, intern(text));
        }
        for node in program.graph.nodes() {
            let result = node.output_values().next().expect("a result");
            let term = terms.node(node, &mut intern);
            terms.of.insert(result, term);
        }
        terms
    }

    /// The term of a call. A cast is what it casts: dtypes are compared apart.
    fn node(&self, node: &Node, intern: &mut impl FnMut(String) -> usize) -> usize {
        let target =
            node.target.wrapped().map_or_else(|| node.target.to_string(), |wrapped| wrapped.name.to_string());
        let given: Vec<usize> = node
            .inputs
            .iter()
            .filter_map(|input| match &input.arg {
                Argument::Tensor(id) => Some(self.of[id]),
                Argument::Int(value) | Argument::SymInt(Operand::Literal(value)) => {
                    Some(intern(number(&Constant::Int(*value))))
                }
                Argument::Float(value) => Some(intern(number(&Constant::Float(*value)))),
                Argument::Bool(value) => Some(intern(number(&Constant::Bool(*value)))),
                _ => None,
            })
            .collect();
        if target.contains("_to_copy") || target.contains("_to_dim_order_copy") {
            given[0]
        } else {
            intern(format!("{target}{given:?}"))
        }
    }

    fn outputs(&self) -> Vec<(usize, Dtype)> {
        let values = self.program.graph.outputs().iter().filter_map(Argument::value);
        values.map(|id| (self.of[&id], self.dtype(id))).collect()
    }

    fn dtype(&self, id: ValueId) -> Dtype {
        self.program.graph.meta(id).tensor().expect("a tensor").dtype
    }
}

fn number(constant: &Constant) -> String {
    format!("{constant:?}")
}

/// Lifted numbers that no call reads, and such as their tensors do not hold exactly although they meet doubles.
fn unread(lowered: &Program) -> Vec<String> {
    let mut read = FxHashSet::default();
    let mut mark = |id| {
        read.insert(id);
    };
    for node in lowered.graph.nodes() {
        node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut mark));
    }
    let buffers = lowered.signature.inputs.iter().filter_map(|input| match input {
        InputSpec::Buffer { value, fqn, .. } => Some((value, fqn)),
        _ => None,
    });
    buffers.filter(|(value, _)| !read.contains(value)).map(|(_, fqn)| fqn.to_string()).collect()
}

/// Whether each call with a double among its operands is given its numbers exactly.
fn doubles_are_exact(lowered: &Program) -> bool {
    let dtype = |id: ValueId| lowered.graph.meta(id).tensor().map(|meta| meta.dtype);
    let inexact = |id: ValueId| {
        lowered.signature.inputs.iter().any(|input| match input {
            InputSpec::Buffer { value, fqn, .. } if *value == id && dtype(id) == Some(Dtype::Float32) => {
                matches!(lowered.scalars.get(fqn), Some(Constant::Float(v)) if f64::from(*v as f32) != *v)
            }
            _ => false,
        })
    };
    lowered.graph.nodes().iter().all(|node| {
        let result = node.output_values().next().and_then(dtype);
        let mut fine = true;
        node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut |id| fine &= !inexact(id)));
        result != Some(Dtype::Float64) || fine
    })
}

/// Each call of a lowered program is given the numbers that it was given: the terms of results are the same, and so
/// are their dtypes; every number that was lifted is read.
#[test]
fn lowering_keeps_what_results_are_computed_of() {
    let operators = Operators::new();
    let lifted = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(config(400));
    let outcome = runner.run(&calls(), |calls| {
        let program = program(&calls, &operators);
        let lowered = match lower_to_edge(&program, &operators) {
            Ok(lowered) => lowered,
            Err(PassError::Left { operators, .. }) => {
                return Err(TestCaseError::fail(format!("left: {operators:?}")));
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let mut known = Vec::new();
        let before = Terms::of(&program, &mut known).outputs();
        let after = Terms::of(&lowered, &mut known).outputs();
        prop_assert_eq!(before, after, "{:?}", known);
        prop_assert_eq!(unread(&lowered), Vec::<String>::new());
        prop_assert!(doubles_are_exact(&lowered));
        let numbers = lowered.graph.nodes().iter().flat_map(|node| &node.inputs);
        let left = numbers
            .filter(|input| matches!(input.arg, Argument::Int(_) | Argument::Float(_) | Argument::Bool(_)));
        prop_assert_eq!(left.filter(|input| ["self", "other"].contains(&&*input.name)).count(), 0);
        lifted.set(lifted.get() + lowered.scalars.len());
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(lifted.get() > 800, "{} numbers were lifted", lifted.get());
}
