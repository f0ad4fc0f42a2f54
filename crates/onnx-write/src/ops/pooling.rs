//! Pooling.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::{Dtype, Sym};
use sizewise_onnx_model::read::message::AttributeProto;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload != "default" {
        return None;
    }
    let adaptive = op.starts_with("adaptive_") || op.starts_with("_adaptive_");
    let dims = match op.chars().rev().find(char::is_ascii_digit)? {
        '1' => 1,
        '2' => 2,
        '3' => 3,
        _ => return None,
    };
    // Others, such as `fractional_max_pool2d`, have windows of their own.
    let kind = op.trim_start_matches('_').trim_start_matches("adaptive_");
    let largest = kind.starts_with("max_pool");
    if !largest && !kind.starts_with("avg_pool") {
        return None;
    }
    let dtype = work(call.out_dtype()?);
    dtype.is_float().then_some(())?;
    let mut x = call.operand("self", dtype)?;
    let single = x.rank == dims + 1;
    let (attributes, indices) = match adaptive {
        true => match divided(call, dims) {
            Some(attributes) => (attributes, largest && call.is_used(1)),
            None if largest => return None,
            None => return one(averaged(call, &x, dims)?),
        },
        false => (windows(call, dims, largest)?, op.ends_with("_with_indices") && call.is_used(1)),
    };
    if single {
        x = call.unsqueeze(&x, &[0]);
    }
    let node = if largest { "MaxPool" } else { "AveragePool" };
    let (mut value, mut places) = (x.clone(), None);
    if attributes.is_empty() {
        // Everything in one window.
        let spatial: Vec<i64> = (2..i64::try_from(dims + 2).ok()?).collect();
        (!indices).then_some(())?;
        value = call.reduce(if largest { "ReduceMax" } else { "ReduceMean" }, &x, &spatial, true);
    } else {
        let names = call.body.emit(node, &[&x.name], attributes, 1 + usize::from(indices));
        value.name.clone_from(names.first()?);
        places = names.get(1).map(|name| Val { name: name.clone(), dtype: Dtype::Int64, rank: x.rank });
    }
    if let Some(found) = places {
        // ONNX counts places through batch and channels, torch within each channel.
        let spatial: Vec<i64> = (2..i64::try_from(dims + 2).ok()?).collect();
        let count = call.count(&x, &spatial)?;
        places = Some(call.map("Mod", &[&found, &count]));
    }
    if single {
        value = call.squeeze(&value, &[0]);
        places = places.map(|places| call.squeeze(&places, &[0]));
    }
    if call.result(1).is_none() { one(value) } else { Some(vec![Some(value), places]) }
}

/// Averages over windows that the sizes decide when the model runs: a product with a matrix of weights for each of the
/// last dimensions. Window `i` of `n` over `size` elements is from `i * size // n` to `((i + 1) * size + n - 1) // n`.
///
/// Source: `aten/src/ATen/native/AdaptivePooling.h` (`start_index`, `end_index`).
fn averaged(call: &mut Call<'_, '_, '_>, x: &Val, dims: usize) -> Option<Val> {
    let wanted = call.spatial("output_size", dims, 1)?;
    let first = x.rank.checked_sub(dims)?;
    let mut value = x.clone();
    for (at, &count) in wanted.iter().enumerate() {
        let axis = first + at;
        let weights = weights(call, &value, axis, count)?;
        // The dimension comes last for the product.
        let mut order: Vec<usize> = (0..x.rank).collect();
        order.swap(axis, x.rank - 1);
        let moved = call.permute(&value, &order);
        let product = call.put("MatMul", &[&moved, &weights], Vec::new(), (value.dtype, x.rank));
        value = call.permute(&product, &order);
    }
    Some(value)
}

/// The weight that each element of a dimension has in each of `count` windows.
fn weights(call: &mut Call<'_, '_, '_>, x: &Val, axis: usize, count: i64) -> Option<Val> {
    (count > 0).then_some(())?;
    let size = call.size(x, axis);
    let places = call.scalar(&size);
    let [zero, one, count] = [0, 1, count].map(|value| call.integer(value, Dtype::Int64));
    let vector = (Dtype::Int64, 1);
    let elements = call.put("Range", &[&zero, &places, &one], Vec::new(), vector);
    let elements = call.unsqueeze(&elements, &[1]);
    let windows = call.put("Range", &[&zero, &count, &one], Vec::new(), vector);
    let from = call.map("Mul", &[&windows, &size]);
    let from = call.map("Div", &[&from, &count]);
    let next = call.map("Add", &[&windows, &one]);
    let to = call.map("Mul", &[&next, &size]);
    let less = call.map("Sub", &[&count, &one]);
    let to = call.map("Add", &[&to, &less]);
    let to = call.map("Div", &[&to, &count]);
    let (after, before) =
        (call.test("GreaterOrEqual", &[&elements, &from]), call.test("Less", &[&elements, &to]));
    let within = call.test("And", &[&after, &before]);
    let within = call.cast(&within, x.dtype);
    let length = call.map("Sub", &[&to, &from]);
    let length = call.cast(&length, x.dtype);
    Some(call.map("Div", &[&within, &length]))
}

/// Windows of given sizes.
fn windows(call: &Call<'_, '_, '_>, dims: usize, largest: bool) -> Option<Vec<AttributeProto>> {
    let kernel = call.spatial("kernel_size", dims, 1)?;
    let strides = match call.ints("stride")?.is_empty() {
        true => kernel.clone(),
        false => call.spatial("stride", dims, 1)?,
    };
    let mut attributes = vec![
        attribute::ints("kernel_shape", kernel),
        attribute::ints("strides", strides),
        attribute::ints("pads", call.spatial("padding", dims, 0)?.repeat(2)),
        attribute::int("ceil_mode", call.flag("ceil_mode", false)?.into()),
    ];
    if largest {
        attributes.push(attribute::ints("dilations", call.spatial("dilation", dims, 1)?));
    } else {
        (!call.has("divisor_override")).then_some(())?;
        let counted = call.flag("count_include_pad", true)?;
        attributes.push(attribute::int("count_include_pad", counted.into()));
    }
    Some(attributes)
}

/// Windows by the number of results: one over everything, or equal ones where the recorded sizes divide.
fn divided(call: &Call<'_, '_, '_>, dims: usize) -> Option<Vec<AttributeProto>> {
    let wanted = call.spatial("output_size", dims, 1)?;
    if wanted.iter().all(|&size| size == 1) {
        return Some(Vec::new());
    }
    let sizes = &call.recorded("self")?.sizes;
    let mut kernel = Vec::new();
    for (size, wanted) in sizes.get(sizes.len().checked_sub(dims)?..)?.iter().zip(wanted) {
        match size {
            Sym::Literal(size) if wanted > 0 && size % wanted == 0 => kernel.push(size / wanted),
            _ => return None,
        }
    }
    Some(vec![attribute::ints("kernel_shape", kernel.clone()), attribute::ints("strides", kernel)])
}
