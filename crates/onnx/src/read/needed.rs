//! Which elements can decide a shape or a condition.
//!
//! Most tensors of a model are weights, masks and activations: no shape depends on their elements, and what is computed
//! of them elementwise need not be followed. Nodes are looked at from the last to the first. An operator that is not
//! listed here reads the elements of all its inputs.
use super::message::{GraphProto, NodeProto, TypeValue};
use super::{Model, Operator, graphs_of};
use crate::shape::Dtype;
use rustc_hash::FxHashMap;
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
    BiasDropout BiasGelu BiasSoftmax BiasSplitGelu BitmaskBiasDropout BitmaskDropout DecoderMaskedSelfAttention \
    DequantizeWithOrder FusedMatMulActivation GatedDeltaNet GatedRelativePositionBias GemmFastGelu GemmFloat8 \
    GemmaRotaryEmbedding GroupNorm Irfft LongformerAttention MatMulBlockQuantizedFp4Weight \
    MatMulBlockQuantizedFp8Weight MatMulNBitsMlp MatMulNBitsQkv NhwcConv NhwcFusedConv PackedAttention \
    PackedMultiHeadAttention PagedAttention QLinearReduceMean QOrderedAttention QOrderedGelu \
    QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul QuantizeBFP QuantizeWithOrder \
    ReduceSumInteger RemovePadding RestorePadding Rfft SkipGroupNorm VarlenCausalConvWithState \
    BranchwiseRMSNorm EngramGate FastGelu FusedMatMul GatedRMSNorm Gelu HyperConnectionPostMix \
    HyperConnectionPreMix LinearAttention LinearAttentionGate QMoE QuickGelu ScaledSiLU \
    SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization";

/// What an operator does with elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It has no use for them.
    Ignores,
    /// It reads none.
    PassesAll,
    /// It reads those of all inputs but so many first ones.
    PassesFirst(usize),
    /// `Div`: integers are not divided by 0.
    Divides,
    /// `Cast` and `CastLike`: texts that become numbers begin with one.
    Casts,
    /// It reads those of all inputs.
    Reads,
}

/// The operators of a domain by name.
type Kinds = FxHashMap<&'static str, Kind>;

/// The operators of `ai.onnx`.
static KINDS: LazyLock<Kinds> = LazyLock::new(|| {
    let mut kinds: Kinds = PASS_ALL.split_whitespace().map(|op| (op, Kind::PassesAll)).collect();
    kinds.extend(PASS_FIRST.split_whitespace().map(|op| (op, Kind::PassesFirst(1))));
    kinds.extend([
        ("Shape", Kind::Ignores),
        ("Size", Kind::Ignores),
        ("Div", Kind::Divides),
        ("Cast", Kind::Casts),
        ("CastLike", Kind::Casts),
        // Behind the mask and the caches is the number of keys of each row.
        ("Attention", Kind::PassesFirst(6)),
        // Behind the two tables are positions in them.
        ("RotaryEmbedding", Kind::PassesFirst(3)),
    ]);
    kinds
});

/// The operators of onnxruntime's own domain.
static CONTRIB_KINDS: LazyLock<Kinds> =
    LazyLock::new(|| PASS_ALL_CONTRIB.split_whitespace().map(|op| (op, Kind::PassesAll)).collect());

/// What an operator does with elements.
fn kind(domain: &str, op: &str) -> Kind {
    let kinds = match domain {
        "" => &KINDS,
        "com.microsoft" => &CONTRIB_KINDS,
        _ => return Kind::Reads,
    };
    kinds.get(op).copied().unwrap_or(Kind::Reads)
}

impl Needed {
    /// Those of a model.
    pub fn of(model: &Model) -> Needed {
        let (graph, links) = (&model.graph, &model.links);
        let (kinds, types) = kinds_and_types(model);
        let mut needed = vec![false; links.count()];
        let mut nodes = vec![true; graph.node.len()];
        for (at_node, node) in graph.node.iter().enumerate().rev() {
            let outputs = links.outputs(at_node);
            let result = needed[outputs..outputs + node.output.len()].contains(&true);
            nodes[at_node] = result;
            for (at, number) in links.inputs(at_node, node.input.len()).enumerate() {
                let Some(number) = number else { continue };
                let of = used(kinds[links.operator(at_node)], at, types[number]);
                if of == Use::Reads || result && of == Use::Passes {
                    needed[number] = true;
                }
            }
            if !links.has_graphs(at_node) {
                continue;
            }
            names_within(node, &mut |name| {
                if let Some(number) = model.number(name) {
                    needed[number] = true;
                }
            });
        }
        let initializers = links.before().skip(graph.input.len()).take(graph.initializer.len());
        Needed { initializers: initializers.map(|number| needed[number]).collect(), nodes }
    }
}

/// Whether elements of an input of an operator may decide a shape or a condition of the operator itself. `dtype` is the
/// element type of the input, if it is known.
pub fn reads_elements(domain: &str, op: &str, at: usize, dtype: Option<Dtype>) -> bool {
    used(kind(domain, op), at, dtype) == Use::Reads
}

/// What an operator does with the elements of an input, if no element of its results is needed.
fn used(kind: Kind, at: usize, dtype: Option<Dtype>) -> Use {
    let passes = match kind {
        Kind::Ignores => return Use::Ignores,
        Kind::PassesAll => true,
        Kind::PassesFirst(count) => at < count,
        Kind::Divides => at == 0 || dtype.is_some_and(Dtype::is_float),
        Kind::Casts => dtype.is_some_and(|dtype| dtype != Dtype::Str),
        Kind::Reads => false,
    };
    if passes { Use::Passes } else { Use::Reads }
}

/// What each operator does with elements, by its number; and the element types of values by number, as far as they are
/// told without inferring shapes.
fn kinds_and_types(model: &Model) -> (Vec<Kind>, Vec<Option<Dtype>>) {
    let (graph, links) = (&model.graph, &model.links);
    let mut types: Vec<Option<Dtype>> = vec![None; links.count()];
    let before: Vec<usize> = links.before().collect();
    let (inputs, others) = before.split_at(graph.input.len());
    for (weight, &number) in graph.initializer.iter().zip(others) {
        types[number] = Dtype::from_number(i64::from(weight.data_type));
    }
    for (input, &number) in graph.input.iter().zip(inputs) {
        if let Some(TypeValue::Tensor(of)) = input.r#type.as_ref().and_then(|of| of.value.as_ref()) {
            types[number] = Dtype::from_number(i64::from(of.elem_type)).or(types[number]);
        }
    }
    let of_operator = |called: &Operator| match model.function(&called.domain, &called.name) {
        Some(_) => (Kind::Reads, Told::Not),
        None => {
            let kind = kind(&called.domain, &called.name);
            (kind, told(called, kind))
        }
    };
    let (kinds, told): (Vec<Kind>, Vec<Told>) = links.operators().iter().map(of_operator).unzip();
    for (at_node, node) in graph.node.iter().enumerate() {
        let dtype = match told[links.operator(at_node)] {
            Told::Not => None,
            Told::Is(dtype) => Some(dtype),
            Told::Like(input) => links.input(at_node, node.input.len(), input).and_then(|of| types[of]),
            Told::By(name) => {
                let to = node.attribute.iter().find(|attribute| attribute.name == name);
                to.filter(|to| to.ref_attr_name.is_empty()).and_then(|to| Dtype::from_number(to.i))
            }
        };
        if !node.output.is_empty() {
            types[links.outputs(at_node)] = dtype;
        }
    }
    (kinds, types)
}

/// What tells the element type of the first result of an operator.
#[derive(Clone, Copy)]
enum Told {
    /// Nothing that is looked at.
    Not,
    /// The operator.
    Is(Dtype),
    /// The type of this input.
    Like(usize),
    /// The number in this attribute.
    By(&'static str),
}

/// What tells the element type of the first result.
fn told(called: &Operator, kind: Kind) -> Told {
    if !called.domain.is_empty() {
        return Told::Not;
    }
    match called.name.as_str() {
        "Cast" => Told::By("to"),
        "Shape" | "Size" => Told::Is(Dtype::I64),
        "And" | "Equal" | "Greater" | "GreaterOrEqual" | "IsInf" | "IsNaN" | "Less" | "LessOrEqual"
        | "Not" | "Or" | "Xor" => Told::Is(Dtype::Bool),
        "Where" | "CastLike" => Told::Like(1),
        "DequantizeLinear"
        | "QuantizeLinear"
        | "DynamicQuantizeLinear"
        | "MatMulInteger"
        | "ConvInteger"
        | "Attention"
        | "RotaryEmbedding" => Told::Not,
        _ if matches!(kind, Kind::Reads | Kind::Ignores) => Told::Not,
        _ => Told::Like(0),
    }
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
            assert!(reads_elements(domain, op, input, None), "{domain} {op} input {input}");
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
