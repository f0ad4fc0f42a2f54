//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod cumulative;
mod extremum;
mod loss;
mod loss_backward;
mod loss_class;
mod loss_distance;
mod loss_margin;
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
    ("loss_class", loss_class::KERNELS),
    ("loss_distance", loss_distance::KERNELS),
    ("loss_margin", loss_margin::KERNELS),
    ("vector_norm", vector_norm::KERNELS),
];
