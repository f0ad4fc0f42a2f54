//! Tensors with some elements replaced.

use super::super::attribute;
use super::super::call::{Call, axis, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;
use sizewise_onnx_model::read::message::AttributeProto;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") {
        return None;
    }
    let x = call.tensor("self")?;
    match op {
        "scatter" | "scatter_add" | "scatter_reduce" => elements(call, op, &x),
        "index_reduce" => reduced_slices(call, &x),
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

/// How elements meet those that they are put on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meeting {
    Replaces,
    Adds,
    Multiplies,
    Most,
    Least,
    Mean,
}

impl Meeting {
    fn named(name: &str) -> Option<Meeting> {
        Some(match name {
            "sum" => Meeting::Adds,
            "prod" => Meeting::Multiplies,
            "amax" => Meeting::Most,
            "amin" => Meeting::Least,
            "mean" => Meeting::Mean,
            _ => return None,
        })
    }

    fn attribute(self) -> &'static str {
        match self {
            Meeting::Replaces => "none",
            Meeting::Adds | Meeting::Mean => "add",
            Meeting::Multiplies => "mul",
            Meeting::Most => "max",
            Meeting::Least => "min",
        }
    }

    /// The number that changes nothing.
    fn neutral(self, call: &mut Call<'_, '_, '_>, dtype: Dtype) -> Option<Val> {
        let edges = match dtype {
            Dtype::Float32 | Dtype::Float64 => None,
            Dtype::Int32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            Dtype::Int64 => Some((i64::MIN, i64::MAX)),
            _ => return None,
        };
        Some(match (self, edges) {
            (Meeting::Adds | Meeting::Mean | Meeting::Replaces, _) => call.integer(0, dtype),
            (Meeting::Multiplies, _) => call.integer(1, dtype),
            (Meeting::Most, Some((least, _))) => call.integer(least, dtype),
            (Meeting::Least, Some((_, most))) => call.integer(most, dtype),
            (Meeting::Most, None) => call.float(f64::NEG_INFINITY, dtype),
            (Meeting::Least, None) => call.float(f64::INFINITY, dtype),
        })
    }
}

/// Places along a dimension, and how elements meet what is there.
struct Scattered<'v> {
    places: &'v Val,
    dim: i64,
    meeting: Meeting,
    /// Whether what is there counts.
    includes: bool,
}

impl Scattered<'_> {
    fn put(&self, call: &mut Call<'_, '_, '_>, x: &Val, values: &Val, meeting: Meeting) -> Val {
        let attributes =
            vec![attribute::int("axis", self.dim), attribute::string("reduction", meeting.attribute())];
        call.put("ScatterElements", &[x, self.places, values], attributes, (x.dtype, x.rank))
    }

    fn everywhere(&self, call: &mut Call<'_, '_, '_>, value: &Val) -> Val {
        let sizes = call.shape(self.places);
        call.put("Expand", &[value, &sizes], Vec::new(), (value.dtype, self.places.rank))
    }

    fn made(&self, call: &mut Call<'_, '_, '_>, x: &Val, values: &Val) -> Option<Val> {
        let mut start = x.clone();
        if !self.includes {
            let neutral = self.meeting.neutral(call, x.dtype)?;
            let neutral = self.everywhere(call, &neutral);
            start = self.put(call, x, &neutral, Meeting::Replaces);
        }
        let made = self.put(call, &start, values, self.meeting);
        if self.meeting != Meeting::Mean {
            return Some(made);
        }
        let (unit, sizes) = (call.integer(1, x.dtype), call.shape(x));
        let mut counts = call.put("Expand", &[&unit, &sizes], Vec::new(), (x.dtype, x.rank));
        if !self.includes {
            let zero = call.integer(0, x.dtype);
            let zeros = self.everywhere(call, &zero);
            counts = self.put(call, &counts, &zeros, Meeting::Replaces);
        }
        let units = self.everywhere(call, &unit);
        let counts = self.put(call, &counts, &units, Meeting::Adds);
        Some(match x.dtype.is_float() {
            true => call.map("Div", &[&made, &counts]),
            false => call.floor_div(&made, &counts),
        })
    }
}

fn elements(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let places = call.tensor("index")?;
    if x.rank == 0 || places.rank != x.rank {
        return None;
    }
    let meeting = match op {
        "scatter" if call.has("reduce") => return None,
        "scatter" => Meeting::Replaces,
        "scatter_add" => Meeting::Adds,
        _ => Meeting::named(call.text("reduce", "")?)?,
    };
    let includes = op != "scatter_reduce" || call.flag("include_self", true)?;
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
    let scattered = Scattered { places: &places, dim: call.int("dim", 0)?, meeting, includes };
    one(scattered.made(call, &wide, &value)?)
}

/// Slices that meet those at places of a dimension.
fn reduced_slices(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let index = call.operand("index", Dtype::Int64)?;
    let meeting = Meeting::named(call.text("reduce", "")?)?;
    let dim = axis(call.int("dim", 0)?, x.rank)?;
    let dtype = work(x.dtype);
    let (wide, source) = (call.cast(x, dtype), call.operand("source", dtype)?);
    if x.rank == 0 || index.rank != 1 || source.rank != x.rank {
        return None;
    }
    let behind: Vec<i64> = (1..i64::try_from(x.rank - dim).ok()?).collect();
    let line = if behind.is_empty() { index } else { call.unsqueeze(&index, &behind) };
    let sizes = call.shape(&source);
    let places = call.put("Expand", &[&line, &sizes], Vec::new(), (Dtype::Int64, x.rank));
    let includes = call.flag("include_self", true)?;
    let scattered = Scattered { places: &places, dim: i64::try_from(dim).ok()?, meeting, includes };
    one(scattered.made(call, &wide, &source)?)
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
