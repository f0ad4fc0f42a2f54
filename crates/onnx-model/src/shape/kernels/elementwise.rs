//! Operators on each element: one tensor, or several whose shapes meet by broadcasting.
use super::{Family, numbers, policy};
use crate::shape::at_load::{self, AtLoad};
use crate::shape::call::{Attribute, Call, Checked, Outcome};
use crate::shape::dtype::Dtype;
use crate::shape::elements::followed;
use crate::shape::op::{Counts, Op, Reads, free, op};
use crate::shape::run_time::{About, Rule, rule, values};
use crate::shape::schema::signature;
use crate::shape::spans;
use crate::shape::value::{Element, Elements, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, Span};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    Celu::ALL,
    Gelu::ALL,
    Broadcast::ALL,
    Div::ALL,
    Mod::ALL,
    BitShift::ALL,
    SwiGLU::ALL,
    Clip::ALL,
    Dropout::ALL,
];

pub(super) const KERNELS: Family = &free([
    each("Abs"),
    each("Acos"),
    each("Acosh"),
    each("Asin"),
    each("Asinh"),
    each("Atan"),
    each("Atanh"),
    op("Bernoulli", random_like).infers(at_load::rank).draws(),
    each("BitwiseNot"),
    each("Ceil"),
    op("Celu", celu).passes().infers(at_load::same),
    op("Clip", clip).reads(Reads::Behind(1)).infers(at_load::all),
    each("Cos"),
    each("Cosh"),
    op("Dropout", dropout).is_view().infers(at_load::same).draws_with(2).at_run(&[values(
        1,
        Dropout::C1,
        "{} is at least 0 and less than 1",
    )]),
    each("Elu"),
    each("Erf"),
    each("Exp"),
    each("Floor"),
    op("Gelu", gelu).passes().infers(at_load::same),
    each("HardSigmoid"),
    each("HardSwish"),
    op("Identity", identity)
        .is_view()
        .passes()
        .infers(identity_at_load)
        .span(spans::same)
        .moves_integers()
        .counts(Counts::Items),
    each("IsInf"),
    each("IsNaN"),
    each("LeakyRelu"),
    each("Log"),
    each("Mish"),
    each("Neg"),
    each("Not"),
    each("Reciprocal"),
    each("Relu"),
    each("Round"),
    each("Selu"),
    op("Shrink", unary).infers(at_load::same),
    each("Sigmoid"),
    each("Sign"),
    each("Sin"),
    each("Sinh"),
    each("Softplus"),
    each("Softsign"),
    each("Sqrt"),
    each("Swish"),
    each("Tan"),
    each("Tanh"),
    op("ThresholdedRelu", unary).infers(at_load::same),
    broadcast("Add").span(add_span),
    broadcast("And"),
    op("BitShift", shift).infers(at_load::rank),
    broadcast("BitwiseAnd"),
    broadcast("BitwiseOr"),
    broadcast("BitwiseXor"),
    op("Div", binary).reads(Reads::Divisors).infers(at_load::all).at_run(DIVISORS),
    broadcast("Equal"),
    broadcast("Greater"),
    broadcast("GreaterOrEqual"),
    broadcast("Less"),
    broadcast("LessOrEqual"),
    broadcast("Max"),
    broadcast("Mean"),
    broadcast("Min"),
    op("Mod", modulo).infers(at_load::all).at_run(DIVISORS),
    broadcast("Mul").span(product_span),
    broadcast("Or"),
    op("PRelu", prelu).passes().infers(at_load::rank),
    broadcast("Pow"),
    op("StringConcat", binary).infers(at_load::rank),
    broadcast("Sub").span(sub_span),
    broadcast("Sum"),
    op("SwiGLU", swiglu).passes().infers(at_load::same),
    op("Where", choose).passes().infers(at_load::all),
    broadcast("Xor"),
]);

const DIVISORS: &[Rule] = &[rule(1, Div::C3, About::Divisors, "no number in {} is 0")];
const fn each(name: &'static str) -> Op {
    op(name, unary).passes().infers(at_load::same)
}

const fn broadcast(name: &'static str) -> Op {
    op(name, binary).passes().infers(at_load::all)
}

/// A result of the shape of the input, with elements by `of` as far as they are followed.
pub(super) fn mapped(x: &Tensor, mut result: Tensor, mut of: impl FnMut(&Element) -> Element) -> Tensor {
    result.elements = match &x.elements {
        Some(Elements::Fill(element)) => Some(Elements::Fill(of(element))),
        Some(Elements::List(list)) => Some(Elements::List(list.iter().map(of).collect())),
        None => None,
    };
    result
}

/// `y = f(x)` for each element.
pub(super) fn unary(cx: &mut Cx, call: &Checked) -> Outcome {
    let x = call.given(0)?;
    let result = call.output(0, call.shape(0)?.to_vec())?;
    let (op, dtype) = (call.op(), result.dtype);
    Ok(vec![mapped(x, result, |element| numbers::unary(cx, op, element, dtype)).into()])
}

clauses! { Celu {
    C1 "`alpha` is not 0."
} }

fn celu(cx: &mut Cx, call: &Checked) -> Outcome {
    call.check(call.float("alpha") != Some(0.0), Celu::C1, || "alpha is 0".to_owned())?;
    unary(cx, call)
}

clauses! { Gelu {
    C1 "`approximate` is `none` or `tanh`."
} }

fn gelu(cx: &mut Cx, call: &Checked) -> Outcome {
    let form = call.text("approximate", "none");
    call.check(matches!(form, "none" | "tanh"), Gelu::C1, || format!("no approximation is named {form}"))?;
    unary(cx, call)
}

/// What is known of the result of `Identity` when the model loads: what is known of the input, but for its elements.
fn identity_at_load(call: &Call, _: usize) -> AtLoad {
    call.tensor(0).map_or(AtLoad::default(), |x| x.at_load.without_elements())
}

/// Where sums lie.
fn add_span(cx: &mut Cx, call: &Call, _: &Tensor) -> Option<Vec<Option<Span>>> {
    spans::combined(cx, call, |cx, x, y, apart| Some(cx.add_spans(x, y, apart)))
}

/// Where differences lie.
fn sub_span(cx: &mut Cx, call: &Call, _: &Tensor) -> Option<Vec<Option<Span>>> {
    spans::combined(cx, call, |cx, x, y, apart| {
        let y = cx.negated_span(y);
        Some(cx.add_spans(x, &y, apart))
    })
}

/// Where products lie.
fn product_span(cx: &mut Cx, call: &Call, _: &Tensor) -> Option<Vec<Option<Span>>> {
    spans::combined(cx, call, |cx, x, y, apart| cx.multiply_spans(x, y, apart))
}

/// The value itself, of whatever type.
fn identity(_: &mut Cx, call: &Checked) -> Outcome {
    Ok(call.input(0).cloned().into_iter().collect())
}

/// `Bernoulli`: a draw for each element, of the type `dtype` or the input's.
fn random_like(_: &mut Cx, call: &Checked) -> Outcome {
    let dtype = match call.attribute("dtype") {
        Some(Attribute::Int(number)) => named(call, *number)?,
        _ => call.given(0)?.dtype,
    };
    Ok(vec![Tensor::new(dtype, call.shape(0)?.to_vec()).into()])
}

/// The type of a number of `TensorProto.DataType`, which an output of the operator may have.
pub(super) fn named(call: &Checked, number: i64) -> Result<Dtype, KernelError> {
    let refused =
        || KernelError::invalid(signature::S2, format!("{}: {number} is no type of its output", call.op()));
    let dtype = Dtype::from_number(number).ok_or_else(refused)?;
    let formal = call.schema.outputs.formal(0).ok_or_else(refused)?;
    if formal.types.allow_tensor(dtype) { Ok(dtype) } else { Err(refused()) }
}

clauses! { Broadcast {
    C1 "Sizes at each dimension, counted from the last, are equal or one of them is 1."
    C2 "Before version 8, sums, means, maxima and minima take inputs of the same shape."
} }

/// The shape in which all inputs meet.
fn meet(cx: &mut Cx, call: &Checked) -> Result<Vec<Expr>, KernelError> {
    let shapes: Vec<&[Expr]> = (0..call.count()).map(|at| call.shape(at)).collect::<Result<_, _>>()?;
    super::meeting::meet(cx, shapes, Broadcast::C1)
}

/// The elements of inputs that meet in a shape, combined one by one.
fn combined(
    inputs: &[&Tensor],
    shape: &[Expr],
    mut combine: impl FnMut(&[&Element]) -> Element,
) -> Option<Elements> {
    let fills: Option<Vec<&Element>> = inputs
        .iter()
        .map(|tensor| match &tensor.elements {
            Some(Elements::Fill(element)) => Some(element),
            _ => None,
        })
        .collect();
    if let Some(fills) = fills {
        return Some(Elements::Fill(combine(&fills)));
    }
    let sizes = followed(shape)?;
    let lists: Vec<Cow<[Element]>> = inputs.iter().map(|tensor| tensor.list()).collect::<Option<_>>()?;
    let strides = inputs.iter().map(|tensor| numbers::strides_in(tensor, &sizes));
    let strides: Vec<Vec<usize>> = strides.collect::<Option<_>>()?;
    let count: usize = sizes.iter().product();
    let mut elements = Vec::with_capacity(count);
    let mut row: SmallVec<[&Element; 4]> = SmallVec::new();
    for position in 0..count {
        row.clear();
        for (strides, list) in strides.iter().zip(&lists) {
            row.push(list.get(numbers::index_at(strides, &sizes, position))?);
        }
        elements.push(combine(&row));
    }
    Some(Elements::List(elements.into()))
}

fn all_tensors<'c>(call: &Checked<'c, '_>) -> Result<Vec<&'c Tensor>, KernelError> {
    (0..call.count()).map(|at| call.given(at)).collect()
}

/// `y = f(a, b, ..)` on shapes that meet.
pub(super) fn binary(cx: &mut Cx, call: &Checked) -> Outcome {
    if call.since() < 8 && matches!(call.op(), "Sum" | "Mean" | "Max" | "Min") {
        for at in 1..call.count() {
            cx.require_same_shape(call.shape(0)?, call.shape(at)?, Broadcast::C2)?;
        }
    }
    folded(cx, call, false)
}

fn folded(cx: &mut Cx, call: &Checked, fmod: bool) -> Outcome {
    let shape = meet(cx, call)?;
    let mut result = call.output(0, shape)?;
    let (op, inputs) = (call.op(), all_tensors(call)?);
    if matches!(op, "Div" | "Mod") && result.dtype.is_integer() && inputs[1].count() != Some(0) {
        divisible(cx, inputs[1])?;
    }
    // Comparisons compute in the type of their operands.
    let dtype = if result.dtype == Dtype::Bool { inputs[0].dtype } else { result.dtype };
    let shape = result.shape.clone().unwrap_or_default();
    result.elements = combined(&inputs, &shape, |row| {
        let mut rest = row.iter();
        let Some(first) = rest.next() else { return Element::Open };
        rest.fold((*first).clone(), |so_far, next| numbers::binary(cx, op, &so_far, next, dtype, fmod))
    });
    Ok(vec![result.into()])
}

clauses! { Div {
    C3 "No integer is divided by 0. Divisors that are known are checked even where the dividend is empty."
} }

fn divisible(cx: &mut Cx, divisor: &Tensor) -> Result<(), KernelError> {
    let divisors = match &divisor.elements {
        Some(Elements::Fill(element)) => Cow::Borrowed(std::slice::from_ref(element)),
        _ => divisor.list().unwrap_or_default(),
    };
    for divisor in divisors.iter().filter_map(Element::int) {
        let defined = cx.ne(divisor, 0);
        cx.require(defined, Div::C3, |_| "an integer is divided by 0".to_owned())?;
    }
    Ok(())
}

clauses! { Mod {
    C1 "`fmod` is 0 or 1. Before version 28 it is 1 for floats."
} }

fn modulo(cx: &mut Cx, call: &Checked) -> Outcome {
    let fmod = call.int("fmod", 0);
    call.check(matches!(fmod, 0 | 1), Mod::C1, || format!("fmod is to be 0 or 1, not {fmod}"))?;
    let floats = !call.given(0)?.dtype.is_integer();
    call.check(fmod == 1 || !floats || call.since() >= 28, Mod::C1, || "floats need fmod=1".to_owned())?;
    folded(cx, call, fmod == 1)
}

clauses! { BitShift {
    C1 "`direction` is `LEFT` or `RIGHT`."
} }

fn shift(cx: &mut Cx, call: &Checked) -> Outcome {
    let direction = call.text("direction", "");
    call.check(matches!(direction, "LEFT" | "RIGHT"), BitShift::C1, || {
        format!("the direction is to be LEFT or RIGHT, not {direction}")
    })?;
    folded(cx, call, false)
}

clauses! { SwiGLU {
    C1 "Both inputs have the same shape: they do not broadcast."
} }

/// `swish(a) * b`.
fn swiglu(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = call.shape(0)?.to_vec();
    cx.require_same_shape(&shape, call.shape(1)?, SwiGLU::C1)?;
    call.one(shape)
}

/// The slope broadcasts to the input. onnxruntime broadcasts both, but infers the shape of the input: what nodes behind
/// it make of the difference is not known.
fn prelu(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = meet(cx, call)?;
    let x = call.shape(0)?;
    let same = |cx: &mut Cx, (&a, &b): (&Expr, &Expr)| {
        let same = cx.eq(a, b);
        cx.surely(same)
    };
    let is_inferred = shape.len() == x.len() && shape.iter().zip(x).all(|pair| same(cx, pair));
    if !is_inferred {
        call.misinferred(cx);
    }
    call.one(shape)
}

/// `condition ? x : y`.
fn choose(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = meet(cx, call)?;
    let mut result = call.output(0, shape)?;
    let shape = result.shape.clone().unwrap_or_default();
    result.elements = combined(&all_tensors(call)?, &shape, |row| match row {
        [Element::Bool(condition), x, y] => match cx.known(*condition) {
            Some(true) => (*x).clone(),
            Some(false) => (*y).clone(),
            None if x == y => (*x).clone(),
            None => match (x.int(), y.int()) {
                (Some(x), Some(y)) => Element::Int(cx.pool().ite(*condition, x, y)),
                _ => Element::Open,
            },
        },
        _ => Element::Open,
    });
    Ok(vec![result.into()])
}

clauses! { Clip {
    C1 "`min` and `max` have one element, in at most one dimension."
    C2 "For onnxruntime, a `Clip` with bounds is of a type for which there is a kernel."
} }

/// `min(max(x, low), high)`.
fn clip(cx: &mut Cx, call: &Checked) -> Outcome {
    for at in 1..call.count() {
        if call.has(at) {
            let count = cx.product(call.shape(at)?.to_vec());
            let rank = call.shape(at)?.len();
            call.check(rank <= 1, Clip::C1, || format!("its bounds are to be scalars, not of rank {rank}"))?;
            cx.require_eq(count, Expr::ONE, Clip::C1, "the number of elements of a bound")?;
        }
    }
    let x = call.given(0)?;
    let is_bounded = call.since() >= 13 && (call.has(1) || call.has(2));
    policy::onnxruntime_checks(cx, !is_bounded || call.has_kernel_since(12, x.dtype), Clip::C2, || {
        format!("onnxruntime's body of Clip does not compare {}", x.dtype.name())
    })?;
    let result = call.output(0, call.shape(0)?.to_vec())?;
    let dtype = result.dtype;
    let bound = |at: usize| call.tensor(at).map(|bound| bound.single().unwrap_or(Element::Open));
    let (low, high) = (bound(1), bound(2));
    if call.attribute("min").is_some() || call.attribute("max").is_some() {
        return Ok(vec![result.into()]);
    }
    let result = mapped(x, result, |element| {
        let low = low
            .as_ref()
            .map_or(element.clone(), |low| numbers::binary(cx, "Max", element, low, dtype, false));
        high.as_ref().map_or(low.clone(), |high| numbers::binary(cx, "Min", &low, high, dtype, false))
    });
    Ok(vec![result.into()])
}

clauses! { Dropout {
    C1 "`ratio` and `training_mode` are scalars."
    C2 "`ratio` is at least 0 and less than 1."
} }

/// The data and the mask of what is kept.
fn dropout(cx: &mut Cx, call: &Checked) -> Outcome {
    for at in [1, 2] {
        if call.has(at) {
            let shape = call.shape(at)?.to_vec();
            // Only the inference of shapes looks at the ranks.
            let is_any = shape.is_empty() || cx.on_cpu() && !call.infers_rank(at)?;
            call.check(is_any, Dropout::C1, || {
                format!("its ratio and mode are scalars, not of rank {}", shape.len())
            })?;
            if at == 1 {
                let count = cx.product(shape);
                cx.require_eq(count, Expr::ONE, Dropout::C1, "the number of ratios")?;
            }
        }
    }
    let ratio = call.tensor(1).and_then(Tensor::single).and_then(|ratio| ratio.number());
    if let Some(ratio) = ratio {
        super::policy::onnxruntime_checks(cx, (0.0..1.0).contains(&ratio), Dropout::C2, || {
            format!("a ratio of {ratio}")
        })?;
    }
    let x = call.given(0)?;
    let shape = call.shape(0)?.to_vec();
    let mut data = call.output(0, shape.clone())?;
    if call.since() < 12 || call.tensor(2).is_none() {
        data.elements = x.elements.clone();
    }
    let mask = Tensor::new(if call.since() < 10 { data.dtype } else { Dtype::Bool }, shape);
    Ok(vec![data.into(), mask.into()])
}
