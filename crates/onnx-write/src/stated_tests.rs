//! Models of programs: what they state of themselves, and operators whose windows or dtypes depend on more than one thing.
use super::tests::written_text;
use super::{Options, Written};
use prost::Message;
use sizewise_ir::text;

/// The names of operators, each once.
fn ops(written: &Written) -> Vec<&str> {
    let graph = written.model.graph.as_ref().expect("a graph");
    let mut ops: Vec<&str> = graph.node.iter().map(|node| node.op_type.as_str()).collect();
    ops.sort_unstable();
    ops.dedup();
    ops
}

#[test]
fn averages_over_windows_of_any_size_are_products() {
    let x = "x: \"f32[s0, 8, s1, s2]\"";
    let step = "y: \"f32[s0, 8, 2, 3]\" = torch.ops.aten.adaptive_avg_pool2d.default(x, [2, 3])";
    let written = written_text(x, &[step], "y");
    assert!(written.left.is_empty(), "{:?}", written.left);
    assert!(ops(&written).contains(&"MatMul"));
    // Equal windows of known sizes stay a pooling.
    let fixed = written_text(&x.replace("s1, s2", "4, 6"), &[step], "y");
    assert!(ops(&fixed).contains(&"AveragePool") && !ops(&fixed).contains(&"MatMul"));
    // What the model makes has the shape that the program has, also where windows overlap.
    let model = sizewise_onnx_model::read::Model::read(written.model.encode_to_vec()).expect("a model");
    for (height, width) in [(2, 3), (5, 7), (1, 1), (9, 4)] {
        let sizes = [("x".to_owned(), vec![2, 8, height, width])].into_iter().collect();
        let made = sizewise_onnx::check::evaluate(&model, &sizes, &Default::default()).expect("it runs");
        let made: Vec<_> = made.outputs[0].iter().flatten().map(|size| size.number()).collect();
        assert_eq!(made, [2, 8, 2, 3].map(Some));
    }
}

#[test]
fn dtypes_with_layouts_are_casts() {
    let step =
        "y: \"f64[s0]\" = torch.ops.aten.to.dtype_layout(x, dtype = torch.float64, layout = torch.strided)";
    let written = written_text("x: \"f32[s0]\"", &[step], "y");
    assert_eq!((written.left.len(), ops(&written)), (0, vec!["Cast"]));
}

#[test]
fn the_contract_is_stated_over_the_names_of_sizes() {
    let text = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[s77, 3]\"):\n        \
        y: \"f32[s77, 3]\" = torch.ops.aten.relu.default(x)\n        return (y,)\n";
    let mut guarded = text::read(text).expect("a program");
    guarded.guards_code = vec!["L['x'].size()[0] <= 999".into(), "2*L['x'].size()[0] <= 1998".into()];
    let options = Options { needed: vec!["s77 >= 5".to_owned()], ..Options::default() };
    let written = super::model(&guarded, &options).expect("a model");
    let stated = written.model.metadata_props.iter().find(|entry| entry.key == "sizewise.conditions");
    let stated = &stated.expect("conditions").value;
    assert!(!stated.contains("L["), "{stated}");
    for line in stated.lines() {
        assert!(sizewise_expr::text::read::closed(&mut sizewise_expr::Pool::new(), line).is_ok(), "{line}");
    }
    // Equal conditions are stated once, and so are those of the check.
    assert_eq!(
        stated.lines().filter(|line| line.contains("<=")).filter(|line| line.contains("99")).count(),
        1
    );
    assert!(stated.lines().any(|line| line.contains(">= 5")), "{stated}");
}
