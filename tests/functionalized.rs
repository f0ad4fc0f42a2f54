//! Training programs become functional as torch's `run_decompositions({})` makes them.
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::ir::schema::SchemaTable;
use sizewise::ir::{Dialect, Graph, Meta, OutputSpec, Program, text};
use sizewise::kernels::Operators;
use sizewise::pass::{Pass, PassError, Pipeline, functionalize};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

fn recorded() -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/functionalized.jsonl.gz");
    let lines = BufReader::new(GzDecoder::new(File::open(path).expect("the records"))).lines();
    lines.map(|line| serde_json::from_str(&line.expect("text")).expect("JSON")).collect()
}

/// Kind and target of an output, as torch names them.
fn kind(spec: &OutputSpec) -> (&'static str, Option<&str>) {
    match spec {
        OutputSpec::User => ("USER_OUTPUT", None),
        OutputSpec::BufferMutation { fqn } => ("BUFFER_MUTATION", Some(fqn)),
        OutputSpec::ParameterMutation { fqn } => ("PARAMETER_MUTATION", Some(fqn)),
        OutputSpec::UserInputMutation { input } => ("USER_INPUT_MUTATION", Some(input)),
        _ => ("another", None),
    }
}

fn writing(graph: &Graph) -> Vec<String> {
    let table = SchemaTable::global();
    let own = graph.nodes().iter().map(|node| node.target.to_string());
    let own = own.filter(|op| table.get(op).is_some_and(|schema| schema.mutable));
    own.chain(graph.subgraphs().flat_map(|(_, inner)| writing(inner))).collect()
}

#[test]
fn outputs_mutations_and_signature_are_those_of_torch() {
    let operators = Operators::new();
    let pipeline = Pipeline::new().then(Pass::find("functionalize").expect("the pass"));
    let mut wrong = Vec::new();
    let records = recorded();
    for record in &records {
        let name = record["name"].as_str().expect("a name");
        let program = record["program"].to_string();
        let program = pt2::read(program.as_bytes(), &ReadOptions::default()).expect("a program");
        let made = match pipeline.run(&program, &operators) {
            Ok(made) => made,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        assert_eq!(made.dialect, Dialect::Aten);
        assert_eq!(made.signature.inputs, program.signature.inputs, "{name}");
        let expected = record["outputs"].as_array().expect("outputs");
        let found: Vec<Json> = made
            .signature
            .outputs
            .iter()
            .zip(made.graph.outputs())
            .map(|(spec, output)| {
                let (kind, target) = kind(spec);
                let Some(Meta::Tensor(meta)) = output.value().map(|value| made.graph.meta(value)) else {
                    return Json::Null;
                };
                serde_json::json!([kind, target, meta.dtype.name(), meta.sizes.len()])
            })
            .collect();
        let expected: Vec<Json> = expected
            .iter()
            .map(|row| serde_json::json!([row[0], row[1], row[2], row[3].as_array().map_or(0, Vec::len)]))
            .collect();
        if found != expected {
            wrong.push(format!("{name}: {found:?}, torch {expected:?}"));
        }
        let left = writing(&made.graph);
        if !left.is_empty() {
            wrong.push(format!("{name}: {left:?} still write"));
        }
    }
    assert!(records.len() >= 60, "{} programs", records.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn training(body: &str) -> Program {
    let head = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[4, 3]\", y: \"f32[3]\"):\n";
    let mut program = text::read(&format!("{head}{body}")).expect("a program");
    program.dialect = Dialect::Training;
    program
}

fn targets(program: &Program) -> Vec<String> {
    program.graph.nodes().iter().map(|node| node.target.to_string()).collect()
}

#[test]
fn writes_go_through_views_and_views_are_made_anew() {
    for (body, expected, mutations) in [
        (
            "        a: \"f32[3]\" = torch.ops.aten.select.int(x, 0, 1)\n        \
             b: \"f32[3]\" = torch.ops.aten.add_.Tensor(a, y)\n        return (b,)\n",
            vec!["aten.select.int", "aten.add.Tensor", "aten.select_scatter.default"],
            vec!["x"],
        ),
        (
            "        a: \"f32[3, 4]\" = torch.ops.aten.t.default(x)\n        \
             b: \"f32[4, 3]\" = torch.ops.aten.neg_.default(x)\n        return (a,)\n",
            vec!["aten.t.default", "aten.neg.default", "aten.t.default"],
            vec!["x"],
        ),
        (
            "        a: \"f32[4, 3]\" = torch.ops.aten.clone.default(x)\n        \
             b: \"f32[12]\" = torch.ops.aten.view.default(a, [12])\n        \
             c: \"f32[12]\" = torch.ops.aten.relu_.default(b)\n        return (a,)\n",
            vec!["aten.clone.default", "aten.view.default", "aten.relu.default", "aten.view.default"],
            vec![],
        ),
        (
            "        a: \"f32[4, 3]\" = torch.ops.aten.add.Tensor(x, y)\n        return (a,)\n",
            vec!["aten.add.Tensor"],
            vec![],
        ),
    ] {
        let made = functionalize(&training(body), &Operators::new()).expect("a functional program");
        assert_eq!(targets(&made), expected, "{body}");
        let written: Vec<&str> = made.signature.outputs.iter().filter_map(|spec| kind(spec).1).collect();
        assert_eq!(written, mutations, "{body}");
        assert_eq!(made.graph.outputs().len(), 1 + mutations.len());
    }
}

#[test]
fn what_has_no_functional_form_is_named() {
    for (body, named) in [
        (
            "        a: \"f32[4, 3]\" = torch.ops.aten.clone.default(x)\n        \
             b: \"f32[2, 3]\" = torch.ops.aten.resize_.default(a, [2, 3])\n        return (b,)\n",
            "aten.resize_.default",
        ),
        (
            "        a: \"f32[3, 4]\" = torch.ops.aten.t_.default(x)\n        return (a,)\n",
            "it changes the sizes or strides of an input",
        ),
        (
            "        a: \"f32[2, 3]\" = torch.ops.aten.expand.default(y, [2, 3])\n        \
             b: \"f32[2, 3]\" = torch.ops.aten.neg_.default(a)\n        return (b,)\n",
            "aten.expand.default (a view that is written)",
        ),
        (
            "        a: \"f32[4, 3]\" = torch.ops.aten.clone.default(x)\n        \
             _foreach = torch.ops.aten._foreach_add_.Scalar([a, a], 1)\n        return (a,)\n",
            "it writes tensors that share memory",
        ),
        (
            "        a: \"f32[4, 3]\" = torch.ops.aten.clone.default(x)\n        \
             b: \"f32[4, 3]\" = torch.ops.aten.clone.default(x)\n        \
             _foreach = torch.ops.aten._foreach_mul_.List([a, b], [b, a])\n        return (a, b)\n",
            "it writes tensors that share memory",
        ),
    ] {
        match functionalize(&training(body), &Operators::new()) {
            Err(PassError::Left { operators, .. }) => {
                assert!(operators.iter().any(|left| left.contains(named)), "{operators:?}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}
