//! Repeated calls give what each of them would give alone.
use crate::propagate::{Comparison, Mode, text_programs};
use sizewise_expr::text::print;

type Lines = &'static [&'static str];

/// The records that are wrong or may be, and the nodes that need something of the inputs, when a program with
/// inputs `x: f32[s0, 3]` and `y: f32[s1, 3]` is run.
fn run(body: &[&str]) -> (Vec<String>, Vec<String>) {
    let source = text_programs::module("x: \"f32[s0, 3]\", y: \"f32[s1, 3]\"", body);
    text_programs::run(&source, Mode::Verify, |run, results| {
        results.expect("a run");
        let (failures, unsupported) = (&run.failures, &run.unsupported);
        assert!(failures.is_empty() && unsupported.is_empty(), "{failures:?}{unsupported:?}");
        let wrong = run.mismatches.iter().map(|m| format!("{}: {} not {}", m.value, m.derived, m.recorded));
        let show = |e| print::expression(&run.env.pool, e);
        let open = |c: &Comparison| format!("{}: {} or {}", c.value, show(c.derived), show(c.recorded));
        let wrong = wrong.chain(run.comparisons.iter().map(open)).collect();
        let guards = run.env.guards().iter().map(|guard| guard.origin);
        let needs = guards.chain(run.env.runtime_asserts().iter().map(|assert| assert.origin));
        (wrong, needs.map(|origin| run.steps[origin.0 as usize].node()).collect())
    })
}

#[test]
fn a_repeated_call_comes_to_what_it_would_come_to_alone() {
    let cases: [(&str, Lines, Lines, Lines); 5] = [
        (
            "a record that is wrong after right ones is found",
            &[
                "a: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)",
                "b: \"f32[s0, 3]\" = torch.ops.aten.relu.default(a)",
                "c: \"f32[s0, 3]\" = torch.ops.aten.relu.default(b)",
                "d: \"f32[s0, 4]\" = torch.ops.aten.relu.default(c)",
                "e: \"f32[s0, 3]\" = torch.ops.aten.relu.default(c)",
                "return (d, e)",
            ],
            &["d: f32[s0, 3] not f32[s0, 4]"],
            &[],
        ),
        (
            "a record that is wrong at first does not stand for the next",
            &[
                "a: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)",
                "b: \"f32[s0, 4]\" = torch.ops.aten.relu.default(a)",
                "c: \"f32[s0, 4]\" = torch.ops.aten.relu.default(a)",
                "return (b, c)",
            ],
            &["b: f32[s0, 3] not f32[s0, 4]", "c: f32[s0, 3] not f32[s0, 4]"],
            &[],
        ),
        (
            "other arguments make another call",
            &[
                "a: \"f32[3]\" = torch.ops.aten.sum.dim_IntList(x, [0])",
                "b: \"f32[3]\" = torch.ops.aten.sum.dim_IntList(x, [0])",
                "c: \"f32[s0]\" = torch.ops.aten.sum.dim_IntList(x, [1])",
                "d: \"f32[s0, 1]\" = torch.ops.aten.sum.dim_IntList(x, [1], True)",
                "e: \"f64[s0]\" = torch.ops.aten.sum.dim_IntList(x, [1], dtype = torch.float64)",
                "f: \"f32[3]\" = torch.ops.aten.sum.dim_IntList(x, [1])",
                "return (f,)",
            ],
            &["f: s0 or 3"],
            &[],
        ),
        (
            "another order of arguments makes another call",
            &[
                "a: \"f32[s0 + s1, 3]\" = torch.ops.aten.cat.default([x, y])",
                "b: \"f32[s0 + s1, 3]\" = torch.ops.aten.cat.default([x, y])",
                "c: \"f32[s0 + s1, 3]\" = torch.ops.aten.cat.default([y, x])",
                "d: \"f32[2*s0, 3]\" = torch.ops.aten.cat.default([x, x])",
                "e: \"f32[s0 + s1, 3]\" = torch.ops.aten.cat.default([x, x])",
                "return (e,)",
            ],
            &["e: 2*s0 or s0 + s1"],
            &[],
        ),
        (
            "what is needed is recorded where it is needed first",
            &[
                "a: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)",
                "b: \"f32[s0, 3]\" = torch.ops.aten.add.Tensor(a, y)",
                "c: \"f32[s0, 3]\" = torch.ops.aten.add.Tensor(a, y)",
                "d: \"f32[s0, 3]\" = torch.ops.aten.add.Tensor(a, y)",
                "return (d,)",
            ],
            &[],
            &["b"],
        ),
    ];
    for (what, body, wrong, guarding) in cases {
        let found = run(body);
        assert_eq!(found.0, wrong, "{what}");
        assert_eq!(found.1, guarding, "{what}");
    }
}
