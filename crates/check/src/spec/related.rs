//! Sizes that a spec relates to others: those that it computes from a dimension, and those that repeat one.
use super::Contract;
use super::change::{dim_json, dimension_name, linear_entry};
use super::dim::{DimSpec, Entry};
use super::locate::{dims_of, places, set_entry};
use super::parse::Spec;
use serde_json::json;
use sizewise_expr::Int;

/// The most sizes that are related anew.
const MAX_RELATED: usize = 8;

/// A size that a spec relates to a dimension.
#[derive(Clone, Debug)]
pub struct Related {
    /// Where it stands: `y.shape[0]`.
    pub path: String,
    /// A name for it, which the spec does not have.
    pub name: String,
    /// What the spec says: `d + 4`.
    pub says: String,
    /// The dimension.
    pub root: String,
    entry: DimSpec,
    input: usize,
    dim: usize,
}

impl Spec {
    /// The spec in which the sizes that it relates to dimensions are dimensions of their own, and these. Of the places of one
    /// dimension the first stays.
    pub fn unrelated(&self, contract: &Contract) -> Option<(Spec, Vec<Related>)> {
        if self.shapes.is_some() {
            return None;
        }
        let places = places(contract, self).ok()?;
        let mut known: Vec<&str> = Vec::new();
        let (mut spec, mut related) = (self.clone(), Vec::new());
        for (place, dim) in places.iter().zip(dims_of(&places)) {
            let (says, entry) = match &place.entry {
                Entry::Dim(root) if known.contains(&root.name.as_str()) => (root.name.clone(), root),
                Entry::Dim(root) => {
                    known.push(&root.name);
                    continue;
                }
                Entry::Derived { expression, root } => (expression.clone(), root),
                _ => continue,
            };
            let input = &contract.inputs[place.input];
            let name = format!("_{}", dimension_name(&input.path(), dim));
            if set_entry(&mut spec, contract, input, dim, dim_json(&name, 0, None)) {
                related.push(Related {
                    path: place.path.clone(),
                    name,
                    says,
                    root: entry.name.clone(),
                    entry: entry.clone(),
                    input: place.input,
                    dim,
                });
            }
        }
        // A dimension that stands nowhere by itself is not known without what is computed from it.
        related.retain(|place| known.contains(&place.root.as_str()));
        (1..=MAX_RELATED).contains(&related.len()).then_some((spec, related))
    }

    /// The spec in which such a size is `factor * root + offset`, and that as people write it.
    pub fn relating(
        &self,
        contract: &Contract,
        place: &Related,
        factor: i64,
        offset: i64,
    ) -> Option<(Spec, String)> {
        let DimSpec { name, min, max } = &place.entry;
        let root = json!({"dim": name, "min": min.to_i64(), "max": max.as_ref().and_then(Int::to_i64)});
        let (entry, text) = linear_entry(name, root, factor, offset);
        let mut spec = self.clone();
        let input = &contract.inputs[place.input];
        set_entry(&mut spec, contract, input, place.dim, entry).then_some((spec, text))
    }
}
