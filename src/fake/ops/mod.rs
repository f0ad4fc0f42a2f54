//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod activation;
mod asserts;
mod binary;
mod cast;
mod creation;
mod cumulative;
mod extremum;
mod matmul;
mod permute;
mod random;
mod reduction;
mod scalar;
mod sequence;
mod slice;
mod softmax;
mod sort;
mod ternary;
mod unary;
mod view;

pub use scalar::call as python_function;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("matmul", matmul::KERNELS),
    ("unary", unary::KERNELS),
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
    ("extremum", extremum::KERNELS),
    ("softmax", softmax::KERNELS),
    ("sort", sort::KERNELS),
    ("cumulative", cumulative::KERNELS),
];
