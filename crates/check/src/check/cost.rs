//! What a fix costs: inputs that work and that it excludes.
use super::pipeline::Examined;
use super::prove::Prover;
use super::session::Session;
use crate::spec::Shape;
use sizewise_expr::{Expr, Int};
use sizewise_solve::{Budget, Verdict, Witness, decide};

/// The most dimensions that a cost names.
const MAX_NAMED: usize = 4;
/// The most inputs whose sizes it has.
const MAX_INPUTS: usize = 12;
/// The most conditions of which it is asked whether inputs that break them alone run.
const MAX_CONDITIONS: usize = 12;

/// What a fix costs.
#[derive(Clone, Debug)]
pub struct Cost {
    lost: Lost,
    /// The exported module refuses what it does not handle of these dimensions.
    left: Vec<String>,
}

impl Cost {
    /// The cost of a fix that excludes these inputs, if that could be asked, and leaves these dimensions to torch.
    pub fn new(lost: Option<Lost>, left: Vec<String>) -> Cost {
        // What torch infers may be wider than the spec says, and then nothing is lost.
        let lost = lost.filter(|lost| left.is_empty() || matches!(lost, Lost::Nothing));
        Cost { lost: lost.unwrap_or(Lost::Unknown), left }
    }

    /// Whether the fix is known to exclude no input that works, but for empty ones.
    pub fn is_nothing(&self) -> bool {
        self.loses() == Some(false) || self.left.is_empty() && matches!(self.lost, Lost::Empty(_))
    }

    /// Whether the fix excludes inputs that work; `None` if that is not known, or for the module to say.
    pub fn loses(&self) -> Option<bool> {
        match self.lost {
            Lost::Nothing => self.left.is_empty().then_some(false),
            Lost::Inputs(_) | Lost::Empty(_) | Lost::Recorded(_) => Some(true),
            Lost::Unknown => None,
        }
    }

    /// The cost in words, if anything is to be said.
    pub fn text(&self) -> Option<String> {
        let lost = match &self.lost {
            Lost::Nothing if self.left.is_empty() => {
                Some("loses no shapes that this export serves".to_string())
            }
            Lost::Inputs(inputs) => Some(format!("also rejects shapes that work, such as {inputs}")),
            Lost::Empty(inputs) => Some(format!("also rejects empty inputs that work, such as {inputs}")),
            Lost::Recorded(inputs) => Some(format!(
                "also rejects shapes that run, with other output shapes than recorded, such as {inputs}"
            )),
            Lost::Unknown if self.left.is_empty() => Some("it may also reject shapes that work".to_string()),
            Lost::Nothing | Lost::Unknown => None,
        };
        let (names, them) = match self.left.as_slice() {
            [] => return lost,
            [name] => (name.clone(), "it"),
            [names @ .., last] if names.len() < MAX_NAMED => {
                (format!("{} and {last}", names.join(", ")), "them")
            }
            _ => ("these sizes".to_string(), "them"),
        };
        let left = format!("torch.export infers {names}, and the module checks {them} when it is called");
        Some(lost.map(|lost| format!("{lost}; {left}")).unwrap_or(left))
    }
}

impl Session<'_> {
    /// Inputs that the given spec allows, that the program handles and that a fix excludes.
    pub(super) fn lost(&self, kept: Expr, first: &mut Examined, budget: &Budget) -> Lost {
        let violated = first.violated.clone();
        match self.lost_under(kept, first, &violated, budget) {
            Lost::Nothing => {}
            lost => return lost,
        }
        if first.of_records.is_empty() {
            return Lost::Nothing;
        }
        let refused: Vec<Expr> = violated.into_iter().filter(|c| !first.of_records.contains(c)).collect();
        match self.lost_under(kept, first, &refused, budget) {
            Lost::Inputs(inputs) => Lost::Recorded(inputs),
            lost => lost,
        }
    }

    /// Inputs that the given spec allows, that satisfy these conditions and that a fix excludes, if they run.
    fn lost_under(&self, kept: Expr, first: &mut Examined, conditions: &[Expr], budget: &Budget) -> Lost {
        let (pool, facts) = first.assumptions.env.facts();
        let mut working = facts.clone();
        for &condition in conditions {
            working.assume(pool, condition);
        }
        let witness = match decide(pool, &mut working, kept, budget).verdict {
            Verdict::Implied { .. } => return self.lost_beyond(kept, first, conditions, budget),
            Verdict::Refuted { witness } => witness,
            _ => return Lost::Unknown,
        };
        self.lost_at(&witness, first, budget)
    }

    /// Inputs that break a single one of the conditions and run all the same: an operator may ask for more than it needs.
    fn lost_beyond(&self, kept: Expr, first: &mut Examined, conditions: &[Expr], budget: &Budget) -> Lost {
        for (at, &condition) in conditions.iter().enumerate().take(MAX_CONDITIONS) {
            // Such inputs run with other output shapes than recorded, which is told apart.
            if first.of_records.contains(&condition) {
                continue;
            }
            let (pool, facts) = first.assumptions.env.facts();
            let mut others = facts.clone();
            for (_, &other) in conditions.iter().enumerate().filter(|(other, _)| *other != at) {
                others.assume(pool, other);
            }
            let excluded = pool.not(kept);
            others.assume(pool, excluded);
            let Verdict::Refuted { witness } = decide(pool, &mut others, condition, &Budget::small()).verdict
            else {
                continue;
            };
            if let Lost::Inputs(inputs) = self.lost_at(&witness, first, budget) {
                let is_empty = witness.iter().any(|(_, size)| size.is_zero());
                return if is_empty { Lost::Empty(inputs) } else { Lost::Inputs(inputs) };
            }
        }
        Lost::Nothing
    }

    /// The inputs at a witness, if they run.
    fn lost_at(&self, witness: &Witness, first: &Examined, budget: &Budget) -> Lost {
        let evaluator = self.evaluator();
        let prover =
            Prover { assumptions: &first.assumptions, evaluator, budget: budget.clone(), emit: None };
        let Some(shapes) = prover.shapes_at(witness) else { return Lost::Unknown };
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
        Lost::inputs(shown)
    }
}

/// What a fix excludes.
#[derive(Clone, Debug)]
pub enum Lost {
    /// No input that works.
    Nothing,
    /// Inputs that work, such as these.
    Inputs(String),
    /// Empty inputs alone that work, as far as is seen, such as these.
    Empty(String),
    /// Inputs such as these, for which the program gives other shapes than it records.
    Recorded(String),
    /// That was not found out.
    Unknown,
}

impl Lost {
    /// Inputs that work, each with its sizes: `x: [3, 8]`.
    pub fn inputs(mut shown: Vec<String>) -> Lost {
        if shown.len() > MAX_INPUTS {
            shown.truncate(MAX_INPUTS);
            shown.push("...".to_owned());
        }
        Lost::Inputs(shown.join(", "))
    }
}
