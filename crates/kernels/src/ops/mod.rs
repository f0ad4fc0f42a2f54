//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::args::Args;
use super::context::Cx;
use super::error::KernelError;
use super::flops::Flops;
use super::kernel::Family;
use super::registry::Registry;
use super::value::Value;
use sizewise_expr::Expr;
use std::sync::OnceLock;

mod activation;
mod adaptive_pooling;
mod asserts;
mod attention;
mod attention_kernels;
mod batch_norm;
mod binary;
mod calculus;
mod cast;
mod combination;
mod combine;
mod convolution;
mod convolution_gradients;
mod creation;
mod ctc;
mod cumulative;
mod data_dependent;
mod diagonal;
mod distance;
mod dtype_query;
mod einsum;
mod einsum_equation;
mod embedding;
mod embedding_bag;
mod expand;
mod extremum;
mod factor;
mod fake_quantize;
mod fft;
mod fold;
mod foreach;
mod forward_ad;
mod grouped_matmul;
mod histogram;
mod index;
mod index_dim;
mod join;
mod keyed_random;
mod layer_norm;
mod layout;
mod loss;
mod loss_backward;
mod loss_class;
mod loss_distance;
mod loss_margin;
mod matmul;
mod metadata;
mod metadata_flags;
mod optimizer;
mod other_devices;
mod pad;
mod permute;
mod pooling;
mod prims_pointwise;
mod prims_view;
mod quantile;
mod quantized_weight;
mod random;
mod rearrange;
mod recurrent;
mod recurrent_cell;
mod recurrent_fused;
mod reduction;
mod scaled_matmul;
mod scatter;
mod search;
mod segment;
mod sequence;
mod slice;
mod softmax;
mod solve;
mod sort;
mod spectrum;
mod split;
mod stft;
mod strided;
mod ternary;
mod torch_tests;
mod transformer;
mod unary;
mod upsample;
mod vector_norm;
mod view;

macro_rules! families {
    ($($name:ident)+) => {
        &[$(Family { name: stringify!($name), kernels: $name::KERNELS, clauses: $name::CLAUSES }),+]
    };
}

/// The families.
pub const FAMILIES: &[Family] = families! {
    matmul
    forward_ad
    grouped_matmul
    distance
    dtype_query
    convolution
    convolution_gradients
    pooling
    batch_norm
    layer_norm
    upsample
    prims_pointwise
    adaptive_pooling
    einsum
    unary
    binary
    activation
    ternary
    cast
    creation
    sequence
    random
    asserts
    permute
    slice
    view
    keyed_random
    combination
    quantile
    quantized_weight
    histogram
    calculus
    spectrum
    solve
    factor
    reduction
    combine
    cumulative
    data_dependent
    diagonal
    expand
    extremum
    fold
    foreach
    index
    index_dim
    fft
    join
    metadata
    pad
    prims_view
    rearrange
    scaled_matmul
    scatter
    search
    softmax
    sort
    loss
    loss_backward
    loss_class
    loss_distance
    loss_margin
    stft
    split
    strided
    attention
    embedding
    embedding_bag
    recurrent
    recurrent_cell
    attention_kernels
    torch_tests
    transformer
    segment
    fake_quantize
    recurrent_fused
    optimizer
    metadata_flags
    layout
    other_devices
    ctc
    vector_norm
};

/// The formulas of what operators compute, by family; operators in none compute nothing that counts.
const FLOPS: &[&[(&str, Flops)]] = &[
    matmul::FLOPS,
    convolution::FLOPS,
    einsum::FLOPS,
    attention::FLOPS,
    attention_kernels::FLOPS,
    recurrent::FLOPS,
    recurrent_cell::FLOPS,
    transformer::FLOPS,
];

/// The floating point operations of a call of `op`, named as in `aten.mm.default`; 0 for operators that are not counted.
///
/// # Errors
/// When the count is not known: of operators made of others in a way that is not modelled.
pub fn flops(cx: &mut Cx, op: &str, args: &Args, results: &[Value]) -> Result<Expr, KernelError> {
    let formula = FLOPS.iter().find_map(|family| family.iter().find(|(overload, _)| *overload == op));
    formula.map_or(Ok(Expr::ZERO), |(_, formula)| formula(cx, args, results))
}

impl Registry {
    /// The kernels that come with the crate.
    pub fn builtin() -> &'static Registry {
        static BUILTIN: OnceLock<Registry> = OnceLock::new();
        BUILTIN.get_or_init(|| Registry::of(FAMILIES))
    }
}

#[cfg(test)]
mod tests {
    use super::FAMILIES;
    use std::collections::HashMap;

    #[test]
    fn an_overload_has_one_kernel() {
        let mut families: HashMap<&str, Vec<&str>> = HashMap::new();
        for family in FAMILIES {
            for (op, _) in family.kernels {
                families.entry(*op).or_default().push(family.name);
            }
        }
        let mut twice: Vec<String> = families
            .into_iter()
            .filter(|(_, families)| families.len() > 1)
            .map(|(op, families)| format!("{op}: {}", families.join(", ")))
            .collect();
        twice.sort();
        assert!(twice.is_empty(), "{}", twice.join("\n"));
    }
}
