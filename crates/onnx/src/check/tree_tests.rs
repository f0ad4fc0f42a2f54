//! Which lists of nodes onnxruntime builds trees from when it loads a model, and how many features these read.
use super::size::ShownSize;
use super::{Refused, evaluate};
use rustc_hash::FxHashMap;
use sizewise_onnx_model::read::Model;

/// Attributes, by name.
type Attributes = &'static [(&'static str, &'static str)];

/// A node with two leaves, in the lists of a regressor of two targets.
const REGRESSOR: Attributes = &[
    ("n_targets", "2"),
    ("nodes_treeids", "[0, 0, 0]"),
    ("nodes_nodeids", "[0, 1, 2]"),
    ("nodes_featureids", "[0, 0, 0]"),
    ("nodes_modes", "[\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"]"),
    ("nodes_values", "[0.5, 0.0, 0.0]"),
    ("nodes_truenodeids", "[1, 0, 0]"),
    ("nodes_falsenodeids", "[2, 0, 0]"),
    ("target_treeids", "[0, 0]"),
    ("target_nodeids", "[1, 2]"),
    ("target_ids", "[0, 1]"),
    ("target_weights", "[1.0, 2.0]"),
];

/// The same in the lists of a `TreeEnsemble`.
const ENSEMBLE: Attributes = &[
    ("n_targets", "2"),
    ("tree_roots", "[0]"),
    ("nodes_featureids", "[0]"),
    ("nodes_modes", "uint8[1] {0}"),
    ("nodes_splits", "float[1] {0.5}"),
    ("nodes_truenodeids", "[0]"),
    ("nodes_trueleafs", "[1]"),
    ("nodes_falsenodeids", "[1]"),
    ("nodes_falseleafs", "[1]"),
    ("leaf_targetids", "[0, 1]"),
    ("leaf_weights", "float[2] {1.0, 2.0}"),
];

/// The sizes of the scores, or the condition that is broken.
fn scores(op: &str, version: i64, attributes: &str, sizes: &[i64]) -> Result<Vec<i64>, String> {
    let dims: Vec<String> = (0..sizes.len()).map(|at| format!("d{at}")).collect();
    let text = format!(
        "<ir_version: 8, opset_import: [\"\" : 13, \"ai.onnx.ml\" : {version}]>\n\
         g (float[{}] x) => (y) {{ y = ai.onnx.ml.{op}<{attributes}>(x) }}",
        dims.join(", ")
    );
    let model = Model::read(text.into_bytes()).expect(attributes);
    let given = FxHashMap::from_iter([("x".to_owned(), sizes.to_vec())]);
    let made = evaluate(&model, &given, &FxHashMap::default());
    let made = made.map_err(|Refused { expr, message, .. }| expr.unwrap_or(message))?;
    let first = made.outputs.first().cloned().flatten().expect("a tensor");
    Ok(first.iter().filter_map(ShownSize::number).collect())
}

/// Attributes of which some have another value, none, or are added.
fn with(attributes: Attributes, changes: &[(&str, &str)]) -> String {
    let changed = |name: &str| changes.iter().any(|(other, _)| *other == name);
    let kept = attributes.iter().filter(|(name, _)| !changed(name));
    let given = kept.chain(changes).filter(|(_, value)| !value.is_empty());
    let lines: Vec<String> = given.map(|(name, value)| format!("{name} = {value}")).collect();
    lines.join(", ")
}

#[test]
fn lists_of_nodes_are_trees() {
    for (changes, expected) in [
        (&[][..], Ok(vec![2, 2])),
        // Lists have one length.
        (&[("nodes_values", "[0.5, 0.0]")], Err("TreeEnsemble.C4")),
        (&[("nodes_modes", "[\"BRANCH_LEQ\", \"LEAF\"]")], Err("TreeEnsemble.C4")),
        (&[("target_weights", "[1.0]")], Err("TreeEnsemble.C4")),
        (&[("target_ids", "[0]")], Err("TreeEnsemble.C4")),
        // What is named exists, and is there once.
        (&[("nodes_nodeids", "[0, 1, 1]")], Err("TreeEnsemble.C5")),
        (&[("nodes_truenodeids", "[3, 0, 0]")], Err("TreeEnsemble.C5")),
        (&[("nodes_falsenodeids", "[0, 0, 0]")], Err("TreeEnsemble.C5")),
        (&[("nodes_treeids", "[0, 0, 1]")], Err("TreeEnsemble.C5")),
        (&[("target_nodeids", "[1, 3]")], Err("TreeEnsemble.C5")),
        (&[("target_treeids", "[1, 0]")], Err("TreeEnsemble.C5")),
        // Leaves may go anywhere, and both ways may lead to one leaf, but not as a way back.
        (&[("nodes_truenodeids", "[1, 9, 9]")], Ok(vec![2, 2])),
        (&[("nodes_truenodeids", "[2, 0, 0]")], Ok(vec![2, 2])),
        (&[("nodes_modes", "[\"BRANCH_LEQ\", \"BRANCH_LT\", \"LEAF\"]")], Err("TreeEnsemble.C5")),
        // Targets are those that there are.
        (&[("target_ids", "[0, 2]")], Err("TreeEnsemble.C2")),
        (&[("target_ids", "[-1, 0]")], Err("TreeEnsemble.C2")),
        (&[("n_targets", "0")], Err("TreeEnsemble.C2")),
        (&[("n_targets", "")], Err("TreeEnsemble.C2")),
        (&[("base_values", "[0.5]")], Err("TreeEnsemble.C2")),
        (&[("base_values", "[0.5, 0.5]")], Ok(vec![2, 2])),
        // Names are known.
        (&[("nodes_modes", "[\"BRANCH_LEQ\", \"LEAF\", \"leaf\"]")], Err("TreeEnsemble.C7")),
        (&[("post_transform", "\"TANH\"")], Err("TreeEnsemble.C7")),
        (&[("aggregate_function", "\"MEAN\"")], Err("TreeEnsemble.C7")),
        // Features that are tested exist; leaves test none.
        (&[("nodes_featureids", "[3, 0, 0]")], Err("TreeEnsemble.C3")),
        (&[("nodes_featureids", "[-1, 0, 0]")], Err("TreeEnsemble.C3")),
        (&[("nodes_featureids", "[2, 9, 9]")], Ok(vec![2, 2])),
    ] {
        let found = scores("TreeEnsembleRegressor", 1, &with(REGRESSOR, changes), &[2, 3]);
        assert_eq!(found, expected.map_err(str::to_owned), "{changes:?}");
    }
}

#[test]
fn numbers_of_nodes_may_be_tensors_of_the_type_of_the_input() {
    for (listed, tensor, expected) in [
        ("", "float[3] {0.5, 0.0, 0.0}", Ok(vec![2, 2])),
        ("", "double[3] {0.5, 0.0, 0.0}", Err("TreeEnsemble.C6")),
        ("", "float[2] {0.5, 0.0}", Err("TreeEnsemble.C4")),
        ("[0.5, 0.0, 0.0]", "float[3] {0.5, 0.0, 0.0}", Err("TreeEnsemble.C4")),
    ] {
        let changes = [("nodes_values", listed), ("nodes_values_as_tensor", tensor)];
        let found = scores("TreeEnsembleRegressor", 3, &with(REGRESSOR, &changes), &[2, 3]);
        assert_eq!(found, expected.map_err(str::to_owned), "{listed} {tensor}");
    }
}

#[test]
fn a_row_alone_has_one_feature_to_test() {
    for (version, sizes, feature, expected) in [
        (1, &[3][..], 0, Ok(vec![1, 2])),
        (1, &[0], 0, Ok(vec![1, 2])),
        (1, &[3], 1, Err("TreeEnsemble.C3")),
        (1, &[2, 0], 0, Err("TreeEnsemble.C3")),
        (3, &[3], 0, Err("TreeEnsemble.C1")),
        (3, &[2, 3], 0, Ok(vec![2, 2])),
    ] {
        let tested = format!("[{feature}, 0, 0]");
        let attributes = with(REGRESSOR, &[("nodes_featureids", &tested)]);
        let found = scores("TreeEnsembleRegressor", version, &attributes, sizes);
        assert_eq!(found, expected.map_err(str::to_owned), "{version} {sizes:?} {feature}");
    }
}

#[test]
fn a_tree_ensemble_has_nodes_and_leaves_by_their_places() {
    for (changes, expected) in [
        (&[][..], Ok(vec![2, 2])),
        (&[("nodes_truenodeids", "[2]")], Err("TreeEnsemble.C5")),
        (&[("nodes_falsenodeids", "[-1]")], Err("TreeEnsemble.C5")),
        // A node below itself.
        (&[("nodes_falsenodeids", "[0]"), ("nodes_falseleafs", "[0]")], Err("TreeEnsemble.C5")),
        (&[("tree_roots", "[1]")], Err("TreeEnsemble.C5")),
        (&[("nodes_trueleafs", "[1, 1]")], Err("TreeEnsemble.C4")),
        (&[("leaf_targetids", "[0, 2]")], Err("TreeEnsemble.C2")),
        (&[("leaf_targetids", "[0]")], Err("TreeEnsemble.C2")),
        (&[("nodes_featureids", "[3]")], Err("TreeEnsemble.C3")),
        (&[("aggregate_function", "4")], Err("TreeEnsemble.C7")),
        (&[("post_transform", "5")], Err("TreeEnsemble.C7")),
        (&[("nodes_modes", "uint8[1] {7}")], Err("TreeEnsemble.C7")),
        // Roots may be one.
        (&[("tree_roots", "[0, 0]")], Ok(vec![2, 2])),
        (&[("nodes_hitrates", "float[2] {1.0, 1.0}")], Err("TreeEnsemble.C4")),
        // A root that is a leaf tests nothing.
        (&[("nodes_falsenodeids", "[0]"), ("nodes_featureids", "[3]")], Ok(vec![2, 2])),
        // A node that asks for a set has one.
        (&[("nodes_modes", "uint8[1] {6}"), ("membership_values", "float[1] {1.0}")], Ok(vec![2, 2])),
        (&[("nodes_modes", "uint8[1] {6}")], Err("TreeEnsemble.C4")),
        (&[("nodes_splits", "double[1] {0.5}")], Err("TreeEnsemble.C6")),
        (&[("nodes_splits", "float[2] {0.5, 0.5}")], Err("TreeEnsemble.C4")),
        (&[("n_targets", "")], Err("TreeEnsemble.C2")),
    ] {
        let found = scores("TreeEnsemble", 5, &with(ENSEMBLE, changes), &[2, 3]);
        assert_eq!(found, expected.map_err(str::to_owned), "{changes:?}");
    }
}
