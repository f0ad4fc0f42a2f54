//! Operators by standard ones of ONNX: which nodes stand for a call, and where weights lie.
use crate::command;
use crate::text_programs;
use sizewise::ir::text;
use sizewise::kernels::Operators;
use sizewise::onnx_write::{Options, Written, model};
use sizewise::pass::without_writes;

/// The model of a program with these parameters and one step, whose results are named.
fn written(parameters: &str, step: &str, results: &str) -> Written {
    let text = format!(
        "class M(torch.nn.Module):\n    def forward(self, {parameters}):\n        {step}\n        return ({results},)\n"
    );
    let program = text::read(&text).expect("a program");
    model(&without_writes(&program, &Operators::new()), &Options::default()).expect("a model")
}

/// The operators of a model's nodes, constants left out.
fn operators(written: &Written) -> Vec<&str> {
    let graph = written.model.graph.as_ref().expect("a graph");
    let named = graph.node.iter().map(|node| node.op_type.as_str());
    named.filter(|name| *name != "Constant").collect()
}

#[test]
fn operators_are_written_by_standard_ones() {
    let x = "x: \"f32[s0, 3]\"";
    let cases: &[(&str, &str, &str)] = &[
        ("any.dim(x, 0)", "b8[3]", "Cast Cast ReduceSum Cast"),
        ("all.dim(x, 0)", "b8[3]", "Cast Not Cast ReduceSum Cast Not"),
        ("cumprod.default(x, 1)", "f32[s0, 3]", "Shape Concat Expand Trilu Cast Unsqueeze Where ReduceProd"),
        (
            "diagonal.default(x, -1)",
            "f32[u0]",
            "Shape Shape Mul Concat Reshape Sub Min Max Reshape Range Add Mul Mul Add Gather",
        ),
        (
            "unfold.default(x, 0, 2, 1)",
            "f32[s0 - 1, 3, 2]",
            "Shape Sub Div Add Reshape Range Mul Unsqueeze Reshape Range Add Gather Transpose",
        ),
        ("copy.default(x, x)", "f32[s0, 3]", "Shape Expand"),
        ("repeat_interleave.self_int(x, 2, 1)", "f32[s0, 6]", "Shape Mul Reshape Range Div Gather"),
    ];
    let mut wrong = Vec::new();
    for (call, result, wanted) in cases {
        let step = format!("y: \"{result}\" = torch.ops.aten.{call}");
        let written = written(x, &step, "y");
        let found = operators(&written).join(" ");
        if !written.left.is_empty() || found != *wanted {
            wrong.push(format!("{call}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dtypes_that_onnxruntime_does_not_move_are_cast_there_and_back() {
    let cases: &[(&str, &str, &str, &str)] = &[
        ("x: \"i8[s0, 3]\"", "tril.default(x)", "i8[s0, 3]", "Cast Trilu Cast"),
        ("x: \"bf16[s0, 3]\"", "repeat.default(x, [2, 2])", "bf16[2*s0, 6]", "Cast Tile Cast"),
        ("x: \"b8[s0, 3]\"", "where.self(x, x, x)", "b8[s0, 3]", "Cast Cast Where Cast"),
        ("x: \"f32[s0, 3]\"", "tril.default(x)", "f32[s0, 3]", "Trilu"),
    ];
    for (parameters, call, result, wanted) in cases {
        let written = written(parameters, &format!("y: \"{result}\" = torch.ops.aten.{call}"), "y");
        assert_eq!(operators(&written).join(" "), *wanted, "{call}");
    }
}

#[test]
fn slices_are_added_where_an_index_says() {
    let written = written(
        "x: \"f32[s0, 3]\", i: \"i64[s1]\", y: \"f32[s1, 3]\"",
        "z: \"f32[s0, 3]\" = torch.ops.aten.index_add.default(x, 0, i, y)",
        "z",
    );
    assert_eq!(operators(&written), ["Unsqueeze", "ScatterND"]);
    let graph = written.model.graph.as_ref().expect("a graph");
    let node = graph.node.last().expect("a node");
    assert_eq!(&node.attribute[0].s[..], b"add");
}

#[test]
fn a_recurrent_layer_is_a_node() {
    let weights = "w: \"f32[16, 3]\", u: \"f32[16, 4]\", b: \"f32[16]\", c: \"f32[16]\"";
    let parameters = format!("x: \"f32[5, s0, 3]\", h: \"f32[1, s0, 4]\", k: \"f32[1, s0, 4]\", {weights}");
    let text = format!(
        "class M(torch.nn.Module):
    def forward(self, {parameters}):
        lstm = torch.ops.aten.lstm.input(x, [h, k], [w, u, b, c], True, 1, 0.0, False, False, False)
        y: \"f32[5, s0, 4]\" = lstm[0]
        h1: \"f32[1, s0, 4]\" = lstm[1]
        k1: \"f32[1, s0, 4]\" = lstm[2]
        return (y, h1, k1)
"
    );
    let written = model(&text::read(&text).expect("a program"), &Options::default()).expect("a model");
    assert!(written.left.is_empty(), "{:?}", written.left);
    let recurrent = operators(&written).into_iter().filter(|name| *name == "LSTM").count();
    assert_eq!(recurrent, 1);
}

#[test]
fn what_no_standard_operator_says_is_left() {
    let x = "x: \"f32[s0, 3]\"";
    for (call, result) in
        [("unfold.default(x, 0, 2, 0)", "f32[s0, 3, 2]"), ("diagonal.default(x, 0, 1, 1)", "f32[3]")]
    {
        let written = written(x, &format!("y: \"{result}\" = torch.ops.aten.{call}"), "y");
        assert_eq!(written.left.len(), 1, "{call}");
    }
}

#[test]
fn a_model_without_weights_is_one_file_whatever_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("model.onnx");
    let path = output.to_str().expect("a path");
    let program = "tests/data/programs/nested_conds.pt2";
    let arguments = ["show", program, "--as", "onnx", "--inline-bytes", "0", "--output", path];
    assert_eq!(command::with_input(&arguments, ""), (0, String::new(), String::new()));
    assert!(output.exists() && !folder.path().join("model.onnx.data").exists());
    let (status, _, message) =
        command::with_input(&["show", program, "--as", "onnx", "--inline-bytes", "x"], "");
    assert_ne!(status, 0);
    assert!(message.contains("--inline-bytes"), "{message}");
}

/// A program of a step on `x`, what `show --as onnx` says of it: the status, whether a model is written, and what is named.
const STATUSES: &[(&str, i32, bool, &str)] = &[
    ("r: \"f32[2, 3]\" = torch.ops.aten.relu.default(x)", 0, true, ""),
    // Made of other operators, which have counterparts.
    ("r: \"f32[2, 3]\" = torch.ops.aten.renorm.default(x, 2, 0, 1.0)", 0, true, ""),
    ("r: \"f32[2, 3]\" = torch.ops.aten.bernoulli.default(x)", 1, true, "aten.bernoulli.default"),
    ("r: \"f32[5, 2]\" = torch.ops.aten.view.default(x, [5, 2])", 1, false, "no model is written"),
];

#[test]
fn models_that_onnxruntime_refuses_end_with_another_status() {
    let folder = tempfile::tempdir().expect("a folder");
    for (index, (step, status, is_written, named)) in STATUSES.iter().enumerate() {
        let text = format!(
            "class M(torch.nn.Module):\n    def forward(self, x: \"f32[2, 3]\"):\n        {step}\n        return (r,)\n"
        );
        let path = folder.path().join(format!("{index}.onnx"));
        let arguments = ["show", "-", "--as", "onnx", "--output", path.to_str().expect("a path")];
        let (code, _, complaint) = command::with_input(&arguments, &text);
        assert_eq!((code, path.exists()), (*status, *is_written), "{step}: {complaint}");
        assert!(complaint.contains(named) && complaint.is_empty() == named.is_empty(), "{step}: {complaint}");
    }
}

/// Inputs and steps of programs whose operators torch.onnx writes by standard ones.
const IMAGES_AND_ROWS: &[(&str, &[&str])] = &[
    (
        "x: \"f32[s0, 3, 8, 8]\"",
        &["r: \"f32[s0, 12, 49]\" = torch.ops.aten.im2col.default(x, [2, 2], [1, 1], [0, 0], [1, 1])"],
    ),
    (
        "x: \"f32[s0, 12, 15]\"",
        &[
            "r: \"f32[s0, 3, 4, 6]\" = torch.ops.aten.col2im.default(x, [4, 6], [2, 2], [1, 1], [0, 0], [1, 1])",
        ],
    ),
    (
        "x: \"f32[s0, 3, 8, 8]\", g: \"f32[s0, 4, 4, 2]\"",
        &["r: \"f32[s0, 3, 4, 4]\" = torch.ops.aten.grid_sampler.default(x, g, 0, 0, False)"],
    ),
    (
        "x: \"f32[s0, 3]\", i: \"i64[4, 3]\", v: \"f32[4, 3]\"",
        &["r: \"f32[s0, 3]\" = torch.ops.aten.scatter_reduce.two(x, 0, i, v, 'amax', include_self = False)"],
    ),
    (
        "w: \"f32[5, 4]\", i: \"i64[s0]\", o: \"i64[3]\"",
        &["all = torch.ops.aten.embedding_bag.default(w, i, o)", "r: \"f32[3, 4]\" = all[0]"],
    ),
    (
        "x: \"f32[s0]\", z: \"f32[s0]\"",
        &[
            "e: \"f32[s0]\" = torch.ops.aten.empty_like.default(x)",
            "w: \"f32[s0]\" = torch.ops.aten.relu_.default(e)",
            "r: \"f32[s0]\" = torch.ops.aten.maximum.out(self = x, other = z, out = e)",
        ],
    ),
];

#[test]
fn images_and_rows_have_standard_operators() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for (index, (inputs, steps)) in IMAGES_AND_ROWS.iter().enumerate() {
        let text = text_programs::module(inputs, &[steps, &["return (r,)"][..]].concat());
        let path = folder.path().join(format!("{index}.onnx"));
        let arguments = ["show", "-", "--as", "onnx", "--output", path.to_str().expect("a path")];
        let (code, _, complaint) = command::with_input(&arguments, &text);
        if code != 0 || !complaint.is_empty() {
            wrong.push(format!("{steps:?}: {complaint}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
