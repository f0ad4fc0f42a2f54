//! Tensors with some elements replaced.

use super::super::attribute;
use super::super::call::{Call, axis, work};
use super::super::proto::AttributeProto;
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") {
        return None;
    }
    let x = call.tensor("self")?;
    match op {
        "scatter" | "scatter_add" | "scatter_reduce" => elements(call, op, &x),
        "index_put" | "_unsafe_index_put" => put(call, &x),
        "select_scatter" => {
            let dim = axis(call.int("dim", 0)?, x.rank)?;
            let at = i64::try_from(dim).ok()?;
            let start = call.index_vector("index", 0)?;
            let size = call.size(&x, dim);
            let zero = call.constant_vector(&[0]);
            let negative = call.test("Less", &[&start, &zero]);
            let from_end = call.map("Add", &[&start, &size]);
            let start = call.map("Where", &[&negative, &from_end, &start]);
            let source = call.operand("src", x.dtype)?;
            let source = call.unsqueeze(&source, &[at]);
            along(call, &x, &start, &source, dim)
        }
        "slice_scatter" => {
            let dim = axis(call.int("dim", 0)?, x.rank)?;
            let (start, end) = (call.index_vector("start", 0)?, call.index_vector("end", i64::MAX)?);
            let step = call.index_vector("step", 1)?;
            let size = call.size(&x, dim);
            let (zero, one_step) = (call.integer(0, Dtype::Int64), call.integer(1, Dtype::Int64));
            let limit = call.scalar(&size);
            let all = call.put("Range", &[&zero, &limit, &one_step], Vec::new(), (Dtype::Int64, 1));
            let first = call.constant_vector(&[0]);
            let places = call.slice(&all, [&start, &end, &first, &step]);
            let source = call.operand("src", x.dtype)?;
            along(call, &x, &places, &source, dim)
        }
        _ => None,
    }
}

fn elements(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let places = call.tensor("index")?;
    if x.rank == 0 || places.rank != x.rank {
        return None;
    }
    let reduction = match op {
        "scatter" if call.has("reduce") => return None,
        "scatter" => "none",
        "scatter_add" => "add",
        _ => match (call.text("reduce", "")?, call.flag("include_self", true)?) {
            ("sum", true) => "add",
            ("prod", true) => "mul",
            ("amax", true) => "max",
            ("amin", true) => "min",
            _ => return None,
        },
    };
    let dtype = work(x.dtype);
    let wide = call.cast(x, dtype);
    let value = match call.has("value") {
        true => {
            let (value, sizes) = (call.operand("value", dtype)?, call.shape(&places));
            call.put("Expand", &[&value, &sizes], Vec::new(), (dtype, places.rank))
        }
        false => {
            // Of what is larger than the places only the beginning counts.
            let source = call.operand("src", dtype)?;
            let sizes = call.shape(&places);
            let rank = i64::try_from(x.rank).ok()?;
            let zeros = call.constant_vector(&vec![0; x.rank]);
            let (axes, steps) = (
                call.constant_vector(&(0..rank).collect::<Vec<_>>()),
                call.constant_vector(&vec![1; x.rank]),
            );
            call.slice(&source, [&zeros, &sizes, &axes, &steps])
        }
    };
    let attributes =
        vec![attribute::int("axis", call.int("dim", 0)?), attribute::string("reduction", reduction)];
    one(call.put("ScatterElements", &[&wide, &places, &value], attributes, (dtype, x.rank)))
}

fn reduction(call: &Call<'_, '_, '_>) -> Option<Vec<AttributeProto>> {
    let kind = if call.flag("accumulate", false)? { "add" } else { "none" };
    Some(vec![attribute::string("reduction", kind)])
}

/// `x[places] = values`.
fn put(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let places = call.places(x.rank)?;
    let named: Vec<usize> = (0..places.len()).filter(|&dim| places[dim].is_some()).collect();
    let (order, points) = call.points(x.rank, &places)?;
    let turned = call.permute(x, &order);
    let chosen = points.rank - 1;
    // Values spread over what the places choose, whose dimensions may have moved.
    let rank = chosen + x.rank - named.len();
    let target = call.put("GatherND", &[&turned, &points], Vec::new(), (x.dtype, rank));
    let target = call.back(&target, &named, chosen);
    let values = call.operand("values", x.dtype)?;
    let sizes = call.shape(&target);
    let mut values = call.put("Expand", &[&values, &sizes], Vec::new(), (x.dtype, rank));
    let first = named.first().copied()?;
    if named.iter().enumerate().all(|(index, &dim)| dim == first + index) {
        let order: Vec<usize> = (first..first + chosen).chain(0..first).chain(first + chosen..rank).collect();
        values = call.permute(&values, &order);
    }
    let attributes = reduction(call)?;
    let made = call.put("ScatterND", &[&turned, &points, &values], attributes, (x.dtype, x.rank));
    let mut inverse = vec![0; order.len()];
    for (index, &dim) in order.iter().enumerate() {
        inverse[dim] = index;
    }
    one(call.permute(&made, &inverse))
}

/// The tensor with the slices at some places of a dimension replaced.
fn along(call: &mut Call<'_, '_, '_>, x: &Val, places: &Val, source: &Val, dim: usize) -> Made {
    let mut order: Vec<usize> = (0..x.rank).collect();
    order.remove(dim);
    order.insert(0, dim);
    let (turned, source) = (call.permute(x, &order), call.permute(source, &order));
    let points = call.unsqueeze(places, &[-1]);
    let made = call.put("ScatterND", &[&turned, &points, &source], Vec::new(), (x.dtype, x.rank));
    let mut inverse = vec![0; order.len()];
    for (index, &dim) in order.iter().enumerate() {
        inverse[dim] = index;
    }
    one(call.permute(&made, &inverse))
}
