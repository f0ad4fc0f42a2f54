//! Operators outside the core ATen set become core ones, with shapes that hold for all sizes.
use sizewise::check::{Evaluator, Shapes};
use sizewise::expr::Int;
use sizewise::ir::{Dialect, Graph, Program, text};
use sizewise::kernels::Operators;
use sizewise::pass::{Pass, PassError, Pipeline, decompose, decomposed_operators, lower_to_edge};
use sizewise::spec::{Contract, Shape};
use sizewise::verify::is_core_or_excepted;

/// A program of one call: inputs as text annotates them, the call, and the shape of its result.
fn program(inputs: &str, call: &str, result: &str) -> Program {
    let source = format!(
        "class M(torch.nn.Module):
    def forward(self, {inputs}):
        r: \"{result}\" = torch.ops.aten.{call}
        return (r,)
"
    );
    text::read(&source).unwrap_or_else(|error| panic!("{call}: {error}"))
}

/// The operators of a graph and those within, in order.
fn operators(graph: &Graph) -> Vec<String> {
    let mut all = Vec::new();
    for node in graph.nodes() {
        all.push(node.target.to_string().trim_start_matches("aten.").to_owned());
        for inner in node.subgraphs() {
            all.extend(operators(&inner.graph));
        }
    }
    all
}

fn shape(program: &Program) -> String {
    let text = text::write_readable(program, text::Detail::Full);
    let output = program.graph.outputs()[0].value().expect("a value");
    let name = program.graph.name(output);
    let line = text.lines().find(|line| {
        line.trim_start().starts_with(&format!("{name}: ")) || line.contains(&format!(" {name}: "))
    });
    line.and_then(|line| line.split('"').nth(1)).unwrap_or_default().to_owned()
}

/// Inputs, call, shape of the result, the operators that it becomes.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        r#"x: "f32[s0, 6]", w: "f32[5, 6]", v: "f32[5]""#,
        "linear.default(x, w, v)",
        "f32[s0, 5]",
        "permute.default addmm.default",
    ),
    (
        r#"x: "f32[s0, 4, 6]", w: "f32[5, 6]", v: "f32[5]""#,
        "linear.default(x, w, v)",
        "f32[s0, 4, 5]",
        "sym_size.int _operator.mul view.default permute.default addmm.default view.default",
    ),
    (
        r#"x: "f32[s0, 4, 6]", y: "f32[s0, 6, 3]""#,
        "matmul.default(x, y)",
        "f32[s0, 4, 3]",
        "sym_size.int expand.default view.default expand.default view.default bmm.default view.default",
    ),
    (r#"x: "f32[s0]", y: "f32[s0]""#, "dot.default(x, y)", "f32[]", "mul.Tensor sum.dim_IntList"),
    (r#"x: "f32[s0, 6]""#, "layer_norm.default(x, [6])", "f32[s0, 6]", "native_layer_norm.default"),
    (r#"x: "f32[s0, 6]""#, "softmax.int(x, -1)", "f32[s0, 6]", "_softmax.default"),
    (
        r#"x: "f16[s0, 6]""#,
        "silu.default(x)",
        "f16[s0, 6]",
        "_to_copy.default sigmoid.default mul.Tensor _to_copy.default",
    ),
    (r#"x: "f32[s0, 6]""#, "silu.default(x)", "f32[s0, 6]", "sigmoid.default mul.Tensor"),
    (r#"x: "f32[s0, 6]""#, "dropout.default(x, 0.5, False)", "f32[s0, 6]", ""),
    (
        r#"x: "f32[s0, 3, 8, 8]", w: "f32[4, 3, 3, 3]""#,
        "conv2d.default(x, w)",
        "f32[s0, 4, 6, 6]",
        "convolution.default",
    ),
    (
        r#"x: "f32[s0, 3, 8, 8]""#,
        "max_pool2d.default(x, [2, 2])",
        "f32[s0, 3, 4, 4]",
        "max_pool2d_with_indices.default",
    ),
    (r#"x: "f32[s0, 3, 8]""#, "flatten.using_ints(x, 1)", "f32[s0, 24]", "sym_size.int view.default"),
    (r#"x: "f32[s0, 6]""#, "transpose.int(x, 0, 1)", "f32[6, s0][1, 6]", "permute.default"),
    (
        r#"x: "f32[s0, 6]", y: "f32[s0, 6]""#,
        "stack.default([x, y], 1)",
        "f32[s0, 2, 6]",
        "sym_size.int cat.default view.default",
    ),
    (
        r#"x: "f32[s0, 6]", m: "b8[s0, 6]""#,
        "masked_fill.Scalar(x, m, 0.0)",
        "f32[s0, 6]",
        "scalar_tensor.default where.self",
    ),
    (r#"x: "f32[s0, 6]""#, "sum.default(x)", "f32[]", "sum.dim_IntList"),
    (r#"x: "f32[s0, 6]""#, "zeros_like.default(x)", "f32[s0, 6]", "full_like.default"),
    (
        r#"x: "f32[s0, 6]", y: "f32[6, 3]""#,
        r#"einsum.default("ij,jk->ik", [x, y])"#,
        "f32[s0, 3]",
        "sym_size.int permute.default view.default permute.default view.default bmm.default view.default permute.default",
    ),
    (
        r#"x: "f32[s0]", y: "f32[s0, 2]""#,
        "column_stack.default([x, y])",
        "f32[s0, 3]",
        "unsqueeze.default cat.default",
    ),
    (
        r#"x: "i64[s0]""#,
        "one_hot.default(x, 5)",
        "i64[s0, 5]",
        "arange.start_step unsqueeze.default eq.Tensor _to_copy.default",
    ),
    (
        r#"x: "f32[s0, 3, 8, 8]", g: "f32[s0, 4, 5, 2]""#,
        "grid_sampler.default(x, g, 0, 0, False)",
        "f32[s0, 3, 4, 5]",
        "grid_sampler_2d.default",
    ),
    (
        r#"x: "f32[s0, 4]", h: "f32[s0, 6]", w: "f32[6, 4]", u: "f32[6, 6]", v: "f32[6]""#,
        "rnn_tanh_cell.default(x, h, w, u, v, v)",
        "f32[s0, 6]",
        "permute.default addmm.default permute.default addmm.default add.Tensor tanh.default",
    ),
];

#[test]
fn numbers_are_read_from_tensors_by_the_core_operator() {
    let source = "class M(torch.nn.Module):
    def forward(self, x: \"f32[s0, 3]\", k: \"i64[]\"):
        item: \"Sym(u0)\" = torch.ops.aten.item.default(k)
        r: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(x, item)
        return (r, item)
";
    let before = text::read(source).expect("a program");
    let made = decompose(&before, &Operators::new()).expect("core operators");
    assert_eq!(operators(&made.graph).join(" "), "_local_scalar_dense.default mul.Tensor");
    let text = text::write_readable(&made, text::Detail::Full);
    assert!(text.contains("\"Sym(u0)\""), "{text}");
}

#[test]
fn recurrent_layers_become_core_operators_of_each_step() {
    let known = Operators::new();
    for (call, states, gates) in [
        ("lstm.input(x, [h, h], [w, u, b, b], True, 1, 0.0, True, False, False)", 2, 12),
        ("gru.input(x, h, [w, u, b, b], True, 1, 0.0, True, False, False)", 1, 9),
        ("rnn_tanh.input(x, h, [w, u, b, b], True, 1, 0.0, True, False, False)", 1, 3),
    ] {
        let states: String =
            (1..=states).map(|at| format!("        s{at}: \"f32[1, 2, 3]\" = all[{at}]\n")).collect();
        let source = format!(
            "class M(torch.nn.Module):
    def forward(self, x: \"f32[5, 2, 4]\", h: \"f32[1, 2, 3]\", w: \"f32[{gates}, 4]\", u: \"f32[{gates}, 3]\", b: \"f32[{gates}]\"):
        all = torch.ops.aten.{call}
        o: \"f32[5, 2, 3]\" = all[0]
{states}        return (o, s1)
"
        );
        let made = decompose(&text::read(&source).expect("a program"), &known).expect("core operators");
        let found = operators(&made.graph);
        assert_eq!((shape(&made).as_str(), made.dialect), ("f32[5, 2, 3]", Dialect::Aten), "{call}");
        let steps = found.iter().filter(|name| *name == "tanh.default").count();
        assert!(steps >= 5 && found.iter().all(|name| !call.starts_with(name.as_str())), "{found:?}");
    }
}

#[test]
fn operators_become_core_ones_of_the_same_shape() {
    let (known, mut wrong) = (Operators::new(), Vec::new());
    for (inputs, call, result, expected) in CASES {
        let before = program(inputs, call, result);
        let made = decompose(&before, &known).unwrap_or_else(|error| panic!("{call}: {error}"));
        let found = (operators(&made.graph).join(" "), shape(&made), made.dialect);
        if found != ((*expected).to_owned(), (*result).to_owned(), Dialect::Aten) {
            wrong.push(format!("{call}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_recorded_is_what_the_kernels_derive() {
    let known = Operators::new();
    for (inputs, call, result, _) in CASES {
        let made = decompose(&program(inputs, call, result), &known).expect("core operators");
        let again = Pass::find("derive").expect("the pass").run(&made, &known).expect("shapes");
        let text = |program: &Program| text::write_readable(program, text::Detail::Full);
        assert_eq!(text(&again), text(&made), "{call}");
    }
}

/// Inputs as text annotates them, `x: "f32[s0, 3]", y: "i64[s1]"`, at sizes for the symbols.
fn shapes(inputs: &str, sizes: [i64; 3]) -> Shapes {
    let size = |text: &str| match text.strip_prefix('s') {
        Some(symbol) => sizes[symbol.parse::<usize>().expect("a symbol")],
        None => text.parse().expect("a size"),
    };
    let mut parts = inputs.split('"');
    let mut found = Shapes::default();
    while let (Some(name), Some(annotation)) = (parts.next(), parts.next()) {
        let name = name.trim_matches(|c| matches!(c, ':' | ',' | ' '));
        let list = annotation.split_once('[').map_or("", |(_, list)| list.trim_end_matches(']'));
        let list = list.split(", ").filter(|size| !size.is_empty());
        found.insert(name.into(), Shape::Tensor(list.map(|text| Int::from(size(text))).collect()));
    }
    found
}

/// The sizes of the output at given sizes; `None` where the program refuses them.
fn evaluated(program: &Program, given: &Shapes, known: &Operators) -> Option<Vec<Option<i64>>> {
    let evaluator = Evaluator::new(Contract::load(program).expect("a contract"), known);
    let found = evaluator.evaluate(given).ok()?;
    let sizes = found.outputs.first()?.as_ref()?;
    Some(sizes.iter().map(|size| found.env.pool.as_int(*size).and_then(|size| size.to_i64())).collect())
}

#[test]
fn what_torch_decomposes_wholly_becomes_core_and_gives_the_same_shapes() {
    let (known, mut wrong, mut count) = (Operators::new(), Vec::new(), 0);
    let lines = include_str!("data/decomposed.txt").lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let parts: Vec<&str> = line.split("; ").collect();
        let [inputs, call, result] = parts[..] else { panic!("{line}") };
        let result = result.trim_matches('"');
        let before = program(inputs, call, result);
        let made = match decompose(&before, &known) {
            Ok(made) => made,
            Err(error) => {
                wrong.push(format!("{call}: {error}"));
                continue;
            }
        };
        let python = ["_operator.", "math.", "torch."];
        let others: Vec<String> = operators(&made.graph)
            .into_iter()
            .filter(|op| !python.iter().any(|module| op.starts_with(module)))
            .filter(|op| !is_core_or_excepted(&format!("aten.{op}")))
            .collect();
        // The sizes are compared by what they are.
        let dtype = |shape: &str| shape.split('[').next().unwrap_or_default().to_owned();
        if !others.is_empty() || dtype(&shape(&made)) != dtype(result) {
            wrong.push(format!("{call}: {others:?}, {}", shape(&made)));
        }
        let mut accepted = 0;
        for sizes in [[5, 6, 7], [6, 9, 4], [8, 13, 5], [2, 4, 2]] {
            let given = shapes(inputs, sizes);
            let expected = evaluated(&before, &given, &known);
            accepted += usize::from(expected.is_some());
            if expected.is_some() && evaluated(&made, &given, &known) != expected {
                wrong.push(format!(
                    "{call} at {sizes:?}: {:?}, not {expected:?}",
                    evaluated(&made, &given, &known)
                ));
            }
        }
        if accepted < 2 {
            wrong.push(format!("{call}: runs at {accepted} sizes"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count}");
}

/// Inputs, call, result, what the refusal names.
const LEFT: &[(&str, &str, &str, &str)] = &[
    (r#"x: "f32[s0, 6]""#, "alpha_dropout.default(x, 0.5, True)", "f32[s0, 6]", "random"),
    (r#"x: "f32[s0, 6]""#, "cumprod.default(x, 1)", "f32[s0, 6]", "no decomposition"),
    (r#"x: "i64[s0]""#, "one_hot.default(x)", "i64[s0, u0]", "data decide"),
    (r#"x: "f32[s0, 6]""#, "nextafter.default(x, x)", "f32[s0, 6]", "`aten.nextafter.default`"),
    (r#"x: "c64[s0, 6]""#, "sgn.default(x)", "c64[s0, 6]", "complex tensors are not decomposed"),
    (
        r#"x: "f32[s0, 2, 5, 8]""#,
        "scaled_dot_product_attention.default(x, x, x, None, 0.0, False, scale = -1.0)",
        "f32[s0, 2, 5, 8]",
        "its scale is not positive",
    ),
];

#[test]
fn what_has_no_decomposition_is_named() {
    let known = Operators::new();
    for (inputs, call, result, wanted) in LEFT {
        match decompose(&program(inputs, call, result), &known) {
            Err(PassError::Left { pass, operators }) => {
                assert_eq!(pass, "decompose");
                assert_eq!(operators.len(), 1, "{call}");
                assert!(operators[0].contains(wanted), "{call}: {}", operators[0]);
            }
            other => panic!("{call}: {other:?}"),
        }
    }
}

#[test]
fn graphs_within_are_decomposed() {
    let source = "class M(torch.nn.Module):
    def forward(self, p: \"b8[]\", x: \"f32[s0, 3]\"):
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, (x,))
        getitem: \"f32[s0, 3]\" = cond[0]
        return (getitem,)

    class true_graph_0(torch.nn.Module):
        def forward(self, arg0_1: \"f32[s0, 3]\"):
            silu: \"f32[s0, 3]\" = torch.ops.aten.silu.default(arg0_1)
            return (silu,)

    class false_graph_0(torch.nn.Module):
        def forward(self, arg0_1: \"f32[s0, 3]\"):
            square: \"f32[s0, 3]\" = torch.ops.aten.square.default(arg0_1)
            return (square,)
";
    let before = text::read(source).expect("a program");
    let made = decompose(&before, &Operators::new()).expect("core operators");
    let found = operators(&made.graph).join(" ");
    assert_eq!(found, "higher_order.cond sigmoid.default mul.Tensor pow.Tensor_Scalar");
}

#[test]
fn other_dialects_are_refused() {
    let known = Operators::new();
    let before = program(r#"x: "f32[3]""#, "add.Tensor(x, x)", "f32[3]");
    let edge = lower_to_edge(&before, &known).expect("an Edge program");
    match decompose(&edge, &known) {
        Err(PassError::Failed { message, .. }) => assert!(message.contains("functionalize"), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_training_program_becomes_a_core_program() {
    let source = "class M(torch.nn.Module):
    def forward(self, x: \"f32[s0, 3]\"):
        r: \"f32[s0, 3]\" = torch.ops.aten.relu_.default(x)
        s: \"f32[s0, 3]\" = torch.ops.aten.silu.default(r)
        return (s,)
";
    let before = text::read(source).expect("a program");
    let passes = ["functionalize", "decompose"].into_iter().filter_map(Pass::find);
    let made =
        passes.fold(Pipeline::new(), Pipeline::then).run(&before, &Operators::new()).expect("a program");
    assert_eq!(operators(&made.graph).join(" "), "relu.default sigmoid.default mul.Tensor");
    assert_eq!(made.signature.outputs.len(), 2);
}

#[test]
fn what_is_written_into_a_tensor_of_the_same_sizes_is_the_result() {
    let source = |sizes: &str| {
        format!(
            "class M(torch.nn.Module):
    def forward(self, x: \"f32[s0 + s1, 3]\", y: \"f32[{sizes}, 3]\"):
        e: \"f32[{sizes}, 3]\" = torch.ops.aten.empty_like.default(y)
        w: \"f32[{sizes}, 3]\" = torch.ops.aten.relu_.default(y)
        r: \"f32[{sizes}, 3]\" = torch.ops.aten.maximum.out(self = x, other = x, out = e)
        return (r,)
"
        )
    };
    let passes = || ["functionalize", "decompose"].into_iter().filter_map(Pass::find);
    let run = |sizes: &str| {
        let before = text::read(&source(sizes)).expect("a program");
        passes().fold(Pipeline::new(), Pipeline::then).run(&before, &Operators::new())
    };
    // Written otherwise, the sizes are the same.
    let made = run("s1 + s0").expect("a program");
    assert_eq!(operators(&made.graph).join(" "), "relu.default maximum.default");
    let refused = run("s1 + 2").expect_err("other sizes").to_string();
    assert!(refused.contains("changes the sizes"), "{refused}");
}

#[test]
fn the_documentation_lists_every_decomposition() {
    let page = include_str!("../docs/decompositions.md");
    let listed: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`')).collect();
    assert_eq!(listed, decomposed_operators());
}

#[test]
fn every_decomposed_operator_has_a_kernel() {
    let known = Operators::new();
    let without: Vec<&str> =
        decomposed_operators().into_iter().filter(|op| known.find(&format!("aten.{op}")).is_none()).collect();
    assert!(without.is_empty(), "{without:?}");
}

/// `x.t()`, what is made of it, and an operator that depends on how that lies in memory.
fn transposed(made: &str, then: &str, result: &str) -> Program {
    let source = format!(
        "class M(torch.nn.Module):
    def forward(self, x: \"f32[s0, s1]\"):
        n: \"Sym(s1)\" = torch.ops.aten.sym_size.int(x, 1)
        m: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)
        t: \"f32[s1, s0]\" = torch.ops.aten.permute.default(x, [1, 0])
        r: \"f32[s1, s0]\" = torch.ops.aten.{made}
        u: \"f32[s0, s1]\" = torch.ops.aten.permute.default(r, [1, 0])
        v: \"{result}\" = torch.ops.aten.{then}
        return (v,)
"
    );
    text::read(&source).unwrap_or_else(|error| panic!("{made}: {error}"))
}

#[test]
fn what_lies_in_memory_as_before_is_viewed_as_before() {
    let known = Operators::new();
    let view = |made| transposed(made, "view.default(u, [-1])", "f32[s0*s1]");
    // A reshape to the sizes that the tensor has keeps its strides.
    let kept = decompose(&view("reshape.default(t, [n, m])"), &known).expect("core operators");
    assert_eq!(
        operators(&kept.graph).join(" "),
        "sym_size.int sym_size.int permute.default view.default permute.default view.default"
    );
    // Elements by their distances in memory are others if an operand lies otherwise.
    let by_distance = transposed("reshape.default(t, [n, m])", "as_strided.default(u, [2], [1])", "f32[2]");
    match decompose(&by_distance, &known) {
        Err(PassError::Failed { message, .. }) => assert!(message.contains("reads memory"), "{message}"),
        other => panic!("{other:?}"),
    }
}
