//! Conditions on the elements of inputs that a call leaves to run time: only the values of a model's inputs decide
//! them.
use super::call::Call;
use super::kernels::{LEARNING, MICROSOFT};
use super::spans::integer;
use super::value::{Element, Elements, Tensor, Value};
use super::{Dtype, spans};
use rustc_hash::FxHashMap;
use sizewise_expr::Expr;
use sizewise_kernels::Cx;
use std::sync::LazyLock;

/// A condition on the elements of one input of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTime {
    /// The input.
    pub input: usize,
    /// The clause of the operator.
    pub clause: &'static str,
    /// What has to hold, with `{}` for the input and `#` for the size.
    pub says: &'static str,
    /// The size of which it speaks.
    pub size: Option<Expr>,
}

impl RunTime {
    /// Whether it speaks of a position in a sequence, of which the number of items matters as well.
    pub fn is_position(&self) -> bool {
        self.says == POSITION
    }
}

/// Whether an operator draws numbers at random; `has_mode` is whether it is given a third input.
pub fn is_drawn_at_random(op: &str, has_mode: bool) -> bool {
    op.starts_with("Random") || matches!(op, "Bernoulli" | "Multinomial") || op == "Dropout" && has_mode
}

/// What a condition on elements is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// Indices of the dimension of input 0 that the attribute `axis` names, 0 if it is not given.
    Axis,
    /// Indices of this dimension of an input.
    Dimension(usize, usize),
    /// Indices of several dimensions.
    Tuples,
    /// Indices of the last dimension of input 0.
    Last,
    /// Categories, where an unknown one is refused.
    Categories,
    /// Lengths, where the input has one dimension.
    Lengths,
    /// Scales where the operator has no regions before them.
    Scales,
    /// Sizes of the result, numbers, texts.
    Values,
    /// Sizes of the result, where the input has other sizes than 1.
    Broadcast,
    /// A position in a sequence.
    Position,
    /// Divisors of integers.
    Divisors,
    /// Texts that are cast to numbers.
    Texts,
}

/// A condition that an operator puts on elements of an input.
struct Rule {
    domain: &'static str,
    ops: &'static [&'static str],
    input: usize,
    clause: &'static str,
    about: About,
    says: &'static str,
}

const fn rule(
    ops: &'static [&'static str],
    input: usize,
    clause: &'static str,
    about: About,
    says: &'static str,
) -> Rule {
    Rule { domain: "", ops, input, clause, about, says }
}

const fn in_domain(domain: &'static str, rule: Rule) -> Rule {
    Rule { domain, ..rule }
}

const INDICES: &str = "every index in {} lies within a dimension of size #";
const TUPLES: &str = "every index in {} lies within the dimension that it is for";
const NATURAL: &str = "no number in {} is negative";
const LENGTHS: &str = "no length in {} is negative or exceeds the length of the sequence";
const COUNTED: &str = "every length in {} is at least 1, and does not exceed that of the sequence";
const POSITION: &str = "the position {} lies within the sequence";

/// The conditions, as onnxruntime's kernels check them.
const RULES: &[Rule] = &[
    rule(&["Gather"], 1, "Gather.C2", About::Axis, INDICES),
    rule(&["GatherElements"], 1, "GatherElements.C3", About::Axis, INDICES),
    rule(&["Scatter", "ScatterElements"], 1, "ScatterElements.C4", About::Axis, INDICES),
    rule(&["GatherND"], 1, "GatherND.C3", About::Tuples, TUPLES),
    rule(&["ScatterND"], 1, "ScatterND.C4", About::Tuples, TUPLES),
    rule(
        &["MaxUnpool"],
        1,
        "MaxUnpool.C5",
        About::Values,
        "every index in {} is one of an element of the result",
    ),
    rule(&["RoiAlign"], 2, "RoiAlign.C2", About::Dimension(0, 0), INDICES),
    rule(&["NonMaxSuppression"], 3, "NonMaxSuppression.C2", About::Values, "{} is from 0 to 1"),
    rule(
        &["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"],
        1,
        "Loss.C5",
        About::Dimension(0, 1),
        "every label in {} that counts is one of # classes",
    ),
    rule(&["RotaryEmbedding"], 3, "RotaryEmbedding.C2", About::Dimension(1, 0), INDICES),
    rule(&["ReverseSequence"], 1, "ReverseSequence.C3", About::Values, LENGTHS),
    rule(&["RNN", "GRU", "LSTM"], 4, "Recurrent.C4", About::Values, LENGTHS),
    rule(
        &["Attention"],
        6,
        "Attention.C4",
        About::Values,
        "no length in {} is negative or exceeds that of the keys and values",
    ),
    rule(
        &["TensorScatter"],
        2,
        "TensorScatter.C3",
        About::Values,
        "no index in {} is negative, and the updates fit into the cache from it on unless the mode is circular",
    ),
    rule(&["Expand"], 1, "Expand.C2", About::Values, NATURAL),
    rule(&["Expand"], 1, "Expand.C3", About::Broadcast, "the sizes in {} broadcast with those of the input"),
    rule(
        &["Reshape"],
        1,
        "Reshape.C4",
        About::Values,
        "the sizes in {} make as many elements as the input has",
    ),
    rule(&["ConstantOfShape"], 0, "ConstantOfShape.C2", About::Values, NATURAL),
    rule(&["Tile"], 1, "Tile.C2", About::Values, NATURAL),
    rule(&["Pad"], 1, "Pad.C4", About::Values, "the pads in {} leave no negative size and suit the mode"),
    rule(&["Range"], 2, "Range.C2", About::Values, "{} is not 0"),
    rule(&["OneHot"], 1, "OneHot.C2", About::Values, "the depth {} is at least 1"),
    rule(
        &["TopK"],
        1,
        "TopK.C3",
        About::Values,
        "{} is not negative and does not exceed the size of its dimension",
    ),
    rule(
        &["Split"],
        1,
        "Split.C2",
        About::Values,
        "no size in {} is negative, and they add up to the dimension",
    ),
    rule(
        &["SplitToSequence"],
        1,
        "SplitToSequence.C2",
        About::Values,
        "the size {} is positive, or the sizes in {} are not negative and add up to the dimension",
    ),
    rule(&["SequenceAt", "SequenceErase"], 1, "Sequence.C2", About::Position, POSITION),
    rule(&["SequenceInsert"], 2, "Sequence.C2", About::Position, POSITION),
    rule(&["Resize", "Upsample"], 1, "Resize.C2", About::Scales, "every scale in {} is positive"),
    rule(&["Resize"], 2, "Resize.C2", About::Values, "every scale in {} is positive"),
    rule(&["Resize"], 3, "Resize.C2", About::Values, "every size in {} is positive"),
    rule(
        &["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"],
        1,
        "Reduce.C1",
        About::Values,
        "every axis in {} is within the rank",
    ),
    rule(
        &["ReduceProd", "ReduceSum", "ReduceSumSquare"],
        1,
        "Reduce.C1",
        About::Values,
        "every axis in {} is within the rank",
    ),
    rule(
        &["BlackmanWindow", "HammingWindow", "HannWindow"],
        0,
        "Window.C2",
        About::Values,
        "the size {} is not negative",
    ),
    rule(&["Dropout"], 1, "Dropout.C1", About::Values, "{} is at least 0 and less than 1"),
    rule(&["Div", "Mod"], 1, "Div.C3", About::Divisors, "no number in {} is 0"),
    rule(&["Cast", "CastLike"], 0, "Cast.C3", About::Texts, "every text in {} is a number"),
    rule(&["MelWeightMatrix"], 1, "MelWeightMatrix.C1", About::Values, "{} suits the other operands"),
    in_domain(
        LEARNING,
        rule(&["ArrayFeatureExtractor"], 1, "ArrayFeatureExtractor.C2", About::Last, INDICES),
    ),
    in_domain(
        LEARNING,
        rule(
            &["OneHotEncoder"],
            0,
            "OneHotEncoder.C1",
            About::Categories,
            "every element of {} is a category",
        ),
    ),
    in_domain(MICROSOFT, rule(&["GatherND"], 1, "GatherND.C3", About::Tuples, TUPLES)),
    in_domain(
        MICROSOFT,
        rule(&["Pad"], 1, "Pad.C4", About::Values, "the pads in {} leave no negative size and suit the mode"),
    ),
    in_domain(MICROSOFT, rule(&["Range"], 2, "Range.C2", About::Values, "{} is not 0")),
    in_domain(MICROSOFT, rule(&["CropAndResize"], 2, "CropAndResize.C1", About::Dimension(0, 0), INDICES)),
    in_domain(
        MICROSOFT,
        rule(&["RotaryEmbedding"], 1, "RotaryEmbedding.C2", About::Dimension(2, 0), INDICES),
    ),
    in_domain(
        MICROSOFT,
        rule(&["GatherBlockQuantized"], 1, "GatherBlockQuantized.C5", About::Values, TUPLES),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["EmbedLayerNormalization", "QEmbedLayerNormalization"],
            0,
            "EmbedLayerNormalization.C2",
            About::Dimension(2, 0),
            INDICES,
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["EmbedLayerNormalization", "QEmbedLayerNormalization"],
            1,
            "EmbedLayerNormalization.C2",
            About::Dimension(4, 0),
            INDICES,
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(&["EmbedLayerNormalization"], 8, "EmbedLayerNormalization.C2", About::Dimension(3, 0), INDICES),
    ),
    in_domain(
        MICROSOFT,
        rule(&["WordConvEmbedding"], 0, "WordConvEmbedding.C3", About::Dimension(3, 0), INDICES),
    ),
    in_domain(MICROSOFT, rule(&["AttnLSTM"], 4, "AttnLSTM.C4", About::Values, COUNTED)),
    in_domain(MICROSOFT, rule(&["AttnLSTM"], 12, "AttnLSTM.C4", About::Values, COUNTED)),
    in_domain(
        MICROSOFT,
        rule(
            &["DecoderMaskedMultiHeadAttention"],
            7,
            "DecoderMaskedAttention.C3",
            About::Values,
            "the length {} is not negative and less than that of the caches",
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["DecoderMaskedMultiHeadAttention"],
            8,
            "DecoderMaskedAttention.C5",
            About::Values,
            "{} is the number of beams",
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["NGramHashMapping", "VarlenNGramHashMapping"],
            2,
            "NGramHash.C2",
            About::Values,
            "every size in {} is positive",
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["VarlenNGramHashMapping"],
            3,
            "NGramHash.C7",
            About::Values,
            "the numbers in {} rise from 0 to the number of tokens",
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["SparseAttention"],
            3,
            "SparseAttention.C3",
            About::Values,
            "the cache that is returned takes the memory of {}",
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["SparseAttention"],
            5,
            "SparseAttention.C8",
            About::Values,
            "each row of {} rises from 0 to at most the number of entries",
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(&["SparseAttention"], 6, "SparseAttention.C8", About::Values, "every entry of {} is a block"),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["SparseAttention"],
            7,
            "SparseAttention.C5",
            About::Values,
            "the caches and the blocks have room for the length {}",
        ),
    ),
    in_domain(
        MICROSOFT,
        rule(
            &["SparseAttention"],
            8,
            "SparseAttention.C9",
            About::Values,
            "every length in {} is from that of the queries, or 1 in a prompt, to the total one",
        ),
    ),
    in_domain(MICROSOFT, rule(&["GroupQueryAttention"], 5, "GroupQueryAttention.C5", About::Values, LENGTHS)),
    in_domain(MICROSOFT, rule(&["Attention", "QAttention"], 3, "Attention.C4", About::Lengths, NATURAL)),
    in_domain(
        MICROSOFT,
        rule(&["NGramRepeatBlock"], 0, "NGramRepeatBlock.C3", About::Dimension(1, 1), INDICES),
    ),
];

/// Whether nothing is known of an element, or of one of them.
fn is_open(cx: &mut Cx, tensor: &Tensor, is_index: bool, is_run: bool) -> bool {
    let mut open = |element: &Element| match element {
        Element::Open => true,
        Element::Int(e) if is_index => e.as_inline().is_none() && cx.env.hint_int(*e).is_none(),
        _ => false,
    };
    match &tensor.elements {
        // In a run, what is computed from data is not told apart.
        _ if tensor.count() == Some(0) || tensor.from_sizes && !is_run => false,
        None => true,
        Some(Elements::Fill(element)) => open(element),
        Some(Elements::List(list)) => list.iter().any(open),
    }
}

/// The inputs on whose elements operators put conditions: domain, operator, position.
#[cfg(test)]
pub(crate) fn conditions_on_elements() -> impl Iterator<Item = (&'static str, &'static str, usize)> {
    RULES.iter().flat_map(|rule| rule.ops.iter().map(|op| (rule.domain, *op, rule.input)))
}

/// Whether where the elements of indices lie says enough of them.
fn is_settled(cx: &mut Cx, indices: &Tensor, size: Option<Expr>) -> bool {
    let Some(size) = size.filter(|_| indices.elements.is_none()) else { return false };
    match indices.span().cloned() {
        Some(span) if span.is_attained() => true,
        Some(span) => {
            let fits = cx.is_index(&span, size, true);
            cx.surely(fits)
        }
        None => false,
    }
}

/// The conditions on elements that a call leaves to run time.
pub fn left_to_run_time(cx: &mut Cx, call: &Call) -> Vec<RunTime> {
    let own = BY_OPERATOR.get(&(call.domain, call.op)).map(Vec::as_slice).unwrap_or_default();
    own.iter().filter_map(|rule| left(cx, call, rule)).collect()
}

/// The conditions of each operator, by its domain and name.
static BY_OPERATOR: LazyLock<FxHashMap<(&str, &str), Vec<&Rule>>> = LazyLock::new(|| {
    let mut rules: FxHashMap<(&str, &str), Vec<&Rule>> = FxHashMap::default();
    for rule in RULES {
        for op in rule.ops {
            rules.entry((rule.domain, op)).or_default().push(rule);
        }
    }
    rules
});

fn left(cx: &mut Cx, call: &Call, rule: &Rule) -> Option<RunTime> {
    let tensor = |at: usize| call.inputs.get(at).copied().flatten().and_then(Value::tensor);
    let given = tensor(rule.input)?;
    let size_of = |at: usize, dim: i64| {
        let sizes = tensor(at)?.shape.as_ref()?;
        let dim = if dim < 0 { dim + sizes.len() as i64 } else { dim };
        sizes.get(usize::try_from(dim).ok()?).copied()
    };
    let is_text = given.dtype == Dtype::Str;
    let has = |name: &str, value: i64| integer(call, name) == Some(value);
    let size = match rule.about {
        About::Axis => size_of(0, integer(call, "axis").unwrap_or(0)),
        About::Dimension(at, dim) => size_of(at, dim as i64),
        About::Last => size_of(0, -1),
        _ => None,
    };
    let applies = match rule.about {
        About::Scales => call.op == "Upsample" || call.version < 11,
        About::Broadcast => {
            tensor(0)?.shape.as_ref().is_none_or(|sizes| sizes.iter().any(|&size| size != Expr::ONE))
        }
        About::Divisors => given.dtype.is_integer(),
        About::Texts => is_text && !is_cast_to_text(call),
        About::Categories => has("zeros", 0),
        About::Lengths => given.shape.as_ref().is_some_and(|shape| shape.len() == 1),
        _ => true,
    };
    // A caller or a loop decides how many items there are.
    let is_uncounted = match call.inputs.first() {
        Some(Some(Value::Sequence(sequence))) => sequence.items.is_none() && sequence.count.is_none(),
        _ => false,
    };
    if rule.about == About::Position && is_uncounted {
        return Some(RunTime { input: rule.input, clause: rule.clause, says: rule.says, size });
    }
    let is_index = matches!(rule.about, About::Axis | About::Dimension(..) | About::Last | About::Tuples);
    if !applies
        || !is_open(cx, given, is_index, call.is_run)
        || is_settled(cx, given, size)
        || spans::are_settled(cx, call)
    {
        return None;
    }
    // What a tensor of places says of a dimension is a condition on sizes.
    if rule.about == About::Tuples && given.places.as_ref().is_some_and(|places| places.in_rows) {
        return None;
    }
    Some(RunTime { input: rule.input, clause: rule.clause, says: rule.says, size })
}

fn is_cast_to_text(call: &Call) -> bool {
    let like = call.inputs.get(1).copied().flatten().and_then(Value::tensor);
    match call.op {
        "CastLike" => like.is_none_or(|like| like.dtype == Dtype::Str),
        _ => integer(call, "to").and_then(Dtype::from_number) == Some(Dtype::Str),
    }
}
