//! Calls that make views.
use super::emitter::{Emitter, Made, Results};
use crate::error::PassError;
use sizewise_ir::{Argument, Input, Meta, Provenance, ValueId};

/// A call that makes a view.
pub struct ViewStep {
    /// The operator: `aten.select.int`.
    pub op: String,
    /// The arguments in terms of the new graph; the one at `viewed` is what is viewed.
    pub inputs: Vec<Input>,
    /// Where the viewed tensor stands.
    pub viewed: usize,
    /// What is recorded of the viewed tensor.
    pub before: Meta,
    /// What is recorded of the results.
    pub results: Vec<Made>,
    /// Whether the results are one list.
    pub list: bool,
    /// Whether the result has the same elements at the same places.
    pub identity: bool,
    /// Where the call comes from.
    pub provenance: Provenance,
}

impl ViewStep {
    /// Makes the view anew of what is viewed now.
    pub fn again(&self, whole: ValueId, emitter: &mut Emitter<'_, '_>) -> Result<Vec<ValueId>, PassError> {
        let mut inputs = self.inputs.clone();
        if let Some(input) = inputs.get_mut(self.viewed) {
            input.arg = Argument::Tensor(whole);
        }
        let results = self.results.clone();
        let results = if self.list { Results::List(results) } else { Results::Values(results) };
        emitter.call(&self.op, inputs, results, &self.provenance)
    }
}
