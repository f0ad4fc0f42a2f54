//! Images sampled at places, and columns of windows put together.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    match name {
        "grid_sampler.default" | "grid_sampler_2d.default" | "grid_sampler_3d.default" => sampled(call),
        "col2im.default" => folded(call),
        _ => None,
    }
}

/// The elements of an image at places between -1 and 1.
fn sampled(call: &mut Call<'_, '_, '_>) -> Made {
    let dtype = work(call.out_dtype()?);
    dtype.is_float().then_some(())?;
    let (x, places) = (call.operand("input", dtype)?, call.operand("grid", dtype)?);
    let mode = match (call.int("interpolation_mode", 0)?, x.rank) {
        (0, 4 | 5) => "linear",
        (1, 4 | 5) => "nearest",
        (2, 4) => "cubic",
        _ => return None,
    };
    let outside = match call.int("padding_mode", 0)? {
        0 => "zeros",
        1 => "border",
        2 => "reflection",
        _ => return None,
    };
    let attributes = vec![
        attribute::string("mode", mode),
        attribute::string("padding_mode", outside),
        attribute::int("align_corners", call.flag("align_corners", false)?.into()),
    ];
    one(call.put("GridSample", &[&x, &places], attributes, (dtype, x.rank)))
}

/// Columns of windows put where they were, added where they meet.
fn folded(call: &mut Call<'_, '_, '_>) -> Made {
    // onnxruntime has a kernel for `float32` alone.
    let dtype = work(call.out_dtype()?);
    if dtype != Dtype::Float32 {
        return None;
    }
    let x = call.operand("self", dtype)?;
    let batched = match x.rank {
        2 => call.unsqueeze(&x, &[0]),
        3 => x.clone(),
        _ => return None,
    };
    let pair = |name: &str| call.ints(name).filter(|list| list.len() == 2);
    let (kernel, dilation) = (pair("kernel_size")?, pair("dilation")?);
    let (padding, stride) = (pair("padding")?, pair("stride")?);
    let sizes = call.elements("output_size")?;
    let (image, block) = (call.vector(&sizes)?, call.constant_vector(&kernel));
    let attributes = vec![
        attribute::ints("dilations", dilation),
        attribute::ints("pads", [padding.as_slice(), &padding].concat()),
        attribute::ints("strides", stride),
    ];
    let made = call.put("Col2Im", &[&batched, &image, &block], attributes, (dtype, 4));
    one(if x.rank == 2 { call.squeeze(&made, &[0]) } else { made })
}
