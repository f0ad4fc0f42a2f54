//! The shape functions, by family.
mod attention;
mod boxes;
mod channels_last;
mod contrib;
mod convolution;
mod creation;
mod decoding;
mod einsum;
mod elementwise;
mod fused;
mod gather;
mod image;
mod layout;
mod learning;
mod linear;
mod loss;
mod meeting;
mod normalization;
mod ordered;
mod packed;
mod policy;
mod pooling;
mod quantization;
mod ragged;
mod recurrent;
mod reduction;
mod relative;
mod rotary;
mod scatter;
mod sequence;
mod signal;
mod slicing;
mod sorting;
mod strings;

#[cfg(test)]
mod fused_tests;
#[cfg(test)]
mod layer_tests;

use super::call::{Checked, Outcome};
use sizewise_kernels::Cx;

/// A shape function.
pub(super) type Kernel = fn(&mut Cx, &Checked) -> Outcome;
/// Operators of one domain with their shape functions.
type Family = &'static [(&'static str, Kernel)];

pub(super) const MICROSOFT: &str = "com.microsoft";
pub(super) const LEARNING: &str = "ai.onnx.ml";

/// The families of each domain.
const FAMILIES: &[(&str, &[Family])] = &[
    (
        "",
        &[
            attention::KERNELS,
            boxes::KERNELS,
            convolution::KERNELS,
            creation::KERNELS,
            einsum::KERNELS,
            elementwise::KERNELS,
            gather::KERNELS,
            image::KERNELS,
            layout::KERNELS,
            linear::KERNELS,
            loss::KERNELS,
            normalization::KERNELS,
            pooling::KERNELS,
            quantization::KERNELS,
            recurrent::KERNELS,
            reduction::KERNELS,
            rotary::KERNELS,
            scatter::KERNELS,
            sequence::KERNELS,
            signal::KERNELS,
            slicing::KERNELS,
            sorting::KERNELS,
            strings::KERNELS,
        ],
    ),
    (LEARNING, &[learning::KERNELS]),
    (
        MICROSOFT,
        &[
            contrib::KERNELS,
            attention::CONTRIB,
            channels_last::CONTRIB,
            decoding::CONTRIB,
            fused::CONTRIB,
            ordered::CONTRIB,
            packed::CONTRIB,
            pooling::CONTRIB,
            quantization::CONTRIB,
            ragged::CONTRIB,
            relative::CONTRIB,
            recurrent::CONTRIB,
            rotary::CONTRIB,
            signal::CONTRIB,
            strings::CONTRIB,
        ],
    ),
];

/// The shape function of an operator. It is looked for once: a schema keeps it.
pub(super) fn kernel(domain: &str, op: &str) -> Option<Kernel> {
    let (_, families) = FAMILIES.iter().find(|(of, _)| *of == domain)?;
    let (_, kernel) = families.iter().flat_map(|family| family.iter()).find(|(name, _)| *name == op)?;
    Some(*kernel)
}
