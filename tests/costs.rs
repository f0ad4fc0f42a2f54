//! What programs cost, beside what PyTorch 2.15 counts when they run on fake tensors of many sizes.
#![cfg(feature = "cli")]
use assert_cmd::Command;
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::cost::{Cost, Sizes, cost};
use sizewise::expr::{Evaluator, Expr, Int, Symbol, Value};
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
        ("input_ids=8", "`input_ids` has more than the 1 sizes that are given"),
        ("input_ids=8,4,attention_mask=8,4", "expected INPUT=SIZES"),
    ] {
        let (status, _, error) = command(&["examples/bert.pt2", "--at", at]);
        assert_eq!(status, 2, "{at}: {error}");
        assert!(error.contains(message), "{at}: {error}");
    }
}
