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
mod numbers;
mod ordered;
mod output_shape;
mod packed;
mod policy;
mod pooling;
mod quantization;
mod quantized_experts;
mod ragged;
mod rearrange;
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

use super::op::Op;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Operators of one domain.
type Family = &'static [Op];

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
            rearrange::KERNELS,
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
    clause == "If.C4" || layout::WAYS.contains(&clause)
}

/// All operators with their domains.
fn all() -> impl Iterator<Item = (&'static str, &'static Op)> {
    let of_domain = |(domain, families): &(&'static str, &'static [Family])| {
        let domain = *domain;
        families.iter().flat_map(|family| family.iter()).map(move |op| (domain, op))
    };
    FAMILIES.iter().flat_map(of_domain)
}

/// An operator, if there is a shape function for it.
pub fn operator(domain: &str, op: &str) -> Option<&'static Op> {
    static OPERATORS: OnceLock<FxHashMap<(&str, &str), &Op>> = OnceLock::new();
    let known = OPERATORS.get_or_init(|| all().map(|(domain, op)| ((domain, op.name), op)).collect());
    known.get(&(domain, op)).copied()
}

/// The inputs on whose elements operators put conditions: domain, operator, position.
#[cfg(test)]
pub fn conditions_on_elements() -> impl Iterator<Item = (&'static str, &'static str, usize)> {
    all().flat_map(|(domain, op)| op.run_time.iter().map(move |rule| (domain, op.name, rule.input)))
}
