//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod activation;
mod binary;
mod combine;
mod cumulative;
mod expand;
mod extremum;
mod fft;
mod join;
mod loss;
mod loss_backward;
mod loss_class;
mod loss_distance;
mod loss_margin;
mod matmul;
mod pad;
mod permute;
mod reduction;
mod slice;
mod softmax;
mod sort;
mod split;
mod stft;
mod ternary;
mod unary;
mod vector_norm;
mod view;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("activation", activation::KERNELS),
    ("binary", binary::KERNELS),
    ("combine", combine::KERNELS),
    ("cumulative", cumulative::KERNELS),
    ("expand", expand::KERNELS),
    ("extremum", extremum::KERNELS),
    ("fft", fft::KERNELS),
    ("join", join::KERNELS),
    ("loss", loss::KERNELS),
    ("loss_backward", loss_backward::KERNELS),
    ("loss_class", loss_class::KERNELS),
    ("loss_distance", loss_distance::KERNELS),
    ("loss_margin", loss_margin::KERNELS),
    ("matmul", matmul::KERNELS),
    ("pad", pad::KERNELS),
    ("permute", permute::KERNELS),
    ("reduction", reduction::KERNELS),
    ("slice", slice::KERNELS),
    ("softmax", softmax::KERNELS),
    ("sort", sort::KERNELS),
    ("stft", stft::KERNELS),
    ("split", split::KERNELS),
    ("ternary", ternary::KERNELS),
    ("unary", unary::KERNELS),
    ("vector_norm", vector_norm::KERNELS),
    ("view", view::KERNELS),
];
