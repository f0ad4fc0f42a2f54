//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod matmul;
mod pointwise;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] =
    &[("matmul", matmul::KERNELS), ("pointwise", pointwise::KERNELS)];
