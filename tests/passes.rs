//! Passes keep what a program does, and do what they say.
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::check::{Evaluator, Shapes};
use sizewise::expr::{Int, Value as Number};
use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::ir::{Dialect, Program, text};
use sizewise::kernels::Operators;
use sizewise::pass::{Pass, PassError, Pipeline, lower_to_edge};
use sizewise::spec::{Contract, Shape};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn program(name: &str) -> Program {
    let bytes = std::fs::read(root().join(format!("tests/data/programs/{name}.pt2"))).expect("the program");
    pt2::read(&bytes, &ReadOptions::default()).expect("a program")
}

fn shapes(run: &Json) -> Shapes {
    let fields = |key: &str| run[key].as_object().cloned().unwrap_or_default();
    let shape = |json: &Json| match json {
        Json::Array(sizes) => {
            Shape::Tensor(sizes.iter().map(|size| Int::from(size.as_i64().expect("a size"))).collect())
        }
        Json::Bool(value) => Shape::Scalar(Number::Bool(*value)),
        Json::Number(n) if n.is_i64() => Shape::Scalar(Number::Int(n.as_i64().unwrap_or_default().into())),
        other => Shape::Scalar(Number::Float(other.as_f64().expect("a number"))),
    };
    let given = fields("shapes").into_iter().chain(fields("scalars"));
    given.map(|(name, value)| (name.as_str().into(), shape(&value))).collect()
}

/// The sizes of the outputs that are numbers; `None` where the program refuses the inputs.
type Outcome = Option<Vec<Option<Vec<Option<i64>>>>>;

fn outcomes(program: &Program, runs: &[Shapes], operators: &Operators) -> Vec<Outcome> {
    let evaluator = Evaluator::new(Contract::load(program).expect("a contract"), operators);
    let outcome = |shapes: &Shapes| {
        let evaluation = evaluator.evaluate(shapes).ok()?;
        let size = |e: &sizewise::expr::Expr| evaluation.env.pool.as_int(*e).and_then(|size| size.to_i64());
        let sizes = |sizes: &Option<Vec<sizewise::expr::Expr>>| {
            sizes.as_ref().map(|sizes| sizes.iter().map(size).collect::<Vec<_>>())
        };
        Some(evaluation.outputs.iter().map(sizes).collect())
    };
    runs.iter().map(outcome).collect()
}

/// Whether a tensor among the inputs has no elements.
fn is_empty(run: &Shapes) -> bool {
    run.values().any(|shape| matches!(shape, Shape::Tensor(sizes) if sizes.contains(&Int::from(0))))
}

#[test]
fn what_runs_before_a_pass_runs_after_it_with_the_same_shapes() {
    let operators = Operators::new();
    let file = File::open(root().join("tests/data/runs.jsonl.gz")).expect("the recorded runs");
    let (mut count, mut changed, mut left, mut wrong) = (0, 0, BTreeMap::new(), Vec::new());
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let record: Json = serde_json::from_str(&line.expect("text")).expect("JSON");
        let name = record["name"].as_str().expect("a name");
        let runs: Vec<Shapes> = record["runs"].as_array().into_iter().flatten().map(shapes).collect();
        let before = program(name);
        let expected = outcomes(&before, &runs, &operators);
        for pass in Pass::ALL.iter().filter(|pass| pass.name != "edge") {
            // Only functional programs are decomposed.
            let first = match pass.name == "decompose" && before.dialect == Dialect::Training {
                true => Pipeline::new().then(Pass::find("functionalize").expect("the pass")),
                false => Pipeline::new(),
            };
            let after = match first.then(pass.clone()).run(&before, &operators) {
                Ok(after) => after,
                // It names what it has no rule for; the program stays as it is.
                Err(PassError::Left { .. }) if matches!(pass.name, "functionalize" | "decompose") => {
                    *left.entry(pass.name).or_insert(0) += 1;
                    continue;
                }
                Err(error) => {
                    wrong.push(format!("{name}: {}: {error}", pass.name));
                    continue;
                }
            };
            changed += usize::from(pt2::write_json(&after).ok() != pt2::write_json(&before).ok());
            let found = outcomes(&after, &runs, &operators);
            for (run, (expected, found)) in runs.iter().zip(expected.iter().zip(&found)) {
                count += 1;
                // What is left out can no longer refuse anything, and what an operator refuses its parts may accept.
                // Some of torch's kernels return an empty tensor as it is, of a size that their parts do not have
                // (`pixel_unshuffle`).
                let kept = expected == found
                    || (matches!(pass.name, "dce" | "decompose") && expected.is_none())
                    || (pass.name == "decompose" && is_empty(run));
                if !kept {
                    wrong.push(format!("{name}: {} at {run:?}: {expected:?} became {found:?}", pass.name));
                }
            }
        }
    }
    assert!(count > 7_000 && changed > 50, "{count} runs, {changed} programs changed");
    let at_most = |pass: &str, most: usize| left.get(pass).is_none_or(|count| *count <= most);
    assert!(
        at_most("functionalize", 2) && at_most("decompose", 40),
        "{left:?} programs are left as they are"
    );
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

fn readable(body: &str) -> Program {
    let text = format!("class M(torch.nn.Module):\n    def forward(self, x: \"f32[s0, 3]\"):\n{body}");
    text::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The targets that a program calls, in order.
fn calls(program: &Program) -> Vec<String> {
    program.graph.nodes().iter().map(|node| node.target.to_string()).collect()
}

#[test]
fn passes_do_what_they_say() {
    for (pass, body, expected) in [
        (
            "dce",
            "        a: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        \
             b: \"f32[s0, 3]\" = torch.ops.aten.abs.default(a)\n        \
             r: \"f32[s0, 3]\" = torch.ops.aten.rand_like.default(x)\n        return (x,)\n",
            vec!["aten.rand_like.default"],
        ),
        (
            "cse",
            "        a: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        \
             b: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        \
             c: \"f32[s0, 3]\" = torch.ops.aten.add.Tensor(a, b)\n        return (c,)\n",
            vec!["aten.neg.default", "aten.add.Tensor"],
        ),
        (
            // Writing one of two equal tensors does not write the other.
            "cse",
            "        a: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        \
             b: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        \
             c: \"f32[s0, 3]\" = torch.ops.aten.add_.Tensor(a, b)\n        return (c, b)\n",
            vec!["aten.neg.default", "aten.neg.default", "aten.add_.Tensor"],
        ),
        (
            "fold",
            "        n: \"Sym(3)\" = torch.ops.aten.sym_size.int(x, 1)\n        \
             m: \"Sym(6)\" = n * 2\n        s: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)\n        \
             t: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)\n        \
             v: \"f32[s0, 6]\" = torch.ops.aten.new_zeros.default(x, [t, m])\n        \
             w: \"f32[s0]\" = torch.ops.aten.new_zeros.default(x, [s])\n        return (v, w)\n",
            vec!["aten.sym_size.int", "aten.new_zeros.default", "aten.new_zeros.default"],
        ),
        (
            "assert",
            "        i: \"i64[u0, 2]\" = torch.ops.aten.nonzero.default(x)\n        \
             n: \"Sym(u0)\" = torch.ops.aten.sym_size.int(i, 0)\n        return (i, n)\nGraph signature:\n    \
             # inputs\n    x: USER_INPUT\n\n    # outputs\n    i: USER_OUTPUT\n    n: USER_OUTPUT\n\n\
             Range constraints: {u0: VR[2, 50]}\n",
            vec![
                "aten.nonzero.default",
                "aten.sym_size.int",
                "_operator.ge",
                "aten._assert_scalar.default",
                "_operator.le",
                "aten._assert_scalar.default",
            ],
        ),
    ] {
        let program = readable(body);
        let pass = Pass::find(pass).expect("a pass");
        let made = pass.run(&program, &Operators::new()).expect("a program");
        assert_eq!(calls(&made), expected, "{}", pass.name);
        let again = pass.run(&made, &Operators::new()).expect("a program");
        assert_eq!(calls(&again), expected, "{} a second time", pass.name);
    }
}

#[test]
fn wrong_records_are_derived_anew() {
    let program = readable(
        "        a: \"f32[s0, 7]\" = torch.ops.aten.neg.default(x)\n        \
         b: \"f32[3]\" = torch.ops.aten.sum.dim_IntList(a, [0])\n        return (b,)\n",
    );
    let derived = Pass::find("derive").expect("a pass").run(&program, &Operators::new()).expect("a program");
    let shown = text::write_readable(&derived, text::Detail::Short);
    assert!(shown.contains("a: \"f32[s0, 3]\""), "{shown}");
}

#[test]
fn a_pipeline_stops_where_a_pass_breaks_a_rule() {
    fn mutate(program: &Program, _: &Operators) -> Result<Program, PassError> {
        let text = text::write_readable(program, text::Detail::Full).replace("aten.neg.", "aten.neg_.");
        let mut made = text::read(&text).expect("a program");
        made.dialect = Dialect::Aten;
        Ok(made)
    }
    let program =
        readable("        a: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        return (a,)\n");
    assert_eq!(program.dialect, Dialect::Aten);
    let pipeline = Pipeline::new().then(Pass::new("mutate", "writes its input", mutate));
    match pipeline.run(&program, &Operators::new()) {
        Err(PassError::Broken { pass: "mutate", violations }) => {
            assert_eq!(violations[0].rule.code(), "functional");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn functional_programs_are_lowered_to_wrapped_operators() {
    let program = readable(
        "        a: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        \
         b: \"f32[s0, 3]\" = torch.ops.aten.clone.default(a)\n        return (b,)\n",
    );
    let edge = lower_to_edge(&program, &Operators::new()).expect("an Edge program");
    assert_eq!(edge.dialect, Dialect::Edge);
    let targets = calls(&edge);
    assert!(targets[0].ends_with("edge._ops.aten.neg.default"), "{targets:?}");
    assert!(targets[1].ends_with("edge._ops.dim_order_ops._clone_dim_order.default"), "{targets:?}");
    let pipeline = Pipeline::new().then(Pass::find("edge").expect("a pass"));
    pipeline.run(&program, &Operators::new()).expect("a program that keeps the rules of its dialect");
    let training = program_of(Dialect::Training);
    let refused = lower_to_edge(&training, &Operators::new()).expect_err("another dialect").to_string();
    assert!(refused.contains("of the training dialect"), "{refused}");
}

fn program_of(dialect: Dialect) -> Program {
    let mut program =
        readable("        a: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)\n        return (a,)\n");
    program.dialect = dialect;
    program
}

#[cfg(feature = "cli")]
fn sizewise(arguments: &[&str]) -> (i32, String) {
    let output = assert_cmd::Command::cargo_bin("sizewise")
        .expect("the program")
        .args(arguments)
        .output()
        .expect("a run");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(feature = "cli")]
#[test]
fn commands_write_programs_that_are_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = "tests/data/programs/spec_min_only__core.pt2";
    let (made, model) = (path("made.pt2"), path("made.onnx"));
    assert_eq!(sizewise(&["show", source, "--as", "pt2", "--output", &made]).0, 0);
    let before = program("spec_min_only__core");
    let bytes = std::fs::read(&made).expect("an archive");
    let after = pt2::read(&bytes, &ReadOptions::default()).expect("a program");
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    assert_eq!(sizewise(&["show", source, "--as", "onnx", "--output", &model]).0, 0);
    assert!(std::fs::metadata(&model).is_ok_and(|file| file.len() > 100));
    assert_eq!(sizewise(&["pass", source, "--run", "dce,cse,fold,derive,assert", "--output", &made]).0, 0);
    assert_eq!(sizewise(&["verify", &made]).0, 0);
    let (code, error) = sizewise(&["pass", source, "--run", "polish"]);
    assert!(code == 2 && error.contains("dce, cse, fold"), "{code} {error}");
    assert_eq!(sizewise(&["lower", source, "--to", "edge", "--output", &made]).0, 0);
    assert_eq!(sizewise(&["verify", &made, "--dialect", "edge"]).0, 0);
    // Programs that write are made functional on the way.
    let written = "tests/data/programs/op_bool_index_assign.pt2";
    assert_eq!(sizewise(&["pass", written, "--run", "functionalize", "--output", &made]).0, 0);
    assert_eq!(sizewise(&["verify", &made, "--dialect", "aten"]).0, 0);
    let (code, error) = sizewise(&["lower", written, "--output", &made]);
    assert!(code == 0 || code == 1 && error.contains("after edge"), "{code} {error}");
}
