//! The shape functions, by family.
mod attention;
mod attention_lstm;
mod boxes;
mod branches;
mod channels_last;
mod contrib;
mod convolution;
mod creation;
mod decoder_attention;
mod decoding;
mod einsum;
mod elementwise;
mod engram;
mod fused;
mod gather;
mod generation;
mod image;
mod interpolation;
mod layout;
mod learning;
mod linear;
mod linear_attention;
mod loss;
mod meeting;
mod multi_head;
mod normalization;
mod ordered;
mod output_shape;
mod packed;
mod policy;
mod pooling;
mod quantization;
mod quantized_experts;
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
mod trees;

#[cfg(test)]
mod decoder_tests;
#[cfg(test)]
mod fused_tests;
#[cfg(test)]
mod layer_tests;

pub use generation::graphs_left_out;

use super::call::{Checked, Outcome};
use rustc_hash::FxHashMap;
use sizewise_kernels::Cx;
use std::sync::OnceLock;

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
    (LEARNING, &[learning::KERNELS, trees::KERNELS]),
    (
        MICROSOFT,
        &[
            contrib::KERNELS,
            attention::CONTRIB,
            attention_lstm::CONTRIB,
            branches::CONTRIB,
            channels_last::CONTRIB,
            decoder_attention::CONTRIB,
            decoding::CONTRIB,
            engram::CONTRIB,
            fused::CONTRIB,
            generation::CONTRIB,
            linear_attention::CONTRIB,
            multi_head::CONTRIB,
            ordered::CONTRIB,
            packed::CONTRIB,
            pooling::CONTRIB,
            quantization::CONTRIB,
            quantized_experts::CONTRIB,
            ragged::CONTRIB,
            relative::CONTRIB,
            recurrent::CONTRIB,
            rotary::CONTRIB,
            signal::CONTRIB,
            strings::CONTRIB,
        ],
    ),
];

/// Whether a condition decides which way a node takes, and requires nothing, as its operator says.
pub fn is_way(clause: &str) -> bool {
    layout::WAYS.contains(&clause)
}

/// The shape function of an operator.
pub(super) fn kernel(domain: &str, op: &str) -> Option<Kernel> {
    static KERNELS: OnceLock<FxHashMap<(&str, &str), Kernel>> = OnceLock::new();
    let known = KERNELS.get_or_init(|| {
        let of_domain = |(domain, families): &(&'static str, &'static [Family])| {
            let domain = *domain;
            families.iter().flat_map(|family| family.iter()).map(move |(op, kernel)| ((domain, *op), *kernel))
        };
        FAMILIES.iter().flat_map(of_domain).collect()
    });
    known.get(&(domain, op)).copied()
}
