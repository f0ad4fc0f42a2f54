//! The shape functions, by family.
mod attention;
mod attention_lstm;
mod attention_mask;
mod boxes;
mod branches;
mod cast;
mod channels_last;
mod contrib;
mod convolution;
mod creation;
mod decoder_attention;
mod decoding;
mod einsum;
mod elementwise;
mod embedding;
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
mod products;
mod quantization;
mod quantized_experts;
mod ragged;
mod rearrange;
mod recurrent;
mod reduction;
mod relative;
mod rotary;
mod sampling;
mod scatter;
mod sequence;
mod signal;
mod slicing;
mod sorting;
mod squeeze;
mod strings;
mod transposed_convolution;
mod trees;

#[cfg(test)]
mod decoder_tests;
#[cfg(test)]
mod fused_tests;
#[cfg(test)]
mod layer_tests;

use super::op::Op;
use super::schema;
use rustc_hash::FxHashMap;
use sizewise_env::{Clause, Clauses, OpClause};
use std::sync::OnceLock;

/// Operators of one domain.
type Family = &'static [Op];

pub(super) const MICROSOFT: &str = "com.microsoft";
pub(super) const LEARNING: &str = "ai.onnx.ml";

/// The conditions that a check treats in ways of their own.
pub mod clauses {
    pub use super::einsum::Einsum;
    pub use super::elementwise::Broadcast;
    pub use super::interpolation::Resize;
    pub use super::layout::Expand;
    pub use super::linear::MatMul;
    pub use super::numbers::{Float, Integer};
    pub use super::quantization::Quantized;
}

/// What each of these files lists by a name.
macro_rules! of_each {
    ($list:ident: $($family:ident)+) => { &[$($family::$list),+] };
}

/// The families of each domain.
const FAMILIES: &[(&str, &[Family])] = &[
    (
        "",
        of_each!(KERNELS:
            attention boxes cast convolution creation einsum elementwise gather image layout linear loss
            normalization pooling quantization rearrange recurrent reduction rotary sampling scatter sequence signal
            slicing sorting squeeze strings transposed_convolution
        ),
    ),
    (LEARNING, of_each!(KERNELS: learning trees)),
    (
        MICROSOFT,
        of_each!(CONTRIB:
            attention attention_lstm branches channels_last decoder_attention decoding engram fused generation
            linear_attention multi_head ordered packed pooling quantization quantized_experts ragged relative
            recurrent rotary signal strings
        ),
    ),
    (MICROSOFT, of_each!(KERNELS: contrib embedding)),
];

/// The conditions of operators.
const CLAUSES: &[Clauses] = of_each!(CLAUSES:
    attention attention_lstm attention_mask boxes branches cast channels_last contrib convolution
    creation decoder_attention decoding einsum elementwise embedding engram fused gather generation
    image interpolation layout learning linear linear_attention loss multi_head normalization numbers
    ordered output_shape packed pooling quantization quantized_experts ragged rearrange recurrent
    reduction relative rotary sampling scatter sequence signal slicing sorting squeeze strings trees
);

/// The conditions of operators that shape functions have.
pub fn conditions() -> impl Iterator<Item = &'static OpClause> {
    CLAUSES.iter().copied().chain([schema::CLAUSES]).flatten().copied().flatten().copied()
}

/// Whether a condition decides which way a node takes, and requires nothing, as its operator says.
pub fn is_way(clause: Clause) -> bool {
    matches!(clause, Clause::Operator(clause) if squeeze::WAYS.contains(&clause))
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
