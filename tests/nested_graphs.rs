//! A program of nested conds over submodules whose weights and graphs have the same names, exported by torch 2.15:
//!
//!     class Scale: weight                     forward: x * weight
//!     class Shift: weight, scale: Scale       forward: scale(x) + weight
//!     class M:     weight, scale, shift       forward: cond(p, lambda x: cond(q, scale, shift, (x,)) * weight, shift, (x,))
use sizewise::ir::pt2::{ReadOptions, read};
use sizewise::ir::{Functions, Program};
use std::path::Path;

fn program() -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs/nested_conds.pt2");
    read(&std::fs::read(path).expect("the program"), &ReadOptions::default()).expect("a program")
}

/// Scope, function, its parameters, and the operators that it calls; inner functions first, and those of equal scope
/// in the order of their calls.
const FUNCTIONS: &[(&str, &str, &[&str], &[&str])] = &[
    (
        "true_graph_0.true_graph_0",
        "true_graph_0__true_graph_0",
        &["x", "p_scale_weight", "p_shift_scale_weight", "p_shift_weight"],
        &["aten.mul.Tensor"],
    ),
    (
        "true_graph_0.false_graph_0",
        "true_graph_0__false_graph_0",
        &["x", "p_scale_weight", "p_shift_scale_weight", "p_shift_weight"],
        &["aten.mul.Tensor", "aten.add.Tensor"],
    ),
    (
        "true_graph_0",
        "true_graph_0",
        &["p_shift_scale_weight", "p_shift_weight", "x", "q", "p_scale_weight", "p_weight"],
        &["higher_order.cond", "aten.mul.Tensor"],
    ),
    (
        "false_graph_0",
        "false_graph_0",
        &["p_shift_scale_weight", "p_shift_weight", "x", "q", "p_scale_weight", "p_weight"],
        &["aten.mul.Tensor", "aten.add.Tensor"],
    ),
    (
        "",
        "main",
        &["p_weight", "p_scale_weight", "p_shift_weight", "p_shift_scale_weight", "x", "p", "q"],
        &["higher_order.cond"],
    ),
];

#[test]
fn nested_conds_over_weights_of_equal_names_become_these_functions() {
    let program = program();
    let functions = Functions::new(&program);
    assert_eq!(functions.iter().len(), FUNCTIONS.len());
    for (function, (scope, name, parameters, calls)) in functions.iter().zip(FUNCTIONS) {
        assert_eq!((function.scope.as_str(), function.name.as_str()), (*scope, *name));
        let graph = function.graph;
        let found: Vec<String> = graph
            .inputs()
            .iter()
            .filter_map(|input| match input {
                sizewise::ir::GraphInput::Value(id) => Some(graph.name(*id).to_string()),
                sizewise::ir::GraphInput::Constant(_) => None,
            })
            .collect();
        assert_eq!(found, *parameters, "{name}");
        let called: Vec<String> = graph
            .nodes()
            .iter()
            .map(|node| node.target.to_string().trim_start_matches("torch.ops.").to_string())
            .collect();
        assert_eq!(called, *calls, "{name}");
    }
}

#[test]
fn parameters_keep_their_own_weights() {
    let program = program();
    let named: Vec<(String, String)> = program
        .signature
        .inputs
        .iter()
        .zip(program.graph.inputs())
        .filter_map(|(spec, input)| match (spec, input) {
            (sizewise::ir::InputSpec::Parameter { fqn, .. }, sizewise::ir::GraphInput::Value(id)) => {
                Some((program.graph.name(*id).to_string(), fqn.to_string()))
            }
            _ => None,
        })
        .collect();
    let expected = [
        ("p_weight", "weight"),
        ("p_scale_weight", "scale.weight"),
        ("p_shift_weight", "shift.weight"),
        ("p_shift_scale_weight", "shift.scale.weight"),
    ];
    assert_eq!(named, expected.map(|(placeholder, weight)| (placeholder.to_string(), weight.to_string())));
}
