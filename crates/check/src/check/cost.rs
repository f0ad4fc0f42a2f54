//! What a fix costs: inputs that work and that it excludes.
use super::pipeline::Examined;
use super::prove::Prover;
use super::session::Session;
use crate::spec::Shape;
use sizewise_expr::{Expr, Int};
use sizewise_solve::{Budget, Verdict, decide};

/// The most dimensions that a cost names.
const MAX_NAMED: usize = 4;

/// What a fix costs.
pub(super) enum Cost {
    /// It excludes no input that works.
    Nothing,
    /// It excludes inputs that work, such as these.
    Inputs(String),
    /// It excludes inputs such as these, for which the program gives other shapes than it records.
    Recorded(String),
    /// The exported module refuses what it does not handle of these dimensions.
    LeftToModule(Vec<String>),
    /// Neither was found out.
    Unknown,
}

impl Cost {
    pub fn text(&self) -> Option<String> {
        match self {
            Cost::Nothing => Some("loses no working shapes".to_string()),
            Cost::Inputs(inputs) => Some(format!("also rejects shapes that work, such as {inputs}")),
            Cost::Recorded(inputs) => Some(format!(
                "also rejects shapes that run, with other output shapes than recorded, such as {inputs}"
            )),
            Cost::LeftToModule(names) => {
                let (names, them) = match names.as_slice() {
                    [name] => (name.clone(), "it"),
                    [names @ .., last] if names.len() < MAX_NAMED => {
                        (format!("{} and {last}", names.join(", ")), "them")
                    }
                    _ => ("these sizes".to_string(), "them"),
                };
                Some(format!("torch.export infers {names}, and the module checks {them} when it is called"))
            }
            Cost::Unknown => None,
        }
    }
}

impl Session<'_> {
    /// The cost of a fix: inputs that the given spec allows, that the program handles and that the fix excludes.
    pub(super) fn cost(&self, kept: Expr, first: &mut Examined, budget: &Budget) -> Cost {
        let violated = first.violated.clone();
        match self.lost(kept, first, &violated, budget) {
            Lost::Nothing => {}
            Lost::Inputs(inputs) => return Cost::Inputs(inputs),
            Lost::Unknown => return Cost::Unknown,
        }
        let refused: Vec<Expr> = violated.into_iter().filter(|c| !first.of_records.contains(c)).collect();
        match first.of_records.is_empty() {
            true => Cost::Nothing,
            false => match self.lost(kept, first, &refused, budget) {
                Lost::Nothing => Cost::Nothing,
                Lost::Inputs(inputs) => Cost::Recorded(inputs),
                Lost::Unknown => Cost::Unknown,
            },
        }
    }

    /// Inputs that the given spec allows, that satisfy these conditions and that a fix excludes, if they run.
    fn lost(&self, kept: Expr, first: &mut Examined, conditions: &[Expr], budget: &Budget) -> Lost {
        let (pool, facts) = first.assumptions.env.facts();
        let mut working = facts.clone();
        for &condition in conditions {
            working.assume(pool, condition);
        }
        let witness = match decide(pool, &mut working, kept, budget).verdict {
            Verdict::Implied { .. } => return Lost::Nothing,
            Verdict::Refuted { witness } => witness,
            _ => return Lost::Unknown,
        };
        let evaluator = self.evaluator();
        let prover =
            Prover { assumptions: &first.assumptions, evaluator, budget: budget.clone(), emit: None };
        let Some(shapes) = prover.shapes_at(&witness) else { return Lost::Unknown };
        if evaluator.evaluate(&shapes).is_err() || !evaluator.unreadable().is_empty() {
            return Lost::Unknown;
        }
        let shown: Vec<String> = shapes
            .iter()
            .filter_map(|(name, shape)| match shape {
                Shape::Tensor(sizes) => {
                    let sizes: Vec<String> = sizes.iter().map(Int::to_string).collect();
                    Some(format!("{name}: [{}]", sizes.join(", ")))
                }
                Shape::Scalar(_) | Shape::Text(_) | Shape::None => None,
            })
            .collect();
        Lost::Inputs(shown.join(", "))
    }
}

/// What a fix excludes.
enum Lost {
    /// No input that works.
    Nothing,
    /// Such as these.
    Inputs(String),
    /// That was not found out.
    Unknown,
}
