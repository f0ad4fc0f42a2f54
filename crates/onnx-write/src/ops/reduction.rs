//! Reductions.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, all, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") || overload.contains("names") || call.out_dtype()?.is_complex() {
        return None;
    }
    let x = call.tensor("self").or_else(|| call.tensor("input"))?;
    let out = work(call.out_dtype()?);
    let keep = call.flag("keepdim", false)?;
    match op {
        "sum" | "mean" | "prod" | "amax" | "amin" | "logsumexp" => {
            let dims = call.ints("dim")?;
            let compute = if out.is_bool() { Dtype::Int32 } else { out };
            let x = call.cast(&x, compute);
            one(simple(call, op, &x, &dims, keep)?)
        }
        "max" | "min" if overload == "default" => {
            let x = call.cast(&x, if out.is_bool() { Dtype::Int32 } else { out });
            one(call.reduce(if op == "max" { "ReduceMax" } else { "ReduceMin" }, &x, &[], false))
        }
        "max" | "min" if overload == "dim" => extreme(call, op, &x, keep),
        "argmax" | "argmin" => {
            let node = if op == "argmax" { "ArgMax" } else { "ArgMin" };
            index_of(call, node, &x, keep).and_then(one)
        }
        "any" | "all" => {
            let dims = call.ints("dim").or_else(|| call.ints("dims"))?;
            let truth = call.cast(&x, Dtype::Bool);
            // Counted, as the largest of nothing is no truth value.
            let truth = if op == "all" { call.map("Not", &[&truth]) } else { truth };
            let number = call.cast(&truth, Dtype::Int64);
            let count = call.reduce("ReduceSum", &number, &dims, keep);
            let found = call.cast(&count, Dtype::Bool);
            one(if op == "all" { call.map("Not", &[&found]) } else { found })
        }
        "count_nonzero" => {
            let dims = call.ints("dim")?;
            let truth = call.cast(&x, Dtype::Bool);
            let number = call.cast(&truth, Dtype::Int64);
            one(call.reduce("ReduceSum", &number, &dims, false))
        }
        "var" | "std" | "var_mean" | "std_mean" => variance(call, op, overload, &x, keep),
        "linalg_vector_norm" | "norm" => norm(call, &x, out, keep).and_then(one),
        "cumsum" => {
            let x = call.cast(&x, out);
            let axis = call.int("dim", 0)?;
            if x.rank == 0 {
                return one(x);
            }
            let axis = call.integer(axis, Dtype::Int64);
            one(call.put("CumSum", &[&x, &axis], Vec::new(), (x.dtype, x.rank)))
        }
        "cumprod" => {
            let x = call.cast(&x, out);
            let dim = call.int("dim", 0)?;
            products(call, &x, dim)
        }
        _ => None,
    }
}

/// The products of all beginnings: each is that of a row in which 1 stands for what lies behind.
fn products(call: &mut Call<'_, '_, '_>, x: &Val, dim: i64) -> Made {
    let dim = super::super::call::axis(dim, x.rank)?;
    if x.rank == 0 || x.dtype.is_bool() {
        return None;
    }
    let mut order: Vec<usize> = (0..x.rank).collect();
    order.swap(dim, x.rank - 1);
    let turned = call.permute(x, &order);
    let size = call.size(x, dim);
    let sizes = call.put("Concat", &[&size, &size], vec![attribute::int("axis", 0)], (Dtype::Int64, 1));
    let all = call.integer(1, Dtype::Int64);
    let ones = call.put("Expand", &[&all, &sizes], Vec::new(), (Dtype::Int64, 2));
    let lower = call.put("Trilu", &[&ones], vec![attribute::int("upper", 0)], (Dtype::Int64, 2));
    let kept = call.cast(&lower, Dtype::Bool);
    let rows = call.unsqueeze(&turned, &[-2]);
    let neutral = call.integer(1, x.dtype);
    let rows = call.map("Where", &[&kept, &rows, &neutral]);
    let rows = Val { rank: x.rank + 1, ..rows };
    let made = call.reduce("ReduceProd", &rows, &[-1], false);
    one(call.permute(&made, &order))
}

fn simple(call: &mut Call<'_, '_, '_>, op: &str, x: &Val, dims: &[i64], keep: bool) -> Option<Val> {
    let node = match op {
        "sum" => "ReduceSum",
        "mean" => "ReduceMean",
        "prod" => "ReduceProd",
        "amax" => "ReduceMax",
        "amin" => "ReduceMin",
        _ => {
            // The largest is taken out first, so that no exponential overflows.
            let top = call.reduce("ReduceMax", x, dims, true);
            let (zero, infinite) = (call.float(0.0, x.dtype), call.test("IsInf", &[&top]));
            let top = call.map("Where", &[&infinite, &zero, &top]);
            let rest = call.map("Sub", &[x, &top]);
            let exp = call.map("Exp", &[&rest]);
            let sum = call.reduce("ReduceSum", &exp, dims, keep);
            let log = call.map("Log", &[&sum]);
            let top = match (keep || x.rank == 0, dims.is_empty()) {
                (true, _) => top,
                (_, true) => call.scalar(&top),
                _ => call.squeeze(&top, dims),
            };
            return Some(call.map("Add", &[&log, &top]));
        }
    };
    Some(call.reduce(node, x, dims, keep))
}

fn index_of(call: &mut Call<'_, '_, '_>, node: &str, x: &Val, keep: bool) -> Option<Val> {
    let compute = if x.dtype.is_bool() { Dtype::Int32 } else { work(x.dtype) };
    let mut x = call.cast(x, compute);
    let dim = match call.has("dim") {
        true => call.int("dim", 0)?,
        false if keep => return None,
        false => {
            x = call.flat(&x);
            0
        }
    };
    if x.rank == 0 {
        return Some(call.integer(0, Dtype::Int64));
    }
    let attributes = vec![attribute::int("axis", dim), attribute::int("keepdims", keep.into())];
    let rank = if keep { x.rank } else { x.rank - 1 };
    Some(call.put(node, &[&x], attributes, (Dtype::Int64, rank)))
}

fn extreme(call: &mut Call<'_, '_, '_>, op: &str, x: &Val, keep: bool) -> Made {
    let dim = call.int("dim", 0)?;
    let compute = if x.dtype.is_bool() { Dtype::Int32 } else { work(x.dtype) };
    let wide = call.cast(x, compute);
    let (values, places) = if op == "max" { ("ReduceMax", "ArgMax") } else { ("ReduceMin", "ArgMin") };
    let value = call.reduce(values, &wide, &[dim], keep);
    let index = index_of(call, places, x, keep)?;
    all(vec![value, index])
}

/// The variance with a correction of the number of elements.
fn variance(call: &mut Call<'_, '_, '_>, op: &str, overload: &str, x: &Val, keep: bool) -> Made {
    let dtype = work(x.dtype);
    dtype.is_float().then_some(())?;
    let x = call.cast(x, dtype);
    let correction = match overload {
        "correction" => call.real("correction", 1.0)?,
        _ => f64::from(u8::from(call.flag("unbiased", true)?)),
    };
    let dims = call.ints("dim")?;
    let mean = call.reduce("ReduceMean", &x, &dims, true);
    let rest = call.map("Sub", &[&x, &mean]);
    let square = call.map("Mul", &[&rest, &rest]);
    let sum = call.reduce("ReduceSum", &square, &dims, keep);
    let count = call.count(&x, &dims)?;
    let count = call.cast(&count, dtype);
    let (correction, zero) = (call.float(correction, dtype), call.float(0.0, dtype));
    let free = call.map("Sub", &[&count, &correction]);
    let free = call.map("Max", &[&free, &zero]);
    let mut value = call.map("Div", &[&sum, &free]);
    if op.starts_with("std") {
        value = call.map("Sqrt", &[&value]);
    }
    if !op.ends_with("mean") {
        return one(value);
    }
    let mean = call.reduce("ReduceMean", &x, &dims, keep);
    all(vec![value, mean])
}

fn norm(call: &mut Call<'_, '_, '_>, x: &Val, out: Dtype, keep: bool) -> Option<Val> {
    let order = match (call.has("ord"), call.has("p")) {
        (true, _) => call.real("ord", 2.0)?,
        (_, true) => call.real("p", 2.0)?,
        _ => 2.0,
    };
    out.is_float().then_some(())?;
    let x = call.cast(x, out);
    let dims = call.ints("dim")?;
    let size = call.map("Abs", &[&x]);
    Some(if order == 2.0 {
        let square = call.map("Mul", &[&x, &x]);
        let sum = call.reduce("ReduceSum", &square, &dims, keep);
        call.map("Sqrt", &[&sum])
    } else if order == 1.0 {
        call.reduce("ReduceSum", &size, &dims, keep)
    } else if order == f64::INFINITY {
        call.reduce("ReduceMax", &size, &dims, keep)
    } else if order == f64::NEG_INFINITY {
        call.reduce("ReduceMin", &size, &dims, keep)
    } else if order > 0.0 {
        let (power, root) = (call.float(order, out), call.float(1.0 / order, out));
        let raised = call.map("Pow", &[&size, &power]);
        let sum = call.reduce("ReduceSum", &raised, &dims, keep);
        call.map("Pow", &[&sum, &root])
    } else {
        return None;
    })
}

impl Call<'_, '_, '_> {
    /// How many elements these dimensions hold, all of them where none is named.
    pub fn count(&mut self, x: &Val, dims: &[i64]) -> Option<Val> {
        if x.rank == 0 {
            return Some(self.integer(1, Dtype::Int64));
        }
        let mut sizes = self.shape(x);
        if !dims.is_empty() {
            let places: Option<Vec<i64>> = dims
                .iter()
                .map(|&dim| super::super::call::axis(dim, x.rank).and_then(|dim| i64::try_from(dim).ok()))
                .collect();
            let places = self.constant_vector(&places?);
            sizes = self.put("Gather", &[&sizes, &places], Vec::new(), (Dtype::Int64, 1));
        }
        Some(self.reduce("ReduceProd", &sizes, &[], false))
    }
}
