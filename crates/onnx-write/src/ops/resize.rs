//! Images of other sizes.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;
use sizewise_onnx_model::read::message::AttributeProto;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    let kind = op.strip_prefix('_').unwrap_or(op).strip_prefix("upsample_")?;
    let (mode, dims) = match kind {
        "nearest1d" => ("nearest", 1),
        "nearest2d" => ("nearest", 2),
        "nearest3d" => ("nearest", 3),
        "nearest_exact1d" => ("nearest-exact", 1),
        "nearest_exact2d" => ("nearest-exact", 2),
        "nearest_exact3d" => ("nearest-exact", 3),
        "linear1d" => ("linear", 1),
        "bilinear2d" => ("linear", 2),
        "trilinear3d" => ("linear", 3),
        "bicubic2d" => ("cubic", 2),
        _ => return None,
    };
    if !matches!(overload, "vec" | "default") {
        return None;
    }
    let dtype = work(call.out_dtype()?);
    dtype.is_float().then_some(())?;
    let x = call.operand("input", dtype).or_else(|| call.operand("self", dtype))?;
    let corners = call.flag("align_corners", false)?;
    let place = match (mode, corners) {
        ("nearest", _) => "asymmetric",
        (_, true) => "align_corners",
        _ => "half_pixel",
    };
    let standard = mode.trim_end_matches("-exact");
    let mut attributes: Vec<AttributeProto> =
        vec![attribute::string("mode", standard), attribute::string("coordinate_transformation_mode", place)];
    match mode {
        "nearest" => attributes.push(attribute::string("nearest_mode", "floor")),
        // The places of middles are half an element more than those that are rounded.
        "nearest-exact" => attributes.push(attribute::string("nearest_mode", "round_prefer_ceil")),
        "cubic" => attributes.push(attribute::float("cubic_coeff_a", -0.75)),
        _ => {}
    }
    let none = Val { name: String::new(), dtype, rank: 1 };
    if call.has("output_size") {
        let elements = call.elements("output_size")?;
        (elements.len() == dims).then_some(())?;
        let sizes = call.vector(&elements)?;
        let head = [call.size(&x, 0), call.size(&x, 1)];
        let axis = vec![attribute::int("axis", 0)];
        let sizes = call.put("Concat", &[&head[0], &head[1], &sizes], axis, (Dtype::Int64, 1));
        return one(call.put("Resize", &[&x, &none, &none, &sizes], attributes, (dtype, x.rank)));
    }
    let factors = match call.arg("scale_factors")? {
        sizewise_ir::Argument::Floats(list) if list.len() == dims => list.clone(),
        _ => return None,
    };
    let mut scales = vec![call.float(1.0, Dtype::Float32); 2];
    for factor in factors {
        scales.push(call.float(factor, Dtype::Float32));
    }
    let lines: Vec<Val> = scales.iter().map(|scale| call.unsqueeze(scale, &[0])).collect();
    let lines: Vec<&Val> = lines.iter().collect();
    let scales = call.put("Concat", &lines, vec![attribute::int("axis", 0)], (Dtype::Float32, 1));
    one(call.put("Resize", &[&x, &none, &scales], attributes, (dtype, x.rank)))
}
