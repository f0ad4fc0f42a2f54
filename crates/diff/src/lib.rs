//! What a new export of a program changes: the inputs that one of two programs accepts and the other refuses, outputs
//! whose shapes differ, guards, and the interface.
//!
//! What a program accepts is a set of conditions on the sizes of its inputs. For each condition of one program it is
//! decided whether all that the other one accepts satisfies it. A call that shows a difference was replayed in both
//! programs.
mod calls;
mod candidates;
mod cases;
mod direction;
mod form;
mod interface;
mod outputs;
mod page;
mod program;
mod report;
mod same;
mod side;
mod spec;

use direction::{Answer, Direction, Found};
use form::{Form, SharedSize, places};
use interface::Interface;
use serde_json::{Value as Json, json};
pub use side::{Followed, Input, Kind, Outcome, Side, Source};
use sizewise_check::check::{CheckError, Checker, Shapes};
use sizewise_check::report::int_json;
use sizewise_check::spec::Shape;
use sizewise_expr::{Value as Number, is_cancelled};
use sizewise_kernels::Operators;
pub use spec::{Allowed, SpecSideError};

/// NEW against OLD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Both accept the same inputs, which is proved.
    Equal,
    /// NEW accepts all that OLD accepts, which is proved, and more.
    Wider,
    /// NEW refuses some of what OLD accepts.
    Narrower,
    /// Each accepts what the other one refuses.
    Different,
    /// It is not known whether NEW accepts what OLD accepts, or whether it accepts more.
    Undecided,
}

impl Verdict {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::Wider => "wider",
            Verdict::Narrower => "narrower",
            Verdict::Different => "different",
            Verdict::Undecided => "undecided",
        }
    }
}

/// One of the two programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The first.
    Old,
    /// The second.
    New,
}

/// Inputs that one program accepts and the other refuses.
#[derive(Clone, Debug)]
pub struct Example {
    /// The inputs, as the program that accepts them calls them.
    pub inputs: Shapes,
    /// The program that accepts them.
    pub accepted_by: Which,
    /// Why the other one refuses them.
    pub message: String,
}

/// A condition that appeared or vanished.
#[derive(Clone, Debug)]
pub struct GuardChange {
    /// The condition.
    pub condition: String,
    /// The line of the user's code that needs it, if known.
    pub line: Option<String>,
}

/// An output that differs.
#[derive(Clone, Debug)]
pub struct OutputChange {
    /// Its position.
    pub output: usize,
    /// Its sizes or its value in OLD.
    pub old: Json,
    /// In NEW.
    pub new: Json,
    /// The line that makes it in NEW, if known.
    pub line: Option<String>,
    /// Inputs, which both accept, at which it differs.
    pub inputs: Shapes,
}

/// What changed from one program to another.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The names of the programs.
    pub names: [String; 2],
    /// NEW against OLD.
    pub verdict: Verdict,
    /// Calls that show it.
    pub examples: Vec<Example>,
    /// The conditions of NEW that do not follow from what OLD accepts.
    pub added: Vec<GuardChange>,
    /// The conditions of OLD that do not follow from what NEW accepts.
    pub removed: Vec<GuardChange>,
    /// The outputs that differ.
    pub outputs: Vec<OutputChange>,
    /// Changes of inputs and outputs other than sizes.
    pub interface: Vec<String>,
    /// What is not known or takes no part.
    pub notes: Vec<String>,
}

/// Compares two programs.
///
/// # Errors
/// When one of them cannot be checked, or the comparison was cancelled.
pub fn diff(old: &Checker, new: &Checker, operators: &Operators) -> Result<Difference, CheckError> {
    diff_of(&Side::of_program(old, operators)?, &Side::of_program(new, operators)?)
}

/// Compares two programs, models or specs.
///
/// # Errors
/// When the comparison was cancelled.
pub fn diff_of(old: &Side, new: &Side) -> Result<Difference, CheckError> {
    let found = compare(old, new);
    if is_cancelled() { Err(CheckError::Cancelled) } else { Ok(found) }
}

fn compare(old: &Side, new: &Side) -> Difference {
    let interface = interface::compare(old, new);
    let names = [old.name.clone(), new.name.clone()];
    let mut difference = Difference {
        names,
        verdict: Verdict::Different,
        examples: Vec::new(),
        added: Vec::new(),
        removed: Vec::new(),
        outputs: Vec::new(),
        interface: interface.changes.clone(),
        notes: Vec::new(),
    };
    if interface.is_broken {
        let text = "calls of one program do not fit the other, so sizes are not compared";
        difference.notes.push(text.to_owned());
        return difference;
    }
    let Interface { pairs, .. } = interface;
    let swapped = pairs.iter().map(|&(i, j)| (j, i)).collect();
    let mut lost = Direction::new(old, new, pairs);
    let mut won = Direction::new(new, old, swapped);
    let (lost, won) = match (&old.acceptance, &new.acceptance) {
        _ if let Some(answers) = other_ranks(&lost, &won) => answers,
        (Ok(before), Ok(after)) => {
            let places = places(old, new, &lost.pairs);
            let mut before = Form::new(old, before, &places, &|place| place.inputs.0, &[]);
            let mut after = Form::new(new, after, &places, &|place| place.inputs.1, &[]);
            let is_plain = before.is_exact && after.is_exact;
            if !is_plain && same::same_steps(old, new) {
                (lost.same_steps, won.same_steps) = (true, true);
            }
            let mut answers = (lost.decide(&mut before, &after), won.decide(&mut after, &before));
            if answers.0.open.is_some() || answers.1.open.is_some() {
                cases::settle(&lost, &won, [&before, &after], &places, &mut answers);
            }
            if !lost.same_steps {
                let outputs = outputs::compare(&lost, &mut before, &mut after, &places);
                difference.outputs = outputs.changes;
                difference.notes.extend(outputs.notes);
            }
            difference.added = guards(&mut after, &places, &answers.0.added);
            difference.removed = guards(&mut before, &places, &answers.1.added);
            difference.drop_common_guards();
            for (which, form) in [("OLD", &before), ("NEW", &after)] {
                difference.notes.extend(left_open(which, form));
                difference.notes.extend(not_followed(which, form));
            }
            answers
        }
        (Err(error), _) | (_, Err(error)) => {
            let traced = old.shapes_with(&[]);
            difference.outputs = traced.map(|shapes| outputs::at(&lost, &shapes)).unwrap_or_default();
            (lost.tried(error.clone()), won.tried(error.clone()))
        }
    };
    difference.conclude(lost, won);
    // What is the same is equal, whether it can be followed or not.
    if difference.verdict == Verdict::Undecided && same::is_same(old, new) {
        difference.verdict = Verdict::Equal;
        difference.notes = vec!["both are the same".to_owned()];
    }
    difference
}

/// What is known at once where an input has other dimensions: the traced example of each program is refused by the other.
fn other_ranks(lost: &Direction, won: &Direction) -> Option<(Answer, Answer)> {
    let is_other = |&(i, j): &(usize, usize)| {
        let (old, new) = (&lost.from.inputs[i].kind, &lost.to.inputs[j].kind);
        matches!((rank(old), rank(new)), (Some(old), Some(new)) if old != new)
    };
    lost.pairs.iter().any(is_other).then(|| {
        let reason = || "an input has another number of dimensions".to_owned();
        (lost.tried(reason()), won.tried(reason()))
    })
}

fn rank(kind: &Kind) -> Option<usize> {
    match kind {
        Kind::Tensor { sizes, .. } => Some(sizes.len()),
        _ => None,
    }
}

fn guards(form: &mut Form, places: &[SharedSize], at: &[usize]) -> Vec<GuardChange> {
    let change = |&at: &usize| {
        let (condition, line) = direction::shown(form, places, at);
        GuardChange { condition, line }
    };
    at.iter().map(change).collect()
}

/// That conditions of a program take no part.
fn left_open(which: &str, form: &Form) -> Option<String> {
    let set = &form.acceptance.set;
    (!set.left_open.is_empty()).then(|| {
        let (shown, more) = set.left_open.split_at(set.left_open.len().min(3));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        format!("conditions of {which} that data decide take no part: {}{more}", shown.join(", "))
    })
}

/// That a program has steps whose recorded shapes are taken for granted.
fn not_followed(which: &str, form: &Form) -> Option<String> {
    let steps = match form.acceptance.set.not_followed {
        0 => return None,
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
    Some(format!(
        "{steps} of {which} have no kernel: what they need takes no part, and their recorded shapes are taken"
    ))
}

impl Difference {
    /// Drops conditions that both programs have: neither appeared nor vanished, though where a program goes another way
    /// it may not follow.
    fn drop_common_guards(&mut self) {
        let is_in = |changes: &[GuardChange], change: &GuardChange| {
            changes.iter().any(|other| other.condition == change.condition)
        };
        let added = self.added.clone();
        self.added.retain(|change| !is_in(&self.removed, change));
        self.removed.retain(|change| !is_in(&added, change));
    }

    /// Draws the conclusion from what is known of the calls of OLD and of NEW.
    fn conclude(&mut self, lost: Answer, won: Answer) {
        self.verdict = match ((&lost.found, lost.is_proved()), (&won.found, won.is_proved())) {
            ((Some(_), _), (Some(_), _)) => Verdict::Different,
            ((Some(_), _), _) => Verdict::Narrower,
            ((_, true), (_, true)) => Verdict::Equal,
            ((_, true), (Some(_), _)) => Verdict::Wider,
            _ => Verdict::Undecided,
        };
        let is_refused = lost.found.is_some();
        for (answer, what) in [
            (&lost, "whether NEW accepts all that OLD accepts"),
            (&won, "whether OLD accepts all that NEW accepts"),
        ] {
            if let Some(reason) = &answer.open {
                self.notes.push(format!("{what} is not known: {reason}"));
            }
        }
        if !is_refused && lost.open.is_none() && self.verdict == Verdict::Undecided {
            self.notes.push("NEW accepts all that OLD accepts, which is proved".to_owned());
        }
        for (found, accepted_by) in [(lost.found, Which::Old), (won.found, Which::New)] {
            let example = |Found { shapes, message }| Example { inputs: shapes, accepted_by, message };
            self.examples.extend(found.map(example));
        }
    }

    /// Whether callers of OLD see a change: in what is accepted, in outputs or in the interface.
    pub fn is_change(&self) -> bool {
        self.verdict != Verdict::Equal || !self.outputs.is_empty() || !self.interface.is_empty()
    }

    /// The difference as JSON.
    pub fn to_json(&self) -> Json {
        let guard = |change: &GuardChange| json!({"condition": change.condition, "line": change.line});
        let guards = |changes: &[GuardChange]| changes.iter().map(guard).collect::<Vec<Json>>();
        let examples: Vec<Json> = self
            .examples
            .iter()
            .map(|example| {
                let by = if example.accepted_by == Which::Old { "old" } else { "new" };
                json!({"inputs": inputs(&example.inputs), "accepted_by": by, "message": example.message})
            })
            .collect();
        let output = |change: &OutputChange| {
            json!({
                "output": change.output, "old": change.old, "new": change.new, "line": change.line,
                "inputs": inputs(&change.inputs),
            })
        };
        json!({
            "old": self.names[0],
            "new": self.names[1],
            "verdict": self.verdict.name(),
            "examples": examples,
            "guards": {"added": guards(&self.added), "removed": guards(&self.removed)},
            "outputs": self.outputs.iter().map(output).collect::<Vec<Json>>(),
            "interface": self.interface,
            "notes": self.notes,
        })
    }
}

/// Inputs as JSON: the sizes of a tensor, or a value.
fn inputs(shapes: &Shapes) -> Json {
    let one = |shape: &Shape| match shape {
        Shape::Tensor(sizes) => sizes.iter().map(int_json).collect(),
        Shape::Scalar(Number::Int(v)) => int_json(v),
        Shape::Scalar(Number::Bool(v)) => (*v).into(),
        Shape::Scalar(number) => number.as_f64().into(),
        Shape::Text(text) => (**text).into(),
        Shape::None => Json::Null,
    };
    Json::Object(shapes.iter().map(|(name, shape)| (name.to_string(), one(shape))).collect())
}
