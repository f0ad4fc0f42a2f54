//! How large values get, memory plans, what fits, and profiles, on small programs.
#![cfg(feature = "cli")]
use crate::text_programs::{module, program};
use serde_json::{Value as Json, json};
use sizewise::expr::{Evaluator, Value};
use sizewise::kernels::Operators;
use sizewise::sizing::{Sizing, SizingError, sizing};
use sizewise::spec::Spec;
use std::path::{Path, PathBuf};

/// The answer to a question about a module, with its ranges.
fn ask(parameters: &str, lines: &[&str], ranges: &str, question: Json) -> Result<Json, String> {
    let source = module(parameters, lines) + &format!("\nRange constraints: {ranges}\n");
    let program = program(&source);
    let operators = Operators::new();
    let said = |error: SizingError| error.to_string();
    let mut sizing = sizing(&program, None, &operators).map_err(said)?;
    let Json::Object(fields) = question else { panic!("no question") };
    sizing.answer(&fields).map_err(said)
}

const SLICED: (&str, &[&str]) = (
    "x: \"f32[s0, 64]\"",
    &[
        "sym_size: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)",
        "slice_1: \"f32[s0, 64 - s0]\" = torch.ops.aten.slice.Tensor(x, 1, sym_size)",
        "relu: \"f32[s0, 64 - s0]\" = torch.ops.aten.relu.default(slice_1)",
        "return (relu,)",
    ],
);

#[test]
fn bounds_are_joint_and_attained() {
    let (parameters, lines) = SLICED;
    for (ranges, dims, elements, at) in [
        ("{s0: VR[2, 62]}", [[2, 62], [2, 62]], [124, 1024], json!({"x": [32, 64]})),
        ("{s0: VR[2, 9]}", [[2, 9], [55, 62]], [124, 495], json!({"x": [9, 64]})),
        ("{s0: VR[40, 60]}", [[40, 60], [4, 24]], [240, 960], json!({"x": [40, 64]})),
        ("{s0: VR[5, 5]}", [[5, 5], [59, 59]], [295, 295], json!({"x": [5, 64]})),
    ] {
        let answer =
            ask(parameters, lines, ranges, json!({"ask": "bounds", "values": ["relu"]})).expect("bounds");
        let relu = &answer["values"][0];
        assert_eq!(relu["exact"], true, "{ranges}: {relu}");
        for (dim, [least, most]) in dims.into_iter().enumerate() {
            assert_eq!((&relu["dims"][dim]["min"], &relu["dims"][dim]["max"]), (&json!(least), &json!(most)));
        }
        let [least, most] = elements;
        assert_eq!(
            (&relu["elements"]["min"], &relu["elements"]["max"]),
            (&json!(least), &json!(most)),
            "{ranges}"
        );
        assert_eq!((&relu["bytes"]["max"], &relu["bytes"]["max_at"]), (&json!(4 * most), &at), "{ranges}");
    }
}

#[test]
fn what_has_no_bound_says_which_size_has_none() {
    let lines = &["mm: \"f32[s0, s1]\" = torch.ops.aten.mm.default(x, y)", "return (mm,)"];
    let parameters = "x: \"f32[s0, 3]\", y: \"f32[3, s1]\"";
    for (ranges, needs, message) in [
        ("{s0: VR[2, 9], s1: VR[2, int_oo]}", json!(["y.1"]), "the memory has no bound: give y.1 a max"),
        ("{s0: VR[2, int_oo], s1: VR[2, int_oo]}", json!(["x.0", "y.1"]), "give x.0 and y.1 a max"),
    ] {
        let answer = ask(parameters, lines, ranges, json!({"ask": "bounds"})).expect("bounds");
        let mm = &answer["values"][0];
        assert_eq!(
            (&mm["needs"], &mm["elements"]["max"], &mm["exact"]),
            (&needs, &Json::Null, &json!(true)),
            "{mm}"
        );
        assert_eq!(mm["elements"]["min"], 4);
        for question in
            [json!({"ask": "plan"}), json!({"ask": "profile"}), json!({"ask": "buckets", "count": 2})]
        {
            let error = ask(parameters, lines, ranges, question).expect_err("no bound");
            assert!(error.ends_with(message.rsplit(": ").next().unwrap_or(message)), "{error}");
        }
    }
}

#[test]
fn plans_leave_out_what_shares_memory() {
    let lines = &[
        "relu: \"f32[s0, 8]\" = torch.ops.aten.relu.default(x)",
        "view: \"f32[8*s0]\" = torch.ops.aten.view.default(relu, [-1])",
        "neg: \"f32[8*s0]\" = torch.ops.aten.neg.default(view)",
        "add_: \"f32[8*s0]\" = torch.ops.aten.add_.Tensor(neg, 1)",
        "exp: \"f32[8*s0]\" = torch.ops.aten.exp.default(add_)",
        "return (exp,)",
    ];
    let plan = |align: u64| {
        ask("x: \"f32[s0, 8]\"", lines, "{s0: VR[2, 9]}", json!({"ask": "plan", "align": align}))
    };
    let answer = plan(16).expect("a plan");
    let buffers: Vec<(&str, i64, i64, i64)> = answer["buffers"]
        .as_array()
        .expect("buffers")
        .iter()
        .map(|b| {
            let number = |key: &str| b[key].as_i64().expect("a number");
            (b["value"].as_str().expect("a name"), number("bytes"), number("from"), number("to"))
        })
        .collect();
    assert_eq!(buffers, [("relu", 288, 0, 2), ("neg", 288, 2, 4), ("exp", 288, 4, 4)]);
    assert_eq!((&answer["arena_bytes"], &answer["lower_bound"]), (&json!(576), &json!(576)));
    assert_eq!(plan(512).expect("a plan")["arena_bytes"], 1024);
    for align in [0, 3, 1 << 30] {
        assert!(plan(align).expect_err("no alignment").contains("a power of two"));
    }
}

#[test]
fn branches_share_memory() {
    let source = |lines: [&str; 2]| {
        format!(
            "class M(torch.nn.Module):
    def forward(self, x: \"f32[s0, 8]\", flag: \"b8[]\"):
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(flag, true_graph_0, false_graph_0, (x,))
        getitem: \"f32[s0, 8]\" = cond[0]
        return (getitem,)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: \"f32[s0, 8]\"):
            a: \"f32[s0, 8]\" = torch.ops.aten.relu.default(x)
            b: \"f32[s0, 8]\" = {}
            return (b,)

    class false_graph_0(torch.nn.Module):
        def forward(self, x: \"f32[s0, 8]\"):
            a: \"f32[s0, 8]\" = torch.ops.aten.neg.default(x)
            b: \"f32[s0, 8]\" = {}
            return (b,)

Range constraints: {{s0: VR[2, 4]}}
",
            lines[0], lines[1]
        )
    };
    let program = program(&source(["torch.ops.aten.exp.default(a)", "torch.ops.aten.sin.default(a)"]));
    let operators = Operators::new();
    let mut sizing = sizing(&program, None, &operators).expect("sizes");
    let plan = sizing.plan(16).expect("a plan");
    let steps: Vec<(&str, usize, usize)> =
        plan.buffers.iter().map(|buffer| (&*buffer.value, buffer.from, buffer.to)).collect();
    // What a branch gives counts beside the result, which may be the same memory; a branch makes nothing while the other one runs.
    assert_eq!(steps, [("a", 0, 1), ("b", 1, 4), ("a", 2, 3), ("b", 3, 4), ("getitem", 4, 4)]);
    // A run takes one branch: what one gives shares memory with what the other one makes.
    let beside = "the results of `cond` are counted beside those of its graphs";
    assert_eq!(
        (plan.arena_bytes, plan.lower_bound, &*plan.reasons),
        (2 * 128, 2 * 128, &[beside.to_owned()][..])
    );
    let fit = |memory: i64| {
        let question = json!({"ask": "fit", "memory": memory, "maximize": "x.0"});
        let Json::Object(fields) = question else { panic!("no question") };
        sizing.answer(&fields).expect("what fits")["fits"]["size"].clone()
    };
    // Inputs of 32*s0 + 1, and two of 32*s0 that are made.
    assert_eq!([97 * 4 - 4, 96 * 4 + 1].map(fit), [json!(3), json!(4)]);
    let values = sizing.values();
    let exact: Vec<(&str, bool)> =
        values.iter().map(|bounds| (bounds.value.name.as_str(), bounds.is_exact())).collect();
    // Some data take either branch.
    assert!(exact.iter().all(|&(_, exact)| exact) && exact.len() == 5, "{exact:?}");
}

#[test]
fn what_fits_is_the_largest_size_that_does() {
    let lines = &[
        "mm: \"f32[s0, s0]\" = torch.ops.aten.mm.default(x, y)",
        "relu: \"f32[s0, s0]\" = torch.ops.aten.relu.default(mm)",
        "return (relu,)",
    ];
    let (parameters, ranges) = ("x: \"f32[s0, s1]\", y: \"f32[s1, s0]\"", "{s0: VR[2, 1000], s1: VR[1, 50]}");
    let fit = |memory: Json, given: Json| {
        let question = json!({"ask": "fit", "memory": memory, "maximize": "x.0", "given": given});
        ask(parameters, lines, ranges, question)
    };
    // 8*s0*s0 of results and 8*s0*s1 of inputs.
    for (memory, s1, fits, breaks) in [
        (json!(8 * 20 * 20 + 8 * 20 * 4), 4, json!([20, 8 * 20 * 24]), json!([21, 8 * 21 * 25])),
        (json!(8 * 20 * 20 + 8 * 20 * 4 - 1), 4, json!([19, 8 * 19 * 23]), json!([20, 8 * 20 * 24])),
        (json!("1GB"), 4, json!([1000, 8 * 1000 * 1004]), Json::Null),
        (json!("0.03KiB"), 4, Json::Null, json!([2, 8 * 2 * 6])),
    ] {
        let answer = fit(memory.clone(), json!({"x.1": s1})).expect("what fits");
        let step =
            |step: &Json| if step.is_null() { Json::Null } else { json!([step["size"], step["bytes"]]) };
        assert_eq!((step(&answer["fits"]), step(&answer["breaks"])), (fits, breaks), "{memory}: {answer}");
        assert_eq!(answer["exact"], true);
    }
    let only = json!({"ask": "fit", "memory": 8 * 20 * 24, "given": {"x.1": 4}});
    let answer = ask(parameters, lines, ranges, only).expect("what fits");
    assert_eq!((&answer["maximize"], &answer["fits"]["size"]), (&json!("x.0"), &json!(20)));
    let several = json!({"ask": "fit", "memory": 1});
    let error = ask(parameters, lines, ranges, several).expect_err("several sizes");
    assert_eq!(error, "several sizes vary: say which of x.0, x.1 to maximize");
    for (memory, given, message) in [
        (json!("1GB"), json!({}), "the memory depends on x.1, too: give its size (--given x.1=SIZE)"),
        (json!("1GB"), json!({"x.0": 4}), "x.0 is to be maximized, and is given"),
        (json!("1GB"), json!({"y.7": 4}), "no input has the dimension `y.7`; there are: x.0, x.1, y.0, y.1"),
        (json!("1GB"), json!({"x.1": 51}), "x.1=51 is not allowed: x.1 is at most 50"),
        (json!("1 Gb/s"), json!({}), "expected an amount of memory such as 24GB"),
        (json!("GB"), json!({}), "expected an amount of memory"),
        (json!("1..5GB"), json!({}), "expected an amount of memory"),
    ] {
        let error = fit(memory, given).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
    let question = json!({"ask": "fit", "memory": "64KB", "maximize": "x.0", "frontier": "x.1"});
    let frontier = ask(parameters, lines, ranges, question).expect("a table");
    let rows: Vec<(i64, i64)> = frontier["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["given"].as_i64().expect("a size"), row["fits"]["size"].as_i64().expect("a size")))
        .collect();
    assert_eq!(rows, [(1, 88), (2, 88), (4, 87), (8, 85), (16, 81), (32, 74), (50, 67)]);
    assert!(frontier["svg"].as_str().is_some_and(|svg| svg.starts_with("<svg") && svg.ends_with("</svg>\n")));
}

#[test]
fn profiles_keep_what_the_spec_says() {
    let lines = &["add: \"f32[s0, 8*s1]\" = torch.ops.aten.add.Tensor(x, y)", "return (add,)"];
    let parameters = "x: \"f32[s0, 8*s1]\", y: \"f32[s0, 8*s1]\"";
    let answer = ask(parameters, lines, "{s0: VR[2, 32], s1: VR[1, 16]}", json!({"ask": "profile"}))
        .expect("a profile");
    assert_eq!(answer["min"], json!({"x": [2, 8], "y": [2, 8]}));
    assert_eq!(answer["max"], json!({"x": [32, 128], "y": [32, 128]}));
    assert_eq!(answer["flags"][2], "--maxShapes=x:32x128,y:32x128");
    assert_eq!((&answer["exact"], &answer["reasons"]), (&json!(true), &json!([])));
}

/// The least paddings were found by trying all cuts of both sizes.
#[test]
fn buckets_of_two_sizes_are_no_more_than_asked_with_the_least_padding() {
    let lines = &["relu: \"f32[s0, s1]\" = torch.ops.aten.relu.default(x)", "return (relu,)"];
    let ranges = "{s0: VR[1, 64], s1: VR[1, 128]}";
    for (count, padding) in [(1, 8191.0), (2, 703.0), (4, 87.0), (6, 39.0), (9, 19.0)] {
        let asked = json!({"ask": "buckets", "count": count});
        let answer = ask("x: \"f32[s0, s1]\"", lines, ranges, asked).expect("buckets");
        let number = answer["buckets"].as_array().map_or(0, Vec::len);
        assert!(number <= count, "{number} of {count}");
        assert_eq!(answer["padding"], json!(padding), "{count}");
    }
    let asked = json!({"ask": "buckets", "padding": 0.25});
    let answer = ask("x: \"f32[s0, s1]\"", lines, ranges, asked).expect("buckets");
    assert_eq!(answer["buckets"].as_array().map(Vec::len), Some(23 * 27));
}

#[test]
fn buckets_are_few_and_allowed() {
    let lines = &["relu: \"f32[4*s0]\" = torch.ops.aten.relu.default(x)", "return (relu,)"];
    let buckets = |question: Json| ask("x: \"f32[4*s0]\"", lines, "{s0: VR[1, 16]}", question);
    for (question, shapes, padding) in [
        (json!({"ask": "buckets", "padding": 1.0}), vec![4, 12, 28, 64], 1.0),
        (json!({"ask": "buckets", "padding": 3.0}), vec![12, 64], 3.0),
        (json!({"ask": "buckets", "count": 1}), vec![64], 15.0),
        (json!({"ask": "buckets", "count": 2}), vec![12, 64], 3.0),
        (json!({"ask": "buckets", "count": 100}), (1..=16).map(|at| 4 * at).collect(), 0.0),
    ] {
        let answer = buckets(question.clone()).expect("buckets");
        let found: Vec<i64> = answer["buckets"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|b| b["shapes"]["x"][0].as_i64().expect("a size"))
            .collect();
        assert_eq!(found, shapes, "{question}");
        assert!(answer["padding"].as_f64().is_some_and(|found| found <= padding + 1e-9), "{answer}");
        assert_eq!(answer["minimal"], true);
    }
    for (question, message) in [
        (json!({"ask": "buckets", "count": 0}), "buckets are from 1"),
        (json!({"ask": "buckets", "padding": -1}), "the padding is from 0%"),
        (json!({"ask": "buckets"}), "need a `count` or a `padding`"),
        (json!({"ask": "buckets", "padding": "x"}), "expected a number"),
        (json!({"ask": "buckets", "number": 3}), "there is no field `number` here; there are count, padding"),
        (json!({"ask": "everything"}), "expected bounds, plan, fit, profile or buckets"),
        (json!({"ask": "bounds", "values": ["rel"]}), "no node makes a tensor `rel`; the nearest is `relu`"),
        (json!({"ask": "bounds", "values": "relu"}), "expected a list of names"),
        (json!({"ask": "plan", "align": "x"}), "expected an integer"),
        (json!({"ask": "fit", "memory": true}), "expected an amount"),
        (json!({"ask": "fit", "memory": 1, "maximize": 0}), "`maximize`: expected a text"),
        (json!({"ask": "fit", "memory": 1, "given": {"x.0": 4}}), "no size varies that is not given"),
        (json!({"ask": "fit", "memory": 1, "maximize": "x.0", "given": [1]}), "expected sizes by dimension"),
    ] {
        let error = buckets(question).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_program_that_refuses_what_is_allowed_has_no_exact_bounds() {
    let (parameters, lines) = SLICED;
    let assertion = [
        "sym_size: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)",
        "ge: \"Sym(s0 >= 99)\" = sym_size >= 99",
        "_assert = torch.ops.aten._assert_scalar.default(ge, 'large')",
    ];
    let lines: Vec<&str> = assertion.iter().chain(&lines[1..]).copied().collect();
    let answer = ask(parameters, &lines, "{s0: VR[2, 62]}", json!({"ask": "bounds"})).expect("bounds");
    let relu = &answer["values"][1];
    assert_eq!((&relu["value"], &relu["exact"]), (&json!("relu"), &json!(false)));
    assert!(
        relu["reasons"][0].as_str().is_some_and(|reason| reason.contains("refuses inputs that are allowed"))
    );
}

/// Numbers that look random, the same ones each time.
fn numbers(mut state: u64) -> impl FnMut(i64, i64) -> i64 {
    move |low, high| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + ((state >> 33) % (high - low + 1).unsigned_abs()) as i64
    }
}

/// The programs in a folder and below it.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| match path.is_dir() {
            true => programs(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "pt2"))
        .collect();
    found.sort();
    found
}

/// `SIZEWISE_PROGRAMS` names a folder with more programs.
#[test]
fn plans_of_models_hold_at_random_sizes() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/costs");
    let folders = [Some(PathBuf::from(own)), std::env::var_os("SIZEWISE_PROGRAMS").map(PathBuf::from)];
    let mut planned = 0;
    for path in folders.iter().flatten().flat_map(|folder| programs(folder)) {
        let bytes = std::fs::read(&path).expect("a program");
        let Ok(program) = sizewise::ir::pt2::read(&bytes, &Default::default()) else { continue };
        let operators = Operators::new();
        let Ok(mut sizing) = sizing(&program, None, &operators) else { continue };
        if sizing.plan(16).is_err() {
            continue;
        }
        planned += 1;
        holds_at_random_sizes(&mut sizing, &path.display().to_string());
    }
    println!("{planned} programs");
    assert!(planned >= 3, "{planned}");
}

fn holds_at_random_sizes(sizing: &mut Sizing, name: &str) {
    let plan = sizing.plan(16).expect("a plan");
    let expressions = sizing.buffer_bytes();
    let mut number = numbers(7);
    let mut tried = 0;
    for _ in 0..2_000 {
        let Some(input) = sizing.allowed_at(&mut |low, high| number(low, high)) else { continue };
        let values: Vec<u64> = expressions
            .iter()
            .map(|&e| {
                let of = |symbol| {
                    input.iter().find(|(known, _)| *known == symbol).map(|(_, v)| Value::Int(v.clone()))
                };
                // Data decide the bytes of some.
                let bytes = Evaluator::new(sizing.pool(), of).int(e).unwrap_or_default();
                bytes.to_i64().expect("small").unsigned_abs()
            })
            .collect();
        for (a, (x, &bytes)) in plan.buffers.iter().zip(&values).enumerate() {
            assert!(bytes <= x.bytes && x.offset + bytes <= plan.arena_bytes, "{name}: {}", x.value);
            for (y, &other) in plan.buffers.iter().zip(&values).take(a) {
                let together = x.from <= y.to && y.from <= x.to && !x.branches.exclude(&y.branches);
                let together = together && bytes > 0 && other > 0;
                let apart = x.offset >= y.offset + other || y.offset >= x.offset + bytes;
                assert!(!together || apart, "{name}: {} and {}", x.value, y.value);
            }
        }
        tried += 1;
        if tried == 50 {
            return;
        }
    }
    assert!(tried > 0 || expressions.is_empty(), "{name}");
}

#[test]
fn a_spec_limits_what_a_program_is_asked_for() {
    let bytes = std::fs::read("examples/bert.pt2").expect("a program");
    let program = sizewise::ir::pt2::read(&bytes, &Default::default()).expect("a program");
    let operators = Operators::new();
    let spec = |most: i64| {
        let dim = json!([{"dim": "batch", "min": 2, "max": most}, {"dim": "seq", "min": 2, "max": 16}]);
        let text = json!({"input_ids": dim, "attention_mask": dim, "token_type_ids": dim}).to_string();
        Spec::parse(text.as_bytes()).expect("a spec")
    };
    let arena = |most: i64| {
        let mut sizing = sizing(&program, Some(&spec(most)), &operators).expect("sizes");
        sizing.plan(16).expect("a plan").arena_bytes
    };
    assert_eq!(arena(4) * 2, arena(8));
}
