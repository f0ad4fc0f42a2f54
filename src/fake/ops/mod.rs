//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod cumulative;
mod extremum;
mod loss;
mod loss_backward;
mod loss_class;
mod loss_distance;
mod loss_margin;
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
mod vector_norm;
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
    ("cumulative", cumulative::KERNELS),
    ("loss", loss::KERNELS),
    ("loss_backward", loss_backward::KERNELS),
    ("loss_class", loss_class::KERNELS),
    ("loss_distance", loss_distance::KERNELS),
    ("loss_margin", loss_margin::KERNELS),
    ("vector_norm", vector_norm::KERNELS),
    ("split", split::KERNELS),
    ("unary", unary::KERNELS),
];
