//! Statements of the specifications that no other test shows.
use crate::conformance::root;
use sizewise::check::{Checker, Shapes};
use sizewise::expr::Int;
use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::ir::schema::Schema;
use sizewise::ir::text::{self, Detail};
use sizewise::ir::{Argument, Constant, Dialect, Graph, Node, Program};
use sizewise::kernels::Operators;
use sizewise::pass::{Pass, lower_to_edge, retrace};
use sizewise::recorded_values;
use sizewise::report::Outcome;
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};
use sizewise::verify::{KnownOperators, Level, Options, Profile, verify_program};
use std::fs;

struct Everything;

impl KnownOperators for Everything {
    fn declared(&self, _: &str) -> Option<&Schema> {
        None
    }

    fn has_kernel(&self, _: &str) -> bool {
        true
    }
}

/// The codes of the errors of a program as one of a dialect.
fn errors(program: &Program, profile: Profile) -> Vec<&'static str> {
    let found = verify_program(program, profile, &Everything, &Options::default());
    let errors = found.iter().filter(|violation| violation.rule.level() == Level::Error);
    errors.map(|violation| violation.rule.code()).collect()
}

fn module(parameters: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("        {line}\n")).collect();
    format!("class M(torch.nn.Module):\n    def forward(self, {parameters}):\n{lines}")
}

fn program(parameters: &str, lines: &[&str]) -> Program {
    let source = module(parameters, lines);
    text::read(&source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

fn node<'p>(program: &'p Program, name: &str) -> &'p Node {
    program.graph.nodes().iter().find(|node| &*node.name == name).expect(name)
}

fn targets(graph: &Graph) -> Vec<String> {
    graph.nodes().iter().map(|node| node.target.to_string()).collect()
}

#[test]
fn the_smallest_graph_is_its_output() {
    for (source, inputs, outputs) in [
        ("graph():\n    return ()\n", 0, 0),
        ("graph():\n    %x : [num_users=1] = placeholder[target=x]\n    return x\n", 1, 1),
        ("graph():\n    %x : [num_users=0] = placeholder[target=x]\n    return ()\n", 1, 0),
    ] {
        let program = text::read(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let graph = &program.graph;
        assert_eq!((graph.inputs().len(), graph.nodes().len(), graph.outputs().len()), (inputs, 0, outputs));
        assert_eq!(errors(&program, Profile::Aten), [""; 0], "{source}");
        assert_eq!(text::write_fx(&program, Detail::Short), source);
    }
    assert!(text::read("graph():\n").is_err(), "a graph without an output node");
}

#[test]
fn the_last_line_is_the_output_node() {
    let head = "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    \
                %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, 1), kwargs = {})\n";
    for (line, names, single) in [
        ("return add", vec!["add"], true),
        ("return (add,)", vec!["add"], false),
        ("return [add]", vec!["add"], false),
        ("return (add, x)", vec!["add", "x"], false),
        ("output[](args = (%add,))", vec!["add"], true),
    ] {
        let program = text::read(&format!("{head}    {line}\n")).expect(line);
        let graph = &program.graph;
        let returned = graph.outputs().iter().filter_map(Argument::value);
        assert_eq!(returned.map(|value| &**graph.name(value)).collect::<Vec<_>>(), names, "{line}");
        assert_eq!(graph.single_tensor_return(), single, "{line}");
    }
}

#[test]
fn constants_are_embedded_in_the_calls_that_take_them() {
    let program = program(
        "x: \"f32[s0, 3]\"",
        &[
            "a: \"f32[s0, 3]\" = torch.ops.aten.add.Tensor(x, 2.5, alpha = 3)",
            "b: \"f32[s0, 3]\" = torch.ops.aten.sum.dim_IntList(a, [0, 1], True, dtype = torch.float32)",
            "c: \"f32[s0, 3]\" = torch.ops.aten.to.dtype_layout(b, layout = torch.strided, device = device(type='cpu'), memory_format = torch.contiguous_format)",
            "d: \"f32[s0, 3]\" = torch.ops.aten.gelu.default(c, approximate = 'tanh')",
            "return (d,)",
        ],
    );
    let shown = |name: &str, argument: &str| {
        let input = node(&program, name).inputs.iter().find(|input| &*input.name == argument);
        format!("{:?}", input.expect(argument).arg)
    };
    for (name, argument, expected) in [
        ("a", "other", "Float(2.5)"),
        ("a", "alpha", "Int(3)"),
        ("b", "dim", "Ints([0, 1])"),
        ("b", "keepdim", "Bool(true)"),
        ("b", "dtype", "Dtype(Float32)"),
        ("c", "layout", "Layout(Strided)"),
        ("c", "memory_format", "MemoryFormat(Contiguous)"),
        ("d", "approximate", "Str(\"tanh\")"),
    ] {
        assert_eq!(shown(name, argument), expected, "{name}.{argument}");
    }
    assert!(shown("c", "device").contains("cpu"), "{}", shown("c", "device"));
    assert_eq!(program.graph.inputs().len(), 1);
}

#[test]
fn what_is_recorded_of_a_value_is_what_its_operator_returns() {
    for (call, expected) in [
        // A tensor, a tuple of tensors, a number that only the run knows.
        ("a: \"f32[7]\" = torch.ops.aten.add.Tensor(x, 1)", "f32[s0, 3]"),
        ("a: \"f32[7]\" = torch.ops.aten.add.Tensor(x, 2.5)", "f32[s0, 3]"),
        ("a: \"f32[7]\" = torch.ops.aten.gt.Scalar(x, 1)", "b8[s0, 3]"),
        ("a: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)", "Sym(s0)"),
    ] {
        let body = [call, "return (a,)"];
        let given = program("x: \"f32[s0, 3]\"", &body);
        let derived = Pass::find("derive").expect("a pass").run(&given, &Operators::new()).expect(call);
        let shown = text::write_readable(&derived, Detail::Full);
        assert!(shown.contains(&format!("a: \"{expected}\" =")), "{shown}");
        assert!(recorded_values(&derived, &Operators::new()).is_empty(), "{call}");
    }
    let pooled = program(
        "x: \"f32[1, 3, 8, 8]\"",
        &[
            "m = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2])",
            "v: \"f32[1, 3, 4, 4]\" = m[0]",
            "i: \"i64[1, 3, 4, 4]\" = m[1]",
            "return (v, i)",
        ],
    );
    assert_eq!(node(&pooled, "m").output_values().count(), 2);
    assert!(recorded_values(&pooled, &Operators::new()).is_empty());
}

fn checker(program: &Program) -> Checker {
    let json = pt2::write_json(program).expect("JSON");
    Checker::read("text", json.as_bytes()).expect("a program")
}

fn accepted(checker: &Checker, sizes: &[(&str, &[i64])]) -> bool {
    let operators = Operators::new();
    let evaluator = checker.evaluator(&operators).expect("an evaluator");
    let shape = |sizes: &[i64]| Shape::Tensor(sizes.iter().map(|&size| Int::from(size)).collect());
    let shapes: Shapes = sizes.iter().map(|(name, sizes)| ((*name).into(), shape(sizes))).collect();
    evaluator.evaluate(&shapes).is_ok()
}

fn verdict(checker: &Checker, spec: Option<&str>) -> Outcome {
    let spec = spec.map(|spec| Spec::parse(spec.as_bytes()).expect("a spec"));
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report").verdict
}

#[test]
fn static_sizes_and_ranks_take_nothing_else() {
    let body = ["a: \"f32[4, 3]\" = torch.ops.aten.relu.default(x)", "return (a,)"];
    let fixed = checker(&program("x: \"f32[4, 3]\"", &body));
    for (sizes, taken) in
        [(&[4, 3][..], true), (&[5, 3], false), (&[4, 4], false), (&[4], false), (&[4, 3, 1], false)]
    {
        assert_eq!(accepted(&fixed, &[("x", sizes)]), taken, "{sizes:?}");
    }
    // Without guards no spec is needed; what a spec leaves out is static.
    for spec in [None, Some("{}"), Some(r#"{"x": null}"#), Some(r#"{"x": [null, null]}"#)] {
        assert_eq!(verdict(&fixed, spec), Outcome::Ok, "{spec:?}");
    }
    assert_eq!(verdict(&fixed, Some(r#"{"x": [null]}"#)), Outcome::Invalid);
}

fn recorded(name: &str) -> Program {
    let path = root().join(format!("tests/data/programs/{name}.pt2"));
    pt2::read(&fs::read(path).expect(name), &ReadOptions::default()).expect(name)
}

#[test]
fn an_optional_input_that_was_not_given_is_its_default() {
    for (name, given) in [("pt_optional_default", true), ("pt_optional_none__auto", false)] {
        let program = recorded(name);
        let inputs = program.user_inputs().expect("inputs");
        let constants: Vec<&Constant> =
            inputs.iter().filter_map(|input| program.burned_in(input.index)).collect();
        assert_eq!(constants.contains(&&Constant::None), !given, "{name}: {constants:?}");
    }
}

const BRANCHES: &str = "
    class true_graph_0(torch.nn.Module):
        def forward(self, y: \"f32[s0, 3]\"):
            TRUE

    class false_graph_0(torch.nn.Module):
        def forward(self, y: \"f32[s0, 3]\"):
            b: \"f32[s0, 3]\" = torch.ops.aten.cos.default(y)
            return (b,)
";

/// A program of one `cond` on a predicate, with this line in its first branch.
fn cond(predicate: &str, line: &str) -> String {
    let head = module(
        "p: \"b8[]\", x: \"f32[s0, 3]\"",
        &[
            "n: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)",
            "gt: \"Sym(s0 > 4)\" = n > 4",
            "true_graph_0 = self.true_graph_0",
            "false_graph_0 = self.false_graph_0",
            &format!("cond = torch.ops.higher_order.cond({predicate}, true_graph_0, false_graph_0, [x])"),
            "getitem: \"f32[s0, 3]\" = cond[0]",
            "return (getitem,)",
        ],
    );
    head + &BRANCHES.replace("TRUE", &format!("{line}\n            return (a,)"))
}

#[test]
fn branches_are_graphs_without_closures_or_writes() {
    let sine = "a: \"f32[s0, 3]\" = torch.ops.aten.sin.default(y)";
    // The predicate is data, a condition on sizes, or a constant.
    for predicate in ["p", "gt", "True", "False"] {
        let program = text::read(&cond(predicate, sine)).expect(predicate);
        assert_eq!(errors(&program, Profile::Aten), [""; 0], "{predicate}");
        assert_eq!(program.graph.subgraphs().count(), 2);
        assert_eq!(verdict(&checker(&program), None), Outcome::Ok, "{predicate}");
    }
    let written = "a: \"f32[s0, 3]\" = torch.ops.aten.sin_.default(y)";
    let program = text::read(&cond("p", written)).expect("a program");
    assert_eq!(errors(&program, Profile::Aten), ["functional"]);
    let closure = "a: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(y, x)";
    let error = text::read(&cond("p", closure)).expect_err("`x` is of the graph around");
    assert!(error.to_string().contains("`x` is used"), "{error}");
}

#[test]
fn a_pass_maps_one_call_to_one_to_several_or_to_none() {
    let given = program(
        "x: \"f32[s0, 3]\", y: \"f32[s0, 3]\"",
        &["a: \"f32[s0, 3]\" = torch.ops.aten.add.Tensor(x, y)", "return (a,)"],
    );
    let operators = Operators::new();
    for (kind, expected) in [
        ("one", vec!["aten.sub.Tensor"]),
        ("several", vec!["aten.mul.Tensor", "aten.sub.Tensor"]),
        ("none", vec![]),
    ] {
        let traced = retrace(&given, &operators, |tracer, step| {
            let operand = |name: &str| step.argument(name).cloned().expect(name);
            let both = || [("self", operand("self")), ("other", operand("other"))];
            match kind {
                "one" => tracer.call("aten.sub.Tensor", both()).map(Some),
                "several" => {
                    let product = tracer.call("aten.mul.Tensor", both())?[0];
                    let rest = [("self", product.into()), ("other", operand("other"))];
                    tracer.call("aten.sub.Tensor", rest).map(Some)
                }
                // Its operand stands for what it gave.
                _ => Ok(step.node.inputs[0].arg.value().and_then(|x| tracer.now(x)).map(|x| vec![x])),
            }
        });
        let made = traced.expect(kind).program;
        assert_eq!(targets(&made.graph), expected, "{kind}");
        assert_eq!(errors(&made, made.dialect.into()), [""; 0], "{kind}");
        assert_eq!(made.graph.outputs().len(), 1);
    }
}

#[test]
fn types_are_not_promoted_implicitly_in_the_edge_dialect() {
    let mut mixed = program(
        "x: \"f32[s0, 3]\", y: \"i64[s0, 3]\"",
        &["a: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(x, y)", "return (a,)"],
    );
    mixed.dialect = Dialect::Aten;
    assert_eq!(errors(&mixed, Profile::Aten), [""; 0]);
    let lowered = lower_to_edge(&mixed, &Operators::new()).expect("an Edge program");
    let made = targets(&lowered.graph);
    assert_eq!(made.len(), 2, "{made:?}");
    assert!(made[0].contains("_to_dim_order_copy") && made[1].contains("mul.Tensor"), "{made:?}");
}

/// A program that loops over slices of `xs`, with this body.
fn sliced(op: &str, parameters: &str, arguments: &str, results: &[&str], body: &[&str]) -> Program {
    let mut lines = vec!["g = self.g".to_owned(), format!("r = torch.ops.higher_order.{op}(g, {arguments})")];
    for (index, result) in results.iter().enumerate() {
        lines.push(format!("r{index}: \"{result}\" = r[{index}]"));
    }
    let names: Vec<String> = (0..results.len()).map(|index| format!("r{index},")).collect();
    lines.push(format!("return ({})", names.join(" ")));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let inner = body.iter().fold(String::new(), |text, line| format!("{text}            {line}\n"));
    let source = module("c: \"f32[3]\", xs: \"f32[s0, 3]\", ys: \"f32[s1, 3]\"", &lines)
        + "\n    class g(torch.nn.Module):\n        def forward(self, "
        + parameters
        + "):\n"
        + &inner;
    text::read(&source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

#[test]
fn scans_carry_one_form_and_stack_the_rest() {
    let body = |next: &'static str| -> Vec<&'static str> {
        vec![
            "n: \"f32[3]\" = torch.ops.aten.add.Tensor(c, x)",
            "k: \"f32[]\" = torch.ops.aten.sum.default(x)",
            next,
        ]
    };
    for (next, results, found) in [
        ("return (n, k)", ["f32[3]", "f32[s0]"], vec![]),
        // What is stacked has one dimension more than in the graph.
        ("return (n, k)", ["f32[3]", "f32[s0, 3]"], vec!["graph-results", "recorded-value"]),
        ("return (k, n)", ["f32[]", "f32[s0, 3]"], vec!["loop-carried"]),
    ] {
        let parameters = "c: \"f32[3]\", x: \"f32[3]\"";
        let program = sliced("scan", parameters, "[c], [xs], []", &results, &body(next));
        let mut codes = errors(&program, Profile::Aten);
        let differ = recorded_values(&program, &Operators::new());
        codes.extend(differ.iter().map(|violation| violation.rule.code()));
        assert!(found.iter().all(|code| codes.contains(code)), "{next}: {codes:?}");
        assert_eq!(found.is_empty(), codes.is_empty(), "{next}: {codes:?}");
    }
}

#[test]
fn what_is_mapped_over_has_one_length_and_is_not_empty() {
    let spec = |least: i64, ys: &str| {
        let xs = format!(r#"{{"dim": "n", "min": {least}}}"#);
        format!(r#"{{"c": [3], "xs": [{xs}, 3], "ys": [{}, 3]}}"#, if ys == "n" { &xs } else { ys })
    };
    let sum = "a: \"f32[3]\" = torch.ops.aten.add.Tensor(x, y)";
    let parameters = "x: \"f32[3]\", y: \"f32[3]\"";
    let mapped = sliced("map_impl", parameters, "[xs, ys], []", &["f32[s0, 3]"], &[sum, "return (a,)"]);
    let checker = checker(&mapped);
    for (spec, expected) in [
        (spec(1, "n"), Outcome::Ok),
        (spec(0, "n"), Outcome::Violated),
        (spec(1, r#"{"dim": "m", "min": 1}"#), Outcome::Violated),
    ] {
        assert_eq!(verdict(&checker, Some(&spec)), expected, "{spec}");
    }
}

#[test]
fn a_constant_tensor_is_written_by_nothing() {
    let source = "\
ExportedProgram:
    class M(torch.nn.Module):
        def forward(self, c_k: \"f32[3]\", x: \"f32[3]\"):
            a: \"f32[3]\" = torch.ops.aten.add_.Tensor(c_k, x)
            return (a,)

Graph signature:
    # inputs
    c_k: CONSTANT_TENSOR target='k'
    x: USER_INPUT

    # outputs
    a: USER_OUTPUT
";
    let mut program = text::read(source).expect("a program");
    program.dialect = Dialect::Training;
    let error = Pass::find("functionalize").expect("a pass").run(&program, &Operators::new());
    let message = error.expect_err("a constant").to_string();
    assert!(message.contains("the constant `k` is written"), "{message}");
}

/// An Edge program of one call.
fn edge(op: &str, given: &str, made: &str) -> Program {
    let call = format!("a: \"{made}[s0]\" = executorch.exir.dialects.edge._ops.aten.{op}(x)");
    let mut program = program(&format!("x: \"{given}[s0]\""), &[&call, "return (a,)"]);
    program.dialect = Dialect::Edge;
    program
}

#[test]
fn dtypes_of_edge_operators_are_those_of_the_specification() {
    for (given, made, taken) in [
        ("i64", "f32", true),
        ("b8", "f32", true),
        ("u8", "f32", true),
        ("f64", "f64", true),
        ("f32", "f32", true),
        ("i64", "i64", false),
        ("f32", "f64", false),
        ("f64", "f32", false),
    ] {
        let found = errors(&edge("sigmoid.default", given, made), Profile::Edge);
        let expected: &[&str] = if taken { &[] } else { &["edge-dtype"] };
        assert_eq!(found, expected, "{given} to {made}");
    }
}

#[test]
fn passes_take_edge_programs() {
    let program = edge("sigmoid.default", "f32", "f32");
    let operators = Operators::new();
    for name in ["dce", "cse", "fold", "derive"] {
        let made = Pass::find(name).expect(name).run(&program, &operators).expect(name);
        assert_eq!(targets(&made.graph), targets(&program.graph), "{name}");
        assert_eq!((made.dialect, errors(&made, Profile::Edge)), (Dialect::Edge, vec![]), "{name}");
    }
    let wrapped = node(&program, "a").target.wrapped().expect("an Edge operator");
    assert_eq!(wrapped.name.to_string(), "aten.sigmoid.default");
}

#[test]
fn calls_that_replace_another_come_from_its_line() {
    let program = recorded("nested_conds");
    let operators = Operators::new();
    let first =
        program.graph.nodes().iter().find(|node| node.provenance.location().is_some()).expect("a line");
    let traced = retrace(&program, &operators, |tracer, step| {
        if step.node.name == first.name {
            tracer.call("_operator.neg", [("a", Argument::Int(3))])?;
        }
        Ok(None)
    });
    let traced = traced.expect("a program").program;
    let made = traced.graph.nodes().iter().find(|node| &*node.name == "neg").expect("the new call");
    assert_eq!(made.provenance, first.provenance);
}

/// The operators of a model's graph and of its functions: `name: inputs`.
fn operators_of(program: &Program) -> Vec<String> {
    let model = sizewise::onnx_write::model(program, &sizewise::onnx_write::Options::default())
        .expect("a model")
        .model;
    let graph = model.graph.as_ref().expect("a graph");
    let called = |function: &str, nodes: &[sizewise::onnx_model::read::message::NodeProto]| -> Vec<String> {
        let nodes = nodes.iter().filter(|node| node.op_type != "Constant");
        nodes.map(|node| format!("{function}{}::{}", node.domain, node.op_type)).collect()
    };
    let functions = model.functions.iter().flat_map(|f| called(&format!("{}: ", f.name), &f.node));
    called("", &graph.node).into_iter().chain(functions).collect()
}

#[test]
fn operators_that_run_a_graph_are_calls_of_its_function_in_onnx() {
    let body = ["a: \"f32[3]\" = torch.ops.aten.neg.default(c)", "return (a,)"];
    let invoked = sliced("invoke_subgraph", "c: \"f32[3]\"", "'region', c", &["f32[3]"], &body);
    assert_eq!(operators_of(&invoked), ["local::g", "g: ::Neg"]);
    let body = [
        "a: \"f32[3]\" = torch.ops.aten.add.Tensor(c, x)",
        "b: \"f32[3]\" = torch.ops.aten.neg.default(a)",
        "return (a, b)",
    ];
    let parameters = "c: \"f32[3]\", x: \"f32[3]\"";
    let scanned = sliced("scan", parameters, "[c], [xs], []", &["f32[3]", "f32[s0, 3]"], &body);
    assert_eq!(operators_of(&scanned), ["::Scan", "g: ::Add", "g: ::Neg"]);
}
