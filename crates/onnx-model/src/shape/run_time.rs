//! Conditions on the elements of inputs that a call leaves to run time: only the values of a model's inputs decide
//! them.
use super::call::Call;
use super::dtype::Dtype;
use super::spans::integer;
use super::value::{Element, Elements, Origin, Tensor, Value};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_kernels::Cx;

/// A condition on the elements of one input of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTime {
    /// The input.
    pub input: usize,
    /// The clause of the operator.
    pub clause: &'static OpClause,
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

/// What a condition on elements is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum About {
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
    /// Scales, before version 11 of the domain: from then on regions stand there.
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

/// A condition that an operator puts on elements of an input, as onnxruntime's kernels check it.
pub struct Rule {
    pub(super) input: usize,
    clause: &'static OpClause,
    about: About,
    says: &'static str,
}

/// A condition on the elements of an input; `says` has `{}` for the input and `#` for the size of which it speaks.
pub const fn rule(input: usize, clause: &'static OpClause, about: About, says: &'static str) -> Rule {
    Rule { input, clause, about, says }
}

/// As [`rule`], about numbers, sizes of the result or texts.
pub const fn values(input: usize, clause: &'static OpClause, says: &'static str) -> Rule {
    rule(input, clause, About::Values, says)
}

/// As [`rule`], about indices of one dimension.
pub const fn within(input: usize, clause: &'static OpClause, about: About) -> Rule {
    rule(input, clause, about, "every index in {} lies within a dimension of size #")
}

/// As [`rule`], about indices of several dimensions.
pub const fn tuples(input: usize, clause: &'static OpClause) -> Rule {
    rule(input, clause, About::Tuples, TUPLES)
}

impl Rule {
    /// Whether it is about indices of several dimensions.
    pub fn is_about_tuples(&self) -> bool {
        self.about == About::Tuples
    }

    /// Whether it is about indices, labels among them.
    pub fn is_about_indices(&self) -> bool {
        matches!(self.about, About::Axis | About::Dimension(..) | About::Last | About::Tuples)
    }
}

/// A sentence.
pub const TUPLES: &str = "every index in {} lies within the dimension that it is for";
/// A sentence.
pub const NATURAL: &str = "no number in {} is negative";
/// A sentence.
pub const LENGTHS: &str = "no length in {} is negative or exceeds the length of the sequence";
/// A sentence.
pub const COUNTED: &str = "every length in {} is at least 1, and does not exceed that of the sequence";
/// A sentence.
pub const POSITION: &str = "the position {} lies within the sequence";

/// Whether nothing is known of an element, or of one of them.
fn is_open(cx: &mut Cx, tensor: &Tensor, is_index: bool, is_run: bool) -> bool {
    let mut open = |element: &Element| match element {
        Element::Open => true,
        Element::Int(e) if is_index => e.as_inline().is_none() && cx.env.hint_int(*e).is_none(),
        _ => false,
    };
    match &tensor.elements {
        // In a run, what is computed from data is not told apart.
        _ if tensor.count() == Some(0) || tensor.origin == Origin::Sizes && !is_run => false,
        None => true,
        Some(Elements::Fill(element)) => open(element),
        Some(Elements::List(list)) => list.iter().any(open),
    }
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

/// What a call leaves of a condition to run time.
pub fn left(cx: &mut Cx, call: &Call, rule: &Rule) -> Option<RunTime> {
    let given = call.tensor(rule.input)?;
    let size_of = |at: usize, dim: i64| {
        let sizes = call.tensor(at)?.shape.as_ref()?;
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
        About::Scales => call.version < 11,
        About::Broadcast => {
            call.tensor(0)?.shape.as_ref().is_none_or(|sizes| sizes.iter().any(|&size| size != Expr::ONE))
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
    if !applies || !is_open(cx, given, rule.is_about_indices(), call.is_run) || is_settled(cx, given, size) {
        return None;
    }
    // What a tensor of places says of a dimension is a condition on sizes.
    if rule.about == About::Tuples && given.places.as_ref().is_some_and(|places| places.in_rows) {
        return None;
    }
    Some(RunTime { input: rule.input, clause: rule.clause, says: rule.says, size })
}

/// Whether the type that is asked for, by another input or by an attribute, is that of texts.
fn is_cast_to_text(call: &Call) -> bool {
    match call.tensor(1) {
        Some(like) => like.dtype == Dtype::Str,
        None => integer(call, "to").and_then(Dtype::from_number) == Some(Dtype::Str),
    }
}
