//! Arithmetic on the elements of small tensors.
use crate::shape::dtype::Dtype;
use crate::shape::spans::holds;
use crate::shape::value::{Element, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::{Expr, Int};
use sizewise_kernels::Cx;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Integer::ALL, Float::ALL];

/// The greatest integer up to which a type of floats holds all.
fn most_exact(dtype: Dtype) -> Option<i64> {
    match dtype {
        Dtype::F64 => Some(1 << 53),
        Dtype::F32 => Some(1 << 24),
        _ => None,
    }
}

/// Sizes that are cast to floats are followed if these are exact at sizes up to this.
const USUAL_SIZE: i64 = 4_096;

clauses! { Integer {
    C1 "An integer that is computed from sizes does not overflow its type."
} }

clauses! { Float {
    C1 "A size that is computed as a float is represented exactly."
} }

/// Requires that a type of floats holds an integer exactly, and those that are greater by less than some room. Whether
/// that can be.
pub fn is_exact(cx: &mut Cx, e: Expr, dtype: Dtype, room: i64) -> bool {
    let Some(most) = most_exact(dtype) else { return false };
    let most = cx.int(most - room);
    let fits = cx.le(e, most);
    cx.require(fits, Float::C1, |cx| format!("a float may not hold {} exactly", cx.show(e))).is_ok()
}

/// The integer as a float, if that is followed.
fn whole(cx: &mut Cx, e: Expr, dtype: Dtype) -> Element {
    match most_exact(dtype) {
        Some(most) if cx.fits_up_to(e, (-most, most), USUAL_SIZE) => Element::Quotient(e, 1),
        _ => Element::Open,
    }
}

/// The quotient rounded down or up, if it is not negative. A quotient that is not whole is further from integers than
/// floats are rounded, as long as these hold the dividend exactly.
fn whole_part(cx: &mut Cx, (e, divisor): (Expr, i64), dtype: Dtype, up: bool) -> Option<Expr> {
    let natural = cx.ge(e, 0);
    if !cx.surely(natural) || !is_exact(cx, e, dtype, 0) {
        return None;
    }
    let divisor = cx.int(divisor);
    Some(if up { cx.ceil_div(e, divisor) } else { cx.floor_div(e, divisor) })
}

/// The product of a quotient and a float, or the quotient of both, if it is followed.
fn scaled(cx: &mut Cx, op: &str, (e, divisor): (Expr, i64), by: f64, dtype: Dtype) -> Element {
    let as_whole = |by: f64| (by.fract() == 0.0 && (1.0..=1e6).contains(&by)).then_some(by as i64);
    let (factor, quotient) =
        if op == "Mul" { (as_whole(by), as_whole(1.0 / by)) } else { (None, as_whole(by)) };
    match (factor, quotient) {
        (Some(factor), _) if divisor == 1 => {
            let factor = cx.int(factor);
            let product = cx.mul(e, factor);
            whole(cx, product, dtype)
        }
        // The inverse of a power of two is exact.
        (_, Some(by)) if divisor == 1 && (op == "Div" || (by as u64).is_power_of_two()) => {
            Element::Quotient(e, by)
        }
        _ => Element::Open,
    }
}

/// A float as its type stores it; `None` for types that are not followed.
pub fn rounded(value: f64, dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::F64 => Some(value),
        Dtype::F32 => Some(f64::from(value as f32)),
        _ => None,
    }
}

/// An integer element, if its type can hold the value.
fn integer(cx: &mut Cx, e: Expr, dtype: Dtype) -> Element {
    if holds(cx, e, dtype) { Element::Int(e) } else { Element::Open }
}

/// An integer element of a type. Of a number that is out of range the low bits are kept.
fn wrapped(cx: &mut Cx, e: Expr, dtype: Dtype) -> Element {
    let range = dtype.integer_range().filter(|(least, most)| most - least >= i128::from(u8::MAX));
    if let (Some((least, most)), Some(value)) = (range, e.as_inline())
        && (least..=most).contains(&i128::from(value))
    {
        return Element::Int(e);
    }
    let (Some((least, most)), Some(value)) = (range, cx.pool().as_int(e)) else {
        return integer(cx, e, dtype);
    };
    let bits = 128 - (most - least).leading_zeros();
    let least = Int::from(i64::try_from(least).unwrap_or(i64::MIN));
    let above = (&value - &least).modulo(&Int::power_of_two(bits));
    let stored = above.and_then(|above| (&above + &least).to_i64());
    stored.map_or(Element::Open, |stored| Element::Int(cx.int(stored)))
}

fn float(value: f64, dtype: Dtype) -> Element {
    rounded(value, dtype).map_or(Element::Open, Element::Float)
}

/// The condition that an element is true, if it is known.
pub fn truth(cx: &mut Cx, element: &Element) -> Option<Expr> {
    match element {
        Element::Bool(condition) => Some(*condition),
        Element::Int(e) => Some(cx.ne(*e, 0)),
        Element::Float(value) => Some(cx.pool().bool(*value != 0.0)),
        _ => None,
    }
}

/// An integer quotient rounded towards zero, as C has it, where the divisor is known to be positive.
fn quotient(cx: &mut Cx, a: Expr, b: Expr) -> Option<Expr> {
    if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
        return x.checked_div(y).and_then(Expr::inline);
    }
    let (zero, one) = (cx.ge(a, 0), cx.ge(b, 1));
    if !cx.surely(one) {
        return None;
    }
    if cx.surely(zero) {
        return Some(cx.floor_div(a, b));
    }
    let positive = cx.sub(0, a);
    let quotient = cx.floor_div(positive, b);
    let below = cx.sub(0, quotient);
    let negative = cx.le(a, 0);
    if cx.surely(negative) {
        return Some(below);
    }
    let above = cx.floor_div(a, b);
    Some(cx.pool().ite(zero, above, below))
}

/// As [`binary`] for a reduction, of which it is not known what it makes of numbers that are out of range.
pub fn folded(cx: &mut Cx, op: &str, a: &Element, b: &Element, dtype: Dtype) -> Element {
    let whole = match (op, a, b) {
        ("Add", Element::Int(x), Element::Int(y)) => Some(cx.add(*x, *y)),
        ("Mul", Element::Int(x), Element::Int(y)) => Some(cx.mul(*x, *y)),
        _ => None,
    };
    match whole {
        Some(whole) => integer(cx, whole, dtype),
        None => binary(cx, op, a, b, dtype, false),
    }
}

/// The result of a binary operator on two elements of a type.
pub fn binary(cx: &mut Cx, op: &str, a: &Element, b: &Element, dtype: Dtype, fmod: bool) -> Element {
    if let (Element::Bool(x), Element::Bool(y)) = (a, b) {
        return logical(cx, op, *x, *y);
    }
    if let (Element::Int(x), Element::Int(y)) = (a, b) {
        let (x, y) = (*x, *y);
        let result = match op {
            "Add" | "Sum" => Some(cx.add(x, y)),
            "Sub" => Some(cx.sub(x, y)),
            "Mul" => Some(cx.mul(x, y)),
            "Div" => quotient(cx, x, y),
            "Mod" => remainder(cx, x, y, fmod),
            "Min" => Some(cx.min(x, y)),
            "Max" => Some(cx.max(x, y)),
            "Pow" => power(cx, x, y),
            _ => return comparison(cx, op, x, y),
        };
        let Some(result) = result else { return Element::Open };
        // `Pow` computes with floats.
        return if op == "Pow" { integer(cx, result, dtype) } else { wrapped(cx, result, dtype) };
    }
    let scale = match (op, a, b) {
        ("Mul" | "Div", Element::Quotient(e, divisor), Element::Float(by)) => Some((*e, *divisor, *by)),
        ("Mul", Element::Float(by), Element::Quotient(e, divisor)) => Some((*e, *divisor, *by)),
        _ => None,
    };
    if let Some((e, divisor, by)) = scale {
        return scaled(cx, op, (e, divisor), by, dtype);
    }
    let (Some(x), Some(y)) = (a.number(), b.number()) else { return Element::Open };
    let result = match op {
        "Add" | "Sum" => x + y,
        "Sub" => x - y,
        "Mul" => x * y,
        "Div" => x / y,
        "Min" if !x.is_nan() && !y.is_nan() => x.min(y),
        "Max" if !x.is_nan() && !y.is_nan() => x.max(y),
        "Mod" if fmod && y != 0.0 => x % y,
        "Pow" if matches!(a, Element::Float(_)) => match exact_power(x, y) {
            Some(power) => power,
            None => return Element::Open,
        },
        "Equal" => return truth_value(cx, x == y),
        "Less" => return truth_value(cx, x < y),
        "LessOrEqual" => return truth_value(cx, x <= y),
        "Greater" => return truth_value(cx, x > y),
        "GreaterOrEqual" => return truth_value(cx, x >= y),
        _ => return Element::Open,
    };
    float(result, dtype)
}

/// A power of a float that is the same however it is computed: a square, or a root that is exact.
fn exact_power(x: f64, y: f64) -> Option<f64> {
    if y == 0.0 || y == 1.0 {
        return Some(if y == 0.0 { 1.0 } else { x });
    }
    if y == 2.0 {
        return Some(x * x);
    }
    let root = x.sqrt();
    // The root of a float in single precision is one, too, if it is exact.
    (y == 0.5 && x > 0.0 && x.is_finite() && root.mul_add(root, -x) == 0.0).then_some(root)
}

fn truth_value(cx: &mut Cx, value: bool) -> Element {
    Element::Bool(cx.pool().bool(value))
}

fn remainder(cx: &mut Cx, x: Expr, y: Expr, fmod: bool) -> Option<Expr> {
    if y == Expr::ZERO {
        return None;
    }
    if !fmod {
        let defined = cx.ne(y, 0);
        return cx.surely(defined).then(|| cx.modulo(x, y));
    }
    let quotient = quotient(cx, x, y)?;
    let product = cx.mul(quotient, y);
    Some(cx.sub(x, product))
}

fn power(cx: &mut Cx, x: Expr, y: Expr) -> Option<Expr> {
    let y = u32::try_from(y.as_inline()?).ok()?;
    match x.as_inline() {
        Some(x) => x.checked_pow(y).and_then(Expr::inline),
        None if y <= 4 => Some((0..y).fold(Expr::ONE, |product, _| cx.mul(product, x))),
        None => None,
    }
}

fn logical(cx: &mut Cx, op: &str, x: Expr, y: Expr) -> Element {
    let both = |cx: &mut Cx| cx.all(&[x, y]);
    let either = |cx: &mut Cx| cx.any(&[x, y]);
    Element::Bool(match op {
        "And" => both(cx),
        "Or" => either(cx),
        "Xor" | "Equal" => {
            let (neither, all) = (either(cx), both(cx));
            let neither = cx.not(neither);
            let same = cx.any(&[neither, all]);
            if op == "Equal" { same } else { cx.not(same) }
        }
        _ => return Element::Open,
    })
}

fn comparison(cx: &mut Cx, op: &str, x: Expr, y: Expr) -> Element {
    Element::Bool(match op {
        "Equal" => cx.eq(x, y),
        "Less" => cx.lt(x, y),
        "LessOrEqual" => cx.le(x, y),
        "Greater" => cx.gt(x, y),
        "GreaterOrEqual" => cx.ge(x, y),
        _ => return Element::Open,
    })
}

/// The result of a unary operator on an element of a type.
pub fn unary(cx: &mut Cx, op: &str, a: &Element, dtype: Dtype) -> Element {
    match (op, a) {
        ("Identity", _) => a.clone(),
        ("Not", Element::Bool(condition)) => Element::Bool(cx.not(*condition)),
        ("Neg", Element::Int(e)) => {
            let negative = cx.sub(0, *e);
            wrapped(cx, negative, dtype)
        }
        ("Abs" | "Relu", Element::Int(e)) => {
            let negative = if op == "Abs" { cx.sub(0, *e) } else { Expr::ZERO };
            let result = cx.max(*e, negative);
            wrapped(cx, result, dtype)
        }
        ("Sign", Element::Int(e)) => match e.as_inline() {
            Some(value) => Element::Int(Expr::from(value.signum() as i32)),
            None => Element::Open,
        },
        ("Floor" | "Ceil" | "Round", Element::Quotient(_, 1)) => a.clone(),
        ("Floor" | "Ceil", Element::Quotient(e, divisor)) => {
            let part = whole_part(cx, (*e, *divisor), dtype, op == "Ceil");
            part.map_or(Element::Open, |part| Element::Quotient(part, 1))
        }
        (_, Element::Float(value)) => {
            let result = match op {
                "Neg" => -value,
                "Abs" => value.abs(),
                "Relu" if !value.is_nan() => value.max(0.0),
                "Floor" => value.floor(),
                "Ceil" => value.ceil(),
                "Round" => value.round_ties_even(),
                "Sqrt" => value.sqrt(),
                "Reciprocal" => 1.0 / value,
                _ => return Element::Open,
            };
            float(result, dtype)
        }
        _ => Element::Open,
    }
}

/// An element cast from one type to another.
pub fn cast(cx: &mut Cx, element: &Element, from: Dtype, to: Dtype) -> Element {
    match element {
        Element::Int(e) if to.is_float() && e.as_inline().is_none() => whole(cx, *e, to),
        // More bits hold what fewer hold.
        Element::Quotient(..) if from == to => element.clone(),
        Element::Quotient(_, 1) if (from, to) == (Dtype::F32, Dtype::F64) => element.clone(),
        Element::Quotient(e, divisor) if to.is_integer() => {
            whole_part(cx, (*e, *divisor), from, false).map_or(Element::Open, |part| integer(cx, part, to))
        }
        Element::Int(e) if to.is_integer() => wrapped(cx, *e, to),
        Element::Int(e) if to == Dtype::Bool => Element::Bool(cx.ne(*e, 0)),
        Element::Int(_) | Element::Bool(_) if to.is_float() => {
            element.number().map_or(Element::Open, |value| float(value, to))
        }
        Element::Bool(condition) if to == Dtype::Bool => Element::Bool(*condition),
        Element::Bool(condition) if to.is_integer() => match condition.as_literal_bool() {
            Some(value) => Element::Int(Expr::from(i32::from(value))),
            None => Element::Open,
        },
        Element::Float(value) if to.is_float() => float(*value, to),
        Element::Float(value) if to == Dtype::Bool => truth_value(cx, *value != 0.0),
        Element::Float(value) if to.is_integer() && value.abs() < 2f64.powi(62) => {
            let Some(whole) = Expr::inline(value.trunc() as i64) else { return Element::Open };
            // Narrow types are made of 32 bits.
            match to {
                Dtype::I8 | Dtype::U8 | Dtype::I16 | Dtype::U16 if holds(cx, whole, Dtype::I32) => {
                    wrapped(cx, whole, to)
                }
                _ => integer(cx, whole, to),
            }
        }
        Element::Text(_) if to == Dtype::Str => element.clone(),
        _ => Element::Open,
    }
}

/// How far apart the elements of a tensor lie along each dimension of a shape of literal sizes to which it broadcasts.
pub fn strides_in(tensor: &Tensor, shape: &[usize]) -> Option<Vec<usize>> {
    let sizes: Vec<usize> =
        tensor.shape.as_ref()?.iter().map(|e| usize::try_from(e.as_inline()?).ok()).collect::<Option<_>>()?;
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for (own, &size) in strides.iter_mut().rev().zip(sizes.iter().rev()) {
        *own = if size > 1 { stride } else { 0 };
        stride *= size;
    }
    Some(strides)
}

/// Where the element is that stands at a position of a shape, row by row.
pub fn index_at(strides: &[usize], shape: &[usize], mut position: usize) -> usize {
    let mut index = 0;
    for (&stride, &size) in strides.iter().zip(shape).rev() {
        index += position % size.max(1) * stride;
        position /= size.max(1);
    }
    index
}

/// Whether a text begins with a number, as C++'s `stod` reads it.
pub fn begins_number(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches(['+', '-']).to_ascii_lowercase();
    let digits = text.strip_prefix('.').unwrap_or(&text);
    digits.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("inf") || text.starts_with("nan")
}
