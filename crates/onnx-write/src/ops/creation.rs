//! Tensors made of sizes and numbers.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;

/// Operators that may be called with nothing.
pub(super) fn takes_nothing(op: &str) -> bool {
    matches!(op, "zeros" | "ones" | "empty")
}

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") || overload.contains("names") {
        return None;
    }
    let dtype = call.out_dtype()?;
    if dtype.is_complex() {
        return None;
    }
    let filled = |op: &str| match op.trim_start_matches("new_").trim_end_matches("_like") {
        "zeros" | "empty" | "zero" | "empty_strided" => Some(0),
        "ones" => Some(1),
        _ => None,
    };
    match op {
        "full_like" | "new_full" | "full" | "fill" => {
            let value = match call.has("fill_value") {
                true => call.operand("fill_value", dtype)?,
                false => call.operand("value", dtype)?,
            };
            spread(call, op, &value)
        }
        "scalar_tensor" => {
            let value = call.operand("s", dtype)?;
            one(value)
        }
        "arange" => range(call, dtype),
        "eye" => {
            let rows = call.index_vector("n", 0)?;
            let columns = if call.has("m") { call.index_vector("m", 0)? } else { rows.clone() };
            let sizes =
                call.put("Concat", &[&rows, &columns], vec![attribute::int("axis", 0)], (Dtype::Int64, 1));
            let zero = call.float(0.0, Dtype::Float32);
            let zeros = call.put("Expand", &[&zero, &sizes], Vec::new(), (Dtype::Float32, 2));
            one(call.put("EyeLike", &[&zeros], Vec::new(), (Dtype::Float32, 2)))
        }
        "linspace" => {
            let steps = call.int("steps", 0).filter(|steps| *steps > 1)?;
            let compute = if dtype.is_float() { work(dtype) } else { return None };
            let (start, end) = (call.operand("start", compute)?, call.operand("end", compute)?);
            let [zero, limit, step] = [0, steps, 1].map(|value| call.integer(value, Dtype::Int64));
            let places = call.put("Range", &[&zero, &limit, &step], Vec::new(), (Dtype::Int64, 1));
            let places = call.cast(&places, compute);
            let count = call.float((steps - 1) as f64, compute);
            let span = call.map("Sub", &[&end, &start]);
            let width = call.map("Div", &[&span, &count]);
            let behind = call.map("Mul", &[&width, &places]);
            one(call.map("Add", &[&start, &behind]))
        }
        _ => {
            let value = filled(op)?;
            let value = call.integer(value, dtype);
            spread(call, op, &value)
        }
    }
}

/// A number in all places.
fn spread(call: &mut Call<'_, '_, '_>, op: &str, value: &Val) -> Made {
    let sizes = match op.ends_with("_like") || matches!(op, "zero" | "fill") {
        true => {
            let x = call.tensor("self")?;
            call.shape(&x)
        }
        false => {
            let elements = call.elements("size")?;
            call.vector(&elements)?
        }
    };
    let rank = call.out_rank();
    one(call.put("Expand", &[value, &sizes], Vec::new(), (value.dtype, rank)))
}

fn range(call: &mut Call<'_, '_, '_>, dtype: Dtype) -> Made {
    let compute = match work(dtype) {
        Dtype::Bool => return None,
        other => other,
    };
    let start = match call.has("start") {
        true => call.operand("start", compute)?,
        false => call.integer(0, compute),
    };
    let end = call.operand("end", compute)?;
    let step = match call.has("step") {
        true => call.operand("step", compute)?,
        false => call.integer(1, compute),
    };
    one(call.put("Range", &[&start, &end, &step], Vec::new(), (compute, 1)))
}
