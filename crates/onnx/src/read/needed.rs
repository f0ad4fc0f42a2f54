//! Which elements can decide a shape or a condition.
//!
//! Most tensors of a model are weights, masks and activations: no shape depends on their elements, and what is computed
//! of them elementwise need not be followed. Nodes are looked at from the last to the first. An operator that is not
//! listed here reads the elements of all its inputs.
use super::message::{GraphProto, NodeProto, TypeValue};
use super::{Model, domain_of};
use crate::shape::Dtype;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

/// Which elements are needed, in the main graph.
#[derive(Debug, Clone, Default)]
pub struct Needed {
    /// Those of each initializer.
    pub initializers: Vec<bool>,
    /// Those of a result of each node.
    pub nodes: Vec<bool>,
}

/// What an operator does with the elements of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It computes elements of its results from them; they decide no shape and no condition.
    Passes,
    /// They may decide a shape or a condition.
    Reads,
    /// It has no use for them.
    Ignores,
}

/// Operators of `ai.onnx` that read no elements.
const PASS_ALL: &str = "\
    Abs Acos Acosh Add And Asin Asinh Atan Atanh AveragePool BatchNormalization BitwiseAnd BitwiseNot \
    BitwiseOr BitwiseXor Ceil Celu Concat Conv ConvInteger Cos Cosh DequantizeLinear DynamicQuantizeLinear \
    Einsum Elu Equal Erf Exp Flatten Floor Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual \
    GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization IsInf IsNaN LayerNormalization \
    LeakyRelu Less LessOrEqual Log LogSoftmax MatMul MatMulInteger Max MaxPool Mean Min Mish Mul Neg Not Or \
    PRelu Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization Reciprocal Relu Round Selu \
    Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Sub Sum Swish Tan Tanh Transpose Where Xor";

/// Operators of `ai.onnx` that read elements of all inputs but the first.
const PASS_FIRST: &str = "\
    Clip CumSum Expand Gather Pad ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean \
    ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape Slice Split Squeeze Tile Trilu Unsqueeze";

/// Operators of onnxruntime's own domain that read no elements.
const PASS_ALL_CONTRIB: &str = "\
    BiasGelu FastGelu FusedMatMul Gelu QuickGelu SimplifiedLayerNormalization SkipLayerNormalization \
    SkipSimplifiedLayerNormalization";

/// The operators of the lists.
struct Operators {
    pass_all: FxHashSet<&'static str>,
    pass_first: FxHashSet<&'static str>,
    pass_all_contrib: FxHashSet<&'static str>,
}

static OPERATORS: LazyLock<Operators> = LazyLock::new(|| Operators {
    pass_all: PASS_ALL.split_whitespace().collect(),
    pass_first: PASS_FIRST.split_whitespace().collect(),
    pass_all_contrib: PASS_ALL_CONTRIB.split_whitespace().collect(),
});

impl Needed {
    /// Those of a model.
    pub fn of(model: &Model) -> Needed {
        let graph = &model.graph;
        let types = types(graph);
        let mut needed: FxHashSet<&str> = FxHashSet::default();
        let mut nodes = vec![true; graph.node.len()];
        for (node, result) in graph.node.iter().zip(&mut nodes).rev() {
            *result = node.output.iter().any(|name| needed.contains(name.as_str()));
            let is_own = model.function(domain_of(node), &node.op_type).is_some();
            for (at, name) in node.input.iter().enumerate() {
                let of = if is_own { Use::Reads } else { used(node, at, &types) };
                if of == Use::Reads || *result && of == Use::Passes {
                    needed.insert(name);
                }
            }
            names_within(node, &mut |name| {
                needed.insert(name);
            });
        }
        let initializers = graph.initializer.iter().map(|weight| needed.contains(weight.name.as_str()));
        Needed { initializers: initializers.collect(), nodes }
    }
}

/// What a node does with the elements of an input, if no element of its results is needed.
fn used(node: &NodeProto, at: usize, types: &FxHashMap<&str, Dtype>) -> Use {
    let dtype = || types.get(node.input.get(at)?.as_str()).copied();
    let op = node.op_type.as_str();
    let passes = match domain_of(node) {
        "" if matches!(op, "Shape" | "Size") => return Use::Ignores,
        // Integers are not divided by 0.
        "" if op == "Div" => at == 0 || dtype().is_some_and(Dtype::is_float),
        // Texts that become numbers begin with one.
        "" if matches!(op, "Cast" | "CastLike") => dtype().is_some_and(|dtype| dtype != Dtype::Str),
        // Behind the mask and the caches is the number of keys of each row.
        "" if op == "Attention" => at < 6,
        // Behind the two tables are positions in them.
        "" if op == "RotaryEmbedding" => at < 3,
        "" => OPERATORS.pass_all.contains(op) || at == 0 && OPERATORS.pass_first.contains(op),
        "com.microsoft" => OPERATORS.pass_all_contrib.contains(op),
        _ => false,
    };
    if passes { Use::Passes } else { Use::Reads }
}

/// The element types of values, as far as they are told without inferring shapes.
fn types(graph: &GraphProto) -> FxHashMap<&str, Dtype> {
    let mut types: FxHashMap<&str, Dtype> = FxHashMap::default();
    for weight in &graph.initializer {
        types.extend(
            Dtype::from_number(i64::from(weight.data_type)).map(|dtype| (weight.name.as_str(), dtype)),
        );
    }
    for input in &graph.input {
        let Some(TypeValue::Tensor(of)) = input.r#type.as_ref().and_then(|of| of.value.as_ref()) else {
            continue;
        };
        types.extend(Dtype::from_number(i64::from(of.elem_type)).map(|dtype| (input.name.as_str(), dtype)));
    }
    for node in &graph.node {
        let of = |at: usize| types.get(node.input.get(at)?.as_str()).copied();
        let dtype = match (domain_of(node), node.op_type.as_str()) {
            ("", "Cast") => {
                let to = node.attribute.iter().find(|attribute| attribute.name == "to");
                to.filter(|to| to.ref_attr_name.is_empty()).and_then(|to| Dtype::from_number(to.i))
            }
            ("", "Shape" | "Size") => Some(Dtype::I64),
            (
                "",
                "And" | "Equal" | "Greater" | "GreaterOrEqual" | "IsInf" | "IsNaN" | "Less" | "LessOrEqual"
                | "Not" | "Or" | "Xor",
            ) => Some(Dtype::Bool),
            ("", "Where") => of(1),
            ("", "CastLike") => of(1),
            (
                "",
                "DequantizeLinear"
                | "QuantizeLinear"
                | "DynamicQuantizeLinear"
                | "MatMulInteger"
                | "ConvInteger",
            ) => None,
            ("", op)
                if OPERATORS.pass_all.contains(op) || OPERATORS.pass_first.contains(op) || op == "Div" =>
            {
                of(0)
            }
            _ => None,
        };
        types.extend(node.output.first().zip(dtype).map(|(name, dtype)| (name.as_str(), dtype)));
    }
    types
}

/// The graphs within a node.
pub fn graphs_of(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs))
}

/// The names that graphs within a node use, those of graphs within them included.
fn names_within<'m>(node: &'m NodeProto, take: &mut impl FnMut(&'m str)) {
    let mut open: Vec<&'m GraphProto> = graphs_of(node).collect();
    while let Some(graph) = open.pop() {
        for node in &graph.node {
            node.input.iter().for_each(|name| take(name));
            open.extend(graphs_of(node));
        }
        graph.output.iter().for_each(|output| take(&output.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::conditions_on_elements;

    #[test]
    fn elements_with_conditions_are_needed() {
        for (domain, op, input) in conditions_on_elements() {
            let node = NodeProto {
                op_type: op.to_owned(),
                domain: domain.to_owned(),
                input: vec![String::new(); input + 1],
                ..NodeProto::default()
            };
            let of = used(&node, input, &FxHashMap::default());
            assert!(of == Use::Reads, "{domain} {op} input {input}");
        }
    }

    #[test]
    fn elements_are_needed_where_a_shape_or_a_condition_reads_them() {
        // The operators of a graph `(float[N] x, int64[M] i) => (float[] y)` with `int64[1] c`, and which results are
        // needed.
        let table: &[(&str, &[bool])] = &[
            ("s = Shape(x)  t = Add(s, c)  y = Expand(x, t)", &[true, true, false]),
            ("s = Shape(x)  t = Add(s, c)  f = Cast<to = 1>(t)  y = Mul(x, f)", &[false; 4]),
            ("g = Mul(x, x)  s = Shape(g)  y = Expand(x, s)", &[false, true, false]),
            ("g = Add(i, c)  y = Gather(x, g)", &[true, false]),
            ("g = Add(i, c)  h = Div(g, i)  f = Cast<to = 1>(h)  y = Mul(x, f)", &[false; 4]),
            (
                "g = Add(i, c)  h = Div(i, g)  f = Cast<to = 1>(h)  y = Mul(x, f)",
                &[true, false, false, false],
            ),
            ("g = Mul(x, x)  y = Div(x, g)", &[false, false]),
            ("g = Add(i, c)  y = Range(g, g, g)", &[true, false]),
        ];
        for (nodes, expected) in table {
            let head =
                "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N] x, int64[M] i) => (float[K] y)\n";
            let lines = nodes.replace("  ", "\n");
            let text = format!("{head}<int64[1] c = {{1}}>\n{{\n{lines}\n}}");
            let model = Model::read(text.into_bytes()).expect("a model");
            assert_eq!(Needed::of(&model).nodes, *expected, "{nodes}");
        }
    }
}
