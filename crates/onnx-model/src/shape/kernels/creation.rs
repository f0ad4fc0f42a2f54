//! Tensors made of nothing: constants, ranges, random numbers.
use super::elementwise::named;
use super::layout::sizes_of;
use super::{Family, numbers};
use crate::shape::Dtype;
use crate::shape::at_load::{self, AtLoad};
use crate::shape::call::{Attribute, Call, Checked, Outcome, open};
use crate::shape::op::{Reads, free, op};
use crate::shape::run_time::{NATURAL, values};
use crate::shape::value::{Element, MAX_ELEMENTS, Origin, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, Span};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[Constant::ALL, ConstantOfShape::ALL, EyeLike::ALL, Random::ALL, Multinomial::ALL, Range::ALL];

pub(super) const KERNELS: Family = &free([
    op("Constant", constant).fills().infers(|_, _| AtLoad::IN_FILE),
    op("ConstantOfShape", constant_of_shape).fills().infers(filled_at_load).at_run(&[values(
        0,
        ConstantOfShape::C2,
        NATURAL,
    )]),
    op("EyeLike", eye_like).infers(at_load::rank),
    op("Multinomial", multinomial).infers(at_load::rank).draws(),
    op("RandomNormal", random).infers(at_load::rank).draws(),
    op("RandomNormalLike", random_like).reads(Reads::Ignores).infers(at_load::rank).draws(),
    op("RandomUniform", random).infers(at_load::rank).draws(),
    op("RandomUniformLike", random_like).reads(Reads::Ignores).infers(at_load::rank).draws(),
    op("Range", range)
        .infers(at_load::read_all)
        .span(range_span)
        .at_run(&[values(2, Range::C2, "{} is not 0")])
        .follows(|call| steps_to_size([0, 1, 2].map(|at| call.tensor(at)?.single())).is_some()),
]);

fn length(count: usize) -> Expr {
    Expr::from(i32::try_from(count).unwrap_or(i32::MAX))
}

clauses! { Constant {
    C1 "Exactly one of the attributes that hold a value is given."
} }

/// The value of the only attribute.
fn constant(cx: &mut Cx, call: &Checked) -> Outcome {
    const NAMES: [&str; 8] = [
        "value",
        "sparse_value",
        "value_int",
        "value_ints",
        "value_float",
        "value_floats",
        "value_string",
        "value_strings",
    ];
    let given: Vec<(&str, &Attribute)> =
        NAMES.into_iter().filter_map(|name| Some((name, call.attribute(name)?))).collect();
    call.check(given.len() == 1, Constant::C1, || format!("{} values are given, not one", given.len()))?;
    let (name, value) = given[0];
    let many = |dtype: Dtype, elements: Vec<Element>| {
        let tensor = Tensor::new(dtype, vec![length(elements.len())]);
        if elements.len() <= MAX_ELEMENTS { tensor.with(elements) } else { tensor }
    };
    let one = |dtype: Dtype, element: Element| Tensor::new(dtype, Vec::new()).with(vec![element]);
    let text = |text: &String| Element::Text(text.as_str().into());
    let tensor = match value {
        Attribute::Tensor(tensor) => tensor.clone(),
        Attribute::Int(value) => one(Dtype::I64, Element::Int(cx.int(*value))),
        Attribute::Float(value) => one(Dtype::F32, Element::Float(*value)),
        Attribute::Text(value) => one(Dtype::Str, text(value)),
        Attribute::Ints(list) => many(Dtype::I64, list.iter().map(|&v| Element::Int(cx.int(v))).collect()),
        Attribute::Floats(list) if name == "value_floats" => {
            many(Dtype::F32, list.iter().map(|&v| Element::Float(v)).collect())
        }
        Attribute::Floats(_) => many(Dtype::I64, Vec::new()),
        Attribute::Texts(list) => many(Dtype::Str, list.iter().map(text).collect()),
        Attribute::Other(_) => return Err(open(call.op(), "sparse values")),
    };
    Ok(vec![Tensor { origin: Origin::Constant, ..tensor }.into()])
}

clauses! { ConstantOfShape {
    C1 "The input has 1 dimension."
    C2 "No size in the input is negative."
    C3 "`value` has one element, of a type that the output may have."
} }

/// A tensor of a shape with one value everywhere, the float 0 if none is given.
fn constant_of_shape(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = sizes_of(cx, call, 0, ConstantOfShape::C1)?;
    for &size in &shape {
        let natural = cx.ge(size, 0);
        cx.require(natural, ConstantOfShape::C2, |cx| format!("a size is {}", cx.show(size)))?;
    }
    let (dtype, element) = match call.attribute("value") {
        Some(Attribute::Tensor(value)) => {
            call.check(value.count() == Some(1), ConstantOfShape::C3, || {
                "there is to be one value".to_owned()
            })?;
            let formal = call.schema.outputs.formal(0);
            let allowed = formal.is_some_and(|formal| formal.types.allow_tensor(value.dtype));
            call.check(allowed, ConstantOfShape::C3, || {
                format!("{} is no type of its output", value.dtype.name())
            })?;
            (value.dtype, value.single().unwrap_or(Element::Open))
        }
        _ => (Dtype::F32, Element::Float(0.0)),
    };
    Ok(vec![Tensor::new(dtype, shape).filled(element).into()])
}

clauses! { EyeLike {
    C1 "The input has 2 dimensions."
} }

/// A matrix with ones in a diagonal.
fn eye_like(_: &mut Cx, call: &Checked) -> Outcome {
    let shape = call.shape(0)?.to_vec();
    call.check(shape.len() == 2, EyeLike::C1, || format!("a matrix has 2 dimensions, not {}", shape.len()))?;
    random_type(call, shape)
}

clauses! { Random {
    C1 "No size in `shape` is negative."
    C2 "`low` does not exceed `high`, and `scale` is not negative."
} }

/// A result of the type `dtype`, or the input's.
fn random_type(call: &Checked, shape: Vec<Expr>) -> Outcome {
    let (low, high) = (call.float("low").unwrap_or(0.0), call.float("high").unwrap_or(1.0));
    let is_uniform = call.op().starts_with("RandomUniform");
    call.check(!is_uniform || low <= high, Random::C2, || format!("nothing lies between {low} and {high}"))?;
    let scale = call.float("scale").unwrap_or(1.0);
    call.check(is_uniform || scale >= 0.0, Random::C2, || format!("a scale of {scale}"))?;
    let dtype = match call.attribute("dtype") {
        Some(Attribute::Int(number)) => named(call, *number)?,
        _ => match call.tensor(0) {
            Some(x) => named(call, i64::from(x.dtype.number()))?,
            None => Dtype::F32,
        },
    };
    Ok(vec![Tensor::new(dtype, shape).into()])
}

fn random(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = call.ints("shape").unwrap_or_default();
    call.check(shape.iter().all(|&size| size >= 0), Random::C1, || "a size is negative".to_owned())?;
    let shape = shape.iter().map(|&size| cx.int(size)).collect();
    random_type(call, shape)
}

fn random_like(_: &mut Cx, call: &Checked) -> Outcome {
    random_type(call, call.shape(0)?.to_vec())
}

clauses! { Multinomial {
    C1 "The input has 2 dimensions. onnxruntime takes more where it does not know the rank."
    C2 "`sample_size` is positive."
    C3 "The input is not empty."
} }

/// `[batch, samples]`.
fn multinomial(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let is_taken = sizes.len() == 2 || sizes.len() > 2 && cx.on_cpu() && !call.infers_rank(0)?;
    call.check(is_taken, Multinomial::C1, || format!("the input has 2 dimensions, not {}", sizes.len()))?;
    let some: Vec<Expr> = sizes.iter().map(|&size| cx.gt(size, 0)).collect();
    let filled = cx.all(&some);
    cx.require(filled, Multinomial::C3, |cx| format!("of {} nothing is drawn", cx.show_all(&sizes)))?;
    let samples = call.int("sample_size", 1);
    call.check(samples > 0, Multinomial::C2, || format!("{samples} samples"))?;
    let dtype = match call.attribute("dtype") {
        Some(Attribute::Int(number)) => named(call, *number)?,
        _ => Dtype::I32,
    };
    Ok(vec![Tensor::new(dtype, vec![sizes[0], cx.int(samples)]).into()])
}

/// The rank of what [`fill`] makes is inferred from elements that the file has, from version 13 on from their number.
fn filled_at_load(call: &Call, rank: usize) -> AtLoad {
    if at_load::are_in_file(call, 0) { AtLoad::SIZED } else { at_load::counted(call, 13, rank) }
}

/// Of a [`range`] of floats that ends at a size, or at a quotient of one: the size and its divisor, the start and the step.
fn steps_to_size([start, limit, step]: [Option<Element>; 3]) -> Option<((Expr, i64), i64, i64)> {
    let small = |element: Option<Element>| {
        let number = element?.number()?;
        (number.fract() == 0.0 && number.abs() <= 1e6).then_some(number as i64)
    };
    let Element::Quotient(e, divisor) = limit? else { return None };
    let (start, step) = (small(start)?, small(step)?);
    (step > 0 && (divisor == 1 || (start, step) == (0, 1))).then_some(((e, divisor), start, step))
}

/// Where the numbers of [`range`] lie.
fn range_span(cx: &mut Cx, call: &Call, result: &Tensor) -> Option<Vec<Option<Span>>> {
    let start = call.tensor(0)?.single()?.int()?;
    let step = call.tensor(2).map_or(Some(Expr::ONE), |step| step.single()?.int())?;
    step.as_inline()?;
    let span = cx.steps_span(start, step, *result.shape.as_ref()?.first()?);
    Some(vec![Some(span?.rearranged())])
}

/// The number of steps of a [`range`] of floats.
fn float_steps(
    cx: &mut Cx,
    call: &Checked,
    operands: [Option<Element>; 3],
    dtype: Dtype,
) -> Result<Expr, KernelError> {
    if let [Some(start), Some(limit), Some(delta)] = operands.each_ref().map(|e| e.as_ref()?.number()) {
        call.check(delta != 0.0, Range::C2, || "delta is 0".to_owned())?;
        // onnxruntime computes the quotient in doubles.
        let count = ((limit - start) / delta).ceil().max(0.0);
        call.check(count.is_finite() && count < 1e15, Range::C2, || "there is no end".to_owned())?;
        return Ok(cx.int(count as i64));
    }
    match steps_to_size(operands) {
        Some(((end, divisor), start, step)) if numbers::is_exact(cx, end, dtype, start.abs()) => {
            // Where the end has a divisor, it begins at 0 with a step of 1.
            let (start, step) = (cx.int(start), cx.int(step * divisor));
            let span = cx.sub(end, start);
            let count = cx.ceil_div(span, step);
            Ok(cx.max(count, 0))
        }
        _ => Ok(cx.unbacked_size(0, None)),
    }
}

clauses! { Range {
    C1 "`start`, `limit` and `delta` are scalars."
    C2 "`delta` is not 0."
} }

/// `max(ceil((limit - start) / delta), 0)` numbers.
pub(super) fn range(cx: &mut Cx, call: &Checked) -> Outcome {
    // The inference of shapes reads operands that the file has: these have no dimension.
    let is_read = cx.on_cpu() && (0..call.count()).all(|at| !call.has(at) || call.is_in_file(at));
    for at in 0..call.count() {
        if !call.has(at) {
            continue;
        }
        let shape = call.shape(at)?.to_vec();
        let fine = shape.is_empty() || shape == [Expr::ONE] && !is_read;
        call.check(fine, Range::C1, || "its operands are to be scalars".to_owned())?;
    }
    let item = |at: usize| call.tensor(at).and_then(Tensor::single);
    let delta = if call.has(2) { item(2) } else { Some(Element::Int(Expr::ONE)) };
    let dtype = call.given(0)?.dtype;
    let (count, elements) = match (item(0), item(1), delta) {
        (Some(Element::Int(start)), Some(Element::Int(limit)), Some(Element::Int(delta))) => {
            let nonzero = cx.ne(delta, 0);
            cx.require(nonzero, Range::C2, |_| "delta is 0".to_owned())?;
            let Some(step) = delta.as_inline() else {
                return call.one(vec![cx.unbacked_size(0, None)]);
            };
            let span = if step > 0 { cx.sub(limit, start) } else { cx.sub(start, limit) };
            let step = cx.int(step.saturating_abs());
            let count = cx.ceil_div(span, step);
            let natural = cx.ge(count, 0);
            let count = if cx.surely(natural) { count } else { cx.max(count, 0) };
            let literal = count.as_inline().filter(|&count| count <= MAX_ELEMENTS as i64);
            let elements = literal.map(|count| {
                let at = |i: i64| {
                    let i = cx.int(i);
                    let offset = cx.mul(delta, i);
                    Element::Int(cx.add(start, offset))
                };
                (0..count).map(at).collect::<Vec<_>>()
            });
            (count, elements)
        }
        (start, limit, delta) => (float_steps(cx, call, [start, limit, delta], dtype)?, None),
    };
    let result = Tensor::new(dtype, vec![count]);
    Ok(vec![
        match elements {
            Some(elements) => result.with(elements),
            None => result,
        }
        .into(),
    ])
}
