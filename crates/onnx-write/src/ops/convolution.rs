//! Convolutions.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    let dims = match op {
        "conv1d" | "conv_transpose1d" => 1,
        "conv2d" | "conv_transpose2d" | "mkldnn_convolution" => 2,
        "conv3d" | "conv_transpose3d" => 3,
        "convolution" | "_convolution" => call.tensor("weight")?.rank.checked_sub(2)?,
        _ => return None,
    };
    let dtype = work(call.out_dtype()?);
    if dtype == Dtype::Bool || dtype.is_complex() {
        return None;
    }
    let transposed = op.starts_with("conv_transpose") || call.flag("transposed", false)?;
    let mut x = call.operand("input", dtype)?;
    let weight = call.operand("weight", dtype)?;
    let single = x.rank == dims + 1;
    if single {
        x = call.unsqueeze(&x, &[0]);
    }
    let strides = call.spatial("stride", dims, 1)?;
    let dilations = call.spatial("dilation", dims, 1)?;
    let mut attributes = vec![
        attribute::ints("strides", strides),
        attribute::ints("dilations", dilations.clone()),
        attribute::int("group", call.int("groups", 1)?),
    ];
    let padding = match overload {
        "padding" => same_padding(call, call.text("padding", "valid")?, dims, &dilations)?,
        _ => call.spatial("padding", dims, 0)?.repeat(2),
    };
    attributes.push(attribute::ints("pads", padding));
    if transposed {
        attributes.push(attribute::ints("output_padding", call.spatial("output_padding", dims, 0)?));
    }
    let mut inputs = vec![x, weight];
    if call.has("bias") {
        inputs.push(call.operand("bias", dtype)?);
    }
    let inputs: Vec<&Val> = inputs.iter().collect();
    let node = if transposed { "ConvTranspose" } else { "Conv" };
    let value = call.put(node, &inputs, attributes, (dtype, dims + 2));
    one(if single { call.squeeze(&value, &[0]) } else { value })
}

/// Pads that keep sizes: what is odd goes to the end.
fn same_padding(call: &Call<'_, '_, '_>, padding: &str, dims: usize, dilations: &[i64]) -> Option<Vec<i64>> {
    match padding {
        "valid" => return Some(vec![0; 2 * dims]),
        "same" => {}
        _ => return None,
    }
    let sizes = &call.recorded("weight")?.sizes;
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    for (size, dilation) in sizes.get(2..)?.iter().zip(dilations) {
        let sizewise_ir::Sym::Literal(size) = size else { return None };
        let total = dilation.checked_mul(size.checked_sub(1)?)?;
        begins.push(total / 2);
        ends.push(total - total / 2);
    }
    begins.extend(ends);
    Some(begins)
}

impl Call<'_, '_, '_> {
    /// A number for each spatial dimension, of which one may stand for all.
    pub fn spatial(&self, name: &str, dims: usize, default: i64) -> Option<Vec<i64>> {
        let given = self.ints(name)?;
        match given.as_slice() {
            [] => Some(vec![default; dims]),
            [all] => Some(vec![*all; dims]),
            list if list.len() == dims => Some(given),
            _ => None,
        }
    }
}
