//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod cumulative;
mod extremum;
mod loss;
mod loss_backward;
mod matmul;
mod pointwise;
mod reduction;
mod softmax;
mod sort;
mod vector_norm;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("matmul", matmul::KERNELS),
    ("pointwise", pointwise::KERNELS),
    ("reduction", reduction::KERNELS),
    ("extremum", extremum::KERNELS),
    ("softmax", softmax::KERNELS),
    ("sort", sort::KERNELS),
    ("cumulative", cumulative::KERNELS),
    ("loss", loss::KERNELS),
    ("loss_backward", loss_backward::KERNELS),
    ("vector_norm", vector_norm::KERNELS),
];
