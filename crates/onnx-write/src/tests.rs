//! What is written is read again with the same messages, which drop what they do not know.

use std::path::Path;

use prost::Message;

use super::{Options, Written, write};
use sizewise_ir::pt2::{ReadOptions, Weight, Weights, read};
use sizewise_ir::{Dtype, Program, text};
use sizewise_onnx_model::read::message::{
    AttributeProto, Dimension, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TypeValue,
    ValueInfoProto,
};

fn program(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/data/programs/{name}.pt2"));
    read(&std::fs::read(path).expect("the program"), &ReadOptions::default()).expect("a program")
}

fn written(program: &Program) -> Written {
    super::model(program, &Options::default()).expect("a model")
}

/// A program of one graph, from its parameters, its steps and what it returns.
pub(super) fn written_text(parameters: &str, steps: &[&str], result: &str) -> Written {
    let steps: String = steps.iter().map(|step| format!("        {step}\n")).collect();
    let text = format!(
        "class M(torch.nn.Module):\n    def forward(self, {parameters}):\n{steps}        return ({result},)\n"
    );
    written(&text::read(&text).expect("a program"))
}

fn shape(info: &ValueInfoProto) -> String {
    let Some(TypeValue::Tensor(ty)) = info.r#type.as_ref().and_then(|ty| ty.value.as_ref()) else {
        panic!("no tensor type: {}", info.name)
    };
    let dims = ty.shape.iter().flat_map(|shape| &shape.dim).map(|dim| match &dim.value {
        Some(Dimension::Size(value)) => value.to_string(),
        Some(Dimension::Name(name)) => name.clone(),
        None => "?".to_owned(),
    });
    format!("{}:{}[{}]", info.name, ty.elem_type, dims.collect::<Vec<_>>().join(", "))
}

fn shown(node: &NodeProto) -> String {
    let (inputs, outputs) = (node.input.join(", "), node.output.join(", "));
    format!("{outputs} = {}::{}({inputs})", node.domain, node.op_type)
}

fn body<'m>(node: &'m NodeProto, name: &str) -> &'m GraphProto {
    let found = node.attribute.iter().find(|attribute: &&AttributeProto| attribute.name == name);
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
    let names: Vec<&str> = model.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["true_graph_0", "false_graph_0"]);
    assert_eq!(lines(&model.functions[0].node), ["neg = ::Neg(x)"]);
    assert_eq!(lines(&model.functions[1].node), ["x_output = ::Identity(x)"]);
    let graph = model.graph.as_ref().expect("a graph");
    let inputs: Vec<String> = graph.input.iter().map(shape).collect();
    assert_eq!(inputs, ["p:9[]", "x:1[s0, 3]", "n:7[]"]);
    let outputs: Vec<String> = graph.output.iter().map(shape).collect();
    assert_eq!(outputs, ["add:1[3*s0, 1]", "x_output:1[s0, 3]"]);
    assert_eq!(
        lines(&graph.node),
        [
            "constant = ::Constant()",
            "constant_1 = ::Constant()",
            "constant_2 = ::Constant()",
            "getitem = ::If(p)",
            "reshape = ::Reshape(n, constant)",
            "concat = ::Concat(reshape, constant)",
            "view = ::Reshape(getitem, concat)",
            "mul = ::Mul(constant_1, constant_2)",
            "add = ::Add(view, mul)",
            "x_output = ::Identity(x)"
        ]
    );
    let then = body(&graph.node[3], "then_branch");
    assert_eq!(lines(&then.node), ["cond_then_branch = local::true_graph_0(x)"]);
}

#[test]
fn what_has_no_counterpart_keeps_its_name_and_arguments() {
    let written = written_text(
        "x: \"f32[s0, 3]\", n: \"Sym(s1)\"",
        &["y: \"f32[s0, 3]\" = torch.ops.mine.pad.default(x, [n, -1], 0.5)"],
        "y",
    );
    assert_eq!(written.left, ["mine.pad.default"]);
    let graph = written.model.graph.as_ref().expect("a graph");
    assert_eq!(lines(&graph.node), ["y = mine::pad.default(x, n)"]);
    let given = &graph.node[0].attribute;
    assert_eq!((given[0].name.as_str(), given[0].ints.as_slice()), ("arg1", &[0, -1][..]));
    assert_eq!(given[1].t.as_ref().map(|t| &t.raw_data[..]), Some(&0.5_f64.to_le_bytes()[..]));
    let parameters: Vec<&[u8]> = given[2].strings.iter().map(|text| &text[..]).collect();
    assert_eq!((given[2].name.as_str(), parameters), ("input_names", vec![&b"arg0"[..], b"arg1[0]"]));
}

#[test]
fn windows_that_are_drawn_are_no_windows_of_a_pool() {
    let written = written_text(
        "x: \"f32[2, 5, 9, 9]\", r: \"f32[2, 5, 2]\"",
        &["y: \"f32[2, 5, 2, 2]\" = torch.ops.aten.fractional_max_pool2d.default(x, [3, 3], [2, 2], r)"],
        "y",
    );
    assert_eq!(written.left, ["aten.fractional_max_pool2d.default"]);
}

#[test]
fn assertions_and_what_nothing_uses_are_left_out() {
    let written = written_text(
        "x: \"f32[s0, 3]\"",
        &[
            "n: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)",
            "ge: \"Sym(s0 >= 2)\" = n >= 2",
            "a = torch.ops.aten._assert_scalar.default(ge, 'too few')",
            "unused: \"f32[s0, 3]\" = torch.ops.aten.exp.default(x)",
            "y: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)",
        ],
        "y",
    );
    let graph = written.model.graph.as_ref().expect("a graph");
    assert_eq!(lines(&graph.node), ["y = ::Relu(x)"]);
    assert!(graph.value_info.is_empty() && written.left.is_empty());
    let conditions = written.model.metadata_props.last().expect("the conditions");
    assert_eq!((conditions.key.as_str(), conditions.value.as_str()), ("sizewise.conditions", "s0 >= 2"));
}

#[test]
fn inputs_and_outputs_have_the_names_that_are_asked_for() {
    let program = program("nested_conds");
    let names = |inputs: &[&str], outputs: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let options =
            Options { input_names: owned(inputs), output_names: owned(outputs), ..Options::default() };
        super::model(&program, &options).map(|written| written.model.graph.expect("a graph"))
    };
    let plain = names(&[], &[]).expect("a model");
    let graph = names(&["first"], &["last"]).expect("a model");
    assert_eq!((graph.input[0].name.as_str(), graph.output[0].name.as_str()), ("first", "last"));
    let original = &graph.input[0].metadata_props[0];
    assert_eq!(
        (original.key.as_str(), &original.value),
        ("pkg.torch.onnx.original_node_name", &plain.input[0].name)
    );
    let (old, new) = (format!("{plain:?}"), format!("{graph:?}"));
    let count = |text: &str, name: &str| text.matches(&format!("\"{name}\"")).count();
    assert_eq!(count(&old, &plain.output[0].name), count(&new, "last"), "every use has the new name");
    let refused = [
        (&["a"; 9][..], &[][..], "the model has"),
        (&[""], &[], "its name is empty"),
        (&["same"], &["same"], "two values would have this name"),
        (&[&plain.output[0].name], &[], "two values would have this name"),
    ];
    for (inputs, outputs, reason) in refused {
        let error = names(inputs, outputs).expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn sizes_are_computed_as_python_does() {
    let written = written_text(
        "x: \"f32[s0, 3]\"",
        &[
            "n: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)",
            "half: \"Sym((s0//2))\" = n // 2",
            "y: \"f32[(s0//2), 3]\" = torch.ops.aten.slice.Tensor(x, 0, 0, half)",
        ],
        "y",
    );
    let graph = written.model.graph.as_ref().expect("a graph");
    let nodes: Vec<String> =
        lines(&graph.node).into_iter().filter(|line| !line.contains("Constant")).collect();
    assert_eq!(
        nodes,
        [
            "shape = ::Shape(x)",
            "n = ::Reshape(shape, constant)",
            "mod = ::Mod(n, constant_1)",
            "sub = ::Sub(n, mod)",
            "half = ::Div(sub, constant_1)",
            "reshape_1 = ::Reshape(half, constant_3)",
            "y = ::Slice(x, constant_2, reshape_1, constant_2, constant_4)"
        ]
    );
}

#[test]
fn halves_and_small_integers_are_computed_in_wider_types() {
    for (dtype, number) in [("bf16", 16), ("f16", 10), ("i8", 3)] {
        let written = written_text(
            &format!("x: \"{dtype}[s0]\""),
            &[&format!("y: \"{dtype}[s0]\" = torch.ops.aten.mul.Tensor(x, x)")],
            "y",
        );
        let graph = written.model.graph.as_ref().expect("a graph");
        assert_eq!(
            lines(&graph.node),
            ["cast = ::Cast(x)", "cast_1 = ::Cast(x)", "mul = ::Mul(cast, cast_1)", "y = ::Cast(mul)"]
        );
        assert_eq!(graph.node[3].attribute[0].i, number, "{dtype}");
    }
}

const AUTOCAST: &str = "\
class M(torch.nn.Module):
    def forward(self, x: \"f32[s0, 3]\", w: \"f32[3, 3]\"):
        g = self.g
        y: \"bf16[s0, 3]\" = torch.ops.higher_order.wrap_with_autocast('cpu', torch.bfloat16, ENABLED, None, g, x, w)
        return (y,)

    class g(torch.nn.Module):
        def forward(self, x: \"f32[s0, 3]\", w: \"f32[3, 3]\"):
            mm: \"bf16[s0, 3]\" = torch.ops.aten.mm.default(x, w)
            return mm
";

#[test]
fn autocast_is_casts_of_operands() {
    let model =
        |enabled| written(&text::read(&AUTOCAST.replace("ENABLED", enabled)).expect("a program")).model;
    let cast = lines(&model("True").functions[0].node);
    // The operands become bfloat16 and, as onnxruntime multiplies no such matrices, float32 again.
    assert_eq!(
        cast,
        [
            "cast = ::Cast(x)",
            "cast_1 = ::Cast(w)",
            "cast_2 = ::Cast(cast)",
            "cast_3 = ::Cast(cast_1)",
            "matmul = ::MatMul(cast_2, cast_3)",
            "mm = ::Cast(matmul)"
        ]
    );
    let plain = lines(&model("False").functions[0].node);
    assert_eq!(plain, ["matmul = ::MatMul(x, w)", "mm = ::Cast(matmul)"]);
}

#[test]
fn weights_are_initialisers_or_lie_beside_the_model() {
    let text = "\
ExportedProgram:
    class M(torch.nn.Module):
        def forward(self, p_w: \"f32[3]\", x: \"f32[s0, 3]\"):
            y: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(x, p_w)
            return (y,)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    x: USER_INPUT

    # outputs
    y: USER_OUTPUT
";
    let program = text::read(text).expect("a program");
    let mut weights = Weights::default();
    let bytes: Vec<u8> = [1.0_f32, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    weights.insert("w", Weight { dtype: Dtype::Float32, sizes: vec![3], bytes: bytes.clone() });
    let with = |external: Option<&str>| {
        let options =
            Options { weights: Some(&weights), external: external.map(str::to_owned), ..Options::default() };
        super::model(&program, &options).expect("a model")
    };
    let model = with(None).model;
    let graph = model.graph.expect("a graph");
    let entries = |entries: &[StringStringEntryProto]| -> Vec<(String, String)> {
        let of = |entry: &StringStringEntryProto| (entry.key.to_owned(), entry.value.to_owned());
        entries.iter().map(of).collect()
    };
    let [(signature, lines), (ranges, held)] =
        entries(&model.metadata_props).try_into().expect("two entries");
    assert_eq!(signature, "pkg.torch.export.ExportedProgram.graph_signature");
    assert!(lines.contains("p_w: PARAMETER target='w'") && lines.contains("y: USER_OUTPUT"), "{lines}");
    assert_eq!(
        (ranges.as_str(), held.as_str()),
        ("pkg.torch.export.ExportedProgram.range_constraints", "{}")
    );
    let kind = ("pkg.torch.export.graph_signature.InputSpec.kind".to_owned(), "PARAMETER".to_owned());
    assert_eq!(entries(&graph.initializer[0].metadata_props), [kind]);
    let inputs: Vec<&str> = graph.input.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(inputs, ["x"]);
    assert_eq!(
        (graph.initializer[0].name.clone(), graph.initializer[0].raw_data.clone()),
        ("p_w".to_owned(), bytes.clone().into())
    );
    let beside = with(Some("m.data"));
    let tensor = &beside.model.graph.as_ref().expect("a graph").initializer[0];
    let entries: Vec<(&str, &str)> =
        tensor.external_data.iter().map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
    assert_eq!(entries, [("location", "m.data"), ("offset", "0"), ("length", "12")]);
    assert_eq!((tensor.data_location, tensor.raw_data.is_empty(), &beside.external), (1, true, &bytes));
    let without = written(&program).model.graph.expect("a graph");
    assert_eq!(without.input.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["p_w", "x"]);
    weights.insert("w", Weight { dtype: Dtype::Float64, sizes: vec![3], bytes: vec![0; 24] });
    let options = Options { weights: Some(&weights), ..Options::default() };
    let error = super::model(&program, &options).expect_err("another dtype");
    assert_eq!(error.to_string(), "`w`: the archive holds float64 and the program records float32");
}

#[test]
fn nodes_say_where_they_come_from() {
    let model = written(&program("nested_conds")).model;
    let graph = model.graph.as_ref().expect("a graph");
    let node = graph.node.iter().find(|node| node.metadata_props.len() == 6).expect("a node with a line");
    let keys: Vec<&str> = node.metadata_props.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "namespace",
            "pkg.torch.onnx.class_hierarchy",
            "pkg.torch.onnx.name_scopes",
            "pkg.torch.onnx.fx_node",
            "pkg.torch.onnx.stack_trace",
            "source"
        ]
    );
    let source = &node.metadata_props[5].value;
    assert!(source.contains(".py:"), "{source}");
    let line = &node.metadata_props[3].value;
    let head = "%cond : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%p, %true_graph_0,";
    assert!(line.starts_with(head), "{line}");
}

#[test]
fn functions_name_the_region_that_they_are() {
    let text = "class M(torch.nn.Module):
    def forward(self, x: \"f32[3]\"):
        g = self.g
        y = torch.ops.higher_order.invoke_subgraph(g, 'region', x)
        z: \"f32[3]\" = y[0]
        return (z,)

    class g(torch.nn.Module):
        def forward(self, c: \"f32[3]\"):
            a: \"f32[3]\" = torch.ops.aten.neg.default(c)
            return (a,)
";
    let model = written(&text::read(text).expect("a program")).model;
    let entries: Vec<(&str, &str)> = model.functions[0]
        .metadata_props
        .iter()
        .map(|entry| (entry.key.as_str(), entry.value.as_str()))
        .collect();
    assert_eq!(entries, [("pkg.torch.ops.higher_order.invoke_subgraph.identifier", "region")]);
}

#[test]
fn loops_carry_what_changes_and_see_the_rest() {
    let model = written(&program("while_basic")).model;
    let graph = model.graph.as_ref().expect("a graph");
    let node = graph.node.iter().find(|node| node.op_type == "Loop").expect("a loop");
    let inner = body(node, "body");
    assert_eq!(node.input.len(), inner.input.len(), "a turn is given its number and what a loop is given");
    assert_eq!(node.input[0], "", "no fixed number of turns");
    assert_eq!(node.output.len() + 1, inner.output.len(), "and says whether it goes on");
    assert_eq!(inner.node.len(), 2);
    let map = written(&program("map_rows")).model;
    let graph = map.graph.as_ref().expect("a graph");
    let node = graph.node.iter().find(|node| node.op_type == "Scan").expect("a loop over slices");
    assert_eq!(body(node, "body").input.len(), node.input.len());
    assert_eq!(body(node, "body").output.len(), node.output.len());
}

/// Every name that nodes use is given before, and every called function and domain is there.
fn check(model: &ModelProto) -> Result<(), String> {
    let domains = |list: &[sizewise_onnx_model::read::message::OperatorSetIdProto]| -> Vec<String> {
        list.iter().map(|import| import.domain.to_owned()).collect()
    };
    let known: Vec<&str> = model.functions.iter().map(|function| function.name.as_str()).collect();
    let all = domains(&model.opset_import);
    for (index, function) in model.functions.iter().enumerate() {
        let own = domains(&function.opset_import);
        steps(&function.node, &function.input, &known[..index], &own, &function.output)?;
        if let Some(missing) = own.iter().find(|domain| !all.contains(domain)) {
            return Err(format!("the domain `{missing}` is not imported"));
        }
    }
    let graph = model.graph.as_ref().ok_or("no graph")?;
    let inputs: Vec<String> = graph.input.iter().map(|info| info.name.to_owned()).collect();
    let outputs: Vec<String> = graph.output.iter().map(|info| info.name.to_owned()).collect();
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
                return Err(format!("`{}` uses `{input}`, which nothing makes", node.name));
            }
        }
        if !domains.contains(&node.domain) {
            return Err(format!("the domain `{}` is not imported", node.domain));
        }
        if node.domain == "local" && !functions.contains(&node.op_type.as_str()) {
            return Err(format!("the function `{}` is not there", node.op_type));
        }
        for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            let inner = graph.input.iter().map(|info| info.name.to_owned());
            let around: Vec<String> = names.iter().cloned().chain(inner).collect();
            let ends: Vec<String> = graph.output.iter().map(|info| info.name.to_owned()).collect();
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the programs") {
        let path = entry.expect("an entry").path();
        let program =
            read(&std::fs::read(&path).expect("bytes"), &ReadOptions::default()).expect("a program");
        let written = super::model(&program, &Options::default());
        let written = written.unwrap_or_else(|error| panic!("{}: {error}", path.display())).model;
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
