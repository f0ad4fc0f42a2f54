//! How large values get that a run does not always make.
#![cfg(feature = "cli")]
use crate::text_programs::program;
use serde_json::{Value as Json, json};
use sizewise::kernels::Operators;
use sizewise::sizing::sizing;

/// A program whose `cond` chooses by `predicate` between two graphs that take `x`.
fn chosen(predicate: &str, [then, otherwise]: [&str; 2], after: &str, ranges: &str) -> String {
    format!(
        "class M(torch.nn.Module):
    def forward(self, x: \"f32[s0, 8]\", y: \"f32[s1]\", flag: \"b8[]\", mask: \"b8[s1]\"):
        n: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)
        m: \"Sym(s1)\" = torch.ops.aten.sym_size.int(y, 0)
{predicate}
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(chosen, true_graph_0, false_graph_0, (x,))
        getitem: \"f32[s0, 8]\" = cond[0]
        {after}
        return (getitem,)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: \"f32[s0, 8]\"):
            a: \"f32[s0, 8]\" = {then}
            return (a,)

    class false_graph_0(torch.nn.Module):
        def forward(self, x: \"f32[s0, 8]\"):
            a: \"f32[s0, 8]\" = {otherwise}
            return (a,)

Range constraints: {ranges}
"
    )
}

const PLAIN: [&str; 2] = ["torch.ops.aten.relu.default(x)", "torch.ops.aten.neg.default(x)"];

fn asked(source: &str, value: &str) -> Result<Json, String> {
    let program = program(source);
    let operators = Operators::new();
    let mut sizing = sizing(&program, None, &operators).expect("sizes");
    let question = json!({"ask": "bounds", "values": [value]});
    let answer = sizing.answer(question.as_object().expect("fields"));
    answer.map(|answer| answer["values"][0].clone()).map_err(|error| error.to_string())
}

fn bounds(source: &str, value: &str) -> Json {
    asked(source, value).expect("bounds")
}

/// Lines that compute `chosen`.
fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("        {line}\n")).collect()
}

const RANGES: &str = "{s0: VR[2, 20], s1: VR[5, 9]}";

#[test]
fn a_branch_that_sizes_choose_is_bounded_over_the_inputs_that_choose_it() {
    let more = chosen(&lines(&["chosen: \"Sym(s0 > s1)\" = n > m"]), PLAIN, "", RANGES);
    for (value, least, most, when) in [
        ("true_graph_0.a", 6, 20, json!("x.shape[0] > y.shape[0]")),
        ("false_graph_0.a", 2, 9, json!("x.shape[0] <= y.shape[0]")),
        ("getitem", 2, 20, Json::Null),
    ] {
        let found = bounds(&more, value);
        let size = &found["dims"][0];
        assert_eq!((&size["min"], &size["max"], &found["when"]), (&json!(least), &json!(most), &when));
        assert_eq!(found["exact"], true, "{found}");
        for (end, size) in [("min_at", least), ("max_at", most)] {
            let at = |input: &str| found["dims"][0][end][input][0].as_i64().expect("a size");
            assert_eq!(at("x"), size, "{found}");
            let takes_it = value == "getitem" || (at("x") > at("y")) == (value == "true_graph_0.a");
            assert!(takes_it, "{found}");
        }
    }
}

#[test]
fn a_branch_that_no_allowed_input_comes_to_has_no_sizes() {
    let more = lines(&["chosen: \"Sym(s0 > s1)\" = n > m"]);
    let after = "le: \"Sym(s0 <= s1)\" = n <= m
        _assert_scalar = torch.ops.aten._assert_scalar.default(le, 'x is no longer than y')";
    let source = chosen(&more, PLAIN, after, RANGES);
    let found = bounds(&source, "true_graph_0.a");
    assert_eq!((&found["exact"], &found["dims"][0]["max"]), (&json!(false), &Json::Null), "{found}");
    assert_eq!(found["reasons"], json!(["no allowed input makes it"]), "{found}");
    let other = bounds(&source, "false_graph_0.a");
    assert_eq!((&other["exact"], &other["dims"][0]["max"]), (&json!(true), &json!(9)), "{other}");
    // Of a graph that is left out from the start, nothing is known.
    let never = lines(&["chosen: \"Sym(s0 > 30)\" = n > 30"]);
    let error = asked(&chosen(&never, PLAIN, "", RANGES), "true_graph_0.a").expect_err("no value");
    assert_eq!(error, "no allowed input comes to `true_graph_0`: nothing makes `true_graph_0.a`");
}

#[test]
fn a_branch_that_data_choose_is_taken_by_some_data_where_the_choice_is_an_input_by_itself() {
    let by_data = json!(["data decide whether it is made"]);
    let flag = chosen("", PLAIN, "", RANGES).replace("cond(chosen,", "cond(flag,");
    let computed = lines(&[
        "sum_1: \"f32[]\" = torch.ops.aten.sum.default(y)",
        "chosen: \"b8[]\" = torch.ops.aten.gt.Scalar(sum_1, 0)",
    ]);
    let shared = "other: \"b8[]\" = torch.ops.aten.logical_not.default(flag)";
    let twice = chosen("", PLAIN, shared, RANGES).replace("cond(chosen,", "cond(flag,");
    for (source, reasons) in
        [(flag, json!([])), (chosen(&computed, PLAIN, "", RANGES), by_data.clone()), (twice, by_data)]
    {
        for value in ["true_graph_0.a", "false_graph_0.a"] {
            let found = bounds(&source, value);
            assert_eq!((&found["dims"][0]["min"], &found["dims"][0]["max"]), (&json!(2), &json!(20)));
            assert_eq!((&found["reasons"], &found["when"]), (&reasons, &Json::Null), "{found}");
            assert_eq!(found["dims"][0].get("max_at").is_some(), reasons == json!([]), "{found}");
        }
    }
}

#[test]
fn what_a_branch_needs_that_data_choose_limits_its_own_values_only() {
    // The view is possible where x has 4 rows.
    let four = "torch.ops.aten.view.default(x, [4, 8])";
    let after = "out: \"f32[s0, 8]\" = torch.ops.aten.relu.default(x)";
    let source = chosen("", [four, PLAIN[1]], after, RANGES);
    let source = source.replace("cond(chosen,", "cond(flag,");
    for (value, least, most) in [("out", 2, 20), ("false_graph_0.a", 2, 20), ("true_graph_0.a", 4, 4)] {
        let found = bounds(&source, value);
        let size = &found["dims"][0];
        assert_eq!((&size["min"], &size["max"]), (&json!(least), &json!(most)), "{found}");
        assert_eq!(found["exact"], true, "{found}");
    }
}

#[test]
fn the_graph_of_a_loop_is_run_where_there_is_something_to_go_through() {
    let source = "class M(torch.nn.Module):
    def forward(self, h: \"f32[s1]\", x: \"f32[s0, s1]\"):
        scan_combine_graph_0 = self.scan_combine_graph_0
        scan = torch.ops.higher_order.scan(scan_combine_graph_0, [h], [x], [])
        getitem: \"f32[s1]\" = scan[0]
        getitem_1: \"f32[s0, s1]\" = scan[1]
        return (getitem, getitem_1)

    class scan_combine_graph_0(torch.nn.Module):
        def forward(self, h: \"f32[s1]\", x: \"f32[s1]\"):
            add: \"f32[s1]\" = torch.ops.aten.add.Tensor(h, x)
            clone: \"f32[s1]\" = torch.ops.aten.clone.default(add)
            return (add, clone)

Range constraints: {s0: VR[0, 9], s1: VR[3, 7]}
";
    for (ranges, when) in [("s0: VR[0, 9]", json!("x.shape[0] >= 1")), ("s0: VR[2, 9]", Json::Null)] {
        let found = bounds(&source.replace("s0: VR[0, 9]", ranges), "scan_combine_graph_0.add");
        let size = &found["dims"][0];
        assert_eq!((&size["min"], &size["max"], &found["when"]), (&json!(3), &json!(7), &when), "{found}");
        assert_eq!(found["exact"], true, "{found}");
    }
}

#[test]
fn a_size_that_data_decide_and_that_can_be_one_number_only_is_that_number() {
    let source = |most: i64| {
        format!(
            "class M(torch.nn.Module):
    def forward(self, x: \"f32[s0]\", n: \"i64[]\"):
        item: \"Sym(u0)\" = torch.ops.aten.item.default(n)
        ge: \"Sym(u0 >= 3)\" = item >= 3
        assert_ge = torch.ops.aten._assert_scalar.default(ge, 'at least 3')
        le: \"Sym(u0 <= {most})\" = item <= {most}
        assert_le = torch.ops.aten._assert_scalar.default(le, 'not more')
        unsqueeze: \"f32[s0, 1]\" = torch.ops.aten.unsqueeze.default(x, 1)
        expand: \"f32[s0, u0]\" = torch.ops.aten.expand.default(unsqueeze, [-1, item])
        return (expand,)

Range constraints: {{s0: VR[2, 20]}}
"
        )
    };
    for (most, reasons) in [(3, json!([])), (4, json!(["data decide a size"]))] {
        let found = bounds(&source(most), "expand");
        let ends = [&found["dims"][1]["min"], &found["dims"][1]["max"]];
        assert_eq!((ends, &found["reasons"]), ([&json!(3), &json!(most)], &reasons), "{found}");
        assert_eq!(found["elements"]["max"], 20 * most, "{found}");
        assert_eq!(found["elements"].get("max_at").is_some(), most == 3, "{found}");
    }
}
