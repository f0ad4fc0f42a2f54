//! Elements at regular distances: diagonals, windows, repetitions, grids; slices put at places of a dimension;
//! distances.

use super::super::attribute;
use super::super::call::{Call, axis, work};
use super::super::value::{Made, Val, all, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") || overload.contains("Dimname") {
        return None;
    }
    match op {
        "meshgrid" => return grid(call),
        "cdist" | "_cdist_forward" => return distances(call),
        _ => {}
    }
    let x = call.tensor("self")?;
    match op.strip_suffix("_copy").unwrap_or(op) {
        "diagonal" => diagonal(call, &x),
        "unfold" => windows(call, &x),
        "repeat_interleave" if overload == "self_int" => repeated(call, &x),
        "index_add" | "index_copy" | "index_fill" => slices(call, op, &x),
        "bucketize" if overload == "Tensor" => {
            let bounds = call.tensor("boundaries")?;
            buckets(call, &x, &bounds)
        }
        "mse_loss" | "l1_loss" => loss(call, op),
        _ => None,
    }
}

/// Vectors, each along a dimension of its own.
fn grid(call: &mut Call<'_, '_, '_>) -> Made {
    let vectors = call.tensors("tensors")?;
    let crossed = match call.text("indexing", "ij")? {
        "ij" => false,
        "xy" => vectors.len() > 1,
        _ => return None,
    };
    let place = |index: usize| if crossed && index < 2 { 1 - index } else { index };
    let rank = vectors.len();
    let flat: Vec<Val> = vectors.iter().map(|vector| call.flat(vector)).collect();
    let counts: Vec<Val> = flat.iter().map(|vector| call.size(vector, 0)).collect();
    let ordered: Vec<&Val> = (0..rank).filter_map(|dim| counts.get(place(dim))).collect();
    let sizes = call.chained(&ordered);
    let mut grids = Vec::with_capacity(rank);
    for (index, vector) in flat.iter().enumerate() {
        let others: Vec<i64> =
            (0..rank).filter(|&dim| dim != place(index)).filter_map(|dim| i64::try_from(dim).ok()).collect();
        let line = if others.is_empty() { vector.clone() } else { call.unsqueeze(vector, &others) };
        grids.push(call.put("Expand", &[&line, &sizes], Vec::new(), (vector.dtype, rank)));
    }
    all(grids)
}

/// The distances of what was predicted, their mean or their sum.
fn loss(call: &mut Call<'_, '_, '_>, op: &str) -> Made {
    let dtype = work(call.out_dtype()?);
    let (x, target) = (call.operand("self", dtype)?, call.operand("target", dtype)?);
    if !dtype.is_float() || call.has("weight") {
        return None;
    }
    let rest = call.map("Sub", &[&x, &target]);
    let each = if op == "mse_loss" { call.map("Mul", &[&rest, &rest]) } else { call.map("Abs", &[&rest]) };
    one(match call.int("reduction", 1)? {
        0 => each,
        1 => call.reduce("ReduceMean", &each, &[], false),
        2 => call.reduce("ReduceSum", &each, &[], false),
        _ => return None,
    })
}

/// The distance of each row of one matrix from each of another.
fn distances(call: &mut Call<'_, '_, '_>) -> Made {
    let dtype = work(call.out_dtype()?);
    let (x, y) = (call.operand("x1", dtype)?, call.operand("x2", dtype)?);
    let power = call.real("p", 2.0)?;
    if !dtype.is_float() || x.rank < 2 || y.rank < 2 {
        return None;
    }
    let (x, y) = (call.unsqueeze(&x, &[-2]), call.unsqueeze(&y, &[-3]));
    let rest = call.map("Sub", &[&x, &y]);
    let each = call.map("Abs", &[&rest]);
    if power == f64::INFINITY {
        return one(call.reduce("ReduceMax", &each, &[-1], false));
    }
    if power == 0.0 {
        let none = call.float(0.0, dtype);
        let differs = call.test("Greater", &[&each, &none]);
        let differs = Val { rank: each.rank, ..differs };
        let counted = call.cast(&differs, dtype);
        return one(call.reduce("ReduceSum", &counted, &[-1], false));
    }
    let (power, root) = (call.float(power, dtype), call.float(1.0 / power, dtype));
    let each = call.put("Pow", &[&each, &power], Vec::new(), (dtype, each.rank));
    let sum = call.reduce("ReduceSum", &each, &[-1], false);
    one(call.put("Pow", &[&sum, &root], Vec::new(), (dtype, sum.rank)))
}

impl Call<'_, '_, '_> {
    /// The numbers from 0 on, as many as a vector of one says.
    pub fn counted(&mut self, count: &Val) -> Val {
        let count = self.scalar(count);
        let [zero, step] = [0, 1].map(|value| self.integer(value, Dtype::Int64));
        self.put("Range", &[&zero, &count, &step], Vec::new(), (Dtype::Int64, 1))
    }

    /// Vectors, one behind the other.
    pub fn chained(&mut self, parts: &[&Val]) -> Val {
        self.put("Concat", parts, vec![attribute::int("axis", 0)], (Dtype::Int64, 1))
    }
}

/// Every so many elements of the two dimensions, made one.
fn diagonal(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let offset = call.int("offset", 0)?;
    let (first, second) = (axis(call.int("dim1", 0)?, x.rank)?, axis(call.int("dim2", 1)?, x.rank)?);
    if first == second {
        return None;
    }
    let others = (0..x.rank).filter(|&dim| dim != first && dim != second);
    let order: Vec<usize> = others.clone().chain([first, second]).collect();
    let turned = call.permute(x, &order);
    let (rows, columns) = (call.size(x, first), call.size(x, second));
    let mut sizes: Vec<Val> = others.map(|dim| call.size(x, dim)).collect();
    sizes.push(call.map("Mul", &[&rows, &columns]));
    let sizes: Vec<&Val> = sizes.iter().collect();
    let sizes = call.chained(&sizes);
    let flat = call.reshape(&turned, &sizes, x.rank - 1);
    let cut = call.constant_vector(&[offset.checked_abs()?]);
    let (rows, width) = match offset < 0 {
        true => (call.map("Sub", &[&rows, &cut]), columns.clone()),
        false => (rows, call.map("Sub", &[&columns, &cut])),
    };
    let zero = call.constant_vector(&[0]);
    let count = call.map("Min", &[&rows, &width]);
    let count = call.map("Max", &[&count, &zero]);
    let places = call.counted(&count);
    let one_more = call.constant_vector(&[1]);
    let stride = call.map("Add", &[&columns, &one_more]);
    let places = call.map("Mul", &[&places, &stride]);
    let begin = if offset < 0 { call.map("Mul", &[&columns, &cut]) } else { cut };
    let places = call.map("Add", &[&places, &begin]);
    let axis = vec![attribute::int("axis", -1)];
    one(call.put("Gather", &[&flat, &places], axis, (x.dtype, x.rank - 1)))
}

/// The windows of a dimension, whose elements are the last dimension.
fn windows(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let (dim, size, step) =
        (axis(call.int("dimension", 0)?, x.rank)?, call.int("size", 1)?, call.int("step", 1)?);
    if x.rank == 0 || step < 1 || size < 0 {
        return None;
    }
    let [size, step, one_more] = [size, step, 1].map(|value| call.constant_vector(&[value]));
    let length = call.size(x, dim);
    let room = call.map("Sub", &[&length, &size]);
    let count = call.map("Div", &[&room, &step]);
    let count = call.map("Add", &[&count, &one_more]);
    let begins = call.counted(&count);
    let begins = call.map("Mul", &[&begins, &step]);
    let (begins, within) = (call.unsqueeze(&begins, &[1]), call.counted(&size));
    let places = call.map("Add", &[&begins, &within]);
    let chosen = vec![attribute::int("axis", i64::try_from(dim).ok()?)];
    let made = call.put("Gather", &[x, &places], chosen, (x.dtype, x.rank + 1));
    let mut order: Vec<usize> = (0..=x.rank).filter(|&place| place != dim + 1).collect();
    order.push(dim + 1);
    one(call.permute(&made, &order))
}

/// Each slice so many times; all elements in a row where no dimension is named.
fn repeated(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let x = if call.has("dim") { x.clone() } else { call.flat(x) };
    let dim = axis(call.int("dim", 0)?, x.rank)?;
    let times = call.index_vector("repeats", 1)?;
    let size = call.size(&x, dim);
    let total = call.map("Mul", &[&size, &times]);
    let places = call.counted(&total);
    let places = call.map("Div", &[&places, &times]);
    let chosen = vec![attribute::int("axis", i64::try_from(dim).ok()?)];
    if x.rank == 0 {
        return None;
    }
    one(call.put("Gather", &[&x, &places], chosen, (x.dtype, x.rank)))
}

/// The tensor with slices added to, or replaced at, places of a dimension.
fn slices(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let dim = axis(call.int("dim", 0)?, x.rank)?;
    let dtype = if op == "index_add" { work(x.dtype) } else { x.dtype };
    let places = call.operand("index", Dtype::Int64)?;
    if x.rank == 0 || places.rank != 1 || dtype.is_bool() && op == "index_add" {
        return None;
    }
    let mut order: Vec<usize> = (0..x.rank).collect();
    order.swap(0, dim);
    let wide = call.cast(x, dtype);
    let turned = call.permute(&wide, &order);
    let source = match op {
        "index_fill" => {
            let value = call.operand("value", dtype)?;
            let counts = call.shape(&places);
            let rest: Vec<Val> = (1..x.rank).map(|at| call.size(&turned, at)).collect();
            let sizes: Vec<&Val> = std::iter::once(&counts).chain(&rest).collect();
            let sizes = call.chained(&sizes);
            call.put("Expand", &[&value, &sizes], Vec::new(), (dtype, x.rank))
        }
        _ => {
            let mut source = call.operand("source", dtype)?;
            if source.rank != x.rank {
                return None;
            }
            if call.has("alpha") {
                let alpha = call.operand("alpha", dtype)?;
                source = call.map("Mul", &[&source, &alpha]);
            }
            call.permute(&source, &order)
        }
    };
    let points = call.unsqueeze(&places, &[-1]);
    let reduction = if op == "index_add" { "add" } else { "none" };
    let attributes = vec![attribute::string("reduction", reduction)];
    let made = call.put("ScatterND", &[&turned, &points, &source], attributes, (dtype, x.rank));
    one(call.permute(&made, &order))
}

/// How many bounds lie below; what is not a number lies above all.
fn buckets(call: &mut Call<'_, '_, '_>, x: &Val, bounds: &Val) -> Made {
    let test = if call.flag("right", false)? { "Greater" } else { "GreaterOrEqual" };
    let dtype = work(if x.dtype.is_float() && !bounds.dtype.is_float() { x.dtype } else { bounds.dtype });
    if x.dtype != bounds.dtype && x.dtype.is_float() == bounds.dtype.is_float() || dtype.is_bool() {
        return None;
    }
    let (x, bounds) = (call.cast(x, dtype), call.cast(bounds, dtype));
    let each = call.unsqueeze(&x, &[-1]);
    let above = call.test(test, &[&bounds, &each]);
    let below = call.map("Not", &[&above]);
    let below = Val { rank: x.rank + 1, ..below };
    let count = call.cast(&below, Dtype::Int64);
    one(call.reduce("ReduceSum", &count, &[-1], false))
}
