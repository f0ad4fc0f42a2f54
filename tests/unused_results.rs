//! Results that differ from the record where that says nothing against the program: nothing uses them, or what an
//! unsupported operator hides may explain the difference.
use crate::text_programs;

use sizewise::check::Checker;
use sizewise::ir::pt2::write_json;
use sizewise::kernels::Operators;
use sizewise::propagate::{Mismatch, Mode};
use sizewise::report::Outcome;
use sizewise::solve::Budget;
use sizewise::spec::Spec;

/// What a run comes to.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// Failures and wrong records of values that something uses.
    wrong: Vec<String>,
    /// Wrong records of values that nothing uses.
    unused: Vec<String>,
    /// The nodes that are not looked into.
    unsupported: Vec<String>,
    /// Conditions on the inputs.
    needs: usize,
}

fn run(parameters: &str, body: &[&str]) -> Found {
    text_programs::run(&text_programs::module(parameters, body), Mode::Verify, |run, results| {
        results.expect("a run");
        let mismatch = |m: &Mismatch| format!("{}: {} not {}", m.value, m.derived, m.recorded);
        let failures = run.failures.iter().map(|failure| failure.message.clone());
        let unsupported = run.unsupported.iter().map(|(origin, _)| run.steps[origin.0 as usize].node());
        Found {
            wrong: failures.chain(run.mismatches.iter().map(mismatch)).collect(),
            unused: run.unused_mismatches.iter().map(mismatch).collect(),
            unsupported: unsupported.collect(),
            needs: run.env.guards().len(),
        }
    })
}

fn list(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

#[test]
fn a_wrong_record_of_what_nothing_uses_is_no_error() {
    for (what, body, wrong, unused) in [
        (
            "a dtype that nothing uses",
            &[
                "a: \"f16[s0, 3]\" = torch.ops.aten.relu.default(x)",
                "b: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)",
                "return (b,)",
            ][..],
            &[][..],
            &["a: f32[s0, 3] not f16[s0, 3]"][..],
        ),
        (
            "a size that nothing uses",
            &[
                "a: \"f32[s0, 4]\" = torch.ops.aten.relu.default(x)",
                "b: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)",
                "return (b,)",
            ],
            &[],
            &["a: f32[s0, 3] not f32[s0, 4]"],
        ),
        (
            "a dtype that an operator uses",
            &[
                "a: \"f16[s0, 3]\" = torch.ops.aten.relu.default(x)",
                "b: \"f16[s0, 3]\" = torch.ops.aten.neg.default(a)",
                "return (b,)",
            ],
            &["a: f32[s0, 3] not f16[s0, 3]"],
            &[],
        ),
        (
            "a dtype that is returned",
            &["a: \"f16[s0, 3]\" = torch.ops.aten.relu.default(x)", "return (a,)"],
            &["a: f32[s0, 3] not f16[s0, 3]"],
            &[],
        ),
    ] {
        let found = run("x: \"f32[s0, 3]\"", body);
        assert_eq!(found, Found { wrong: list(wrong), unused: list(unused), ..Found::default() }, "{what}");
    }
}

#[test]
fn what_an_unsupported_operator_hides_stays_hidden_downstream() {
    for (what, body, wrong, unsupported) in [
        (
            "a record that differs",
            &[
                "a: \"f16[s0, 3]\" = torch.ops.my.op.default(x)",
                "b: \"f32[s0, 3]\" = torch.ops.aten.relu.default(a)",
                "return (b,)",
            ][..],
            &[][..],
            &["a", "b"][..],
        ),
        (
            "operands of two dtypes",
            &[
                "a: \"f16[s0, 3]\" = torch.ops.my.op.default(x)",
                "b: \"f16[s0, 3]\" = torch.ops.aten.mm.default(a, y)",
                "return (b,)",
            ],
            &[],
            &["a", "b"],
        ),
        (
            "what does not rest on it",
            &[
                "a: \"f16[s0, 3]\" = torch.ops.my.op.default(x)",
                "b: \"f16[s0, 3]\" = torch.ops.aten.relu.default(x)",
                "return (a, b)",
            ],
            &["b: f32[s0, 3] not f16[s0, 3]"],
            &["a"],
        ),
    ] {
        let found = run("x: \"f32[s0, 3]\", y: \"f32[3, 3]\"", body);
        let expected = Found { wrong: list(wrong), unsupported: list(unsupported), ..Found::default() };
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_dual_tensor_has_the_form_of_its_primal() {
    let begin = [
        "nesting = torch._functorch.predispatch._jvp_increment_nesting()",
        "level = torch._functorch.predispatch._enter_dual_level()",
        "dual: \"f32[s0, 3]\" = torch._functorch.predispatch._make_dual(x, v, level = 0)",
        "made: \"f32[s0, 3]\" = torch.ops.aten._make_dual.default(x, v, 0)",
        "sum_1: \"f32[s0]\" = torch.ops.aten.sum.dim_IntList(dual, [-1])",
    ];
    let end = [
        "primal: \"f32[s0]\" = torch._functorch.predispatch._unwrap_for_grad(part, 1)",
        "exit = torch._functorch.predispatch._exit_dual_level(level = 0)",
        "left = torch._functorch.predispatch._jvp_decrement_nesting()",
    ];
    for call in [
        "torch._functorch.predispatch._unpack_dual(sum_1, level = 0)",
        "torch.ops.aten._unpack_dual.default(sum_1, 0)",
    ] {
        let unpack = format!("parts = {call}");
        for (form, wrong) in [("f32[s0]", &[][..]), ("f32[s0, 3]", &["tangent: f32[s0] not f32[s0, 3]"][..])]
        {
            let tangent = format!("tangent: \"{form}\" = parts[1]");
            let mut body = begin.to_vec();
            body.extend([unpack.as_str(), "part: \"f32[s0]\" = parts[0]", tangent.as_str()]);
            body.extend(end);
            body.push("return (primal, tangent)");
            let found = run("x: \"f32[s0, 3]\", v: \"f32[s0, 3]\"", &body);
            assert_eq!(found, Found { wrong: list(wrong), ..Found::default() }, "{call}");
        }
    }
}

#[test]
fn mapping_over_nothing_does_what_torch_does() {
    for (what, body, wrong, unsupported) in [
        ("element by element", &["r: \"f32[3]\" = torch.ops.aten.mul.Tensor(a, a)"][..], &[][..], &[][..]),
        (
            "a scalar that is mapped over meets a row",
            &[
                "s: \"f32[]\" = torch.ops.aten.sum.dim_IntList(a, [0])",
                "r: \"f32[3]\" = torch.ops.aten.mul.Tensor(a, s)",
            ],
            &["vmap over an empty dimension"],
            &[],
        ),
        (
            "a scalar that is mapped over meets a number",
            &[
                "s: \"f32[]\" = torch.ops.aten.sum.dim_IntList(a, [0])",
                "t: \"f32[]\" = torch.ops.aten.div.Tensor(s, 2)",
                "r: \"f32[3]\" = torch.ops.aten.neg.default(a)",
            ],
            &["vmap over an empty dimension"],
            &[],
        ),
        (
            "a number that is no tensor",
            &[
                "s: \"f32[]\" = torch._functorch.predispatch._add_batch_dim(v, 0, 1)",
                "t: \"f32[]\" = torch.ops.aten.pow.Tensor_Scalar(s, 2)",
                "r: \"f32[3]\" = torch.ops.aten.neg.default(a)",
            ],
            &[],
            &[],
        ),
        (
            "a scalar that is mapped over is written",
            &[
                "s: \"f32[]\" = torch._functorch.predispatch._add_batch_dim(v, 0, 1)",
                "t: \"f32[]\" = torch.ops.aten.add_.Tensor(s, 1)",
                "r: \"f32[3]\" = torch.ops.aten.neg.default(a)",
            ],
            &[],
            &[],
        ),
        ("a scalar that is not", &["r: \"f32[3]\" = torch.ops.aten.mul.Tensor(a, c)"], &[], &[]),
        (
            "a scalar that is not meets one that is",
            &[
                "s: \"f32[]\" = torch._functorch.predispatch._add_batch_dim(v, 0, 1)",
                "t: \"f32[]\" = torch.ops.aten.mul.Tensor(s, c)",
                "r: \"f32[3]\" = torch.ops.aten.neg.default(a)",
            ],
            &["vmap over an empty dimension", "vmap over an empty dimension"],
            &[],
        ),
        ("a product of matrices", &["r: \"f32[3]\" = torch.ops.aten.matmul.default(a, w)"], &[], &[]),
        ("a view of a written size", &["r: \"f32[3]\" = torch.ops.aten.view.default(a, [3])"], &[], &[]),
        ("a view of a size to infer", &["r: \"f32[3]\" = torch.ops.aten.view.default(a, [-1])"], &[], &["a"]),
        ("what was not tried", &["r: \"f32[3]\" = torch.ops.aten.cumprod.default(a, 0)"], &[], &["a"]),
    ] {
        let mut lines = vec![
            "load = torch._functorch.predispatch.lazy_load_decompositions()",
            "enter = torch._functorch.predispatch._vmap_increment_nesting(0, 'error')",
            "a: \"f32[3]\" = torch._functorch.predispatch._add_batch_dim(x, 0, 1)",
        ];
        lines.extend(body);
        lines.extend([
            "out: \"f32[0, 3]\" = torch._functorch.predispatch._remove_batch_dim(r, 1, 0, 0)",
            "exit = torch._functorch.predispatch._vmap_decrement_nesting()",
            "return (out,)",
        ]);
        let found = run("x: \"f32[0, 3]\", v: \"f32[0]\", w: \"f32[3, 3]\", c: \"f32[]\"", &lines);
        let expected = Found { wrong: list(wrong), unsupported: list(unsupported), ..Found::default() };
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_spec_that_allows_nothing_to_map_over_is_held_to_what_torch_does() {
    for (what, body, verdict) in [
        ("element by element", &["r: \"f32[3]\" = torch.ops.aten.mul.Tensor(a, a)"][..], Outcome::Ok),
        (
            "a scalar that is mapped over meets a row",
            &[
                "s: \"f32[]\" = torch.ops.aten.sum.dim_IntList(a, [0])",
                "r: \"f32[3]\" = torch.ops.aten.mul.Tensor(a, s)",
            ],
            Outcome::Violated,
        ),
        ("a product of matrices", &["r: \"f32[3]\" = torch.ops.aten.matmul.default(a, w)"], Outcome::Ok),
        (
            "a view of a size to infer",
            &["r: \"f32[3]\" = torch.ops.aten.view.default(a, [-1])"],
            Outcome::Unknown,
        ),
    ] {
        let mut lines = vec![
            "n: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)",
            "enter = torch._functorch.predispatch._vmap_increment_nesting(n, 'error')",
            "a: \"f32[3]\" = torch._functorch.predispatch._add_batch_dim(x, 0, 1)",
        ];
        lines.extend(body);
        lines.extend([
            "out: \"f32[s0, 3]\" = torch._functorch.predispatch._remove_batch_dim(r, 1, n, 0)",
            "exit = torch._functorch.predispatch._vmap_decrement_nesting()",
            "return (out,)",
        ]);
        let source = text_programs::module("x: \"f32[s0, 3]\", w: \"f32[3, 3]\"", &lines);
        let json = write_json(&text_programs::program(&source)).expect("JSON");
        let checker = Checker::read("mapped", json.as_bytes()).expect("a program");
        for (min, expected) in [(0, verdict), (1, Outcome::Ok)] {
            let spec = format!(r#"{{"x": [{{"dim": "n", "min": {min}}}, 3], "w": [3, 3]}}"#);
            let spec = Spec::parse(spec.as_bytes()).expect("a spec");
            let report = checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report");
            assert_eq!(report.verdict, expected, "{what}, from {min} on");
        }
    }
}
