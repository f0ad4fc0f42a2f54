//! Models of operators that put elements at places, sample images and join rows: the shapes that they give.
use super::tests::written_text;
use super::{Options, model, refused_at_example};
use prost::Message;
use sizewise_ir::text;
use sizewise_onnx::check::{Filled, evaluate};
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::read::message::NodeProto;

/// Inputs with `s0` among the sizes, call, result, an operator of the model.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        "x: \"f32[s0, 18, 20]\"",
        "col2im.default(x, [8, 10], [3, 2], [1, 2], [2, 1], [2, 3])",
        "f32[s0, 3, 8, 10]",
        "Col2Im",
    ),
    (
        "x: \"f32[12, 4]\"",
        "col2im.default(x, [4, 4], [2, 2], [1, 1], [0, 0], [2, 2])",
        "f32[3, 4, 4]",
        "Col2Im",
    ),
    (
        "x: \"f32[2, 3, s0, 5]\", g: \"f32[2, 4, 6, 2]\"",
        "grid_sampler.default(x, g, 2, 1, True)",
        "f32[2, 3, 4, 6]",
        "GridSample",
    ),
    (
        "x: \"f16[2, 3, s0, 5]\", g: \"f16[2, 4, 6, 2]\"",
        "grid_sampler_2d.default(x, g, 0, 0, False)",
        "f16[2, 3, 4, 6]",
        "GridSample",
    ),
    (
        "x: \"f32[2, 3, s0, 5, 4]\", g: \"f32[2, 4, 6, 3, 3]\"",
        "grid_sampler_3d.default(x, g, 0, 2, False)",
        "f32[2, 3, 4, 6, 3]",
        "GridSample",
    ),
    ("x: \"f32[2, 3, s0]\"", "_upsample_nearest_exact1d.vec(x, [7], None)", "f32[2, 3, 7]", "Resize"),
    (
        "x: \"f32[s0, 6]\", k: \"i64[s0, 4]\", y: \"f32[s0, 4]\"",
        "scatter_reduce.two(x, 1, k, y, \"mean\", include_self = False)",
        "f32[s0, 6]",
        "ScatterElements",
    ),
    (
        "x: \"i64[s0, 6]\", k: \"i64[s0, 4]\", y: \"i64[s0, 4]\"",
        "scatter_reduce.two(x, 1, k, y, \"amin\", include_self = False)",
        "i64[s0, 6]",
        "ScatterElements",
    ),
    (
        "x: \"f32[s0, 6]\", k: \"i64[4]\", y: \"f32[s0, 4]\"",
        "index_reduce.default(x, 1, k, y, \"amax\", include_self = False)",
        "f32[s0, 6]",
        "ScatterElements",
    ),
];

#[test]
fn models_give_the_shapes_that_the_program_has() {
    for (inputs, call, result, operator) in CASES {
        let step = format!("r: \"{result}\" = torch.ops.aten.{call}");
        let written = written_text(inputs, &[&step], "r");
        assert!(written.left.is_empty(), "{call}: {:?}", written.left);
        let graph = written.model.graph.as_ref().expect("a graph");
        assert!(graph.node.iter().any(|node: &NodeProto| node.op_type == *operator), "{call}");
        let model = Model::read(written.model.encode_to_vec()).expect("a model");
        for size in [5, 8] {
            let number = |text: &str| if text == "s0" { size } else { text.parse().expect("a size") };
            let listed = |annotation: &str| -> Vec<i64> {
                let list = annotation.split_once('[').expect("sizes").1.trim_end_matches(']');
                list.split(", ").map(number).collect()
            };
            let names =
                inputs.split('"').step_by(2).map(|name| name.trim_matches([':', ',', ' ']).to_owned());
            let sizes = names.zip(inputs.split('"').skip(1).step_by(2).map(listed)).collect();
            let zeros = ["k"].map(|name| (name.to_owned(), Filled::All(0.0))).into_iter().collect();
            let made = evaluate(&model, &sizes, &zeros).unwrap_or_else(|error| panic!("{call}: {error:?}"));
            let made: Vec<_> = made.outputs[0].iter().flatten().map(|size| size.number()).collect();
            assert_eq!(made, listed(result).into_iter().map(Some).collect::<Vec<_>>(), "{call}");
        }
    }
}

/// Rows of bags by mode, with what decides which rows count.
#[test]
fn bags_are_joined_by_the_places_where_they_begin() {
    for (mode, more, kind) in [
        (0, "", "add"),
        (1, ", include_last_offset = True, padding_idx = 1", "add"),
        (2, ", padding_idx = 2", "max"),
    ] {
        let step =
            format!("r = torch.ops.aten._embedding_bag_forward_only.default(w, k, o, False, {mode}{more})");
        let bags = if mode == 1 { 2 } else { 3 };
        let first = format!("y: \"f32[{bags}, 4]\" = r[0]");
        let inputs = "w: \"f32[10, 4]\", k: \"i64[s0]\", o: \"i64[3]\"";
        let written = written_text(inputs, &[&step, &first], "y");
        assert!(written.left.is_empty(), "{:?}", written.left);
        let graph = written.model.graph.as_ref().expect("a graph");
        let scatter = graph.node.iter().filter(|node| node.op_type == "ScatterND");
        let kinds: Vec<_> = scatter
            .filter_map(|node| node.attribute.iter().find(|attribute| attribute.name == "reduction"))
            .map(|attribute| String::from_utf8_lossy(&attribute.s).into_owned())
            .collect();
        assert!(kinds.iter().any(|known| known == kind), "{kinds:?}");
    }
    // What else it gives is asked for: it has no counterpart.
    let step = "r = torch.ops.aten._embedding_bag_forward_only.default(w, k, o)";
    let steps = [step, "y: \"f32[3, 4]\" = r[0]", "z: \"i64[3]\" = r[2]"];
    let written = written_text("w: \"f32[10, 4]\", k: \"i64[s0]\", o: \"i64[3]\"", &steps, "y, z");
    assert_eq!(written.left, ["aten._embedding_bag_forward_only.default"]);
}

#[test]
fn a_model_that_is_refused_at_the_example_is_named() {
    let source = |from: &str| {
        format!(
            "class M(torch.nn.Module):
    def forward(self, x: \"f32[4, 3]\", k: \"i64[2]\"):
        y: \"f32[2, 3]\" = torch.ops.aten.index_select.default(x, 0, k)
        z: \"f32[{from}]\" = torch.ops.aten.view.default(y, [{from}])
        return (z,)
"
        )
    };
    for (sizes, refused) in [("3, 2", false), ("5, 2", true)] {
        let program = text::read(&source(sizes)).expect("a program");
        let written = model(&program, &Options::default()).expect("a model");
        let found = refused_at_example(&program, &written);
        assert_eq!(found.is_some(), refused, "{sizes}: {found:?}");
    }
}
