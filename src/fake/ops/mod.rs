//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod activation;
mod binary;
mod matmul;
mod ternary;
mod unary;
mod permute;
mod slice;
mod view;
mod combine;
mod cumulative;
mod expand;
mod extremum;
mod join;
mod pad;
mod reduction;
mod softmax;
mod sort;
mod split;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("binary", binary::KERNELS),
    ("activation", activation::KERNELS),
    ("ternary", ternary::KERNELS),
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
];
