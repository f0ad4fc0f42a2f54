//! Fake kernels by family. Each family lists its overloads with their kernels.
use super::args::Args;
use super::context::Cx;
use super::error::KernelError;
use super::flops::Flops;
use super::kernel::Kernel;
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

/// The families: name and kernels.
pub const FAMILIES: &[(&str, &[(&str, Kernel)])] = &[
    ("matmul", matmul::KERNELS),
    ("forward_ad", forward_ad::KERNELS),
    ("grouped_matmul", grouped_matmul::KERNELS),
    ("distance", distance::KERNELS),
    ("dtype_query", dtype_query::KERNELS),
    ("convolution", convolution::KERNELS),
    ("convolution_gradients", convolution_gradients::KERNELS),
    ("pooling", pooling::KERNELS),
    ("batch_norm", batch_norm::KERNELS),
    ("layer_norm", layer_norm::KERNELS),
    ("upsample", upsample::KERNELS),
    ("prims_pointwise", prims_pointwise::KERNELS),
    ("adaptive_pooling", adaptive_pooling::KERNELS),
    ("einsum", einsum::KERNELS),
    ("unary", unary::KERNELS),
    ("binary", binary::KERNELS),
    ("activation", activation::KERNELS),
    ("ternary", ternary::KERNELS),
    ("cast", cast::KERNELS),
    ("creation", creation::KERNELS),
    ("sequence", sequence::KERNELS),
    ("random", random::KERNELS),
    ("asserts", asserts::KERNELS),
    ("permute", permute::KERNELS),
    ("slice", slice::KERNELS),
    ("view", view::KERNELS),
    ("keyed_random", keyed_random::KERNELS),
    ("combination", combination::KERNELS),
    ("quantile", quantile::KERNELS),
    ("quantized_weight", quantized_weight::KERNELS),
    ("histogram", histogram::KERNELS),
    ("calculus", calculus::KERNELS),
    ("spectrum", spectrum::KERNELS),
    ("solve", solve::KERNELS),
    ("factor", factor::KERNELS),
    ("reduction", reduction::KERNELS),
    ("combine", combine::KERNELS),
    ("cumulative", cumulative::KERNELS),
    ("data_dependent", data_dependent::KERNELS),
    ("diagonal", diagonal::KERNELS),
    ("expand", expand::KERNELS),
    ("extremum", extremum::KERNELS),
    ("fold", fold::KERNELS),
    ("foreach", foreach::KERNELS),
    ("index", index::KERNELS),
    ("index_dim", index_dim::KERNELS),
    ("fft", fft::KERNELS),
    ("join", join::KERNELS),
    ("metadata", metadata::KERNELS),
    ("pad", pad::KERNELS),
    ("prims_view", prims_view::KERNELS),
    ("rearrange", rearrange::KERNELS),
    ("scatter", scatter::KERNELS),
    ("search", search::KERNELS),
    ("softmax", softmax::KERNELS),
    ("sort", sort::KERNELS),
    ("loss", loss::KERNELS),
    ("loss_backward", loss_backward::KERNELS),
    ("loss_class", loss_class::KERNELS),
    ("loss_distance", loss_distance::KERNELS),
    ("loss_margin", loss_margin::KERNELS),
    ("stft", stft::KERNELS),
    ("split", split::KERNELS),
    ("strided", strided::KERNELS),
    ("attention", attention::KERNELS),
    ("embedding", embedding::KERNELS),
    ("embedding_bag", embedding_bag::KERNELS),
    ("recurrent", recurrent::KERNELS),
    ("recurrent_cell", recurrent_cell::KERNELS),
    ("attention_kernels", attention_kernels::KERNELS),
    ("torch_tests", torch_tests::KERNELS),
    ("transformer", transformer::KERNELS),
    ("segment", segment::KERNELS),
    ("fake_quantize", fake_quantize::KERNELS),
    ("recurrent_fused", recurrent_fused::KERNELS),
    ("optimizer", optimizer::KERNELS),
    ("metadata_flags", metadata_flags::KERNELS),
    ("layout", layout::KERNELS),
    ("other_devices", other_devices::KERNELS),
    ("ctc", ctc::KERNELS),
    ("vector_norm", vector_norm::KERNELS),
];

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
        for (family, kernels) in FAMILIES {
            for (op, _) in *kernels {
                families.entry(*op).or_default().push(*family);
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
