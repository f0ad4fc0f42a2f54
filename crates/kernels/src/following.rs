//! Which operators keep, make and change the spans of integer tensors.
use super::args::Args;
use super::context::Cx;
use super::span::{Reach, Span};
use super::tensor::Tensor;
use super::value::{Scalar, Value, Values};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use std::sync::Arc;

impl Cx<'_> {
    /// Notes where the elements of the results of a call lie, and forgets what a kernel has copied from its arguments.
    pub fn follow_spans(&mut self, args: &Args, results: &mut Values) {
        results.iter_mut().for_each(Value::forget_span);
        let [Value::Tensor(result)] = results.as_mut_slice() else { return };
        if !matches!(result.dtype, Dtype::Int64 | Dtype::Int32) || !is_of_torch(args) {
            return;
        }
        let Some(span) = span_of(self, args, result) else { return };
        if self.holds_span(&span, result.dtype) {
            Arc::make_mut(result).span = Some(span);
        }
    }
}

fn is_of_torch(args: &Args) -> bool {
    matches!(args.schema.namespace.as_str(), "aten" | "prims")
}

/// The span of a tensor among the arguments, if the result's dtype holds it.
fn span_at(cx: &mut Cx, args: &Args, at: usize, dtype: Dtype) -> Option<Span> {
    let span = match args.values().get(at)? {
        Value::Tensor(tensor) => tensor.span.clone()?,
        Value::Int(value) => Span::single(*value),
        _ => return None,
    };
    cx.holds_span(&span, dtype).then_some(span)
}

/// A number that is given as an integer.
fn integer(args: &Args, name: &str) -> Option<Expr> {
    match args.scalar(name).ok()? {
        Scalar::Int(value) => Some(value),
        _ => None,
    }
}

/// Where the elements of a result lie, if sizes decide it.
fn span_of(cx: &mut Cx, args: &Args, result: &Tensor) -> Option<Span> {
    match args.schema.name.as_str() {
        "arange" => arange(cx, args, result),
        "iota" => {
            let (start, step) = (args.int("start").ok()?, args.int("step").ok()?);
            cx.steps_span(start, step, args.int("length").ok()?)
        }
        "zeros" | "zeros_like" | "new_zeros" => Some(Span::single(Expr::ZERO)),
        "ones" | "ones_like" | "new_ones" => Some(Span::single(Expr::ONE)),
        "full" | "full_like" | "new_full" => integer(args, "fill_value").map(Span::single),
        "scalar_tensor" => integer(args, "s").map(Span::single),
        _ if args.values().iter().any(has_span) => changed(cx, args, result),
        _ => None,
    }
}

fn has_span(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => tensor.span.is_some(),
        Value::Tensors(list) => list.iter().flatten().any(|tensor| tensor.span.is_some()),
        _ => false,
    }
}

fn arange(cx: &mut Cx, args: &Args, result: &Tensor) -> Option<Span> {
    let of = |name: &str, default: Expr| if args.has(name) { integer(args, name) } else { Some(default) };
    // The limit decides the length, but as a float also how it is rounded.
    let (start, step, _) = (of("start", Expr::ZERO)?, of("step", Expr::ONE)?, integer(args, "end")?);
    cx.steps_span(start, step, *result.sizes.first()?)
}

/// What an operator makes of spans.
fn changed(cx: &mut Cx, args: &Args, result: &Tensor) -> Option<Span> {
    let dtype = result.dtype;
    match args.schema.name.as_str() {
        "clone" | "contiguous" | "alias" | "alias_copy" | "detach" | "detach_copy" | "lift_fresh"
        | "lift_fresh_copy" | "positive" | "to" | "_to_copy" | "type_as" | "convert_element_type" => {
            span_at(cx, args, 0, dtype)
        }
        "view" | "view_copy" | "reshape" | "_unsafe_view" | "_reshape_alias" | "flatten" | "unflatten"
        | "squeeze" | "squeeze_copy" | "permute" | "permute_copy" | "transpose" | "transpose_copy" | "t"
        | "t_copy" | "repeat" | "tile" | "flip" | "roll" | "movedim" | "swapaxes" | "ravel" | "view_as"
        | "reshape_as"
            // A view as another dtype has other elements.
            if args.schema.overload != "dtype" =>
        {
            span_at(cx, args, 0, dtype).map(|span| span.rearranged())
        }
        "unsqueeze" | "unsqueeze_copy" => unsqueezed(cx, args, dtype),
        "expand" | "expand_copy" | "expand_as" | "broadcast_to" => {
            let x = args.tensor_at(0).ok()?;
            span_at(cx, args, 0, dtype).map(|span| along_result(span, x, result))
        }
        "slice" | "slice_copy" => sliced(cx, args, result),
        "select" | "select_copy" => selected(cx, args),
        "narrow" | "narrow_copy" | "index_select" | "gather" | "index" | "_unsafe_index" | "take"
        | "take_along_dim" => span_at(cx, args, 0, dtype).map(|span| span.part()),
        "cat" | "concat" | "concatenate" | "stack" => joined(cx, args, dtype),
        "cumsum" => {
            let x = args.tensor("self").ok()?;
            let at = dimension(args, x)?;
            let ones = x.span.as_ref().is_some_and(|span| *span == Span::single(Expr::ONE));
            ones.then(|| Span {
                least: Expr::ONE,
                most: x.sizes[at],
                reach: Reach::Counting(at),
            })
        }
        _ => computed(cx, args, result),
    }
}

/// What arithmetic makes of spans.
fn computed(cx: &mut Cx, args: &Args, result: &Tensor) -> Option<Span> {
    let dtype = result.dtype;
    let name = args.schema.name.as_str();
    match name {
        "neg" => span_at(cx, args, 0, dtype).map(|span| cx.negated_span(&span)),
        "clamp" | "clip" => clamped(cx, args, result, 1, 2),
        "clamp_min" => clamped(cx, args, result, 1, usize::MAX),
        "clamp_max" => clamped(cx, args, result, usize::MAX, 1),
        "add" | "sub" | "subtract" | "rsub" | "mul" | "multiply" | "minimum" | "maximum" | "floor_divide"
        | "remainder" | "div" | "divide" => {
            let (a, b) = (span_at(cx, args, 0, dtype)?, span_at(cx, args, 1, dtype)?);
            let pair = Pair { apart: vary_apart(args, result), a, b };
            binary(cx, args, name, pair, result)
        }
        _ => None,
    }
}

/// The spans of two operands.
struct Pair {
    a: Span,
    b: Span,
    /// Whether all elements of one meet all of the other.
    apart: bool,
}

fn binary(cx: &mut Cx, args: &Args, name: &str, pair: Pair, result: &Tensor) -> Option<Span> {
    let Pair { a, b, apart } = pair;
    match name {
        "add" | "sub" | "subtract" | "rsub" => {
            let (mut x, mut y) = (placed(args, 0, a, result), placed(args, 1, b, result));
            if name == "rsub" {
                (x, y) = (y, x);
            }
            let alpha = Span::single(if args.has("alpha") { integer(args, "alpha")? } else { Expr::ONE });
            y = cx.multiply_spans(&y, &alpha, true)?;
            let counting = if x.is_single() && name == "add" { y.reach } else { x.reach };
            let counts = matches!(counting, Reach::Counting(_)) && (x.is_single() || y.is_single());
            if name != "add" {
                y = cx.negated_span(&y);
            }
            let sum = cx.add_spans(&x, &y, apart);
            Some(if counts && (name == "add" || y.is_single()) {
                Span { reach: counting, ..sum }
            } else {
                sum
            })
        }
        "mul" | "multiply" => cx.multiply_spans(&a, &b, apart).map(|span| span.rearranged()),
        "minimum" => Some(cx.lesser_span(&a, &b, apart)),
        "maximum" => Some(cx.greater_span(&a, &b, apart)),
        "remainder" if b.is_single() => cx.remainder_span(&a, b.least).map(|span| span.rearranged()),
        "floor_divide" if b.is_single() => cx.divided_span(&a, b.least),
        "div" | "divide" if b.is_single() && args.has("rounding_mode") => {
            let rounding = args.opt_str("rounding_mode").ok()??;
            let natural = cx.ge(a.least, 0);
            // Towards zero is downwards for numbers that are not negative.
            let downwards = rounding == "floor" || rounding == "trunc" && cx.surely(natural);
            downwards.then(|| cx.divided_span(&a, b.least)).flatten()
        }
        _ => None,
    }
}

/// The span of an operand with the dimension along which it counts being that of the result.
fn placed(args: &Args, at: usize, span: Span, result: &Tensor) -> Span {
    match args.values().get(at) {
        Some(Value::Tensor(tensor)) => along_result(span, tensor, result),
        _ => span,
    }
}

/// The span of a tensor that is broadcast to the result.
fn along_result(span: Span, x: &Tensor, result: &Tensor) -> Span {
    let Reach::Counting(at) = span.reach else { return span };
    let to = (at + result.rank()).checked_sub(x.rank());
    let kept = to.filter(|&to| x.sizes.get(at).is_some_and(|size| result.sizes.get(to) == Some(size)));
    Span { reach: kept.map_or(Reach::Every, Reach::Counting), ..span }
}

/// Whether every element of one operand meets every element of the other: along no dimension both have several.
fn vary_apart(args: &Args, result: &Tensor) -> bool {
    let sizes = |at: usize| match args.values().get(at) {
        Some(Value::Tensor(tensor)) => tensor.sizes.as_slice(),
        _ => &[],
    };
    let (a, b) = (sizes(0), sizes(1));
    result.rank() <= a.len().max(b.len())
        && a.iter().rev().zip(b.iter().rev()).all(|(&a, &b)| a == Expr::ONE || b == Expr::ONE)
}

fn clamped(cx: &mut Cx, args: &Args, result: &Tensor, lower: usize, upper: usize) -> Option<Span> {
    let mut span = span_at(cx, args, 0, result.dtype)?;
    for (at, is_lower) in [(lower, true), (upper, false)] {
        if matches!(args.values().get(at), None | Some(Value::None)) {
            continue;
        }
        let limit = span_at(cx, args, at, result.dtype).filter(Span::is_single)?;
        span =
            if is_lower { cx.greater_span(&span, &limit, true) } else { cx.lesser_span(&span, &limit, true) };
    }
    Some(span)
}

fn unsqueezed(cx: &mut Cx, args: &Args, dtype: Dtype) -> Option<Span> {
    let (x, dim) = (args.tensor_at(0).ok()?, args.int("dim").ok()?.as_inline()?);
    let dim = if dim < 0 { dim + x.rank() as i64 + 1 } else { dim };
    let span = span_at(cx, args, 0, dtype)?;
    let reach = match span.reach {
        Reach::Counting(at) if at as i64 >= dim => Reach::Counting(at + 1),
        reach => reach,
    };
    Some(Span { reach, ..span })
}

/// The dimension of a tensor that an argument names.
fn dimension(args: &Args, x: &Tensor) -> Option<usize> {
    let dim = args.int("dim").ok()?.as_inline()?;
    usize::try_from(if dim < 0 { dim + x.rank() as i64 } else { dim }).ok().filter(|&at| at < x.rank())
}

/// Of numbers that count along a dimension a slice is known exactly.
fn sliced(cx: &mut Cx, args: &Args, result: &Tensor) -> Option<Span> {
    let x = args.tensor_at(0).ok()?;
    let at = dimension(args, x)?;
    let span = x.span.as_ref()?;
    let Reach::Counting(along) = span.reach else { return Some(span.part()) };
    if along != at {
        return Some(span.clone());
    }
    let start = args.opt_int("start").ok()?.unwrap_or(Expr::ZERO);
    let skipped = cx.first_of_slice(start, x.sizes[at]);
    let first = cx.add(span.least, skipped);
    let counted = cx.steps_span(first, args.int("step").ok()?, result.sizes[at])?;
    let reach = if let Reach::Counting(_) = counted.reach { Reach::Counting(at) } else { counted.reach };
    Some(Span { reach, ..counted })
}

/// Of numbers that count along a dimension a selected one is known.
fn selected(cx: &mut Cx, args: &Args) -> Option<Span> {
    let x = args.tensor_at(0).ok()?;
    let at = dimension(args, x)?;
    let span = x.span.as_ref()?;
    match span.reach {
        Reach::Counting(along) if along == at => {
            let index = cx.from_start(args.int("index").ok()?, x.sizes[at]);
            Some(Span::single(cx.add(span.least, index)))
        }
        Reach::Counting(along) => {
            Some(Span { reach: Reach::Counting(along - usize::from(at < along)), ..span.clone() })
        }
        _ => Some(span.part()),
    }
}

/// The span around those of several tensors.
fn joined(cx: &mut Cx, args: &Args, dtype: Dtype) -> Option<Span> {
    let Some(Value::Tensors(list)) = args.values().first() else { return None };
    let spans: Vec<Span> = list.iter().map(|tensor| tensor.as_ref()?.span.clone()).collect::<Option<_>>()?;
    if !spans.iter().all(|span| cx.holds_span(span, dtype)) {
        return None;
    }
    let mut all = true;
    if args.schema.name != "stack" {
        for tensor in list.iter().flatten() {
            let count = cx.numel(tensor);
            let some = cx.ge(count, 1);
            all &= cx.surely(some);
        }
    }
    cx.joined_span(&spans, all)
}
