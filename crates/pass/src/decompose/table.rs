//! The decompositions by operator.
use super::builder::{Builder, Decomposition, Function};
use super::call::Call;
use super::formula::Formula;
use super::formulas::{FORMULAS, Math};
use super::{
    Made, attention, choices, convolutions, creation, distances, einsum, elementwise, losses, margins,
    normalization, padding, pieces, products, recurrent, reductions, sampling, series, turning, views,
};
use crate::tracer::Proxy;
use rustc_hash::FxHashMap;
use sizewise_ir::Dtype;
use std::sync::LazyLock;

/// A line of `formulas.rs`, or a function.
enum Rule {
    Formula(Math, Formula),
    Function(Function),
}

const FUNCTIONS: &[&[(&str, Function)]] = &[
    attention::RULES,
    choices::RULES,
    convolutions::RULES,
    creation::RULES,
    distances::RULES,
    einsum::RULES,
    elementwise::RULES,
    losses::RULES,
    margins::RULES,
    normalization::RULES,
    padding::RULES,
    pieces::RULES,
    products::RULES,
    recurrent::RULES,
    reductions::RULES,
    sampling::RULES,
    series::RULES,
    turning::RULES,
    views::RULES,
];

static TABLE: LazyLock<FxHashMap<&'static str, Rule>> = LazyLock::new(|| {
    let formulas = FORMULAS.iter().filter_map(|(op, math, text)| {
        // A test reads them all.
        Some((*op, Rule::Formula(*math, Formula::read(text).ok()?)))
    });
    let functions = FUNCTIONS.iter().copied().flatten();
    formulas.chain(functions.map(|(op, function)| (*op, Rule::Function(*function)))).collect()
});

/// The decomposition of an operator.
pub fn find(op: &str) -> Option<&'static dyn Decomposition> {
    TABLE.get(op.strip_prefix("aten.")?).map(|rule| rule as _)
}

/// The operators that have a decomposition, in order: `silu.default`.
pub fn operators() -> Vec<&'static str> {
    let mut all: Vec<&str> = TABLE.keys().copied().collect();
    all.sort_unstable();
    all
}

impl Decomposition for Rule {
    fn apply(&self, b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
        match self {
            Rule::Function(function) => function(b, call),
            Rule::Formula(Math::Exact, formula) => formula.apply(b, call, &[]),
            Rule::Formula(Math::Float, formula) => in_float(b, call, formula),
        }
    }
}

/// Computes halves in `float32` and integers in the dtype of the result, and casts back.
fn in_float(b: &mut Builder<'_, '_>, call: &Call<'_>, formula: &Formula) -> Made {
    let op = call.schema.qualified().to_string();
    let result = b.foreseen(call, &op).map(|tensor| tensor.dtype);
    let mut cast: Vec<(Proxy, Proxy)> = Vec::new();
    for tensor in call.tensors() {
        let dtype = b.dtype(tensor)?;
        let wanted = match (dtype, result) {
            (Dtype::Float16 | Dtype::Bfloat16, _) => Dtype::Float32,
            (dtype, Some(result)) if !dtype.is_float() && result.is_float() => result,
            (dtype, _) => dtype,
        };
        if wanted != dtype {
            cast.push((tensor, b.cast(tensor, wanted)?));
        }
    }
    let mut made = formula.apply(b, call, &cast)?;
    if let (Some(result), [only]) = (result, made.as_mut_slice()) {
        *only = b.cast(*only, result)?;
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::{FORMULAS, FUNCTIONS, Formula, operators};
    use sizewise_ir::schema::SchemaTable;

    #[test]
    fn formulas_can_be_read_and_their_operators_exist_once() {
        for (op, _, text) in FORMULAS {
            assert!(Formula::read(text).is_ok(), "{op}: {:?}", Formula::read(text));
        }
        for op in operators() {
            assert!(SchemaTable::global().get(&format!("aten.{op}")).is_some(), "{op}");
        }
        let entries = FORMULAS.len() + FUNCTIONS.iter().map(|rules| rules.len()).sum::<usize>();
        assert_eq!(operators().len(), entries);
    }
}
