//! Higher-order operators on programs as text: conditions on inputs, failures, results.
use crate::propagate::{Mismatch, Mode, text_programs};
use sizewise_expr::text::print;

/// The result of a run.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// Guards and runtime assertions, as printed.
    needs: Vec<String>,
    /// Failures, wrong records and missing kernels.
    wrong: Vec<String>,
}

/// Runs a program given by its forward's parameters and body, and its graphs.
fn run(parameters: &str, body: &[&str], graphs: &[(&str, &str, &[&str])]) -> Found {
    let loaded = graphs.iter().map(|(name, ..)| format!("{name} = self.{name}"));
    let lines: Vec<String> = loaded.chain(body.iter().map(|line| line.to_string())).collect();
    let mut source = text_programs::module(parameters, &lines);
    for (name, parameters, body) in graphs {
        source.push_str(&format!("\n    class {name}(torch.nn.Module):\n"));
        source.push_str(&format!("        def forward(self, {parameters}):\n"));
        body.iter().for_each(|line| source.push_str(&format!("            {line}\n")));
    }
    text_programs::run(&source, Mode::Verify, |run, results| {
        results.expect("a run");
        let mut found = Found::default();
        let pool = &run.env.pool;
        let guards = run.env.guards().iter().map(|guard| guard.condition);
        for condition in guards.chain(run.env.runtime_asserts().iter().map(|assert| assert.condition)) {
            found.needs.push(print::expression(pool, condition));
        }
        found.wrong.extend(run.failures.iter().map(|failure| failure.message.clone()));
        found.wrong.extend(run.unsupported.iter().map(|(_, reason)| reason.clone()));
        let mismatch = |m: &Mismatch| format!("{}: {} not {}", m.value, m.derived, m.recorded);
        found.wrong.extend(run.mismatches.iter().map(mismatch));
        found
    })
}

fn fine() -> Found {
    Found::default()
}

fn wrong(message: &str) -> Found {
    Found { needs: Vec::new(), wrong: vec![message.to_owned()] }
}

#[test]
fn what_a_branch_needs_is_needed_where_it_is_taken() {
    let found = run(
        "x: \"f32[s0, 3]\", y: \"f32[s1, 3]\"",
        &[
            "n: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)",
            "p: \"Sym(s0 > 4)\" = n > 4",
            "cond: \"f32[s0, 3]\" = torch.ops.higher_order.cond(p, t, f, [x, y])",
            "return (cond,)",
        ],
        &[
            (
                "t",
                "x: \"f32[s0, 3]\", y: \"f32[s1, 3]\"",
                &["d: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(x, x)", "return d"],
            ),
            (
                "f",
                "x: \"f32[s0, 3]\", y: \"f32[s1, 3]\"",
                &["e: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)", "return e"],
            ),
        ],
    );
    assert_eq!(found, fine());
}

const LOOP: &str = "i: \"i64[]\", x: \"f32[s0, 3]\"";

fn while_loop(result: &str, body: &[&str], condition: &[&str]) -> Found {
    let call = format!("w: \"{result}\" = torch.ops.higher_order.while_loop(c, b, [x], [i])");
    run(
        LOOP,
        &[&call, "return (w,)"],
        &[
            ("c", "x: \"f32[s0, 3]\", i: \"i64[]\"", condition),
            ("b", "x: \"f32[s0, 3]\", i: \"i64[]\"", body),
        ],
    )
}

#[test]
fn what_a_loop_carries_keeps_its_form() {
    let go = ["go: \"b8[]\" = torch.ops.aten.gt.Scalar(i, 0)", "return go"];
    let same = ["y: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)", "return y"];
    assert_eq!(while_loop("f32[s0, 3]", &same, &go), fine());
    let grows = ["y: \"f32[s0, 6]\" = torch.ops.aten.cat.default([x, x], 1)", "return y"];
    let message = "what is carried has to keep its form: dimension 1 of value 0 grows from 3 to 6";
    assert_eq!(while_loop("f32[s0, 3]", &grows, &go), wrong(message));
    let shrinks = ["y: \"f32[s0, 2]\" = torch.ops.aten.slice.Tensor(x, 1, 0, 2)", "return y"];
    let message = "what is carried has to keep its form: dimension 1 of value 0 shrinks from 3 to 2";
    assert_eq!(while_loop("f32[s0, 3]", &shrinks, &go), wrong(message));
    let converts =
        ["y: \"f64[s0, 3]\" = torch.ops.aten._to_copy.default(x, dtype = torch.float64)", "return y"];
    let message = "what is carried has to keep its form: value 0 goes from f32[s0, 3] to f64[s0, 3]";
    assert_eq!(while_loop("f32[s0, 3]", &converts, &go), wrong(message));
    let no_truth = ["go: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)", "return go"];
    let message = "the condition of a loop is one truth value, not (f32[s0, 3])";
    assert_eq!(while_loop("f32[s0, 3]", &same, &no_truth), wrong(message));
}

fn switch(second: &[&str]) -> Found {
    run(
        "i: \"i64[]\", x: \"f32[s0, 3]\"",
        &["s: \"f32[s0, 3]\" = torch.ops.higher_order.switch(i, [a, b], (x,))", "return (s,)"],
        &[
            ("a", "x: \"f32[s0, 3]\"", &["y: \"f32[s0, 3]\" = torch.ops.aten.sin.default(x)", "return y"]),
            ("b", "x: \"f32[s0, 3]\"", second),
        ],
    )
}

#[test]
fn all_branches_of_a_switch_return_the_same_form() {
    assert_eq!(switch(&["y: \"f32[s0, 3]\" = torch.ops.aten.cos.default(x)", "return y"]), fine());
    assert_eq!(
        switch(&["y: \"f32[3]\" = torch.ops.aten.sum.dim_IntList(x, [0])", "return y"]),
        wrong("the branches return different things: value 0 is f32[s0, 3] in one, f32[3] in another")
    );
}

#[test]
fn an_associative_scan_combines_two_slices_into_one() {
    let scan = |body: &[&str]| {
        run(
            "x: \"f32[s0, 3]\"",
            &["y: \"f32[s0, 3]\" = torch.ops.higher_order.associative_scan(g, [x], [])", "return (y,)"],
            &[("g", "a: \"f32[3]\", b: \"f32[3]\"", body)],
        )
    };
    assert_eq!(scan(&["c: \"f32[3]\" = torch.ops.aten.add.Tensor(a, b)", "return c"]), fine());
    assert_eq!(
        scan(&["c: \"f32[6]\" = torch.ops.aten.cat.default([a, b])", "return c"]),
        wrong("what is carried has to keep its form: dimension 0 of value 0 grows from 3 to 6")
    );
}

#[test]
fn attention_has_the_rows_of_queries_and_the_columns_of_values() {
    let attention = |key: &str| {
        let parameters =
            format!("q: \"f32[s0, 4, s1, 16]\", k: \"f32[s0, 4, s2, {key}]\", v: \"f32[s0, 4, s2, 8]\"");
        let call = "a = torch.ops.higher_order.flex_attention(q, k, v, g, (128, m), 0.25, {}, (), ())";
        run(
            &parameters,
            &[
                call,
                "o: \"f32[s0, 4, s1, 8]\" = a[0]",
                "l: \"f32[s0, 4, s1]\" = a[1]",
                "h: \"f32[s0, 4, s1]\" = a[2]",
                "return (o, l, h)",
            ],
            &[
                (
                    "g",
                    "s: \"f32[]\", b: \"i32[]\", h: \"i32[]\", i: \"i32[]\", j: \"i32[]\"",
                    &["t: \"f32[]\" = torch.ops.aten.add.Tensor(s, i)", "return t"],
                ),
                (
                    "m",
                    "b: \"i32[]\", h: \"i32[]\", i: \"i32[]\", j: \"i32[]\"",
                    &["t: \"b8[]\" = torch.ops.aten.ge.Tensor(i, j)", "return t"],
                ),
            ],
        )
    };
    assert_eq!(attention("16"), fine());
    assert_eq!(attention("8"), wrong("query and key have other last dimensions: 16 != 8"));
}
