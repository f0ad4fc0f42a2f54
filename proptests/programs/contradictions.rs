//! The law of what allows nothing: a contract or a spec that no input satisfies is called invalid, never `ok`, and no
//! other one is.
use crate::campaign::{Tally, hold};
use proptest::prelude::*;
use serde_json::json;
use sizewise::check::Checker;
use sizewise::ir::pt2::write_json;
use sizewise::ir::text::{self, Detail};
use sizewise::ir::{Argument, Bounds, Dtype, Program};
use sizewise::kernels::Operators;
use sizewise::pass::Tracer;
use sizewise::report::{GuardVerdict, Outcome};
use sizewise::solve::Budget;
use sizewise::spec::Spec;

/// Each size of `x: f32[s0, s1]` at the example.
const EXAMPLE: i64 = 8;
/// No range ends above.
const LARGEST: i64 = 20;

/// A guard on the sizes of `x`, which are told by their dimensions.
#[derive(Clone, Debug)]
enum Guard {
    Limit(usize, &'static str, i64),
    Remainder(usize, i64, i64),
    /// `x.shape[a] + k < x.shape[b]`, or with another comparison.
    Link(usize, i64, &'static str, usize),
    Product(&'static str, i64),
}

fn guard() -> impl Strategy<Value = Guard> {
    let op = || prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
    prop_oneof![
        3 => (0..2usize, op(), 0..LARGEST).prop_map(|(dim, op, limit)| Guard::Limit(dim, op, limit)),
        2 => (0..2usize, 2..7i64).prop_flat_map(|(dim, divisor)| {
            (0..divisor).prop_map(move |rest| Guard::Remainder(dim, divisor, rest))
        }),
        3 => (0..2usize, -4..5i64, op()).prop_map(|(dim, k, op)| Guard::Link(dim, k, op, 1 - dim)),
        1 => (op(), 0..80i64).prop_map(|(op, limit)| Guard::Product(op, limit)),
    ]
}

fn holds(a: i64, op: &str, b: i64) -> bool {
    match op {
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        ">=" => a >= b,
        "==" => a == b,
        _ => a != b,
    }
}

impl Guard {
    fn text(&self) -> String {
        let size = |dim: &usize| format!("L['x'].size()[{dim}]");
        match self {
            Guard::Limit(dim, op, limit) => format!("{} {op} {limit}", size(dim)),
            Guard::Remainder(dim, divisor, rest) => format!("{} % {divisor} == {rest}", size(dim)),
            Guard::Link(a, k, op, b) => format!("{} + {k} {op} {}", size(a), size(b)),
            Guard::Product(op, limit) => format!("{}*{} {op} {limit}", size(&0), size(&1)),
        }
    }

    fn allows(&self, sizes: [i64; 2]) -> bool {
        match *self {
            Guard::Limit(dim, op, limit) => holds(sizes[dim], op, limit),
            Guard::Remainder(dim, divisor, rest) => sizes[dim] % divisor == rest,
            Guard::Link(a, k, op, b) => holds(sizes[a] + k, op, sizes[b]),
            Guard::Product(op, limit) => holds(sizes[0] * sizes[1], op, limit),
        }
    }

    /// Whether it speaks of one dimension alone.
    fn is_about(&self, only: usize) -> bool {
        matches!(*self, Guard::Limit(dim, ..) | Guard::Remainder(dim, ..) if dim == only)
    }
}

/// What inputs are held to.
#[derive(Clone, Copy, Debug)]
enum Under {
    Contract,
    /// A spec that leaves both dimensions to the program.
    Auto,
    /// A spec that leaves the first dimension to the program, and gives the second a range.
    Named(i64, i64),
}

/// A contract beside a program.
#[derive(Clone, Debug)]
struct Contract {
    /// The ranges of the two sizes; the maximum may be below the minimum.
    ranges: [(i64, i64); 2],
    guards: Vec<Guard>,
    /// Whether the program does anything that needs more of its input.
    calls: bool,
    /// Whether it knows the sizes of the example.
    hints: bool,
    under: Under,
}

fn contracts() -> impl Strategy<Value = Contract> {
    let range = || (0..12i64, -2..9i64).prop_map(|(low, length)| (low, low + length));
    let under = prop_oneof![
        3 => Just(Under::Contract),
        1 => Just(Under::Auto),
        1 => (0..=EXAMPLE, EXAMPLE..LARGEST).prop_map(|(low, high)| Under::Named(low, high)),
    ];
    let guards = prop::collection::vec(guard(), 0..4);
    ([range(), range()], guards, any::<bool>(), any::<bool>(), under)
        .prop_map(|(ranges, guards, calls, hints, under)| Contract { ranges, guards, calls, hints, under })
}

impl Contract {
    fn program(&self, operators: &Operators) -> Program {
        let mut tracer = Tracer::new(operators);
        for name in ["s0", "s1"] {
            tracer.size(name, 0, None, EXAMPLE).expect("a size");
        }
        let x = tracer.tensor("x", Dtype::Float32, &["s0", "s1"]).expect("an input");
        let mut result = tracer.call("aten.relu.default", [("self", x.into())]).expect("a result")[0];
        if self.calls {
            let given = [("self", result.into()), ("mat2", Argument::from(x))];
            result = tracer.call("aten.mm.default", given).expect("a product of square matrices")[0];
        }
        let mut program = tracer.finish(&[result]).program;
        if !self.hints {
            let written = text::write_readable(&program, Detail::Full);
            program = text::read(&written).expect("what was written");
        }
        for (name, (min, max)) in ["s0", "s1"].into_iter().zip(self.ranges) {
            program.range_constraints.insert(name.into(), Bounds { min: Some(min), max: Some(max) });
        }
        program.guards_code = self.guards.iter().map(|guard| guard.text().into()).collect();
        program
    }

    fn spec(&self) -> Option<Spec> {
        let second = match self.under {
            Under::Contract => return None,
            Under::Auto => json!("AUTO"),
            Under::Named(min, max) => json!({"dim": "n", "min": min, "max": max}),
        };
        let spec = json!({"x": ["AUTO", second]}).to_string();
        Some(Spec::parse(spec.as_bytes()).expect("a spec"))
    }

    /// Whether some input is allowed.
    fn allows_something(&self) -> bool {
        let within = |(low, high): (i64, i64), size: i64| (low..=high).contains(&size);
        let mut all = (0..=LARGEST).flat_map(|a| (0..=LARGEST).map(move |b| [a, b]));
        all.any(|sizes| match self.under {
            Under::Contract | Under::Auto => {
                within(self.ranges[0], sizes[0])
                    && within(self.ranges[1], sizes[1])
                    && self.guards.iter().all(|guard| guard.allows(sizes))
            }
            // The other guards are to be proved.
            Under::Named(low, high) => {
                within(self.ranges[0], sizes[0])
                    && within((low, high), sizes[1])
                    && self.guards.iter().all(|guard| !guard.is_about(0) || guard.allows(sizes))
            }
        })
    }
}

#[test]
fn what_allows_no_input_is_invalid_and_nothing_else_is() {
    let (operators, tally) = (Operators::new(), Tally::new("what allows nothing is invalid"));
    hold(250, &contracts(), |contract| {
        let json = write_json(&contract.program(&operators)).expect("JSON");
        let checker = Checker::read("drawn", json.as_bytes()).expect("a program");
        let spec = contract.spec();
        let report = checker.check(spec.as_ref(), &operators, &Budget::default()).expect("a report");
        tally.add(1);
        let invalid = report.verdict == Outcome::Invalid;
        prop_assert_eq!(
            invalid,
            !contract.allows_something(),
            "{:?}, {:?}: {:?}",
            report.verdict,
            contract,
            report.diagnostics
        );
        let implied = report.guards.iter().any(|guard| guard.verdict == GuardVerdict::Implied);
        prop_assert!(!invalid || !implied, "something is implied: {:?}", contract);
        Ok(())
    });
}
