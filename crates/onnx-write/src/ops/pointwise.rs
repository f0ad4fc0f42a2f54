//! Arithmetic of several tensors or numbers, element by element.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") {
        return None;
    }
    let out = call.out_dtype()?;
    if out.is_complex() {
        return None;
    }
    let dtype = work(out);
    match op {
        "add" | "sub" | "subtract" | "rsub" => sum(call, op, dtype),
        "mul" | "multiply" => {
            let (x, y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
            one(if dtype.is_bool() { call.test("And", &[&x, &y]) } else { call.map("Mul", &[&x, &y]) })
        }
        "div" | "divide" | "true_divide" | "floor_divide" => division(call, op, dtype),
        "remainder" => {
            let (x, y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
            one(call.remainder(&x, &y))
        }
        "fmod" => {
            let (x, y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
            let rank = x.rank.max(y.rank);
            one(call.put("Mod", &[&x, &y], vec![attribute::int("fmod", 1)], (dtype, rank)))
        }
        "pow" => {
            let (x, y) = (call.operand("self", dtype)?, call.operand("exponent", dtype)?);
            one(call.map("Pow", &[&x, &y]))
        }
        "maximum" | "minimum" => extreme(call, op, dtype),
        "max" | "min" if overload == "other" => extreme(call, op, dtype),
        "clamp" | "clip" => {
            let x = call.operand("self", dtype)?;
            clamp(call, &x, "min", "max")
        }
        "clamp_min" | "clamp_max" => {
            let x = call.operand("self", dtype)?;
            let bound = if op == "clamp_min" { "min" } else { "max" };
            call.arg(bound)?;
            clamp(call, &x, "min", "max")
        }
        "where" if overload != "default" => {
            let (x, y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
            let test = call.operand("condition", Dtype::Bool)?;
            one(call.map("Where", &[&test, &x, &y]))
        }
        "masked_fill" => {
            let (x, value) = (call.operand("self", dtype)?, call.operand("value", dtype)?);
            let mask = call.operand("mask", Dtype::Bool)?;
            one(call.map("Where", &[&mask, &value, &x]))
        }
        "addcmul" | "addcdiv" => fused(call, op, dtype),
        "lerp" => {
            let (x, end) = (call.operand("self", dtype)?, call.operand("end", dtype)?);
            let weight = call.operand("weight", dtype)?;
            let span = call.map("Sub", &[&end, &x]);
            let part = call.map("Mul", &[&weight, &span]);
            one(call.map("Add", &[&x, &part]))
        }
        "atan2" => angle(call, dtype),
        "_prelu_kernel" | "prelu" => prelu(call, dtype),
        "glu" => {
            let x = call.operand("self", dtype)?;
            let dim = attribute::int("axis", call.int("dim", -1)?);
            let outputs = attribute::int("num_outputs", 2);
            let halves = call.body.emit("Split", &[&x.name], vec![dim, outputs], 2);
            let [value, gate] = <[String; 2]>::try_from(halves).ok()?.map(|name| Val { name, ..x.clone() });
            let gate = call.map("Sigmoid", &[&gate]);
            one(call.map("Mul", &[&value, &gate]))
        }
        _ => None,
    }
}

/// `self + alpha * other` and its like.
fn sum(call: &mut Call<'_, '_, '_>, op: &str, dtype: Dtype) -> Made {
    let (mut x, mut y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
    if dtype.is_bool() {
        return (op == "add").then(|| call.test("Or", &[&x, &y])).and_then(one);
    }
    if op == "rsub" {
        std::mem::swap(&mut x, &mut y);
    }
    if call.has("alpha") {
        let alpha = call.operand("alpha", dtype)?;
        // What is scaled is `other`, and `self` where that is what is taken away.
        y = call.map("Mul", &[&y, &alpha]);
    }
    one(call.map(if op == "add" { "Add" } else { "Sub" }, &[&x, &y]))
}

fn division(call: &mut Call<'_, '_, '_>, op: &str, dtype: Dtype) -> Made {
    let (x, y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
    let mode = if op == "floor_divide" { "floor" } else { call.text("rounding_mode", "")? };
    match mode {
        "floor" => one(call.floor_div(&x, &y)),
        "trunc" => {
            let quotient = call.map("Div", &[&x, &y]);
            one(if dtype.is_float() { call.truncate(&quotient) } else { quotient })
        }
        _ => one(call.map("Div", &[&x, &y])),
    }
}

fn extreme(call: &mut Call<'_, '_, '_>, op: &str, dtype: Dtype) -> Made {
    let (x, y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
    let larger = op.starts_with("max");
    if dtype.is_bool() {
        return one(call.test(if larger { "Or" } else { "And" }, &[&x, &y]));
    }
    one(call.map(if larger { "Max" } else { "Min" }, &[&x, &y]))
}

/// Bounds, which may be tensors.
fn clamp(call: &mut Call<'_, '_, '_>, x: &Val, low: &str, high: &str) -> Made {
    let mut value = x.clone();
    if call.has(low) {
        let low = call.operand(low, x.dtype)?;
        value = call.map("Max", &[&value, &low]);
    }
    if call.has(high) {
        let high = call.operand(high, x.dtype)?;
        value = call.map("Min", &[&value, &high]);
    }
    one(value)
}

fn fused(call: &mut Call<'_, '_, '_>, op: &str, dtype: Dtype) -> Made {
    let x = call.operand("self", dtype)?;
    let (a, b) = (call.operand("tensor1", dtype)?, call.operand("tensor2", dtype)?);
    let mut part = call.map(if op == "addcmul" { "Mul" } else { "Div" }, &[&a, &b]);
    if call.has("value") {
        let value = call.operand("value", dtype)?;
        part = call.map("Mul", &[&part, &value]);
    }
    one(call.map("Add", &[&x, &part]))
}

/// The angle of a point: the arc tangent of the quotient, turned by half a turn left of the axis.
fn angle(call: &mut Call<'_, '_, '_>, dtype: Dtype) -> Made {
    let (y, x) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
    let [zero, pi, half] =
        [0.0, std::f64::consts::PI, std::f64::consts::FRAC_PI_2].map(|value| call.float(value, dtype));
    let quotient = call.map("Div", &[&y, &x]);
    let plain = call.map("Atan", &[&quotient]);
    let (minus, minus_half) = (call.map("Neg", &[&pi]), call.map("Neg", &[&half]));
    let (below, left) = (call.test("Less", &[&y, &zero]), call.test("Less", &[&x, &zero]));
    let turn = call.map("Where", &[&below, &minus, &pi]);
    let turned = call.map("Add", &[&plain, &turn]);
    let value = call.map("Where", &[&left, &turned, &plain]);
    let upright = call.map("Where", &[&below, &minus_half, &half]);
    let nothing = call.test("Equal", &[&y, &zero]);
    let upright = call.map("Where", &[&nothing, &zero, &upright]);
    let on_axis = call.test("Equal", &[&x, &zero]);
    one(call.map("Where", &[&on_axis, &upright, &value]))
}

fn prelu(call: &mut Call<'_, '_, '_>, dtype: Dtype) -> Made {
    let (x, mut weight) = (call.operand("self", dtype)?, call.operand("weight", dtype)?);
    if weight.rank == 1 && x.rank > 2 {
        // The weight is for each channel, the second dimension.
        let behind: Vec<i64> = (1..i64::try_from(x.rank).ok()? - 1).collect();
        weight = call.unsqueeze(&weight, &behind);
    }
    let zero = call.float(0.0, dtype);
    let scaled = call.map("Mul", &[&x, &weight]);
    let positive = call.test("Greater", &[&x, &zero]);
    one(call.map("Where", &[&positive, &x, &scaled]))
}
