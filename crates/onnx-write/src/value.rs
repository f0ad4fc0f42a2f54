//! Values of the model under construction, and what a translation gives.
use sizewise_ir::Dtype;

/// A tensor of the model.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub name: String,
    pub dtype: Dtype,
    pub rank: usize,
}

/// What a translation gives: a value for each result, in order; `None` where the operator has no counterpart.
pub(super) type Made = Option<Vec<Option<Val>>>;

/// One result.
pub(super) fn one(value: Val) -> Made {
    Some(vec![Some(value)])
}

/// Several results.
pub(super) fn all(values: Vec<Val>) -> Made {
    Some(values.into_iter().map(Some).collect())
}
