//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod expand;
mod matmul;
mod permute;
mod pointwise;
mod slice;
mod split;
mod view;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("expand", expand::KERNELS),
    ("matmul", matmul::KERNELS),
    ("permute", permute::KERNELS),
    ("pointwise", pointwise::KERNELS),
    ("slice", slice::KERNELS),
    ("split", split::KERNELS),
    ("view", view::KERNELS),
];
