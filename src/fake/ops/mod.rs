//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod binary;
mod matmul;
mod unary;
mod permute;
mod slice;
mod view;
mod cumulative;
mod extremum;
mod reduction;
mod softmax;
mod sort;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("matmul", matmul::KERNELS),
    ("unary", unary::KERNELS),
    ("binary", binary::KERNELS),
    ("permute", permute::KERNELS),
    ("slice", slice::KERNELS),
    ("view", view::KERNELS),
    ("reduction", reduction::KERNELS),
    ("extremum", extremum::KERNELS),
    ("softmax", softmax::KERNELS),
    ("sort", sort::KERNELS),
    ("cumulative", cumulative::KERNELS),
];
