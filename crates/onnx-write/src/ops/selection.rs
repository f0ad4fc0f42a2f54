//! Parts of tensors, and tensors of parts.

use super::super::attribute;
use super::super::call::{Call, axis};
use super::super::value::{Made, Val, all, one};
use sizewise_ir::{Dtype, Operand};

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if matches!(op, "cat" | "concat" | "concatenate" | "stack") {
        return joined(call, op);
    }
    let x = call.tensor("self")?;
    match op.strip_suffix("_copy").unwrap_or(op) {
        "slice" => {
            let dim = call.int("dim", 0)?;
            let (start, end) = (call.index_vector("start", 0)?, call.index_vector("end", i64::MAX)?);
            let step = call.index_vector("step", 1)?;
            let dim = call.constant_vector(&[dim]);
            one(call.slice(&x, [&start, &end, &dim, &step]))
        }
        "narrow" => {
            let dim = call.constant_vector(&[call.int("dim", 0)?]);
            let (start, length) = (call.index_vector("start", 0)?, call.index_vector("length", 0)?);
            // Where a start is counted from the end, so is what lies behind the part.
            let size = call.size(&x, axis(call.int("dim", 0)?, x.rank)?);
            let zero = call.constant_vector(&[0]);
            let negative = call.test("Less", &[&start, &zero]);
            let from_end = call.map("Add", &[&start, &size]);
            let start = call.map("Where", &[&negative, &from_end, &start]);
            let end = call.map("Add", &[&start, &length]);
            let step = call.constant_vector(&[1]);
            one(call.slice(&x, [&start, &end, &dim, &step]))
        }
        "select" if overload == "int" => {
            let dim = call.int("dim", 0)?;
            let index = call.index("index", 0)?;
            one(call.put("Gather", &[&x, &index], vec![attribute::int("axis", dim)], (x.dtype, x.rank - 1)))
        }
        "split" | "chunk" | "tensor_split" | "unsafe_split" | "unsafe_chunk" => split(call, op, &x),
        "split_with_sizes" | "unsafe_split_with_sizes" => {
            let sizes = call.elements("split_sizes")?;
            split_at(call, &x, &sizes)
        }
        "unbind" => {
            let dim = attribute::int("axis", call.int("dim", 0)?);
            let count = super::super::items::made(call.node).len();
            let mut values = Vec::with_capacity(count);
            for index in 0..count {
                let index = call.integer(i64::try_from(index).ok()?, Dtype::Int64);
                values.push(call.put("Gather", &[&x, &index], vec![dim.clone()], (x.dtype, x.rank - 1)));
            }
            all(values)
        }
        "flip" => {
            let dims = call.ints("dims")?;
            if dims.is_empty() || x.rank == 0 {
                return one(x);
            }
            let same = |value: i64| vec![value; dims.len()];
            let [start, end, step] =
                [same(-1), same(i64::MIN), same(-1)].map(|list| call.constant_vector(&list));
            let axes = call.constant_vector(&dims);
            one(call.slice(&x, [&start, &end, &axes, &step]))
        }
        "roll" => roll(call, &x),
        "tril" | "triu" => {
            let upper = attribute::int("upper", i64::from(op == "triu"));
            let offset = call.index("diagonal", 0)?;
            // Truth values have no kernel.
            let wide = if x.dtype.is_bool() { call.cast(&x, Dtype::Int64) } else { x.clone() };
            let part = call.put("Trilu", &[&wide, &offset], vec![upper], (wide.dtype, x.rank));
            one(call.cast(&part, x.dtype))
        }
        "constant_pad_nd" | "pad" | "reflection_pad1d" | "reflection_pad2d" | "reflection_pad3d"
        | "replication_pad1d" | "replication_pad2d" | "replication_pad3d" => pad(call, op, &x),
        _ => None,
    }
}

fn joined(call: &mut Call<'_, '_, '_>, op: &str) -> Made {
    let dtype = call.out_dtype()?;
    let (rank, dim) = (call.out_rank(), call.int("dim", 0)?);
    let mut parts = Vec::new();
    for tensor in call.tensors("tensors")? {
        // Empty vectors join anything.
        if op != "stack" && tensor.rank != rank {
            return None;
        }
        let tensor = call.cast(&tensor, dtype);
        parts.push(if op == "stack" {
            let at = i64::try_from(axis(dim, rank)?).ok()?;
            call.unsqueeze(&tensor, &[at])
        } else {
            tensor
        });
    }
    let parts: Vec<&Val> = parts.iter().collect();
    one(call.put("Concat", &parts, vec![attribute::int("axis", dim)], (dtype, rank)))
}

fn split(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    if op == "tensor_split" {
        return None;
    }
    let dim = axis(call.int("dim", 0)?, x.rank)?;
    let count = super::super::items::made(call.node).len();
    let size = if op.ends_with("chunk") {
        // As many parts as asked for, unless the size rounded up covers all before.
        let parts = call.index_vector("chunks", 1)?;
        let total = call.size(x, dim);
        let one_part = call.constant_vector(&[1]);
        let above = call.map("Add", &[&total, &parts]);
        let above = call.map("Sub", &[&above, &one_part]);
        let size = call.map("Div", &[&above, &parts]);
        call.map("Max", &[&size, &one_part])
    } else {
        if call.elements("split_size").is_some_and(|sizes| sizes.len() > 1) || call.has("split_sizes") {
            let sizes = call.elements("split_size").or_else(|| call.elements("split_sizes"))?;
            return split_at(call, x, &sizes);
        }
        call.index_vector("split_size", 1)?
    };
    let axes = call.constant_vector(&[i64::try_from(dim).ok()?]);
    let step = call.constant_vector(&[1]);
    let mut start = call.constant_vector(&[0]);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let end = call.map("Add", &[&start, &size]);
        values.push(call.slice(x, [&start, &end, &axes, &step]));
        start = end;
    }
    all(values)
}

fn split_at(call: &mut Call<'_, '_, '_>, x: &Val, sizes: &[Operand<i64>]) -> Made {
    let dim = attribute::int("axis", call.int("dim", 0)?);
    let lengths = call.vector(sizes)?;
    let inputs = [x.name.as_str(), lengths.name.as_str()];
    let names = call.body.emit("Split", &inputs, vec![dim], sizes.len());
    all(names.into_iter().map(|name| Val { name, ..x.clone() }).collect())
}

/// Each dimension in two parts, changed over.
fn roll(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let (shifts, dims) = (call.ints("shifts")?, call.ints("dims")?);
    let mut value = if dims.is_empty() { call.flat(x) } else { x.clone() };
    let dims = if dims.is_empty() { vec![0] } else { dims };
    if dims.len() != shifts.len() || x.rank == 0 {
        return None;
    }
    let [zero, far, step] = [0, i64::MAX, 1].map(|value| call.constant_vector(&[value]));
    for (&shift, &dim) in shifts.iter().zip(&dims) {
        let axes = call.constant_vector(&[dim]);
        let size = call.size(&value, axis(dim, value.rank)?);
        // The remainder is taken, as a shift may be longer than the dimension, which may be empty.
        let least = call.constant_vector(&[1]);
        let divisor = call.map("Max", &[&size, &least]);
        let shift = call.constant_vector(&[-shift]);
        let at = call.map("Mod", &[&shift, &divisor]);
        let (head, tail) =
            (call.slice(&value, [&zero, &at, &axes, &step]), call.slice(&value, [&at, &far, &axes, &step]));
        let attributes = vec![attribute::int("axis", dim)];
        value = call.put("Concat", &[&tail, &head], attributes, (x.dtype, value.rank));
    }
    if value.rank == x.rank {
        return one(value);
    }
    let sizes = call.shape(x);
    one(call.reshape(&value, &sizes, x.rank))
}

/// Torch names pads from the last dimension on, a pair each; ONNX all begins and then all ends.
fn pad(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let pads = call.elements("pad").or_else(|| call.elements("padding"))?;
    if pads.len() % 2 != 0 || pads.len() / 2 > x.rank {
        return None;
    }
    let mut mode = match call.text("mode", "constant")? {
        "constant" => "constant",
        "reflect" => "reflect",
        "replicate" => "edge",
        "circular" => "wrap",
        _ => return None,
    };
    if op.starts_with("reflection") {
        mode = "reflect";
    } else if op.starts_with("replication") {
        mode = "edge";
    }
    let mut ordered = vec![Operand::Literal(0); 2 * x.rank];
    for (index, pair) in pads.chunks(2).enumerate() {
        let dim = x.rank - 1 - index;
        (ordered[dim], ordered[x.rank + dim]) = (pair[0], pair[1]);
    }
    let ordered = call.vector(&ordered)?;
    let attributes = vec![attribute::string("mode", mode)];
    if mode != "constant" {
        return one(call.put("Pad", &[x, &ordered], attributes, (x.dtype, x.rank)));
    }
    let value = match call.has("value") {
        true => call.operand("value", x.dtype)?,
        false => call.integer(0, x.dtype),
    };
    one(call.put("Pad", &[x, &ordered, &value], attributes, (x.dtype, x.rank)))
}
