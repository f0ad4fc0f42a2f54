//! What programs cost, beside what PyTorch 2.15 counts when they run on fake tensors of many sizes.
#![cfg(feature = "cli")]
use crate::text_programs;
use assert_cmd::Command;
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::cost::{Cost, Sizes, cost};
use sizewise::expr::{Evaluator, Expr, Int, Symbol, Value};
use sizewise::ir::pt2::write_json;
use sizewise::kernels::Operators;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/costs");

/// The programs with what was recorded at each choice of sizes.
fn cases() -> BTreeMap<String, Vec<Json>> {
    let file = File::open(Path::new(FOLDER).join("costs.jsonl.gz")).expect("the recorded costs");
    let mut cases: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let case: Json = serde_json::from_str(&line.expect("text")).expect("JSON");
        cases.entry(case["program"].as_str().expect("a name").to_owned()).or_default().push(case);
    }
    cases
}

fn cost_of(bytes: &[u8]) -> Cost {
    let program = sizewise::ir::pt2::read(bytes, &Default::default()).expect("a program");
    cost(&program, &Operators::new()).expect("its cost")
}

/// The value of a figure at sizes of inputs.
fn value(cost: &Cost, e: Expr, sizes: &Sizes) -> Int {
    let symbols: BTreeMap<String, Symbol> =
        cost.symbols.iter().map(|(symbol, source)| (source.clone(), *symbol)).collect();
    let at = |symbol: Symbol| {
        let source = symbols.iter().find(|(_, known)| **known == symbol)?.0;
        let (input, dim) = source.strip_suffix(']')?.rsplit_once(".shape[")?;
        Some(Value::Int(Int::from(*sizes.get(input)?.get(dim.parse::<usize>().ok()?)?)))
    };
    Evaluator::new(&cost.env.pool, at).int(e).expect("a value")
}

#[test]
fn programs_cost_what_torch_counts() {
    let mut wrong = Vec::new();
    for (name, runs) in cases() {
        let bytes = std::fs::read(Path::new(FOLDER).join(format!("{name}.pt2"))).expect("the program");
        let cost = cost_of(&bytes);
        assert!(cost.is_exact(), "{name}: {:?}", cost.reasons);
        for run in runs {
            let sizes: Sizes = serde_json::from_value(run["shapes"].clone()).expect("sizes");
            let numbers = cost.at(&sizes).unwrap_or_else(|error| panic!("{name}: {error}"));
            for (what, found) in [
                ("flops", numbers.flops),
                ("activation_bytes", numbers.activation_bytes),
                ("peak_bytes", numbers.peak_bytes),
                ("output_bytes", value(&cost, cost.output_bytes, &sizes)),
                ("input_bytes", value(&cost, cost.input_bytes, &sizes)),
                ("parameter_bytes", value(&cost, cost.parameter_bytes, &sizes)),
                ("buffer_bytes", value(&cost, cost.buffer_bytes, &sizes)),
                ("constant_bytes", value(&cost, cost.constant_bytes, &sizes)),
            ] {
                if found != Int::from(run[what].as_i64().expect("a number")) {
                    wrong.push(format!("{name} at {}: {what} {found}, not {}", run["shapes"], run[what]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_parts_of_a_program_cost_what_it_costs() {
    let mut cost = cost_of(&std::fs::read("examples/bert.pt2").expect("the program"));
    for parts in [cost.by_op.clone(), cost.by_module.clone(), cost.by_line.clone()] {
        let (flops, bytes): (Vec<Expr>, Vec<Expr>) = parts.values().map(|of| (of.flops, of.bytes)).unzip();
        assert_eq!(cost.env.pool.sum(flops), cost.flops);
        assert_eq!(cost.env.pool.sum(bytes), cost.activation_bytes);
    }
}

/// Runs the command: its exit status, what it prints and what it complains of.
fn command(args: &[&str]) -> (i32, String, String) {
    let output =
        Command::cargo_bin("sizewise").expect("the program").arg("cost").args(args).output().expect("a run");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn the_command_prints_expressions_and_numbers() {
    let (status, out, _) = command(&["examples/area.pt2", "--at", "x=8", "--at", "y=16"]);
    assert_eq!(status, 0);
    assert!(out.contains("peak bytes") && out.contains("x.shape[0]"), "{out}");
    let (_, out, _) = command(&["examples/area.pt2", "--at", "x=8", "--at", "y=16", "--format", "json"]);
    let answer: Json = serde_json::from_str(&out).expect("JSON");
    assert_eq!(answer["exact"], true);
    assert!(answer["at"]["activation_bytes"].is_i64(), "{answer}");
    // One size may be given by any input that has it.
    let at = |input: &str| command(&["examples/bert.pt2", "--at", input, "--format", "json"]).1;
    let number = |out: &str| serde_json::from_str::<Json>(out).expect("JSON")["at"]["flops"].clone();
    assert_eq!(number(&at("input_ids=8,4")), number(&at("attention_mask=8,4")));
    let (status, _, error) =
        command(&["examples/bert.pt2", "--at", "input_ids=8,4", "--at", "attention_mask=8,5"]);
    assert_eq!((status, error.contains("attention_mask.shape[1] is 5 and 4")), (2, true), "{error}");
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    for (at, message) in [
        ("input_ids", "expected INPUT=SIZES"),
        ("input_ids=a,2", "expected INPUT=SIZES"),
        ("input_ids=-1,2", "a size is not negative"),
        ("z=4", "no size of `z` varies"),
        ("input_ids=8", "`input_ids` has 2 sizes, not 1"),
        ("input_ids=8,4,9", "`input_ids` has 2 sizes, not 3"),
        ("input_ids=8,4,attention_mask=8,4", "expected INPUT=SIZES"),
        ("input_ids=33,4", "the program needs input_ids.shape[0] <= 32"),
        ("input_ids=8,65", "the program needs input_ids.shape[1] <= 64"),
    ] {
        let (status, _, error) = command(&["examples/bert.pt2", "--at", at]);
        assert_eq!(status, 2, "{at}: {error}");
        assert!(error.contains(message), "{at}: {error}");
    }
}

#[test]
fn sizes_that_the_program_does_not_take_are_refused() {
    for (program, at, message) in [
        // A guard, a size that is a number, and a size that is computed from another.
        ("examples/area.pt2", &["x=100", "y=100"][..], "the program needs"),
        ("examples/thirds.pt2", &["x=7,2"], "so 6, not 7"),
        ("examples/pooled.pt2", &["x=2,4,100"], "x.shape[1] is 3 for this program, not 4"),
    ] {
        let at: Vec<&str> = at.iter().flat_map(|at| ["--at", at]).collect();
        let (status, _, error) = command(&[&[program], &at[..]].concat());
        assert_eq!((status, error.contains(message)), (2, true), "{program}: {error}");
    }
    // The least size of a trace is none of the module.
    let (status, _, error) = command(&["examples/bert.pt2", "--at", "input_ids=1,4"]);
    assert_eq!(status, 0, "{error}");
}

#[test]
fn figures_grow_with_powers_of_sizes() {
    let cost = cost_of(&std::fs::read("examples/bert.pt2").expect("the program"));
    let growth = cost.growth();
    let powers = |size: &str| {
        let of = growth[size];
        [of.flops, of.activation_bytes, of.peak_bytes]
    };
    assert_eq!(powers("input_ids.shape[0]"), [Some(1); 3]);
    assert_eq!(powers("input_ids.shape[1]"), [Some(2); 3]);
}

#[test]
fn how_sizes_grow_that_data_decide_is_not_known() {
    let body = ["i: \"i64[u0, 1]\" = torch.ops.aten.nonzero.default(x)", "return (i,)"];
    let program = text_programs::program(&text_programs::module("x: \"f32[s0]\"", &body));
    let cost = cost_of(write_json(&program).expect("JSON").as_bytes());
    let growth = cost.growth();
    let of = growth.first().expect("a size").1;
    assert_eq!([of.activation_bytes, of.peak_bytes], [None, None]);
}

/// A model as text, with sizes of its inputs and its figures there: operations, bytes that are made, bytes of the peak.
type OfModel = (&'static str, &'static [(&'static str, &'static [i64])], [i64; 3]);

const MODELS: &[OfModel] = &[
    (
        "g (float[n, 4] x, float[4, 3] w) => (float[n, 3] y) { y = MatMul(x, w) }",
        &[("x", &[5, 4])],
        [2 * 5 * 4 * 3, 60, 60],
    ),
    // A stack of products, and a vector.
    (
        "g (float[b, n, 4] x, float[b, 4, 3] w) => (y) { y = MatMul(x, w) }",
        &[("x", &[2, 5, 4])],
        [2 * 2 * 5 * 4 * 3, 120, 120],
    ),
    ("g (float[n, 4] x, float[4] w) => (y) { y = MatMul(x, w) }", &[("x", &[5, 4])], [2 * 5 * 4, 20, 20]),
    (
        "g (float[4, n] x, float[3, 4] w, float[3] b) => (y) { y = Gemm<transA = 1, transB = 1>(x, w, b) }",
        &[("x", &[4, 5])],
        [2 * 5 * 4 * 3, 60, 60],
    ),
    (
        "g (float[n, 4, h, 8] x, float[6, 2, 3, 3] w) => (y) { y = Conv<group = 2>(x, w) }",
        &[("x", &[1, 4, 8, 8])],
        [2 * 6 * 6 * 6 * 2 * 9, 6 * 36 * 4, 6 * 36 * 4],
    ),
    (
        "g (float[n, 4, h, 8] x, float[4, 6, 2, 2] w) => (y) { y = ConvTranspose(x, w) }",
        &[("x", &[1, 4, 8, 8])],
        [2 * 64 * 4 * 6 * 4, 6 * 81 * 4, 6 * 81 * 4],
    ),
    (
        "g (float[s, n, 4] x, float[1, 9, 4] w, float[1, 9, 3] r) => (y) { y = GRU<hidden_size = 3>(x, w, r) }",
        &[("x", &[7, 2, 4])],
        [2 * 7 * 2 * (9 * 4 + 9 * 3), 7 * 2 * 3 * 4, 7 * 2 * 3 * 4],
    ),
    // A batch, rows, columns, and what is summed; sums of one operand come before.
    (
        "g (float[b, n, 4, 2] x, float[b, 4, 3] w) => (y) { y = Einsum<equation = \"bnks,bkc->bnc\">(x, w) }",
        &[("x", &[2, 5, 4, 2])],
        [2 * 2 * 5 * 4 * 3, 120, 120],
    ),
    (
        "g (float[b, n, 4] x, float[4, 3] w) => (y) { y = Einsum<equation = \"...k,kc\">(x, w) }",
        &[("x", &[2, 5, 4])],
        [2 * 2 * 5 * 4 * 3, 120, 120],
    ),
    (
        "g (float[n] x, float[4] w) => (y) { y = Einsum<equation = \"i,j->ij\">(x, w) }",
        &[("x", &[5])],
        [0, 80, 80],
    ),
    (
        "g (float[n, 2, 3] t, float[n, 3, 4, 5] x) => (y) { s = Shape(x) y = AffineGrid(t, s) }",
        &[("x", &[2, 3, 4, 5])],
        [2 * 2 * 20 * 2 * 3, 32 + 320, 32 + 320],
    ),
    // What is the same memory is not made; what is not needed any more is freed.
    (
        "g (float[n, 4] x) => (y) { a = Relu(x) s = Constant<value = int64[1] {-1}>() f = Reshape(a, s) y = Relu(f) }",
        &[("x", &[5, 4])],
        [0, 160, 160],
    ),
    (
        "g (float[n, 4] x) => (y) { a = Relu(x) b = Relu(a) c = Relu(b) y = Relu(c) }",
        &[("x", &[5, 4])],
        [0, 320, 160],
    ),
];

#[test]
fn models_cost_what_their_operators_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("model.onnx").display().to_string();
    for (graph, sizes, expected) in MODELS {
        std::fs::write(&file, format!("<ir_version: 9, opset_import: [\"\" : 20]>\n{graph}"))
            .expect("a file");
        let at: Vec<String> = sizes
            .iter()
            .flat_map(|(input, sizes)| {
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                ["--at".to_owned(), format!("{input}={}", sizes.join(","))]
            })
            .collect();
        let at: Vec<&str> = at.iter().map(String::as_str).collect();
        let (status, out, error) = command(&[&[file.as_str(), "--format", "json"], &at[..]].concat());
        assert_eq!(status, 0, "{graph}: {error}");
        let answer: Json = serde_json::from_str(&out).expect("JSON");
        assert_eq!(answer["exact"], true, "{graph}: {}", answer["reasons"]);
        let found = ["flops", "activation_bytes", "peak_bytes"].map(|figure| answer["at"][figure].as_i64());
        assert_eq!(found, expected.map(Some), "{graph}");
    }
}

#[test]
fn what_is_not_known_of_a_model_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("model.onnx").display().to_string();
    for (graph, reason) in [
        (
            "g (float[n, 4] x, bool c) => (y) { y = If(c)<then_branch = t () => (float[n, 4] p) { p = Relu(x) }, \
             else_branch = e () => (float[n, 4] q) { q = Identity(x) }> }",
            "`If` runs graphs, which are not followed",
        ),
        (
            "g (float[n, 4] x) => (y) { y = Einsum<equation = \"ij,ij,ij->i\">(x, x, x) }",
            "what `Einsum` multiplies is not known",
        ),
        ("g (float[n, 4] x) => (y) { y = NonZero(x) }", "data decide the size of `y`"),
        ("g (string[n] x) => (y) { y = Identity(x) }", "the bytes of `x` are not known"),
    ] {
        std::fs::write(&file, format!("<ir_version: 9, opset_import: [\"\" : 20]>\n{graph}"))
            .expect("a file");
        let (status, out, error) = command(&[&file, "--format", "json"]);
        assert_eq!(status, 0, "{graph}: {error}");
        let answer: Json = serde_json::from_str(&out).expect("JSON");
        let reasons = answer["reasons"].to_string();
        assert!(answer["exact"] == false && reasons.contains(reason), "{graph}: {reasons}");
    }
}
