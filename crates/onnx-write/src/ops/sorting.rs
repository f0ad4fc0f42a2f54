//! Order.

use super::super::attribute;
use super::super::call::{Call, axis, work};
use super::super::value::{Made, Val, all, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.starts_with("values") || overload.contains("out") || overload.contains("dimname") {
        return None;
    }
    let descending = match op {
        "topk" => call.flag("largest", true)?,
        "sort" | "argsort" => call.flag("descending", false)?,
        _ => return None,
    };
    let x = call.tensor("self")?;
    if x.rank == 0 || x.dtype.is_bool() {
        return None;
    }
    let wide = call.cast(&x, work(x.dtype));
    let dim = axis(call.int("dim", -1)?, x.rank)?;
    let count = match op {
        "topk" => call.index_vector("k", 1)?,
        _ => call.size(&x, dim),
    };
    let attributes = vec![
        attribute::int("axis", i64::try_from(dim).ok()?),
        attribute::int("largest", descending.into()),
        attribute::int("sorted", 1),
    ];
    let names = call.body.emit("TopK", &[&wide.name, &count.name], attributes, 2);
    let [values, places] = <[String; 2]>::try_from(names).ok()?;
    let places = Val { name: places, dtype: Dtype::Int64, rank: x.rank };
    match op {
        "argsort" => one(places),
        _ => all(vec![Val { name: values, ..wide }, places]),
    }
}
