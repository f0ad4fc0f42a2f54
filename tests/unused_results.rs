//! Results that differ from the record where that says nothing against the program: nothing uses them, or what an unsupported operator
//! hides may explain the difference.
use sizewise::fake::Operators;
use sizewise::ir::{GraphInput, text};
use sizewise::propagate::{Interpreter, Mismatch, Mode, recorded};
use sizewise::spec::Contract;

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
    let body: String = body.iter().map(|line| format!("        {line}\n")).collect();
    let source = format!("class M(torch.nn.Module):\n    def forward(self, {parameters}):\n{body}");
    let program = text::read(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let contract = Contract::load(&program).expect("a contract");
    let (mut env, mut records) = (contract.env.clone(), contract.records.clone());
    let mut inputs = Vec::new();
    for input in program.graph.inputs() {
        let GraphInput::Value(id) = input else { panic!("a constant") };
        inputs.push(recorded::value(&mut records, &mut env, program.graph.meta(*id)).expect("a value"));
    }
    let operators = Operators::new();
    let mut run = Interpreter::new(&program, env, records, &operators, Mode::Verify);
    run.run(inputs).expect("a run");
    let mismatch = |m: &Mismatch| format!("{}: {} not {}", m.value, m.derived, m.recorded);
    let failures = run.failures.iter().map(|failure| failure.message.clone());
    Found {
        wrong: failures.chain(run.mismatches.iter().map(mismatch)).collect(),
        unused: run.unused_mismatches.iter().map(mismatch).collect(),
        unsupported: run.unsupported.iter().map(|(origin, _)| run.steps[origin.0 as usize].node()).collect(),
        needs: run.env.guards().len(),
    }
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
fn mapping_over_nothing_fails_only_where_a_slice_is_looked_at() {
    let empty = &["vmap over an empty dimension"][..];
    for (what, body, wrong) in [
        ("element by element", &["r: \"f32[3]\" = torch.ops.aten.mul.Tensor(a, a)"][..], &[][..]),
        (
            "a scalar meets a row",
            &[
                "s: \"f32[]\" = torch.ops.aten.select.int(a, 0, 0)",
                "r: \"f32[3]\" = torch.ops.aten.mul.Tensor(a, s)",
            ],
            empty,
        ),
        ("a product of matrices", &["r: \"f32[3]\" = torch.ops.aten.matmul.default(a, w)"], empty),
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
        let found = run("x: \"f32[0, 3]\", w: \"f32[3, 3]\"", &lines);
        assert_eq!(found, Found { wrong: list(wrong), ..Found::default() }, "{what}");
    }
}
