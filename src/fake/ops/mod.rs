//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod activation;
mod binary;
mod matmul;
mod ternary;
mod unary;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("matmul", matmul::KERNELS),
    ("unary", unary::KERNELS),
    ("binary", binary::KERNELS),
    ("activation", activation::KERNELS),
    ("ternary", ternary::KERNELS),
];
