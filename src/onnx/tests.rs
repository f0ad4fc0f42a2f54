//! What is written is read again with the same messages, which drop what they do not know.

use std::path::Path;

use prost::Message;

use super::proto::{AttributeProto, DimensionValue, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use super::{model, write};
use crate::ir::pt2::{ReadOptions, read};
use crate::ir::{Program, text};

fn program(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/programs/{name}.pt2"));
    read(&std::fs::read(path).expect("the program"), &ReadOptions::default()).expect("a program")
}

fn shape(info: &ValueInfoProto) -> String {
    let ty = info.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref()).expect("a tensor type");
    let dims = ty.shape.iter().flat_map(|shape| &shape.dim).map(|dim| match &dim.value {
        Some(DimensionValue::DimValue(value)) => value.to_string(),
        Some(DimensionValue::DimParam(name)) => name.clone(),
        None => "?".to_owned(),
    });
    format!("{}:{}[{}]", info.name(), ty.elem_type(), dims.collect::<Vec<_>>().join(", "))
}

fn shown(node: &NodeProto) -> String {
    let (inputs, outputs) = (node.input.join(", "), node.output.join(", "));
    format!("{outputs} = {}::{}({inputs})", node.domain(), node.op_type())
}

fn body<'m>(node: &'m NodeProto, name: &str) -> &'m GraphProto {
    let found = node.attribute.iter().find(|attribute: &&AttributeProto| attribute.name() == name);
    found.and_then(|attribute| attribute.g.as_ref()).expect("a graph")
}

fn lines(nodes: &[NodeProto]) -> Vec<String> {
    nodes.iter().map(shown).collect()
}

const COND: &str = "\
class M(torch.nn.Module):
    def forward(self, p: \"b8[]\", x: \"f32[s0, 3]\", n: \"Sym(s1)\"):
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, [x])
        getitem: \"f32[s0, 3]\" = cond[0]
        view: \"f32[3*s0, 1]\" = torch.ops.aten.view.default(getitem, [n, -1])
        add: \"f32[3*s0, 1]\" = torch.ops.aten.add.Tensor(view, 0.5, alpha = 2)
        return (add, x, None)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: \"f32[s0, 3]\"):
            neg: \"f32[s0, 3]\" = torch.ops.aten.neg.default(x)
            return (neg,)

    class false_graph_0(torch.nn.Module):
        def forward(self, x: \"f32[s0, 3]\"):
            return (x,)
";

#[test]
fn branches_are_functions_that_an_if_calls() {
    let program = text::read(COND).expect("a program");
    let model = ModelProto::decode(write(&program).expect("a model").as_slice()).expect("a message");
    let names: Vec<&str> = model.functions.iter().map(|function| function.name()).collect();
    assert_eq!(names, ["true_graph_0", "false_graph_0"]);
    assert_eq!(lines(&model.functions[0].node), ["neg = aten::neg.default(x)"]);
    assert_eq!(lines(&model.functions[1].node), ["x_output = ::Identity(x)"]);
    let graph = model.graph.as_ref().expect("a graph");
    let inputs: Vec<String> = graph.input.iter().map(shape).collect();
    assert_eq!(inputs, ["p:9[]", "x:1[s0, 3]", "n:7[]"]);
    let outputs: Vec<String> = graph.output.iter().map(shape).collect();
    assert_eq!(outputs, ["add:1[3*s0, 1]", "x_output:1[s0, 3]"]);
    assert_eq!(
        lines(&graph.node),
        [
            "getitem = ::If(p)",
            "view = aten::view.default(getitem, n)",
            "add = aten::add.Tensor(view)",
            "x_output = ::Identity(x)"
        ]
    );
    let then = body(&graph.node[0], "then_branch");
    assert_eq!(lines(&then.node), ["cond_then_branch = local::true_graph_0(x)"]);
    let view = &graph.node[1].attribute;
    assert_eq!((view[0].name(), view[0].ints.as_slice()), ("size", &[0, -1][..]));
    let parameters: Vec<&[u8]> = view[1].strings.iter().map(Vec::as_slice).collect();
    assert_eq!((view[1].name(), parameters), ("input_names", vec![&b"self"[..], b"size[0]"]));
    let other = graph.node[2].attribute[0].t.as_ref().expect("a tensor");
    assert_eq!(other.raw_data.as_deref(), Some(&0.5_f64.to_le_bytes()[..]));
}

#[test]
fn loops_carry_what_changes_and_see_the_rest() {
    let model = model(&program("while_basic")).expect("a model");
    let graph = model.graph.as_ref().expect("a graph");
    let node = graph.node.iter().find(|node| node.op_type() == "Loop").expect("a loop");
    let inner = body(node, "body");
    assert_eq!(node.input.len(), inner.input.len(), "a turn is given its number and what a loop is given");
    assert_eq!(node.input[0], "", "no fixed number of turns");
    assert_eq!(node.output.len() + 1, inner.output.len(), "and says whether it goes on");
    assert_eq!(inner.node.len(), 2);
    let map = super::model(&program("map_rows")).expect("a model");
    let graph = map.graph.as_ref().expect("a graph");
    let node = graph.node.iter().find(|node| node.op_type() == "Scan").expect("a loop over slices");
    assert_eq!(body(node, "body").input.len(), node.input.len());
    assert_eq!(body(node, "body").output.len(), node.output.len());
}

/// Every name that nodes use is given before, and every called function and domain is there.
fn check(model: &ModelProto) -> Result<(), String> {
    let domains = |list: &[super::proto::OperatorSetIdProto]| -> Vec<String> {
        list.iter().map(|import| import.domain().to_owned()).collect()
    };
    let known: Vec<&str> = model.functions.iter().map(|function| function.name()).collect();
    let all = domains(&model.opset_import);
    for (index, function) in model.functions.iter().enumerate() {
        let own = domains(&function.opset_import);
        steps(&function.node, &function.input, &known[..index], &own, &function.output)?;
        if let Some(missing) = own.iter().find(|domain| !all.contains(domain)) {
            return Err(format!("the domain `{missing}` is not imported"));
        }
    }
    let graph = model.graph.as_ref().ok_or("no graph")?;
    let inputs: Vec<String> = graph.input.iter().map(|info| info.name().to_owned()).collect();
    let outputs: Vec<String> = graph.output.iter().map(|info| info.name().to_owned()).collect();
    steps(&graph.node, &inputs, &known, &all, &outputs)
}

fn steps(
    nodes: &[NodeProto],
    given: &[String],
    functions: &[&str],
    domains: &[String],
    outputs: &[String],
) -> Result<(), String> {
    let mut names: std::collections::HashSet<String> = given.iter().cloned().collect();
    for node in nodes {
        for input in node.input.iter().filter(|input| !input.is_empty()) {
            if !names.contains(input) {
                return Err(format!("`{}` uses `{input}`, which nothing makes", node.name()));
            }
        }
        if !domains.iter().any(|domain| domain == node.domain()) {
            return Err(format!("the domain `{}` is not imported", node.domain()));
        }
        if node.domain() == "local" && !functions.contains(&node.op_type()) {
            return Err(format!("the function `{}` is not there", node.op_type()));
        }
        for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            let inner = graph.input.iter().map(|info| info.name().to_owned());
            let around: Vec<String> = names.iter().cloned().chain(inner).collect();
            let ends: Vec<String> = graph.output.iter().map(|info| info.name().to_owned()).collect();
            steps(&graph.node, &around, functions, domains, &ends)?;
        }
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if !names.insert(output.clone()) {
                return Err(format!("`{output}` is made twice"));
            }
        }
    }
    match outputs.iter().find(|output| !names.contains(*output)) {
        Some(missing) => Err(format!("the output `{missing}` is not made")),
        None => Ok(()),
    }
}

#[test]
fn exported_programs_are_models_in_which_every_name_is_made_once_before_it_is_used() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the programs") {
        let path = entry.expect("an entry").path();
        let program =
            read(&std::fs::read(&path).expect("bytes"), &ReadOptions::default()).expect("a program");
        let written = model(&program).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if let Err(message) = check(&written) {
            panic!("{}: {message}", path.display());
        }
        let again = ModelProto::decode(written.encode_to_vec().as_slice()).expect("a message");
        assert!(again == written, "{}", path.display());
        count += 1;
    }
    assert!(count > 100, "{count} programs");
}

#[test]
fn what_onnx_does_not_know_is_refused() {
    for (annotation, message) in
        [(": \"c32[3]\"", "`x`: ONNX has no element type complex32"), ("", "`x`: nothing is recorded of it")]
    {
        let text = format!(
            "class M(torch.nn.Module):\n    def forward(self, x{annotation}):\n        return (x,)\n"
        );
        let program = text::read(&text).expect("a program");
        assert_eq!(write(&program).expect_err(message).to_string(), message);
    }
}
