//! Outputs whose shapes or values differ, for inputs that both programs accept.
use super::OutputChange;
use super::direction::{Direction, accepts_nothing};
use super::form::{Form, SharedSize};
use super::side::Outcome;
use sizewise_check::check::Shapes;
use sizewise_expr::Expr;
use sizewise_solve::{Budget, Verdict, Witness, decide};

/// The most examples of differences that are replayed.
const MAX_EXAMPLES: usize = 4;

/// What is known of the outputs.
#[derive(Default)]
pub(super) struct Outputs {
    pub changes: Vec<OutputChange>,
    /// What could not be compared.
    pub notes: Vec<String>,
}

/// Compares the outputs by proof; where a proof fails, at an example.
pub(super) fn compare(
    direction: &Direction,
    old: &mut Form,
    new: &mut Form,
    places: &[SharedSize],
) -> Outputs {
    let mut outputs = Outputs::default();
    let (mut compared, mut open) = (Compared::default(), false);
    let both = [old.acceptance, new.acceptance];
    if both.iter().any(|acceptance| !acceptance.results_are_derived) {
        open = true;
    } else {
        compared = symbolically(direction, old, new);
    }
    open |= !compared.open.is_empty();
    // Sizes that are derived hold where the programs are followed; elsewhere they are compared at the example only.
    let witnesses = compared.witnesses.into_iter().take(MAX_EXAMPLES).chain([Witness::new()]);
    for witness in witnesses {
        let found =
            direction.from.shapes_with(&witness).map(|shapes| at(direction, &shapes)).unwrap_or_default();
        for change in found {
            if !outputs.changes.iter().any(|known| known.output == change.output) {
                outputs.changes.push(change);
            }
        }
    }
    outputs.changes.sort_by_key(|change| change.output);
    if compared.depend_on_data {
        outputs.notes.push("sizes of outputs that depend on data take no part".to_owned());
    }
    if open && outputs.changes.is_empty() {
        let text = "whether all outputs have the same shapes is not proved; no example shows a difference";
        outputs.notes.push(text.to_owned());
    } else if outputs.changes.is_empty() && !(places.is_empty() || old.is_exact && new.is_exact) {
        let text = "outputs are compared for the sizes for which the programs go as they were traced";
        outputs.notes.push(text.to_owned());
    }
    outputs
}

/// What comparing the sizes as expressions shows.
#[derive(Default)]
struct Compared {
    /// Inputs at which an output differs, if they replay.
    witnesses: Vec<Witness>,
    /// The outputs of which nothing is known.
    open: Vec<usize>,
    depend_on_data: bool,
}

fn symbolically(direction: &Direction, old: &mut Form, new: &mut Form) -> Compared {
    let mut compared = Compared::default();
    let mut facts = old.facts.clone();
    for condition in new.facts.conditions().to_vec() {
        let condition = new.over_places(condition);
        if let Some(condition) = old.taken(new, condition) {
            facts.assume(&mut old.pool, condition);
        }
    }
    // No call is accepted by both.
    if accepts_nothing(old, &mut facts) {
        return compared;
    }
    for (k, (was, is)) in direction.from.results.iter().zip(&direction.to.results).enumerate() {
        let (Some(was), Some(is)) = (was, is) else { continue };
        if was.len() != is.len() {
            compared.open.push(k);
            continue;
        }
        for (&was, &is) in was.iter().zip(is) {
            let is_known = |form: &Form, e: Expr| {
                let variables = &form.acceptance.set.variables;
                form.pool.free_symbols(&[e]).iter().all(|s| variables.iter().any(|v| v.symbol == *s))
            };
            if !is_known(old, was) || !is_known(new, is) {
                compared.depend_on_data = true;
                continue;
            }
            let is = new.over_places(is);
            let Some(is) = old.taken(new, is) else {
                compared.open.push(k);
                continue;
            };
            let same = old.pool.eq(was, is);
            match decide(&mut old.pool, &mut facts, same, &Budget::small()).verdict {
                Verdict::Implied { .. } => {}
                Verdict::Refuted { witness } => {
                    compared.witnesses.push(witness);
                    compared.open.push(k);
                }
                Verdict::Inconsistent { .. } | Verdict::Unknown { .. } => compared.open.push(k),
            }
        }
    }
    compared
}

/// The outputs that differ at these inputs, if both programs accept them.
pub(super) fn at(direction: &Direction, shapes: &Shapes) -> Vec<OutputChange> {
    let (Outcome::Accepts(old), Outcome::Accepts(new)) = direction.replay(shapes) else { return Vec::new() };
    let changes = old.into_iter().zip(new).enumerate().filter_map(|(output, (was, is))| {
        let (was, is) = (was?, is?);
        (was != is).then(|| OutputChange {
            output,
            old: was,
            new: is,
            line: direction.to.source.line(output),
            inputs: shapes.clone(),
        })
    });
    changes.collect()
}
