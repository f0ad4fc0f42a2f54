//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::registry::Kernel;

mod binary;
mod combine;
mod cumulative;
mod data_dependent;
mod diagonal;
mod expand;
mod extremum;
mod fold;
mod index;
mod index_dim;
mod join;
mod matmul;
mod metadata;
mod pad;
mod permute;
mod prims_view;
mod rearrange;
mod reduction;
mod scatter;
mod search;
mod slice;
mod softmax;
mod sort;
mod split;
mod strided;
mod unary;
mod view;

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("binary", binary::KERNELS),
    ("combine", combine::KERNELS),
    ("cumulative", cumulative::KERNELS),
    ("data_dependent", data_dependent::KERNELS),
    ("diagonal", diagonal::KERNELS),
    ("expand", expand::KERNELS),
    ("extremum", extremum::KERNELS),
    ("fold", fold::KERNELS),
    ("index", index::KERNELS),
    ("index_dim", index_dim::KERNELS),
    ("join", join::KERNELS),
    ("matmul", matmul::KERNELS),
    ("metadata", metadata::KERNELS),
    ("pad", pad::KERNELS),
    ("permute", permute::KERNELS),
    ("prims_view", prims_view::KERNELS),
    ("rearrange", rearrange::KERNELS),
    ("reduction", reduction::KERNELS),
    ("scatter", scatter::KERNELS),
    ("search", search::KERNELS),
    ("slice", slice::KERNELS),
    ("softmax", softmax::KERNELS),
    ("sort", sort::KERNELS),
    ("split", split::KERNELS),
    ("strided", strided::KERNELS),
    ("unary", unary::KERNELS),
    ("view", view::KERNELS),
];
