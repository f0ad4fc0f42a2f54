//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod adaptive_pooling;
mod batch_norm;
mod binary;
mod convolution;
mod cumulative;
mod distance;
mod einsum;
mod einsum_equation;
mod extremum;
mod layer_norm;
mod matmul;
mod permute;
mod pooling;
mod reduction;
mod slice;
mod softmax;
mod sort;
mod unary;
mod upsample;
mod view;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("matmul", matmul::KERNELS),
    ("distance", distance::KERNELS),
    ("convolution", convolution::KERNELS),
    ("pooling", pooling::KERNELS),
    ("batch_norm", batch_norm::KERNELS),
    ("layer_norm", layer_norm::KERNELS),
    ("upsample", upsample::KERNELS),
    ("adaptive_pooling", adaptive_pooling::KERNELS),
    ("einsum", einsum::KERNELS),
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
