//! `ai.onnx.ml`: ensembles of trees. onnxruntime builds the trees when it loads a model, so that their lists have to fit
//! whatever the input is.
use super::Family;
use super::learning::{classes, classified, rows};
use crate::shape::Dtype;
use crate::shape::call::{Attribute, Checked, Outcome};
use crate::shape::op::op;
use crate::shape::value::Tensor;
use rustc_hash::FxHashMap;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[TreeEnsemble::ALL];

pub(super) const KERNELS: Family = &[
    op("TreeEnsemble", ensemble),
    op("TreeEnsembleClassifier", classifier),
    op("TreeEnsembleRegressor", regressor),
];

/// What a node that is no leaf compares by.
const MODES: &[&str] = &["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"];
const TRANSFORMS: &[&str] = &["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"];
const AGGREGATES: &[&str] = &["SUM", "AVERAGE", "MIN", "MAX"];
/// The mode of `TreeEnsemble` that asks whether a value is one of a set, the last one that there is.
const MEMBER: f64 = 6.0;

/// How far the walk of a tree is with a node.
#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    /// Nodes below it are being walked.
    Open,
    Done,
}

/// How the walk of a tree comes to a node.
#[derive(Clone, Copy, PartialEq)]
enum TreeStep {
    Root,
    OnTrue,
    OnFalse,
    /// From the nodes below it.
    Back,
}

/// The nodes of trees by their positions: the children of each, or `None` for a leaf.
struct Trees {
    children: Vec<Option<[usize; 2]>>,
    states: Vec<State>,
    /// Which nodes are children.
    entered: Vec<bool>,
    /// Whether a node that is no leaf is the child of one node. If not, onnxruntime puts the child for `false` behind its
    /// node, so that this one is not reached before.
    has_one_parent: bool,
}

impl Trees {
    fn new(children: Vec<Option<[usize; 2]>>, has_one_parent: bool) -> Trees {
        let count = children.len();
        Trees { children, states: vec![State::New; count], entered: vec![false; count], has_one_parent }
    }

    /// Walks the tree of a root as onnxruntime does, children for `false` first; whether it is a tree.
    fn walk(&mut self, root: usize) -> bool {
        let mut rest = vec![(root, TreeStep::Root)];
        while let Some((at, step)) = rest.pop() {
            if step == TreeStep::Back {
                self.states[at] = State::Done;
                continue;
            }
            let is_child = step != TreeStep::Root && self.children[at].is_some();
            if is_child && self.has_one_parent && std::mem::replace(&mut self.entered[at], true) {
                return false;
            }
            match (self.states[at], self.children[at]) {
                (State::Open, _) => return false,
                (State::Done, _) if step == TreeStep::OnFalse && !self.has_one_parent => return false,
                (State::Done, _) => {}
                (State::New, None) => self.states[at] = State::Done,
                (State::New, Some([on_true, on_false])) => {
                    self.states[at] = State::Open;
                    rest.extend([
                        (at, TreeStep::Back),
                        (on_true, TreeStep::OnTrue),
                        (on_false, TreeStep::OnFalse),
                    ]);
                }
            }
        }
        true
    }

    fn test(&self, cx: &mut Cx, call: &Checked, features: Expr) -> Result<(), KernelError> {
        let ids = call.ints("nodes_featureids").unwrap_or_default();
        let tested = (0..self.children.len())
            .filter(|&at| self.children[at].is_some() && self.states[at] != State::New)
            .map(|at| ids[at]);
        let (least, most) = tested.fold((0, -1), |(least, most), id| (id.min(least), id.max(most)));
        call.check(least == 0, TreeEnsemble::C3, || format!("a node tests feature {least}"))?;
        let most = cx.int(most);
        let there = cx.gt(features, most);
        cx.require(there, TreeEnsemble::C3, |cx| {
            format!("a node tests feature {} of {}", cx.show(most), cx.show(features))
        })
    }
}

/// Classes and scores of rows. The input has 2 dimensions from version 3 on.
fn classifier(cx: &mut Cx, call: &Checked) -> Outcome {
    let (rows, _) = rows(call)?;
    matrix(call)?;
    let (dtype, count) = classes(call, "classlabels_int64s", "classlabels_strings");
    let bases = if count <= 2 { 0..=2 } else { count..=count };
    let lists = ["class_ids", "class_nodeids", "class_treeids", "class_weights"];
    trees(cx, call, lists, count as i64, &|length| bases.contains(&length))?;
    classified(cx, call, dtype, count, rows)
}

/// The input has 2 dimensions from version 3 on.
fn regressor(cx: &mut Cx, call: &Checked) -> Outcome {
    let (rows, _) = rows(call)?;
    matrix(call)?;
    let targets = call.int("n_targets", 0);
    let aggregate = call.text("aggregate_function", "SUM");
    call.check(AGGREGATES.contains(&aggregate), TreeEnsemble::C7, || {
        format!("no function is named {aggregate}")
    })?;
    let lists = ["target_ids", "target_nodeids", "target_treeids", "target_weights"];
    trees(cx, call, lists, targets, &|length| usize::try_from(targets) == Ok(length))?;
    let shape = vec![rows, cx.int(targets)];
    Ok(vec![Tensor::new(Dtype::F32, shape).into()])
}

fn matrix(call: &Checked) -> Result<(), KernelError> {
    let rank = call.shape(0)?.len();
    call.check(call.since() < 3 || rank == 2, TreeEnsemble::C1, || {
        format!("the input has 2 dimensions, not {rank}")
    })
}

clauses! { TreeEnsemble {
    C1 "The input has 2 dimensions."
    C2 "There are targets, those of leaves are within their number, and each has a base value or none has."
    C3 "The features that nodes test are features of the input."
    C4 "Attributes that describe the same nodes have the same length."
    C5 "The children of nodes exist, and the nodes form trees: no node is there twice or below itself."
    C6 "Splits and weights have the type of the input."
    C7 "Modes, transforms and aggregate functions are known."
} }

/// The trees of a classifier or a regressor, of which the leaves have weights for some of `targets` in `lists`.
fn trees(
    cx: &mut Cx,
    call: &Checked,
    lists: [&str; 4],
    targets: i64,
    fits: &dyn Fn(usize) -> bool,
) -> Result<(), KernelError> {
    call.check(targets > 0, TreeEnsemble::C2, || format!("there are {targets} targets"))?;
    let bases = numbers(call, "base_values")?;
    call.check(bases == 0 || fits(bases), TreeEnsemble::C2, || {
        format!("there are {bases} base values for {targets} targets")
    })?;
    let of = |name: &str| call.ints(name).unwrap_or_default();
    let [ids, nodes, trees, weights] = lists;
    let wrong = of(ids).iter().find(|id| !(0..targets).contains(*id));
    call.check(wrong.is_none(), TreeEnsemble::C2, || {
        format!("a leaf has target {} of {targets}", wrong.unwrap_or(&0))
    })?;
    one_length(call, &[ids, nodes, trees], weights)?;
    let described =
        ["nodes_falsenodeids", "nodes_featureids", "nodes_nodeids", "nodes_treeids", "nodes_truenodeids"];
    one_length(call, &described, "nodes_values")?;
    let transform = call.text("post_transform", "NONE");
    call.check(TRANSFORMS.contains(&transform), TreeEnsemble::C7, || {
        format!("no transform is named {transform}")
    })?;

    let modes = match call.attribute("nodes_modes") {
        Some(Attribute::Texts(modes)) => modes.as_slice(),
        _ => &[],
    };
    call.check(modes.len() == of("nodes_treeids").len(), TreeEnsemble::C4, || {
        format!("{} nodes have {} modes", of("nodes_treeids").len(), modes.len())
    })?;
    let known = |mode: &&String| *mode == "LEAF" || MODES.contains(&mode.as_str());
    let unknown = modes.iter().find(|mode| !known(mode));
    call.check(unknown.is_none(), TreeEnsemble::C7, || {
        format!("no mode is named {}", unknown.map_or("", |mode| mode))
    })?;
    let mut found = named(call, modes, [trees, nodes])?;
    let mut previous = -1;
    for (at, &tree) in of("nodes_treeids").iter().enumerate() {
        let is_root = previous == -1 || previous != tree;
        previous = tree;
        call.check(!is_root || found.walk(at), TreeEnsemble::C5, || format!("tree {tree} is no tree"))?;
    }
    // Of one row without rows, a kernel reads one feature.
    let features = if let [_, features] = call.shape(0)? { *features } else { Expr::ONE };
    found.test(cx, call, features)
}

/// The nodes of trees, found by the numbers of trees and nodes.
fn named(call: &Checked, modes: &[String], leaves: [&str; 2]) -> Result<Trees, KernelError> {
    let of = |name: &str| call.ints(name).unwrap_or_default();
    let (trees, nodes) = (of("nodes_treeids"), of("nodes_nodeids"));
    let places: FxHashMap<(i64, i64), usize> =
        trees.iter().zip(nodes).enumerate().map(|(at, (&tree, &node))| ((tree, node), at)).collect();
    call.check(places.len() == trees.len(), TreeEnsemble::C5, || "a node is there twice".to_owned())?;
    let missing = |tree: i64, node: i64| format!("tree {tree} has no node {node} to go to");
    let child = |at: usize, name: &str| {
        let (tree, node) = (trees[at], of(name)[at]);
        let place = places.get(&(tree, node)).copied();
        let is_other = place != Some(at) && (0..trees.len() as i64).contains(&node);
        call.check(is_other, TreeEnsemble::C5, || missing(tree, node))?;
        place.ok_or_else(|| KernelError::invalid(TreeEnsemble::C5, missing(tree, node)))
    };
    let mut children = Vec::with_capacity(trees.len());
    for (at, mode) in modes.iter().enumerate() {
        let both =
            || Ok::<_, KernelError>([child(at, "nodes_truenodeids")?, child(at, "nodes_falsenodeids")?]);
        children.push(if mode == "LEAF" { None } else { Some(both()?) });
    }
    for (&tree, &node) in of(leaves[0]).iter().zip(of(leaves[1])) {
        call.check(places.contains_key(&(tree, node)), TreeEnsemble::C5, || missing(tree, node))?;
    }
    Ok(Trees::new(children, false))
}

/// The length of a list of numbers, which may be there as a tensor of the type that thresholds have.
fn numbers(call: &Checked, name: &str) -> Result<usize, KernelError> {
    let as_tensor = format!("{name}_as_tensor");
    let count = match call.attribute(&as_tensor) {
        Some(Attribute::Tensor(tensor)) if tensor.shape.as_ref().is_some_and(|shape| !shape.is_empty()) => {
            let own = if call.given(0)?.dtype == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
            call.check(tensor.dtype == own, TreeEnsemble::C6, || {
                format!("{as_tensor} is {}, not {}", tensor.dtype.name(), own.name())
            })?;
            tensor.count().unwrap_or(0) as usize
        }
        _ => 0,
    };
    let listed = call.length(name);
    call.check(count == 0 || listed == 0, TreeEnsemble::C4, || format!("{name} is given twice"))?;
    Ok(count.max(listed))
}

fn one_length(call: &Checked, lists: &[&str], values: &str) -> Result<(), KernelError> {
    let count = call.length(lists[0]);
    let lengths = lists.iter().map(|name| (*name, call.length(name)));
    for (name, length) in lengths.chain([(values, numbers(call, values)?)]) {
        call.check(length == count, TreeEnsemble::C4, || {
            format!("{} has {count} entries, {name} {length}", lists[0])
        })?;
    }
    Ok(())
}

/// Sums of what leaves have; as [`trees`], where leaves have a target and a weight each.
fn ensemble(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(sizes.len() == 2, TreeEnsemble::C1, || format!("the input has rank {}", sizes.len()))?;
    let tensor = |name: &str| match call.attribute(name) {
        Some(Attribute::Tensor(tensor)) => Some(tensor),
        _ => None,
    };
    let own = call.given(0)?.dtype;
    for name in ["nodes_splits", "leaf_weights", "membership_values", "nodes_hitrates"] {
        let fits = tensor(name).is_none_or(|tensor| tensor.dtype == own);
        call.check(fits, TreeEnsemble::C6, || format!("{name} is of another type than the input"))?;
    }
    let targets = call.int("n_targets", 0);
    call.check(targets > 0, TreeEnsemble::C2, || format!("there are {targets} targets"))?;
    let ids = call.ints("leaf_targetids").unwrap_or_default();
    let weights = tensor("leaf_weights").and_then(Tensor::count);
    call.check(weights.is_none_or(|count| count == ids.len() as u64), TreeEnsemble::C2, || {
        format!("{} leaves have a target", ids.len())
    })?;
    let wrong = ids.iter().find(|id| !(0..targets).contains(*id));
    call.check(wrong.is_none(), TreeEnsemble::C2, || {
        format!("a leaf has target {} of {targets}", wrong.unwrap_or(&0))
    })?;
    numbered(call, tensor("nodes_modes"), tensor("membership_values"))?;
    let of_nodes = ["nodes_splits", "nodes_modes", "nodes_hitrates"].map(tensor);
    let mut trees = placed(call, of_nodes, ids.len())?;
    let nodes = call.length("nodes_featureids");
    for &root in call.ints("tree_roots").unwrap_or_default() {
        let root = usize::try_from(root).ok().filter(|root| *root < nodes);
        // A root that goes to one leaf either way is that leaf, and tests nothing.
        let is_leaf =
            root.is_some_and(|root| trees.children[root].is_some_and(|[a, b]| a == b && a >= nodes));
        let is_tree = is_leaf || root.is_some_and(|root| trees.walk(root));
        call.check(is_tree, TreeEnsemble::C5, || "a root has no tree".to_owned())?;
    }
    trees.test(cx, call, sizes[1])?;
    let shape = vec![sizes[0], cx.int(targets)];
    call.one(shape)
}

fn numbered(call: &Checked, modes: Option<&Tensor>, sets: Option<&Tensor>) -> Result<(), KernelError> {
    for (name, default, most) in [("aggregate_function", 1, 3), ("post_transform", 0, 4)] {
        let value = call.int(name, default);
        call.check((0..=most).contains(&value), TreeEnsemble::C7, || format!("{name} is {value}"))?;
    }
    let modes = modes.and_then(Tensor::numbers).unwrap_or_default();
    let known = modes.iter().all(|mode| (0.0..=MEMBER).contains(mode));
    call.check(known, TreeEnsemble::C7, || "a mode is not known".to_owned())?;
    // What is no number ends a set.
    let values = sets.and_then(Tensor::numbers).unwrap_or_default();
    let given = values.split(|value| value.is_nan()).take_while(|set| !set.is_empty()).count();
    let asked = modes.iter().filter(|mode| **mode == MEMBER).count();
    let is_known = sets.is_none_or(|sets| sets.numbers().is_some());
    call.check(!is_known || given >= asked, TreeEnsemble::C4, || {
        format!("{asked} nodes ask for a set, and there are {given}")
    })
}

/// The nodes of a `TreeEnsemble`, and its leaves behind them.
fn placed(call: &Checked, tensors: [Option<&Tensor>; 3], leaves: usize) -> Result<Trees, KernelError> {
    let of = |name: &str| call.ints(name).unwrap_or_default();
    let count = of("nodes_featureids").len();
    let lists = ["nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs"];
    let optional = Some(of("nodes_missing_value_tracks_true").len()).filter(|length| *length > 0);
    let tensors = tensors.into_iter().flatten().filter_map(|tensor| Some(tensor.count()? as usize));
    for length in lists.iter().map(|name| of(name).len()).chain(optional).chain(tensors) {
        call.check(length == count, TreeEnsemble::C4, || format!("{count} nodes, and a list of {length}"))?;
    }
    let child = |at: usize, [ids, leafs]: [&str; 2]| {
        let (id, is_leaf) = (of(ids)[at], of(leafs)[at] != 0);
        let most = if is_leaf { leaves } else { count };
        let id = usize::try_from(id).ok().filter(|id| *id < most);
        let missing =
            || KernelError::invalid(TreeEnsemble::C5, format!("node {at} goes to a node that is not there"));
        id.map(|id| if is_leaf { count + id } else { id }).ok_or_else(missing)
    };
    let mut children = vec![None; count + leaves];
    for (at, children) in children.iter_mut().enumerate().take(count) {
        let on_true = child(at, ["nodes_truenodeids", "nodes_trueleafs"])?;
        let on_false = child(at, ["nodes_falsenodeids", "nodes_falseleafs"])?;
        *children = Some([on_true, on_false]);
    }
    Ok(Trees::new(children, true))
}
