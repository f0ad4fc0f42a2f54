//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod activation;
mod attention;
mod binary;
mod combine;
mod asserts;
mod binary;
mod cast;
mod creation;
mod cumulative;
mod embedding;
mod expand;
mod extremum;
mod join;
mod matmul;
mod norm;
mod pad;
mod permute;
mod reduction;
mod slice;
mod softmax;
mod sort;
mod split;
mod symbolic;
mod matmul;
mod permute;
mod random;
mod reduction;
mod sequence;
mod slice;
mod softmax;
mod sort;
mod ternary;
mod unary;
mod view;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("binary", binary::KERNELS),
    ("activation", activation::KERNELS),
    ("ternary", ternary::KERNELS),
    ("cast", cast::KERNELS),
    ("creation", creation::KERNELS),
    ("sequence", sequence::KERNELS),
    ("random", random::KERNELS),
    ("asserts", asserts::KERNELS),
    ("permute", permute::KERNELS),
    ("slice", slice::KERNELS),
    ("view", view::KERNELS),
    ("reduction", reduction::KERNELS),
    ("combine", combine::KERNELS),
    ("cumulative", cumulative::KERNELS),
    ("expand", expand::KERNELS),
    ("extremum", extremum::KERNELS),
    ("join", join::KERNELS),
    ("matmul", matmul::KERNELS),
    ("pad", pad::KERNELS),
    ("softmax", softmax::KERNELS),
    ("sort", sort::KERNELS),
    ("split", split::KERNELS),
    ("unary", unary::KERNELS),
    ("attention", attention::KERNELS),
    ("embedding", embedding::KERNELS),
    ("norm", norm::KERNELS),
    ("symbolic", symbolic::KERNELS),
];
