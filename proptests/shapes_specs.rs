//! Laws of ShapesSpecs: what is written is read back, and verdicts and fixes agree with all sizes of a small range, tried
//! one by one.
use crate::campaign::hold;
use crate::text_programs;
use proptest::prelude::*;
use sizewise::check::{Checker, Evaluator, Shapes};
use sizewise::expr::{Int, Pool, Value, read};
use sizewise::ir::pt2;
use sizewise::kernels::Operators;
use sizewise::report::Outcome;
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};

/// Variables go up to this value.
const MOST: i64 = 12;

/// A size computed from the variables `a` and `b`, as torch takes it.
fn size() -> BoxedStrategy<String> {
    let leaf = prop::sample::select(vec!["a", "b"]).prop_map(str::to_string);
    leaf.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} + {y})")),
            (inner.clone(), 1..4i64).prop_map(|(x, c)| format!("({c}*{x} + {c})")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("{x}*{y}")),
            (inner.clone(), 2..5i64).prop_map(|(x, d)| format!("({x} // {d})")),
            (inner.clone(), 2..5i64).prop_map(|(x, d)| format!("({x} % {d})")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("torch.sym_max({x}, {y})")),
            (inner.clone(), inner).prop_map(|(x, y)| format!("torch.sym_min({x}, {y})")),
        ]
    })
    .boxed()
}

fn condition() -> impl Strategy<Value = String> {
    let plain = (size(), prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]), size(), 0..5i64)
        .prop_map(|(x, op, y, c)| format!("({x}) {op} ({y}) + {c}"));
    plain.prop_recursive(1, 3, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(p, q)| format!("({p}) & ({q})")),
            (inner.clone(), inner).prop_map(|(p, q)| format!("({p}) | ({q})")),
        ]
    })
}

/// What the steps of a program need of the sizes `u0`, `u1` and `u2` of its inputs `x`, `y` and `z`.
const STEPS: [&str; 5] = [
    "view: \"f32[(u0//3), 3]\" = torch.ops.aten.view.default(x, [-1, 3])",
    "view_1: \"f32[2, (u2//2)]\" = torch.ops.aten.view.default(z, [2, -1])",
    "narrow: \"f32[4]\" = torch.ops.aten.slice.Tensor(y, 0, 0, 4)",
    "unfold: \"f32[u1 - 2, 3]\" = torch.ops.aten.unfold.default(y, 0, 3, 1)",
    "mv: \"f32[1]\" = torch.ops.aten.mv.default(w, z)",
];

fn program(steps: &[usize]) -> Checker {
    let mut lines: Vec<String> = steps.iter().map(|&step| STEPS[step].to_string()).collect();
    let outputs: Vec<&str> =
        steps.iter().map(|&step| STEPS[step].split(':').next().unwrap_or_default()).collect();
    lines.push(format!("return ({},)", outputs.join(", ")));
    let text =
        text_programs::module("x: \"f32[u0]\", y: \"f32[u1]\", z: \"f32[u2]\", w: \"f32[1, 6]\"", &lines);
    let archive = pt2::write(&text_programs::program(&text)).expect("an archive");
    Checker::read("p", &archive).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

#[derive(Clone, Debug)]
struct Drawn {
    steps: Vec<usize>,
    least: (i64, i64),
    size: String,
    assumptions: Vec<String>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let steps = prop::sample::subsequence((0..STEPS.len()).collect::<Vec<_>>(), 1..=2);
    (steps, (0..3i64, 0..3i64), size(), prop::collection::vec(condition(), 0..3))
        .prop_map(|(steps, least, size, assumptions)| Drawn { steps, least, size, assumptions })
}

impl Drawn {
    fn spec(&self) -> String {
        let (a, b) = self.least;
        format!(
            "import torch\nfrom torch.fx.experimental.dynamic_spec import *\n\
             a = ShapeVar('a', min={a}, max={MOST})\nb = ShapeVar('b', min={b}, max={MOST})\n\
             dynamic_shapes = ShapesSpec(ParamsSpec({{'x': TensorSpec([a]), 'y': TensorSpec([b]), 'z': TensorSpec([{}])}}), \
             assumptions=[{}])\n",
            self.size,
            self.assumptions.join(", ")
        )
    }

    /// The values of the variables that the spec allows, and whether the program takes the inputs.
    fn runs(&self, evaluator: &Evaluator<'_>, own: &Spec) -> Vec<(i64, i64, bool)> {
        let json = own.to_json();
        let size = json["params"]["z"][0].as_str().expect("a size").to_string();
        let assumptions: Vec<&str> =
            json["assumptions"].as_array().into_iter().flatten().filter_map(|text| text.as_str()).collect();
        let mut runs = Vec::new();
        for a in self.least.0..=MOST {
            for b in self.least.1..=MOST {
                let Some(z) =
                    at(&size, a, b).and_then(|value| value.as_int()).and_then(|value| value.to_i64())
                else {
                    continue;
                };
                if z < 0 || !assumptions.iter().all(|text| holds(text, a, b)) {
                    continue;
                }
                let tensor = |n: i64| Shape::Tensor(vec![Int::from(n)]);
                let shapes: Shapes = [("x", a), ("y", b), ("z", z)]
                    .into_iter()
                    .map(|(name, n)| (name.into(), tensor(n)))
                    .collect();
                let right = evaluator.evaluate(&shapes).is_ok_and(|evaluation| {
                    evaluation.outputs.iter().zip(&evaluation.recorded).all(|(got, recorded)| got == recorded)
                });
                runs.push((a, b, right));
            }
        }
        runs
    }
}

fn at(text: &str, a: i64, b: i64) -> Option<Value> {
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr;
    pool.eval(e, |s| Some(Value::Int(if pool.symbol_name(s) == "a" { a } else { b }.into()))).ok()
}

fn holds(text: &str, a: i64, b: i64) -> bool {
    at(text, a, b).is_some_and(|value| value.as_bool())
}

#[test]
fn a_shapes_spec_is_read_back_as_it_was_written() {
    hold(200, &drawn(), |drawn| {
        let spec =
            Spec::parse(drawn.spec().as_bytes()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let python = spec.to_python();
        let read = Spec::parse(python.as_bytes())
            .map_err(|error| TestCaseError::fail(format!("{error}: {python}")))?;
        prop_assert_eq!(&read.to_python(), &python);
        let json = spec.to_json();
        let again = Spec::parse(json.to_string().as_bytes())
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(again.to_json(), json.clone());
        // What was written means the same.
        let texts = |spec: &Spec| -> Vec<String> {
            let json = spec.to_json();
            let assumptions = json["assumptions"].as_array().cloned().unwrap_or_default();
            assumptions.iter().filter_map(|text| text.as_str().map(str::to_string)).collect()
        };
        let (given, written) = (texts(&spec), texts(&read));
        for a in 0..=MOST {
            for b in 0..=MOST {
                let all = |texts: &[String]| texts.iter().all(|text| holds(text, a, b));
                prop_assert_eq!(all(&given), all(&written), "at {}, {}: {}", a, b, python);
            }
        }
        Ok(())
    });
}

#[test]
fn verdicts_and_fixes_of_shapes_specs_agree_with_every_size() {
    let operators = Operators::new();
    hold(60, &drawn(), |drawn| {
        let checker = program(&drawn.steps);
        let evaluator = checker.evaluator(&operators).expect("a contract");
        let spec = Spec::parse(drawn.spec().as_bytes()).expect("a spec");
        let runs = drawn.runs(&evaluator, &spec);
        let report = checker.check(Some(&spec), &operators, &Budget::default()).expect("a report");
        match report.verdict {
            Outcome::Ok => prop_assert!(runs.iter().all(|run| run.2) && !runs.is_empty(), "{}", drawn.spec()),
            Outcome::Violated => prop_assert!(runs.iter().any(|run| !run.2), "{}", drawn.spec()),
            Outcome::Invalid => prop_assert!(runs.is_empty(), "{}: {:?}", drawn.spec(), report.diagnostics),
            Outcome::Unknown => {}
        }
        for fix in report.fixes.iter().filter(|fix| fix.proved) {
            for &(a, b, right) in &runs {
                let kept = fix.assumptions.iter().all(|text| holds(text, a, b));
                prop_assert!(
                    !kept || right,
                    "{}: {:?} lets {}, {} pass",
                    drawn.spec(),
                    fix.assumptions,
                    a,
                    b
                );
                if fix.cost.as_deref() == Some("loses no shapes that this export serves") {
                    prop_assert!(
                        kept || !right,
                        "{}: {:?} refuses {}, {}",
                        drawn.spec(),
                        fix.assumptions,
                        a,
                        b
                    );
                }
            }
        }
        Ok(())
    });
}
