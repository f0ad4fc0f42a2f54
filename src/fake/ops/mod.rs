//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod matmul;
mod permute;
mod pointwise;
mod slice;
mod view;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("matmul", matmul::KERNELS),
    ("permute", permute::KERNELS),
    ("pointwise", pointwise::KERNELS),
    ("slice", slice::KERNELS),
    ("view", view::KERNELS),
];
